"""The terms of criteria."""

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
def test_criterion_paths_are_file_names_and_not_urls(text: str, paths: tuple[str, ...]) -> None:
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
def test_criterion_names_are_quoted_or_spelled_like_code(text: str, names: list[tuple[str, ...]]) -> None:
    assert [name.parts for name in terms_of(text).names] == names


def test_words_that_introduce_a_request_are_left_out() -> None:
    assert terms_of("Covered by a test: users can retry failed uploads").words == (
        stem("retry"),
        stem("failed"),
        stem("uploads"),
    )


def test_criterion_may_ask_for_tests_documentation_or_removal() -> None:
    assert terms_of("There is a regression test (retry)").is_about_tests
    assert terms_of("Describe it in the README").is_about_documentation
    assert terms_of("Remove `retry`").is_removal
    plain = terms_of("Retry `test_uploads`")
    assert (plain.is_about_tests, plain.is_about_documentation, plain.is_removal) == (False, False, False)


def test_very_long_criterion_is_cut() -> None:
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
def test_option_with_example_value_names_the_option(text: str, parts: tuple[str, ...]) -> None:
    (name,) = terms_of(text).names
    assert name.parts == parts


def test_prefix_of_pattern_is_not_a_name() -> None:
    assert terms_of("tests: app_name_in_[short|long]_help").names == ()
