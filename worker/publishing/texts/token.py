"""What `assay token` says.

Does not know where tokens are kept. Invariant: a token stands in one of these texts only, the one that hands it over.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Protocol


class TokenGrant(Protocol):
    """A token without the token."""

    @property
    def name(self) -> str: ...

    @property
    def installations(self) -> frozenset[int]: ...

    @property
    def created_at(self) -> datetime: ...


def created_message(name: str, token: str, installations: Iterable[int]) -> str:
    """The token goes alone on its line, so that it can be copied or piped."""
    return (
        f"{token}\n"
        f'This is the token "{name}". It is not shown again: only its hash is kept.\n'
        f"It reads the figures of {_numbers(installations)}, and the verdicts there with the lines that they quote:\n"
        '  curl -H "Authorization: Bearer TOKEN" https://YOUR-ASSAY/api/analytics/quality\n'
    )


def name_taken_message(name: str) -> str:
    return f'There is a token "{name}" already. Choose another name, or revoke it first: assay token revoke {name}\n'


def token_list(grants: Sequence[TokenGrant]) -> str:
    if not grants:
        return "There is no token. Make one: assay token create NAME --installation NUMBER\n"
    width = max(len(grant.name) for grant in grants)
    return "".join(
        f"{grant.name:{width}}  {grant.created_at:%Y-%m-%d}  {_numbers(grant.installations)}\n" for grant in grants
    )


def revoked_message(name: str) -> str:
    return f'The token "{name}" opens nothing any more.\n'


def unknown_name_message(name: str) -> str:
    return f'There is no token "{name}". All there are: assay token list\n'


def _numbers(installations: Iterable[int]) -> str:
    numbers = sorted(installations)
    return f"{'installation' if len(numbers) == 1 else 'installations'} {', '.join(map(str, numbers))}"
