"""What a check and the doctor say of SARIF that GitHub did not take."""

import pytest
from inline_snapshot import snapshot

from tests.worker.publishing.texts.samples import accepted, dossier
from worker.domain.check.code_scanning import UploadRefusal
from worker.publishing.texts.check_run import check_content
from worker.publishing.texts.scanning import sarif_refusal_line, sarif_refusal_phrase, with_sarif_refusal

CONTENT = check_content(accepted(), dossier())


def test_every_refusal_says_why_and_what_to_do() -> None:
    assert {one.value: sarif_refusal_phrase(one) for one in UploadRefusal} == snapshot(
        {
            "permission": "the App lacks the permission *Code scanning alerts: write* (`security_events`) here. Ask for it in the App's settings; the installation's owner approves it.",
            "not_enabled": "code scanning is not enabled for this repository (a private one needs GitHub Code Security for it). Enable it in the repository's settings.",
            "forbidden": "GitHub refused it (403). Look at the repository's settings for code scanning.",
            "not_found": "GitHub knows no code scanning here (404). Look whether this GitHub has it.",
            "not_taken": "GitHub did not take the file. Tell the operator of this Assay: its log has GitHub's words.",
            "too_large": "the file is larger than the 10 MB that GitHub takes. The verdict is on the check.",
        }
    )


@pytest.mark.parametrize("refusal", UploadRefusal)
def test_the_line_stands_below_the_verdict_and_changes_nothing_of_it(refusal: UploadRefusal) -> None:
    shown = with_sarif_refusal(CONTENT, refusal)
    assert shown.summary.startswith(CONTENT.summary)
    line = shown.summary.removeprefix(CONTENT.summary).strip()
    assert line.startswith("**SARIF was not uploaded** (`sarif: true`): ")
    assert "\n" not in line
    assert (shown.title, shown.conclusion, shown.text) == (CONTENT.title, CONTENT.conclusion, CONTENT.text)


def test_where_nothing_was_refused_nothing_is_said() -> None:
    assert with_sarif_refusal(CONTENT, None) is CONTENT


def test_a_terminal_reads_it_without_markdown() -> None:
    assert sarif_refusal_line(UploadRefusal.PERMISSION) == snapshot(
        "not uploaded when it was tried last: the App lacks the permission Code scanning alerts: write (security_events) here. Ask for it in the App's settings; the installation's owner approves it."
    )
