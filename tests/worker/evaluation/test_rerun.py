"""A run of judgings anew in this process."""

from decimal import Decimal

import pytest
from pydantic import SecretStr

from tests.worker.evaluation.recorded import ASKED, judged, order, terms
from tests.world.anthropic import MODEL
from worker.adapters.redis.store import Store
from worker.domain.value import replace
from worker.errors import InputError
from worker.evaluation.rejudge import OrderResult
from worker.evaluation.rerun import RejudgeRun, forecast_run
from worker.settings import ModelAccess, Settings
from worker.wiring.rejudge import open_terms

NOBODY = ModelAccess(SecretStr("k"), "http://127.0.0.1:1", MODEL, 10, 1, 0, 8000)


def test_at_its_limit_nothing_more_is_begun(here: Settings, store: Store) -> None:
    orders = [order(judged(store, here, number, ASKED)) for number in (1, 2, 3)]
    asking = replace(here, tier="hybrid", model=NOBODY)
    by = terms(asking, book="run:x", limit_usd=Decimal("0.000001"))
    assert RejudgeRun(asking, store, by, orders, open_terms).run_locally(1, pytest.fail) == {OrderResult.FULL: 1}


def test_nothing_is_forecast_where_nothing_would_be_asked_or_is_kept(here: Settings, store: Store) -> None:
    made = order(judged(store, here, 1, ASKED))
    assert forecast_run(RejudgeRun(here, store, terms(here), [made], open_terms)) is None
    asking = replace(here, tier="hybrid", model=NOBODY)
    assert forecast_run(RejudgeRun(asking, store, terms(asking), [], open_terms)) is None
    gone = made.model_copy(update={"pull": made.pull.model_copy(update={"number": 9})})
    assert forecast_run(RejudgeRun(asking, store, terms(asking), [gone], open_terms)) is None
    known = forecast_run(RejudgeRun(asking, store, terms(asking), [made], open_terms))
    assert known is not None
    assert (known.rows, known.sampled, known.asked) == (1, 1, 1)


@pytest.mark.slow
def test_an_error_in_another_process_reaches_this_one(here: Settings, store: Store) -> None:
    made = order(judged(store, here, 1))
    nowhere = replace(here, redis_url=SecretStr("redis://127.0.0.1:1"))
    with pytest.raises(InputError, match="Redis is unavailable"):
        RejudgeRun(nowhere, store, terms(here), [made, made], open_terms).run_locally(2, lambda: None)
