"""Isolation from the working directory and the environment: Assay runs only its own code."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.app.cli.assay_command import environment

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = Path(sys.executable).with_name("assay")
HOSTILE = "import os\nos.write(2, b'ran: ' + __file__.encode())\nos._exit(0)\n"
MODULES = (
    "app/__init__.py",
    "app/cli/main.py",
    "worker/__init__.py",
    "worker/dossier/tree_sitter.py",
    "sitecustomize.py",
    "usercustomize.py",
    "pydantic.py",
    "argparse.py",
    "encodings/__init__.py",
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A judged repository whose modules have the names of modules that Assay imports."""
    folder = tmp_path / "widgets"
    for name in MODULES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HOSTILE)
    return folder


def run_program(program: Path, *arguments: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(program), *arguments],
        cwd=cwd,
        env={**environment(cwd.parent / "state"), **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


@pytest.mark.parametrize("program", [ROOT / "assay", INSTALLED], ids=["checkout", "wheel"])
def test_judging_runs_no_code_of_the_judged_checkout(program: Path, checkout: Path) -> None:
    variables = {"PYTHONHOME": ".", "PYTHONPATH": ".", "PYTHONUSERBASE": ".", "PYTHONSTARTUP": "app/cli/main.py"}
    done = run_program(program, "judge", "--example", cwd=checkout, **variables)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("Rejected: ")


def test_setup_runs_no_code_of_the_judged_checkout(checkout: Path, tmp_path: Path) -> None:
    """The set-up asks interpreters for their version and certificates, and starts a fake uv."""
    copy = make_set_up_folder(tmp_path, '#!/bin/sh\nset -e\n"$here/.venv/bin/python" -c ""\n')
    done = run_program(copy / "assay", "judge", "--example", cwd=checkout, PYTHONPATH=".", here=str(copy))
    assert "ran: " not in done.stderr
    assert (done.returncode, done.stderr) == (1, "Setting up .venv (once) ...\n")


def make_set_up_folder(tmp_path: Path, uv: str) -> Path:
    """A checkout of Assay whose environment lacks its packages; *uv* is the program that installs them."""
    copy = tmp_path / "assay"
    programs = copy / ".venv" / "bin"
    programs.mkdir(parents=True)
    shutil.copytree(ROOT / ".ci", copy / ".ci")
    for name in ("assay", "uv.lock", "pyproject.toml"):
        shutil.copy2(ROOT / name, copy / name)
    (programs / "python").symlink_to(sys.executable)
    # The installed program is outside, so that only the set-up is tested.
    (programs / "assay").write_text(f'#!/bin/sh\nexec {INSTALLED} "$@"\n')
    (programs / "uv").write_text(uv)
    for name in ("assay", "uv"):
        (programs / name).chmod(0o755)
    return copy


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("program", [ROOT / "assay", INSTALLED], ids=["checkout", "wheel"])
def test_symlink_to_the_command_works(program: Path, depth: int, tmp_path: Path) -> None:
    link = program
    for number in range(depth):
        next_link = tmp_path / f"link{number}"
        next_link.symlink_to(link if number == 0 else link.name)
        link = next_link
    done = run_program(link, "--version", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_relative_call_ignores_cdpath(tmp_path: Path) -> None:
    (tmp_path / ROOT.name).mkdir()
    done = subprocess.run(
        [f"{ROOT.name}/assay", "--version"],
        cwd=ROOT.parent,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "CDPATH": str(tmp_path)},  # noqa: TID251 - a child needs its PATH
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def break_python(folder: Path) -> tuple[Path, str]:
    """A PATH with an interpreter that is too old."""
    old = folder / "old"
    old.mkdir()
    for name in ("dirname", "sh", "readlink", "touch"):
        (old / name).symlink_to(shutil.which(name) or name)
    (old / "python3").write_text("#!/bin/sh\nexit 1\n")
    (old / "python3").chmod(0o755)
    copy = make_set_up_folder(folder, "")
    shutil.rmtree(copy / ".venv")
    return copy / "assay", str(old)


def break_network(folder: Path) -> tuple[Path, str]:
    failing = "#!/bin/sh\necho 'error: failed to fetch' >&2\nexit 2\n"
    return make_set_up_folder(folder, failing) / "assay", os.environ["PATH"]  # noqa: TID251 - a child needs its PATH


def break_environment_file(folder: Path) -> tuple[Path, str]:
    copy = make_set_up_folder(folder, "#!/bin/sh\nexit 0\n")
    (copy / ".ci" / "environment").unlink()
    return copy / "assay", os.environ["PATH"]  # noqa: TID251 - as above


def break_interpreter(folder: Path) -> tuple[Path, str]:
    """The installed script, copied to a folder without an interpreter."""
    (folder / "bin").mkdir()
    shutil.copy2(INSTALLED, folder / "bin" / "assay")
    return folder / "bin" / "assay", os.environ["PATH"]  # noqa: TID251 - as above


def break_packages(folder: Path) -> tuple[Path, str]:
    """The installed script beside an interpreter that lacks Assay's packages."""
    program, path = break_interpreter(folder)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return program, path


@pytest.mark.parametrize(
    ("break_installation", "sentence"),
    [
        (break_python, "assay: Python 3.11 or newer is not on PATH. Install it, then run this again."),
        (break_network, "assay: the packages can't be installed. The lines above say why: check the network, then"),
        (break_environment_file, ".ci/environment is missing. Clone Assay again."),
        (break_interpreter, "holds no Python. Install Assay into an environment of its own (pipx, uv tool, venv)."),
        (break_packages, "assay: the installation is broken (ModuleNotFoundError: No module named 'app'). Install"),
    ],
)
def test_failure_before_the_command_exits_4_with_one_sentence(
    break_installation: Callable[[Path], tuple[Path, str]], sentence: str, tmp_path: Path
) -> None:
    program, path = break_installation(tmp_path)
    done = run_program(program, "judge", "--example", cwd=tmp_path, PATH=path)
    assert done.returncode == 4
    assert sentence in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
