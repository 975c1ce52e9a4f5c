"""An Anthropic model behind the Model port, the same with a budget, and a meter of what it would be asked.

A failed request is retried: at most `attempts` requests within `timeout_s` seconds. Any failure is raised as
Unavailable, with a message that holds no secret and no text from the server.

With a budget, the worst-case cost of each request is reserved before it is sent. A model without a price is not asked. A
reservation stays spent where the request may have been billed and no bill arrived.
"""

import logging
import secrets
import socket
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from decimal import Decimal
from email.utils import parsedate_to_datetime
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final, Protocol, cast

import anthropic
import httpx2
from anthropic.types import MessageParam
from pydantic import AliasPath, BaseModel, Field, ValidationError

from worker.domain.judge_request import PullRef
from worker.domain.ports import ModelBudget, ModelReply, Prompt, StopReason
from worker.domain.verdict.budget import (
    TYPICAL_OUTPUT,
    Bill,
    BilledTokens,
    CapLevel,
    cost_of,
    name_without_date,
    pricing_version_of,
    unpriced_text,
    worst_case,
)
from worker.domain.verdict.verdict import Tokens
from worker.errors import BudgetReached, Unavailable
from worker.judge.llm.opinions import with_retry_length
from worker.settings import ModelAccess

if TYPE_CHECKING:
    from anthropic.types import ThinkingConfigParam


LOG: Final = logging.getLogger(__name__)
BASE_URL: Final = "https://api.anthropic.com"
SERVICE_NAME: Final = "The model"

CONNECT_S: Final = 5.0
SHORTEST_TIMEOUT_S: Final = 0.001
"""Shortest timeout of a request: 0 would mean no timeout."""

EFFORT: Final = "medium"

REMEDIES: Final = {
    400: "the request was refused; check ASSAY_MODEL",
    401: "ANTHROPIC_API_KEY is not accepted; set a valid key",
    402: "the account can't be billed; see Anthropic's console",
    403: "ANTHROPIC_API_KEY may not use this model; see Anthropic's console",
    404: "there is no such model; check ASSAY_MODEL and ANTHROPIC_BASE_URL",
    413: "the request is too large",
}
"""What to do about a status that a retry does not change."""

_TRANSIENT: Final = frozenset({408, 409, 429})
_BUSY: Final = frozenset({503, 529})
_SERVER_ERROR: Final = 500

Request = Callable[[Prompt], ModelReply]

Count = Annotated[int, Field(ge=0)]


class _Block(BaseModel):
    type: str
    text: str = ""


class _Usage(BaseModel):
    input_tokens: Count
    output_tokens: Count
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    one_hour_writes: Count | None = Field(
        default=None, validation_alias=AliasPath("cache_creation", "ephemeral_1h_input_tokens")
    )


class _Message(BaseModel):
    """The fields that we read of a reply. The SDK's own model accepts any JSON and fails later."""

    content: tuple[_Block, ...]
    stop_reason: str | None
    stop_category: str | None = Field(default=None, validation_alias=AliasPath("stop_details", "category"))
    usage: _Usage


class AnthropicModel:
    """A client of one model, for one job."""

    def __init__(
        self,
        access: ModelAccess,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._access = access
        self._sleep = sleep
        self._clock = clock
        self._deadline = RequestDeadline()
        self._opened: anthropic.Anthropic | None = None

    @property
    def _client(self) -> anthropic.Anthropic:
        """The SDK's client, made for the first request: its TLS context costs 20 ms, and most jobs need no model."""
        if self._opened is None:
            self._opened = anthropic.Anthropic(
                api_key=self._access.api_key.get_secret_value(),
                base_url=self._access.base_url or BASE_URL,
                max_retries=0,
                open_telemetry=False,
                http_client=anthropic.DefaultHttpxClient(event_hooks={"request": [self._deadline.watch]}),
            )
        return self._opened

    @property
    def name(self) -> str:
        return self._access.name

    @property
    def pricing_version(self) -> str | None:
        return pricing_version_of(self.name)

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()

    def max_output_tokens(self, prompt: Prompt) -> int:
        """Maximum tokens of the reply."""
        return max_output_tokens(self._access, prompt)

    def ask(self, prompt: Prompt) -> ModelReply:
        """Ask, with retries of transient errors. Raises Unavailable."""
        return self.ask_each(prompt, lambda asked, request: request(asked))

    def ask_each(self, prompt: Prompt, each: Callable[[Prompt, Request], ModelReply]) -> ModelReply:
        """Ask as `ask` does, and send every single request through *each*, which sees its reply or its error."""
        end, delay = self._clock() + self._access.timeout_s, self._access.retry_delay_s
        for left in range(self._access.attempts - 1, -1, -1):
            try:
                return each(prompt, partial(self._request, end))
            except (anthropic.APIError, httpx2.HTTPError, ValidationError) as error:
                wait, rest = _retry_wait(error, delay), end - self._clock()
                if rest <= 0:
                    raise Unavailable(SERVICE_NAME, f"it did not answer within {self._access.timeout_s:g} s") from error
                if wait is None or left == 0 or wait >= rest:
                    raise Unavailable(SERVICE_NAME, _reason(error, wait, rest)) from error
            self._sleep(wait)
            delay *= 2
        raise AssertionError  # attempts is at least 1

    def _request(self, end: float, prompt: Prompt) -> ModelReply:
        rest = max(end - self._clock(), SHORTEST_TIMEOUT_S)
        with self._deadline.within(rest):
            response = self._client.messages.with_raw_response.create(
                model=self.name,
                max_tokens=self.max_output_tokens(prompt),
                thinking=thinking_off(self._access) or anthropic.omit,
                system=[{"type": "text", "text": prompt.system, "cache_control": {"type": "ephemeral"}}],
                messages=[_message_param(position, text) for position, text in enumerate(prompt.turns)],
                output_config={"effort": EFFORT, "format": {"type": "json_schema", "schema": dict(prompt.schema)}},
                timeout=httpx2.Timeout(rest, connect=min(CONNECT_S, rest)),
            ).http_response
        message = _Message.model_validate_json(response.content)
        billed = _split_usage(message.usage)
        return ModelReply(
            text="".join(block.text for block in message.content if block.type == "text"),
            stop=StopReason(message.stop_reason) if message.stop_reason in set(StopReason) else StopReason.OTHER,
            stop_detail=message.stop_category or "",
            tokens=Tokens(
                input=billed.input,
                output=billed.output,
                cache_read=billed.cache_read,
                cache_write=billed.write_5m + billed.write_1h,
            ),
            cost_usd=cost_of(self.name, billed),
            request_id=response.headers.get("request-id"),
        )


def _message_param(position: int, text: str) -> MessageParam:
    if position % 2:
        return {"role": "assistant", "content": text}
    return {"role": "user", "content": text}


def _split_usage(usage: _Usage) -> BilledTokens:
    """Split the usage by price. Without a breakdown by lifetime, cache writes count as five-minute writes."""
    written = usage.cache_creation_input_tokens or 0
    one_hour = usage.one_hour_writes or 0
    return BilledTokens(
        input=usage.input_tokens,
        output=usage.output_tokens,
        write_5m=max(0, written - one_hour),
        write_1h=one_hour,
        cache_read=usage.cache_read_input_tokens or 0,
    )


def _retry_wait(error: Exception, delay: float) -> float | None:
    """Seconds until the next attempt; None for an error that a retry does not change."""
    if not isinstance(error, anthropic.APIStatusError):
        return delay
    if error.status_code in _TRANSIENT or error.status_code >= _SERVER_ERROR:
        return max(delay, _retry_after(error.response))
    return None


def _retry_after(response: httpx2.Response) -> float:
    """Seconds of the Retry-After header; a date is relative to the server's Date header, and anything else is 0."""
    header = response.headers.get("retry-after", "0")
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        then, now = (parsedate_to_datetime(text) for text in (header, response.headers.get("date", "")))
        return max(0.0, (then - now).total_seconds())
    except (ValueError, TypeError):  # no date, or only one of the two with a zone
        return 0.0


def _reason(error: Exception, wait: float | None, rest: float) -> str:
    """Explain the error from its status, type and id. Texts of the server are left out."""
    if isinstance(error, anthropic.APIStatusError):
        remedy = REMEDIES.get(error.status_code)
        status = f"status {error.status_code}" + (f" ({error.type})" if error.type else "")
        asked = f"; it asks to wait {wait:.0f} s" if wait is not None and wait >= rest else ""
        request = f", request {error.request_id}" if error.request_id else ""
        return f"{status}{f', {remedy}' if remedy else ''}{asked}{request}"
    if isinstance(error, anthropic.APITimeoutError):
        return "it did not answer in time"
    if isinstance(error, ValidationError):
        return "it answered with something that is no reply; check ANTHROPIC_BASE_URL"
    return "the connection failed"


OPENED_EVENTS: Final = ("connect_tcp.complete", "start_tls.complete")
"""Trace events of the HTTP client that carry a newly opened stream."""


class _Stream(Protocol):
    def get_extra_info(self, info: str) -> socket.socket | None: ...


class RequestDeadline:
    """A deadline for the connections of one client, which sends one request at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: socket.socket | None = None
        self._is_over = False

    def watch(self, request: httpx2.Request) -> None:
        """Trace the connections of a request (a hook of the HTTP client)."""
        request.extensions = {**request.extensions, "trace": self._trace_event}

    @contextmanager
    def within(self, seconds: float) -> Generator[None]:
        """Shut down a connection that is still open after *seconds*."""
        self._is_over = False
        timer = threading.Timer(seconds, self._close_connections)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _trace_event(self, event: str, info: Mapping[str, object]) -> None:
        if not event.endswith(OPENED_EVENTS):
            return
        stream = cast("_Stream", info["return_value"])
        with self._lock:
            self._open = stream.get_extra_info("socket")
            is_over = self._is_over
        if is_over:
            self._close_connections()

    def _close_connections(self) -> None:
        with self._lock:
            self._is_over = True
            if self._open is not None:
                with suppress(OSError):  # it is closed already
                    self._open.shutdown(socket.SHUT_RDWR)


WITHOUT_THINKING: Final[Mapping[str, "ThinkingConfigParam"]] = MappingProxyType(
    {"claude-haiku-5-5": {"type": "disabled"}, "claude-sonnet-5-5": {"type": "between_tools"}}
)
"""The `thinking` parameter that turns thinking off, for each model that has one; "between_tools" is never without tools."""


def thinking_off(access: ModelAccess) -> "ThinkingConfigParam | None":
    """The parameter that turns thinking off; None for a model that always thinks or is not listed."""
    return None if access.has_thinking else WITHOUT_THINKING.get(name_without_date(access.name))


def max_output_tokens(access: ModelAccess, prompt: Prompt) -> int:
    """Maximum tokens of a reply to this prompt."""
    if prompt.reply_tokens is None or thinking_off(access) is None:
        return access.max_output_tokens
    return min(prompt.reply_tokens, access.max_output_tokens)


class BudgetedModel:
    """The Model port within a budget. *account* is the pull request that pays."""

    def __init__(self, model: AnthropicModel, budget: ModelBudget, account: PullRef) -> None:
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
        size = prompt.size
        tokens = self._budget.density(self._account, self.name).max_tokens(size)
        worst = worst_case(self.name, tokens, self._model.max_output_tokens(prompt))
        if worst is None:
            raise Unavailable(SERVICE_NAME, unpriced_text(self.name))
        reservation = self._budget.reserve(secrets.token_hex(16), self._account, worst)
        bill = Bill(None)
        near: CapLevel | None = None
        try:
            reply = request(prompt)
            bill = Bill(reply.cost_usd, self.name, size, reply.tokens.prompt)
        except anthropic.APIError as error:
            bill = Bill(Decimal(0) if is_unbilled(error) else None)
            raise
        finally:
            try:
                near = self._budget.settle(reservation, bill)
            except Unavailable as error:
                LOG.warning("reservation of %s dollars not released: %s", f"{reservation.usd:f}", error)
            lost += [reservation.usd] if bill.usd is None else []
        return replace(reply, near_cap=near)


def is_unbilled(error: anthropic.APIError) -> bool:
    """Return whether the request was certainly not billed: refused by the server or never sent.

    A 500 or a gateway's 502 or 504 may follow completed work.
    """
    if isinstance(error, anthropic.APIStatusError):
        return error.status_code < _SERVER_ERROR or error.status_code in _BUSY
    return isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)


TIMEOUT_S: Final = 20.0
MOST_MODELS: Final = 1000


def check_key(access: ModelAccess) -> str | None:
    """The reason why the key or the model's name can't be used, as a clause; None if both can."""
    with anthropic.Anthropic(
        api_key=access.api_key.get_secret_value(),
        base_url=access.base_url or BASE_URL,
        max_retries=0,
        timeout=httpx2.Timeout(TIMEOUT_S, connect=CONNECT_S),
    ) as client:
        try:
            model_ids = {model.id for model in client.models.list(limit=MOST_MODELS).data}
        except anthropic.APIStatusError as error:
            return f"status {error.status_code}: {REMEDIES.get(error.status_code, 'try again later')}"
        except (anthropic.APIError, httpx2.HTTPError):
            return f"{access.base_url or BASE_URL} can't be reached; check the network and ANTHROPIC_BASE_URL"
    return None if access.name in model_ids else f'there is no model "{access.name}"; check ASSAY_MODEL'


TOKENS_PER_BYTE: Final = Decimal("0.3")
"""Of code and English; a run pays by what the model's server counts."""


class PromptMeter:
    """The Model port: measures each prompt and what it may cost at most, and answers none.

    Costs are those of all prompts so far; None: no price is known.
    """

    def __init__(self, access: ModelAccess) -> None:
        self.name = access.name
        self.pricing_version: str | None = None
        self.asked = 0
        self.expected_usd: Decimal | None = Decimal(0)
        self.most_usd: Decimal | None = Decimal(0)
        self._access = access

    def ask(self, prompt: Prompt) -> ModelReply:
        """Measure it. Raises Unavailable."""
        self.asked += 1
        size = prompt.size
        self.expected_usd = _add(self.expected_usd, worst_case(self.name, int(size * TOKENS_PER_BYTE), TYPICAL_OUTPUT))
        for attempt in (prompt, with_retry_length(prompt)):
            most = worst_case(self.name, size, max_output_tokens(self._access, attempt))
            self.most_usd = _add(self.most_usd, most)
        raise Unavailable("The model", "it is only weighed what it would be asked")


def _add(total: Decimal | None, cost: Decimal | None) -> Decimal | None:
    return None if total is None or cost is None else total + cost
