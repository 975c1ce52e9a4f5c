"""A shipped rubric keeps its content as long as its version, since recorded verdicts name it."""

from pathlib import Path

import pytest

from worker.domain.verdict.audit import rubric_digest
from worker.domain.verdict.verdict import VersionedRubric
from worker.judge.rubric import shipped_rubrics

RELEASED = {
    "default 1": "f8cd03781a26a631fb55dc40543868933996bdb23fd9c8c6869158f70f2eb150",
    "default 2": "96ee522cf41eaf3842dfa83f5ac5972418f63a195436d352a91c1b1ca90fc62a",
    "default 3": "a7e98226d6807b199ea0c51d33f104d190dbb6ae1bb3dd037574ae9d64fcc1ae",
    "default 4": "8f7aa8f32e60955264e7f82e98546a0276880a514fe15553084ea2930b239f5f",
    "default 5": "f3aa37b40f9ca92133a14e7d8775da740369c6fb1465846ab1f8a3d7f5db6c76",
    "ci_check 1": "1ae6602de48197f58c611c3999f79c1f6b642889b3759a56dd36eb9b05e8374a",
    "ci_check 2": "2d2c6ec72207a7b66ca5d5da74e40900a67e56c3b42d7dfcdb835e148d186c6d",
    "pull_request 1": "a3e1c8a58574416ebb43491948070894078a6440d3a77bf7a588692f23df4a59",
}
"""Raise the version with every edit of a file in `rubrics/`, and add the new digest."""


@pytest.mark.parametrize("rubric", shipped_rubrics(), ids=lambda rubric: rubric.id)
def test_shipped_rubric_matches_its_version(rubric: VersionedRubric) -> None:
    assert RELEASED.get(f"{rubric.id} {rubric.version}") == rubric_digest(rubric), "raise its version: it was edited"


def test_each_shipped_rubric_has_a_version() -> None:
    files = (Path(__file__).parent.parent / "rubrics").glob("*.yml")
    assert {path.stem for path in files} == {path.id for path in shipped_rubrics()}
