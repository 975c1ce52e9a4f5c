"""`assay show`, `replay`, `report`, `forget` and `token`, called in this process and as processes of their own."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from app.cli.parser import Exit
from tests.app.cli.assay_command import environment, run_assay, run_command
from tests.worker.adapters.redis.store_samples import pull_ref
from tests.worker.adapters.redis.test_lease_writes import ledger_entry_of, start_judging_new
from worker.adapters.redis.store import Store
from worker.domain.ids import EvalId, InstallationId
from worker.domain.verdict.verdict import SubjectKind
from worker.errors import InputError

PARENT, CHILD = EvalId("0190aaaa-bbbb-7ccc-8ddd-000000000000"), EvalId("0190aaaa-bbbb-7ccc-8ddd-000000000001")


@pytest.fixture(autouse=True)
def recorded(records: Store) -> None:
    """A verdict of which nothing is kept, and one on a CI check beside it."""
    fence = start_judging_new(records).lease.fence
    parent = ledger_entry_of(PARENT, fence)
    subject = parent.verdict.subject.model_copy(update={"kind": SubjectKind.CI_CHECK})
    records.ledger.append(pull_ref(), parent)
    records.ledger.append(pull_ref(), ledger_entry_of(CHILD, fence, parent_eval_id=PARENT, subject=subject))


def said(*given: str) -> str:
    code, text = run_command(*given)
    assert code == Exit.ACCEPT
    return " ".join(text.split())


def test_a_check_s_verdict_is_shown_as_what_it_is() -> None:
    assert f"has no dossier of its own. Code made it beside {PARENT}" in said("show", CHILD)
    assert "(ASSAY_RETENTION_DAYS)" in said("show", PARENT)


@pytest.mark.parametrize("command", ["replay", "report"])
def test_what_never_had_a_dossier_is_not_blamed_on_the_retention(command: str) -> None:
    with pytest.raises(InputError, match=f"^{CHILD} can't be judged again or reported: a verdict on a CI check has no"):
        said(command, CHILD)
    with pytest.raises(InputError, match="ASSAY_RETENTION_DAYS says how long"):
        said(command, PARENT)


def test_a_token_is_printed_once_listed_without_itself_and_revoked(store: Store) -> None:
    code, text = run_command("token", "create", "agent", "--installation", "5")
    token = text.split()[0]
    assert (code, store.tokens().scope(token)) == (Exit.ACCEPT, {InstallationId(5)})
    assert run_command("token", "create", "agent", "--installation", "6").code == Exit.USAGE
    listed = said("token", "list")
    assert (listed.startswith("agent"), token in listed) == (True, False)
    assert [run_command("token", "revoke", "agent").code for _ in range(2)] == [Exit.ACCEPT, Exit.USAGE]
    assert store.tokens().scope(token) is None


EXAMPLE = "local/widgets"


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture
def example(state: Path) -> dict[str, Any]:
    """The verdict on the example, on record."""
    return verdict_of(run(state, "judge", "--example", "--json"))


def run(state: Path, *arguments: str, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    return run_assay(*arguments, environ=environment(state, **more), cwd=cwd)


def verdict_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_a_verdict_is_shown_stage_by_stage_and_to_programs_with_its_record(
    state: Path, example: dict[str, Any]
) -> None:
    done = run(state, "show", example["eval_id"])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Rejected: half finished at upload.py:")
    for said in ("validators   success", "route        code alone", "Redacted     nothing was sent to a model"):
        assert said in done.stdout
    told = verdict_of(run(state, "show", example["eval_id"], "--json"))
    assert told["verdict"] == example
    assert [step["stage"] for step in told["audit"]["steps"]][-2:] == ["ruling", "verdict"]
    assert told["kept_until"]


NOT_ON_RECORD = "0199aaaa-0000-7000-8000-000000000001"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("show", NOT_ON_RECORD), "is on record here"),
        (("replay", NOT_ON_RECORD), "is on record here"),
        (("report", NOT_ON_RECORD), "is on record here"),
        (("replay", "EVAL_ID", "--model", "claude-opus-5"), "ANTHROPIC_API_KEY is not set"),
        (("report", "EVAL_ID", "--out", "/nowhere/report.json"), "assay: --out: /nowhere/report.json can't be"),
        (("forget", "widgets"), 'assay: "widgets" is no repository.'),
    ],
)
def test_a_wrong_call_is_the_callers_to_change(
    state: Path, example: dict[str, Any], tmp_path: Path, command: tuple[str, ...], said: str
) -> None:
    done = run(state, *(part.replace("EVAL_ID", example["eval_id"]) for part in command), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_replay_gives_the_same_decision_and_writes_nothing(state: Path, example: dict[str, Any]) -> None:
    done = run(state, "replay", example["eval_id"])
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "The same decision comes out again.")
    told = verdict_of(run(state, "replay", example["eval_id"], "--json"))
    assert (told["is_same"], told["differing"], told["parted"]) == (True, [], None)
    assert "Stored about local/widgets: 0 verdicts" not in run(state, "forget", EXAMPLE).stdout


@pytest.mark.slow
def test_a_replay_with_another_rubric_is_a_new_entry_beside_the_old_one(
    state: Path, example: dict[str, Any], tmp_path: Path
) -> None:
    shipped = Path(__file__).parents[3] / "rubrics/default.yml"
    rubric = tmp_path / "mine.yml"
    rubric.write_text(shipped.read_text().replace("id: default", "id: mine", 1))
    rejudged = verdict_of(run(state, "replay", example["eval_id"], "--rubric", str(rubric), "--json"))
    assert (rejudged["parent_eval_id"], rejudged["rubric_id"]) == (example["eval_id"], "mine")
    assert rejudged["eval_id"] != example["eval_id"]
    assert verdict_of(run(state, "show", example["eval_id"], "--json"))["verdict"] == example, "the old one stays"
    told = run(state, "show", rejudged["eval_id"])
    assert f"Parent       {example['eval_id']}" in told.stdout
    told = run(state, "replay", example["eval_id"], "--ask")
    assert told.returncode == 1
    assert f"A new entry beside {example['eval_id']}" in told.stdout
    told = verdict_of(run(state, "replay", rejudged["eval_id"], "--json"))
    assert told["parted"][0]["stage"] == "law", "it is replayed by today's rubric, and says so"


@pytest.mark.slow
def test_a_report_is_judged_as_its_dossier_was(state: Path, example: dict[str, Any], tmp_path: Path) -> None:
    done = run(state, "report", example["eval_id"], cwd=tmp_path)
    name = f"assay-report-{example['eval_id']}.json"
    assert (done.returncode, done.stdout.startswith(f"Written to {name}.")) == (0, True), done.stderr
    again = verdict_of(run(tmp_path / "elsewhere", "judge", "--dossier", str(tmp_path / name), "--json"))
    same = ("decision", "category", "evidence", "criteria", "score", "fingerprint", "findings", "next_step")
    assert {one: again[one] for one in same} == {one: example[one] for one in same}
    printed = run(state, "report", example["eval_id"], "--out", "-")
    assert json.loads(printed.stdout)["dossier_version"] == 1


@pytest.mark.slow
def test_a_verdict_that_was_carried_over_is_replayed_by_the_one_that_was_judged(tmp_path: Path) -> None:
    dossier = tmp_path / "dossier.json"
    first = verdict_of(run(tmp_path, "judge", "--example", "--json", "--save-dossier", str(dossier)))
    entry = {"eval_id": first["eval_id"], "created_at": first["created_at"], "round": 1, "fence": 1,
             "head_sha": "c" * 40, "fingerprint": first["fingerprint"], "diff_summary": "", "verdict": first}  # fmt: skip
    dossier.write_text(json.dumps({**json.loads(dossier.read_text()), "ledger": [entry]}))
    carried = verdict_of(run(tmp_path, "judge", "--dossier", str(dossier), "--json"))
    assert carried["carried_from"] == first["eval_id"]
    done = run(tmp_path, "replay", carried["eval_id"])
    assert done.returncode == 0, done.stderr
    assert f"carried over from {first['eval_id']}, which is replayed" in done.stderr
    assert "carried over from" in run(tmp_path, "show", carried["eval_id"]).stdout


@pytest.mark.slow
def test_with_a_retention_of_nothing_the_verdict_alone_is_on_record(tmp_path: Path) -> None:
    eval_id = verdict_of(run(tmp_path, "judge", "--example", "--json", ASSAY_RETENTION_DAYS="0"))["eval_id"]
    shown = run(tmp_path, "show", eval_id)
    assert shown.returncode == 0
    assert "this entry of the ledger alone" in shown.stdout
    for command in ("replay", "report"):
        done = run(tmp_path, command, eval_id, cwd=tmp_path)
        assert (done.returncode, "is not kept (any more)" in done.stderr) == (2, True)
    counted = run(tmp_path, "forget", EXAMPLE).stdout
    assert "1 verdict," in counted
    assert "dossier" not in counted


@pytest.mark.slow
def test_a_repository_is_forgotten_once_it_was_said_twice(tmp_path: Path) -> None:
    eval_id = verdict_of(run(tmp_path, "judge", "--example", "--json"))["eval_id"]
    asked = run(tmp_path, "forget", EXAMPLE)
    assert (asked.returncode, "say --yes" in asked.stdout) == (2, True)
    assert run(tmp_path, "show", eval_id).returncode == 0, "nothing was deleted yet"
    gone = run(tmp_path, "forget", EXAMPLE, "--yes")
    assert (gone.returncode, gone.stdout.startswith("Forgotten: 1 verdict,")) == (0, True)
    assert run(tmp_path, "show", eval_id).returncode == 2
    again = run(tmp_path, "forget", EXAMPLE, "--yes")
    assert (again.returncode, "it was forgotten on" in again.stdout) == (0, True)
