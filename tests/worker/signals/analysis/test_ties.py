"""What ties a file to its change."""

import pytest

from tests.worker.signals.made import change_of, dossier_of
from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.ties import Ties, find_ties

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
    known = ties(FILES | {"net/src/more.go": "package net\n", "NOTES": "backoff\n"})
    assert known["net/src/retry.py"].same_language > known["net/src/more.go"].same_language == 0
    assert known["NOTES"].same_language == 0
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
