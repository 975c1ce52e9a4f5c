"""Files that have nothing to do with the rest of their change."""

from tests.worker.signals.made import change_of
from worker.domain.verdict.verdict import Side
from worker.signals.analysis.change import CodeChange
from worker.signals.scope_creep.unrelated_file import find_distances, measure_unrelatedness, unrelated_file

TITLE = "Add jitter to the backoff of upload retries"
OWN = {
    "net/upload/retry.py": "def backoff(delay):\n    return delay + jitter(delay)\n",
    "net/upload/client.py": "def upload(payload):\n    retry(backoff, payload, jitter)\n",
    "tests/net/upload/test_retry.py": "def test_backoff():\n    assert backoff(2) == 2 + jitter(2)\n",
}
FOREIGN = "".join(f"crimson_{letter} = palette.stroke(opacity_{letter})\n" for letter in "abcdefghijkl")


def found(change: CodeChange) -> list[tuple[str | None, int | None, Side]]:
    return [(finding.path, finding.line, finding.side) for finding in unrelated_file.findings(change)]


def test_a_file_that_shares_nothing_is_named_with_its_first_added_line() -> None:
    change = change_of(
        {"paint/brush.py": "# brushes\n"}, OWN | {"paint/brush.py": "# brushes\n" + FOREIGN}, title=TITLE
    )
    assert found(change) == [("paint/brush.py", 2, Side.HEAD)]


def test_a_bare_diff_is_enough() -> None:
    change = change_of({}, OWN | {"paint/brush.py": FOREIGN}, title=TITLE, texts=False)
    assert found(change) == [("paint/brush.py", 1, Side.HEAD)]


def test_a_foreign_file_that_only_lost_lines_is_named_at_base() -> None:
    change = change_of({"paint/brush.py": FOREIGN + "# end\n"}, OWN | {"paint/brush.py": "# end\n"}, title=TITLE)
    assert found(change) == [("paint/brush.py", 1, Side.BASE)]


def test_a_foreign_file_that_was_deleted_is_named_at_base() -> None:
    assert found(change_of({"paint/brush.py": FOREIGN}, OWN, title=TITLE)) == [("paint/brush.py", 1, Side.BASE)]


def test_files_that_belong_together_are_not_named() -> None:
    assert found(change_of({}, OWN, title=TITLE)) == []


def test_a_file_that_the_issue_asks_for_is_not_named() -> None:
    change = change_of(
        {},
        OWN | {"paint/brush.py": FOREIGN},
        title=TITLE,
        issue="Upload retries, and a palette with a crimson stroke for the brush",
    )
    assert found(change) == []


def test_a_file_that_somebody_names_in_full_is_not_named_though_its_name_is_a_common_word() -> None:
    named = OWN | {"paint/get_main.py": FOREIGN}
    assert found(change_of({}, named, title=TITLE)) == [("paint/get_main.py", 1, Side.HEAD)]
    assert found(change_of({}, named, title=TITLE, issue="Upload retries; also change paint/get_main.py")) == []


def test_a_file_of_one_line_is_named_without_it_so_that_the_line_can_answer() -> None:
    change = change_of({}, OWN | {"paint/brush.py": FOREIGN.partition("\n")[0] + "\n"}, title=TITLE)
    assert found(change) == [("paint/brush.py", None, Side.HEAD)]


def test_only_code_is_named() -> None:
    assert found(change_of({}, OWN | {"paint/brush.md": FOREIGN, "dist/brush.js": FOREIGN}, title=TITLE)) == []


def test_nothing_is_said_of_files_whose_ties_were_never_measured() -> None:
    assert found(change_of({}, OWN | {"paint/brush.rb": FOREIGN}, title=TITLE)) == []


def test_one_file_is_the_whole_change() -> None:
    change = change_of({}, {"paint/brush.py": FOREIGN}, title=TITLE)
    assert find_distances(change) == ()
    assert measure_unrelatedness(change) == 0
    assert found(change) == []


def test_of_two_files_one_must_stand_farther_apart_to_be_named() -> None:
    own = {"net/upload/retry.py": OWN["net/upload/retry.py"]}
    far = change_of({}, own | {"paint/brush.py": FOREIGN * 3}, title=TITLE)
    near = {"paint/brush.py": "stroke(uploads)\nstroke(uploads)\n"}
    assert found(far) == [("paint/brush.py", 1, Side.HEAD)]
    assert found(change_of({}, OWN | near, title=TITLE)) == [("paint/brush.py", 1, Side.HEAD)]
    assert found(change_of({}, own | near, title=TITLE)) == []
    assert measure_unrelatedness(far) > measure_unrelatedness(change_of({}, own | near, title=TITLE))


def test_a_change_of_very_many_files_is_a_sweep() -> None:
    many = {f"net/part{number}.py": f"delay_{number} = jitter({number})\n" for number in range(30)}
    assert find_distances(change_of({}, many | {"paint/brush.py": FOREIGN}, title=TITLE)) == ()


def test_one_file_of_code_among_texts_stands_alone() -> None:
    texts = {"a.md": "Backoff with jitter.\n", "b.md": "Retries of uploads.\n"}
    assert found(change_of({}, texts | {"paint/brush.py": FOREIGN}, title=TITLE)) == [("paint/brush.py", 1, Side.HEAD)]


def test_the_number_tells_a_foreign_file_from_one_of_the_change() -> None:
    with_foreign = change_of({}, OWN | {"paint/brush.py": FOREIGN}, title=TITLE)
    assert 0 < measure_unrelatedness(change_of({}, OWN, title=TITLE)) < 0.1
    assert 0.2 < measure_unrelatedness(with_foreign) < 1


def test_of_many_foreign_files_the_two_farthest_are_named() -> None:
    foreign = {
        f"{name}/{name}.py": "".join(f"{name}_{letter} = {name}ish({name}{letter})\n" for letter in "abcdefghijkl")
        for name in ("crimson", "walrus", "trombone", "glacier")
    }
    assert len(found(change_of({}, OWN | foreign, title=TITLE))) == 2


def test_a_file_whose_mode_alone_changed_is_not_named() -> None:
    dossier = change_of({}, OWN, title=TITLE).dossier
    moded = dossier.diff + "diff --git a/z.py b/z.py\nold mode 100644\nnew mode 100755\n"
    assert found(CodeChange(dossier.model_copy(update={"diff": moded}))) == []
