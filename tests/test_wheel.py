"""The wheel finds its prompts and rubrics wherever it is installed and run."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
UV = Path(sys.executable).with_name("uv")

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command with only these variables, a PATH and a HOME."""
    variables = {"PATH": os.environ["PATH"], "HOME": str(cwd), **environ}  # noqa: TID251 - a child needs its PATH
    return subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = f"from hatchling.build import build_wheel; print(build_wheel({str(folder)!r}))"
    built = run(sys.executable, "-c", build, cwd=ROOT)
    assert built.returncode == 0, built.stderr
    return folder / built.stdout.split()[-1]


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with only the wheel in it; the dependencies are those of this environment."""
    folder = tmp_path_factory.mktemp("elsewhere")
    venv.create(folder / "env", with_pip=True)
    python = folder / "env/bin/python"
    done = run(python, "-m", "pip", "install", "--quiet", "--no-deps", wheel, cwd=folder)
    assert done.returncode == 0, done.stderr
    packages = next(Path(part) for part in sys.path if part.endswith("site-packages"))
    site = next((folder / "env/lib").glob("python3.*/site-packages"))
    (site / "dependencies.pth").write_text(f"{packages}\n")
    return folder


def test_wheel_holds_its_prompts_rubrics_and_scripts(wheel: Path) -> None:
    names = run(sys.executable, "-m", "zipfile", "-l", wheel, cwd=wheel.parent).stdout
    for room in ("prompts", "rubrics"):
        for path in (ROOT / room).rglob("*.*"):
            assert f"worker/{room}/{path.relative_to(ROOT / room)}" in names
    for path in (ROOT / "worker").rglob("*.lua"):
        assert str(path.relative_to(ROOT)) in names


def test_installed_command_judges_from_any_folder(environment: Path, tmp_path: Path) -> None:
    judged = run(
        environment / "env/bin/assay", "judge", "--example", cwd=tmp_path, ASSAY_DATA_DIR=str(environment / "state")
    )
    assert (judged.returncode, judged.stderr) == (1, ""), judged.stdout + judged.stderr
    assert "half_finished" in judged.stdout or "half finished" in judged.stdout
