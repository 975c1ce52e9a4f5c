"""Where every value lives in Redis: its name, its type, and how long it stays.

`assay:<installation id>:<what>:<repository id>:<number>`: numbers only, since names change and hold
slashes. Does not read or write anything. Invariant: no key is spelled anywhere else, and none is parsed:
scripts get them as KEYS. One deviation: a script that serves whichever installation is next learns
the installation inside Redis, so `scripts/pull.lua` puts the names of `due`, `opening` and `out`
together from the pull's field `inst`; a test holds both spellings together.
"""

from datetime import timedelta
from typing import Final, Literal

from worker.domain.ids import DeliveryId, EvalId, InstallationId, Sha
from worker.domain.request import PullRef
from worker.domain.value import Value

KeyType = Literal["string", "hash", "list", "set", "zset"]

MONTH: Final = timedelta(days=30)


class Key(Value):
    """*name* in Redis, its *type*, how long it stays (None: for good)."""

    name: str
    type: KeyType
    ttl: timedelta | None


def pull(ref: PullRef) -> Key:
    """State of one pull request's judging. The time to live starts when nothing is left to do."""
    return Key(f"assay:{_of_pull(ref, 'pull')}", "hash", ttl=MONTH)


def ledger(ref: PullRef) -> Key:
    """Entries of one pull request by eval id, encrypted; appended, never edited."""
    return Key(f"assay:{_of_pull(ref, 'ledger')}", "hash", ttl=None)


def checks(ref: PullRef) -> Key:
    """Check runs of one pull request that are open, by head."""
    return Key(f"assay:{_of_pull(ref, 'checks')}", "hash", ttl=MONTH)


def check(ref: PullRef, head_sha: Sha) -> Key:
    """The one check run of a head: `making <token>` (30 s) or its id."""
    return Key(f"assay:{ref.installation_id}:check:{ref.repository_id}:{ref.number}:{head_sha}", "string", ttl=MONTH)


def due(installation: InstallationId) -> Key:
    """Pull requests to judge, by when."""
    return Key(f"assay:{installation}:due", "zset", ttl=None)


def opening(installation: InstallationId) -> Key:
    """Pull requests whose newest head still needs its check run, by when."""
    return Key(f"assay:{installation}:opening", "zset", ttl=None)


def out(installation: InstallationId) -> Key:
    """Pull requests given to the queue or held by a judge."""
    return Key(f"assay:{installation}:out", "set", ttl=None)


def delivery(delivery_id: DeliveryId) -> Key:
    """This delivery was counted."""
    return Key(f"assay:delivery:{delivery_id}", "string", ttl=timedelta(days=3))


def asked(delivery_id: DeliveryId) -> Key:
    """This delivery's command was taken down. Apart from `delivery`: the request that follows counts there."""
    return Key(f"assay:asked:{delivery_id}", "string", ttl=timedelta(days=3))


def dossier(eval_id: EvalId) -> Key:
    """What a verdict was made from, encrypted."""
    return Key(f"assay:dossier:{eval_id}", "string", ttl=MONTH)


def vault(name: str) -> Key:
    """A short-lived secret, encrypted; whoever puts it says for how long."""
    return Key(f"assay:vault:{name}", "string", ttl=timedelta(hours=1))


DUE_TURNS: Final = Key("assay:turn:due", "zset", ttl=None)
"""Installations with something to judge, by whose turn it is."""

OPENING_TURNS: Final = Key("assay:turn:opening", "zset", ttl=None)
"""Installations with check runs to open, by whose turn it is."""

OUT: Final = Key("assay:out", "zset", ttl=None)
"""Pull requests of all installations given or held, by the end of their lease."""

COUNT: Final = Key("assay:count", "string", ttl=None)
"""Gives every event and every fence its number; never restarts."""

GAVE: Final = Key("assay:gave", "hash", ttl=None)
"""What the dispatcher's last call was given, so that the same call again gets the same."""

LEADER: Final = Key("assay:leader", "string", ttl=timedelta(minutes=1))
"""The dispatcher that dispatches; lives as long as its lease."""

ASKS: Final = Key("assay:asks", "zset", ttl=None)
"""Commands nobody answered yet, by when to look at them."""

ASK_TEXTS: Final = Key("assay:asks:text", "hash", ttl=None)
"""What each of them says."""

ASK_TRIES: Final = Key("assay:asks:tries", "hash", ttl=None)
"""How often each of them was looked at."""

DEADLINES: Final = Key("assay:deadlines", "zset", ttl=None)
"""Open check runs, by when they must be concluded; a member is the name of the `check` key."""

DEADLINE_NOTES: Final = Key("assay:deadlines:of", "hash", ttl=None)
"""Which pull request, head and check run each of them is."""


def _of_pull(ref: PullRef, what: str) -> str:
    return f"{ref.installation_id}:{what}:{ref.repository_id}:{ref.number}"
