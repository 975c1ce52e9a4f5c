"""The traces of files and of the request, and the ties between them."""

from collections.abc import Callable

import pytest

from tests.worker.signals.samples import change_of, changed_file, dossier_of
from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.file_roles import Language
from worker.signals.analysis.relatedness import (
    Ties,
    build_trace,
    find_request_words,
    find_ties,
    fold_name,
    path_subject,
    split_path,
    stem,
    stems_in,
    stems_of,
    subject_folders,
)


@pytest.mark.parametrize(
    ("fold", "spellings"),
    [
        (stem, ["retries", "retry"]),
        (stem, ["cached", "caches"]),
        (stem, ["stopping", "stopped"]),
        (stem, ["Values", "value"]),
        (stem, ["handled", "handle"]),
        (stems_of, ["parseHTTPHeader", "parse_http_headers", "ParseHttpHeader", "PARSE_HTTP_HEADER"]),
        (fold_name, ["health_Passes", "healthPasses", "HEALTHPASSES"]),
        (
            path_subject,
            ["src/retryPolicy.ts", "tests/test_retry_policy.py", "RetryPolicyTest.java", "retry_policy/__init__.py"],
        ),
        (path_subject, ["retryPolicy.ts", "retry_policy/mod.rs"]),
        (subject_folders, ["src/main/java/org/acme/A.java", "src/test/java/org/acme/ATest.java", "org/acme/B.java"]),
    ],
)
def test_all_spellings_of_one_thing_are_the_same(fold: Callable[[str], object], spellings: list[str]) -> None:
    assert len(set(map(fold, spellings))) == 1


@pytest.mark.parametrize(
    ("read", "text", "expected"),
    [
        (stem, "class", "clas"),
        (stem, "is", "is"),
        (stem, "bed", "bed"),
        (stem, "go", "go"),
        (stems_of, "parse_http_headers", ("pars", "http", "header")),
        (stems_in, "größe = 1", {"gr", "öß"}),
        (fold_name, "health_Passes", "healthpasses"),
        (path_subject, "src/retryPolicy.ts", {stem("retry"), stem("policy")}),
        (path_subject, "index.ts", set[str]()),
        (split_path, "core/Retry.java", {"cor", "retry"}),
        (subject_folders, "src/main/java/org/acme/A.java", ("org", "acme")),
    ],
)
def test_words_are_read_from_names_and_paths(read: Callable[[str], object], text: str, expected: object) -> None:
    assert read(text) == expected


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


FILES = {
    "net/src/retry.py": "def backoff(delay):\n    return delay * jitter_factor\n",
    "net/tests/test_retry.py": "def test_backoff():\n    assert backoff(2) == 2 * jitter_factor\n",
    "paint/shop/brush.py": "colour = palette.crimson\nstroke(colour, opacity)\n",
}
TITLE = "Add jitter to the backoff of retry"


def ties(files: dict[str, str] = FILES, *, texts: bool = True, issue: str | None = None) -> dict[str, Ties]:
    change = change_of({}, files, title=TITLE, texts=texts, issue=issue)
    return {file.path: ties for file, ties in zip(change.files, find_ties(change), strict=True)}


@pytest.mark.parametrize("texts", [True, False])
@pytest.mark.parametrize(
    "tie",
    [
        "same_folder",
        "near_folder",
        "others_here",
        "near_words",
        "near_edits",
        "counterpart",
        "title_here",
        "title_changed",
        "asked_words",
        "asked_names",
        "asked_for",
    ],
)
def test_a_foreign_file_has_fewer_ties_of_every_kind(tie: str, texts: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    known = ties(texts=texts)
    foreign, own = known["paint/shop/brush.py"], known["net/src/retry.py"]
    assert getattr(foreign, tie) < getattr(own, tie)


def test_a_foreign_file_has_more_of_its_own() -> None:
    known = ties()
    assert known["paint/shop/brush.py"].edited_alone > known["net/tests/test_retry.py"].edited_alone


def test_a_definition_that_others_use_is_a_tie() -> None:
    known = ties()
    assert known["net/src/retry.py"].used_elsewhere > 0 == known["paint/shop/brush.py"].used_elsewhere


def test_a_file_whose_name_others_speak_of_is_tied_and_so_are_they() -> None:
    speaking = FILES | {"net/src/client.py": "retry = load()\n", "net/src/data.py": "x = 1\n"}
    known = ties(speaking)
    assert known["net/src/retry.py"].path_elsewhere == 1
    assert known["net/src/client.py"].paths_here == 1
    assert known["paint/shop/brush.py"].path_elsewhere == known["net/src/data.py"].paths_here == 0


def test_what_a_file_is_written_in_and_for_is_no_tie_but_counts() -> None:
    known = ties(FILES | {"net/src/more.go": "package net\n", "NOTES": "backoff\n", "index.ts": "backoff()\n"})
    assert known["net/src/retry.py"].same_language > known["net/src/more.go"].same_language == 0
    assert known["NOTES"].same_language == known["index.ts"].asked_for == 0
    assert known["net/src/retry.py"].asked_for == 1
    assert known["net/tests/test_retry.py"].is_test > known["net/src/retry.py"].is_test


def test_a_file_of_which_comments_changed_is_told() -> None:
    change = change_of({"a.py": "x = 1\n", "b.py": "y = 1\n"}, {"a.py": "# why\nx = 1\n", "b.py": "y = 2\n"})
    assert [one.only_comments for one in find_ties(change)] == [1, 0]


def test_more_said_is_more_asked() -> None:
    assert (
        ties(issue="Uploads fail at once when the server is slow")["net/src/retry.py"].asked
        > ties()["net/src/retry.py"].asked
    )


def test_the_order_of_the_files_changes_no_tie() -> None:
    dossier = dossier_of({}, FILES, title="Add jitter")
    pieces = [f"diff --git{piece}" for piece in dossier.diff.split("diff --git")[1:]]
    turned = CodeChange(dossier.model_copy(update={"diff": "".join(reversed(pieces))}))
    assert find_ties(turned) == tuple(reversed(find_ties(CodeChange(dossier))))


def test_a_binary_or_an_empty_change_has_no_ties() -> None:
    diff = "diff --git a/a.png b/a.png\nindex 1111111..2222222 100644\nBinary files a/a.png and b/a.png differ\n"
    dossier = dossier_of({}, {"b.py": "x = 1\n"}, title="-")
    change = CodeChange(dossier.model_copy(update={"diff": diff}))
    assert [(one.near_words, one.near_edits, one.title_here, one.asked_words) for one in find_ties(change)] == [
        (0, 0, 0, 0)
    ]
    assert find_ties(CodeChange(dossier.model_copy(update={"diff": ""}))) == ()


def test_one_long_line_is_no_work() -> None:
    change = change_of({}, {"a.py": "a" * 1_000_000 + "\n", "b.py": "f(" * 200_000 + "\n"})
    assert len(find_ties(change)) == 2
