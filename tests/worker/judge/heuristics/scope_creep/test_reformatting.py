"""Files in which only the layout changed."""

from tests.worker.judge.heuristics.made import change_of
from worker.judge.heuristics.scope_creep.reformatting import reformatted

WIDE = "".join(f"f{n}(a, b, c)\n" for n in range(6))
TALL = "".join(f"f{n}(\n    a, b, c\n)\n" for n in range(6))


def found(
    before: str, after: str, path: str = "a.py", title: str = "Retry uploads"
) -> list[tuple[str | None, int | None]]:
    change = change_of({path: before}, {path: after}, title=title)
    return [(one.path, one.line) for one in reformatted.findings(change)]


def test_a_file_that_was_only_laid_out_anew_is_suspected() -> None:
    assert found("x\n" + WIDE, "x\n" + TALL) == [("a.py", 2)]


def test_a_file_with_little_else_is_suspected_too() -> None:
    rest = "\n".join(f"r{n}" for n in range(20))
    assert found(f"{WIDE}{rest}\na = 1\n", f"{TALL}{rest}\na = 2\n") == [("a.py", 1)]


def test_a_file_with_more_else_is_not() -> None:
    rest = "\n".join(f"r{n}" for n in range(20))
    old, new = ("".join(f"{name}{n}\n" for n in range(20)) for name in ("old", "new"))
    assert found(f"{WIDE}{rest}\n{old}", f"{TALL}{rest}\n{new}") == []


def test_a_block_that_went_into_another_one_is_not() -> None:
    inner = "".join(f"call{n}()\n" for n in range(12))
    assert found(inner, "if ready:\n" + "".join(f"    {line}\n" for line in inner.splitlines())) == []


def test_a_few_lines_are_not() -> None:
    assert found("f(a,\n  b)\n", "f(a, b)\n") == []


def test_blank_lines_and_new_files_are_not() -> None:
    assert found("a\n", "a\n" + "\n" * 20) == []
    assert list(reformatted.findings(change_of({}, {"a.py": WIDE}))) == []


def test_a_text_is_not_and_what_was_asked_for_is_not() -> None:
    assert found(WIDE, TALL, path="a.md") == []
    assert found(WIDE, TALL, title="Run the formatter") == []


def test_what_is_laid_out_anew_inside_of_a_text_is_another_text() -> None:
    old, new = ("".join(f"  -{letter}{gap}says it\n" for letter in "abcdefgh") for gap in ("  ", "      "))
    assert found(f'HELP = """\n{old}"""\n', f'HELP = """\n{new}"""\n') == []
    assert found(f"HELP = (\n{old})\n", f"HELP = (\n{new})\n") == [("a.py", 2)]
