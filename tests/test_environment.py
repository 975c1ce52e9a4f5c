"""The environment that `./assay` and `./test` create."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
STORE = {"SSL_CERT_FILE": str(ROOT / "tests" / "world" / "authority.pem")}


@pytest.mark.parametrize(
    ("variables", "trusted"),
    [
        pytest.param(STORE, "1", id="as pip does"),
        pytest.param(STORE | {"UV_SYSTEM_CERTS": "0"}, "0", id="not where the user says otherwise"),
        pytest.param({"SSL_CERT_FILE": "/nowhere", "SSL_CERT_DIR": "{empty}"}, "", id="not where the system has none"),
    ],
)
def test_packages_are_fetched_with_the_system_certificates(
    tmp_path: Path, variables: dict[str, str], trusted: str
) -> None:
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "environment").write_text((ROOT / ".ci" / "environment").read_text())
    (tmp_path / "empty").mkdir()
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    installer = programs / "uv"
    installer.write_text('#!/bin/sh\necho "trusts ${UV_SYSTEM_CERTS:-}"\n')
    installer.chmod(0o755)
    (tmp_path / "start").write_text(f'here={tmp_path}\n. "$here/.ci/environment"\nenvironment run\n')
    environ = {name: text.format(empty=tmp_path / "empty") for name, text in variables.items()}
    environ["PATH"] = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(["sh", tmp_path / "start"], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout == f"trusts {trusted}\n"
