"""The state after the last write: GitHub's check runs and traffic, the ledger, and Redis' append-only file."""

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
class Conclusion:
    """One conclusion that GitHub took. `newest`: the head that GitHub last named; `eval_id`: of the verdict shown."""

    at_ms: int
    repository: str
    number: int | None
    head_sha: str
    conclusion: str
    newest: str
    eval_id: str


@dataclass(frozen=True)
class Traces:
    """Everything that happened, as GitHub and Redis recorded it."""

    states: Mapping[str, RepositoryState]
    ledgers: Mapping[str, tuple[LedgerEntry, ...]]
    histories: Mapping[str, LeaseHistory]
    overtaken: set[str]
    conclusions: tuple[Conclusion, ...]

    @classmethod
    def of(cls, authors: Authors, store: Store, redis: RedisServer) -> Self:
        states = {repository.name: authors.github.state(repository.name) for repository in repositories(authors)}
        runs = {run["id"]: run for state in states.values() for run in state["check_runs"]}
        return cls(
            states=states,
            ledgers={authored.name: store.ledger.entries(authored.ref) for authored in authors.pull_requests},
            histories=read_histories(read_commands(redis.folder), LEASE_S * 1000),
            overtaken=overtaken_tokens(read_commands(redis.folder)),
            conclusions=tuple(_concluded(authors.github.traffic("^(POST|PATCH) .*/(check-runs|graphql)"), runs)),
        )

    def runs(self, authored: AuthoredPullRequest) -> Mapping[str, list[CheckRun]]:
        """Return the check runs of one pull request by head, oldest first."""
        name = external_id(authored.ref.number)
        runs: dict[str, list[CheckRun]] = {}
        for run in sorted(self.states[authored.pull.repository.name]["check_runs"], key=lambda run: run["id"]):
            if run["name"] == CHECK_NAME and run["external_id"] == name:
                runs.setdefault(run["head_sha"], []).append(run)
        return runs

    def conclusions_of(self, authored: AuthoredPullRequest) -> list[Conclusion]:
        """Return the conclusions of one pull request, oldest first."""
        pull = (authored.pull.repository.name, authored.ref.number)
        return [conclusion for conclusion in self.conclusions if (conclusion.repository, conclusion.number) == pull]


def repositories(authors: Authors) -> Iterable[Repository]:
    return {each.pull.repository.name: each.pull.repository for each in authors.pull_requests}.values()


def machine_part(run: CheckRun) -> Mapping[str, Any]:
    """Return the verdict's JSON in a check run."""
    match = VERDICT_JSON.search(run["output"]["text"] or "")
    return json.loads(match["json"]) if match else {}


def left_over(store: Store) -> list[str]:
    """Return the Redis keys of pending work: judgings, check runs, commands, jobs."""
    names = [text(name) for name in items(store.client.call("KEYS", "*"))]
    return [name for name in names if _is_work(name) or (":pull:" in name and store.client.call("HGET", name, "state"))]


def _is_work(name: str) -> bool:
    shared = (keys.INBOX, keys.DISPATCHED, keys.DISPATCHED_OUTSIDE, COMMANDS.order, keys.DEADLINES)
    names = ("rq:queue:judge", "rq:queue:outside", *(key.name for key in shared))
    suffixes = (":due", ":due_outside", ":opening", ":opening_outside", ":out")
    return name in names or name.endswith(suffixes) or ":checks:" in name


def _concluded(exchanges: Iterable[Exchange], runs: Mapping[int, CheckRun]) -> Iterable[Conclusion]:
    newest: dict[tuple[str, int | None], str] = {}
    for exchange in exchanges:
        sent, received = json.loads(exchange["sent"]), exchange["received"]
        if exchange["operation"] in {"AssayHead", "AssayPull", "AssayTexts"}:
            variables = sent["variables"]
            newest[f"{variables['owner']}/{variables['name']}", variables["number"]] = _head(received)
        elif exchange["operation"] == "AssayTell":
            newest.update(_comment_head(exchange))
        elif exchange["operation"] is None and sent.get("conclusion") and exchange["status"] in {200, 201}:
            run = runs[received["id"]]
            pull = "/".join(exchange["path"].split("/")[2:4]), pull_number(run["external_id"])
            match = VERDICT_JSON.search(sent.get("output", {}).get("text") or "")
            eval_id = json.loads(match["json"])["eval_id"] if match else ""
            yield Conclusion(exchange["at"], *pull, run["head_sha"], sent["conclusion"], newest.get(pull, ""), eval_id)


def _comment_head(exchange: Exchange) -> dict[tuple[str, int | None], str]:
    """Return the newest head in the answer to a changed comment, if any."""
    match exchange["received"]:
        case {
            "data": {"updateIssueComment": {"issueComment": {"pullRequest": {"number": number, "headRefOid": head}}}}
        }:
            return {(exchange["repos"][0], number): head}
        case _:
            return {}


def _head(received: Any) -> str:
    """Return the newest head in an answer, or an empty text if it was refused."""
    match received:
        case {"data": {"repository": {"pullRequest": {"headRefOid": str(head_sha)}}}}:
            return head_sha
        case _:
            return ""
