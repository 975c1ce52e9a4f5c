import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.dossier.issue_links import IssueLink, find_closing_links, find_mentions

HERE = "acme/widgets"


def closed(text: str) -> list[str]:
    return [f"{link.repository}#{link.number}" for link in find_closing_links(text, HERE)]


@pytest.mark.parametrize(
    "word", ["close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"]
)
def test_each_documented_keyword_closes(word: str) -> None:
    assert closed(f"This {word} #7.") == ["acme/widgets#7"]
    assert closed(f"{word.upper()}: #7") == ["acme/widgets#7"]


@pytest.mark.parametrize(
    ("text", "issues"),
    [
        ("Closes acme/gears#3", ["acme/gears#3"]),
        ("Fixes #7, fixes #8 and #9", ["acme/widgets#7", "acme/widgets#8"]),
        ("Closes #7, #8", ["acme/widgets#7"]),
        ("Closes #7, #8\n\nFixes #9 and #10", ["acme/widgets#7", "acme/widgets#9"]),
        ("Closes #7, acme/gears#3, https://github.com/acme/gears/issues/4", ["acme/widgets#7"]),
        ("Fixes https://github.com/acme/gears/issues/3", ["acme/gears#3"]),
        ("- [x] Fixes #7", ["acme/widgets#7"]),
        ("| Fixes #7 | x |\n|---|---|\n| a | b |", ["acme/widgets#7"]),
        ("Closes #7. Really closes #7, closes Acme/Widgets#7", ["acme/widgets#7"]),
        ("<details>\nCloses #7\n</details>", ["acme/widgets#7"]),
        ("`a` fixes #7 `b`", ["acme/widgets#7"]),
        ("an open ` and fixes #7", ["acme/widgets#7"]),
        ("before <!-- fixes #8 --> closes #7", ["acme/widgets#7"]),
    ],
)
def test_links_are_found(text: str, issues: list[str]) -> None:
    assert closed(text) == issues


@pytest.mark.parametrize(
    "text",
    [
        "See #7", "closing #7", "Closes issue #7", "fix(#7): x", "prefix #7", "hot-fix #7", "unfixed #7", "Closes #foo",
        "fixes #431abc", "Fixes `#7`", "`Fixes #7`", "`` a ` Fixes #7 ``", "```\nFixes #7\n```", "```assay\nsummary: Closes #7, #8\n```", "    Fixes #7",
        "> Fixes #7", "<!-- Fixes #7 -->", "text <!-- Fixes #7", "Closes:\n\n#7", "**Closes:** #7",
        "Fixes https://evil.example/acme/gears/issues/3", "Fixes https://github.com/acme/gears", "",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_link_closes_nothing(text: str) -> None:
    assert closed(text) == []


def test_a_link_keeps_the_words_that_make_it() -> None:
    assert find_closing_links("Well, Closes   #7!", HERE) == (IssueLink(HERE, 7, "Closes #7"),)


def test_an_enterprise_host_is_its_own() -> None:
    url = "Fixes https://git.acme.example/acme/gears/pull/3"
    assert find_closing_links(url, HERE, host="git.acme.example")[0].number == 3
    assert find_closing_links(url, HERE) == ()


def test_every_reference_outside_code_is_a_mention() -> None:
    text = "Fixes #1, see acme/gears#2, GH-3, https://github.com/acme/gears/issues/4 and not `#5` or a#6."
    named = [(link.repository, link.number) for link in find_mentions(text, HERE)]
    assert named == [(HERE, 1), ("acme/gears", 2), (HERE, 3), ("acme/gears", 4)]


def test_a_reference_on_another_host_is_no_mention() -> None:
    assert find_mentions("https://git.acme.example/acme/gears/pull/3", HERE) == ()


@given(st.text(alphabet=st.characters(codec="utf-8") | st.sampled_from(list("`#<!->\n 0123fixesFIXES:/"))))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    assert all(link.number >= 0 for link in find_closing_links(f"fixes #1 {text}", HERE))
