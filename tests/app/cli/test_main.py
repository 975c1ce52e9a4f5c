"""The command line: arguments, exit codes, errors, completion and progress."""

import argparse
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from errno import EMFILE, ENOENT, ENOMEM, ENOSPC, EROFS
from importlib import import_module
from pathlib import Path

import pytest

from app.cli import terminal
from app.cli.main import ErrorBoundary, main
from app.cli.parser import COMMANDS, VERDICT_EXITS, CommandSpec, Exit, build_parser
from tests.app.cli.assay_command import ASSAY, environment, run_refused
from tests.worker.publishing.texts.samples import abstained, accepted, rejected
from worker.domain.verdict.verdict import AbstainReason
from worker.errors import Forbidden, InputError, LeaseLost, SubjectGone, Unavailable

HEAVY = frozenset(
    ["pydantic", "litestar", "uvicorn", "githubkit", "anthropic", "redis", "rq", "structlog", "yaml", "worker.settings"]
)


def exit_code(*arguments: str) -> int:
    with pytest.raises(SystemExit) as leaving:
        main(arguments)
    assert isinstance(leaving.value.code, int)
    return leaving.value.code


def test_argument_parser_loads_no_heavy_module() -> None:
    script = "import sys, app.cli.main\napp.cli.main.build_parser().format_help()\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not HEAVY & set(done.stdout.split())


@pytest.mark.parametrize("command", [None, *(command.name for command in COMMANDS)])
def test_help_fits_80_columns(
    command: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert exit_code(*filter(None, (command,)), "--help") == 0
    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 80] == []


def test_version_is_the_package_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("--version") == 0
    assert capsys.readouterr().out == "assay 0.1.0\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "the following arguments are required: COMMAND"),
        (("nothing",), "invalid choice: 'nothing'"),
        (("judge", "--tier", "best"), "invalid choice: 'best'"),
        (("judge", "a/b#1", "--example"), "not allowed with argument"),
        (("judge", "--example", "--dossier", "x"), "not allowed with argument"),
        (("history", "acme/widgets"), "expected OWNER/REPO#N, found 'acme/widgets'"),
        (("doctor", "widgets"), "expected OWNER/REPO, found 'widgets'"),
        (("token", "create", "a b", "--installation", "1"), "expected up to 64 letters, digits and -_., found 'a b'"),
        (("token", "create", "a", "--installation", "x"), "expected an installation's number, found 'x'"),
        (("rubric", "promote", "x", "--installation", "9" * 19), "expected a number, found '9"),
        (("config",), "the following arguments are required: COMMAND"),
    ],
)
def test_wrong_arguments_exit_with_usage(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(*arguments) == 2
    printed = capsys.readouterr().err
    assert "usage: assay" in printed
    assert message in printed


def test_each_decision_has_its_own_exit_code() -> None:
    codes = [VERDICT_EXITS[verdict.decision] for verdict in (accepted(), rejected(), abstained(AbstainReason.UNPROVEN))]
    assert codes == [0, 1, 3]


def exit_code_of_error(error: BaseException) -> int:
    with ErrorBoundary() as boundary:
        raise error
    return boundary.code


NO_REDIS = Unavailable("Redis", "Connection refused at 127.0.0.1:1")
FREE_SPACE = "Free space there, or set ASSAY_DATA_DIR and TMPDIR to another disk."
FREE_MEMORY = "Free memory, or raise its limit."


@pytest.mark.parametrize(
    ("error", "redis_url", "code", "message"),
    [
        (KeyboardInterrupt(), "", 130, "Interrupted."),
        (InputError("--issue: x can't be read."), "", 2, "--issue: x can't be read."),
        (Forbidden("no"), "", 2, "no"),
        (SubjectGone("deleted"), "", 2, "There is nothing to judge: deleted."),
        (LeaseLost(), "", 4, "Another process took this judging over. Judge again."),
        (Unavailable("GitHub", "status 502"), "x", 4, "GitHub is unavailable: status 502. Try again later."),
        (NO_REDIS, "x", 4, f"{NO_REDIS}. Check REDIS_URL, and that the server runs."),
        (NO_REDIS, "", 4, f"{NO_REDIS}. Try again later."),
        (OSError(ENOSPC, "No space left on device", "/x"), "", 4, f"No space left on device: /x. {FREE_SPACE}"),
        (
            OSError(EROFS, "Read-only file system", "/x"), "", 4,
            "Read-only file system: /x. Set ASSAY_DATA_DIR and TMPDIR to folders that can be written to.",
        ),
        (
            OSError(EMFILE, "Too many open files"), "", 4,
            "Too many open files. Raise the limit of open files (`ulimit -n`).",
        ),
        (OSError(ENOMEM, "Cannot allocate memory"), "", 4, f"Cannot allocate memory. {FREE_MEMORY}"),
        (MemoryError(), "", 4, f"There is not enough memory. {FREE_MEMORY}"),
        (
            FileNotFoundError(ENOENT, "No usable temporary directory found in ['/tmp']"), "", 4,
            f"No temporary folder can be written to. {FREE_SPACE}",
        ),
    ],
)  # fmt: skip
def test_error_is_one_line_with_its_own_exit_code(
    error: BaseException,
    redis_url: str,
    code: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("REDIS_URL", redis_url)
    assert (exit_code_of_error(error), capsys.readouterr().err) == (code, f"assay: {message}\n")


DAMAGED = "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----"
DAMAGED_APP = {"ASSAY_APP_ID": "1", "ASSAY_APP_PRIVATE_KEY": DAMAGED, "ASSAY_WEBHOOK_SECRET": "s", "ASSAY_PORT": "0"}
MISSING_KEY = (
    "assay: ASSAY_APP_PRIVATE_KEY is not set. Expected: the App's private key: PEM text, its base64, or the path of the .pem "
    'file; two, separated by a space, while rotating. Get it from: the App\'s settings page, "Generate a private key".\n'
)


@pytest.mark.parametrize(
    ("command", "changes", "message"),
    [
        *((command, {"ASSAY_APP_ID": "5"}, MISSING_KEY) for command in ("up", "serve", "work")),
        *((command, DAMAGED_APP, "assay: ASSAY_APP_PRIVATE_KEY holds a key (number 1) that is damaged. Expected: ")
          for command in ("up", "serve", "work")),
        ("work", {}, "assay: ASSAY_APP_ID is not set."),
        ("stats", {"ASSAY_DATA_DIR": "~no-such-account/x"},
         "assay: ASSAY_DATA_DIR can't be found: there is no such home folder."),
    ],
)  # fmt: skip
def test_wrong_setting_is_one_line_before_anything_starts(
    command: str, changes: dict[str, str], message: str, tmp_path: Path
) -> None:
    done = run_refused(command, environ={**environment(tmp_path / "state"), **changes})
    assert (done.returncode, done.stderr.count("\n")) == (Exit.USAGE, 1)
    assert done.stderr.startswith(message)
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("command", [["judge", "--example"], ["stats"], ["doctor"]])
def test_full_disk_ends_in_one_sentence_and_no_verdict_code(command: list[str], tmp_path: Path) -> None:
    full = ["sh", "-c", 'ulimit -f 0; exec "$0" "$@"', str(ASSAY), *command]
    done = subprocess.run(full, env=environment(tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode in {Exit.USAGE, Exit.FAILED}
    assert "Traceback" not in done.stderr + done.stdout
    assert done.stderr.count("\n") <= 1


@pytest.mark.parametrize("error", ["MemoryError", "SystemError", "ImportError"])
def test_failure_before_the_command_exits_as_failed(error: str, tmp_path: Path) -> None:
    code = f"import app.cli.main\ndef broken(_): raise {error}\napp.cli.main.build_parser = broken\napp.cli.main.run()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(tmp_path), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (Exit.FAILED, f"assay: Assay itself failed ({error}).\n")


class Interrupted:
    """Ctrl-C while a class is created, which Python 3.11 turns into a RuntimeError."""

    def __set_name__(self, owner: type, name: str) -> None:
        raise KeyboardInterrupt


def interrupt_class_creation() -> None:
    type("Made", (), {"field": Interrupted()})


def interrupt_cleanup() -> None:
    try:
        raise KeyboardInterrupt
    finally:
        raise BrokenPipeError


@pytest.mark.parametrize("work", [interrupt_class_creation, interrupt_cleanup])
def test_error_caused_by_ctrl_c_is_an_interrupt(work: Callable[[], None], capsys: pytest.CaptureFixture[str]) -> None:
    with ErrorBoundary() as boundary:
        work()
    assert boundary.code == Exit.INTERRUPTED
    assert capsys.readouterr().err == "assay: Interrupted.\n"


def test_error_that_is_its_own_cause_exits_as_failed(capsys: pytest.CaptureFixture[str]) -> None:
    error = OSError("full")
    with ErrorBoundary() as boundary:
        raise error from error
    assert boundary.code == Exit.FAILED
    assert capsys.readouterr().err


def test_error_boundary_passes_exits_through() -> None:
    with pytest.raises(SystemExit):
        exit_code_of_error(SystemExit(0))
    with pytest.raises(GeneratorExit):
        exit_code_of_error(GeneratorExit())


def test_internal_error_names_the_file_with_its_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASSAY_DATA_DIR", str(tmp_path))
    assert exit_code_of_error(KeyError("bug")) == Exit.FAILED
    [log] = (tmp_path / "logs").iterdir()
    assert capsys.readouterr().err == f"assay: Assay itself failed. The traceback is in {log}.\n"
    assert "KeyError: 'bug'" in log.read_text()


def test_traceback_goes_to_a_temporary_file_when_the_data_folder_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ASSAY_DATA_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert exit_code_of_error(KeyError("bug")) == Exit.FAILED
    assert "KeyError: 'bug'" in next(tmp_path.glob("assay-*.log")).read_text()


def test_traceback_goes_to_stderr_when_no_folder_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code = (
        "import sys, tempfile, app.cli.main\ntempfile.tempdir = sys.argv[1]\n"
        "with app.cli.main.ErrorBoundary() as edge:\n    {}['bug']\nsys.exit(edge.code)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "file")]
    done = subprocess.run(command, env=environment(tmp_path / "file"), capture_output=True, text=True, check=False)
    assert done.returncode == Exit.FAILED
    assert done.stderr.startswith("assay: Assay itself failed. No folder can be written to")
    assert "KeyError: 'bug'" in done.stderr


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("nonsense >/dev/full 2>&1", Exit.USAGE, ""),
        ("--help >/dev/full 2>&1", Exit.ACCEPT, ""),
        ("judge --example >&-", Exit.REJECT, ""),
        ("completion bash >/dev/full", Exit.USAGE, "No space left"),
    ],
)
def test_unwritable_output_is_no_internal_error(command: str, code: Exit, message: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" {command}', str(ASSAY)],
        env=environment(tmp_path), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Exception" not in done.stderr
    assert not (tmp_path / "logs").exists()


def test_closed_stderr_keeps_the_exit_code(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [str(ASSAY), "judge", "--dossier", "/nowhere"], env=environment(tmp_path), stderr=writer, check=False
    )
    os.close(writer)
    assert done.returncode == Exit.USAGE


def test_closed_stdout_pipe_keeps_the_exit_code(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [str(ASSAY), "doctor"], env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    printed = process.stderr.read()
    process.stderr.close()
    assert process.wait() == Exit.USAGE
    assert printed == b""


WHOLE_PARSERS = (build_parser(None), build_parser("no-command"))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_command_help_is_the_same_from_any_parser(command: CommandSpec) -> None:
    module, _, function = command.run.partition(":")
    assert callable(getattr(import_module(module), function))
    texts = [help_text(parser, command.name) for parser in (build_parser(command.name), *WHOLE_PARSERS)]
    assert texts[0] == texts[1] == texts[2]
    assert texts[0].startswith(f"usage: assay {command.name} ")


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        (["ju"], {"judge"}),
        (["judge", "--do"], {"--dossier"}),
        (["config", ""], {"check", "schema", "reference"}),
        (["judge", "--dossier", "dos"], {"dossier.json"}),
        (["bench", "--out", "dos"], {"dossiers"}),
        (["completion", "z"], {"zsh"}),
    ],
)
def test_bash_completes_commands_options_files_and_folders(
    typed: list[str], completed: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", "bash"]) == Exit.ACCEPT
    (tmp_path / "completion.sh").write_text(capsys.readouterr().out)
    (tmp_path / "dossier.json").touch()
    (tmp_path / "dossiers").mkdir()
    asked = '. ./completion.sh; COMP_WORDS=(assay "$@"); COMP_CWORD=$#; _shtab_assay; printf "%s\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", asked, "-", *typed], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert completed <= set(done.stdout.split())


def test_zsh_completion_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "zsh"]) == Exit.ACCEPT
    script = capsys.readouterr().out
    assert script.startswith("#compdef assay\n")
    assert [command.name for command in COMMANDS if f"    {command.name}:" not in script] == []


def help_text(parser: argparse.ArgumentParser, name: str) -> str:
    with pytest.raises(SystemExit), contextlib.redirect_stdout(io.StringIO()) as out:
        parser.parse_args([name, "--help"])
    return out.getvalue()


def test_progress_is_a_line_where_stderr_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "INTERVAL_S", 0.001)
    is_reported = threading.Event()

    def progress_text(seconds: float) -> str:
        is_reported.set()
        return f"judging, {seconds:.0f} s"

    with terminal.show_elapsed(progress_text):
        assert is_reported.wait(10)
    assert "assay: judging, 0 s\n" in capsys.readouterr().err


def test_short_work_prints_no_progress(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal.show_count(3, "dossier") as report:
        report(3)
    assert capsys.readouterr().err == ""
