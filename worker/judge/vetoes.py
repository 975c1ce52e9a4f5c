"""What code holds against the model's word: claims, tests for code, names that are there, rules that are not, findings that do not survive.

Asks nobody. Facts and unread files are vetoes, too, and stand where the ruling is made (`worker.judge.model_judge`). Invariant:
nothing here rejects: what is vetoed is a person's to decide, and the model's opinion stays on record.
"""

from collections.abc import Collection, Iterator
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.value import replace
from worker.domain.verdict.opinion import Leaning, ModelOpinion
from worker.domain.verdict.verdict import ClaimStatus, ClaimVerdict, CriterionStatus, CriterionVerdict
from worker.judge import texts
from worker.judge.checks.claims import meant
from worker.judge.checks.missing_names import denied
from worker.judge.checks.missing_rules import unwritten
from worker.judge.checks.survival import UNMET, Survival, survival_of
from worker.judge.checks.suspicions import left_open
from worker.judge.rulings import Hearing, Ruling, left_to_a_person
from worker.signals.acceptance_gap.shortfall import untested_criteria
from worker.signals.analysis.change import Change
from worker.signals.analysis.file_roles import Role, role_of

_TEXT: Final = pattern(
    r"\.(?:md|mdx|markdown|rst|txt|adoc|asciidoc|org|tex)$|(?:^|/)(?:LICENSE|NOTICE|AUTHORS|CHANGELOG)$"
)
_NOT_OF_CODE: Final = pattern(
    r"(?i)\b(?:tests?|tested|testing|covers?|covered|coverage|assert\w*|specs?|fixtures?|ci|lint\w*|build|pipeline|workflow"
    r"|docs?|document\w*|readme|changelog|comments?|docstrings?|examples?|guides?|tutorials?|wording|typos?|notes?)\b"
)
"""What a criterion says that a test, a text or a run may meet."""


SUSPICIONS: Final = "suspicions"
"""Why an accept is a person's that answers what code suspects with no line that could settle it."""


def vetoed(ruling: Ruling, opinion: ModelOpinion, hearing: Hearing) -> Ruling:
    """The same ruling, or a person's."""
    untested = untested_of(opinion, hearing)
    ruling = replace(ruling, criteria=tuple(_untested(one) if one.id in untested else one for one in ruling.criteria))
    match ruling.decision:
        case "reject":
            return _held_reject(ruling, opinion, hearing)
        case "accept":
            return _held_accept(ruling, opinion, hearing)
        case _:
            return ruling


def _untested(criterion: CriterionVerdict) -> CriterionVerdict:
    return criterion.model_copy(update={"status": CriterionStatus.MISSING, "evidence": (), "note": texts.NO_TEST})


def _held_reject(ruling: Ruling, opinion: ModelOpinion, hearing: Hearing) -> Ruling:
    if found := denied(opinion, hearing.dossier):
        said = texts.there(found.name, found.path, found.line, is_taken=found.is_taken)
        return _held_against(ruling, said, "names")
    if rule := unwritten(opinion, hearing.dossier):
        return _held_against(ruling, texts.no_rule(rule), "rules")
    survival = survival_of(opinion, hearing)
    if survival is None:
        return ruling
    if survival.is_empty:
        said = texts.not_borne_out(opinion.concern, survival.refused)
        return _held_against(replace(ruling, evidence=()), said, "change")
    unmet = {one.id for one in opinion.criteria if one.status in UNMET}
    return _with_survivors(ruling, survival, unmet - survival.criteria)


def _held_accept(ruling: Ruling, opinion: ModelOpinion, hearing: Hearing) -> Ruling:
    against = next(contradicted(hearing), None)
    if against is not None:
        return _held_against(ruling, texts.contradicted(*against), "claims")
    if bare := shown_by_others_alone(opinion, hearing):
        return _held_against(ruling, texts.shown_by_tests_alone(bare), "evidence")
    if untested := untested_of(opinion, hearing):
        return _held_against(ruling, texts.met_without_a_test(untested), "tests")
    left = left_open(opinion, hearing)
    return _held_against(ruling, texts.suspicions_left([one.finding for one in left]), SUSPICIONS) if left else ruling


def _held_against(ruling: Ruling, said: tuple[str, str], why: str) -> Ruling:
    return left_to_a_person(ruling, said, ruling.decision, vetoed_by=why)


def _with_survivors(ruling: Ruling, survival: Survival, refuted: Collection[str]) -> Ruling:
    """The reject without what the change speaks against."""
    criteria = tuple(
        one.model_copy(update={"status": CriterionStatus.UNVERIFIABLE, "note": texts.SPOKEN_OF})
        if one.id in refuted
        else one
        for one in ruling.criteria
    )
    return replace(ruling, evidence=survival.evidence, criteria=criteria)


def contradicted(hearing: Hearing) -> Iterator[tuple[str, ClaimVerdict]]:
    """Each criterion that the author says is met somewhere where it is known not to be, with that claim."""
    case = hearing.dossier.case
    for claim, found in zip(case.ac_coverage if case else (), hearing.claims, strict=False):
        if found.status is ClaimStatus.CONTRADICTED:
            yield from ((one.id, found) for one in hearing.criteria if meant(claim, one))


def question_of(opinion: ModelOpinion, hearing: Hearing, asked: Collection[str] = ()) -> str | None:
    """What the model is asked about where it looked, if that can't have been enough. *asked*: the suspicions that it was told of."""
    match opinion.decision:
        case Leaning.REJECT:
            return _question_of_reject(opinion, hearing)
        case Leaning.ACCEPT:
            return _question_of_accept(opinion, hearing, asked)
        case _:
            return None


def _question_of_reject(opinion: ModelOpinion, hearing: Hearing) -> str | None:
    if found := denied(opinion, hearing.dossier):
        return texts.look_there(found.name, found.path, found.line, is_taken=found.is_taken)
    if rule := unwritten(opinion, hearing.dossier):
        return texts.look_for_rule(rule)
    survival = survival_of(opinion, hearing)
    return texts.nothing_survives(survival.refused) if survival and survival.is_empty else None


def _question_of_accept(opinion: ModelOpinion, hearing: Hearing, asked: Collection[str]) -> str | None:
    if bare := shown_by_others_alone(opinion, hearing):
        return texts.look_at_code(bare)
    if hearing.opinion.facts:
        return None
    if untested := untested_of(opinion, hearing):
        return texts.look_for_a_test(untested)
    left = [one.id for one in left_open(opinion, hearing) if one.id in asked]
    return texts.settle(left) if left else None


def untested_of(opinion: ModelOpinion, hearing: Hearing) -> tuple[str, ...]:
    """The criteria that ask for a test and are called met by a change that adds to none."""
    untested = untested_criteria(Change(hearing.dossier))
    return tuple(one.id for one in opinion.criteria if one.status is CriterionStatus.MET and one.id in untested)


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
