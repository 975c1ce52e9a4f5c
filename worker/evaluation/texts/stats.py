"""What `assay stats` says: quality, cost, agreement, backlog, scorecards and overrides, as text for a terminal.

Does not count. Invariant: a share never stands without its count, nor a mean without its interval where there is one; what was
skipped, or is not counted yet, is said.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from worker.domain.value import Value
from worker.publishing.texts.charts import bar, sparkline
from worker.publishing.texts.columns import Ink, TerminalPage, display_width, wrap_lines
from worker.publishing.texts.visible import one_line

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
STRENGTH_NAMES: Final = {"explicit": "said it", "implicit": "did it", "lifecycle": "let it happen"}


class StatsPage(Value):
    """The answers that make a page, and the verdicts and mean scores of each day."""

    quality: StatsAnswer
    cost: StatsAnswer
    agreement: StatsAnswer
    backlog: StatsAnswer
    days: Sequence[tuple[int, float | None]] = ()


def stats_page(answers: StatsPage, page: TerminalPage) -> str:
    """The whole page."""
    parts = (
        _frame(answers.quality, page),
        _quality(answers.quality, page),
        _days(answers.days, page),
        _banners(answers.quality, page),
        _agreement(answers.agreement, page),
        _backlog_and_agents(answers, page),
    )
    return _joined(parts)


def would_block_text(quality: StatsAnswer, overrides: StatsAnswer, page: TerminalPage) -> str:
    """What would have been blocked, and what people did about it."""
    parts = (
        _frame(quality, page),
        _blocked(quality, page),
        _objections("By category", overrides["categories"], page),
        wrap_lines(
            "A check blocks where the repository requires it and its mode is `block`; `mode: observe` only tells. "
            "Abstentions follow the policy of the repository, and are not counted as blocked.",
            page,
        ),
    )
    return _joined(parts)


def overrides_text(overrides: StatsAnswer, notices: Sequence[str], page: TerminalPage) -> str:
    """What people did about rejects, and which signals may not reject alone any more for it (*notices*)."""
    parts = (
        _frame(overrides, page),
        _objections("By signal (facts that rejected)", overrides["signals"], page),
        _objections("By category", overrides["categories"], page),
        _objections("By rubric", overrides["rubrics"], page),
        _outcomes(overrides["outcomes"], page),
        (line for notice in notices for line in wrap_lines(one_line(notice), page)),
    )
    return _joined(parts)


def scorecards_text(agents: StatsAnswer, page: TerminalPage) -> str:
    """Agents, each with its counts and intervals."""
    cards = [list(_card(row, page)) for row in agents["data"]] or [[NOTHING_JUDGED]]
    note = wrap_lines(
        "In brackets: 95 % intervals. An agent has a rank only where its interval touches no other agent's: "
        "the rest may be noise.",
        page,
    )
    return _joined((_frame(agents, page), *cards, note))


def _joined(parts: Iterable[Iterable[str]]) -> str:
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
        yield _quality_row(row, _value(answer, row), page)


def _value(answer: StatsAnswer, row: Mapping[str, Any]) -> str:
    """What a row is about, where it is about nothing that has a name too."""
    value = row["value"]
    return NO_VALUE_NAMES.get(answer["group_by"], "(none)") if value is None else one_line(str(value))


def _quality_row(row: Mapping[str, Any], name: str, page: TerminalPage) -> str:
    mean = row["mean_score"]
    drawn = f"{bar(mean, BAR, page)} {mean:.2f} {_interval(row['mean_interval'])}" if mean is not None else "-"
    middle = " ".join(f"{_two_digits(row[name]):>5}" for name in ("p50_score", "p10_score", "mean_confidence"))
    cost = f"{_dollars(row['judge_cost_usd_total'])}{'+?' if row['unknown_price_count'] else ''}"
    return f"{_name(name)} {row['verdict_count']:>8}  {drawn:<29} {middle} {cost:>9} {row['thumbs_down_count']:>7}"


def _name(name: str) -> str:
    cut = name if display_width(name) <= NAME_WIDTH else f"{name[: NAME_WIDTH - 1]}…"
    return cut + " " * max(0, NAME_WIDTH - display_width(cut))


def _two_digits(figure: float | None) -> str:
    return "-" if figure is None else f"{figure:.2f}"


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
        who = f"Verdicts ({_value(answer, banner)})"
        sure = "" if banner["is_certain"] else "; so few that it may be chance"
        text = f"{who} score {banner['mean_score']:.2f} on average, below {banner['floor']}"
        yield from wrap_lines(
            f"{text} (n = {banner['verdict_count']}{_comma(_interval(banner['mean_interval']))}{sure}).", page
        )


def _comma(text: str) -> str:
    return f", {text}" if text else ""


def _agreement(answer: StatsAnswer, page: TerminalPage) -> Iterator[str]:
    pairs = [pair for pair in answer["data"] if pair["count"]]
    people = [pair for pair in answer["people"] if pair["count"]]
    if pairs or people:
        yield page.ink(f"Agreement (scores at most {answer['agreement_window']} apart)", Ink.BOLD)
    for pair in pairs:
        yield from wrap_lines(
            f"{PAIR_NAMES[pair['between']]}, {one_line(pair['pair'])}: {_share(pair['share'], pair['agreed'], pair['count'], pair['interval'])}",
            page,
            2,
        )
    for pair in people:
        yield from wrap_lines(
            f"with people who {STRENGTH_NAMES[pair['strength']]}: {_share(pair['share'], pair['agreed'], pair['count'], pair['interval'])}",
            page,
            2,
        )
        for row in pair["calibration"]:
            yield f"    {_calibrated(row, page)}"


def _calibrated(row: Mapping[str, Any], page: TerminalPage) -> str:
    text = f"confidence {row['confidence_from']:.1f} to {row['confidence_to']:.1f}"
    return f"{text}  {bar(row['share'], BAR, page)} right {row['share']:.0%} of {row['count']} {_interval(row['interval'])}"


def _share(share: float | None, hits: int, of: int, interval: Sequence[float] | None) -> str:
    return "none" if share is None else f"{share:.0%} ({hits} of {of}, {_interval(interval)})"


def _part(part: Mapping[str, Any]) -> str:
    return _share(part["share"], part["count"], part["of"], part["interval"])


def _backlog_and_agents(answers: StatsPage, page: TerminalPage) -> Iterator[str]:
    unknown = sum(row["unknown_price_count"] for row in answers.cost["data"])
    more = f"; the price of {unknown} is not known" if unknown else ""
    yield from wrap_lines(f"Judging has cost {_dollars(answers.cost['total_usd'])}{more}.", page)
    backlog = answers.backlog
    if backlog["open"]:
        yield from wrap_lines(
            f"Begun and not ended: {backlog['open']}, the oldest for {_age(backlog['oldest_open_s'])}.", page
        )
    for row in backlog["data"]:
        if row["failed"]:
            modes = ", ".join(f"{count} {_plain(name)}" for name, count in row["failure_modes"].items())
            yield from wrap_lines(
                f"Failed to judge {row['failed']} of {row['completed'] + row['failed']} ({_plain(row['subject'])}): {modes}.",
                page,
            )


def _age(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _blocked(answer: StatsAnswer, page: TerminalPage) -> Iterator[str]:
    """Of live verdicts: what is judged anew blocks nobody."""
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
        text = f"{_plain(one_line(str(row['value'] or '(none)')))}: {_count_noun(row['rejects'], 'reject')}, objected to {_part(row['objected'])}"
        yield from wrap_lines(f"{text}{'; ' + ', '.join(done) if done else ''}", page, 2)


ACT_NAMES: Final = {
    "override": "overridden",
    "contest": "contested",
    "not_helpful": "not helpful",
    "merged": "merged all the same",
}


def _outcomes(outcomes: Mapping[str, int], page: TerminalPage) -> Iterator[str]:
    if outcomes:
        counts = ", ".join(f"{count} {_plain(name)}" for name, count in outcomes.items())
        yield from wrap_lines(f"All that was heard in this time: {counts}.", page)


def _card(row: Mapping[str, Any], page: TerminalPage) -> Iterator[str]:
    rank = f", rank {row['rank']}" if row["rank"] else ""
    yield page.ink(
        f"{one_line(str(row['value'] or 'people'))}: {_count_noun(row['pull_requests'], 'pull request')}{rank}",
        Ink.BOLD,
    )
    rounds = row["rounds_to_accept"]
    lines = [
        f"accepted at the first round: {_part(row['first_round'])}",
        f"accepted at all: {_part(row['accepted'])}",
        f"rounds to accept: {rounds['mean']:.1f} on average, {rounds['p50']:.0f} in the middle"
        if rounds["count"]
        else "",
        f"reverted: {_part(row['reverts'])}; fixed later: {_part(row['later_fixes'])}" if row["merged"] else "",
        f"rejected for: {', '.join(f'{count} {_plain(name)}' for name, count in row['top_categories'])}"
        if row["top_categories"]
        else "",
        f"judging cost {_dollars(row['judge_cost_usd'])}{_each(row['cost_per_accepted_usd'])}",
    ]
    for line in lines:
        if line:
            yield from wrap_lines(line, page, 2)


def _each(usd: str | None) -> str:
    return "" if usd is None else f", {_dollars(usd)} for each accepted one"
