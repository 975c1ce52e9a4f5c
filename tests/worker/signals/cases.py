"""Cases of signals, as files: `fixtures/<category>/<module of the signal>/reject_*.diff` and `accept_*.diff`.

A file holds cases. Each begins with `=== name`, then come keys of the dossier as YAML (or none), then the change: of each file the
lines `--- a/path` and `+++ b/path` (the first alone if it is deleted, the second alone if it is new), and all its lines, marked as
in a diff. A line `^ signal` says that the signal fires at the line above it, behind `+++` at the whole file, and before the first
file at the whole change; JSON behind it adds fields of the finding.

Keys of their own: `rule` (an item of AGENTS.md, or its whole text if that has several lines), `cites` (where the case says that AC1
is met), `absent` (paths that are not in the head tree), `body` (of the pull request). A list under a key of VARIED says that the
signals fire alike for each of its texts.

    === a stub beside the work
    title: Add the loader
    +++ b/a.py
    +def load(path):
    +    raise NotImplementedError
    ^ stub_body {"note": "the whole body of `load` is a stub"}
"""

import json
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import yaml

from tests.worker.signals.samples import Texts, dossier_of
from worker.domain.dossier import Dossier
from worker.domain.verdict.verdict import Side

FIXTURES: Final = Path(__file__).parent / "fixtures"
VARIED: Final = ("rule", "cites", "evidence", "body", "title")

Firing = tuple[str, str, int, str]
"""Signal, path, line and side; an absent path is empty, an absent line 0."""


class Case(NamedTuple):
    """`header`: keys of `dossier_of` and of the dossier. `firings`: each with further fields of the finding."""

    path: Path
    name: str
    header: dict[str, Any]
    before: Texts
    after: Texts
    firings: tuple[tuple[Firing, dict[str, Any]], ...]

    @property
    def dossiers(self) -> Iterator[Dossier]:
        """The dossiers of each choice among the texts of the keys in VARIED."""
        return self.dossiers_of(self.before, self.after)

    def dossiers_of(self, before: Texts, after: Texts) -> Iterator[Dossier]:
        """The dossiers with these texts instead of its own."""
        varied = {key: cast("list[str]", self.header[key]) for key in VARIED if isinstance(self.header.get(key), list)}
        for texts in product(*varied.values()):
            yield dossier_of(before, after, **_read_header({**self.header, **dict(zip(varied, texts, strict=True))}))


def _read_header(header: dict[str, Any]) -> dict[str, Any]:
    """The keys of the dossier that the case's own keys stand for."""
    keys = dict(header)
    if (rule := keys.pop("rule", None)) is not None:
        text = rule if "\n" in rule else f"# Rules\n\n- {rule}\n"
        keys["guidance"] = [{"path": "AGENTS.md", "text": text}]
    if (location := keys.pop("cites", None)) is not None:
        claim = {"criterion": "AC1", "addressed_by": location, "evidence": keys.pop("evidence", None)}
        keys["case"] = {"summary": "s", "ac_coverage": [claim]}
    if (paths := keys.pop("absent", None)) is not None:
        keys["absent"] = [{"path": path, "exists": False} for path in paths]
    if (body := keys.pop("body", None)) is not None:
        keys["pull_request"] = {"body": body}
    return keys


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
    keys: dict[str, Any] = yaml.safe_load("\n".join([*header, ""])) if header else {}
    return Case(source, name, keys, _join(before), _join(after), tuple(firings))


def _join(texts: Mapping[str, list[str]]) -> Texts:
    return {path: "".join(f"{line}\n" for line in lines) for path, lines in texts.items()}
