"""What `assay history` says: a pull request's verdicts in their order, and what was done about them.

Does not look anything up. Invariant: no character that another person wrote can move the cursor, change colours or hide text.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from worker.domain.check.overrides import NOTHING, Said
from worker.publishing.texts.charts import bar
from worker.publishing.texts.columns import Ink, Page, wrapped
from worker.publishing.texts.overrides import told
from worker.publishing.texts.phrases import counted
from worker.publishing.texts.visible import exact_line, one_line

INKS: Final = {"accept": Ink.GREEN, "reject": Ink.RED, "abstain": Ink.YELLOW}
BAR: Final = 10
OTHER: Final = {
    "merge_group": ", in the merge queue",
    "ci_check": ", a CI check",
    "pull_request": ", the whole pull request",
}
"""What a verdict is about, where it is not what was submitted."""


def history(
    name: str,
    evaluations: Sequence[Mapping[str, Any]],
    outcomes: Sequence[Mapping[str, Any]],
    page: Page,
    said: Mapping[str, Said] = MappingProxyType({}),
) -> str:
    """The whole text; verdicts as docs/verdict.md has them, without secrets. *said*: what people said about each head."""
    lines = [page.ink(f"{one_line(name)}: {counted(evaluations, 'verdict')}", Ink.BOLD)]
    newest = {one["subject"]["head_sha"]: one["eval_id"] for one in evaluations}
    for one in evaluations:
        head_sha = one["subject"]["head_sha"]
        words = told(said.get(head_sha, NOTHING)) if newest[head_sha] == one["eval_id"] else ()
        lines += ["", *_verdict(one, page), *(line for word in words for line in wrapped(word, page, 2))]
    if outcomes:
        lines += ["", page.ink("What was done since", Ink.BOLD)]
        lines += [
            f"  {_time(one['at'])}  {one['outcome'].replace('_', ' ')}{_about(one['eval_id'])}" for one in outcomes
        ]
    return "\n".join([*lines, ""])


def _verdict(one: Mapping[str, Any], page: Page) -> Iterator[str]:
    said = one["category"] or one["abstain_reason"]
    head = f"{_time(one['created_at'])}  {one['decision']}{f' ({_plain(said)})' if said else ''}, round {one['round']}"
    subject = one["subject"]
    yield f"{page.ink(head, INKS[one['decision']])}  commit {subject['head_sha'][:12]}{OTHER.get(subject['kind'], '')}"
    drawn = f"score {bar(one['score'], BAR, page)} {one['score']:.2f}, confidence {one['confidence']:.2f}"
    yield f"  {drawn}, {one['judge_kind']}, {one_line(one['rubric_id'])}@{one_line(one['rubric_version'])}, {_cost(one)}"
    yield from wrapped(one_line(one["concern"]), page, 2)
    for pointer in one["evidence"][:3]:
        line = "" if pointer["line"] is None else f":{pointer['line']}"
        yield f"  at {exact_line(pointer['path'])}{line}"
    yield f"  {one['eval_id']}{_anew(one)}"


def _anew(one: Mapping[str, Any]) -> str:
    if one["parent_eval_id"]:
        return f", beside {one['parent_eval_id']}"
    return f", carried over from {one['carried_from']}" if one["carried_from"] else ""


def _about(eval_id: str | None) -> str:
    return f" (about {eval_id})" if eval_id else ""


def _cost(one: Mapping[str, Any]) -> str:
    return "price unknown" if one["judge_cost_usd"] is None else f"${one['judge_cost_usd']}"


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _time(said: str) -> str:
    return f"{datetime.fromisoformat(said):%Y-%m-%d %H:%M}"
