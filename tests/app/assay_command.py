"""Starts `assay` as people do, with an environment that holds nothing but what a test says."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ASSAY = Path(sys.executable).with_name("assay")


def environment(data_dir: Path, **more: str) -> dict[str, str]:
    path = os.environ["PATH"]  # noqa: TID251 - a child needs its PATH
    return {"PATH": path, "HOME": str(data_dir), "ASSAY_DATA_DIR": str(data_dir), **more}


def assay(
    *arguments: str, environ: Mapping[str, str], cwd: Path | None = None, given: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end. *given* is its standard input."""
    return subprocess.run(
        [str(ASSAY), *arguments], env=dict(environ), cwd=cwd, input=given,
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
