"""Weakened CI and test commands."""

from tests.worker.signals.samples import change_of
from worker.signals.tests_pass_but_wrong import ci_weakened

PATH = ".github/workflows/ci.yml"


def test_ci_file_with_very_many_edits_is_checked_in_part() -> None:
    job = "  a{0}:\n    steps:\n      - run: npm test\n{1}"
    before = "jobs:\n" + "".join(job.format(number, "") for number in range(150))
    after = "jobs:\n" + "".join(job.format(number, "    continue-on-error: true\n") for number in range(150))
    places = [*ci_weakened.check_cannot_fail.detect(change_of({PATH: before}, {PATH: after}))]
    assert len(places) == 100
