"""Runs `assay`: as a process with its own environment, or in the tests' own process."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from app.cli.parser import CommandResult, Exit, build_parser
from tests.world.product import run_in_process

ASSAY = Path(sys.executable).with_name("assay")


def environment(data_dir: Path, **more: str) -> dict[str, str]:
    """Variables of a process: those that every command needs, and *more*."""
    path = os.environ["PATH"]  # noqa: TID251 - a child needs its PATH
    return {"PATH": path, "HOME": str(data_dir), "ASSAY_DATA_DIR": str(data_dir), **more}


def run_assay(
    *arguments: str, environ: Mapping[str, str], cwd: Path | None = None, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Start one command as a process, and wait for its end."""
    return subprocess.run(
        [str(ASSAY), *arguments], env=dict(environ), cwd=cwd, input=stdin,
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip


def run_refused(
    *arguments: str, environ: Mapping[str, str], cwd: Path | None = None, stdin: str | None = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command that ends before it starts, opens or judges anything. A *stdin* of None is a closed one."""
    done = run_in_process(environ, *arguments, cwd=cwd, stdin=stdin)
    assert done.returncode == Exit.USAGE, "It was not refused: something was started, in a process that goes on."
    return done


def run_command(*command: str) -> CommandResult:
    """Run one command in the tests' own process. Its errors pass."""
    arguments = build_parser(command[0]).parse_args(command)
    return arguments.run(arguments)


def run_accepted(*command: str) -> str:
    """What a command prints that has to end well."""
    code, text = run_command(*command)
    assert code == Exit.ACCEPT
    return text
