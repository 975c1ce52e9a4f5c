"""Assertions of kept tests that accept more results than before: a range for a value, a wider margin, any error for one.

Old and new are in the same block of changed lines of one test, and nothing in that block asks for as much as before.
"""

from collections.abc import Iterator
from itertools import islice, zip_longest
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.dossier.diff.parser import DiffLine
from worker.signals.analysis.assertions import Assertion
from worker.signals.analysis.change import AnalyzedFile, CodeChange
from worker.signals.analysis.proofs import Proof
from worker.signals.signal import SettlingLine, SignalKind, SignalMatch, SignalScope, signal
from worker.signals.weak_test.assertion_loosened import find_blocks, find_lost_checks, find_removed_checks
from worker.signals.weak_test.assertion_strength import assertion_words, is_opposite

_REWRITTEN: Final = 10
"""Replaced assertions that are compared: with more of them, tests were rewritten."""
_NAME: Final = pattern(r"[A-Za-z_]\w*")
_PART: Final = pattern(
    r"\b(?:assert_?)?(?:to)?(?:contains?|include|match|startsWith|starts_with|endsWith|ends_with|contain)\w*!?\(|\bassertIn\(|\b(?:is|be|toBe|assert)?(?:Greater|Less)\w*\("
    r"| in | >=? | <=? | != | !== |assert_ne!|[nN]ot_?[eE]qual|\.not\.to(?:Be|Equal)\w*\(|objectContaining|arrayContaining|stringContaining|stringMatching"
    r"|\bat(?:_l|L)east\w*\(|\.(?:to\.)?be\.(?:above|below|at)\b|toHaveBeenCalled\(\)|toBeCalled\(\)|assert_called\(|assert_any_call\(|\bany\w*\(\)|\bANY\b|matches!"
    r"|[iI]s_?[iI]nstance|InstanceOf\(|toHaveProperty\([^,()]{1,80}\)|hasSizeGreaterThan|assertRegex|called\b(?!\w)"
)
_NUMBER: Final = pattern(r"(?<![\w.])\d[\d_]*(?:\.\d+)?(?:e-?\d+)?")
_MARGIN: Final = pattern(
    r"(?:delta|rel|abs|tol|atol|rtol|epsilon|eps|precision)\s*=\s*$|(?:within|offset|withPercentage|Percentage\w*|abs\w*|InDelta|InEpsilon|[cC]loseTo|AlmostEqual\w*|assertEquals"
    r"|approx\w*!?|relative_eq!?)\(.{0,200}$|\babs\b.{0,80}<=?\s*$",
    2,
)
_DIGITS: Final = pattern(r"(?:places|digits|decimals?)\s*=\s*$|toBeCloseTo\(.{1,80}$", 2)
_LONGEST: Final = 300
_ONE_ERROR: Final = pattern(
    r"toThrow\w*\(\s*[^)\s]|\braises\((?!(?:Base)?Exception\b)\w|\bmatch=|assertRaises(?:Regex)?\((?!(?:Base)?Exception\b)\w|assertThrows\((?!(?:Exception|Throwable)\b)\w"
    r"|\b(?:EqualError|ErrorIs|ErrorContains|ErrorAs)\(|\b(?:throws|rejects)\([^\n]{1,200}, |hasMessage\w*\(|isInstanceOf\((?!Exception|Throwable|Object)\w|should_panic\(expected|unwrap_err\(\)"
)
_ANY_ERROR: Final = pattern(
    r"toThrow\w*\(\)|\braises\((?:(?:Base)?Exception|\w+)\)|assertRaises\((?:Base)?Exception\b|assertThrows\((?:Exception|Throwable)\.class|\.Error\(t, \w+\)|\.Error\(err\)"
    r"|\.is_err\(\)|isInstanceOf\((?:Exception|Throwable)\.class\)|\b(?:throws|rejects)\((?:\(\) =>|async|\w+\()[^\n,]{1,200}\)\s*;?$|#\[should_panic\]"
)


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS, settled_by=SettlingLine.CHANGE)
def assertion_widened(change: CodeChange) -> Iterator[SignalMatch]:
    """An assertion of a kept test now lets more results pass: a range or a part for a value, a wider margin, any error.

    Why it matters: A wrong result that failed the test before may pass it now.
    Example: `assert total > 0` in place of `assert total == 3`.
    False alarms: 74 of 22175 clean changes with tests (0.3 %, at most 0.42 %).
    """
    losses = ((loss.file.path, loss.replacement) for loss in find_lost_checks(change))
    reported = {(path, replacement.first_line) for path, replacement in losses if replacement is not None}
    replaced = ((loss, loss.checks_in_place) for loss in find_removed_checks(change))
    for loss, checks in islice(((loss, checks) for loss, checks in replaced if checks), _REWRITTEN):
        old, new, path = loss.check, checks[0], loss.file.path
        is_reported = (path, new.first_line) in reported
        if not is_reported and all(_is_wider(old.assertion, check.assertion) for check in checks):
            yield SignalMatch("more results pass here than before", path, new.first_line, new.last_line)
    for file in change.files:
        if file.language is not None and file.is_test:
            for line in _find_any_error_lines(file):
                yield SignalMatch("here one error was expected, and now any would do", file.path, line.head_line)


def _is_wider(old: Assertion, new: Assertion) -> bool:
    if _is_margin_wider(old.text, new.text):
        return True
    if "".join(old.text.split()) == "".join(new.text.split()):
        return False  # `x >3` asks for no more than `x > 3`
    if new.proof < old.proof:
        is_about_it = new.proof is Proof.SUCCESS or not assertion_words(new).isdisjoint(assertion_words(old))
        return is_about_it and not is_opposite(new, old)
    is_about_it = assertion_words(new) <= assertion_words(old) | frozenset(_NAME.findall(old.text))
    return is_about_it and bool(_PART.search(new.text)) and not _PART.search(old.text)


def _is_margin_wider(old: str, new: str) -> bool:
    """Whether only one number differs, and it allows a greater difference."""
    if _NUMBER.sub("0", old) != _NUMBER.sub("0", new):
        return False
    pairs = zip_longest(_NUMBER.finditer(old), _NUMBER.finditer(new))
    changed = [(first, other) for first, other in pairs if first[0] != other[0]]
    if len(changed) != 1 or old.count(",") + old.count("<") == 0:
        return False
    first, other = changed[0]
    before, is_last = old[: first.start()], not _NUMBER.search(old, first.end())
    more = float(other[0].replace("_", "")) > float(first[0].replace("_", ""))
    if _DIGITS.search(before):
        return is_last and "," in before and not more
    return is_last and _MARGIN.search(before) is not None and more and ("," in before or "<" in before or "=" in before)


def _find_any_error_lines(file: AnalyzedFile) -> Iterator[DiffLine]:
    """Added lines that any error satisfies, where the removed ones of the block named one."""
    if not any(_ONE_ERROR.search(text[:_LONGEST]) for text in file.diff.removed_texts):
        return
    removed = {line.base_line: line for line in file.diff.removed_lines}
    added = {line.head_line: line for line in file.diff.added_lines}
    for block in find_blocks(file):
        gone = [removed[number].text[:_LONGEST] for number in block.removed_lines]
        new = [added[number] for number in sorted(block.added_lines)]
        if any(map(_ONE_ERROR.search, gone)) and not any(_ONE_ERROR.search(line.text[:_LONGEST]) for line in new):
            yield from (line for line in new if _ANY_ERROR.search(line.text[:_LONGEST]))
