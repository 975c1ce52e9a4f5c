"""How long a reply may be: the lengths that the prompt states, and how many tokens a reply within them takes at most.

Does not cut or refuse a reply that is longer. Invariant: the prompt states these figures (a test holds the two together), and
the longest reply that keeps to them fits into `reply_tokens`, so that no more than that has to be reserved.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from worker.domain.verdict.opinion import Breakdown, Leaning
from worker.domain.verdict.verdict import Category, ConditionState, CriterionStatus
from worker.judge.llm.reply_schema import (
    ConditionReply,
    CriterionReply,
    PlaceReply,
    ReplyDocument,
    ScoreReply,
    SettledReply,
)

CONCERN_WORDS: Final = 28
STEP_WORDS: Final = 28
SIDE_WORDS: Final = 20
"""Of what works, and of what does not, in a change over many files."""

REASONING_WORDS: Final = 10
IMPROVEMENT_WORDS: Final = 7
NOTE_WORDS: Final = 5
QUOTE_CHARACTERS: Final = 50
PLACES: Final = 2
"""In `evidence`; a criterion and a condition have one each."""

WIDE_CHANGE_FILES: Final = 10
"""A change over so many files takes one direction, and what of it works and what does not."""

RETRY_FACTOR: Final = 4
"""How many times as long a reply may be where the first was cut off."""

BYTES_A_WORD: Final = 6
BYTES_A_TOKEN: Final = 2.9
"""As a dense tokenizer has it; of the sentences, which are most of a reply, a token is longer."""

_LINE: Final = 9_999


def reply_tokens(
    criteria: Sequence[str],
    conditions: Sequence[str],
    rubric: Sequence[str],
    paths: Iterable[str],
    questions: Sequence[str] = (),
) -> int:
    """How many tokens the longest reply has that keeps to the lengths, about a change of these *paths*.

    *criteria*, *conditions*, *rubric* and *questions* are the ids that it answers to.
    """
    changed = frozenset(paths)
    location = PlaceReply(
        path=max(changed, key=len, default=""),
        line=_LINE,
        end_line=_LINE,
        quote="x" * QUOTE_CHARACTERS,
        note=_words(NOTE_WORDS),
    )
    side = _words(SIDE_WORDS) if len(changed) >= WIDE_CHANGE_FILES else ""
    longest = ReplyDocument(
        criteria=tuple(
            CriterionReply(id=criterion, status=CriterionStatus.UNVERIFIABLE, evidence=(location,))
            for criterion in criteria
        ),
        conditions=tuple(
            ConditionReply(id=condition, state=ConditionState.RESOLVED, evidence=(location,))
            for condition in conditions
        ),
        settled=tuple(
            SettledReply(id=question, why=_words(REASONING_WORDS), evidence=(location,)) for question in questions
        ),
        breakdown=Breakdown.COMPLETE_FAILURE,
        scores=tuple(
            ScoreReply(
                criterion=criterion, reasoning=_words(REASONING_WORDS), score=10, improvement=_words(IMPROVEMENT_WORDS)
            )
            for criterion in rubric
        ),
        what_works=side,
        what_does_not=side,
        concern=_words(CONCERN_WORDS),
        evidence=(location,) * PLACES,
        decision=Leaning.CANNOT_TELL,
        category=Category.TESTS_PASS_BUT_WRONG,
        next_step=_words(STEP_WORDS),
        confidence=0.85,
    )
    return int(len(longest.model_dump_json().encode("utf-8", "replace")) / BYTES_A_TOKEN) + 1


def _words(count: int) -> str:
    return "x" * (count * BYTES_A_WORD)
