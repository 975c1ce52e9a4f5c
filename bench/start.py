"""How long a command takes to answer, as a ratio against what it can't avoid, measured in the same run.

    .venv/bin/python bench/start.py [runs]

Prints, for `assay judge --tier heuristic` on a ready dossier (a server is running) against a program that imports the
packages which that loads (tree-sitter with Python's grammar, PyYAML, pydantic, AES-GCM, zstd) and makes one model, for
pydantic loads a part of itself only then, and for `assay --help` against a bare argparse program: the medians of wall
time, and the least CPU time, which a busy machine changes less. Refuses a baseline that imports what `judge` does not.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

BIN = Path(sys.executable).parent
ZSTD = "compression" if sys.version_info >= (3, 14) else "backports"
IMPORTS = f"""
import tree_sitter, tree_sitter_python, yaml
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic import BaseModel
from {ZSTD} import zstd
class Bare(BaseModel): x: int
Bare(x=1)
"""
BASELINE = (
    "tree_sitter",
    "tree_sitter_python",
    "yaml",
    "cryptography.hazmat.primitives.ciphers.aead",
    "pydantic",
    f"{ZSTD}.zstd",
)
"""What IMPORTS imports."""

ARGPARSE = "import argparse; p = argparse.ArgumentParser(); p.add_argument('x', nargs='?'); p.parse_args(['--help'])"


@dataclass(frozen=True)
class Run:
    """Wall and CPU time in ms, and the peak of resident memory in MB."""

    wall_ms: float
    cpu_ms: float
    peak_mb: float


def measured(command: list[str], environ: dict[str, str]) -> Run:
    started = time.perf_counter()
    with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
    scale = 1024 if sys.platform == "linux" else 1024 * 1024
    wall = time.perf_counter() - started
    return Run(wall * 1000, (usage.ru_utime + usage.ru_stime) * 1000, usage.ru_maxrss / scale)


def check_baseline(judge: list[str], environ: dict[str, str]) -> None:
    """Whether judging loads all that the baseline imports: else the ratio would flatter us."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *judge], env=environ, check=False, capture_output=True, text=True
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    parts = {f"{name}." for name in loaded}  # a package that importlib is asked for is listed by its parts alone
    idle = [name for name in BASELINE if not any(part.startswith(f"{name}.") for part in parts)]
    if idle:
        sys.exit(f"The baseline imports what `assay judge` does not load: {', '.join(idle)}")


def compared(name: str, command: list[str], baseline: list[str], environ: dict[str, str], runs: int) -> None:
    """Alternate the two, so that a busy moment hits both."""
    for one in (command, baseline):
        measured(one, environ)
    pairs = [(measured(command, environ), measured(baseline, environ)) for _ in range(runs)]
    ours = statistics.median(one.wall_ms for one, _ in pairs)
    bare = statistics.median(one.wall_ms for _, one in pairs)
    peaks = [max(one.peak_mb for one in side) for side in zip(*pairs, strict=True)]
    least, least_bare = (min(one.cpu_ms for one in side) for side in zip(*pairs, strict=True))
    print(
        f"{name}: {ours:.0f} ms against {bare:.0f} ms bare: {ours / bare:.2f}x"
        f" (CPU {least:.0f} against {least_bare:.0f}: {least / least_bare:.2f}x;"
        f" peak {peaks[0]:.0f} MB against {peaks[1]:.0f} MB)"
    )


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory(prefix="assay-start-") as folder:
        environ = {"PATH": os.environ["PATH"], "HOME": folder, "ASSAY_DATA_DIR": f"{folder}/state"}  # noqa: TID251 - a child's
        dossier = f"{folder}/dossier.json"
        example = [str(BIN / "assay"), "judge", "--example", "--save-dossier", dossier]
        subprocess.run(example, env=environ, check=False, stdout=subprocess.DEVNULL)
        judge = [str(BIN / "assay"), "judge", "--dossier", dossier, "--tier", "heuristic"]
        check_baseline(judge, environ)
        compared("judge, server started and stopped", judge, [sys.executable, "-c", IMPORTS], environ, runs)
        with running_server(environ):
            compared("judge, server running", judge, [sys.executable, "-c", IMPORTS], environ, runs)
        compared("--help", [str(BIN / "assay"), "--help"], [sys.executable, "-c", ARGPARSE], environ, runs)


class running_server:  # noqa: N801 - used as a with statement
    """The embedded server, kept open by another process."""

    HOLD = (
        "from worker.settings import load_settings; from worker.adapters.redis.store import open_store; import sys\n"
        "with open_store(load_settings()): print('open', flush=True); sys.stdin.read()"
    )

    def __init__(self, environ: dict[str, str]) -> None:
        self._environ = environ

    def __enter__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", self.HOLD],
            env=self._environ,
            cwd=Path(__file__).parent.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"open\n"

    def __exit__(self, *_: object) -> None:
        self._process.communicate(b"", timeout=10)


if __name__ == "__main__":
    main()
