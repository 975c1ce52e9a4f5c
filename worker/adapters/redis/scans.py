"""What is known of the SARIF that was sent to code scanning.

Does not send any. Invariant: nothing is noted of a pull request that was forgotten.
"""

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, text
from worker.adapters.redis.intake import lifetime_s
from worker.adapters.redis.repositories import find_repositories
from worker.adapters.redis.scripts import Script, run_script
from worker.adapters.redis.versioned_json import read_json
from worker.domain.check.code_scanning import UploadedSarif, UploadRefusal
from worker.domain.ids import InstallationId, RepositoryId
from worker.domain.request.judge_request import PullRef


class RedisScanNotes:
    """The ScanNotes of `worker.publishing.code_scanning`."""

    def __init__(self, wire: RedisClient) -> None:
        self._wire = wire

    def last_scan(self, pull: PullRef) -> UploadedSarif | None:
        stored = self._wire.call("GET", _key(pull).name)
        return read_json(UploadedSarif, text(stored)) if stored else None

    def note(self, pull: PullRef, scanned: UploadedSarif, refusal: UploadRefusal | None) -> None:
        """The repository's word first: whoever dies in between tries once more."""
        refused = keys.scan_note(pull.installation_id, pull.repository_id, None)
        if refusal is None:
            self._wire.call("DEL", refused.name)
        else:
            run_script(self._wire, Script.NOTE, [refused, keys.pull(pull)], refusal, lifetime_s(refused))
        key = _key(pull)
        run_script(self._wire, Script.NOTE, [key, keys.pull(pull)], scanned.model_dump_json(), lifetime_s(key))

    def refusal(self, pull: PullRef) -> UploadRefusal | None:
        return self._refusal(pull.installation_id, pull.repository_id)

    def refusals(self, repository: str) -> tuple[UploadRefusal, ...]:
        """Of all that was ever judged under this name."""
        refusals = (self._refusal(*numbers) for numbers in find_repositories(self._wire, repository))
        return tuple(refusal for refusal in refusals if refusal is not None)

    def _refusal(self, installation: InstallationId, repository: RepositoryId) -> UploadRefusal | None:
        """A word that only a later version knows is none that this one can tell."""
        stored = self._wire.call("GET", keys.scan_note(installation, repository, None).name)
        word = text(stored) if stored else ""
        return UploadRefusal(word) if word in set(UploadRefusal) else None


def _key(pull: PullRef) -> keys.Key:
    return keys.scan_note(pull.installation_id, pull.repository_id, pull.number)
