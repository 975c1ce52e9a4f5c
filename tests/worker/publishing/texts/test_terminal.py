from worker.publishing.texts.terminal import Ink, TerminalPage, display_width, quote_lines, wrap_lines

PAGE = TerminalPage(width=80)


def test_lines_wrap_at_the_page_and_wide_characters_count_twice() -> None:
    assert display_width("漢e\u0301") == 3
    assert wrap_lines("漢字漢字 漢字漢字 漢字漢字", TerminalPage(width=20), 0) == ["漢字漢字 漢字漢字", "漢字漢字"]
    assert wrap_lines("one\n\ntwo", PAGE, 2) == ["  one", "  ", "  two"]


def test_path_longer_than_the_page_stays_whole() -> None:
    path = "a/" * 60 + "b.py:12"
    assert wrap_lines(f"see {path} there", PAGE) == ["see", path, "there"]


def test_quoted_line_is_cut_at_the_edge_and_shows_its_blanks() -> None:
    assert quote_lines("\tx", PAGE, 2) == ["  |     x"]
    assert quote_lines("x" * 100, TerminalPage(width=30), 2) == ["  | " + "x" * 24 + " …"]
    assert quote_lines("", TerminalPage(has_colour=True), 0) == [f"\x1b[{Ink.DIM}m|\x1b[0m"]
