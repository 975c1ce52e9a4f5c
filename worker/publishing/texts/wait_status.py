"""What `assay wait` says of one commit, in lines for people.

Does not wait. Invariant: others' words can't move the cursor or colour anything.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from worker.domain.check.wait_status import WaitState
from worker.domain.request.judge_request import LOCAL_INSTALLATION
from worker.publishing.texts.columns import TerminalPage, wrap_lines
from worker.publishing.texts.visible import exact_line, one_line

TITLES = {
    WaitState.PENDING: "not judged yet",
    WaitState.SUPERSEDED: "superseded",
    WaitState.NONE: "no verdict is coming",
}
CASE_REFUSED = "The author's case could not be read, so the change was judged without it. Mending it uses no round:"
DECISIONS = {"accept": "accepted", "reject": "rejected", "abstain": "not judged"}


def wait_status_text(answer: Mapping[str, Any], page: TerminalPage) -> str:
    """*answer* as the API gives it."""
    name = f"{one_line(answer['repository'])}@{one_line(answer['sha'])[:12]}"
    verdict = answer["verdict"]
    is_branch = verdict is not None and verdict["subject"]["installation_id"] == LOCAL_INSTALLATION
    about = f" (#{answer['number']})" if answer["number"] is not None and not is_branch else ""
    if verdict is None:
        lines = [f"{name}{about}: {TITLES[WaitState(answer['state'])]}", *wrap_lines(one_line(answer["why"]), page, 2)]
        return "\n".join([*lines, ""])
    reason = verdict["category"] or verdict["abstain_reason"]
    lines = [
        f"{name}{about}: {DECISIONS[verdict['decision']]}"
        + (f", {one_line(reason.replace('_', ' '))}" if reason else "")
    ]
    lines += wrap_lines(one_line(verdict["concern"]), page, 2)
    lines += _failure(verdict.get("ci_failure") or {})
    if verdict.get("case_error"):
        lines += wrap_lines(f"{CASE_REFUSED} {one_line(verdict['case_error'])}", page, 2)
    if answer.get("overridden_by"):  # a server of an earlier version tells of none
        lines += wrap_lines(one_line(answer["why"]), page, 2)
    elif verdict["next_step"]:
        lines += wrap_lines(f"Next step: {one_line(verdict['next_step'])}", page, 2)
    return "\n".join([*lines, f"  Verdict {one_line(verdict['eval_id'])}", ""])


def _failure(failure: Mapping[str, Any]) -> Iterator[str]:
    """The first failing test of a red CI, with its log."""
    if failure.get("test"):
        yield f"  First failing test: {one_line(failure['test'])}"
    yield from (f"    {exact_line(line)}" for line in (failure.get("log") or "").splitlines())
