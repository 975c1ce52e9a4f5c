"""The models of a judge context: the first, the second, and the choices of a repository."""

from decimal import Decimal
from pathlib import Path

from worker.domain.judge_request import PullRef
from worker.domain.model import InstallationId, RepositoryId
from worker.domain.verdict.budget import Bill, CapLevel, Density, Reservation
from worker.settings import read_settings
from worker.wiring.judge import BudgetAccount, open_judge_context

KEY = {"ANTHROPIC_API_KEY": "sk-ant"}
MODELS = {
    "ASSAY_SECOND_MODEL": "claude-opus-5-5",
    "ASSAY_BOARD": "1",
    "ASSAY_MODELS": "claude-sonnet-5-5 claude-opus-5-5",
}


def test_each_role_of_a_judge_context_has_its_model(tmp_path: Path) -> None:
    settings = read_settings({**KEY, **MODELS, "ASSAY_DATA_DIR": str(tmp_path)})
    with open_judge_context(settings, "hybrid") as context:
        assert context.model is not None
        assert context.second_model is not None
        assert (context.model.name, context.second_model.name) == ("claude-haiku-5-5", "claude-opus-5-5")
        assert context.is_panel
        assert context.choices.keys() == {"claude-sonnet-5-5", "claude-opus-5-5"}
        assert all(choice.name == name for name, choice in context.choices.items())


def test_judge_context_has_no_models_without_a_key_or_at_the_heuristic_tier(tmp_path: Path) -> None:
    for environ, tier in (({}, "hybrid"), (KEY, "heuristic")):
        settings = read_settings({**environ, **MODELS, "ASSAY_DATA_DIR": str(tmp_path)})
        with open_judge_context(settings, tier) as context:
            assert (context.model, context.second_model, dict(context.choices)) == (None, None, {})


class DensityBudget:
    """A budget that recorded denser replies of one model."""

    def density(self, pull: PullRef, model: str) -> Density:
        assert pull == PAYER
        return Density(20, Decimal("0.5") if model == "claude-opus-5-5" else Decimal("0.25"))

    def reserve(self, name: str, pull: PullRef, usd: Decimal) -> Reservation:
        raise NotImplementedError

    def settle(self, reservation: Reservation, bill: Bill) -> CapLevel | None:
        raise NotImplementedError


PAYER = PullRef(installation_id=InstallationId(1), repository_id=RepositoryId(2), number=3)


def test_token_budget_of_a_model_follows_its_own_density(tmp_path: Path) -> None:
    settings = read_settings({**KEY, **MODELS, "ASSAY_DATA_DIR": str(tmp_path)})
    with open_judge_context(settings, "hybrid", account=BudgetAccount(None, PAYER, DensityBudget())) as context:
        assert context.model is not None
        assert context.second_model is not None
        assert context.token_budget_of(context.model).question_bytes == 192_000
        assert context.token_budget_of(context.second_model).question_bytes == 96_000
