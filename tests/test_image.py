"""The Dockerfile, linted and run in a folder without a container engine, and the configuration of Fly."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from worker.wiring.process_supervisor import STOP_SEQUENCE

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent

pytestmark = pytest.mark.slow


def instructions() -> list[tuple[str, str]]:
    joined = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in joined.splitlines() if line and not line.startswith("#")]
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines]


def test_dockerfile_passes_its_linter() -> None:
    linted = subprocess.run([BIN / "hadolint", ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (linted.returncode, linted.stdout) == (0, "")


def test_image_runs_unprivileged_and_starts_the_web_server() -> None:
    commands = dict(instructions())
    assert commands["USER"] == "10001"
    assert commands["CMD"] == '["assay", "serve"]'
    assert commands["STOPSIGNAL"] == "SIGTERM"


def test_copied_files_are_those_of_the_build_context() -> None:
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    copies = [rest for word, rest in instructions() if word == "COPY" and not rest.startswith("--from")]
    copied = [name for rest in copies for name in rest.split()[:-1]]
    assert {f"!{name}" for name in copied} == {line for line in ignore if line.startswith("!")}
    assert all((ROOT / name).exists() for name in copied)


def test_build_steps_make_an_environment_whose_commands_start(
    tmp_path: Path, system_certificates: dict[str, str]
) -> None:
    source, target = tmp_path / "src", tmp_path / "opt"
    source.mkdir()
    environ = {
        **{name: value for name, value in os.environ.items() if name != "SSL_CERT_FILE"},  # noqa: TID251 - a build keeps the proxies of its machine
        **system_certificates,
        "PATH": f"{BIN}:{os.environ['PATH']}",  # noqa: TID251 - and finds uv
        "HOME": str(tmp_path),
        "UV_PROJECT_ENVIRONMENT": str(target),
        "UV_LINK_MODE": "copy",
        "UV_PYTHON": sys.executable,
    }
    for word, rest in instructions():
        if word == "COPY" and not rest.startswith("--from"):
            *names, to = rest.split()
            for name in names:
                copy(ROOT / name, source / (name if to == "./" else to))
        if word == "RUN" and rest.startswith("uv "):
            subprocess.run(shlex.split(rest), cwd=source, env=environ, check=True, capture_output=True)
    shutil.rmtree(source)  # the last stage has only the environment
    for command in ("serve", "work"):
        answered = subprocess.run(
            [target / "bin/assay", command], cwd=tmp_path, env={"PATH": "/usr/bin", "ASSAY_APP_ID": "5"}, capture_output=True, check=False
        )  # fmt: skip
        assert (answered.returncode, b"ASSAY_APP_PRIVATE_KEY is not set" in answered.stderr) == (2, True), (
            answered.stderr
        )
    judged = subprocess.run(
        [target / "bin/assay", "judge", "--example"], cwd=tmp_path, env=environ, capture_output=True, check=False
    )
    assert judged.returncode == 1, judged.stderr


def copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


def test_fly_runs_the_image_commands_and_probes_the_web_server() -> None:
    fly = tomllib.loads((ROOT / "fly.toml").read_text())
    assert fly["processes"] == {"web": "assay serve", "worker": "assay work"}
    port = re.search(r"ASSAY_PORT=(\d+)", (ROOT / "Dockerfile").read_text())
    assert port is not None
    assert {fly["http_service"]["internal_port"], int(fly["env"]["ASSAY_PORT"])} == {int(port[1])}
    assert [check["path"] for check in fly["http_service"]["checks"]] == ["/readyz"]
    assert signal.Signals[fly["kill_signal"]] is signal.SIGTERM


def test_fly_grants_the_stop_grace_and_keeps_metrics_private() -> None:
    fly = tomllib.loads((ROOT / "fly.toml").read_text())
    stops_in = float(fly["env"]["ASSAY_STOP_GRACE"]) + sum(patience for _, patience in STOP_SEQUENCE) + 5
    assert stops_in < fly["kill_timeout"]
    [metrics] = fly["metrics"]
    assert (metrics["path"], metrics["processes"]) == ("/metrics", ["web"])
    host, _, port = fly["env"]["ASSAY_METRICS_ADDRESS"].rpartition(":")
    assert (host, int(port)) == ("0.0.0.0", metrics["port"])  # noqa: S104 - inside of Fly's network
    assert metrics["port"] != fly["http_service"]["internal_port"]
    assert "services" not in fly
    assert dict(instructions())["EXPOSE"] == "8000"
