"""The store: connect to the configured or the embedded Redis, with the encryption keys.

An open Store has reached its server, of version 7 or newer, and encrypts with keys that persist.
"""

import re
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from pydantic import SecretStr

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import RedisClient, RedisRefused, field_values, text, whole
from worker.adapters.redis.connection.embedded_server import OLDEST_VERSION, FolderRole, open_embedded_server
from worker.adapters.redis.encryption_and_tokens import Codec, RedisVault, key_of, ring_of
from worker.adapters.redis.judging.pull_requests import RedisPullRequests
from worker.adapters.redis.keys import COMMENT_JOBS, SCANS
from worker.adapters.redis.ledger_and_events import RedisArchive, RedisEvents, RedisLedger
from worker.adapters.redis.pauses import RedisPauses
from worker.domain.pattern import pattern
from worker.errors import SettingError, Unavailable
from worker.settings import Settings, Timing, malformed_setting

if TYPE_CHECKING:
    from decimal import Decimal

    from worker.adapters.redis.budget import RedisBudget, RedisRates, RedisRunBudget
    from worker.adapters.redis.connection.async_client import AsyncRedisClient
    from worker.adapters.redis.documents import (
        RedisConfigs,
        RedisDecisions,
        RedisDemotions,
        RedisNotes,
        RedisScanNotes,
        RubricVersions,
    )
    from worker.adapters.redis.encryption_and_tokens import RedisSetup, RedisTokens
    from worker.adapters.redis.judging.check_runs import RedisCheckRegistry, RedisSharedHeads
    from worker.adapters.redis.judging.merge_groups import RedisMergeGroups
    from worker.adapters.redis.metrics import RedisMeasures
    from worker.adapters.redis.outcomes import RedisOutcomes
    from worker.adapters.redis.pauses import RedisPausedHeads
    from worker.adapters.redis.queues import (
        RedisCommandQueue,
        RedisInbox,
        RedisPullRequestEventQueue,
        RedisTaskQueue,
        RedisUnconfirmedQueue,
    )
    from worker.adapters.redis.records import AddedRepositoryQueue, RedisFirstSeen, RedisRecords, RedisUninstallations
    from worker.domain.check.author_comment import CommentJob
    from worker.domain.check.check_run import SarifUpload
    from worker.domain.lifecycle.work import PendingWork
    from worker.domain.ports import Clock
    from worker.domain.verdict.budget import Caps

VERSION: Final = pattern(r"^redis_version:(\d+)\.(\S*)", re.MULTILINE)
POLL_S: Final = 0.5


@dataclass(frozen=True)
class Store:
    """All parts of the store, by purpose. `url` is where RQ finds the same server."""

    client: RedisClient
    codec: Codec
    url: SecretStr
    timing: Timing
    retention: timedelta = keys.MONTH
    event_retention: timedelta = timedelta(days=365)
    lookahead_events: int = 5
    ledger_retention: timedelta = keys.QUARTER
    """Retention of a pull request's ledger after its close."""

    @property
    def pulls(self) -> RedisPullRequests:
        return RedisPullRequests(self.client, self.timing)

    def open_async_client(self) -> "AsyncRedisClient":
        """A client of the same server, for an event loop."""
        from worker.adapters.redis.connection.async_client import AsyncRedisClient  # noqa: PLC0415 - the web process's

        return AsyncRedisClient(self.url.get_secret_value(), self.timing.redis_timeout, self.client.replicas)

    @property
    def inbox(self) -> "RedisInbox":
        """Deliveries that are not applied yet."""
        from worker.adapters.redis.queues import RedisInbox  # noqa: PLC0415 - unused on a laptop

        return RedisInbox(self.client, self.timing, self.ledger_retention)

    @property
    def ledger(self) -> RedisLedger:
        return RedisLedger(self.client, self.codec, self.event_retention)

    @property
    def events(self) -> RedisEvents:
        return RedisEvents(self.client, self.event_retention, timedelta(seconds=self.timing.lease))

    @property
    def archive(self) -> RedisArchive:
        return RedisArchive(self.client, self.codec, self.retention)

    @property
    def vault(self) -> RedisVault:
        return RedisVault(self.client, self.codec)

    @property
    def commands(self) -> "RedisCommandQueue":
        """Unanswered commands."""
        from worker.adapters.redis.queues import RedisCommandQueue  # noqa: PLC0415 - unused on a laptop

        return RedisCommandQueue(self.client, self.codec, self.timing)

    @property
    def unconfirmed(self) -> "RedisUnconfirmedQueue":
        """Deliveries of unknown order."""
        from worker.adapters.redis.queues import RedisUnconfirmedQueue  # noqa: PLC0415 - the dispatcher's

        return RedisUnconfirmedQueue(self.client, self.timing)

    @property
    def pull_request_events(self) -> "RedisPullRequestEventQueue":
        """Unprocessed pull request events."""
        from worker.adapters.redis.queues import RedisPullRequestEventQueue  # noqa: PLC0415 - the dispatcher's

        return RedisPullRequestEventQueue(self.client, self.timing)

    @property
    def outcomes(self) -> "RedisOutcomes":
        """Outcomes of pull requests."""
        from worker.adapters.redis.outcomes import RedisOutcomes  # noqa: PLC0415 - unused on a laptop

        return RedisOutcomes(self.client, self.codec, self.timing, self.lookahead_events, self.event_retention)

    @property
    def groups(self) -> "RedisMergeGroups":
        """Unanswered merge groups."""
        from worker.adapters.redis.judging.merge_groups import RedisMergeGroups  # noqa: PLC0415 - a laptop has no merge queue

        return RedisMergeGroups(self.client, self.timing)

    @property
    def comment_jobs(self) -> "RedisTaskQueue[CommentJob]":
        """Verdicts with a pending comment for the author."""
        from worker.adapters.redis.queues import RedisTaskQueue  # noqa: PLC0415 - as above
        from worker.domain.check.author_comment import CommentJob  # noqa: PLC0415 - unused on a laptop

        return RedisTaskQueue(self.client, self.timing, CommentJob, COMMENT_JOBS)

    @property
    def rates(self) -> "RedisRates":
        """GitHub's last rate limits."""
        from worker.adapters.redis.budget import RedisRates  # noqa: PLC0415 - the App's

        return RedisRates(self.client)

    @property
    def author_comments(self) -> "RedisNotes":
        """State of the comments for authors."""
        from worker.adapters.redis.documents import RedisNotes  # noqa: PLC0415 - as above

        return RedisNotes(self.client)

    @property
    def scans(self) -> "RedisTaskQueue[SarifUpload]":
        """Verdicts with a pending SARIF upload."""
        from worker.adapters.redis.queues import RedisTaskQueue  # noqa: PLC0415 - as above
        from worker.domain.check.check_run import SarifUpload  # noqa: PLC0415 - unused on a laptop

        return RedisTaskQueue(self.client, self.timing, SarifUpload, SCANS)

    @property
    def scan_notes(self) -> "RedisScanNotes":
        """Results of SARIF uploads."""
        from worker.adapters.redis.documents import RedisScanNotes  # noqa: PLC0415 - as above

        return RedisScanNotes(self.client)

    @property
    def decisions(self) -> "RedisDecisions":
        """Human decisions about heads."""
        from worker.adapters.redis.documents import RedisDecisions  # noqa: PLC0415 - unused on a laptop

        return RedisDecisions(self.client, self.codec)

    @property
    def configs(self) -> "RedisConfigs":
        """Last valid configurations."""
        from worker.adapters.redis.documents import RedisConfigs  # noqa: PLC0415 - a laptop reads the file itself

        return RedisConfigs(self.client, self.codec)

    @property
    def pauses(self) -> RedisPauses:
        return RedisPauses(self.client)

    @property
    def paused_heads(self) -> "RedisPausedHeads":
        """Heads that wait for the end of a pause."""
        from worker.adapters.redis.pauses import RedisPausedHeads  # noqa: PLC0415 - unused on a laptop

        return RedisPausedHeads(self.client, self.timing)

    @property
    def measures(self) -> "RedisMeasures":
        """Figures of `/metrics`."""
        from worker.adapters.redis.metrics import RedisMeasures  # noqa: PLC0415 - unused on a laptop

        return RedisMeasures(self.client)

    @property
    def added_repositories(self) -> "AddedRepositoryQueue":
        """Recently added repositories."""
        from worker.adapters.redis.records import AddedRepositoryQueue  # noqa: PLC0415 - unused on a laptop

        return AddedRepositoryQueue(self.client, self.timing)

    @property
    def first_seen(self) -> "RedisFirstSeen":
        """When the App first saw each repository."""
        from worker.adapters.redis.records import RedisFirstSeen  # noqa: PLC0415 - unused on a laptop

        return RedisFirstSeen(self.client)

    def checks(self) -> "RedisCheckRegistry":
        """A registry for one judging, which may repeat its own claims; other registries wait."""
        from worker.adapters.redis.judging.check_runs import RedisCheckRegistry  # noqa: PLC0415 - a laptop has no check runs

        return RedisCheckRegistry(self.client, self.timing)

    @property
    def shared_heads(self) -> "RedisSharedHeads":
        """Published states of pull requests that share a commit."""
        from worker.adapters.redis.judging.check_runs import RedisSharedHeads  # noqa: PLC0415 - as above

        return RedisSharedHeads(self.client, self.codec, self.timing)

    def budget(self, caps: "Caps", clock: "Clock") -> "RedisBudget":
        """The model budget under these caps."""
        from worker.adapters.redis.budget import RedisBudget  # noqa: PLC0415 - only for a model

        return RedisBudget(self.client, caps, clock)

    def uninstallations(self) -> "RedisUninstallations":
        """Uninstalled installations whose data is to be deleted."""
        from worker.adapters.redis.records import RedisUninstallations  # noqa: PLC0415 - not needed by a judge

        return RedisUninstallations(self.client, timedelta(seconds=self.timing.forget_after))

    def tokens(self) -> "RedisTokens":
        """Tokens with read access to the figures."""
        from worker.adapters.redis.encryption_and_tokens import RedisTokens  # noqa: PLC0415 - not needed by a judge

        return RedisTokens(self.client)

    def setup(self) -> "RedisSetup":
        """Access to creating the GitHub App."""
        from worker.adapters.redis.encryption_and_tokens import RedisSetup  # noqa: PLC0415 - only while there is no App

        return RedisSetup(self.client)

    @property
    def rubrics(self) -> "RubricVersions":
        """Content of each rubric version."""
        from worker.adapters.redis.documents import RubricVersions  # noqa: PLC0415 - unused on a laptop

        return RubricVersions(self.client)

    @property
    def demotions(self) -> "RedisDemotions":
        """Demoted signals of an installation."""
        from worker.adapters.redis.documents import RedisDemotions  # noqa: PLC0415 - a laptop has none

        return RedisDemotions(self.client)

    def run_budget(self, name: str, limit: "Decimal") -> "RedisRunBudget":
        """Budget of one run, up to *limit*."""
        from worker.adapters.redis.budget import RedisRunBudget  # noqa: PLC0415 - only for a model, and for shadow evaluations

        return RedisRunBudget(self.client, name, limit)

    def records(self) -> "RedisRecords":
        """Records by eval id and by repository, for reading and deletion."""
        from worker.adapters.redis.records import RedisRecords  # noqa: PLC0415 - not needed by a judge

        return RedisRecords(self.client, self.codec)

    def is_key_missing(self) -> bool:
        """Whether stored data may be encrypted with a key that is missing here."""
        started = field_values(self.client.call("HGETALL", keys.ENCRYPTION_KEYS.name))
        latest = time.time() - keys.QUARTER.total_seconds()
        return not {key_id for key_id, at in started.items() if whole(at) >= latest} <= set(self.codec.key_ids)

    def find_pending_work(self, call: str) -> "frozenset[PendingWork]":
        """Kinds of work that are due for the dispatcher, whose next dispatch *call* names."""
        from worker.adapters.redis.queues import find_pending_work  # noqa: PLC0415 - the dispatcher's

        return find_pending_work(self.client, call)

    def close(self) -> None:
        """Close connections; a later call opens new ones."""
        self.client.close()

    def ping(self) -> None:
        """Check the connection. Raises Unavailable."""
        self.client.call("PING")


def wait_for_redis(settings: Settings, report: Callable[[str], object]) -> None:
    """Wait until the configured Redis answers, at most `timing.redis_wait`, so that a concurrent start succeeds.

    *report* is called once with the reason of the wait. Raises Unavailable.
    """
    if (url := _configured_url(settings)) is None:
        return
    client = RedisClient(url, settings.timing.redis_timeout)
    patience_s = settings.timing.redis_wait
    limit, is_announced = time.monotonic() + patience_s, False
    while True:
        try:
            client.call("PING")
        except Unavailable as error:
            if time.monotonic() >= limit:
                raise
            if not is_announced:
                report(f"{error}. Waiting for it, at most {patience_s:g} s.")
            is_announced = True
            time.sleep(POLL_S)
        else:
            client.close()
            return


@contextmanager
def open_store(settings: Settings, role: FolderRole = FolderRole.GUEST) -> Generator[Store]:
    """Connect to `settings.redis_url`, or to the embedded server of `settings.data_dir`, which is started if needed."""
    with ExitStack() as stack:
        url = _configured_url(settings) or stack.enter_context(open_embedded_server(settings.data_dir, role))
        client = RedisClient(url, settings.timing.redis_timeout, settings.redis_replicas)
        stack.callback(client.close)
        match = VERSION.search(text(client.call("INFO", "server")))
        if match is None or int(match[1]) < OLDEST_VERSION:
            version = f"{match[1]}.{match[2]}" if match else "unknown"
            expected = f"Expected: Redis {OLDEST_VERSION} or newer, or Valkey."
            raise SettingError("REDIS_URL", f"leads to Redis {version}", expected)
        codec = Codec(ring_of(settings.store_keys) or (key_of(settings.data_dir),))
        with suppress(Unavailable, RedisRefused):  # full, or a read-only replica: reads still work
            client.call("HSET", keys.ENCRYPTION_KEYS.name, codec.key_ids[0], int(time.time()))
        yield Store(
            client,
            codec,
            SecretStr(url),
            settings.timing,
            retention=timedelta(days=settings.retention_days),
            event_retention=timedelta(days=settings.event_days),
            lookahead_events=settings.lookahead_events,
            ledger_retention=timedelta(days=settings.ledger_days),
        )


def _configured_url(settings: Settings) -> str | None:
    """URL of the configured Redis. Raises SettingError if its keys are missing."""
    if settings.redis_url is None:
        return None
    if not settings.store_keys:
        raise malformed_setting(
            "ASSAY_STORE_KEYS", "is not set, and what is kept in the Redis of REDIS_URL is encrypted"
        )
    return settings.redis_url.get_secret_value()


def with_store_url(settings: Settings, store: Store) -> Settings:
    """Settings for child processes, with the URL of this store."""
    ring = settings.store_keys or (SecretStr((settings.data_dir / "store.key").read_text(encoding="ascii")),)
    return replace(settings, redis_url=store.url, store_keys=ring)
