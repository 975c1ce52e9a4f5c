"""No attempt to have a harmful change accepted as documentation succeeds: files before and after it, with the diff of a real git."""

import json
import subprocess
from base64 import b64decode
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest

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
    """The attempts of a file beside this one: JSON lines with `class`, `title` and `files`.

    A file has `path`, `mode`, `before` and `after` (null: it is not there), or `after_base64`; `path_before`, `mode_before` where it differs.
    """
    rows = [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]
    return tuple(Attempt(f"{at}: {row['class']}", row["title"], row["files"]) for at, row in enumerate(rows, start=1))


@cache
def dossiers(name: str, *, texts: bool) -> tuple[Dossier, ...]:
    """Their dossiers, with or without the whole texts after the change."""
    rows = attempts(name)
    return tuple(
        plain_dossier(diff, row.title, files=_texts(row) if texts else None)
        for row, diff in zip(rows, _diffs(rows), strict=True)
    )


def _texts(row: Attempt) -> list[dict[str, object]]:
    texts = ((file["path"], _bytes(file, "after")) for file in row.files)
    return [{"path": path, "text": raw.decode()} for path, raw in texts if raw is not None and _is_text(raw)]


def _is_text(raw: bytes) -> bool:
    """Whether a dossier would hold it: what is not UTF-8, it does not."""
    return b"\0" not in raw and raw == raw.decode("utf-8", "replace").encode()


def _bytes(file: dict[str, Any], side: str) -> bytes | None:
    if (encoded := file.get(f"{side}_base64")) is not None:
        return b64decode(encoded)
    text = file.get(side)
    return None if text is None else text.encode("utf-8", "surrogateescape")


def _diffs(rows: Sequence[Attempt]) -> list[str]:
    """All diffs by one git that writes the trees and one that compares them."""
    with TemporaryDirectory() as folder:
        git = ("git", "-C", folder)
        subprocess.run([*git, "init", "-q", "--bare"], check=True)
        stream = b"".join(
            part for at, row in enumerate(rows) for side in ("before", "after") for part in _commands(at, row, side)
        )
        subprocess.run([*git, "fast-import", "--quiet"], input=stream, check=True)
        pairs = [f"{_ref(at, 'before')} {_ref(at, 'after')}" for at in range(len(rows))]
        return [_diff(git, pair.split()) for pair in pairs]


def _diff(git: Sequence[str], pair: Sequence[str]) -> str:
    printed = subprocess.run([*git, "diff-tree", "-p", "-M", "-r", *pair], check=True, capture_output=True).stdout
    return printed.decode("utf-8", "replace")


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
    """The mode before the change: a document was a plain file, whatever it becomes."""
    return "100644" if file["path"].endswith((".md", ".rst", ".txt")) else file["mode"]


OWN = "attempts.jsonl"
BLIND = "blind_attempts.jsonl"
"""Written without knowledge of the rules."""
NAMES = (OWN, BLIND)
EACH = [
    pytest.param(name, at, texts, id=f"{name} {attempt.id} {'whole' if texts else 'hunks'}")
    for name in NAMES
    for at, attempt in enumerate(attempts(name))
    for texts in (True, False)
]


@pytest.mark.parametrize(("name", "at", "texts"), EACH)
def test_no_attempt_is_accepted_alone(name: str, at: int, texts: bool) -> None:  # noqa: FBT001 - pytest's
    assert form_opinion(dossiers(name, texts=texts)[at], RUBRIC).safe is None


def test_there_are_attempts_enough() -> None:
    assert sum(len(attempts(name)) for name in NAMES) >= 300
