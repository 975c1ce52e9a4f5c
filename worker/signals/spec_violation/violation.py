"""A violation of a repository rule, the files and lines that a rule covers, and the violations of rules about paths.

A rule against edits of generated, vendored or locked files by hand is broken only where nothing in the change could have made a
tool write the edit: no source of a generator, no manifest, no mention of generating, no signature, no edit that it mirrors.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final, assert_never

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Side
from worker.dossier.diff import ChangeKind, FileDiff
from worker.dossier.repo_rules.scope import PathTouch, RepoRule, RuleKind, RuleReach, RuleScope
from worker.signals.analysis.change import AnalyzedFile, CodeChange
from worker.signals.analysis.file_roles import FileRole, Language, is_signed_by_generator, role_of
from worker.signals.analysis.syntax import find, text_of
from worker.signals.signal import SignalMatch

_UNSURE_STRENGTH: Final = 0.6
_PROGRAM_FOLDERS: Final = pattern(
    r"(?:^|/)(?:_?cli|cmd|bin|scripts?|tools?|hack|examples?|demos?|docs?|bench(?:es|marks?)?|commands?|xtask|ci|\.github|console|notebooks?|play\w*|sandbox|scratch)/"
    r"|(?:^|/)(?:cli|main|__main__|setup|build|conftest|noxfile|tasks|manage|console|terminal|repl|logger|logging|log|index|run|xtask|play|playground|scratch|sandbox|repro|debug"
    r"|[\w.-]*[_.-]cli|cli[_.-][\w.-]*|[\w.-]*[._-]config(?=\.(?:py|[cm]?[jt]s)$)|(?:prepare|prebuild|postbuild|postinstall|build|release)[_-][\w.-]*|[\w.-]*printer|[\w.-]*reporter)\.\w+$"
    r"|^[^/]+\.[mc]js$"
)
"""Programs and what prints for them: hardly "library code"."""
_MAIN: Final = pattern(r"^package main\b", re.MULTILINE)
_GUARD: Final = pattern(r"^if __name__\s*==", re.MULTILINE)
_GLOB_PARTS: Final = pattern(r"\*\*/?|\*|\?|[^*?]+")
_GLOBS: Final = {"**/": "(?:.{1,300}/)?", "**": ".{0,300}", "*": "[^/]{0,200}", "?": "[^/]"}
_FOR_TESTS: Final = pattern(r"\bcfg\([^\"]{0,100}\btest\b|\[\s*(?:\w+::)*(?:test|rstest|test_case)\b")


@dataclass(frozen=True)
class RuleViolation:
    """`problem` ends the sentence "the rule says ..., and ..."; `is_sure` makes it a fact."""

    rule: RepoRule
    problem: str
    is_sure: bool
    path: str | None = None
    line: int | None = None
    side: Side = Side.HEAD
    target: str = ""
    """The code or the package that the rule forbids."""

    @property
    def match(self) -> SignalMatch:
        origin = self.rule.origin
        note = f'{origin.path}:{origin.line} says "{origin.text}", and {self.problem}'
        strength = 1.0 if self.is_sure else _UNSURE_STRENGTH
        return SignalMatch(note, self.path, self.line, side=self.side, strength=strength, step=self._next_step)

    @property
    def _next_step(self) -> str:
        written = f"{self.rule.origin.path}:{self.rule.origin.line}"
        match self.rule.kind:
            case RuleKind.FORBIDDEN_CODE:
                step = f"Replace `{self.target}` at {{place}}: {written} forbids it."
            case RuleKind.DEPENDENCIES:
                step = f"Take the new dependency `{self.target}` out ({{place}}): {written} allows none."
            case RuleKind.FORBIDDEN_PATH if self.rule.is_by_hand:
                step = f"Undo the edit of {self.path} by hand, and let its generator write it, as {written} asks."
            case RuleKind.FORBIDDEN_PATH:
                step = f"Undo what this change does to {self.path}: {written} wants it left alone."
            case RuleKind.OWN_PULL_REQUEST:
                step = f"Move the change of {self.path} into a pull request of its own, as {written} asks."
            case RuleKind.CHANGELOG:
                log = self.rule.targets[0] if self.rule.targets else "the changelog"
                where = f"under {log}" if log.endswith("/") else f"to {log}"
                step = f"Add an entry about this change {where}, as {written} asks."
            case RuleKind.DOCSTRING:
                step = f"Write the documentation of the function at {{place}}, as {written} asks."
            case RuleKind.TESTS:
                step = ""  # no violation of it is sure
            case _:
                assert_never(self.rule.kind)
        return step


class ScopeCoverage(Enum):
    YES = "yes"
    UNSURE = "unsure"
    NO = "no"


def check_file_coverage(scope: RuleScope, file: AnalyzedFile) -> ScopeCoverage:
    """Whether the rule covers code in this file; UNSURE where that is not known."""
    is_language = not scope.languages or (file.language is not None and file.language.value in scope.languages)
    if not is_language or not is_path_covered(scope, file.path):
        return ScopeCoverage.NO
    match file.role:
        case FileRole.FOREIGN:
            return ScopeCoverage.NO
        case FileRole.EXAMPLE:
            return ScopeCoverage.UNSURE if scope.reach is RuleReach.ALL else ScopeCoverage.NO
        case FileRole.TEST:
            return ScopeCoverage.NO if scope.reach is RuleReach.LIBRARY else ScopeCoverage.YES
        case FileRole.PRODUCTION if scope.reach is RuleReach.LIBRARY:
            return ScopeCoverage.UNSURE if is_program(file) else ScopeCoverage.YES
        case FileRole.PRODUCTION:
            return ScopeCoverage.NO if scope.reach is RuleReach.TESTS else ScopeCoverage.YES
        case _:
            assert_never(file.role)


def is_program(file: AnalyzedFile) -> bool:
    """Whether people run the file: its output is hardly a forgotten print."""
    mark = {Language.GO: _MAIN, Language.PYTHON: _GUARD}.get(file.language) if file.language else None
    is_main = mark is not None and mark.search(file.head_text or "") is not None
    return is_main or _PROGRAM_FOLDERS.search(file.path) is not None


def is_path_covered(scope: RuleScope, path: str) -> bool:
    """Whether the path lies in the folder of the rules file, and where the rule applies."""
    if not path.startswith(scope.root):
        return False
    inside = not scope.inside or any(is_path_match(folder, path, scope.root) for folder in scope.inside)
    return inside and not any(is_path_match(folder, path, scope.root) for folder in scope.outside)


def is_path_match(written: str, path: str, root: str = "") -> bool:
    """Whether *path* matches *written*: a path, a folder or a glob; without a slash inside, at any depth."""
    return _compile_glob(written).search(path.removeprefix(root)) is not None


def is_root_path_match(written: str, path: str, root: str = "") -> bool:
    """Whether *path* matches *written* from the root on."""
    rooted = written.removeprefix("./") if written.startswith(".") else written.lstrip("./")
    return is_path_match(f"/{rooted}", path, root)


@lru_cache(maxsize=512)
def _compile_glob(written: str) -> "re.Pattern[str]":
    is_rooted = written.startswith(("/", "./")) or "/" in written.rstrip("/*")
    text = written.removeprefix("./").lstrip("/").rstrip("/")
    text = text.removesuffix("/**").removesuffix("/*") or text
    body = "".join(_GLOBS.get(part[0], re.escape(part[0])) for part in _GLOB_PARTS.finditer(text[:300]))
    return re.compile(f"{'^' if is_rooted else '(?:^|/)'}{body}(?:/|$)")


def is_in_inline_tests(file: AnalyzedFile, line: int) -> bool:
    """Whether the line is part of a Rust module or function that is only built for tests."""
    return any(first <= line <= last for first, last in file.cache(_find_inline_tests))


def _find_inline_tests(file: AnalyzedFile) -> tuple[tuple[int, int], ...]:
    """First and last lines of the items below an attribute with `test`."""
    ranges: list[tuple[int, int]] = []
    for source in file.sources if file.language is Language.RUST else ():
        for attribute in find(source.root, source.language, ("attribute_item",)):
            node = attribute.next_named_sibling
            if node is not None and _FOR_TESTS.search(text_of(attribute)[:200]):
                ranges.append((source.first_line + attribute.start_point.row, source.first_line + node.end_point.row))
    return tuple(ranges)


_COPY: Final = pattern(r"vendor|third[- ]party code|upstream|\bcop(?:y|ied)\b", re.IGNORECASE)
_BUMPS: Final = pattern(
    r"\b(?:bump|upgrade|update|dep|deps|dependenc\w+|migrate|version|pin|unpin|release|msrv|edition|switch to|replace|remove)\b",
    re.IGNORECASE,
)
"""A change about a dependency is a pull request of its own, with the code that follows from it."""
_LOCK_FILES: Final = pattern(
    r"(?:^|/)(?:[\w.-]*\.lock|[\w-]*-lock\.(?:json|ya?ml)|pnpm-lock\.yaml|npm-shrinkwrap\.json|go\.sum|bun\.lockb?|gradle\.lockfile|Package\.resolved)$"
)
MANIFEST_FILES: Final = pattern(
    r"(?:^|/)(?:package\.json|pnpm-workspace\.yaml|Cargo\.toml|pyproject\.toml|setup\.(?:py|cfg)|Pipfile|requirements[\w.-]*\.(?:txt|in)"
    r"|go\.(?:mod|work)|pom\.xml|build\.gradle(?:\.kts)?|libs\.versions\.toml|Gemfile|composer\.json|modules\.txt|vendor\.json|Gopkg\.\w+"
    r"|\.gitmodules|deno\.jsonc?|glide\.\w+|Podfile|mix\.exs)$"
)
_GENERATED_FILES: Final = pattern(
    r"(?:^|/|_)(?:generated|__generated__|gen|dist|build|autogen)(?:/|$|\.)|\.(?:gen|generated|pb|min)\."
)
"""Files that tools write: a rule to leave them alone means edits by hand, however it is worded."""
_CODE_FILES: Final = pattern(r"\.(?:py|[cm]?[jt]sx?|go|rs|java|kt|rb|cs|php|c|cc|cpp|h|swift|scala)$")
_VERSION: Final = pattern(r"\bversion\b|^\s*['\"]?[@\w./-]+@|^\S+ v\d|^\s{2,4}['\"/]?[@\w./-]+[@/]\d")
_WORDS: Final = pattern(r"\w+")
_SHORTEST_NAME: Final = 4
_MOST_LINES_BY_HAND: Final = 30
_MOST_IN_LOCK: Final = 2
"""A package manager changes a version, its address and its hash together; one line alone was edited."""
_MOST_CHARACTERS: Final = 2_000_000
_COMMENT: Final = pattern(r"\s*(?:#(?![!\[])|//)")
_SENTENCE: Final = pattern(r"[A-Za-z]{2,} [A-Za-z]{2,}")
_HEADING: Final = pattern(
    r"\bgenerated\b|\bgenerator\b|copyright|licen[sc]e|SPDX|do not edit|version|\bsource:|\bfrom(?:[: ]|$)|automatic|@\w|eslint|noqa|pragma|nolint|type:",
    2,
)
_IDLE: Final = pattern(r"\.(?:md|mdx|rst|txt|adoc)$|(?:^|/)[\w.-]*\.lock$|-lock\.\w+$|(?:^|/)go\.sum$")
"""Documents and locks: a newer generator may change these and generated code only."""
_OUTPUT: Final = pattern(
    r"(?:^|/)(?:__)?(?:snapshots?|fixtures?|goldens?|expected|baselines?|testdata)(?:__)?/|\.snap\b|\.d\.[cm]?ts$|\.pyi$|(?:^|/|_)mocks?_|_mocks?\.",
    re.IGNORECASE,
)
_TOOL: Final = pattern(
    r"\b(?:re-?gen\w*|generat(?!ional)\w+|codegen|autogen\w*|vendor\w*|upstream|sync\w*|bindgen|protoc|go generate)\b",
    re.IGNORECASE,
)
_PLAIN_FOLDER: Final = pattern(
    r"src|libs?|pkg|internal|core|main|java|packages?|tests?|testing|common|utils?|cmd|crates|apps?|org|com|api|server|client",
    re.IGNORECASE,
)
_COMMON_NAMES: Final = pattern(
    r"(?:index|mod|main|lib|__init__|package-info|doc|types|utils?|helpers?)(?:[._]\w+)*\.\w+$"
)
"""Names that every folder has."""
_LONGEST_BY_HAND: Final = 160
_OF_CI: Final = pattern(
    r"(?:^|/)\.[\w-]+/|(?:^|/)\.[\w.-]+$|(?:^|/)(?:tests?|docs?)/|(?:^|/)(?:azure-pipelines?|appveyor|codecov|mkdocs|bitbucket-pipelines|cloudbuild|renovate)[\w.-]*\.(?:ya?ml|json)$"
)
_SOURCES: Final = pattern(
    r"\.(?:proto|graphqls?|gql|avsc|thrift|fbs|g4|y|sql|tmpl|tpl|j2|jinja2?|mustache|hbs|ejs|xsd|wsdl|yang|idl|templ|json|ya?ml|toml)$"
    r"|(?:^|[/_.-])(?:gen|code-?gen|generators?|schemas?|templates?|bindgen|mocks?)(?:[_.-][\w.-]*)?/|(?:^|[/_.-])(?:generat\w*|codegen|schemas?|templates?)(?:[_.-][\w.-]*)?\.\w+$",
    re.IGNORECASE,
)
_BUNDLED: Final = pattern(r"(?:^|/)(?:dist|build|out|target|static|assets)/|\.(?:min|bundle)\.|\.(?:css|map|snap)$")


class EditSource(Enum):
    HAND = "hand"
    UNKNOWN = "unknown"
    TOOL = "tool"


_EDIT_TEXTS: Final = {
    EditSource.HAND: "this change edits it, and nothing in the change would have generated that",
    EditSource.UNKNOWN: "this change edits it, and whether a tool wrote that, it does not show",
}


def find_path_violations(rule: RepoRule, change: CodeChange) -> Iterator[RuleViolation]:
    """The files that *rule* wants left alone and the change touches."""
    for target in rule.targets:
        for file in change.files:
            diff = file.diff
            paths = [diff.path, *([diff.old_path] if diff.change is ChangeKind.RENAMED and diff.old_path else [])]
            if _is_touched(rule, diff) and any(
                is_path_match(target, path, rule.scope.root) and is_path_covered(rule.scope, path) for path in paths
            ):
                yield from _build_violations(rule, target, file, change)


def _is_touched(rule: RepoRule, diff: FileDiff) -> bool:
    if PathTouch.CHANGE in rule.touches or rule.kind is RuleKind.OWN_PULL_REQUEST:
        return True
    wanted = {
        ChangeKind.ADDED: PathTouch.ADD,
        ChangeKind.COPIED: PathTouch.ADD,
        ChangeKind.DELETED: PathTouch.REMOVE,
        ChangeKind.RENAMED: PathTouch.REMOVE,
    }
    return wanted.get(diff.change) in rule.touches


def _build_violations(rule: RepoRule, target: str, file: AnalyzedFile, change: CodeChange) -> Iterator[RuleViolation]:
    # an issue names the path: its owner may have asked for it; shorter names are part of every text
    name = target.rstrip("/*").rpartition("/")[2]
    asked = " ".join(f"{issue.title} {issue.body}" for issue in change.dossier.issues)
    sure = rule.is_sure and not (len(name) >= _SHORTEST_NAME and name in asked)
    by_hand = rule.is_by_hand or _LOCK_FILES.search(target) is not None or _GENERATED_FILES.search(target) is not None
    if rule.kind is RuleKind.OWN_PULL_REQUEST:
        if not any(_CODE_FILES.search(other.path) for other in change.files if other is not file):
            return
        sure = sure and not _BUMPS.search(change.dossier.pull_request.title)
        what = "this change also changes code"
    elif by_hand:
        written = _find_edit_source(file, target, change, is_copy=_COPY.search(rule.origin.text) is not None)
        if written is EditSource.TOOL:
            return
        sure, what = sure and written is EditSource.HAND, _EDIT_TEXTS[written]
    else:
        what = f"this change touches {file.path}"
    is_exact = by_hand or is_root_path_match(target, file.path, rule.scope.root)
    path, line, side = _first_line(file)
    yield RuleViolation(rule, what, sure and is_exact, path, line, side)


def _first_line(file: AnalyzedFile) -> tuple[str, int | None, Side]:
    added = next((line.head_line for line in file.diff.added_lines), None)
    if added is not None:
        return file.path, added, Side.HEAD
    removed = next((line.base_line for line in file.diff.removed_lines), None)
    if removed is None:
        return file.path, None, Side.HEAD
    return file.diff.old_path or file.path, removed, Side.BASE


def _find_edit_source(file: AnalyzedFile, target: str, change: CodeChange, *, is_copy: bool) -> EditSource:
    """Who wrote this file's change; *target* is the path as the rule writes it, *is_copy* if the rule calls it vendored."""
    if _is_by_hand(file, target, change) and not _TOOL.search(change.dossier.pull_request.title):
        return EditSource.HAND
    if _LOCK_FILES.search(file.path):
        return EditSource.TOOL
    if _is_comment_only(file):
        return EditSource.HAND
    if _mentions_tool(file, change):
        return EditSource.UNKNOWN
    is_patched = is_copy and _is_patched(file, target, change)
    return EditSource.HAND if is_patched else _find_generated_source(file, target, change)


def _find_generated_source(file: AnalyzedFile, target: str, change: CodeChange) -> EditSource:
    if _BUNDLED.search(file.path):
        return EditSource.HAND if _is_foreign_to_bundle(file, change) else EditSource.TOOL
    if _has_changed_source(change, target):
        is_mixed = _is_small(file, change) and _has_unexplained_words(file, change)
        return EditSource.UNKNOWN if is_mixed else EditSource.TOOL
    return EditSource.HAND if _is_unexplained(file, target, change) else EditSource.UNKNOWN


def _is_comment_only(file: AnalyzedFile) -> bool:
    """Whether only comments were added to code, none of them a generator's: what a generator writes does something."""
    lines = [line.text for line in file.diff.added_lines if line.text.strip()]
    if not lines or not _CODE_FILES.search(file.path) or file.diff.removed_lines or not all(map(_COMMENT.match, lines)):
        return False
    is_signed = file.head_text is not None and is_signed_by_generator(file.head_text)
    return any(map(_SENTENCE.search, lines)) and not _HEADING.search("\n".join(lines)) and not is_signed


def _is_patched(file: AnalyzedFile, target: str, change: CodeChange) -> bool:
    """Whether a copy of foreign code was edited beside own code, and nothing points to a newer copy."""
    others = [other.path for other in change.files if not is_path_match(target, other.path)]
    is_update = any(MANIFEST_FILES.search(path) or _LOCK_FILES.search(path) for path in (file.path, *others))
    return any(map(_CODE_FILES.search, others)) and not is_update


def _is_unexplained(file: AnalyzedFile, target: str, change: CodeChange) -> bool:
    """Whether it is code beside other work that is neither signed by a generator nor mirrors another edit."""
    others = [other for other in change.files if other is not file and not is_path_match(target, other.path)]
    if not _CODE_FILES.search(file.path) or _OUTPUT.search(file.path):
        return False
    if all(_IDLE.search(other.path) or MANIFEST_FILES.search(other.path) for other in others):
        return False
    return not _is_signed(file) and not _is_mirror(file, others)


def _mentions_tool(file: AnalyzedFile, change: CodeChange) -> bool:
    pull = change.dossier.pull_request
    own = pull.repository.casefold().split("/")
    parts = (part for part in file.path.split("/")[:-1] if part.casefold() not in own)
    folders = {part for part in parts if len(part) >= _SHORTEST_NAME and not _PLAIN_FOLDER.fullmatch(part)}
    is_named = any(re.search(rf"\b{re.escape(folder)}\b", pull.title) for folder in folders)
    return is_named or _TOOL.search(f"{pull.title}\n{pull.body}"[:20_000]) is not None


def _is_signed(file: AnalyzedFile) -> bool:
    """Whether a generator signs at its start; an unknown start of a file with a generator's name may be signed."""
    start = file.head_text
    if start is None:
        top = next((hunk for hunk in file.diff.hunks if min(hunk.head_start, hunk.base_start) <= 1), None)
        start = "\n".join(line.text for line in top.lines) if top is not None else None
    return role_of(file.path) is FileRole.FOREIGN if start is None else is_signed_by_generator(start)


def _is_mirror(file: AnalyzedFile, others: list[AnalyzedFile]) -> bool:
    """Whether a namesake changes too, or most of what changes in it changes elsewhere: it may follow from that."""
    name = file.path.rpartition("/")[2]
    own = _touched_words([file])
    alone = own - _touched_words(others)
    is_namesake = not _COMMON_NAMES.match(name) and any(other.path.rpartition("/")[2] == name for other in others)
    return len(alone) * 4 <= len(own) or is_namesake


def _touched_words(files: list[AnalyzedFile]) -> frozenset[str]:
    return _words(line.text for file in files for line in (*file.diff.added_lines, *file.diff.removed_lines))


def _is_foreign_to_bundle(file: AnalyzedFile, change: CodeChange) -> bool:
    """Whether built output has a few readable lines with words that no source of the change has."""
    if not _is_small(file, change) or any(len(line.text) > _LONGEST_BY_HAND for line in file.diff.added_lines):
        return False
    new = _new_words(file)
    unknown = new - _words_besides(file, change)
    return len(unknown) > 1 and len(unknown) * 4 >= len(new)


def _is_small(file: AnalyzedFile, change: CodeChange) -> bool:
    """Whether a few lines were edited, and no manifest beside them."""
    few = len(_changed_lines(file)) <= _MOST_LINES_BY_HAND
    return few and not any(MANIFEST_FILES.search(other.path) for other in change.files)


def _changed_lines(file: AnalyzedFile) -> list[str]:
    return [line.text for line in file.diff.lines() if line.head_line is None or line.base_line is None]


def _new_words(file: AnalyzedFile) -> frozenset[str]:
    new = _words(line.text for line in file.diff.added_lines)
    return new - _words(line.text for line in file.diff.lines() if line.base_line is not None)


def _has_changed_source(change: CodeChange, target: str) -> bool:
    """Whether the change touches something else that a generator may read: a schema, a template, a script."""
    paths = [
        file.path for file in change.files if not is_path_match(target, file.path) and not _OF_CI.search(file.path)
    ]
    return any(
        _SOURCES.search(path) and not (MANIFEST_FILES.search(path) or _LOCK_FILES.search(path)) for path in paths
    )


def _is_by_hand(file: AnalyzedFile, target: str, change: CodeChange) -> bool:
    """Whether no generator would make this edit of a generated file from this change."""
    diff = file.diff
    if diff.change is not ChangeKind.MODIFIED or diff.is_binary or not diff.hunks or not _is_small(file, change):
        return False
    if _LOCK_FILES.search(file.path):
        lines = _changed_lines(file)
        return len(diff.hunks) == 1 and len(lines) <= _MOST_IN_LOCK and not any(map(_VERSION.search, lines))
    return not _has_changed_source(change, target) and _has_unexplained_words(file, change)


def _has_unexplained_words(file: AnalyzedFile, change: CodeChange) -> bool:
    """Whether the edit brings words that occur nowhere else in the change. What a bundler brings is unknown."""
    if _BUNDLED.search(file.path):
        return False
    new = _new_words(file)
    return bool(new) and new.isdisjoint(_words_besides(file, change))


def _words(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(_WORDS.findall("\n".join(texts)[:_MOST_CHARACTERS]))


def _words_besides(file: AnalyzedFile, change: CodeChange) -> frozenset[str]:
    texts = [text for path, text in change.texts.items() if path != file.path]
    texts += [line.text for other in change.files if other is not file for line in other.diff.lines()]
    return _words(texts)
