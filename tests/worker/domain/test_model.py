"""Models are built on their first use, or together before a process forks."""

import subprocess
import sys

import pytest
from pydantic import ValidationError

from worker.domain.model import Frozen, build_models

ALL_BUILT = """
import worker.wiring.app, worker.domain.dossier
from worker.domain.model import Frozen, build_models

def models(base):
    return [member for model in base.__subclasses__() for member in (model, *models(model))]

before = {model.__name__ for model in models(Frozen) if model.__pydantic_complete__}
build_models()
print("Dossier" in before, all(model.__pydantic_complete__ for model in models(Frozen)), len(models(Frozen)) > 20)
"""


class Leaf(Frozen):
    count: int


class Stem(Frozen):
    leaf: Leaf


def test_model_is_built_on_first_use() -> None:
    stem = Stem.model_validate({"leaf": {"count": 1}})
    assert (stem.leaf.count, Stem.__pydantic_complete__) == (1, True)


def test_deferred_model_refuses_unknown_fields() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        Leaf.model_validate({"count": 1, "colour": "green"})


def test_build_models_builds_all_imported_models() -> None:
    build_models()
    assert Leaf.__pydantic_complete__
    done = subprocess.run([sys.executable, "-c", ALL_BUILT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True"]
