"""CODEOWNERS: the last matching rule owns a file, as on GitHub."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.domain.codeowners import MOST_LINES, MOST_MATCHES, Owner, find_owners

FILE = """
# Everybody
*                       @acme/everybody

*.js                    @carol   # scripts
/build/logs/            @dave
docs/*                  @erin docs@example.org
apps/                   @frank
/apps/github
**/logs                 @grace
a\\ folder/             @heidi
/only/this.txt          @ivan @judy
!no.txt                 @nobody
[ab].txt                @nobody
"""


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("README.md", ["acme/everybody"]),
        ("x/y/z.js", ["carol"]),
        ("build/logs/a.txt", ["grace"]),
        ("build/b.txt", ["acme/everybody"]),
        ("docs/a.md", ["erin"]),
        ("docs/a/b.md", ["acme/everybody"]),
        ("apps/a/b.py", ["frank"]),
        ("x/apps/b.py", ["frank"]),
        ("apps/github/b.py", []),
        ("a/logs/b.txt", ["grace"]),
        ("a folder/b.txt", ["heidi"]),
        ("only/this.txt", ["ivan", "judy"]),
        ("x/only/this.txt", ["acme/everybody"]),
        ("no.txt", ["acme/everybody"]),
    ],
)
def test_last_matching_rule_owns_a_file(path: str, owners: list[str]) -> None:
    assert [owner.name for owner in find_owners(FILE, [path])] == owners


def test_owner_of_most_files_comes_first() -> None:
    assert find_owners("*.a @zoe\n*.b @adam", ["1.a", "2.a", "3.b"]) == (Owner("zoe"), Owner("adam"))


def test_empty_file_has_no_owners() -> None:
    assert find_owners("", ["a.py"]) == ()


@given(st.text(alphabet="*/?[]!# @ab\\.\n\0-", max_size=200), st.text(alphabet="ab/.", max_size=30))
def test_no_text_raises(text: str, path: str) -> None:
    find_owners(text, [path])


def test_number_of_examined_files_is_limited() -> None:
    rules = "*.b @y\n*.c @z\n" + "*a*a*a*a*a @x\n" * (MOST_LINES - 2)
    examined = MOST_MATCHES // MOST_LINES
    assert find_owners(rules, [*["a/a/a.b"] * (examined - 1), "last.c"]) == (Owner("y"), Owner("z"))
    assert find_owners(rules, [*["a/a/a.b"] * examined, "beyond.c"]) == (Owner("y"),)


def test_overlong_pattern_owns_nothing() -> None:
    assert find_owners("a" * 201 + " @x", ["a" * 201]) == ()
