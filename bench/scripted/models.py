"""What each scripted model says: an oracle, two that have made up their minds, a liar, one that is fooled, a parrot, and an oracle that errs.

Knows a row's label and what the request shows, and nothing else. Invariant: the same row and request get the same reply.
"""

import re
from collections.abc import Callable, Mapping
from heapq import nlargest
from random import Random
from typing import Any, Final, NamedTuple

from bench.scripted.requests import Asked, Json, Place, Suspicion, pointed, reply

CATEGORIES: Final = (
    "scope_creep", "acceptance_gap", "weak_test", "tests_pass_but_wrong", "half_finished", "spec_violation",
)  # fmt: skip
FLIPS: Final = 0.1
WELL, BADLY = 9, 2
BESIDE: Final = 3
"""Lines before and after a suspected one that belong to it."""
WORD: Final = re.compile(r"[a-z]{3,}")
TEXT: Final = re.compile(
    r"\.(?:md|rst|txt|adoc|json|ya?ml|toml|lock)$|(?:^|/)(?:docs?|changelog\.d|changes)/", re.IGNORECASE
)
TEST: Final = re.compile(r"(?:^|[/_.])(?:tests?|specs?|testing|__tests__)(?:[/_.]|$)|_test\.|Test\w*\.", re.IGNORECASE)
ASKS_FOR_TEST: Final = re.compile(r"\b(?:tests?|tested|covered|covers)\b", re.IGNORECASE)
DEFINED: Final = re.compile(r"\b(?:def|class|function|func|fn|struct|interface|enum|trait)\s+([A-Za-z_]\w*)")
PIECE: Final = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}")
FILLERS: Final = frozenset(
    re.findall(
        r"\w+",
        "a an the this that these those it its and or not no of to in on for with from by at as is are be was were has have had "
        "do does did can should will must if else then than when where which what how all any each some only also same other into "
        "out up true false none null nil some let var const new self pub mut return import export use def func fn function class "
        "struct test tests assert expect equal string int bool object value name",
    )
)
"""Words of every sentence and every program: that two lines share one says nothing."""
CHECK: Final = re.compile(
    r"assert|expect|should|require|raises|throws|verify|check|\bt\.(?:Error|Fatal)", re.IGNORECASE
)
TITLE: Final = re.compile(r"\s*(?:(?:async |pub )*(?:def|func|fn)\b|(?:it|test|describe)\b[.\w]*\()")
"""The line with a test's name: it asserts nothing, whatever it says."""
SPELLED: Final = re.compile(r"`-*([\w$-]+)`")
IMPORT: Final = re.compile(r"\s*(?:import|from|use|using|package|#include|require)\b")
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
    """The truth, at the right place. A part of a change without the defect's file is good in itself.

    As the prompt asks, a criterion that a line speaks of is `partial`, with that line, and the concern says what is not done.
    """
    if label.is_good or (asked.is_part and not _is_here(asked, label)):
        shown = {name: _fitting(asked, words) for name, words in asked.criteria.items()}
        return _accept(asked, random, {name: place for name, place in shown.items() if place is not None})
    found = (asked.at(str(one["path"]), one.get("line"), str(one.get("side", "head"))) for one in label.where)
    places = [place for place in found if place is not None]
    missing = [one for one in label.missing if one in asked.criteria]
    if label.category == "acceptance_gap" and not missing and not places:
        missing = [*asked.criteria]  # one of them is: the row does not say which
    places = places if places or missing else _any(asked, random)
    unmet = {name: _speaking(asked, asked.criteria[name]) for name in missing}
    shown = [*places, *(one for one in unmet.values() if one is not None)]
    why = [*(_not_done(asked, name) for name in missing), *(one.text.strip() for one in shown)]
    return _reject(asked, label.category, places, unmet, " ".join(["Wrong:", *why]))


def _is_here(asked: Asked, label: Label) -> bool:
    shown = {place.path for place in asked.places}
    named = {str(one["path"]) for one in label.where}
    return not (named or label.missing) or bool(named & shown or {*label.missing} & {*asked.criteria})


def always_accepting(asked: Asked, _: Label, random: Random) -> Json:
    """All is well, with places that exist and show nothing."""
    return _accept(asked, random)


def always_rejecting(asked: Asked, _: Label, random: Random) -> Json:
    """Something is wrong, at a place that exists."""
    return _reject(asked, random.choice(CATEGORIES), _any(asked, random), {})


def lying(asked: Asked, _: Label, random: Random) -> Json:
    """A reject for what is not so, at a real line: a criterion or a name that is missing, or a file that nobody asked for."""
    places = _any(asked, random)
    match random.choice(("criterion", "name", "scope")):
        case "criterion" if asked.criteria:
            name = random.choice(list(asked.criteria))
            return _reject(asked, "acceptance_gap", places, {name: None}, _not_done(asked, name))
        case "name" if defined := [
            match[1] for one in asked.places if one.mark == "+" and (match := DEFINED.search(one.text))
        ]:
            said = f"`{random.choice(defined)}` does not exist."
            return _reject(asked, random.choice(CATEGORIES), places, {}, said)
        case _:
            return _reject(asked, "scope_creep", places, {}, "Nobody asked for this.")


def fooled(asked: Asked, _: Label, random: Random) -> Json:
    """All is well, with the real lines that fit best: the changed ones that have most words in common with what they shall show."""
    shown = {name: _fitting(asked, words) for name, words in asked.criteria.items()}
    return _accept(asked, random, {name: place for name, place in shown.items() if place is not None})


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
    "lies": lying,
    "fooled": fooled,
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
    """The changed line that has most words in common with a criterion: of code, or of a test where it asks for one."""
    wanted = {*WORD.findall(words.lower())}
    kinds = (1, 2, 0) if ASKS_FOR_TEST.search(words) else (2, 1, 0)
    changed = [one for one in asked.places if one.mark == "+" and one.text.strip()] or [
        one for one in asked.places if one.mark == "-"
    ]
    return max(
        changed,
        default=None,
        key=lambda one: (-kinds.index(_kind(one)), len(wanted & {*WORD.findall(one.text.lower())})),
    )


def _speaking(asked: Asked, words: str) -> Place | None:
    """The same, where the line has any word of the criterion."""
    place = _fitting(asked, words)
    return place if place and not {*WORD.findall(words.lower())}.isdisjoint(WORD.findall(place.text.lower())) else None


def _not_done(asked: Asked, name: str) -> str:
    return f"{name} is not done: {asked.criteria[name]}."


def _answering(asked: Asked, suspicion: Suspicion) -> Place | None:
    """Another line, as the prompt asks for it, and of the kind that the question names if one is shown; asked again, the next best.

    Of a file that seems unrelated, its changed line that has most words of what was asked for; of what a criterion seems to lack,
    the line that has most words of the criterion; else the one with most words of the suspicion and what stands there.
    """
    there = (suspicion.path, suspicion.line, suspicion.side)
    others = [one for one in asked.places if (one.path, one.line, one.side) != there and one.text.strip()]
    if (name := suspicion.text.partition(":")[0].rpartition(" ")[2]) in asked.criteria:
        return _fitting(asked, f"{asked.criteria[name]} {suspicion.text}")
    suspected = " ".join(one.text for one in asked.places if one.path == suspicion.path and _is_beside(one, suspicion))
    near = _parts(f"{suspicion.text} {suspected}")
    far = _parts(" ".join((*asked.criteria.values(), asked.issues, asked.case)))
    others = [one for one in others if _is_asked_for(one, suspicion)] or others
    if suspicion.category == "scope_creep":
        others = [one for one in others if one.path == suspicion.path and one.mark != " "]
        near, far = far, near
    best = nlargest(
        2,
        others,
        key=lambda one: (
            len(near & _parts(one.text)),
            one.path == suspicion.path,
            len(far & _parts(one.text)),
        ),
    )
    return best[-1 if suspicion.id in asked.left_open else 0] if best else None


def _is_asked_for(place: Place, suspicion: Suspicion) -> bool:
    """Whether a line is of the kind that settles a suspicion, as far as its text tells."""
    if IMPORT.match(place.text):
        return False
    is_check = place.mark != "-" and CHECK.search(place.text) is not None and TITLE.match(place.text) is None
    if "assertion about" in suspicion.settled_by or "assertion of" in suspicion.settled_by:
        return is_check
    if "changed line that takes its place" in suspicion.settled_by:
        return place.mark == "+" or (place.mark == "-" and not TEST.search(place.path))
    if "uses it" in suspicion.settled_by:
        return any(
            re.search(rf"(?<!\w){re.escape(name)}(?!\w)", place.text) for name in SPELLED.findall(suspicion.text)
        )
    return True


def _is_beside(place: Place, suspicion: Suspicion) -> bool:
    is_there = suspicion.line is not None and abs(place.line - suspicion.line) <= BESIDE
    return is_there and place.side == suspicion.side


def _parts(text: str) -> set[str]:
    """The words that its names are made of."""
    return {one.lower() for one in PIECE.findall(text)} - FILLERS


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
        "settled": [
            {"id": one.id, "why": "It is as it has to be.", "evidence": [pointed(place, "")]}
            for one in asked.suspicions
            if (place := _answering(asked, one)) is not None
        ],
        "concern": "The change does what was asked for.",
        "evidence": [pointed(one, "The change.") for one in _any(asked, random)],
        "decision": "accept",
        "category": None,
        "next_step": None,
    }
    return reply(asked, {**said, **_common(asked, WELL)})


def _reject(
    asked: Asked,
    category: str,
    places: list[Place],
    unmet: Mapping[str, Place | None],
    concern: str = "This must not be merged as it is.",
) -> Json:
    """*unmet*: each with the line that falls short; None: no line speaks of it."""
    if not unmet and (category == "acceptance_gap" or not places):
        unmet = dict.fromkeys(list(asked.criteria)[:1])
    said: Json = {
        "criteria": [_unmet(name, unmet[name]) if name in unmet else _unknown(name) for name in asked.criteria],
        "concern": concern,
        "evidence": [pointed(one, "This is wrong.") for one in places],
        "decision": "reject",
        "category": category,
        "next_step": "Mend the named place so that it does what was asked for.",
    }
    return reply(asked, {**said, **_common(asked, BADLY)})


def _unmet(name: str, short: Place | None) -> Json:
    if short is None:
        return {"id": name, "status": "missing", "evidence": []}
    return {"id": name, "status": "partial", "evidence": [pointed(short, "This falls short.")]}


def _unknown(name: str) -> Json:
    return {"id": name, "status": "unverifiable", "evidence": []}


def _common(asked: Asked, score: int) -> Json:
    scores = [
        {"criterion": name, "reasoning": "It was looked at.", "score": score, "improvement": "A shorter name."}
        for name in asked.rubric
    ]
    return {"conditions": [], "scores": scores, "confidence": 0.9}
