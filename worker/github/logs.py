"""The ends of failing jobs' logs, for what a failed check's own report leaves out.

Does not look at jobs that passed, and of failing ones only at a few. Invariant: what GitHub does not give (a log that is
gone, a permission that is missing, an outage of where logs are kept) is left out, and never keeps a pull request waiting.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from worker.domain.ansi import without_ansi
from worker.domain.dossier import FAILED, Ci, CiCheck
from worker.domain.ids import RepositoryName
from worker.domain.pattern import pattern
from worker.errors import Forbidden, Gone, RateLimited, Unavailable
from worker.github.client import Api
from worker.github.replies import GraphContext

MOST_LOGS: Final = 2
"""Each is a request; what failed first is what is mended first."""
MOST_READ: Final = 8 * 1024 * 1024
MOST_KEPT: Final = 64 * 1024
TAIL_CHARACTERS: Final = 4000

JOB: Final = pattern(r"/actions/runs/\d+/job/(\d+)(?:[?#].*)?$")
"""How the address of a check run ends that is a job of GitHub Actions."""
STAMP: Final = pattern(r"^\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z ")


@dataclass(frozen=True, slots=True)
class JobLogs:
    """The logs of one repository's jobs."""

    api: Api
    repository: RepositoryName

    def tail(self, job: str) -> str:
        """The last lines of a job's log, without colours and times; "" where there is none to be had."""
        path = f"/repos/{self.repository}/actions/jobs/{job}/logs"
        try:
            raw = self.api.tail(path, MOST_READ, MOST_KEPT)
        except RateLimited:
            raise
        except (Forbidden, Gone, Unavailable):
            return ""
        return last_lines(raw.decode("utf-8", "replace"))


def last_lines(log: str) -> str:
    """The end of a log, in whole lines."""
    lines = [STAMP.sub("", without_ansi(line)).rstrip() for line in log.splitlines()]
    text = "\n".join(line for line in lines if line)
    if len(text) <= TAIL_CHARACTERS:
        return text
    return text[-TAIL_CHARACTERS:].partition("\n")[2]


def with_logs(ci: Ci, contexts: Iterable[GraphContext], logs: JobLogs) -> Ci:
    """Give the first failing checks that are jobs the ends of their logs."""
    jobs = {one.name: found[1] for one in contexts if (found := JOB.search(one.details_url or ""))}
    chosen = [check.name for check in ci.checks if check.conclusion in FAILED and check.name in jobs][:MOST_LOGS]
    if not chosen:
        return ci
    return ci.model_copy(update={"checks": tuple(_with_log(check, chosen, jobs, logs) for check in ci.checks)})


def _with_log(check: CiCheck, chosen: Sequence[str], jobs: dict[str | None, str], logs: JobLogs) -> CiCheck:
    if check.name not in chosen or check.conclusion not in FAILED:
        return check
    return check.model_copy(update={"log_tail": logs.tail(jobs[check.name])})
