"""Recorded dossiers as the input of a judging."""

from pathlib import Path

import pytest

from tests.worker.adapters.git.conftest import NOW, LocalRepository
from worker.domain.ports import PullSource
from worker.dossier.assemble import complete_dossier
from worker.errors import InputError
from worker.wiring.cli import read_recorded


def test_recorded_dossier_is_judged_unchanged(tmp_path: Path) -> None:
    repository = LocalRepository(tmp_path / "widgets")
    repository.commit({"a.py": "one\n"})
    live = repository.dossier()
    recorded = read_recorded(live.model_dump_json(exclude_unset=True).encode(), "dossier.json")
    source: PullSource = recorded
    request = recorded.request(NOW)
    assert source.dossier(request) == live
    assert complete_dossier(source.dossier(request)) == complete_dossier(live)
    assert source.head_sha(request) == live.pull_request.head_sha
    assert (request.pull.installation_id, request.pull.number) == (0, live.pull_request.number)
    assert request.pull.repository_id < 2**48


def test_invalid_dossier_is_refused_with_file_and_field() -> None:
    with pytest.raises(InputError, match=r"^dossier\.json: Dossier refused at pull_request: "):
        read_recorded(b'{"diff": ""}', "dossier.json")
