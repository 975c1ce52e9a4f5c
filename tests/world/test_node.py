"""Node comes with the test dependencies where a machine has none."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ASK = """
import subprocess
from tests.world.node import environment, node, npm
for command in ([str(node())], npm()):
    print(subprocess.run([*command, "--version"], env=environment(), capture_output=True, text=True, check=True).stdout)
"""


def test_a_machine_without_node_uses_the_one_that_was_installed(tmp_path: Path) -> None:
    environ = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    told = subprocess.run(
        [sys.executable, "-c", ASK], cwd=ROOT, env=environ, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr
    versions = told.stdout.split()
    assert versions[0].startswith("v")
    assert versions[1][0].isdigit()
