"""`assay config`, called as the command line calls it."""

import json
from functools import partial
from pathlib import Path

import pytest

from app.cli.parser import Exit
from tests.app.cli.assay_command import run_command
from worker.errors import InputError
from worker.publishing.texts.config import reference, schema

said = partial(run_command, "config")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder somewhere in a checkout."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".github").mkdir()
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    return tmp_path


def test_the_file_of_the_checkout_is_checked(here: Path) -> None:
    (here / ".github/assay.yml").write_text("mode: observe\n")
    code, text = said("check")
    assert (code, "is valid" in text) == (Exit.ACCEPT, True)
    assert f"`observe` ({here}/.github/assay.yml)" in " ".join(text.split())


def test_a_mistake_ends_with_2(here: Path) -> None:
    (here / ".github/assay.yml").write_text("mode: observ\n")
    code, text = said("check")
    assert code == Exit.USAGE
    assert "    |       ^\n" in text


def test_without_a_file_the_defaults_hold(here: Path) -> None:
    assert not (here / ".github/assay.yml").exists()
    code, text = said("check")
    assert (code, text.splitlines()[0]) == (Exit.ACCEPT, "There is no file: every default holds.")


def test_a_file_with_the_wrong_ending_is_not_read_and_said(here: Path) -> None:
    (here / ".github/assay.yml").unlink(missing_ok=True)
    (here / ".github/assay.yaml").write_text("mode: observe\n")
    for given in ([], [str(here / ".github/assay.yaml")]):
        with pytest.raises(InputError, match=r"assay\.yaml is not read\. Rename it to \.github/assay\.yml\."):
            said("check", *given)


def test_outside_of_a_checkout_the_folder_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert said("check")[0] == Exit.ACCEPT


def test_programs_read_json(here: Path) -> None:
    file, owners = here / "own.yml", here / "org.yml"
    file.write_text("mode: observe\n")
    owners.write_text("ci_wait: 5m\n")
    code, text = said("check", str(file), "--organisation", str(owners), "--json")
    found = json.loads(text)
    assert (code, found["valid"], found["problems"]) == (Exit.ACCEPT, True, [])
    assert found["effective"]["mode"] == {"value": "observe", "from": str(file)}
    assert found["effective"]["ci_wait"] == {"value": 300.0, "from": str(owners)}
    assert found["effective"]["model"] == {"value": None, "from": "default"}

    owners.write_bytes(b"\xff")
    file.write_text("mode: 1\n")
    code, text = said("check", str(file), "--organisation", str(owners), "--json")
    found = json.loads(text)
    assert (code, found["valid"], found["effective"]) == (Exit.USAGE, False, None)
    assert {one["file"] for one in found["problems"]} == {str(file), str(owners)}
    own = next(one for one in found["problems"] if one["file"] == str(file))
    assert own == {
        "file": str(file),
        "line": 1,
        "column": 7,
        "key": "mode",
        "message": "`mode`: expected block or observe, found 1",
    }


def test_a_file_that_is_named_and_not_there_is_the_callers_mistake(here: Path) -> None:
    with pytest.raises(InputError, match=r"nope\.yml can't be read: No such file"):
        said("check", str(here / "nope.yml"))


def test_schema_and_reference_are_printed_for_editors_and_people() -> None:
    assert said("schema") == (Exit.ACCEPT, schema())
    assert said("reference") == (Exit.ACCEPT, reference())
