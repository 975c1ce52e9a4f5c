"""The one comment at an agent's pull request: what to do next, what is still open, and how it came to that.

Does not send it. Invariant: only the name that an agent listens to is a mention; words of models and of pull requests format,
link and mention nothing and begin no line, where other bots look for commands; the text fits GitHub's limit.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from worker.domain.feedback import mark, mention_of, submissions
from worker.domain.ledger import LedgerEntry
from worker.domain.verdict import Abstain, AbstainReason, Accept, Reject, Verdict
from worker.render.markdown import bullets, code, joined, prose
from worker.render.words import NOT_JUDGED, box, category_words

BYTES: Final = 60_000
MOST_EARLIER: Final = 20
WORDS_BYTES: Final = 2_000


def feedback(entries: Sequence[LedgerEntry], nonce: str, round_limit: int) -> str:
    """The comment's text. *entries*: this pull request's, oldest first; the newest submission's verdict is what it is about."""
    own = submissions(entries)
    newest = own[-1].verdict
    return joined([*_body(newest, own, round_limit), mark(nonce)], BYTES)


def _body(verdict: Verdict, own: Sequence[LedgerEntry], round_limit: int) -> Iterator[str]:
    if not isinstance(verdict, Reject):
        yield _over(verdict)
        yield from _earlier(own)
        return
    mention = mention_of(verdict.author_agent)
    address = f"{mention} " if mention else ""
    yield f"{address}Assay rejected {code(_short(verdict))}: **{category_words(verdict.category)}**."
    yield f"**Why:** {prose(verdict.concern, WORDS_BYTES)}"
    yield f"**Next step:** {prose(verdict.next_step, WORDS_BYTES)}"
    if verdict.closing_conditions:
        listed = [f"{box(one)} {prose(one.text, 500)}" for one in verdict.closing_conditions]
        yield f"What closes this:\n\n{bullets(listed, 50)}"
    yield from _earlier(own)
    yield (
        f"Round {verdict.round} of {round_limit}; after that a person decides. The check named Assay has the evidence. "
        "This comment is changed in place, at most once for each push."
    )


def _over(verdict: Verdict) -> str:
    """Nothing is asked of the author any more."""
    match verdict:
        case Accept():
            return f"Assay accepted {code(_short(verdict))}. Nothing is left to do here."
        case Abstain(abstain_reason=AbstainReason.NEEDS_HUMAN):
            return f"A person has to decide about {code(_short(verdict))}: {prose(verdict.concern, WORDS_BYTES)}"
        case _:
            why = NOT_JUDGED[verdict.abstain_reason] if isinstance(verdict, Abstain) else ""
            return f"{code(_short(verdict))} was not judged: {why}. The check named Assay says what comes next."


def _earlier(own: Sequence[LedgerEntry]) -> Iterator[str]:
    earlier = [one for one in own[:-1] if _is_judged(one)][-MOST_EARLIER:]
    if earlier:
        rows = [_line(one) for one in earlier]
        yield f"<details><summary>Earlier verdicts ({len(earlier)})</summary>\n\n{bullets(rows, MOST_EARLIER)}\n\n</details>"


def _is_judged(entry: LedgerEntry) -> bool:
    """What was carried over says nothing that was not said."""
    return isinstance(entry.verdict, (Accept, Reject)) and entry.verdict.carried_from is None


def _line(entry: LedgerEntry) -> str:
    verdict = entry.verdict
    said = f"rejected, {category_words(verdict.category)}" if isinstance(verdict, Reject) else "accepted"
    return f"{code(entry.head_sha[:12])} {said}: {prose(verdict.concern, 300)}"


def _short(verdict: Verdict) -> str:
    return verdict.subject.head_sha[:12]
