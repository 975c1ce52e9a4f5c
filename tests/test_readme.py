"""The README shows what its commands print."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHANGING = re.compile(r"^(Judged by  code checks alone, )[\d.]+ m?s$|^(Verdict    )[0-9a-f-]{36}$", re.MULTILINE)


def test_example_prints_what_the_readme_shows(tmp_path: Path) -> None:
    example = re.compile(r"<!-- example:begin -->\n```\n(.*?)```\n<!-- example:end -->", re.DOTALL)
    shown = example.search((ROOT / "README.md").read_text())
    assert shown is not None
    command = [Path(sys.executable).with_name("assay"), "judge", "--example"]
    environ = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(tmp_path), "ASSAY_DATA_DIR": str(tmp_path / "state")}
    printed = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (printed.returncode, printed.stderr) == (1, "")
    assert steady(printed.stdout) == steady(shown[1])


def steady(text: str) -> str:
    """Without what differs from run to run."""
    return CHANGING.sub(lambda match: f"{match[1] or match[2]}...", text)


def test_commands_in_the_readme_exist() -> None:
    readme = (ROOT / "README.md").read_text()
    command = [Path(sys.executable).with_name("assay"), "--help"]
    help_output = subprocess.run(command, capture_output=True, text=True, check=True)
    named = set(re.findall(r"`(?:\./)?assay (\w+)", readme))
    assert named <= set(re.findall(r"^    (\w+)(?:  |$)", help_output.stdout, re.MULTILINE)), named
