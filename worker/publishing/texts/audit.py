"""Terminal reports about what is on record: a verdict and its replay, a deletion, a dossier, a wait, a judged output, API tokens.

The values come redacted. Questions and replies of the model are shown in full.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Protocol, assert_never

from worker.domain.check import overrides
from worker.domain.check.check_run import WaitState
from worker.domain.dossier import Dossier
from worker.domain.judge_request import LOCAL_INSTALLATION
from worker.domain.verdict.audit import (
    DIGEST_SIGNAL,
    SHADOW_SIGNAL,
    AuditRecord,
    Exchange,
    RecordedRedaction,
    RecordedReply,
    Replay,
    Step,
)
from worker.domain.verdict.verdict import Abstain, Accept, Reject, Side, SubjectKind, Verdict
from worker.judge.task_judgement import TaskJudgement
from worker.publishing.texts import phrases
from worker.publishing.texts.markdown import exact_line, one_line, visible
from worker.publishing.texts.states import decision_lines
from worker.publishing.texts.terminal import DECISION_INKS, Ink, TerminalPage, label_row, quote_lines, wrap_lines

LABEL_COLUMNS: Final = 12


@dataclass(frozen=True)
class VerdictRecord:
    """A verdict with its audit record (None: not kept), the end of its retention, and the decisions about its head."""

    verdict: Accept | Reject | Abstain
    audit: AuditRecord | None
    kept_until: datetime | None
    decisions: overrides.HumanDecisions = overrides.NO_DECISIONS


class StoredKind(StrEnum):
    """Kinds of records about a repository, as a singular noun."""

    VERDICTS = "verdict"
    PULLS = "pull request's state"
    DOSSIERS = "dossier"
    AUDITS = "record of how a verdict came about"
    CHECKS = "check run's number"
    COMMANDS = "comment not answered yet"
    EVENTS = "event"
    OTHER = "other key"


PLURALS: Final[Mapping[StoredKind, str]] = {
    StoredKind.VERDICTS: "verdicts",
    StoredKind.PULLS: "pull requests' states",
    StoredKind.DOSSIERS: "dossiers",
    StoredKind.AUDITS: "records of how verdicts came about",
    StoredKind.CHECKS: "check runs' numbers",
    StoredKind.COMMANDS: "comments not answered yet",
    StoredKind.EVENTS: "events",
    StoredKind.OTHER: "other keys",
}


@dataclass(frozen=True)
class StoredCounts:
    """Counts of records about a repository; `forgotten_at`: its last deletion."""

    repository: str
    counts: Mapping[StoredKind, int]
    forgotten_at: datetime | None

    @property
    def is_empty(self) -> bool:
        return not any(self.counts.values())


def verdict_record(record: VerdictRecord, page: TerminalPage) -> str:
    """The whole record: the verdict, its stages, its evidence, and every exchange with the model."""
    audit = record.audit
    parts = (
        _decision(record.verdict, page),
        (line for label, text in _rows(record) for line in label_row(label, one_line(text), page, LABEL_COLUMNS)),
        (line for sentence in decision_lines(record.decisions) for line in wrap_lines(sentence, page)),
        _steps(audit.steps, page) if audit else (),
        _evidence(record.verdict, page),
        *(_exchange(each, page) for each in (audit.exchanges if audit else ())),
    )
    return "\n\n".join("\n".join(lines) for lines in (list(part) for part in parts) if lines) + "\n"


def _decision(verdict: Verdict, page: TerminalPage) -> Iterator[str]:
    match verdict:
        case Accept():
            line = "Accepted"
        case Reject():
            where = f" at {one_line(verdict.evidence[0].location)}" if verdict.evidence else ""
            line = f"Rejected: {phrases.category_phrase(verdict.category)}{where}"
        case Abstain():
            line = f"Not judged: {phrases.NOT_JUDGED_PHRASES[verdict.abstain_reason]}"
        case _:
            assert_never(verdict)
    yield page.ink(line, DECISION_INKS[verdict.decision])
    yield from wrap_lines(one_line(verdict.concern), page, indent=2)
    if verdict.next_step:
        yield from wrap_lines(f"Next step: {one_line(verdict.next_step)}", page, indent=2)


def _rows(record: VerdictRecord) -> Iterator[tuple[str, str]]:
    verdict, subject = record.verdict, record.verdict.subject
    yield "Verdict", verdict.eval_id
    if verdict.parent_eval_id:
        yield "Parent", verdict.parent_eval_id
    if verdict.carried_from:
        yield "Carried from", verdict.carried_from
    when = f"{verdict.created_at:%Y-%m-%d %H:%M} UTC"
    yield "Of", f"{subject.repository}#{subject.number}, commit {subject.head_sha[:12]}, round {verdict.round}, {when}"
    yield "Judged by", f"{phrases.judge_phrase(verdict)}, {phrases.duration_phrase(verdict.judge_latency_ms)}"
    tokens = phrases.token_phrase(verdict)
    yield "Cost", phrases.cost_phrase(verdict) + (f", tokens: {tokens}" if tokens else "")
    is_code = subject.kind in {SubjectKind.CI_CHECK, SubjectKind.PULL_REQUEST}
    if record.audit is None and not is_code:
        yield "Redacted", "unknown: how it came about is not kept"
    elif record.audit is None or not record.audit.exchanges:
        yield "Redacted", "nothing was sent to a model"
    else:
        yield "Redacted", ", ".join(map(_redaction, record.audit.redactions)) or "nothing"
    if record.kept_until is not None:
        yield "Kept", f"dossier and way until {record.kept_until:%Y-%m-%d %H:%M} UTC"
    else:
        why = missing_dossier_reason(verdict)
        alone = (
            ", so that it can be neither replayed nor reported (ASSAY_RETENTION_DAYS)" if why is None else f": {why}"
        )
        yield "Kept", f"this entry of the ledger alone{alone}"


def _redaction(redaction: RecordedRedaction) -> str:
    return f"{redaction.kind} at {redaction.where}:{redaction.line}"


def missing_dossier_reason(verdict: Verdict) -> str | None:
    """Why a verdict has no dossier of its own, and which one it was made from; None: it has one."""
    parent = verdict.parent_eval_id
    if verdict.signals.get(SHADOW_SIGNAL):
        return f"a canary's verdict has no dossier of its own. It was judged from that of {parent}."
    is_anew = DIGEST_SIGNAL in verdict.signals
    match verdict.subject.kind:
        case SubjectKind.CI_CHECK | SubjectKind.PULL_REQUEST if is_anew:
            return f"code rescored {parent}. That has no dossier of its own."
        case SubjectKind.CI_CHECK:
            return f"a verdict on a CI check has no dossier of its own. Code made it beside {parent}, from that one's."
        case SubjectKind.PULL_REQUEST:
            return (
                f"a verdict on a whole pull request has no dossier. Code made it of its submissions' verdicts, "
                f"the last of them {parent}, and of what came of it."
            )
        case SubjectKind.SUBMISSION | SubjectKind.MERGE_GROUP | SubjectKind.BENCHMARK:
            return None
        case _:
            assert_never(verdict.subject.kind)


def _steps(steps: Iterable[Step], page: TerminalPage) -> Iterator[str]:
    yield page.ink("The way to it", Ink.BOLD)
    margin = LABEL_COLUMNS + 3
    for step in steps:
        first, *rest = wrap_lines(one_line(step.outcome), page, indent=margin)
        yield f"  {step.stage.value}{' ' * (LABEL_COLUMNS + 1 - len(step.stage.value))}{first.lstrip()}"
        yield from rest
        if step.reason:
            yield from wrap_lines(one_line(step.reason), page, indent=margin + 2)


def _evidence(verdict: Verdict, page: TerminalPage) -> Iterator[str]:
    pointers = (*verdict.evidence, *(pointer for criterion in verdict.criteria for pointer in criterion.evidence))
    if pointers:
        yield page.ink("Evidence", Ink.BOLD)
    for pointer in dict.fromkeys(pointers):
        side = "" if pointer.side is Side.HEAD else " (before the change)"
        yield f"  {exact_line(pointer.location)}{side}: {'the file alone' if pointer.quote is None else 'found'}"
        if pointer.quote is not None:
            yield from quote_lines(pointer.quote, page, 4)


def _exchange(exchange: Exchange, page: TerminalPage) -> Iterator[str]:
    asked = exchange.turns[-1]
    what = f"{'Correction' if exchange.is_correction else 'Question'}{f' to {one_line(exchange.model)}' if exchange.model else ''}"
    size = len(asked.encode("utf-8", "surrogatepass"))
    yield page.ink(f"{what} ({size:,} bytes, after the system part {exchange.system[:19]})", Ink.BOLD)
    yield from _full_text(asked)
    yield ""
    if exchange.reply is None:
        yield page.ink("No reply", Ink.BOLD)
        yield from wrap_lines(one_line(exchange.failure or ""), page, indent=2)
        return
    yield page.ink(f"Reply ({_reply_facts(exchange.reply)})", Ink.BOLD)
    yield from _full_text(exchange.reply.text)
    for problem in exchange.problems:
        yield from wrap_lines(f"Not usable, {one_line(exchange.fault or '')}: {one_line(problem)}", page, indent=2)


def _full_text(text: str) -> Iterator[str]:
    return (f"  | {visible(line)}".rstrip() for line in text.split("\n"))


def _reply_facts(reply: RecordedReply) -> str:
    cost = "price unknown" if reply.cost_usd is None else f"${reply.cost_usd:f}"
    stop = f"{reply.stop} {reply.stop_detail}".strip()
    tokens = [phrases.count_tokens(reply.tokens, ("in", "out", "cached", "to cache"))]
    return one_line(", ".join([reply.request_id or "no request id", stop, *filter(None, tokens), cost]))


def rejudged_note(parent: str) -> str:
    """The note under a re-evaluation."""
    return (
        f"A new entry beside {parent}. It is on record, and decides nothing about the pull request; nothing was posted."
    )


def replay_report(replay: Replay, page: TerminalPage) -> str:
    """Whether a replay gives the recorded verdict; if not, the first stage that differs."""
    eval_id = replay.recorded.eval_id
    if replay.is_same:
        lines = [page.ink("The same decision comes out again.", Ink.GREEN)]
        lines += wrap_lines(
            f"{eval_id}: {replay.recorded.decision}, from the recorded dossier and replies.", page, indent=2
        )
    else:
        then, now = replay.recorded.decision, replay.replayed.decision
        outcome = f"{now} again, and not the same" if then == now else f"{then} then, {now} now"
        lines = [page.ink(f"It comes out differently: {outcome}.", Ink.RED)]
        lines += wrap_lines(f"{eval_id} differs in: {', '.join(replay.differing)}.", page, indent=2)
    return "\n".join([*lines, *_first_difference(replay, page), ""])


def _first_difference(replay: Replay, page: TerminalPage) -> Iterator[str]:
    if replay.first_difference is None:
        if not replay.is_same:
            yield "  Every stage went the same way: what differs is in the fields alone."
        return
    stage = next(step.stage for step in replay.first_difference if step is not None)
    yield f"  The first stage that differs: {stage.value}"
    for name, step in zip(("then", "now"), replay.first_difference, strict=True):
        text = "the way had ended" if step is None else f"{step.stage.value}: {step.outcome}. {step.reason}"
        yield from wrap_lines(f"{name}: {one_line(text)}", page, indent=4)


def deletion_report(stored: StoredCounts, page: TerminalPage, deleted: "StoredCounts | None" = None) -> str:
    """The records about a repository; with *deleted*, what was deleted and what is left."""
    if deleted is not None:
        lines = wrap_lines(f"Forgotten: {_counts(deleted)} of {deleted.repository}.", page)
        if not stored.is_empty:
            left = f"While that was deleted, more was stored: {_counts(stored)}. Stop the App there first, then say it again."
            lines += wrap_lines(left, page)
        return "\n".join([*lines, ""])
    if stored.is_empty:
        when = f"; it was forgotten on {stored.forgotten_at:%Y-%m-%d %H:%M} UTC" if stored.forgotten_at else ""
        return f"Nothing is stored about {stored.repository}{when}.\n"
    ask = "Nothing was deleted. This can't be undone: say --yes to delete it."
    return "\n".join([*wrap_lines(f"Stored about {stored.repository}: {_counts(stored)}.", page), ask, ""])


def _counts(stored: StoredCounts) -> str:
    return ", ".join(
        f"{count} {kind.value if count == 1 else PLURALS[kind]}" for kind, count in stored.counts.items() if count
    )


def dossier_report(dossier: Dossier, path: str, taken: Sequence[RecordedRedaction], page: TerminalPage) -> str:
    """The parts of an exported dossier, and what was redacted."""
    lines = [page.ink(f"Written to {exact_line(path)}. It holds, for each of its readers:", Ink.BOLD)]
    for name, text in _dossier_parts(dossier):
        lines += label_row(name, one_line(text), page, LABEL_COLUMNS)
    lines += label_row("redacted", one_line(", ".join(map(_redaction, taken)) or "nothing"), page, LABEL_COLUMNS)
    lines += wrap_lines("Read it before you share it: what does not look like a secret was not redacted.", page)
    lines += wrap_lines(f"To judge it: assay judge --dossier {exact_line(path)}", page)
    return "\n".join([*lines, ""])


def _dossier_parts(dossier: Dossier) -> Iterator[tuple[str, str]]:
    pull = dossier.pull_request
    yield (
        "pull_request",
        f"{pull.repository}#{pull.number}, title, text, {phrases.count_phrase(pull.commits, 'commit')}, names",
    )
    yield "diff", f"{len(dossier.diff.encode('utf-8', 'surrogatepass')):,} bytes"
    several = (
        ("issues", dossier.issues, "issue"),
        ("criteria", dossier.criteria or (), "text"),
        ("files", dossier.files or (), "file"),
        ("files_unread", dossier.files_unread, "path"),
        ("guidance", dossier.guidance, "file"),
        ("config", dossier.config, "file"),
        ("ledger", dossier.ledger, "earlier verdict"),
    )
    for name, items, noun in several:
        if items:
            yield name, phrases.count_phrase(items, noun)
    single = (("case", dossier.case), ("policy", dossier.policy), ("contest", dossier.contest), ("seed", dossier.seed))
    yield from ((name, "whole") for name, value in single if value is not None)
    if dossier.ci:
        yield "ci", f"{phrases.count_phrase(dossier.ci.checks, 'check')}, with the ends of their logs"


TITLES = {
    WaitState.PENDING: "not judged yet",
    WaitState.SUPERSEDED: "superseded",
    WaitState.NONE: "no verdict is coming",
}
CASE_REFUSED = "The author's case could not be read, so the change was judged without it. Mending it uses no round:"
DECISIONS = {"accept": "accepted", "reject": "rejected", "abstain": "not judged"}


def wait_status_text(answer: Mapping[str, Any], page: TerminalPage) -> str:
    """The status of one commit. *answer*: the response of `GET /api/verdicts`."""
    name = f"{one_line(answer['repository'])}@{one_line(answer['sha'])[:12]}"
    verdict = answer["verdict"]
    is_branch = verdict is not None and verdict["subject"]["installation_id"] == LOCAL_INSTALLATION
    about = f" (#{answer['number']})" if answer["number"] is not None and not is_branch else ""
    if verdict is None:
        lines = [f"{name}{about}: {TITLES[WaitState(answer['state'])]}", *wrap_lines(one_line(answer["why"]), page, 2)]
        return "\n".join([*lines, ""])
    reason = verdict["category"] or verdict["abstain_reason"]
    lines = [
        f"{name}{about}: {DECISIONS[verdict['decision']]}"
        + (f", {one_line(reason.replace('_', ' '))}" if reason else "")
    ]
    lines += wrap_lines(one_line(verdict["concern"]), page, 2)
    failure: Mapping[str, Any] = verdict.get("ci_failure") or {}
    if failure.get("test"):
        lines.append(f"  First failing test: {one_line(failure['test'])}")
    lines += [f"    {exact_line(line)}" for line in (failure.get("log") or "").splitlines()]
    if verdict.get("case_error"):
        lines += wrap_lines(f"{CASE_REFUSED} {one_line(verdict['case_error'])}", page, 2)
    if answer.get("overridden_by"):  # missing in the answer of an older server
        lines += wrap_lines(one_line(answer["why"]), page, 2)
    elif verdict["next_step"]:
        lines += wrap_lines(f"Next step: {one_line(verdict['next_step'])}", page, 2)
    return "\n".join([*lines, f"  Verdict {one_line(verdict['eval_id'])}", ""])


UNKNOWN_COST = "not known"


def judgement_report(judgement: TaskJudgement) -> str:
    """The ruling on an output, then each criterion, the next step and the cost."""
    lines = [f"{judgement.verdict}: {one_line(judgement.reasoning)}"]
    for criterion in judgement.criteria:
        lines.append(f"  {criterion.verdict:<11} {one_line(criterion.id)}  {one_line(criterion.text)}")
        lines.append(f"              {one_line(criterion.reasoning)}")
        lines += [
            f"              line {pointer.line}: {one_line(pointer.quote or '')}" for pointer in criterion.evidence
        ]
    if judgement.next_step:
        lines.append(f"Next step: {one_line(judgement.next_step)}")
    if judgement.eval_id:
        cost = UNKNOWN_COST if judgement.cost_usd is None else f"${judgement.cost_usd:f}"
        lines.append(f"Cost: {cost}. More: assay show {judgement.eval_id}")
    return "\n".join(lines) + "\n"


class TokenGrant(Protocol):
    """An API token without its secret."""

    @property
    def name(self) -> str: ...

    @property
    def installations(self) -> frozenset[int]: ...

    @property
    def created_at(self) -> datetime: ...


def created_message(name: str, token: str, installations: Iterable[int]) -> str:
    """A new token, alone on the first line so that it can be copied or piped. No other text contains one."""
    return (
        f"{token}\n"
        f'This is the token "{name}". It is not shown again: only its hash is kept.\n'
        f"It reads the figures of {_numbers(installations)}, and the verdicts there with the lines that they quote:\n"
        '  curl -H "Authorization: Bearer TOKEN" https://YOUR-ASSAY/api/analytics/quality\n'
    )


def name_taken_message(name: str) -> str:
    return f'There is a token "{name}" already. Choose another name, or revoke it first: assay token revoke {name}\n'


def token_list(grants: Sequence[TokenGrant]) -> str:
    if not grants:
        return "There is no token. Make one: assay token create NAME --installation NUMBER\n"
    width = max(len(grant.name) for grant in grants)
    return "".join(
        f"{grant.name:{width}}  {grant.created_at:%Y-%m-%d}  {_numbers(grant.installations)}\n" for grant in grants
    )


def revoked_message(name: str) -> str:
    return f'The token "{name}" is revoked.\n'


def unknown_name_message(name: str) -> str:
    return f'There is no token "{name}". All there are: assay token list\n'


def _numbers(installations: Iterable[int]) -> str:
    numbers = sorted(installations)
    return f"{'installation' if len(numbers) == 1 else 'installations'} {', '.join(map(str, numbers))}"
