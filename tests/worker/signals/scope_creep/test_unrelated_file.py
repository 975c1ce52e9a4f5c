"""Files that are unrelated to the rest of their change."""

from tests.worker.signals.samples import change_of
from worker.signals.analysis.change import CodeChange
from worker.signals.scope_creep.unrelated_file import find_distances, measure_unrelatedness, unrelated_file

TITLE = "Add jitter to the backoff of upload retries"
OWN = {
    "net/upload/retry.py": "def backoff(delay):\n    return delay + jitter(delay)\n",
    "net/upload/client.py": "def upload(payload):\n    retry(backoff, payload, jitter)\n",
    "tests/net/upload/test_retry.py": "def test_backoff():\n    assert backoff(2) == 2 + jitter(2)\n",
}
FOREIGN = "".join(f"crimson_{letter} = palette.stroke(opacity_{letter})\n" for letter in "abcdefghijkl")


def test_single_file_is_never_unrelated() -> None:
    change = change_of({}, {"paint/brush.py": FOREIGN}, title=TITLE)
    assert find_distances(change) == ()
    assert measure_unrelatedness(change) == 0


def test_file_with_more_words_of_its_own_is_more_unrelated() -> None:
    own = {"net/upload/retry.py": OWN["net/upload/retry.py"]}
    far, near = FOREIGN * 3, "stroke(uploads)\nstroke(uploads)\n"
    distances = [
        measure_unrelatedness(change_of({}, own | {"paint/brush.py": text}, title=TITLE)) for text in (far, near)
    ]
    assert distances[0] > distances[1]


def test_change_of_very_many_files_has_no_unrelated_file() -> None:
    many = {f"net/part{number}.py": f"delay_{number} = jitter({number})\n" for number in range(30)}
    assert find_distances(change_of({}, many | {"paint/brush.py": FOREIGN}, title=TITLE)) == ()


def test_unrelatedness_separates_foreign_file_from_related_files() -> None:
    with_foreign = change_of({}, OWN | {"paint/brush.py": FOREIGN}, title=TITLE)
    assert 0 < measure_unrelatedness(change_of({}, OWN, title=TITLE)) < 0.1
    assert 0.2 < measure_unrelatedness(with_foreign) < 1


def test_file_with_mode_change_only_is_not_unrelated() -> None:
    dossier = change_of({}, OWN, title=TITLE).dossier
    moded = dossier.diff + "diff --git a/z.py b/z.py\nold mode 100644\nnew mode 100755\n"
    assert list(unrelated_file.findings(CodeChange(dossier.model_copy(update={"diff": moded})))) == []
