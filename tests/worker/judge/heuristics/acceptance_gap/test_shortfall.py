"""How much of a criterion a change shows."""

import pytest

from tests.worker.judge.heuristics.made import dossier_of
from worker.domain.verdict import CriterionStatus
from worker.judge.heuristics.acceptance_gap.shortfall import gaps, shortfall, unmet
from worker.judge.heuristics.acceptance_gap.shown import shown_by
from worker.judge.heuristics.change import Change

CODE = "def send(payload):\n    return retry(payload, max_tries=3)\n"
TEST = "def test_send_gives_up_after_the_last_try():\n    assert send(broken) is None\n"
AFTER = {"net/upload.py": CODE, "tests/test_upload.py": TEST}
MET: list[tuple[str, CriterionStatus]] = []


def change(
    text: str, after: dict[str, str] | None = None, before: dict[str, str] | None = None, **more: object
) -> Change:
    criteria = [{"id": "AC1", "text": text, **more}]
    return Change(dossier_of(before or {}, AFTER if after is None else after, criteria=criteria))


def marks(
    text: str, after: dict[str, str] | None = None, before: dict[str, str] | None = None
) -> list[tuple[str, CriterionStatus]]:
    return [(one.note, one.status) for one in unmet(change(text, after, before))]


@pytest.mark.parametrize(
    "text",
    [
        "Retry a payload",
        "Stakeholders desire to retry a payload",
        "`send()` is available",
        "Use `max_tries` in `net/upload.py`",
        "Extend the tests in `test_upload.py`",
        "Covered by a test: send gives up after the last try",
        "`test_send_gives_up_after_the_last_try` tests this",
        "Add it",
    ],
)
def test_what_the_change_shows_is_not_marked(text: str) -> None:
    assert marks(text) == MET


def test_a_word_that_stands_in_more_lines_than_are_looked_at_is_shown_all_the_same() -> None:
    many = "".join(f"    retry(payload, {number})\n" for number in range(150))
    assert marks("Retry a payload", {"net/upload.py": f"def send(payload):\n{many}"}) == MET


@pytest.mark.parametrize(
    ("text", "note", "status"),
    [
        (
            "Extend the tests in `tests/test_download.py`",
            "tests/test_download.py is not changed",
            CriterionStatus.MISSING,
        ),
        ("Introduce `Backoff.delayFor()`", "Backoff.delayFor() is not found in the change", CriterionStatus.MISSING),
        ("Covered by a test: resumes halted transfers", "no added test speaks of it", CriterionStatus.MISSING),
        ("Describe it in the documentation", "no documentation is changed", CriterionStatus.MISSING),
        ("Compress thumbnails lazily", "no line of the change speaks of all of it", CriterionStatus.MISSING),
        ("Retry payload, last broken", "no line of the change speaks of all of it", CriterionStatus.PARTIAL),
        ("Covered by a test: retry payload", "no added test speaks of it", CriterionStatus.PARTIAL),
    ],
)
def test_what_it_does_not_show_is_marked_with_what_is_missing(text: str, note: str, status: CriterionStatus) -> None:
    assert marks(text) == [(note, status)]


def test_a_test_is_missing_where_no_test_was_touched() -> None:
    assert marks("There is a regression test (retry payload)", {"net/upload.py": CODE}) == [
        ("no added test speaks of it", CriterionStatus.MISSING)
    ]


@pytest.mark.parametrize(
    "code",
    [
        "#[test]\nfn retries_payload() {}\n",
        "#[tokio::test]\nasync fn retries_payload() {}\n",
    ],
)
def test_rust_keeps_its_tests_in_the_code(code: str) -> None:
    assert marks("Covered by a test: retries payload", {"src/upload.rs": code}) == MET


def test_a_rust_test_may_be_known_by_the_heading_of_its_hunk() -> None:
    above = "mod tests {\n" + "".join(f"    // {n}\n" for n in range(9))
    diff = change("-", {"src/a.rs": above + "    fn retries_payload() {}\n"}, {"src/a.rs": above}).dossier.diff
    head, sep, rest = diff.partition(" @@\n")
    dossier = dossier_of({}, {}, criteria=[{"id": "AC1", "text": "Covered by a test: retries payload"}])
    moved = dossier.model_copy(update={"diff": f"{head}{sep[:-1]} mod tests {{\n{rest}"})
    assert unmet(Change(moved)) == ()


def test_a_name_in_another_file_than_the_one_that_is_asked_for_is_half_of_it() -> None:
    after = {**AFTER, "net/download.py": "x = 1\n"}
    assert marks("Use `max_tries` in `net/download.py`", after) == [
        ("max_tries is not found in the change", CriterionStatus.PARTIAL)
    ]


def test_a_name_that_was_there_before_is_half_of_it() -> None:
    far = "".join(f"filler{n} = {n}\n" for n in range(30))
    found = marks("`early` holds", {"a.py": f"early = 1\n{far}new = 1\n"}, {"a.py": f"early = 1\n{far}"})
    assert found == [("early is not found in the change", CriterionStatus.PARTIAL)]


def test_what_should_go_is_shown_by_what_went() -> None:
    before, after = {"a.py": "old_way = 1\nb = 1\n"}, {"a.py": "b = 1\n"}
    assert marks("Remove `old_way`", after, before) == MET
    assert marks("Keep `old_way`", after, before) == [("old_way is not found in the change", CriterionStatus.PARTIAL)]


@pytest.mark.parametrize("path", ["README.md", "docs/upload.html"])
def test_documentation_is_a_text_or_lies_in_its_folder(path: str) -> None:
    assert marks("Mention it in the docs", AFTER | {path: "retry\n"}) == MET


def test_the_function_around_a_change_speaks_of_it() -> None:
    diff = change("-", {"a.go": "a\nb\n"}, {"a.go": "a\n"}).dossier.diff.replace(
        " @@\n", " @@ func parseHeader(x int) {\n", 1
    )
    dossier = dossier_of({}, {}, criteria=[{"id": "AC1", "text": "`parseHeader` is changed"}])
    assert unmet(Change(dossier.model_copy(update={"diff": diff}))) == ()


def test_prose_that_was_taken_as_one_criterion_falls_short_of_nothing() -> None:
    inferred = change("Compress thumbnails lazily", inferred=True)
    assert gaps(inferred) == ()
    assert shortfall(inferred) == 0


def test_the_number_is_the_mean_of_the_gaps() -> None:
    criteria = [{"id": "AC1", "text": "Retry a payload"}, {"id": "AC2", "text": "Compress thumbnails lazily"}]
    assert shortfall(Change(dossier_of({}, AFTER, criteria=criteria))) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    "text",
    [
        "I have followed the steps of the [Contributing guide](CONTRIBUTING.md)",
        "If necessary, I have added documentation",
        "- I've read the rules of conduct",
        "My code follows the style guide",
    ],
)
def test_what_an_author_confirms_in_a_template_is_nothing_to_show(text: str) -> None:
    assert marks(text) == MET


@pytest.mark.parametrize("text", ["Implement a backoff", "The `Backoff` that I have drafted is in"])
def test_another_criterion_with_such_words_is_held_against_the_change(text: str) -> None:
    assert marks(text) != MET


def test_a_name_in_a_changed_path_is_shown() -> None:
    after = {"net_derive/tests/upload.py": TEST}
    assert marks("add `net_derive` tests: gives up after the last try", after) == MET
    assert marks("add `disk_derive` tests: gives up after the last try", after) != MET


def test_documentation_in_code_is_documentation_where_it_speaks_of_it() -> None:
    after = {"net/A.java": "/**\n * Retries a payload.\n */\nclass A {\n}\n"}
    assert marks("Describe payload in the documentation", after) == MET
    assert marks("Describe thumbnails in the documentation", after) != MET


def test_of_all_lines_only_what_is_wished_for_is_kept() -> None:
    shown = shown_by(change("Retry a `payload`"))
    assert (shown.size, shown.has_tests) == (6, True)
    assert [set(unit.words) for unit in shown.units_with("retry")] == [{"retry", "payload"}]
    assert [unit.path for unit in shown.units_named("payload")] == ["net/upload.py"] * 2
    assert shown.units_with("broken") == shown.units_named("broken") == []
    assert shown.weight("broken") < shown.weight("retry")


def test_a_line_that_stands_twice_is_two_units() -> None:
    shown = shown_by(change("Retry a payload", {"a.py": "retry(one)\nretry(one)\n"}))
    assert [unit.words for unit in shown.units_with("retry")] == [("retry",)] * 2
