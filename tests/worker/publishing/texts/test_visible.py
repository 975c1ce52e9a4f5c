from hypothesis import given
from hypothesis import strategies as st

from worker.publishing.texts.visible import INVISIBLE, exact_line, fit, fit_end, one_line, visible

ANY_TEXT = st.text(st.characters(codec=None))


def test_what_acts_instead_of_being_seen_is_shown_by_name() -> None:
    assert visible("a\x1b[2Jb\x9bc\u202ed\x7f\r\ud800") == "a␛[2Jb⟨U+009B⟩c⟨U+202E⟩d␡␍⟨U+D800⟩"


def test_newline_and_tab_stay_and_one_line_has_neither() -> None:
    assert visible("a\n\tb") == "a\n\tb"
    assert one_line(" a\n\tb  c ") == "a b c"
    assert exact_line("a\n b") == "a␤ b"


def test_plain_text_is_shown_as_it_is_beside_a_letter_that_is_none() -> None:
    plain = [chr(code) for code in range(128)]
    assert [visible(one) + "ä" for one in plain] == [visible(f"{one}ä") for one in plain]
    assert visible("a word") == "a word"


@given(ANY_TEXT)
def test_no_text_keeps_a_control_character_and_all_of_it_can_be_encoded(text: str) -> None:
    shown = visible(text)
    assert not INVISIBLE.search(shown)
    shown.encode()


@given(st.text(), st.integers(min_value=8, max_value=60))
def test_a_cut_keeps_the_limit_in_bytes_and_whole_characters(text: str, limit: int) -> None:
    start, end = fit(text, limit), fit_end(text, limit)
    assert len(start.encode()) <= limit
    assert len(end.encode()) <= limit
    assert start == text or (start.endswith(" …") and text.startswith(start.removesuffix(" …")))
    assert end == text or (end.startswith("… ") and text.endswith(end.removeprefix("… ")))
