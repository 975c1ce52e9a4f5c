"""Open the judge's context for recorded dossiers: by the terms of a re-evaluation, or for the rows of a bench."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from worker.adapters.redis.store import Store, open_store
from worker.domain.judge_request import PullRef
from worker.domain.ports import ModelBudget
from worker.evaluation.bench.runner import RUN_ACCOUNT, FileBudget, NumberedRow, RowLines, RunMoney, judge_to_lines
from worker.evaluation.engine import Halt
from worker.evaluation.forecast import CostMeter
from worker.evaluation.rejudge import OrderResult, RejudgeOrder, Rejudger, RejudgeTerms, with_model
from worker.judge.context import JudgeContext
from worker.judge.rubric import load_prompt
from worker.settings import ModelAccess, Settings
from worker.wiring.judge import BudgetAccount, open_judge_context


@contextmanager
def open_terms(
    settings: Settings, store: Store | None, terms: RejudgeTerms, pull: PullRef | None
) -> Generator[JudgeContext]:
    """The context of these terms, paid by *pull* within the run's budget. Without store or pull: for its names only."""
    account = None
    if store is not None and pull is not None:
        account = BudgetAccount(store, pull, wrap=partial(_cap_budget, store, terms) if terms.book else None)
    with open_judge_context(with_model(settings, terms.model), terms.tier, terms.rubric, account) as context:
        yield replace(context, prompt=load_prompt(terms.prompt))


def rejudger(settings: Settings, store: Store, terms: RejudgeTerms) -> Rejudger:
    return Rejudger(settings, store, terms, partial(open_terms, settings, store))


class RejudgerOpener(NamedTuple):
    """Opens a Rejudger in any process. *settings* lead each one to the store."""

    settings: Settings
    terms: RejudgeTerms

    @contextmanager
    def __call__(self) -> Generator[Callable[[RejudgeOrder], OrderResult | Halt]]:
        with open_store(self.settings) as store:
            yield rejudger(self.settings, store, self.terms).execute_or_halt


def _cap_budget(store: Store, terms: RejudgeTerms, live: ModelBudget) -> ModelBudget:
    from worker.adapters.redis.budget import RunCappedBudget  # noqa: PLC0415 - only for a model

    return RunCappedBudget(store.run_budget(terms.book, terms.limit_usd), live, is_capped=terms.is_capped)


def prompt_meter(access: ModelAccess) -> CostMeter:
    """Measures what this model would be asked."""
    from worker.adapters.anthropic import PromptMeter  # noqa: PLC0415 - only for a model

    return PromptMeter(access)


class BenchOpener(NamedTuple):
    """Opens in any process what judges a row; a model is paid from `money`, if there is any."""

    settings: Settings
    tier: str
    rubric: Path | None
    money: RunMoney | None = None

    @contextmanager
    def open_context(self) -> Generator[JudgeContext]:
        account = None if self.money is None else BudgetAccount(None, RUN_ACCOUNT, FileBudget(self.money))
        with open_judge_context(self.settings, self.tier, self.rubric, account) as context:
            yield context

    @contextmanager
    def __call__(self) -> Generator[Callable[[NumberedRow], RowLines | Halt]]:
        with self.open_context() as context:
            yield partial(judge_to_lines, context)
