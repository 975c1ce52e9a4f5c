"""The output of `assay config`: mistakes, effective values, reference and schema."""

import json
import re
from pathlib import Path
from typing import Any

from inline_snapshot import snapshot

from tests.golden.golden import Golden, Pages
from worker.domain.config.config import ConfigKeys
from worker.domain.dossier import ConfigOrigin, ConfigText
from worker.dossier.config import read_config, resolve_config
from worker.publishing.texts.config import effective_report, mistake_report, reference, schema
from worker.publishing.texts.terminal import TerminalPage

PAGE = TerminalPage(width=90)


def report_on(text: str, page: TerminalPage = PAGE) -> str:
    return mistake_report(read_config(text).problems, text, "assay.yml", page)


def test_mistake_out_of_sight_has_no_caret() -> None:
    assert report_on("never_send: [") == snapshot(
        """\
assay.yml:1:14: expected the node content, but found '<stream end>'
  1 | never_send: [
    |              ^

1 mistake. What has one sets nothing: the last version without any holds there, and
nothing is accepted without a model.
"""
    )
    assert "^" not in report_on(f"{'#' * 10}\n{' ' * 300}x: 1")
    assert "|" not in report_on("ci_wait: 5m\rmode: x"), "a line break that only YAML knows"


def test_file_content_emits_no_control_characters() -> None:
    report = report_on("mode: 'a\tb'  # \x7f".replace("\x7f", "x"))
    assert "\t" not in report
    assert "\x1b" not in report
    assert "\x1b[1m" in report_on("mode: x", TerminalPage(has_colour=True))


def test_missing_file_shows_the_defaults() -> None:
    assert effective_report(resolve_config([]), {}, PAGE).startswith("There is no file: every default holds.\n\nmode ")


DOCS = Path(__file__).resolve().parents[4] / "docs"


def test_configuration_reference_matches_the_code() -> None:
    assert (DOCS / "repository-configuration.md").read_text("utf-8") == reference(), "assay config reference"


def test_published_schema_matches_the_code() -> None:
    assert (DOCS / "assay.schema.json").read_text("utf-8") == schema(), "assay config schema"


def test_reference_documents_each_key_with_a_valid_example() -> None:
    page = reference()
    for key in ConfigKeys.model_fields:
        assert re.search(rf"^\| `{key}` \| \S.*\| \S.* \|$", page, re.MULTILINE), key
    example = page.split("```yaml\n")[1].split("```")[0]
    reading = read_config(example)
    assert reading.problems == ()
    assert set(reading.values) == set(ConfigKeys.model_fields)


def test_schema_describes_each_key() -> None:
    made: dict[str, Any] = json.loads(schema())
    assert made["additionalProperties"] is False
    assert set(made["properties"]) == set(ConfigKeys.model_fields)
    assert all(field["description"] and field["examples"] for field in made["properties"].values())
    assert made["properties"]["mode"]["enum"] == ["block", "observe"]
    assert "stub_body" in made["properties"]["signals"]["propertyNames"]["enum"]
    assert made["$defs"]["Authors"]["additionalProperties"] is False


def pages() -> Pages:
    yield "a caret stands under each mistake", report_on('mode: blok\r\nnever_send: ["ünï 漢字", 3]\n')
    names = {ConfigOrigin.REPOSITORY: "own.yml", ConfigOrigin.ORGANISATION: "org.yml"}
    texts = [
        ConfigText(origin=ConfigOrigin.REPOSITORY, text="mode: observe\nnever_send: ['.env*']"),
        ConfigText(origin=ConfigOrigin.ORGANISATION, text="ci_wait: 5m\nmode: block"),
    ]
    yield "every key is told with who sets it", effective_report(resolve_config(texts), names, PAGE)


def test_configuration_texts_match_the_golden_pages(golden: Golden) -> None:
    golden.check_pages("prose/texts/config.md", pages())
