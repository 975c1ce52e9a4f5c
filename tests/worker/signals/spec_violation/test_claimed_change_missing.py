"""What an author says of the change, held against the change."""

import pytest

from tests.worker.signals.made import diff_of, plain_dossier
from tests.worker.signals.spec_violation.ruled import found
from worker.signals.analysis.change import CodeChange
from worker.signals.spec_violation.claimed_change_missing import claimed_change_missing

MISSING = "claimed_change_missing"
TEXT = "import os\n\n\ndef load(path):\n    return read(path)\n" + "x = 1\n" * 20 + "last = load(a, b)\n"


def told(change: CodeChange) -> list[str]:
    return [signal for signal, _, _ in found(change)]


def change(
    *places: str, evidence: str | None = None, body: str = "", summary: str = "s", absent: str = ""
) -> CodeChange:
    claims = [{"criterion": "AC1", "addressed_by": place, "evidence": evidence} for place in places]
    diff = diff_of({"src/a.py": "old\n", "src/gone.py": "old\n"}, {"src/a.py": TEXT})
    files = [{"path": "src/a.py", "text": TEXT}, *([{"path": absent, "exists": False}] if absent else [])]
    case = {"summary": summary, "ac_coverage": claims}
    dossier = plain_dossier(diff, files=files, case=case)
    pull = dossier.pull_request.model_copy(update={"body": body})
    return CodeChange(dossier.model_copy(update={"pull_request": pull}))


@pytest.mark.parametrize(
    "words",
    [
        "I changed src/b.py so that it loads.",
        "I've also updated the file `lib/b.go`.",
        "We have refactored lib/deep/b.rs",
        "- Updated `src/b.py`",
        "* [x] Rewrote src/b.py: it is faster",
        "- Update CHANGELOG.md",
        "This PR updates `README.md`",
        "I added an entry to CHANGELOG.md",
        "- Adds tests",
        "- Add unit tests for the loader",
        "I have added a regression test.",
        "This change includes new test cases",
    ],
)
def test_a_file_that_is_said_to_be_changed_and_is_not_is_told(words: str) -> None:
    assert told(change(body=f"Hello\n\n{words}\n")) == [MISSING]
    assert told(change(summary=words.removeprefix("- "))) in ([MISSING], [])


def test_tests_that_are_said_to_be_added_may_stand_where_code_does_not_know_them() -> None:
    diff = diff_of({}, {"src/a.rs": "#[test]\nfn loads() {}\n"})
    dossier = plain_dossier(diff)
    pull = dossier.pull_request.model_copy(update={"body": "- Adds tests"})
    assert list(claimed_change_missing.findings(CodeChange(dossier.model_copy(update={"pull_request": pull})))) == []


@pytest.mark.parametrize(
    "words",
    [
        "I changed src/a.py.",
        "I moved and updated ./other/a.py.",
        "I updated src/gone.py",
        "I updated src/b.py in an earlier pull request.",
        "Somebody updated src/b.py",
        "> I changed src/b.py",
        "```\nI changed src/b.py\n```",
        "<!-- I changed src/b.py -->",
        "I changed b.py",
        "I changed src/b.py/c",
        "I did not change src/b.py",
        "- [ ] Update CHANGELOG.md",
        "- No tests added",
        "- Add tests in a follow-up",
        "I added test data",
        "Please add tests",
    ],
)
def test_what_is_changed_or_not_said_of_this_change_is_nothing(words: str) -> None:
    assert told(change(body=f"{words}\n")) == []
