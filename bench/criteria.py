"""Acceptance criteria out of issues: `python bench/criteria.py IN OUT`.

IN has lines `{"id", "issue": {"title", "body"}}`, OUT gets `{"id", "criteria": [{"text", "span"?}], "explicit",
"inferred"}`: `span` is where the text stands in the body, white space aside. Where IN says what is expected
(`expect.criteria`), precision, recall and F1 over the explicit lists are printed, and every list that is not right.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.rows import read, two_files, write  # noqa: E402 - found from any working directory
from worker.domain.dossier.dossier import Issue  # noqa: E402 - as above
from worker.dossier.criteria import criteria_of  # noqa: E402 - as above


def answer(row: dict[str, Any]) -> dict[str, Any]:
    title, body = row["issue"].get("title") or "", row["issue"].get("body") or ""
    found = criteria_of((Issue(number=1, title=title, body=body),), "", "")
    explicit = any(not one.inferred for one in found)
    return {
        "id": row["id"],
        "criteria": [_placed(one.text, body) for one in found],
        "explicit": explicit,
        "inferred": not explicit and bool(found),
    }


def _placed(text: str, body: str) -> dict[str, Any]:
    words = text.split()
    form = rf"(?<!\w){SPACE.join(map(re.escape, words))}(?!\w)"
    places = [one.span() for one in re.finditer(form, body)] if len(words) < MOST_WORDS else []
    place = max(places, key=lambda one: _stands_alone(body, one), default=None)
    return {"text": text, "span": list(place)} if place else {"text": text}


def _stands_alone(body: str, place: tuple[int, int]) -> int:
    """How many of its ends have only marks between them and their line's: what is listed may be said before as well."""
    before, after = body[: place[0]].rpartition("\n")[2], body[place[1] :].partition("\n")[0]
    return (MARKS.fullmatch(before) is not None) + (MARKS.fullmatch(after) is not None)


SPACE = r"\s+"
MARKS = re.compile(r"(?:[^\w\n]|\d{1,3}[.)]|\[[xX]\])*")
MOST_WORDS = 400


def folded(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip(".;")


def texts(listed: list[Any]) -> set[str]:
    return {folded(one if isinstance(one, str) else one["text"]) for one in listed}


def main(argv: Sequence[str] | None = None) -> None:
    source, target = two_files(__doc__, argv)
    rows = list(read(source))
    answers = [answer(row) for row in rows]
    write(target, answers)
    hits = given = wanted = 0
    for row, said in zip(rows, answers, strict=True):
        expect: dict[str, Any] = row.get("expect") or {}
        if not expect.get("explicit") or expect.get("want") == "either":
            continue  # prose, or a form that may be read both ways
        theirs = texts(expect["criteria"])
        ours = texts(said["criteria"] if said["explicit"] else []) - (texts(expect.get("optional") or []) - theirs)
        hits, given, wanted = hits + len(ours & theirs), given + len(ours), wanted + len(theirs)
        if ours != theirs:
            print(f"differs: {row['id']}: missing {sorted(theirs - ours)[:3]}, too many {sorted(ours - theirs)[:3]}")
    if wanted and given and hits:
        precision, recall = hits / given, hits / wanted
        print(f"explicit lists: precision {precision:.3f}, recall {recall:.3f}", end=", ")
        print(f"F1 {2 * precision * recall / (precision + recall):.3f} ({wanted} criteria)")


if __name__ == "__main__":
    main()
