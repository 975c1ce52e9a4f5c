"""Dossier, rubric and the heuristic tier's suspicions -> the question to the model.

All fencing of untrusted text happens here. Does not ask. Invariant: the system part is the same for every pull request (so it
is cached); everything that others wrote stands inside a fence; the question is no larger than its room; what does not fit is
listed as not read, and counted so.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from worker.domain.dossier.dossier import Dossier, UnreadReason
from worker.domain.ports import Prompt
from worker.domain.value import Value
from worker.domain.verdict.opinion import HeuristicOpinion
from worker.domain.verdict.rubric import Rubric
from worker.domain.verdict.verdict import ClaimVerdict, Coverage
from worker.dossier.diff.parser import Diff, diff_of
from worker.dossier.secrets import Redaction
from worker.judge.checks.ci_status import CiReport
from worker.judge.checks.coverage import coverage_of
from worker.judge.checks.suspicions import suspicions_of
from worker.judge.llm.choosing import Choice, choose, is_shown
from worker.judge.llm.diff_view import Sheet, sheets_of
from worker.judge.llm.fencing import fence_for, shown_path
from worker.judge.llm.history import Chapter, asked_of
from worker.judge.llm.listing import Changed, listing, most_bytes
from worker.judge.llm.prompt_budget import ROOM, Room
from worker.judge.llm.redact import sendable
from worker.judge.llm.rendering import Text, rendered
from worker.judge.llm.reply_limits import MANY_FILES, reply_tokens
from worker.judge.llm.reply_schema import reply_schema
from worker.judge.llm.sections import Known, Limits, after_the_change, before_the_change
from worker.judge.rounds.previous_rounds import Standing
from worker.judge.rubric import PromptText
from worker.signals.analysis.change import Change, ChangedFile

SCALES: Final = (1.0, 0.5, 0.25, 0.125)
"""How far the chapters beside the change are shortened, in turn, until they leave room for it."""

BESIDE_THE_CHANGE: Final = 0.6
"""The share of the room that they may take."""

LISTING: Final = 0.2
"""The share of the rest that the list of files may take."""

FRAME_BYTES: Final = 2_500
"""Our own headings and sentences around the change, the fence's word, and what a server adds to a prompt."""


class Material(Value):
    """What the question is made from: the dossier, and what code found out about it."""

    dossier: Dossier
    diff: Diff
    opinion: HeuristicOpinion
    claims: tuple[ClaimVerdict, ...]
    ci: CiReport
    standing: Standing = Standing()


class Question(Value):
    """`coverage`: what is read of the change once it is answered.

    `conditions` and `questions`: what it asks for beside the criteria. `redactions`: what was taken out, for the record. `sent`
    is the dossier as it may leave: of it, and not of the one that came in, are the model's quotes and pointers.
    """

    prompt: Prompt
    coverage: Coverage
    sent: Dossier
    conditions: tuple[str, ...]
    redactions: tuple[Redaction, ...] = ()
    standing: Standing = Standing()
    questions: tuple[str, ...] = ()


def ask_about(material: Material, rubric: Rubric, text: PromptText, seed: str, room: Room = ROOM) -> Question | None:
    """The question about a change; *seed* (the eval id) makes each fence new. None: not even the issue fits.

    Of a change that does not fit, it shows what is most urgent: that may be rejected, and the coverage keeps it from an accept.
    """
    desk = _Desk(material, rubric, text, seed)
    known = desk.fitting(room)
    return None if known is None else desk.question(desk.rooms(room, known))


def system_part(text: PromptText, rubric: Rubric) -> str:
    """The stable part: the prompt, then the rubric."""
    criteria = "\n".join(f"- `{one.id}`: {one.question} 10/10: {one.ten}" for one in rubric.criteria)
    categories = "\n".join(f"- `{category}`: {meaning}" for category, meaning in rubric.categories.items())
    return (
        f"{text.text.rstrip()}\n\n# The rubric\n\nScore these criteria:\n\n{criteria}\n\nCategories:\n\n{categories}\n"
    )


class _Rooms(Value):
    """Bytes for the lines of the change and for the list of its files, and what stands beside them."""

    change: int
    listing: int
    beside: Known


class _Desk:
    """Where the question is made, from what may leave alone."""

    def __init__(self, material: Material, rubric: Rubric, text: PromptText, seed: str) -> None:
        sent = sendable(material.dossier, material.opinion, material.claims)
        self.dossier = sent.dossier
        self.diff = diff_of(sent.dossier.diff)
        self.paths = frozenset(file.path for file in self.diff.files)
        self.files: Sequence[ChangedFile] = Change(sent.dossier).files
        self.suspicions = suspicions_of(sent.opinion)
        self.suspected = frozenset(one.path for one in sent.opinion.findings if one.path)
        unread = sent.dossier.files_unread
        self.withheld = frozenset(one.path for one in unread if one.reason is UnreadReason.NEVER_SEND)
        self.conditions = tuple(condition.id for condition in asked_of(sent.dossier.ledger))
        self._material = material
        self._sent = sent
        self._rubric = [one.id for one in rubric.criteria]
        self._system, self._version, self._seed = system_part(text, rubric), text.version, seed

    def fitting(self, room: Room) -> Known | None:
        """What is told beside the change, shortened until it leaves room; None where it can't be."""
        space = room.question_bytes - self._own_bytes()
        for scale in SCALES:
            known = self._known(Limits().scaled(scale))
            if _size(known) <= space * BESIDE_THE_CHANGE:
                return known
        return None

    def rooms(self, room: Room, known: Known) -> "_Rooms":
        space = room.question_bytes - self._own_bytes() - _size(known)
        listed = min(int(space * LISTING), most_bytes(self.diff, self.dossier))
        return _Rooms(space - listed, listed, known)

    def _own_bytes(self) -> int:
        return len(self._system.encode()) + len(json.dumps(reply_schema(), ensure_ascii=False)) + FRAME_BYTES

    def _known(self, limits: Limits) -> Known:
        return Known(
            dossier=self.dossier,
            suspicions=self.suspicions,
            claims=self._sent.claims,
            ci=self._material.ci,
            standing=self._material.standing,
            limits=limits,
        )

    def question(self, rooms: "_Rooms") -> Question:
        """The question, with as much of the change as fits."""
        sheets = sheets_of(self.diff, self.suspected, self.withheld, rooms.change)
        choice = choose(sheets, rooms.change)
        listed = listing(Changed(self.diff, self.dossier, sheets), choice, rooms.listing)
        texts = rendered(sheets, choice, self.files, rooms.change)
        chapters = (
            *before_the_change(rooms.beside),
            *_tests(text for text in texts if text.is_test),
            _changes(listed.text, [text for text in texts if not text.is_test]),
            *after_the_change(rooms.beside),
        )
        turn = _fenced(chapters, self._seed, _ending(len(self.paths)))
        return Question(
            prompt=Prompt(self._system, (turn,), reply_schema(), self._version, self._reply_tokens()),
            coverage=self._coverage(sheets, choice, listed.hidden),
            sent=self.dossier,
            conditions=self.conditions,
            redactions=self._sent.redactions,
            standing=self._material.standing,
            questions=tuple(suspicion.id for suspicion in self.suspicions),
        )

    def _reply_tokens(self) -> int:
        criteria = [criterion.id for criterion in self.dossier.criteria or ()]
        questions = [suspicion.id for suspicion in self.suspicions]
        return reply_tokens(criteria, sorted(self.conditions), self._rubric, map(shown_path, self.paths), questions)

    def _coverage(self, sheets: Sequence[Sheet], choice: Choice, unlisted: tuple[str, ...]) -> Coverage:
        left = [sheet for sheet in sheets if not is_shown(sheet, choice)]
        begun = {sheet.file.path for sheet in left if sheet.position in choice.shown}
        hidden = {sheet.file.path for sheet in left} - begun
        return coverage_of(self.dossier, self.diff, begun, {*hidden, *unlisted})


ENDING: Final = (
    "# Now judge\n\nLook at every criterion, score against the rubric, then decide. Answer with the JSON object only."
)


DIRECTION: Final = (
    "This change is over {count} files. Name what of it works in `what_works` and what does not in `what_does_not`; on a "
    "reject, `next_step` is one strategic direction: one coherent move, though it may take several of the files."
)


def _ending(count: int) -> str:
    return f"{ENDING}\n\n{DIRECTION.format(count=count)}" if count >= MANY_FILES else ENDING


def _fenced(parts: Iterable[Chapter], seed: str, ending: str) -> str:
    whole = tuple(parts)
    fence = fence_for(seed, (word for part in whole for text in part.texts for word in text))
    lines = [fence.told]
    for part in whole:
        lines.append(f"# {part.heading}\n\n{part.said}".rstrip())
        lines += [fence.around(label, text) for label, text in part.texts]
    return "\n\n".join([*lines, ending])


def _size(known: Known) -> int:
    return sum(_size_of(chapter) for chapter in (*before_the_change(known), *after_the_change(known)))


def _size_of(part: Chapter) -> int:
    fences = sum(len(label.encode()) + len(text.encode()) + 60 for label, text in part.texts)
    return len(part.heading.encode()) + len(part.said.encode()) + fences + 10


def _tests(tests: Iterable[Text]) -> Iterator[Chapter]:
    if texts := tuple((one.label, one.text) for one in tests):
        said = "As the validators ran them: lines without a mark stood before, `+` lines are new, `-` lines are gone."
        yield Chapter("The changed tests", said, texts)


def _changes(listed: str, texts: Sequence[Text]) -> Chapter:
    said = (
        "Every changed file is listed first. The number before a line counts in the head version; before a line marked `-` it "
        "counts in the base."
    )
    return Chapter("The change", said, (("changed files", listed), *((one.label, one.text) for one in texts)))
