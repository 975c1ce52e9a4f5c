"""Installs the JavaScript packages of the fake GitHub: `python tests/world/install.py`."""

import hashlib
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # also runs as a script

from tests.world.node import GITHUB, environment, npm

LOCK = GITHUB / "package-lock.json"
STAMP = GITHUB / "node_modules" / ".installed"


def is_installed() -> bool:
    return STAMP.is_file() and STAMP.read_text(encoding="ascii") == _wanted()


def install() -> None:
    if is_installed():
        return
    command = [*npm(), "ci", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(command, cwd=GITHUB, env=environment(), check=True)
    STAMP.write_text(_wanted(), encoding="ascii")


def _wanted() -> str:
    return hashlib.sha256(LOCK.read_bytes()).hexdigest()


if __name__ == "__main__":
    install()
