"""Concern and next step of a verdict where no model worded them, and the corrections for a model.

A concern says what happened, a next step who should do what, and neither blames the author for what was not judged.
"""

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from types import MappingProxyType
from typing import Final

from worker.domain.dossier import AWAITING_APPROVAL, Criterion
from worker.domain.time_range import JudgingPause, format_time
from worker.domain.verdict.budget import Cap, CapLevel
from worker.domain.verdict.verdict import (
    Category,
    ClaimVerdict,
    ClosingCondition,
    CriterionStatus,
    EvidencePointer,
    Finding,
    Leaning,
    ModelOpinion,
)
from worker.judge.checks.ci_status import CiReport
from worker.judge.context import ModelSkipReason, Pause

MOST_NAMED: Final = 10
"""How many names a sentence lists."""

FACTS_NAMED: Final = 3
"""How many facts the text of a reject describes, each with its remedy."""


BUDGETS: Final = MappingProxyType(
    {
        Cap.PULL: "of this pull request",
        Cap.DAY: "of today",
        Cap.SHARE: "of this repository's share of today",
        Cap.AUTHOR: "of this author's share of today",
    }
)
_AFTER_MIDNIGHT: Final = "A maintainer re-runs this check after midnight UTC, or the operator raises"
_BUDGET_STEPS: Final = MappingProxyType(
    {
        Cap.PULL: "The operator raises ASSAY_PR_MAX_USD and a maintainer re-runs this check, or a person reviews the change.",
        Cap.DAY: f"{_AFTER_MIDNIGHT} ASSAY_DAY_MAX_USD.",
        Cap.SHARE: f"{_AFTER_MIDNIGHT} ASSAY_REPOSITORY_SHARE.",
        Cap.AUTHOR: f"{_AFTER_MIDNIGHT} ASSAY_AUTHOR_SHARE.",
    }
)
_PAUSED: Final = MappingProxyType(
    {
        Pause.OPERATOR: (
            "Judging is paused: the operator stopped it. This change was not judged.",
            "A person reviews it, or a maintainer re-runs this check once ASSAY_PAUSED is 0 again.",
        ),
        Pause.REPOSITORY: (
            "Judging is paused in this repository, by `assay pause`. This change was not judged.",
            "A person reviews it, or a maintainer re-runs this check once `assay resume` let judging go on.",
        ),
    }
)


def join_names(names: Sequence[str], limit: int = MOST_NAMED) -> str:
    """`a, b and 3 more`."""
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def ci_failed(report: CiReport) -> tuple[str, str]:
    checks = [f"{check.name} ({(check.conclusion or 'unfinished').replace('_', ' ')})" for check in report.failed]
    which = f": {join_names(checks)}" if checks else ""
    tests = f" Failing tests: {join_names(report.tests)}." if report.tests else ""
    fix = join_names([check.name for check in report.failed]) or "CI"
    return (
        f"CI failed on this head{which}.{tests}",
        f"The author makes {fix} pass; the solution is judged once the validators are green.",
    )


def ci_pending(report: CiReport) -> tuple[str, str]:
    if report.silenced:
        return (
            f'CI did not run on this head: its commit message says "{report.silenced}".',
            "The author pushes a commit whose message does not keep CI from running.",
        )
    names = join_names([check.name for check in report.unfinished])
    if report.unfinished and all(check.status == AWAITING_APPROVAL for check in report.unfinished):
        return (
            f"CI did not run on this head: a maintainer has to approve it first ({names}).",
            "A maintainer approves the workflows to run; Assay judges when they have finished.",
        )
    return (
        f"CI did not finish in time{f': {names}' if names else ''}.",
        "A maintainer has CI finish on this head, then re-runs this check.",
    )


def unproven(
    skipped: ModelSkipReason,
    suspicions: int,
    obstacle: str | None = None,
    unread: Sequence[str] = (),
    *,
    on_laptop: bool = False,
) -> tuple[str, str]:
    """*obstacle*: why a change of documentation is not accepted without a model. *unread*: files not read in full.

    *on_laptop*: the reader sets the key and the tier.
    """
    opening = (
        f"No fact was found in what could be read (not read in full: {join_names(unread)})"
        if unread
        else "No fact was found against this change"
    )
    doubt = f" {_count(suspicions, 'suspicion')} to look at." if suspicions else ""
    if obstacle is not None:
        doubt = f" Only documentation changed, and a reader has to look at it: {obstacle}."
    unjudged, no_model = (
        f"{opening}; whether it does what it should was not judged",
        f"{opening}, and no model was asked",
    )
    match skipped:
        case ModelSkipReason.NO_MODEL:
            concern, step = (
                f"{unjudged}: no model is set up.",
                "A person reviews it, or the operator sets ANTHROPIC_API_KEY so that a model can be asked.",
            )
            if on_laptop:
                step = "Set ANTHROPIC_API_KEY to have a model judge this, or review it yourself."
        case ModelSkipReason.OUTSIDER:
            concern = f"{no_model}: its author has no write access here."
            step = "An account with write access comments `/rejudge`; from then on a model is asked about this pull request."
        case ModelSkipReason.WITHHELD:
            concern = f"{no_model}: `never_send` keeps every changed file from it."
            step = "A person reviews it; the author has nothing to change."
        case _:
            concern, step = (
                f"{unjudged}: this tier asks no model.",
                "A person reviews it, or it is judged again at tier hybrid or llm.",
            )
            if on_laptop:
                step = "Judge it again with `--tier hybrid` or `--tier llm`, or review it yourself."
    return f"{concern}{doubt}", step


def judge_unavailable(reason: str) -> tuple[str, str]:
    return (
        f"The model could not be asked: {reason}. This change was not judged.",
        "A maintainer re-runs this check when the model can be reached again; the author has nothing to change.",
    )


NO_ISSUE: Final = (
    "No issue is linked, and this repository wants one for each change (`require_issue`). This change was not judged.",
    "The author links the issue in the description, as in `Closes #12`, and pushes or comments `/rejudge`.",
)
"""The repository's configuration requires an issue."""


def reply_invalid(problem: str) -> tuple[str, str]:
    return (
        f"The model's answers could not be used, also after one correction: {problem} This change was not judged.",
        "A maintainer re-runs this check, or a person reviews the change; the author has nothing to change.",
    )


def too_large(paths: Sequence[str], *, is_nothing_read: bool = False) -> tuple[str, str]:
    nothing = f"Nothing of this change could be read, so nothing was looked at. Not read: {join_names(paths)}."
    some = f"Not everything that changed could be read, so it can't be accepted. Not read in full: {join_names(paths)}."
    return (
        nothing if is_nothing_read else some,
        "The author splits the change into parts that can be read in full, or a person reviews these files.",
    )


TOO_LONG: Final = (
    "The issue, its criteria and the rules alone are too long for the model.",
    "A maintainer shortens the issue, or a person reviews the change.",
)


def unreadable(problem: str) -> tuple[str, str]:
    return (
        f"The diff can't be read: {problem}. Nothing of this change was judged.",
        "Record the change with its diff as `git diff` prints it. On GitHub, comment `/rejudge`; if that does not help, a person reviews it.",
    )


def budget(level: CapLevel, asked_usd: Decimal) -> tuple[str, str]:
    """A budget cap kept the model from being asked: how full it is, and what the question might have cost."""
    used = f"{dollars(level.used_usd)} of {dollars(level.cap_usd)}"
    concern = (
        f"The model was not asked: of the budget {BUDGETS[level.cap]}, {used} is spent or reserved, "
        f"and this question could cost up to {dollars(asked_usd)}. This change was not judged."
    )
    return concern, _BUDGET_STEPS[level.cap]


def cap_reached(cap: Cap) -> str:
    return f"the budget {BUDGETS[cap]} has no room for it"


def dollars(usd: Decimal) -> str:
    """`$0.10`, `$0.0137`: two to four decimals."""
    cents = usd.quantize(Decimal("0.0001"), ROUND_HALF_UP)
    return f"${cents:f}" if cents % Decimal("0.01") else f"${cents:.2f}"


def judging_paused(pause: Pause, suspension: JudgingPause | None = None) -> tuple[str, str]:
    """All judging is stopped. *suspension*: by whom, until when and why, where that is known."""
    if suspension is not None and suspension.by:
        where = " in this repository" if pause is Pause.REPOSITORY else ""
        until = f" until {format_time(suspension.until)}" if suspension.until else ""
        why = f" Reason: {suspension.reason.rstrip('.')}." if suspension.reason else ""
        end = "the pause ends" if suspension.until else "`assay resume` ends the pause"
        return (
            f"Judging is paused{where} by {suspension.by}{until}.{why} This change was not judged.",
            f"Assay judges it automatically once {end}. Until then a person reviews it.",
        )
    return _PAUSED[pause]


def cannot_tell(next_step: str | None) -> str:
    return next_step or "A person who knows the issue decides."


def claim_contradicted(criterion: str, claim: ClaimVerdict) -> tuple[str, str]:
    """An accept although code contradicts a claim."""
    return (
        f'The model accepts, but what the author claims for {criterion} is not so: "{claim.claim}": {claim.note}.',
        f"The author corrects the claim for {criterion}, so that it names where that is done; or a person decides.",
    )


def shown_by_tests_alone(criteria: Sequence[str]) -> tuple[str, str, str]:
    """Of a veto, here and below: concern, next step, and what the model is asked before it."""
    names = join_names(criteria)
    return (
        f"The model accepts, but shows {names} by tests or texts only, also when asked for the code that does it.",
        f"A person looks whether the code does what {names} asks for.",
        (
            f"{names}: you point at tests or texts only, and it asks for what the code does. "
            "Point at the code that does it, or say that it is not met."
        ),
    )


def name_exists(name: str, path: str, line: int, *, is_taken: bool) -> tuple[str, str, str]:
    how = "takes it from elsewhere" if is_taken else "defines it"
    step = f"A person looks whether anything else stands against this change; {name} is there."
    step_if_taken = f"A person looks whether {name} is there: what defines it was not read."
    return (
        f"The model rejects because {name} is not there, also when told that line {line} of {path} {how}.",
        step_if_taken if is_taken else step,
        (
            f"Your concern says that {name} is not there: line {line} of {path} {how}{', which you were not shown' if is_taken else ''}. "
            "Say what is wrong all the same, or decide otherwise."
        ),
    )


def rule_not_found(quote: str) -> tuple[str, str, str]:
    return (
        f"The model rejects for a rule that stands nowhere in what was read, also when told so: {quote}.",
        "A person looks whether there is such a rule, and whether this change breaks it.",
        (
            f"Your concern rests on a rule that stands nowhere in what you were shown: {quote}. "
            "Quote a rule as it is written, or decide otherwise."
        ),
    )


def criterion_is_mentioned(name: str, status: CriterionStatus) -> str:
    """Why an unmet criterion does not survive; this and the next four are for the model and for people."""
    return f"{name} is called {status}, and the change speaks of all that it names."


def criterion_is_not_named(name: str, status: CriterionStatus) -> str:
    return f"{name} is called {status}, and no word of the reject is about what it asks for."


def place_is_related(pointer: EvidencePointer) -> str:
    return f"{pointer.path} is called work that was not asked for, and what it changes is tied to the rest and to the issue."


RULE_NOT_NAMED: Final = (
    "It is called spec_violation, and no rule is named: quote it, or name the file or the criterion that states it."
)


def place_is_not_mentioned(pointer: EvidencePointer) -> str:
    return f"No word of the reject is about what stands at {pointer.location}."


def reject_not_supported(concern: str, refused: Sequence[str]) -> tuple[str, str, str]:
    return (
        f"The model rejects, also when asked again, for what the change does not bear out: {concern} {refused[0]}",
        "A person looks whether anything stands against this change; its author has nothing to change for it.",
        (
            f"Your reject rests on nothing that the change bears out. {' '.join(refused)} "
            "Point at the line that has to change and say what of it is wrong, call a criterion `partial` with the line that falls "
            "short, or decide otherwise."
        ),
    )


def met_without_a_test(criteria: Sequence[str]) -> tuple[str, str, str]:
    names = join_names(criteria)
    return (
        f"The model calls {names} met, also when asked again, and the change adds to no test.",
        f"The author adds the test that {names} asks for, or a person decides.",
        f"{names} asks for a test, and the change adds to none: it is `missing`. Decide by that.",
    )


def suspicions_unanswered(left: Sequence[Finding]) -> tuple[str, str]:
    described = "; ".join(_describe_finding(finding) for finding in left[:3])
    more = f"; and {len(left) - 3} more" if len(left) > 3 else ""  # noqa: PLR2004 - three are named
    return (
        f"The model accepts, and no line that it names settles what code suspects: {described}{more}.",
        "A person looks at these places and decides.",
    )


def settle_suspicions(questions: Sequence[str]) -> str | None:
    """For the model; None without questions."""
    if not questions:
        return None
    return (
        f"Your accept leaves questions open: {join_names(questions)}. Answer each in `settled` with another "
        "line than the suspected one, of the kind that it names, that shows why it is no defect; if there is no such line, reject or say cannot_tell."
    )


NO_TEST: Final = "the change adds to no test"
MENTIONED_THOUGH_UNMET: Final = "called unmet, though the change speaks of it"


def opinions_differ(opinions: Sequence[tuple[str, str, str]]) -> tuple[str, str]:
    """*opinions*: name, decision and concern of each."""
    described = " ".join(
        f"{name.capitalize()} says {decision.replace('_', ' ')}: {why}" for name, decision, why in opinions
    )
    return f"The opinions on this change differ. {described}", "A person who knows the issue decides between them."


def second_opinion_asked(reason: str, name: str, why: str) -> str:
    return f"{reason}; then {name} for a second opinion: {why}"


def panel_asked(reason: str, lenses: int) -> str:
    return f"{reason}; through {count_word(lenses)} lenses"


def count_word(number: int) -> str:
    return {2: "two", 3: "three", 4: "four"}.get(number, str(number))


def run_again(concern: str, next_step: str | None) -> tuple[str, str]:
    """The run that the evidence comes from seems broken, not the change."""
    return (
        f"The run, and not the change, seems to have failed, so nothing was scored: {concern}",
        next_step or "A maintainer repeats the run, then re-runs this check.",
    )


def describe_facts(findings: Sequence[Finding]) -> str:
    """One to three facts, each with its place."""
    more = f" And {len(findings) - FACTS_NAMED} more." if len(findings) > FACTS_NAMED else ""
    return ". ".join(_describe_finding(finding) for finding in findings[:FACTS_NAMED]) + f".{more}"


def describe_fact_steps(findings: Sequence[Finding]) -> str:
    """The remedies of the facts that `describe_facts` names: a sentence for each kind, with all its places."""
    kinds: dict[str, list[str]] = {}
    for finding in findings[:FACTS_NAMED]:
        location = finding.location
        kind = finding.step.replace(location, _PLACE_MARK) if location else finding.step
        kinds.setdefault(kind, []).append(location)
    steps: list[str] = []
    for kind, places in kinds.items():
        *before, last = dict.fromkeys(places)
        steps.append(kind.replace(_PLACE_MARK, f"{', '.join(before)} and {last}" if before else last))
    left = len(findings) - FACTS_NAMED
    more = [f'Then see to the {_count(left, "other fact")} under "Evidence".'] if left > 0 else []
    return " ".join([*steps, *more])


_PLACE_MARK: Final = "\0"


def not_judged_note(note: str) -> str:
    """The note of a criterion that was not judged."""
    return f"not looked at; {note}"


COMPARED_BY_CODE: Final = "not looked at; code compared the changed sentences alone"
"""The note of a criterion of a change that code accepts alone."""

_ABSENT: Final = MappingProxyType({"changelog_entry_missing": "changelog-entry", "cited_file_missing": "cited-file"})


def absent_criterion_id(fact: Finding) -> str:
    """The id of the criterion that stands for what is missing, of a fact without a place."""
    return _ABSENT.get(fact.signal, "any-change")


def _describe_finding(finding: Finding) -> str:
    text = finding.note or finding.signal.replace("_", " ")
    return (f"{finding.location}: {text}" if finding.location else text).rstrip(".")


def model_overruled(concern: str, opinion: ModelOpinion) -> str:
    """The concern of a fact where the model decided otherwise."""
    if opinion.decision is Leaning.REJECT:
        return f"{concern} The model, asked too, rejects for another reason ({opinion.category}): {opinion.concern}"
    decision = opinion.decision.replace("_", " ")
    return f"{concern} The model, asked too, said {decision}; a fact stands whatever a model says."


UNCHANGED_SINCE_JUDGED: Final = "called unmet now, on lines that were judged before and did not change since"

CATEGORY_PRINCIPLES: Final = MappingProxyType(
    {
        Category.SCOPE_CREEP: "A change is reviewed against its issue; what the issue does not need goes into one of its own.",
        Category.ACCEPTANCE_GAP: "Done is what the issue lists, each point of it, and nothing that only looks like it.",
        Category.WEAK_TEST: "A test is worth what turns it red: break the behaviour that it names, and it has to fail.",
        Category.TESTS_PASS_BUT_WRONG: "Green is no aim: the code meets the checks, the checks are not fitted to the code.",
        Category.HALF_FINISHED: "What is merged is relied on: whatever a name promises has to happen when it is called.",
        Category.SPEC_VIOLATION: "A written rule holds until who wrote it changes it; code that breaks it is not merged.",
    }
)
"""The principle behind a recurring failure of each category."""


def criterion_met(criterion: Criterion) -> str:
    """The text of the closing condition that a criterion is."""
    return f"{criterion.id} is met: {criterion.text}"


def round_limit(limit: int, concern: str) -> tuple[str, str]:
    return (
        f"After {_count(limit, 'round')} this still does not converge, so a person decides. What stands against it now: {concern}",
        "A maintainer looks at the open conditions and decides: merge, close, or say what is really needed.",
    )


def conditions_open(left: Sequence[ClosingCondition]) -> tuple[str, str]:
    return (
        f"Nothing new stands against this change, but what earlier rounds asked for is not shown to be done: {_name_conditions(left)}.",
        "A person looks at these conditions, or it is judged again with a model that can.",
    )


def nothing_new(left: Sequence[ClosingCondition], concern: str, places: Sequence[str]) -> tuple[str, str]:
    stand = f"Still open, and not shown to be: {_name_conditions(left)}." if left else "Every closing condition is met."
    where = f" ({join_names(places, limit=3)})" if places else ""
    return (
        f"{stand} The model objects to what was judged before and did not change since, which may not reject: {concern}{where}",
        "A person decides whether that objection matters; the author has nothing to change for it.",
    )


def still_open(condition: ClosingCondition, round_number: int) -> tuple[str, str]:
    return (
        f"Condition {condition.id} of round {round_number} is still open.",
        f"Do what has been asked for since round {round_number}: {condition.text}",
    )


def step_repeated(times: int, concern: str) -> tuple[str, str]:
    again = f"This would be the {_ordinal(times)} reject for the same reason at the same place"
    return (
        f"{again}, and the judge has no clearer step to offer than before: {concern}",
        "A person explains to the author what is missing, or decides.",
    )


def late_fact(concern: str) -> str:
    return f"{concern} (No earlier round said so, though these lines were there: a fact stands wherever it is found.)"


def recurring_fact(concern: str, category: Category) -> str:
    """A recurring fact's concern."""
    return f"{concern} {CATEGORY_PRINCIPLES[category]}"


def fact_step_again(step: str, quote: str | None, times: int) -> str:
    """A recurring fact's step, with the present line."""
    reads = f" It reads `{quote.strip()}` now." if quote else ""
    return f"{step}{reads} This is asked for the {_ordinal(times)} time."


def _name_conditions(conditions: Sequence[ClosingCondition]) -> str:
    return join_names([f"{condition.id} ({condition.text.rstrip('.')})" for condition in conditions], limit=3)


def count_times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in {11, 12, 13} else ending}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
