"""CI checks and whole pull requests weighed anew: by other weights, of what was known, beside what stands, once."""

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
from tests.worker.evaluation.live_judging import ROOT, AssayCommand, events, judge_live, read_survey, rubric, terms
from tests.worker.scheduling.test_merge_queue import DIFF, NUMBER, OTHER, GroupGitHub, GroupServices
from worker.adapters.redis import keys
from worker.adapters.redis.records.outcomes import RedisOutcomes
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.dossier import CiCheck
from worker.domain.judge_request import PullRef
from worker.domain.pull_request_events import PullRequestEventKind
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.outcomes import Outcome
from worker.domain.verdict.verdict import SubjectKind
from worker.evaluation.evaluate_jobs import EvaluationContext, perform_task
from worker.evaluation.rejudge import RejudgeTask, make_order, rescore_terms
from worker.judge.rubric import load_ci_check_rubric
from worker.settings import Settings
from worker.wiring.rejudge import open_terms

CHECKS = (
    CiCheck(name="unit", app="actions", conclusion="success", attempt=2),
    CiCheck(name="lint", app="actions", conclusion="failure"),
)


def weights(folder: Path, name: str, *edits: tuple[str, str], version: str = "1") -> Path:
    """The rubric that ships, under another id and with some of its lines replaced."""
    text = (ROOT / "rubrics" / f"{name}.yml").read_text().replace(f"id: {name}", f"id: strict_{name}", 1)
    for before, now in edits:
        assert before in text
        text = text.replace(before, now, 1)
    text = re.sub(r'^version: ".*"$', f'version: "{version}"', text, count=1, flags=re.MULTILINE)
    path = folder / f"strict-{name}-{version}.yml"
    path.write_text(text)
    return path


def followed(store: Store, here: Settings, number: int = 1, text: str = STUB, **more: Any) -> LedgerEntry:
    return judge_live(store, here, number, text, **{"checks": CHECKS, **more})


def closed(store: Store, here: Settings, text: str = DONE) -> LedgerEntry:
    """Judged, merged and reverted: there are two verdicts on the whole."""
    made = followed(store, here, text=text)
    record_outcomes(store, merge_event())
    assert judge_whole_pull_requests(store) == 1
    record_outcomes(store, revert_event())
    end_window(store)
    assert judge_whole_pull_requests(store) == 1
    return made


def entries(store: Store, kind: SubjectKind, number: int = 1) -> list[LedgerEntry]:
    found = [one for one in store.ledger.entries(pull_ref(number)) if one.verdict.subject.kind is kind]
    return sorted(found, key=lambda one: one.eval_id)


def bodies(store: Store, kind: str) -> list[dict[str, Any]]:
    return [body for name, body in events(store) if name != "outcome.recorded" and body["subject_kind"] == kind]


def test_a_whole_pull_request_is_weighed_anew_by_other_weights_and_only_once(
    assay: AssayCommand, store: Store, settings: Settings, tmp_path: Path
) -> None:
    closed(store, settings)
    before = store.ledger.entries(pull_ref())
    first, last = whole_verdicts(store)
    file = weights(tmp_path, "pull_request", ("reverted: 0.0", "reverted: 0.9"))
    planned = assay.evaluate_json("--subject", "pull_request", "--rubric", file, "--dry-run")
    assert (planned["subjects"], planned["todo"], planned["has_model"]) == (1, 1, False)
    assert store.ledger.entries(pull_ref()) == before
    said = assay.evaluate_json("--subject", "pull_request", "--rubric", file)
    assert (said["code"], said["subjects"], said["answered"], said["cost_usd"]) == (0, 1, 1, "0")
    assert (said["mean_before"], said["rescored"]) == (last.score, 1)
    assert said["mean_now"] > last.score
    now = store.ledger.entries(pull_ref())
    assert [one for one in now if one in before] == list(before), "what stands is as it was"
    [answer] = [one.verdict for one in now if one not in before]
    assert (answer.parent_eval_id, answer.rubric_id, answer.eval_id > last.eval_id) == (
        last.eval_id,
        "strict_pull_request",
        True,
    )
    assert answer.score == said["mean_now"]
    assert answer.signals["child_eval_ids"] == last.signals["child_eval_ids"]
    begun, ended = bodies(store, "pull_request")[-2:]
    assert (begun["trigger"], ended["trigger"], ended["signals"]["law"]) == ("batch", "batch", answer.signals["law"])
    again = assay.evaluate_json("--subject", "pull_request", "--rubric", file)
    assert (again["answered"], again["earlier"], again["mean_now"]) == (1, 1, said["mean_now"])
    assert store.ledger.entries(pull_ref()) == now
    assert first.eval_id not in {one.verdict.parent_eval_id for one in now}, "the latest stands"


def test_by_the_same_weights_everything_comes_out_as_it_was(
    assay: AssayCommand, store: Store, settings: Settings
) -> None:
    closed(store, settings)
    for kind in ("pull_request", "ci_check"):
        said = assay.evaluate_json("--subject", kind)
        assert (said["answered"], said["rescored"], said["changes"]) == (said["subjects"], 0, []), kind
        assert said["subjects"]


def test_a_check_is_weighed_anew_from_the_dossier_of_its_submission(
    assay: AssayCommand, store: Store, settings: Settings, tmp_path: Path
) -> None:
    made = followed(store, settings, text=DONE)
    before = {one.eval_id: one.verdict for one in entries(store, SubjectKind.CI_CHECK)}
    file = weights(tmp_path, "ci_check", ("rerun: 0.2", "rerun: 0.4"), ("failed: 0.05", "failed: 0.01"))
    said = assay.evaluate_json("--subject", "ci_check", "--rubric", file)
    assert (said["code"], said["answered"], said["rescored"], said["changes"]) == (0, 2, 2, [])
    answers = [one for one in entries(store, SubjectKind.CI_CHECK) if one.eval_id not in before]
    assert {before[one.verdict.parent_eval_id or made.eval_id].score: one.verdict.score for one in answers} == {
        0.8: 0.6,
        0.05: 0.01,
    }
    assert len({one["subject_id"] for one in bodies(store, "ci_check")}) == 2, "an answer is of the same subject"
    assert assay.evaluate_json("--subject", "ci_check", "--rubric", file)["earlier"] == 2
    assert len(entries(store, SubjectKind.CI_CHECK)) == 4


def test_where_a_submission_was_judged_anew_by_the_rubric_that_is_named_that_counts_in_its_place(
    assay: AssayCommand, store: Store, settings: Settings, tmp_path: Path
) -> None:
    closed(store, settings)
    file = rubric(tmp_path)
    first = assay.evaluate_json("--subject", "pull_request")
    assert assay.evaluate_json("--subject", "submission", "--rubric", file)["answered"] == 1
    [answer] = [one for one in entries(store, SubjectKind.SUBMISSION) if one.verdict.rubric_id == "candidate"]
    said = assay.evaluate_json("--subject", "pull_request", "--rubric", file)
    assert (said["answered"], said["earlier"], said["law"]) == (1, 0, "pull_request 1 over candidate 1")
    whole = entries(store, SubjectKind.PULL_REQUEST)[-1].verdict
    assert (whole.signals["child_eval_ids"], whole.rubric_id) == ((answer.eval_id,), "pull_request")
    assert whole.signals["last_score"] == answer.verdict.score
    assert assay.evaluate_json("--subject", "pull_request")["earlier"] == first["answered"] == 1


def test_what_it_was_made_from_may_be_gone_and_that_is_told_once(
    assay: AssayCommand, store: Store, settings: Settings
) -> None:
    made = closed(store, settings)
    store.client.call("DEL", keys.dossier(made.eval_id).name, keys.outcomes(pull_ref()).name)
    for _ in range(2):
        code, out, _ = assay.evaluate("--subject", "ci_check")
        assert (code, "2 can't be: the dossier is not kept any more (ASSAY_RETENTION_DAYS), or the check" in out) == (
            0,
            True,
        )
        code, out, _ = assay.evaluate("--subject", "pull_request")
        assert (code, "1 can't be: not all that it was weighed from is kept." in out) == (0, True)
    for kind, count in (("ci_check", 2), ("pull_request", 1)):
        failed = [one for one in bodies(store, kind) if "failure_mode" in one]
        assert [one["failure_mode"] for one in failed] == ["subject_not_found"] * count
        begun = {one["eval_id"]: one["subject_id"] for one in bodies(store, kind) if "judge_kind_planned" in one}
        stood = {one["subject_id"] for one in bodies(store, kind) if "score" in one}
        assert {begun[one["eval_id"]] for one in failed} == {one["subject_id"] for one in failed} == stood
    assert store.client.call("HLEN", keys.OPEN_EVALUATIONS.name) == 0


@pytest.mark.parametrize("kind", [SubjectKind.CI_CHECK, SubjectKind.PULL_REQUEST])
def test_a_verdict_whose_entry_is_gone_is_told_by_what_it_was_told_as(
    assay: AssayCommand, store: Store, settings: Settings, kind: SubjectKind
) -> None:
    closed(store, settings)
    for one in entries(store, kind):
        store.client.call("HDEL", keys.ledger(pull_ref()).name, one.eval_id)
    stood = {one["subject_id"] for one in bodies(store, kind.value)}
    assert assay.evaluate_json("--subject", kind.value)["gone"] == len(stood)
    assert {one["subject_id"] for one in bodies(store, kind.value) if "failure_mode" in one} == stood


def test_what_a_check_was_made_beside_may_be_gone(assay: AssayCommand, store: Store, settings: Settings) -> None:
    made = followed(store, settings)
    store.client.call("HDEL", keys.ledger(pull_ref()).name, made.eval_id)
    assert assay.evaluate_json("--subject", "ci_check")["gone"] == 2


def test_what_is_forgotten_while_it_is_weighed_stays_forgotten(
    assay: AssayCommand, store: Store, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed(store, settings)

    of = RedisOutcomes.outcomes_of

    def forgotten(outcomes: RedisOutcomes, ref: PullRef) -> tuple[Outcome, ...]:
        found = of(outcomes, ref)
        store.client.call("DEL", keys.ledger(pull_ref()).name)
        return found

    monkeypatch.setattr(RedisOutcomes, "outcomes_of", forgotten)
    assert assay.evaluate_json("--subject", "pull_request")["left"] == 1
    assert store.ledger.entries(pull_ref()) == ()


def test_weights_that_were_edited_are_refused_until_their_version_is_raised(
    assay: AssayCommand, store: Store, settings: Settings, tmp_path: Path
) -> None:
    followed(store, settings)
    assert assay.evaluate_json("--subject", "ci_check", "--rubric", weights(tmp_path, "ci_check"))["code"] == 0
    load_ci_check_rubric.cache_clear()
    edited = weights(tmp_path, "ci_check", ("passed: 1.0", "passed: 0.9"))
    assert (
        f'{edited} was changed but still says version "1": raise it.'
        in assay.evaluate("--subject", "ci_check", "--rubric", edited)[2]
    )
    raised = weights(tmp_path, "ci_check", ("passed: 1.0", "passed: 0.9"), version="2")
    assert assay.evaluate_json("--subject", "ci_check", "--rubric", raised)["answered"] == 2


def test_an_evaluator_weighs_as_it_was_told_and_refuses_weights_that_changed_meanwhile(
    store: Store, settings: Settings, tmp_path: Path
) -> None:
    followed(store, settings)
    file = weights(tmp_path, "ci_check", ("passed: 1.0", "passed: 0.9"))
    by = rescore_terms(SubjectKind.CI_CHECK, file, terms(settings))
    orders = [
        make_order(one) for one in read_survey(store, by.law, kind=SubjectKind.CI_CHECK).survey.unanswered_verdicts
    ]
    context = EvaluationContext(settings, SystemClock(), store)
    said = [RejudgeTask(pull=one.pull, order=one, terms=by).model_dump_json() for one in orders]
    assert perform_task(said[:1], context, partial(open_terms, settings, store))
    load_ci_check_rubric.cache_clear()
    file.write_text(file.read_text().replace('version: "1"', 'version: "2"'))
    assert not perform_task(said[1:], context, partial(open_terms, settings, store))
    ends = [one for one in bodies(store, "ci_check")[-4:] if "judge_kind_planned" not in one]
    assert [one.get("failure_mode") for one in ends] == [None, "rubric_invalid"]
    assert ends[1]["parent_eval_id"] == orders[1].eval_id
    assert [
        one.eval_id for one in read_survey(store, by.law, kind=SubjectKind.CI_CHECK).survey.unanswered_verdicts
    ] == [orders[1].eval_id]


def test_the_answers_are_exported_shown_and_counted_as_what_they_are(
    assay: AssayCommand, store: Store, settings: Settings, tmp_path: Path
) -> None:
    made = closed(store, settings)
    figures = stats(assay, "submission"), stats(assay, "ci_check"), stats(assay, "pull_request")
    wholly, checks = weights(tmp_path, "pull_request"), weights(tmp_path, "ci_check", ("failed: 0.05", "failed: 0.5"))
    assay.evaluate_json("--subject", "pull_request", "--rubric", wholly)
    assay.evaluate_json("--subject", "ci_check", "--rubric", checks)
    assert stats(assay, "submission") == figures[0], "no check is averaged into its submission"
    for kind, before, more in (("ci_check", figures[1], 2), ("pull_request", figures[2], 1)):
        rows = {one["value"]: one for one in stats(assay, kind)}
        assert rows[f"strict_{kind}@1"]["verdict_count"] == more
        assert rows[f"strict_{kind}@1"]["live"]["verdict_count"] == 0
        assert [one for name, one in rows.items() if name != f"strict_{kind}@1"] == before
    record_outcomes(store, pull_request_event(PullRequestEventKind.NOT_HELPFUL, by_person=True))
    assert stats(assay, "submission")[0]["thumbs_down_count"] == 1
    _, exported, _ = assay.run("export", "--format", "jsonl")
    rows = [json.loads(line) for line in exported.splitlines()]
    assert sum(one["rubric_id"].startswith("strict_") for one in rows) == 3
    _, history, _ = assay.run("history", "acme/widgets#1")
    assert history.count(" strict_") == 3
    parents = {one.verdict.parent_eval_id for one in store.ledger.entries(pull_ref())} - {None}
    assert all(f", beside {parent}\n" in history for parent in parents)
    answer = entries(store, SubjectKind.CI_CHECK)[-1].verdict
    code, _, err = assay.run("replay", answer.eval_id)
    assert code == Exit.USAGE
    assert f"code rescored {answer.parent_eval_id}. That has no dossier" in " ".join(err.split())
    assert made.eval_id in history


def stats(assay: AssayCommand, subject: str) -> list[dict[str, Any]]:
    code, out, _ = assay.run("stats", "--subject", subject, "--group-by", "rubric", "--json")
    assert code == 0
    return json.loads(out)["quality"]["data"]


def recorded_group(store: Store, change: str) -> GroupServices:
    """A clerk who looks at a group that makes this change, of a pull request that was accepted."""
    services = GroupServices(store, GroupGitHub(change=change))
    services.accept()
    services.queue()
    return services


def test_a_merge_group_that_was_judged_is_judged_anew(assay: AssayCommand, store: Store) -> None:
    recorded_group(store, OTHER).expire_and_judge()
    said = assay.evaluate_json("--subject", "merge_group")
    assert (said["code"], said["subjects"], said["answered"], said["gone"]) == (0, 1, 1, 0)
    assert assay.evaluate_json("--subject", "merge_group")["earlier"] == 1
    assert len(entries(store, SubjectKind.MERGE_GROUP, NUMBER)) == 2


def test_a_merge_group_to_which_an_accept_was_carried_over_was_judged_by_nobody(
    assay: AssayCommand, store: Store
) -> None:
    assert recorded_group(store, DIFF).expire_and_answer()
    assert [one.verdict.carried_from is None for one in entries(store, SubjectKind.MERGE_GROUP, NUMBER)] == [False]
    assert assay.evaluate_json("--subject", "merge_group")["subjects"] == 0
