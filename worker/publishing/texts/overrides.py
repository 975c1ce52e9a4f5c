"""What people said about a head, on its check: overridden, decided by a review, contested; and whom Assay asked.

Does not decide whose word counts. Invariant: the verdict's own text stands below unchanged, as far as there is room; a
person's word concludes a check as neutral or blocks it, and never makes it a success.
"""

from collections.abc import Iterator
from typing import Final

from worker.domain.check.check_run import Block, CheckContent, Conclusion, none_coming
from worker.domain.check.overrides import PRESSED, Contest, Dismissed, Override, Reviewed, Said, Spoken, asks_a_person
from worker.domain.check.wait_status import Awaiting, Reason
from worker.domain.request.pause import when
from worker.domain.value import Value, replace
from worker.domain.verdict.verdict import Verdict
from worker.publishing.texts.check_run import BODY_BYTES
from worker.publishing.texts.markdown import blocks, code, joined, prose
from worker.publishing.texts.phrases import TITLE_BYTES
from worker.publishing.texts.visible import fit, one_line

UNJUDGED: Final = "No verdict was made on this commit."
NAME_BYTES: Final = 100


class Called(Value):
    """Whom a verdict that needs a person asked. `refused`: GitHub did not let us ask; `is_declined`: the operator."""

    names: tuple[str, ...] = ()
    refused: bool = False
    has_owners: bool = True
    is_declined: bool = False


def with_people(
    content: CheckContent, said: Said, verdict: Verdict | None, called: Called | None = None
) -> CheckContent:
    """The check of a head, and what people said about it."""
    notes = [*_contested(said.contest), *([] if called is None else [_called(called)])]
    shown = _above(content, *notes) if notes else content
    if said.override is not None:
        return _overridden(shown, said.override)
    if said.review is not None and asks_a_person(verdict):
        return _reviewed(shown, said.review)
    if said.dismissed is not None and asks_a_person(verdict):
        return _above(shown, _dismissed(said.dismissed))
    return shown


def told(said: Said) -> Iterator[str]:
    """The same in plain words, a line each, for a terminal."""
    if said.override is not None:
        yield f"Overridden by {_who(said.override)}: {one_line(said.override.reason)}"
    if said.review is not None:
        what = "approved" if said.review.is_approved else "changes requested"
        yield f"Decided by {_who(said.review)}: {what}"
    if said.dismissed is not None:
        yield f"Decision of @{one_line(said.dismissed.of)} taken back by {_who(said.dismissed)}"
    if said.contest is not None:
        yield f"Contested by {_who(said.contest)}: {one_line(said.contest.reason)}"


def _who(word: Spoken) -> str:
    return f"@{one_line(word.login)} at {when(word.at)}"


def unjudged() -> CheckContent:
    """What stands below a person's word where there is no verdict."""
    return CheckContent(
        title="Not judged",
        summary=UNJUDGED,
        conclusion=Conclusion.ACTION_REQUIRED,
        block=none_coming(Reason.NOT_JUDGED),
    )


def _overridden(content: CheckContent, override: Override) -> CheckContent:
    own = ", the author" if override.is_own else ""
    who = f"@{one_line(override.login)}{own}"
    note = (
        f"**Overridden by {code(override.login)}{own}** at {when(override.at)}: {prose(override.reason)}\n\n"
        f"This holds for this commit alone: the next push ends it, and it counts again where the branch comes back to it. {_below(override)}"
    )
    title = fit(f"Overridden by {who}: {one_line(override.reason)}", TITLE_BYTES)
    block = None if content.block is None else _let_pass(content.block, override.login)
    return replace(_above(content, note), title=title, conclusion=Conclusion.NEUTRAL, block=block)


def _let_pass(block: Block, login: str) -> Block:
    """Nothing is left to do, whatever the verdict says, and whether it was to be made again."""
    said = fit(one_line(login), NAME_BYTES)
    if block.decision is None:
        return replace(block, state=Awaiting.NONE, reason=Reason.OVERRIDDEN.value, until=None, overridden_by=said)
    return replace(block, state=Awaiting.DONE, until=None, overridden_by=said)


def _reviewed(content: CheckContent, review: Reviewed) -> CheckContent:
    who, what = f"@{one_line(review.login)}", "approved" if review.is_approved else "changes requested"
    holds = (
        "This commit may pass."
        if review.is_approved
        else "This commit stays blocked until the next push, or their next review."
    )
    note = (
        f"**Decided by {code(review.login)}** at {when(review.at)}: {what}. {holds} "
        "The verdict stays as it is; its text follows."
    )
    conclusion = Conclusion.NEUTRAL if review.is_approved else Conclusion.ACTION_REQUIRED
    title = fit(f"Decided by {who}: {what}", TITLE_BYTES)
    block = (
        None if content.block is None else replace(content.block, reviewed_by=fit(one_line(review.login), NAME_BYTES))
    )
    return replace(_above(content, note), title=title, conclusion=conclusion, block=block)


def _dismissed(word: Dismissed) -> str:
    return (
        f"**Taken back by {code(word.login)}** at {when(word.at)}: the review of {code(word.of)}, which had decided about this "
        "commit, was dismissed. The verdict stands as it was."
    )


def _below(override: Override) -> str:
    return "The verdict stays as it is; its text follows." if override.eval_id else "There was no verdict then."


def _contested(contest: Contest | None) -> list[str]:
    if contest is None:
        return []
    how = f". To give a reason, comment {code('/contest REASON')}." if contest.reason == PRESSED else ""
    return [f"**Contested by {code(contest.login)}** at {when(contest.at)}: {prose(contest.reason)}{how}"]


def _called(called: Called) -> str:
    way = "An approving review of a code owner lets this commit pass, and so does"
    or_else = f"{code('/override REASON')} (roles maintain and admin)"
    if called.refused:
        return (
            "**A person has to decide.** Assay could not ask for a review: GitHub refuses it (it needs *Pull requests: write*). "
            f"{way} {or_else}."
        )
    if called.is_declined and called.has_owners:
        return (
            "**A person has to decide.** No review was requested: the operator declined that "
            f"({code('ASSAY_COMMENTS')}). {way} {or_else}."
        )
    if not called.names:
        missing = "no code owner could be asked" if called.has_owners else "this repository names no code owners"
        return f"**A person has to decide**, and {missing}. {or_else} lets this commit pass."
    names = ", ".join(code(name) for name in called.names)
    return f"**A person has to decide.** Asked for a review: {names}. {way} {or_else}."


def _above(content: CheckContent, *notes: str) -> CheckContent:
    return replace(content, summary=joined([*notes, *blocks(content.summary)], BODY_BYTES))
