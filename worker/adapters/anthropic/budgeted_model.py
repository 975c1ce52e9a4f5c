"""A model that is asked for reserved money only.

Does not keep the books (the Purse does) and does not retry (the model does, and every retry is reserved anew).
Invariant: no request leaves before the most that it can cost is reserved; a model whose price is not known is not
asked; what may have been billed and was never told stays spent.
"""

import logging
import secrets
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Final, Protocol

import anthropic
import httpx2

from worker.adapters.anthropic.prices import unpriced, worst_case
from worker.adapters.anthropic.size import size_of
from worker.domain.ports import Prompt, Purse, Reply
from worker.domain.request.judge_request import PullRef
from worker.domain.value import replace
from worker.domain.verdict.budget import Bill, Level, Reservation
from worker.errors import BudgetReached, Unavailable

LOG: Final = logging.getLogger(__name__)
WHAT: Final = "The model"

BUSY: Final = frozenset({503, 529})
SERVER_ERROR: Final = 500

Request = Callable[[Prompt], Reply]
Each = Callable[[Prompt, Request], Reply]


class Requesting(Protocol):
    """A Model whose single requests can be watched."""

    @property
    def name(self) -> str: ...

    @property
    def pricing_version(self) -> str | None: ...

    def most_output(self, prompt: Prompt) -> int: ...

    def ask_each(self, prompt: Prompt, each: Each) -> Reply: ...


class Metered:
    """The Model port. *account* is the pull request that pays."""

    def __init__(self, model: Requesting, purse: Purse, account: PullRef) -> None:
        self._model = model
        self._purse = purse
        self._account = account

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def pricing_version(self) -> str | None:
        return self._model.pricing_version

    def ask(self, prompt: Prompt) -> Reply:
        """Ask if there is money for it. Raises BudgetReached before a request that could break a cap, and Unavailable."""
        lost: list[Decimal] = []
        try:
            reply = self._model.ask_each(prompt, partial(self._paid, lost))
        except Unavailable as error:
            raise Unavailable(error.what, error.reason, sum(lost, Decimal(0))) from error
        except BudgetReached as reached:
            raise BudgetReached(reached.level, reached.asked_usd, sum(lost, Decimal(0))) from reached
        return replace(reply, lost_usd=sum(lost, Decimal(0)))

    def _paid(self, lost: list[Decimal], prompt: Prompt, request: Request) -> Reply:
        """One request. What it may have cost without an answer goes to *lost*."""
        size = size_of(prompt)
        reservation = self._purse.reserve(secrets.token_hex(16), self._account, self._worst(prompt, size))
        bill, near = Bill(None), None
        try:
            reply = request(prompt)
            bill = Bill(reply.cost_usd, self.name, size, reply.tokens.prompt)
        except anthropic.APIError as error:
            bill = Bill(Decimal(0) if is_free(error) else None)
            raise
        finally:
            near = self._settled(reservation, bill)
            lost += [reservation.usd] if bill.usd is None else []
        return replace(reply, near=near)

    def _worst(self, prompt: Prompt, size: int) -> Decimal:
        tokens = self._purse.density(self._account, self.name).bound(size)
        worst = worst_case(self.name, tokens, self._model.most_output(prompt))
        if worst is None:
            raise Unavailable(WHAT, unpriced(self.name))
        return worst

    def _settled(self, reservation: Reservation, bill: Bill) -> Level | None:
        """What was paid for is not lost because the books can't be written: all that was reserved stays spent."""
        try:
            return self._purse.settle(reservation, bill)
        except Unavailable as error:
            LOG.warning("a reservation of %s dollars stays spent: %s", f"{reservation.usd:f}", error)
            return None


def is_free(error: anthropic.APIError) -> bool:
    """Whether the request was surely not billed: the server refused it, or it was never sent.

    A 500 or a gateway's 502 or 504 may come after the work was done.
    """
    if isinstance(error, anthropic.APIStatusError):
        return error.status_code < SERVER_ERROR or error.status_code in BUSY
    return isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)
