"""Builds a bench from Settings: who judges, who pays for them, and what is told of their verdicts.

Does not decide. Invariant: a composition loads the model's SDK only where a model may be asked, and makes its clients anew, so
that it may run in a forked job.
"""

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from worker.adapters.redis.pauses import Stopped
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.ports import Lease, Model, Purse
from worker.domain.request.judge_request import PullRef
from worker.domain.request.pause import Suspension
from worker.domain.value import Value, replace
from worker.domain.verdict.budget import Caps
from worker.judge.context import Bench
from worker.judge.escalation import Pause
from worker.judge.llm.prompt_budget import Room, room_of
from worker.judge.rubric import load_prompt, load_rubric
from worker.scheduling.record import Keepers, telling_of
from worker.settings import Settings

ALWAYS: Final = 2.0


class Payer(Value):
    """Who pays for a model: the pull request *pull*, out of the books in *store* or, where there is none, of *own*.

    `bound`: what stands around the books in *store*, such as the limit of a run.
    """

    store: Store | None
    pull: PullRef
    own: Purse | None = None
    bound: Callable[[Purse], Purse] | None = None

    def purse(self, caps: Caps) -> Purse | None:
        if self.store is None:
            return self.own
        live = self.store.purse(caps, SystemClock())
        return live if self.bound is None else self.bound(live)

    @property
    def stopped(self) -> Stopped | None:
        """The pause that the repository is under."""
        if self.store is None:
            return None
        return self.store.switches.stopped(self.pull.installation_id, self.pull.repository_id)


@contextmanager
def open_bench(
    settings: Settings, tier: str, rubric_file: Path | None = None, payer: Payer | None = None
) -> Generator[Bench]:
    """Who judges: the rubric (ours, or a file's) and our prompt, and a model where one is set up and may be asked."""
    rubric = load_rubric(rubric_file)
    hybrid = rubric.escalation_threshold if settings.threshold is None else settings.threshold
    threshold = {"heuristic": 0.0, "hybrid": hybrid, "llm": ALWAYS}[tier]
    pause, suspension = _pause(settings, payer)
    asked = 0.0 if pause else threshold
    with open_model(settings, asked, payer) as model, open_others(settings, asked, payer) as others:
        yield Bench(
            rubric,
            load_prompt(),
            threshold,
            model,
            pause,
            settings.round_limit,
            room=_room(settings, model, payer),
            rooms={name: _room(settings, one, payer) for name, one in others.items()},
            second=others.get(settings.second_model or ""),
            board=settings.has_board,
            choices={name: others[name] for name in settings.models if name in others},
            asking_ms=int(settings.timing.asking * 1000),
            suspension=suspension,
        )


@contextmanager
def open_others(settings: Settings, threshold: float, payer: Payer | None) -> Generator[dict[str, Model]]:
    """The models beside the first, by their names: each at its own price."""
    names = dict.fromkeys((*settings.models, *([settings.second_model] if settings.second_model else ())))
    with ExitStack() as stack:
        others = {name: stack.enter_context(open_model(_asking(settings, name), threshold, payer)) for name in names}
        yield {name: model for name, model in others.items() if model is not None}


def _asking(settings: Settings, name: str) -> Settings:
    return settings if settings.model is None else replace(settings, model=replace(settings.model, name=name))


def _room(settings: Settings, model: Model | None, payer: Payer | None) -> Room:
    """How much a question may hold: the tokens that are set, in bytes as dense as this installation's were."""
    purse = payer.purse(settings.caps) if payer and model else None
    if purse is None or payer is None or model is None:
        return Room(settings.prompt_tokens)
    return room_of(settings.prompt_tokens, purse.density(payer.pull, model.name))


def _pause(settings: Settings, payer: Payer | None) -> tuple[Pause | None, Suspension | None]:
    """The kill switches: the operator's environment, `assay pause`, and a repository's own."""
    if settings.is_paused:
        return Pause.OPERATOR, None
    stopped = payer.stopped if payer else None
    if stopped is None:
        return None, None
    return Pause.OPERATOR if stopped.is_everywhere else Pause.REPOSITORY, stopped.suspension


@contextmanager
def open_model(settings: Settings, threshold: float, payer: Payer | None = None) -> Generator[Model | None]:
    """The model, if there is one and it may be asked; metered, where somebody pays."""
    if settings.model is None or threshold <= 0:
        yield None
        return
    from worker.adapters.anthropic.budgeted_model import Metered
    from worker.adapters.anthropic.model import AnthropicModel

    model = AnthropicModel(settings.model)
    try:
        purse = payer.purse(settings.caps) if payer else None
        yield Metered(model, purse, payer.pull) if payer and purse else model
    finally:
        model.close()


def keepers_of(settings: Settings, store: Store, lease: Lease) -> Keepers:
    return Keepers(store.ledger, store.archive, store.events, lease, telling_of(settings))
