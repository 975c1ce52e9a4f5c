"""Installation tokens, shared by all workers and encrypted where they rest.

Does not ask GitHub for tokens (githubkit does, when this has none). Invariant: a token that GitHub refused is
never given out again, and no JWT is stored: making one is cheaper than asking for it.
"""

from datetime import timedelta
from typing import NoReturn

from githubkit.cache import BaseCache, BaseCacheStrategy
from githubkit.exception import CacheUnsupportedError

from worker.adapters.redis import keys
from worker.domain.ids import InstallationId
from worker.domain.ports import Vault


class SharedTokens(BaseCache):
    """githubkit's cache of credentials, kept in a Vault: one installation's token, under a name that the door knows, too."""

    def __init__(self, vault: Vault, installation: InstallationId) -> None:
        self._vault = vault
        self._name = keys.token(installation)
        self._refused: set[str] = set()

    def get(self, key: str) -> str | None:
        sealed = None if _is_jwt(key) else self._vault.get(self._name)
        token = None if sealed is None else sealed.decode()
        return None if token in self._refused else token

    def set(self, key: str, value: str, ex: timedelta) -> None:
        """Keep a new token. A clock that runs an hour ahead leaves no time to keep it."""
        if not _is_jwt(key) and ex > timedelta():
            self._vault.put(self._name, value.encode(), ex)

    def refuse(self, token: str) -> None:
        """GitHub does not take this token any more. Another worker may have put a newer one since."""
        self._refused.add(token)


def _is_jwt(key: str) -> bool:
    return key.endswith(":jwt")


class SharedTokensStrategy(BaseCacheStrategy):
    """Hands SharedTokens to githubkit. There is no HTTP cache, and nothing asynchronous."""

    def __init__(self, tokens: SharedTokens) -> None:
        self._tokens = tokens

    def get_cache_storage(self) -> SharedTokens:
        return self._tokens

    async def get_async_cache_storage(self) -> NoReturn:
        raise CacheUnsupportedError

    def get_hishel_storage(self) -> NoReturn:
        raise CacheUnsupportedError

    async def get_async_hishel_storage(self) -> NoReturn:
        raise CacheUnsupportedError
