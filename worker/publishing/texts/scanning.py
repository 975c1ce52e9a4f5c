"""What a check and `assay doctor` say where a repository wants SARIF uploaded and GitHub did not take it.

Does not ask GitHub. Invariant: every refusal is told with what to do, and never in place of the verdict.
"""

from typing import assert_never

from worker.domain.check.check_run import BODY_BYTES, CheckContent
from worker.domain.check.code_scanning import Refusal
from worker.domain.value import replace
from worker.publishing.texts.markdown import blocks, joined


def unscanned(refusal: Refusal) -> str:
    """Why, and what to do: half a sentence, and a whole one."""
    match refusal:
        case Refusal.PERMISSION:
            return (
                "the App lacks the permission *Code scanning alerts: write* (`security_events`) here. Ask for it in the App's settings; the "
                "installation's owner approves it."
            )
        case Refusal.NOT_ENABLED:
            return (
                "code scanning is not enabled for this repository (a private one needs GitHub Code Security for it). Enable it "
                "in the repository's settings."
            )
        case Refusal.FORBIDDEN:
            return "GitHub refused it (403). Look at the repository's settings for code scanning."
        case Refusal.NOT_FOUND:
            return "GitHub knows no code scanning here (404). Look whether this GitHub has it."
        case Refusal.NOT_TAKEN:
            return "GitHub did not take the file. Tell the operator of this Assay: its log has GitHub's words."
        case Refusal.TOO_LARGE:
            return "the file is larger than the 10 MB that GitHub takes. The verdict is on the check."
        case _:
            assert_never(refusal)


def refused_words(refusal: Refusal) -> str:
    """The same for a terminal."""
    return f"not uploaded when it was tried last: {unscanned(refusal).replace('*', '').replace('`', '')}"


def with_unscanned(content: CheckContent, refusal: Refusal | None) -> CheckContent:
    """A verdict's check that says what became of the SARIF before this one; None: nothing stood in its way."""
    if refusal is None:
        return content
    line = f"**SARIF was not uploaded** (`sarif: true`): {unscanned(refusal)} That was when it was tried last."
    return replace(content, summary=joined([*blocks(content.summary), line], BODY_BYTES))
