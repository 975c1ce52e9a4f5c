"""Code's vetoes on a model's decision: contradicted claims, missing proof, wrong reasons, open suspicions.

A veto never rejects: it leaves the decision to a person, and the model's opinion stays on record. Facts and unread files are vetoes
too, in `worker.judge.llm.opinions`. What the change bears out of a reject survives; whether that is right is not decided here.
A criterion survives as missing if the change does not mention it and the reject speaks of it or of a place that survives. A place
survives if code suspects the same there or the reject's words are about it. Facts and open conditions need neither.

A name that a reject calls missing counts only in code marks, next to a phrase that denies its definition or handling. It is refuted by
a definition in a file at head or in an added line, or by an import from a file that was not read. A rule counts by its quote or its
file's name, and is refuted where that occurs in no text of the dossier.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Final

from worker.domain.dossier import Dossier
from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import (
    Category,
    ClaimStatus,
    ClaimVerdict,
    ConditionState,
    CriterionStatus,
    CriterionVerdict,
    EvidencePointer,
    Leaning,
    ModelOpinion,
)
from worker.dossier.diff import diff_of
from worker.judge import texts
from worker.judge.checks.evidence import names_criterion
from worker.judge.checks.suspicions import find_unanswered, lines_near, stems_in
from worker.judge.context import EvidenceBundle, Ruling
from worker.judge.rulings import UNMET, leave_to_person
from worker.signals.acceptance_gap.criteria_not_met import find_untested_criteria, is_mentioned
from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.file_roles import FileRole, role_of
from worker.signals.scope_creep.unrelated_file import is_apart

_TEXT: Final = pattern(
    r"\.(?:md|mdx|markdown|rst|txt|adoc|asciidoc|org|tex)$|(?:^|/)(?:LICENSE|NOTICE|AUTHORS|CHANGELOG)$"
)
_NOT_ABOUT_CODE: Final = pattern(
    r"(?i)\b(?:tests?|tested|testing|covers?|covered|coverage|assert\w*|specs?|fixtures?|ci|lint\w*|build|pipeline|workflow"
    r"|docs?|document\w*|readme|changelog|comments?|docstrings?|examples?|guides?|tutorials?|wording|typos?|notes?)\b"
)
"""A criterion with these words may be met by a test, a text or a run."""

SUSPICIONS_SIGNAL: Final = "suspicions"
"""`vetoed_by` of an accept that leaves a suspicion open."""

SHOWN_BY_TESTS: Final = "evidence"
UNSUPPORTED: Final = "change"


@dataclass(frozen=True)
class Veto:
    """`kind`: the verdict's `vetoed_by`. `question`: asked of the model before the veto, where it can correct itself."""

    kind: str
    concern: str
    next_step: str
    question: str | None = None


def apply_vetoes(ruling: Ruling, opinion: ModelOpinion, bundle: EvidenceBundle) -> Ruling:
    """The same ruling, or a person's to decide."""
    untested = criteria_without_test(opinion, bundle)
    ruling = _with_criteria(ruling, untested, CriterionStatus.MISSING, evidence=(), note=texts.NO_TEST)
    if ruling.decision == "abstain":
        return ruling
    veto = next(_vetoes_of(opinion, bundle), None)
    if veto is not None:
        bare = replace(ruling, evidence=()) if veto.kind == UNSUPPORTED else ruling
        return leave_to_person(bare, (veto.concern, veto.next_step), ruling.decision, vetoed_by=veto.kind)
    survival = survival_of(opinion, bundle) if ruling.decision == "reject" else None
    if survival is None:
        return ruling
    unmet = {criterion.id for criterion in opinion.criteria if criterion.status in UNMET}
    refuted = unmet - survival.criteria
    ruling = _with_criteria(ruling, refuted, CriterionStatus.UNVERIFIABLE, note=texts.MENTIONED_THOUGH_UNMET)
    return replace(ruling, evidence=survival.evidence)


def _with_criteria(ruling: Ruling, ids: Collection[str], status: CriterionStatus, **changes: object) -> Ruling:
    update = {"status": status, **changes}
    criteria = (entry.model_copy(update=update) if entry.id in ids else entry for entry in ruling.criteria)
    return replace(ruling, criteria=tuple(criteria))


def find_question(opinion: ModelOpinion, bundle: EvidenceBundle, asked: Collection[str] = ()) -> str | None:
    """The correction for an opinion that a veto would stop. *asked*: ids of the suspicions in the question."""
    vetoes = (veto for veto in _vetoes_of(opinion, bundle, asked) if veto.question)
    veto = next(vetoes, None)
    is_moot = opinion.decision is Leaning.ACCEPT and bundle.opinion.facts and veto and veto.kind != SHOWN_BY_TESTS
    return veto.question if veto and not is_moot else None


def _vetoes_of(opinion: ModelOpinion, bundle: EvidenceBundle, asked: Collection[str] = ()) -> Iterator[Veto]:
    """What code holds against the decision, the most important first."""
    match opinion.decision:
        case Leaning.REJECT:
            if claim := find_refuted_claim(opinion, bundle.dossier):
                yield Veto("names", *texts.name_exists(claim.name, claim.path, claim.line, is_taken=claim.is_imported))
            if rule := find_missing_rule(opinion, bundle.dossier):
                yield Veto("rules", *texts.rule_not_found(rule))
            survival = survival_of(opinion, bundle)
            if survival is not None and survival.is_empty:
                yield Veto(UNSUPPORTED, *texts.reject_not_supported(opinion.concern, survival.refused))
        case Leaning.ACCEPT:
            for criterion, claim in contradicted_claims(bundle):
                yield Veto("claims", *texts.claim_contradicted(criterion, claim))
            if bare := criteria_shown_without_code(opinion, bundle):
                yield Veto(SHOWN_BY_TESTS, *texts.shown_by_tests_alone(bare))
            if untested := criteria_without_test(opinion, bundle):
                yield Veto("tests", *texts.met_without_a_test(untested))
            if left := find_unanswered(opinion, bundle):
                question = texts.settle_suspicions([suspicion.id for suspicion in left if suspicion.id in asked])
                findings = [suspicion.finding for suspicion in left]
                yield Veto(SUSPICIONS_SIGNAL, *texts.suspicions_unanswered(findings), question)
        case _:
            return


def contradicted_claims(bundle: EvidenceBundle) -> Iterator[tuple[str, ClaimVerdict]]:
    """Each criterion with a contradicted claim."""
    case = bundle.dossier.case
    for claim, checked in zip(case.ac_coverage if case else (), bundle.claims, strict=False):
        if checked.status is ClaimStatus.CONTRADICTED:
            yield from ((criterion.id, checked) for criterion in bundle.criteria if names_criterion(claim, criterion))


def criteria_without_test(opinion: ModelOpinion, bundle: EvidenceBundle) -> tuple[str, ...]:
    """The criteria that ask for a test and are called met, though the change adds to no test."""
    untested = find_untested_criteria(CodeChange(bundle.dossier))
    met = (criterion.id for criterion in opinion.criteria if criterion.status is CriterionStatus.MET)
    return tuple(name for name in met if name in untested)


def criteria_shown_without_code(opinion: ModelOpinion, bundle: EvidenceBundle) -> tuple[str, ...]:
    """The criteria about code that an accept shows by tests or texts only, though the change contains code."""
    if opinion.decision is not Leaning.ACCEPT or all(is_test_or_text(file.path) for file in bundle.diff.files):
        return ()
    of_code = {criterion.id for criterion in bundle.criteria if not _NOT_ABOUT_CODE.search(criterion.text)}
    return tuple(
        criterion.id
        for criterion in opinion.criteria
        if criterion.id in of_code and all(is_test_or_text(pointer.path) for pointer in criterion.evidence)
    )


def is_test_or_text(path: str) -> bool:
    return role_of(path) is FileRole.TEST or _TEXT.search(path) is not None


TEXT_SUFFIXES: Final = (".md", ".rst", ".txt", ".adoc")


@dataclass(frozen=True)
class Survival:
    """`criteria`: ids of the unmet ones that survive; `evidence`: places that do; `refused`: a sentence for each other finding."""

    criteria: frozenset[str]
    evidence: tuple[EvidencePointer, ...]
    refused: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        return not self.criteria and not self.evidence


def survival_of(opinion: ModelOpinion, bundle: EvidenceBundle) -> Survival | None:
    """What survives of a reject; None where nothing has to: no reject, a fact, an open condition, or a change to texts alone.

    A text may mention what is asked for without giving it.
    """
    is_open = any(condition.state is ConditionState.OPEN for condition in opinion.conditions)
    if opinion.decision is not Leaning.REJECT or bundle.opinion.facts or is_open:
        return None
    change = CodeChange(bundle.dossier)
    if all(file.path.endswith(TEXT_SUFFIXES) for file in change.files):
        return None
    unmet = [criterion for criterion in opinion.criteria if criterion.status in UNMET]
    places = (*opinion.evidence, *(pointer for criterion in unmet for pointer in criterion.evidence))
    reject_words = stems_in((opinion.concern, *(pointer.note for pointer in places)))
    refused: list[str] = []
    evidence: list[EvidencePointer] = []
    for pointer in opinion.evidence:
        if problem := _refute_place(pointer, opinion, change, bundle, reject_words):
            refused.append(problem)
        else:
            evidence.append(pointer)
    criteria: list[str] = []
    for criterion in unmet:
        problem = _refute_criterion(criterion, change, bundle, reject_words)
        if problem is None and not evidence and not _mentions_criterion(criterion, bundle, reject_words):
            problem = texts.criterion_is_not_named(criterion.id, criterion.status)
        if problem:
            refused.append(problem)
        else:
            criteria.append(criterion.id)
    if opinion.category is Category.ACCEPTANCE_GAP and unmet and not criteria:  # it rests on its criteria
        evidence = []
    if opinion.category is Category.SPEC_VIOLATION and not evidence and not _rests_on_a_rule(opinion, bundle):
        criteria = []
        refused.append(texts.RULE_NOT_NAMED)
    return Survival(frozenset(criteria), tuple(evidence), tuple(dict.fromkeys(refused)))


def _refute_criterion(
    criterion: CriterionVerdict, change: CodeChange, bundle: EvidenceBundle, reject_words: frozenset[str]
) -> str | None:
    """What speaks against an unmet criterion: the change mentions it, and no place of a partial one falls short."""
    is_partial = criterion.status is CriterionStatus.PARTIAL
    falls_short = is_partial and any(_is_mentioned(pointer, bundle, reject_words) for pointer in criterion.evidence)
    if falls_short or not is_mentioned(change, criterion.id):
        return None
    return texts.criterion_is_mentioned(criterion.id, criterion.status)


def _mentions_criterion(criterion: CriterionVerdict, bundle: EvidenceBundle, reject_words: frozenset[str]) -> bool:
    """Whether the reject's words are about the criterion's text or one of its places."""
    if any(_is_mentioned(pointer, bundle, reject_words) for pointer in criterion.evidence):
        return True
    asked = stems_in(entry.text for entry in bundle.criteria if entry.id == criterion.id)
    return not asked or not reject_words.isdisjoint(asked)


def _refute_place(
    pointer: EvidencePointer,
    opinion: ModelOpinion,
    change: CodeChange,
    bundle: EvidenceBundle,
    reject_words: frozenset[str],
) -> str | None:
    """Why a place does not survive; None where it does."""
    suspected = {(finding.category, finding.path) for finding in bundle.opinion.findings}
    if (opinion.category, pointer.path) in suspected:
        return None
    match opinion.category:
        case Category.SCOPE_CREEP if not is_apart(change, pointer.path):
            return texts.place_is_related(pointer)
        case Category.SCOPE_CREEP if not reject_words.isdisjoint(stems_in((pointer.path,))):
            return None
        case Category.SPEC_VIOLATION if not _rests_on_a_rule(opinion, bundle):
            return texts.RULE_NOT_NAMED
        case _:
            return None if _is_mentioned(pointer, bundle, reject_words) else texts.place_is_not_mentioned(pointer)


def _rests_on_a_rule(opinion: ModelOpinion, bundle: EvidenceBundle) -> bool:
    """Whether a reject names the rule, or the case claims what is not there."""
    wrong = {ClaimStatus.CONTRADICTED, ClaimStatus.UNSUPPORTED}
    return any(claim.status in wrong for claim in bundle.claims) or names_a_rule(opinion, bundle.dossier)


def _is_mentioned(pointer: EvidencePointer, bundle: EvidenceBundle, reject_words: frozenset[str]) -> bool:
    """Whether the reject's words occur at a place or beside it; of a place without a line, in its path."""
    if pointer.line is None:
        return not reject_words.isdisjoint(stems_in((pointer.path,)))
    return not reject_words.isdisjoint(stems_in(lines_near(pointer.path, pointer.line, pointer, bundle)))


MOST_NAMES: Final = 10
MOST_CHARACTERS: Final = 400_000
"""Longer texts are not searched."""

_NAME: Final = r"`([A-Za-z_$][\w$]{0,99})(?:\(\))?`"
_KINDS: Final = r"(?:functions?|methods?|class(?:es)?|helpers?|symbols?|constants?|types?|modules?)"
_PLACE: Final = r"(?:\s+(?:in|of|from)\s+`?[\w./-]{1,200}`?)?"
_WHOLE: Final = r"(?:change|diff|patch|head|tree|file|module|class|type|package|repo(?:sitory)?|code ?base|pull request|it|this|\w\.\w{1,5}`?)"
"""What may contain a definition: a loop that lacks a name does not."""
_BEFORE: Final = (
    r"(?:^|[.;:!?,(]\s*|\b(?:but|yet|and|or|nor|neither|because|since|that|as|the|an?|calls?|uses?|imports?|which|however|then"
    rf"|{_KINDS})\s+)"
)
_SUBJECT: Final = rf"{_BEFORE}{_NAME}(?:\s+{_KINDS})?{_PLACE}\s+"
_OBJECT: Final = rf"\s+(?:(?:the|an?|any|its)\s+)?(?:(?:new|private|public|definition\s+of|{_KINDS})\s+)*(?:(?:called|named)\s+)?{_NAME}(?:\s+{_KINDS})?"
_AFTER: Final = (
    r"(?=\s*(?:[.,;:!?)]|$)|\s+(?:anywhere|nowhere|yet|here|and|so|but|though|or|nor)\b|\s+(?:by|within)\s+th(?:e|is)\s+change\b"
    rf"|\s+(?:in|at|on|from|of)\s+(?:`?[\w/.-]{{1,200}}\.\w{{1,5}}\b|(?:(?:the|this|its|head|whole|entire)\s+){{0,3}}{_WHOLE}\b))"
)
"""The phrase ends here: "not defined for empty data" and "missing in the changelog" deny something else."""
_NOT: Final = r"(?:not|never|nowhere|no\s+longer)"
_IS_NOT: Final = (
    rf"(?:(?:is|are|was|were|has\s+been|have\s+been|been)\s+{_NOT}|(?:has|have|had)\s+{_NOT}\s+been"
    r"|(?:is|are|was|were)n't|(?:has|have)n't\s+been)"
)
_DOES_NOT: Final = r"(?:(?:does|do|did)(?:\s+not|n't)|never|fails?\s+to|no\s+longer)"
_ABSENT: Final = r"(?:missing|absent|undefined|undeclared|nowhere(?:\s+to\s+be\s+(?:found|seen))?|non-?existent)"
_NOTHING: Final = r"\b(?:nothing|nobody|no\s+(?:line|file|code|module))"

_DENIALS: Final = tuple(
    pattern(phrase, re.IGNORECASE | re.MULTILINE)
    for phrase in (
        (
            rf"{_SUBJECT}(?:{_IS_NOT}\s+(?:defined|declared|added|introduced|created|there|found)|(?:is|are|was|were)\s+{_ABSENT}"
            rf"|(?:{_DOES_NOT}\s+exists?|exists?\s+nowhere|appears?\s+nowhere)"
            rf"|(?:can(?:not|'t|\s+not)|could\s+not|couldn't)\s+be\s+found|has\s+no\s+definition){_AFTER}"
        ),
        rf"{_DOES_NOT}\s+(?:define|declare|add|introduce|create)s?{_OBJECT}{_AFTER}",
        rf"{_NOTHING}\s+(?:defines|declares|adds|introduces|creates){_OBJECT}{_AFTER}",
        rf"\bdefinition\s+of\s+{_NAME}{_PLACE}\s+is\s+{_ABSENT}{_AFTER}",
        rf"\bthere\s+(?:is|are|was)\s+no{_OBJECT}{_AFTER}",
        rf"\bn(?:either|or)\s+{_NAME}\s+(?:(?:is|was)\s+(?:defined|declared|there)|exists?){_AFTER}",
        rf"\b{_WHOLE}\s+(?:(?:has|have|holds|contains)\s+no|lacks?|omits?|(?:(?:is|comes|ships|stays)\s+)?without){_OBJECT}{_AFTER}",
        rf"\b(?:(?:can(?:not|'t|\s+not)|could\s+not|couldn't)\s+find|found\s+no){_OBJECT}{_AFTER}",
        rf"\b(?:undefined|undeclared|non-?existent)(?:\s+{_KINDS})?\s+{_NAME}",
        rf"\b(?:no|missing)\s+(?:{_KINDS}|definition)\s+(?:(?:called|named|of|for)\s+)?{_NAME}",
    )
)
_UNHANDLED_DENIALS: Final = (
    *(
        pattern(phrase, re.IGNORECASE | re.MULTILINE)
        for phrase in (
            rf"{_SUBJECT}(?:{_IS_NOT}\s+(?:handled|caught)|(?:is|are)\s+(?:unhandled|uncaught)){_AFTER}",
            rf"{_DOES_NOT}\s+(?:handle|catche?)s?{_OBJECT}{_AFTER}",
            rf"{_NOTHING}\s+(?:handles|catches){_OBJECT}{_AFTER}",
        )
    ),
    pattern(rf"\b(?:unhandled|uncaught)\s+{_NAME}{_AFTER}", re.IGNORECASE),
)
_HANDLES: Final = (
    r"^[^\n#]{0,300}(?:\b(?:except|catch|case|rescue|when|match|if|elif|instanceof|isinstance|errors\.(?:Is|As))\b[^\n]{0,300}"
    r"(?<![\w$]){name}(?![\w$])|(?<![\w$]){name}(?![\w$])[^\n]{0,100}=>)"
)
_DEFINES: Final = (
    r"^[^\S\n]*(?:(?:export|default|pub|public|private|protected|internal|static|final|abstract|async|unsafe|override)(?:\([^)\n]*\))?[^\S\n]+)*"
    r"(?:def|class|function\*?|func|fn|struct|interface|trait|enum|type|const|let|var|val|object|module|protocol|macro_rules!)"
    r"[^\S\n]+(?:\([^)\n]*\)[^\S\n]*)?{name}(?![\w$])"
    r"|^[^\S\n]*(?:[\w.<>\[\],?*&@]{1,100}[^\S\n]+){0,6}{name}[^\S\n]*\([^()\n]{0,300}\)[^;{}()\n]{0,100}\{[^\S\n]*$"  # a method
    r"|^(?:[^\S\n]{0,8}(?:self|this)\.)?{name}[^\S\n]*(?::[^=\n]{1,100})?=(?![=>])"
)
_IMPORTS: Final = r"^(?=[^\n]*\b(?:import|from|require|use|using|include)\b)[^\n]*(?<![\w$]){name}(?![\w$])"
_SOURCE: Final = pattern(
    r"\bfrom\s[\w.]{0,200}?\b(\w{1,100})\s+import\b"  # Python
    r"|[\"'](?:[^\"'\n]{0,200}/)?([\w-]{1,100})(?:\.\w{1,9})?[\"']"  # JavaScript, TypeScript
    r"|\b(\w{1,100})(?:::|\.)(?:\{[^}\n]{0,300}\}|\w{1,100});?\s*$"  # Rust, Java
)
"""What an import line imports from: its last word, the name of a file or folder."""
_LONGEST: Final = 500
_FOLDER_FILES: Final = frozenset({"__init__", "index", "mod", "lib"})


@dataclass(frozen=True)
class MissingNameClaim:
    """A name that was called missing, and the line that defines or handles it. `is_imported`: it imports it from an unread file."""

    name: str
    path: str
    line: int
    is_imported: bool = False


def find_refuted_claim(opinion: ModelOpinion, dossier: Dossier) -> MissingNameClaim | None:
    """The first name that a reject calls missing although it is there."""
    if opinion.decision is not Leaning.REJECT:
        return None
    places = (*opinion.evidence, *(pointer for criterion in opinion.criteria for pointer in criterion.evidence))
    text = "\n".join([opinion.concern, *(pointer.note for pointer in places)])
    denied = (
        (match[1], shows)  # with the pattern of a line that shows it
        for forms, shows in ((_DENIALS, _DEFINES), (_UNHANDLED_DENIALS, _HANDLES))
        for form in forms
        for match in form.finditer(text)
    )
    names = list(islice(dict.fromkeys(denied), MOST_NAMES))
    if not names:
        return None
    contents = ((file.path, file.text) for file in dossier.files or () if file.exists)
    text_by_path = {path: text for path, text in contents if text is not None and len(text) <= MOST_CHARACTERS}
    pointed = [path for path in dict.fromkeys(pointer.path for pointer in places) if path in text_by_path]
    found_by_name = (_find_definitions(name, shows, pointed, text_by_path, dossier) for name, shows in names)
    return next(chain.from_iterable(found_by_name), None)


def _find_definitions(
    name: str, shows: str, pointed: list[str], text_by_path: Mapping[str, str], dossier: Dossier
) -> Iterator[MissingNameClaim]:
    """Where the name is: in files at head, in added lines, or imported from an unread file."""
    takes = re.compile(_IMPORTS.replace("{name}", re.escape(name)), re.MULTILINE)
    defines = re.compile(shows.replace("{name}", re.escape(name)), re.MULTILINE)
    taken = [
        (path, match) for path in pointed if shows is _DEFINES for match in [takes.search(text_by_path[path])] if match
    ]
    for path in [*pointed, *sorted(text_by_path.keys() - set(pointed))]:
        if match := defines.search(text_by_path[path]):
            yield MissingNameClaim(name, path, _line_number(text_by_path[path], match))
    files = diff_of(dossier.diff).files
    for file in files:
        for line in file.added_lines:
            if line.head_line is not None and defines.search(line.text[:_LONGEST]):
                yield MissingNameClaim(name, file.path, line.head_line)
    if not taken or any(defines.search(line.text) for file in files for line in file.removed_lines):
        return  # where a definition was removed, the reject may be right
    for path, match in taken:
        line = text_by_path[path][match.start() : match.end() + _LONGEST].partition("\n")[0][-2 * _LONGEST :]
        if not _was_source_searched(name, line, path, text_by_path):
            yield MissingNameClaim(name, path, _line_number(text_by_path[path], match), is_imported=True)


def _line_number(text: str, match: re.Match[str]) -> int:
    return text.count("\n", 0, match.end()) + 1


def _was_source_searched(name: str, takes: str, path: str, text_by_path: Mapping[str, str]) -> bool:
    """Whether the file that the line imports from is known, and does not contain the name."""
    source = _SOURCE.search(takes)
    module = next(filter(None, source.groups()), "").lower() if source else ""
    word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    kind = path.rpartition(".")[2]
    beside = (
        (other, text) for other, text in text_by_path.items() if other != path and other.rpartition(".")[2] == kind
    )
    for other, text in beside:
        folder, _, file = other.rpartition("/")
        stem = file.partition(".")[0].lower()
        is_own = stem in _FOLDER_FILES and folder  # a package's own file has its folder's name
        if module == (folder.rpartition("/")[2].lower() if is_own else stem) and word.search(text) is None:
            return True
    return False


LEAST_WORDS: Final = 3
"""Of a quote: fewer may be a name."""

SHOWN_CHARACTERS: Final = 120
"""The most characters of a claim that are shown."""

_QUOTED: Final = pattern(r'"([^"\n]{1,300})"|\u201c([^\u201d\n]{1,300})\u201d')
_LEFT_OUT: Final = pattern(r"\u2026|\.{3}|\[\.{3}\]")
_RULES_FILE: Final = pattern(
    r"(?<![\w/.-])((?:[\w.-]{1,100}/){0,9}(?:(?:AGENTS|CLAUDE|GEMINI|CONTRIBUTING|CONVENTIONS|STYLEGUIDE|copilot-instructions)\.mdc?|\.cursorrules))\b",
    re.IGNORECASE,
)
_DEMANDS: Final = pattern(
    r"\b(?:must|shall|should|never|always|only|no|not|don't|can't|avoid|forbid\w*|forbidden|prohibit\w*|require[sd]?|mandatory|instead)\b",
    re.IGNORECASE,
)
_WORD: Final = pattern(r"\w+")


def find_missing_rule(opinion: ModelOpinion, dossier: Dossier) -> str | None:
    """The first quote or rules file of a reject for a broken rule that occurs in no text of the dossier."""
    if opinion.decision is not Leaning.REJECT or opinion.category is not Category.SPEC_VIOLATION:
        return None
    concern = opinion.concern
    files, quotes = (match[1] for match in _RULES_FILE.finditer(concern)), _quotes(concern)
    if not (claims := [*files, *quotes]):
        return None
    read = _words_only("\n".join(_read_texts(dossier)))
    missing = next((claim for claim in claims if not all(f" {part} " in read for part in _parts(claim))), None)
    if missing is None:
        return None
    text = " ".join(missing.split())
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"


def names_a_rule(opinion: ModelOpinion, dossier: Dossier) -> bool:
    """Whether a reject names the broken rule: by its file, its words, or the criterion that states it.

    Quoted code counts only if it demands something.
    """
    concern = opinion.concern
    criteria = (criterion.id for criterion in dossier.criteria or ())
    is_named = any(re.search(rf"(?<![\w-]){re.escape(criterion)}(?![\w-])", concern) for criterion in criteria)
    if is_named or _RULES_FILE.search(concern) is not None:
        return True
    stated = _words_only("\n".join(_rule_texts(dossier)))
    return any(
        _DEMANDS.search(quote) or all(f" {part} " in stated for part in _parts(quote)) for quote in _quotes(concern)
    )


def _quotes(text: str) -> Iterator[str]:
    quotes = (match[1] or match[2] for match in _QUOTED.finditer(text))
    return (quote for quote in quotes if len(_WORD.findall(quote)) >= LEAST_WORDS)


def _parts(claim: str) -> Iterator[str]:
    """The parts of a quote between its ellipses."""
    spelled = (_words_only(part).strip() for part in _LEFT_OUT.split(claim))
    return (part for part in spelled if part)


def _words_only(text: str) -> str:
    """The words in lower case, each between single spaces."""
    return f" {' '.join(_WORD.findall(text.lower()))} "


def _read_texts(dossier: Dossier) -> Iterator[str]:
    yield dossier.diff
    yield from _rule_texts(dossier)
    for file in dossier.files or ():
        yield from (file.path, file.text or "")
    yield from (file.path for file in dossier.files_unread)
    for check in dossier.ci.checks if dossier.ci else ():
        yield from (check.name, check.summary, check.log_tail)


def _rule_texts(dossier: Dossier) -> Iterator[str]:
    """Texts that may state a rule: rules files, issues, criteria and the pull request's own."""
    pull = dossier.pull_request
    yield from (pull.title, pull.body or "")
    for rules in dossier.guidance:
        yield from (rules.path, rules.text)
    for issue in dossier.issues:
        yield from (issue.title, issue.body)
    yield from (criterion.text for criterion in dossier.criteria or ())
