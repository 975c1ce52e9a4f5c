"""`assay show`, `replay`, `report`, `forget` and `token`."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.cli.parser import Exit
from tests.app.cli.assay_command import run_accepted, run_command
from tests.worker.adapters.redis.store_samples import ledger_entry_of, pull_ref, start_judging_new
from worker.adapters.redis.store import Store
from worker.domain.model import EvalId, InstallationId
from worker.domain.verdict.verdict import SubjectKind
from worker.errors import InputError

PARENT, CHILD = EvalId("0190aaaa-bbbb-7ccc-8ddd-000000000000"), EvalId("0190aaaa-bbbb-7ccc-8ddd-000000000001")


@pytest.fixture
def recorded_verdicts(records: Store) -> None:
    """A verdict without its dossier, and its child on a CI check."""
    fence = start_judging_new(records).lease.fence
    parent = ledger_entry_of(PARENT, fence)
    subject = parent.verdict.subject.model_copy(update={"kind": SubjectKind.CI_CHECK})
    records.ledger.append(pull_ref(), parent)
    records.ledger.append(pull_ref(), ledger_entry_of(CHILD, fence, parent_eval_id=PARENT, subject=subject))


@pytest.mark.usefixtures("recorded_verdicts")
def test_show_explains_why_a_verdict_has_no_dossier() -> None:
    assert f"has no dossier of its own. Code made it beside {PARENT}" in " ".join(run_accepted("show", CHILD).split())
    assert "(ASSAY_RETENTION_DAYS)" in run_accepted("show", PARENT)


@pytest.mark.usefixtures("recorded_verdicts")
@pytest.mark.parametrize("command", ["replay", "report"])
def test_missing_dossier_is_refused_with_its_reason(command: str) -> None:
    with pytest.raises(InputError, match=f"^{CHILD} can't be judged again or reported: a verdict on a CI check has no"):
        run_command(command, CHILD)
    with pytest.raises(InputError, match="ASSAY_RETENTION_DAYS says how long"):
        run_command(command, PARENT)


def test_token_is_printed_once_and_can_be_listed_and_revoked(records: Store) -> None:
    code, text = run_command("token", "create", "agent", "--installation", "5")
    token = text.split()[0]
    assert (code, records.tokens().scope(token)) == (Exit.ACCEPT, {InstallationId(5)})
    assert run_command("token", "create", "agent", "--installation", "6").code == Exit.USAGE
    listed = run_accepted("token", "list")
    assert (listed.startswith("agent"), token in listed) == (True, False)
    assert [run_command("token", "revoke", "agent").code for _ in range(2)] == [Exit.ACCEPT, Exit.USAGE]
    assert records.tokens().scope(token) is None


EXAMPLE = "local/widgets"


def read_json(*command: str) -> dict[str, Any]:
    return json.loads(run_command(*command, "--json").text)


@pytest.fixture
def example(store_of_judge: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The stored verdict on the example; the working directory is empty."""
    assert store_of_judge
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    return read_json("judge", "--example")


def test_show_prints_each_stage_and_json_adds_the_audit_record(
    example: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    text = run_accepted("show", example["eval_id"])
    assert text.startswith("Rejected: half finished at upload.py:")
    for line in ("validators   success", "route        code alone", "Redacted     nothing was sent to a model"):
        assert line in text
    shown = read_json("show", example["eval_id"])
    assert capsys.readouterr().err == ""
    assert shown["verdict"] == example
    assert [step["stage"] for step in shown["audit"]["steps"]][-2:] == ["ruling", "verdict"]
    assert shown["kept_until"]


NOT_ON_RECORD = "0199aaaa-0000-7000-8000-000000000001"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("show", NOT_ON_RECORD), "is on record here"),
        (("replay", NOT_ON_RECORD), "is on record here"),
        (("report", NOT_ON_RECORD), "is on record here"),
        (("replay", "EVAL_ID", "--model", "claude-opus-5"), "ANTHROPIC_API_KEY is not set"),
        (("report", "EVAL_ID", "--out", "/nowhere/report.json"), "^--out: /nowhere/report.json can't be"),
        (("forget", "widgets"), '^"widgets" is no repository.'),
    ],
)
def test_wrong_call_is_an_error_and_writes_nothing(
    example: dict[str, Any], command: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match=message):
        run_command(*(part.replace("EVAL_ID", example["eval_id"]) for part in command))
    assert (list(Path.cwd().iterdir()), capsys.readouterr().out) == ([], "")


def test_replay_gives_the_same_decision_and_writes_nothing(example: dict[str, Any]) -> None:
    assert run_accepted("replay", example["eval_id"]).splitlines()[0] == "The same decision comes out again."
    replayed = read_json("replay", example["eval_id"])
    assert (replayed["is_same"], replayed["differing"], replayed["parted"]) == (True, [], None)
    assert "Stored about local/widgets: 0 verdicts" not in run_command("forget", EXAMPLE).text


def test_replay_with_another_rubric_appends_a_new_entry(example: dict[str, Any], tmp_path: Path) -> None:
    shipped = Path(__file__).parents[3] / "rubrics/default.yml"
    rubric = tmp_path / "mine.yml"
    rubric.write_text(shipped.read_text().replace("id: default", "id: mine", 1))
    rejudged = read_json("replay", example["eval_id"], "--rubric", str(rubric))
    assert (rejudged["parent_eval_id"], rejudged["rubric_id"]) == (example["eval_id"], "mine")
    assert rejudged["eval_id"] != example["eval_id"]
    assert read_json("show", example["eval_id"])["verdict"] == example
    assert f"Parent       {example['eval_id']}" in run_accepted("show", rejudged["eval_id"])
    code, text = run_command("replay", example["eval_id"], "--ask")
    assert (code, f"A new entry beside {example['eval_id']}" in text) == (Exit.REJECT, True)
    replayed = read_json("replay", rejudged["eval_id"])
    assert replayed["parted"][0]["stage"] == "law", "it is replayed by today's rubric, and says so"


def test_report_is_a_dossier_that_gives_the_same_verdict(example: dict[str, Any], store_of_judge: Store) -> None:
    name = f"assay-report-{example['eval_id']}.json"
    assert run_accepted("report", example["eval_id"]).startswith(f"Written to {name}.")
    printed = run_accepted("report", example["eval_id"], "--out", "-")
    assert json.loads(printed)["dossier_version"] == 1
    store_of_judge.client.call("FLUSHALL")
    rejudged = read_json("judge", "--dossier", name)
    same = ("decision", "category", "evidence", "criteria", "score", "fingerprint", "findings", "next_step")
    assert {field: rejudged[field] for field in same} == {field: example[field] for field in same}


@pytest.mark.usefixtures("store_of_judge")
def test_replay_of_a_carried_over_verdict_replays_the_original(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dossier = tmp_path / "dossier.json"
    first = read_json("judge", "--example", "--save-dossier", str(dossier))
    entry = {"eval_id": first["eval_id"], "created_at": first["created_at"], "round": 1, "fence": 1,
             "head_sha": "c" * 40, "fingerprint": first["fingerprint"], "diff_summary": "", "verdict": first}  # fmt: skip
    dossier.write_text(json.dumps({**json.loads(dossier.read_text()), "ledger": [entry]}))
    carried = read_json("judge", "--dossier", str(dossier))
    assert carried["carried_from"] == first["eval_id"]
    run_accepted("replay", carried["eval_id"])
    assert f"carried over from {first['eval_id']}, which is replayed" in capsys.readouterr().err
    assert "carried over from" in run_accepted("show", carried["eval_id"])


@pytest.mark.usefixtures("store_of_judge")
def test_zero_retention_stores_the_verdict_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_RETENTION_DAYS", "0")
    eval_id = read_json("judge", "--example")["eval_id"]
    monkeypatch.delenv("ASSAY_RETENTION_DAYS")
    assert "this entry of the ledger alone" in run_accepted("show", eval_id)
    for command in ("replay", "report"):
        with pytest.raises(InputError, match=r"is no longer kept, or never was"):
            run_command(command, eval_id)
    counted = run_command("forget", EXAMPLE).text
    assert ("1 verdict," in counted, "dossier" in counted) == (True, False)


def test_forget_deletes_a_repository_only_with_yes(example: dict[str, Any]) -> None:
    code, text = run_command("forget", EXAMPLE)
    assert (code, "say --yes" in text) == (Exit.USAGE, True)
    run_accepted("show", example["eval_id"])
    assert run_accepted("forget", EXAMPLE, "--yes").startswith("Forgotten: 1 verdict,")
    with pytest.raises(InputError, match="is on record here"):
        run_command("show", example["eval_id"])
    assert "it was forgotten on" in run_accepted("forget", EXAMPLE, "--yes")
