"""`assay stats` and `history`: what the records say, for who has the machine.

Does not count or word anything. Invariant: nothing is judged and nothing but rollups is written; what was left out is said.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from app.cli.exit_codes import Answer, Exit
from app.cli.page import page
from worker.adapters.redis.store import Store, open_store
from worker.clock import SystemClock
from worker.domain.check.overrides import Said, said_json
from worker.domain.ids import InstallationId, Sha
from worker.domain.request.judge_request import PullRef
from worker.domain.value import replace
from worker.domain.verdict.ledger import LedgerEntry
from worker.errors import InputError
from worker.evaluation.stats.asking import AskError, Question, Topic, asked
from worker.evaluation.stats.evaluations import evaluations, outcomes
from worker.evaluation.stats.histories import history as found_history
from worker.evaluation.stats.queries import answer, needed, together
from worker.evaluation.stats.rollups import ALL, open_rollups
from worker.evaluation.stats.windows import DAY_HOURS, EPOCH, HOUR_MS, Window, ms
from worker.evaluation.texts.history import history as told
from worker.evaluation.texts.stats import Stats, overridden, scorecards, would_block
from worker.evaluation.texts.stats import stats as worded
from worker.settings import from_environment

OPTIONS: Final = {
    "since": "from", "until": "to", "subject": "subject", "group_by": "group_by", "min_confidence": "min_confidence",
    "view": "view", "agreement_window": "agreement_window",
}  # fmt: skip
MOST_DAYS: Final = 62


class Office:
    """Answers questions about the installations that are meant. Whoever waits at a terminal waits until all is counted."""

    def __init__(self, store: Store, of: Sequence[InstallationId], now: datetime) -> None:
        self._rollups = open_rollups(store)
        self._demotions = store.demotions
        self._of = of
        self._now = now
        standings = [self._rollups.catch_up_with_all(installation) for installation in of]
        self._last = max((one.until for one in standings), default=EPOCH)

    def to_the_last(self, question: Question) -> Question:
        """The question without an upper end: whatever clock wrote an entry, it is among what there is."""
        over = question.over
        return replace(question, over=Window(over.start, max(over.end, ms(self._last) // HOUR_MS + 1)))

    def answer(self, topic: Topic, question: Question) -> dict[str, Any]:
        tables = needed(topic, question)
        found = [self._rollups.find(one, tables, question.over, self._now) for one in self._of]
        return answer(topic, question, together(found))

    def notices(self) -> tuple[str, ...]:
        """Of each signal that is a suspicion now, why, and how a person takes that back."""
        return tuple(one.notice(installation) for installation in self._of for one in self._demotions.of(installation))


def stats(arguments: argparse.Namespace) -> Answer:
    """Quality, cost, agreement and backlog; or what would be blocked, was overridden, or how agents fare."""
    given = {name: getattr(arguments, option) for option, name in OPTIONS.items() if getattr(arguments, option)}
    now = SystemClock().now()
    try:
        questions = {topic: asked(given, topic, now) for topic in Topic}
    except AskError as error:
        raise InputError(
            f"--{error.parameter.replace('_', '-')}: expected {error.expected}, found {error.found!r}."
        ) from error
    questions[Topic.COST] = replace(questions[Topic.COST], include_eval=True)
    with open_store(from_environment()) as store:
        of = tuple(dict.fromkeys(arguments.installation or store.events.installations()))
        office = Office(store, of, now)
        if "to" not in given:
            questions = {topic: office.to_the_last(question) for topic, question in questions.items()}
        said = {topic: office.answer(topic, questions[topic]) for topic in _topics(arguments)}
        days = list(_days(office, questions[Topic.QUALITY])) if Topic.BACKLOG in said and not arguments.json else []
        if Topic.OVERRIDES in said:
            said[Topic.OVERRIDES] |= {"demotions": office.notices()}
    if arguments.json:
        return Answer(Exit.ACCEPT, f"{json.dumps(said, indent=2)}\n")
    return Answer(Exit.ACCEPT, _page(said, days))


def _topics(arguments: argparse.Namespace) -> tuple[Topic, ...]:
    if arguments.would_block:
        return Topic.QUALITY, Topic.OVERRIDES
    if arguments.overrides:
        return (Topic.OVERRIDES,)
    if arguments.agents:
        return (Topic.AGENTS,)
    return Topic.QUALITY, Topic.COST, Topic.AGREEMENT, Topic.BACKLOG


def _page(said: dict[Topic, dict[str, Any]], days: list[tuple[int, float | None]]) -> str:
    match tuple(said):
        case (Topic.QUALITY, Topic.OVERRIDES):
            return would_block(said[Topic.QUALITY], said[Topic.OVERRIDES], page())
        case (Topic.OVERRIDES,):
            overrides = said[Topic.OVERRIDES]
            return overridden(overrides, overrides["demotions"], page())
        case (Topic.AGENTS,):
            return scorecards(said[Topic.AGENTS], page())
        case _:
            return worded(Stats(*(said[topic] for topic in said), days=days), page())


def _days(office: Office, question: Question) -> Iterator[tuple[int, float | None]]:
    """Verdicts and mean score of each day, where the window is not longer than a line."""
    starts = range(question.over.start, question.over.end, DAY_HOURS)
    if len(starts) > MOST_DAYS:
        return
    for start in starts:
        day = Window(start, min(start + DAY_HOURS, question.over.end))
        [row] = office.answer(Topic.QUALITY, replace(question, over=day, group_by=None))["data"]
        yield row["verdict_count"], row["mean_score"]


def history(arguments: argparse.Namespace) -> Answer:
    """A pull request's verdicts, and what was done about them."""
    name, _, number = arguments.pull.partition("#")
    with open_store(from_environment()) as store:
        found = found_history(store, name, int(number), at_most=ALL)
        said = {one.head_sha: store.decisions.of(_pull_of(one), one.head_sha) for one in found.entries}
    if not found.entries:
        raise InputError(
            f"Nothing is on record of {arguments.pull} here. REDIS_URL or ASSAY_DATA_DIR say where to look."
        )
    shown, done = evaluations(found.entries), outcomes(found.pulls)
    if arguments.json:
        return Answer(
            Exit.ACCEPT, f"{json.dumps({'evaluations': shown, 'outcomes': done, 'said': _said(said)}, indent=2)}\n"
        )
    return Answer(Exit.ACCEPT, told(arguments.pull, shown, done, page(), said))


def _pull_of(entry: LedgerEntry) -> PullRef:
    of = entry.verdict.subject
    return PullRef(installation_id=of.installation_id, repository_id=of.repository_id, number=of.number)


def _said(by_head: Mapping[Sha, Said]) -> dict[Sha, dict[str, Any]]:
    return {head_sha: words for head_sha, said in by_head.items() if (words := said_json(said))}
