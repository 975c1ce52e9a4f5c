"""A violation of a repository rule, and the files and lines that a rule covers."""

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final, assert_never

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Side
from worker.dossier.repo_rules.scope import RepoRule, RuleKind, RuleReach, RuleScope
from worker.signals.analysis.change import AnalyzedFile
from worker.signals.analysis.file_roles import FileRole, Language
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
