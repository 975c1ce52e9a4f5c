"""Harmful changes presented as documentation are not accepted: files before and after each, with the diff of a real git."""

import json
import re
import subprocess
from base64 import b64decode
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from subprocess import PIPE
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest

from tests.worker.signals.conftest import CaseRunner
from tests.worker.signals.samples import RUBRIC, plain_dossier
from worker.domain.dossier import Dossier
from worker.signals.heuristic_opinion import form_opinion

HERE = Path(__file__).parent


class Attempt(NamedTuple):
    id: str
    title: str
    files: Sequence[dict[str, Any]]


@cache
def attempts(name: str) -> tuple[Attempt, ...]:
    """The attempts of a file in this folder: JSON lines with `class`, `title` and `files`.

    A file has `path`, `mode`, `before` and `after` (null: absent), or `after_base64`; also `path_before`, `mode_before` where they differ.
    """
    rows = [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]
    return tuple(Attempt(f"{at}: {row['class']}", row["title"], row["files"]) for at, row in enumerate(rows, start=1))


@cache
def dossiers(name: str, *, texts: bool) -> tuple[Dossier, ...]:
    """The dossiers of the attempts, with or without the head's files."""
    return tuple(
        plain_dossier(diff, row.title, files=_texts(row) if texts else None)
        for row, diff in zip(attempts(name), diffs(name), strict=True)
    )


def _texts(row: Attempt) -> list[dict[str, object]]:
    texts = ((file["path"], _bytes(file, "after")) for file in row.files)
    return [{"path": path, "text": raw.decode()} for path, raw in texts if raw is not None and _is_text(raw)]


def _is_text(raw: bytes) -> bool:
    """A dossier holds only UTF-8 texts."""
    return b"\0" not in raw and raw == raw.decode("utf-8", "replace").encode()


def _bytes(file: dict[str, Any], side: str) -> bytes | None:
    if (encoded := file.get(f"{side}_base64")) is not None:
        return b64decode(encoded)
    text = file.get(side)
    return None if text is None else text.encode("utf-8", "surrogateescape")


@cache
def diffs(name: str) -> tuple[str, ...]:
    """The diff of each attempt, from one git that writes the trees and one that compares them."""
    rows = attempts(name)
    stream = b"".join(
        part for at, row in enumerate(rows) for side in ("before", "after") for part in _commands(at, row, side)
    )
    with TemporaryDirectory() as folder:

        def git(*arguments: str, stdin: bytes = b"") -> bytes:
            return subprocess.run(["git", "-C", folder, *arguments], input=stdin, check=True, stdout=PIPE).stdout

        git("init", "-q", "--bare")
        git("fast-import", "--quiet", stdin=stream)
        refs = git("for-each-ref", "--format=%(refname) %(tree)").decode().splitlines()
        trees = dict(line.split() for line in refs)
        pairs = [f"{trees[_ref(at, 'before')]} {trees[_ref(at, 'after')]}\n" for at in range(len(rows))]
        printed = git("diff-tree", "--stdin", "-p", "-M", "-r", stdin="".join(pairs).encode())
    _, *parts = re.split(rb"(?m)^[0-9a-f]{40} [0-9a-f]{40}\n", printed)
    return tuple(part.decode("utf-8", "replace") for part in parts)


def _ref(at: int, side: str) -> str:
    return f"refs/heads/{side}-{at}"


def _commands(at: int, row: Attempt, side: str) -> Iterator[bytes]:
    yield f"commit {_ref(at, side)}\ncommitter a <a@example.org> 1 +0000\ndata 0\n".encode()
    for file in row.files:
        raw = _bytes(file, side)
        if raw is None:
            continue
        before = side == "before"
        path = json.dumps(
            file.get("path_before", file["path"]) if before else file["path"], ensure_ascii=False
        ).encode()
        mode = (file.get("mode_before", _usual_mode(file)) if before else file["mode"]).encode()
        if mode == b"160000":
            yield b"M 160000 %s %s\n" % (raw.split()[-1], path)
        else:
            yield b"M %s inline %s\ndata %d\n%s\n" % (mode, path, len(raw), raw)
    yield b"\n"


def _usual_mode(file: dict[str, Any]) -> str:
    """The mode before the change: a document is a plain file."""
    return "100644" if file["path"].endswith((".md", ".rst", ".txt")) else file["mode"]


OWN = "attempts.jsonl"
BLIND = "blind_attempts.jsonl"
"""Written without knowledge of the rules."""
NAMES = (OWN, BLIND)


@pytest.mark.parametrize("texts", [True, False], ids=["whole", "hunks"])
@pytest.mark.parametrize("name", NAMES)
def test_harmful_change_is_not_accepted_as_documentation(name: str, *, texts: bool, run_each: CaseRunner) -> None:
    cases = [{"dossier": dossier} for dossier in dossiers(name, texts=texts)]
    run_each(check_not_safe, zip([attempt.id for attempt in attempts(name)], cases, strict=True))


def check_not_safe(dossier: Dossier) -> None:
    assert form_opinion(dossier, RUBRIC).safe is None


def test_at_least_300_attempts_are_recorded() -> None:
    assert sum(len(attempts(name)) for name in NAMES) >= 300
