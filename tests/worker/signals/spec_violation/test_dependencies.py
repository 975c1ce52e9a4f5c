"""Rules against new dependencies, held against manifests."""

import pytest

from tests.worker.signals.spec_violation.ruled import found, ruled, signals

FACT, DOUBT = "forbidden_code_added", "rule_perhaps_broken"
RULE = "Do not add new dependencies."
CARGO = '[package]\nname = "a"\n\n[dependencies]\nserde = "1"\nown = { path = "../own" }\n'
PROJECT = '[project]\nname = "a"\ndependencies = ["httpx>=0.27"]\n\n[tool.x]\ny = 1\n'
PACKAGE = '{\n  "dependencies": {\n    "zod": "^3.0.0"\n  }\n}\n'


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("package.json", PACKAGE, PACKAGE.replace('"zod"', '"left-pad": "1.0.0",\n    "zod"')),
        (
            "web/package.json",
            PACKAGE,
            PACKAGE.replace("{\n  ", '{\n  "devDependencies": {\n    "vitest": "1"\n  },\n  ', 1),
        ),
        ("Cargo.toml", CARGO, CARGO + 'tokio = { version = "1" }\n'),
        ("Cargo.toml", CARGO, CARGO + '\n[target.x.dev-dependencies]\ntokio = "1"\n'),
        ("pyproject.toml", PROJECT, PROJECT.replace('"httpx', '"attrs", "httpx')),
        ("pyproject.toml", PROJECT, PROJECT + '\n[dependency-groups]\ndev = ["attrs"]\n'),
        ("go.mod", "module a\n", "module a\nrequire github.com/a/b v1.0.0\n"),
        ("requirements.txt", "httpx\n", "httpx\nattrs==1.0\n"),
    ],
)
def test_a_package_that_the_manifest_did_not_name_is_a_fact(path: str, before: str, after: str) -> None:
    assert signals(ruled(RULE, {path: before}, {path: after})) == {FACT}


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("package.json", PACKAGE, PACKAGE.replace("3.0.0", "4.0.0")),
        ("package.json", PACKAGE, PACKAGE.replace('"zod"', '"own": "workspace:*",\n    "zod"')),
        ("Cargo.toml", CARGO, CARGO + "other = { workspace = true }\n"),
        ("Cargo.toml", CARGO, CARGO + '\n[features]\nx = ["serde"]\n'),
        ("pyproject.toml", PROJECT, PROJECT.replace("y = 1", "y = 2")),
        (
            "pyproject.toml",
            "[tool.poetry.dependencies]\nx = '1'\n",
            "[tool.poetry.dependencies]\nx = '1'\npython = '3'\n",
        ),
        ("go.mod", "module a\n", "module a\nrequire github.com/a/b v1.0.0 // indirect\n"),
        ("requirements.txt", "httpx\n", "httpx==2\n# attrs\n"),
    ],
)
def test_versions_own_packages_and_other_tables_are_nothing(path: str, before: str, after: str) -> None:
    assert signals(ruled(RULE, {path: before}, {path: after})) == set()


def test_what_cannot_be_read_is_looked_at_line_by_line() -> None:
    after = '{ not json\n  "left-pad": "1.0.0"\n'
    assert signals(ruled(RULE, {"package.json": "{ not json\n"}, {"package.json": after})) == {DOUBT}


def test_an_issue_that_names_the_package_may_have_asked_for_it() -> None:
    after = {"requirements.txt": "attrs\n"}
    before = {"requirements.txt": "\n"}
    assert signals(ruled(RULE, before, after, issue="Use attrs")) == {DOUBT}
    assert signals(ruled(RULE, before, after, issue="Count faster")) == {FACT}


def test_a_rule_for_the_runtime_lets_tools_in() -> None:
    rule, before = "No new runtime dependencies.", {"package.json": PACKAGE}
    tool = PACKAGE.replace("{\n  ", '{\n  "devDependencies": {\n    "vitest": "1"\n  },\n  ', 1)
    assert signals(ruled(rule, before, {"package.json": tool})) == set()
    assert signals(ruled(rule, before, {"package.json": PACKAGE.replace("zod", "yup")})) == {FACT}


def test_the_finding_is_at_the_line_that_names_it() -> None:
    assert found(ruled(RULE, {"requirements.txt": "a\n"}, {"requirements.txt": "a\nb\n"})) == [
        (FACT, "requirements.txt", 2)
    ]
