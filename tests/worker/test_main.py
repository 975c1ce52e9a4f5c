"""Startup errors of `python -m worker`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

NOWHERE = "redis://127.0.0.1:1"
KEYS = "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="


def start(tmp_path: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    variables = {"PATH": os.defpath, "ASSAY_DATA_DIR": str(tmp_path), **environment}
    command = [sys.executable, "-m", "worker"]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("environment", "status", "message"),
    [
        ({"ASSAY_WORKERS": "many"}, 2, 'ASSAY_WORKERS is "many"'),
        pytest.param({"REDIS_URL": NOWHERE}, 2, "ASSAY_STORE_KEYS is not set", marks=pytest.mark.slow),
        (
            {"REDIS_URL": NOWHERE, "ASSAY_STORE_KEYS": KEYS, "ASSAY_REDIS_WAIT": "1"},
            4,
            "Redis is unavailable: Connection refused at 127.0.0.1:1. Waiting for it, at most 1 s.",
        ),
    ],
)
def test_startup_error_names_what_is_missing(
    tmp_path: Path, environment: dict[str, str], status: int, message: str
) -> None:
    done = start(tmp_path, **environment)
    assert (done.returncode, done.stdout) == (status, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
