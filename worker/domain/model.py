"""The base of every model, and the numbers and strings that must not be mixed up; makes time-ordered ids."""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Final, NewType
from uuid import UUID

from pydantic import BaseModel, ConfigDict, StringConstraints

from worker.domain.pattern import pattern


class Frozen(BaseModel):
    """A value. Unknown fields are refused, so that a typo in a dossier or a rubric is an error."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        ser_json_inf_nan="strings",
        hide_input_in_errors=True,
        defer_build=True,  # a command needs a part of all models, and building one takes as long as importing a module
    )


def build_models() -> None:
    """Build the deferred schemas of all models that are imported: before a fork or a thread, not in each of them."""
    waiting: list[type[BaseModel]] = [Frozen]
    while waiting:
        model = waiting.pop()
        model.model_rebuild()
        waiting.extend(model.__subclasses__())


InstallationId = NewType("InstallationId", int)
RepositoryId = NewType("RepositoryId", int)
CheckRunId = NewType("CheckRunId", int)
DeliveryId = NewType("DeliveryId", str)
EvalId = NewType("EvalId", str)
Fingerprint = NewType("Fingerprint", str)

Sha = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
"""A commit: 40 lower-case hex digits."""

CommitKey = tuple[InstallationId, RepositoryId, Sha]
"""A commit of one repository."""

RepositoryName = Annotated[str, StringConstraints(pattern=r"^[^/\s]+/[^/\s]+$")]
"""`owner/name`, as GitHub spells it."""

BaseHash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
"""The hash of a base branch, whose name may be long and hold any character."""

TIMED_EVAL_ID: Final = pattern(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
"""An `EvalId` with its time, by which it sorts."""


@lru_cache(maxsize=1024)
def hash_base(branch: str) -> BaseHash:
    """Hash a branch's name without `refs/heads/`, as pull requests name their base."""
    return hashlib.sha256(branch.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def new_eval_id(at: datetime) -> EvalId:
    """Make a version 7 UUID (RFC 9562) of this moment: 48 bits of milliseconds, then random bits."""
    return _eval_id(int(at.timestamp() * 1000))


def eval_id_after(at: datetime, existing: Iterable[EvalId]) -> EvalId:
    """A new id of this moment that sorts after all *existing* ones, also if the clock of another machine was ahead."""
    made, latest = new_eval_id(at), max(existing, default=EvalId(""))
    if made > latest or not TIMED_EVAL_ID.fullmatch(latest):
        return made
    return _eval_id(int(latest.replace("-", "")[:12], 16) + 1)


def _eval_id(milliseconds: int) -> EvalId:
    moment = min(milliseconds, (1 << 48) - 1)
    bits = moment << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62)
    return EvalId(str(UUID(int=bits)))
