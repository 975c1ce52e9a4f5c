"""Render docs/triggers.md from the table in `app.ingest.events`."""

from typing import Final

from app.ingest.events import DELIVERY_RULES, DeliveryRule
from worker.domain.config.app_permissions import EVENT_PERMISSIONS, IMPLICIT_EVENTS

HEAD: Final = """\
# Triggers

Made of the table in `app/ingest/events.py`. The answer to a delivery of any other event names it as ignored.
The permission is what GitHub wants of an App that subscribes to the event.

| event | effect | permission |
|---|---|---|
"""

TAIL: Final = """
## When judging starts

| start | after |
|---|---|
| immediately | `assay` block at opening or push, or edited; ready for review; command; Re-run; review request while judging waits; CI of another App succeeds in the quiet window |
| quiet window | any other push, opening or reopening: `ASSAY_QUIET_WINDOW` (10 s) after the last push, at most `ASSAY_QUIET_MAX` (300 s); `quiet_window` in `.github/assay.yml` of the base branch. An edited title or text that is the criterion restarts it |
| soon (`ASSAY_GATHER`, 2 s) | other checks completed; linked issue edited; other issues linked; rules of the base branch changed |
| new base branch | immediately, or after the quiet window of the new base where judging still waits; a force-push to the base counts |
| draft | no start: the check run is `queued` until ready for review, a command, a review request or an edited `assay` block |

- The check run is `queued` meanwhile and names the start.
- The author's text of a head is judged at most once after an edit ([verdict.md](verdict.md#convergence)).
- Other checks wake a pull request that waits for CI, or whose verdict is `ci_failed` or `ci_pending` without an override: at most
  60 times a head.
- A push that changes rules rejudges at most the 100 open pull requests that were judged last into that branch. An unchanged fingerprint
  carries the verdict over at $0. Skipped pull requests, and changes of the owner's default file, wait for the next event or `/rejudge`.

## Who is judged

| author | recognised by | default |
|---|---|---|
| coding agent | account, branch name, commit trailer, line in the description | judged |
| person | anything else | observed: judged, the check run is neutral |
| other bot | account | observed |

- `authors` in `.github/assay.yml`, else `ASSAY_PEOPLE` and `ASSAY_BOTS`, change the default.
- Where a rule requires the check, set `authors: {people: judge, bots: judge}`: an agent without a trailer counts as a person.
  `assay doctor --repo OWNER/REPO` warns without it.
- A command or Re-run by an account with write access judges any pull request.
- A pull request that was open at installation gets a neutral check run (`action_required` where the base branch requires the check
  and judges such authors). Its next push or a command judges it.
"""


def render_page() -> str:
    handled = [_line(name, row) for name, row in DELIVERY_RULES.items() if row.is_handled]
    ignored: dict[str, list[str]] = {}
    for name, row in DELIVERY_RULES.items():
        if not row.is_handled:
            ignored.setdefault(row.description, []).append(_event_name(name))
    reasons = [f"- {reason}: {', '.join(names)}\n" for reason, names in ignored.items()]
    return "".join([HEAD, *handled, "\nIgnored, by reason:\n\n", *reasons, TAIL])


def _line(name: tuple[str, str], row: DeliveryRule) -> str:
    event, _ = name
    permission = "always" if event in IMPLICIT_EVENTS else f"`{EVENT_PERMISSIONS[event]}`"
    return f"| {_event_name(name)} | {row.description} | {permission} |\n"


def _event_name(name: tuple[str, str]) -> str:
    event, action = name
    return f"`{event}.{action}`" if action else f"`{event}`"
