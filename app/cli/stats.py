"""`assay stats` and `assay history`: figures and a pull request's verdicts from the records here."""

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from app.cli.parser import CommandResult, Exit
from app.cli.terminal import terminal_page
from worker.domain.check.overrides import HumanDecisions, dump_decisions
from worker.domain.judge_request import PullRef
from worker.domain.model import Sha
from worker.errors import InputError
from worker.evaluation.stats.answers import answer_query, list_evaluations
from worker.evaluation.stats.cache import NO_LIMIT
from worker.evaluation.stats.figures import (
    DAY_HOURS,
    HOUR_MS,
    HourWindow,
    ParameterError,
    StatsQuery,
    StatsTopic,
    parse_query,
)
from worker.evaluation.texts import (
    StatsPage,
    history_text,
    overrides_text,
    scorecards_text,
    stats_page,
    would_block_text,
)
from worker.process import SystemClock
from worker.settings import load_settings
from worker.wiring.store import open_figures_cache, open_store, read_history

OPTIONS: Final = {
    "since": "from", "until": "to", "subject": "subject", "group_by": "group_by", "min_confidence": "min_confidence",
    "view": "view", "agreement_window": "agreement_window",
}  # fmt: skip
MOST_DAYS: Final = 62


def stats(arguments: argparse.Namespace) -> CommandResult:
    """Quality, cost, agreement and backlog; or what would be blocked, was overridden, or how agents fare."""
    parameters = {name: getattr(arguments, option) for option, name in OPTIONS.items() if getattr(arguments, option)}
    now = SystemClock().now()
    try:
        questions = {topic: parse_query(parameters, topic, now) for topic in StatsTopic}
    except ParameterError as error:
        raise InputError(
            f"--{error.parameter.replace('_', '-')}: expected {error.expected}, found {error.received!r}."
        ) from error
    questions[StatsTopic.COST] = replace(questions[StatsTopic.COST], include_eval=True)
    settings = load_settings()
    with open_store(settings) as store:
        of = tuple(dict.fromkeys(arguments.installation or store.events.installations()))
        figures = open_figures_cache(settings, store)
        states = [figures.catch_up(installation, NO_LIMIT, waits=True) for installation in of]
        if "to" not in parameters:  # up to the newest entry, whatever clock wrote it
            latest = max((state.until_ms for state in states), default=0) // HOUR_MS + 1
            window = questions[StatsTopic.QUALITY].window
            window = HourWindow(window.start, max(window.end, latest))
            questions = {topic: replace(question, window=window) for topic, question in questions.items()}

        def answer(topic: StatsTopic, question: StatsQuery) -> dict[str, Any]:
            return figures.query(of, now, lambda streams: answer_query(topic, question, streams))

        answers = {topic: answer(topic, questions[topic]) for topic in _topics(arguments)}
        has_days = StatsTopic.BACKLOG in answers and not arguments.json
        days = list(_days(answer, questions[StatsTopic.QUALITY])) if has_days else []
        if StatsTopic.OVERRIDES in answers:
            demoted = ((each, demotion) for each in of for demotion in store.demotions.list_demotions(each))
            answers[StatsTopic.OVERRIDES]["demotions"] = [demotion.notice(each) for each, demotion in demoted]
    if arguments.json:
        return CommandResult(Exit.ACCEPT, f"{json.dumps(answers, indent=2)}\n")
    return CommandResult(Exit.ACCEPT, _render(answers, days))


def _topics(arguments: argparse.Namespace) -> tuple[StatsTopic, ...]:
    if arguments.would_block:
        return StatsTopic.QUALITY, StatsTopic.OVERRIDES
    if arguments.overrides:
        return (StatsTopic.OVERRIDES,)
    if arguments.agents:
        return (StatsTopic.AGENTS,)
    return StatsTopic.QUALITY, StatsTopic.COST, StatsTopic.AGREEMENT, StatsTopic.BACKLOG


def _render(answers: dict[StatsTopic, dict[str, Any]], days: list[tuple[int, float | None]]) -> str:
    match tuple(answers):
        case (StatsTopic.QUALITY, StatsTopic.OVERRIDES):
            return would_block_text(answers[StatsTopic.QUALITY], answers[StatsTopic.OVERRIDES], terminal_page())
        case (StatsTopic.OVERRIDES,):
            overrides = answers[StatsTopic.OVERRIDES]
            return overrides_text(overrides, overrides["demotions"], terminal_page())
        case (StatsTopic.AGENTS,):
            return scorecards_text(answers[StatsTopic.AGENTS], terminal_page())
        case _:
            return stats_page(StatsPage(*(answers[topic] for topic in answers), days=days), terminal_page())


def _days(
    answer: Callable[[StatsTopic, StatsQuery], dict[str, Any]], question: StatsQuery
) -> Iterator[tuple[int, float | None]]:
    """Verdicts and mean score of each day, if the days fit on a line."""
    starts = range(question.window.start, question.window.end, DAY_HOURS)
    if len(starts) > MOST_DAYS:
        return
    for start in starts:
        day = HourWindow(start, min(start + DAY_HOURS, question.window.end))
        [row] = answer(StatsTopic.QUALITY, replace(question, window=day, group_by=None))["data"]
        yield row["verdict_count"], row["mean_score"]


def history(arguments: argparse.Namespace) -> CommandResult:
    """A pull request's verdicts, with people's decisions and outcomes."""
    name, _, number = arguments.pull.partition("#")
    settings = load_settings()
    with open_store(settings) as store:
        figures = open_figures_cache(settings, store)
        pull_history = read_history(store, figures, name, int(number), NO_LIMIT)
        by_head: dict[Sha, HumanDecisions] = {}
        for entry in pull_history.entries:
            of = entry.verdict.subject
            pull = PullRef(installation_id=of.installation_id, repository_id=of.repository_id, number=of.number)
            by_head[entry.head_sha] = store.decisions.find_decisions(pull, entry.head_sha)
    if not pull_history.entries:
        raise InputError(
            f"Nothing is on record of {arguments.pull} here. REDIS_URL or ASSAY_DATA_DIR say where to look."
        )
    evaluations, outcomes = list_evaluations(pull_history.entries), pull_history.outcomes
    if not arguments.json:
        text = history_text(arguments.pull, evaluations, outcomes, terminal_page(), by_head)
        return CommandResult(Exit.ACCEPT, text)
    decided = {head_sha: dumped for head_sha, decisions in by_head.items() if (dumped := dump_decisions(decisions))}
    fields = {"evaluations": evaluations, "outcomes": outcomes, "said": decided}
    return CommandResult(Exit.ACCEPT, f"{json.dumps(fields, indent=2)}\n")
