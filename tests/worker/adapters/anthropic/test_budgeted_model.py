"""No request without a reservation; what it cost is settled, and what nobody knows stays spent."""

import socket
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from pydantic import SecretStr

from tests.worker.adapters.anthropic.conftest import anthropic_model, metered
from tests.world.fake_anthropic import FakeAnthropic
from worker.adapters.anthropic.prices import FRAMING_BYTES, unpriced_text, worst_case
from worker.domain.ids import InstallationId, RepositoryId
from worker.domain.judge_request import PullRef
from worker.domain.ports import Prompt
from worker.domain.verdict.budget import Bill, Cap, CapLevel, Reservation
from worker.domain.verdict.token_budget import Density
from worker.errors import BudgetReached, Unavailable
from worker.settings import ModelAccess

if TYPE_CHECKING:
    from worker.adapters.anthropic.model import BudgetedModel

PAYER = PullRef(installation_id=InstallationId(100), repository_id=RepositoryId(7), number=12)
PROMPT = Prompt("You judge.", ("The change: ä.",), {"type": "object"}, "v")
SIZE = FRAMING_BYTES + len("You judge.") + len("The change: ä.") + 1 + len('{"type": "object"}')
WORST = Decimal(SIZE * 125 + 4_000 * 500) / 10**9
PAID = Decimal(812 * 100 + 96 * 500) / 10**9


@dataclass
class PlayedPurse:
    """The Purse port with one cap, in memory, and everything that was written in it."""

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
        return sum((one.usd if bill.usd is None else bill.usd for one, bill in pairs), Decimal(0))


@pytest.fixture
def purse() -> PlayedPurse:
    return PlayedPurse()


def access(url: str) -> ModelAccess:
    return ModelAccess(SecretStr("sk-ant"), url, "claude-haiku-5-5", 5.0, 3, 0.0, 4_000)


@pytest.fixture
def model(script: FakeAnthropic, purse: PlayedPurse) -> Iterator["BudgetedModel"]:
    adapter = anthropic_model(access(script.url), sleep=lambda _: None)
    yield metered(adapter, purse, PAYER)
    adapter.close()


def test_the_worst_case_is_reserved_and_the_reply_settled_at_its_price(
    script: FakeAnthropic, model: "BudgetedModel", purse: PlayedPurse
) -> None:
    script.reply_with({"decision": "accept"})
    reply = model.ask(PROMPT)
    [reservation] = purse.reserved
    assert (reservation.pull, reservation.usd) == (PAYER, WORST)
    assert purse.bills == [Bill(PAID, "claude-haiku-5-5", SIZE, 812)]
    assert (reply.cost_usd, reply.near_cap) == (PAID, None)
    assert (model.name, model.pricing_version) == ("claude-haiku-5-5", "2026-11")


def test_of_a_reply_only_as_much_is_reserved_as_its_form_takes(
    script: FakeAnthropic, model: "BudgetedModel", purse: PlayedPurse
) -> None:
    script.reply_with({})
    model.ask(replace(PROMPT, reply_tokens=700))
    assert purse.reserved[0].usd == worst_case("claude-haiku-5-5", SIZE, 700)
    assert script.requests[0].body["max_tokens"] == 700


def test_nothing_is_sent_that_a_cap_has_no_room_for(
    script: FakeAnthropic, model: "BudgetedModel", purse: PlayedPurse
) -> None:
    purse.cap_usd = WORST - Decimal("0.000000001")
    with pytest.raises(BudgetReached) as reached:
        model.ask(PROMPT)
    assert (script.requests, reached.value.asked_usd) == ([], WORST)


def test_what_replies_taught_lowers_the_bound(
    script: FakeAnthropic, model: "BudgetedModel", purse: PlayedPurse
) -> None:
    purse.dense = Density(50, Decimal("0.4"))
    script.reply_with({})
    model.ask(PROMPT)
    tokens = -(-SIZE // 2)
    assert purse.reserved[0].usd == worst_case("claude-haiku-5-5", tokens, 4_000)


@pytest.mark.parametrize("status", [429, 529, 401])
def test_a_request_that_was_refused_cost_nothing(
    script: FakeAnthropic, model: "BudgetedModel", purse: PlayedPurse, status: int
) -> None:
    script.fail_from_now_on(status)
    with pytest.raises(Unavailable):
        model.ask(PROMPT)
    assert len(script.requests) == len(purse.reserved) == len(purse.bills)
    assert purse.spent == 0


@pytest.mark.parametrize("trouble", ["break_connection", "reply_with_html", "reply_with_error"])
def test_a_reply_that_was_lost_stays_spent_and_its_retry_is_reserved_anew(
    script: FakeAnthropic, model: "BudgetedModel", purse: PlayedPurse, trouble: str
) -> None:
    getattr(script, trouble)(*([500] if trouble == "reply_with_error" else []))  # a server that failed may have worked
    script.reply_with({})
    model.ask(PROMPT)
    assert [one.usd for one in purse.reserved] == [WORST, WORST]
    assert [one.usd for one in purse.bills] == [None, PAID]
    assert len({one.id for one in purse.reserved}) == 2
    assert purse.spent == WORST + PAID


def test_what_may_have_been_billed_unheard_comes_with_the_reply_or_with_the_failure(
    script: FakeAnthropic, model: "BudgetedModel", purse: PlayedPurse
) -> None:
    script.reply_with_html()
    script.reply_with({})
    assert model.ask(PROMPT).lost_usd == WORST
    script.reply_with({})
    assert model.ask(PROMPT).lost_usd == 0
    script.fail_from_now_on(500)
    with pytest.raises(Unavailable) as away:
        model.ask(PROMPT)
    assert away.value.lost_usd == 3 * WORST
    purse.cap_usd = purse.spent + WORST
    with pytest.raises(BudgetReached) as reached:
        model.ask(PROMPT)
    assert reached.value.lost_usd == WORST
    script.fail_from_now_on(529)
    purse.cap_usd = Decimal(1)
    with pytest.raises(Unavailable) as refused:
        model.ask(PROMPT)
    assert refused.value.lost_usd == 0


def test_a_retry_that_a_cap_has_no_room_for_is_not_sent(
    script: FakeAnthropic, model: "BudgetedModel", purse: PlayedPurse
) -> None:
    purse.cap_usd = 2 * WORST - Decimal("0.000000001")
    script.break_connection()
    with pytest.raises(BudgetReached):
        model.ask(PROMPT)
    assert len(script.requests) == 1
    assert purse.spent == WORST


def test_a_server_that_is_not_there_costs_nothing(purse: PlayedPurse) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    adapter = anthropic_model(access(f"http://127.0.0.1:{port}"), sleep=lambda _: None)
    with pytest.raises(Unavailable):
        metered(adapter, purse, PAYER).ask(PROMPT)
    adapter.close()
    assert len(purse.bills) == 3
    assert purse.spent == 0


def test_a_model_whose_price_is_not_known_is_not_asked(script: FakeAnthropic, purse: PlayedPurse) -> None:
    adapter = anthropic_model(replace(access(script.url), name="claude-unknown"), sleep=lambda _: None)
    asked = metered(adapter, purse, PAYER)
    with pytest.raises(Unavailable) as refused:
        asked.ask(PROMPT)
    assert refused.value.reason == unpriced_text("claude-unknown")
    assert refused.value.reason == (
        'the price of "claude-unknown" is not known, so no money can be set aside; '
        "set ASSAY_MODEL to one of claude-haiku-5-5, claude-sonnet-5-5, claude-opus-5-5"
    )
    assert (script.requests, purse.reserved, asked.pricing_version) == ([], [], None)


def test_books_that_can_not_be_read_keep_a_request_from_leaving(
    script: FakeAnthropic, model: "BudgetedModel", purse: PlayedPurse
) -> None:
    purse.is_down_for = "reserve"
    with pytest.raises(Unavailable):
        model.ask(PROMPT)
    assert script.requests == []


def test_books_that_can_not_be_written_lose_no_reply(
    script: FakeAnthropic, model: "BudgetedModel", purse: PlayedPurse, caplog: pytest.LogCaptureFixture
) -> None:
    purse.is_down_for = "settle"
    script.reply_with({})
    assert model.ask(PROMPT).cost_usd == PAID
    assert [one.getMessage() for one in caplog.records if one.name == "worker.adapters.anthropic.model"] == [
        f"reservation of {WORST:f} dollars not released: Redis is unavailable: no answer"
    ]


def test_a_cap_that_is_near_comes_with_the_reply(
    script: FakeAnthropic, model: "BudgetedModel", purse: PlayedPurse
) -> None:
    purse.near = CapLevel(Cap.DAY, Decimal("0.9"), Decimal(1))
    script.reply_with({})
    assert model.ask(PROMPT).near_cap == purse.near
