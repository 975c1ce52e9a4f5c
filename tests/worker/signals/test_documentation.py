"""Documentation changes that are accepted without a model, and obstacles to that."""

import json
import re
import subprocess
from base64 import b64decode
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from subprocess import PIPE
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest

from tests.worker.signals.conftest import CaseRunner
from tests.worker.signals.samples import RUBRIC, change_of, dossier_of, plain_dossier
from worker.domain.dossier import Dossier, Guidance, Policy
from worker.signals.analysis.change import CodeChange
from worker.signals.documentation import find_obstacle, is_documentation_only
from worker.signals.heuristic_opinion import form_opinion

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


ATTEMPTS = Path(__file__).parent / "attempts"


class Attempt(NamedTuple):
    id: str
    title: str
    files: Sequence[dict[str, Any]]


@cache
def attempts(name: str) -> tuple[Attempt, ...]:
    """The attempts of a file in this folder: JSON lines with `class`, `title` and `files`.

    A file has `path`, `mode`, `before` and `after` (null: absent), or `after_base64`; also `path_before`, `mode_before` where they differ.
    """
    rows = [json.loads(line) for line in (ATTEMPTS / name).read_text("utf-8").splitlines()]
    return tuple(Attempt(f"{at}: {row['class']}", row["title"], row["files"]) for at, row in enumerate(rows, start=1))


@cache
def dossiers(name: str, *, texts: bool) -> tuple[Dossier, ...]:
    """The dossiers of the attempts, with or without the head's files."""
    return tuple(
        plain_dossier(diff, row.title, files=_texts(row) if texts else None)
        for row, diff in zip(attempts(name), diffs(name), strict=True)
    )


def _texts(row: Attempt) -> list[dict[str, object]]:
    texts = ((file["path"], _bytes(file, "after")) for file in row.files)
    return [{"path": path, "text": raw.decode()} for path, raw in texts if raw is not None and _is_text(raw)]


def _is_text(raw: bytes) -> bool:
    """A dossier holds only UTF-8 texts."""
    return b"\0" not in raw and raw == raw.decode("utf-8", "replace").encode()


def _bytes(file: dict[str, Any], side: str) -> bytes | None:
    if (encoded := file.get(f"{side}_base64")) is not None:
        return b64decode(encoded)
    text = file.get(side)
    return None if text is None else text.encode("utf-8", "surrogateescape")


@cache
def diffs(name: str) -> tuple[str, ...]:
    """The diff of each attempt, from one git that writes the trees and one that compares them."""
    rows = attempts(name)
    stream = b"".join(
        part for at, row in enumerate(rows) for side in ("before", "after") for part in _commands(at, row, side)
    )
    with TemporaryDirectory() as folder:

        def git(*arguments: str, stdin: bytes = b"") -> bytes:
            return subprocess.run(["git", "-C", folder, *arguments], input=stdin, check=True, stdout=PIPE).stdout

        git("init", "-q", "--bare")
        git("fast-import", "--quiet", stdin=stream)
        refs = git("for-each-ref", "--format=%(refname) %(tree)").decode().splitlines()
        trees = dict(line.split() for line in refs)
        pairs = [f"{trees[_ref(at, 'before')]} {trees[_ref(at, 'after')]}\n" for at in range(len(rows))]
        printed = git("diff-tree", "--stdin", "-p", "-M", "-r", stdin="".join(pairs).encode())
    _, *parts = re.split(rb"(?m)^[0-9a-f]{40} [0-9a-f]{40}\n", printed)
    return tuple(part.decode("utf-8", "replace") for part in parts)


def _ref(at: int, side: str) -> str:
    return f"refs/heads/{side}-{at}"


def _commands(at: int, row: Attempt, side: str) -> Iterator[bytes]:
    yield f"commit {_ref(at, side)}\ncommitter a <a@example.org> 1 +0000\ndata 0\n".encode()
    for file in row.files:
        raw = _bytes(file, side)
        if raw is None:
            continue
        before = side == "before"
        path = json.dumps(
            file.get("path_before", file["path"]) if before else file["path"], ensure_ascii=False
        ).encode()
        mode = (file.get("mode_before", _usual_mode(file)) if before else file["mode"]).encode()
        if mode == b"160000":
            yield b"M 160000 %s %s\n" % (raw.split()[-1], path)
        else:
            yield b"M %s inline %s\ndata %d\n%s\n" % (mode, path, len(raw), raw)
    yield b"\n"


def _usual_mode(file: dict[str, Any]) -> str:
    """The mode before the change: a document is a plain file."""
    return "100644" if file["path"].endswith((".md", ".rst", ".txt")) else file["mode"]


OWN = "own.jsonl"
BLIND = "blind.jsonl"
"""Written without knowledge of the rules."""
NAMES = (OWN, BLIND)


@pytest.mark.parametrize("texts", [True, False], ids=["whole", "hunks"])
@pytest.mark.parametrize("name", NAMES)
def test_harmful_change_is_not_accepted_as_documentation(name: str, *, texts: bool, run_each: CaseRunner) -> None:
    cases = [{"dossier": dossier} for dossier in dossiers(name, texts=texts)]
    run_each(check_not_safe, zip([attempt.id for attempt in attempts(name)], cases, strict=True))


def check_not_safe(dossier: Dossier) -> None:
    assert form_opinion(dossier, RUBRIC).safe is None


def test_at_least_300_attempts_are_recorded() -> None:
    assert sum(len(attempts(name)) for name in NAMES) >= 300
