"""Where a repository wants an issue, nothing is judged without one, and no model is asked."""

from tests.worker.judge.courtroom import bench, docket
from tests.worker.judge.making import dossier, model_of
from worker.domain.dossier.dossier import Dossier, Policy
from worker.domain.verdict.verdict import Abstain, AbstainReason
from worker.judge.judge import judge

WANTED = Policy(require_issue=True)


def case(**changes: object) -> Dossier:
    return dossier(policy=WANTED, **changes)


def test_a_change_without_an_issue_is_left_alone_at_no_cost() -> None:
    model = model_of()
    verdict = judge(case(issues=()), docket(), bench(model))
    assert isinstance(verdict, Abstain)
    assert verdict.abstain_reason is AbstainReason.NO_CRITERIA
    assert (verdict.escalated, verdict.judge_cost_usd or 0) == (False, 0)
    assert verdict.signals["escalation_skipped"] == "issue"
    assert verdict.concern.startswith("No issue is linked, and this repository wants one")
    assert "`Closes #12`" in verdict.next_step


def test_with_an_issue_it_is_judged_as_ever() -> None:
    plain = dossier()
    assert plain.issues
    result = judge(case(), docket(), bench(threshold=0.0))
    assert result.decision == judge(plain, docket(), bench(threshold=0.0)).decision
    assert getattr(result, "abstain_reason", None) is not AbstainReason.NO_CRITERIA


def test_who_does_not_want_one_is_judged_without() -> None:
    result = judge(dossier(issues=(), policy=Policy()), docket(), bench(threshold=0.0))
    assert getattr(result, "abstain_reason", None) is not AbstainReason.NO_CRITERIA
