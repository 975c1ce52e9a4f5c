"""Measure quality on real history and on seeded defects. Nothing of a repository is executed.

    python -m bench.quality mine REPO_DIR OUT.jsonl.gz      clean rows, one a commit
    python -m bench.quality inject REPO_DIR OUT.jsonl.gz    rows with one defect each, beside their clean twins
    python -m bench.quality alarms REPORT.json...           false alarms into the signals' docstrings

`assay bench` judges the rows (docs/bench.md). The same history gives the same rows, byte for byte. Rules are tuned on what an
injector writes as soon as it is in the repository: for a fresh measurement write other variants into a file (`VARIANTS`, as in
bench/defects.py) and name it with `inject --variants`.
"""

import argparse
import copy
import gzip
import hashlib
import inspect
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from runpy import run_path
from typing import Any, Final

from bench.defects import FIXED_FILES, VARIANTS, Defect, Source, Variant, find_functions, fixed_files
from bench.defects import LANGUAGES as INJECTED
from bench.history import (
    BESIDE,
    Commit,
    as_criteria,
    clean_commits,
    is_test,
    language_of,
    listed_items,
    main_language,
    read_history,
    spread,
)
from worker.adapters.git.checkout import guidance_at, repository_name
from worker.adapters.git.git import (
    GitFailedError,
    GitRepository,
    changes_between,
    diff_between,
    look_up_at,
    open_repository,
    texts_of,
)
from worker.domain.dossier import Dossier
from worker.domain.model import Sha
from worker.dossier.assemble import complete_dossier
from worker.evaluation.bench.statistics import Share
from worker.signals.heuristic_opinion import SIGNALS, find_lookups
from worker.signals.signal import Signal, SignalKind, SignalScope

ROOT: Final = Path(__file__).resolve().parent.parent
FEWEST_ROWS, MOST_FALSE_ALARMS = 300, 0.005
"""What a signal needs to block: clean opportunities, and an upper end of the interval of its false alarms."""

Row = dict[str, Any]

MOST_FILES, MOST_ADDED, MOST_LINES, LEAST_ADDED = 20, 600, 900, 3
FILE_BYTES, DOSSIER_BYTES, DIFF_BYTES = 200 * 1024, 600 * 1024, 150_000
WALKED: Final = 5000
LEAST_PROSE: Final = 80
CLOSES: Final = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):? #(\d{1,7})\b", re.IGNORECASE)
LOOSENS: Final = re.compile(
    r"\b(?:disabl|skip|ignor|allow(?:ed)? (?:to )?fail|flak|quarantin|xfail|temporar|loosen|relax|lower|remove test"
    r"|drop test|continue-on-error)",
    re.IGNORECASE,
)
AGENTS: Final = (
    ("copilot-swe-agent[bot]", "copilot", "copilot/fix-"),
    ("claude[bot]", "claude", "claude/issue-"),
    ("devin-ai-integration[bot]", "devin", "devin/"),
    ("cursor[bot]", "cursor", "cursor/change-"),
    ("openhands-agent", "openhands", "openhands/fix-issue-"),
)


def hash_of(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def draw_of(*parts: str) -> int:
    return int(hash_of(*parts)[:8], 16)


def pull_request(commit: Commit, name: str) -> Row:
    """Show half of the authors as agents, by hash, so that authorship tells nothing."""
    number = commit.number or int(hash_of(commit.sha)[:4], 16)
    draw = draw_of("author", commit.sha)
    person = f"user-{hash_of(commit.author)[:6]}"
    login, agent, prefix = AGENTS[draw // 2 % len(AGENTS)] if draw % 2 else (person, None, f"{person}/patch-")
    message = f"{commit.title}\n\n{commit.body}".strip()
    return {
        "repository": name, "number": number, "title": commit.title, "body": commit.body, "author": login,
        "author_agent": agent, "base_ref": "main", "base_sha": commit.parents[0], "head_ref": f"{prefix}{number}",
        "head_sha": commit.sha, "draft": False, "labels": [],
        "commits": [{"sha": commit.sha, "message": message, "author": login}],
    }  # fmt: skip


def linked_issues(commit: Commit, name: str, *, is_listed: bool) -> list[Row]:
    """The issue that the message closes, in the message's own words, where it has enough; or one that asks for its list."""
    closed = CLOSES.search(commit.body)
    if not is_listed and (closed is None or len(commit.body) < LEAST_PROSE):
        return []
    number = int(closed[1]) if closed else 0
    body = as_criteria(listed_items(commit)) if is_listed else commit.body
    url = f"https://github.com/{name}/issues/{number}" if number else None
    text = {"number": number, "title": commit.title, "body": body, "url": url, "linked_by": closed and closed[0]}
    return [{"repository": name, **text}]


def head_texts(repository: GitRepository, base: Sha, head: Sha) -> list[Row]:
    """Whole texts at head of the changed files, without generated and vendored ones, up to a size."""
    wanted = [
        (change.path, change.blob)
        for change in changes_between(repository, base, head)
        if change.blob is not None and change.mode.startswith("100") and not BESIDE.search(change.path)
    ]
    kept: list[Row] = []
    room = DOSSIER_BYTES
    for file in texts_of(repository, wanted).files:
        size = len((file.text or "").encode())
        if size <= min(FILE_BYTES, room):
            room -= size
            kept.append({"path": file.path, "text": file.text})
    return kept


def clean_row(repository: GitRepository, commit: Commit, name: str, *, is_listed: bool = False) -> Row | None:
    """None where the diff is too large or too small, or is no text."""
    base, head = commit.parents[0], commit.sha
    diff, unread = diff_between(repository, base, head, changes_between(repository, base, head), DIFF_BYTES)
    lines = diff.split("\n")
    added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
    files = sum(line.startswith("diff --git ") for line in lines)
    is_binary = "\nBinary files " in diff or "\nGIT binary patch\n" in diff or "�" in diff
    is_moderate = LEAST_ADDED <= added <= MOST_ADDED and added + removed <= MOST_LINES and files <= MOST_FILES
    if unread or is_binary or not is_moderate:
        return None
    linked = linked_issues(commit, name, is_listed=is_listed)
    dossier: Row = {
        "dossier_version": 1,
        "pull_request": pull_request(commit, name),
        "issues": linked,
        "diff": diff,
        "files": head_texts(repository, base, head),
        "guidance": [file.model_dump() for file in guidance_at(repository, base, commit.touched)],
        "ci": {"state": "success", "checks": [{"name": "test", "conclusion": "success"}]},
    }
    whole = complete_dossier(Dossier.model_validate(dossier))
    lookups = look_up_at(repository, whole, find_lookups(whole))
    dossier["lookups"] = [lookup.model_dump() for lookup in lookups.names]
    dossier["files"] += [{"path": path, "exists": False} for path in lookups.absent_paths]
    expect = {
        "decision": "accept", "why": "clean", "lang": main_language(commit.touched), "repo": name, "files": files,
        "added": added, "tested": any(map(is_test, commit.touched)),
        "issue_source": ("list" if is_listed else "message") if linked else None,
        "declares_loosening": LOOSENS.search(commit.title) is not None,
    }  # fmt: skip
    return {"id": f"mined-{hash_of(name, commit.sha)[:12]}", "dossier": dossier, "expect": expect}


def clean_rows(
    repository: GitRepository, commits: Iterable[Commit], name: str, *, is_listed: bool
) -> Iterator[tuple[Commit, Row]]:
    """Rows of the commits that can be read whole (a snapshot may lack contents)."""
    for commit in commits:
        try:
            row = clean_row(repository, commit, name, is_listed=is_listed)
        except GitFailedError:
            continue
        if row is not None:
            yield commit, row


def mine(arguments: argparse.Namespace) -> int:
    """Write at most `limit` rows, newest first; three of four with a test, as far as there are."""
    repository = open_repository(arguments.repository)
    name = arguments.name or repository_name(repository)
    commits = clean_commits(read_history(repository, arguments.walk), MOST_FILES, arguments.touching)
    if arguments.listed:
        counted = [(commit, listed_items(commit)) for commit in commits]
        commits = [commit for commit, items in counted if len(items) >= arguments.listed and as_criteria(items)]
    limit = arguments.limit or len(commits)
    is_listed = bool(arguments.listed)
    tested, others = (clean_rows(repository, some, name, is_listed=is_listed) for some in spread(commits))
    chosen = list(islice(tested, limit * 3 // 4))
    chosen += islice(others, limit - len(chosen))
    chosen += islice(tested, limit - len(chosen))
    order = {commit.sha: index for index, commit in enumerate(commits)}
    rows = [row for _, row in sorted(chosen, key=lambda pair: order[pair[0].sha])]
    write_rows(arguments.out, rows)
    print(f"{arguments.out.name}: {len(rows)} dossiers")
    return 0


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write one row a line, without time and name in the archive, so that the same rows give the same bytes."""
    with path.open("wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
        text = io.TextIOWrapper(packed, encoding="utf-8", newline="\n")
        text.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        text.flush()


class Scratch:
    """A bare repository that borrows another one's objects and keeps what is committed here."""

    def __init__(self, folder: Path, source: GitRepository) -> None:
        self.folder = folder
        people = {f"GIT_{who}_{what}": text for who in ("AUTHOR", "COMMITTER") for what, text in (
            ("NAME", "a"), ("EMAIL", "a@b.invalid"), ("DATE", "2020-01-01T00:00:00Z"),
        )}  # fmt: skip
        path = {"PATH": os.environ["PATH"], "HOME": str(folder)}  # noqa: TID251 - a child needs its PATH
        self._environ = {**path, "GIT_DIR": str(folder), "GIT_INDEX_FILE": str(folder / "scratch-index"), **people}
        self.git("init", "-q", "--bare", str(folder))
        (folder / "objects" / "info").mkdir(parents=True, exist_ok=True)
        (folder / "objects" / "info" / "alternates").write_text(f"{Path(source.git_dir) / 'objects'}\n")

    def git(self, *arguments: str, text: str = "") -> str:
        command = ["git", *arguments]
        done = subprocess.run(command, env=self._environ, input=text.encode(), capture_output=True, check=True)
        return done.stdout.decode(errors="replace")

    def text(self, commit: str, path: str) -> str | None:
        try:
            text = self.git("cat-file", "blob", f"{commit}:{path}")
        except subprocess.CalledProcessError:
            return None
        return None if "�" in text or "\r" in text or len(text) > FILE_BYTES else text

    def commit(self, tree_of: str, parent: str | None, files: Mapping[str, str | None], message: str) -> str:
        self.git("read-tree", tree_of)
        for path, text in files.items():
            if text is None:
                self.git("update-index", "--force-remove", path)
            else:
                blob = self.git("hash-object", "-w", "--stdin", text=text).strip()
                self.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
        tree = self.git("write-tree").strip()
        return self.git("commit-tree", tree, *(("-p", parent) if parent else ()), text=message).strip()


def read_sources(scratch: Scratch, commit: Commit) -> Iterator[Source]:
    for path in commit.touched:
        language = language_of(path)
        language = "typescript" if language == "javascript" else language
        text = scratch.text(commit.sha, path) if language in INJECTED else None
        if language is None or text is None:
            continue
        added = set[int]()
        printed = scratch.git("diff", "-U0", "--no-color", commit.parents[0], commit.sha, "--", path)
        for start, count in re.findall(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", printed, re.MULTILINE):
            added.update(range(int(start) - 1, int(start) - 1 + int(count or 1)))
        lines = tuple(text.split("\n"))
        yield Source(path, language, lines, frozenset(added), tuple(find_functions(lines, language, path)))


def find_defects(scratch: Scratch, commit: Commit, variants: Sequence[Variant]) -> Iterator[Defect]:
    """At most one of each variant; those of fixed files belong to the built-in variants."""
    sources = list(read_sources(scratch, commit))
    for make in variants:
        draw = draw_of(commit.sha, make.__name__)
        possible = [defect for source in sources for defect in make(source, draw)]
        if possible:
            yield possible[draw // 7 % len(possible)]
    if variants is VARIANTS:
        texts = {path: scratch.text(commit.sha, path) for path in FIXED_FILES}
        yield from fixed_files({path: text for path, text in texts.items() if text})


def seed(scratch: Scratch, commit: Commit, name: str, twin: Row, defect: Defect) -> tuple[Row, Row] | None:
    """The change with the defect, and the change as it was under the same issue."""
    base = commit.parents[0]
    rules: dict[str, str | None] = {"AGENTS.md": defect.guidance} if defect.guidance else {}
    cited: Mapping[str, str | None] = {} if defect.case is None else defect.files
    head_files = rules if cited or not defect.files else {**defect.files, **rules}
    if rules:
        base = scratch.commit(base, None, rules, "base")
    head = scratch.commit(commit.sha, base, head_files, commit.message)
    touched = tuple(sorted({*commit.touched, *(set(defect.files) - set(cited))}))
    moved = replace(commit, sha=head, parents=(base,), touched=touched)
    row = clean_row(open_repository(scratch.folder), moved, name)
    if row is None:
        return None
    twin = copy.deepcopy(twin)
    twin["expect"]["why"] = "clean twin"
    if defect.criteria:
        listed = "\n".join(f"- {criterion}" for criterion in defect.criteria)
        issue = {"repository": name, "number": 7, "title": commit.title, "linked_by": "Closes #7"}
        issue["body"] = f"We need this.\n\n## Acceptance criteria\n\n{listed}\n"
        twin["id"] += "-listed"
        twin["dossier"]["issues"] = [issue]
    pull = copy.deepcopy(twin["dossier"]["pull_request"]) | {"base_sha": base, "head_sha": head}
    pull["commits"][0]["sha"] = head
    row["dossier"] |= {"pull_request": pull, "issues": twin["dossier"]["issues"]}
    if defect.case is not None:
        row["dossier"]["case"] = defect.case
        row["dossier"]["files"] += [{"path": path, "exists": False} for path in cited]
    row["id"] = f"inject-{draw_of(commit.sha, defect.variant):08x}"
    row["expect"] = {
        "decision": "reject", "category": defect.category, "difficulty": defect.difficulty, "variant": defect.variant,
        "pair": twin["id"], "also": list(defect.also), "lang": twin["expect"]["lang"], "repo": name,
        **({"missing": [defect.missing]} if defect.missing else {}),
        "where": [{"path": path} if line is None else {"path": path, "line": line} for path, line in defect.where],
    }  # fmt: skip
    return row, twin


def inject(arguments: argparse.Namespace) -> int:
    """Write one seed and its twin for each of `limit` commits: of each commit the variant that is rarest so far."""
    repository, name = open_repository(arguments.repository), arguments.name or "acme/widgets"
    variants: Sequence[Variant] = VARIANTS
    if arguments.variants:
        variants = run_path(str(arguments.variants))["VARIANTS"]
    counts = Counter[str]()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = Scratch(Path(folder), repository)
        for commit in clean_commits(read_history(repository, arguments.walk), MOST_FILES):
            twin = clean_row(repository, commit, name)
            if twin is None:
                continue
            defects = sorted(
                find_defects(scratch, commit, variants),
                key=lambda defect: (counts[defect.variant], draw_of(commit.sha, defect.variant)),
            )
            for defect in defects:
                pair = seed(scratch, commit, name, twin, defect)
                if pair is not None:
                    counts[defect.variant] += 1
                    rows += pair
                    break
            if len(rows) >= 2 * arguments.limit:
                break
    write_rows(arguments.out, rows)
    variety = ", ".join(f"{variant} {count}" for variant, count in sorted(counts.items()))
    print(f"{arguments.out.name}: {len(rows) // 2} seeds: {variety}")
    return 0


def measured_line(share: Share, scope: SignalScope) -> str:
    """The last line of a signal's docstring."""
    rate, high = share.rate * 100, share.high * 100
    return f"False alarms: {share.hits} of {share.of} clean changes with {scope} ({rate:.1f} %, at most {high:.2f} %)."


def is_blocking_allowed(share: Share) -> bool:
    return share.of >= FEWEST_ROWS and share.high <= MOST_FALSE_ALARMS


def write_alarms(signal: Signal, share: Share) -> None:
    """Write the line *False alarms* of the signal's docstring."""
    path = Path(inspect.getsourcefile(signal.detect) or "")
    text = path.read_text("utf-8")
    doc = re.search(rf'^def {signal.name}\(.*?\n    """(.*?)"""', text, re.DOTALL | re.MULTILINE)
    if doc is None:
        raise SystemExit(f"{signal.name} has no docstring")
    kept = f"{doc[1].partition('False alarms:')[0].rstrip()}\n    {measured_line(share, signal.scope)}\n    "
    path.write_text(f"{text[: doc.start(1)]}{kept}{text[doc.end(1) :]}", "utf-8")


def alarms(arguments: argparse.Namespace) -> int:
    """Add the reports' counts up by signal; name each signal that states facts and may not.

    Reports behind `--made` are of clean changes that were given a case or rules (twins of seeded defects). They count only for
    the signals that look at these.
    """
    hits, chances = Counter[str](), Counter[str]()
    for path in (*arguments.reports, *arguments.made):
        scopes = {SignalScope.CASE, SignalScope.RULES} if path in arguments.made else set(SignalScope)
        for name, alarm in json.loads(path.read_text("utf-8"))["alarms"].items():
            if alarm["looks_at"] in scopes:
                hits[name] += alarm["clean"]["hits"]
                chances[name] += alarm["clean"]["of"]
    for signal in SIGNALS:
        share = Share(hits[signal.name], chances[signal.name])
        if share.of and signal.name in (arguments.signal or [signal.name]):
            write_alarms(signal, share)
            if signal.kind is SignalKind.FACT and not is_blocking_allowed(share):
                print(f"{signal.name} may not block: {measured_line(share, signal.scope)}")
    print("docs/signals follows from the new docstrings: ./test tests/worker/signals --update-golden")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, run, limit in (("mine", mine, 0), ("inject", inject, 100)):
        command = commands.add_parser(name)
        command.set_defaults(run=run)
        command.add_argument("repository", type=Path, metavar="REPO_DIR")
        command.add_argument("out", type=Path, metavar="OUT.jsonl.gz")
        command.add_argument("--limit", type=int, default=limit, metavar="N", help="at most N rows, or seeds")
        command.add_argument("--walk", type=int, default=WALKED, metavar="N", help="commits to look back")
        command.add_argument("--name", metavar="OWNER/NAME", help="the repository's name, where it has no remote")
        if name == "inject":
            command.add_argument("--variants", type=Path, metavar="FILE.py", help="other variants than the built-in")
            continue
        command.add_argument("--touching", action="append", default=[], metavar="GLOB", help="commits that change it")
        command.add_argument("--listed", type=int, default=0, metavar="N", help="messages that list at least N things")
    command = commands.add_parser("alarms")
    command.set_defaults(run=alarms)
    command.add_argument("reports", type=Path, nargs="+", metavar="REPORT.json")
    command.add_argument("--signal", action="append", default=[], metavar="NAME", help="these signals alone")
    command.add_argument("--made", type=Path, nargs="+", default=[], metavar="REPORT.json")
    parsed = parser.parse_args(arguments)
    return parsed.run(parsed)


if __name__ == "__main__":
    sys.exit(main())
