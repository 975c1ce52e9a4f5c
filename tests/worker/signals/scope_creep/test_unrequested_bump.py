"""Bumps that nothing asks for, and lock files that changed alone."""

import pytest

from tests.worker.signals.made import change_of
from worker.signals.analysis.change import CodeChange
from worker.signals.scope_creep.unrequested_bump import lock_file_alone, unasked_bump

CODE = {"src/upload.py": "import requests\nrequests.get(url)\n"}


def bumped(path: str, before: str, after: str, title: str = "Retry uploads") -> list[int | None]:
    change = change_of({path: before}, CODE | {path: after}, title=title)
    return [finding.line for finding in unasked_bump.findings(change)]


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("package.json", '{\n  "esbuild": "^0.25.5",\n', '{\n  "esbuild": "^0.26.5",\n'),
        ("pyproject.toml", '[x]\nrequires = ["setuptools>=40.6.0"]\n', '[x]\nrequires = ["setuptools>=41.6.0"]\n'),
        ("go.mod", "module x\n\tgopkg.in/yaml.v2 v2.2.8\n", "module x\n\tgopkg.in/yaml.v2 v3.3.8\n"),
        ("Cargo.toml", '[deps]\nyaml-rust = { version = "0.4" }\n', '[deps]\nyaml-rust = { version = "1.4" }\n'),
        ("requirements-dev.txt", "a\nflake8==1.0\n", "a\nflake8==2\n"),
    ],
)
def test_a_bump_that_nothing_uses_is_suspected_at_its_line(path: str, before: str, after: str) -> None:
    assert bumped(path, before, after) == [2]


POM = "<artifactId>{}</artifactId>\n<version>{}</version>\n"


def test_in_xml_the_name_stands_above_the_version() -> None:
    assert bumped("pom.xml", POM.format("guava", "1.0"), POM.format("guava", "1.1")) == [2]
    assert bumped("pom.xml", POM.format("requests", "1.0"), POM.format("requests", "1.1")) == []
    assert bumped("pom.xml", "<version>1.0</version>\n", "<version>1.1</version>\n") == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('requests = "1.0"\n', 'requests = "1.1"\n'),  # the code uses it
        ('version = "1.0"  # as in conf.py\n', 'version = "1.1"  # as in conf.py\n'),  # the project's own
        ('esbuild = "1.0"\n', 'esbuild = "1.0"\nflake8 = "3"\n'),  # new, not bumped
        ('  esbuild = "1.0"\n', 'esbuild = "1.0"\n'),  # only laid out
        ('name = "ab"\n', 'name = "ab" # x\n'),  # no version
        ("a\n", "b\n"),
    ],
)
def test_other_edits_of_a_manifest_are_no_bumps(before: str, after: str) -> None:
    assert bumped("pyproject.toml", before, after) == []


def test_a_line_without_a_version_that_differs_in_nothing_else_is_no_bump() -> None:
    assert bumped("pyproject.toml", "flake\n", "flake \n") == []


@pytest.mark.parametrize(
    "title", ["Bump esbuild", "Update dependencies", "Prepare the release", "Raise the esbuild target"]
)
def test_a_bump_that_was_asked_for_is_none(title: str) -> None:
    assert bumped("package.json", '"esbuild": "1.0"\n', '"esbuild": "1.1"\n', title) == []


def test_a_change_without_code_is_about_its_dependencies() -> None:
    change = change_of({"package.json": '"a1": "1.0"\n'}, {"package.json": '"a1": "1.1"\n', "README.md": "a\n"})
    assert list(unasked_bump.findings(change)) == []


def locked(change: CodeChange) -> list[str | None]:
    return [finding.path for finding in lock_file_alone.findings(change)]


def test_a_lock_file_without_a_manifest_is_suspected() -> None:
    assert locked(change_of({"go.sum": "a v1\n"}, CODE | {"go.sum": "a v2\n"})) == ["go.sum"]


def test_a_lock_file_beside_its_manifest_is_not() -> None:
    assert locked(change_of({}, CODE | {"go.sum": "a v2\n", "go.mod": "a v2\n"})) == []


def test_a_lock_file_that_was_asked_for_or_stands_alone_is_not() -> None:
    assert locked(change_of({}, CODE | {"yarn.lock": "a v2\n"}, title="Refresh dependencies")) == []
    assert locked(change_of({}, {"yarn.lock": "a v2\n"})) == []
