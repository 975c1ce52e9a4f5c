import pytest

from worker.domain.dossier.dossier import Ci, CiCheck
from worker.signals.analysis.ci_status import find_ci_doubt


def check(name: str, conclusion: str | None, *, required: bool | None = None, attempt: int = 1) -> CiCheck:
    return CiCheck(name=name, conclusion=conclusion, required=required, attempt=attempt)


def test_a_failed_check_that_is_not_required_speaks_against_the_change() -> None:
    ci = Ci(checks=(check("test", "success", required=True), check("fuzz", "failure", required=False)))
    assert find_ci_doubt(ci) == "fuzz failed, though it is not required"


def test_a_required_check_that_needed_reruns_speaks_against_it() -> None:
    assert (
        find_ci_doubt(Ci(checks=(check("test", "success", required=True, attempt=3),)))
        == "test passed only at attempt 3"
    )


@pytest.mark.parametrize(
    "ci",
    [
        None,
        Ci(),
        Ci(checks=(check("test", "success", required=True),)),
        Ci(checks=(check("lint", "success", attempt=2),)),
        Ci(checks=(check("lint", "failure"),)),
        Ci(checks=(check("docs", None, required=False),)),
    ],
)
def test_what_passed_or_is_not_known_raises_no_doubt(ci: Ci | None) -> None:
    assert find_ci_doubt(ci) is None
