"""What `assay config check` prints: each mistake with its line and a caret, or what holds and who set it.

Does not read files. Invariant: what stands in a file can move no cursor and hide no text.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from worker.domain.config.schema import to_keys
from worker.domain.dossier.dossier import ConfigOrigin
from worker.dossier.config_file import Configured, Problem
from worker.publishing.texts.columns import Ink, Page, columns, wrapped
from worker.publishing.texts.config_phrases import value_words
from worker.publishing.texts.visible import exact_line, fit

BEFORE_CARET: Final = 200
"""A caret further to the right points at nothing that anybody sees."""

LINE_BYTES: Final = 300
DEFAULT: Final = "default"


def mistakes(problems: Sequence[Problem], text: str, name: str, page: Page) -> str:
    """One paragraph for each, and how many there are."""
    lines = text.removeprefix("\ufeff").split("\n")
    told = [line for one in problems for line in _mistake(one, lines, name, page)]
    count = f"{len(problems)} mistake{'' if len(problems) == 1 else 's'}"
    end = wrapped(
        f"{count}. What has one sets nothing: the last version without any holds there, and nothing is accepted without a model.",
        page,
    )
    return "\n".join([*told, *end, ""])


def _mistake(one: Problem, lines: Sequence[str], name: str, page: Page) -> list[str]:
    head = wrapped(f"{exact_line(name)}:{one.line}:{one.column}: {one.message}", page)
    if one.line > len(lines):
        return [*head, ""]
    line = lines[one.line - 1].rstrip("\r")
    margin = f"{one.line} | "
    shown = [page.ink(margin, Ink.DIM) + exact_line(fit(line, LINE_BYTES)).replace("\t", " ")]
    if one.column <= BEFORE_CARET:
        blanks = " " * columns(exact_line(line[: one.column - 1]).replace("\t", " "))
        shown.append(" " * (len(margin) - 2) + page.ink("| ", Ink.DIM) + blanks + page.ink("^", Ink.RED))
    return [page.ink(head[0], Ink.BOLD), *head[1:], *(f"  {part}" for part in shown), ""]


def effective(found: Configured, names: Mapping[ConfigOrigin, str], page: Page) -> str:
    """Every key with its value, and whose file set it."""
    rows = [(key, value_words(value), source(found, key, names)) for key, value in to_keys(found.config).items()]
    wide = max(len(key) for key, _, _ in rows)
    told = [f"{exact_line(name)} is valid." for name in names.values()] or ["There is no file: every default holds."]
    told += ["", *(line for row in rows for line in _row(*row, wide, page))]
    return "\n".join([*told, ""])


def _row(key: str, value: str, of: str, wide: int, page: Page) -> list[str]:
    first, *rest = wrapped(f"{exact_line(value)} ({of})", page, indent=wide + 2)
    return [page.ink(key, Ink.BOLD) + " " * (wide + 2 - len(key)) + first.lstrip(), *rest]


def source(found: Configured, key: str, names: Mapping[ConfigOrigin, str]) -> str:
    """The file that sets a key, or that none does."""
    origin = found.origins.get(key)
    return DEFAULT if origin is None else exact_line(names[origin])
