"""What `assay history` says: a pull request's verdicts in their order, and what was done about them.

Does not look anything up. Invariant: no character that another person wrote can move the cursor, change colours or hide text.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from worker.domain.check.overrides import NO_DECISIONS, HumanDecisions
from worker.publishing.texts.charts import bar
from worker.publishing.texts.columns import Ink, TerminalPage, wrap_lines
from worker.publishing.texts.overrides import decision_lines
from worker.publishing.texts.phrases import count_phrase
from worker.publishing.texts.visible import exact_line, one_line

DECISION_INKS: Final = {"accept": Ink.GREEN, "reject": Ink.RED, "abstain": Ink.YELLOW}
BAR: Final = 10
SUBJECT_SUFFIXES: Final = {
    "merge_group": ", in the merge queue",
    "ci_check": ", a CI check",
    "pull_request": ", the whole pull request",
}
"""What a verdict is about, where it is not what was submitted."""


def history_text(
    name: str,
    evaluations: Sequence[Mapping[str, Any]],
    outcomes: Sequence[Mapping[str, Any]],
    page: TerminalPage,
    decisions: Mapping[str, HumanDecisions] = MappingProxyType({}),
) -> str:
    """The whole text; verdicts as docs/verdict.md has them, without secrets. *decisions*: what people said about each head."""
    lines = [page.ink(f"{one_line(name)}: {count_phrase(evaluations, 'verdict')}", Ink.BOLD)]
    newest = {evaluation["subject"]["head_sha"]: evaluation["eval_id"] for evaluation in evaluations}
    for evaluation in evaluations:
        head_sha = evaluation["subject"]["head_sha"]
        texts = (
            decision_lines(decisions.get(head_sha, NO_DECISIONS)) if newest[head_sha] == evaluation["eval_id"] else ()
        )
        lines += ["", *_verdict(evaluation, page), *(line for word in texts for line in wrap_lines(word, page, 2))]
    if outcomes:
        lines += ["", page.ink("What was done since", Ink.BOLD)]
        lines += [
            f"  {_time(outcome['at'])}  {outcome['outcome'].replace('_', ' ')}{_opinion_note(outcome['eval_id'])}"
            for outcome in outcomes
        ]
    return "\n".join([*lines, ""])


def _verdict(evaluation: Mapping[str, Any], page: TerminalPage) -> Iterator[str]:
    reason = evaluation["category"] or evaluation["abstain_reason"]
    head = f"{_time(evaluation['created_at'])}  {evaluation['decision']}{f' ({_plain(reason)})' if reason else ''}, round {evaluation['round']}"
    subject = evaluation["subject"]
    yield f"{page.ink(head, DECISION_INKS[evaluation['decision']])}  commit {subject['head_sha'][:12]}{SUBJECT_SUFFIXES.get(subject['kind'], '')}"
    drawn = f"score {bar(evaluation['score'], BAR, page)} {evaluation['score']:.2f}, confidence {evaluation['confidence']:.2f}"
    yield f"  {drawn}, {evaluation['judge_kind']}, {one_line(evaluation['rubric_id'])}@{one_line(evaluation['rubric_version'])}, {_cost(evaluation)}"
    yield from wrap_lines(one_line(evaluation["concern"]), page, 2)
    for pointer in evaluation["evidence"][:3]:
        line = "" if pointer["line"] is None else f":{pointer['line']}"
        yield f"  at {exact_line(pointer['path'])}{line}"
    yield f"  {evaluation['eval_id']}{_rejudged(evaluation)}"


def _rejudged(evaluation: Mapping[str, Any]) -> str:
    if evaluation["parent_eval_id"]:
        return f", beside {evaluation['parent_eval_id']}"
    return f", carried over from {evaluation['carried_from']}" if evaluation["carried_from"] else ""


def _opinion_note(eval_id: str | None) -> str:
    return f" (about {eval_id})" if eval_id else ""


def _cost(evaluation: Mapping[str, Any]) -> str:
    return "price unknown" if evaluation["judge_cost_usd"] is None else f"${evaluation['judge_cost_usd']}"


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _time(moment: str) -> str:
    return f"{datetime.fromisoformat(moment):%Y-%m-%d %H:%M}"
