"""Node comes with the test dependencies, the same on every machine."""

import subprocess
import sys
from pathlib import Path

from tests.world.node import node

ROOT = Path(__file__).resolve().parents[2]
ASK = """
import subprocess
from tests.world.node import environment, node, npm
for command in ([str(node())], npm()):
    print(subprocess.run([*command, "--version"], env=environment(), capture_output=True, text=True, check=True).stdout)
"""
WHICH = "from tests.world.node import node; print(node())"


def ask(what: str, path: Path, *options: str) -> str:
    environ = {"PATH": str(path), "HOME": str(path)}
    command = [sys.executable, *options, "-c", what]
    told = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    return told.stdout


def test_a_machine_without_node_uses_the_one_that_was_installed(tmp_path: Path) -> None:
    versions = ask(ASK, tmp_path).split()
    assert versions[0].startswith("v")
    assert versions[1][0].isdigit()


def test_a_machine_with_another_node_uses_the_one_that_was_installed(tmp_path: Path) -> None:
    (tmp_path / "node").symlink_to(node())
    assert ask(WHICH, tmp_path).strip() == str(node()) != str(tmp_path / "node")


def test_where_none_was_installed_it_is_the_machines(tmp_path: Path) -> None:
    (tmp_path / "node").symlink_to(node())
    assert ask(WHICH, tmp_path, "-S").strip() == str(tmp_path / "node")
