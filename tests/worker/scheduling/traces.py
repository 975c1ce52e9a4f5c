"""What is left when everything is quiet: GitHub's check runs and log, the ledger, and Redis' file.

Does not judge what it finds (the test does). Invariant: read once, after the last write.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from tests.worker.scheduling.authors import AuthoredPullRequest, Authors
from tests.worker.scheduling.lease_history import LeaseHistory, overtaken_tokens, read_histories
from tests.worker.scheduling.two_machines import LEASE_S
from tests.world.aof import read_commands
from tests.world.fake_github import CheckRun, Exchange, RepositoryState
from tests.world.pull_requests import CHECK_NAME, VERDICT_JSON, Repository
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import items, text
from worker.adapters.redis.keys import COMMANDS
from worker.adapters.redis.store import Store
from worker.domain.check.check_run import external_id, pull_number
from worker.domain.verdict.ledger import LedgerEntry


@dataclass(frozen=True)
class Written:
    """One conclusion that the product wrote, when GitHub took it, and the head that GitHub had last said is the newest.

    `eval_id`: of the verdict that it shows.
    """

    at_ms: int
    repository: str
    number: int | None
    head_sha: str
    conclusion: str
    newest: str
    eval_id: str


@dataclass(frozen=True)
class Traces:
    """Everything that happened, as others recorded it."""

    states: Mapping[str, RepositoryState]
    ledgers: Mapping[str, tuple[LedgerEntry, ...]]
    dockets: Mapping[str, LeaseHistory]
    late: set[str]
    conclusions: tuple[Written, ...]

    @classmethod
    def of(cls, authors: Authors, store: Store, redis: RedisServer) -> Self:
        states = {one.name: authors.github.state(one.name) for one in repositories(authors)}
        runs = {run["id"]: run for state in states.values() for run in state["check_runs"]}
        return cls(
            states=states,
            ledgers={one.name: store.ledger.entries(one.ref) for one in authors.proposed},
            dockets=read_histories(read_commands(redis.folder), LEASE_S * 1000),
            late=overtaken_tokens(read_commands(redis.folder)),
            conclusions=tuple(_concluded(authors.github.traffic("^(POST|PATCH) .*/(check-runs|graphql)"), runs)),
        )

    def runs(self, one: AuthoredPullRequest) -> Mapping[str, list[CheckRun]]:
        """The check runs of one pull request, by head; the last one speaks."""
        ours = external_id(one.ref.number)
        found: dict[str, list[CheckRun]] = {}
        for run in sorted(self.states[one.pull.repository.name]["check_runs"], key=lambda run: run["id"]):
            if run["name"] == CHECK_NAME and run["external_id"] == ours:
                found.setdefault(run["head_sha"], []).append(run)
        return found

    def written(self, one: AuthoredPullRequest) -> list[Written]:
        """Every conclusion of one pull request's check runs, oldest first."""
        pull = (one.pull.repository.name, one.ref.number)
        return [made for made in self.conclusions if (made.repository, made.number) == pull]


def repositories(authors: Authors) -> Iterable[Repository]:
    return {one.pull.repository.name: one.pull.repository for one in authors.proposed}.values()


def machine_part(run: CheckRun) -> Mapping[str, Any]:
    """The verdict as JSON, as the check run shows it."""
    found = VERDICT_JSON.search(run["output"]["text"] or "")
    return json.loads(found["json"]) if found else {}


def left_over(store: Store) -> list[str]:
    """What somebody would still have to do, by Redis: judgings, check runs to open or to end, commands, jobs."""
    found = [text(name) for name in items(store.client.call("KEYS", "*"))]
    return [name for name in found if _is_about_work(name) or (":pull:" in name and _state(store, name))]


def _is_about_work(name: str) -> bool:
    every = (
        keys.INBOX.name,
        keys.DISPATCHED.name,
        keys.DISPATCHED_OUTSIDE.name,
        COMMANDS.order.name,
        keys.DEADLINES.name,
    )
    queues = ("rq:queue:judge", "rq:queue:outside")
    lines = (":due", ":due_outside", ":opening", ":opening_outside", ":out")
    return name in (*every, *queues) or name.endswith(lines) or ":checks:" in name


def _state(store: Store, name: str) -> str:
    return text(store.client.call("HGET", name, "state"))


def _concluded(exchanges: Iterable[Exchange], runs: Mapping[int, CheckRun]) -> Iterable[Written]:
    told: dict[tuple[str, int | None], str] = {}
    for one in exchanges:
        sent, received = json.loads(one["sent"]), one["received"]
        if one["operation"] in {"AssayHead", "AssayPull", "AssayTexts"}:
            asked = sent["variables"]
            told[f"{asked['owner']}/{asked['name']}", asked["number"]] = _head(received)
        elif one["operation"] == "AssayTell":
            told.update(_told_beside(one))
        elif one["operation"] is None and sent.get("conclusion") and one["status"] in {200, 201}:
            run = runs[received["id"]]
            pull = "/".join(one["path"].split("/")[2:4]), pull_number(run["external_id"])
            shown = VERDICT_JSON.search(sent.get("output", {}).get("text") or "")
            eval_id = json.loads(shown["json"])["eval_id"] if shown else ""
            yield Written(one["at"], *pull, run["head_sha"], sent["conclusion"], told.get(pull, ""), eval_id)


def _told_beside(one: Exchange) -> dict[tuple[str, int | None], str]:
    """The newest head as the answer to a changed comment names it; nothing where that was refused."""
    match one["received"]:
        case {
            "data": {"updateIssueComment": {"issueComment": {"pullRequest": {"number": number, "headRefOid": head}}}}
        }:
            return {(one["repos"][0], number): head}
        case _:
            return {}


def _head(received: Any) -> str:
    """The newest head in an answer; nothing in one that was refused."""
    match received:
        case {"data": {"repository": {"pullRequest": {"headRefOid": str(head_sha)}}}}:
            return head_sha
        case _:
            return ""
