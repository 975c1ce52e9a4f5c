"""`assay evaluate` on CI checks, whole pull requests and merge groups."""

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.cli.parser import Exit
from tests.worker.adapters.redis.outcome_samples import (
    end_window,
    judge_whole_pull_requests,
    merge_event,
    pull_request_event,
    record_outcomes,
    revert_event,
    whole_verdicts,
)
from tests.worker.adapters.redis.store_samples import pull_ref
from tests.worker.evaluation.bench.samples import DONE, STUB
from tests.worker.evaluation.live_judging import ROOT, AssayCommand, events, read_survey, rubric, terms
from tests.worker.scheduling.test_merge_queue import DIFF, NUMBER, OTHER, GroupGitHub, GroupServices
from worker.adapters.redis import keys
from worker.adapters.redis.outcomes import RedisOutcomes
from worker.adapters.redis.store import Store
from worker.domain.dossier import CiCheck
from worker.domain.github_events import PullRequestEventKind
from worker.domain.judge_request import PullRef
from worker.domain.verdict.events import Outcome
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import SubjectKind
from worker.evaluation.evaluate_jobs import EvaluationJobs
from worker.evaluation.rejudge import RejudgeTask, make_order, rescore_terms
from worker.judge.rubric import load_ci_check_rubric
from worker.process import SystemClock
from worker.wiring.rejudge import open_terms

CHECKS = (
    CiCheck(name="unit", app="actions", conclusion="success", attempt=2),
    CiCheck(name="lint", app="actions", conclusion="failure"),
)


def weights(folder: Path, name: str, *edits: tuple[str, str], version: str = "1") -> Path:
    """The shipped rubric under another id, with some lines replaced."""
    text = (ROOT / "rubrics" / f"{name}.yml").read_text().replace(f"id: {name}", f"id: strict_{name}", 1)
    for before, now in edits:
        assert before in text
        text = text.replace(before, now, 1)
    text = re.sub(r'^version: ".*"$', f'version: "{version}"', text, count=1, flags=re.MULTILINE)
    path = folder / f"strict-{name}-{version}.yml"
    path.write_text(text)
    return path


def judge_with_checks(assay: AssayCommand, text: str = STUB) -> LedgerEntry:
    return assay.judge_live(1, text, checks=CHECKS)


def judge_merged_and_reverted(assay: AssayCommand) -> LedgerEntry:
    """Judge a pull request that is merged and reverted, so that it has two verdicts on the whole."""
    original = judge_with_checks(assay, DONE)
    record_outcomes(assay.store, merge_event())
    assert judge_whole_pull_requests(assay.store) == 1
    record_outcomes(assay.store, revert_event())
    end_window(assay.store)
    assert judge_whole_pull_requests(assay.store) == 1
    return original


def entries(assay: AssayCommand, kind: SubjectKind, number: int = 1) -> list[LedgerEntry]:
    selected = [entry for entry in assay.store.ledger.entries(pull_ref(number)) if entry.verdict.subject.kind is kind]
    return sorted(selected, key=lambda entry: entry.eval_id)


def bodies(assay: AssayCommand, kind: str) -> list[dict[str, Any]]:
    return [body for name, body in events(assay.store) if name != "outcome.recorded" and body["subject_kind"] == kind]


def test_pull_request_is_rescored_by_other_weights_once(assay: AssayCommand, tmp_path: Path) -> None:
    judge_merged_and_reverted(assay)
    before = assay.store.ledger.entries(pull_ref())
    first, last = whole_verdicts(assay.store)
    file = weights(tmp_path, "pull_request", ("reverted: 0.0", "reverted: 0.9"))
    planned = assay.evaluate_json("--subject", "pull_request", "--rubric", file, "--dry-run")
    assert (planned["subjects"], planned["todo"], planned["has_model"]) == (1, 1, False)
    assert assay.store.ledger.entries(pull_ref()) == before
    summary = assay.evaluate_json("--subject", "pull_request", "--rubric", file)
    assert (summary["code"], summary["subjects"], summary["answered"], summary["cost_usd"]) == (0, 1, 1, "0")
    assert (summary["mean_before"], summary["rescored"]) == (last.score, 1)
    assert summary["mean_now"] > last.score
    now = assay.store.ledger.entries(pull_ref())
    assert [entry for entry in now if entry in before] == list(before), "the originals are unchanged"
    [answer] = [entry.verdict for entry in now if entry not in before]
    assert (answer.parent_eval_id, answer.rubric_id) == (last.eval_id, "strict_pull_request")
    assert answer.eval_id > last.eval_id
    assert answer.score == summary["mean_now"]
    assert answer.signals["child_eval_ids"] == last.signals["child_eval_ids"]
    started, ended = bodies(assay, "pull_request")[-2:]
    assert (started["trigger"], ended["trigger"], ended["signals"]["law"]) == ("batch", "batch", answer.signals["law"])
    again = assay.evaluate_json("--subject", "pull_request", "--rubric", file)
    assert (again["answered"], again["earlier"], again["mean_now"]) == (1, 1, summary["mean_now"])
    assert assay.store.ledger.entries(pull_ref()) == now
    assert first.eval_id not in {entry.verdict.parent_eval_id for entry in now}, "only the latest is current"


def test_same_weights_change_nothing(assay: AssayCommand) -> None:
    judge_merged_and_reverted(assay)
    for kind in ("pull_request", "ci_check"):
        summary = assay.evaluate_json("--subject", kind)
        assert (summary["answered"], summary["rescored"], summary["changes"]) == (summary["subjects"], 0, []), kind
        assert summary["subjects"]


def test_check_is_rescored_from_the_dossier_of_its_submission(assay: AssayCommand, tmp_path: Path) -> None:
    judge_with_checks(assay, DONE)
    before = {entry.eval_id: entry.verdict.score for entry in entries(assay, SubjectKind.CI_CHECK)}
    file = weights(tmp_path, "ci_check", ("rerun: 0.2", "rerun: 0.4"), ("failed: 0.05", "failed: 0.01"))
    summary = assay.evaluate_json("--subject", "ci_check", "--rubric", file)
    assert (summary["code"], summary["answered"], summary["rescored"], summary["changes"]) == (0, 2, 2, [])
    answers = [entry.verdict for entry in entries(assay, SubjectKind.CI_CHECK) if entry.eval_id not in before]
    assert {before[answer.parent_eval_id]: answer.score for answer in answers if answer.parent_eval_id} == {
        0.8: 0.6,
        0.05: 0.01,
    }
    assert len({body["subject_id"] for body in bodies(assay, "ci_check")}) == 2, "an answer has the same subject"
    assert assay.evaluate_json("--subject", "ci_check", "--rubric", file)["earlier"] == 2
    assert len(entries(assay, SubjectKind.CI_CHECK)) == 4


def test_pull_request_counts_the_submissions_answer_by_the_named_rubric(assay: AssayCommand, tmp_path: Path) -> None:
    judge_merged_and_reverted(assay)
    file = rubric(tmp_path)
    first = assay.evaluate_json("--subject", "pull_request")
    assert assay.evaluate_json("--subject", "submission", "--rubric", file)["answered"] == 1
    [answer] = [entry for entry in entries(assay, SubjectKind.SUBMISSION) if entry.verdict.rubric_id == "candidate"]
    summary = assay.evaluate_json("--subject", "pull_request", "--rubric", file)
    assert (summary["answered"], summary["earlier"], summary["law"]) == (1, 0, "pull_request 1 over candidate 1")
    whole = entries(assay, SubjectKind.PULL_REQUEST)[-1].verdict
    assert (whole.signals["child_eval_ids"], whole.rubric_id) == ((answer.eval_id,), "pull_request")
    assert whole.signals["last_score"] == answer.verdict.score
    assert assay.evaluate_json("--subject", "pull_request")["earlier"] == first["answered"] == 1


def test_missing_sources_are_published_once(assay: AssayCommand) -> None:
    original = judge_merged_and_reverted(assay)
    assay.store.client.call("DEL", keys.dossier(original.eval_id).name, keys.outcomes(pull_ref()).name)
    for _ in range(2):
        code, out, _ = assay.evaluate("--subject", "ci_check")
        assert code == 0
        assert "2 can't be: the dossier is no longer kept (ASSAY_RETENTION_DAYS), or the check" in out
        code, out, _ = assay.evaluate("--subject", "pull_request")
        assert (code, "1 can't be: not all that it was weighed from is kept." in out) == (0, True)
    for kind, count in (("ci_check", 2), ("pull_request", 1)):
        failed = [body for body in bodies(assay, kind) if "failure_mode" in body]
        assert [body["failure_mode"] for body in failed] == ["subject_not_found"] * count
        started = {body["eval_id"]: body["subject_id"] for body in bodies(assay, kind) if "judge_kind_planned" in body}
        subject_ids = {body["subject_id"] for body in bodies(assay, kind) if "score" in body}
        assert {started[body["eval_id"]] for body in failed} == {body["subject_id"] for body in failed} == subject_ids
    assert assay.store.client.call("HLEN", keys.OPEN_EVALUATIONS.name) == 0


@pytest.mark.parametrize("kind", [SubjectKind.CI_CHECK, SubjectKind.PULL_REQUEST])
def test_missing_entry_is_published_with_subject_id(assay: AssayCommand, kind: SubjectKind) -> None:
    judge_merged_and_reverted(assay)
    for entry in entries(assay, kind):
        assay.store.client.call("HDEL", keys.ledger(pull_ref()).name, entry.eval_id)
    subject_ids = {body["subject_id"] for body in bodies(assay, kind.value)}
    assert assay.evaluate_json("--subject", kind.value)["gone"] == len(subject_ids)
    assert {body["subject_id"] for body in bodies(assay, kind.value) if "failure_mode" in body} == subject_ids


def test_check_without_its_submission_is_gone(assay: AssayCommand) -> None:
    original = judge_with_checks(assay)
    assay.store.client.call("HDEL", keys.ledger(pull_ref()).name, original.eval_id)
    assert assay.evaluate_json("--subject", "ci_check")["gone"] == 2


def test_verdict_forgotten_during_rescoring_stays_forgotten(assay: AssayCommand) -> None:
    judge_merged_and_reverted(assay)
    list_outcomes = RedisOutcomes.outcomes_of

    def list_then_forget(outcomes: RedisOutcomes, ref: PullRef) -> tuple[Outcome, ...]:
        listed = list_outcomes(outcomes, ref)
        assay.store.client.call("DEL", keys.ledger(pull_ref()).name)
        return listed

    assay.monkeypatch.setattr(RedisOutcomes, "outcomes_of", list_then_forget)
    assert assay.evaluate_json("--subject", "pull_request")["left"] == 1
    assert assay.store.ledger.entries(pull_ref()) == ()


def test_edited_weights_are_refused_until_their_version_is_raised(assay: AssayCommand, tmp_path: Path) -> None:
    judge_with_checks(assay)
    assert assay.evaluate_json("--subject", "ci_check", "--rubric", weights(tmp_path, "ci_check"))["code"] == 0
    load_ci_check_rubric.cache_clear()
    edited = weights(tmp_path, "ci_check", ("passed: 1.0", "passed: 0.9"))
    _, _, err = assay.evaluate("--subject", "ci_check", "--rubric", edited)
    assert f'{edited} was changed but still says version "1": raise it.' in err
    raised = weights(tmp_path, "ci_check", ("passed: 1.0", "passed: 0.9"), version="2")
    assert assay.evaluate_json("--subject", "ci_check", "--rubric", raised)["answered"] == 2


def test_evaluator_refuses_weights_that_changed_after_the_order(assay: AssayCommand, tmp_path: Path) -> None:
    judge_with_checks(assay)
    file = weights(tmp_path, "ci_check", ("passed: 1.0", "passed: 0.9"))
    by = rescore_terms(SubjectKind.CI_CHECK, file, terms(assay.settings))
    survey = read_survey(assay.store, by.law, kind=SubjectKind.CI_CHECK).survey
    orders = [make_order(verdict) for verdict in survey.unanswered_verdicts]
    open_judge = partial(open_terms, assay.settings, assay.store)
    jobs = EvaluationJobs(assay.settings, SystemClock(), assay.store, open_judge)
    tasks = [RejudgeTask(pull=order.pull, order=order, terms=by).model_dump_json() for order in orders]
    assert jobs.perform(tasks[:1])
    load_ci_check_rubric.cache_clear()
    file.write_text(file.read_text().replace('version: "1"', 'version: "2"'))
    assert not jobs.perform(tasks[1:])
    ends = [body for body in bodies(assay, "ci_check")[-4:] if "judge_kind_planned" not in body]
    assert [body.get("failure_mode") for body in ends] == [None, "rubric_invalid"]
    assert ends[1]["parent_eval_id"] == orders[1].eval_id
    survey = read_survey(assay.store, by.law, kind=SubjectKind.CI_CHECK).survey
    assert [verdict.eval_id for verdict in survey.unanswered_verdicts] == [orders[1].eval_id]


def test_answers_are_exported_listed_and_counted_by_kind(assay: AssayCommand, tmp_path: Path) -> None:
    original = judge_merged_and_reverted(assay)
    figures = stats(assay, "submission"), stats(assay, "ci_check"), stats(assay, "pull_request")
    file, checks = weights(tmp_path, "pull_request"), weights(tmp_path, "ci_check", ("failed: 0.05", "failed: 0.5"))
    assay.evaluate_json("--subject", "pull_request", "--rubric", file)
    assay.evaluate_json("--subject", "ci_check", "--rubric", checks)
    assert stats(assay, "submission") == figures[0], "no check is averaged into its submission"
    for kind, before, more in (("ci_check", figures[1], 2), ("pull_request", figures[2], 1)):
        rows = {row["value"]: row for row in stats(assay, kind)}
        assert rows[f"strict_{kind}@1"]["verdict_count"] == more
        assert rows[f"strict_{kind}@1"]["live"]["verdict_count"] == 0
        assert [row for name, row in rows.items() if name != f"strict_{kind}@1"] == before
    record_outcomes(assay.store, pull_request_event(PullRequestEventKind.NOT_HELPFUL, by_person=True))
    assert stats(assay, "submission")[0]["thumbs_down_count"] == 1
    _, exported, _ = assay.run("export", "--format", "jsonl")
    rows = [json.loads(line) for line in exported.splitlines()]
    assert sum(row["rubric_id"].startswith("strict_") for row in rows) == 3
    _, history, _ = assay.run("history", "acme/widgets#1")
    assert history.count(" strict_") == 3
    parents = {entry.verdict.parent_eval_id for entry in assay.store.ledger.entries(pull_ref())} - {None}
    assert all(f", beside {parent}\n" in history for parent in parents)
    answer = entries(assay, SubjectKind.CI_CHECK)[-1].verdict
    code, _, err = assay.run("replay", answer.eval_id)
    assert code == Exit.USAGE
    assert f"code rescored {answer.parent_eval_id}. That has no dossier" in " ".join(err.split())
    assert original.eval_id in history


def stats(assay: AssayCommand, subject: str) -> list[dict[str, Any]]:
    code, out, _ = assay.run("stats", "--subject", subject, "--group-by", "rubric", "--json")
    assert code == 0
    return json.loads(out)["quality"]["data"]


def accepted_group(store: Store, change: str) -> GroupServices:
    """The services of a queued merge group with this change, of an accepted pull request."""
    services = GroupServices(store, GroupGitHub(change=change))
    services.accept()
    services.queue()
    return services


def test_judged_merge_group_is_rejudged(assay: AssayCommand) -> None:
    accepted_group(assay.store, OTHER).expire_and_judge()
    summary = assay.evaluate_json("--subject", "merge_group")
    assert (summary["code"], summary["subjects"], summary["answered"], summary["gone"]) == (0, 1, 1, 0)
    assert assay.evaluate_json("--subject", "merge_group")["earlier"] == 1
    assert len(entries(assay, SubjectKind.MERGE_GROUP, NUMBER)) == 2


def test_merge_group_with_a_carried_over_accept_is_not_rejudged(assay: AssayCommand) -> None:
    assert accepted_group(assay.store, DIFF).expire_and_answer()
    assert [entry.verdict.carried_from is None for entry in entries(assay, SubjectKind.MERGE_GROUP, NUMBER)] == [False]
    assert assay.evaluate_json("--subject", "merge_group")["subjects"] == 0
