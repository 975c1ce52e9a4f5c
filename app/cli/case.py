"""`assay case`: draft the author's case for the checked-out branch, or check one as a judging would."""

import argparse
from typing import Final

from app.cli.judge import read_checkout_options
from app.cli.parser import CommandResult, Exit
from app.cli.terminal import read_text, terminal_page
from worker.domain.dossier import Dossier
from worker.dossier.assemble import complete_dossier
from worker.dossier.case import CaseError, read_block, read_case_file
from worker.dossier.markup import case_fence
from worker.dossier.tree_sitter import sandboxed_parsing
from worker.errors import InputError
from worker.judge.checks.evidence import check_case, draft_claims
from worker.process import SystemClock
from worker.publishing.texts.cli_reports import check_report, draft, parse_error_report
from worker.wiring.cli import checkout_source

NO_CASE: Final = (
    "holds no case: expected a fenced `assay` block, or the YAML or JSON of one. `assay case new` drafts one."
)


def case(arguments: argparse.Namespace) -> CommandResult:
    """Draft a case, or check one."""
    if arguments.answer == "new":
        dossier = _dossier(arguments, None)
        with sandboxed_parsing():
            return CommandResult(Exit.ACCEPT, draft(dossier.pull_request.title, draft_claims(dossier)))
    return check(arguments)


def check(arguments: argparse.Namespace) -> CommandResult:
    """Check the case in a file, or the one in the description. Exit code 2: it has problems."""
    if arguments.file == arguments.issue == "-":
        raise InputError("FILE and --issue can't both read standard input. Name a file for one of them.")
    text = read_text(arguments.file, "assay case check")
    description = "--body" if arguments.body else "the last commit's message"
    name = "standard input" if arguments.file == "-" else arguments.file or description
    dossier = _dossier(arguments, None) if text is None else None
    text = dossier.pull_request.body if dossier else text or ""
    fence = case_fence(text)
    if fence is None and (dossier or read_case_file(text) is None):
        raise InputError(f"{name} {NO_CASE}")
    reading = read_block(fence.text if fence else text)
    if isinstance(reading.case, CaseError):
        before = fence.start + 1 if fence else 0
        line = None if reading.case.line is None else before + reading.case.line
        return CommandResult(Exit.USAGE, parse_error_report(name, line, reading.case.message, terminal_page()))
    with sandboxed_parsing():
        checked = check_case(dossier or _dossier(arguments, text), reading.case, reading.unread)
    return CommandResult(
        Exit.USAGE if checked.problem_count else Exit.ACCEPT, check_report(name, checked, terminal_page())
    )


def _dossier(arguments: argparse.Namespace, case_text: str | None) -> Dossier:
    """The dossier of the branch and the options, with the files that the case cites."""
    source = checkout_source(*read_checkout_options(arguments, case_text))
    return complete_dossier(source.dossier(source.request(SystemClock().now())))
