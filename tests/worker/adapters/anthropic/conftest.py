"""A played server, and what needs the SDK, loaded by the test that needs it: it takes a second.

Invariant: importing this loads no SDK, since each process of a run collects every test.
"""

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from pytest_httpserver import HTTPServer

from tests.world.fake_anthropic import FakeAnthropic

if TYPE_CHECKING:
    from worker.adapters.anthropic.model import AnthropicModel, BudgetedModel
    from worker.domain.judge_request import PullRef
    from worker.domain.ports import ModelBudget
    from worker.settings import ModelAccess


def anthropic_model(
    access: "ModelAccess", sleep: Callable[[float], None] = time.sleep, clock: Callable[[], float] = time.monotonic
) -> "AnthropicModel":
    from worker.adapters.anthropic.model import AnthropicModel  # noqa: PLC0415 - see above

    return AnthropicModel(access, sleep=sleep, clock=clock)


def metered(model: "AnthropicModel", purse: "ModelBudget", account: "PullRef") -> "BudgetedModel":
    from worker.adapters.anthropic.model import BudgetedModel  # noqa: PLC0415 - see above

    return BudgetedModel(model, purse, account)


def examine_key(access: "ModelAccess") -> str | None:
    from worker.adapters.anthropic.model import check_key  # noqa: PLC0415 - see above

    return check_key(access)


@pytest.fixture(scope="module")
def server() -> Iterator[HTTPServer]:
    with HTTPServer(threaded=True) as played:
        yield played


@pytest.fixture
def script(server: HTTPServer) -> Iterator[FakeAnthropic]:
    played = FakeAnthropic(server)
    yield played
    played.assert_script_done()
