"""What `assay stats`, `assay history`, `assay evaluate` and `assay rubric` print.

Every count names what it is of, a share its 95 % interval, a mean its interval; what was left out is named.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from worker.domain.check.overrides import NO_DECISIONS, HumanDecisions
from worker.domain.verdict.verdict import Rubric
from worker.publishing.texts.markdown import exact_line, one_line
from worker.publishing.texts.phrases import count_phrase
from worker.publishing.texts.states import decision_lines
from worker.publishing.texts.terminal import Ink, TerminalPage, bar, display_width, sparkline, wrap_lines

if TYPE_CHECKING:
    from worker.evaluation.rubric_diff import RubricDifferences

StatsAnswer = Mapping[str, Any]

NAME_WIDTH: Final = 22
BAR: Final = 10
NO_VALUE_NAMES: Final = {"author_agent": "(a person)", "category": "(no category)", None: "all"}
NOTHING_JUDGED: Final = "Nothing was judged in this time."
PAIR_NAMES: Final = {
    "rubric": "two rubrics",
    "tier": "two tiers",
    "same": "one rubric and tier twice",
    "opinions": "opinions with their verdict",
}
ACT_NAMES: Final = {
    "override": "overridden",
    "contest": "contested",
    "not_helpful": "not helpful",
    "merged": "merged all the same",
}
STRENGTH_NAMES: Final = {"explicit": "said it", "implicit": "did it", "lifecycle": "let it happen"}
DECISION_INKS: Final = {"accept": Ink.GREEN, "reject": Ink.RED, "abstain": Ink.YELLOW}
SUBJECT_SUFFIXES: Final = {
    "merge_group": ", in the merge queue",
    "ci_check": ", a CI check",
    "pull_request": ", the whole pull request",
}
"""What a verdict is about, where it is not what was submitted."""


@dataclass(frozen=True)
class StatsPage:
    """The answers that make a page, and the count of verdicts and the mean score of each day."""

    quality: StatsAnswer
    cost: StatsAnswer
    agreement: StatsAnswer
    backlog: StatsAnswer
    days: Sequence[tuple[int, float | None]] = ()


def stats_page(answers: StatsPage, page: TerminalPage) -> str:
    """Quality, agreement, costs and backlog."""
    return _join_parts(
        _frame(answers.quality, page),
        _quality(answers.quality, page),
        _days(answers.days, page),
        _banners(answers.quality, page),
        _agreement(answers.agreement, page),
        _cost_and_backlog(answers, page),
    )


def would_block_text(quality: StatsAnswer, overrides: StatsAnswer, page: TerminalPage) -> str:
    """What would have been blocked, and what people did about it."""
    note = wrap_lines(
        "A check blocks where the repository requires it and its mode is `block`; `mode: observe` only tells. "
        "Abstentions follow the policy of the repository, and are not counted as blocked.",
        page,
    )
    objections = _objections("By category", overrides["categories"], page)
    return _join_parts(_frame(quality, page), _blocked_lines(quality, page), objections, note)


def overrides_text(overrides: StatsAnswer, notices: Sequence[str], page: TerminalPage) -> str:
    """What people did about rejects, and which signals are demoted for it (*notices*)."""
    outcomes = overrides["outcomes"]
    return _join_parts(
        _frame(overrides, page),
        _objections("By signal (facts that rejected)", overrides["signals"], page),
        _objections("By category", overrides["categories"], page),
        _objections("By rubric", overrides["rubrics"], page),
        wrap_lines(f"All that was heard in this time: {_counts(outcomes.items())}.", page) if outcomes else (),
        (line for notice in notices for line in wrap_lines(one_line(notice), page)),
    )


def scorecards_text(agents: StatsAnswer, page: TerminalPage) -> str:
    """One card per agent, with counts and intervals."""
    cards = [list(_card(row, page)) for row in agents["data"]] or [[NOTHING_JUDGED]]
    note = wrap_lines(
        "In brackets: 95 % intervals. An agent has a rank only where its interval touches no other agent's: "
        "the rest may be noise.",
        page,
    )
    return _join_parts(_frame(agents, page), *cards, note)


def _join_parts(*parts: Iterable[str]) -> str:
    return "\n\n".join("\n".join(lines) for lines in (list(part) for part in parts) if lines) + "\n"


def _frame(answer: StatsAnswer, page: TerminalPage) -> Iterator[str]:
    window = answer["window"]
    grouped = answer.get("group_by")
    yield page.ink(
        f"{_time(window['from'])} to {_time(window['to'])} UTC{f', by {_plain(grouped)}' if grouped else ''}", Ink.BOLD
    )
    if answer["skipped"]:
        skipped = ", ".join(f"{count} {name}" for name, count in answer["skipped"].items())
        yield from wrap_lines(f"Not counted, since they can't be read or were there before: {skipped}.", page)
    if answer["is_behind"]:
        yield from wrap_lines("More has happened than is counted yet: ask again.", page)


def _time(moment: str) -> str:
    return f"{datetime.fromisoformat(moment):%Y-%m-%d %H:%M}"


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _quality(answer: StatsAnswer, page: TerminalPage) -> Iterator[str]:
    if not answer["data"]:
        yield NOTHING_JUDGED
        return
    yield page.ink(
        f"{'':{NAME_WIDTH}} {'verdicts':>8}  {'mean score':<29} {'p50':>5} {'p10':>5} {'conf.':>5} {'cost':>9} {'no help':>7}",
        Ink.DIM,
    )
    for row in answer["data"]:
        mean = row["mean_score"]
        drawn = f"{bar(mean, BAR, page)} {mean:.2f} {_interval(row['mean_interval'])}" if mean is not None else "-"
        figures = (row[name] for name in ("p50_score", "p10_score", "mean_confidence"))
        middle = " ".join("    -" if figure is None else f"{figure:>5.2f}" for figure in figures)
        cost = f"{_dollars(row['judge_cost_usd_total'])}{'+?' if row['unknown_price_count'] else ''}"
        counts = f"{_name(_value(answer, row))} {row['verdict_count']:>8}"
        yield f"{counts}  {drawn:<29} {middle} {cost:>9} {row['thumbs_down_count']:>7}"


def _value(answer: StatsAnswer, row: Mapping[str, Any]) -> str:
    """What a row is about, under a name of its own where the value is null."""
    value = row["value"]
    return NO_VALUE_NAMES.get(answer["group_by"], "(none)") if value is None else one_line(str(value))


def _name(name: str) -> str:
    cut = name if display_width(name) <= NAME_WIDTH else f"{name[: NAME_WIDTH - 1]}…"
    return cut + " " * max(0, NAME_WIDTH - display_width(cut))


def _interval(interval: Sequence[float] | None) -> str:
    return "" if interval is None else f"[{interval[0]:.2f}, {interval[1]:.2f}]"


def _count_noun(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _dollars(usd: str) -> str:
    if not float(usd):
        return "$0"
    return f"${float(usd):,.2f}" if float(usd) >= 1 else f"${float(usd):.4f}"


def _days(days: Sequence[tuple[int, float | None]], page: TerminalPage) -> Iterator[str]:
    if sum(count for count, _ in days):
        yield f"{'Verdicts a day':{NAME_WIDTH}} {sparkline([count for count, _ in days], page)}  most {max(count for count, _ in days)}"
        yield f"{'Mean score a day':{NAME_WIDTH}} {sparkline([mean for _, mean in days], page)}"


def _banners(answer: StatsAnswer, page: TerminalPage) -> Iterator[str]:
    for banner in answer["banners"]:
        interval = "" if banner["mean_interval"] is None else f", {_interval(banner['mean_interval'])}"
        chance = "" if banner["is_certain"] else "; so few that it may be chance"
        score = f"{banner['mean_score']:.2f} on average, below {banner['floor']}"
        text = f"Verdicts ({_value(answer, banner)}) score {score} (n = {banner['verdict_count']}{interval}{chance})."
        yield from wrap_lines(text, page)


def _agreement(answer: StatsAnswer, page: TerminalPage) -> Iterator[str]:
    pairs = [pair for pair in answer["data"] if pair["count"]]
    people = [pair for pair in answer["people"] if pair["count"]]
    if pairs or people:
        yield page.ink(f"Agreement (scores at most {answer['agreement_window']} apart)", Ink.BOLD)
    for pair in pairs:
        names = f"{PAIR_NAMES[pair['between']]}, {one_line(pair['pair'])}"
        yield from wrap_lines(f"{names}: {_share(pair, 'agreed', 'count')}", page, 2)
    for pair in people:
        who = f"with people who {STRENGTH_NAMES[pair['strength']]}"
        yield from wrap_lines(f"{who}: {_share(pair, 'agreed', 'count')}", page, 2)
        for row in pair["calibration"]:
            confidence = f"confidence {row['confidence_from']:.1f} to {row['confidence_to']:.1f}"
            right = f"{bar(row['share'], BAR, page)} right {row['share']:.0%} of {row['count']}"
            yield f"    {confidence}  {right} {_interval(row['interval'])}"


def _share(part: Mapping[str, Any], hits: str = "count", of: str = "of") -> str:
    """A share with its counts under these names, and its interval."""
    if part["share"] is None:
        return "none"
    return f"{part['share']:.0%} ({part[hits]} of {part[of]}, {_interval(part['interval'])})"


def _cost_and_backlog(answers: StatsPage, page: TerminalPage) -> Iterator[str]:
    unknown = sum(row["unknown_price_count"] for row in answers.cost["data"])
    more = f"; the price of {unknown} is not known" if unknown else ""
    yield from wrap_lines(f"Judging has cost {_dollars(answers.cost['total_usd'])}{more}.", page)
    backlog = answers.backlog
    if backlog["open"]:
        seconds, units = backlog["oldest_open_s"], ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
        size, unit = next((unit for unit in units if seconds >= unit[0]), units[-1])
        oldest = f"{seconds / size:.0f} {unit}"
        yield from wrap_lines(f"Begun and not ended: {backlog['open']}, the oldest for {oldest}.", page)
    for row in backlog["data"]:
        if row["failed"]:
            failed = f"{row['failed']} of {row['completed'] + row['failed']} ({_plain(row['subject'])})"
            yield from wrap_lines(f"Failed to judge {failed}: {_counts(row['failure_modes'].items())}.", page)


def _blocked_lines(answer: StatsAnswer, page: TerminalPage) -> Iterator[str]:
    """Of live verdicts: a re-evaluation blocks nothing."""
    rows = [(_name(_value(answer, row)), row["live"]) for row in answer["data"] if row["live"]["verdict_count"]]
    if not rows:
        yield NOTHING_JUDGED
        return
    yield page.ink(f"{'':{NAME_WIDTH}} {'verdicts':>8} {'would block':>11} {'abstains':>9}", Ink.DIM)
    for name, live in rows:
        drawn = bar(live["rejects"] / live["verdict_count"], BAR, page)
        yield f"{name} {live['verdict_count']:>8} {live['rejects']:>11} {live['abstains']:>9}  {drawn}"


def _objections(title: str, rows: Sequence[Mapping[str, Any]], page: TerminalPage) -> Iterator[str]:
    yield page.ink(title, Ink.BOLD)
    if not rows:
        yield "  No reject."
    for row in rows:
        done = [f"{row[name]} {_plain(word)}" for name, word in ACT_NAMES.items() if row[name]]
        rejects = f"{_plain(one_line(str(row['value'] or '(none)')))}: {_count_noun(row['rejects'], 'reject')}"
        objected = f"objected to {_share(row['objected'])}{'; ' + ', '.join(done) if done else ''}"
        yield from wrap_lines(f"{rejects}, {objected}", page, 2)


def _counts(counts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{count} {_plain(name)}" for name, count in counts)


def _card(row: Mapping[str, Any], page: TerminalPage) -> Iterator[str]:
    rank = f", rank {row['rank']}" if row["rank"] else ""
    pull_requests = _count_noun(row["pull_requests"], "pull request")
    yield page.ink(f"{one_line(str(row['value'] or 'people'))}: {pull_requests}{rank}", Ink.BOLD)
    lines = [
        f"accepted at the first round: {_share(row['first_round'])}",
        f"accepted at all: {_share(row['accepted'])}",
    ]
    rounds, each = row["rounds_to_accept"], row["cost_per_accepted_usd"]
    if rounds["count"]:
        lines.append(f"rounds to accept: {rounds['mean']:.1f} on average, {rounds['p50']:.0f} in the middle")
    if row["merged"]:
        lines.append(f"reverted: {_share(row['reverts'])}; fixed later: {_share(row['later_fixes'])}")
    if row["top_categories"]:
        lines.append(f"rejected for: {_counts(row['top_categories'])}")
    per_accepted = "" if each is None else f", {_dollars(each)} for each accepted one"
    lines.append(f"judging cost {_dollars(row['judge_cost_usd'])}{per_accepted}")
    for line in lines:
        yield from wrap_lines(line, page, 2)


def history_text(
    name: str,
    evaluations: Sequence[Mapping[str, Any]],
    outcomes: Sequence[Mapping[str, Any]],
    page: TerminalPage,
    decisions: Mapping[str, HumanDecisions] = MappingProxyType({}),
) -> str:
    """A pull request's verdicts in their order, and what was done about them.

    Verdicts are as in docs/verdict.md, without secrets. *decisions*: what people decided about each head.
    """
    lines = [page.ink(f"{one_line(name)}: {count_phrase(evaluations, 'verdict')}", Ink.BOLD)]
    newest = {evaluation["subject"]["head_sha"]: evaluation["eval_id"] for evaluation in evaluations}
    for evaluation in evaluations:
        lines += ["", *_verdict(evaluation, page)]
        head_sha = evaluation["subject"]["head_sha"]
        if newest[head_sha] == evaluation["eval_id"]:
            for text in decision_lines(decisions.get(head_sha, NO_DECISIONS)):
                lines += wrap_lines(text, page, 2)
    if outcomes:
        lines += ["", page.ink("What was done since", Ink.BOLD)]
        for outcome in outcomes:
            about = f" (about {outcome['eval_id']})" if outcome["eval_id"] else ""
            lines.append(f"  {_time(outcome['at'])}  {_plain(outcome['outcome'])}{about}")
    return "\n".join([*lines, ""])


def _verdict(verdict: Mapping[str, Any], page: TerminalPage) -> Iterator[str]:
    reason, subject = verdict["category"] or verdict["abstain_reason"], verdict["subject"]
    decision = f"{verdict['decision']}{f' ({_plain(reason)})' if reason else ''}"
    head = page.ink(
        f"{_time(verdict['created_at'])}  {decision}, round {verdict['round']}", DECISION_INKS[verdict["decision"]]
    )
    yield f"{head}  commit {subject['head_sha'][:12]}{SUBJECT_SUFFIXES.get(subject['kind'], '')}"
    score = f"score {bar(verdict['score'], BAR, page)} {verdict['score']:.2f}, confidence {verdict['confidence']:.2f}"
    rubric = f"{one_line(verdict['rubric_id'])}@{one_line(verdict['rubric_version'])}"
    cost = "price unknown" if verdict["judge_cost_usd"] is None else f"${verdict['judge_cost_usd']}"
    yield f"  {score}, {verdict['judge_kind']}, {rubric}, {cost}"
    yield from wrap_lines(one_line(verdict["concern"]), page, 2)
    for pointer in verdict["evidence"][:3]:
        line = "" if pointer["line"] is None else f":{pointer['line']}"
        yield f"  at {exact_line(pointer['path'])}{line}"
    origin = f", carried over from {verdict['carried_from']}" if verdict["carried_from"] else ""
    if verdict["parent_eval_id"]:
        origin = f", beside {verdict['parent_eval_id']}"
    yield f"  {verdict['eval_id']}{origin}"


DOSSIER_NOT_KEPT: Final = "the dossier is no longer kept (ASSAY_RETENTION_DAYS)"
NO_MODEL_ASKED: Final = "no model was asked with both prompts (ASSAY_CANARY_PROMPT has a candidate asked beside ours)"


@dataclass(frozen=True)
class VerdictChange:
    """A verdict that came out otherwise. `places`: the locations that the new one names."""

    name: str
    before: str
    now: str
    eval_id: str
    concern: str
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class RejudgeSummary:
    """The result of a run. `answered` of `subjects` are re-evaluated, `earlier` of them before this run.

    `capped`: a budget kept the model from being asked. `stopped`: why it ended early, a sentence. `missing`: what is not
    kept, where something is gone. The means are of the scores of all that were judged, `rescored` of which changed.
    """

    subjects: int
    answered: int
    earlier: int
    gone: int
    failed: int
    left: int
    decisions: Mapping[str, int]
    changes: tuple[VerdictChange, ...]
    cost_usd: Decimal
    unpriced: int
    law: str
    unread: int = 0
    stopped: str = ""
    capped: int = 0
    missing: str = DOSSIER_NOT_KEPT
    mean_before: float | None = None
    mean_now: float | None = None
    rescored: int = 0


@dataclass(frozen=True)
class RejudgeForecast:
    """What a run would do. Its costs are None where no model would be asked, or its price is not known."""

    subjects: int
    todo: int
    asked: int
    sampled: int
    expected_usd: Decimal | None
    most_usd: Decimal | None
    has_model: bool
    law: str


def forecast_text(forecast: RejudgeForecast) -> str:
    """What a run would cost."""
    done = forecast.subjects - forecast.todo
    lines = [
        f"{_count(forecast.subjects, 'subject')} in this window, {done} of them re-evaluated by {forecast.law} already.",
        f"{forecast.todo} would be judged; nothing was.",
    ]
    if not forecast.has_model:
        lines.append("Cost: $0.00, no model would be asked.")
    elif forecast.expected_usd is None or forecast.most_usd is None:
        lines.append("Cost: not known, either no dossier is kept or the model has no price in the table.")
    else:
        lines.append(
            f"About {forecast.asked} need the model (judged by {forecast.sampled} of them): about ${forecast.expected_usd:.2f}, "
            f"at the very most ${forecast.most_usd:.2f}."
        )
    return "\n".join(lines) + "\n"


def summary_text(summary: RejudgeSummary, page: TerminalPage) -> str:
    """The result of a run."""
    return "".join(f"{line}\n" for line in _summary_lines(summary, page))


def _summary_lines(summary: RejudgeSummary, page: TerminalPage) -> Iterator[str]:
    if summary.stopped:
        yield from wrap_lines(summary.stopped, page)
    earlier = f", {summary.earlier} of them before this run" if summary.earlier else ""
    yield f"{summary.answered} of {_count(summary.subjects, 'subject')} re-evaluated by {summary.law}{earlier}."
    if summary.decisions:
        yield f"Now: {', '.join(f'{count} {decision}' for decision, count in summary.decisions.items())}."
    if summary.mean_before is not None and summary.mean_now is not None:
        yield f"Mean score: {summary.mean_before:.2f} before, {summary.mean_now:.2f} now; {summary.rescored} scored otherwise."
    if summary.gone:
        yield f"{summary.gone} can't be: {summary.missing}."
    if summary.failed:
        yield f"{summary.failed} failed; `assay work` has logged why, and the same command tries them again."
    if summary.capped:
        yield f"{summary.capped} were not asked: a cap is reached. The same command asks again, once there is room."
    if summary.left:
        yield f"{summary.left} are left; the same command goes on from there."
    if summary.unread:
        yield f"{_count(summary.unread, 'event')} on the stream can't be read, and were left out."
    priced = f"{summary.cost_usd:.4f}" if summary.cost_usd else "0.00"
    more = f", and {_count(summary.unpriced, 'judging')} whose price is not known" if summary.unpriced else ""
    yield f"Cost: ${priced}{more}."
    yield f"{len(summary.changes)} decided otherwise{':' if summary.changes else '.'}"
    for change in summary.changes:
        yield f"  {one_line(change.name)}  {change.before} -> {change.now}  {change.eval_id}"
        if change.places:
            yield from wrap_lines(", ".join(map(one_line, change.places)), page, indent=4)
        yield from wrap_lines(one_line(change.concern), page, indent=4)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def rubric_ok_text(rubric: Rubric, name: str, refusal: str | None) -> str:
    """A valid rubric, and why its version is refused."""
    text = (
        f'{name}: "{rubric.id}" version {rubric.version}, {len(rubric.criteria)} criteria, {len(rubric.signals)} signals, '
        f"a model is asked below {rubric.escalation_threshold:g}.\n"
    )
    return text if refusal is None else f"{text}{refusal}\n"


def promotion_text(signal: str, installation: int, *, was_demoted: bool) -> str:
    """The effect of promoting a signal."""
    was = "may reject alone again" if was_demoted else "was no suspicion"
    return f"{signal} {was} in installation {installation}. Its rejects are counted from now on.\n"


def differences_text(differences: "RubricDifferences", page: TerminalPage) -> str:
    """Which changes come out otherwise, and how both rubrics agree with people's outcomes."""
    return "\n".join(_difference_lines(differences, page)) + "\n"


def _difference_lines(differences: "RubricDifferences", page: TerminalPage) -> Iterator[str]:
    yield f"{differences.compared} recorded changes by {differences.before} and by {differences.now}."
    code = differences.compared - differences.by_record
    yield f"{differences.by_record} by verdicts on record of the same model, {code} by code alone, at $0."
    if differences.left_out:
        yield f"{differences.left_out} are left out: {NO_MODEL_ASKED if differences.by_prompts else DOSSIER_NOT_KEPT}."
    if differences.unread:
        yield f"{differences.unread} events on the stream can't be read, and were left out."
    yield f"{len(differences.changes)} decided otherwise{':' if differences.changes else '.'}"
    for change in differences.changes:
        outcomes = f"  ({', '.join(change.outcomes)})" if change.outcomes else ""
        yield f"  {one_line(change.name)}  {change.before.words} -> {change.now.words}  {change.eval_id}{outcomes}"
        for side in (change.before, change.now):
            if side.places:
                yield from wrap_lines(f"{side.words} at {', '.join(map(one_line, side.places))}", page, indent=4)
                yield from wrap_lines(one_line(side.concern), page, indent=6)
    yield f"{len(differences.asked)} where only one of them asks a model{':' if differences.asked else '.'}"
    for change in differences.asked:
        before, now = ("asked" if side.asks else "not asked" for side in (change.before, change.now))
        yield f"  {one_line(change.name)}  {before} -> {now}  {change.eval_id}"
    yield f"{differences.moved} decided alike with another score."
    yield "Agreement with what people did:"
    for each in differences.agreement:
        yield f"  {each.strength}: {differences.before} {each.before.text}; {differences.now} {each.now.text}"
