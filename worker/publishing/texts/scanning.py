"""What a check and `assay doctor` say where a repository wants SARIF uploaded and GitHub did not take it.

Does not ask GitHub. Invariant: every refusal is told with what to do, and never in place of the verdict.
"""

from typing import assert_never

from worker.domain.check.check_run import BODY_BYTES, CheckContent
from worker.domain.check.code_scanning import UploadRefusal
from worker.domain.value import replace
from worker.publishing.texts.markdown import join_blocks, split_blocks


def sarif_refusal_phrase(refusal: UploadRefusal) -> str:
    """Why, and what to do: half a sentence, and a whole one."""
    match refusal:
        case UploadRefusal.PERMISSION:
            return (
                "the App lacks the permission *Code scanning alerts: write* (`security_events`) here. Ask for it in the App's settings; the "
                "installation's owner approves it."
            )
        case UploadRefusal.NOT_ENABLED:
            return (
                "code scanning is not enabled for this repository (a private one needs GitHub Code Security for it). Enable it "
                "in the repository's settings."
            )
        case UploadRefusal.FORBIDDEN:
            return "GitHub refused it (403). Look at the repository's settings for code scanning."
        case UploadRefusal.NOT_FOUND:
            return "GitHub knows no code scanning here (404). Look whether this GitHub has it."
        case UploadRefusal.NOT_TAKEN:
            return "GitHub did not take the file. Tell the operator of this Assay: its log has GitHub's words."
        case UploadRefusal.TOO_LARGE:
            return "the file is larger than the 10 MB that GitHub takes. The verdict is on the check."
        case _:
            assert_never(refusal)


def sarif_refusal_line(refusal: UploadRefusal) -> str:
    """The same for a terminal."""
    return f"not uploaded when it was tried last: {sarif_refusal_phrase(refusal).replace('*', '').replace('`', '')}"


def with_sarif_refusal(content: CheckContent, refusal: UploadRefusal | None) -> CheckContent:
    """A verdict's check that says what became of the SARIF before this one; None: nothing stood in its way."""
    if refusal is None:
        return content
    line = (
        f"**SARIF was not uploaded** (`sarif: true`): {sarif_refusal_phrase(refusal)} That was when it was tried last."
    )
    return replace(content, summary=join_blocks([*split_blocks(content.summary), line], BODY_BYTES))
