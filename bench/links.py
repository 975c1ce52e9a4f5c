"""Which issues texts close and mention: `python bench/links.py IN OUT`.

IN has lines `{"id", "repository", "text"}`, OUT gets `{"id", "closes", "mentions"}` with references as `owner/repo#N`;
what a text closes is no mention. Where IN says what is expected (`expect.closes`, `expect.mentions`), the share that is
right is printed, rows with `expect.doubtful` apart.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.rows import read, two_files, write  # noqa: E402 - found from any working directory
from worker.dossier.issue_links import IssueLink, find_closing_links, find_mentions  # noqa: E402 - as above


def answer(row: dict[str, Any]) -> dict[str, Any]:
    text, repository = row["text"] or "", row["repository"]
    closes = find_closing_links(text, repository)
    closed = {(link.repository.casefold(), link.number) for link in closes}
    mentions = find_mentions(text, repository)
    return {
        "id": row["id"],
        "closes": [_named(link) for link in closes],
        "mentions": [_named(link) for link in mentions if (link.repository.casefold(), link.number) not in closed],
    }


def _named(link: IssueLink) -> str:
    return f"{link.repository}#{link.number}"


def is_right(row: dict[str, Any], given: dict[str, Any]) -> bool:
    return all(set(row["expect"][name]) == set(given[name]) for name in ("closes", "mentions") if name in row["expect"])


def main(argv: Sequence[str] | None = None) -> None:
    source, target = two_files(__doc__, argv)
    rows = list(read(source))
    answers = [answer(row) for row in rows]
    write(target, answers)
    right: Counter[tuple[str, bool]] = Counter()
    for row, given in zip(rows, answers, strict=True):
        if "expect" in row:
            group = "doubtful" if row["expect"].get("doubtful") else "plain"
            right[group, is_right(row, given)] += 1
            if not is_right(row, given):
                print(f"wrong ({group}): {row['id']}: {given['closes']} and {given['mentions']}")
    for group in sorted({name for name, _ in right}):
        print(f"{group}: {right[group, True]} of {right[group, True] + right[group, False]} right")


if __name__ == "__main__":
    main()
