"""Starts `assay` as people do, with an environment that holds nothing but what a test says.

`refused` does it in the tests' own process: only for what ends before anything is started, opened or judged.
"""

import gc
import io
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from app.cli.main import main
from app.cli.parser import CommandResult, Exit, build_parser

ASSAY = Path(sys.executable).with_name("assay")


def environment(data_dir: Path, **more: str) -> dict[str, str]:
    path = os.environ["PATH"]  # noqa: TID251 - a child needs its PATH
    return {"PATH": path, "HOME": str(data_dir), "ASSAY_DATA_DIR": str(data_dir), **more}


def run_assay(
    *arguments: str, environ: Mapping[str, str], cwd: Path | None = None, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end. *given* is its standard input."""
    return subprocess.run(
        [str(ASSAY), *arguments], env=dict(environ), cwd=cwd, input=stdin,
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip


def run_refused(
    *arguments: str, environ: Mapping[str, str], cwd: Path | None = None, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """As `assay`, for a mistake of the caller's."""
    kept = io.BytesIO(), io.BytesIO()
    told, said = (io.TextIOWrapper(one, "utf-8", write_through=True) for one in kept)
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:  # noqa: TID251 - it is put aside
            patch.delenv(name)
        for name, value in {**environ, "PYDANTIC_DISABLE_PLUGINS": "__all__"}.items():
            patch.setenv(name, value)
        patch.chdir(cwd or Path.cwd())
        for name, stream in (("stdin", io.StringIO(stdin)), ("stdout", told), ("stderr", said)):
            patch.setattr(sys, name, stream)
        try:
            code = main(arguments)
        except SystemExit as ended:  # argparse's own
            code = int(ended.code or 0)
        finally:
            gc.enable()  # `judge` turns it on once it has loaded what it needs
    assert code == Exit.USAGE, "It was not refused: something was started, in a process that goes on."
    return subprocess.CompletedProcess(arguments, code, *(one.getvalue().decode() for one in kept))


def run_command(*arguments_given: str) -> CommandResult:
    """Run one command in the tests' own process, as the command line does. Its errors pass."""
    arguments = build_parser(arguments_given[0]).parse_args(arguments_given)
    return arguments.run(arguments)
