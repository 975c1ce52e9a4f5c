"""What must hold when the storm is over: GitHub's check runs, the ledger, the purse and the stream, held against each other.

Does not wait and changes nothing. Invariant: every check is made for every pull request, and names what it found wrong.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.storm.people import Conversation, Crowd, RuledModel, cost_nano
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
"""After so many judges that came to no end Assay says that it failed, as docs/operating.md has it."""


@dataclass
class Probes:
    """Verdicts that the ledger had when somebody looked, by its key. A look costs nothing that matters."""

    redis: RedisServer
    seen: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def look(self) -> dict[str, set[str]]:
        """What is there now."""
        with self.redis.client as typed:
            client: Any = typed
            now = {key: set(client.hkeys(key)) for key in _keys(client, "assay:*:ledger:*")}
        for key, verdicts in now.items():
            self.seen.setdefault(key, set()).update(verdicts)
        return now

    def lost(self) -> Iterator[str]:
        now = self.look()
        for key, before in self.seen.items():
            yield from (f"a verdict was lost: {one} of {key}" for one in sorted(before - now.get(key, set())))


@dataclass(frozen=True)
class Ending:
    """Everything at the end, read once."""

    crowd: Crowd
    states: Mapping[str, RepositoryState]
    ledgers: Mapping[int, tuple[LedgerEntry, ...]]
    overridden: frozenset[tuple[int, str]]
    cut_short: frozenset[tuple[str, int]]

    @classmethod
    def read(cls, crowd: Crowd, store: Store, cut_short: frozenset[tuple[str, int]]) -> "Ending":
        all_of = crowd.conversations.values()
        overridden = {
            (one.number, head)
            for one in all_of
            for head in one.heads
            if store.decisions.find_decisions(one.ref, head).override
        }
        return cls(
            crowd,
            {one.name: crowd.github.state(one.name) for one in crowd.repositories},
            {one.number: store.ledger.entries(one.ref) for one in all_of},
            frozenset(overridden),
            cut_short,
        )

    def violations(self) -> Iterator[str]:
        for one in self.crowd.conversations.values():
            yield from self._of_pull(one)
            yield from self._of_groups(one)
        for state in self.states.values():
            yield from (f"left open: {_shown(run)}" for run in state["check_runs"] if _is_open(run))

    def _of_pull(self, one: Conversation) -> Iterator[str]:
        runs = self._runs(one)
        for head, found in runs.items():
            yield from [f"{one.name} has {len(found)} check runs at {head[:7]}"] if len(found) > 1 else []
            for run in found:
                yield from self._of_run(one, run)
        if one.is_open and not one.is_draft:
            yield from self._of_newest(one, runs.get(one.newest, []))
        yield from self._paid_once(one)

    def _of_newest(self, one: Conversation, runs: list[CheckRun]) -> Iterator[str]:
        allowed = one.heads[one.newest].deserved
        if (one.number, one.newest) in self.overridden:
            allowed = frozenset({"neutral"})
        elif (one.pull.repository.name, one.pull.number) in self.cut_short and not any(
            entry.head_sha == one.newest for entry in self.ledgers[one.number]
        ):  # so many of its judges in a row were killed that Assay has to say so
            allowed = frozenset({"action_required"})
        said = [(run["status"], run["conclusion"]) for run in runs]
        if len(said) != 1 or said[0][0] != "completed" or said[0][1] not in allowed:
            words = [run["output"]["title"] for run in runs]
            yield f"{one.name}: its newest head {one.newest[:7]} says {said} {words}, and deserves {sorted(allowed)}"
            for entry in self.ledgers[one.number][-3:]:
                verdict, why = entry.verdict, entry.verdict.abstain_reason or entry.verdict.category or ""
                yield f"    {entry.head_sha[:7]} fence {entry.fence} {verdict.decision} {why}: {verdict.concern[:160]}"

    def _of_run(self, one: Conversation, run: CheckRun) -> Iterator[str]:
        """Nothing is concluded that nobody judged."""
        said, head = run["conclusion"], run["head_sha"]
        verdicts = {entry.eval_id: entry for entry in self.ledgers[one.number]}
        kind = {"success": Accept, "failure": Reject}.get(said or "")
        if kind and not any(isinstance(e.verdict, kind) and e.head_sha == head for e in verdicts.values()):
            yield f"{one.name}: {said} at {head[:7]}, and no such verdict is on record: {_shown(run)}"
        if kind and (part := machine_part(run)) and part["eval_id"] not in verdicts:
            yield f"{one.name}: shows {part['eval_id']}, which is not on record"
        if kind and head in one.heads and said not in one.heads[head].deserved:
            yield f"{one.name}: {said} at {head[:7]}, which deserves {sorted(one.heads[head].deserved)}"

    def _of_groups(self, one: Conversation) -> Iterator[str]:
        entries = self.ledgers[one.number]
        for group in one.groups:
            found = [run for run in self._all_runs(one) if run["head_sha"] == group.sha]
            if len(found) > 1:
                yield f"{one.name}: {len(found)} check runs at its merge group {group.sha[:7]}"
            kinds = [SHOWS.get(entry.verdict.decision) for entry in entries]
            yield from (
                f"{one.name}: merge group {_shown(run)}, and no such verdict is on record"
                for run in found
                if run["conclusion"] == "success" and "success" not in kinds
            )

    def _paid_once(self, one: Conversation) -> Iterator[str]:
        """One content of one pull request is judged by a model once: nobody here forces another judging."""
        paid = Counter(
            entry.fingerprint
            for entry in self.ledgers[one.number]
            if entry.verdict.judge_cost_usd
            and entry.verdict.carried_from is None
            and entry.verdict.parent_eval_id is None
            and not isinstance(entry.verdict, Abstain)
        )
        yield from (f"{one.name}: paid {n} times for {content}" for content, n in paid.items() if n > 1)

    def _runs(self, one: Conversation) -> dict[str, list[CheckRun]]:
        ours, found = external_id(one.pull.number), dict[str, list[CheckRun]]()
        for run in self._all_runs(one):
            if run["external_id"] == ours:
                found.setdefault(run["head_sha"], []).append(run)
        return found

    def _all_runs(self, one: Conversation) -> Iterable[CheckRun]:
        runs = self.states[one.pull.repository.name]["check_runs"]
        return [run for run in runs if run["name"] == CHECK_NAME]


def cut_short(log: Iterable[Mapping[str, Any]]) -> frozenset[tuple[str, int]]:
    """The pull requests (repository, number) of which, by the product's log, so many judgings in a row came to no end.

    Not by head: whoever is asked for to set something right is told of none.
    """
    begun, short = dict[tuple[str, int], set[int]](), set[tuple[str, int]]()
    for line in log:
        match line.get("event"):
            case "judging started":
                pull = (line["repository"], line["number"])
                begun.setdefault(pull, set()).add(line["fence"])
                if len(begun[pull]) > TRIES:  # the one more says so
                    short.add(pull)
            case "judging ended" if line["answer"] != "lost":
                begun.pop((line["repository"], line["number"]), None)
            case _:
                pass
    return frozenset(short)


def of_the_file(ending: Ending, redis: RedisServer, lease_ms: float) -> Iterator[str]:
    """Who held what, by all that Redis ever wrote: fences grow, and nobody records without holding."""
    beside = {entry.eval_id for all_of in ending.ledgers.values() for entry in all_of if entry.verdict.parent_eval_id}
    for docket in read_histories(read_commands(redis.folder), lease_ms).values():
        yield from (wrong for wrong in docket.violations if not any(name in wrong for name in beside))


def of_the_stream(crowd: Crowd, redis: RedisServer) -> Iterator[str]:
    """Evaluations that did not begin and end exactly once."""
    with redis.client as client:
        for number in {crowd.installation(one) for one in crowd.repositories}:
            ours = {one.id for one in crowd.repositories if crowd.installation(one) == number}
            yield from (f"an evaluation has no one end: {one}" for one in incomplete_evaluations(client, ours, number))


@dataclass
class Books:
    """The purse, as Redis has it. *heard* settled for what an answer costs, *bound* stays spent whole, *free* came back."""

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
                made._takes(key, amount, settled, each)
        return made

    def violations(self, model: RuledModel) -> Iterator[str]:
        """Nothing is spent twice, and nothing is spent that is not booked."""
        booked = self.heard * cost_nano() + self.bound_nano
        if self.spent != booked:
            yield f"the purse says {self.spent}, its reservations {booked}"
        if self.of_pulls != self.spent:
            yield f"the purse says {self.spent}, the pull requests together {self.of_pulls}"
        if self.heard > model.billed - model.lost:
            yield f"{self.heard} answers are booked at their price, {model.billed - model.lost} were given"
        if self.heard + self.bound < model.billed:
            yield f"{model.billed} answers were billed, {self.heard + self.bound} are booked"
        yield from self.other

    def _takes(self, key: str, amount: int, settled: int, each: int) -> None:
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
