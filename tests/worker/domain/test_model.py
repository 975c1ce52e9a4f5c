"""Models are built when they are first used, or all at once before a process forks."""

import subprocess
import sys

import pytest
from pydantic import ValidationError

from worker.domain.model import Frozen, build_models

ALL_BUILT = """
import worker.wiring.app, worker.domain.dossier
from worker.domain.model import Frozen, build_models

def models(base):
    return [one for model in base.__subclasses__() for one in (model, *models(model))]

before = {one.__name__ for one in models(Frozen) if one.__pydantic_complete__}
build_models()
print("Dossier" in before, all(one.__pydantic_complete__ for one in models(Frozen)), len(models(Frozen)) > 20)
"""


class Leaf(Frozen):
    count: int


class Stem(Frozen):
    leaf: Leaf


def test_a_model_is_built_by_its_first_use() -> None:
    stem = Stem.model_validate({"leaf": {"count": 1}})
    assert (stem.leaf.count, Stem.__pydantic_complete__) == (1, True)


def test_a_model_that_was_put_off_still_refuses_unknown_fields() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        Leaf.model_validate({"count": 1, "colour": "green"})


def test_all_that_are_imported_are_built_at_once() -> None:
    build_models()
    assert Leaf.__pydantic_complete__
    done = subprocess.run([sys.executable, "-c", ALL_BUILT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True"]
