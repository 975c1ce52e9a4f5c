"""Questions that several checks ask: where the claim is, whether it is new, what looks like an assertion.

Does not answer for any signal. Invariant: where more may follow below what is shown, `may_go_on` says so.
"""

import re
from collections.abc import Callable
from typing import Final

from bench.proving.answer import Answer, Claim, cannot_tell, refuted
from bench.proving.masking import language
from bench.proving.routines import Routine, around, tests_around
from bench.proving.shown import Matter, Shown

Check = Callable[[Claim, Matter], Answer]

ASSERTS: Final = re.compile(
    r"\bassert\w*|\w*[aA]ssert\w*\s*[(!]|\w*[eE]xpect\w*\s*[(.<]|\bshould\b|\brequire\.|\b\w*[vV]erif\w*\s*\(|\b\w*[cC]heck\w*\s*\(|\b\w+\.(?:Error|Fatal|Fail)\w*\("
    r"|\braises\b|\bwarns\b|\bpanic\w*\b|\bfail\w*\s*\(|\braise\b|\bthrow\b|\bensure\w*\b|\bmust\w*\s*\(|\bStepVerifier\b|\bEqual\w*\("
)
STRICT: Final = re.compile(
    r"\bassert\w*!?|\bassert_\w+|\bexpect\s*\(|\brequire\.\w+|\bassertThat|\bverify\w*\(|\b[tb]\.(?:Error|Fatal|Fail)\w*\(|\bis\.\w+\(|\bt\.(?:ok|equal|not|same|strict\w*|deep\w*|is|true|false|match|throws|error|fail|pass|rejects)\w*\(|\bfail\w*\("
)


def with_file(check: "Callable[[Claim, Shown], Answer]") -> Check:
    """A check of one changed file."""

    def run(claim: Claim, matter: Matter) -> Answer:
        shown = matter.file(claim.path)
        return refuted(f"{claim.path} is not in the diff") if shown is None else check(claim, shown)

    return run


def routine_at(claim: Claim, shown: Shown) -> Routine | None:
    lines = shown.base if claim.is_base else shown.head
    return around(lines, shown.path, claim.line)


def test_at(claim: Claim, shown: Shown) -> Routine | None:
    lines = shown.base if claim.is_base else shown.head
    return tests_around(lines, shown.path, claim.line) or around(lines, shown.path, claim.line)


def is_all_new(routine: Routine, shown: Shown) -> bool:
    """Every line that holds something was added; of the closing brace git may take another's."""
    lines = range(routine.first, max(routine.first + 1, routine.last))
    return all(line in shown.added for line in lines if shown.head.get(line, "").strip(" \t})];,"))


def may_go_on(routine: Routine, shown: Shown, *, of_base: bool = False) -> bool:
    """Whether more of it may stand below what is shown: behind an added line at the end of a hunk nothing does."""
    if routine.is_cut:
        return True
    is_whole = (shown.base_text if of_base else shown.text) is not None
    ends_with_text = routine.node is not None or routine.is_broken
    lines, changed = (shown.base, shown.removed) if of_base else (shown.head, shown.added)
    below = [n for n in range(routine.last + 1, routine.last + 4) if lines.get(n, "").strip()]
    return (
        ends_with_text
        and not is_whole
        and not below
        and max(n for n in range(routine.last, routine.last + 4) if n in lines) not in changed
    )


def told(note: str) -> list[str]:
    """What the note puts in backticks."""
    return re.findall(r"`([^`]+)`", note)


def counted(word: str, text: str) -> int:
    return len(re.findall(rf"(?<![\w$]){re.escape(word)}(?![\w$])", text))


def not_found(claim: Claim, what: str = "function") -> Answer:
    return cannot_tell(f"no {what} can be cut out of what is shown around line {claim.line}")


def stripped(text: str) -> str:
    return " ".join(text.split())


def is_python(shown: Shown) -> bool:
    return language(shown.path) == "python"
