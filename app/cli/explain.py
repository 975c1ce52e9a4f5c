"""`assay explain`: what a signal does, why that matters, an example, and how often it was wrong."""

import argparse

from app.cli.exit_codes import CommandResult, Exit
from app.cli.terminal import terminal_page
from worker.errors import InputError
from worker.judge.rubric import load_rubric
from worker.signals.explanation import explain_signal
from worker.signals.registry import SIGNALS


def explain(arguments: argparse.Namespace) -> CommandResult:
    """Explain one signal. Raises InputError for a name that no signal has."""
    signal = next((signal for signal in SIGNALS if signal.name == arguments.signal), None)
    if signal is None:
        raise InputError(f'"{arguments.signal}" is no signal. All of them: docs/signals.md.')
    return CommandResult(Exit.ACCEPT, explain_signal(signal, load_rubric().signals, terminal_page().width))
