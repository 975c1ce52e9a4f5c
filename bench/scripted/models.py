"""What each scripted model says: an oracle, two that have made up their minds, a parrot, and an oracle that errs.

Knows a row's label and what the request shows, and nothing else. Invariant: the same row and request get the same reply.
"""

import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final, NamedTuple

from bench.scripted.requests import Asked, Json, Place, pointed, reply

CATEGORIES: Final = (
    "scope_creep", "acceptance_gap", "weak_test", "tests_pass_but_wrong", "half_finished", "spec_violation",
)  # fmt: skip
FLIPS: Final = 0.1
WELL, BADLY = 9, 2
WORD: Final = re.compile(r"[a-z]{3,}")
TEXT: Final = re.compile(
    r"\.(?:md|rst|txt|adoc|json|ya?ml|toml|lock)$|(?:^|/)(?:docs?|changelog\.d|changes)/", re.IGNORECASE
)
TEST: Final = re.compile(r"(?:^|[/_.])(?:tests?|specs?|testing|__tests__)(?:[/_.]|$)|_test\.|Test\w*\.", re.IGNORECASE)
REMARK: Final = re.compile(r"\s*(?:#|//|/?\*|--|$)")


class Label(NamedTuple):
    """What the model knows of a row. *seed* makes its chances its own."""

    seed: str
    is_good: bool
    category: str
    where: tuple[Mapping[str, Any], ...] = ()
    missing: tuple[str, ...] = ()


Say = Callable[[Asked, Label, Random], Json]


def oracle(asked: Asked, label: Label, random: Random) -> Json:
    """The truth, at the right place. A part of a change without the defect's file is good in itself."""
    if label.is_good or (asked.is_part and not _is_here(asked, label)):
        shown = {name: _fitting(asked, words) for name, words in asked.criteria.items()}
        return _accept(asked, random, {name: place for name, place in shown.items() if place is not None})
    found = (asked.at(str(one["path"]), one.get("line"), str(one.get("side", "head"))) for one in label.where)
    places = [place for place in found if place is not None]
    missing = [one for one in label.missing if one in asked.criteria]
    return _reject(asked, label.category, places if places or missing else _any(asked, random), missing)


def _is_here(asked: Asked, label: Label) -> bool:
    shown = {place.path for place in asked.places}
    named = {str(one["path"]) for one in label.where}
    return not (named or label.missing) or bool(named & shown or {*label.missing} & {*asked.criteria})


def always_accepting(asked: Asked, _: Label, random: Random) -> Json:
    """All is well, with places that exist and show nothing."""
    return _accept(asked, random)


def always_rejecting(asked: Asked, _: Label, random: Random) -> Json:
    """Something is wrong, at a place that exists."""
    return _reject(asked, random.choice(CATEGORIES), _any(asked, random), ())


def parrot(asked: Asked, _: Label, random: Random) -> Json:
    """What the author claims, with the author's own places."""
    claimed = {claim.criterion: asked.at(claim.path, claim.line) for claim in asked.claims}
    return _accept(asked, random, {name: place for name, place in claimed.items() if place is not None})


def erring(asked: Asked, label: Label, random: Random) -> Json:
    """The oracle, but for a tenth of the rows: there it says the opposite."""
    if Random(f"{label.seed} errs").random() >= FLIPS:  # noqa: S311 - played, not secret
        return oracle(asked, label, random)
    return always_rejecting(asked, label, random) if label.is_good else _accept(asked, random)


MODELS: Final[Mapping[str, Say]] = {
    "oracle": oracle,
    "accepts": always_accepting,
    "rejects": always_rejecting,
    "parrot": parrot,
    "flips": erring,
}


def errs(label: Label) -> bool:
    """Whether `erring` says the opposite of the truth about this row."""
    return Random(f"{label.seed} errs").random() < FLIPS  # noqa: S311 - as above


def _any(asked: Asked, random: Random) -> list[Place]:
    """One line of the change that is not blank; none where no such line was shown."""
    told = [one for one in asked.places if one.text.strip()]
    changed = [one for one in told if one.mark != " "] or told
    return [random.choice(changed)] if changed else []


def _fitting(asked: Asked, words: str) -> Place | None:
    """The changed line of code that has most words in common with a criterion, in code rather than in tests or texts."""
    wanted = {*WORD.findall(words.lower())}
    changed = [one for one in asked.places if one.mark == "+" and one.text.strip()] or [
        one for one in asked.places if one.mark == "-"
    ]
    return max(changed, default=None, key=lambda one: (_kind(one), len(wanted & {*WORD.findall(one.text.lower())})))


def _kind(place: Place) -> int:
    """2: code that runs; 1: a test; 0: text."""
    if TEXT.search(place.path) or REMARK.match(place.text):
        return 0
    return 1 if TEST.search(place.path) else 2


def _accept(asked: Asked, random: Random, known: Mapping[str, Place] | None = None) -> Json:
    places = {name: [known[name]] if known and name in known else _any(asked, random) for name in asked.criteria}
    said = {
        "criteria": [
            {"id": name, "status": "met", "evidence": [pointed(one, "Done here.") for one in shown], "note": "Done."}
            for name, shown in places.items()
        ],
        "concern": "The change does what was asked for.",
        "evidence": [pointed(one, "The change.") for one in _any(asked, random)],
        "decision": "accept",
        "category": None,
        "next_step": None,
    }
    return reply(asked, {**said, **_common(asked, WELL)})


def _reject(asked: Asked, category: str, places: list[Place], missing: list[str] | tuple[()]) -> Json:
    unmet = list(missing) or (list(asked.criteria)[:1] if category == "acceptance_gap" or not places else ())
    said: Json = {
        "criteria": [
            {"id": name, "status": "missing" if name in unmet else "unverifiable", "evidence": [], "note": "See."}
            for name in asked.criteria
        ],
        "concern": "This must not be merged as it is.",
        "evidence": [pointed(one, "This is wrong.") for one in places],
        "decision": "reject",
        "category": category,
        "next_step": "Mend the named place so that it does what was asked for.",
    }
    return reply(asked, {**said, **_common(asked, BADLY)})


def _common(asked: Asked, score: int) -> Json:
    scores = [
        {"criterion": name, "reasoning": "It was looked at.", "score": score, "improvement": "A shorter name."}
        for name in asked.rubric
    ]
    return {"conditions": [], "scores": scores, "confidence": 0.9}
