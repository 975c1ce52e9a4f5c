"""Comments that admit unfinished work."""

import pytest

from tests.worker.signals.made import change_of, dossier_of
from worker.signals.analysis.change import CodeChange
from worker.signals.half_finished.unfinished_todo import is_marked, unfinished_function, unfinished_todo


def lines(path: str, after: str, before: str = "a\n") -> list[int | None]:
    return [finding.line for finding in unfinished_todo.findings(change_of({path: before}, {path: after}))]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("a.py", "# TODO: implement the retry"),
        ("a.py", "x = 1  # FIXME(bob): handle the remaining cases"),
        ("a.ts", "// TODO handle errors"),
        ("a.go", "\t// This is a placeholder for now"),
        ("A.java", "   * not implemented yet"),
        ("a.rs", "// dummy implementation"),
    ],
)
def test_a_comment_that_names_unfinished_work_is_suspected_at_its_line(path: str, line: str) -> None:
    assert lines(path, f"a\n{line}\n") == [2]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("a.py", "# TODO: nicer name"),
        ("a.py", "# TODO: should this handle lists?"),
        ("a.py", "todo = implement()"),
        ("tests/a.py", "# TODO: implement"),
        ("a.md", "# TODO: implement"),
        ("a.rs", "#[todo(implement)] # TODO implement"),
        ("a.py", "x" * 2000 + "# TODO: implement"),
    ],
)
def test_other_notes_are_not_mentioned(path: str, line: str) -> None:
    assert lines(path, f"a\n{line}\n") == []


def test_a_note_that_was_only_moved_is_not_new() -> None:
    assert lines("a.py", "a\nb\n    # TODO: implement\n", "# TODO: implement\na\n") == []


ADMITTED = {
    "the rest is left": ("a.py", "def load(path):\n    text = read(path)\n    # TODO: handle the remaining cases\n    check(text)\n    return text\n", 3),
    "at the beginning": ("a.py", "def load(path):\n    # TODO: the rest\n    return read(path)\n", 2),
    "a block": ("A.java", "class A {\n  int load(int x) {\n    /* TODO: finish this */\n    int y = x + 1;\n    return y * 2;\n  }\n}\n", 3),
    "at the end": ("a.go", "package a\n\nfunc Load(p string) string {\n\tr := read(p)\n\t// TODO: implement the parser\n\treturn r\n}\n", 5),
}  # fmt: skip
DOUBTFUL = {
    "over a refusal": ("a.ts", "function load(path: string) {\n  // TODO: implement support for links\n  if (isLink(path)) {\n    throw new Error('Links are not supported')\n  }\n  return read(path)\n}\n", 2),
    "breaks off": ("a.py", "def load(path):\n    text = read(path)\n    go(text)\n    # FIXME validate it\n", 4),
    "breaks off before what it hands back": ("a.go", "package a\n\nfunc Load(p string) string {\n\tr := read(p)\n\t// TODO: parse\n\treturn r\n}\n", 5),
    "hands back a pair": ("a.rs", "fn load(p: u8) -> R {\n    let r = read(p);\n    // TODO: parse\n    Ok((r))\n}\n", 3),
    "in place of a parameter": ("a.ts", "function load(path: string, mode: string) {\n  // TODO mode\n  const text = read(path);\n  check(text);\n  return text.length + 1;\n}\n", 2),
}  # fmt: skip


def admitted(path: str, code: str, before: str | None = None, issue: str | None = None) -> list[int | None]:
    base = {} if before is None else {path: before}
    return [finding.line for finding in unfinished_function.findings(change_of(base, {path: code}, issue=issue))]


@pytest.mark.parametrize(("path", "code", "line"), ADMITTED.values(), ids=ADMITTED.keys())
def test_a_new_function_that_says_that_it_is_not_finished_is_a_fact(path: str, code: str, line: int) -> None:
    assert admitted(path, code) == [line]


@pytest.mark.parametrize(("path", "code", "line"), DOUBTFUL.values(), ids=DOUBTFUL.keys())
def test_a_note_where_a_function_breaks_off_or_drops_a_parameter_is_suspected(path: str, code: str, line: int) -> None:
    """It may as well name an idea: of those that were read, maintainers merged most."""
    assert admitted(path, code) == []
    assert lines(path, code, "") == [line]


@pytest.mark.parametrize(("path", "code", "line"), ADMITTED.values(), ids=ADMITTED.keys())
def test_what_an_old_function_says_is_nothing_new(path: str, code: str, line: int) -> None:
    assert line
    assert admitted(path, code + "\n", code) == []


WHOLE = {
    "no notes": "def load(path):\n    return read(path)\n",
    "an idea for later": "def load(path):\n    # TODO: finish this when paths are typed\n    return read(path)\n",
    "a thought": "def load(path):\n    # TODO: a nicer name\n    check(path)\n    return read(path)\n",
    "words without a mark": "def load(path):\n    # the rest is text\n    return read(path)\n",
    "beside code": "def load(path):\n    check(path)  # TODO: finish this\n    return read(path)\n",
    "in a branch": "def load(path):\n    if path:\n        # TODO: log\n        go(path)\n    return read(path)\n",
    "at the side of the signature": "def load(\n    # TODO: finish\n    path,\n):\n    return read(path)\n",
    "a call follows": "def load(path):\n    # TODO: log\n    return read(path).strip().split()\n",
    "two things follow": "def load(path):\n    # TODO: log\n    go(path)\n    return path\n",
    "in code that was put into comments": "def load(path):\n    # if path is None:\n    #     # TODO: handle this\n    #     return None\n    return read(path)\n",
    "behind a call in comments": "def load(path, mode):\n    # check(path)\n    # TODO: check the mode\n    return read(path)\n",
    "a condition": "def load(path):\n    # TODO: if the end is missing, add it\n    return read(path)\n",
    "an optional extra": "def load(path, mode):\n    text = read(path)\n    # TODO: optionally add support for a mode\n    return text\n",
    "one more": "def load(path):\n    text = read(path)\n    # TODO: add more encodings\n    return text\n",
    "a duplicate of something": "def load(path):\n    # TODO: duplicate of the other implementation, share it\n    check(path)\n    return read(path)\n",
    "a stub tells it already": "def load(path):\n    # TODO: implement\n    pass\n",
}


LEFT = "def load(path):\n    text = read(path)\n    # {}\n    return text\n"


@pytest.mark.parametrize(
    "note",
    [
        "TODO: finish this in 2.14 or later",
        "TODO: implement the mode, in the next major release",
        "TODO(2.x): drop the mode with version 3.0",
        "FIXME: finish this, see https://github.com/acme/widgets/issues/12",
        "TODO(#12): implement the mode",
        "TODO: implement the mode (GH-12)",
        "TODO ACME-123: implement the mode",
        "TODO: b/348023 - implement the mode",
        "TODO: implement the mode, https://bugs.acme.org/show?id=x",
    ],
)
def test_work_that_is_planned_for_a_release_or_by_another_issue_is_no_fact(note: str) -> None:
    assert admitted("a.py", LEFT.format(note), issue="Load files") == []


@pytest.mark.parametrize(
    "note",
    [
        "TODO: implement the mode (#77)",
        "TODO: finish this, see https://github.com/acme/widgets/issues/77",
        "TODO(bob): implement the mode",
        "TODO: implement the mode in 2 steps",
        "TODO: implement UTF-16",
    ],
)
def test_work_that_this_change_is_for_is_left_whatever_it_links(note: str) -> None:
    dossier = dossier_of({}, {"a.py": LEFT.format(note)})
    pull = dossier.pull_request.model_copy(update={"body": "Closes #77"})
    change = CodeChange(dossier.model_copy(update={"pull_request": pull}))
    assert [finding.line for finding in unfinished_function.findings(change)] == [3]


def test_a_note_in_what_refuses_work_on_a_platform_is_no_fact() -> None:
    code = 'package a\n\nfunc Load(p string) error {\n\t// TODO: implement\n\treturn errors.New("not supported")\n}\n'
    assert admitted("a_windows.go", code) == []
    works = code.replace('errors.New("not supported")', "read(p).check()")
    assert admitted("a_windows.go", works) == [4]


@pytest.mark.parametrize("code", WHOLE.values(), ids=WHOLE.keys())
def test_a_note_about_a_function_that_is_whole_is_no_fact(code: str) -> None:
    assert admitted("a.py", code) == []


@pytest.mark.parametrize(
    ("note", "is_fact"),
    [
        ("# TODO: implement the handling of a lost lease", True),
        ("# TODO: implement the handling of a lost lease\n    # For now it is told.", False),
        ("# TODO: implement a walk function that can fail", False),
    ],
)
def test_a_note_that_says_what_is_done_instead_or_names_another_function_is_no_fact(
    note: str, *, is_fact: bool
) -> None:
    change = change_of({}, {"a.py": f"def lost(lease):\n    {note}\n    warn(lease)\n    return lease\n"})
    assert bool(list(unfinished_function.findings(change))) is is_fact


def test_a_block_of_comments_that_begins_with_code_is_code() -> None:
    code = "class A {\n  int load(int x) {\n    /*\n    check(x);\n    TODO: finish this\n    */\n    return y(x);\n  }\n}\n"
    assert admitted("A.java", code) == []
    assert admitted("A.java", code.replace("    check(x);\n", "")) == [3]


def test_an_example_and_a_decorated_function_say_it_too() -> None:
    _, code, line = ADMITTED["the rest is left"]
    assert admitted("examples/a.py", code) == [line]
    assert admitted("a.py", f"@unknown\n{code}") == [line + 1]
    assert admitted("examples/tutorial/a.py", code) == []
    assert lines("examples/a.py", DOUBTFUL["breaks off"][1], "") == [], "its reader may do that"


def test_a_method_beside_abstract_ones_says_it_too_and_an_abstract_one_does_not() -> None:
    head = "class A(abc.ABC):\n    @abstractmethod\n    def go(self): ...\n\n"
    method = "    def load(self):\n        # TODO: only the first step so far\n        return 0\n"
    assert admitted("a.py", head + method) == [6]
    assert admitted("a.py", f"{head}    @abstractmethod\n{method}") == []


def test_an_issue_that_asks_for_a_skeleton_makes_it_no_fact() -> None:
    path, code, _ = ADMITTED["the rest is left"]
    assert admitted(path, code, issue="Add a skeleton") == []


def test_a_note_that_came_with_the_moved_code_is_not_new() -> None:
    before = "def other(path):\n    # TODO: handle the remaining cases\n    return path\n"
    after = "def load(path):\n    text = read(path)\n    # TODO: handle the remaining cases\n    return text\n"
    moved = change_of({"a.py": before}, {"b.py": after})
    assert list(unfinished_function.findings(moved)) == []


def test_a_note_in_a_nested_function_is_told_once_and_not_suspected_again() -> None:
    code = "def outer():\n    def inner(x):\n        y = x + 1\n        # TODO: the rest\n        return y\n    return inner\n"
    change = change_of({}, {"a.py": code})
    assert [finding.line for finding in unfinished_function.findings(change)] == [4]
    assert list(unfinished_todo.findings(change)) == []


def test_a_line_that_holds_many_functions_is_read_once() -> None:
    """Where a carriage return ends the lines, a file of a thousand functions is one line, and takes the square of them."""
    functions = "".join(f"fun f{number}(x: Int) = g(x)\r" for number in range(50))
    is_marked.cache_clear()
    assert list(unfinished_function.findings(change_of({}, {"A.kt": f"{functions}\n"}))) == []
    assert is_marked.cache_info().misses <= 2
    assert is_marked.cache_info().hits >= 49
