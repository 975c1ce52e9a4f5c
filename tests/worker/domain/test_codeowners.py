"""CODEOWNERS. Invariant: the last rule that fits says who owns a file, as on GitHub."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.domain.codeowners import MOST_LINES, Owner, find_owners

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
def test_the_last_rule_that_fits_says_who_owns_a_file(path: str, owners: list[str]) -> None:
    assert [owner.name for owner in find_owners(FILE, [path])] == owners


def test_who_owns_most_of_the_files_comes_first() -> None:
    assert find_owners("*.a @zoe\n*.b @adam", ["1.a", "2.a", "3.b"]) == (Owner("zoe"), Owner("adam"))


def test_an_empty_file_owns_nothing() -> None:
    assert find_owners("", ["a.py"]) == ()


@given(st.text(alphabet="*/?[]!# @ab\\.\n\0-", max_size=200), st.text(alphabet="ab/.", max_size=30))
def test_no_text_makes_it_raise(text: str, path: str) -> None:
    find_owners(text, [path])


def test_of_a_long_list_a_few_files_are_looked_at() -> None:
    rules = "*.b @y\n" + "*a*a*a*a*a @x\n" * (MOST_LINES - 1)
    started = time.monotonic()
    assert find_owners(rules, ["a/a/a.b"] * 10_000) == (Owner("y"),)
    assert time.monotonic() - started < 10


def test_a_pattern_of_unreasonable_length_owns_nothing() -> None:
    assert find_owners("a" * 201 + " @x", ["a" * 201]) == ()
