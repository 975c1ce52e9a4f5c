"""Rules about paths and dependencies, held against the files that a change touches."""

import pytest

from tests.worker.signals.made import dossier_of, plain_dossier
from tests.worker.signals.spec_violation.phrasings import NOTHING, Texts
from tests.worker.signals.spec_violation.ruled import found, ruled, signals
from worker.domain.verdict.verdict import Side
from worker.signals.analysis.change import CodeChange
from worker.signals.spec_violation.repo_rules import find_violations, rule_perhaps_broken
from worker.signals.spec_violation.violation import is_path_match

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


RULE = "Files in `lib/gen/` are generated, don't change them."
OWN_BEFORE, OWN_AFTER = {"src/own.py": "x = 1\n"}, {"src/own.py": "x = 2\n"}
BEFORE = {"lib/gen/a.py": "KNOWN = 1\n", **OWN_BEFORE}
AFTER = {"lib/gen/a.py": "KNOWN = 1\nOTHER = 2\n", **OWN_AFTER}
LONG = "".join(f"a{number} = 1\n" for number in range(20))


def judged(after: Texts, before: Texts = NOTHING, rule: str = RULE, title: str = "Add counting") -> set[str]:
    start, end = (BEFORE, AFTER) if rule == RULE else (OWN_BEFORE, OWN_AFTER)
    return signals(ruled(rule, {**start, **before}, {**end, **after}, title=title))


def test_an_edit_beside_hand_written_code_that_nothing_explains_is_a_fact() -> None:
    assert judged({}) == {FACT}
    assert judged({"lib/gen/b.py": "OTHER = 3\n"}) == {FACT}
    assert judged({}, title="Support generational collectors") == {FACT}


@pytest.mark.parametrize("title", ["Regenerate the client", "Sync with upstream", "chore: update generated files"])
def test_an_author_who_speaks_of_a_tool_is_believed_as_far_as_a_suspicion(title: str) -> None:
    assert judged({}, title=title) == {DOUBT}


def test_a_title_that_names_the_folder_is_about_that_folder() -> None:
    rule = "Files in `lib/tables/` are generated, don't change them."
    before, after = (
        {"lib/tables/a.py": "KNOWN = 1\n"},
        {"lib/tables/a.py": "KNOWN = 1\nOTHER = x\n", "src/b.py": "x = 2\n"},
    )
    assert judged(after, before, rule, "Mend tables") == {DOUBT}
    assert judged(after, before, rule, "Mend counting") == {FACT}


SIGNED = "# Code generated by y. DO NOT EDIT.\n"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"lib/gen/a.py": SIGNED}, {"lib/gen/a.py": f"{SIGNED}OTHER = x\n"}, DOUBT),
        (NOTHING, {"lib/gen/a.py": "KNOWN = 1\nOTHER = x\n"}, FACT),
        (NOTHING, {"lib/gen/a.py": "KNOWN = 1\nOTHER = x\n", "api/a.proto": "a\n"}, None),
        (NOTHING, {"lib/gen/a.py": "KNOWN = 1\nx = 2\n"}, DOUBT),
        ({"src/a.py": "y = 1\n"}, {"lib/gen/a.py": "KNOWN = 1\nOTHER = x\n", "src/a.py": "y = 2\n"}, DOUBT),
    ],
    ids=["signed", "unexplained", "its source", "mirrored", "its namesake"],
)
def test_a_signed_file_its_source_its_namesake_and_a_mirrored_edit_may_come_from_a_tool(
    before: Texts, after: Texts, expected: str | None
) -> None:
    assert judged(after, before) == ({expected} - {None})


def test_data_and_declarations_may_follow_from_any_code() -> None:
    assert judged({"lib/gen/a.py": "KNOWN = 1\n", "lib/gen/b.txt": "x = 3\n"}) == {DOUBT}
    assert judged({"lib/gen/a.py": "KNOWN = 1\n", "lib/gen/b.d.ts": "x = 3\n"}) == {DOUBT}


def test_a_piece_of_a_file_with_a_generators_name_may_be_signed_above() -> None:
    rule = "Files in `core/` and `lib/gen/` are generated, don't change them."
    for folder, expected in (("core", {FACT}), ("lib/gen", {DOUBT})):
        before = {f"{folder}/a.py": LONG + LONG, "src/own.py": "x = 1\n"}
        after = {f"{folder}/a.py": f"{LONG}x = other\n{LONG}", "src/own.py": "x = 2\n"}
        guidance = [{"path": "AGENTS.md", "text": f"- {rule}"}]
        assert signals(CodeChange(dossier_of(before, after, texts=False, guidance=guidance))) == expected


def test_a_piece_from_the_start_shows_whether_a_generator_signed() -> None:
    before, after = (
        {"core/a.py": LONG, "src/own.py": "x = 1\n"},
        {"core/a.py": f"x = other\n{LONG}", "src/own.py": "x = 2\n"},
    )
    guidance = [{"path": "AGENTS.md", "text": "- `core/` is generated, do not edit it."}]
    assert signals(CodeChange(dossier_of(before, after, texts=False, guidance=guidance))) == {FACT}


def test_readable_lines_in_built_output_that_no_source_holds_are_a_fact() -> None:
    rule = "Do not edit anything under `dist/`; it is generated."
    assert judged({"dist/a.js": "patched for now, see ticket\n"}, rule=rule) == {FACT}
    assert judged({"dist/a.js": "x = 2\n"}, rule=rule) == set()
    assert judged({"dist/a.js": "patched " * 40 + "\n"}, rule=rule) == set()


def test_a_patch_of_vendored_code_is_a_fact_and_a_newer_copy_a_suspicion() -> None:
    rule, before = "`third_party/` is vendored. Leave it alone.", {"third_party/z/a.c": "int a;\n", "go.mod": "a\n"}
    patched = {"third_party/z/a.c": "x = 1\n"}
    assert judged({**patched, "go.mod": "a\n"}, before, rule) == {FACT}
    assert judged({**patched, "go.mod": "b\n"}, before, rule) == {DOUBT}
    assert judged({**patched, "go.mod": "a\n"}, before, rule, "Take the newer upstream") == {DOUBT}


def test_a_name_that_stands_in_every_folder_makes_no_namesake() -> None:
    before, own = {"lib/gen/index.py": "KNOWN = 1\n", "src/index.py": "y = 1\n"}, {"src/index.py": "y = 2\n"}
    assert judged({"lib/gen/a.py": "KNOWN = 1\n", "lib/gen/index.py": "KNOWN = 1\nOTHER = x\n", **own}, before) == {
        FACT
    }


def test_a_folder_that_is_called_like_the_repository_stands_in_any_title() -> None:
    rule = "Files in `widgets/core/` are generated, don't change them."
    before, after = (
        {"widgets/core/a.py": "KNOWN = 1\n"},
        {"widgets/core/a.py": "KNOWN = 1\nOTHER = x\n", "src/b.py": "x = 2\n"},
    )
    assert judged(after, before, rule, "Mend widgets") == {FACT}


@pytest.mark.parametrize("path", ["azure-pipelines.yml", "pnpm-lock.yaml"])
def test_what_ci_and_package_managers_read_is_no_source_of_generated_code(path: str) -> None:
    after = {"lib/gen/a.py": "KNOWN = 1\nOTHER = x\n", path: "a: 2\n"}
    assert judged(after, {path: "a: 1\n"}) == {FACT}


def test_new_words_in_what_is_generated_are_a_suspicion_where_its_source_changes_too() -> None:
    before, after = {"lib/gen/a.py": "KNOWN = 1\n"}, {"lib/gen/a.py": "KNOWN = 1\nHASH = '3f2a'\n"}
    assert judged(after, before) == {FACT}
    brought = {"schema.graphql": "type A {}\n"}
    assert judged({**after, **brought}, before) == {DOUBT}
    (finding,) = rule_perhaps_broken.findings(ruled(RULE, before, {**after, **brought}))
    assert "whether a tool wrote that, it does not show" in finding.note


NOTE = "# see the other file\n# adjusted once\n"


@pytest.mark.parametrize(
    ("path", "added", "is_hand"),
    [
        ("dist/a.py", NOTE, True),
        ("dist/a.py", f"{NOTE}x = 2\n", False),
        ("dist/a.py", f"# Copyright of us\n{NOTE}", False),
        ("dist/a.py", "#\n", False),
        ("dist/a.py", f"{SIGNED}{NOTE}", False),
        ("dist/a.txt", NOTE, False),
        ("dist/a.py", f"# made from a.proto\n{NOTE}", False),
        ("dist/a.py", f"# see from-json.ts\n{NOTE}", True),
    ],
    ids=[
        "comments",
        "code",
        "a licence",
        "no words",
        "signed",
        "no code",
        "its source",
        "a path with a word of sources",
    ],
)
def test_comments_alone_are_by_hand(path: str, added: str, *, is_hand: bool) -> None:
    rule, manifest = "Do not edit anything under `dist/`; it is generated.", {"setup.py": "x = 3\n"}
    assert judged({path: added, **manifest}, {"setup.py": "x = 1\n"}, rule) == ({FACT} if is_hand else set())


def test_comments_alone_are_by_hand_whatever_else_a_tool_wrote() -> None:
    rule, manifest = "Do not edit anything under `dist/`; it is generated.", {"setup.py": "x = 3\n"}
    assert judged({"dist/a.py": NOTE, **manifest}, {"setup.py": "x = 1\n"}, rule, "Regenerate the tables") == {FACT}


def test_comments_in_the_place_of_others_may_be_a_generators() -> None:
    rule, manifest = "Do not edit anything under `dist/`; it is generated.", {"setup.py": "x = 3\n"}
    assert judged({"dist/a.py": NOTE, **manifest}, {"dist/a.py": "# old words\n", "setup.py": "x = 1\n"}, rule) == set()
    signed = {"dist/a.py": f"{SIGNED}x = 1\n", "setup.py": "x = 1\n"}
    assert judged({"dist/a.py": f"{SIGNED}x = 1\n{NOTE}", **manifest}, signed, rule) == set()
    guidance = [{"path": "AGENTS.md", "text": f"- {rule}"}]
    after = {"dist/a.py": NOTE, "src/own.py": "x = 2\n", **manifest}
    change = dossier_of({"setup.py": "x = 1\n", "src/own.py": "x = 1\n"}, after, texts=False, guidance=guidance)
    assert signals(CodeChange(change)) == {FACT}
