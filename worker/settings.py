"""Settings, read once from the environment, the only reader of it, and frozen.

A missing or malformed variable is a SettingError that names it, what is expected and where to get it. No repr shows a secret.
"""

import base64
import binascii
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from worker.domain.config.app_permissions import OPT_IN_SETTINGS, OptIn
from worker.domain.config.config import Authors, Handling
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
    base_url: str | None
    name: str
    timeout_s: float
    attempts: int
    retry_delay_s: float
    max_output_tokens: int
    has_thinking: bool = False


@dataclass(frozen=True)
class ServerAccess:
    """A running Assay, and a token of its API."""

    url: str
    token: SecretStr | None


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


@dataclass(frozen=True)
class Settings:
    """All settings. `redis_url` None: the embedded server in `data_dir`. `store_keys` empty: one is created there."""

    data_dir: Path
    app: AppCredentials | None = None
    model: ModelAccess | None = None
    redis_url: SecretStr | None = None
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


def load_settings() -> Settings:
    """Read the process's environment. Raises SettingError for the first wrong variable."""
    return read_settings(os.environ)


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Build Settings from *environ*. A variable that is empty counts as not set."""
    values = {name: value.strip() for name, value in environ.items() if value.strip()}
    return Settings(
        data_dir=_data_dir(values),
        app=_app(values),
        model=_model(values),
        redis_url=_redis_url(values),
        store_keys=_store_keys(values),
        github_api_url=_url(values, "ASSAY_GITHUB_API_URL", "https://api.github.com").rstrip("/"),
        github_token=SecretStr(values["GITHUB_TOKEN"]) if "GITHUB_TOKEN" in values else None,
        host=values.get("ASSAY_HOST", "127.0.0.1"),
        port=_integer(values, "ASSAY_PORT", 8000, 0, 65535),
        metrics_address=_address(values, "ASSAY_METRICS_ADDRESS"),
        workers=_integer(values, "ASSAY_WORKERS", 1, 1, 256),
        retries=_integer(values, "ASSAY_RETRIES", 3, 0, 20),
        outage_retries=_integer(values, "ASSAY_OUTAGE_RETRIES", 5, 0, 20),
        tier=_choice(values, "ASSAY_TIER", ("hybrid", "heuristic", "llm")),
        threshold=_number(values, "ASSAY_ESCALATION_THRESHOLD") if "ASSAY_ESCALATION_THRESHOLD" in values else None,
        log_level=_choice(values, "ASSAY_LOG_LEVEL", ("INFO", "DEBUG", "WARNING", "ERROR")),
        is_paused=_choice(values, "ASSAY_PAUSED", ("0", "1")) == "1",
        caps=_caps(values),
        retention_days=_integer(values, "ASSAY_RETENTION_DAYS", 30, 0, 3650),
        ledger_days=_integer(values, "ASSAY_LEDGER_DAYS", 90, 31, 3650),
        event_days=_integer(values, "ASSAY_EVENT_DAYS", 365, 1, 3650),
        lookahead_events=_integer(values, "ASSAY_LOOKAHEAD_EVENTS", 5, 1, 1000),
        has_event_words=_choice(values, "ASSAY_EVENT_WORDS", ("0", "1")) == "1",
        round_limit=_integer(values, "ASSAY_ROUND_LIMIT", 5, 1, 100),
        prompt_tokens=_integer(values, "ASSAY_PROMPT_TOKENS", 60_000, 20_000, 1_000_000),
        second_model=values.get("ASSAY_SECOND_MODEL"),
        has_panel=_choice(values, "ASSAY_BOARD", ("0", "1")) == "1",
        models=tuple(dict.fromkeys(values.get("ASSAY_MODELS", "").replace(",", " ").split())),
        shadow=_shadow(values),
        server=_server(values),
        authors=Authors(
            people=_handling(values, "ASSAY_PEOPLE", Handling.OBSERVE),
            bots=_handling(values, "ASSAY_BOTS", Handling.OBSERVE),
        ),
        declined=frozenset(
            opt_in for name, opt_in in OPT_IN_SETTINGS.items() if _choice(values, name, ("1", "0")) == "0"
        ),
        timing=_timing(values),
    )


def _handling(values: Mapping[str, str], name: str, default: Handling) -> Handling:
    return Handling(_choice(values, name, tuple(sorted(Handling, key=lambda handling: handling is not default))))


def _shadow(values: Mapping[str, str]) -> ShadowSettings:
    rubric, prompt = (
        Path(values[name]).expanduser().absolute() if name in values else None
        for name in ("ASSAY_CANARY_RUBRIC", "ASSAY_CANARY_PROMPT")
    )
    usd = _decimal(values, "ASSAY_CANARY_USD", Decimal(0))
    if usd > MOST_USD:
        raise malformed_setting("ASSAY_CANARY_USD", f'is "{usd}", more than {MOST_USD}')
    if prompt is not None and not usd:
        raise malformed_setting("ASSAY_CANARY_PROMPT", "is set and ASSAY_CANARY_USD is not: no model would read it")
    return ShadowSettings(rubric, prompt, usd)


def _server(values: Mapping[str, str]) -> ServerAccess | None:
    url = _url(values, "ASSAY_SERVER", "")
    token = SecretStr(values["ASSAY_TOKEN"]) if "ASSAY_TOKEN" in values else None
    return ServerAccess(url, token) if url else None


def _caps(values: Mapping[str, str]) -> Caps:
    standard = Caps()
    caps = Caps(
        pull_usd=_decimal(values, "ASSAY_PR_MAX_USD", standard.pull_usd),
        day_usd=_decimal(values, "ASSAY_DAY_MAX_USD", standard.day_usd),
        share=_decimal(values, "ASSAY_REPOSITORY_SHARE", standard.share),
        author_share=_decimal(values, "ASSAY_AUTHOR_SHARE", standard.author_share),
    )
    for name, part in (("ASSAY_REPOSITORY_SHARE", caps.share), ("ASSAY_AUTHOR_SHARE", caps.author_share)):
        if part > 1:
            raise malformed_setting(name, f'is "{part}", and a part of a day is at most 1')
    for name, usd in (("ASSAY_PR_MAX_USD", caps.pull_usd), ("ASSAY_DAY_MAX_USD", caps.day_usd)):
        if usd > MOST_USD:
            raise malformed_setting(name, f'is "{usd}", more than {MOST_USD}')
    return caps


def _timing(values: Mapping[str, str]) -> Timing:
    standard = Timing()
    timing = Timing(
        **{name: _number(values, f"ASSAY_{name.upper()}", getattr(standard, name)) for name in Timing.__match_args__}
    )
    for name in Timing.__match_args__:
        if name not in ZERO_ALLOWED and not getattr(timing, name):
            raise malformed_setting(f"ASSAY_{name.upper()}", "is 0, and has to be more")
    return timing


def _data_dir(values: Mapping[str, str]) -> Path:
    try:
        if "ASSAY_DATA_DIR" in values:
            return Path(values["ASSAY_DATA_DIR"]).expanduser().absolute()
        state = values.get("XDG_STATE_HOME") or "~/.local/state"
        return Path(state).expanduser().absolute() / "assay"
    except RuntimeError as error:
        raise malformed_setting("ASSAY_DATA_DIR", "can't be found: there is no such home folder") from error
    except FileNotFoundError as error:
        raise malformed_setting("ASSAY_DATA_DIR", "is relative to the working directory, which was deleted") from error


def _app(values: Mapping[str, str]) -> AppCredentials | None:
    names = ("ASSAY_APP_ID", "ASSAY_APP_PRIVATE_KEY", "ASSAY_WEBHOOK_SECRET")
    present = [name for name in names if name in values]
    if not present:
        return None
    for name in names:
        if name not in present:
            raise missing_setting(name)
    return AppCredentials(
        app_id=_integer(values, "ASSAY_APP_ID", 0, 1, 2**63),
        private_keys=_private_keys(values["ASSAY_APP_PRIVATE_KEY"]),
        webhook_secrets=_webhook_secrets(values["ASSAY_WEBHOOK_SECRET"]),
    )


def _webhook_secrets(value: str) -> tuple[SecretStr, ...]:
    secrets = value.split()
    if len(secrets) > 2:  # noqa: PLR2004 - the new one and the old one
        raise malformed_setting("ASSAY_WEBHOOK_SECRET", f"holds {len(secrets)} words, so more than two secrets")
    return tuple(SecretStr(secret) for secret in secrets)


def _private_keys(value: str) -> tuple[SecretStr, ...]:
    text = value.replace("\\n", "\n")
    if "-----BEGIN" not in text:
        text = _key_file(value) or _keys_of(value.split())
    keys = PEM.findall(text)
    if not keys:
        raise malformed_setting("ASSAY_APP_PRIVATE_KEY", "holds no PEM private key")
    if len(keys) > 2:  # noqa: PLR2004 - the new one and the old one
        raise malformed_setting("ASSAY_APP_PRIVATE_KEY", f"holds {len(keys)} keys, more than two")
    return tuple(SecretStr(key) for key in keys)


def _keys_of(paths: list[str]) -> str:
    keys = [_key_file(word) or _decode(word) for word in paths]
    if len(paths) > 1 and not all(keys):
        raise malformed_setting("ASSAY_APP_PRIVATE_KEY", "holds a word that is neither a key nor the path of one")
    return "".join(keys)


def _key_file(value: str) -> str:
    try:
        return Path(value).expanduser().read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""


def _decode(value: str) -> str:
    try:
        return base64.b64decode(value, validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return ""


def _model(values: Mapping[str, str]) -> ModelAccess | None:
    if "ANTHROPIC_API_KEY" not in values:
        return None
    return ModelAccess(
        api_key=SecretStr(values["ANTHROPIC_API_KEY"]),
        base_url=_url(values, "ANTHROPIC_BASE_URL", "") or None,
        name=values.get("ASSAY_MODEL", "claude-haiku-5-5"),
        timeout_s=_number(values, "ASSAY_MODEL_TIMEOUT", 120),
        attempts=_integer(values, "ASSAY_MODEL_ATTEMPTS", 3, 1, 10),
        retry_delay_s=_number(values, "ASSAY_MODEL_RETRY_DELAY", 1),
        max_output_tokens=_integer(values, "ASSAY_MAX_OUTPUT_TOKENS", 8000, 500, 64000),
        has_thinking=_choice(values, "ASSAY_THINKING", ("0", "1")) == "1",
    )


def _redis_url(values: Mapping[str, str]) -> SecretStr | None:
    url = values.get("REDIS_URL")
    if url is None:
        return None
    if not url.startswith(("redis://", "rediss://", "unix://")):
        raise malformed_setting("REDIS_URL", "starts with none of redis://, rediss://, unix://")
    return SecretStr(url)


def _store_keys(values: Mapping[str, str]) -> tuple[SecretStr, ...]:
    keys = values.get("ASSAY_STORE_KEYS", "").replace(",", " ").split()
    for position, key in enumerate(keys, start=1):
        try:
            raw = base64.b64decode(key, validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        if len(raw) != 32:  # noqa: PLR2004 - AES-256
            raise malformed_setting("ASSAY_STORE_KEYS", f"has a key (number {position}) that is not 32 bytes in base64")
    return tuple(SecretStr(key) for key in keys)


def _url(values: Mapping[str, str], name: str, default: str) -> str:
    url = values.get(name, default)
    if url and not re.match(r"https?://[^/\s]+", url):
        raise malformed_setting(name, f'is "{url}"')
    return url


def _address(values: Mapping[str, str], name: str) -> tuple[str, int] | None:
    value = values.get(name)
    if value is None:
        return None
    match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([^:\s\[\]]+)):(\d{1,5})", value, re.ASCII)
    if match is None or int(match[3]) > 65535:  # noqa: PLR2004 - the highest port
        raise malformed_setting(name, f'is "{value}"')
    return match[1] or match[2], int(match[3])


def _choice(values: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str:
    value = values.get(name, allowed[0])
    if value not in allowed:
        raise malformed_setting(name, f'is "{value}"')
    return value


def _integer(values: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    value = values.get(name, str(default))
    if not re.fullmatch(r"\d{1,19}", value) or not least <= int(value) <= most:
        raise malformed_setting(name, f'is "{value}"')
    return int(value)


def _number(values: Mapping[str, str], name: str, default: float = 0.0) -> float:
    return float(_decimal(values, name, Decimal(str(default))))


def _decimal(values: Mapping[str, str], name: str, default: Decimal) -> Decimal:
    value = values.get(name, str(default))
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value):
        raise malformed_setting(name, f'is "{value}"')
    return Decimal(value)
