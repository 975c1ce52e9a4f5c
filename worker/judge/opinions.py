"""Who is asked about a change: one model, or a board of three lenses; and a stronger model after it, if need be.

Asks nobody itself (`worker.judge.model_judge` does), and rules by the rules of `second_opinion` and `panel`. Imported only when a model is
asked. Invariant: every opinion is kept as its own, and what all of them cost is counted once, in the verdict they lead to.
"""

from collections.abc import Sequence
from decimal import Decimal

from worker.domain.ports import Model
from worker.domain.value import replace
from worker.domain.verdict.audit import Stage, Step
from worker.domain.verdict.verdict import Tokens
from worker.judge import texts
from worker.judge.accord import Accord, Joined, leaning
from worker.judge.context import Bench, Docket, Seat, Sitting, Spent, Voice
from worker.judge.model_judge import ask
from worker.judge.panel import FOCUS, Lens, Seen, rule_of_board
from worker.judge.rulings import Hearing
from worker.judge.second_opinion import rule_of_two, why_again


def hear_opinions(hearing: Hearing, docket: Docket, bench: Bench, model: Model, reason: str) -> Sitting:
    """Ask whom this bench asks, and rule."""
    first = _first(hearing, docket, bench, model, reason)
    why = why_again(first.ruling, hearing)
    if bench.second is None or why is None or not first.asked:
        return first
    seat = Seat("second", bench.second)
    second = ask(hearing, docket, bench, seat, why)
    voices = (*(first.voices or (Voice(Seat("first", model), first),)), Voice(seat, second))
    joined = rule_of_two(first.ruling, second.ruling)
    return _together((first, second), joined, voices, texts.second_asked(first.reason, bench.second.name, why))


def _first(hearing: Hearing, docket: Docket, bench: Bench, model: Model, reason: str) -> Sitting:
    """One look; a board where there is one. What a fact decides needs none."""
    if not bench.board or hearing.opinion.facts:
        return ask(hearing, docket, bench, Seat("first", model), reason)
    seats = [Seat(lens.value, model, FOCUS[lens]) for lens in Lens]
    sittings = [ask(hearing, docket, bench, seat, reason) for seat in seats]
    seen = [Seen(lens, sitting.ruling) for lens, sitting in zip(Lens, sittings, strict=True)]
    voices = tuple(Voice(seat, sitting) for seat, sitting in zip(seats, sittings, strict=True))
    return _together(sittings, rule_of_board(seen), voices, texts.board_asked(reason))


def _together(sittings: Sequence[Sitting], joined: Joined, voices: tuple[Voice, ...], reason: str) -> Sitting:
    """One sitting of several: whoever speaks gives the answers, all of them the exchanges and the costs."""
    speaker = sittings[joined.speaker]
    told = "; ".join(_told(one) for one in voices)
    signals = {**joined.ruling.signals, "opinions": told, "opinions_agree": joined.accord is Accord.AGREE}
    ruled = Step(stage=Stage.OPINIONS, outcome=joined.accord.value, reason=told)
    return replace(
        speaker,
        ruling=replace(joined.ruling, signals=signals),
        reason=reason,
        asked=any(one.asked for one in sittings),
        spent=_spent([one.spent for one in sittings]),
        exchanges=tuple(exchange for one in sittings for exchange in one.exchanges),
        steps=(*(step for one in sittings for step in one.steps), ruled),
        voices=voices,
    )


def _told(voice: Voice) -> str:
    ruling = voice.sitting.ruling
    why = ruling.category or ruling.abstain_reason
    said = leaning(ruling).replace("_", " ")
    return f"{voice.seat.name} ({voice.seat.model.name}): {said}{f', {why}' if why else ''}, {ruling.confidence:.2f}"


def _spent(each: Sequence[Spent]) -> Spent:
    known = [one.cost_usd for one in each if one.cost_usd is not None]
    return Spent(
        tokens=sum((one.tokens for one in each), Tokens()),
        cost_usd=sum(known, Decimal(0)) if len(known) == len(each) else None,
        replies=sum(one.replies for one in each),
        lost_usd=sum((one.lost_usd for one in each), Decimal(0)),
        near=next((one.near for one in reversed(each) if one.near is not None), None),
    )
