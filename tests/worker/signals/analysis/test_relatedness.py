"""Traces of files and of the request, and the ties between them."""

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
def test_spellings_of_the_same_name_fold_to_one_value(fold: Callable[[str], object], spellings: list[str]) -> None:
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
def test_words_are_extracted_from_names_and_paths(read: Callable[[str], object], text: str, expected: object) -> None:
    assert read(text) == expected


def test_trace_holds_added_removed_and_unchanged_names() -> None:
    trace = build_trace(changed_file("a.py", "keep = 1\nold_name = 2\n", "keep = 1\ndef new_name():\n    pass\n"))
    assert {"newname", "-oldname"} <= trace.edited_names
    assert trace.defined_names == {"new_name"}
    assert trace.size == 3
    assert stem("keep") in trace.context_names
    assert trace.unchanged_words["keep"] == 1
    assert trace.unchanged_words["new_name"] == 0


def test_trace_without_whole_text_uses_context_lines() -> None:
    trace = build_trace(changed_file("a.py", "keep = 1\nb = 2\n", "keep = 1\nc = 2\n", texts=False))
    assert trace.unchanged_words["keep"] == 1


def test_request_words_include_title_issue_criteria_and_case() -> None:
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
    request = find_request_words(dossier)
    assert request.title == {stem("retry"), stem("uploads")}
    assert {"Backoff", "max_tries", "jitter", "sleeping", "send"} <= request.names


def test_trace_has_all_names_language_and_role_of_its_file() -> None:
    trace = build_trace(changed_file("tests/test_a.py", "keep = 1\n", "keep = 1\nfresh = 2\n"))
    assert {"keep", "fresh"} <= trace.known_names
    assert trace.language is Language.PYTHON
    assert trace.is_test


@pytest.mark.parametrize(("added", "expected"), [("# why\n\n", True), ("# why\nx = 2\n", False)])
def test_trace_is_only_comments_when_no_code_changed(added: str, expected: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    assert build_trace(changed_file("a.py", "keep = 1\n", f"keep = 1\n{added}")).is_only_comments is expected


FILES = {
    "net/src/retry.py": "def backoff(delay):\n    return delay * jitter_factor\n",
    "net/tests/test_retry.py": "def test_backoff():\n    assert backoff(2) == 2 * jitter_factor\n",
    "paint/shop/brush.py": "colour = palette.crimson\nstroke(colour, opacity)\n",
}
TITLE = "Add jitter to the backoff of retry"


def compute_ties(files: dict[str, str] = FILES, *, texts: bool = True, issue: str | None = None) -> dict[str, Ties]:
    change = change_of({}, files, title=TITLE, texts=texts, issue=issue)
    return {file.path: ties for file, ties in zip(change.files, find_ties(change), strict=True)}


@pytest.mark.parametrize("texts", [True, False])
@pytest.mark.parametrize(
    "tie",
    "same_folder near_folder others_here near_words near_edits counterpart title_here title_changed asked_words asked_names asked_for".split(),  # noqa: SIM905
)
def test_foreign_file_has_weaker_ties_than_related_file(tie: str, texts: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    ties = compute_ties(texts=texts)
    foreign, own = ties["paint/shop/brush.py"], ties["net/src/retry.py"]
    assert getattr(foreign, tie) < getattr(own, tie)


def test_foreign_file_has_more_edits_of_its_own_and_no_used_definition() -> None:
    ties = compute_ties()
    assert ties["paint/shop/brush.py"].edited_alone > ties["net/tests/test_retry.py"].edited_alone
    assert ties["net/src/retry.py"].used_elsewhere > 0 == ties["paint/shop/brush.py"].used_elsewhere


def test_file_named_in_another_file_ties_both() -> None:
    files = FILES | {"net/src/client.py": "retry = load()\n", "net/src/data.py": "x = 1\n"}
    ties = compute_ties(files)
    assert ties["net/src/retry.py"].path_elsewhere == 1
    assert ties["net/src/client.py"].paths_here == 1
    assert ties["paint/shop/brush.py"].path_elsewhere == ties["net/src/data.py"].paths_here == 0


def test_ties_hold_shared_language_and_file_role() -> None:
    ties = compute_ties(FILES | {"net/src/more.go": "package net\n", "NOTES": "backoff\n", "index.ts": "backoff()\n"})
    assert ties["net/src/retry.py"].same_language > ties["net/src/more.go"].same_language == 0
    assert ties["NOTES"].same_language == ties["index.ts"].asked_for == 0
    assert ties["net/src/retry.py"].asked_for == 1
    assert ties["net/tests/test_retry.py"].is_test > ties["net/src/retry.py"].is_test


def test_ties_tell_files_with_comment_changes_only() -> None:
    change = change_of({"a.py": "x = 1\n", "b.py": "y = 1\n"}, {"a.py": "# why\nx = 1\n", "b.py": "y = 2\n"})
    assert [ties.only_comments for ties in find_ties(change)] == [1, 0]


def test_longer_issue_asks_for_more() -> None:
    assert (
        compute_ties(issue="Uploads fail at once when the server is slow")["net/src/retry.py"].asked
        > compute_ties()["net/src/retry.py"].asked
    )


def test_file_order_changes_no_tie() -> None:
    dossier = dossier_of({}, FILES, title="Add jitter")
    pieces = [f"diff --git{piece}" for piece in dossier.diff.split("diff --git")[1:]]
    reversed_change = CodeChange(dossier.model_copy(update={"diff": "".join(reversed(pieces))}))
    assert find_ties(reversed_change) == tuple(reversed(find_ties(CodeChange(dossier))))


def test_binary_or_empty_change_has_no_ties() -> None:
    diff = "diff --git a/a.png b/a.png\nindex 1111111..2222222 100644\nBinary files a/a.png and b/a.png differ\n"
    dossier = dossier_of({}, {"b.py": "x = 1\n"}, title="-")
    change = CodeChange(dossier.model_copy(update={"diff": diff}))
    assert [(ties.near_words, ties.near_edits, ties.title_here, ties.asked_words) for ties in find_ties(change)] == [
        (0, 0, 0, 0)
    ]
    assert find_ties(CodeChange(dossier.model_copy(update={"diff": ""}))) == ()


def test_ties_of_very_long_lines_are_found() -> None:
    change = change_of({}, {"a.py": "a" * 1_000_000 + "\n", "b.py": "f(" * 200_000 + "\n"})
    assert len(find_ties(change)) == 2
