"""What code holds against the model's word: claims, tests for code, names that are there, rules that are not.

Asks nobody. Facts and unread files are vetoes, too, and stand where the ruling is made (`worker.judge.asking`). Invariant:
nothing here rejects: what is vetoed is a person's to decide, and the model's opinion stays on record.
"""

from collections.abc import Iterator
from typing import Final

from worker.domain.opinion import Leaning, ModelOpinion
from worker.domain.pattern import pattern
from worker.domain.verdict import ClaimStatus, ClaimVerdict
from worker.judge import words
from worker.judge.claims import meant
from worker.judge.denials import denied
from worker.judge.heuristics.paths import Role, role_of
from worker.judge.rulings import Hearing, Ruling, left_to_a_person
from worker.judge.unwritten import unwritten

_TEXT: Final = pattern(
    r"\.(?:md|mdx|markdown|rst|txt|adoc|asciidoc|org|tex)$|(?:^|/)(?:LICENSE|NOTICE|AUTHORS|CHANGELOG)$"
)
_NOT_OF_CODE: Final = pattern(
    r"(?i)\b(?:tests?|tested|testing|covers?|covered|coverage|assert\w*|specs?|fixtures?|ci|lint\w*|build|pipeline|workflow"
    r"|docs?|document\w*|readme|changelog|comments?|docstrings?|examples?|guides?|tutorials?|wording|typos?|notes?)\b"
)
"""What a criterion says that a test, a text or a run may meet."""


def vetoed(ruling: Ruling, opinion: ModelOpinion, hearing: Hearing) -> Ruling:
    """The same ruling, or a person's."""
    if ruling.decision == "reject" and (found := denied(opinion, hearing.dossier)):
        said = words.there(found.name, found.path, found.line, is_taken=found.is_taken)
        return _held_against(ruling, said, "names")
    if ruling.decision == "reject" and (rule := unwritten(opinion, hearing.dossier)):
        return _held_against(ruling, words.no_rule(rule), "rules")
    if ruling.decision != "accept":
        return ruling
    against = next(contradicted(hearing), None)
    if against is not None:
        return _held_against(ruling, words.contradicted(*against), "claims")
    bare = shown_by_others_alone(opinion, hearing)
    return _held_against(ruling, words.shown_by_tests_alone(bare), "evidence") if bare else ruling


def _held_against(ruling: Ruling, said: tuple[str, str], why: str) -> Ruling:
    return left_to_a_person(ruling, said, ruling.decision, vetoed_by=why)


def contradicted(hearing: Hearing) -> Iterator[tuple[str, ClaimVerdict]]:
    """Each criterion that the author says is met somewhere where it is known not to be, with that claim."""
    case = hearing.dossier.case
    for claim, found in zip(case.ac_coverage if case else (), hearing.claims, strict=False):
        if found.status is ClaimStatus.CONTRADICTED:
            yield from ((one.id, found) for one in hearing.criteria if meant(claim, one))


def question_of(opinion: ModelOpinion, hearing: Hearing) -> str | None:
    """What the model is asked about where it looked, if that can't have been enough."""
    if found := denied(opinion, hearing.dossier):
        return words.look_there(found.name, found.path, found.line, is_taken=found.is_taken)
    if rule := unwritten(opinion, hearing.dossier):
        return words.look_for_rule(rule)
    bare = shown_by_others_alone(opinion, hearing)
    return words.look_at_code(bare) if bare else None


def shown_by_others_alone(opinion: ModelOpinion, hearing: Hearing) -> tuple[str, ...]:
    """The criteria of code that an accept shows by tests or texts only, though the change holds code."""
    if opinion.decision is not Leaning.ACCEPT or all(is_test_or_text(file.path) for file in hearing.diff.files):
        return ()
    of_code = {one.id for one in hearing.criteria if not _NOT_OF_CODE.search(one.text)}
    return tuple(
        one.id
        for one in opinion.criteria
        if one.id in of_code and all(is_test_or_text(place.path) for place in one.evidence)
    )


def is_test_or_text(path: str) -> bool:
    return role_of(path) is Role.TEST or _TEXT.search(path) is not None
