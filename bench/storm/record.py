"""The rules after the storm: GitHub's check runs, the ledger, the budget and the event stream agree.

Invariant: every rule is checked for every pull request, and each violation is named.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.storm.people import Conversation, People, RuledModel, cost_nano
from tests.worker.scheduling.lease_history import read_histories
from tests.worker.scheduling.traces import machine_part
from tests.world.aof import read_commands
from tests.world.fake_github import CheckRun, RepositoryState
from tests.world.pull_requests import CHECK_NAME, DRAFT_TITLE
from tests.world.redis import RedisServer
from tests.world.world import incomplete_evaluations
from worker.adapters.redis.store import Store
from worker.domain.check.check_run import external_id
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Abstain, Accept, Reject

SHOWS = {"accept": "success", "reject": "failure"}
TRIES = 3
"""After this many unfinished judgings, Assay reports a failure (docs/operating.md)."""


@dataclass
class Probes:
    """Verdicts that were in the ledgers during the storm, by key."""

    redis: RedisServer
    seen: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def record(self) -> dict[str, set[str]]:
        """Record and return the verdicts that are in the ledgers now."""
        with self.redis.client as typed:
            client: Any = typed
            now = {key: set(client.hkeys(key)) for key in _keys(client, "assay:*:ledger:*")}
        for key, verdicts in now.items():
            self.seen.setdefault(key, set()).update(verdicts)
        return now

    def lost(self) -> Iterator[str]:
        now = self.record()
        for key, before in self.seen.items():
            yield from (f"a verdict was lost: {eval_id} of {key}" for eval_id in sorted(before - now.get(key, set())))


@dataclass(frozen=True)
class Ending:
    """Everything at the end, read once."""

    people: People
    states: Mapping[str, RepositoryState]
    ledgers: Mapping[int, tuple[LedgerEntry, ...]]
    overridden: frozenset[tuple[int, str]]
    cut_short: frozenset[tuple[str, int]]

    @classmethod
    def read(cls, people: People, store: Store, cut_short: frozenset[tuple[str, int]]) -> "Ending":
        all_of = people.conversations.values()
        overridden = {
            (conversation.number, head)
            for conversation in all_of
            for head in conversation.heads
            if store.decisions.find_decisions(conversation.ref, head).override
        }
        return cls(
            people,
            {repository.name: people.github.state(repository.name) for repository in people.repositories},
            {conversation.number: store.ledger.entries(conversation.ref) for conversation in all_of},
            frozenset(overridden),
            cut_short,
        )

    def violations(self) -> Iterator[str]:
        for conversation in self.people.conversations.values():
            yield from self._of_pull(conversation)
            yield from self._of_groups(conversation)
        for state in self.states.values():
            yield from (f"left open: {_shown(run)}" for run in state["check_runs"] if _is_open(run))

    def _of_pull(self, conversation: Conversation) -> Iterator[str]:
        runs = self._runs(conversation)
        for head, head_runs in runs.items():
            yield from (
                [f"{conversation.name} has {len(head_runs)} check runs at {head[:7]}"] if len(head_runs) > 1 else []
            )
            for run in head_runs:
                yield from self._of_run(conversation, run)
        if conversation.is_open and not conversation.is_draft:
            yield from self._of_newest(conversation, runs.get(conversation.newest, []))
        yield from self._paid_once(conversation)

    def _of_newest(self, conversation: Conversation, runs: list[CheckRun]) -> Iterator[str]:
        allowed = conversation.heads[conversation.newest].deserved
        if (conversation.number, conversation.newest) in self.overridden:
            allowed = frozenset({"neutral"})
        elif (conversation.pull.repository.name, conversation.pull.number) in self.cut_short and not any(
            entry.head_sha == conversation.newest for entry in self.ledgers[conversation.number]
        ):  # too many judgings in a row did not finish
            allowed = frozenset({"action_required"})
        states = [(run["status"], run["conclusion"]) for run in runs]
        if len(states) != 1 or states[0][0] != "completed" or states[0][1] not in allowed:
            titles = [run["output"]["title"] for run in runs]
            yield f"{conversation.name}: its newest head {conversation.newest[:7]} says {states} {titles}, and deserves {sorted(allowed)}"
            for entry in self.ledgers[conversation.number][-3:]:
                verdict, why = entry.verdict, entry.verdict.abstain_reason or entry.verdict.category or ""
                yield f"    {entry.head_sha[:7]} fence {entry.fence} {verdict.decision} {why}: {verdict.concern[:160]}"

    def _of_run(self, conversation: Conversation, run: CheckRun) -> Iterator[str]:
        """Each conclusion has a verdict."""
        conclusion, head = run["conclusion"], run["head_sha"]
        verdicts = {entry.eval_id: entry for entry in self.ledgers[conversation.number]}
        kind = {"success": Accept, "failure": Reject}.get(conclusion or "")
        if kind and not any(isinstance(e.verdict, kind) and e.head_sha == head for e in verdicts.values()):
            yield f"{conversation.name}: {conclusion} at {head[:7]}, and no such verdict is on record: {_shown(run)}"
        if kind and (part := machine_part(run)) and part["eval_id"] not in verdicts:
            yield f"{conversation.name}: shows {part['eval_id']}, which is not on record"
        if kind and head in conversation.heads and conclusion not in conversation.heads[head].deserved:
            yield f"{conversation.name}: {conclusion} at {head[:7]}, which deserves {sorted(conversation.heads[head].deserved)}"

    def _of_groups(self, conversation: Conversation) -> Iterator[str]:
        entries = self.ledgers[conversation.number]
        for group in conversation.groups:
            group_runs = [run for run in self._all_runs(conversation) if run["head_sha"] == group.sha]
            if len(group_runs) > 1:
                yield f"{conversation.name}: {len(group_runs)} check runs at its merge group {group.sha[:7]}"
            kinds = [SHOWS.get(entry.verdict.decision) for entry in entries]
            yield from (
                f"{conversation.name}: merge group {_shown(run)}, and no such verdict is on record"
                for run in group_runs
                if run["conclusion"] == "success" and "success" not in kinds
            )

    def _paid_once(self, conversation: Conversation) -> Iterator[str]:
        """One content of one pull request is judged by a model once: no one here forces another judging."""
        paid = Counter(
            entry.fingerprint
            for entry in self.ledgers[conversation.number]
            if entry.verdict.judge_cost_usd
            and entry.verdict.carried_from is None
            and entry.verdict.parent_eval_id is None
            and not isinstance(entry.verdict, Abstain)
        )
        yield from (f"{conversation.name}: paid {n} times for {content}" for content, n in paid.items() if n > 1)

    def _runs(self, conversation: Conversation) -> dict[str, list[CheckRun]]:
        ours, runs = external_id(conversation.pull.number), dict[str, list[CheckRun]]()
        for run in self._all_runs(conversation):
            if run["external_id"] == ours:
                runs.setdefault(run["head_sha"], []).append(run)
        return runs

    def _all_runs(self, conversation: Conversation) -> Iterable[CheckRun]:
        runs = self.states[conversation.pull.repository.name]["check_runs"]
        return [run for run in runs if run["name"] == CHECK_NAME]


def cut_short(log: Iterable[Mapping[str, Any]]) -> frozenset[tuple[str, int]]:
    """Return the pull requests (repository, number) of which, by the log, too many judgings in a row did not finish.

    Not by head, since a requested correction names none.
    """
    begun, short = dict[tuple[str, int], set[int]](), set[tuple[str, int]]()
    for line in log:
        match line.get("event"):
            case "judging started":
                pull = (line["repository"], line["number"])
                begun.setdefault(pull, set()).add(line["fence"])
                if len(begun[pull]) > TRIES:  # the last one reports it
                    short.add(pull)
            case "judging ended" if line["answer"] != "lost":
                begun.pop((line["repository"], line["number"]), None)
            case _:
                pass
    return frozenset(short)


def of_the_file(ending: Ending, redis: RedisServer, lease_ms: float) -> Iterator[str]:
    """Yield violations of leases in Redis' file: fences grow, and no entry is recorded without a lease."""
    children = {entry.eval_id for all_of in ending.ledgers.values() for entry in all_of if entry.verdict.parent_eval_id}
    for history in read_histories(read_commands(redis.folder), lease_ms).values():
        yield from (wrong for wrong in history.violations if not any(name in wrong for name in children))


def of_the_stream(people: People, redis: RedisServer) -> Iterator[str]:
    """Yield the evaluations that did not begin and end exactly once."""
    with redis.client as client:
        for number in {people.installation(repository) for repository in people.repositories}:
            ours = {repository.id for repository in people.repositories if people.installation(repository) == number}
            incomplete = incomplete_evaluations(client, ours, number)
            yield from (f"an evaluation does not end once: {evaluation}" for evaluation in incomplete)


@dataclass
class Books:
    """The budget in Redis. `heard`: settled at an answer's cost; `bound`: spent in full; `free`: returned."""

    spent: int = 0
    of_pulls: int = 0
    heard: int = 0
    bound: int = 0
    bound_nano: int = 0
    free: int = 0
    other: list[str] = field(default_factory=list[str])

    @classmethod
    def read(cls, redis: RedisServer) -> "Books":
        made, each = cls(), cost_nano()
        with redis.client as client:
            made.spent = sum(_hash(client, key, "spent") for key in _keys(client, "assay:*:purse:*"))
            made.of_pulls = sum(_hash(client, key, "spent") for key in _keys(client, "assay:*:spent:*"))
            for key in _keys(client, "assay:*:reserved:*"):
                amount, settled = _hash(client, key, "amount"), _hash(client, key, "settled", -1)
                made._add(key, amount, settled, each)
        return made

    def violations(self, model: RuledModel) -> Iterator[str]:
        """Yield what is spent twice or not booked."""
        booked = self.heard * cost_nano() + self.bound_nano
        if self.spent != booked:
            yield f"the budget says {self.spent}, its reservations {booked}"
        if self.of_pulls != self.spent:
            yield f"the budget says {self.spent}, the pull requests together {self.of_pulls}"
        if self.heard > model.billed - model.lost:
            yield f"{self.heard} answers are booked at their price, {model.billed - model.lost} were given"
        if self.heard + self.bound < model.billed:
            yield f"{model.billed} answers were billed, {self.heard + self.bound} are booked"
        yield from self.other

    def _add(self, key: str, amount: int, settled: int, each: int) -> None:
        if settled == each:
            self.heard += 1
        elif settled in {-1, amount}:
            self.bound, self.bound_nano = self.bound + 1, self.bound_nano + amount
        elif settled == 0:
            self.free += 1
        else:
            self.other.append(f"{key} was settled for {settled}; an answer costs {each}")


def _keys(client: Any, pattern: str) -> list[str]:
    return list(client.scan_iter(match=pattern, count=1000))


def _hash(client: Any, key: str, name: str, default: int = 0) -> int:
    return int(client.hget(key, name) or default)


def _is_open(run: CheckRun) -> bool:
    return run["name"] == CHECK_NAME and run["status"] != "completed" and run["output"]["title"] != DRAFT_TITLE


def _shown(run: CheckRun) -> str:
    return f"{run['external_id']} {run['head_sha'][:7]} {run['status']} {run['conclusion']} {run['output']['title']}"
