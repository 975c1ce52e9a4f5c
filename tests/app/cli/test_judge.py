"""`assay judge` as a process: what it judges, what it prints, its exit code, and what it never loads."""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from app.cli.judge import open_judge_inputs, parse_pull_request, web_host
from app.cli.parser import build_parser
from tests.app.cli.assay_command import ASSAY, assay, environment, refused
from tests.worker.adapters.git.laptop import Laptop
from tests.worker.publishing.texts.samples import dossier
from worker.adapters.git.example_repository import ExampleRepository, make_example
from worker.domain.verdict.verdict import VERDICT_ADAPTER
from worker.errors import InputError
from worker.settings import Settings
from worker.signals.registry import REGISTERED_NAMES

NEVER = ("githubkit", "anthropic", "litestar", "rq", "structlog", "uvicorn", "redis", "cryptography.x509")


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def spoken(state: Path, example: ExampleRepository) -> list[str]:
    """What is printed of a checkout with something uncommitted, and then the exit code and what was loaded."""
    (example.checkout / "draft.txt").write_text("not committed")
    script = (
        "import sys\nfrom app.cli.main import main\n"
        f"code = main(['judge', '--tier', 'heuristic', '--base', 'main', '--issue', {str(example.issue)!r},"
        f" '--junit', {str(example.junit)!r}])\n"
        f"print(code, [name for name in {NEVER!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(state), cwd=example.checkout,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> ExampleRepository:
    return make_example(tmp_path_factory.mktemp("example"))


def judge(state: Path, *arguments: str, cwd: Path | None = None, given: str = "") -> subprocess.CompletedProcess[str]:
    return assay("judge", *arguments, environ=environment(state), cwd=cwd, given=given)


def test_a_verdict_on_a_branch_here_is_found_by_its_commit(example: ExampleRepository, tmp_path: Path) -> None:
    subject = json.loads(judge(tmp_path, "--base", "main", "--json", cwd=example.checkout).stdout)["subject"]
    commit = f"{subject['repository']}@{subject['head_sha']}"
    done = assay("wait", commit, "--timeout", "0", environ=environment(tmp_path))
    assert (done.returncode, done.stdout.splitlines()[0].partition(": ")[2]) == (1, "rejected, half finished"), (
        done.stdout
    )


def test_the_example_counts_in_no_figure_and_can_be_shown(tmp_path: Path) -> None:
    eval_id = json.loads(judge(tmp_path, "--example", "--json").stdout)["eval_id"]
    assert "Nothing was judged in this time" in assay("stats", environ=environment(tmp_path)).stdout
    assert assay("show", eval_id, environ=environment(tmp_path)).returncode == 0


@pytest.mark.parametrize(
    "command",
    [
        ("judge", "--example", "--tier", "llm"),
        ("bench", "rows.jsonl", "--out", "run", "--tier", "hybrid"),
        ("bench", "rows.jsonl", "--out", "run", "--tier", "llm"),
    ],
)
def test_a_tier_that_needs_a_model_is_refused_without_a_key(command: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("")
    done = refused(*command, environ=environment(tmp_path), cwd=tmp_path)
    assert (done.returncode, done.stderr.startswith("assay: ANTHROPIC_API_KEY is not set.")) == (2, True), done.stderr


def test_the_example_is_rejected_at_its_line_without_any_key(state: Path) -> None:
    done = judge(state, "--example")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("Rejected: half finished at upload.py:")
    assert "    |     pass" in done.stdout
    for label in ("Next step", "Read ", "Model ", "Cost ", "$0"):
        assert label in done.stdout
    assert "\x1b" not in done.stdout
    assert done.stderr == ""


def test_a_checkout_is_judged_with_its_issue_report_and_case(state: Path, example: ExampleRepository) -> None:
    (example.checkout / "draft.txt").write_text("not committed")
    done = judge(
        state, "--base", "main", "--issue", "-", "--junit", str(example.junit), "--json",
        cwd=example.checkout, given=example.issue.read_text(),
    )  # fmt: skip
    verdict = VERDICT_ADAPTER.validate_json(done.stdout)
    assert (done.returncode, verdict.decision) == (1, "reject")
    assert [criterion.claimed for criterion in verdict.criteria][:1] == [True]


def test_code_scanning_gets_the_findings_and_every_rule(state: Path, example: ExampleRepository) -> None:
    done = judge(state, "--tier", "heuristic", "--format", "sarif", cwd=example.checkout)
    [run] = json.loads(done.stdout)["runs"]
    rules = {one["id"]: one for one in run["tool"]["driver"]["rules"]}
    assert (done.returncode, done.stderr) == (1, "")
    assert {"stub_body", "test_without_assertion"} <= {one["ruleId"] for one in run["results"]}
    assert set(REGISTERED_NAMES) < set(rules)
    assert "a new function whose whole body" in rules["stub_body"]["help"]["text"].casefold()


def test_one_form_is_printed(state: Path) -> None:
    done = refused("judge", "--example", "--json", "--format", "sarif", environ=environment(state))
    assert (done.returncode, "not allowed with argument" in done.stderr) == (2, True)


def test_what_is_not_committed_is_said(spoken: list[str]) -> None:
    assert any("Note       Uncommitted changes are not judged: draft.txt." in line for line in spoken)


def test_a_saved_dossier_names_its_version_and_gives_the_same_decision(
    state: Path, example: ExampleRepository, tmp_path: Path
) -> None:
    saved = str(tmp_path / "dossier.json")
    live = judge(state, "--issue", str(example.issue), "--json", "--save-dossier", saved, cwd=example.checkout)
    recorded = judge(tmp_path / "other", "--dossier", saved, "--json")
    assert (live.returncode, recorded.returncode) == (1, 1), recorded.stderr
    assert decided(live.stdout) == decided(recorded.stdout)
    assert json.loads(Path(saved).read_text())["dossier_version"] == 1


def decided(printed: str) -> dict[str, Any]:
    ignored = {"eval_id", "subject", "created_at", "judge_latency_ms"}
    return {name: value for name, value in json.loads(printed).items() if name not in ignored}


def test_a_failing_report_is_an_abstain_with_the_report(
    state: Path, example: ExampleRepository, tmp_path: Path
) -> None:
    report = tmp_path / "junit.xml"
    report.write_text(
        '<testsuite tests="1" failures="1"><testcase name="t"><failure message="no retry"/></testcase></testsuite>'
    )
    done = judge(state, "--junit", str(report), cwd=example.checkout)
    assert done.returncode == 3
    assert done.stdout.startswith("Not judged: CI failed (junit: junit.xml)")
    assert "  | t: no retry" in done.stdout


@pytest.mark.parametrize("option", ["--base", "--head"])
def test_a_ref_that_is_not_there_is_the_callers_mistake(state: Path, example: ExampleRepository, option: str) -> None:
    done = refused("judge", option, "nowhere", environ=environment(state), cwd=example.checkout)
    assert done.returncode == 2
    assert done.stderr.startswith(f"assay: {option}: there is no commit")
    assert done.stdout == ""


def test_a_folder_that_is_no_checkout_is_the_callers_mistake(state: Path, tmp_path: Path) -> None:
    done = refused("judge", environ=environment(state), cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_place_for_the_dossier_that_is_none_is_said_before_anything_is_started(
    example: ExampleRepository, tmp_path: Path
) -> None:
    for place in ("/nowhere/d.json", str(tmp_path)):
        environ = environment(tmp_path / "unused")
        done = refused("judge", "--save-dossier", place, environ=environ, cwd=example.checkout)
        assert (done.returncode, done.stdout) == (2, "")
    assert not (tmp_path / "unused").exists()


@pytest.mark.parametrize("arguments", [("--issue", "-"), ("--dossier", "-")])
def test_a_standard_input_that_is_closed_is_the_callers_to_change(
    arguments: tuple[str, str], example: ExampleRepository, tmp_path: Path
) -> None:
    command = ["sh", "-c", 'exec "$0" judge "$@" <&-', str(ASSAY), *arguments]
    done = subprocess.run(
        command, env=environment(tmp_path), cwd=example.checkout, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "which is closed" in done.stderr) == (2, True), done.stderr


def test_a_body_that_is_no_text_is_refused(state: Path, example: ExampleRepository) -> None:
    done = refused("judge", "--body", "a\udcff", environ=environment(state), cwd=example.checkout)
    assert (done.returncode, done.stderr) == (2, "assay: --body is not UTF-8 at character 1. Write it as UTF-8.\n")


def test_standard_input_is_read_once(state: Path, example: ExampleRepository) -> None:
    both = ("--issue", "-", "--case", "-")
    done = refused("judge", *both, environ=environment(state), cwd=example.checkout, given="summary: x")
    assert (done.returncode, "can't both read standard input" in done.stderr) == (2, True)


def test_a_working_directory_that_was_deleted_is_the_callers_to_change(tmp_path: Path) -> None:
    command = ["sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$0" judge', str(ASSAY)]
    done = subprocess.run(command, env=environment(tmp_path), cwd=tmp_path, capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1]  # the shell that starts Assay may complain of the folder before
    assert (done.returncode, last) == (
        2, "assay: The working directory was deleted. Go to a checkout, or use --dossier FILE."
    )  # fmt: skip


def test_a_dossier_that_can_not_be_saved_is_said_and_is_no_verdict(state: Path, example: ExampleRepository) -> None:
    done = refused("judge", "--save-dossier", "/nowhere/d.json", environ=environment(state), cwd=example.checkout)
    assert done.returncode == 2
    assert done.stderr.startswith("assay: --save-dossier: /nowhere/d.json can't be written")


def test_the_heuristic_tier_loads_no_sdk(spoken: list[str]) -> None:
    assert spoken[-1] == "1 []"


@pytest.mark.slow
def test_a_text_that_its_parser_does_not_survive_is_judged_by_its_lines(state: Path, tmp_path: Path) -> None:
    """Twelve kilobytes for which tree-sitter takes more than four gigabytes."""
    example = make_example(tmp_path)
    (example.checkout / "notes.py").write_text("/*\n" * 4_000)
    for words in (
        ["add", "notes.py"],
        ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "Add notes"],
    ):
        subprocess.run(["git", *words], cwd=example.checkout, check=True)
    done = judge(state, "--base", "main", "--tier", "heuristic", "--json", cwd=example.checkout)
    verdict = VERDICT_ADAPTER.validate_json(done.stdout)
    assert done.returncode == 1
    assert "notes.py" in verdict.coverage.read
    assert done.stderr == "a text of 12000 bytes is read by its lines: tree_sitter_python did not survive it\n"


def test_a_restored_module_whose_functions_are_called_elsewhere_is_not_rejected(state: Path, tmp_path: Path) -> None:
    laptop = Laptop(tmp_path / "widgets")
    laptop.git("switch", "--quiet", "main")
    laptop.commits({"cli.py": "from store import _load\n\nprint(_load('a'))\n"}, "Use the store")
    laptop.git("switch", "--quiet", "--force-create", "restore")
    laptop.commits({"store.py": "def _load(path):\n    return open(path).read()\n"}, "Restore the store")
    saved = str(tmp_path / "dossier.json")
    done = judge(state, "--tier", "heuristic", "--json", "--save-dossier", saved, cwd=laptop.folder)
    assert (done.returncode, VERDICT_ADAPTER.validate_json(done.stdout).findings) == (3, ()), done.stderr

    laptop.git("switch", "--quiet", "--create", "forget", "main")
    laptop.commits({"store.py": "def _save(path):\n    return open(path).read()\n"}, "Save")
    done = judge(state, "--tier", "heuristic", "--json", "--save-dossier", saved, cwd=laptop.folder)
    (finding,) = VERDICT_ADAPTER.validate_json(done.stdout).findings
    assert (done.returncode, finding.signal, finding.fact) == (3, "function_uncalled", False)
    recorded = judge(state, "--tier", "heuristic", "--json", "--dossier", saved)
    assert (recorded.returncode, VERDICT_ADAPTER.validate_json(recorded.stdout).findings) == (3, (finding,))


def test_a_file_that_the_issue_names_and_that_is_not_there_is_missing(state: Path, tmp_path: Path) -> None:
    laptop = Laptop(tmp_path / "widgets")
    laptop.commits({"store.py": "SIZE = 2\n", "docs/deep/there.md": "It is there.\n"}, "Store")
    (tmp_path / "issue.md").write_text("# Store\n\n- [ ] `docs/store.md` explains it\n- [ ] See `deep/there.md`\n")
    done = judge(state, "--issue", str(tmp_path / "issue.md"), "--tier", "heuristic", "--json", cwd=laptop.folder)
    criteria = VERDICT_ADAPTER.validate_json(done.stdout).criteria
    found = [(criterion.status.value, criterion.note) for criterion in criteria]
    assert found == [("missing", "there is no docs/store.md"), ("unverifiable", "")]


def test_an_empty_range_and_a_case_file_without_a_case_are_the_callers_to_mend(
    example: ExampleRepository, tmp_path: Path
) -> None:
    environ = environment(tmp_path)
    done = refused("judge", "--base", "main", "--head", "main", environ=environ, cwd=example.checkout)
    assert done.stderr.startswith('assay: Nothing to judge: "main" is what changes are compared with.')
    (tmp_path / "case.md").write_text("No block.")
    case = str(tmp_path / "case.md")
    done = refused("judge", "--base", "main", "--case", case, environ=environ, cwd=example.checkout)
    assert done.stderr.startswith(
        "assay: --case: the file holds no case: expected Markdown with a fenced `assay` block"
    )


GITHUB = "https://api.github.com"
ENTERPRISE = "https://ghe.example/api/v3"


def arguments(*given: str) -> argparse.Namespace:
    return build_parser().parse_args(["judge", *given])


def complaint(*given: str) -> str:
    with (
        pytest.raises(InputError) as caught,
        open_judge_inputs(arguments(*given), Settings(data_dir=Path())),
    ):
        pass
    return str(caught.value)


@pytest.mark.parametrize(
    ("target", "api_url"),
    [
        ("acme/wid.gets-2#12", GITHUB),
        ("https://github.com/acme/wid.gets-2/pull/12", GITHUB),
        ("https://www.github.com/acme/wid.gets-2/pull/12/files#diff-1", GITHUB),
        ("https://ghe.example/acme/wid.gets-2/pull/12?w=1", ENTERPRISE),
    ],
)
def test_a_pull_request_is_named_in_short_or_by_its_page(target: str, api_url: str) -> None:
    assert parse_pull_request(target, api_url) == ("acme/wid.gets-2", 12)


@pytest.mark.parametrize(
    "target", ["12", "acme#12", "acme/widgets", "acme/widgets#0", "acme/widgets#x", "ftp://github.com/a/b/pull/1",
               "https://github.com/acme/widgets/issues/12", "https://github.com/acme/widgets/pull/12x"],
)  # fmt: skip
def test_what_names_no_pull_request_is_refused_by_example(target: str) -> None:
    with pytest.raises(InputError, match=r"is no pull request\. Expected: OWNER/REPO#12 or"):
        parse_pull_request(target, GITHUB)


def test_a_page_of_another_github_is_refused_with_the_setting_to_change() -> None:
    with pytest.raises(InputError) as caught:
        parse_pull_request("https://github.com/acme/widgets/pull/12", ENTERPRISE)
    assert str(caught.value) == snapshot(
        "github.com is not the GitHub that is set up here (ghe.example). Set ASSAY_GITHUB_API_URL to its API."
    )
    assert web_host(GITHUB) == "github.com"
    assert web_host("https://api.acme.ghe.com") == "acme.ghe.com"


@pytest.mark.parametrize("option", ["base", "head", "issue", "case", "body", "junit"])
@pytest.mark.parametrize("what", [("acme/widgets#1",), ("--dossier", "x"), ("--example",)])
def test_options_of_a_checkout_are_refused_beside_anything_else(option: str, what: tuple[str, ...]) -> None:
    assert complaint(*what, f"--{option}", "x").startswith(f"--{option} belongs to a checkout")


def test_a_file_that_is_not_there_is_named_with_its_option(tmp_path: Path) -> None:
    assert complaint("--dossier", "/nowhere.json") == snapshot(
        "--dossier: /nowhere.json can't be read: No such file or directory."
    )
    assert complaint("--issue", str(tmp_path)).endswith("can't be read: Is a directory.")
    assert complaint("--junit", "/nowhere.xml").startswith("--junit: ")


def test_a_file_that_is_not_utf_8_is_refused_at_its_byte(tmp_path: Path) -> None:
    (tmp_path / "issue.md").write_bytes(b"caf\xe9")
    assert "is not UTF-8 at byte 3" in complaint("--issue", str(tmp_path / "issue.md"))


def test_a_recorded_dossier_is_read_and_its_first_error_named(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text(dossier().model_dump_json(exclude_unset=True))
    with open_judge_inputs(arguments("--dossier", str(path)), Settings(data_dir=Path())) as matter:
        assert matter.request.pull.number == 12
        assert matter.notes == ()
    path.write_text('{"pull_request": 1}')
    assert "Dossier refused at pull_request" in complaint("--dossier", str(path))
