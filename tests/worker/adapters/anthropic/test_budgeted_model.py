"""Each request is reserved before it is sent and settled at its cost; an unknown cost stays spent."""

import socket
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from pydantic import SecretStr

from tests.worker.adapters.anthropic.conftest import anthropic_model, with_budget
from tests.world.fake_anthropic import FakeAnthropic
from worker.domain.judge_request import PullRef
from worker.domain.model import InstallationId, RepositoryId
from worker.domain.ports import FRAMING_BYTES, Prompt
from worker.domain.verdict.budget import (
    Bill,
    Cap,
    CapLevel,
    Density,
    Reservation,
    unpriced_text,
    worst_case,
)
from worker.errors import BudgetReached, Unavailable
from worker.settings import ModelAccess

if TYPE_CHECKING:
    from worker.adapters.anthropic import BudgetedModel

PAYER = PullRef(installation_id=InstallationId(100), repository_id=RepositoryId(7), number=12)
PROMPT = Prompt("You judge.", ("The change: ä.",), {"type": "object"}, "v")
SIZE = FRAMING_BYTES + len("You judge.") + len("The change: ä.") + 1 + len('{"type": "object"}')
WORST = Decimal(SIZE * 125 + 4_000 * 500) / 10**9
PAID = Decimal(812 * 100 + 96 * 500) / 10**9


@dataclass
class FakeBudget:
    """The ModelBudget port in memory, with one cap."""

    cap_usd: Decimal = Decimal(1)
    dense: Density = field(default_factory=Density)
    is_down_for: str = ""
    reserved: list[Reservation] = field(default_factory=list[Reservation])
    bills: list[Bill] = field(default_factory=list[Bill])
    near: CapLevel | None = None

    def density(self, pull: PullRef, model: str) -> Density:
        assert (pull, model in {"claude-haiku-5-5", "claude-unknown"}) == (PAYER, True)
        return self.dense

    def reserve(self, name: str, pull: PullRef, usd: Decimal) -> Reservation:
        if self.is_down_for == "reserve":
            raise Unavailable("Redis", "no answer")
        if self.spent + usd > self.cap_usd:
            raise BudgetReached(CapLevel(Cap.PULL, self.spent, self.cap_usd), usd)
        self.reserved.append(Reservation(name, pull, "2026-11-20", usd))
        return self.reserved[-1]

    def settle(self, reservation: Reservation, bill: Bill) -> CapLevel | None:
        assert reservation is self.reserved[-1]
        if self.is_down_for == "settle":
            raise Unavailable("Redis", "no answer")
        self.bills.append(bill)
        return self.near

    @property
    def spent(self) -> Decimal:
        bills = [*self.bills, *[Bill(None)] * (len(self.reserved) - len(self.bills))]
        pairs = zip(self.reserved, bills, strict=True)
        return sum((reservation.usd if bill.usd is None else bill.usd for reservation, bill in pairs), Decimal(0))


@pytest.fixture
def budget() -> FakeBudget:
    return FakeBudget()


def access(url: str) -> ModelAccess:
    return ModelAccess(SecretStr("sk-ant"), url, "claude-haiku-5-5", 5.0, 3, 0.0, 4_000)


@pytest.fixture
def model(script: FakeAnthropic, budget: FakeBudget) -> Iterator["BudgetedModel"]:
    adapter = anthropic_model(access(script.url), sleep=lambda _: None)
    yield with_budget(adapter, budget, PAYER)
    adapter.close()


def test_ask_reserves_worst_case_then_settles(
    script: FakeAnthropic, model: "BudgetedModel", budget: FakeBudget
) -> None:
    script.reply_with({"decision": "accept"})
    reply = model.ask(PROMPT)
    [reservation] = budget.reserved
    assert (reservation.pull, reservation.usd) == (PAYER, WORST)
    assert budget.bills == [Bill(PAID, "claude-haiku-5-5", SIZE, 812)]
    assert (reply.cost_usd, reply.near_cap) == (PAID, None)
    assert (model.name, model.pricing_version) == ("claude-haiku-5-5", "2026-11")


def test_reply_tokens_bound_the_reservation(script: FakeAnthropic, model: "BudgetedModel", budget: FakeBudget) -> None:
    script.reply_with({})
    model.ask(replace(PROMPT, reply_tokens=700))
    assert budget.reserved[0].usd == worst_case("claude-haiku-5-5", SIZE, 700)
    assert script.requests[0].body["max_tokens"] == 700


def test_no_request_is_sent_beyond_a_cap(script: FakeAnthropic, model: "BudgetedModel", budget: FakeBudget) -> None:
    budget.cap_usd = WORST - Decimal("0.000000001")
    with pytest.raises(BudgetReached) as reached:
        model.ask(PROMPT)
    assert (script.requests, reached.value.asked_usd) == ([], WORST)


def test_density_lowers_the_reservation(script: FakeAnthropic, model: "BudgetedModel", budget: FakeBudget) -> None:
    budget.dense = Density(50, Decimal("0.4"))
    script.reply_with({})
    model.ask(PROMPT)
    tokens = -(-SIZE // 2)
    assert budget.reserved[0].usd == worst_case("claude-haiku-5-5", tokens, 4_000)


@pytest.mark.parametrize("status", [429, 529, 401])
def test_refusal_costs_nothing(script: FakeAnthropic, model: "BudgetedModel", budget: FakeBudget, status: int) -> None:
    script.fail_from_now_on(status)
    with pytest.raises(Unavailable):
        model.ask(PROMPT)
    assert len(script.requests) == len(budget.reserved) == len(budget.bills)
    assert budget.spent == 0


@pytest.mark.parametrize("trouble", ["break_connection", "reply_with_html", "reply_with_error"])
def test_lost_reply_stays_spent_and_its_retry_is_reserved_separately(
    script: FakeAnthropic, model: "BudgetedModel", budget: FakeBudget, trouble: str
) -> None:
    getattr(script, trouble)(*([500] if trouble == "reply_with_error" else []))  # a failed request may be billed
    script.reply_with({})
    model.ask(PROMPT)
    assert [reservation.usd for reservation in budget.reserved] == [WORST, WORST]
    assert [bill.usd for bill in budget.bills] == [None, PAID]
    assert len({reservation.id for reservation in budget.reserved}) == 2
    assert budget.spent == WORST + PAID


def test_lost_cost_comes_with_reply_or_error(script: FakeAnthropic, model: "BudgetedModel", budget: FakeBudget) -> None:
    script.reply_with_html()
    script.reply_with({})
    assert model.ask(PROMPT).lost_usd == WORST
    script.reply_with({})
    assert model.ask(PROMPT).lost_usd == 0
    script.fail_from_now_on(500)
    with pytest.raises(Unavailable) as error:
        model.ask(PROMPT)
    assert error.value.lost_usd == 3 * WORST
    budget.cap_usd = budget.spent + WORST
    with pytest.raises(BudgetReached) as reached:
        model.ask(PROMPT)
    assert reached.value.lost_usd == WORST
    script.fail_from_now_on(529)
    budget.cap_usd = Decimal(1)
    with pytest.raises(Unavailable) as refused:
        model.ask(PROMPT)
    assert refused.value.lost_usd == 0


def test_no_retry_is_sent_beyond_a_cap(script: FakeAnthropic, model: "BudgetedModel", budget: FakeBudget) -> None:
    budget.cap_usd = 2 * WORST - Decimal("0.000000001")
    script.break_connection()
    with pytest.raises(BudgetReached):
        model.ask(PROMPT)
    assert len(script.requests) == 1
    assert budget.spent == WORST


def test_unreachable_server_costs_nothing(budget: FakeBudget) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    adapter = anthropic_model(access(f"http://127.0.0.1:{port}"), sleep=lambda _: None)
    with pytest.raises(Unavailable):
        with_budget(adapter, budget, PAYER).ask(PROMPT)
    adapter.close()
    assert len(budget.bills) == 3
    assert budget.spent == 0


def test_model_without_a_known_price_is_not_asked(script: FakeAnthropic, budget: FakeBudget) -> None:
    adapter = anthropic_model(replace(access(script.url), name="claude-unknown"), sleep=lambda _: None)
    budgeted = with_budget(adapter, budget, PAYER)
    with pytest.raises(Unavailable) as refused:
        budgeted.ask(PROMPT)
    assert refused.value.reason == unpriced_text("claude-unknown")
    assert refused.value.reason == (
        'the price of "claude-unknown" is not known, so no money can be set aside; '
        "set ASSAY_MODEL to one of claude-haiku-5-5, claude-sonnet-5-5, claude-opus-5-5"
    )
    assert (script.requests, budget.reserved, budgeted.pricing_version) == ([], [], None)


def test_no_request_without_a_reservation(script: FakeAnthropic, model: "BudgetedModel", budget: FakeBudget) -> None:
    budget.is_down_for = "reserve"
    with pytest.raises(Unavailable):
        model.ask(PROMPT)
    assert script.requests == []


def test_reply_is_returned_when_the_budget_cannot_settle(
    script: FakeAnthropic, model: "BudgetedModel", budget: FakeBudget, caplog: pytest.LogCaptureFixture
) -> None:
    budget.is_down_for = "settle"
    script.reply_with({})
    assert model.ask(PROMPT).cost_usd == PAID
    assert [record.getMessage() for record in caplog.records if record.name == "worker.adapters.anthropic"] == [
        f"reservation of {WORST:f} dollars not released: Redis is unavailable: no answer"
    ]


def test_near_cap_is_reported_with_the_reply(script: FakeAnthropic, model: "BudgetedModel", budget: FakeBudget) -> None:
    budget.near = CapLevel(Cap.DAY, Decimal("0.9"), Decimal(1))
    script.reply_with({})
    assert model.ask(PROMPT).near_cap == budget.near
