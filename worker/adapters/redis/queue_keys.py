"""Where what waits for somebody to look at it lives in Redis: `worker.adapters.redis.keys` lists everything else.

Does not read or write anything. Invariant: a line is three keys of one name, and lives until nothing waits in it.
"""

from typing import Final

from worker.adapters.redis.keys import Key
from worker.domain.value import Value


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
