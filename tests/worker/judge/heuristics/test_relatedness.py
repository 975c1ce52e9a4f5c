"""What ties a file to its change."""

import pytest

from tests.worker.judge.heuristics.made import change_of, changed_file, dossier_of
from worker.judge.heuristics.change import Change
from worker.judge.heuristics.relatedness import (
    Ties,
    asked_of,
    folded,
    place_of,
    stem,
    stems_in,
    stems_of,
    subject_of,
    ties_of,
    trace_of,
    words_of_path,
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
    assert folded("health_Passes") == folded("healthPasses") == "healthpasses"


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
    assert subject_of(path) == {stem("retry"), stem("policy")}


def test_a_file_at_the_root_is_called_after_itself() -> None:
    assert subject_of("index.ts") == frozenset()
    assert words_of_path("core/Retry.java") == {stem("core"), stem("retry")}


def test_tests_lie_where_their_code_lies() -> None:
    assert place_of("src/main/java/org/acme/A.java") == place_of("src/test/java/org/acme/ATest.java") == ("org", "acme")


def test_a_trace_holds_what_came_what_went_and_what_stayed() -> None:
    trace = trace_of(changed_file("a.py", "keep = 1\nold_name = 2\n", "keep = 1\ndef new_name():\n    pass\n"))
    assert {"newname", "-oldname"} <= trace.edited
    assert trace.defined == {"new_name"}
    assert trace.size == 3
    assert stem("keep") in trace.around
    assert trace.unchanged["keep"] == 1
    assert trace.unchanged["new_name"] == 0


def test_without_the_whole_text_the_lines_around_are_the_background() -> None:
    trace = trace_of(changed_file("a.py", "keep = 1\nb = 2\n", "keep = 1\nc = 2\n", texts=False))
    assert trace.unchanged["keep"] == 1


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
    asked = asked_of(dossier)
    assert asked.title == {stem("retry"), stem("uploads")}
    assert {"Backoff", "max_tries", "jitter", "sleeping", "send"} <= asked.names


FILES = {
    "src/retry.py": "def backoff(delay):\n    return delay * jitter_factor\n",
    "tests/test_retry.py": "def test_backoff():\n    assert backoff(2) == 2 * jitter_factor\n",
    "src/paint/brush.py": "colour = palette.crimson\nstroke(colour, opacity)\n",
}


def ties(*, texts: bool = True) -> dict[str, Ties]:
    change = change_of({}, FILES, title="Add jitter to the backoff of retries", texts=texts)
    return {file.path: ties for file, ties in zip(change.files, ties_of(change), strict=True)}


@pytest.mark.parametrize("texts", [True, False])
@pytest.mark.parametrize(
    "tie",
    [
        "shared_words",
        "shared_edits",
        "same_folder",
        "asked_names",
        "subject_asked",
        "title_words",
        "asked_words",
        "shared_subject",
        "shared_path",
    ],
)
def test_a_foreign_file_has_fewer_ties_of_every_kind(tie: str, texts: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    known = ties(texts=texts)
    foreign, own = known["src/paint/brush.py"], known["src/retry.py"]
    assert getattr(foreign, tie) < getattr(own, tie)


def test_a_definition_that_others_use_is_a_tie() -> None:
    known = ties()
    assert known["src/retry.py"].used_elsewhere > 0 == known["src/paint/brush.py"].used_elsewhere


def test_the_order_of_the_files_changes_no_tie() -> None:
    dossier = dossier_of({}, FILES, title="Add jitter")
    pieces = [f"diff --git{piece}" for piece in dossier.diff.split("diff --git")[1:]]
    turned = Change(dossier.model_copy(update={"diff": "".join(reversed(pieces))}))
    assert ties_of(turned) == tuple(reversed(ties_of(Change(dossier))))


def test_a_binary_or_an_empty_change_has_no_ties() -> None:
    diff = "diff --git a/a.png b/a.png\nindex 1111111..2222222 100644\nBinary files a/a.png and b/a.png differ\n"
    dossier = dossier_of({}, {"b.py": "x = 1\n"}, title="-")
    change = Change(dossier.model_copy(update={"diff": diff}))
    assert [one.shared_words for one in ties_of(change)] == [0.0]
    assert ties_of(Change(dossier.model_copy(update={"diff": ""}))) == ()


def test_one_long_line_is_no_work() -> None:
    change = change_of({}, {"a.py": "a" * 1_000_000 + "\n", "b.py": "f(" * 200_000 + "\n"})
    assert len(ties_of(change)) == 2
