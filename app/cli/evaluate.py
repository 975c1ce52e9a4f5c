"""`assay evaluate`: rejudge the recorded subjects of a window by another rubric or model, and compare.

Each rejudging is a new entry beside the verdict. The same command continues a stopped run.
"""

import argparse
import json
import os
from collections import Counter
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from hashlib import sha256
from pathlib import Path
from statistics import fmean
from typing import Final

from app.cli.parser import CommandResult, Exit
from app.cli.terminal import show_count, terminal_page
from worker.domain.time_range import WindowError, parse_moment_ms, parse_window
from worker.domain.verdict.events import FailureMode
from worker.domain.verdict.verdict import SubjectKind
from worker.errors import InputError
from worker.evaluation.engine import HaltedError
from worker.evaluation.forecast import Forecast
from worker.evaluation.recorded_verdicts import RecordedVerdict, RecordStore, RejudgeSelection, Surveyor
from worker.evaluation.rejudge import (
    SCORED_KINDS,
    RejudgeRun,
    RejudgeTerms,
    complete_terms,
    forecast_run,
    has_workers,
    load_scoring_rubric,
    make_order,
    rescore_terms,
    with_model,
)
from worker.evaluation.texts import RejudgeForecast, RejudgeSummary, VerdictChange, forecast_text, summary_text
from worker.judge.rubric import is_judged_by, load_rubric
from worker.process import SystemClock
from worker.settings import Settings, load_settings, missing_setting
from worker.wiring.rejudge import RejudgerOpener, open_terms, prompt_meter
from worker.wiring.store import Store, open_store, with_store_url

JUDGINGS_PER_PROCESS: Final = 20
"""How many judgings without a model outweigh starting a process."""

MISSING_SOURCES: Final = {
    SubjectKind.CI_CHECK: "the dossier is no longer kept (ASSAY_RETENTION_DAYS), or the check is not in it",
    SubjectKind.PULL_REQUEST: "not all that it was weighed from is kept",
}
"""Why a subject can't be rescored."""

FIXED_NOW: Final = datetime(9000, 1, 1, tzinfo=UTC)
"""The moment from which a budget's name resolves `7d`, so that the name is the same tomorrow; no --since names it."""


def evaluate(arguments: argparse.Namespace) -> CommandResult:
    """Rejudge, or with --dry-run forecast the cost."""
    settings = load_settings()
    _check(arguments, settings)
    with open_store(settings) as store:
        settings = with_store_url(settings, store)
        now = SystemClock().now()
        try:
            span = parse_window(arguments.since, arguments.until, now)
        except WindowError as error:
            raise InputError(str(error)) from error
        terms, numbers = _terms(arguments, settings, store), None
        if arguments.repository:
            owned = store.records().find_holdings(arguments.repository).owned
            numbers = frozenset((int(owner.installation), int(owner.repository)) for owner in owned)
        surveyor = Surveyor(store, RejudgeSelection(SubjectKind(arguments.subject), span, terms.law, numbers))
        list(surveyor.read_new())
        orders = [make_order(verdict) for verdict in surveyor.survey.unanswered_verdicts]
        run = RejudgeRun(settings, store, terms, orders)
        if arguments.dry_run:
            return _show_forecast(arguments, run, store, len(surveyor.survey.current_verdicts))
        stopped = _judge_all(run, surveyor, arguments.jobs) if run.orders else ""
        summary = _summarize(run, surveyor, stopped)
        is_whole = not (summary.failed or summary.capped or summary.left or summary.stopped)
        if is_whole and run.terms.book:
            run.store.run_budget(run.terms.book, run.terms.limit_usd).close()
    code = Exit.ACCEPT if is_whole else Exit.USAGE
    return CommandResult(code, _json(summary) if arguments.json else summary_text(summary, terminal_page()))


def _check(arguments: argparse.Namespace, settings: Settings) -> None:
    if settings.is_paused:
        raise InputError("ASSAY_PAUSED is 1: nothing is judged. Set it to 0 to re-evaluate.")
    if arguments.subject in SCORED_KINDS and (
        arguments.model or arguments.max_usd is not None or arguments.override_caps
    ):
        raise InputError(
            f"No model is asked about a {arguments.subject}, at $0: leave out --model, --max-usd and --override-caps."
        )
    if arguments.model and settings.model is None:
        raise missing_setting("ANTHROPIC_API_KEY")
    asks = settings.model is not None and settings.tier != "heuristic"
    if not asks and (arguments.model or arguments.max_usd is not None):
        raise InputError("No model would be asked. Set ANTHROPIC_API_KEY, and ASSAY_TIER to hybrid or llm.")
    if arguments.override_caps and arguments.max_usd is None:
        raise InputError("--override-caps leaves this run no limit. Say with --max-usd what it may cost.")


def _terms(arguments: argparse.Namespace, settings: Settings, store: Store) -> RejudgeTerms:
    file = Path(arguments.rubric).absolute() if arguments.rubric else None
    kind = SubjectKind(arguments.subject)
    if kind not in SCORED_KINDS:
        return _judging_terms(arguments, file, settings, store)
    is_judged = file is not None and is_judged_by(file)
    judged = _judging_terms(arguments, file if is_judged else None, settings, store)
    store.rubrics.admit(load_scoring_rubric(kind))
    weights = None if is_judged else file
    if weights is not None:
        store.rubrics.admit(load_scoring_rubric(kind, weights), arguments.rubric)
    return rescore_terms(kind, weights, judged)


def _judging_terms(
    arguments: argparse.Namespace, rubric: Path | None, settings: Settings, store: Store
) -> RejudgeTerms:
    store.rubrics.admit(load_rubric())
    if rubric is not None:
        store.rubrics.admit(load_rubric(rubric), arguments.rubric)
    named = RejudgeTerms(
        law="",
        digest="",
        rubric_id="",
        rubric_version="",
        tier=settings.tier,
        rubric=rubric,
        model=arguments.model,
        limit_usd=arguments.max_usd or Decimal(0),
        is_capped=not arguments.override_caps,
    )
    terms = complete_terms(named, partial(open_terms, settings, store))
    if arguments.max_usd is None:
        return terms
    return terms.model_copy(update={"book": run_budget_name(arguments, terms.law)})


def run_budget_name(arguments: argparse.Namespace, judge_digest: str) -> str:
    """The name of the run's budget, made of its options: the same command, run later, spends from the same budget."""
    since, until = (parse_moment_ms(text, FIXED_NOW) for text in (arguments.since, arguments.until or "0m"))
    options = json.dumps([since, until, arguments.subject, arguments.repository, judge_digest])
    return f"run:{sha256(options.encode()).hexdigest()}"


def _show_forecast(arguments: argparse.Namespace, run: RejudgeRun, store: Store, subjects: int) -> CommandResult:
    model = with_model(run.settings, run.terms.model).model
    has_model = model is not None and run.terms.tier != "heuristic" and bool(run.orders)
    cost = Forecast(len(run.orders), 0, 0, None, None)
    if model is not None and has_model:
        cost = forecast_run(run, partial(open_terms, run.settings, store), prompt_meter(model))
    forecast = RejudgeForecast(
        subjects=subjects,
        todo=len(run.orders),
        asked=cost.asked,
        sampled=cost.sampled,
        expected_usd=cost.expected_usd,
        most_usd=cost.most_usd,
        has_model=has_model,
        law=_rubric_name(run.terms),
    )
    return CommandResult(Exit.ACCEPT, _json(forecast) if arguments.json else forecast_text(forecast))


def _judge_all(run: RejudgeRun, surveyor: Surveyor, jobs: int | None) -> str:
    """Rejudge all orders, by a running server's workers unless --jobs is given. Returns why it stopped early, or ""."""
    if jobs is None and has_workers(run.settings):
        steps = run.run_by_workers(surveyor)
    else:
        jobs = jobs or min(os.cpu_count() or 1, -(-len(run.orders) // JUDGINGS_PER_PROCESS))
        steps = run.run_locally(RejudgerOpener(run.settings, run.terms), jobs)
    with show_count(len(run.orders), "subject") as show, suppress(HaltedError):
        for done in steps:
            show(done)
    list(surveyor.read_new())
    return run.terms.limit_reached if run.terms.is_full(run.store) else ""


def _summarize(run: RejudgeRun, surveyor: Surveyor, stopped: str) -> RejudgeSummary:
    survey, mine = surveyor.survey, {order.eval_id for order in run.orders}
    final = [pair for pair in survey.answered_pairs if pair[1].is_final]
    gone = [answer for _, answer in final if answer.failure_mode == FailureMode.SUBJECT_NOT_FOUND]
    judged = [pair for pair in final if pair[1].failure_mode is None]
    unjudged = [answer for _, answer in survey.answered_pairs if not answer.is_final]
    capped = sum(answer.throttled_reason is not None for answer in unjudged)
    scored = [(before.score, now.score) for before, now in judged if before.score is not None and now.score is not None]
    fresh = [answer for before, answer in survey.answered_pairs if before.eval_id in mine]
    missing = MISSING_SOURCES[run.terms.weighs] if run.terms.weighs else RejudgeSummary.missing
    return RejudgeSummary(
        subjects=len(survey.current_verdicts),
        answered=len(judged),
        earlier=sum(before.eval_id not in mine for before, _ in judged),
        gone=len(gone),
        failed=len(unjudged) - capped,
        left=len(survey.current_verdicts) - len(final) - len(unjudged),
        decisions=dict(Counter(answer.summary for _, answer in judged).most_common()),
        changes=tuple(_change(run.store, *pair) for pair in judged if pair[0].summary != pair[1].summary),
        cost_usd=sum((answer.judge_cost_usd for answer in fresh if answer.judge_cost_usd is not None), Decimal(0)),
        unpriced=sum(answer.judge_cost_usd is None for answer in fresh),
        law=_rubric_name(run.terms),
        unread=survey.unread_count,
        stopped=stopped,
        capped=capped,
        missing=missing if gone else "",
        mean_before=round(fmean(before for before, _ in scored), 4) if scored else None,
        mean_now=round(fmean(now for _, now in scored), 4) if scored else None,
        rescored=sum(before != now for before, now in scored),
    )


def _change(store: RecordStore, before: RecordedVerdict, now: RecordedVerdict) -> VerdictChange:
    """Where and why the decision differs, from the ledger."""
    entries = store.ledger.entries(now.pull)
    verdict = next((entry.verdict for entry in entries if entry.eval_id == now.eval_id), None)
    name = verdict.subject.repository if verdict else f"repository {now.repository_id}"
    return VerdictChange(
        name=f"{name}#{now.number}",
        before=before.summary,
        now=now.summary,
        eval_id=now.eval_id,
        concern=verdict.concern if verdict else "it was forgotten meanwhile",
        places=tuple(finding.location for finding in verdict.evidence) if verdict else (),
    )


def _rubric_name(terms: RejudgeTerms) -> str:
    more = f" and {terms.model}" if terms.model else f" over {terms.over}" if terms.over else ""
    return f"{terms.rubric_id} {terms.rubric_version}{more}"


def _json(result: RejudgeSummary | RejudgeForecast) -> str:
    return f"{json.dumps(asdict(result), indent=2, default=lambda amount: f'{amount:f}')}\n"
