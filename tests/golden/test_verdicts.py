"""Recorded dossier in, verdict and check run out.

`verdicts/NAME.json` has structure, codes and numbers; `prose/verdicts/NAME.md` has the words. `digests.json` has the fingerprint of
each content and a hash of each question to a model: an edit of the prompt changes this file alone, one of the rubric `states.json` as well.
"""

import json
import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Any, Final, cast

import pytest

from tests.golden.golden import Golden
from tests.golden.judging import NAMES, JudgedDossier, blocks_of, judge_dossier, text_of
from worker.domain.verdict.ledger import ROUND_LIMIT
from worker.domain.verdict.verdict import Category
from worker.publishing.texts.comments import feedback_comment
from worker.publishing.texts.sarif import sarif_text
from worker.publishing.texts.terminal import TerminalPage, verdict_report

PROSE: Final = frozenset({
    "case_error", "claim", "concern", "description", "escalation_reason", "improvement", "label", "message", "next_step", "note",
    "reasoning", "summary", "text", "title", "why",
})  # fmt: skip
DIGESTS: Final = frozenset({"fingerprint", "prompt_version", "rubric_version"})
VERDICT, CHECK = "The verdict as JSON", "This check as JSON"
VERSION: Final = re.compile(r"(?<=sha256:)[0-9a-f]{64}|(?<=- Rubric default, version )\d+")


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_dossier_gives_the_same_verdict_and_check(name: str, golden: Golden) -> None:
    outcome = judge_dossier(name)
    output, blocks = outcome.check["output"], blocks_of(outcome.check)
    alerts = json.loads(sarif_text(outcome.heard.verdict, outcome.dossier, (), "0"))["runs"][0]["results"]
    golden.holds_json(
        f"verdicts/{name}.json",
        {
            "verdict": structure(outcome.verdict),
            "opinions": [structure(one.verdict.model_dump(mode="json"), {"eval_id"}) for one in outcome.heard.opinions],
            "check": structure({**outcome.check, "output": {**output, "text": ""}}),
            "check_block": structure(blocks[CHECK]),
            "verdict_block": "whole" if blocks[VERDICT] == outcome.verdict else structure(blocks[VERDICT]),
            "sarif": structure(alerts),
            "questions": len(outcome.asked),
        },
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_dossier_is_answered_in_the_same_words(name: str, golden: Golden) -> None:
    golden.holds(f"prose/verdicts/{name}.md", VERSION.sub("...", words(judge_dossier(name))))


def test_content_and_questions_stay_as_they_were(golden: Golden) -> None:
    digests = {
        name: {"content": judge_dossier(name).verdict["fingerprint"], "asked": judge_dossier(name).asked}
        for name in NAMES
    }
    golden.holds_json("digests.json", digests)


def test_the_dossiers_reach_every_category_and_each_kind_of_decision(golden: Golden) -> None:
    golden.has_only("verdicts", (f"{name}.json" for name in NAMES))
    golden.has_only("prose/verdicts", (f"{name}.md" for name in NAMES))
    verdicts = [judge_dossier(name).verdict for name in NAMES]
    assert {one["category"] for one in verdicts} - {None} == {*Category}
    assert {one["decision"] for one in verdicts} == {"accept", "reject", "abstain"}
    assert {one["judge_kind"] for one in verdicts} >= {"heuristic", "hybrid"}


def structure(value: Any, ids: AbstractSet[str] = frozenset()) -> Any:
    """The same without words and digests; whether there are any stays to be seen."""
    match value:
        case dict():
            fields = cast("dict[str, Any]", value)
            hidden = PROSE | DIGESTS | ids
            return {
                name: "..." if name in hidden and isinstance(one, str) and one else structure(one, ids)
                for name, one in fields.items()
            }
        case list():
            return [structure(one, ids) for one in cast("list[Any]", value)]
        case float():
            return round(value, 4)
        case _:
            return value


def words(outcome: JudgedDossier) -> str:
    """The check run for people, the texts of the verdict, which a check run may cut, the author's comment, and the terminal."""
    output = outcome.check["output"]
    notes = [
        f"`{one['path']}:{one['start_line']}` {one['title']}: {one['message']}" for one in output.get("annotations", ())
    ]
    phrases = [f"- {path}: {text}" for path, text in prose_of(outcome.verdict)]
    parts = (
        f"# {output['title']}",
        output["summary"],
        text_of(outcome.check),
        "# Annotations",
        *notes,
        "# Verdict",
        "\n".join(phrases),
        "# Comment for the author",
        feedback_comment(outcome.entries, ROUND_LIMIT),
        "# Terminal",
        verdict_report(outcome.heard.verdict, outcome.dossier, TerminalPage()).rstrip("\n"),
    )
    return "\n\n".join(parts) + "\n"


def prose_of(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    match value:
        case dict():
            for name, one in cast("dict[str, Any]", value).items():
                if name in PROSE and isinstance(one, str) and one:
                    yield f"{path}{name}", one
                else:
                    yield from prose_of(one, f"{path}{name}.")
        case list():
            for at, one in enumerate(cast("list[Any]", value)):
                yield from prose_of(one, f"{path}{at}.")
        case _:
            return
