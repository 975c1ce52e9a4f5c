"""Facts about files that nobody meant to commit, proved again.

Does not say whether a fact is fair. Invariant: a file that any text names is no such file.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from bench.proving.answer import Answer, Claim, first_answer, refuted, settled
from bench.proving.looking import Check
from bench.proving.shown import Matter

_OF_AN_EDITOR: Final = re.compile(r"~$|\.sw[op]$|^\.DS_Store$|^Thumbs\.db$|^desktop\.ini$|^flycheck_|^\.?#")


@first_answer
def scratch_file(claim: Claim, matter: Matter) -> Iterator[Answer]:
    shown = matter.file(claim.path)
    if shown is None or not shown.is_new:
        yield refuted("the file is not new")
        return
    folder, _, name = shown.path.rpartition("/")
    stem = name.partition(".")[0]
    if stem and any(stem in text for text in _asked(matter.dossier)):
        yield refuted(f"somebody speaks of `{stem}`")
    naming = (path for path, _, text in matter.lines_after() if path != shown.path and name in text)
    if (path := next(naming, None)) is not None:
        yield refuted(f"{path} names it")
    is_left = not folder or _OF_AN_EDITOR.search(name) is not None
    others = any(other.path != shown.path for other in matter.files)
    yield settled(holds=is_left and others, why="it is new beside other changes, and nothing names it")


def _asked(dossier: dict[str, Any]) -> Iterator[str]:
    pull: dict[str, Any] = dossier.get("pull_request") or {}
    yield from (pull.get("title") or "", pull.get("body") or "")
    for issue in dossier.get("issues") or ():
        yield from (issue["title"], issue["body"])


CHECKS: Final[dict[str, Check]] = {"scratch_file": scratch_file}
