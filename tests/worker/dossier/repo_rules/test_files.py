"""Which files hold rules, and the rules in them."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.domain.dossier import Guidance
from worker.dossier.repo_rules.files import (
    MOST_LINES,
    MOST_RULES,
    RULE_FOLDERS,
    folders_above,
    is_rules_file,
    is_rules_name,
    parse_guidance,
    parse_statements,
    unique_files,
)
from worker.dossier.repo_rules.scope import DutyScope, PathTouch, RepoRule, RuleKind, RuleReach, RuleScope


def test_folders_above_a_change_run_from_the_root_down() -> None:
    assert folders_above(["a/b/c.py", "a/d.py", "e.py"], 10) == ("a/", "a/b/")
    assert folders_above(["a/b/c.py", "z/c.py"], 2) == ("a/", "z/")


def test_only_files_with_the_folders_extension_are_rules() -> None:
    assert is_rules_name(".cursor/rules", "a.mdc")
    assert not is_rules_name(".cursor/rules", "README.txt")
    assert all(ending.startswith(".") for ending in RULE_FOLDERS.values())


def test_rules_file_is_recognized_by_its_path() -> None:
    rules = ["AGENTS.md", "src/deep/CLAUDE.md", ".cursor/rules/a.mdc", ".github/copilot-instructions.md"]
    assert [
        path for path in (*rules, ".cursor/rules/a.txt", "docs/agents.md", "src/GEMINI.md") if is_rules_file(path)
    ] == rules


def test_duplicate_or_pointing_rules_files_are_dropped() -> None:
    files = [
        Guidance(path="AGENTS.md", text="No prints.\n"),
        Guidance(path="CLAUDE.md", text="@AGENTS.md\n"),
        Guidance(path="GEMINI.md", text="./AGENTS.md"),
        Guidance(path=".cursorrules", text=".github/copilot-instructions.md"),
        Guidance(path="CONVENTIONS.md", text="No prints."),
        Guidance(path=".clinerules", text=" \n"),
        Guidance(path="src/AGENTS.md", text="No globals."),
        Guidance(path="lib/AGENTS.md", text="No globals."),
    ]
    assert [file.path for file in unique_files(files)] == ["AGENTS.md", "src/AGENTS.md", "lib/AGENTS.md"]


def rules_of(text: str, path: str = "AGENTS.md") -> tuple[RepoRule, ...]:
    return parse_guidance(Guidance(path=path, text=text))


def rule_of(sentence: str) -> RepoRule:
    (parsed,) = rules_of(f"# Rules\n\n- {sentence}\n")
    return parsed


@pytest.mark.parametrize(
    ("sentence", "targets", "reach"),
    [
        ("Never use `print()` in library code. Use the module logger.", ("print()",), RuleReach.LIBRARY),
        ("Do not call `panic` in library code; return an error (tests may).", ("panic",), RuleReach.LIBRARY),
        ("No `.unwrap()` in `src`; tests may use it.", (".unwrap()",), RuleReach.LIBRARY),
        ("No `.unwrap()` outside of tests.", (".unwrap()",), RuleReach.LIBRARY),
        ("Never use `print()` (tests may).", ("print()",), RuleReach.LIBRARY),
        ("Do not use `eval` or `exec`.", ("eval", "exec"), RuleReach.ALL),
        ("Don’t use `a`, `b`, or `c`!", ("a", "b", "c"), RuleReach.ALL),
        ("No log statements (`console.log`, `debugger`) in tests or production code", ("console.log", "debugger"), RuleReach.ALL),
        ("Do not use `any` casts (`as any`).", ("as any",), RuleReach.ALL),
        ("No casts (`as any`)", ("as any",), RuleReach.ALL),
        ("No bare `except:`; name the exception.", ("except:",), RuleReach.ALL),
        ("`console.log` is forbidden.", ("console.log",), RuleReach.ALL),
        ("`goto` must not be used.", ("goto",), RuleReach.ALL),
        ("Use `anyio.sleep()` not `asyncio.sleep()` in tests", ("asyncio.sleep()",), RuleReach.TESTS),
        ("Use the logger, never `print()`.", ("print()",), RuleReach.ALL),
        ("Library code must not call `print()`.", ("print()",), RuleReach.LIBRARY),
        ("**Logging**: never use print()", ("print()",), RuleReach.ALL),
        ("Do not use `x` in the code (it is slow)", ("x",), RuleReach.ALL),
    ],
)  # fmt: skip
def test_forbidden_code_has_its_targets_and_reach(sentence: str, targets: tuple[str, ...], reach: RuleReach) -> None:
    parsed = rule_of(sentence)
    assert (parsed.kind, parsed.is_sure) == (RuleKind.FORBIDDEN_CODE, True)
    assert (parsed.targets, parsed.scope.reach) == (targets, reach)


@pytest.mark.parametrize(
    "sentence",
    [
        "Prefer `pathlib` over `os.path`.",
        "Try not to use `print()`.",
        "Avoid `any` where possible.",
        "You should not use `print()`.",
        "Use `print()` only in scripts.",
        "`print()` is fine in tests.",
        "If you must, use `print()`.",
        "Do not remove `print()` calls.",
        "Do not use `git push --force`.",
        "Do not create markdown TODO lists.",
        "Do not add unreachable `raise` lines.",
        "Do not use the `—` sign.",
        "Don't forget to run `make`.",
        "Do not use shouting.",
        "Do not edit `some words`, please",
        "`dist/` is generated.",
        "Update `CHANGELOG.md`.",
        "Every change needs an entry in `README.md`.",
        "For new features, update `README.md`.",
    ],
)
def test_preference_permission_or_prose_makes_no_certain_rule(sentence: str) -> None:
    assert not any(parsed.is_sure for parsed in rules_of(f"- {sentence}\n"))


@pytest.mark.parametrize(
    "sentence",
    [
        "Do not use `print()` unless debugging.",
        "No `any` types unless absolutely necessary",
        "Never use `print()` in handlers.",
        "Do not use `threading.Lock` around module-level state by default",
        "Do not use `x`. The only exception is `y`.",
        "Do not use `x` (except when it is needed)",
        "Do not use `x` (tests",
        "Do not use `x` " + "directly yourself " * 20,
        "Do not use `x`, use `y` where possible",
        "Leave `package.json` alone unless it is broken.",
        "Never use `print()`. Tests may use it, unless they are slow.",
    ],
)
def test_rule_with_uncheckable_condition_is_unsure(sentence: str) -> None:
    assert not rule_of(sentence).is_sure


@pytest.mark.parametrize(
    ("sentence", "scope"),
    [
        ("Never use `x` in `src/`.", RuleScope(inside=("src/",))),
        ("Never use `x` except in `scripts/`.", RuleScope(outside=("scripts/",))),
        ("`fmt.Println` must not be used outside `cmd/`.", RuleScope(outside=("cmd/",))),
        ("Never use `x` in Python code.", RuleScope(languages=frozenset({"python"}))),
        ("Never use `x` in TypeScript.", RuleScope(languages=frozenset({"typescript", "tsx"}))),
    ],
)
def test_rule_scope_has_its_folders_and_language(sentence: str, scope: RuleScope) -> None:
    assert (rule_of(sentence).scope, rule_of(sentence).is_sure) == (scope, True)


def test_heading_limits_the_scope_of_its_rules() -> None:
    text = "# R\n## Python\n- Never use `a`.\n## Tests\n- Never use `b`.\n## Commit messages\n- Never use `c`.\n"
    python, tests, commits = rules_of(text)
    assert (python.scope.languages, python.is_sure) == ({"python"}, True)
    assert (tests.scope.reach, tests.is_sure) == (RuleReach.TESTS, True)
    assert not commits.is_sure


@pytest.mark.parametrize(
    ("title", "reach"),
    [
        ("Testing and code style rules", RuleReach.ALL),
        ("Code style & tests", RuleReach.ALL),
        ("Testing", RuleReach.TESTS),
        ("Unit and integration tests", RuleReach.TESTS),
        ("Tests and fixtures", RuleReach.TESTS),
    ],
)
def test_heading_about_tests_and_code_reaches_both(title: str, reach: RuleReach) -> None:
    (parsed,) = rules_of(f"# R\n## {title}\n- Never use `a`.\n")
    assert parsed.scope.reach is reach


def test_list_under_never_forbids_its_items() -> None:
    rules = rules_of("## Do not\n- use `a`\n- `b`\n- never use `c`\n")
    assert [(parsed.targets, parsed.is_sure) for parsed in rules] == [(("a",), True), (("b",), True), (("c",), True)]


@pytest.mark.parametrize(
    ("sentence", "target", "by_hand"),
    [
        ("Do not edit `Cargo.lock` by hand; it is generated.", "Cargo.lock", True),
        ("Generated files (`a.schema.json`) must not be changed by hand.", "a.schema.json", True),
        ("Files under `vendor/` are generated. Do not edit them by hand.", "vendor/", True),
        ("`src/proto/` is generated code. Do not modify.", "src/proto/", True),
        ("`lib/x/` is vendored. Leave it alone.", "lib/x/", True),
        ("Everything under `gen/` is generated, do not edit by hand.", "gen/", True),
        ("`schema.json` is generated; run `make schema` instead of editing it.", "schema.json", True),
        ("Leave `docs/` alone; another team owns it.", "docs/", False),
        ("Never modify files under `docs/v*/`.", "docs/v*/", False),
        ("`legacy/` is frozen.", "legacy/", False),
        ("Changes under `third_party/` are not accepted.", "third_party/", False),
    ],
)
def test_forbidden_path_is_read(sentence: str, target: str, by_hand: bool) -> None:  # noqa: FBT001 - a table's column
    parsed = rule_of(sentence)
    assert (parsed.kind, parsed.is_sure, parsed.touches) == (RuleKind.FORBIDDEN_PATH, True, set(PathTouch))
    assert (parsed.targets, parsed.is_by_hand) == ((target,), by_hand)


def test_forbidden_path_has_its_forbidden_operations() -> None:
    assert rule_of("Never delete or rename files under `docs/images/`.").touches == {PathTouch.REMOVE}
    assert rule_of("Do not commit `.env`.").touches == {PathTouch.ADD}


@pytest.mark.parametrize(
    ("sentence", "scope", "is_sure"),
    [
        ("Every change of behaviour needs an entry in `CHANGELOG.md`.", DutyScope.BEHAVIOUR, True),
        ("Each pull request must add an entry to `axum/CHANGELOG.md`.", DutyScope.EVERY_CHANGE, True),
        ("Add a changelog entry for every change.", DutyScope.EVERY_CHANGE, True),
        ("Any fix must be recorded in `HISTORY.md`.", DutyScope.BEHAVIOUR, True),
        ("`CHANGES.rst` must be updated with every pull request.", DutyScope.EVERY_CHANGE, True),
        ("Always add a changelog entry (`CHANGES/`).", DutyScope.EVERY_CHANGE, True),
        ("Record every behaviour change in `NEWS.md`.", DutyScope.BEHAVIOUR, True),
        ("PRs without an entry in `CHANGELOG.md` are rejected.", DutyScope.EVERY_CHANGE, True),
        ("All user-visible changes must be recorded in `CHANGES.md`.", DutyScope.EVERY_CHANGE, False),
        ("Every change needs an entry in `CHANGELOG.md` where it makes sense.", DutyScope.EVERY_CHANGE, False),
        ("For changes to product functionality (not tests), add a CHANGELOG entry.", DutyScope.BEHAVIOUR, False),
        ("For new features, update `CHANGELOG.md`.", DutyScope.BEHAVIOUR, False),
    ],
)
def test_changelog_duty_has_its_scope(
    sentence: str,
    scope: DutyScope,
    is_sure: bool,  # noqa: FBT001 - a table's column
) -> None:
    parsed = rule_of(sentence)
    assert (parsed.kind, parsed.duty_scope, parsed.is_sure) == (RuleKind.CHANGELOG, scope, is_sure)


@pytest.mark.parametrize(
    "sentence",
    [
        "Every pull request needs a release note.",
        "Every pull request needs a changelog entry in its description.",
        "Add a changelog entry for every change. It stands in the body of the pull request.",
        "Test files must be named `*_test.py`.",
        "Every source file must start with `// SPDX-License-Identifier: MIT`.",
        "New files need the licence header.",
    ],
)
def test_uncheckable_duty_makes_no_rule(sentence: str) -> None:
    assert rules_of(f"- {sentence}\n") == ()


@pytest.mark.parametrize(
    ("sentence", "kind", "is_sure"),
    [
        ("All public functions and methods must have docstrings.", RuleKind.DOCSTRING, True),
        ("Write a docstring for every new public function.", RuleKind.DOCSTRING, True),
        ("Do not add public functions without a docstring.", RuleKind.DOCSTRING, True),
        ("Exported functions need doc comments.", RuleKind.DOCSTRING, True),
        ("Document each public function you add with a docstring.", RuleKind.DOCSTRING, True),
        ("Every change of behaviour comes with a test.", RuleKind.TESTS, False),
        ("`go.mod` is changed in its own pull request only.", RuleKind.OWN_PULL_REQUEST, True),
    ],
)
def test_duty_of_docstring_test_or_own_pull_request_is_read(sentence: str, kind: RuleKind, *, is_sure: bool) -> None:
    assert (rule_of(sentence).kind, rule_of(sentence).is_sure) == (kind, is_sure)


def test_paragraph_makes_several_rules_with_their_lines() -> None:
    rules = rules_of("Never use `a`.\nNever use `b`\n— it is slow (e.g. `c`).\n")
    assert [(parsed.targets, parsed.origin.line, parsed.origin.text) for parsed in rules] == [
        (("a",), 1, "Never use `a`"),
        (("b",), 2, "Never use `b`"),
    ]


@pytest.mark.parametrize(
    ("path", "root"),
    [("AGENTS.md", ""), (".github/copilot-instructions.md", ""), ("packages/a/CLAUDE.md", "packages/a/")],
)
def test_rules_file_is_scoped_to_its_folder(path: str, root: str) -> None:
    (parsed,) = rules_of("- Never use `a`.\n", path)
    assert (parsed.scope.root, parsed.origin.path) == (root, path)


def test_long_rule_is_shortened_and_very_long_statement_is_no_rule() -> None:
    assert rule_of("Never use `a`, it is " + "so " * 100 + "slow.").origin.text.endswith(" ...")
    assert rules_of("- Never use `a`. " + ("word " * 300 + "\n") * 5) == ()


@pytest.mark.parametrize(
    ("text", "line", "quoted"),
    [
        ("- Never use print statements, please\n", 1, "Never use print statements, please"),
        ("- ❌ Never use `a`\n", 1, "❌ Never use `a`"),
        ("# R\n\n- `a/`: do not edit it\n", 3, "`a/`: do not edit it"),
        ("| Path | Rule |\n|---|---|\n| `a/` | do not edit |\n", 3, "`a/` | do not edit"),
        ("> Never use `a`\n", 1, "Never use `a`"),
    ],
)
def test_rule_is_quoted_as_written(text: str, line: int, quoted: str) -> None:
    (parsed,) = rules_of(text)
    assert (parsed.origin.line, parsed.origin.text, parsed.is_sure) == (line, quoted, True)


def test_number_of_rules_is_bounded() -> None:
    assert len(rules_of("- Never use `a`.\n" * 1000)) == MOST_RULES


PIECES = "do not |never |use |edit |the |no |`a()`|`a/`|, | or |every |change |needs |an |entry |in |(|)|tests may "
SIGNS = "\n- |\n|# |```\n|`|**|«1»|<!--|; |: |. "


@given(st.lists(st.sampled_from([*PIECES.split("|"), *SIGNS.split("|")]), max_size=200).map("".join))
@settings(max_examples=settings().max_examples * 15 // 10, deadline=None)
def test_any_text_is_parsed_without_an_exception(text: str) -> None:
    assert len(rules_of(text)) <= MOST_RULES


@pytest.mark.parametrize(
    "text",
    [
        "do not use " + "the " * 50_000 + "x",
        "- do not use " + "`a`, " * 20_000,
        "é; " * 50_000,
        "`a " * 50_000,
        ("- every change " + "needs a " * 100 + "\n") * 500,
        "no " + "a " * 1400 + "`x`",
    ],
)
def test_hostile_text_takes_linear_time(text: str) -> None:
    start = time.process_time()
    rules_of(text)
    assert time.process_time() - start < 3


def test_entry_in_another_file_is_not_a_changelog_duty() -> None:
    text = """- Every change must add a line to `docs/index.md`, not to the changelog.
- When you change code, add an entry to `docs/index.md` and leave the changelog alone.
"""
    assert not [rule for rule in rules_of(text) if rule.kind is RuleKind.CHANGELOG and rule.targets]


@pytest.mark.parametrize(
    ("text", "line", "targets"),
    [
        ("# Never edit `dist/`\n\nIt is generated.\n", 1, ("dist/",)),
        ("# Rules\n\n## Do not use `eval()`\n\nUse the parser.\n", 3, ("eval()",)),
        ("# Rules\n\n### Rule 4: never use `eval()`\n", 3, ("eval()",)),
        ("Never use `eval()`\n------------------\n\nIt is slow.\n", 1, ("eval()",)),
        ("# Rules\n\n## Never use\n\n### `eval()`\n\nIt is slow.\n", 5, ("eval()",)),
    ],
)
def test_heading_can_be_a_rule(text: str, line: int, targets: tuple[str, ...]) -> None:
    (parsed,) = rules_of(text)
    assert (parsed.origin.line, parsed.targets, parsed.is_sure) == (line, targets, True)


@pytest.mark.parametrize(
    "text",
    [
        "# R\n\n## Never use `eval()`\n\nThe console is exempt.\n",
        "---\nglobs: '*.py'\n---\n- In `web/`, never use `eval()`.\n",
    ],
    ids=["an exception below its heading", "places of its own in a file for some paths"],
)
def test_rule_with_exception_or_other_paths_is_unsure(text: str) -> None:
    (parsed,) = rules_of(text)
    assert not parsed.is_sure


def test_text_below_heading_can_exempt_tests() -> None:
    (parsed,) = rules_of("# R\n\n## Never use `print()`\n\nTests may.\n")
    assert (parsed.scope.reach, parsed.is_sure) == (RuleReach.LIBRARY, True)


@pytest.mark.parametrize(
    ("front", "inside", "is_sure"),
    [
        ("globs: src/**/*.{ts,tsx}, lib/*.ts\nalwaysApply: false", ("src/**/*.ts", "src/**/*.tsx", "lib/*.ts"), True),
        ("applyTo: '**'", (), True),
        ("globs: []\nalwaysApply: true", (), True),
        ('paths:\n  - "a/*.py"\n  - b/*.py', ("a/*.py", "b/*.py"), True),
        ("- stray\ndescription: Do not use `exec()`\nalwaysApply: false", (), False),
        ("globs: src/*.ts\nalwaysApply: true", (), True),
    ],
)
def test_front_matter_limits_the_scope_of_its_rules(front: str, inside: tuple[str, ...], *, is_sure: bool) -> None:
    (parsed,) = rules_of(f"---\n{front}\n---\n# R\n- Never use `eval()`.\n", ".cursor/rules/a.mdc")
    assert (parsed.scope.inside, parsed.is_sure, parsed.scope.root) == (inside, is_sure, "")
    assert parsed.origin.line == front.count("\n") + 5


@pytest.mark.parametrize("text", ["---\n- Never use `eval()`.\n", "----\nx: y\n---\n- Never use `eval()`.\n"])
def test_unclosed_dashes_are_not_front_matter(text: str) -> None:
    assert [rule.targets for rule in rules_of(text)] == [("eval()",)]


@pytest.mark.parametrize(
    ("below", "targets"),
    [
        ("- use `eval(x)`", ("eval(x)",)),
        ("```js\nf(x as Mock);\n```\n\nUse a block body: `each(() => { clear(); })`.", None),
        ("```js\nf(x as Mock);\n```\n\n- Use `clear()`", None),
        ("Use a block body: `each(() => { clear(); })`.", None),
    ],
    ids=["a list", "a paragraph behind code", "a list behind code", "a paragraph"],
)
def test_never_with_colon_forbids_only_the_list_directly_below(below: str, targets: tuple[str, ...] | None) -> None:
    rules = [rule.targets for rule in rules_of(f"# Rules\n\nNever:\n\n{below}\n")]
    assert rules == ([] if targets is None else [targets])


def plain_texts(text: str) -> list[str]:
    return [statement.plain_text for statement in parse_statements(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One\ntwo.\n\n- three\n  four\n* five\n1. [ ] six\n", ["One two.", "three four", "five", "six"]),
        ("> [!WARNING]\n> one\n> two\n\n> - three\n", ["one two", "three"]),
        ("- one\n\n    two\n\nthree\n\n    code\n", ["one", "two", "three"]),
    ],
    ids=["items and wrapped lines", "a quotation", "an indented paragraph"],
)
def test_items_paragraphs_and_quotations_are_statements(text: str, expected: list[str]) -> None:
    assert plain_texts(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "```\n- never\n```\n",
        "~~~~ text\nnever\n~~~\nnever\n~~~~\n",
        "    never\n",
        "> [!NOTE]\n",
        "| never |\n",
        "| never |\n|---|\n",
        "<!-- never -->\n",
        "<!--\nnever\n-->\n",
    ],
)
def test_code_comments_and_table_heads_are_not_statements(text: str) -> None:
    assert plain_texts(text + "\nlast") == ["last"]


def test_table_row_and_each_of_its_cells_are_statements() -> None:
    text = "| Path | Rule |\n|---|---|\n| `a/` | leave it |\n| `b/` | |\n\n| Never |\n|---|\n| c |\n"
    assert [(statement.plain_text, statement.lead, statement.lines[0][1]) for statement in parse_statements(text)] == [
        ("`a/` | leave it", "", 3),
        ("`a/`", "Path", 3),
        ("leave it", "Rule", 3),
        ("`b/`", "", 4),
        ("`b/`", "Path", 4),
        ("c", "", 8),
        ("c", "Never", 8),
    ]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("never edit src/gen/ or docs/api.md", ("src/gen/", "docs/api.md")),
        ("update CHANGELOG.md and package.json", ("CHANGELOG.md", "package.json")),
        ("no print statements, no @ts-ignore", ("@ts-ignore", "print()")),
        ("never use eval. no default exports", ("eval", "export default")),
        ("Node.js and/or CI, e.g. this", ()),
        ("no `wildcard` imports", ("wildcard",)),
    ],
)
def test_unmarked_code_is_recognized_by_form_or_name(text: str, spans: tuple[str, ...]) -> None:
    (statement,) = parse_statements(text)
    assert statement.spans == spans


def test_statement_has_its_headings_and_lead_without_the_file_title() -> None:
    statements = list(parse_statements("# Title\n## Code\n### Deep\nNever:\n- a\n## Other\n- b\n"))
    assert [(statement.plain_text, statement.headings, statement.lead) for statement in statements] == [
        ("Title", (), ""),
        ("Code", (), ""),
        ("Deep", ("Code",), ""),
        ("Never:", ("Code", "Deep"), ""),
        ("a", ("Code", "Deep"), "Never:"),
        ("Other", (), ""),
        ("b", ("Other",), ""),
    ]


def test_heading_is_a_statement_with_the_text_below_it() -> None:
    statements = list(parse_statements("## 2. Never a\n\n- b\nc\n### d\ne\n\nf\n===\n\ng\n---\n- h\n---\n"))
    assert [(statement.plain_text, statement.following_text, statement.lines[0][1]) for statement in statements] == [
        ("Never a", "- b . c", 1),
        ("b c", "", 3),
        ("d", "e . f . g . - h", 5),
        ("e", "", 6),
        ("f", "g . - h", 8),
        ("g", "- h", 11),
        ("h ---", "", 13),
    ]


def test_prose_numbers_its_code_and_drops_emphasis_and_links() -> None:
    (statement,) = parse_statements("- **Never** use `a()`, ``b`` or print() (see [that](http://x)), no TODOs")
    assert statement.spans == ("a()", "b", "print()", "TODO")
    assert statement.prose == "Never use «0», «1» or «2» (see that), no «3»s"


def test_sentence_has_its_line() -> None:
    (statement,) = parse_statements("\n\n- one\n  two\n  three\n")
    assert [statement.line_at(statement.prose.index(word)) for word in ("one", "two", "three")] == [3, 4, 5]


def test_number_of_statements_is_bounded() -> None:
    assert len(plain_texts("- a\n" * (MOST_LINES + 100))) == MOST_LINES
    assert len(plain_texts("word\n" * 1000)[0].split()) == 30
