"""The models that a bench asks: the first, the second, and those that a repository may choose from."""

from decimal import Decimal
from pathlib import Path

from worker.domain.ids import InstallationId, RepositoryId
from worker.domain.judge_request import PullRef
from worker.domain.verdict.budget import Bill, CapLevel, Reservation
from worker.domain.verdict.token_budget import Density
from worker.settings import read_settings
from worker.wiring.judge import BudgetAccount, open_judge_context

KEY = {"ANTHROPIC_API_KEY": "sk-ant"}
SEATS = {
    "ASSAY_SECOND_MODEL": "claude-opus-5-5",
    "ASSAY_BOARD": "1",
    "ASSAY_MODELS": "claude-sonnet-5-5 claude-opus-5-5",
}


def test_each_seat_has_a_model_of_its_own(tmp_path: Path) -> None:
    settings = read_settings({**KEY, **SEATS, "ASSAY_DATA_DIR": str(tmp_path)})
    with open_judge_context(settings, "hybrid") as bench:
        assert bench.model is not None
        assert bench.second_model is not None
        assert (bench.model.name, bench.second_model.name, bench.is_panel) == (
            "claude-haiku-5-5",
            "claude-opus-5-5",
            True,
        )
        assert {name: choice.name for name, choice in bench.choices.items()} == {
            "claude-sonnet-5-5": "claude-sonnet-5-5",
            "claude-opus-5-5": "claude-opus-5-5",
        }


def test_without_a_key_or_at_a_tier_that_asks_nobody_there_are_none(tmp_path: Path) -> None:
    for environ, tier in (({}, "hybrid"), (KEY, "heuristic")):
        settings = read_settings({**environ, **SEATS, "ASSAY_DATA_DIR": str(tmp_path)})
        with open_judge_context(settings, tier) as bench:
            assert (bench.model, bench.second_model, dict(bench.choices)) == (None, None, {})


class Denser:
    """The Purse port, whose replies of one model were denser than those of another."""

    def density(self, pull: PullRef, model: str) -> Density:
        assert pull == PAYER
        return Density(20, Decimal("0.5") if model == "claude-opus-5-5" else Decimal("0.25"))

    def reserve(self, name: str, pull: PullRef, usd: Decimal) -> Reservation:
        raise NotImplementedError

    def settle(self, reservation: Reservation, bill: Bill) -> CapLevel | None:
        raise NotImplementedError


PAYER = PullRef(installation_id=InstallationId(1), repository_id=RepositoryId(2), number=3)


def test_each_model_has_the_room_that_its_own_replies_gave_it(tmp_path: Path) -> None:
    settings = read_settings({**KEY, **SEATS, "ASSAY_DATA_DIR": str(tmp_path)})
    with open_judge_context(settings, "hybrid", account=BudgetAccount(None, PAYER, Denser())) as bench:
        assert bench.model is not None
        assert bench.second_model is not None
        assert bench.token_budget_of(bench.model).question_bytes == 192_000
        assert bench.token_budget_of(bench.second_model).question_bytes == 96_000
