"""Opens the judges of recorded dossiers: by the terms of a re-evaluation, and of the rows of a bench."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from worker.adapters.redis.store import Store
from worker.domain.ports import Purse
from worker.domain.request.judge_request import PullRef
from worker.domain.value import replace
from worker.evaluation.bench.run_budget import ACCOUNT
from worker.evaluation.rejudge import Terms, asking
from worker.judge.context import Bench
from worker.judge.rubric import load_prompt
from worker.settings import Settings
from worker.wiring.judge import Payer, open_bench


@contextmanager
def open_terms(settings: Settings, store: Store | None, terms: Terms, pull: PullRef | None) -> Generator[Bench]:
    """The judge of these terms, paid by *pull* and by the book of the run. None: to read its names only."""
    payer = None if store is None or pull is None else Payer(store, pull, bound=_book_of(store, terms))
    with open_bench(asking(settings, terms.model), terms.tier, terms.rubric, payer) as bench:
        yield replace(bench, prompt=load_prompt(terms.prompt))


def _book_of(store: Store, terms: Terms) -> Callable[[Purse], Purse] | None:
    if not terms.book:
        return None

    def bound(live: Purse) -> Purse:
        from worker.adapters.redis.book import Bounded  # noqa: PLC0415 - only for a model

        return Bounded(store.book(terms.book, terms.limit_usd), live, is_capped=terms.is_capped)

    return bound


@contextmanager
def open_rows(settings: Settings, tier: str, rubric: Path | None, purse: Purse | None) -> Generator[Bench]:
    """The judge of recorded rows, paid out of *purse*."""
    payer = None if purse is None else Payer(None, ACCOUNT, purse)
    with open_bench(settings, tier, rubric, payer) as bench:
        yield bench
