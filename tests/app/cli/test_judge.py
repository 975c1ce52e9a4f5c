"""`assay judge` as a process, of changes and of outputs: what it judges, what it prints, its exit code, and what it never loads."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from pytest_httpserver import HTTPServer

from app.cli.judge import parse_pull_request, web_host
from tests.app.cli.assay_command import ASSAY, environment, run_assay, run_refused
from tests.worker.adapters.git.conftest import LocalRepository
from tests.world.fake_anthropic import FakeAnthropic
from tests.world.replies import reject
from worker.adapters.git.example_repository import ExampleRepository, make_example
from worker.domain.verdict.verdict import VERDICT_ADAPTER
from worker.errors import InputError
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
    return run_assay("judge", *arguments, environ=environment(state), cwd=cwd, stdin=given)


def test_a_verdict_on_a_branch_here_is_found_by_its_commit(example: ExampleRepository, tmp_path: Path) -> None:
    subject = json.loads(judge(tmp_path, "--base", "main", "--json", cwd=example.checkout).stdout)["subject"]
    commit = f"{subject['repository']}@{subject['head_sha']}"
    done = run_assay("wait", commit, "--timeout", "0", environ=environment(tmp_path))
    assert (done.returncode, done.stdout.splitlines()[0].partition(": ")[2]) == (1, "rejected, half finished"), (
        done.stdout
    )


def test_the_example_counts_in_no_figure_and_can_be_shown(tmp_path: Path) -> None:
    eval_id = json.loads(judge(tmp_path, "--example", "--json").stdout)["eval_id"]
    assert "Nothing was judged in this time" in run_assay("stats", environ=environment(tmp_path)).stdout
    assert run_assay("show", eval_id, environ=environment(tmp_path)).returncode == 0


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


CHECKOUT_OPTIONS = ("base", "head", "issue", "case", "body", "junit")
OTHER_INPUTS = (("acme/widgets#1",), ("--dossier", "x"), ("--example",))
OUTPUT = ("judge", "--output", "text.md")
WRONG_CALLS = [
    (("judge", "--base", "nowhere"), "assay: --base: there is no commit"),
    (("judge", "--head", "nowhere"), "assay: --head: there is no commit"),
    (("judge", "--base", "main", "--head", "main"), 'assay: Nothing to judge: "main" is what changes are compared with.'),
    (("judge", "--save-dossier", "/nowhere/d.json"), "assay: --save-dossier: /nowhere/d.json can't be written"),
    (("judge", "--save-dossier", "."), "assay: --save-dossier: . can't be written"),
    (("judge", "--body", "a\udcff"), "assay: --body is not UTF-8 at character 1. Write it as UTF-8."),
    (("judge", "--issue", "-", "--case", "-"), "can't both read standard input"),
    (("judge", "--issue", "latin.md"), "assay: --issue: latin.md is not UTF-8 at byte 3"),
    (("judge", "--issue", "."), "assay: --issue: . can't be read: Is a directory."),
    (("judge", "--base", "main", "--case", "text.md"), "assay: --case: the file holds no case: expected Markdown with a fenced"),
    (("judge", "--junit", "/nowhere.xml"), "assay: --junit: /nowhere.xml can't be read"),
    (("judge", "--dossier", "/nowhere.json"), "assay: --dossier: /nowhere.json can't be read: No such file or directory."),
    (("judge", "--dossier", "dossier.json"), "Dossier refused at pull_request"),
    (("judge", "--example", "--json", "--format", "sarif"), "not allowed with argument"),
    (("judge", "--example", "--tier", "llm"), "assay: ANTHROPIC_API_KEY is not set."),
    (("bench", "text.md", "--out", "run", "--tier", "hybrid"), "assay: ANTHROPIC_API_KEY is not set."),
    (("bench", "text.md", "--out", "run", "--tier", "llm"), "assay: ANTHROPIC_API_KEY is not set."),
    (("judge", "--output", "gone.txt"), "assay: --output: gone.txt can't be read"),
    (("judge", "--output", "latin.md"), "assay: --output: latin.md is not UTF-8 at byte 3"),
    (("judge", "--output", "-", "--criteria", "-"), "can't both read standard input"),
    ((*OUTPUT, "--criteria", "gone.md"), "assay: --criteria: gone.md can't be read"),
    ((*OUTPUT, "--tier", "llm"), "--tier does not go with --output"),
    ((*OUTPUT, "--format", "sarif"), "--format does not go with --output"),
    ((*OUTPUT, "--issue", "text.md"), "--issue does not go with --output"),
    (("judge", "--criteria", "text.md"), "assay: --criteria belongs to --output"),
    *(
        (("judge", *other, f"--{option}", "x"), f"assay: --{option} belongs to a checkout")
        for option in CHECKOUT_OPTIONS
        for other in OTHER_INPUTS
    ),
]  # fmt: skip


@pytest.mark.parametrize(("command", "message"), WRONG_CALLS)
def test_a_wrong_call_is_refused_before_anything_is_started(
    command: tuple[str, ...], message: str, example: ExampleRepository, tmp_path: Path
) -> None:
    for name, content in (
        ("latin.md", b"caf\xe9"),
        ("text.md", b"No block."),
        ("dossier.json", b'{"pull_request": 1}'),
    ):
        (example.checkout / name).write_bytes(content)
    done = run_refused(*command, environ=environment(tmp_path / "unused"), cwd=example.checkout)
    assert message in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "unused").exists()


def test_a_folder_that_is_no_checkout_is_the_callers_mistake(tmp_path: Path) -> None:
    assert "Traceback" not in run_refused("judge", environ=environment(tmp_path), cwd=tmp_path).stderr


@pytest.mark.parametrize("arguments", [("--issue", "-"), ("--dossier", "-")])
def test_a_standard_input_that_is_closed_is_the_callers_to_change(
    arguments: tuple[str, str], example: ExampleRepository, tmp_path: Path
) -> None:
    command = ["sh", "-c", 'exec "$0" judge "$@" <&-', str(ASSAY), *arguments]
    done = subprocess.run(
        command, env=environment(tmp_path), cwd=example.checkout, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "which is closed" in done.stderr) == (2, True), done.stderr


def test_a_working_directory_that_was_deleted_is_the_callers_to_change(tmp_path: Path) -> None:
    command = ["sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$0" judge', str(ASSAY)]
    done = subprocess.run(command, env=environment(tmp_path), cwd=tmp_path, capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1]  # the shell that starts Assay may complain of the folder before
    assert (done.returncode, last) == (
        2, "assay: The working directory was deleted. Go to a checkout, or use --dossier FILE."
    )  # fmt: skip


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
    assert done.stderr == "parser failed, text of 12000 bytes read by lines: tree_sitter_python\n"


def test_a_restored_module_whose_functions_are_called_elsewhere_is_not_rejected(state: Path, tmp_path: Path) -> None:
    laptop = LocalRepository(tmp_path / "widgets")
    laptop.git("switch", "--quiet", "main")
    laptop.commit({"cli.py": "from store import _load\n\nprint(_load('a'))\n"}, "Use the store")
    laptop.git("switch", "--quiet", "--force-create", "restore")
    laptop.commit({"store.py": "def _load(path):\n    return open(path).read()\n"}, "Restore the store")
    saved = str(tmp_path / "dossier.json")
    done = judge(state, "--tier", "heuristic", "--json", "--save-dossier", saved, cwd=laptop.folder)
    assert (done.returncode, VERDICT_ADAPTER.validate_json(done.stdout).findings) == (3, ()), done.stderr

    laptop.git("switch", "--quiet", "--create", "forget", "main")
    laptop.commit({"store.py": "def _save(path):\n    return open(path).read()\n"}, "Save")
    done = judge(state, "--tier", "heuristic", "--json", "--save-dossier", saved, cwd=laptop.folder)
    (finding,) = VERDICT_ADAPTER.validate_json(done.stdout).findings
    assert (done.returncode, finding.signal, finding.fact) == (3, "function_uncalled", False)
    recorded = judge(state, "--tier", "heuristic", "--json", "--dossier", saved)
    assert (recorded.returncode, VERDICT_ADAPTER.validate_json(recorded.stdout).findings) == (3, (finding,))


def test_a_file_that_the_issue_names_and_that_is_not_there_is_missing(state: Path, tmp_path: Path) -> None:
    laptop = LocalRepository(tmp_path / "widgets")
    laptop.commit({"store.py": "SIZE = 2\n", "docs/deep/there.md": "It is there.\n"}, "Store")
    (tmp_path / "issue.md").write_text("# Store\n\n- [ ] `docs/store.md` explains it\n- [ ] See `deep/there.md`\n")
    done = judge(state, "--issue", str(tmp_path / "issue.md"), "--tier", "heuristic", "--json", cwd=laptop.folder)
    criteria = VERDICT_ADAPTER.validate_json(done.stdout).criteria
    found = [(criterion.status.value, criterion.note) for criterion in criteria]
    assert found == [("missing", "there is no docs/store.md"), ("unverifiable", "")]


GITHUB = "https://api.github.com"
ENTERPRISE = "https://ghe.example/api/v3"


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


TEXT = "name,price\napple,1\n"


@pytest.fixture
def model() -> Iterator[FakeAnthropic]:
    with HTTPServer(threaded=True) as server:
        played = FakeAnthropic(server)
        yield played
        played.assert_script_done()


@pytest.fixture
def told(model: FakeAnthropic, tmp_path: Path) -> dict[str, str]:
    (tmp_path / "out.txt").write_text(TEXT)
    (tmp_path / "asked.md").write_text("- has ten rows\n")
    return environment(
        tmp_path / "state", ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=model.url, ASSAY_MODEL_ATTEMPTS="1"
    )


def judge_output(
    told: dict[str, str], folder: Path, *arguments: str, given: str = ""
) -> subprocess.CompletedProcess[str]:
    return run_assay("judge", *arguments, environ=told, cwd=folder, stdin=given)


@pytest.mark.slow
def test_one_output_is_judged_and_told(model: FakeAnthropic, told: dict[str, str], tmp_path: Path) -> None:
    model.reply_with(reject("acceptance_gap"))
    done = judge_output(told, tmp_path, "--output", "out.txt", "--criteria", "asked.md")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("FAIL: ")
    assert "FAIL        AC1  has ten rows" in done.stdout


@pytest.mark.slow
def test_an_outage_is_its_own_exit_code_and_word(model: FakeAnthropic, told: dict[str, str], tmp_path: Path) -> None:
    model.reply_with_error(529)
    done = judge_output(told, tmp_path, "--output", "out.txt", "--criteria", "asked.md", "--json")
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (3, "UNAVAILABLE")


@pytest.mark.slow
def test_without_criteria_nobody_is_asked(model: FakeAnthropic, told: dict[str, str], tmp_path: Path) -> None:
    done = judge_output(told, tmp_path, "--output", "-", given=TEXT)
    assert (done.returncode, done.stdout, model.requests) == (
        0, "PASS: No acceptance criteria were given, so nothing was judged.\n", []
    )  # fmt: skip


@pytest.mark.slow
def test_a_batch_is_judged_line_by_line_with_the_criteria_of_each(
    model: FakeAnthropic, told: dict[str, str], tmp_path: Path
) -> None:
    rows = [
        {"task_index": 0, "status": "completed", "summary": "a\n", "acceptance_criteria": "It is b."},
        {"task_index": 1, "summary": "unchanged"},
        {"output": "c\n", "acceptance_criteria": ["It is d."]},
    ]
    (tmp_path / "batch.jsonl").write_text("\n\n".join(map(json.dumps, rows)))
    model.reply_with(reject("acceptance_gap")).reply_with_error(529)
    done = judge_output(told, tmp_path, "--output", "batch.jsonl")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1, done.stderr
    assert lines[1] == rows[1]
    assert [one["judge"]["verdict"] for one in (lines[0], lines[2])] == ["FAIL", "UNAVAILABLE"]
    assert {key: lines[0][key] for key in rows[0]} == rows[0]
    assert "AC1: It is b." in model.requests[0].text
    assert "AC1: It is d." in model.requests[1].text


@pytest.mark.slow
def test_criteria_beside_a_batch_are_for_those_that_bring_none(
    model: FakeAnthropic, told: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "batch.jsonl").write_text('{"output": "a"}')
    model.reply_with(reject("acceptance_gap"))
    assert judge_output(told, tmp_path, "--output", "batch.jsonl", "--criteria", "asked.md").returncode == 1
    assert "AC1: has ten rows" in model.requests[0].text


@pytest.mark.slow
def test_a_batch_without_criteria_comes_out_as_it_went_in(told: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "batch.jsonl").write_text('{"output": "ä", "n": 1}\n{"summary": "b"}\n')
    done = judge_output(told, tmp_path, "--output", "batch.jsonl")
    assert (done.returncode, done.stdout) == (0, (tmp_path / "batch.jsonl").read_text())


@pytest.mark.slow
def test_a_batch_whose_store_is_away_is_unavailable(told: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "batch.jsonl").write_text('{"output": "a", "acceptance_criteria": "x"}\n')
    away = {**told, "REDIS_URL": "unix:///nowhere/r.sock", "ASSAY_STORE_KEYS": "A" * 43 + "="}
    done = judge_output(away, tmp_path, "--output", "batch.jsonl")
    assert done.returncode == 3, done.stderr
    assert json.loads(done.stdout)["judge"]["verdict"] == "UNAVAILABLE"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nonsense", "bad.jsonl:2: not JSON"),
        ("[]", "bad.jsonl:2: expected a JSON object"),
        ('{"output": 1}', 'bad.jsonl:2: "output" (or "summary"): expected a text'),
        ('{"output": "x", "acceptance_criteria": 5}', "bad.jsonl:2: acceptance_criteria: expected a text or a list"),
        ('{"output": "x", "acceptance_criteria": [5]}', "bad.jsonl:2: acceptance_criteria: expected a text or a list"),
        (
            json.dumps({"output": "x", "acceptance_criteria": ["a"] * 100}),
            "bad.jsonl:2: acceptance_criteria: at most 99",
        ),
        ("[" * 100_000, "bad.jsonl:2: not JSON"),
    ],
    ids=["nonsense", "list", "no text", "number", "numbers", "too many criteria", "too deep"],
)
@pytest.mark.slow
def test_a_bad_line_is_told_before_any_is_judged(
    model: FakeAnthropic, told: dict[str, str], tmp_path: Path, line: str, said: str
) -> None:
    (tmp_path / "bad.jsonl").write_text(f'{{"output": "a", "acceptance_criteria": "x"}}\n{line}\n')
    done = judge_output(told, tmp_path, "--output", "bad.jsonl")
    assert done.returncode == 2
    assert said in done.stderr
    assert model.requests == []
