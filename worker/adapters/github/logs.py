"""The ends of failing jobs' logs, for what a failed check's own report leaves out.

Does not look at jobs that passed, and of failing ones only at a few. Invariant: what GitHub does not give (a log that is
gone, a permission that is missing, an outage of where logs are kept) is left out, and never keeps a pull request waiting.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from worker.adapters.github.ci_checks import CiCheckReport
from worker.adapters.github.client import GitHubApi
from worker.domain.dossier.dossier import FAILED_CONCLUSIONS
from worker.domain.ids import RepositoryName
from worker.domain.pattern import pattern
from worker.domain.text import without_ansi
from worker.domain.value import replace
from worker.errors import AssayError, RateLimited

MOST_LOGS: Final = 2
"""Each is a request; what failed first is what is mended first."""
MOST_READ: Final = 8 * 1024 * 1024
MOST_KEPT: Final = 64 * 1024
TAIL_CHARACTERS: Final = 4000

ERROR_MARK: Final = "##[error]"
"""How a line begins that says that a step of a job failed. What follows the last one is GitHub Actions putting things away."""

JOB_URL: Final = pattern(r"/actions/runs/\d+/job/(\d+)(?:[?#].*)?$")
"""How the address of a check run ends that is a job of GitHub Actions."""
TIMESTAMP: Final = pattern(r"^\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z ")


@dataclass(frozen=True, slots=True)
class JobLogs:
    """The logs of one repository's jobs."""

    api: GitHubApi
    repository: RepositoryName

    def tail(self, job: str) -> str:
        """The last lines of a job's log, without colours and times; "" where there is none to be had."""
        path = f"/repos/{self.repository}/actions/jobs/{job}/logs"
        try:
            raw = self.api.tail(path, MOST_READ, MOST_KEPT)
        except RateLimited:
            raise
        except AssayError:  # whatever it is: who keeps logs is not always GitHub itself
            return ""
        return last_lines(raw.decode("utf-8", "replace"))


def last_lines(log: str) -> str:
    """The end of a log, in whole lines; what a job still tidies up after its last error tells nothing of it."""
    lines = [TIMESTAMP.sub("", without_ansi(line)).rstrip() for line in log.splitlines()]
    last = max((at for at, line in enumerate(lines) if line.startswith(ERROR_MARK)), default=len(lines))
    text = "\n".join(line for line in lines[: last + 1] if line)
    if len(text) <= TAIL_CHARACTERS:
        return text
    return text[-TAIL_CHARACTERS:].partition("\n")[2]


def add_logs(reports: Sequence[CiCheckReport], logs: JobLogs) -> list[CiCheckReport]:
    """Give the first failing checks that are jobs the ends of their own logs: others may have the same name."""
    jobs = [
        (at, JOB_URL.search(report.page))
        for at, report in enumerate(reports)
        if report.check.conclusion in FAILED_CONCLUSIONS
    ]
    with_logs = [*reports]
    for at, job in [(at, job) for at, job in jobs if job][:MOST_LOGS]:
        check = reports[at].check.model_copy(update={"log_tail": logs.tail(job[1])})
        with_logs[at] = replace(reports[at], check=check)
    return with_logs
