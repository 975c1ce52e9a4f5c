"""Code made for the literal values of its own tests."""

from worker.signals.tests_pass_but_wrong.hardcoded_result import ExpectedLiterals


def test_what_any_file_of_tests_holds_is_known() -> None:
    held = ExpectedLiterals(("encode('a')\n", "encode('b') == 'b'\n"))
    assert (held.is_empty, held.contains("'a'"), held.contains("'b'"), held.contains("'c'")) == (
        False,
        True,
        True,
        False,
    )
    assert held.contains("[ 'b' ]") is False
    assert (held.contains_both("'a'", "'b'"), held.contains_both("'b'", "'b'")) == (False, True)
