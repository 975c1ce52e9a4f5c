"""Closing conditions as people see them: boxes that are ticked one after the other, in the check and on the terminal."""

from typing import Any

from inline_snapshot import snapshot

from tests.worker.publishing.texts.samples import HOSTILE, accepted, dossier, rejected
from worker.domain.verdict.verdict import ClosingCondition, ConditionState
from worker.publishing.texts.columns import TerminalPage
from worker.publishing.texts.sections import conditions
from worker.publishing.texts.terminal import verdict_report

TICKED = ClosingCondition(id="c1", text="Retry it on 503.", state=ConditionState.RESOLVED)
OPEN = ClosingCondition(id="c2", text="AC1 is met: uploads are retried")
PAGE = TerminalPage(width=80)


def on_terminal(verdict: Any) -> str:
    """The paragraph about conditions."""
    text = verdict_report(verdict, dossier(), PAGE)
    return next((part for part in text.split("\n\n") if part.startswith("What close")), "")


def test_open_and_ticked_conditions_in_the_check() -> None:
    assert "\n".join(conditions(rejected(closing_conditions=(TICKED, OPEN)))) == snapshot("""\
### What closes this
- [x] c1: Retry it on 503.
- [ ] c2: AC1 is met: uploads are retried\
""")
    assert "\n".join(conditions(accepted(closing_conditions=(TICKED,)))) == snapshot("""\
### What closed this
- [x] c1: Retry it on 503.\
""")
    assert conditions(accepted()) == []


def test_open_and_ticked_conditions_on_the_terminal() -> None:
    assert on_terminal(rejected(closing_conditions=(TICKED, OPEN))) == snapshot("""\
What closes this
  [x] c1: Retry it on 503.
  [ ] c2: AC1 is met: uploads are retried\
""")
    assert on_terminal(accepted(closing_conditions=(TICKED,))) == snapshot("""\
What closed this
  [x] c1: Retry it on 503.\
""")
    assert on_terminal(accepted()) == ""


def test_a_lone_condition_that_is_the_next_step_is_said_once_on_the_terminal() -> None:
    verdict = rejected(closing_conditions=(ClosingCondition(id="c1", text="Write it."),), next_step="Write it.")
    assert on_terminal(verdict) == ""
    assert "Write it." in "\n".join(conditions(verdict))


def test_a_condition_in_somebodys_words_acts_nowhere() -> None:
    verdict = rejected(closing_conditions=(OPEN.model_copy(update={"text": HOSTILE}),))
    assert "<img" not in "\n".join(conditions(verdict))
    assert "\x1b" not in on_terminal(verdict)
