"""What `assay config check` prints: a caret under each mistake, or every key with who sets it."""

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


def told(text: str, page: TerminalPage = PAGE) -> str:
    return mistake_report(read_config(text).problems, text, "assay.yml", page)


def test_a_mistake_at_the_end_of_the_file_and_one_far_to_the_right_have_no_caret() -> None:
    assert told("never_send: [") == snapshot(
        """\
assay.yml:1:14: expected the node content, but found '<stream end>'
  1 | never_send: [
    |              ^

1 mistake. What has one sets nothing: the last version without any holds there, and
nothing is accepted without a model.
"""
    )
    assert "^" not in told(f"{'#' * 10}\n{' ' * 300}x: 1")
    assert "|" not in told("ci_wait: 5m\rmode: x"), "a line break that only YAML knows"


def test_what_stands_in_a_file_moves_no_cursor() -> None:
    said = told("mode: 'a\tb'  # \x7f".replace("\x7f", "x"))
    assert "\t" not in said
    assert "\x1b" not in said
    assert "\x1b[1m" in told("mode: x", TerminalPage(has_colour=True))


def test_without_a_file_the_defaults_are_told() -> None:
    assert effective_report(resolve_config([]), {}, PAGE).startswith("There is no file: every default holds.\n\nmode ")


DOCS = Path(__file__).resolve().parents[4] / "docs"


def test_the_reference_is_what_the_code_says() -> None:
    assert (DOCS / "repository-configuration.md").read_text("utf-8") == reference(), "assay config reference"


def test_the_published_schema_is_what_the_code_says() -> None:
    assert (DOCS / "assay.schema.json").read_text("utf-8") == schema(), "assay config schema"


def test_every_key_is_documented_with_its_default_and_an_example_that_is_valid() -> None:
    page = reference()
    for key in ConfigKeys.model_fields:
        assert re.search(rf"^\| `{key}` \| \S.*\| \S.* \|$", page, re.MULTILINE), key
    example = page.split("```yaml\n")[1].split("```")[0]
    reading = read_config(example)
    assert reading.problems == ()
    assert set(reading.values) == set(ConfigKeys.model_fields)


def test_an_editor_knows_every_key_its_meaning_and_what_it_takes() -> None:
    made: dict[str, Any] = json.loads(schema())
    assert made["additionalProperties"] is False
    assert set(made["properties"]) == set(ConfigKeys.model_fields)
    assert all(one["description"] and one["examples"] for one in made["properties"].values())
    assert made["properties"]["mode"]["enum"] == ["block", "observe"]
    assert "stub_body" in made["properties"]["signals"]["propertyNames"]["enum"]
    assert made["$defs"]["Authors"]["additionalProperties"] is False


def pages() -> Pages:
    yield "a caret stands under each mistake", told('mode: blok\r\nnever_send: ["ünï 漢字", 3]\n')
    names = {ConfigOrigin.REPOSITORY: "own.yml", ConfigOrigin.ORGANISATION: "org.yml"}
    texts = [
        ConfigText(origin=ConfigOrigin.REPOSITORY, text="mode: observe\nnever_send: ['.env*']"),
        ConfigText(origin=ConfigOrigin.ORGANISATION, text="ci_wait: 5m\nmode: block"),
    ]
    yield "every key is told with who sets it", effective_report(resolve_config(texts), names, PAGE)


def test_what_people_read(golden: Golden) -> None:
    golden.check_pages("prose/texts/config.md", pages())
