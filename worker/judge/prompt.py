"""Dossier, rubric and the heuristic tier's suspicions -> the questions to the model: mostly one, several for a large change.

All fencing of untrusted text happens here. Does not ask. Invariant: the system part is the same for every pull request (so it
is cached); everything that others wrote stands inside a fence; no question is larger than its room; what does not fit is
listed as not read, and counted so.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from worker.domain.diff import Diff, diff_of
from worker.domain.dossier import Criterion, Dossier, UnreadReason
from worker.domain.opinion import HeuristicOpinion
from worker.domain.rubric import Rubric
from worker.domain.secrets import Redaction
from worker.domain.value import Value, replace
from worker.domain.verdict import ClaimVerdict, Coverage
from worker.judge.coverage import coverage_of
from worker.judge.form import reply_schema
from worker.judge.heuristics.change import Change, ChangedFile
from worker.judge.iteration import Chapter, asked_of
from worker.judge.lengths import MANY_FILES, reply_tokens
from worker.judge.packing.chapters import Known, Limits, after_the_change, before_the_change
from worker.judge.packing.choosing import Choice, choose, is_begun, is_complete, is_shown
from worker.judge.packing.listing import Changed, listing, most_bytes
from worker.judge.packing.parts import Concern, Part, in_parts
from worker.judge.packing.rendering import Text, rendered
from worker.judge.packing.sheets import Sheet, sheets_of
from worker.judge.room import ROOM, Room
from worker.judge.sendable import sendable
from worker.judge.standing import Standing
from worker.judge.suspicions import Suspicion, suspicions_of
from worker.judge.untrusted import fence_for, shown_path
from worker.judge.validators import CiReport
from worker.ports import Prompt
from worker.rulebook import PromptText

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
    """`coverage`: what is read of the change once this question is answered, and those before it.

    `criteria`, `conditions` and `questions`: what it asks for. `redactions`: what was taken out, for the record. `sent` is the dossier as it
    may leave: of it, and not of the one that came in, are the model's quotes and pointers.
    """

    prompt: Prompt
    coverage: Coverage
    sent: Dossier
    criteria: tuple[Criterion, ...]
    conditions: tuple[str, ...]
    redactions: tuple[Redaction, ...] = ()
    standing: Standing = Standing()
    questions: tuple[str, ...] = ()


def ask_about(material: Material, rubric: Rubric, text: PromptText, seed: str, room: Room = ROOM) -> Question | None:
    """The first question (mostly there is one) that a change takes. None: not even the issue fits."""
    return next(iter(questions_about(material, rubric, text, seed, room)), None)


def questions_about(
    material: Material, rubric: Rubric, text: PromptText, seed: str, room: Room
) -> tuple[Question, ...]:
    """The questions that a change takes, in order; *seed* (the eval id) makes each fence new. None: not even the issue fits."""
    desk = _Desk(material, rubric, text, seed)
    known = desk.fitting(room)
    if known is None:
        return ()
    rooms = desk.rooms(room, known)
    sheets = sheets_of(desk.diff, desk.suspected, desk.withheld, rooms.change * room.questions)
    parts = _parts(desk, sheets, rooms.change, room)
    return tuple(desk.question(sheets, parts, at, rooms) for at in range(len(parts)))


def _parts(desk: "_Desk", sheets: Sequence[Sheet], left: int, room: Room) -> tuple[Part, ...]:
    """One part if all fits, or if no number of parts could lead to an accept; then what is most urgent may still reject."""
    everything = frozenset(range(len(desk.concerns)))
    first = Part(choose(sheets, left), everything)
    readable = not coverage_of(desk.dossier, desk.diff).unread
    if is_complete(sheets, [first.choice]) or not readable:
        return (first,)
    return in_parts(sheets, desk.files, desk.concerns, left, room.questions) or (first,)


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
    """Where the questions on one change are made, from what may leave alone."""

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
        self.criteria = sent.dossier.criteria or ()
        self.conditions = asked_of(sent.dossier.ledger)
        self.concerns = [Concern(one.id, one.text) for one in (*self.criteria, *self.conditions)]
        self._named = material.dossier.criteria or ()
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
        ids = frozenset(one.id for one in self.conditions)
        return Known(
            dossier=self.dossier,
            criteria=self.criteria,
            conditions=ids,
            suspicions=self.suspicions,
            claims=self._sent.claims,
            ci=self._material.ci,
            standing=self._material.standing,
            limits=limits,
        )

    def question(self, sheets: Sequence[Sheet], parts: Sequence[Part], at: int, rooms: "_Rooms") -> Question:
        """The question on part number *at*."""
        part, choices = parts[at], [one.choice for one in parts]
        mine = sorted(one for one in part.concerns if one < len(self.criteria))
        conditions = [
            self.conditions[one - len(self.criteria)] for one in sorted(part.concerns) if one >= len(self.criteria)
        ]
        of_part = replace(
            rooms.beside,
            criteria=tuple(self.criteria[one] for one in mine),
            conditions=frozenset(one.id for one in conditions),
            suspicions=self._questions(sheets, choices, at),
            part=(at + 1, len(parts)),
        )
        listed = listing(Changed(self.diff, self.dossier, sheets), choices, at, rooms.listing)
        texts = rendered(sheets, part.choice, self.files, rooms.change)
        chapters = (
            *before_the_change(of_part),
            *_tests(text for text in texts if text.is_test),
            _changes(listed.text, [text for text in texts if not text.is_test]),
            *after_the_change(of_part),
        )
        turn = _fenced(chapters, f"{self._seed}/{at}" if at else self._seed, _ending(len(self.paths)))
        return Question(
            prompt=Prompt(self._system, (turn,), reply_schema(), self._version, self._reply_tokens(of_part)),
            coverage=self._coverage(sheets, choices[: at + 1], listed.hidden),
            sent=self.dossier,
            criteria=tuple(self._named[one] for one in mine),
            conditions=tuple(one.id for one in conditions),
            redactions=self._sent.redactions,
            standing=self._material.standing,
            questions=tuple(one.id for one in of_part.suspicions),
        )

    def _reply_tokens(self, part: Known) -> int:
        criteria, paths = [one.id for one in part.criteria], map(shown_path, self.paths)
        questions = [one.id for one in part.suspicions]
        return reply_tokens(criteria, sorted(part.conditions), self._rubric, paths, questions)

    def _questions(self, sheets: Sequence[Sheet], choices: Sequence[Choice], at: int) -> tuple[Suspicion, ...]:
        """The suspicions that this part can answer; those without a place in a file that is shown stand in the first."""
        home: dict[str, int] = {}
        for number, choice in enumerate(choices):
            for sheet in sheets:
                if sheet.position in choice.shown:
                    home.setdefault(sheet.file.path, number)
        return tuple(one for one in self.suspicions if home.get(one.finding.path or "", 0) == at)

    def _coverage(self, sheets: Sequence[Sheet], choices: Sequence[Choice], unlisted: tuple[str, ...]) -> Coverage:
        seen = [choice.shown for choice in choices]
        left = [sheet for sheet in sheets if not is_shown(sheet, seen)]
        begun = {sheet.file.path for sheet in left if is_begun(sheet, seen)}
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
