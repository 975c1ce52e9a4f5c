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

from worker.adapters.redis.client import items, text
from worker.adapters.redis.embedded_server import FolderRole
from worker.adapters.redis.store import Store, open_store, with_store_url
from worker.domain.judging import JudgingDiscarded, JudgingOutcome
from worker.domain.ports import Lease
from worker.domain.request.judge_request import JudgeRequest
from worker.settings import Settings, read_settings
from worker.wiring import app
from worker.wiring.judge import open_judge_context

STORY = "bench:story"
TICKS_S = os.sysconf("SC_CLK_TCK")
SDKS = "import anthropic, githubkit"
ONE_AT_A_TIME = 100_000
"""Where the numbers of the pull requests begin that are judged one at a time."""


@dataclass(frozen=True, slots=True)
class EmptyCourt:
    """Opens what a judging needs, notes when it was there, and judges nothing.

    What it weighs is noted only where jobs come one at a time: asking the kernel takes as long as a tenth of the job.
    """

    store: Store

    def judge(self, request: JudgeRequest, _lease: Lease, _since: datetime | None) -> JudgingOutcome:
        ready = time.time()
        weight = private_kb() if request.pull.number >= ONE_AT_A_TIME else 0
        self.store.client.call("RPUSH", STORY, f"{request.delivery_id} {ready} {weight}")
        return JudgingDiscarded("bench")

    def open_check(self, *_: object) -> None:
        """Nothing: GitHub is not here."""


@contextmanager
def open_court(settings: Settings, store: Store) -> Generator[EmptyCourt]:
    with app.open_app(settings, store), open_judge_context(settings, settings.tier):
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
    while len(lines := items(store.client.call("LRANGE", STORY, 0, -1))) < count:
        assert time.monotonic() < limit, f"{len(lines)} of {count} jobs came"
        time.sleep(0.001)
    return [text(line).split() for line in lines]


@dataclass(frozen=True, slots=True)
class Alone:
    """A job that had the machine to itself."""

    ready_ms: float
    own_mb: float


def alone(store: Store, rounds: int) -> Sequence[Alone]:
    """From due to clients ready, and the job's own memory then; one job at a time."""
    found: list[Alone] = []
    for number in range(rounds):
        store.client.call("DEL", STORY)
        due = time.time()
        store.pulls.request_judging(request(ONE_AT_A_TIME + number))
        _, ready, weight = story(store, 1)[0]
        found.append(Alone((float(ready) - due) * 1000, int(weight) / 1024))
        time.sleep(0.05)
    return found


@dataclass(frozen=True, slots=True)
class Burst:
    """Many jobs, one after the other: how many a second, and what CPU time each took, in its own process and around it."""

    jobs_s: float
    job_ms: float
    worker_ms: float


def burst(store: Store, count: int, worker: int) -> Burst:
    store.client.call("DEL", STORY)
    before = cpu_ms(worker)
    for number in range(count):
        store.pulls.request_judging(request(number))
    moments = sorted(float(line[1]) for line in story(store, count))
    time.sleep(0.2)  # until the last one is reaped
    own, jobs = (after - then for after, then in zip(cpu_ms(worker), before, strict=True))
    return Burst((count - 1) / (moments[-1] - moments[0]), jobs / count, own / count)


def cpu_ms(process: int) -> tuple[float, float]:
    """CPU time of a process, and of its children that ended."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    own, own_kernel, children, children_kernel = (int(field) * 1000 / TICKS_S for field in fields[11:15])
    return own + own_kernel, children + children_kernel


def worker_of(crew: int) -> int:
    """The crew's worker: the one of its processes whose children work."""
    hands = Path(f"/proc/{crew}/task/{crew}/children").read_text(encoding="ascii").split()
    return max(map(int, hands), key=lambda hand: cpu_ms(hand)[1])


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
        with open_store(settings, FolderRole.OWNER) as store, working(with_store_url(settings, store), environ) as crew:
            alone(store, 3)
            singles = alone(store, 20)
            many = burst(store, count, worker_of(crew))
    ready = statistics.median(single.ready_ms for single in singles)
    own_mb = statistics.median(single.own_mb for single in singles)
    cold = statistics.median(cold_ms() for _ in range(3))
    print(f"due to clients ready: {ready:.0f} ms; importing the SDKs alone: {cold:.0f} ms ({cold / ready:.0f}x)")
    print(f"empty jobs: {many.jobs_s:.0f} a second a worker; memory of its own: {own_mb:.1f} MB a job")
    print(f"CPU time of an empty job: {many.job_ms:.1f} ms, and {many.worker_ms:.1f} ms in its worker")


@contextmanager
def working(settings: Settings, environ: dict[str, str]) -> Generator[int]:
    """`python -m worker` with one worker; its process."""
    assert settings.redis_url is not None
    environ = environ | {"REDIS_URL": settings.redis_url.get_secret_value(), "PATH": os.defpath, "PYTHONPATH": "."}
    command = [sys.executable, "-m", "worker", "--court", "bench.empty_jobs:open_app", "--with-parent"]
    with subprocess.Popen(command, env=environ) as process:
        try:
            yield process.pid
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
