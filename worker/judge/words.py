"""What a verdict says in words where no model worded it: one concern and one next step per case.

Does not render (Markdown and limits are worker.render's). Invariant: a concern says what happened, a next step says
what whom should do, and neither blames the author for what nobody judged.
"""

from collections.abc import Sequence
from typing import Final, assert_never

from worker.domain.dossier import CiCheck, Criterion
from worker.domain.opinion import Leaning, ModelOpinion
from worker.domain.verdict import Category, Finding
from worker.judge.escalation import Skipped
from worker.judge.validators import CiReport

NAMED: Final = 10
"""How many names a sentence lists."""


def listed(names: Sequence[str], most: int = NAMED) -> str:
    """`a, b and 3 more`."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def ci_failed(report: CiReport) -> tuple[str, str]:
    checks = [_check(check) for check in report.failed]
    which = f": {listed(checks)}" if checks else ""
    tests = f" Failing tests: {listed(report.tests)}." if report.tests else ""
    fix = listed([check.name for check in report.failed]) or "CI"
    return (
        f"CI failed on this head{which}.{tests}",
        f"The author makes {fix} pass; the solution is judged once the validators are green.",
    )


def _check(check: CiCheck) -> str:
    return f"{check.name} ({(check.conclusion or 'unfinished').replace('_', ' ')})"


def ci_pending(report: CiReport) -> tuple[str, str]:
    names = listed([check.name for check in report.unfinished])
    return (
        f"CI did not finish in time{f': {names}' if names else ''}.",
        "Whoever runs CI sees to it that it finishes on this head, then re-runs this check.",
    )


def unproven(skipped: Skipped, suspicions: int) -> tuple[str, str]:
    doubt = f" {_count(suspicions, 'suspicion')} to look at." if suspicions else ""
    if skipped is Skipped.NO_MODEL:
        return (
            f"No fact was found against this change; whether it solves the issue was not judged: no model is set up.{doubt}",
            "A person reviews it, or the operator sets ANTHROPIC_API_KEY so that a model can be asked.",
        )
    return (
        f"No fact was found against this change; whether it solves the issue was not judged: this tier asks no model.{doubt}",
        "A person reviews it, or it is judged again at tier hybrid or llm.",
    )


def judge_unavailable(reason: str) -> tuple[str, str]:
    return (
        f"The model could not be asked: {reason}. Nobody judged this change.",
        "Somebody re-runs this check when the model can be reached again; the author has nothing to change.",
    )


def reply_invalid(problem: str) -> tuple[str, str]:
    return (
        f"The model's answers could not be used, also after one correction: {problem} Nobody judged this change.",
        "Somebody re-runs this check, or a person reviews the change; the author has nothing to change.",
    )


def too_large(paths: Sequence[str]) -> tuple[str, str]:
    return (
        f"Not everything that changed could be read, so it can't be accepted. Not read in full: {listed(paths)}.",
        "The author splits the change into parts that can be read in full, or a person reviews these files.",
    )


def too_long() -> tuple[str, str]:
    return (
        "The issue, its criteria and the rules alone are too long for the model.",
        "A maintainer shortens the issue, or a person reviews the change.",
    )


def unreadable(problem: str) -> tuple[str, str]:
    return (
        f"The diff can't be read: {problem}. Nothing of this change was judged.",
        "Whoever recorded it gives the diff as `git diff` prints it.",
    )


def cannot_tell(next_step: str | None) -> str:
    return next_step or "A person who knows the issue decides."


def facts(found: Sequence[Finding]) -> str:
    """One to three facts, each with its place."""
    sentences = [f"{_placed(one)}{one.note or one.signal.replace('_', ' ')}" for one in found[:3]]
    more = f" And {len(found) - 3} more." if len(found) > 3 else ""  # noqa: PLR2004 - three are named
    return ". ".join(sentence.rstrip(".") for sentence in sentences) + f".{more}"


def fact_step(fact: Finding, criteria: Sequence[Criterion]) -> str:
    """The one change that takes the fact away."""
    where = _place(fact) or "the place named"
    match fact.category:
        case Category.ACCEPTANCE_GAP:
            asked = listed([one.id for one in criteria])
            return f"Push a change that does what {asked or 'the issue'} asks for."
        case Category.HALF_FINISHED:
            return f"Finish what is left open at {where}, so that it does what its name promises, and push again."
        case Category.WEAK_TEST:
            return f"Make the test at {where} assert the result that the issue asks for."
        case Category.TESTS_PASS_BUT_WRONG:
            return f"Put back what was checked at {where}, and make the code meet it."
        case Category.SCOPE_CREEP:
            return f"Take what the issue does not ask for out of this change: {where}."
        case Category.SPEC_VIOLATION:
            return f"Keep the rule that is broken at {where}."
        case _:
            assert_never(fact.category)


def _placed(finding: Finding) -> str:
    place = _place(finding)
    return f"{place}: " if place else ""


def _place(finding: Finding) -> str:
    if finding.path is None:
        return ""
    return finding.path if finding.line is None else f"{finding.path}:{finding.line}"


def overruled(concern: str, opinion: ModelOpinion) -> str:
    """A fact's concern where the model was asked as well and said something else."""
    if opinion.decision is Leaning.REJECT:
        return f"{concern} The model, asked too, rejects for another reason ({opinion.category}): {opinion.concern}"
    said = opinion.decision.replace("_", " ")
    return f"{concern} The model, asked too, said {said}; a fact stands whatever a model says."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
