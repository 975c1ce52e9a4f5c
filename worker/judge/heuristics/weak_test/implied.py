"""Checks that something is there, of which a check that stays in the same test asks more.

Reads checks as texts. Does not know which steps change a value. Invariant: of what is not a plain name, bound once, only
a check right beside it speaks, with nothing but checks between the two.
"""

import re
from collections.abc import Iterator
from typing import Final

from worker.domain.pattern import pattern
from worker.judge.heuristics.oracles import Oracle, oracles_of
from worker.judge.heuristics.tests import Test
from worker.judge.heuristics.truths import Proof


def is_implied(gone: Oracle, base: Test, head: Test) -> bool:
    """Whether *gone* only asked that something is there, and *head* still asks what it is, or looks into it."""
    subject = _subject(gone)
    if not subject:
        return False
    stronger = [one for one in _checks(head) if _asks_more(one, subject)]
    if _NAME.fullmatch(subject):
        bound = re.findall(rf"(?<![\w.$]){re.escape(subject)}(?:: ?[^=\n]{{1,80}})? ?:?=(?![=>])", head.text)
        return bool(stronger) and len(bound) <= 1
    texts = {one.text for one in stronger}
    return any(one.text in texts and _is_beside(one, gone, base) for one in _checks(base))


def _checks(test: Test) -> Iterator[Oracle]:
    found = oracles_of(test.body, test.source.language, nodes=test.source.nodes)
    return (one for one in found if not one.is_guess)


def _subject(oracle: Oracle) -> str:
    """What is asked to be there at all."""
    found = _THERE.fullmatch(oracle.text) if len(oracle.text) <= _LONGEST else None
    return "" if found is None else next(filter(None, found.groups()))


_LONGEST: Final = 300
_MORE: Final = r"(?:, ?[\"'`][^\"'`]*[\"'`])?"
_THERE: Final = pattern(
    r"(?:\w+\.)?(?:assertThat|expect)\((.+)\)\.(?:isNotNull\(\)|toBeDefined\(\)|toBeTruthy\(\)|not\.toBe(?:Null|Undefined)\(\)|to\.exist|to\.be\.ok);?"
    rf"|assert (.+) (?:is not|!=) None{_MORE}|self\.assertIsNotNone\((.+?){_MORE}\)"
    rf"|(?:require|assert)\.NotNil\(t, (.+?){_MORE}\)|if ([\w.]+) == nil \{{.*\}}"
    rf"|(?:[\w$]+(?:\.|->|::))?(?:[aA]ssertNotNull|IsNotNull|NotNull)\((.+?){_MORE}\);?"
)
_NAME: Final = pattern(r"[A-Za-z_$][\w$]*")


def _asks_more(oracle: Oracle, subject: str) -> bool:
    """It asks what the subject is, or looks into it, so that it fails where there is none."""
    if oracle.proof is not Proof.VALUE:
        return False
    said = oracle.text[:_LONGEST].partition(" {")[0] if oracle.text.startswith("if ") else oracle.text[:_LONGEST]
    rests = [said[at:] for at in _ends(subject, said)]
    if any(_INTO.match(rest) for rest in rests):
        return True
    if _DENIES.search(said):
        return False
    if any(rest.startswith("?.") for rest in rests):
        return True
    compared = [one.strip() for one in oracle.pair or ()]
    is_compared = subject in compared and _NOTHING.isdisjoint(compared)
    return is_compared or any(said.startswith(f"{entry}({subject})") for entry in ("expect", "assertThat"))


def _ends(subject: str, said: str) -> Iterator[int]:
    return (found.end() for found in re.finditer(rf"(?<![\w.$]){re.escape(subject)}(?![\w$])", said))


_INTO: Final = pattern(r"!?(?:\.[A-Za-z_]|->|\[)")
_DENIES: Final = pattern(
    r"\.not\b|\bnot |!=|[nN]otE|isNot|doesNot|Null\b|Undefined\(|Falsy\(|\b(?:undefined|null|None|nil)\b"
)
_NOTHING: Final = frozenset({"None", "null", "nil", "undefined"})


def _is_beside(one: Oracle, gone: Oracle, base: Test) -> bool:
    """Between the two stand nothing but checks."""
    first, last = sorted((one.node, gone.node), key=lambda node: node.start_byte)
    between = range(first.end_point.row + 1, last.start_point.row)
    checks = {row for each in _checks(base) for row in range(each.node.start_point.row, each.node.end_point.row + 1)}
    return all(row in checks or not base.source.lines[row].strip() for row in between)
