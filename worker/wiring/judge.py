"""Builds a bench from Settings: who judges, who pays for them, and what is told of their verdicts.

Does not decide. Invariant: a composition loads the model's SDK only where a model may be asked, and makes its clients anew, so
that it may run in a forked job.
"""

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from worker.adapters.redis.pauses import ActivePause
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.ports import Lease, Model, ModelBudget
from worker.domain.request.judge_request import PullRef
from worker.domain.request.pause import JudgingPause
from worker.domain.value import Value, replace
from worker.domain.verdict.budget import Caps
from worker.judge.context import JudgeContext
from worker.judge.escalation import Pause
from worker.judge.llm.prompt_budget import TokenBudget, token_budget_for
from worker.judge.rubric import load_prompt, load_rubric
from worker.scheduling.record import VerdictRecorder, event_publishing
from worker.settings import Settings

ALWAYS_THRESHOLD: Final = 2.0


class BudgetAccount(Value):
    """Who pays for a model: the pull request *pull*, out of the books in *store* or, where there is none, of *own_budget*.

    `wrap`: what stands around the books in *store*, such as the limit of a run.
    """

    store: Store | None
    pull: PullRef
    own_budget: ModelBudget | None = None
    wrap: Callable[[ModelBudget], ModelBudget] | None = None

    def budget(self, caps: Caps) -> ModelBudget | None:
        if self.store is None:
            return self.own_budget
        live = self.store.budget(caps, SystemClock())
        return live if self.wrap is None else self.wrap(live)

    @property
    def pause(self) -> ActivePause | None:
        """The pause that the repository is under."""
        if self.store is None:
            return None
        return self.store.pauses.find_pause(self.pull.installation_id, self.pull.repository_id)


@contextmanager
def open_judge_context(
    settings: Settings, tier: str, rubric_file: Path | None = None, payer: BudgetAccount | None = None
) -> Generator[JudgeContext]:
    """Who judges: the rubric (ours, or a file's) and our prompt, and a model where one is set up and may be asked."""
    rubric = load_rubric(rubric_file)
    hybrid = rubric.escalation_threshold if settings.threshold is None else settings.threshold
    threshold = {"heuristic": 0.0, "hybrid": hybrid, "llm": ALWAYS_THRESHOLD}[tier]
    pause, suspension = _pause(settings, payer)
    asked = 0.0 if pause else threshold
    with open_model(settings, asked, payer) as model, open_further_models(settings, asked, payer) as others:
        yield JudgeContext(
            rubric,
            load_prompt(),
            threshold,
            model,
            pause,
            settings.round_limit,
            token_budget=_token_budget(settings, model, payer),
            token_budgets={name: _token_budget(settings, other, payer) for name, other in others.items()},
            second_model=others.get(settings.second_model or ""),
            is_panel=settings.has_panel,
            choices={name: others[name] for name in settings.models if name in others},
            asking_ms=int(settings.timing.asking * 1000),
            suspension=suspension,
        )


@contextmanager
def open_further_models(
    settings: Settings, threshold: float, payer: BudgetAccount | None
) -> Generator[dict[str, Model]]:
    """The models beside the first, by their names: each at its own price."""
    names = dict.fromkeys((*settings.models, *([settings.second_model] if settings.second_model else ())))
    with ExitStack() as stack:
        others = {
            name: stack.enter_context(open_model(_with_model(settings, name), threshold, payer)) for name in names
        }
        yield {name: model for name, model in others.items() if model is not None}


def _with_model(settings: Settings, name: str) -> Settings:
    return settings if settings.model is None else replace(settings, model=replace(settings.model, name=name))


def _token_budget(settings: Settings, model: Model | None, payer: BudgetAccount | None) -> TokenBudget:
    """How much a question may hold: the tokens that are set, in bytes as dense as this installation's were."""
    purse = payer.budget(settings.caps) if payer and model else None
    if purse is None or payer is None or model is None:
        return TokenBudget(settings.prompt_tokens)
    return token_budget_for(settings.prompt_tokens, purse.density(payer.pull, model.name))


def _pause(settings: Settings, payer: BudgetAccount | None) -> tuple[Pause | None, JudgingPause | None]:
    """The kill switches: the operator's environment, `assay pause`, and a repository's own."""
    if settings.is_paused:
        return Pause.OPERATOR, None
    stopped = payer.pause if payer else None
    if stopped is None:
        return None, None
    return Pause.OPERATOR if stopped.is_everywhere else Pause.REPOSITORY, stopped.suspension


@contextmanager
def open_model(settings: Settings, threshold: float, payer: BudgetAccount | None = None) -> Generator[Model | None]:
    """The model, if there is one and it may be asked; metered, where somebody pays."""
    if settings.model is None or threshold <= 0:
        yield None
        return
    from worker.adapters.anthropic.budgeted_model import BudgetedModel
    from worker.adapters.anthropic.model import AnthropicModel

    model = AnthropicModel(settings.model)
    try:
        purse = payer.budget(settings.caps) if payer else None
        yield BudgetedModel(model, purse, payer.pull) if payer and purse else model
    finally:
        model.close()


def recorder_of(settings: Settings, store: Store, lease: Lease) -> VerdictRecorder:
    return VerdictRecorder(store.ledger, store.archive, store.events, lease, event_publishing(settings))
