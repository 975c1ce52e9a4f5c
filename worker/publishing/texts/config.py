"""What `assay config check` prints: each mistake with its line and a caret, or what holds and who set it.

Does not read files. Invariant: what stands in a file can move no cursor and hide no text.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from worker.domain.config.schema import to_keys
from worker.domain.dossier.dossier import ConfigOrigin
from worker.dossier.config_file import EffectiveConfig, Problem
from worker.publishing.texts.columns import Ink, TerminalPage, display_width, wrap_lines
from worker.publishing.texts.config_phrases import value_phrase
from worker.publishing.texts.visible import exact_line, fit

BEFORE_CARET: Final = 200
"""A caret further to the right points at nothing that anybody sees."""

LINE_BYTES: Final = 300
DEFAULT_SOURCE: Final = "default"


def mistake_report(problems: Sequence[Problem], text: str, name: str, page: TerminalPage) -> str:
    """One paragraph for each, and how many there are."""
    lines = text.removeprefix("\ufeff").split("\n")
    shown = [line for problem in problems for line in _mistake(problem, lines, name, page)]
    count = f"{len(problems)} mistake{'' if len(problems) == 1 else 's'}"
    end = wrap_lines(
        f"{count}. What has one sets nothing: the last version without any holds there, and nothing is accepted without a model.",
        page,
    )
    return "\n".join([*shown, *end, ""])


def _mistake(problem: Problem, lines: Sequence[str], name: str, page: TerminalPage) -> list[str]:
    head = wrap_lines(f"{exact_line(name)}:{problem.line}:{problem.column}: {problem.message}", page)
    if problem.line > len(lines):
        return [*head, ""]
    line = lines[problem.line - 1].rstrip("\r")
    margin = f"{problem.line} | "
    shown = [page.ink(margin, Ink.DIM) + exact_line(fit(line, LINE_BYTES)).replace("\t", " ")]
    if problem.column <= BEFORE_CARET:
        blanks = " " * display_width(exact_line(line[: problem.column - 1]).replace("\t", " "))
        shown.append(" " * (len(margin) - 2) + page.ink("| ", Ink.DIM) + blanks + page.ink("^", Ink.RED))
    return [page.ink(head[0], Ink.BOLD), *head[1:], *(f"  {part}" for part in shown), ""]


def effective_report(configured: EffectiveConfig, names: Mapping[ConfigOrigin, str], page: TerminalPage) -> str:
    """Every key with its value, and whose file set it."""
    rows = [
        (key, value_phrase(value), key_source(configured, key, names))
        for key, value in to_keys(configured.config).items()
    ]
    wide = max(len(key) for key, _, _ in rows)
    lines = [f"{exact_line(name)} is valid." for name in names.values()] or ["There is no file: every default holds."]
    lines += ["", *(line for row in rows for line in _row(*row, wide, page))]
    return "\n".join([*lines, ""])


def _row(key: str, value: str, of: str, wide: int, page: TerminalPage) -> list[str]:
    first, *rest = wrap_lines(f"{exact_line(value)} ({of})", page, indent=wide + 2)
    return [page.ink(key, Ink.BOLD) + " " * (wide + 2 - len(key)) + first.lstrip(), *rest]


def key_source(configured: EffectiveConfig, key: str, names: Mapping[ConfigOrigin, str]) -> str:
    """The file that sets a key, or that none does."""
    origin = configured.origins.get(key)
    return DEFAULT_SOURCE if origin is None else exact_line(names[origin])
