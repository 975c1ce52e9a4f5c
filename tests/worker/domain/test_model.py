"""Models are built on their first use, or together before a process forks."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from worker.domain.model import EvalId, Frozen, build_models, eval_id_after, new_eval_id

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


AT = datetime(2026, 11, 20, 20, 5, tzinfo=UTC)


def test_eval_ids_sort_by_time() -> None:
    assert new_eval_id(AT) < new_eval_id(AT + timedelta(milliseconds=1))


def test_eval_id_follows_those_of_a_clock_that_is_ahead() -> None:
    ahead = new_eval_id(AT + timedelta(minutes=5))
    made = eval_id_after(AT, [new_eval_id(AT - timedelta(days=1)), ahead])
    assert ahead < made < new_eval_id(AT + timedelta(minutes=6))
    assert eval_id_after(AT, []) < ahead


def test_eval_id_is_created_after_one_without_a_valid_time() -> None:
    assert eval_id_after(AT, [EvalId("a foreign id")]) < new_eval_id(AT + timedelta(minutes=1))
    last = EvalId("ffffffff-ffff-7fff-bfff-ffffffffffff")
    assert eval_id_after(AT, [last]).startswith("ffffffff-ffff-7")
