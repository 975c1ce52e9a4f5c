"""What is on record of a verdict, for people: how it came about, whether it comes out again, and what is forgotten.

Does not take secrets out (whoever calls has done so) and does not print. Invariant: no character that another person wrote
can move the cursor, change colours or hide text; a question and a reply are shown whole.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final, assert_never

from worker.domain.check import overrides
from worker.domain.dossier.dossier import Dossier
from worker.domain.value import Value
from worker.domain.verdict.audit import AuditRecord, Exchange, Replay, Said, Step, Taken
from worker.domain.verdict.law import CANARY, SIGNAL
from worker.domain.verdict.verdict import Abstain, Accept, EvidencePointer, Reject, Side, SubjectKind, Tokens, Verdict
from worker.publishing.texts import phrases as words
from worker.publishing.texts.columns import Ink, Page, columns, quoted, wrapped
from worker.publishing.texts.overrides import told
from worker.publishing.texts.visible import exact_line, one_line, visible

LABEL: Final = 12


class Shown(Value):
    """What is known of a verdict. `audit` None: how it came about is not kept (any more); `until`: how long it is."""

    verdict: Accept | Reject | Abstain
    audit: AuditRecord | None
    until: datetime | None
    said: overrides.Said = overrides.NOTHING
    """What people said about its head."""


class Kind(StrEnum):
    """What is stored about a repository, in the words of one and of many."""

    VERDICTS = "verdict"
    PULLS = "pull request's state"
    DOSSIERS = "dossier"
    AUDITS = "record of how a verdict came about"
    CHECKS = "check run's number"
    COMMANDS = "comment not answered yet"
    EVENTS = "event"
    OTHER = "other key"


MANY: Final[Mapping[Kind, str]] = {
    Kind.VERDICTS: "verdicts",
    Kind.PULLS: "pull requests' states",
    Kind.DOSSIERS: "dossiers",
    Kind.AUDITS: "records of how verdicts came about",
    Kind.CHECKS: "check runs' numbers",
    Kind.COMMANDS: "comments not answered yet",
    Kind.EVENTS: "events",
    Kind.OTHER: "other keys",
}


class Stored(Value):
    """How much is stored about a repository; `forgotten_at`: when it was forgotten before."""

    repository: str
    counts: Mapping[Kind, int]
    forgotten_at: datetime | None

    @property
    def is_empty(self) -> bool:
        return not any(self.counts.values())


def shown(one: Shown, page: Page) -> str:
    """The whole record: the verdict, its way stage by stage, its evidence, and every exchange with the model."""
    audit = one.audit
    parts = (
        _decision(one.verdict, page),
        _facts(one, page),
        (line for words in told(one.said) for line in wrapped(words, page)),
        _way(audit.steps, page) if audit else (),
        _evidence(one.verdict, page),
        *(_exchange(each, page) for each in (audit.exchanges if audit else ())),
    )
    return "\n\n".join("\n".join(lines) for lines in (list(part) for part in parts) if lines) + "\n"


def _decision(verdict: Verdict, page: Page) -> Iterator[str]:
    match verdict:
        case Accept():
            line, ink = "Accepted", Ink.GREEN
        case Reject():
            where = f" at {one_line(verdict.evidence[0].place)}" if verdict.evidence else ""
            line, ink = f"Rejected: {words.category_words(verdict.category)}{where}", Ink.RED
        case Abstain():
            line, ink = f"Not judged: {words.NOT_JUDGED[verdict.abstain_reason]}", Ink.YELLOW
        case _:
            assert_never(verdict)
    yield page.ink(line, ink)
    yield from wrapped(one_line(verdict.concern), page, indent=2)
    if verdict.next_step:
        yield from wrapped(f"Next step: {one_line(verdict.next_step)}", page, indent=2)


def _facts(one: Shown, page: Page) -> Iterator[str]:
    for label, said in _labelled(one):
        yield from _row(label, said, page)


def _labelled(one: Shown) -> Iterator[tuple[str, str]]:
    verdict, subject = one.verdict, one.verdict.subject
    yield "Verdict", verdict.eval_id
    if verdict.parent_eval_id:
        yield "Anew after", verdict.parent_eval_id
    if verdict.carried_from:
        yield "Carried from", verdict.carried_from
    when = f"{verdict.created_at:%Y-%m-%d %H:%M} UTC"
    yield "Of", f"{subject.repository}#{subject.number}, commit {subject.head_sha[:12]}, round {verdict.round}, {when}"
    yield "Judged by", f"{words.judge_words(verdict)}, {words.duration_words(verdict.judge_latency_ms)}"
    tokens = words.token_words(verdict)
    yield "Cost", words.cost_words(verdict) + (f", tokens: {tokens}" if tokens else "")
    yield "Redacted", _redacted(one)
    yield "Kept", _kept(one)


def _redacted(one: Shown) -> str:
    is_code = one.verdict.subject.kind in {SubjectKind.CI_CHECK, SubjectKind.PULL_REQUEST}
    if one.audit is None and not is_code:
        return "unknown: how it came about is not kept"
    if one.audit is None or not one.audit.exchanges:
        return "nothing was sent to a model"
    return ", ".join(map(_taken, one.audit.redactions)) or "nothing"


def _taken(one: Taken) -> str:
    return f"{one.kind} at {one.where}:{one.line}"


def _kept(one: Shown) -> str:
    if one.until is not None:
        return f"dossier and way until {one.until:%Y-%m-%d %H:%M} UTC"
    if said := without_dossier(one.verdict):
        return f"this entry of the ledger alone: {said}"
    return "this entry of the ledger alone, so that it can be neither replayed nor reported (ASSAY_RETENTION_DAYS)"


def without_dossier(verdict: Verdict) -> str | None:
    """Why this verdict never had a dossier of its own, and whose it was made from; None: it had one."""
    parent = verdict.parent_eval_id
    if verdict.signals.get(CANARY):
        return f"a canary's verdict has no dossier of its own. It was judged from that of {parent}."
    is_anew = SIGNAL in verdict.signals
    match verdict.subject.kind:
        case SubjectKind.CI_CHECK | SubjectKind.PULL_REQUEST if is_anew:
            return f"code weighed {parent} anew. That has no dossier of its own."
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


def _row(label: str, said: str, page: Page) -> Iterator[str]:
    first, *rest = wrapped(one_line(said), page, indent=LABEL + 1)
    yield page.ink(label, Ink.BOLD) + " " * (LABEL + 1 - columns(label)) + first.lstrip()
    yield from rest


def _way(steps: Iterable[Step], page: Page) -> Iterator[str]:
    yield page.ink("The way to it", Ink.BOLD)
    for step in steps:
        yield from _step(step, page)


def _step(step: Step, page: Page) -> Iterator[str]:
    margin = LABEL + 3
    first, *rest = wrapped(one_line(step.outcome), page, indent=margin)
    yield f"  {step.stage.value}{' ' * (LABEL + 1 - len(step.stage.value))}{first.lstrip()}"
    yield from rest
    if step.reason:
        yield from wrapped(one_line(step.reason), page, indent=margin + 2)


def _evidence(verdict: Verdict, page: Page) -> Iterator[str]:
    pointers = (*verdict.evidence, *(pointer for one in verdict.criteria for pointer in one.evidence))
    if pointers:
        yield page.ink("Evidence", Ink.BOLD)
    for pointer in dict.fromkeys(pointers):
        yield from _pointer(pointer, page)


def _pointer(pointer: EvidencePointer, page: Page) -> Iterator[str]:
    side = "" if pointer.side is Side.HEAD else " (before the change)"
    found = "the file alone" if pointer.quote is None else "found"
    yield f"  {exact_line(pointer.place)}{side}: {found}"
    if pointer.quote is not None:
        yield from quoted(pointer.quote, page, 4)


def _exchange(one: Exchange, page: Page) -> Iterator[str]:
    asked = one.turns[-1]
    what = f"{'Correction' if one.is_correction else 'Question'}{f' to {one_line(one.model)}' if one.model else ''}"
    size = len(asked.encode("utf-8", "surrogatepass"))
    yield page.ink(f"{what} ({size:,} bytes, after the system part {one.system[:19]})", Ink.BOLD)
    yield from _whole(asked)
    yield ""
    if one.reply is None:
        yield page.ink("No reply", Ink.BOLD)
        yield from wrapped(one_line(one.failure or ""), page, indent=2)
        return
    yield page.ink(f"Reply ({_billed(one.reply)})", Ink.BOLD)
    yield from _whole(one.reply.text)
    for problem in one.problems:
        yield from wrapped(f"Not usable, {one_line(one.fault or '')}: {one_line(problem)}", page, indent=2)


def _whole(text: str) -> Iterator[str]:
    return (f"  | {visible(line)}".rstrip() for line in text.split("\n"))


def _billed(said: Said) -> str:
    cost = "price unknown" if said.cost_usd is None else f"${said.cost_usd:f}"
    stop = f"{said.stop} {said.stop_detail}".strip()
    return one_line(", ".join([said.request_id or "no request id", stop, *_counted(said.tokens), cost]))


def _counted(tokens: Tokens) -> Iterator[str]:
    pairs = (
        (tokens.input, "in"),
        (tokens.output, "out"),
        (tokens.cache_read, "cached"),
        (tokens.cache_write, "to cache"),
    )
    return (f"{count:,} {name}" for count, name in pairs if count)


def beside(parent: str) -> str:
    """The note under a judging anew."""
    return (
        f"A new entry beside {parent}. It is on record, and decides nothing about the pull request; nothing was posted."
    )


def replayed(one: Replay, page: Page) -> str:
    """Whether the recorded verdict comes out again; if not, where the two ways part."""
    eval_id = one.recorded.eval_id
    if one.is_same:
        lines = [page.ink("The same decision comes out again.", Ink.GREEN)]
        lines += wrapped(f"{eval_id}: {one.recorded.decision}, from the recorded dossier and replies.", page, indent=2)
    else:
        lines = [page.ink(f"It comes out differently: {_then_and_now(one)}.", Ink.RED)]
        lines += wrapped(f"{eval_id} differs in: {', '.join(one.differing)}.", page, indent=2)
    return "\n".join([*lines, *_parted(one, page), ""])


def _then_and_now(one: Replay) -> str:
    if one.recorded.decision == one.again.decision:
        return f"{one.again.decision} again, and not the same"
    return f"{one.recorded.decision} then, {one.again.decision} now"


def _parted(one: Replay, page: Page) -> Iterator[str]:
    if one.parted is None:
        if not one.is_same:
            yield "  Every stage went the same way: what differs is in the fields alone."
        return
    stage = next(step.stage for step in one.parted if step is not None)
    yield f"  The first stage that differs: {stage.value}"
    for name, step in zip(("then", "now"), one.parted, strict=True):
        said = "the way had ended" if step is None else f"{step.stage.value}: {step.outcome}. {step.reason}"
        yield from wrapped(f"{name}: {one_line(said)}", page, indent=4)


def forgotten(stored: Stored, page: Page, deleted: "Stored | None" = None) -> str:
    """What is stored about a repository; with *deleted*, what is gone now."""
    if deleted is not None:
        said = wrapped(f"Forgotten: {_counts(deleted)} of {deleted.repository}.", page)
        return "\n".join([*said, *_left(stored, page), ""])
    if stored.is_empty:
        when = f"; it was forgotten on {stored.forgotten_at:%Y-%m-%d %H:%M} UTC" if stored.forgotten_at else ""
        return f"Nothing is stored about {stored.repository}{when}.\n"
    ask = "Nothing was deleted. This can't be undone: say --yes to delete it."
    return "\n".join([*wrapped(f"Stored about {stored.repository}: {_counts(stored)}.", page), ask, ""])


def _left(stored: Stored, page: Page) -> Iterator[str]:
    if not stored.is_empty:
        said = (
            f"While that was deleted, more was stored: {_counts(stored)}. Stop the App there first, then say it again."
        )
        yield from wrapped(said, page)


def _counts(stored: Stored) -> str:
    return ", ".join(
        f"{count} {kind.value if count == 1 else MANY[kind]}" for kind, count in stored.counts.items() if count
    )


def reported(dossier: Dossier, place: str, taken: Sequence[Taken], page: Page) -> str:
    """What stands in a dossier that is to be given away, and what was taken out of it."""
    lines = [page.ink(f"Written to {exact_line(place)}. It holds, for each of its readers:", Ink.BOLD)]
    for name, said in _held(dossier):
        lines += _row(name, said, page)
    lines += _row("redacted", ", ".join(map(_taken, taken)) or "nothing", page)
    lines += wrapped("Read it before you share it: what does not look like a secret was not redacted.", page)
    lines += wrapped(f"To judge it: assay judge --dossier {exact_line(place)}", page)
    return "\n".join([*lines, ""])


def _held(dossier: Dossier) -> Iterator[tuple[str, str]]:
    pull = dossier.pull_request
    yield (
        "pull_request",
        f"{pull.repository}#{pull.number}, title, text, {words.counted(pull.commits, 'commit')}, names",
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
    for name, found, noun in several:
        if found:
            yield name, words.counted(found, noun)
    single = (("case", dossier.case), ("policy", dossier.policy), ("contest", dossier.contest), ("seed", dossier.seed))
    yield from ((name, "whole") for name, found in single if found is not None)
    if dossier.ci:
        yield "ci", f"{words.counted(dossier.ci.checks, 'check')}, with the ends of their logs"
