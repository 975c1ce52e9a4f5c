"""How many requests GitHub sees for one verdict, as its own log counts them: `python bench/github_requests.py`.

Judges nothing: reads a dossier, opens a check run, reads the head again and writes a reject with a line, as one
judging does, with an empty token cache. Each number stands beside the goal, as a ratio.
"""

import sys
import tempfile
from collections import Counter
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pydantic import SecretStr  # noqa: E402 - found from any working directory

from tests.world.contract import violations  # noqa: E402
from tests.world.github_bench import Exchange, GitHub  # noqa: E402
from worker.domain.check import Annotation, AnnotationLevel, CheckContent, Conclusion  # noqa: E402
from worker.domain.ids import DeliveryId, InstallationId, RepositoryId  # noqa: E402
from worker.domain.request import JudgeRequest, PullRef, Trigger  # noqa: E402
from worker.github.checks import GitHubChecks  # noqa: E402
from worker.github.client import app_access  # noqa: E402
from worker.github.source import GitHubPullSource, looking  # noqa: E402
from worker.settings import AppCredentials, Settings  # noqa: E402
from worker.system_clock import SystemClock  # noqa: E402

SIZES = (1, 10, 100)
GOAL, LATER = 10, 7
JUDGING = CheckContent("Judging", "Assay reads the pull request.")


class Empty:
    """A Vault in which nothing was ever put, so that the token counts."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def get(self, name: str) -> bytes | None:
        return self._kept.get(name)

    def put(self, name: str, secret: bytes, ttl: timedelta) -> None:
        self._kept[name] = secret if ttl else b""


def pull_of(github: GitHub, files: int) -> JudgeRequest:
    name = f"requests-{uuid4().hex[:8]}"
    github.verb("repo", name=name, files={"AGENTS.md": "Test first.\n"}, protect=["Assay", "test"])
    repository = f"acme/{name}"
    issue = github.user("alice", "POST", f"/repos/{repository}/issues", title="Numbers", body="- [ ] each has its own")
    changes = {f"src/m{number}.py": f"x = {number}\n" for number in range(files)}
    sha = github.verb("push", repo=repository, branch="fix", files=changes)["sha"]
    github.verb("ci", repo=repository, sha=sha, name="test", conclusion="success")
    body = f"Closes #{issue['number']}"
    made = github.user("alice", "POST", f"/repos/{repository}/pulls", title="Do", head="fix", base="main", body=body)
    pull = PullRef(
        installation_id=InstallationId(github.ready.installation_id),
        repository_id=RepositoryId(1),
        number=int(made["number"]),
    )
    return JudgeRequest(
        pull=pull,
        repository=repository,
        head_sha=None,
        trigger=Trigger.OPENED,
        delivery_id=DeliveryId("bench"),
        requested_at=SystemClock().now(),
    )


def judge(settings: Settings, request: JudgeRequest) -> None:
    with app_access(settings, Empty(), SystemClock()) as access:
        app_id = settings.require_app().app_id
        source, checks = (
            GitHubPullSource(access, looking(app_id, settings.github_api_url)),
            GitHubChecks(access, app_id),
        )
        dossier = source.dossier(request)
        check = checks.create(request, dossier.pull_request.head_sha, JUDGING)
        assert source.head_sha(request) == dossier.pull_request.head_sha
        note = Annotation("src/m0.py", 1, 1, AnnotationLevel.FAILURE, "stub", "its whole body is a stub")
        checks.update(request, check, CheckContent("Rejected", "A stub.", "", Conclusion.FAILURE, (note,)))


def word(one: Exchange) -> str:
    return one["operation"] or f"{one['method']} {one['path'].rsplit('/', 1)[-1]}"


def measured(github: GitHub, settings: Settings, files: int) -> list[str]:
    """What GitHub was asked for one verdict on so many files, tokens included."""
    request = pull_of(github, files)
    app = f"app:{github.ready.app_id}"
    before = len(github.requests(name=app))
    judge(settings, request)
    own = github.requests(request.repository)
    assert violations(own) == []
    return [word(one) for one in [*github.requests(name=app)[before:], *own]]


def main() -> None:
    github = GitHub.start()
    with tempfile.TemporaryDirectory() as folder:
        ready = github.ready
        keys, secrets = (SecretStr(ready.private_key),), (SecretStr(ready.webhook_secret),)
        app = AppCredentials(ready.app_id, keys, secrets)
        settings = Settings(data_dir=Path(folder), app=app, github_api_url=ready.url)
        try:
            print(f"{'files':>6} {'requests':>9} {'of ' + str(GOAL):>7} {'of ' + str(LATER):>7}  asked")
            for files in SIZES:
                asked = measured(github, settings, files)
                names = ", ".join(f"{name} x{count}" if count > 1 else name for name, count in Counter(asked).items())
                print(f"{files:>6} {len(asked):>9} {len(asked) / GOAL:>6.2f}x {len(asked) / LATER:>6.2f}x  {names}")
        finally:
            github.stop()


if __name__ == "__main__":
    main()
