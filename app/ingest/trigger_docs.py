"""The page docs/triggers.md, made of the table in `app.ingest.events`.

Pure. Invariant: every row of the table is on the page, with the permission and the subscription that it takes.
"""

from typing import Final

from app.ingest.events import DELIVERY_RULES, DeliveryRule
from worker.domain.config.app_permissions import EVENT_PERMISSIONS, IMPLICIT_EVENTS

HEAD: Final = """\
# What Assay reacts to

Made of the table in `app/ingest/events.py`. What is not here is ignored, by name, in the answer to the delivery.
Which permission an event takes is what GitHub wants of an App that subscribes to it; `always` comes without either.

| event | what it does | permission | subscription |
|---|---|---|---|
"""

TAIL: Final = """
## When judging starts

- After a quiet window: `ASSAY_QUIET_WINDOW` seconds (10) after the last push, or as long as the
  `.github/assay.yml` of the base branch says. Until then the check is `queued` and says when judging starts.
  A check suite of another App that passes on the head ends it: what is judged then is what CI found green.
  The same where its own title and description say what is asked for, since it closes no issue that Assay can read, and they are edited: the
  verdict on them counts no more from then on. What changes neither costs nothing, nor does who takes it back.
- At once: an `assay` block in the description when the pull request is opened or pushed to, or one that was put there or changed since;
  a review that is requested, while Assay still waits; ready for review; a command; Re-run.
- After `ASSAY_GATHER` seconds (2), so that news that come together cause one look: other checks that ended, an issue that
  was edited, other issues to close, other rules of the base branch.
- Another base branch: at once, or after the new base's quiet window where judging still waits.
  So is what was judged for a base branch that is force-pushed: no other delivery says that it changes something else from then on.
- Once an edit of the block, the title, the description or its links was judged at a head, the verdict stands until the next push,
  whatever else of them is edited ([verdict.md](verdict.md)).
- A draft waits (`queued`, without an end) for one of the second kind. That its `assay` block goes is none.

## Who is judged

Coding agents are judged. They are told by their account, their branch, the commits or the description. An author who shows none
of these counts as a person. Pull requests of people and of other bots are observed: they are judged, and the check is neutral and says
why. `ASSAY_PEOPLE`, `ASSAY_BOTS` and `authors` in `.github/assay.yml` change
that. Where a rule requires the check, `authors: {people: judge, bots: judge}` is the safe choice: an agent that leaves out its trailer or
has an account of its own then has to pass, too; `assay doctor --repo OWNER/REPO` warns without it. A command or Re-run by an account with write access judges anything. What was open when Assay was installed gets a `neutral` check (`action_required` where the base branch requires the check and such authors are judged), and is judged from its next push
on, or on command.

## What follows from a change of the rules

What is kept of `.github/assay.yml` is kept for each base branch: none counts for pull requests into another.
A push that touches it drops the quiet window that was kept for its branch. Rules files such as `AGENTS.md` are read from the
base branch for every judging, as it stands then.

A push that touches either has the open pull requests into that branch judged again that have a verdict or are being
judged, at most the 100 that were judged last: the verdict on each of them counts no more from then on. Where the new rules say nothing else about what it changes
(a rules file of another folder, another wait), its verdict is carried over and costs nothing; else it is a judging like any
other, within the budgets. Who waits for a verdict is judged by the new rules anyway. What was skipped, and any pull request
whose owner's default in the `.github` repository changed, is handled by the new rules at its next event; `/rejudge` does so at
once.

## Other checks

They wake a pull request only while it waits for them, or after a verdict that said that CI failed or did not finish and was not overridden; after
sixty such looks at one head it takes a push or a command. Which pull requests a commit is the head of is known
from their own events, since check events of forks name none.
"""


def render_page() -> str:
    return HEAD + "".join(_line(name, row) for name, row in DELIVERY_RULES.items()) + TAIL


def _line(name: tuple[str, str], row: DeliveryRule) -> str:
    event, action = name
    words = f"`{event}.{action}`" if action else f"`{event}`"
    if event in IMPLICIT_EVENTS:
        return f"| {words} | {row.description} | always | always |\n"
    permission = f"`{EVENT_PERMISSIONS[event]}`" if event in EVENT_PERMISSIONS else "-"
    return f"| {words} | {row.description} | {permission} | {f'`{event}`' if row.is_handled else '-'} |\n"
