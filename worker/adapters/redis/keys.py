"""Where every value lives in Redis (what waits in a line: `worker.adapters.redis.keys`): its name, its type, and how long it stays.

`assay:<installation id>:<what>:<repository id>:<number>`: numbers only, since names change and hold
slashes. Does not read or write anything. Invariant: no key is spelled elsewhere, and none is parsed:
scripts get them as KEYS. One deviation: a script that serves whichever installation is next learns
the installation inside Redis, so `lua/pull.lua` puts the names of `due`, `opening` and `out`
together from the pull's field `inst`; a test holds both spellings together.
"""

import hashlib
from datetime import timedelta
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from worker.domain.ids import BaseHash, DeliveryId, EvalId, InstallationId, RepositoryId, Sha
from worker.domain.request.judge_request import PullRef
from worker.domain.value import Value

KeyType = Literal["string", "hash", "list", "set", "zset", "stream"]

MONTH: Final = timedelta(days=30)
QUARTER: Final = timedelta(days=90)

REDELIVERY_TTL: Final = timedelta(days=3)
"""As long as GitHub delivers anything again."""


class Key(NamedTuple):
    """*name* in Redis, its *type*, how long it stays (None: for good)."""

    name: str
    type: KeyType
    ttl: timedelta | None


def pull(ref: PullRef) -> Key:
    """State of one pull request's judging. The time to live starts when nothing is left to do."""
    return Key(f"assay:{_of_pull(ref, 'pull')}", "hash", ttl=MONTH)


def ledger(ref: PullRef) -> Key:
    """Entries of one pull request by eval id, encrypted; appended, never edited. Goes some time after it was closed."""
    return Key(f"assay:{_of_pull(ref, 'ledger')}", "hash", ttl=None)


def decisions(ref: PullRef) -> Key:
    """What people said about heads of one pull request (overrides, contests, reviews), encrypted. Goes with its ledger."""
    return Key(f"assay:{_of_pull(ref, 'decisions')}", "hash", ttl=None)


def answered_topics(ref: PullRef) -> Key:
    """Whom we answered about what at one pull request, as hashes: nobody is told the same twice, and nobody for ever."""
    return Key(f"assay:{_of_pull(ref, 'answered')}", "hash", ttl=MONTH)


def checks(ref: PullRef) -> Key:
    """Check runs of one pull request that are open, by head."""
    return Key(f"assay:{_of_pull(ref, 'checks')}", "hash", ttl=MONTH)


def check(ref: PullRef, head_sha: Sha) -> Key:
    """The one check run of a head: `making <token>` (30 s) or its id."""
    return Key(f"assay:{ref.installation_id}:check:{ref.repository_id}:{ref.number}:{head_sha}", "string", ttl=MONTH)


def idle_heads(ref: PullRef) -> Key:
    """Heads whose open check run waits for a judge; `reopening <head>`: that is being written; `expired <head>`: see check_expired."""
    return Key(f"assay:{_of_pull(ref, 'resting')}", "set", ttl=MONTH)


def due(installation: InstallationId) -> Key:
    """Pull requests to judge, by when."""
    return Key(f"assay:{installation}:due", "zset", ttl=None)


def pending_checks(installation: InstallationId) -> Key:
    """Pull requests whose newest head still needs its check run, by when."""
    return Key(f"assay:{installation}:opening", "zset", ttl=None)


def due_outside(installation: InstallationId) -> Key:
    """The same as `due` of what strangers opened from forks."""
    return Key(f"assay:{installation}:due_outside", "zset", ttl=None)


def pending_checks_outside(installation: InstallationId) -> Key:
    """The same as `opening` of what strangers opened from forks."""
    return Key(f"assay:{installation}:opening_outside", "zset", ttl=None)


def outside_turn(installation: InstallationId) -> Key:
    """Until when heads that strangers pushed have taken their turns, which may be ahead of the time."""
    return Key(f"assay:{installation}:outside_turn", "string", ttl=MONTH)


def dispatched(installation: InstallationId) -> Key:
    """Pull requests given to the queue or held by a judge, without those of `DISPATCHED_OUTSIDE`."""
    return Key(f"assay:{installation}:out", "set", ttl=None)


@lru_cache(maxsize=1024)
def heads(installation: InstallationId, repository: RepositoryId, head_sha: Sha) -> Key:
    """Numbers of the pull requests whose head this commit is or was: what tells of a fork's commit names none."""
    return Key(f"assay:{installation}:heads:{repository}:{head_sha}", "set", ttl=MONTH)


def shared_head_states(installation: InstallationId, repository: RepositoryId, head_sha: Sha) -> Key:
    """What the checks of one commit say, by pull request, each by itself: the state in a word, and the texts, encrypted."""
    return Key(f"assay:{installation}:shown:{repository}:{head_sha}", "hash", ttl=MONTH)


@lru_cache(maxsize=1024)
def window(installation: InstallationId, repository: RepositoryId, base: BaseHash | None) -> Key:
    """The quiet window that the configuration at a base sets, in milliseconds: the door reads no configuration.

    *base* None: not known, and nothing is kept of it.
    """
    return Key(f"assay:{installation}:window:{repository}:{base or 'unknown'}", "string", ttl=QUARTER)


def judged_bases(installation: InstallationId, repository: RepositoryId, base: BaseHash) -> Key:
    """Numbers of the pull requests that are or were judged for a base, by when that was last."""
    return Key(f"assay:{installation}:into:{repository}:{base}", "zset", ttl=MONTH)


def delivery(delivery_id: DeliveryId) -> Key:
    """This delivery was counted."""
    return Key(f"assay:delivery:{delivery_id}", "string", ttl=REDELIVERY_TTL)


def received_command(delivery_id: DeliveryId) -> Key:
    """This delivery's command was taken down. Apart from `delivery`: the request that follows counts there."""
    return Key(f"assay:asked:{delivery_id}", "string", ttl=REDELIVERY_TTL)


def group(installation: InstallationId, repository: RepositoryId, head_sha: Sha) -> Key:
    """What a merge group is, by its commit, so that somebody may ask for its check again."""
    return Key(f"assay:{installation}:group:{repository}:{head_sha}", "string", ttl=REDELIVERY_TTL)


def received_group(delivery_id: DeliveryId) -> Key:
    """This delivery about a merge group was taken down."""
    return Key(f"assay:grouped:{delivery_id}", "string", ttl=REDELIVERY_TTL)


def dossier(eval_id: EvalId) -> Key:
    """What a verdict was made from, encrypted. The setting of the retention says how long it stays."""
    return Key(f"assay:dossier:{eval_id}", "string", ttl=MONTH)


def audit(eval_id: EvalId) -> Key:
    """How a verdict came about, encrypted. Stays as long as its dossier."""
    return Key(f"assay:audit:{eval_id}", "string", ttl=MONTH)


def archived_evals(installation: InstallationId, repository: RepositoryId) -> Key:
    """Eval ids of a repository whose dossier or audit is kept, by when both are gone."""
    return Key(f"assay:{installation}:kept:{repository}", "zset", ttl=MONTH)


@lru_cache(maxsize=1024)
def repository_numbers(name: str) -> Key:
    """Which numbers (`installation:repository`) were ever judged under a name; the name itself is not in it."""
    return Key(f"assay:named:{_of_name(name)}", "set", ttl=None)


def any_repository_numbers() -> str:
    """SCAN's pattern for the keys that `named` makes."""
    return "assay:named:*"


def tombstone(name: str) -> Key:
    """When all about a name was forgotten: the tombstone, and all that is left."""
    return Key(f"assay:forgotten:{_of_name(name)}", "string", ttl=None)


def prefix(what: str, installation: InstallationId, repository: RepositoryId) -> str:
    """How the names of all keys that hold *what* of a repository's pull requests begin; *what* is one of PULL_KEY_KINDS."""
    return f"assay:{installation}:{what}:{repository}:"


def pulls_of(installation: InstallationId) -> str:
    """How the names of the keys that `pull` makes begin; `repository:number` follows."""
    return f"assay:{installation}:pull:"


def any_pull_key(what: str) -> str:
    """SCAN's pattern for the keys that hold *what* of any pull request."""
    return f"assay:*:{what}:*"


def any_installation_key(installation: InstallationId) -> str:
    """SCAN's pattern for all keys of an installation."""
    return f"assay:{installation}:*"


def vault(name: str) -> Key:
    """A short-lived secret, encrypted; whoever puts it says for how long."""
    return Key(f"assay:vault:{name}", "string", ttl=timedelta(hours=1))


def token(installation: InstallationId) -> str:
    """Under which name the vault has an installation's token."""
    return f"token:{installation}"


def installation_budget(installation: InstallationId, day: str) -> Key:
    """What an installation spends on a day: `spent` in all, `repo:<id>` of each repository, and what its replies say."""
    return Key(f"assay:{installation}:purse:{day}", "hash", ttl=timedelta(days=8))


def pull_request_cost(ref: PullRef) -> Key:
    """What one pull request has cost: its cap has no day. Goes with its ledger."""
    return Key(f"assay:{_of_pull(ref, 'spent')}", "hash", ttl=None)


def reservation(installation: InstallationId, name: str) -> Key:
    """Money set aside for one request. Once this is gone nobody gets any of it back: it counts as spent."""
    return Key(f"assay:{installation}:reserved:{name}", "hash", ttl=timedelta(hours=1))


def rate(installation: InstallationId) -> Key:
    """What GitHub said last of an installation's rate limits: `remaining reset`, by budget."""
    return Key(f"assay:{installation}:rate", "hash", ttl=timedelta(hours=1))


def retries(installation: InstallationId) -> Key:
    """Pull requests that wait until GitHub answers again, by when it is tried: one after the other."""
    return Key(f"assay:{installation}:retries", "zset", ttl=MONTH)


def reconciled_page(installation: InstallationId) -> Key:
    """Which page of an installation's repositories the next sweep begins with."""
    return Key(f"assay:{installation}:swept", "string", ttl=MONTH)


def first_seen(installation: InstallationId, repository: RepositoryId) -> Key:
    """Since when the App sees a repository, and at which head each pull request from before was greeted, by number.

    `named`: the key of what it was called when it was seen last.
    As `N served`: in which run of Redis' server GitHub was asked about the check of one that nobody asked for.
    Stays as long as the App sees it; then it says that it is `gone`.
    """
    return Key(f"assay:{installation}:arrival:{repository}:all", "hash", ttl=None)


def redelivery_attempts(guid: str) -> Key:
    """The attempts at a delivery after which it was asked for again."""
    return Key(f"assay:again:{_of_name(guid)}", "set", ttl=timedelta(days=4))


def pause(installation: InstallationId, repository: RepositoryId) -> Key:
    """Somebody stopped all judging in this repository: who, until when, and why. Ends by itself where it was given an end."""
    return Key(f"assay:{installation}:paused:{repository}", "string", ttl=None)


def paused_heads(installation: InstallationId, repository: RepositoryId) -> Key:
    """Heads of a repository that nobody judged while it was paused: each pull request's key with the request to judge it then."""
    return Key(f"assay:{installation}:shelf:{repository}", "hash", ttl=QUARTER)


def config(installation: InstallationId, repository: RepositoryId, base: BaseHash | None) -> Key:
    """The last configuration that could be used, encrypted: a repository's own at a base; None: its owner's default."""
    return Key(f"assay:{installation}:config:{repository}:{base or 'all'}", "hash", ttl=QUARTER)


def events(installation: InstallationId) -> Key:
    """What happened, of one installation. The setting of the events' retention says how long an entry stays."""
    return Key(f"assay:{installation}:events", "stream", ttl=None)


def rollup(installation: InstallationId) -> Key:
    """What the events of an installation add up to, by hour, by day and by table. Can be dropped and counted again."""
    return Key(f"assay:{installation}:rollup", "hash", ttl=None)


def pull_rollups(installation: InstallationId) -> Key:
    """What figures remember of each pull request, by `repository/number`. Goes with the rollup."""
    return Key(f"assay:{installation}:rolled", "hash", ttl=None)


def published_event(installation: InstallationId, name: str) -> Key:
    """This happening is on the stream: a delivery that comes again tells nothing new."""
    return Key(f"assay:{installation}:told:{_of_name(name)}", "string", ttl=MONTH)


def counted_measure(name: str) -> Key:
    """These numbers were added up: an answer that was lost adds nothing twice."""
    return Key(f"assay:measured:{_of_name(name)}", "string", ttl=timedelta(minutes=1))


def demotions(installation: InstallationId) -> Key:
    """Signals that are suspicions here, since their rejects were taken back too often: each with its figures."""
    return Key(f"assay:{installation}:demoted", "hash", ttl=None)


def promotions(installation: InstallationId) -> Key:
    """When a person made a signal a fact again: its rejects are counted from then on."""
    return Key(f"assay:{installation}:promoted", "hash", ttl=None)


def any_pause() -> str:
    """SCAN's pattern for the keys that `paused` makes."""
    return "assay:*:paused:*"


EVERY_STREAM: Final = "assay:*:events"
"""SCAN's pattern for all streams of events."""


def run_budget(name: str) -> Key:
    """What one run of judgings anew, or one day of a canary, has cost, and holds. The name is a hash of whose it is."""
    return Key(f"assay:book:{_of_name(name)}", "hash", ttl=timedelta(days=8))


def received_event(delivery_id: DeliveryId) -> Key:
    """This delivery was noted down as something that happened. Apart from `delivery`: a request may come of it, too."""
    return Key(f"assay:heard:{delivery_id}", "string", ttl=REDELIVERY_TTL)


def watch(ref: PullRef) -> Key:
    """What goes on at a pull request that was judged: events since, and which verdict on the whole of it is under way."""
    return Key(f"assay:{_of_pull(ref, 'watch')}", "hash", ttl=QUARTER)


def outcomes(ref: PullRef) -> Key:
    """What came of one pull request, in the order in which it was heard."""
    return Key(f"assay:{_of_pull(ref, 'outcomes')}", "list", ttl=QUARTER)


def merged_lines(ref: PullRef) -> Key:
    """That a pull request was merged, and the hashes of the lines that it changed, encrypted: as long as a revert counts."""
    return Key(f"assay:{_of_pull(ref, 'added')}", "string", ttl=MONTH)


def note(ref: PullRef) -> Key:
    """The one comment that tells a pull request's author what to do next: its number and name, and which head it tells of."""
    return Key(f"assay:{_of_pull(ref, 'note')}", "string", ttl=QUARTER)


def scan_note(installation: InstallationId, repository: RepositoryId, number: int | None) -> Key:
    """Of which verdict SARIF was sent last, by pull request; None: why a repository's was not taken, in a word of a closed set."""
    return Key(f"assay:{installation}:scanned:{repository}:{number or 'all'}", "string", ttl=QUARTER)


def commit(installation: InstallationId, repository: RepositoryId, head_sha: Sha) -> Key:
    """Whose accepted head, or whose merge, this commit is."""
    return Key(f"assay:{installation}:commit:{repository}:{head_sha}", "string", ttl=MONTH)


def merges(installation: InstallationId, repository: RepositoryId) -> Key:
    """Pull requests of a repository that were merged, by when."""
    return Key(f"assay:{installation}:merges:{repository}:all", "zset", ttl=MONTH)


def issue_pulls(installation: InstallationId, name: str) -> Key:
    """Pull requests (`repository:number`) that are or were judged and close this issue, by when the first verdict came; 0: none did yet.

    An issue of another repository, too: so it is no repository's, and whoever forgets one takes its members out.
    """
    return Key(f"assay:{installation}:solving:{name}", "zset", ttl=QUARTER)


def last_change(installation: InstallationId, name: str) -> Key:
    """The number of the newest event that changed an issue, or the rules at a base: for who was reading them just then."""
    return Key(f"assay:{installation}:changed:{name}", "string", ttl=timedelta(days=1))


def any_issue_pulls(installation: InstallationId) -> str:
    """SCAN's pattern for the keys that `solving` makes."""
    return f"assay:{installation}:solving:*"


PULL_KEY_KINDS: Final = (
    "pull", "ledger", "checks", "check", "spent", "watch", "outcomes", "added", "commit", "merges", "heads",
    "arrival", "shown", "note", "window", "into", "resting", "config", "decisions", "answered", "group", "scanned",
)  # fmt: skip
"""What is kept of a pull request, and goes when its repository is forgotten."""

PAUSE_ALL: Final = Key("assay:paused", "string", ttl=None)
"""The operator stopped all judging: who, until when, and why."""

PAUSED_REPOSITORIES: Final = Key("assay:shelves", "zset", ttl=None)
"""Repositories with heads that nobody judged for a pause, by when to look whether it is over."""

MEASURES: Final = Key("assay:measures", "hash", ttl=None)
"""What `/metrics` counts, of all processes together: numbers under names of closed sets."""

MEASURED_INSTALLATIONS: Final = Key("assay:measures:of", "zset", ttl=None)
"""Installations that were judged lately, by when; older than two days they are left out."""

DUE_TURNS: Final = Key("assay:turn:due", "zset", ttl=None)
"""Installations with something to judge, by whose turn it is."""

PENDING_CHECK_TURNS: Final = Key("assay:turn:opening", "zset", ttl=None)
"""Installations with check runs to open, by whose turn it is."""

DUE_OUTSIDE_TURNS: Final = Key("assay:turn:due_outside", "zset", ttl=None)
"""The same as `DUE_TURNS` of what strangers opened from forks."""

PENDING_CHECK_OUTSIDE_TURNS: Final = Key("assay:turn:opening_outside", "zset", ttl=None)
"""The same as `PENDING_CHECK_TURNS` of what strangers opened from forks."""

DISPATCHED: Final = Key("assay:out", "zset", ttl=None)
"""Pull requests of all installations given or held, by the end of their lease."""

DISPATCHED_OUTSIDE: Final = Key("assay:out_outside", "set", ttl=None)
"""Those of them that strangers opened from forks."""

COUNT: Final = Key("assay:count", "string", ttl=None)
"""Gives every event and every fence its number; never restarts."""

LAST_DISPATCH: Final = Key("assay:gave", "hash", ttl=None)
"""What the dispatcher's last call was given, so that the same call again gets the same."""

LEADER: Final = Key("assay:leader", "string", ttl=timedelta(minutes=1))
"""The dispatcher that dispatches; lives as long as its lease."""

OPEN_EVALUATIONS: Final = Key("assay:evals", "hash", ttl=None)
"""Evaluations that were begun and not ended: whose they are, and what is told if they are lost."""

EVALUATION_DEADLINES: Final = Key("assay:evals:by", "zset", ttl=None)
"""When to look whether the judge of each of them still lives."""

TOKENS: Final = Key("assay:tokens", "hash", ttl=None)
"""What each API token opens, by the token's hash."""

TOKEN_NAMES: Final = Key("assay:tokens:names", "hash", ttl=None)
"""The hash of each token, by its name."""

SETUP_FOR: Final = timedelta(days=1)

SETUP: Final = Key("assay:setup", "hash", ttl=SETUP_FOR)
"""While no App is configured: hashes of the tokens that open /setup, and of the states that GitHub is to send back."""

RUBRICS: Final = Key("assay:rubrics", "hash", ttl=None)
"""The hash of the content that each rubric's id and version stand for, since they were first used."""

RECONCILED_AT: Final = Key("assay:looked", "string", ttl=timedelta(days=4))
"""When GitHub's list of deliveries was looked through last."""

RECONCILE_PLACE: Final = Key("assay:looking", "string", ttl=timedelta(days=4))
"""Where a look through that list goes on which was too long for one go."""

MISSED_DELIVERIES: Final = Key("assay:missed", "hash", ttl=None)
"""Deliveries that never arrived and are to be asked for, by their guid: numbers and times."""

RECONCILE_ROUND: Final = Key("assay:round", "string", ttl=timedelta(days=4))
"""Which page of the App's installations the next sweep begins with."""

LOOKAHEAD: Final = Key("assay:lookahead", "zset", ttl=None)
"""Pull requests whose verdict on the whole is to be made, by when; a member is the name of the `watch` key."""

ENCRYPTION_KEYS: Final = Key("assay:sealed-with", "hash", ttl=None)
"""The names of the keys that encrypted what is stored here, by when a process began last that encrypts with it."""

UNINSTALLATIONS: Final = Key("assay:leaving", "zset", ttl=None)
"""Installations that the App was taken out of, by when all about them is forgotten."""

GROUP_HOLDS: Final = Key("assay:groups:holds", "hash", ttl=None)
"""Which job may judge each of them, or does."""

DEADLINES: Final = Key("assay:deadlines", "zset", ttl=None)
"""Open check runs, by when they must be concluded; a member is the name of the `check` key."""

DEADLINE_NOTES: Final = Key("assay:deadlines:of", "hash", ttl=None)
"""Which pull request, head and check run each of them is."""


@lru_cache(maxsize=1024)
def _of_name(name: str) -> str:
    """GitHub's names are the same in upper and lower case."""
    return hashlib.sha256(name.lower().encode()).hexdigest()[:32]


def _of_pull(ref: PullRef, what: str) -> str:
    return f"{ref.installation_id}:{what}:{ref.repository_id}:{ref.number}"


class QueueKeys(Value):
    """`order`: by when to look at each. `texts`: what each is. `tries`: how often each was looked at."""

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
"""Commands nobody answered yet."""

ADDED_REPOSITORIES: Final = _queue_keys("greetings")
"""Repositories that the App may see since a while, whose open pull requests nobody looked at yet."""

PULL_REQUEST_EVENTS: Final = _queue_keys("happenings")
"""What happened and nobody looked into yet: numbers and words of closed sets."""

COMMENT_JOBS: Final = _queue_keys("letters")
"""Pull requests whose author may have to be told of a verdict, by the name of the `pull` key: numbers and ids."""

SCANS: Final = _queue_keys("scans")
"""Pull requests whose verdict is to be uploaded as SARIF, by the name of the `pull` key: numbers and ids."""

GROUPS: Final = _queue_keys("groups")
"""Merge groups nobody answered yet: what each is and how far it got, and how often it was looked at since somebody put it off.

Beside that, as `ID run` and `ID spared`: which server it was looked at with, and how often that one's end cut it short."""

SHARED_HEADS: Final = _queue_keys("commits")
"""Commits of several pull requests whose checks may not say together what they should, by the name of the `shown` key."""
