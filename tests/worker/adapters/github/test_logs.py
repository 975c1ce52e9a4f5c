"""The ends of failing jobs' logs."""

import pytest

from worker.adapters.github.ci_checks import MOST_LOGS, TAIL_CHARACTERS, CiCheckReport, JobLogs, add_logs, last_lines
from worker.adapters.github.client import GitHubApi
from worker.adapters.github.errors import GitHubBadRequest
from worker.clock import SystemClock
from worker.domain.dossier import CiCheck
from worker.errors import AssayError, Forbidden, RateLimited, SubjectGone, Unavailable

JOB = "https://github.com/acme/widgets/actions/runs/77/job/"


class Shelf(GitHubApi):
    """An Api that holds logs by their path, and nothing else."""

    def __init__(self, logs: dict[str, bytes | AssayError]) -> None:
        super().__init__((), "https://api.github.com", SystemClock())
        self.logs = logs
        self.asked: list[str] = []

    def tail(self, path: str, most_read: int, most_kept: int) -> bytes:
        self.asked.append(path)
        assert most_kept < most_read
        found = self.logs[path.split("/")[-2]]
        if isinstance(found, AssayError):
            raise found
        return found


def logs_of(logs: dict[str, bytes | AssayError]) -> tuple[JobLogs, list[str]]:
    api = Shelf(logs)
    return JobLogs(api, "acme/widgets"), api.asked


def reported(name: str, job: str | None, conclusion: str = "failure") -> CiCheckReport:
    return CiCheckReport(
        CiCheck(name=name, conclusion=conclusion), f"{JOB}{job}" if job else "https://ci.example.org/1"
    )


def test_a_log_loses_its_times_and_colours_and_keeps_its_end() -> None:
    log = "\ufeff2026-11-20T20:00:00.1234567Z \x1b[31mred\x1b[0m\r\n\n2026-11-20T20:00:01.1Z done\n"
    assert last_lines(log) == "red\ndone"


def test_a_log_ends_with_its_last_error_and_not_with_what_a_job_tidies_up() -> None:
    test = "FAILED tests/test_retry.py::test_503 - assert 503 == 200"
    ran = [
        "##[error]Unable to restore a cache",
        "collected 3 items",
        test,
        "##[error]Process completed with exit code 1.",
    ]
    after = ["Post job cleanup.", *(f"[command]/usr/bin/git config --local --unset-all {at}" for at in range(200))]
    log = "\n".join(f"2026-11-20T20:00:00.1234567Z {line}" for line in [*ran, *after, "Cleaning up orphan processes"])
    assert last_lines(log) == "\n".join(ran)


def test_a_long_log_is_cut_at_a_line() -> None:
    kept = last_lines("\n".join(f"line {number}" for number in range(5000)))
    assert len(kept) <= TAIL_CHARACTERS
    assert kept.startswith("line ")
    assert kept.endswith("line 4999")


def test_only_the_first_failing_jobs_are_read() -> None:
    failing = [reported(name, job) for name, job in zip("abcd", ("1", None, "3", "4"), strict=True)]
    logs, asked = logs_of({"1": b"first", "3": b"third"})
    found = add_logs([*failing, reported("e", "5", "success")], logs)

    assert [one.check.log_tail for one in found] == ["first", "", "third", "", ""]
    assert len(asked) == MOST_LOGS


def test_jobs_of_one_name_have_each_its_own_log() -> None:
    logs, asked = logs_of({"1": b"of the tests", "3": b"of the pages"})
    found = add_logs([reported("build", "1"), reported("build", "2", "success"), reported("build", "3")], logs)
    assert [one.check.log_tail for one in found] == ["of the tests", "", "of the pages"]
    assert len(asked) == 2


def test_green_ci_needs_no_log() -> None:
    green = [reported("a", "1", "success")]
    logs, asked = logs_of({})
    assert add_logs(green, logs) == green
    assert asked == []


@pytest.mark.parametrize(
    "error",
    [Forbidden("no permission"), SubjectGone("log"), Unavailable("GitHub", "500"), GitHubBadRequest("409")],
    ids=lambda one: type(one).__name__,
)
def test_a_log_that_is_not_to_be_had_is_left_out(error: AssayError) -> None:
    logs, _ = logs_of({"1": error})
    assert logs.tail("1") == ""


def test_a_used_up_rate_limit_is_said() -> None:
    logs, _ = logs_of({"1": RateLimited("GitHub", SystemClock().now())})
    with pytest.raises(RateLimited):
        logs.tail("1")
