"""`python -m worker` that can't start says why, in one line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

NOWHERE = "redis://127.0.0.1:1"
KEYS = "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="


def start(tmp_path: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "worker"],
        env={"PATH": os.defpath, "ASSAY_DATA_DIR": str(tmp_path), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("environment", "status", "said"),
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
def test_what_is_missing_is_named(tmp_path: Path, environment: dict[str, str], status: int, said: str) -> None:
    done = start(tmp_path, **environment)
    assert (done.returncode, done.stdout) == (status, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
