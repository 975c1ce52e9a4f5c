"""What is left of a file, and of what was asked for, to be compared."""

import pytest

from tests.worker.signals.made import changed_file, dossier_of
from worker.signals.analysis.file_roles import Language
from worker.signals.analysis.relatedness import (
    build_trace,
    find_request_words,
    fold_name,
    path_subject,
    split_path,
    stem,
    stems_in,
    stems_of,
    subject_folders,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [("retries", "retry"), ("cached", "caches"), ("stopping", "stopped"), ("Values", "value"), ("handled", "handle")],
)
def test_forms_of_one_word_meet_in_its_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize("word", ["class", "is", "bed", "go"])
def test_a_short_word_is_left_as_it_is(word: str) -> None:
    assert stem(word) == (word if word != "class" else "clas")


@pytest.mark.parametrize("name", ["parseHTTPHeader", "parse_http_headers", "ParseHttpHeader", "PARSE_HTTP_HEADER"])
def test_a_name_is_the_same_words_in_every_spelling(name: str) -> None:
    assert stems_of(name) == ("par", "http", "header") or stems_of(name) == ("pars", "http", "header")


def test_words_of_other_alphabets_are_words() -> None:
    assert stems_in("größe = 1") == {stem("größe")} or "gr" in stems_in("größe = 1")


def test_a_name_is_folded_over_case_and_underscores() -> None:
    assert fold_name("health_Passes") == fold_name("healthPasses") == "healthpasses"


@pytest.mark.parametrize(
    "path",
    [
        "src/retryPolicy.ts",
        "tests/test_retry_policy.py",
        "RetryPolicyTest.java",
        "retry_policy/__init__.py",
        "retry_policy/mod.rs",
    ],
)
def test_a_file_and_its_test_are_about_one_subject(path: str) -> None:
    assert path_subject(path) == {stem("retry"), stem("policy")}


def test_a_file_at_the_root_is_called_after_itself() -> None:
    assert path_subject("index.ts") == frozenset()
    assert split_path("core/Retry.java") == {stem("core"), stem("retry")}


def test_tests_lie_where_their_code_lies() -> None:
    assert (
        subject_folders("src/main/java/org/acme/A.java")
        == subject_folders("src/test/java/org/acme/ATest.java")
        == ("org", "acme")
    )


def test_a_trace_holds_what_came_what_went_and_what_stayed() -> None:
    trace = build_trace(changed_file("a.py", "keep = 1\nold_name = 2\n", "keep = 1\ndef new_name():\n    pass\n"))
    assert {"newname", "-oldname"} <= trace.edited_names
    assert trace.defined_names == {"new_name"}
    assert trace.size == 3
    assert stem("keep") in trace.context_names
    assert trace.unchanged_words["keep"] == 1
    assert trace.unchanged_words["new_name"] == 0


def test_without_the_whole_text_the_lines_around_are_the_background() -> None:
    trace = build_trace(changed_file("a.py", "keep = 1\nb = 2\n", "keep = 1\nc = 2\n", texts=False))
    assert trace.unchanged_words["keep"] == 1


def test_what_was_asked_is_all_that_was_said() -> None:
    dossier = dossier_of(
        {},
        {"a.py": "a\n"},
        title="Retry uploads",
        issue="Backoff",
        criteria=[{"id": "AC1", "text": "Honour `max_tries`"}],
        case={
            "summary": "jitter",
            "work_arounds": ["sleeping"],
            "ac_coverage": [{"criterion": "AC1", "addressed_by": "upload.py:send"}],
        },
    )
    asked = find_request_words(dossier)
    assert asked.title == {stem("retry"), stem("uploads")}
    assert {"Backoff", "max_tries", "jitter", "sleeping", "send"} <= asked.names


def test_a_trace_knows_every_name_of_the_file_its_language_and_its_use() -> None:
    trace = build_trace(changed_file("tests/test_a.py", "keep = 1\n", "keep = 1\nfresh = 2\n"))
    assert {"keep", "fresh"} <= trace.known_names
    assert trace.language is Language.PYTHON
    assert trace.is_test


@pytest.mark.parametrize(("added", "only"), [("# why\n\n", True), ("# why\nx = 2\n", False)])
def test_a_trace_tells_whether_nothing_but_comments_was_changed(added: str, only: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    assert build_trace(changed_file("a.py", "keep = 1\n", f"keep = 1\n{added}")).is_only_comments is only
