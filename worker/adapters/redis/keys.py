"""Keys in Redis: name, type and lifetime of every value, and the keys of the delayed queues.

Format: `assay:<installation id>:<kind>:<repository id>:<number>`, with ids only, since names change and contain
slashes. Keys are spelled and parsed here alone.
"""

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from worker.domain.judge_request import PullRef
from worker.domain.model import BaseHash, DeliveryId, EvalId, InstallationId, RepositoryId, Sha

KeyType = Literal["string", "hash", "list", "set", "zset", "stream"]

MONTH: Final = timedelta(days=30)
QUARTER: Final = timedelta(days=90)

REDELIVERY_TTL: Final = timedelta(days=3)
"""Period in which GitHub redelivers a delivery."""


class Key(NamedTuple):
    """*name* in Redis, *type*, and lifetime (None: unlimited)."""

    name: str
    type: KeyType
    ttl: timedelta | None

    @property
    def seconds(self) -> int:
        """Lifetime; the key must expire."""
        if self.ttl is None:
            raise ValueError(f"{self.name} stays for good")
        return int(self.ttl.total_seconds())


@dataclass(frozen=True)
class KeyKind:
    """Keys of one kind: what they are of, and the type and lifetime of each."""

    kind: str
    type: KeyType
    ttl: timedelta | None

    def _key(self, *parts: object) -> Key:
        return Key(":".join(map(str, ("assay", *parts))), self.type, self.ttl)


class OfPull(KeyKind):
    def __call__(self, ref: PullRef) -> Key:
        return self._key(ref.installation_id, self.kind, ref.repository_id, ref.number)


class OfInstallation(KeyKind):
    def __call__(self, installation: InstallationId) -> Key:
        return self._key(installation, self.kind)


class OfRepository(KeyKind):
    def __call__(self, installation: InstallationId, repository: RepositoryId) -> Key:
        return self._key(installation, self.kind, repository)


class OfCommit(KeyKind):
    def __call__(self, installation: InstallationId, repository: RepositoryId, head_sha: Sha) -> Key:
        return self._key(installation, self.kind, repository, head_sha)


class OfDelivery(KeyKind):
    def __call__(self, delivery_id: DeliveryId) -> Key:
        return self._key(self.kind, delivery_id)


class OfEvaluation(KeyKind):
    def __call__(self, eval_id: EvalId) -> Key:
        return self._key(self.kind, eval_id)


class OfName(KeyKind):
    """The name is hashed."""

    def __call__(self, name: str) -> Key:
        return self._key(self.kind, _hash_name(name))


@lru_cache(maxsize=1024)
def _hash_name(name: str) -> str:
    """Hash a name in lower case, since GitHub's names ignore case."""
    return hashlib.sha256(name.lower().encode()).hexdigest()[:32]


pull: Final = OfPull("pull", "hash", ttl=MONTH)
"""Judging state of one pull request. The lifetime starts when nothing is pending."""


def parse_pull(name: str) -> PullRef:
    """The pull request of a key of `pull`."""
    _, installation, _, repository, number = name.split(":")
    return PullRef.model_validate_strings(
        {"installation_id": installation, "repository_id": repository, "number": number}
    )


ledger: Final = OfPull("ledger", "hash", ttl=None)
"""Ledger entries of one pull request by eval id, encrypted; appended, never edited. Expires some time after the close."""

decisions: Final = OfPull("decisions", "hash", ttl=None)
"""Human decisions about heads of one pull request (overrides, contests, reviews), encrypted. Expires with its ledger."""

answered_topics: Final = OfPull("answered", "hash", ttl=MONTH)
"""Hashes of topics already answered at one pull request: no answer is repeated, and their number is limited."""

checks: Final = OfPull("checks", "hash", ttl=MONTH)
"""Open check runs of one pull request, by head."""


def check(ref: PullRef, head_sha: Sha) -> Key:
    """The check run of a head: `making <token>` (30 s) or its id."""
    return Key(f"assay:{ref.installation_id}:check:{ref.repository_id}:{ref.number}:{head_sha}", "string", ttl=MONTH)


idle_heads: Final = OfPull("resting", "set", ttl=MONTH)
"""Heads with a waiting check run; `reopening <head>`: being rewritten; `expired <head>`: see `CheckRunState.is_expiring`."""

due: Final = OfInstallation("due", "zset", ttl=None)
"""Pull requests to judge, by due time."""

pending_checks: Final = OfInstallation("opening", "zset", ttl=None)
"""Pull requests whose newest head needs its check run, by due time."""

due_outside: Final = OfInstallation("due_outside", "zset", ttl=None)
"""`due` for pull requests from forks of outside contributors."""

pending_checks_outside: Final = OfInstallation("opening_outside", "zset", ttl=None)
"""`opening` for pull requests from forks of outside contributors."""

outside_turn: Final = OfInstallation("outside_turn", "string", ttl=MONTH)
"""Time up to which turns of outside contributors' heads are taken; may be in the future."""

dispatched: Final = OfInstallation("out", "set", ttl=None)
"""Pull requests dispatched or leased, without those of `DISPATCHED_OUTSIDE`."""


@lru_cache(maxsize=1024)
def heads(installation: InstallationId, repository: RepositoryId, head_sha: Sha) -> Key:
    """Numbers of pull requests whose head is or was this commit: events about a fork's commit name none."""
    return Key(f"assay:{installation}:heads:{repository}:{head_sha}", "set", ttl=MONTH)


shared_head_states: Final = OfCommit("shown", "hash", ttl=MONTH)
"""Published state of each pull request at one commit: the state, and the texts, encrypted."""


@lru_cache(maxsize=1024)
def window(installation: InstallationId, repository: RepositoryId, base: BaseHash | None) -> Key:
    """Quiet window of the configuration at a base, in milliseconds: the web reads no configuration.

    *base* None: unknown, and nothing is stored.
    """
    return Key(f"assay:{installation}:window:{repository}:{base or 'unknown'}", "string", ttl=QUARTER)


def judged_bases(installation: InstallationId, repository: RepositoryId, base: BaseHash) -> Key:
    """Numbers of pull requests that are or were judged for a base, by last time."""
    return Key(f"assay:{installation}:into:{repository}:{base}", "zset", ttl=MONTH)


delivery: Final = OfDelivery("delivery", "string", ttl=REDELIVERY_TTL)
"""Marks a counted delivery."""

INBOX: Final = Key("assay:inbox", "list", ttl=None)
"""Deliveries that are not applied yet (`queues`)."""

INBOX_ASIDE: Final = Key("assay:inbox:aside", "list", ttl=MONTH)
"""Deliveries that could not be applied."""

received_command: Final = OfDelivery("asked", "string", ttl=REDELIVERY_TTL)
"""Marks a delivery whose command was queued. Separate from `delivery`, which counts the request that follows."""

group: Final = OfCommit("group", "string", ttl=REDELIVERY_TTL)
"""A merge group by its commit, for a later request of its check run."""

received_group: Final = OfDelivery("grouped", "string", ttl=REDELIVERY_TTL)
"""Marks a queued delivery about a merge group."""

dossier: Final = OfEvaluation("dossier", "string", ttl=MONTH)
"""Dossier of a verdict, encrypted. Its lifetime is the retention setting."""

audit: Final = OfEvaluation("audit", "string", ttl=MONTH)
"""Audit record of a verdict, encrypted. Same lifetime as its dossier."""

archived_evals: Final = OfRepository("kept", "zset", ttl=MONTH)
"""Eval ids of a repository with a stored dossier or audit record, by expiry of both."""

repository_numbers: Final = OfName("named", "set", ttl=None)
"""Ids (`installation:repository`) that a name was ever judged under."""

EVERY_NAME: Final = "assay:named:*"
"""SCAN pattern of the keys of `repository_numbers`."""

tombstone: Final = OfName("forgotten", "string", ttl=None)
"""Tombstone: when everything about a name was deleted."""


def prefix(what: str, installation: InstallationId, repository: RepositoryId) -> str:
    """Prefix of all keys of kind *what* of a repository's pull requests; *what* is one of PULL_KEY_KINDS."""
    return f"assay:{installation}:{what}:{repository}:"


def pulls_of(installation: InstallationId) -> str:
    """Prefix of the keys of `pull`; `repository:number` follows."""
    return f"assay:{installation}:pull:"


def any_pull_key(what: str) -> str:
    """SCAN pattern of the keys of kind *what* of any pull request."""
    return f"assay:*:{what}:*"


def any_installation_key(installation: InstallationId) -> str:
    """SCAN pattern of all keys of an installation."""
    return f"assay:{installation}:*"


def vault(name: str) -> Key:
    """A short-lived secret, encrypted; its writer sets the lifetime."""
    return Key(f"assay:vault:{name}", "string", ttl=timedelta(hours=1))


def token(installation: InstallationId) -> str:
    """Name of an installation's token in the vault."""
    return f"token:{installation}"


def installation_budget(installation: InstallationId, day: str) -> Key:
    """Spending of an installation on a day: `spent` in total, `repo:<id>` per repository, and the density of its replies."""
    return Key(f"assay:{installation}:purse:{day}", "hash", ttl=timedelta(days=8))


pull_request_cost: Final = OfPull("spent", "hash", ttl=None)
"""Cost of one pull request: its cap is not per day. Expires with its ledger."""


def reservation(installation: InstallationId, name: str) -> Key:
    """Reservation for one request. After its expiry it counts as spent."""
    return Key(f"assay:{installation}:reserved:{name}", "hash", ttl=timedelta(hours=1))


rate: Final = OfInstallation("rate", "hash", ttl=timedelta(hours=1))
"""Last rate limits from GitHub for an installation: `remaining reset`, by budget."""

retries: Final = OfInstallation("retries", "zset", ttl=MONTH)
"""Pull requests that wait for GitHub, by the time of their retry: one after the other."""

reconciled_page: Final = OfInstallation("swept", "string", ttl=MONTH)
"""Page of an installation's repositories at which the next sweep starts."""


def first_seen(installation: InstallationId, repository: RepositoryId) -> Key:
    """When the App first saw a repository, and the initial status of its older pull requests (number to head).

    `named`: key of its last name. `N served`: run of the Redis server in which GitHub was asked about an unrequested
    check run. Kept while the App has access; then marked `gone`.
    """
    return Key(f"assay:{installation}:arrival:{repository}:all", "hash", ttl=None)


redelivery_attempts: Final = OfName("again", "set", ttl=timedelta(days=4))
"""Attempts at a delivery, by its guid, after which redelivery was requested."""

pause: Final = OfRepository("paused", "string", ttl=None)
"""Pause of a repository: by whom, until when, and why. Expires at its end, if it has one."""

paused_heads: Final = OfRepository("shelf", "hash", ttl=QUARTER)
"""Heads of a paused repository: each pull request's key with the request to judge after the pause."""


def config(installation: InstallationId, repository: RepositoryId, base: BaseHash | None) -> Key:
    """The last valid configuration, encrypted: a repository's own at a base; None: its owner's default."""
    return Key(f"assay:{installation}:config:{repository}:{base or 'all'}", "hash", ttl=QUARTER)


events: Final = OfInstallation("events", "stream", ttl=None)
"""Events of one installation. The retention setting for events limits the age of an entry."""

events_generation: Final = OfInstallation("generation", "string", ttl=None)
"""A token of the stream's content. It goes when entries are deleted, so that each host counts the figures again."""


def retired_rollups(installation: InstallationId) -> tuple[Key, Key]:
    """Figures as earlier versions kept them in Redis. Each host counts its own from the stream."""
    return Key(f"assay:{installation}:rollup", "hash", ttl=None), Key(f"assay:{installation}:rolled", "hash", ttl=None)


def published_event(installation: InstallationId, name: str) -> Key:
    """Marks a published event, so that a redelivery does not repeat it."""
    return Key(f"assay:{installation}:told:{_hash_name(name)}", "string", ttl=MONTH)


counted_measure: Final = OfName("measured", "string", ttl=timedelta(minutes=1))
"""Marks counted metrics, so that a retry does not count twice."""

demotions: Final = OfInstallation("demoted", "hash", ttl=None)
"""Demoted signals of an installation, whose rejects were overridden too often, with their figures."""

promotions: Final = OfInstallation("promoted", "hash", ttl=None)
"""Time of each signal's last promotion by a person: its rejects count from then on."""

moving: Final = OfInstallation("moving", "list", ttl=None)
"""Entries of an installation in queues of all, as triples of key, member and value, while it moves to another cell."""

EVERY_PAUSE: Final = "assay:*:paused:*"
"""SCAN pattern of the keys of `pause`."""

EVERY_STREAM: Final = "assay:*:events"
"""SCAN pattern of all streams of events."""

run_budget: Final = OfName("book", "hash", ttl=timedelta(days=8))
"""Spent and reserved dollars of one rejudging run, or one day of shadow evaluation. The name is a hash of its owner."""

received_event: Final = OfDelivery("heard", "string", ttl=REDELIVERY_TTL)
"""Marks a delivery recorded as an event. Separate from `delivery`, since it may also cause a request."""

watch: Final = OfPull("watch", "hash", ttl=QUARTER)
"""Activity at a judged pull request: events since, and the id of its pending outcome verdict."""

outcomes: Final = OfPull("outcomes", "list", ttl=QUARTER)
"""Outcomes of one pull request, in order of arrival."""

merged_lines: Final = OfPull("added", "string", ttl=MONTH)
"""Merge of a pull request and hashes of its changed lines, encrypted, for the period in which a revert counts."""

note: Final = OfPull("note", "string", ttl=QUARTER)
"""The comment for a pull request's author: its number and node id, and the head that it is about."""


def scan_note(installation: InstallationId, repository: RepositoryId, number: int | None) -> Key:
    """Verdict of the last uploaded SARIF, by pull request; None: why a repository's was refused, from a closed set."""
    return Key(f"assay:{installation}:scanned:{repository}:{number or 'all'}", "string", ttl=QUARTER)


commit: Final = OfCommit("commit", "string", ttl=MONTH)
"""The pull request with this commit as accepted head or merge."""


def merges(installation: InstallationId, repository: RepositoryId) -> Key:
    """Merged pull requests of a repository, by time."""
    return Key(f"assay:{installation}:merges:{repository}:all", "zset", ttl=MONTH)


def issue_pulls(installation: InstallationId, name: str) -> Key:
    """Pull requests (`repository:number`) judged with this issue, by time of their first verdict; 0: none yet.

    An issue may be of another repository, so the key belongs to none; deleting a repository removes its members.
    """
    return Key(f"assay:{installation}:solving:{name}", "zset", ttl=QUARTER)


def last_change(installation: InstallationId, name: str) -> Key:
    """Number of the newest event that changed an issue, or the rules at a base, for judgings that were reading it."""
    return Key(f"assay:{installation}:changed:{name}", "string", ttl=timedelta(days=1))


def any_issue_pulls(installation: InstallationId) -> str:
    """SCAN pattern of the keys of `issue_pulls`."""
    return f"assay:{installation}:solving:*"


PULL_KEY_KINDS: Final = (
    "pull", "ledger", "checks", "check", "spent", "watch", "outcomes", "added", "commit", "merges", "heads",
    "arrival", "shown", "note", "window", "into", "resting", "config", "decisions", "answered", "group", "scanned",
)  # fmt: skip
"""Kinds of keys of a pull request, deleted with its repository."""

PAUSE_ALL: Final = Key("assay:paused", "string", ttl=None)
"""The operator's global pause: by whom, until when, and why."""

PAUSED_REPOSITORIES: Final = Key("assay:shelves", "zset", ttl=None)
"""Repositories with paused heads, by when to check for the end of the pause."""

CELLS: Final = Key("assay:cells", "hash", ttl=None)
"""Cell of each installation that is or was not in the main one, or the step of its move."""

MEASURES: Final = Key("assay:measures", "hash", ttl=None)
"""Counters of `/metrics` over all processes, under names from closed sets."""

MEASURED_INSTALLATIONS: Final = Key("assay:measures:of", "zset", ttl=None)
"""Recently judged installations, by time; those older than two days are left out."""

DUE_TURNS: Final = Key("assay:turn:due", "zset", ttl=None)
"""Installations with pull requests to judge, by turn."""

PENDING_CHECK_TURNS: Final = Key("assay:turn:opening", "zset", ttl=None)
"""Installations with check runs to open, by turn."""

DUE_OUTSIDE_TURNS: Final = Key("assay:turn:due_outside", "zset", ttl=None)
"""`DUE_TURNS` for pull requests from forks of outside contributors."""

PENDING_CHECK_OUTSIDE_TURNS: Final = Key("assay:turn:opening_outside", "zset", ttl=None)
"""`PENDING_CHECK_TURNS` for pull requests from forks of outside contributors."""

DISPATCHED: Final = Key("assay:out", "zset", ttl=None)
"""Dispatched or leased pull requests of all installations, by the end of their lease."""

DISPATCHED_OUTSIDE: Final = Key("assay:out_outside", "set", ttl=None)
"""Those of them from forks of outside contributors."""

COUNT: Final = Key("assay:count", "string", ttl=None)
"""Source of the numbers of events and fences; never restarts."""

LAST_DISPATCH: Final = Key("assay:gave", "hash", ttl=None)
"""Answer to the dispatcher's last call, so that a repeated call gets the same."""

LEADER: Final = Key("assay:leader", "string", ttl=timedelta(minutes=1))
"""The leading dispatcher; expires with its lease."""

OPEN_EVALUATIONS: Final = Key("assay:evals", "hash", ttl=None)
"""Open evaluations: their pull request, and the event to publish if they are lost."""

EVALUATION_DEADLINES: Final = Key("assay:evals:by", "zset", ttl=None)
"""Open evaluations, by when to check that their judge is alive."""

TOKENS: Final = Key("assay:tokens", "hash", ttl=None)
"""Grant of each API token, by the token's hash."""

TOKEN_NAMES: Final = Key("assay:tokens:names", "hash", ttl=None)
"""Hash of each token, by its name."""

SETUP_FOR: Final = timedelta(days=1)

SETUP: Final = Key("assay:setup", "hash", ttl=SETUP_FOR)
"""While no App is configured: hashes of the tokens that open /setup, and of the states that GitHub sends back."""

RUBRICS: Final = Key("assay:rubrics", "hash", ttl=None)
"""Content hash of each rubric id and version, since its first use."""

RECONCILED_AT: Final = Key("assay:looked", "string", ttl=timedelta(days=4))
"""When GitHub's list of deliveries was last reconciled."""

RECONCILE_PLACE: Final = Key("assay:looking", "string", ttl=timedelta(days=4))
"""Cursor of a reconciliation that was too long for one run."""

MISSED_DELIVERIES: Final = Key("assay:missed", "hash", ttl=None)
"""Missed deliveries to redeliver, by guid: numbers and times."""

RECONCILE_ROUND: Final = Key("assay:round", "string", ttl=timedelta(days=4))
"""Page of the App's installations at which the next sweep starts."""

LOOKAHEAD: Final = Key("assay:lookahead", "zset", ttl=None)
"""Pull requests with a due outcome verdict, by time; a member is the name of the `watch` key."""

ENCRYPTION_KEYS: Final = Key("assay:sealed-with", "hash", ttl=None)
"""Ids of the encryption keys in use, by the last start of a process that encrypts with each."""

UNINSTALLATIONS: Final = Key("assay:leaving", "zset", ttl=None)
"""Uninstalled installations, by when their data is deleted."""

GROUP_HOLDS: Final = Key("assay:groups:holds", "hash", ttl=None)
"""Jobs that may judge each merge group, or do."""

DEADLINES: Final = Key("assay:deadlines", "zset", ttl=None)
"""Open check runs, by deadline; a member is the name of the `check` key."""

DEADLINE_NOTES: Final = Key("assay:deadlines:of", "hash", ttl=None)
"""Pull request, head and check run of each of them."""


@dataclass(frozen=True)
class QueueKeys:
    """`order`: items by due time. `texts`: their content. `tries`: attempts at each."""

    order: Key
    texts: Key
    tries: Key

    @property
    def keys(self) -> tuple[Key, Key, Key]:
        return self.order, self.texts, self.tries


def _queue_keys(name: str) -> QueueKeys:
    order, texts, tries = f"assay:{name}", f"assay:{name}:text", f"assay:{name}:tries"
    return QueueKeys(Key(order, "zset", ttl=None), Key(texts, "hash", ttl=None), Key(tries, "hash", ttl=None))


COMMANDS: Final = _queue_keys("asks")
"""Unanswered commands."""

ADDED_REPOSITORIES: Final = _queue_keys("greetings")
"""Recently added repositories whose open pull requests were not listed yet."""

PULL_REQUEST_EVENTS: Final = _queue_keys("happenings")
"""Unprocessed pull request events: numbers and values of closed sets."""

COMMENT_JOBS: Final = _queue_keys("letters")
"""Pull requests with a pending comment for the author, by the name of the `pull` key: numbers and ids."""

SCANS: Final = _queue_keys("scans")
"""Pull requests with a pending SARIF upload, by the name of the `pull` key: numbers and ids."""

GROUPS: Final = _queue_keys("groups")
"""Unanswered merge groups: content and progress of each, and attempts since its last postponement.

Also, as `ID run` and `ID spared`: the server it was processed with, and how often that server's end interrupted it.
"""

UNCONFIRMED: Final = _queue_keys("unconfirmed")
"""Deliveries that count once GitHub was asked for head and base, by their id."""

SHARED_HEADS: Final = _queue_keys("commits")
"""Commits of several pull requests whose check runs may be out of sync, by the name of the `shown` key."""
