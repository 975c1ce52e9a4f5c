"""What a hunk shows, from the first line that it shows whole."""

import pytest

from tests.worker.signals.made import changed_file
from worker.signals.analysis.file_roles import Language
from worker.signals.analysis.functions import find_functions
from worker.signals.analysis.hunk_source import without_partial_string

FILL = "x\n" * 5
GO_BEFORE = f"package a\n\nfunc One() error {{\n{FILL}\tif b {{\n\t\tc()\n\t}}\n\treturn nil\n}}\n"
GO = "\n// Two is new.\nfunc Two() error {\n\treturn nil\n}\n"
PYTHON_BEFORE = "def one(\n" + "    a,\n" * 8 + "):\n    return f(\n        a)\n"


def shown(path: str, before: str, after: str) -> list[tuple[str, int]]:
    """The functions that a grammar finds in the hunks, with their lines."""
    file = changed_file(path, before, after, texts=False)
    return [(one.name, one.first_line) for source in file.sources for one in find_functions(source)]


def test_a_function_below_the_end_of_another_one_is_read() -> None:
    assert shown("a.go", GO_BEFORE, GO_BEFORE + GO) == [("Two", (GO_BEFORE + GO).count("\n") - 2)]


def test_a_method_below_the_end_of_another_one_is_read() -> None:
    before = "class A {\n" + "  // x\n" * 8 + "  int a() {\n    // x\n    b();\n    return c(\n      d);\n  }\n}\n"
    after = before[:-2] + "\n  int two() {\n    return 2;\n  }\n}\n"
    assert shown("A.java", before, after) == [("two", 17)]


def test_a_definition_of_python_below_the_end_of_something_is_read() -> None:
    after = PYTHON_BEFORE.replace("        a)\n", "        a)\n@b\ndef two(c):\n    return 2\n")
    assert ("two", 14) in shown("a.py", PYTHON_BEFORE, after)


@pytest.mark.parametrize("change", ["\treturn err\n", "\tgo()\n\treturn nil\n"])
def test_no_line_that_the_change_wrote_is_left_out(change: str) -> None:
    after = GO_BEFORE.replace("\treturn nil\n", change) + GO
    (source,) = changed_file("a.go", GO_BEFORE, after, texts=False).sources
    assert change in source.text


def test_what_a_grammar_reads_as_it_is_and_what_none_reads_stays_so() -> None:
    before = "".join(f"int a{number};\n" for number in range(9))
    (source,) = changed_file("A.java", before, before + "int b() {\n}\n", texts=False).sources
    assert source.text == "int a6;\nint a7;\nint a8;\nint b() {\n}\n"
    deep = f"x = {'(' * 300}1{')' * 300};\n}}\n"
    assert changed_file("A.java", before + deep, before + deep + "int b() {\n}\n", texts=False).sources == ()


CUT = 'x = make("""\n  a\n""")\ny = 1\n'


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('  def test_a\n  """)\ny = 1\n', "\n   )\ny = 1\n"),
        ('y = 1\nx = """\n  def test_a\n', 'y = 1\nx = """"""\n\n'),
        (CUT, CUT),
        ('  Some words.\n  """\ny = 1\nx = """\n  more words\n', '\n   \ny = 1\nx = """"""\n\n'),
        ('if x:\n  """\ny = (\nx = """\n  more words\n', 'if x:\n  """\ny = (\nx = """\n  more words\n'),
    ],
)
def test_a_fragment_that_shows_half_of_a_string_is_read_without_it(text: str, left: str) -> None:
    assert without_partial_string(text, Language.PYTHON) == left
    assert without_partial_string(text, Language.GO) == text
