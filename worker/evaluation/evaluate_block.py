"""Compose a verdict's score with what a bench row's `evaluate` block asks of the final response; the decision stays.

Each primitive leaves its parts in the signals, under metis' names. Source: metis 5.4. Grounding is averaged with the base,
partial credit too, in this order; then the content penalties multiply (5.1).
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field

from worker.domain.model import Frozen
from worker.domain.verdict.verdict import Text, Unit


class CreditMap(StrEnum):
    """How the share of passed tests becomes a score."""

    LINEAR = "linear"
    """The share itself."""
    STEPPED = "stepped"
    """1 for all, 0.5 for at least half, else 0."""


class PartialCredit(Frozen):
    """Credit for a part of the tests: `(base + credit) / 2`."""

    enabled: bool = True
    criterion: Literal["test_pass_count_ratio"] = "test_pass_count_ratio"
    map: CreditMap = CreditMap.LINEAR


class EvaluateBlock(Frozen):
    """What a row asks of the final response. Without one recorded, the case's summary is read.

    `rubric`, `llm_judge_model` and `weight_per_turn` are accepted so that a block of metis' fits, and not used: the run's tier
    judges, and a dossier is one turn.
    """

    rubric: Literal["heuristic", "llm", "hybrid"] | None = None
    llm_judge_model: str | None = None
    weight_per_turn: float | None = None
    expect_substring_in_final_response: Text | None = None
    grounding_tokens: tuple[Text, ...] = ()
    forbidden_grounding: tuple[Text, ...] = ()
    partial_credit: PartialCredit | None = None
    final_response: str | None = None


class Evaluation(Frozen):
    """The composed score and, by name, what it was composed of."""

    score: Unit
    signals: Annotated[dict[str, str | int | float | bool | None], Field(default_factory=dict)]


REFUSAL_PENALTY: Final = 0.5
EMPTY_PENALTY: Final = 0.4
REFUSAL_CHARACTERS: Final = 160
"""Characters of the stripped response in which a refusal counts; a later one is quoted."""

HALF_CREDIT: Final = 0.5

EvaluationSignals = dict[str, str | int | float | bool | None]

_REFUSAL: Final = re.compile(
    r"(?:^|[.!?:]\s|\n)[\s\"'*_]*"  # where a sentence begins: what "fails when we cannot connect" says is no refusal
    r"(?:(?:sorry|apologies|unfortunately|regrettably|i(?:['\u2019]m| am) (?:very )?(?:sorry|afraid)|i apologi[sz]e)\b[,.:]? ?(?:but )?)?"
    r"(?:as an ai\b|(?:I|we)(?:['\u2019](?:m|re)| am| are)? "
    r"(?:can(?:no|['\u2019])t|can not|unable to|not able to|won['\u2019]t|will not|must decline|have to decline|refuse to)\b)",
    re.IGNORECASE,
)
_SHARE: Final = r"\b(\d{1,7}) ?(?:/|of|out of) ?(?:the )?(\d{1,7})\b"
_PASSED_PATTERNS: Final = (
    re.compile(rf"{_SHARE}(?: \w{{1,20}}){{0,3}} ?(?:tests?|cases?|checks?|pass\w*)", re.IGNORECASE),
    re.compile(rf"\b(?:tests?|cases?|checks?|pass\w*)\b[^\n\d]{{0,40}}{_SHARE}", re.IGNORECASE),
)
_COUNT_PATTERN: Final = re.compile(
    r"(\b(?:not all|none|neither) (?:of )?)?(?:the )?(?<![\d.,/])(\d{1,3}(?:,\d{3}){1,2}|\d{1,7}) "
    r"(?:(?:tests?|cases?|checks?) )?"
    r"(pass|succeed|fail|error)(?:e[ds]|ing|s)?\b",
    re.IGNORECASE,
)


def evaluate_response(base: float, requested: EvaluateBlock, summary: str | None) -> Evaluation:
    """Compose the verdict's score *base* with the primitives that the row asks for."""
    response = requested.final_response if requested.final_response is not None else summary
    text = response or ""
    score, signals = base, EvaluationSignals()
    for part, part_signals in _parts(requested, text):
        score = (score + part) / 2
        signals.update(part_signals)
    for factor, part_signals in _penalties(response):
        score *= factor
        signals.update(part_signals)
    return Evaluation(score=score, signals={**signals, "evaluate_base_score": base, "evaluate_score": score})


def _parts(requested: EvaluateBlock, text: str) -> Iterator[tuple[float, EvaluationSignals]]:
    if requested.expect_substring_in_final_response is not None:
        is_present = requested.expect_substring_in_final_response in text
        yield float(is_present), {"expected_substring_found": is_present}
    tokens, forbidden = requested.grounding_tokens, requested.forbidden_grounding
    if tokens or forbidden:  # the share of the tokens that occur, less the share of the forbidden ones that do
        present = [token for token in tokens if token in text]
        present_forbidden = [token for token in forbidden if token in text]
        share = len(present) / len(tokens) if tokens else 1.0
        score = max(0.0, share - (len(present_forbidden) / len(forbidden) if forbidden else 0.0))
        yield (
            score,
            {
                "workload_grounding_score": score,
                "grounding_tokens_present": ", ".join(present),
                "grounding_tokens_missing": ", ".join(token for token in tokens if token not in text),
                "forbidden_grounding_present": ", ".join(present_forbidden),
            },
        )
    credit = requested.partial_credit
    if credit is not None and credit.enabled:
        counts = count_passed(text)
        if counts is None:
            yield 0.0, {"partial_credit_test_signal_found": False, "partial_credit_score": 0.0}
            return
        passed, total = counts
        score = ratio = passed / total
        if credit.map is CreditMap.STEPPED:
            score = 1.0 if ratio == 1 else HALF_CREDIT * (ratio >= HALF_CREDIT)
        yield (
            score,
            {
                "partial_credit_test_signal_found": True,
                "partial_credit_score": score,
                "partial_credit_ratio": ratio,
                "partial_credit_passed": passed,
                "partial_credit_total": total,
                "partial_credit_criterion": credit.criterion,
                "partial_credit_map": credit.map.value,
            },
        )


def count_passed(text: str) -> tuple[int, int] | None:
    """How many tests passed, of how many, by the last such count in the text; None without one."""
    matches = (match for pattern in _PASSED_PATTERNS for match in pattern.finditer(text))
    shares = [(match.start(), int(match[1]), int(match[2])) for match in matches]
    tallies = [(at, tally["pass"], sum(tally.values())) for at, tally in _tallies(text) if "pass" in tally]
    counts = (count for count in (*shares, *tallies) if count[1] <= count[2] and count[2])
    last = max(counts, default=None)
    return None if last is None else last[1:]


def _tallies(text: str) -> Iterator[tuple[int, dict[str, int]]]:
    """Rows of counts that are no shares, and where each begins; a word that the row has already begins the next."""
    for pattern in _PASSED_PATTERNS:
        text = pattern.sub(lambda match: " " * len(match[0]), text)
    start, tally = 0, dict[str, int]()
    for match in _COUNT_PATTERN.finditer(text):
        word = match[3].casefold().replace("succeed", "pass")
        if match[1] or word in tally:
            yield start, tally
            tally = {}
        if not match[1]:
            start = start if tally else match.start()
            tally[word] = int(match[2].replace(",", ""))
    yield start, tally


def _penalties(response: str | None) -> Iterator[tuple[float, EvaluationSignals]]:
    if response is None:  # not recorded
        return
    text = response.strip()
    if not text:
        yield EMPTY_PENALTY, {"workload_empty_assistant_response": True}
    elif _REFUSAL.search(text[:REFUSAL_CHARACTERS]):
        yield REFUSAL_PENALTY, {"workload_assistant_refusal_detected": True}
