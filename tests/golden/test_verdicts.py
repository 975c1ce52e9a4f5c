"""Recorded dossier in, verdict and check run out.

`verdicts/NAME.json` has structure, codes and numbers, `prose/verdicts/NAME.md` the texts, and `digests.json` the fingerprint of
each content and a hash of each question: an edit of the prompt changes `digests.json` only, one of the rubric `states.json` too.
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
def test_dossier_gives_the_recorded_verdict_and_check(name: str, golden: Golden) -> None:
    outcome = judge_dossier(name)
    output, blocks = outcome.check["output"], blocks_of(outcome.check)
    alerts = json.loads(sarif_text(outcome.evaluated.verdict, outcome.dossier, (), "0"))["runs"][0]["results"]
    golden.check_json(
        f"verdicts/{name}.json",
        {
            "verdict": structure(outcome.verdict),
            "opinions": [
                structure(item.verdict.model_dump(mode="json"), {"eval_id"}) for item in outcome.evaluated.opinions
            ],
            "check": structure({**outcome.check, "output": {**output, "text": ""}}),
            "check_block": structure(blocks[CHECK]),
            "verdict_block": "whole" if blocks[VERDICT] == outcome.verdict else structure(blocks[VERDICT]),
            "sarif": structure(alerts),
            "questions": len(outcome.question_digests),
        },
    )


@pytest.mark.parametrize("name", NAMES)
def test_dossier_gives_the_recorded_texts(name: str, golden: Golden) -> None:
    golden.check_text(f"prose/verdicts/{name}.md", VERSION.sub("...", all_texts(judge_dossier(name))))


def test_fingerprints_and_model_questions_are_unchanged(golden: Golden) -> None:
    digests = {
        name: {"content": judge_dossier(name).verdict["fingerprint"], "asked": judge_dossier(name).question_digests}
        for name in NAMES
    }
    golden.check_json("digests.json", digests)


def test_dossiers_cover_every_category_and_decision(golden: Golden) -> None:
    golden.check_file_names("verdicts", (f"{name}.json" for name in NAMES))
    golden.check_file_names("prose/verdicts", (f"{name}.md" for name in NAMES))
    verdicts = [judge_dossier(name).verdict for name in NAMES]
    assert {item["category"] for item in verdicts} - {None} == {*Category}
    assert {item["decision"] for item in verdicts} == {"accept", "reject", "abstain"}
    assert {item["judge_kind"] for item in verdicts} >= {"heuristic", "hybrid"}


def structure(value: Any, ids: AbstractSet[str] = frozenset()) -> Any:
    """The value with a placeholder for each text and digest."""
    match value:
        case dict():
            fields = cast("dict[str, Any]", value)
            hidden = PROSE | DIGESTS | ids
            return {
                name: "..." if name in hidden and isinstance(item, str) and item else structure(item, ids)
                for name, item in fields.items()
            }
        case list():
            return [structure(item, ids) for item in cast("list[Any]", value)]
        case float():
            return round(value, 4)
        case _:
            return value


def all_texts(outcome: JudgedDossier) -> str:
    """The texts of the check run, the verdict, the author comment and the terminal."""
    output = outcome.check["output"]
    notes = [
        f"`{item['path']}:{item['start_line']}` {item['title']}: {item['message']}"
        for item in output.get("annotations", ())
    ]
    phrases = [f"- {path}: {text}" for path, text in prose_fields(outcome.verdict)]
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
        verdict_report(outcome.evaluated.verdict, outcome.dossier, TerminalPage()).rstrip("\n"),
    )
    return "\n\n".join(parts) + "\n"


def prose_fields(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    match value:
        case dict():
            for name, item in cast("dict[str, Any]", value).items():
                if name in PROSE and isinstance(item, str) and item:
                    yield f"{path}{name}", item
                else:
                    yield from prose_fields(item, f"{path}{name}.")
        case list():
            for at, item in enumerate(cast("list[Any]", value)):
                yield from prose_fields(item, f"{path}{at}.")
        case _:
            return
