"""Documentation changes that are accepted without a model, and obstacles to that."""

from typing import Any

import pytest

from tests.worker.signals.samples import change_of, dossier_of, plain_dossier
from worker.domain.dossier import Guidance, Policy
from worker.signals.analysis.change import CodeChange
from worker.signals.safe_change.documentation import find_obstacle, is_documentation_only

MD = """# Widgets

Widgets keeps track of small uploads. It is smal and fast.

See the [guide](https://docs.example.org/en/guide/start.html) and [this page](usage.md).

```bash
widgets serve
```

- Uploads are kept, and read by teh server.

[site]: https://docs.example.org/en/site/start.html
"""
RST = """Widgets
=======

Widgets keeps track of small uploads. It is smal and fast.

:orphan: yes

.. code-block:: bash

   widgets serve

See `the guide <https://docs.example.org/en/guide/start.html>`_, or this::

   make widgets

>>> upload("a")
'done'

.. note::

   Uploads are kept by teh server.

The end of it. It has no limit.
"""


def obstacle_of(path: str, before: str | None, after: str, *, texts: bool = True, guidance: str = "") -> str | None:
    change = change_of({} if before is None else {path: before}, {path: after}, texts=texts)
    if guidance:
        rules = (Guidance(path="AGENTS.md", text=guidance),)
        change = CodeChange(dossier_of({path: before or ""}, {path: after}).model_copy(update={"guidance": rules}))
    assert is_documentation_only(change)
    obstacle = find_obstacle(change)
    return None if obstacle is None else str(obstacle)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("one smal upload", "one small upload"),
        ("of teh page", "of the page"),
        ("are are kept", "are kept"),
        ("an upload is kept", "the upload is kept"),
        ("Server waits", "The server waits"),
        ("the a page", "a page"),
        ("this pages", "these pages"),
        ("Upload is", "Uploads is"),
        ("Its fast", "It's fast"),
        ("github", "GitHub"),
        ("one page, and", "one page and"),
        ("one page, and", "one\npage, and"),
        ("one page", "**one** page"),
        ("uses Client", "uses `Client`"),
        ("e.g.: x.y", "e.g.: x.y."),
        ("# Title", "## Title"),
        ("* item of", "- item of"),
        ("the manual", "the [manual](usage.md)"),
        ("[usage](a.md)", "[usage](b.md#part)"),
        ("[usage](a.md)", "[Usage](a.md)"),
        ("/guide/start.html", "/guide/first-steps.html"),
        ("| a | b |", "| a    | b |"),
    ],
)
def test_fix_of_spelling_layout_or_link_has_no_obstacle(old: str, new: str) -> None:
    text = """# Title

Here is one smal upload, and a small one. The name of teh page says what the uploads are are kept for.
An upload: an upload is kept. Server waits. It gives the a page, and this pages too. Upload is one. Its fast.
See github, one page, and more. It uses Client, e.g.: x.y here. Read the manual, and [usage](a.md), to use it.
There is the [guide](https://docs.example.org/en/guide/start.html).

* item of a list

| a | b |
|---|---|
| c | d |
"""
    assert old in text
    assert obstacle_of("README.md", text, text.replace(old, new)) is None


@pytest.mark.parametrize(
    ("path", "text", "old", "new"),
    [
        ("docs/a.md", MD, "/site/start.html", "/site/end.html"),
        ("docs/a.rst", RST, "Widgets\n=======", "Widgets\n---------"),
        ("docs/a.rst", RST, "by teh server", "by the server"),
        ("docs/a.rst", RST, "or this::", "or these::"),
        ("docs/a.rst", RST, "has no limit", "have no limit"),
        ("docs/a.txt", RST, "It is smal", "It is small"),
        ("docs/a.md", MD.replace("\n", "\r\n"), "It is smal", "It is small"),
        ("docs/a.md", "---\ntitle: a\n---\n\n" + MD, "It is smal", "It is small"),
    ],
)
def test_prose_of_whole_document_is_told_from_code(path: str, text: str, old: str, new: str) -> None:
    assert obstacle_of(path, text, text.replace(old, new)) is None


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("docs.example.org/en/guide", "evil.net/en/guide", "docs/a.md:5: the changed link leaves `docs.example.org` for `evil.net`"),
        ("It is smal", "It is `rm -rf x`", "docs/a.md:3: `smal` becomes `rm -rf x`, which is no mend of its spelling"),
        ("It is smal", "It is ![x](x.png)", "docs/a.md:3: `smal` becomes `![x](x.png)`, which is no mend of its spelling"),
        ("It is smal", "It is {eval}`x`", "docs/a.md:3: `smal` becomes `eval:x`, which is no mend of its spelling"),
        ("It is smal", "It is <b>", "docs/a.md:3: `<b>` is no plain word"),
        ("It is smal", "It is w\u0430y small", "docs/a.md:3: `smal` becomes `w\\u0430y`, which is no mend of its spelling"),
        ("It is smal", "It is [x](https://[evil)", "docs/a.md:3: the link to `https://[evil` is added or changed"),
        ("It is smal and fast", "It is smal", "docs/a.md:3: `and` is taken out"),
        ("It is smal", "It is now and smal", "docs/a.md:3: `smal` becomes `now`, which is no mend of its spelling"),
        ("It is smal", "It is not small", "docs/a.md:3: `smal` becomes `not`, which is no mend of its spelling"),
        ("It is smal and fast", "It is fast and smal", "docs/a.md:3: `smal` becomes `fast`, which is no mend of its spelling"),
        ("widgets serve", "widgets stop", "docs/a.md:8: the line is no prose, but code, markup or data"),
        ("serve\n", "serve\n\n", "docs/a.md:9: the line is no prose, but code, markup or data"),
        ("```bash\nwidgets serve\n```\n\n", "", "docs/a.md:7: the line is no prose, but code, markup or data"),
        ("# Widgets", "# Widgets\n\n{% include x %}", "docs/a.md: a program fills in this document: it holds a template or an include"),
        ("# Widgets", "#! Widgets", "docs/a.md: the document starts like a script"),
        ("smal and", "smal\rand", "docs/a.md: the document holds a carriage return that ends no line"),
        ("# Widgets", "## 1.2.3", "docs/a.md:1: `Widgets` becomes `1.2.3`, which is no mend of its spelling"),
        ("# Widgets", "# Widgets\n\nWords.", "docs/a.md:3: `Words` is added"),
        ("read by teh server.", "read by teh server?", "docs/a.md:11: punctuation changes in a question, or beside a negation or a duty"),
        ("- Uploads", "  - Uploads", "docs/a.md:11: `- Uploads are kept, and read by teh server.` becomes `- Uploads are kept, and read by teh server.`, which is no mend of its spelling"),
        (MD, MD + "x " * 210_000 + "\n", "docs/a.md: it is too long to be proved"),
        ("smal and", "a" * 4_001, f"docs/a.md:3: `keeps` becomes `Widgets keeps track of small uploads. It is {'a' * 16}...`, which is no mend of its spelling"),
    ],
)  # fmt: skip
def test_obstacle_names_the_line_and_the_problem(old: str, new: str, expected: str) -> None:
    assert old in MD
    assert obstacle_of("docs/a.md", MD, MD.replace(old, new, 1)) == expected


INDENTED = "Some words.\n\n    widgets serve\n"
TURNED = "the change turns prose into code or markup, or code or markup into prose"
NAMED_IN_RULES = "the repository's rules for agents point at it"
NO_TITLE = "a text without a title in reStructuredText may be a list that a program reads"


@pytest.mark.parametrize(
    ("path", "text", "old", "new", "more", "expected"),
    [
        ("docs/a.md", MD, "smal", "small", {"guidance": "See docs/A.md"}, NAMED_IN_RULES),
        ("docs/a.md", MD, "teh", "the", {"texts": False}, "the whole file was not read"),
        ("docs/a.md", INDENTED, "Some words.", "- Some words.", {}, TURNED),
        ("docs/a.txt", "Smal words\n", "Smal", "Small", {}, NO_TITLE),
        *(
            (path, MD, "teh", "the", {}, "it may be read as rules")
            for path in ("CONVENTIONS.md", "docs/conventions.md", "docs/prompts/review.rst", "AGENTS.md")
        ),
        (".github/copilot-instructions.md", MD, "teh", "the", {}, "it may be read as rules"),
    ],
)
def test_unprovable_document_is_an_obstacle(
    path: str, text: str, old: str, new: str, more: dict[str, Any], expected: str
) -> None:
    assert obstacle_of(path, text, text.replace(old, new), **more) == f"{path}: {expected}"


@pytest.mark.parametrize(
    ("text", "is_prose"),
    [
        ("title: a\n\nIt is smal.\n\nA small one.\n", True),
        ("title: a\nIt is smal.\n\nA small one.\n", False),
        ("---\nIt is smal.\n---\n\nA small one.\n", False),
        ("---\nIt is smal.\n\nA small one.\n", False),
        ("::: warning\nIt is smal.\n:::\n\nA small one.\n", False),
        ("<!-- here\nIt is smal.\n-->\n\nA small one.\n", False),
        ("Words `that\nend` here. It is smal.\n\nA small one.\n", False),
        ("Words <!-- here.\nIt is smal. -->\n\nA small one.\n", False),
    ],
)
def test_metadata_containers_and_comments_are_not_prose(text: str, *, is_prose: bool) -> None:
    obstacle = obstacle_of("docs/a.md", text, text.replace("It is smal", "It is small"))
    assert (obstacle is None) is is_prose
    assert obstacle is None or obstacle.endswith(": the line is no prose, but code, markup or data")


def test_requested_change_or_policy_is_an_obstacle() -> None:
    before, after = {"docs/a.md": MD}, {"docs/a.md": MD.replace("smal", "small")}
    obstacle = find_obstacle(change_of(before, after, issue="Typo in the docs"))
    assert str(obstacle) == "whether the words are those that were asked for, code can't tell"
    dossier = dossier_of(before, after).model_copy(update={"policy": Policy(accept_alone=False)})
    policy_obstacle = find_obstacle(CodeChange(dossier))
    assert str(policy_obstacle) == "this repository accepts nothing without a model (`accept_alone`)"


def test_executable_document_is_an_obstacle() -> None:
    diff = dossier_of({"docs/a.md": MD}, {"docs/a.md": MD.replace("smal", "small")}).diff.replace("100644", "100755")
    obstacle = find_obstacle(CodeChange(plain_dossier(diff)))
    assert str(obstacle) == "docs/a.md: it is no regular text file without the right to be executed"


def test_unchanged_html_in_changed_line_is_an_obstacle() -> None:
    text = obstacle_of("docs/a.md", "Press <kbd>x</kbd> in teh end.\n", "Press <kbd>x</kbd> in the end.\n")
    assert text == "docs/a.md:1: `<kbd>x</kbd>` is no plain word"


@pytest.mark.parametrize("path", ["src/notes.md", "requirements.txt", "docs/rules.py"])
def test_other_files_are_not_documentation_only(path: str) -> None:
    assert not is_documentation_only(change_of({path: "a\n"}, {path: "b\n"}))
