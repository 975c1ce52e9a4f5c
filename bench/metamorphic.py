"""Changes that mean the same are decided the same: `python bench/metamorphic.py FILE.jsonl[.gz]... [--limit N]`.

Each dossier is judged by the heuristic tier as it is and after each of these: files of the diff in another order,
a new name for functions that the change defines, code indented twice as deep (before and after), other Markdown for the
same criteria, its commits split in two. Prints the share of equal decisions (decision and category) for each, and the
dossiers where one differs.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.rows import read  # noqa: E402 - found from any working directory
from worker.domain.dossier.dossier import Dossier  # noqa: E402 - as above
from worker.dossier.assemble import complete_dossier  # noqa: E402 - as above
from worker.judge.rubric import load_rubric  # noqa: E402 - as above
from worker.signals.heuristic_opinion import form_opinion  # noqa: E402 - as above

Raw = dict[str, Any]
DEFINED = re.compile(
    r"^\+\s*(?:(?:pub|async|export|public|private|static|final)\s+)*(?:def|fn|func|function)\s+(\w{6,})\(", re.MULTILINE
)
FILE = re.compile(r"^(?=diff --git )", re.MULTILINE)
CODE = (".py", ".js", ".jsx", ".mjs", ".ts", ".tsx", ".go", ".rs", ".java", ".kt", ".cs", ".rb", ".php")
HUNKS = re.compile(r"^@@ .*", re.MULTILINE | re.DOTALL)


def _parts(diff: str) -> list[str]:
    """One for each file."""
    return re.split(FILE, diff)[1:]


def reordered(raw: Raw) -> Raw:
    """The files of the diff from last to first."""
    whole = [part if part.endswith("\n") else f"{part}\n" for part in _parts(raw["diff"])]
    return {**raw, "diff": "".join(reversed(whole))}


def renamed(raw: Raw) -> Raw:
    """Another name for each function that is defined by the change and not known elsewhere."""
    names = {name for name in DEFINED.findall(raw["diff"]) if not name.startswith(("test", "Test"))}
    if not names:
        return raw
    word = re.compile(rf"\b({'|'.join(map(re.escape, sorted(names)))})\b")
    return _texts(raw, lambda text: word.sub(lambda one: f"{one[1]}Qz", text))


def reformatted(raw: Raw) -> Raw:
    """Every line of code indented twice as deep, the ones that were there before too."""
    parts = (_deeper_hunks(part) if _is_code(part.partition("\n")[0]) else part for part in _parts(raw["diff"]))
    told = {**raw, "diff": "".join(parts)}
    if raw.get("files"):
        told["files"] = [{**one, "text": _deeper(one["text"])} if _is_read(one) else one for one in raw["files"]]
    return told


def _is_code(path: str) -> bool:
    return path.rstrip('"').endswith(CODE)


def _is_read(file: Raw) -> bool:
    return _is_code(file["path"]) and file.get("text") is not None


def _deeper(text: str) -> str:
    return re.sub(r"^([ \t]+)", r"\1\1", text, flags=re.MULTILINE)


def _deeper_hunks(part: str) -> str:
    return HUNKS.sub(lambda hunks: re.sub(r"^([ +-])([ \t]+)", r"\1\2\2", hunks[0], flags=re.MULTILINE), part)


def _texts(raw: Raw, change: Callable[[str], str]) -> Raw:
    """Every text of the dossier changed: diff, files, issues, criteria, case, title and body."""

    def changed(held: Any, name: str = "") -> Any:
        if isinstance(held, dict):
            return {key: changed(one, str(key)) for key, one in cast("Raw", held).items()}
        if isinstance(held, list):
            return [changed(one, name) for one in cast("list[Any]", held)]
        return change(held) if isinstance(held, str) and name not in UNCHANGED else held

    return cast("Raw", changed(raw))


UNCHANGED = frozenset(
    {"path", "base_sha", "head_sha", "merge_base_sha", "sha", "repository", "id", "source", "name", "state", "reason"}
)


def remarked(raw: Raw) -> Raw:
    """`*` for `-` in lists, and a `##` heading for a bold one."""

    def marked(body: str) -> str:
        lists = re.sub(r"^(\s*)- ", r"\1* ", body or "", flags=re.MULTILINE)
        return re.sub(r"^\*\*([^*\n]+?):?\*\*:?$", r"## \1", lists, flags=re.MULTILINE)

    listed: list[Raw] = raw.get("issues") or []
    issues = [{**one, "body": marked(one.get("body") or "")} for one in listed]
    return {**raw, "issues": issues}


def split(raw: Raw) -> Raw:
    """The same change as two commits."""
    pull: Raw = raw["pull_request"]
    commits: list[Raw] = pull.get("commits") or []
    return {**raw, "pull_request": {**pull, "commits": [*commits, *commits[-1:]]}}


WAYS: dict[str, Callable[[Raw], Raw]] = {
    "files reordered": reordered,
    "functions renamed": renamed,
    "indented deeper": reformatted,
    "other Markdown": remarked,
    "commits split": split,
}


def decided(raw: Raw) -> tuple[str, str]:
    opinion = form_opinion(complete_dossier(Dossier.model_validate(raw)), load_rubric())
    if opinion.facts:
        return "reject", max(opinion.facts, key=lambda one: one.weight).category
    return ("accept", "") if opinion.safe else ("abstain", "")


def differences(row: Raw, counts: Counter[tuple[str, bool]]) -> Iterator[str]:
    raw = row["dossier"]
    before = decided(raw)
    for name, change in WAYS.items():
        other = change(raw)
        if other == raw:
            continue
        now = decided(other)
        counts[name, now == before] += 1
        if now != before:
            yield f"{row['id']}: {name}: {' '.join(before)} became {' '.join(now)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--limit", type=int, default=10**9, help="rows of each file")
    arguments = parser.parse_args()
    counts: Counter[tuple[str, bool]] = Counter()
    for path in arguments.files:
        for row, _ in zip(read(path), range(arguments.limit), strict=False):
            for line in differences(row, counts):
                print(line)
    for name in WAYS:
        same, all_of = counts[name, True], counts[name, True] + counts[name, False]
        print(f"{name}: {same} of {all_of} decided the same ({same / max(1, all_of):.1%})")


if __name__ == "__main__":
    main()
