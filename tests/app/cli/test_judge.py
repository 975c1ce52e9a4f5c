"""`assay judge` of changes and outputs: what it judges and prints, its exit code, and what it does not load."""

import contextlib
import io
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
from app.cli.parser import CommandResult, Exit
from tests.app.cli.assay_command import ASSAY, environment, run_assay, run_command, run_refused
from tests.worker.adapters.git.conftest import LocalRepository
from tests.world.fake_anthropic import FakeAnthropic
from tests.world.replies import reject
from worker.adapters.git.example_repository import ExampleRepository, make_example
from worker.domain.verdict.verdict import VERDICT_ADAPTER
from worker.errors import InputError
from worker.signals.heuristic_opinion import REGISTERED_NAMES

NEVER = ("githubkit", "anthropic", "litestar", "rq", "structlog", "uvicorn", "redis", "cryptography.x509")


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> ExampleRepository:
    made = make_example(tmp_path_factory.mktemp("example"))
    (made.checkout / "draft.txt").write_text("not committed")
    return made


def judge(folder: Path, *arguments: str) -> CommandResult:
    with contextlib.chdir(folder):
        return run_command("judge", *arguments)


def patch_stdin(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


@pytest.mark.usefixtures("store_of_judge")
def test_wait_finds_a_local_verdict_by_its_commit(example: ExampleRepository) -> None:
    subject = json.loads(judge(example.checkout, "--base", "main", "--json").text)["subject"]
    code, text = run_command("wait", f"{subject['repository']}@{subject['head_sha']}", "--timeout", "0")
    assert (code, text.splitlines()[0].partition(": ")[2]) == (Exit.REJECT, "rejected, half finished")


@pytest.mark.usefixtures("store_of_judge")
def test_example_verdict_counts_in_no_statistic_but_can_be_shown(tmp_path: Path) -> None:
    eval_id = json.loads(judge(tmp_path, "--example", "--json").text)["eval_id"]
    assert "Nothing was judged in this time" in run_command("stats").text
    assert run_command("show", eval_id).code == Exit.ACCEPT


def test_example_is_rejected_at_its_line_without_an_api_key(tmp_path: Path) -> None:
    done = run_assay("judge", "--example", environ=environment(tmp_path))
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("Rejected: half finished at upload.py:")
    for label in ("    |     pass", "Next step", "Read ", "Model ", "Cost ", "$0"):
        assert label in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.usefixtures("store_of_judge")
def test_checkout_is_judged_with_its_issue_report_and_case(
    example: ExampleRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch_stdin(monkeypatch, example.issue.read_text())
    code, text = judge(example.checkout, "--base", "main", "--issue", "-", "--junit", str(example.junit), "--json")
    verdict = VERDICT_ADAPTER.validate_json(text)
    assert (code, verdict.decision) == (Exit.REJECT, "reject")
    assert [criterion.claimed for criterion in verdict.criteria][:1] == [True]


@pytest.mark.usefixtures("store_of_judge")
def test_sarif_holds_the_findings_and_every_rule(
    example: ExampleRepository, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = judge(example.checkout, "--tier", "heuristic", "--format", "sarif")
    [run] = json.loads(text)["runs"]
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    assert (code, capsys.readouterr().err) == (Exit.REJECT, "")
    assert {"stub_body", "test_without_assertion"} <= {result["ruleId"] for result in run["results"]}
    assert set(REGISTERED_NAMES) < set(rules)
    assert "a new function whose whole body" in rules["stub_body"]["help"]["text"].casefold()


def test_heuristic_tier_names_uncommitted_changes_and_loads_no_sdk(example: ExampleRepository, tmp_path: Path) -> None:
    script = (
        "import sys\nfrom app.cli.main import main\n"
        f"code = main(['judge', '--tier', 'heuristic', '--base', 'main', '--issue', {str(example.issue)!r},"
        f" '--junit', {str(example.junit)!r}])\n"
        f"print(code, [name for name in {NEVER!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(tmp_path), cwd=example.checkout,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "Note       Uncommitted changes are not judged: draft.txt." in done.stdout
    assert done.stdout.splitlines()[-1] == "1 []"


@pytest.mark.usefixtures("store_of_judge")
def test_saved_dossier_gives_the_same_decision(example: ExampleRepository, tmp_path: Path) -> None:
    saved = tmp_path / "dossier.json"
    live = judge(example.checkout, "--issue", str(example.issue), "--json", "--save-dossier", str(saved))
    recorded = judge(tmp_path, "--dossier", str(saved), "--json")
    assert (live.code, recorded.code) == (Exit.REJECT, Exit.REJECT)
    assert decision_fields(live.text) == decision_fields(recorded.text)
    assert json.loads(saved.read_text())["dossier_version"] == 1


def decision_fields(printed: str) -> dict[str, Any]:
    ignored = {"eval_id", "subject", "created_at", "judge_latency_ms"}
    return {name: value for name, value in json.loads(printed).items() if name not in ignored}


@pytest.mark.usefixtures("store_of_judge")
def test_failing_ci_report_is_an_abstain_that_quotes_the_report(example: ExampleRepository, tmp_path: Path) -> None:
    report = tmp_path / "junit.xml"
    report.write_text(
        '<testsuite tests="1" failures="1"><testcase name="t"><failure message="no retry"/></testcase></testsuite>'
    )
    code, text = judge(example.checkout, "--junit", str(report))
    assert code == Exit.ABSTAIN
    assert text.startswith("Not judged: CI failed (junit: junit.xml)")
    assert "  | t: no retry" in text


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
def test_wrong_call_is_refused_before_anything_starts(
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


def test_folder_without_a_checkout_is_refused(tmp_path: Path) -> None:
    assert "Traceback" not in run_refused("judge", environ=environment(tmp_path), cwd=tmp_path).stderr


def test_closed_standard_input_is_a_usage_error(example: ExampleRepository, tmp_path: Path) -> None:
    command = ["sh", "-c", 'exec "$0" judge --issue - <&-', str(ASSAY)]
    environ = environment(tmp_path)
    done = subprocess.run(command, env=environ, cwd=example.checkout, capture_output=True, text=True, check=False)
    assert (done.returncode, "which is closed" in done.stderr) == (2, True), done.stderr
    assert "which is closed" in run_refused("judge", "--dossier", "-", environ=environ, stdin=None).stderr


def test_deleted_working_directory_is_a_usage_error(tmp_path: Path) -> None:
    command = ["sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$0" judge', str(ASSAY)]
    done = subprocess.run(command, env=environment(tmp_path), cwd=tmp_path, capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1]  # the shell that starts Assay may complain of the folder before
    assert (done.returncode, last) == (
        2, "assay: The working directory was deleted. Go to a checkout, or use --dossier FILE."
    )  # fmt: skip


@pytest.mark.slow
def test_file_that_crashes_its_parser_is_judged_by_its_lines(tmp_path: Path) -> None:
    """tree-sitter takes more than four gigabytes for these twelve kilobytes."""
    checkout = make_example(tmp_path).checkout
    (checkout / "notes.py").write_text("/*\n" * 4_000)
    for arguments in (
        ["add", "notes.py"],
        ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "Add notes"],
    ):
        subprocess.run(["git", *arguments], cwd=checkout, check=True)
    command = ("judge", "--base", "main", "--tier", "heuristic", "--json")
    done = run_assay(*command, environ=environment(tmp_path / "state"), cwd=checkout)
    verdict = VERDICT_ADAPTER.validate_json(done.stdout)
    assert done.returncode == 1
    assert "notes.py" in verdict.coverage.read
    assert done.stderr == "parser failed, text of 12000 bytes read by lines: tree_sitter_python\n"


@pytest.mark.usefixtures("store_of_judge")
def test_uncalled_function_finding_looks_for_callers_in_the_whole_checkout(tmp_path: Path) -> None:
    repository = LocalRepository(tmp_path / "widgets")
    repository.git("switch", "--quiet", "main")
    repository.commit({"cli.py": "from store import _load\n\nprint(_load('a'))\n"}, "Use the store")
    repository.git("switch", "--quiet", "--force-create", "restore")
    repository.commit({"store.py": "def _load(path):\n    return open(path).read()\n"}, "Restore the store")
    saved = str(tmp_path / "dossier.json")
    arguments = ("--tier", "heuristic", "--json", "--save-dossier", saved)
    code, text = judge(repository.folder, *arguments)
    assert (code, VERDICT_ADAPTER.validate_json(text).findings) == (Exit.ABSTAIN, ())

    repository.git("switch", "--quiet", "--create", "forget", "main")
    repository.commit({"store.py": "def _save(path):\n    return open(path).read()\n"}, "Save")
    code, text = judge(repository.folder, *arguments)
    (finding,) = VERDICT_ADAPTER.validate_json(text).findings
    assert (code, finding.signal, finding.fact) == (Exit.ABSTAIN, "function_uncalled", False)
    recorded = judge(tmp_path, "--tier", "heuristic", "--json", "--dossier", saved)
    assert (recorded.code, VERDICT_ADAPTER.validate_json(recorded.text).findings) == (Exit.ABSTAIN, (finding,))


@pytest.mark.usefixtures("store_of_judge")
def test_criterion_is_missing_when_the_file_it_names_does_not_exist(tmp_path: Path) -> None:
    repository = LocalRepository(tmp_path / "widgets")
    repository.commit({"store.py": "SIZE = 2\n", "docs/deep/there.md": "It is there.\n"}, "Store")
    issue = tmp_path / "issue.md"
    issue.write_text("# Store\n\n- [ ] `docs/store.md` explains it\n- [ ] See `deep/there.md`\n")
    text = judge(repository.folder, "--issue", str(issue), "--tier", "heuristic", "--json").text
    statuses = [(criterion.status.value, criterion.note) for criterion in VERDICT_ADAPTER.validate_json(text).criteria]
    assert statuses == [("missing", "there is no docs/store.md"), ("unverifiable", "")]


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
def test_pull_request_is_named_in_short_or_by_its_url(target: str, api_url: str) -> None:
    assert parse_pull_request(target, api_url) == ("acme/wid.gets-2", 12)


@pytest.mark.parametrize(
    "target", ["12", "acme#12", "acme/widgets", "acme/widgets#0", "acme/widgets#x", "ftp://github.com/a/b/pull/1",
               "https://github.com/acme/widgets/issues/12", "https://github.com/acme/widgets/pull/12x"],
)  # fmt: skip
def test_invalid_pull_request_name_is_refused_with_an_example(target: str) -> None:
    with pytest.raises(InputError, match=r"is no pull request\. Expected: OWNER/REPO#12 or"):
        parse_pull_request(target, GITHUB)


def test_url_of_another_github_is_refused_with_the_setting_to_change() -> None:
    with pytest.raises(InputError) as caught:
        parse_pull_request("https://github.com/acme/widgets/pull/12", ENTERPRISE)
    assert str(caught.value) == snapshot(
        "github.com is not the GitHub that is set up here (ghe.example). Set ASSAY_GITHUB_API_URL to its API."
    )
    assert web_host(GITHUB) == "github.com"
    assert web_host("https://api.acme.ghe.com") == "acme.ghe.com"


TEXT = "name,price\napple,1\n"


@pytest.fixture(scope="module")
def model_server() -> Iterator[HTTPServer]:
    with HTTPServer(threaded=True) as server:
        yield server


@pytest.fixture
def model(
    model_server: HTTPServer, store_of_judge: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FakeAnthropic]:
    """The model of `judge`, and a working directory with an output and its criteria."""
    assert store_of_judge
    model_server.clear()
    fake = FakeAnthropic(model_server)
    for name, value in {"API_KEY": "k", "BASE_URL": fake.url}.items():
        monkeypatch.setenv(f"ANTHROPIC_{name}", value)
    monkeypatch.setenv("ASSAY_MODEL_ATTEMPTS", "1")
    monkeypatch.chdir(tmp_path)
    Path("out.txt").write_text(TEXT)
    Path("criteria.md").write_text("- has ten rows\n")
    yield fake
    fake.assert_script_done()


def judge_output(*arguments: str) -> CommandResult:
    return run_command("judge", "--output", *arguments)


def test_output_is_judged_by_its_criteria(model: FakeAnthropic, capsys: pytest.CaptureFixture[str]) -> None:
    model.reply_with(reject("acceptance_gap"))
    code, text = judge_output("out.txt", "--criteria", "criteria.md")
    assert (code, capsys.readouterr().err) == (Exit.REJECT, "")
    assert text.startswith("FAIL: ")
    assert "FAIL        AC1  has ten rows" in text


def test_model_outage_is_unavailable_with_its_own_exit_code(model: FakeAnthropic) -> None:
    model.reply_with_error(529)
    code, text = judge_output("out.txt", "--criteria", "criteria.md", "--json")
    assert (code, json.loads(text)["verdict"]) == (Exit.ABSTAIN, "UNAVAILABLE")


def test_output_without_criteria_passes_without_asking_a_model(
    model: FakeAnthropic, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch_stdin(monkeypatch, TEXT)
    assert judge_output("-") == (Exit.ACCEPT, "PASS: No acceptance criteria were given, so nothing was judged.\n")
    assert model.requests == []


def test_batch_is_judged_line_by_line_with_its_own_criteria(model: FakeAnthropic) -> None:
    rows = [
        {"task_index": 0, "status": "completed", "summary": "a\n", "acceptance_criteria": "It is b."},
        {"task_index": 1, "summary": "unchanged"},
        {"output": "c\n", "acceptance_criteria": ["It is d."]},
    ]
    Path("batch.jsonl").write_text("\n\n".join(map(json.dumps, rows)))
    model.reply_with(reject("acceptance_gap")).reply_with_error(529)
    code, text = judge_output("batch.jsonl")
    lines = [json.loads(line) for line in text.splitlines()]
    assert (code, lines[1]) == (Exit.REJECT, rows[1])
    assert [row["judge"]["verdict"] for row in (lines[0], lines[2])] == ["FAIL", "UNAVAILABLE"]
    assert {key: lines[0][key] for key in rows[0]} == rows[0]
    assert "AC1: It is b." in model.requests[0].text
    assert "AC1: It is d." in model.requests[1].text


def test_criteria_option_applies_to_batch_lines_without_criteria(model: FakeAnthropic) -> None:
    Path("batch.jsonl").write_text('{"output": "a"}')
    model.reply_with(reject("acceptance_gap"))
    assert judge_output("batch.jsonl", "--criteria", "criteria.md").code == Exit.REJECT
    assert "AC1: has ten rows" in model.requests[0].text


@pytest.mark.usefixtures("model")
def test_batch_without_criteria_is_printed_unchanged() -> None:
    batch = '{"output": "ä", "n": 1}\n{"summary": "b"}\n'
    Path("batch.jsonl").write_text(batch)
    assert judge_output("batch.jsonl") == (Exit.ACCEPT, batch)


@pytest.mark.usefixtures("model")
def test_batch_is_unavailable_when_the_store_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("batch.jsonl").write_text('{"output": "a", "acceptance_criteria": "x"}\n')
    monkeypatch.setenv("REDIS_URL", "unix:///nowhere/r.sock")
    code, text = judge_output("batch.jsonl")
    assert (code, json.loads(text)["judge"]["verdict"]) == (Exit.ABSTAIN, "UNAVAILABLE")


@pytest.mark.parametrize(
    ("line", "message"),
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
def test_invalid_batch_line_is_refused_before_any_is_judged(
    model: FakeAnthropic, tmp_path: Path, line: str, message: str
) -> None:
    Path("bad.jsonl").write_text(f'{{"output": "a", "acceptance_criteria": "x"}}\n{line}\n')
    environ = environment(tmp_path, ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=model.url)
    assert message in run_refused("judge", "--output", "bad.jsonl", environ=environ).stderr
    assert model.requests == []
