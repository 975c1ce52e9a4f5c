"""What `assay wait` says of one commit, in lines for people.

Does not wait. Invariant: others' words can't move the cursor or colour anything.
"""

from collections.abc import Mapping
from typing import Any

from worker.domain.awaited import Awaiting
from worker.render.columns import Page, wrapped
from worker.render.visible import one_line

TITLES = {
    Awaiting.PENDING: "not judged yet",
    Awaiting.SUPERSEDED: "superseded",
    Awaiting.NONE: "no verdict is coming",
}
DECIDED = {"accept": "accepted", "reject": "rejected", "abstain": "not judged"}


def awaited_words(answer: Mapping[str, Any], page: Page) -> str:
    """*answer* as the API gives it."""
    name = f"{one_line(answer['repository'])}@{one_line(answer['sha'])[:12]}"
    about = f" (#{answer['number']})" if answer["number"] is not None else ""
    verdict = answer["verdict"]
    if verdict is None:
        lines = [f"{name}{about}: {TITLES[Awaiting(answer['state'])]}", *wrapped(one_line(answer["why"]), page, 2)]
        return "\n".join([*lines, ""])
    said = verdict["category"] or verdict["abstain_reason"]
    lines = [
        f"{name}{about}: {DECIDED[verdict['decision']]}" + (f", {one_line(said.replace('_', ' '))}" if said else "")
    ]
    lines += wrapped(one_line(verdict["concern"]), page, 2)
    if answer.get("overridden_by"):  # a server of an earlier version tells of none
        lines += wrapped(one_line(answer["why"]), page, 2)
    elif verdict["next_step"]:
        lines += wrapped(f"Next step: {one_line(verdict['next_step'])}", page, 2)
    return "\n".join([*lines, f"  Verdict {one_line(verdict['eval_id'])}", ""])
