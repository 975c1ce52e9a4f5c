"""Violations of the repository's own rules (AGENTS.md and the like, at the base commit), and the duties that they impose.

Only sure violations are facts. A missing changelog entry is sure where the change alters what production code does and its
title calls it nothing else, a missing docstring on a new public function, a dependency where a whole manifest names it, its base
version does not and no issue mentions it.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, Final, NamedTuple, assert_never, cast

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.dossier.diff import ChangeKind, DiffLine
from worker.dossier.repo_rules.files import parse_guidance
from worker.dossier.repo_rules.scope import DutyScope, RepoRule, RuleKind
from worker.signals.analysis.change import AnalyzedFile, CodeChange, Source, memoized
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, FileRole, Language
from worker.signals.analysis.functions import Function, FunctionScope, find_functions
from worker.signals.analysis.syntax import begins_in_text, find, text_of
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal
from worker.signals.spec_violation.forbidden_code import find_code_violations
from worker.signals.spec_violation.violation import (
    MANIFEST_FILES,
    RuleViolation,
    find_path_violations,
    is_in_inline_tests,
    is_path_covered,
    is_path_match,
)

_MOST_VIOLATIONS: Final = 200
_CHANGELOG_FILES: Final = pattern(
    r"(?:^|/)(?:\.?change[-_]?logs?|changes|\.?changesets?|history|news|newsfragments|release[-_]?notes?|releases|whats[-_]?new)(?:[-_.][\w.-]*|\.d)?(?:/|$)",
    re.IGNORECASE,
)
_OTHER_TITLES: Final = pattern(
    r"^\W*(?:refactor|chore|docs?|tests?|ci|style|build|perf|deps|release|revert|typo|bump|clean|cleanup|rename|reformat|lint|move|simplify"
    r"|internal|prepare|merge|tighten|factor|tidy|modernize|format|types?|typing|extract|deduplicate|dedupe|remove unused|restructure|reorgani[sz]e|split|inline)"
    r"|\b(?:refactor\w*|no functional change|clean-?ups?|clean up|typos?|reformat\w*|rename|lint\w*|warnings?|typing|types|annotations|deps"
    r"|dependenc\w+|factor out|mypy|pyright|clippy|playground|version)\b",
    re.IGNORECASE,
)
_BEHAVIOUR_WORDS: Final = pattern(
    r"\b(?:fix\w*|feat|add\w*|support\w*|allow\w*|implement\w*|handle\w*|introduc\w+|enable\w*|disable\w*|disallow\w*|prevent\w*|validat\w+|return\w*"
    r"|accept\w*|reject\w*|ignor\w+|avoid\w*|respect\w*|preserv\w+|expos\w+|improv\w+|new|option\w*|flag|deprecat\w+|default\w*|only|don't|do not"
    r"|correct\w*|show\w*|report\w*|rais\w+|throw\w*|stop\w*|make|include\w*|retry\w*|limit\w*|escape\w*|better|breaking|properly|ensure\w*)\b",
    re.IGNORECASE,
)
_NOISE: Final = pattern(
    r"\s*(?:$|#(?!\[|!\[)|//|/\*|\*|\"\"\"|'''|import\b|from\b|use\b|pub use\b|package\b|\w+,?$|[(){}\[\];,]+$|@\w+$|else\b|try:?$)"
)
_TOOLING: Final = pattern(
    r"(?:^|/)(?:scripts?|tools?|hack|ci|\.github|xtask|bench(?:es|marks?)?|setup\.py|noxfile\.py|conftest\.py|build\.rs|tasks\.py|[\w.-]*\.config\.[\w]+)(?:/|$)"
)
_DOCSTRING_ONLY: Final = pattern(r"doc ?string", re.IGNORECASE)
_PRIVATE: Final = pattern(r"(?:^|/)_(?!_init__)\w")
_OF_PUBLIC: Final = pattern(r"\b(?:public|exported|api)\b", re.IGNORECASE)
_OF_SOME: Final = pattern(
    r"\b(?:functions?|methods?|class(?:es)?)\s+(?:(?:that|which)(?! (?:you|we|(?:is|are) (?:new|added|public)))|whose|called|used"
    r"|imported|exposed|meant|others|users)\b",
    re.IGNORECASE,
)
"""The rule is about some functions only, and code does not tell which."""
_EXEMPT: Final = pattern(r"\b(?:overload|override|Override|setter|deleter|fixture|inheritdoc)\b")
_LISTED_NAME: Final = pattern(r"\s*[\"']\w+[\"'],?$")
"""The names that a package imports from its modules are listed like this."""
_LOG_FOLDER: Final = pattern(
    r"(?:docs?|documentation|changes|changelogs?|changelog\.d|changesets?|news|newsfragments|history|releases?|release[-_]?notes|notes|\.\w+)",
    re.IGNORECASE,
)
_LAYOUT: Final = pattern(r"[\s,]+")
_ENTRY: Final = pattern(r"\s+(?:\"[^\"]*\"|'[^']*')\s*[,:]")
_QUOTED: Final = pattern(r"[\"'](\w+)[\"']")
_LISTED: Final = pattern(r"^__all__(?: ?: ?[\w\[\], ]+)? ?\+?= ?[\[(]([^\])]{0,5000})", re.MULTILINE)
_OPENING: Final = pattern(r"^[ \t]*(?:async def|def|class)\b[^\n]{0,300}:[ \t]*\n[ \t]+[rR]?\"\"\"", re.MULTILINE)
_DEFINED: Final = pattern(r"\bdef\s+(\w+)\s*\(")
_NAMED: Final = pattern(r"\b(\w++)\s*+\(")
_BOUND: Final = pattern(r"^[^\S\n]+(?:async )?(?:def )?(\w+)\s*(?:\(|:|=)", re.MULTILINE)
_BASES: Final = frozenset({"object", "ABC", "abc.ABC", "metaclass=ABCMeta", "metaclass=abc.ABCMeta", "Generic"})
_DEEPEST: Final = 5
_SECTION: Final = pattern(r"(?:dev-|build-)?dependencies")
_REQUIREMENT: Final = pattern(r"\s*([A-Za-z0-9][\w.-]*)")
_LINE: Final = pattern(
    r"\s*(?:require )?([\w.-]+\.\w+/[\w./-]+) v[\w.+-]+\s*$|([A-Za-z][\w.-]*)(?:\[[\w,-]*\])?\s*(?:[=<>~!]=?.*)?$"
)
_TOOL_KEYS: Final = frozenset(
    {"version", "python", "rust-version", "edition", "go", "node", "npm", "pnpm", "requires-python"}
)
_DEPENDENCY: Final = pattern(
    r"^\s*\"(@?[\w./-]{1,100})\":\s*\"[\^~>=<]*\d[\w.+-]*\"|^\s*([\w-]{1,100})\s*=\s*(?:\"[\^~>=<]*\d[\w.,*+ -]*\"|\{ ?(?:version|path|git) ?=.{1,200})"
    r"|^\s*\"([\w.\[\]-]{1,100})\s?[~>=<!]=?[^\"]{1,60}\",?\s*$|^\s*(?:require )?([\w.-]+\.\w+/[\w./-]{1,150}) v\d\S*\s*$|<artifactId>([\w.-]{1,100})<"
)


class _ClassSummary(NamedTuple):
    bases: tuple[str, ...]
    names: frozenset[str]


@signal(Category.SPEC_VIOLATION, SignalKind.FACT, SignalScope.RULES, "Take what the rule forbids out of {place}.")
def forbidden_code_added(change: CodeChange) -> Iterator[SignalMatch]:
    """An added line holds code that a rule of the repository forbids there, or names a new dependency where it wants none.

    In a test, only where the rule speaks of tests.

    Why it matters: The repository's own rules forbid it, for reasons that a diff does not show.
    Example: `print(x)` in library code, where AGENTS.md says "Never use `print()` in library code".
    False alarms: 0 of 1832 clean changes with a rules file (0.0 %, at most 0.21 %).
    """
    return _find_certain(change, RuleKind.FORBIDDEN_CODE, RuleKind.DEPENDENCIES)


@signal(Category.SPEC_VIOLATION, SignalKind.FACT, SignalScope.RULES, "Take the edit at {place} out of this change.")
def forbidden_path_touched(change: CodeChange) -> Iterator[SignalMatch]:
    """A file is touched that a rule of the repository wants left alone, kept out of this change or never edited by hand.

    Why it matters: A generator or another team owns the file, and overwrites or refuses the edit.
    Example: An edit of `gen/api.py`, where AGENTS.md says "Never edit files under `gen/`".
    False alarms: 0 of 1832 clean changes with a rules file (0.0 %, at most 0.21 %).
    """
    return _find_certain(change, RuleKind.FORBIDDEN_PATH, RuleKind.OWN_PULL_REQUEST)


@signal(Category.SPEC_VIOLATION, SignalKind.FACT, SignalScope.RULES, "Add the changelog entry that the rule asks for.")
def changelog_entry_missing(change: CodeChange) -> Iterator[SignalMatch]:
    """Production code behaves differently, a rule asks for a changelog entry with every such change, and there is none.

    Why it matters: Users of the next release are not told what changed for them.
    Example: `src/a.py` changes, `CHANGELOG.md` does not, and a rule asks for an entry with every change.
    False alarms: 0 of 1832 clean changes with a rules file (0.0 %, at most 0.21 %).
    """
    return _find_certain(change, RuleKind.CHANGELOG)


@signal(Category.SPEC_VIOLATION, SignalKind.FACT, SignalScope.RULES, "Document the function at {place}.")
def docstring_missing(change: CodeChange) -> Iterator[SignalMatch]:
    """A new public function has no docstring or doc comment, and a rule asks for one on every such function.

    Why it matters: The repository promises its readers documentation of all that is public.
    Example: A new `def load(path):` without a docstring, where every public function has to have one.
    False alarms: 0 of 1832 clean changes with a rules file (0.0 %, at most 0.21 %).
    """
    return _find_certain(change, RuleKind.DOCSTRING)


@signal(Category.SPEC_VIOLATION, SignalKind.SUSPICION, SignalScope.RULES)
def rule_perhaps_broken(change: CodeChange) -> Iterator[SignalMatch]:
    """What a rule forbids or asks for seems to be there or missing, but the rule knows exceptions or the place is doubtful.

    Why it matters: A reader has to decide whether the exception holds.
    Example: `print(x)` in a script, where the rule is about library code.
    False alarms: 13 of 1832 clean changes with a rules file (0.7 %, at most 1.21 %).
    """
    return (violation.match for violation in find_violations(change) if not violation.is_sure)


def _find_certain(change: CodeChange, *kinds: RuleKind) -> Iterator[SignalMatch]:
    return (
        violation.match for violation in find_violations(change) if violation.is_sure and violation.rule.kind in kinds
    )


@memoized
def find_violations(change: CodeChange) -> tuple[RuleViolation, ...]:
    """The violations of all rules, in the order of the rules."""
    rules = (rule for guidance in change.dossier.guidance for rule in parse_guidance(guidance))
    violations = (violation for rule in rules for violation in _FINDERS[rule.kind](rule, change))
    return tuple(islice(violations, _MOST_VIOLATIONS))


def _find_changelog_violations(rule: RepoRule, change: CodeChange) -> Iterator[RuleViolation]:
    """A changelog that the change does not touch, although it must."""
    paths = [file.path for file in change.files]
    targets = [path for path in paths for target in rule.targets if is_path_match(target, path, rule.scope.root)]
    changed = [] if targets or any(map(_CHANGELOG_FILES.search, paths)) else _list_changed(rule, change)
    if not changed:
        return
    folders = {folder for folder in map(_find_package_folder, rule.targets) if folder}
    near = [file for file in changed if not folders or any(file.path.startswith(f"{folder}/") for folder in folders)]
    title = change.dossier.pull_request.title
    is_announced = not _OTHER_TITLES.search(title) and bool(change.dossier.issues or _BEHAVIOUR_WORDS.search(title))
    is_behaviour = rule.duty_scope is DutyScope.EVERY_CHANGE or is_announced
    name = f"`{rule.targets[0]}`" if rule.targets else "a changelog"
    what = f"this change alters {(near or changed)[0].path} and adds no entry to {name}"
    yield RuleViolation(rule, what, rule.is_sure and is_behaviour and bool(near))


def _list_changed(rule: RepoRule, change: CodeChange) -> list[AnalyzedFile]:
    """Production files of the rule that behave differently."""
    moved = change.removed_texts & change.added_texts
    covered = (file for file in change.production_files() if is_path_covered(rule.scope, file.path))
    return [file for file in covered if _has_changed_behaviour(file, moved)]


def _find_package_folder(target: str) -> str:
    """The folder of the code that a changelog is about: folders for logs and documents hold none."""
    folders = target.rstrip("/").split("/")[:-1]
    while folders and _LOG_FOLDER.fullmatch(folders[-1]):
        folders.pop()
    return "/".join(folders)


def _has_changed_behaviour(file: AnalyzedFile, moved: frozenset[str]) -> bool:
    """Whether code was added or removed, not only moved, commented, imported or reformatted."""
    diff = file.diff
    if _TOOLING.search(file.path) or not any(
        _is_code(file, line, moved) for line in (*diff.added_lines, *diff.removed_lines)
    ):
        return False
    # a formatter changes white space and commas
    return _LAYOUT.sub("", "".join(diff.removed_texts)) != _LAYOUT.sub("", "".join(diff.added_texts))


def _is_code(file: AnalyzedFile, line: DiffLine, moved: frozenset[str]) -> bool:
    text, number = line.text[:500], line.head_line
    if _NOISE.match(text) or line.text.strip() in moved:
        return False
    if _LISTED_NAME.match(text) and file.path.endswith("__init__.py"):
        return False
    return number is None or not (_is_text(file, text, number) or is_in_inline_tests(file, number))


def _is_text(file: AnalyzedFile, text: str, line: int) -> bool:
    """Whether the line is part of a string; an entry of a table is none, unless the table is in a longer string."""
    source = file.source_at(line)
    if source is None or not _ENTRY.match(text):
        return file.is_quoted(line)
    return begins_in_text(source.root, line - source.first_line)


def _find_docstring_violations(rule: RepoRule, change: CodeChange) -> Iterator[RuleViolation]:
    """New public functions without the documentation that the rule asks for."""
    for file in change.production_files():
        if not is_path_covered(rule.scope, file.path) or file.language not in _languages(rule):
            continue
        named = _DEFINED if file.language is Language.PYTHON else _NAMED
        old = frozenset(name for line in file.diff.removed_lines for name in named.findall(line.text[:1_000]))
        for source in file.sources:
            bare = [
                function for function in find_functions(source) if _is_public(function) and not _is_documented(function)
            ]
            # where an older function has none, the file does not keep the rule
            is_kept = file.added_lines.issuperset(function.first_line for function in bare)
            for function in bare:
                if function.first_line in file.added_lines and function.name not in old:
                    is_clear = source.is_whole or _is_at_top(function)
                    is_due = _is_covered(rule, function, file, change) and _is_surely_public(function)
                    sure = rule.is_sure and is_clear and is_due and is_kept
                    what = f"`{function.name}` is new and has none"
                    yield RuleViolation(rule, what, sure, file.path, function.first_line)


def _is_covered(rule: RepoRule, function: Function, file: AnalyzedFile, change: CodeChange) -> bool:
    """Whether the rule is about all functions, or this is one of those that it is about."""
    if _OF_SOME.search(rule.origin.text):
        return False
    is_private = _PRIVATE.search(file.path) is not None and _OF_PUBLIC.search(rule.origin.text) is not None
    return not is_private or _is_exported(_class_of(function) or function.name, file, change)


def _is_exported(name: str, file: AnalyzedFile, change: CodeChange) -> bool:
    """Whether a private module lists the name as public, or the package around it imports it."""
    package = change.texts.get(f"{file.path.rpartition('/')[0]}/__init__.py", "")
    return name in file.cache(_find_exported_names) or re.search(rf"\b{re.escape(name)}\b", package) is not None


def _find_exported_names(file: AnalyzedFile) -> frozenset[str]:
    return frozenset(name for listing in _LISTED.findall(file.head_text or "") for name in _QUOTED.findall(listing))


def _is_at_top(function: Function) -> bool:
    """Whether a piece of a Python file shows how a function at its left edge begins, outside of any long string."""
    source, start = function.source, function.node.start_point
    if source.language is not Language.PYTHON or start.column or not function.statements or "'''" in source.text:
        return False
    first, opening = source.text.find('"""'), _OPENING.search(source.text)
    # no long string is open: there is none, or the next one begins right below a definition
    is_below = opening is not None and opening.end() - 3 == first
    return first < 0 or (len("\n".join(source.lines[: start.row])) < first and is_below)


def _languages(rule: RepoRule) -> frozenset[Language]:
    text = rule.origin.text.casefold()
    if _DOCSTRING_ONLY.search(text):
        return frozenset({Language.PYTHON})
    if "jsdoc" in text or "tsdoc" in text:
        return SCRIPT_LANGUAGES
    if "javadoc" in text:
        return frozenset({Language.JAVA})
    return frozenset({Language.GO}) if "godoc" in text else frozenset({Language.RUST, Language.GO, Language.JAVA})


def _is_surely_public(function: Function) -> bool:
    """Whether it is public beyond doubt: no method of a hidden type, no override, no second signature."""
    source = function.source
    match source.language:
        case Language.PYTHON:
            return function.container is None or _is_not_override(function)
        case Language.GO:
            return function.node.child_by_field_name("receiver") is None
        case Language.RUST:
            return function.scope is FunctionScope.MODULE
        case Language.JAVA | Language.RUBY | Language.CSHARP | Language.PHP | Language.KOTLIN:
            return True
        case Language.JAVASCRIPT | Language.TYPESCRIPT | Language.TSX:
            return source.text.count(f"function {function.name}") <= 1
        case _:
            assert_never(source.language)


def _is_not_override(function: Function) -> bool:
    """Whether no base class has a method of that name: each is a class of this file, or one without methods."""
    classes = function.source.cache(_find_classes)
    seen: set[str] = set()
    left = [_class_of(function)]
    while left:
        name = left.pop()
        if name in seen or name in _BASES:
            continue
        if name not in classes or (seen and function.name in classes[name].names):
            return False
        seen.add(name)
        left += classes[name].bases
    return True


def _find_classes(source: Source) -> "dict[str, _ClassSummary]":
    """The classes of a Python file by name; two definitions of one name are joined."""
    classes: dict[str, _ClassSummary] = {}
    for node in find(source.root, source.language, ("class_definition",)):
        name, superclasses = text_of(node.child_by_field_name("name")), node.child_by_field_name("superclasses")
        bases = tuple(
            text_of(base).partition("[")[0]
            for base in (superclasses.named_children if superclasses is not None else ())
        )
        other = classes.get(name, _ClassSummary((), frozenset()))
        classes[name] = _ClassSummary(other.bases + bases, other.names | frozenset(_BOUND.findall(text_of(node))))
    return classes


def _is_public(function: Function) -> bool:
    if function.scope in {FunctionScope.FUNCTION, FunctionScope.BRANCH, FunctionScope.UNKNOWN} or _EXEMPT.search(
        function.attributes
    ):
        return False
    first = function.source.lines[function.node.start_point.row]
    match function.source.language:
        case Language.PYTHON:
            return not function.name.startswith("_") and not _class_of(function).startswith("_")
        case Language.GO:
            return function.name[:1].isupper()
        case Language.RUST:
            return first.lstrip().startswith(("pub fn", "pub async fn", "pub const fn", "pub unsafe fn"))
        case Language.JAVA | Language.RUBY | Language.CSHARP | Language.PHP | Language.KOTLIN:
            is_method = function.node.type == "method_declaration"
            return is_method and "public" in function.attributes.split() and "@" not in function.attributes
        case Language.JAVASCRIPT | Language.TYPESCRIPT | Language.TSX:
            return first.startswith("export ") and not function.name.startswith("_")
        case _:
            assert_never(function.source.language)


def _class_of(function: Function) -> str:
    return text_of(function.container.child_by_field_name("name")) if function.container is not None else ""


def _is_documented(function: Function) -> bool:
    return bool(function.docstring if function.source.language is Language.PYTHON else function.nodes_above)


def _find_test_violations(rule: RepoRule, change: CodeChange) -> Iterator[RuleViolation]:
    """Code that behaves differently, without a test file in the change."""
    has_tests = any(
        file.role is FileRole.TEST
        or (file.language is Language.RUST and any(is_in_inline_tests(file, line) for line in file.added_lines))
        for file in change.files
    )
    is_other = _OTHER_TITLES.search(change.dossier.pull_request.title) is not None
    for changed in () if has_tests or is_other else _list_changed(rule, change)[:1]:
        yield RuleViolation(rule, f"this change alters {changed.path} and no test", is_sure=False, path=changed.path)


def _find_dependency_violations(rule: RepoRule, change: CodeChange) -> Iterator[RuleViolation]:
    """The first new dependency of each manifest."""
    for file in change.files:
        is_old = file.diff.change is not ChangeKind.ADDED
        if not is_old or not MANIFEST_FILES.search(file.path) or not is_path_covered(rule.scope, file.path):
            continue
        new_names = _find_new_names(file, only_runtime=rule.noun == "runtime")
        if new_names is None:
            yield from _find_possible(rule, file)
        elif new_names:
            name = min(new_names)
            line = next((line.head_line for line in file.diff.added_lines if name in line.text), None)
            # where an issue names the package or dependencies, its owner may have asked for it
            asked = " ".join(f"{issue.title} {issue.body}" for issue in change.dossier.issues).casefold()
            sure = rule.is_sure and name.casefold() not in asked and "dependenc" not in asked
            what = f"this change brings the new dependency `{name}`"
            yield RuleViolation(rule, what, sure, file.path, line, target=name)


def _find_new_names(file: AnalyzedFile, *, only_runtime: bool) -> frozenset[str] | None:
    """The packages that only the head's manifest names; None if one of the two is not known."""
    reader = next((read for ending, read in _READERS.items() if file.path.endswith(ending)), None)
    if reader is None or file.head_text is None or file.base_text is None:
        return None
    with suppress(ValueError, RecursionError):
        before, after = (_normalize_names(reader(text)) for text in (file.base_text, file.head_text))
        return frozenset(
            name for name, is_runtime in after.items() if name not in before and (is_runtime or not only_runtime)
        )
    return None


def _normalize_names(dependencies: Iterator[tuple[str, bool]]) -> dict[str, bool]:
    names: dict[str, bool] = {}
    for name, is_runtime in dependencies:
        names[name] = names.get(name, False) or is_runtime
    return names


def _read_package_json(text: str) -> Iterator[tuple[str, bool]]:
    document = json.loads(text)
    for section in ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies"):
        for name, version in _table(_table(document).get(section)).items():
            if not str(version).startswith(("workspace:", "file:", "link:", "catalog:")):
                yield name, section == "dependencies"


def _read_toml(text: str) -> Iterator[tuple[str, bool]]:
    import tomllib  # noqa: PLC0415 - a manifest of that kind is rare, and every start would pay

    document = tomllib.loads(text)
    project = _table(document.get("project"))
    groups = (project.get("optional-dependencies"), document.get("dependency-groups"))
    others = (listed for group in groups for listed in _table(group).values())
    for listed in (project.get("dependencies"), *others):
        for line in cast("list[object]", listed) if isinstance(listed, list) else ():
            if isinstance(line, str) and (match := _REQUIREMENT.match(line)):
                yield match[1], listed is project.get("dependencies")
    yield from _read_tables(document, _DEEPEST)


def _read_tables(table: dict[str, Any], depth: int) -> Iterator[tuple[str, bool]]:
    """Cargo's and Poetry's tables, also those of targets, groups and the workspace."""
    for key, value in table.items() if depth else ():
        if _SECTION.fullmatch(key):
            for name, how in _table(value).items():
                if name != "python" and not {"path", "workspace"} & _table(how).keys():
                    yield name, key == "dependencies"
        elif isinstance(value, dict):
            yield from _read_tables(_table(cast("object", value)), depth - 1)


def _read_lines(text: str) -> Iterator[tuple[str, bool]]:
    for line in text.splitlines():
        if match := _LINE.match(line[:300]):
            yield match[1] or match[2], True


def _table(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _find_possible(rule: RepoRule, file: AnalyzedFile) -> Iterator[RuleViolation]:
    """The first line that may add a package, in a manifest that is not known as a whole or not understood."""
    before = {_dependency(line.text) for line in file.diff.removed_lines}
    new = ((_dependency(line.text), line.head_line) for line in file.diff.added_lines)
    first = next(((name, line) for name, line in new if name and name not in before | _TOOL_KEYS), None)
    if first is not None:
        yield RuleViolation(rule, f"this line may add `{first[0]}`", is_sure=False, path=file.path, line=first[1])


def _dependency(line: str) -> str:
    match = _DEPENDENCY.search(line[:500])
    return next(filter(None, match.groups()), "") if match else ""


_FINDERS: Final[dict[RuleKind, Callable[[RepoRule, CodeChange], Iterator[RuleViolation]]]] = {
    RuleKind.FORBIDDEN_CODE: find_code_violations,
    RuleKind.FORBIDDEN_PATH: find_path_violations,
    RuleKind.OWN_PULL_REQUEST: find_path_violations,
    RuleKind.CHANGELOG: _find_changelog_violations,
    RuleKind.DOCSTRING: _find_docstring_violations,
    RuleKind.TESTS: _find_test_violations,
    RuleKind.DEPENDENCIES: _find_dependency_violations,
}
_READERS: Final[dict[str, Callable[[str], Iterator[tuple[str, bool]]]]] = {
    "package.json": _read_package_json,
    ".toml": _read_toml,
    "go.mod": _read_lines,
    ".txt": _read_lines,
}
