"""The documents match the code."""

import ast
import json
import re
import tomllib
from pathlib import Path

from worker.domain.verdict.ledger import Case
from worker.domain.verdict.verdict import VERDICT_ADAPTER, AbstainReason, Category
from worker.dossier.case import CASE_NAMES, CLAIM_NAMES, read_block, read_pointer
from worker.settings_reference import VARIABLES

ROOT = Path(__file__).resolve().parent.parent


def test_each_dependency_is_listed_with_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.split(r"[\[<>=;~! ]", dependency, maxsplit=1)[0] for dependency in project["dependencies"]}
    table = (ROOT / "docs/design.md").read_text().partition("## Dependencies")[2].partition("For development only")[0]
    assert set(re.findall(r"^\| `([^`]+)` \| \S", table, flags=re.MULTILINE)) == names


def test_configuration_reference_matches_the_settings() -> None:
    rows = [f"| `{variable.name}` | {variable.expected} | {variable.default} |" for variable in VARIABLES]
    assert (ROOT / "docs/configuration.md").read_text().splitlines()[-len(rows) :] == rows


def test_readme_names_every_category_and_abstain_reason() -> None:
    readme = (ROOT / "README.md").read_text()
    missing = [member.value for member in (*Category, *AbstainReason) if f"`{member.value}`" not in readme]
    assert not missing


def test_verdict_schema_matches_the_types() -> None:
    """The file is json.dumps(VERDICT_ADAPTER.json_schema(mode="serialization"), indent=2) with a newline."""
    published = json.loads((ROOT / "docs" / "verdict.schema.json").read_text("utf-8"))
    assert published == VERDICT_ADAPTER.json_schema(mode="serialization")


def test_tests_named_in_the_tables_exist() -> None:
    table = (ROOT / "tests/README.md").read_text()
    named = re.findall(r"`([\w/]+\.py)(?:::(test_\w+))?`", table)
    assert len(re.findall(r"^\| 1?\d [a-zA-Z]", table.partition("## Twenty-five")[0], flags=re.MULTILINE)) == 15 + 8
    for file, name in named:
        text = (ROOT / "tests" / file).read_text()
        assert not name or f"def {name}(" in text, (file, name)


def test_case_page_shows_readable_examples() -> None:
    page = (ROOT / "docs/case.md").read_text()
    blocks = re.findall(r"^```assay\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    shown = [block for block in blocks if "summary: " in block]
    assert [read_block(block).unread for block in shown] == [(), ()]
    assert all(isinstance(read_block(block).case, Case) for block in shown)
    forms, natural = page.partition("## Places")[2].partition("## Good and bad")[0].split("**A place in one of these")
    rows = re.findall(r"^\| (`.*?) \|", forms, flags=re.MULTILINE)
    texts = [text for row in rows for text in re.findall(r"`(.+?)`", row)]
    assert len(texts) == 9
    assert [text for text in texts if not (pointer := read_pointer(text)) or not pointer.is_exact] == []
    others = re.findall(r"`([^`]*\.py[^`]*)`", natural)
    stated = [pointer.is_exact and pointer.names_code for text in others if (pointer := read_pointer(text))]
    assert stated == [False] * 9
    names = {name for names in (*CASE_NAMES.values(), *CLAIM_NAMES.values()) for name in names}
    listed = re.findall(r"`([a-z_]+)`", page.partition("Read as well:")[2].partition("Other fields")[0])
    assert {name.replace("_", "") for name in listed} <= names


def test_texts_have_no_indefinite_person_as_subject() -> None:
    """The subject of a sentence is a thing of the domain: an account, a maintainer, the operator, this change."""
    read = [path for room in ("publishing", "evaluation") for path in (ROOT / f"worker/{room}/texts").glob("*.py")]
    read += [ROOT / "worker/judge/texts.py", ROOT / "worker/settings_reference.py", *(ROOT / "app").rglob("*.py")]
    about = re.compile(r"\b(?:some|any|every|no)body\b|\bwhoever\b", re.IGNORECASE)
    texts = [(path.name, text) for path in read for text in texts_in(ast.parse(path.read_text()))]
    assert [(name, text) for name, text in texts if about.search(text)] == []


def texts_in(tree: ast.Module) -> list[str]:
    """Every text of a module but its docstrings."""
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in bare]
    return [node.value for node in constants if isinstance(node.value, str)]
