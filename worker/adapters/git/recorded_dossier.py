"""A recorded dossier as a source of pull requests. Needs no network, and always gives the same dossier."""

import hashlib
from datetime import datetime

from worker.domain.dossier.dossier import Dossier, DossierError, read_dossier
from worker.domain.ids import DeliveryId, RepositoryId, Sha
from worker.domain.request.judge_request import LOCAL_INSTALLATION, JudgeRequest, PullRef, Trigger
from worker.errors import InputError


class RecordedSource:
    """A PullSource over one dossier."""

    def __init__(self, dossier: Dossier) -> None:
        self._dossier = dossier

    def request(self, at: datetime) -> JudgeRequest:
        pull = self._dossier.pull_request
        digest = hashlib.sha256(pull.repository.encode()).digest()
        return JudgeRequest(
            pull=PullRef(
                installation_id=LOCAL_INSTALLATION,
                repository_id=RepositoryId(int.from_bytes(digest[:6])),
                number=pull.number,
            ),
            repository=pull.repository,
            head_sha=pull.head_sha,
            trigger=Trigger.LOCAL,
            delivery_id=DeliveryId(f"local-{pull.head_sha}-{at.timestamp():.6f}"),
            requested_at=at,
        )

    def head_sha(self, request: JudgeRequest) -> Sha:  # noqa: ARG002 - this source has one pull request
        return self._dossier.pull_request.head_sha

    def dossier(self, request: JudgeRequest) -> Dossier:  # noqa: ARG002 - as above
        return self._dossier


def read_recorded(raw: bytes, name: str) -> RecordedSource:
    """Read a recorded dossier; *name* is the file's. Raises InputError naming the first invalid field."""
    try:
        return RecordedSource(read_dossier(raw))
    except DossierError as error:
        raise InputError(f"{name}: {error}") from error
