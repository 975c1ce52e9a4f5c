"""Names for numbers and strings that must not be mixed up, and new time-ordered ids.

Does not look anything up. Invariant: an `EvalId` sorts by the time it was made.
"""

import secrets
from datetime import datetime
from typing import Annotated, NewType
from uuid import UUID

from pydantic import StringConstraints

InstallationId = NewType("InstallationId", int)
RepositoryId = NewType("RepositoryId", int)
CheckRunId = NewType("CheckRunId", int)
DeliveryId = NewType("DeliveryId", str)
EvalId = NewType("EvalId", str)
Fingerprint = NewType("Fingerprint", str)

Sha = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
"""A commit: 40 lower-case hex digits."""

RepositoryName = Annotated[str, StringConstraints(pattern=r"^[^/\s]+/[^/\s]+$")]
"""`owner/name`, as GitHub spells it."""


def new_eval_id(at: datetime) -> EvalId:
    """Make a version 7 UUID (RFC 9562) of this moment: 48 bits of milliseconds, then random bits."""
    milliseconds = int(at.timestamp() * 1000)
    bits = milliseconds << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62)
    return EvalId(str(UUID(int=bits)))
