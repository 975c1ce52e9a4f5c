"""The one comment at an agent's pull request: what to do next, what is still open, and how it came to that.

Does not send it. Invariant: only the name that an agent listens to is a mention; words of models and of pull requests format,
link and mention nothing and begin no line, where other bots look for commands; the text fits GitHub's limit, with the mark that
is put under it.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from worker.domain.feedback import mention_of, submissions
from worker.domain.ledger import LedgerEntry
from worker.domain.verdict import Accept, Reject, Verdict
from worker.render.markdown import bullets, code, joined, prose
from worker.render.words import box, category_words

BYTES: Final = 60_000
"""Of 65,536; what is left is enough for the mark by which the comment is found again."""
CONDITIONS_BYTES: Final = 14_000
EARLIER_BYTES: Final = 8_000
MOST_EARLIER: Final = 20
WORDS_BYTES: Final = 2_000


def feedback(entries: Sequence[LedgerEntry], round_limit: int, *, is_overridden: bool = False) -> str:
    """The comment's text. *entries*: this pull request's, oldest first; the newest submission's verdict is what it is about."""
    own = submissions(entries)
    newest = own[-1].verdict
    if isinstance(newest, Reject) and not is_overridden:
        blocks = _asks(newest, own, round_limit)
    else:
        blocks = iter([_over(newest, is_overridden=is_overridden), *_earlier(own if is_overridden else own[:-1])])
    return joined([*blocks], BYTES)


def _asks(verdict: Reject, own: Sequence[LedgerEntry], round_limit: int) -> Iterator[str]:
    mention = mention_of(verdict.author_agent)
    address = f"{mention} " if mention else ""
    yield f"{address}Assay rejected {code(_short(verdict))}: **{category_words(verdict.category)}**."
    yield f"**Why:** {prose(verdict.concern, WORDS_BYTES)}"
    yield f"**Next step:** {prose(verdict.next_step, WORDS_BYTES)}"
    if verdict.closing_conditions:
        listed = [f"{box(one)} {prose(one.text, 500)}" for one in verdict.closing_conditions]
        yield f"What closes this:\n\n{bullets(listed, 50, CONDITIONS_BYTES)}"
    yield from _earlier(own[:-1])
    yield (
        f"Round {verdict.round} of {round_limit}; after that a person decides. The check named Assay has the evidence. "
        "This comment is changed in place: once for each push, and again only if the verdict on it turns."
    )


def _over(verdict: Verdict, *, is_overridden: bool) -> str:
    """Nothing is asked of the author any more."""
    if is_overridden:
        return f"A maintainer overrode the verdict on {code(_short(verdict))}. Nothing is left to do here."
    if isinstance(verdict, Accept):
        return f"Assay accepted {code(_short(verdict))}. Nothing is left to do here."
    return f"A person has to decide about {code(_short(verdict))}: {prose(verdict.concern, WORDS_BYTES)}"


def _earlier(before: Sequence[LedgerEntry]) -> Iterator[str]:
    earlier = [one for one in before if _is_judged(one)][-MOST_EARLIER:]
    if earlier:
        rows = [_line(one) for one in earlier]
        listed = bullets(rows, MOST_EARLIER, EARLIER_BYTES)
        yield f"<details><summary>Earlier verdicts ({len(earlier)})</summary>\n\n{listed}\n\n</details>"


def _is_judged(entry: LedgerEntry) -> bool:
    """What was carried over says nothing that was not said."""
    return isinstance(entry.verdict, (Accept, Reject)) and entry.verdict.carried_from is None


def _line(entry: LedgerEntry) -> str:
    verdict = entry.verdict
    said = f"rejected, {category_words(verdict.category)}" if isinstance(verdict, Reject) else "accepted"
    return f"{code(entry.head_sha[:12])} {said}: {prose(verdict.concern, 300)}"


def _short(verdict: Verdict) -> str:
    return verdict.subject.head_sha[:12]
