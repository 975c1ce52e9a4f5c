"""`assay config`."""

import json
from functools import partial
from pathlib import Path

import pytest

from app.cli.parser import Exit
from tests.app.cli.assay_command import run_command
from worker.errors import InputError
from worker.publishing.texts.cli_reports import reference, schema

run_config = partial(run_command, "config")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a checkout; the working directory is below it."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".github").mkdir()
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    return tmp_path


def test_check_reads_the_file_of_the_checkout(checkout: Path) -> None:
    (checkout / ".github/assay.yml").write_text("mode: observe\n")
    code, text = run_config("check")
    assert (code, "is valid" in text) == (Exit.ACCEPT, True)
    assert f"`observe` ({checkout}/.github/assay.yml)" in " ".join(text.split())


def test_mistake_is_shown_and_exits_with_usage(checkout: Path) -> None:
    (checkout / ".github/assay.yml").write_text("mode: observ\n")
    code, text = run_config("check")
    assert code == Exit.USAGE
    assert "    |       ^\n" in text


def test_check_without_a_file_reports_the_defaults(checkout: Path) -> None:
    assert not (checkout / ".github/assay.yml").exists()
    code, text = run_config("check")
    assert (code, text.splitlines()[0]) == (Exit.ACCEPT, "There is no file: every default holds.")


def test_file_with_the_wrong_ending_is_refused(checkout: Path) -> None:
    (checkout / ".github/assay.yml").unlink(missing_ok=True)
    (checkout / ".github/assay.yaml").write_text("mode: observe\n")
    for arguments in ([], [str(checkout / ".github/assay.yaml")]):
        with pytest.raises(InputError, match=r"assay\.yaml is not read\. Rename it to \.github/assay\.yml\."):
            run_config("check", *arguments)


def test_check_outside_a_checkout_uses_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_config("check")[0] == Exit.ACCEPT


def test_json_output_has_values_origins_and_problems(checkout: Path) -> None:
    file, owners = checkout / "own.yml", checkout / "org.yml"
    file.write_text("mode: observe\n")
    owners.write_text("ci_wait: 5m\n")
    code, text = run_config("check", str(file), "--organisation", str(owners), "--json")
    report = json.loads(text)
    assert (code, report["valid"], report["problems"]) == (Exit.ACCEPT, True, [])
    assert report["effective"]["mode"] == {"value": "observe", "from": str(file)}
    assert report["effective"]["ci_wait"] == {"value": 300.0, "from": str(owners)}
    assert report["effective"]["model"] == {"value": None, "from": "default"}

    owners.write_bytes(b"\xff")
    file.write_text("mode: 1\n")
    code, text = run_config("check", str(file), "--organisation", str(owners), "--json")
    report = json.loads(text)
    assert (code, report["valid"], report["effective"]) == (Exit.USAGE, False, None)
    assert {problem["file"] for problem in report["problems"]} == {str(file), str(owners)}
    own_problem = next(problem for problem in report["problems"] if problem["file"] == str(file))
    assert own_problem == {
        "file": str(file),
        "line": 1,
        "column": 7,
        "key": "mode",
        "message": "`mode`: expected block or observe, found 1",
    }


def test_missing_file_is_an_input_error(checkout: Path) -> None:
    with pytest.raises(InputError, match=r"nope\.yml can't be read: No such file"):
        run_config("check", str(checkout / "nope.yml"))


def test_schema_and_reference_are_printed() -> None:
    assert run_config("schema") == (Exit.ACCEPT, schema())
    assert run_config("reference") == (Exit.ACCEPT, reference())
