"""Open the judge's context from settings: rubric, prompt, models and who pays for them.

The model's SDK is loaded only where a model may be asked, and clients are created per opening, since a forked job must not share them.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from worker.adapters.redis.store import Store
from worker.domain.judge_request import PullRef
from worker.domain.lifecycle.work import ActivePause
from worker.domain.ports import Lease, Model, ModelBudget
from worker.domain.verdict.budget import Caps, TokenBudget, token_budget_for
from worker.judge.context import JudgeContext, Pause
from worker.judge.rubric import load_prompt, load_rubric
from worker.process import SystemClock
from worker.scheduling.record import VerdictRecorder, event_publishing
from worker.settings import Settings

ALWAYS_THRESHOLD: Final = 2.0


@dataclass(frozen=True)
class BudgetAccount:
    """Who pays for a model: *pull*, from the budget in *store*, else from *own_budget*.

    `wrap`: bounds the budget in *store* further, such as by the limit of a run.
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
        """The active pause of the repository."""
        if self.store is None:
            return None
        return self.store.pauses.find_pause(self.pull.installation_id, self.pull.repository_id)


@contextmanager
def open_judge_context(
    settings: Settings, tier: str, rubric_file: Path | None = None, account: BudgetAccount | None = None
) -> Generator[JudgeContext]:
    """The rubric (shipped, or a file's), the prompt, and a model where one is configured and may be asked."""
    rubric = load_rubric(rubric_file)
    hybrid = rubric.escalation_threshold if settings.threshold is None else settings.threshold
    threshold = {"heuristic": 0.0, "hybrid": hybrid, "llm": ALWAYS_THRESHOLD}[tier]
    active = None if settings.is_paused or account is None else account.pause
    is_everywhere = settings.is_paused or (active is not None and active.is_everywhere)
    pause = Pause.OPERATOR if is_everywhere else Pause.REPOSITORY if active else None
    asked = 0.0 if pause else threshold
    others = dict.fromkeys((*settings.models, *filter(None, (settings.second_model,))))
    with open_models(settings, asked, tuple(others), account) as models:
        model = models.get(settings.model.name) if settings.model else None
        yield JudgeContext(
            rubric,
            load_prompt(),
            threshold,
            model,
            pause,
            settings.round_limit,
            token_budget=_token_budget(settings, model, account),
            token_budgets={name: _token_budget(settings, models[name], account) for name in others if name in models},
            second_model=models.get(settings.second_model or ""),
            is_panel=settings.has_panel,
            choices={name: models[name] for name in settings.models if name in models},
            asking_ms=int(settings.timing.asking * 1000),
            suspension=active.suspension if active else None,
        )


def _token_budget(settings: Settings, model: Model | None, account: BudgetAccount | None) -> TokenBudget:
    """The token limit of a request, converted to bytes at this installation's measured density."""
    if account and model and (budget := account.budget(settings.caps)):
        return token_budget_for(settings.prompt_tokens, budget.density(account.pull, model.name))
    return TokenBudget(settings.prompt_tokens)


@contextmanager
def open_models(
    settings: Settings, threshold: float, others: Sequence[str], account: BudgetAccount | None
) -> Generator[dict[str, Model]]:
    """The model and *others*, by name, if one is configured and may be asked.

    With an account, their requests are reserved and settled.
    """
    if settings.model is None or threshold <= 0:
        yield {}
        return
    from worker.adapters.anthropic import AnthropicModel, BudgetedModel

    budget = account.budget(settings.caps) if account else None
    models: dict[str, Model] = {}
    with ExitStack() as stack:
        for name in (settings.model.name, *others):
            model = AnthropicModel(replace(settings.model, name=name))
            stack.callback(model.close)
            models[name] = BudgetedModel(model, budget, account.pull) if account and budget else model
        yield models


def recorder_of(settings: Settings, store: Store, lease: Lease) -> VerdictRecorder:
    return VerdictRecorder(store.ledger, store.archive, store.events, lease, event_publishing(settings))
