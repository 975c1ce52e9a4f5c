"""Opens the judges of recorded dossiers: by the terms of a re-evaluation, and of the rows of a bench."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from worker.adapters.redis.store import Store
from worker.domain.ports import ModelBudget
from worker.domain.request.judge_request import PullRef
from worker.domain.value import replace
from worker.evaluation.bench.run_budget import RUN_ACCOUNT
from worker.evaluation.rejudge import RejudgeTerms, with_model
from worker.judge.context import JudgeContext
from worker.judge.rubric import load_prompt
from worker.settings import Settings
from worker.wiring.judge import BudgetAccount, open_judge_context


@contextmanager
def open_terms(
    settings: Settings, store: Store | None, terms: RejudgeTerms, pull: PullRef | None
) -> Generator[JudgeContext]:
    """The judge of these terms, paid by *pull* and by the book of the run. None: to read its names only."""
    payer = None if store is None or pull is None else BudgetAccount(store, pull, wrap=_run_budget(store, terms))
    with open_judge_context(with_model(settings, terms.model), terms.tier, terms.rubric, payer) as bench:
        yield replace(bench, prompt=load_prompt(terms.prompt))


def _run_budget(store: Store, terms: RejudgeTerms) -> Callable[[ModelBudget], ModelBudget] | None:
    if not terms.book:
        return None

    def bound(live: ModelBudget) -> ModelBudget:
        from worker.adapters.redis.budget import RunCappedBudget  # noqa: PLC0415 - only for a model

        return RunCappedBudget(store.run_budget(terms.book, terms.limit_usd), live, is_capped=terms.is_capped)

    return bound


@contextmanager
def open_rows(settings: Settings, tier: str, rubric: Path | None, purse: ModelBudget | None) -> Generator[JudgeContext]:
    """The judge of recorded rows, paid out of *purse*."""
    payer = None if purse is None else BudgetAccount(None, RUN_ACCOUNT, purse)
    with open_judge_context(settings, tier, rubric, payer) as bench:
        yield bench
