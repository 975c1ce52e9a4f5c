"""Docstrings that are only words, and those that something reads."""

import pytest

from tests.worker.judge.heuristics.made import changed_file
from worker.judge.heuristics.safe.programs import is_same_program

WORDS = {
    "function": 'def f():\n    """Odl."""\n    return 1\n',
    "module": '"""Odl."""\n\nx = 1\n',
    "class": 'class A:\n    """Odl."""\n\n    x = 1\n',
    "error": 'class AError(ValueError):\n    """Odl."""\n',
    "method": 'class A(Base):\n    @property\n    def f(self):\n        """Odl."""\n',
    "plainly decorated": '@functools.lru_cache(maxsize=None)\ndef f():\n    """Odl."""\n',
    "class of a house": 'class A(Listener):\n    """Odl."""\n\n    x = 1\n',
    "class of a house without more": 'class A(Listener):\n    """Odl."""\n',
    "raw": 'def f():\n    r"""Odl."""\n',
    "after a comment": 'def f():\n    # why\n    """Odl."""\n',
    "overloads": 'def f():\n    """One."""\n\n\ndef f():\n    """Odl."""\n',
    "beside an example": 'def f():\n    """Odl.\n\n    >>> f()\n    1\n    """\n',
    "beside a block": 'def f():\n    """Odl.\n\n    Example::\n\n        f()\n    """\n',
}


@pytest.mark.parametrize("before", WORDS.values(), ids=WORDS.keys())
def test_the_words_of_a_docstring_that_nobody_reads_at_run_time_may_change(before: str) -> None:
    assert is_same_program(changed_file("a.py", before, before.replace("Odl", "Old")))


READ = {
    "bytes": 'def f():\n    b"""Odl."""\n',
    "text": 'def f():\n    x = """Odl."""\n',
    "not the first": 'def f():\n    g()\n    """Odl."""\n',
    "an attribute's": 'class A:\n    x = 1\n    """Odl."""\n',
    "command": '@app.command()\ndef f():\n    """Odl."""\n',
    "within a command": '@tool\ndef f():\n    def g():\n        """Odl."""\n',
    "hook": '@hookspec(firstresult=True)\ndef f():\n    """Odl."""\n',
    "model": 'class A(BaseModel):\n    """Odl."""\n',
    "beside models": 'import pydantic\n\n\n@dataclass\nclass A:\n    """Odl."""\n',
    "class with fields": 'class A(Listener):\n    """Odl."""\n\n    x: int = 1\n',
    "class of a house that is described": 'class A(ObjectType):\n    """Odl."""\n',
    "class of a house beside models": 'import pydantic\n\n\nclass A(Listener):\n    """Odl."""\n',
    "tool": 'class A(BaseTool):\n    def run(self):\n        """Odl."""\n',
    "its own reader": 'def f():\n    """Odl."""\n\n\nprint(__doc__)\n',
    "command line": 'import fire\n\n\ndef f():\n    """Odl."""\n',
    "example": 'def f():\n    """Odd.\n\n    >>> Odl\n    1\n    """\n',
    "what an example prints": 'def f():\n    """Odd.\n\n    >>> 1\n    Odl\n    """\n',
    "block": 'def f():\n    """Odd::\n\n        Odl\n    """\n',
    "fence": 'def f():\n    """Odd\n\n    ```python\n    Odl\n    ```\n    """\n',
    "deep": "".join(f"{'  ' * n}def f():\n" for n in range(25)) + "  " * 25 + '"""Odl."""\n',
}


@pytest.mark.parametrize("before", READ.values(), ids=READ.keys())
def test_a_docstring_that_something_reads_is_code(before: str) -> None:
    assert not is_same_program(changed_file("a.py", before, before.replace("Odl", "Old")))


@pytest.mark.parametrize("path", ["tools.py", "src/cli/a.py", "agents/a.py", "prompts/a.py", "commands/a.py"])
def test_where_tools_and_commands_live_docstrings_are_code(path: str) -> None:
    assert not is_same_program(changed_file(path, WORDS["function"], WORDS["function"].replace("Odl", "Old")))


def test_a_docstring_may_come_and_go_but_not_with_an_example() -> None:
    bare = "def f():\n    return 1\n"
    assert is_same_program(changed_file("a.py", bare, WORDS["function"]))
    assert is_same_program(changed_file("a.py", WORDS["function"], bare))
    tested = 'def f():\n    """Old.\n\n    >>> f()\n    1\n    """\n    return 1\n'
    assert not is_same_program(changed_file("a.py", bare, tested))
    assert not is_same_program(changed_file("a.py", "def f():\n    pass\n", 'def f():\n    """Old."""\n'))


def test_where_a_line_of_a_docstring_stands_is_markup() -> None:
    before = 'def f(a):\n    """Do.\n\n    :param a: one\n        more\n    :param b: two\n    """\n'
    moved = before.replace("    :param b", "        :param b")
    assert not is_same_program(changed_file("a.py", before, moved))
    reworded = before.replace("    :param b: two", "    :param b: the two")
    assert is_same_program(changed_file("a.py", before, reworded))
    trimmed = before.replace("more\n", "more  \n\n")
    assert is_same_program(changed_file("a.py", before, trimmed))
