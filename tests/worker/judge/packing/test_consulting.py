"""A change that is judged in parts: who is asked, in what order, and what follows."""

from decimal import Decimal
from typing import Any

from tests.worker.judge.courtroom import bench, docket
from tests.worker.judge.making import accept, dossier, model_of, new_file, place, reject, reply
from worker.domain.dossier import Criterion, Dossier
from worker.domain.money import Cap, Level
from worker.domain.verdict import Abstain, Accept, Reject
from worker.errors import BudgetReached, Unavailable
from worker.judge.court import judge

LINE = f"value = '{'y' * 60}'"
CRITERIA = (
    Criterion(id="AC1", text="the parser reads tables that a comment follows"),
    Criterion(id="AC2", text="the printer draws borders"),
)


def large() -> Dossier:
    """Two files that do not fit into one question, and a criterion for each."""
    diff = new_file("parser/tables.py", *[LINE] * 500) + new_file("printer/borders.py", *[LINE] * 500)
    return dossier(diff=diff, files=None, criteria=CRITERIA)


def seen(path: str, line: int = 1) -> dict[str, Any]:
    return place(path, line, quote=LINE)


def met(name: str, path: str) -> dict[str, Any]:
    return accept(criteria=[{"id": name, "status": "met", "evidence": [seen(path)]}])


def judged(*said: Any) -> tuple[Accept | Reject | Abstain, int]:
    model = model_of(*said)
    verdict = judge(large(), docket(), bench(model))
    return verdict, len(model.asked)


def test_a_change_whose_parts_are_all_accepted_is_accepted_whole() -> None:
    verdict, asked = judged(met("AC1", "parser/tables.py"), met("AC2", "printer/borders.py"))
    assert isinstance(verdict, Accept)
    assert asked == 2
    assert verdict.coverage.read == ("parser/tables.py", "printer/borders.py")
    assert [one.id for one in verdict.criteria] == ["AC1", "AC2"]
    assert verdict.tokens.output == 200
    assert verdict.judge_cost_usd == Decimal("0.002")
    assert verdict.escalation_reason.endswith("; judged in 2 parts")


def test_a_part_that_is_rejected_with_evidence_ends_the_asking() -> None:
    missing: list[dict[str, Any]] = [{"id": "AC1", "status": "missing", "evidence": []}]
    verdict, asked = judged(
        reject(criteria=missing, evidence=[seen("parser/tables.py")], concern="Each value of the tables is the same.")
    )
    assert isinstance(verdict, Reject)
    assert asked == 1
    assert verdict.coverage.unread == ("printer/borders.py",)
    assert [one.status for one in verdict.criteria] == ["missing", "unverifiable"]


def test_a_part_that_can_not_be_judged_leaves_the_whole_unjudged_and_paid() -> None:
    verdict, asked = judged(met("AC1", "parser/tables.py"), Unavailable("The model", "status 529"))
    assert isinstance(verdict, Abstain)
    assert (verdict.abstain_reason, asked) == ("judge_unavailable", 2)
    assert verdict.judge_cost_usd == Decimal("0.001")
    free, _ = judged(reply(met("AC1", "parser/tables.py"), cost_usd=None), Unavailable("The model", "status 529"))
    assert free.judge_cost_usd is None


def test_a_cap_between_two_parts_is_told_as_the_budget() -> None:
    reached = BudgetReached(Level(Cap.PULL, Decimal("0.09"), Decimal("0.10")), Decimal("0.02"))
    verdict, asked = judged(met("AC1", "parser/tables.py"), reached)
    assert isinstance(verdict, Abstain)
    assert (verdict.abstain_reason, verdict.throttled_reason, asked) == ("budget", "pr_cap", 2)
