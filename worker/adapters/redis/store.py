"""Opening the store: the configured Redis or the embedded one, with the keys that encrypt.

Does not read settings from the environment. Invariant: a Store that is open has been spoken to, runs version 7 or
newer, and encrypts with keys that will still be there tomorrow.
"""

import re
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from pydantic import SecretStr

from worker.adapters.redis import keys
from worker.adapters.redis.archive import RedisArchive, Vault
from worker.adapters.redis.client import Refused, Wire, items, text, whole
from worker.adapters.redis.commands import Asks
from worker.adapters.redis.embedded_server import OLDEST, Role, embedded
from worker.adapters.redis.encryption import Codec, key_of, ring_of
from worker.adapters.redis.event_stream import Events
from worker.adapters.redis.ledger import RedisLedger
from worker.adapters.redis.pauses import Switches
from worker.adapters.redis.pull_requests import Pulls
from worker.adapters.redis.waiting_keys import LETTERS, SCANS
from worker.domain.pattern import pattern
from worker.domain.value import Value, replace
from worker.errors import SettingError, Unavailable
from worker.settings import Settings, Timing, malformed

if TYPE_CHECKING:
    from decimal import Decimal

    from worker.adapters.redis.arrivals import Arrivals
    from worker.adapters.redis.book import RedisBook
    from worker.adapters.redis.budget import RedisPurse
    from worker.adapters.redis.check_runs import RedisChecks
    from worker.adapters.redis.decisions import Decisions
    from worker.adapters.redis.demotions import Demotions
    from worker.adapters.redis.documents import RedisConfigs
    from worker.adapters.redis.follow_ups import FollowUps
    from worker.adapters.redis.greetings import Greetings
    from worker.adapters.redis.happenings import Happenings
    from worker.adapters.redis.leaving import Leaving
    from worker.adapters.redis.merge_groups import Groups
    from worker.adapters.redis.metrics import Measures
    from worker.adapters.redis.notes import RedisNotes
    from worker.adapters.redis.outcomes import Outcomes
    from worker.adapters.redis.rate_limits import RedisRates
    from worker.adapters.redis.records import Records
    from worker.adapters.redis.rubrics import Rubrics
    from worker.adapters.redis.scans import RedisScanNotes
    from worker.adapters.redis.setup import Setup
    from worker.adapters.redis.shared_heads import RedisSiblings
    from worker.adapters.redis.shelf import Shelf
    from worker.adapters.redis.tokens import Tokens
    from worker.domain.check.author_comment import Letter
    from worker.domain.check.code_scanning import Scan
    from worker.domain.ports import Clock
    from worker.domain.verdict.budget import Caps

VERSION: Final = pattern(r"^redis_version:(\d+)\.(\S*)", re.MULTILINE)
LOOK_AGAIN_S: Final = 0.5


class Store(Value):
    """All that is kept, by what it is for. `url` is where RQ finds the same server."""

    wire: Wire
    codec: Codec
    url: SecretStr
    timing: Timing
    retention: timedelta = keys.MONTH
    told_for: timedelta = timedelta(days=365)
    lookahead_events: int = 5
    remembered: timedelta = keys.QUARTER
    """How long the memory of a pull request stays after it was closed."""

    @property
    def pulls(self) -> Pulls:
        return Pulls(self.wire, self.timing)

    @property
    def ledger(self) -> RedisLedger:
        return RedisLedger(self.wire, self.codec, self.told_for)

    @property
    def events(self) -> Events:
        return Events(self.wire, self.told_for, timedelta(seconds=self.timing.lease))

    @property
    def archive(self) -> RedisArchive:
        return RedisArchive(self.wire, self.codec, self.retention)

    @property
    def vault(self) -> Vault:
        return Vault(self.wire, self.codec)

    @property
    def asks(self) -> Asks:
        return Asks(self.wire, self.codec, self.timing)

    @property
    def happenings(self) -> "Happenings":
        """What happened and nobody looked into yet."""
        from worker.adapters.redis.happenings import Happenings  # noqa: PLC0415 - the dispatcher's

        return Happenings(self.wire, self.timing)

    @property
    def outcomes(self) -> "Outcomes":
        """What came of pull requests, and what is still to come of them."""
        from worker.adapters.redis.outcomes import Outcomes  # noqa: PLC0415 - a laptop watches nobody

        return Outcomes(self.wire, self.codec, self.timing, self.lookahead_events, self.told_for)

    @property
    def groups(self) -> "Groups":
        """Merge groups that nobody answered yet."""
        from worker.adapters.redis.merge_groups import Groups  # noqa: PLC0415 - a laptop has no merge queue

        return Groups(self.wire, self.timing)

    @property
    def letters(self) -> "FollowUps[Letter]":
        """Verdicts whose author may have to be told."""
        from worker.adapters.redis.follow_ups import FollowUps  # noqa: PLC0415 - as above
        from worker.domain.check.author_comment import Letter  # noqa: PLC0415 - a laptop tells nobody

        return FollowUps(self.wire, self.timing, Letter, LETTERS)

    @property
    def rates(self) -> "RedisRates":
        """What GitHub said last of rate limits."""
        from worker.adapters.redis.rate_limits import RedisRates  # noqa: PLC0415 - the App's

        return RedisRates(self.wire)

    @property
    def notes(self) -> "RedisNotes":
        """What is known of the comments that tell them."""
        from worker.adapters.redis.notes import RedisNotes  # noqa: PLC0415 - as above

        return RedisNotes(self.wire)

    @property
    def scans(self) -> "FollowUps[Scan]":
        """Verdicts whose SARIF is due."""
        from worker.adapters.redis.follow_ups import FollowUps  # noqa: PLC0415 - as above
        from worker.domain.check.code_scanning import Scan  # noqa: PLC0415 - a laptop uploads nothing

        return FollowUps(self.wire, self.timing, Scan, SCANS)

    @property
    def scan_notes(self) -> "RedisScanNotes":
        """What is known of those that were sent."""
        from worker.adapters.redis.scans import RedisScanNotes  # noqa: PLC0415 - as above

        return RedisScanNotes(self.wire)

    @property
    def decisions(self) -> "Decisions":
        """What people said about heads."""
        from worker.adapters.redis.decisions import Decisions  # noqa: PLC0415 - nobody speaks about a laptop's branches

        return Decisions(self.wire, self.codec)

    @property
    def configs(self) -> "RedisConfigs":
        """The last configurations that could be used."""
        from worker.adapters.redis.documents import RedisConfigs  # noqa: PLC0415 - a laptop has the file before its eyes

        return RedisConfigs(self.wire, self.codec)

    @property
    def switches(self) -> Switches:
        return Switches(self.wire)

    @property
    def shelf(self) -> "Shelf":
        """What waits for the end of a pause."""
        from worker.adapters.redis.shelf import Shelf  # noqa: PLC0415 - a laptop's branches wait for nobody

        return Shelf(self.wire, self.timing)

    @property
    def measures(self) -> "Measures":
        """What `/metrics` tells."""
        from worker.adapters.redis.metrics import Measures  # noqa: PLC0415 - nobody watches a laptop

        return Measures(self.wire)

    @property
    def greetings(self) -> "Greetings":
        """Repositories that the App may see since a moment."""
        from worker.adapters.redis.greetings import Greetings  # noqa: PLC0415 - a laptop is installed nowhere

        return Greetings(self.wire, self.timing)

    @property
    def arrivals(self) -> "Arrivals":
        """Since when the App sees each repository."""
        from worker.adapters.redis.arrivals import Arrivals  # noqa: PLC0415 - a laptop is installed nowhere

        return Arrivals(self.wire)

    def checks(self) -> "RedisChecks":
        """A registry for one judging: what it claimed, it may claim again; others wait."""
        from worker.adapters.redis.check_runs import RedisChecks  # noqa: PLC0415 - a laptop has no check runs

        return RedisChecks(self.wire, self.timing)

    @property
    def siblings(self) -> "RedisSiblings":
        """What the checks of one commit say together."""
        from worker.adapters.redis.shared_heads import RedisSiblings  # noqa: PLC0415 - as above

        return RedisSiblings(self.wire, self.codec, self.timing)

    def purse(self, caps: "Caps", clock: "Clock") -> "RedisPurse":
        """The money for models, under these caps."""
        from worker.adapters.redis.budget import RedisPurse  # noqa: PLC0415 - only for a model

        return RedisPurse(self.wire, caps, clock)

    def leaving(self) -> "Leaving":
        """Installations that the App was taken out of."""
        from worker.adapters.redis.leaving import Leaving  # noqa: PLC0415 - no judge needs it

        return Leaving(self.wire, timedelta(seconds=self.timing.forget_after))

    def tokens(self) -> "Tokens":
        """Who may read the figures over HTTP."""
        from worker.adapters.redis.tokens import Tokens  # noqa: PLC0415 - no judge needs it

        return Tokens(self.wire)

    def setup(self) -> "Setup":
        """Who may create the GitHub App."""
        from worker.adapters.redis.setup import Setup  # noqa: PLC0415 - only while there is no App

        return Setup(self.wire)

    @property
    def rubrics(self) -> "Rubrics":
        """What content each rubric's version stands for."""
        from worker.adapters.redis.rubrics import Rubrics  # noqa: PLC0415 - a laptop judges by what it has

        return Rubrics(self.wire)

    @property
    def demotions(self) -> "Demotions":
        """The signals that may not reject alone in an installation."""
        from worker.adapters.redis.demotions import Demotions  # noqa: PLC0415 - a laptop has none

        return Demotions(self.wire)

    def book(self, name: str, limit: "Decimal") -> "RedisBook":
        """The money of one run, up to *limit*."""
        from worker.adapters.redis.book import RedisBook  # noqa: PLC0415 - only for a model, and what is judged beside

        return RedisBook(self.wire, name, limit)

    def records(self) -> "Records":
        """All that is on record, by eval id and by repository: for people who look, or have it forgotten."""
        from worker.adapters.redis.records import Records  # noqa: PLC0415 - no judge needs it

        return Records(self.wire, self.codec)

    def lacks_key(self) -> bool:
        """Whether something may be stored here that was encrypted with a key that is not here."""
        noted = items(self.wire.call("HGETALL", keys.SEALED_WITH.name))
        latest = time.time() - keys.QUARTER.total_seconds()
        pairs = zip(noted[::2], noted[1::2], strict=True)
        used = {text(key_id) for key_id, began in pairs if whole(began) >= latest}
        return not used <= set(self.codec.key_ids)

    def ping(self) -> None:
        """Raises Unavailable."""
        self.wire.call("PING")


def await_redis(settings: Settings, tell: Callable[[str], object]) -> None:
    """Until the configured Redis answers, at most `timing.redis_wait`: who starts while it does, need not be started again.

    *tell* hears once what is waited for. Raises Unavailable.
    """
    if (url := _configured(settings)) is None:
        return
    wire = Wire(url, settings.timing.redis_timeout)
    patience_s = settings.timing.redis_wait
    limit, is_told = time.monotonic() + patience_s, False
    while True:
        try:
            wire.call("PING")
        except Unavailable as error:
            if time.monotonic() >= limit:
                raise
            if not is_told:
                tell(f"{error}. Waiting for it, at most {patience_s:g} s.")
            is_told = True
            time.sleep(LOOK_AGAIN_S)
        else:
            wire.close()
            return


@contextmanager
def open_store(settings: Settings, role: Role = Role.GUEST) -> Generator[Store]:
    """Connect to `settings.redis_url`, or to the embedded server of `settings.data_dir`, started if need be."""
    if (configured := _configured(settings)) is not None:
        with _opened(settings, configured) as store:
            yield store
        return
    with embedded(settings.data_dir, role) as url, _opened(settings, url) as store:
        yield store


def _configured(settings: Settings) -> str | None:
    """The URL of the configured Redis. Raises SettingError where its keys are missing."""
    if settings.redis_url is None:
        return None
    if not settings.store_keys:
        raise malformed("ASSAY_STORE_KEYS", "is not set, and what is kept in the Redis of REDIS_URL is encrypted")
    return settings.redis_url.get_secret_value()


def attached(settings: Settings, store: Store) -> Settings:
    """Settings for the processes below: the store that is open here, wherever it came from."""
    ring = settings.store_keys or (SecretStr((settings.data_dir / "store.key").read_text(encoding="ascii")),)
    return replace(settings, redis_url=store.url, store_keys=ring)


@contextmanager
def _opened(settings: Settings, url: str) -> Generator[Store]:
    wire = Wire(url, settings.timing.redis_timeout)
    try:
        _check_version(wire)
        codec = Codec(ring_of(settings.store_keys) or (key_of(settings.data_dir),))
        with suppress(Unavailable, Refused):  # full, or a copy that takes no writes: one may still read here
            wire.call("HSET", keys.SEALED_WITH.name, codec.key_ids[0], int(time.time()))
        yield Store(
            wire,
            codec,
            SecretStr(url),
            settings.timing,
            retention=timedelta(days=settings.retention_days),
            told_for=timedelta(days=settings.event_days),
            lookahead_events=settings.lookahead_events,
            remembered=timedelta(days=settings.ledger_days),
        )
    finally:
        wire.close()


def _check_version(wire: Wire) -> None:
    found = VERSION.search(text(wire.call("INFO", "server")))
    if found is None or int(found[1]) < OLDEST:
        version = f"{found[1]}.{found[2]}" if found else "unknown"
        raise SettingError("REDIS_URL", f"leads to Redis {version}", f"Expected: Redis {OLDEST} or newer, or Valkey.")
