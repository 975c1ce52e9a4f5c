"""A fake Anthropic server, and adapters that load the SDK only when a test needs it."""

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from pytest_httpserver import HTTPServer

from tests.world.fake_anthropic import FakeAnthropic

if TYPE_CHECKING:
    from worker.adapters.anthropic import AnthropicModel, BudgetedModel
    from worker.domain.judge_request import PullRef
    from worker.domain.ports import ModelBudget
    from worker.settings import ModelAccess


def anthropic_model(
    access: "ModelAccess", sleep: Callable[[float], None] = time.sleep, clock: Callable[[], float] = time.monotonic
) -> "AnthropicModel":
    from worker.adapters.anthropic import AnthropicModel  # noqa: PLC0415 - loads the SDK, which takes a second

    return AnthropicModel(access, sleep=sleep, clock=clock)


def with_budget(model: "AnthropicModel", budget: "ModelBudget", account: "PullRef") -> "BudgetedModel":
    from worker.adapters.anthropic import BudgetedModel  # noqa: PLC0415 - as above

    return BudgetedModel(model, budget, account)


def examine_key(access: "ModelAccess") -> str | None:
    from worker.adapters.anthropic import check_key  # noqa: PLC0415 - as above

    return check_key(access)


@pytest.fixture(scope="module")
def server() -> Iterator[HTTPServer]:
    with HTTPServer(threaded=True) as running:
        yield running


@pytest.fixture
def script(server: HTTPServer) -> Iterator[FakeAnthropic]:
    fake = FakeAnthropic(server)
    yield fake
    fake.assert_script_done()
