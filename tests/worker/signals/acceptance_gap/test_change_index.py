"""Criteria, taken apart, and the units of a change that hold their words."""

import pytest

from worker.domain.dossier import Criterion
from worker.signals.acceptance_gap.change_index import CriterionTerms, parse_criterion
from worker.signals.analysis.relatedness import stem


def terms_of(text: str) -> CriterionTerms:
    return parse_criterion(Criterion(id="AC1", text=text))


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("Extend the tests in `tests/test_upload.py`", ("tests/test_upload.py",)),
        ("Use `retry` in src/net/upload.go, please", ("src/net/upload.go",)),
        ("`CHANGELOG.md` has an entry.", ("CHANGELOG.md",)),
        ("See ./a/b.ts.", ("a/b.ts",)),
        ("Serve /static/hello.html", ()),
        ("Move it outside of try/catch", ()),
        ("As in https://example.org/a/b.py it is", ()),
        ("Use node.js 20.1", ("node.js",)),
    ],
)
def test_paths_are_what_ends_like_a_file_and_is_no_address(text: str, paths: tuple[str, ...]) -> None:
    assert terms_of(text).paths == paths


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Add `Upload.retryAll()`", [("retryall",)]),
        ("`max_tries = 3` is read", [("maxtries",)]),
        ("Accept --dry-run", [("dry", "run")]),
        ("parseHeader copes with max_tries", [("parseheader",), ("maxtries",)]),
        ("Add `+`", []),
        ("Retry uploads", []),
    ],
)
def test_names_are_what_is_quoted_or_spelled_like_code(text: str, names: list[tuple[str, ...]]) -> None:
    assert [name.parts for name in terms_of(text).names] == names


def test_words_of_the_request_are_no_words_of_what_is_wanted() -> None:
    assert terms_of("Covered by a test: users can retry failed uploads").words == (
        stem("retry"),
        stem("failed"),
        stem("uploads"),
    )


def test_a_criterion_may_want_tests_documentation_or_something_gone() -> None:
    assert terms_of("There is a regression test (retry)").is_about_tests
    assert terms_of("Describe it in the README").is_about_documentation
    assert terms_of("Remove `retry`").is_removal
    plain = terms_of("Retry `test_uploads`")
    assert (plain.is_about_tests, plain.is_about_documentation, plain.is_removal) == (False, False, False)


def test_an_endless_criterion_is_cut() -> None:
    assert len(terms_of("alpha_beta " * 10_000 + "a/" * 10_000).words) <= 24


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('`retries="many"` is a raw method', ("retries",)),
        ("`upload.retries=3` works", ("retries",)),
        ("`left == right` holds", ("left", "right")),
        ("`retry()` is there", ("retry",)),
    ],
)
def test_of_an_option_with_an_example_the_option_is_wanted(text: str, parts: tuple[str, ...]) -> None:
    (name,) = terms_of(text).names
    assert name.parts == parts


def test_the_beginning_of_a_pattern_is_no_name() -> None:
    assert terms_of("tests: app_name_in_[short|long]_help").names == ()
