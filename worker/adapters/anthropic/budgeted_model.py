"""A model that reserves the worst-case cost of each request before sending it.

The model retries; each retry has its own reservation. A model without a price is not asked. A reservation stays spent
where the request may have been billed and no bill arrived.
"""

import logging
import secrets
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Final, Protocol

import anthropic
import httpx2

from worker.adapters.anthropic.prices import prompt_bytes, unpriced_text, worst_case
from worker.domain.judge_request import PullRef
from worker.domain.ports import ModelBudget, ModelReply, Prompt
from worker.domain.verdict.budget import Bill, CapLevel, Reservation
from worker.errors import BudgetReached, Unavailable

LOG: Final = logging.getLogger(__name__)
SERVICE_NAME: Final = "The model"

BUSY: Final = frozenset({503, 529})
SERVER_ERROR: Final = 500

Request = Callable[[Prompt], ModelReply]
RequestWrapper = Callable[[Prompt, Request], ModelReply]


class RequestingModel(Protocol):
    """A model whose single requests can be wrapped."""

    @property
    def name(self) -> str: ...

    @property
    def pricing_version(self) -> str | None: ...

    def max_output_tokens(self, prompt: Prompt) -> int: ...

    def ask_each(self, prompt: Prompt, each: RequestWrapper) -> ModelReply: ...


class BudgetedModel:
    """The Model port. *account* is the pull request that pays."""

    def __init__(self, model: RequestingModel, budget: ModelBudget, account: PullRef) -> None:
        self._model = model
        self._budget = budget
        self._account = account

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def pricing_version(self) -> str | None:
        return self._model.pricing_version

    def ask(self, prompt: Prompt) -> ModelReply:
        """Ask within the budget. Raises BudgetReached before a request that could exceed a cap, and Unavailable."""
        lost: list[Decimal] = []
        try:
            reply = self._model.ask_each(prompt, partial(self._paid_request, lost))
        except Unavailable as error:
            raise Unavailable(error.service, error.reason, sum(lost, Decimal(0))) from error
        except BudgetReached as reached:
            raise BudgetReached(reached.level, reached.asked_usd, sum(lost, Decimal(0))) from reached
        return replace(reply, lost_usd=sum(lost, Decimal(0)))

    def _paid_request(self, lost: list[Decimal], prompt: Prompt, request: Request) -> ModelReply:
        """Reserve, send and settle one request. Add its reservation to *lost* if no bill arrived."""
        size = prompt_bytes(prompt)
        reservation = self._budget.reserve(secrets.token_hex(16), self._account, self._worst_case(prompt, size))
        bill, near = Bill(None), None
        try:
            reply = request(prompt)
            bill = Bill(reply.cost_usd, self.name, size, reply.tokens.prompt)
        except anthropic.APIError as error:
            bill = Bill(Decimal(0) if is_unbilled(error) else None)
            raise
        finally:
            near = self._settle(reservation, bill)
            lost += [reservation.usd] if bill.usd is None else []
        return replace(reply, near_cap=near)

    def _worst_case(self, prompt: Prompt, size: int) -> Decimal:
        tokens = self._budget.density(self._account, self.name).bound(size)
        worst = worst_case(self.name, tokens, self._model.max_output_tokens(prompt))
        if worst is None:
            raise Unavailable(SERVICE_NAME, unpriced_text(self.name))
        return worst

    def _settle(self, reservation: Reservation, bill: Bill) -> CapLevel | None:
        """Settle a reservation. If the budget can't be written, the whole reservation stays spent."""
        try:
            return self._budget.settle(reservation, bill)
        except Unavailable as error:
            LOG.warning("a reservation of %s dollars stays spent: %s", f"{reservation.usd:f}", error)
            return None


def is_unbilled(error: anthropic.APIError) -> bool:
    """Return whether the request was certainly not billed: refused by the server or never sent.

    A 500 or a gateway's 502 or 504 may follow completed work.
    """
    if isinstance(error, anthropic.APIStatusError):
        return error.status_code < SERVER_ERROR or error.status_code in BUSY
    return isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)
