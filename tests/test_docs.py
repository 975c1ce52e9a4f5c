"""What the documents say is what the code says."""

import ast
import json
import re
import tomllib
from pathlib import Path

from worker.domain.verdict.ledger import Case
from worker.domain.verdict.verdict import VERDICT_ADAPTER, AbstainReason, Category
from worker.dossier.case import CASE_NAMES, CLAIM_NAMES, read_block
from worker.dossier.claim_pointer import read_pointer
from worker.settings_reference import VARIABLES

ROOT = Path(__file__).resolve().parent.parent


def test_every_dependency_is_listed_with_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.split(r"[\[<>=;~! ]", one, maxsplit=1)[0] for one in project["dependencies"]}
    table = (ROOT / "docs/design.md").read_text().partition("## Dependencies")[2].partition("For development only")[0]
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
    assert published == VERDICT_ADAPTER.json_schema(mode="serialization")


def test_every_test_that_the_table_of_the_tests_names_is_there() -> None:
    table = (ROOT / "tests/README.md").read_text()
    named = re.findall(r"`([\w/]+\.py)(?:::(test_\w+))?`", table)
    assert len(re.findall(r"^\| 1?\d [a-zA-Z]", table.partition("## Twenty-five")[0], flags=re.MULTILINE)) == 15 + 8
    for file, name in named:
        text = (ROOT / "tests" / file).read_text()
        assert not name or f"def {name}(" in text, (file, name)


def test_what_the_page_on_the_case_shows_is_read_as_it_says() -> None:
    page = (ROOT / "docs/case.md").read_text()
    blocks = re.findall(r"^```assay\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    shown = [block for block in blocks if "summary: " in block]
    assert [read_block(block).unread for block in shown] == [(), ()]
    assert all(isinstance(read_block(block).case, Case) for block in shown)
    forms, natural = page.partition("## Places")[2].partition("## Good and bad")[0].split("**A place in one of these")
    places = [
        place
        for row in re.findall(r"^\| (`.*?) \|", forms, flags=re.MULTILINE)
        for place in re.findall(r"`(.+?)`", row)
    ]
    assert len(places) == 9
    assert [place for place in places if not (found := read_pointer(place)) or not found.is_exact] == []
    others = re.findall(r"`([^`]*\.py[^`]*)`", natural)
    stated = [found.is_exact and found.names_code for place in others if (found := read_pointer(place))]
    assert stated == [False] * 9
    known = {name for names in (*CASE_NAMES.values(), *CLAIM_NAMES.values()) for name in names}
    told = re.findall(r"`([a-z_]+)`", page.partition("Read as well:")[2].partition("Other fields")[0])
    assert {name.replace("_", "") for name in told} <= known


def test_no_text_that_people_read_is_about_somebody_or_nobody() -> None:
    """The subject of a sentence is a thing of the domain: an account, a maintainer, the operator, this change."""
    read = [
        *(ROOT / "worker/publishing/texts").glob("*.py"),
        *(ROOT / "worker/evaluation/texts").glob("*.py"),
        ROOT / "worker/judge/texts.py",
        ROOT / "worker/settings_reference.py",
    ]
    about = re.compile(r"\b(?:some|any|every|no)body\b|\bwhoever\b", re.IGNORECASE)
    found = [
        (path.name, text)
        for path in (*read, *(ROOT / "app").rglob("*.py"))
        for text in texts_in(ast.parse(path.read_text()))
        if about.search(text)
    ]
    assert found == []


def texts_in(tree: ast.Module) -> list[str]:
    """Every text of a module but its docstrings."""
    bare = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
    return [
        one.value
        for one in ast.walk(tree)
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in bare
    ]
