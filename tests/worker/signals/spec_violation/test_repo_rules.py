"""Changelog entries, docstrings, tests and names that a rule asks for."""

import pytest

from tests.worker.signals.made import dossier_of
from tests.worker.signals.spec_violation.ruled import found, ruled, signals
from worker.signals.analysis.change import CodeChange

DOUBT = "rule_perhaps_broken"
LOG = "Every change of behaviour needs an entry in `CHANGELOG.md`."
BEFORE, AFTER = {"src/a.py": "x = f(1)\n"}, {"src/a.py": "x = f(2)\n"}


def test_a_change_of_behaviour_without_its_entry_is_a_fact_and_names_the_file() -> None:
    assert found(ruled(LOG, BEFORE, AFTER, title="fix: count from two")) == [("changelog_entry_missing", None, None)]


def test_to_take_code_away_changes_behaviour() -> None:
    assert signals(ruled(LOG, {"src/a.py": "f(1)\ng(1)\n"}, {"src/a.py": "f(1)\n"}, title="fix: x")) == {
        "changelog_entry_missing"
    }


def test_code_that_is_only_laid_out_anew_behaves_as_before() -> None:
    assert signals(ruled(LOG, {"src/a.py": "x = f(1,\n  2)\n"}, {"src/a.py": "x = f(\n    1, 2\n)\n"})) == set()


@pytest.mark.parametrize("path", ["CHANGELOG.md", "docs/changelog/12.md", ".changeset/a.md", "CHANGES.rst"])
def test_an_entry_anywhere_is_an_entry(path: str) -> None:
    assert signals(ruled(LOG, BEFORE, {**AFTER, path: "entry\n"}, title="fix: x")) == set()


def test_the_folder_that_the_rule_names_counts_whatever_it_is_called() -> None:
    rule = "Every change needs an entry in `changes/`."
    assert signals(ruled(rule, BEFORE, {**AFTER, "changes/1.txt": "entry\n"}, title="fix: x")) == set()


@pytest.mark.parametrize("title", ["refactor: split", "Fix lint", "Sort the parts", "chore: x", "Fix typos"])
def test_a_change_that_calls_itself_something_else_is_a_suspicion(title: str) -> None:
    assert signals(ruled(LOG, BEFORE, AFTER, title=title)) == {DOUBT}


def test_an_issue_shows_that_behaviour_changes() -> None:
    assert signals(ruled(LOG, BEFORE, AFTER, title="Sort the parts", issue="It is wrong")) == {
        "changelog_entry_missing"
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"src/a.py": "x\n"}, {"src/a.py": "x\n# note\n"}),
        ({"src/a.py": 'f("""\none\n""")\n'}, {"src/a.py": 'f("""\none two three\n""")\n'}),
        ({"src/a.py": "f(x)\n\ng(y)\n"}, {"src/a.py": "g(y)\n\nf(x)\n"}),
        ({"scripts/a.py": "f(1)\n"}, {"scripts/a.py": "f(2)\n"}),
        ({"tests/test_a.py": "f(1)\n"}, {"tests/test_a.py": "f(2)\n"}),
        ({"src/a.rs": "#[cfg(test)]\nmod tests {\n}\n"}, {"src/a.rs": "#[cfg(test)]\nmod tests {\n    f(1);\n}\n"}),
        ({"src/a.rs": ""}, {"src/a.rs": "#[test]\nfn t() {\n    f(1);\n}\n"}),
        ({"README.md": "a\n"}, {"README.md": "b\n"}),
    ],
)
def test_what_changes_no_behaviour_needs_no_entry(before: dict[str, str], after: dict[str, str]) -> None:
    assert signals(ruled(LOG, before, after, title="fix: x")) == set()


def test_a_change_without_whole_texts_is_read_by_its_hunks() -> None:
    deep = {"src/a.py": "(" * 200 + "\n"}
    assert signals(ruled(LOG, deep, {"src/a.py": "(" * 201 + "x\n"}, title="fix: x")) == {"changelog_entry_missing"}


def test_the_changelog_of_a_package_is_for_changes_in_that_package() -> None:
    rule = "Each pull request must add an entry to `pkg/CHANGELOG.md`."
    assert signals(ruled(rule, {"pkg/a.py": "f(1)\n"}, {"pkg/a.py": "f(2)\n"})) == {"changelog_entry_missing"}
    assert signals(ruled(rule, {"src/a.py": "f(1)\n"}, {"src/a.py": "f(2)\n"})) == {DOUBT}


def test_a_changelog_in_a_folder_for_documents_is_for_all_code_beside_it() -> None:
    rule = "Each pull request must add an entry to `lib/docs/changes/changelog.md`."
    assert signals(ruled(rule, {"lib/a.py": "f(1)\n"}, {"lib/a.py": "f(2)\n"})) == {"changelog_entry_missing"}
    assert signals(ruled(rule, {"src/a.py": "f(1)\n"}, {"src/a.py": "f(2)\n"})) == {DOUBT}


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        ("def f():\n    g()\n\n\n", "docstring_missing"),
        ('def f():\n    g()\n\n\ndef _h():\n    """Do."""\n\n\n', "docstring_missing"),
        ('def f():\n    g()\n\n\nx = """\na\n"""\n', "rule_perhaps_broken"),
        ('x = """\na\n"""\n\n\ndef f():\n    g()\n\n\n', "rule_perhaps_broken"),
        ('def f():\n    g("""\n""")\n\n\n', DOUBT),
        ("class A:\n    def f(self):\n        g()\n\n", DOUBT),
    ],
)
def test_a_piece_of_a_file_shows_a_function_at_its_left_edge(added: str, expected: str) -> None:
    lines = "".join(f"a{number} = 1\n" for number in range(10))
    guidance = [{"path": "AGENTS.md", "text": "- All public functions must have docstrings.\n"}]
    before, after = {"src/a.py": lines + lines}, {"src/a.py": lines + added + lines}
    assert signals(CodeChange(dossier_of(before, after, texts=False, guidance=guidance))) == {expected}


@pytest.mark.parametrize(("there", "expected"), [("e", DOUBT), ("_e", "docstring_missing")])
def test_a_rule_that_the_file_did_not_keep_before_is_only_suspected(there: str, expected: str) -> None:
    before = f"def {there}():\n    g()\n"
    after = before + "\n\ndef f():\n    g()\n"
    rule = "All public functions must have docstrings."
    assert signals(ruled(rule, {"src/a.py": before}, {"src/a.py": after})) == {expected}


def test_a_rule_that_names_no_file_means_any_changelog() -> None:
    assert signals(ruled("Add a changelog entry for every change.", BEFORE, AFTER)) == {"changelog_entry_missing"}


@pytest.mark.parametrize(
    ("rule", "path", "code"),
    [
        ("All public functions must have docstrings.", "src/a.py", "def f():\n    g()\n"),
        ("All public functions must have docstrings.", "src/a.py", "class A:\n    def f(self):\n        g()\n"),
        ("Every exported function needs a JSDoc comment.", "src/a.ts", "export function f() { g() }\n"),
        ("All public methods must have Javadoc.", "src/A.java", "class A {\n  public void f() { g(); }\n}\n"),
        ("Exported functions need godoc comments.", "a/a.go", "package a\n\nfunc F() { g() }\n"),
        ("Every public function needs a doc comment.", "src/a.rs", "pub fn f() { g() }\n"),
    ],
)
def test_a_new_public_function_without_documentation_is_a_fact(rule: str, path: str, code: str) -> None:
    assert signals(ruled(rule, {}, {path: code})) == {"docstring_missing"}


@pytest.mark.parametrize(
    ("rule", "path", "code"),
    [
        ("All public functions must have docstrings.", "src/a.py", 'def f():\n    """Do."""\n    g()\n'),
        ("All public functions must have docstrings.", "src/a.py", "def _f():\n    g()\n"),
        ("All public functions must have docstrings.", "src/a.py", "class _A:\n    def f(self):\n        g()\n"),
        ("All public functions must have docstrings.", "src/a.py", "@overload\ndef f():\n    g()\n"),
        ("All public functions must have docstrings.", "src/a.py", "if x:\n    def f():\n        g()\n"),
        ("All public functions must have docstrings.", "tests/test_a.py", "def f():\n    g()\n"),
        ("All public functions must have docstrings.", "src/a.ts", "export function f() { g() }\n"),
        ("All public functions in `lib/` must have docstrings.", "src/a.py", "def f():\n    g()\n"),
        ("Every exported function needs a TSDoc comment.", "src/a.ts", "/** Do. */\nexport function f() { g() }\n"),
        ("Every exported function needs a JSDoc comment.", "src/a.ts", "function f() { g() }\n"),
        ("Every exported function needs a JSDoc comment.", "src/a.ts", "export function _f() { g() }\n"),
        ("All public methods must have Javadoc.", "src/A.java", "class A {\n  A() { g(); }\n  void f() { g(); }\n}\n"),
        (
            "Exported functions need doc comments.",
            "a/a.go",
            "package a\n\n// F does.\nfunc F() { g() }\n\nfunc h() {}\n",
        ),
        ("Every public function needs a doc comment.", "src/a.rs", "fn f() { g() }\n"),
    ],
)
def test_what_is_documented_or_not_public_is_fine(rule: str, path: str, code: str) -> None:
    assert signals(ruled(rule, {}, {path: code})) == set()


@pytest.mark.parametrize(
    ("rule", "path", "code"),
    [
        ("All public functions must have docstrings.", "src/a.py", "class A(B):\n    def f(self):\n        g()\n"),
        ("All public functions must have docstrings.", "src/_in/a.py", "def f():\n    g()\n"),
        ("Docstrings are required on every function that users import.", "src/a.py", "def f():\n    g()\n"),
        ("Docstrings are required on all functions called by others.", "src/a.py", "def f():\n    g()\n"),
        ("Every public function needs a doc comment.", "src/a.rs", "impl A {\n    pub fn f() { g() }\n}\n"),
        ("Exported functions need doc comments.", "a/a.go", "package a\n\nfunc (x T) F() { g() }\n"),
        ("Every exported function needs a JSDoc comment.", "a.ts", "export function f(x: A): B\nexport function f() { g() }\n"),
    ],
)  # fmt: skip
def test_what_may_be_hidden_or_documented_elsewhere_is_a_suspicion(rule: str, path: str, code: str) -> None:
    assert signals(ruled(rule, {}, {path: code})) == {DOUBT}


def test_a_function_that_stood_there_before_is_not_new() -> None:
    rule = "All public functions must have docstrings."
    assert signals(ruled(rule, {"src/a.py": "def f(a):\n    g()\n"}, {"src/a.py": "def f(b):\n    g()\n"})) == set()


def test_a_function_that_was_only_called_before_is_new() -> None:
    rule = "All public functions must have docstrings."
    assert signals(ruled(rule, {"src/a.py": "f(1)\n"}, {"src/a.py": "def f(b):\n    g()\n"})) == {"docstring_missing"}


TESTS = "Every change of behaviour comes with a test."


def test_code_without_any_test_is_a_suspicion() -> None:
    assert found(ruled(TESTS, BEFORE, AFTER, title="fix: x")) == [(DOUBT, "src/a.py", None)]


@pytest.mark.parametrize(
    ("after", "title"),
    [
        ({**AFTER, "tests/test_a.py": "def test_a(): ...\n"}, "fix: x"),
        (AFTER, "refactor: x"),
        ({**BEFORE, "README.md": "a\n"}, "fix: x"),
        ({**AFTER, "src/a.rs": "fn f() {}\n#[cfg(test)]\nmod tests {\n    fn f() {}\n}\n"}, "fix: x"),
    ],
)
def test_tests_in_the_change_or_no_code_need_no_more(after: dict[str, str], title: str) -> None:
    assert signals(ruled(TESTS, BEFORE, after, title=title)) == set()


def test_rust_code_without_tests_in_it_is_code_without_tests() -> None:
    assert signals(ruled(TESTS, {}, {"src/a.rs": "fn f() {}\n"}, title="fix: x")) == {DOUBT}


def test_a_test_file_of_another_name_is_a_suspicion() -> None:
    rule = "Test files must be named `_test.py`."
    assert signals(ruled(rule, {}, {"tests/test_a.py": "a\n"})) == {DOUBT}
    assert signals(ruled(rule, {}, {"tests/a_test.py": "a\n", "tests/helper.py": "a\n", "src/a.py": "a\n"})) == set()
    assert signals(ruled("Test files are named `test_*.py`.", {}, {"tests/a_test.py": "a\n"})) == {DOUBT}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("New functions must have a docstring.", "docstring_missing"),
        ("Every new public function has a docstring.", DOUBT),
    ],
)
def test_what_is_public_in_a_private_module_is_doubtful_only_where_the_rule_speaks_of_public_ones(
    rule: str, expected: str
) -> None:
    assert signals(ruled(rule, {}, {"src/_make.py": "def make(x):\n    return x\n"})) == {expected}


@pytest.mark.parametrize("place", ["changelog.d/618.change.rst", "CHANGES/12.bugfix.md", "newsfragments/1.rst"])
def test_a_rule_that_names_one_entry_means_the_folder_of_entries(place: str) -> None:
    rule = f"Always add a changelog entry ({place})."
    assert signals(ruled(rule, BEFORE, AFTER)) == {"changelog_entry_missing"}
    assert signals(ruled(rule, BEFORE, {**AFTER, place.replace("1", "3"): "entry\n"})) == set()


def test_a_name_in_a_table_is_behaviour_and_one_in_a_packages_list_is_not() -> None:
    for path, expected in (("src/a.py", {"changelog_entry_missing"}), ("src/__init__.py", set[str]())):
        before, after = {path: 'X = (\n    "a",\n)\n'}, {path: 'X = (\n    "a",\n    "b",\n)\n'}
        assert signals(ruled(LOG, before, after, title="fix: x")) == expected


def test_a_piece_that_ends_with_the_function_shows_how_it_begins() -> None:
    lines = "".join(f"a{number} = 1\n" for number in range(10))
    guidance = [{"path": "AGENTS.md", "text": "- All public functions must have docstrings.\n"}]
    after = {"src/a.py": f"{lines}\n\ndef f():\n    g()\n"}
    assert signals(CodeChange(dossier_of({"src/a.py": lines}, after, texts=False, guidance=guidance))) == {
        "docstring_missing"
    }


PUBLIC = "All public functions must have docstrings."


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("class B:\n    def g(self): ...\n\n\nclass A(B):\n    def f(self):\n        g()\n", "docstring_missing"),
        ("class B(abc.ABC):\n    x = 1\n\n\nclass A(B):\n    def f(self):\n        g()\n", "docstring_missing"),
        ("class A(A):\n    def f(self):\n        g()\n", "docstring_missing"),
        ('class B:\n    def f(self):\n        """Do."""\n\n\nclass A(B):\n    def f(self):\n        g()\n', DOUBT),
        ("class B(C):\n    x = 1\n\n\nclass A(B):\n    def f(self):\n        g()\n", DOUBT),
    ],
    ids=["another method", "an abstract class", "its own name", "an override", "of elsewhere"],
)
def test_a_method_that_no_class_above_has_is_nobodys_override(code: str, expected: str) -> None:
    assert signals(ruled(PUBLIC, {}, {"src/a.py": code})) == {expected}


@pytest.mark.parametrize(
    ("listed", "package", "expected"),
    [
        ('__all__ = ["f"]\n\n\n', "", "docstring_missing"),
        ('__all__ = ["g"]\n\n\n', "", DOUBT),
        ("", "from ._a import f\n", "docstring_missing"),
        ("", "from ._a import g\n", DOUBT),
    ],
)
def test_what_a_private_module_lists_or_its_package_takes_out_is_public(
    listed: str, package: str, expected: str
) -> None:
    after = {"src/_a.py": f"{listed}def f():\n    g()\n", "src/__init__.py": f"{package}x = 1\n"}
    assert signals(ruled(PUBLIC, {"src/__init__.py": "x = 2\n"}, after)) == {expected}


FACT = "forbidden_code_added"
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
        ("pyproject.toml", PROJECT, PROJECT + '\n[dependency-groups]\ndev = [{ include-group = "x" }, "attrs"]\n'),
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
