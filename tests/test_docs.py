"""What the documents say is what the code says."""

import json
import re
import tomllib
from pathlib import Path

from worker.domain.verdict import VERDICT, AbstainReason, Category
from worker.variables import VARIABLES

ROOT = Path(__file__).resolve().parent.parent


def test_every_dependency_is_listed_with_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.split(r"[\[<>=;~! ]", one, maxsplit=1)[0] for one in project["dependencies"]}
    table = (ROOT / "docs/dependencies.md").read_text().split("For development only")[0]
    assert set(re.findall(r"^\| `([^`]+)` \| \S", table, flags=re.MULTILINE)) == names


def test_the_configuration_reference_is_what_the_settings_say() -> None:
    rows = [f"| `{one.name}` | {one.expected} | {one.default} |" for one in VARIABLES]
    assert (ROOT / "docs/configuration.md").read_text().splitlines()[-len(rows) :] == rows


def test_the_readme_names_every_category_and_every_reason_not_to_judge() -> None:
    readme = (ROOT / "README.md").read_text()
    missing = [one.value for one in (*Category, *AbstainReason) if f"`{one.value}`" not in readme]
    assert not missing


def test_the_schema_of_verdicts_is_what_the_types_say() -> None:
    """To write it anew: json.dumps(VERDICT.json_schema(mode="serialization"), indent=2), and a line end."""
    published = json.loads((ROOT / "docs" / "verdict.schema.json").read_text("utf-8"))
    assert published == VERDICT.json_schema(mode="serialization")


def test_every_test_that_the_table_of_the_tests_names_is_there() -> None:
    table = (ROOT / "tests/README.md").read_text()
    named = re.findall(r"`([\w/]+\.py)(?:::(test_\w+))?`", table)
    assert len(re.findall(r"^\| 1?\d [a-zA-Z]", table.partition("## Twenty-five")[0], flags=re.MULTILINE)) == 15 + 8
    for file, name in named:
        text = (ROOT / "tests" / file).read_text()
        assert not name or f"def {name}(" in text, (file, name)
