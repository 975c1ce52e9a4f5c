"""`assay case`, in the checkout of the example."""

import io
from functools import partial
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from app.cli.parser import Exit
from tests.app.cli.assay_command import run_command
from worker.adapters.git.example_repository import ExampleRepository, make_example
from worker.errors import InputError

BASE = ("--base", "main")
ISSUE = (*BASE, "--issue", "../issue.md")
RETRY = "upload.py:upload_with_retry"


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> ExampleRepository:
    return make_example(tmp_path_factory.mktemp("example"))


@pytest.fixture(autouse=True)
def _checkout(example: ExampleRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(example.checkout)


run_case = partial(run_command, "case")


def case_file(folder: Path, claims: str, above: str = "") -> str:
    path = folder / "case.md"
    path.write_text(f"{above}```assay\nsummary: Uploads are tried again.\nac_coverage:\n{claims}```\n")
    return str(path)


def test_draft_names_the_changed_places_that_match_each_criterion(tmp_path: Path) -> None:
    code, text = run_case("new", *ISSUE)
    assert code == Exit.ACCEPT
    assert text.splitlines()[:4] == [
        "```assay",
        "summary: Retry uploads on 503 (to be confirmed)",
        "ac_coverage:",
        "  # AC1: `upload` tries again after a 503, at most three times",
    ]
    (tmp_path / "case.md").write_text(text)
    code, report = run_case("check", str(tmp_path / "case.md"), *ISSUE)
    assert code == Exit.USAGE
    assert ' marked "to be confirmed": look at each place, and take the words out.' in report
    (tmp_path / "case.md").write_text(text.replace(" (to be confirmed)", ""))
    assert run_case("check", str(tmp_path / "case.md"), *ISSUE)[0] == Exit.ACCEPT


def test_draft_without_an_issue_says_what_is_missing() -> None:
    code, text = run_case("new", *BASE)
    assert code == Exit.ACCEPT
    assert text == snapshot("""\
```assay
summary: Retry uploads on 503 (to be confirmed)
ac_coverage: []
  # No criterion is known: name the issue with --issue.
work_arounds: []
uncertainties: []
```
""")


def test_correct_case_is_accepted(tmp_path: Path) -> None:
    claims = "".join(f"- {{criterion: AC{number}, addressed_by: '{RETRY}'}}\n" for number in (1, 2, 3))
    code, text = run_case("check", case_file(tmp_path, claims), *ISSUE)
    assert code == Exit.ACCEPT
    assert text.replace(str(tmp_path), "") == snapshot("""\
/case.md holds a case.
  there      AC1 -> upload.py:upload_with_retry
  there      AC2 -> upload.py:upload_with_retry
  there      AC3 -> upload.py:upload_with_retry
Nothing to mend.
""")


def test_check_looks_up_each_claim_and_names_what_would_reject(tmp_path: Path) -> None:
    claims = (
        "- {criterion: AC1, addressed_by: 'src/up.py:3'}\n- {criterion: AC2, addressed_by: 'upload.py:99', by: me}\n"
    )
    code, text = run_case("check", case_file(tmp_path, claims), *ISSUE)
    assert code == Exit.USAGE
    assert text.replace(str(tmp_path), "") == snapshot("""\
/case.md holds a case.
  not there  AC1 -> src/up.py:3
             src/up.py does not exist at the head commit
  not there  AC2 -> upload.py:99
             upload.py has 18 lines
  not named  AC3
             the case says nothing about this criterion
  Rejects (cited_file_missing): the case cites src/up.py for "AC1", and there is no such file at the
  head commit
  Rejects (cited_line_missing): the case cites line 99 of upload.py, which has 18 lines
  Not read: ac_coverage[1].by. docs/case.md lists the fields.
3 to mend.
""")


def test_check_without_an_issue_still_looks_up_places(tmp_path: Path) -> None:
    code, text = run_case("check", case_file(tmp_path, f"- AC1: {RETRY}\n- AC7: no.py\n"), *BASE)
    assert code == Exit.USAGE
    assert "  there      AC1 -> upload.py:upload_with_retry\n  not there  AC7 -> no.py\n" in text
    assert "  No criterion is known: name the issue with --issue.\n1 to mend.\n" in text


def test_check_without_a_file_reads_the_description() -> None:
    code, text = run_case("check", *ISSUE)
    assert (code, text.splitlines()[0], text.splitlines()[-1]) == (
        Exit.USAGE, "the last commit's message holds a case.", "1 to mend.",
    )  # fmt: skip
    code, text = run_case("check", *ISSUE, "--body", f"```assay\nsummary: x\nac_coverage: [AC1 -> {RETRY}]\n```\n")
    assert (code, text.splitlines()[0], text.splitlines()[-1]) == (Exit.USAGE, "--body holds a case.", "2 to mend.")


def test_unreadable_case_is_refused_with_its_line_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, text = run_case("check", case_file(tmp_path, "- AC1\n", above="Retries.\n\n"))
    message = (
        "/case.md:6: Case refused at ac_coverage[0] (line 3 of the block): expected `criterion:`, `addressed_by:`,"
    )
    assert (code, " ".join(text.split()).startswith(f"{tmp_path}{message}")) == (Exit.USAGE, True)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"summary: x\nsummary: y\n")))
    assert run_case("check", "-") == (
        Exit.USAGE,
        snapshot("""\
standard input:2: Case refused at line 2 of the block: not YAML as we read it: the key "summary"
stands twice. Keep one of them.
"""),
    )
    (tmp_path / "case.json").write_text('{"summary":\ttrue}')
    code, text = run_case("check", str(tmp_path / "case.json"))
    assert code == Exit.USAGE
    assert " ".join(text.split()).startswith(f"{tmp_path}/case.json: Case refused at summary:")


def test_input_without_a_case_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "words.md").write_text("I changed the upload.")
    for arguments, message in (
        ((str(tmp_path / "words.md"),), f"{tmp_path}/words.md holds no case: expected a fenced `assay` block"),
        ((*BASE, "--body", "summary: x"), "--body holds no case: expected a fenced `assay` block"),
        (("-", "--issue", "-"), "FILE and --issue can't both read standard input."),
        ((str(tmp_path / "none.md"),), "assay case check: "),
    ):
        with pytest.raises(InputError) as error:
            run_case("check", *arguments)
        assert str(error.value).startswith(message)
