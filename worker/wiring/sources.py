"""Where a judging on a laptop reads from: a checkout, the example, a recorded dossier, or a pull request on GitHub.

What the other sources need is not imported.
"""

import hashlib
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from worker.adapters.git.recorded_dossier import RecordedSource, read_recorded
from worker.clock import SystemClock
from worker.domain.ids import DeliveryId, RepositoryId
from worker.domain.ports import PullSource, TreeLookup
from worker.domain.request.judge_request import LOCAL_INSTALLATION, JudgeRequest, PullRef, Trigger
from worker.settings import Settings

if TYPE_CHECKING:
    from worker.adapters.git.checkout import CheckoutSource

ANONYMOUS_NOTE: Final = "Read without a token: at most 6 requests and 20 files' texts. Set GITHUB_TOKEN to read it all."


@dataclass(frozen=True)
class JudgeInputs:
    """What is to be judged, with notes for people. `look_up` None: the head tree can't be read."""

    source: PullSource
    request: JudgeRequest
    notes: Sequence[str] = ()
    look_up: TreeLookup | None = None


@dataclass(frozen=True)
class CheckoutOptions:
    """The commits, and texts of files. `junit`: reports of CI, with their names. None: as CheckoutSource finds it."""

    base: str | None = None
    head: str | None = None
    issue: str | None = None
    case: str | None = None
    body: str | None = None
    junit: Sequence[tuple[bytes, str]] = ()


def checkout_source(folder: Path, options: CheckoutOptions) -> "CheckoutSource":
    """The branch of the checkout that contains *folder*. Raises InputError."""
    from worker.adapters.git.checkout import CheckoutInputs, CheckoutSource

    checks = ()
    if options.junit:
        from worker.adapters.git.junit import read_junit

        checks = tuple(read_junit(*report) for report in options.junit)
    inputs = CheckoutInputs(options.issue, options.case, options.body, checks)
    return CheckoutSource(folder, base=options.base, head=options.head, inputs=inputs)


def checkout_inputs(folder: Path, options: CheckoutOptions) -> JudgeInputs:
    source = checkout_source(folder, options)
    return JudgeInputs(source, source.request(SystemClock().now()), source.notes(), source.look_up)


def recorded_inputs(raw: bytes, name: str) -> JudgeInputs:
    """A recorded dossier, called *name*. Raises InputError."""
    source = read_recorded(raw, name)
    return JudgeInputs(source, source.request(SystemClock().now()))


@contextmanager
def open_example() -> Generator[JudgeInputs]:
    """A tiny repository, deleted after the judging."""
    from worker.adapters.git.example_repository import make_example

    with tempfile.TemporaryDirectory(prefix="assay-example-") as folder:
        made = make_example(Path(folder))
        issue, report = made.issue.read_text(encoding="utf-8"), (made.junit.read_bytes(), made.junit.name)
        source = checkout_source(made.checkout, CheckoutOptions(made.base, made.head, issue, junit=[report]))
        yield JudgeInputs(source, source.request(SystemClock().now()), look_up=source.look_up)


@contextmanager
def open_github_pull(settings: Settings, repository: str, number: int) -> Generator[JudgeInputs]:
    """A pull request as GITHUB_TOKEN may read it; without a token, a public one."""
    clock = SystemClock()
    if settings.github_token is None:
        from worker.adapters.github.public_api import open_public_pull

        public = open_public_pull(settings, clock, repository, number)
        source = RecordedSource(public.dossier)
        yield JudgeInputs(source, source.request(clock.now()), (ANONYMOUS_NOTE, *public.notes))
        return
    from worker.adapters.github.public_api import open_token_source

    digest, at = hashlib.sha256(repository.encode()).digest(), clock.now()
    repository_id = RepositoryId(int.from_bytes(digest[:6]))
    request = JudgeRequest(
        pull=PullRef(installation_id=LOCAL_INSTALLATION, repository_id=repository_id, number=number),
        repository=repository,
        head_sha=None,
        trigger=Trigger.LOCAL,
        delivery_id=DeliveryId(f"local-{repository}-{number}-{at.timestamp():.6f}"),
        requested_at=at,
    )
    with open_token_source(settings, clock) as source:
        yield JudgeInputs(source, request, look_up=source.look_up)
