"""Rules about paths, held against the files that a change touches.

Does not decide what follows. Invariant: a generated file that its generator may have written anew is no breach of "do not
edit by hand"; only an edit that nothing in the change accounts for is one.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from worker.domain.diff import ChangeKind, FileDiff
from worker.domain.pattern import pattern
from worker.domain.rules.rule import Rule, RuleKind, Touch
from worker.domain.verdict import Side
from worker.judge.heuristics.change import Change, ChangedFile
from worker.judge.heuristics.spec_violation.breach import Breach
from worker.judge.heuristics.spec_violation.scopes import covers_path, matches, matches_at_root

LOCKS: Final = pattern(
    r"(?:^|/)(?:[\w.-]*\.lock|[\w-]*-lock\.(?:json|ya?ml)|pnpm-lock\.yaml|npm-shrinkwrap\.json|go\.sum|bun\.lockb?|gradle\.lockfile|Package\.resolved)$"
)
MANIFESTS: Final = pattern(
    r"(?:^|/)(?:package\.json|pnpm-workspace\.yaml|Cargo\.toml|pyproject\.toml|setup\.(?:py|cfg)|Pipfile|requirements[\w.-]*\.(?:txt|in)"
    r"|go\.(?:mod|work)|pom\.xml|build\.gradle(?:\.kts)?|libs\.versions\.toml|Gemfile|composer\.json|modules\.txt|vendor\.json|Gopkg\.\w+"
    r"|\.gitmodules|deno\.jsonc?|glide\.\w+|Podfile|mix\.exs)$"
)
_GENERATED: Final = pattern(
    r"(?:^|/|_)(?:generated|__generated__|gen|dist|build|autogen)(?:/|$|\.)|\.(?:gen|generated|pb|min)\."
)
"""What nobody writes: a rule to leave it alone speaks of edits by hand, however it is worded."""

_VERSION: Final = pattern(
    r"\bversion\b|^\s*['\"]?[@\w./-]+@|^\S+ v\d|^\s{2,4}['\"/]?[@\w./-]+[@/]\d",
)
_WORDS: Final = pattern(r"\w+")
_CODE_FILES: Final = pattern(r"\.(?:py|[cm]?[jt]sx?|go|rs|java|kt|rb|cs|php|c|cc|cpp|h|swift|scala)$")
_MOST_LINES_BY_HAND: Final = 30
_MOST_IN_LOCK: Final = 2
"""A package manager changes a version, its address and its hash together; one line alone was changed by somebody."""

_MOST_CHARACTERS: Final = 2_000_000


def path_breaches(rule: Rule, change: Change) -> Iterator[Breach]:
    """The files that *rule* wants left alone and the change touches."""
    for target in rule.targets:
        for file in change.files:
            if _is_touched(rule, file.diff) and _is_meant(target, file.diff, rule):
                yield from _breach(rule, target, file, change)


def _is_meant(target: str, diff: FileDiff, rule: Rule) -> bool:
    paths = [diff.path, *([diff.old_path] if diff.change is ChangeKind.RENAMED and diff.old_path else [])]
    return any(matches(target, path, rule.scope.root) and covers_path(rule.scope, path) for path in paths)


def _is_touched(rule: Rule, diff: FileDiff) -> bool:
    if Touch.CHANGE in rule.touches or rule.kind is RuleKind.OWN_PULL_REQUEST:
        return True
    wanted = {
        ChangeKind.ADDED: Touch.ADD,
        ChangeKind.COPIED: Touch.ADD,
        ChangeKind.DELETED: Touch.REMOVE,
        ChangeKind.RENAMED: Touch.REMOVE,
    }
    return wanted.get(diff.change) in rule.touches


def _breach(rule: Rule, target: str, file: ChangedFile, change: Change) -> Iterator[Breach]:
    sure = rule.is_sure and not is_asked_for(change, target)
    by_hand = rule.by_hand or LOCKS.search(target) is not None or _GENERATED.search(target) is not None
    if rule.kind is RuleKind.OWN_PULL_REQUEST:
        if not any(_CODE_FILES.search(one.path) for one in change.files if one is not file):
            return
        sure = sure and not _BUMPS.search(change.dossier.pull_request.title)
        what = "this change also changes code"
    elif by_hand and is_by_hand(file, change):
        what = "this change edits it, and nothing in the change would have generated that"
    elif by_hand:
        if LOCKS.search(file.path) or _BUNDLED.search(file.path) or _brings_its_source(change, target):
            return
        sure, what = False, "this change touches it, and shows nothing that generates it"
    else:
        what = f"this change touches {file.path}"
    is_exact = by_hand or matches_at_root(target, file.path, rule.scope.root)
    path, line, side = _first_line(file)
    yield Breach(rule, what, sure and is_exact, path, line, side)


_BUMPS: Final = pattern(
    r"\b(?:bump|upgrade|update|dep|deps|dependenc\w+|migrate|version|pin|unpin|release|msrv|edition|switch to|replace|remove)\b",
    re.IGNORECASE,
)
"""A change about a dependency is that dependency's own pull request, with the code that follows from it."""


def _brings_its_source(change: Change, target: str) -> bool:
    """Whether the change touches something else that a generator may read: a manifest, a schema, a template, a script."""
    others = (file.path for file in change.files if not matches(target, file.path))
    return any(MANIFESTS.search(path) or _SOURCES.search(path) for path in others)


_SOURCES: Final = pattern(
    r"\.(?:proto|graphqls?|gql|avsc|thrift|fbs|g4|y|sql|tmpl|tpl|j2|jinja2?|mustache|hbs|ejs|xsd|wsdl|yang|idl|templ|json|ya?ml|toml)$"
    r"|(?:^|/)(?:Makefile|[\w.-]*(?:gen|codegen|schema|template|bindgen|mocks?)[\w.-]*/|[\w.-]*(?:generat|codegen|schema|template)[\w.-]*\.\w+$)",
    re.IGNORECASE,
)


def _first_line(file: ChangedFile) -> tuple[str, int | None, Side]:
    added = next((line.head_line for line in file.diff.added), None)
    if added is not None:
        return file.path, added, Side.HEAD
    removed = next((line.base_line for line in file.diff.removed), None)
    if removed is None:
        return file.path, None, Side.HEAD
    return file.diff.old_path or file.path, removed, Side.BASE


def is_asked_for(change: Change, target: str) -> bool:
    """Whether an issue names the path: then its owner may have asked for it."""
    name = target.rstrip("/*").rpartition("/")[2]
    asked = " ".join(f"{issue.title} {issue.body}" for issue in change.dossier.issues)
    return len(name) > 3 and name in asked  # noqa: PLR2004 - shorter names stand in every text


def is_by_hand(file: ChangedFile, change: Change) -> bool:
    """Whether an edit of a generated file is one that no generator would make of this change."""
    diff = file.diff
    if diff.change is not ChangeKind.MODIFIED or diff.is_binary or not diff.hunks:
        return False
    lines = [line for line in diff.lines() if line.head_line is None or line.base_line is None]
    if len(lines) > _MOST_LINES_BY_HAND or any(MANIFESTS.search(one.path) for one in change.files):
        return False
    if LOCKS.search(file.path):
        return (
            len(diff.hunks) == 1 and len(lines) <= _MOST_IN_LOCK and not any(_VERSION.search(one.text) for one in lines)
        )
    return _is_unaccounted(file, change)


def _is_unaccounted(file: ChangedFile, change: Change) -> bool:
    """Whether the edit brings words that stand nowhere else in the change; what a bundler brings, nobody can tell."""
    if _BUNDLED.search(file.path):
        return False
    new = _words(line.text for line in file.diff.added)
    new -= _words(line.text for line in file.diff.lines() if line.base_line is not None)
    return bool(new) and new.isdisjoint(_words_besides(file, change))


_BUNDLED: Final = pattern(r"(?:^|/)(?:dist|build|out|target|static|assets)/|\.(?:min|bundle)\.|\.(?:css|map|snap)$")


def _words(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(_WORDS.findall("\n".join(texts)[:_MOST_CHARACTERS]))


def _words_besides(file: ChangedFile, change: Change) -> frozenset[str]:
    texts = [text for path, text in change.texts.items() if path != file.path]
    texts += [line.text for one in change.files if one is not file for line in one.diff.lines()]
    return _words(texts)


def dependency_breaches(rule: Rule, change: Change) -> Iterator[Breach]:
    """Lines of a manifest that seem to bring a new dependency."""
    for file in change.files:
        if (
            not MANIFESTS.search(file.path)
            or not covers_path(rule.scope, file.path)
            or file.diff.change is ChangeKind.ADDED
        ):
            continue
        before = {_dependency(line.text) for line in file.diff.removed}
        new = ((_dependency(line.text), line.head_line) for line in file.diff.added)
        first = next(((name, line) for name, line in new if name and name not in before | _OF_TOOLS), None)
        if first is not None:
            yield Breach(rule, f"this line may add `{first[0]}`", is_sure=False, path=file.path, line=first[1])


def _dependency(line: str) -> str:
    found = _DEPENDENCY.search(line[:500])
    return next(filter(None, found.groups()), "") if found else ""


_OF_TOOLS: Final = frozenset(
    {"version", "python", "rust-version", "edition", "go", "node", "npm", "pnpm", "requires-python"}
)


_DEPENDENCY: Final = pattern(
    r"^\s*\"(@?[\w./-]{1,100})\":\s*\"[\^~>=<]*\d[\w.+-]*\"|^\s*([\w-]{1,100})\s*=\s*(?:\"[\^~>=<]*\d[\w.,*+ -]*\"|\{ ?(?:version|path|git) ?=.{1,200})"
    r"|^\s*\"([\w.\[\]-]{1,100})\s?[~>=<!]=?[^\"]{1,60}\",?\s*$|^\s*(?:require )?([\w.-]+\.\w+/[\w./-]{1,150}) v\d\S*\s*$|<artifactId>([\w.-]{1,100})<"
)
