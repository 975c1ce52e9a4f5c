"""docs/repository-configuration.md and docs/assay.schema.json are what the code says."""

import json
import re
from pathlib import Path
from typing import Any

from worker.domain.config.schema import ConfigKeys
from worker.dossier.config_file import read_config
from worker.publishing.texts.config_reference import reference, schema

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
