"""Markdown helpers, compared with a real parser and with GitHub's rules as regular expressions."""

from hypothesis import given
from hypothesis import strategies as st
from markdown_it.token import Token

from tests.worker.publishing.texts.rendered import ACTIVE, GITHUB, render
from tests.worker.publishing.texts.samples import HOSTILE
from worker.publishing.texts.markdown import (
    INVISIBLE,
    address,
    bullets,
    code,
    code_block,
    exact_line,
    fit,
    fit_end,
    join_blocks,
    link,
    one_line,
    prose,
    split_blocks,
    table,
    visible,
)

TRICKY = st.text(st.sampled_from("ab1 `*_[]()<>!|\\~#@&;:/.$-+=\t\n\x1b\u202eé漢"), max_size=40)
GAP = "\u200b"


def tokens(markdown: str) -> list[Token]:
    return GITHUB.parse(markdown)


def test_hostile_prose_is_inert() -> None:
    page = render(prose(HOSTILE))
    assert set(page.tags) <= {"p", "code"}
    assert not ACTIVE.search(page.plain)
    assert page.all.replace(GAP, "").strip() == one_line(HOSTILE)


def test_plain_prose_is_unchanged() -> None:
    text = "The body of `retry` in upload.py (line 17) is snake_case, 100 % a stub: C# and 3.14 stay."
    assert prose(text) == text


@given(TRICKY)
def test_any_prose_is_one_paragraph_with_the_same_text(text: str) -> None:
    page = render(prose(text))
    assert set(page.tags) <= {"p", "code"}
    assert page.all.replace(GAP, "").replace("`", "").split() == one_line(text).replace("`", "").split()


@given(TRICKY)
def test_any_prose_mentions_no_account(text: str) -> None:
    assert not ACTIVE.search(render(prose(text)).plain)


def test_dollar_signs_make_no_formula() -> None:
    assert prose("$x$") == "&#36;x&#36;"


@given(TRICKY)
def test_any_code_is_one_code_span(text: str) -> None:
    page = render(f"x {code(text)} y")
    assert page.tags == ["p", "code"]
    assert page.plain.split() == ["x", "y"]
    assert page.all.removeprefix("x ").rstrip("\n").removesuffix(" y").strip() == exact_line(text).strip()


@given(TRICKY, TRICKY)
def test_any_text_stays_in_its_table_cell(text: str, path: str) -> None:
    page = render(table(("a", "b", "c"), [(prose(text), code(path), "end")]))
    assert page.tags.count("td") == 3
    assert set(page.tags) <= {"table", "thead", "tbody", "tr", "th", "td", "code"}
    assert page.plain.strip().endswith("end")


@given(TRICKY)
def test_any_text_stays_in_its_fence(text: str) -> None:
    (block,) = tokens(code_block(text, "text"))
    assert block.type == "fence"
    assert block.content == visible(text).replace("\r", "") + "\n"


def test_fence_is_longer_than_the_longest_run_of_backticks() -> None:
    assert code_block("```\n````") == "`````\n```\n````\n`````"


def test_address_is_quoted_and_keeps_its_slashes() -> None:
    assert address("acme/x", "blob", "a (b)/[c] ?#.py") == "acme/x/blob/a%20%28b%29/%5Bc%5D%20%3F%23.py"
    assert link("`a`", address("b")) == "[`a`](b)"


def test_long_list_counts_the_rest() -> None:
    assert bullets(["a", "b"], 2) == "- a\n- b"
    assert bullets(["a", "b", "c"], 1) == "- a\n- … and 2 more"


PARTS = st.one_of(
    TRICKY.map(prose),
    TRICKY.map(code),
    st.lists(TRICKY, max_size=3).map(lambda lines: code_block("\n\n".join(lines), "text")),
    st.lists(TRICKY.map(prose), min_size=1, max_size=4).map(bullets),
    st.lists(st.tuples(TRICKY.map(code), TRICKY.map(prose)), max_size=3).map(lambda rows: table(("a", "b"), rows)),
    st.tuples(TRICKY.map(code), TRICKY.map(lambda text: code_block(f"{text}\n\n<details>", "json"))).map(
        lambda pair: f"<details><summary>Folded</summary>\n\n{pair[0]}\n\n{pair[1]}\n\n</details>"
    ),
)


@given(st.lists(PARTS.filter(bool), max_size=8))
def test_page_splits_into_its_blocks(parts: list[str]) -> None:
    assert list(split_blocks("\n\n".join(parts))) == (parts or [""])


@given(st.lists(PARTS.filter(bool), max_size=8), st.integers(min_value=60, max_value=400))
def test_cut_page_shows_the_rest_unchanged(parts: list[str], limit: int) -> None:
    cut = join_blocks(split_blocks("\n\n".join(parts)), limit)
    assert len(cut.encode()) <= limit
    kept = cut.split("*Cut here")[0].rstrip("\n")
    assert "\n\n".join(parts).startswith(kept)
    assert [token.type for token in tokens(cut)][: len(tokens(kept))] == [token.type for token in tokens(kept)]
    assert "*Cut here" not in cut or tokens(cut)[-3].type == "paragraph_open"


def test_unclosed_fence_is_one_block_to_the_end() -> None:
    assert split_blocks("a\n\n```text\nb\n\nc\n```` d\n\ne") == ("a", "```text\nb\n\nc\n```` d\n\ne")
    assert split_blocks("````\na\n\n```\n\nb\n````\n\nc") == ("````\na\n\n```\n\nb\n````", "c")


@given(st.lists(st.text(max_size=50), max_size=8), st.integers(min_value=60, max_value=200))
def test_joined_blocks_keep_the_limit_and_are_never_cut_inside(parts: list[str], limit: int) -> None:
    text = join_blocks(parts, limit)
    assert len(text.encode()) <= limit
    if text != "\n\n".join(parts):
        assert text.endswith("*Cut here: the rest does not fit into a check run.*")


ANY_TEXT = st.text(st.characters(codec=None))


def test_invisible_characters_are_shown_by_name() -> None:
    assert visible("a\x1b[2Jb\x9bc\u202ed\x7f\r\ud800") == "a␛[2Jb⟨U+009B⟩c⟨U+202E⟩d␡␍⟨U+D800⟩"


def test_one_line_has_neither_newline_nor_tab() -> None:
    assert visible("a\n\tb") == "a\n\tb"
    assert one_line(" a\n\tb  c ") == "a b c"
    assert exact_line("a\n b") == "a␤ b"


def test_visible_text_does_not_depend_on_other_characters() -> None:
    plain = [chr(code) for code in range(128)]
    assert [visible(character) + "ä" for character in plain] == [visible(f"{character}ä") for character in plain]
    assert visible("a word") == "a word"


@given(ANY_TEXT)
def test_visible_text_has_no_control_character_and_is_encodable(text: str) -> None:
    shown = visible(text)
    assert not INVISIBLE.search(shown)
    shown.encode()


@given(st.text(), st.integers(min_value=8, max_value=60))
def test_cut_text_keeps_the_byte_limit_and_whole_characters(text: str, limit: int) -> None:
    start, end = fit(text, limit), fit_end(text, limit)
    assert len(start.encode()) <= limit
    assert len(end.encode()) <= limit
    assert start == text or (start.endswith(" …") and text.startswith(start.removesuffix(" …")))
    assert end == text or (end.startswith("… ") and text.endswith(end.removeprefix("… ")))
