"""Cases of signals, as files: `fixtures/<category>/<module of the signal>/reject_*.diff` and `accept_*.diff`.

A file holds cases. Each begins with `=== name`, then come keys of the dossier as YAML (or none), then the change: of each file the
lines `--- a/path` and `+++ b/path` (the first alone if it is deleted, the second alone if it is new), and all its lines, marked as
in a diff. A line `^ signal` says that the signal fires at the line above it, behind `+++` at the whole file, and before the first
file at the whole change; JSON behind it adds fields of the finding.

    === a stub beside the work
    title: Add the loader
    +++ b/a.py
    +def load(path):
    +    raise NotImplementedError
    ^ stub_body {"note": "the whole body of `load` is a stub"}
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from tests.worker.signals.made import Texts, dossier_of
from worker.domain.dossier import Dossier
from worker.domain.verdict.verdict import Side

FIXTURES: Final = Path(__file__).parent / "fixtures"

Firing = tuple[str, str, int, str]
"""Signal, path, line and side; a path that is not there is empty, a line 0."""


class Case(NamedTuple):
    """`header`: keys of `dossier_of` and of the dossier. `firings`: each with further fields of the finding."""

    path: Path
    name: str
    header: dict[str, Any]
    before: Texts
    after: Texts
    firings: tuple[tuple[Firing, dict[str, Any]], ...]

    @property
    def dossier(self) -> Dossier:
        return dossier_of(self.before, self.after, **self.header)


def read_cases(path: Path) -> Iterator[Case]:
    parts = path.read_bytes().decode().removesuffix("\n").split("\n=== ")
    for part in parts:
        name, _, text = part.removeprefix("=== ").partition("\n")
        yield _read_case(path, name, text.split("\n") if text else [])


def _read_case(source: Path, name: str, lines: list[str]) -> Case:
    header: list[str] = []
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    firings: list[tuple[Firing, dict[str, Any]]] = []
    path, number, side = "", 0, Side.HEAD
    for line in lines:
        mark, content = line[:1], line[1:]
        if line.startswith(("--- a/", "+++ b/")):
            path, number, side = line[6:], 0, Side.HEAD
            (before if mark == "-" else after)[path] = []
        elif mark == "^":
            signal, _, fields = line[2:].partition(" ")
            firings.append(((signal, path, number, side), json.loads(fields or "{}")))
        elif not path:
            header.append(line)
        else:
            if mark != "+":
                before[path].append(content)
                number, side = len(before[path]), Side.BASE
            if mark != "-":
                after[path].append(content)
                number, side = len(after[path]), Side.HEAD
    return Case(
        source, name, yaml.safe_load("\n".join([*header, ""])) or {}, _join(before), _join(after), tuple(firings)
    )


def _join(texts: Mapping[str, list[str]]) -> Texts:
    return {path: "".join(f"{line}\n" for line in lines) for path, lines in texts.items()}
