"""Redaction, escaping and fencing of foreign text."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.judge.llm.fencing import (
    cut_text,
    escape_hidden,
    make_fence,
    redact_text,
    shown_path,
)

BODY = "MIIEowIBAAKCAQEA0123456789abcdefABCDEF+/0123456789abcdefABCDEF+/"

# concatenated, so that secret scanners ignore this file
SECRETS = {
    "github token": ["gh" + "p_" + "a1" * 18, "gh" + "s_" + "B2" * 18, "github" + "_pat_" + "11AA" * 10],
    "anthropic key": ["sk-" + "ant-api03-" + "x_-9" * 8],
    "aws key": ["AK" + "IA" + "0123456789ABCDEF", "AS" + "IA" + "0123456789ABCDEF"],
    "slack token": ["xo" + "xb-" + "1234567890-abc"],
    "jwt": ["ey" + "JhbGciOiJI.ey" + "JzdWIiOiIx.c2lnbmF0dXJl"],
}


@pytest.mark.parametrize(("name", "secret"), [(name, value) for name, some in SECRETS.items() for value in some])
def test_secret_is_redacted(name: str, secret: str) -> None:
    assert redact_text(f'token = "{secret}"\nnext') == f'token = "[redacted: {name}]"\nnext'


@pytest.mark.parametrize(
    "text", ["ghp_short", "sk-anthem", "AKIAexample", "eyJ.eyJ.x", "xoxo-kisses", "-----BEGIN CERTIFICATE-----"]
)
def test_text_that_only_begins_like_a_secret_is_kept(text: str) -> None:
    assert redact_text(text) == text


def test_private_key_keeps_its_line_count() -> None:
    text = f"a = 1\n-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n{BODY[:20]}\n-----END RSA PRIVATE KEY-----\n{BODY}\n"
    clean = redact_text(text)
    assert clean.count("\n") == text.count("\n")
    assert clean.split("\n")[2:4] == ["[redacted: private key]"] * 2
    assert clean.split("\n")[5] == BODY


def test_private_key_on_one_line_is_redacted() -> None:
    text = f'KEY = "-----BEGIN PRIVATE KEY-----\\n{BODY}\\n-----END PRIVATE KEY-----"\nx = "{BODY}"'
    assert redact_text(text).split("\n")[0].count(BODY[:20]) == 0
    assert redact_text(text).split("\n")[1] == f'x = "{BODY}"'


def test_private_key_without_its_first_line_is_redacted() -> None:
    text = f"x = 1\n{BODY}\n{BODY}\n-----END EC PRIVATE KEY-----"
    assert redact_text(text) == "x = 1\n[redacted: private key]\n[redacted: private key]\n-----END EC PRIVATE KEY-----"


def test_first_line_of_a_key_redacts_no_code() -> None:
    code = "\n".join(f"assertRaisesRegexExactly{number}()" for number in range(9))
    assert redact_text(f"-----BEGIN PRIVATE KEY-----\n{code}") == f"-----BEGIN PRIVATE KEY-----\n{code}"
    assert redact_text("-----END PRIVATE KEY-----") == "-----END PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("a\u202eb", "a\\u202eb"),
        ("a\u2066b\u2069", "a\\u2066b\\u2069"),
        ("a\u200bb", "a\\u200bb"),
        ("\ufeffa", "\\ufeffa"),
        ("a\u00adb", "a\\xadb"),
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("a\rb", "a\\rb"),
        ("a\x00b\x7f", "a\\x00b\\x7f"),
        ("a\u2028b", "a\\u2028b"),
        ("a\x85b", "a\\x85b"),
        ("a\U000e0041b", "a\\U000e0041b"),
        ("a\ufe0fb", "a\\ufe0fb"),
        ("a\U000e0100b", "a\\U000e0100b"),
        ("a\u3164b", "a\\u3164b"),
        ("a\ud800b", "a\\ud800b"),
        ("a\ue000b", "a\\ue000b"),
    ],
    ids=range(16),
)
def test_hidden_characters_are_escaped(hidden: str, shown: str) -> None:
    assert escape_hidden(hidden) == shown


@pytest.mark.parametrize("text", ["plain\ttext\n", "naïve Straße", "日本語", "русский", "🙂", "العربية", "e\u0301"])
def test_readable_text_of_any_language_is_kept(text: str) -> None:
    assert escape_hidden(text) == text


@given(st.text())
def test_escaping_and_redaction_keep_the_line_count(text: str) -> None:
    assert escape_hidden(text).count("\n") == text.count("\n")
    assert redact_text(text).count("\n") == text.count("\n")


@given(st.lists(st.sampled_from([BODY, "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "x = 1", ""])))
def test_key_redaction_keeps_the_line_count(lines: list[str]) -> None:
    assert len(redact_text("\n".join(lines)).split("\n")) == max(1, len(lines))


def test_path_is_shown_on_one_line() -> None:
    assert shown_path("a\nb\tc\u202e.py") == "a\\nb\\tc\\u202e.py"
    assert shown_path("gh" + "p_" + "a1" * 18 + ".txt") == "[redacted: github token].txt"


def test_text_that_fits_is_not_cut() -> None:
    assert cut_text("äöü", 6) == "äöü"


def test_cut_text_ends_with_whole_line_and_byte_count() -> None:
    assert cut_text("first\nsecond\nthird", 9) == "first\n[cut here: 13 more bytes are not shown]"
    assert cut_text("äöü", 3) == "ä\n[cut here: 4 more bytes are not shown]"


def test_fence_word_depends_on_seed_and_texts() -> None:
    lines = [
        make_fence(seed, texts).word for seed, texts in (("e1", ["a"]), ("e1", ["a"]), ("e2", ["a"]), ("e1", ["b"]))
    ]
    assert lines[0] == lines[1]
    assert len(set(lines)) == 3


@given(st.text(string.printable), st.lists(st.text(string.printable)))
def test_fence_word_occurs_in_no_text(seed: str, texts: list[str]) -> None:
    word = make_fence(seed, texts).word
    assert not any(word in text for text in texts)


def test_fence_encloses_text_between_two_marks() -> None:
    fence = make_fence("seed", ["x"])
    assert fence.enclose("case", "x") == f"[[{fence.word} begin: case]]\nx\n[[{fence.word} end]]"
