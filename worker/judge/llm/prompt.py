"""Build the question to the model from the dossier, the rubric and what code found.

The system part is the same for every pull request, so it is cached. Everything that others wrote is inside a fence. The
question is no larger than its budget; what does not fit is listed, and counted as not read.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from worker.domain.dossier import Dossier, UnreadReason
from worker.domain.ports import Prompt
from worker.domain.verdict.budget import DEFAULT_TOKEN_BUDGET, TokenBudget
from worker.domain.verdict.rubric import Rubric
from worker.domain.verdict.verdict import ClaimVerdict, Coverage, HeuristicOpinion
from worker.dossier.diff.parser import Diff, diff_of
from worker.dossier.secrets import Redaction
from worker.judge.checks.ci_status import CiReport
from worker.judge.checks.coverage import coverage_of
from worker.judge.checks.suspicions import suspicions_of
from worker.judge.llm.diff_view import (
    FileSelection,
    FileView,
    ListedChange,
    RenderedFile,
    file_views_of,
    is_shown,
    list_changes,
    max_listing_bytes,
    render_files,
    select_pieces,
)
from worker.judge.llm.fencing import make_fence, shown_path
from worker.judge.llm.redact import redact_dossier
from worker.judge.llm.reply_schema import WIDE_CHANGE_FILES, reply_schema, reply_tokens
from worker.judge.llm.sections import (
    PromptSection,
    SectionInput,
    SectionLimits,
    open_conditions_of,
    sections_after_change,
    sections_before_change,
)
from worker.judge.rounds.previous_rounds import PreviousRounds
from worker.judge.rubric import PromptText
from worker.signals.analysis.change import CodeChange

SECTION_SCALES: Final = (1.0, 0.5, 0.25, 0.125)
"""Shares to which the sections beside the change are shortened in turn, until they leave room for it."""

SECTIONS_SHARE: Final = 0.6
"""The share of the budget that they may take."""

LISTING_SHARE: Final = 0.2
"""The share of the rest that the list of files may take."""

FRAME_BYTES: Final = 2_500
"""Our headings and sentences around the change, the fence's word, and what a server adds to a prompt."""


@dataclass(frozen=True)
class PromptInput:
    """The dossier, and what code found in it."""

    dossier: Dossier
    diff: Diff
    opinion: HeuristicOpinion
    claims: tuple[ClaimVerdict, ...]
    ci: CiReport
    previous_rounds: PreviousRounds = field(default_factory=PreviousRounds)


@dataclass(frozen=True)
class PromptQuestion:
    """`coverage`: what is read of the change once it is answered.

    `conditions`, `questions`: ids that it asks for beside the criteria. `redactions`: what was taken out, for the record.
    `sent_dossier`: the redacted dossier, which the model's quotes and pointers are checked against.
    """

    prompt: Prompt
    coverage: Coverage
    sent_dossier: Dossier
    conditions: tuple[str, ...]
    redactions: tuple[Redaction, ...] = ()
    previous_rounds: PreviousRounds = field(default_factory=PreviousRounds)
    questions: tuple[str, ...] = ()


def build_question(
    prompt_input: PromptInput, rubric: Rubric, text: PromptText, seed: str, budget: TokenBudget = DEFAULT_TOKEN_BUDGET
) -> PromptQuestion | None:
    """The question about a change; *seed* (the eval id) makes each fence new. None: not even the issue fits.

    Of a change that does not fit, the most urgent part is shown: the coverage keeps it from an accept.
    """
    builder = _QuestionBuilder(prompt_input, rubric, text, seed)
    section_input = builder.fit_sections(budget)
    return None if section_input is None else builder.question(budget, section_input)


def system_part(text: PromptText, rubric: Rubric) -> str:
    """The stable part: the prompt, then the rubric."""
    criteria = "\n".join(f"- `{entry.id}`: {entry.question} 10/10: {entry.ten}" for entry in rubric.criteria)
    categories = "\n".join(f"- `{category}`: {meaning}" for category, meaning in rubric.categories.items())
    return (
        f"{text.text.rstrip()}\n\n# The rubric\n\nScore these criteria:\n\n{criteria}\n\nCategories:\n\n{categories}\n"
    )


class _QuestionBuilder:
    """Builds one question from redacted values only."""

    def __init__(self, prompt_input: PromptInput, rubric: Rubric, text: PromptText, seed: str) -> None:
        sent = redact_dossier(prompt_input.dossier, prompt_input.opinion, prompt_input.claims)
        self.dossier = sent.dossier
        self.diff = diff_of(sent.dossier.diff)
        self.suspicions = suspicions_of(sent.opinion)
        self.suspected_files = frozenset(finding.path for finding in sent.opinion.findings if finding.path)
        self.conditions = tuple(condition.id for condition in open_conditions_of(sent.dossier.ledger))
        self._input = prompt_input
        self._sent = sent
        self._rubric = [entry.id for entry in rubric.criteria]
        self._system, self._version, self._seed = system_part(text, rubric), text.version, seed

    def fit_sections(self, budget: TokenBudget) -> SectionInput | None:
        """The sections beside the change, shortened until they leave room for it; None where they can't."""
        space = budget.question_bytes - self._own_bytes()
        for scale in SECTION_SCALES:
            section_input = SectionInput(
                dossier=self.dossier,
                suspicions=self.suspicions,
                claims=self._sent.claims,
                ci=self._input.ci,
                previous_rounds=self._input.previous_rounds,
                limits=SectionLimits().scaled(scale),
            )
            if _size(section_input) <= space * SECTIONS_SHARE:
                return section_input
        return None

    def _own_bytes(self) -> int:
        return len(self._system.encode()) + len(json.dumps(reply_schema(), ensure_ascii=False)) + FRAME_BYTES

    def question(self, budget: TokenBudget, section_input: SectionInput) -> PromptQuestion:
        """The question, with as much of the change as fits."""
        space = budget.question_bytes - self._own_bytes() - _size(section_input)
        listing_bytes = min(int(space * LISTING_SHARE), max_listing_bytes(self.diff, self.dossier))
        change_bytes = space - listing_bytes
        unread = self.dossier.files_unread
        withheld = frozenset(file.path for file in unread if file.reason is UnreadReason.NEVER_SEND)
        views = file_views_of(self.diff, self.suspected_files, withheld, change_bytes)
        choice = select_pieces(views, change_bytes)
        listed = list_changes(ListedChange(self.diff, self.dossier, views), choice, listing_bytes)
        files = render_files(views, choice, CodeChange(self.dossier).files, change_bytes)
        paths = frozenset(file.path for file in self.diff.files)
        sections = (
            *sections_before_change(section_input),
            *_tests([file for file in files if file.is_test]),
            _changes(listed.text, [file for file in files if not file.is_test]),
            *sections_after_change(section_input),
        )
        direction = f"\n\n{DIRECTION.format(count=len(paths))}" if len(paths) >= WIDE_CHANGE_FILES else ""
        turn = _fence_parts(sections, self._seed, f"{ENDING}{direction}")
        questions = tuple(suspicion.id for suspicion in self.suspicions)
        criteria = [criterion.id for criterion in self.dossier.criteria or ()]
        tokens = reply_tokens(criteria, sorted(self.conditions), self._rubric, map(shown_path, paths), questions)
        return PromptQuestion(
            prompt=Prompt(self._system, (turn,), reply_schema(), self._version, tokens),
            coverage=self._coverage(views, choice, listed.hidden),
            sent_dossier=self.dossier,
            conditions=self.conditions,
            redactions=self._sent.redactions,
            previous_rounds=self._input.previous_rounds,
            questions=questions,
        )

    def _coverage(self, views: Sequence[FileView], choice: FileSelection, unlisted: tuple[str, ...]) -> Coverage:
        left = [view for view in views if not is_shown(view, choice)]
        partly = {view.file.path for view in left if view.position in choice.shown_pieces}
        hidden = {view.file.path for view in left} - partly
        return coverage_of(self.dossier, self.diff, partly, {*hidden, *unlisted})


ENDING: Final = (
    "# Now judge\n\nLook at every criterion, score against the rubric, then decide. Answer with the JSON object only."
)


DIRECTION: Final = (
    "This change is over {count} files. Name what of it works in `what_works` and what does not in `what_does_not`; on a "
    "reject, `next_step` is one strategic direction: one coherent move, though it may take several of the files."
)


def _fence_parts(parts: Sequence[PromptSection], seed: str, ending: str) -> str:
    fence = make_fence(seed, (word for part in parts for text in part.texts for word in text))
    lines = [fence.announcement]
    for part in parts:
        lines.append(f"# {part.heading}\n\n{part.intro}".rstrip())
        lines += [fence.enclose(label, text) for label, text in part.texts]
    return "\n\n".join([*lines, ending])


def _size(section_input: SectionInput) -> int:
    size = 0
    for section in (*sections_before_change(section_input), *sections_after_change(section_input)):
        size += len(section.heading.encode()) + len(section.intro.encode()) + 10
        size += sum(len(label.encode()) + len(text.encode()) + 60 for label, text in section.texts)
    return size


def _tests(tests: Sequence[RenderedFile]) -> Iterator[PromptSection]:
    if tests:
        intro = "As the validators ran them: lines without a mark stood before, `+` lines are new, `-` lines are gone."
        yield PromptSection("The changed tests", intro, tuple((test.label, test.text) for test in tests))


def _changes(listed: str, files: Sequence[RenderedFile]) -> PromptSection:
    intro = (
        "Every changed file is listed first. The number before a line counts in the head version; before a line marked `-` it "
        "counts in the base."
    )
    return PromptSection("The change", intro, (("changed files", listed), *((file.label, file.text) for file in files)))
