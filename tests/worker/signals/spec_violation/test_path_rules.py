"""Rules about paths and dependencies, held against the files that a change touches."""

import pytest

from tests.worker.signals.made import plain_dossier
from tests.worker.signals.spec_violation.ruled import found, ruled, signals
from worker.domain.verdict.verdict import Side
from worker.signals.analysis.change import CodeChange
from worker.signals.spec_violation.scopes import is_path_match
from worker.signals.spec_violation.violations import find_violations

FACT, DOUBT = "forbidden_path_touched", "rule_perhaps_broken"
CODE = {"src/a.py": "a\n"}


def edits(rule: str, path: str, before: str = "old\n", after: str = "new\n", **others: str) -> set[str]:
    return signals(ruled(rule, {path: before, "src/a.py": "a\n", **others}, {path: after, "src/a.py": "b\n", **others}))


@pytest.mark.parametrize(
    ("written", "path", "is_meant"),
    [
        ("docs/", "docs/a.md", True),
        ("docs/", "x/docs/a.md", True),
        ("docs/", "docsy/a.md", False),
        ("./docs/", "x/docs/a.md", False),
        ("a/b", "a/b/c", True),
        ("a/b", "x/a/b", False),
        ("docs/v*/", "docs/v1/a.md", True),
        ("docs/v*/", "docs/edge/a.md", False),
        ("src/**/gen/", "src/a/b/gen/c", True),
        ("src/**", "src/a/b", True),
        ("a?.py", "ab.py", True),
        ("*.lock", "x/yarn.lock", True),
    ],
)
def test_paths_are_matched_as_rules_write_them(written: str, path: str, is_meant: bool) -> None:  # noqa: FBT001 - a table
    assert is_path_match(written, path) is is_meant


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("Leave `docs/` alone; another team owns it.", "docs/a.md"),
        ("Never modify files under `.github/`.", ".github/workflows/ci.yml"),
        ("Do not touch `src/legacy/`.", "src/legacy/a.py"),
    ],
)
def test_touching_what_is_to_be_left_alone_is_a_fact(rule: str, path: str) -> None:
    assert edits(rule, path) == {FACT}


def test_a_folder_of_the_same_name_deeper_down_is_a_suspicion() -> None:
    assert edits("Leave `docs/` alone.", "website/docs/a.md") == {DOUBT}


def test_what_an_issue_names_may_have_been_asked_for() -> None:
    rule, before, after = "Leave `docs/` alone.", {"docs/a.md": "a\n"}, {"docs/a.md": "b\n"}
    assert signals(ruled(rule, before, after, issue="Mend the docs")) == {DOUBT}
    assert signals(ruled(rule, before, after, issue="Mend the page")) == {FACT}


def test_only_what_is_forbidden_to_happen_counts() -> None:
    rule = "Never delete or rename files under `images/`."
    assert signals(ruled(rule, {"images/a.svg": "a\n"}, {"images/a.svg": "b\n"})) == set()
    assert found(ruled(rule, {"images/a.svg": "a\n"}, {})) == [(FACT, "images/a.svg", 1)]
    assert signals(ruled("Do not commit `.env`.", {}, {".env": "a\n"})) == {FACT}
    assert signals(ruled("Do not commit `.env`.", {".env": "b\n"}, {".env": "a\n"})) == set()


def test_a_removed_line_is_shown_on_its_side() -> None:
    change = ruled("Leave `docs/` alone.", {"docs/a.md": "a\nb\n"}, {"docs/a.md": "a\n"})
    (breach,) = find_violations(change)
    assert (breach.line, breach.side) == (2, Side.BASE)


def test_a_renamed_file_without_other_changes_is_shown_by_its_path() -> None:
    diff = "diff --git a/docs/a.md b/x/a.md\nsimilarity index 100%\nrename from docs/a.md\nrename to x/a.md\n"
    guidance = [{"path": "AGENTS.md", "text": "- Leave `docs/` alone."}]
    assert found(CodeChange(plain_dossier(diff, guidance=guidance))) == [(DOUBT, "x/a.md", None)]


LOCK = 'name = "a"\nversion = "1"\nchecksum = "abc"\nsource = "registry"\n'


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("Cargo.lock", LOCK, LOCK.replace("abc", "abX")),
        ("sub/package-lock.json", '"resolved": "x.tgz"\n', '"resolved": "x.tgzX"\n'),
        ("a.schema.json", '"maxLength": 2\n', '"maxLongth": 2\n'),
        ("vendor/x/a.go", "return p\n", "returnX p\n"),
    ],
)
def test_an_edit_that_no_tool_would_make_of_this_change_was_made_by_hand(path: str, before: str, after: str) -> None:
    rule = (
        f"Do not edit `{path.split('/', maxsplit=1)[0] + '/' if 'vendor' in path else path}` by hand; it is generated."
    )
    assert edits(rule, path, before, after) == {FACT}


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("Cargo.lock", LOCK, LOCK.replace('"1"', '"2"')),
        ("Cargo.lock", LOCK, LOCK.replace("abc", "abd").replace("registry", "other")),
        ("a.schema.json", '"old": 2\n', '"b": 2\n'),
        ("a.schema.json", '"old": 2\n"x": 1\n', '"old": 2\n'),
        ("a.schema.json", "a\n", "".join(f"line{number}\n" for number in range(40))),
        ("dist/a.js", "old\n", "other\n"),
    ],
)
def test_what_a_tool_may_have_written_anew_is_never_a_fact(path: str, before: str, after: str) -> None:
    assert FACT not in edits(f"Do not edit `{path}` by hand; it is generated.", path, before, after)


def test_a_generated_file_whose_source_is_not_in_the_change_is_a_suspicion() -> None:
    rule = "Files in `lib/gen/` are generated, don't change them."
    before, after = {"lib/gen/a.py": "f(1)\n", "src/a.py": "f(1)\n"}, {"lib/gen/a.py": "f(2)\n", "src/a.py": "f(2)\n"}
    assert signals(ruled(rule, before, after)) == {DOUBT}
    assert signals(ruled(rule, before, {**after, "api/a.proto": "a\n"})) == set()
    assert signals(ruled(rule, {}, {"lib/gen/schema.py": "f(1)\n"})) == {DOUBT}


def test_a_generated_file_that_comes_with_its_manifest_or_is_new_is_left_alone() -> None:
    rule = "Do not edit `Cargo.lock` by hand."
    before, after = {"Cargo.lock": LOCK, "Cargo.toml": "a\n"}, {"Cargo.lock": LOCK[1:], "Cargo.toml": "b\n"}
    assert signals(ruled(rule, before, after)) == set()
    assert signals(ruled(rule, {}, {"Cargo.lock": LOCK})) == set()


def test_a_file_with_its_own_pull_request_must_not_come_with_code() -> None:
    rule = "`go.mod` is changed in its own pull request only."
    before, after = {"go.mod": "a\n", "a.go": "a\n"}, {"go.mod": "b\n", "a.go": "b\n"}
    assert signals(ruled(rule, before, after, title="Parse more")) == {FACT}
    assert signals(ruled(rule, before, after, title="Bump x to 2")) == {DOUBT}
    assert signals(ruled(rule, {"go.mod": "a\n", "go.sum": "a\n"}, {"go.mod": "b\n", "go.sum": "b\n"})) == set()


@pytest.mark.parametrize(
    ("path", "before", "after", "is_new"),
    [
        ("package.json", '  "a": "^1.0"\n', '  "a": "^1.0"\n  "b": "^2.0"\n', True),
        ("package.json", '  "a": "^1.0"\n', '  "a": "^2.0"\n', False),
        ("package.json", '  "a": "^1.0"\n', '  "version": "2.0"\n', False),
        ("Cargo.toml", "x\n", 'x\nserde = "1"\n', True),
        ("build.gradle", "x\n", "x\n<artifactId>a</artifactId>\n", True),
        ("pyproject.toml", "x\n", 'x\n  "httpx>=1",\n', True),
        ("pom.xml", "x\n", "x\n<artifactId>a</artifactId>\n", True),
        ("Makefile", "x\n", 'serde = "1"\n', False),
    ],
)  # fmt: skip
def test_a_new_dependency_is_a_suspicion(path: str, before: str, after: str, is_new: bool) -> None:  # noqa: FBT001 - a table
    assert signals(ruled("Do not add new dependencies.", {path: before}, {path: after})) == (
        {DOUBT} if is_new else set()
    )


def test_a_new_manifest_may_name_what_it_needs() -> None:
    assert signals(ruled("No new dependencies.", {}, {"package.json": '"a": "^1.0"\n'})) == set()
