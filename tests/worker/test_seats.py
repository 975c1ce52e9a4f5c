"""The models that a bench asks: the first, the second, and those that a repository may choose from."""

from pathlib import Path

from worker.bootstrap import open_bench
from worker.settings import read_settings

KEY = {"ANTHROPIC_API_KEY": "sk-ant"}
SEATS = {
    "ASSAY_SECOND_MODEL": "claude-opus-5-5",
    "ASSAY_BOARD": "1",
    "ASSAY_MODELS": "claude-sonnet-5-5 claude-opus-5-5",
}


def test_each_seat_has_a_model_of_its_own(tmp_path: Path) -> None:
    settings = read_settings({**KEY, **SEATS, "ASSAY_DATA_DIR": str(tmp_path)})
    with open_bench(settings, "hybrid") as bench:
        assert bench.model is not None
        assert bench.second is not None
        assert (bench.model.name, bench.second.name, bench.board) == ("claude-haiku-5-5", "claude-opus-5-5", True)
        assert {name: one.name for name, one in bench.choices.items()} == {
            "claude-sonnet-5-5": "claude-sonnet-5-5",
            "claude-opus-5-5": "claude-opus-5-5",
        }


def test_without_a_key_or_at_a_tier_that_asks_nobody_there_are_none(tmp_path: Path) -> None:
    for environ, tier in (({}, "hybrid"), (KEY, "heuristic")):
        settings = read_settings({**environ, **SEATS, "ASSAY_DATA_DIR": str(tmp_path)})
        with open_bench(settings, tier) as bench:
            assert (bench.model, bench.second, dict(bench.choices)) == (None, None, {})
