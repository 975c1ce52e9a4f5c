"""Documentation changed in its prose, and all that only looks so."""

import pytest

from tests.worker.judge.heuristics.made import changed_file, file_diff, plain_dossier
from worker.judge.heuristics.change import Change
from worker.judge.heuristics.safe.prose import is_documentation, is_prose_only


@pytest.mark.parametrize(
    "path",
    [
        "README.md", "README", "README.rst", "CHANGELOG", "docs/usage.md", "doc/en/index.rst", "doc/en/how.txt", "packages/zod/README.md",
        "CONTRIBUTING.md", "ECOSYSTEM.md", "changelog/1234.doc.rst", ".github/CONTRIBUTING.md", "src/docs/extract.md", "guide.adoc",
    ],
)  # fmt: skip
def test_documentation_stands_in_conventional_places(path: str) -> None:
    assert is_documentation(path)


@pytest.mark.parametrize(
    "path",
    [
        "AGENTS.md", "docs/AGENTS.md", "CLAUDE.md", "GEMINI.md", "SKILL.md", "skills/x/notes.md", ".claude/commands/review.md", ".cursor/rules/a.md",
        ".github/copilot-instructions.md", ".github/prompts/a.md", ".github/ISSUE_TEMPLATE/bug.md", ".github/pull_request_template.md",
        "prompts/system.md", "src/prompt.md", "docs/review.prompt.md", "llms.txt", "LICENSE", "LICENSE.md", "LICENSE-MIT", "COPYING", "NOTICE.txt",
        "requirements.txt", "docs/requirements.txt", "requirements/docs.txt", "dev-requirements.txt", "constraints.txt", "CMakeLists.txt",
        "robots.txt", "public/robots.txt", "docs/page.mdx", "docs/conf.py", "mkdocs.yml", "src/words.txt", "data.txt", "tests/data/a.md",
        "templates/README.md", "src/app/page.md", "VERSION", "docs/version.txt", "Makefile", ".changeset/brave-cats.md", ".cursorrules",
    ],
)  # fmt: skip
def test_what_a_program_may_read_is_no_documentation(path: str) -> None:
    assert not is_documentation(path)


OLD_MD = "# Title\n\nSome words here.\n\n```bash\nrun it\n```\n\n```python\nx = 1\n```\n\n- one item here\n\nThe end of it.\n"
OLD_RST = "Title\n=====\n\nSome words here.\n\n.. code-block:: bash\n\n   run it\n\nExample::\n\n   x = 1\n\n.. note::\n\n   Some note here.\n\nThe end.\n"
OLD_ADOC = "= Title\n\nSome words here.\n\n----\nx = 1\n----\n\nThe end.\n"


@pytest.mark.parametrize(
    ("path", "old", "before", "after"),
    [
        ("README.md", OLD_MD, "Some words", "Some better words"),
        ("README.md", OLD_MD, "run it\n", "run it --now\n"),
        ("README.md", OLD_MD, "one item", "one changed item"),
        ("README.md", OLD_MD, "The end", "Uses `Box<Path>`. The end"),
        ("doc/a.rst", OLD_RST, "Some words", "Some better words"),
        ("doc/a.rst", OLD_RST, "run it", "run it --now"),
        ("doc/a.rst", OLD_RST, "Some note", "Some better note"),
        ("doc/a.rst", OLD_RST, "The end.\n", "The end.\n\n.. _link: https://example.org\n"),
        ("doc/a.adoc", OLD_ADOC, "Some words", "Some better words"),
    ],
)
def test_prose_may_change(path: str, old: str, before: str, after: str) -> None:
    assert is_prose_only(changed_file(path, old, old.replace(before, after)))


@pytest.mark.parametrize(
    ("path", "old", "before", "after"),
    [
        ("README.md", OLD_MD, "x = 1", "x = 2"),
        ("README.md", OLD_MD, "```python", "```pycon"),
        ("README.md", OLD_MD, "```bash", "```"),
        ("README.md", OLD_MD, "Some words", "<!-- begin -->\nSome words"),
        ("README.md", OLD_MD, "Some words", "<Callout>words</Callout>"),
        ("README.md", OLD_MD, "Some words", "{{ words }}"),
        ("README.md", OLD_MD, "Some words", ">>> words"),
        ("README.md", OLD_MD, "Some words", "<<<<<<< HEAD"),
        ("README.md", OLD_MD, "Some words", "w" * 5000),
        ("README.md", "---\ntitle: A\n---\nwords\n", "title: A", "title: B"),
        ("src/docs/a.md", OLD_MD, "Some words", "    let x = 1;"),
        ("doc/a.rst", OLD_RST, "x = 1", "x = 2"),
        ("doc/a.rst", OLD_RST, "code-block:: bash", "code-block:: python"),
        ("doc/a.rst", OLD_RST, "Some words", ".. include:: other\n\nSome words"),
        ("doc/a.rst", OLD_RST, "Some words", ".. begin\n\nSome words"),
        ("doc/a.rst", OLD_RST, "Some words", ".. click:example::\n\n   words"),
        ("doc/a.adoc", OLD_ADOC, "x = 1", "x = 2"),
        ("doc/a.adoc", OLD_ADOC, "Some words", "include::other[]"),
        ("doc/a.adoc", OLD_ADOC, "Some words", ":version: 2"),
    ],
)
def test_what_is_run_or_read_by_a_program_may_not(path: str, old: str, before: str, after: str) -> None:
    assert not is_prose_only(changed_file(path, old, old.replace(before, after)))


OLD_API = "API\n===\n\n.. function:: f(a)\n\n   Some words here.\n\n   >>> f(1)\n   2\n\nThe end.\n"


def test_what_a_directive_names_stays_and_its_description_is_prose() -> None:
    assert is_prose_only(changed_file("docs/a.rst", OLD_API, OLD_API.replace("Some words", "Some better words")))
    for before, after in (("f(a)", "f(b)"), (">>> f(1)", ">>> f(2)"), ("   2\n", "   3\n")):
        assert not is_prose_only(changed_file("docs/a.rst", OLD_API, OLD_API.replace(before, after)))


def test_a_block_that_nobody_runs_may_come_and_go() -> None:
    without = OLD_MD.replace("```bash\nrun it\n```\n", "")
    assert is_prose_only(changed_file("README.md", OLD_MD, without))
    assert is_prose_only(changed_file("README.md", without, OLD_MD))
    assert not is_prose_only(changed_file("README.md", OLD_MD, OLD_MD.replace("run it\n```\n", "run it\n"))), (
        "what follows"
    )


def test_a_plan_that_was_left_at_the_root_is_no_documentation() -> None:
    assert not is_prose_only(changed_file("PLAN.md", None, "# Plan\n\nWords.\n"))
    assert is_prose_only(changed_file("CONTRIBUTING.md", None, "# How\n\nWords.\n"))


@pytest.mark.parametrize(
    ("near", "line", "is_prose"),
    [
        ("```python\nx = 1\n```\n", "Some new words here.", True),
        ("", "| a | b |", True),
        ("", "1. [Tips](#tips)", True),
        ("", "    - nested item", True),
        ("```\n", "Now these are the words of a whole sentence.", True),
        ("```\n", "# Now these are the words of a whole sentence", False),
        ("```\n", "Few words", False),
    ],
)
def test_without_the_whole_text_fences_tell_where_prose_is(near: str, line: str, is_prose: bool) -> None:  # noqa: FBT001 - pytest's
    before = FAR + "Words of a line here.\n" + near
    after = FAR + f"Words of a line here.\n{line}\n" + near
    assert is_prose_only(changed_file("README.md", before, after, texts=False)) is is_prose


def test_without_the_whole_text_an_example_goes_on() -> None:
    assert not is_prose_only(changed_file("doc/a.rst", FAR, FAR + "... more of it here\n", texts=False))


def test_a_new_page_is_prose_and_a_deleted_one_is_not_safe() -> None:
    assert is_prose_only(changed_file("docs/new.md", None, "# New\n\nWords.\n"))
    (gone,) = Change(plain_dossier(file_diff("docs/old.md", "# Old\n", None))).files
    assert not is_prose_only(gone)


@pytest.mark.parametrize(
    "diff",
    [
        "diff --git a/README.md b/README.md\nold mode 100644\nnew mode 100755\n",
        "diff --git a/README.md b/docs/a.md\nsimilarity index 100%\nrename from README.md\nrename to docs/a.md\n",
        "diff --git a/README.md b/README.md\nnew file mode 120000\n--- /dev/null\n+++ b/README.md\n@@ -0,0 +1 @@\n+words\n",
        "diff --git a/README.md b/README.md\nold mode 100644\nnew mode 100755\n--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-a\n+b\n",
        "diff --git a/docs/a.md b/docs/a.md\nindex 1..2 100644\nBinary files a/docs/a.md and b/docs/a.md differ\n",
    ],
)
def test_modes_renames_links_and_binaries_are_no_prose(diff: str) -> None:
    (file,) = Change(plain_dossier(diff)).files
    assert not is_prose_only(file)


FAR = "".join(f"Line {n} of many words.\n\n" for n in range(20))


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("README.md", "Some new words in a sentence."),
        ("CHANGELOG.md", "- *(derive)* Support `Box`"),
        ("CHANGELOG.md", "### Fixes"),
        ("doc/a.rst", "Some new words."),
        ("doc/a.rst", "- item\n  that goes on"),
    ],
)
def test_without_the_whole_text_what_can_not_be_code_is_prose(path: str, line: str) -> None:
    assert is_prose_only(changed_file(path, FAR, FAR + line + "\n", texts=False))


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("README.md", "x = 1"),
        ("README.md", "    four spaces and words"),
        ("README.md", "```\nSome more words here\n```"),
        ("README.md", "def load(path, mode): return (path)"),
        ("doc/a.rst", "\n    indented words of code"),
        ("doc/a.rst", "\n.. code-block:: python"),
    ],
)
def test_without_the_whole_text_what_may_be_code_is_not(path: str, line: str) -> None:
    assert not is_prose_only(changed_file(path, FAR, FAR + line + "\n", texts=False))


def test_without_the_whole_text_a_fence_nearby_leaves_the_side_open() -> None:
    near = FAR + "```\n\nSome words in between.\n"
    assert not is_prose_only(changed_file("README.md", near, near + "Some new words in a sentence.\n", texts=False))


def test_without_the_whole_text_a_fence_below_leaves_the_side_open_too() -> None:
    below = "```\ncode\n```\n"
    added = FAR + "Some new words in a sentence.\n" + below
    assert not is_prose_only(changed_file("README.md", FAR + below, added, texts=False))


def test_front_matter_that_never_ends_is_all_front_matter() -> None:
    assert not is_prose_only(changed_file("docs/a.md", "---\nwords here\n", "---\nother words here\n"))
