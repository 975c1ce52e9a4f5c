"""Rules against new dependencies, held against the manifests that a change touches.

Does not decide what follows. Invariant: sure only where a whole manifest names a package that its base version does not name,
and no issue speaks of it.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final, cast

from worker.domain.pattern import pattern
from worker.dossier.diff.parser import ChangeKind
from worker.dossier.repo_rules.rule import RepoRule
from worker.signals.analysis.change import AnalyzedFile, CodeChange
from worker.signals.spec_violation.generated_files import MANIFEST_FILES
from worker.signals.spec_violation.scopes import is_path_covered
from worker.signals.spec_violation.violation import RuleViolation


def find_dependency_violations(rule: RepoRule, change: CodeChange) -> Iterator[RuleViolation]:
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
            sure = rule.is_sure and not _is_mentioned(name, change)
            what = f"this change brings the new dependency `{name}`"
            yield RuleViolation(rule, what, sure, file.path, line, target=name)


def _is_mentioned(name: str, change: CodeChange) -> bool:
    """Whether an issue names the package or speaks of dependencies: then its owner may have asked for it."""
    asked = " ".join(f"{issue.title} {issue.body}" for issue in change.dossier.issues).casefold()
    return name.casefold() in asked or "dependenc" in asked


def _find_new_names(file: AnalyzedFile, *, only_runtime: bool) -> frozenset[str] | None:
    """The packages that the head's manifest names and the base's does not; None if one of them is not known."""
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
    others = (
        *_table(project.get("optional-dependencies")).values(),
        *_table(document.get("dependency-groups")).values(),
    )
    for listed in (project.get("dependencies"), *others):
        matches = (_REQUIREMENT.match(text) for text in _texts(listed))
        yield from ((match[1], listed is project.get("dependencies")) for match in matches if match)
    yield from _read_tables(document, _DEEPEST)


def _read_tables(table: dict[str, Any], depth: int) -> Iterator[tuple[str, bool]]:
    """Cargo's and Poetry's tables, also those of targets, groups and the workspace."""
    for key, value in table.items() if depth else ():
        if _SECTION.fullmatch(key):
            yield from ((name, key == "dependencies") for name, how in _table(value).items() if _is_external(name, how))
        elif isinstance(value, dict):
            yield from _read_tables(_table(cast("object", value)), depth - 1)


def _is_external(name: str, how: object) -> bool:
    return name != "python" and not {"path", "workspace"} & _table(how).keys()


def _read_lines(text: str) -> Iterator[tuple[str, bool]]:
    for line in text.splitlines():
        if match := _LINE.match(line[:300]):
            yield match[1] or match[2], True


def _table(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _texts(value: object) -> list[str]:
    return [text for text in cast("list[object]", value) if isinstance(text, str)] if isinstance(value, list) else []


_DEEPEST: Final = 5
_SECTION: Final = pattern(r"(?:dev-|build-)?dependencies")
_REQUIREMENT: Final = pattern(r"\s*([A-Za-z0-9][\w.-]*)")
_LINE: Final = pattern(
    r"\s*(?:require )?([\w.-]+\.\w+/[\w./-]+) v[\w.+-]+\s*$|([A-Za-z][\w.-]*)(?:\[[\w,-]*\])?\s*(?:[=<>~!]=?.*)?$"
)
_READERS: Final[dict[str, Callable[[str], Iterator[tuple[str, bool]]]]] = {
    "package.json": _read_package_json,
    ".toml": _read_toml,
    "go.mod": _read_lines,
    ".txt": _read_lines,
}


def _find_possible(rule: RepoRule, file: AnalyzedFile) -> Iterator[RuleViolation]:
    """A line of a manifest that is not known as a whole, or not understood."""
    before = {_dependency(line.text) for line in file.diff.removed_lines}
    new = ((_dependency(line.text), line.head_line) for line in file.diff.added_lines)
    first = next(((name, line) for name, line in new if name and name not in before | _TOOL_KEYS), None)
    if first is not None:
        yield RuleViolation(rule, f"this line may add `{first[0]}`", is_sure=False, path=file.path, line=first[1])


def _dependency(line: str) -> str:
    match = _DEPENDENCY.search(line[:500])
    return next(filter(None, match.groups()), "") if match else ""


_TOOL_KEYS: Final = frozenset(
    {"version", "python", "rust-version", "edition", "go", "node", "npm", "pnpm", "requires-python"}
)


_DEPENDENCY: Final = pattern(
    r"^\s*\"(@?[\w./-]{1,100})\":\s*\"[\^~>=<]*\d[\w.+-]*\"|^\s*([\w-]{1,100})\s*=\s*(?:\"[\^~>=<]*\d[\w.,*+ -]*\"|\{ ?(?:version|path|git) ?=.{1,200})"
    r"|^\s*\"([\w.\[\]-]{1,100})\s?[~>=<!]=?[^\"]{1,60}\",?\s*$|^\s*(?:require )?([\w.-]+\.\w+/[\w./-]{1,150}) v\d\S*\s*$|<artifactId>([\w.-]{1,100})<"
)
