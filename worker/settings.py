"""Settings, read once from the environment, the only reader of it, and frozen.

A missing or malformed variable is a SettingError that names it, what is expected and where to get it. No repr shows a secret.
"""

import base64
import binascii
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import SecretStr

from worker.domain.config.config import Authors, Handling
from worker.domain.config.github_app import OPT_IN_SETTINGS, OptIn
from worker.domain.pattern import pattern
from worker.domain.verdict.budget import Caps
from worker.errors import RetryRule, SettingError

PEM: Final = pattern(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.+?-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL)

WRITES_A_MINUTE: Final = 80
"""GitHub's secondary limit for requests that create content."""

WRITES_AN_HOUR: Final = 500
"""The same limit for an hour."""

WRITES_EACH: Final = 3
"""Writes for each head: the check run, its verdict, a comment for the author."""

LAST_PORT: Final = 65_535
AES_256_BYTES: Final = 32

MOST_ROTATED: Final = 2
"""A secret and the one that it replaces."""

MOST_USD: Final = 1_000_000
"""The largest budget: up to here, Redis counts nanodollars exactly."""


@dataclass(frozen=True)
class AppCredentials:
    """A GitHub App's three secrets. Two keys and two webhook secrets may be set while one is rotated out."""

    app_id: int
    private_keys: tuple[SecretStr, ...]
    webhook_secrets: tuple[SecretStr, ...]


@dataclass(frozen=True)
class ModelAccess:
    """`base_url` None: Anthropic's own."""

    api_key: SecretStr
    base_url: str | None = None
    name: str = "claude-haiku-5-5"
    timeout_s: float = 120.0
    attempts: int = 3
    retry_delay_s: float = 1.0
    max_output_tokens: int = 8000
    has_thinking: bool = False


@dataclass(frozen=True)
class ServerAccess:
    """A running Assay, and a token of its API."""

    url: str
    token: SecretStr | None = None


@dataclass(frozen=True)
class ShadowSettings:
    """A candidate rubric or prompt for the shadow evaluation. `day_usd`: its daily cap for each installation."""

    rubric: Path | None = None
    prompt: Path | None = None
    day_usd: Decimal = Decimal(0)

    @property
    def is_set(self) -> bool:
        return self.rubric is not None or self.prompt is not None


@dataclass(frozen=True)
class Timing:
    """Every duration, in seconds, as docs/configuration.md explains them."""

    quiet_window: float = 10.0
    quiet_max: float = 300.0
    gather: float = 2.0
    lease: float = 60.0
    hold: float = 15.0
    open_hold: float = 40.0
    leader: float = 15.0
    sweep: float = 5.0
    tick: float = 0.1
    retry_delay: float = 15.0
    github_delay: float = 600.0
    github_outage: float = 21_600.0
    asking: float = 600.0
    outage_delay: float = 600.0
    forget_after: float = 604_800.0
    tidy: float = 3_600.0
    group_wait: float = 600.0
    ci_wait: float = 1800.0
    ci_required_wait: float = 21_600.0
    ci_poll: float = 20.0
    check_deadline: float = 3600.0
    catch_up: float = 300.0
    lookahead: float = 86_400.0
    github_timeout: float = 20.0
    redis_timeout: float = 5.0
    redis_wait: float = 60.0
    stop_grace: float = 10.0

    @property
    def retry_gap(self) -> float:
        """The distance of one installation's retries during an outage of GitHub."""
        return self.retry_delay / 3

    @property
    def release_gap(self) -> float:
        """The same after the outage: as fast as GitHub lets an installation write."""
        return min(self.retry_gap, WRITES_EACH * 60 / WRITES_A_MINUTE)

    @property
    def write_gap(self) -> float:
        """The distance of tasks that a rate limit postponed; each writes once."""
        return min(self.retry_gap, 60 / WRITES_A_MINUTE)

    @property
    def outside_gap(self) -> float:
        """The distance of judgings of outsiders' heads, so that half of an hour's writes are left to others."""
        return min(3 * self.retry_delay, 2 * WRITES_EACH * 3600 / WRITES_AN_HOUR)


ZERO_ALLOWED: Final = frozenset({
    "quiet_window", "quiet_max", "catch_up", "gather", "retry_delay", "outage_delay", "forget_after", "group_wait", "ci_wait",
    "ci_required_wait", "ci_poll", "redis_wait", "stop_grace",
})  # fmt: skip
"""Durations that may be 0."""


MAIN_CELL: Final = "main"
"""The cell of REDIS_URL. It has the installations that were never moved, and the table by which deliveries are routed."""


@dataclass(frozen=True)
class Settings:
    """All settings. `redis_url` None: the embedded server in `data_dir`. `store_keys` empty: one is created there."""

    data_dir: Path
    app: AppCredentials | None = None
    model: ModelAccess | None = None
    redis_url: SecretStr | None = None
    redis_replicas: int = 0
    """Replicas that must have a change before it counts."""
    cells: Mapping[str, SecretStr] = field(default_factory=dict[str, SecretStr])
    """Redis of each cell, MAIN_CELL included; empty: there are none."""
    cell: str = MAIN_CELL
    store_keys: tuple[SecretStr, ...] = ()
    github_api_url: str = "https://api.github.com"
    github_token: SecretStr | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    metrics_address: tuple[str, int] | None = None
    workers: int = 1
    retries: int = 3
    outage_retries: int = 5
    tier: str = "hybrid"
    threshold: float | None = None
    log_level: str = "INFO"
    is_paused: bool = False
    caps: Caps = field(default_factory=Caps)
    retention_days: int = 30
    event_days: int = 365
    lookahead_events: int = 5
    ledger_days: int = 90
    has_event_words: bool = False
    round_limit: int = 5
    prompt_tokens: int = 60_000
    second_model: str | None = None
    has_panel: bool = False
    models: tuple[str, ...] = ()
    shadow: ShadowSettings = ShadowSettings()
    server: ServerAccess | None = None
    authors: Authors = field(default_factory=Authors)
    declined: frozenset[OptIn] = frozenset()
    timing: Timing = Timing()

    @property
    def retry_rule(self) -> RetryRule:
        """How failed jobs are retried."""
        return RetryRule(
            self.retries,
            timedelta(seconds=self.timing.retry_delay),
            longest_delay=timedelta(seconds=self.timing.github_delay),
            outage_limit=timedelta(seconds=self.timing.github_outage),
        )

    @property
    def figures_folder(self) -> Path:
        """Where this host keeps what it counted of the streams. It can be deleted at any time."""
        return self.data_dir / "figures"

    def require_app(self) -> AppCredentials:
        """The App's credentials, or the SettingError of the first one that is missing."""
        if self.app is None:
            raise missing_setting("ASSAY_APP_ID")
        return self.app


def missing_setting(name: str) -> SettingError:
    return malformed_setting(name, "is not set")


def malformed_setting(name: str, problem: str) -> SettingError:
    from worker.settings_reference import VARIABLES  # noqa: PLC0415 - needed for an error only

    return SettingError(name, problem, next(variable for variable in VARIABLES if variable.name == name).remedy)


def unknown_variables(environ: Mapping[str, str]) -> dict[str, str | None]:
    """Variables that begin with ASSAY_ and are no settings, each with the one that may be meant."""
    from worker.settings_reference import VARIABLES  # noqa: PLC0415 - as above

    names = {variable.name for variable in VARIABLES}
    unknown = sorted(name for name in environ if name.startswith("ASSAY_") and name not in names)
    if not unknown:
        return {}
    from difflib import get_close_matches  # noqa: PLC0415 - as above

    return {name: next(iter(get_close_matches(name, names, 1)), None) for name in unknown}


def unknown_variable_phrase(name: str, meant: str | None) -> str:
    hint = f"; is {meant} meant?" if meant else ". All of them: docs/configuration.md."
    return f"{name} is no setting of Assay{hint}"


def environment() -> dict[str, str]:
    """A copy of the process's environment, for child processes and `assay doctor`."""
    return dict(os.environ)


def child_environment(settings: Settings) -> dict[str, str]:
    """This environment for a child process, with the URL and keys of *settings*."""
    main = settings.cells.get(MAIN_CELL, settings.redis_url)
    url = main.get_secret_value() if main else ""
    keys = " ".join(key.get_secret_value() for key in settings.store_keys)
    return environment() | {"REDIS_URL": url, "ASSAY_STORE_KEYS": keys}


Parser = Callable[[str], Any]
"""Reads a variable that is set. Raises ValueError with the problem, worded to follow its name."""


def _form(form: str, convert: Callable[[str], Any] = str, problem: Callable[[Any], str] = lambda _: "") -> Parser:
    """Reads what has this *form*, a regular expression. *problem*: of a converted value, "" for none."""

    def parse(value: str) -> Any:
        if not re.fullmatch(form, value, re.DOTALL):
            raise ValueError(f'is "{value}"')
        converted = convert(value)
        if text := problem(converted):
            raise ValueError(text)
        return converted

    return parse


def _whole(least: int, most: int) -> Parser:
    return _form(r"\d{1,19}", int, lambda number: "" if least <= number <= most else f'is "{number}"')


DECIMAL: Final = r"\d{1,9}(\.\d{1,9})?"
NUMBER: Final = _form(DECIMAL, float)
POSITIVE: Final = _form(DECIMAL, float, lambda number: "" if number else "is 0, and has to be more")
DOLLARS: Final = _form(DECIMAL, Decimal, lambda usd: f'is "{usd}", more than {MOST_USD}' if usd > MOST_USD else "")
SHARE: Final = _form(
    DECIMAL, Decimal, lambda part: f'is "{part}", and a part of a day is at most 1' if part > 1 else ""
)
SWITCH: Final = _form("[01]", lambda value: value == "1")
HANDLING: Final = _form("|".join(Handling), Handling)
CELL_NAME: Final = r"[a-z][a-z0-9-]{0,31}"
URL: Final = _form(r"https?://[^/\s].*")


def _redis_url(value: str) -> SecretStr:
    if not value.startswith(("redis://", "rediss://", "unix://")):
        raise ValueError("starts with none of redis://, rediss://, unix://")
    return SecretStr(value)


def _cells(value: str) -> dict[str, SecretStr]:
    cells = dict[str, SecretStr]()
    for part in value.split():
        name, _, url = part.partition("=")
        if not re.fullmatch(CELL_NAME, name) or name in (MAIN_CELL, *cells):
            raise ValueError(f'names the cell "{name}"')
        try:
            cells[name] = _redis_url(url)
        except ValueError as error:
            raise ValueError(f'has a URL of "{name}" that {error}') from error
    return cells


def _address(value: str) -> tuple[str, int]:
    match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([^:\s\[\]]+)):(\d{1,5})", value, re.ASCII)
    if match is None or int(match[3]) > LAST_PORT:
        raise ValueError(f'is "{value}"')
    return match[1] or match[2], int(match[3])


def _path(value: str) -> Path:
    try:
        return Path(value).expanduser().absolute()
    except RuntimeError as error:
        raise ValueError("can't be found: there is no such home folder") from error
    except FileNotFoundError as error:
        raise ValueError("is relative to the working directory, which was deleted") from error


def _store_keys(value: str) -> tuple[SecretStr, ...]:
    keys = value.replace(",", " ").split()
    for position, key in enumerate(keys, start=1):
        if len(_decode(key)) != AES_256_BYTES:
            raise ValueError(f"has a key (number {position}) that is not 32 bytes in base64")
    return tuple(map(SecretStr, keys))


def _webhook_secrets(value: str) -> tuple[SecretStr, ...]:
    secrets = value.split()
    if len(secrets) > MOST_ROTATED:
        raise ValueError(f"holds {len(secrets)} words, so more than two secrets")
    return tuple(map(SecretStr, secrets))


def _private_keys(value: str) -> tuple[SecretStr, ...]:
    """PEM, base64 of it, or files of it."""
    text = value.replace("\\n", "\n")
    if "-----BEGIN" not in text:
        text = _key_file(value) or _keys_of(value.split())
    keys = PEM.findall(text)
    if not keys:
        raise ValueError("holds no PEM private key")
    if len(keys) > MOST_ROTATED:
        raise ValueError(f"holds {len(keys)} keys, more than two")
    return tuple(map(SecretStr, keys))


def _keys_of(parts: list[str]) -> str:
    keys = [_key_file(part) or (raw.decode() if (raw := _decode(part)).isascii() else "") for part in parts]
    if len(parts) > 1 and not all(keys):
        raise ValueError("holds a word that is neither a key nor the path of one")
    return "".join(keys)


def _key_file(value: str) -> str:
    try:
        return Path(value).expanduser().read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""


def _decode(value: str) -> bytes:
    """Bytes from base64; none for what is no base64."""
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error:
        return b""


Fields = Mapping[str, tuple[str, Parser]]
"""The variable of each field, and what reads it. A field whose variable is not set keeps the default of its class."""

PLAIN: Final[Fields] = {
    "redis_url": ("REDIS_URL", _redis_url),
    "redis_replicas": ("ASSAY_REDIS_REPLICAS", _whole(0, 5)),
    "cells": ("ASSAY_CELLS", _cells),
    "cell": ("ASSAY_CELL", _form(CELL_NAME)),
    "store_keys": ("ASSAY_STORE_KEYS", _store_keys),
    "github_api_url": ("ASSAY_GITHUB_API_URL", lambda url: URL(url).rstrip("/")),
    "github_token": ("GITHUB_TOKEN", SecretStr),
    "host": ("ASSAY_HOST", str),
    "port": ("ASSAY_PORT", _whole(0, LAST_PORT)),
    "metrics_address": ("ASSAY_METRICS_ADDRESS", _address),
    "workers": ("ASSAY_WORKERS", _whole(1, 256)),
    "retries": ("ASSAY_RETRIES", _whole(0, 20)),
    "outage_retries": ("ASSAY_OUTAGE_RETRIES", _whole(0, 20)),
    "tier": ("ASSAY_TIER", _form("hybrid|heuristic|llm")),
    "threshold": ("ASSAY_ESCALATION_THRESHOLD", NUMBER),
    "log_level": ("ASSAY_LOG_LEVEL", _form("INFO|DEBUG|WARNING|ERROR")),
    "is_paused": ("ASSAY_PAUSED", SWITCH),
    "retention_days": ("ASSAY_RETENTION_DAYS", _whole(0, 3650)),
    "ledger_days": ("ASSAY_LEDGER_DAYS", _whole(31, 3650)),
    "event_days": ("ASSAY_EVENT_DAYS", _whole(1, 3650)),
    "lookahead_events": ("ASSAY_LOOKAHEAD_EVENTS", _whole(1, 1000)),
    "has_event_words": ("ASSAY_EVENT_WORDS", SWITCH),
    "round_limit": ("ASSAY_ROUND_LIMIT", _whole(1, 100)),
    "prompt_tokens": ("ASSAY_PROMPT_TOKENS", _whole(20_000, 1_000_000)),
    "second_model": ("ASSAY_SECOND_MODEL", str),
    "has_panel": ("ASSAY_BOARD", SWITCH),
    "models": ("ASSAY_MODELS", lambda names: tuple(dict.fromkeys(names.replace(",", " ").split()))),
}
MODEL: Final[Fields] = {
    "api_key": ("ANTHROPIC_API_KEY", SecretStr),
    "base_url": ("ANTHROPIC_BASE_URL", URL),
    "name": ("ASSAY_MODEL", str),
    "timeout_s": ("ASSAY_MODEL_TIMEOUT", NUMBER),
    "attempts": ("ASSAY_MODEL_ATTEMPTS", _whole(1, 10)),
    "retry_delay_s": ("ASSAY_MODEL_RETRY_DELAY", NUMBER),
    "max_output_tokens": ("ASSAY_MAX_OUTPUT_TOKENS", _whole(500, 64_000)),
    "has_thinking": ("ASSAY_THINKING", SWITCH),
}
APP: Final[Fields] = {
    "app_id": ("ASSAY_APP_ID", _whole(1, 2**63)),
    "private_keys": ("ASSAY_APP_PRIVATE_KEY", _private_keys),
    "webhook_secrets": ("ASSAY_WEBHOOK_SECRET", _webhook_secrets),
}
CAPS: Final[Fields] = {
    "pull_usd": ("ASSAY_PR_MAX_USD", DOLLARS),
    "day_usd": ("ASSAY_DAY_MAX_USD", DOLLARS),
    "share": ("ASSAY_REPOSITORY_SHARE", SHARE),
    "author_share": ("ASSAY_AUTHOR_SHARE", SHARE),
}
SHADOW: Final[Fields] = {
    "rubric": ("ASSAY_CANARY_RUBRIC", _path),
    "prompt": ("ASSAY_CANARY_PROMPT", _path),
    "day_usd": ("ASSAY_CANARY_USD", DOLLARS),
}
SERVER: Final[Fields] = {"url": ("ASSAY_SERVER", URL), "token": ("ASSAY_TOKEN", SecretStr)}
AUTHORS: Final[Fields] = {"people": ("ASSAY_PEOPLE", HANDLING), "bots": ("ASSAY_BOTS", HANDLING)}
TIMING: Final[Fields] = {
    name: (f"ASSAY_{name.upper()}", NUMBER if name in ZERO_ALLOWED else POSITIVE) for name in Timing.__match_args__
}


def load_settings() -> Settings:
    """Read the process's environment. Raises SettingError for the first wrong variable."""
    return read_settings(os.environ)


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Build Settings from *environ*. A variable that is empty counts as not set."""
    values = {name: value.strip() for name, value in environ.items() if value.strip()}
    return Settings(
        data_dir=_data_dir(values),
        app=_app(values),
        model=ModelAccess(**_read(values, MODEL)) if "ANTHROPIC_API_KEY" in values else None,
        **_in_cell(_read(values, PLAIN)),
        caps=Caps(**_read(values, CAPS)),
        shadow=_shadow(values),
        server=ServerAccess(**_read(values, SERVER)) if "ASSAY_SERVER" in values else None,
        authors=Authors(**_read(values, AUTHORS)),
        declined=frozenset(
            opt_in for name, opt_in in OPT_IN_SETTINGS.items() if name in values and not _parse(values, name, SWITCH)
        ),
        timing=Timing(**_read(values, TIMING)),
    )


def _read(values: Mapping[str, str], fields: Fields) -> dict[str, Any]:
    """The fields whose variables are set; the others have defaults."""
    return {field: _parse(values, name, parse) for field, (name, parse) in fields.items() if name in values}


def _in_cell(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields with the Redis of the chosen cell."""
    cells, cell = fields.get("cells", {}), fields.get("cell", MAIN_CELL)
    if fields.get("redis_replicas") and "redis_url" not in fields:
        raise malformed_setting(
            "ASSAY_REDIS_REPLICAS", "is set, and REDIS_URL is not: the embedded server has no replica"
        )
    if cells:
        if "redis_url" not in fields:
            raise malformed_setting("ASSAY_CELLS", "is set, and REDIS_URL, the main cell, is not")
        cells = {MAIN_CELL: fields["redis_url"], **cells}
    if cell not in (MAIN_CELL, *cells):
        raise malformed_setting("ASSAY_CELL", f'is "{cell}", which ASSAY_CELLS lacks')
    return {**fields, "cells": cells, "redis_url": cells[cell]} if cells else fields


def _parse(values: Mapping[str, str], name: str, parse: Parser) -> Any:
    try:
        return parse(values[name])
    except ValueError as error:
        raise malformed_setting(name, str(error)) from error


def _data_dir(values: Mapping[str, str]) -> Path:
    if "ASSAY_DATA_DIR" in values:
        return _parse(values, "ASSAY_DATA_DIR", _path)
    try:
        return _path(values.get("XDG_STATE_HOME") or "~/.local/state") / "assay"
    except ValueError as error:
        raise malformed_setting("ASSAY_DATA_DIR", str(error)) from error


def _app(values: Mapping[str, str]) -> AppCredentials | None:
    names = [name for name, _ in APP.values()]
    if not any(name in values for name in names):
        return None
    if missing := next((name for name in names if name not in values), None):
        raise missing_setting(missing)
    return AppCredentials(**_read(values, APP))


def _shadow(values: Mapping[str, str]) -> ShadowSettings:
    shadow = ShadowSettings(**_read(values, SHADOW))
    if shadow.prompt is not None and not shadow.day_usd:
        raise malformed_setting("ASSAY_CANARY_PROMPT", "is set and ASSAY_CANARY_USD is not: no model would read it")
    return shadow


def web_url(api_url: str) -> str:
    """Where people use the GitHub whose API this is: github.com, a ghe.com tenant, or an Enterprise Server."""
    parts = urlsplit(api_url)
    if parts.netloc == "api.github.com" or parts.netloc.endswith(".ghe.com"):
        return f"{parts.scheme}://{parts.netloc.removeprefix('api.')}"
    return f"{parts.scheme}://{parts.netloc}{re.sub(r'/api/v3$', '', parts.path.rstrip('/'))}"
