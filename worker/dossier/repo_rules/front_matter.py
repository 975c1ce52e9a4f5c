"""The lines between dashes on top of a rules file, where tools say for which paths it is read.

Does not read YAML in general: one value a key, or a list below it. Invariant: the body keeps the numbers of its lines, and a
file that tools read only when they think it fits is not always.
"""

from collections.abc import Iterator
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.value import Value

_MOST_LINES: Final = 60
_MOST_GLOBS: Final = 40
_DASHES: Final = "---"
_LINE: Final = pattern(r"([A-Za-z]{1,40}):\s*(.{0,2000})")
_ITEM: Final = pattern(r"\s{0,8}-\s+(.{1,500})")
_KEYS: Final = frozenset({"globs", "applyTo", "paths"})
_EVERYTHING: Final = frozenset({"*", "**", "**/*"})
_OUTSIDE_BRACES: Final = pattern(r",(?![^{}]{0,300}\})")
_BRACES: Final = pattern(r"\{([^{}]{1,300})\}")


class FrontMatter(Value):
    """The paths that the file speaks of (none: all), and whether tools always read it there."""

    globs: tuple[str, ...] = ()
    is_always: bool = True


def split_front_matter(text: str) -> tuple[FrontMatter, str]:
    """What stands on top, and the text with empty lines in its place."""
    lines = text.split("\n", _MOST_LINES)
    if lines[0].rstrip() != _DASHES:
        return FrontMatter(), text
    last = next((at for at, line in enumerate(lines[1:_MOST_LINES], 1) if line.rstrip() == _DASHES), None)
    if last is None:
        return FrontMatter(), text
    values = _values(lines[1:last])
    globs = tuple(glob for key in _KEYS & values.keys() for glob in _globs(values[key]))[:_MOST_GLOBS]
    body = "\n" * (last + 1) + "\n".join(lines[last + 1 :])
    always = "".join(values.get("alwaysApply", [])).strip().casefold()
    if always == "true" or not _EVERYTHING.isdisjoint(globs):
        return FrontMatter(), body
    return FrontMatter(globs, is_always=bool(globs) or always != "false"), body


def _values(lines: list[str]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    key = ""
    for line in lines:
        if named := _LINE.fullmatch(line.rstrip()):
            key = named[1]
            values[key] = [named[2]]
        elif (item := _ITEM.fullmatch(line.rstrip())) and key:
            values[key].append(item[1])
    return values


def _globs(values: list[str]) -> Iterator[str]:
    for value in values:
        for item in _OUTSIDE_BRACES.split(value.strip().strip("[]")):
            glob = item.strip().strip("\"'").strip()
            yield from _expand_braces(glob) if glob else ()


def _expand_braces(glob: str) -> Iterator[str]:
    """`*.{ts,tsx}` as two globs."""
    braces = _BRACES.search(glob)
    if braces is None:
        yield glob
        return
    for option in braces[1].split(","):
        yield f"{glob[: braces.start()]}{option.strip()}{glob[braces.end() :]}"
