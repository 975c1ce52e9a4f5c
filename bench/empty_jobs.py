"""What a job costs before it does anything: jobs a second, time until its clients are there, memory of its own.

    .venv/bin/python bench/empty_jobs.py [jobs]

One worker, real processes, the App's real clients, no request. Each time beside what it can't avoid, measured in the
same run: a bare fork of the same parent, and importing the SDKs in each job.
"""

import base64
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from worker import bootstrap
from worker.domain.request import JudgeRequest
from worker.pipeline import Dropped, Outcome
from worker.ports import Lease
from worker.settings import Settings, read_settings
from worker.store.connection import Store, attached, open_store
from worker.store.embedded import Role
from worker.store.wire import items, text

STORY = "bench:story"
SDKS = "import anthropic, githubkit"


@dataclass(frozen=True, slots=True)
class EmptyCourt:
    """Opens what a judging needs, notes when it was there and what it weighs, and judges nothing."""

    store: Store

    def judge(self, request: JudgeRequest, _lease: Lease, _since: datetime | None) -> Outcome:
        self.store.wire.call("RPUSH", STORY, f"{request.delivery_id} {time.time()} {private_kb()}")
        return Dropped("bench")

    def open_check(self, *_: object) -> None:
        """Nothing: GitHub is not here."""


@contextmanager
def open_court(settings: Settings, store: Store) -> Generator[EmptyCourt]:
    with bootstrap.open_court(settings, store), bootstrap.open_bench(settings, settings.tier):
        yield EmptyCourt(store)


def private_kb() -> int:
    """Memory that this process shares with nobody."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Clean", "Private_Dirty")))


def request(number: int) -> JudgeRequest:
    return JudgeRequest.model_validate(
        {
            "pull": {"installation_id": number % 50 + 1, "repository_id": 1, "number": number},
            "repository": "bench/empty",
            "head_sha": None,
            "trigger": "command",
            "delivery_id": secrets.token_hex(8),
            "requested_at": datetime.now(UTC),  # noqa: TID251 - a bench has no clock of its own
        }
    )


def app_key() -> str:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - the bench's own
    from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: PLC0415 - the bench's own

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    plain = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain).decode()


def story(store: Store, count: int) -> list[list[str]]:
    """What the jobs noted, once all of them have."""
    limit = time.monotonic() + 120
    while len(lines := items(store.wire.call("LRANGE", STORY, 0, -1))) < count:
        assert time.monotonic() < limit, f"{len(lines)} of {count} jobs came"
        time.sleep(0.001)
    return [text(line).split() for line in lines]


def latency_ms(store: Store, rounds: int) -> Sequence[float]:
    """From due to clients ready, one job at a time."""
    found: list[float] = []
    for number in range(rounds):
        store.wire.call("DEL", STORY)
        due = time.time()
        store.pulls.want(request(100_000 + number))
        found.append((float(story(store, 1)[0][1]) - due) * 1000)
        time.sleep(0.05)
    return found


def throughput(store: Store, count: int) -> tuple[float, float]:
    """Jobs a second, and the median of their own memory in MB."""
    store.wire.call("DEL", STORY)
    for number in range(count):
        store.pulls.want(request(number))
    lines = story(store, count)
    moments = sorted(float(line[1]) for line in lines)
    return (count - 1) / (moments[-1] - moments[0]), statistics.median(int(line[2]) for line in lines) / 1024


def cold_ms() -> float:
    """Importing the SDKs, as a job would have to whose parent did not."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", SDKS], check=True)
    return (time.perf_counter() - started) * 1000


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    with tempfile.TemporaryDirectory(prefix="assay-jobs-") as folder:
        environ = {
            "ASSAY_DATA_DIR": folder,
            "ASSAY_APP_ID": "1",
            "ASSAY_APP_PRIVATE_KEY": app_key(),
            "ASSAY_WEBHOOK_SECRET": secrets.token_hex(8),
            "ANTHROPIC_API_KEY": "bench",
            "ASSAY_STORE_KEYS": base64.b64encode(secrets.token_bytes(32)).decode(),
            "ASSAY_TICK": "0.005",
            "ASSAY_LOG_LEVEL": "ERROR",
        }
        settings = read_settings(environ)
        with open_store(settings, Role.OWNER) as store, working(attached(settings, store), environ):
            latency_ms(store, 3)
            ready = statistics.median(latency_ms(store, 20))
            jobs, own_mb = throughput(store, count)
    cold = statistics.median(cold_ms() for _ in range(3))
    print(f"due to clients ready: {ready:.0f} ms; importing the SDKs alone: {cold:.0f} ms ({cold / ready:.0f}x)")
    print(f"empty jobs: {jobs:.0f} a second a worker; memory of its own: {own_mb:.1f} MB a job")


@contextmanager
def working(settings: Settings, environ: dict[str, str]) -> Generator[None]:
    """`python -m worker` with one worker."""
    assert settings.redis_url is not None
    environ = environ | {"REDIS_URL": settings.redis_url.get_secret_value(), "PATH": os.defpath, "PYTHONPATH": "."}
    command = [sys.executable, "-m", "worker", "--court", "bench.empty_jobs:open_court", "--with-parent"]
    with subprocess.Popen(command, env=environ) as process:
        try:
            yield
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
