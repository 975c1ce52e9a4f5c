"""The rulebook: the rubric and the prompt that ship with Assay, found and read.

Looks inside the installed package first, then beside it (a checkout). Does not judge, and reads nothing of a
pull request: the judged may not write the law.
Invariant: a rubric that is returned is whole; what is unknown, doubled or malformed is an InputError that names
the file's field by its path.
"""

import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar, cast

from pydantic import ValidationError

from worker.domain.frozen import Frozen
from worker.domain.rubric import Rubric
from worker.domain.signal_names import SIGNAL_NAMES
from worker.domain.value import Value
from worker.errors import InputError
from worker.strict_yaml import Marks, StrictYamlError, load_marked_yaml, load_own_yaml

if TYPE_CHECKING:
    from worker.domain.aftermath import CiCheckRubric, PullRequestRubric
    from worker.domain.rubric import Versioned

M = TypeVar("M", bound=Frozen)

PACKAGE: Final = Path(__file__).resolve().parent
"""Prompts and rubrics stand here in a wheel, and one folder up in a checkout."""


class PromptText(Value):
    """The stable part of what the model reads. `version` is the hash of the text, so no edit goes unnoticed."""

    text: str
    version: str


@cache
def load_rubric(path: Path | None = None) -> Rubric:
    """Read a rubric, once a process; without *path* the one that ships with Assay. Raises InputError."""
    return read_rubric(_text(path or _shipped("rubrics/default.yml")))


def read_rubric(text: str) -> Rubric:
    """Parse a rubric. Raises InputError for the first field that is wrong, by its path."""
    read = _read(Rubric, text)
    if (wrong := _wrong_name(read)) is not None:
        raise InputError(f"Rubric refused at {wrong} The format: docs/rubric.md.")
    return read


def _wrong_name(read: Rubric) -> str | None:
    """The path of a name that nothing has, or that two have, and what is wrong with it."""
    ids = [one.id for one in read.criteria]
    for at, name in enumerate(ids):
        if name in ids[:at]:
            return f"criteria.{at}.id: {name} stands twice."
    unknown = next((name for name in read.signals if name not in SIGNAL_NAMES), None)
    return None if unknown is None else f"signals.{unknown}: no signal has this name. All of them: docs/signals.md."


@cache
def load_ci_check_rubric(path: Path | None = None) -> "CiCheckRubric":
    """How CI checks are scored, once a process; without *path* the rubric that ships with Assay. Raises InputError."""
    from worker.domain.aftermath import CiCheckRubric  # noqa: PLC0415 - a laptop needs none of it

    return _read(CiCheckRubric, _text(path or _shipped("rubrics/ci_check.yml")))


@cache
def load_pull_request_rubric(path: Path | None = None) -> "PullRequestRubric":
    """How whole pull requests are scored, likewise."""
    from worker.domain.aftermath import PullRequestRubric  # noqa: PLC0415 - a laptop needs none of it

    return _read(PullRequestRubric, _text(path or _shipped("rubrics/pull_request.yml")))


def is_judged_by(path: Path) -> bool:
    """Whether this file is (meant as) a rubric that judges hold a change against, and none that no model reads."""
    try:
        said = load_own_yaml(_text(path))
    except StrictYamlError:
        return False
    return isinstance(said, dict) and "criteria" in cast("dict[str, object]", said)


def shipped_rubrics() -> "tuple[Versioned, ...]":
    """All that verdicts name: the one that is judged by, and the two that no model reads."""
    return load_rubric(), load_ci_check_rubric(), load_pull_request_rubric()


def _read(model: type[M], text: str) -> M:
    try:
        return model.model_validate(load_own_yaml(text))
    except StrictYamlError as error:
        raise InputError(f"Rubric refused: {error}. The format: docs/rubric.md.") from error
    except ValidationError as error:
        raise InputError(_refusal(error, text)) from error


@cache
def load_prompt(path: Path | None = None) -> PromptText:
    """Read the judge's prompt, once a process; without *path* the one that ships with Assay. Raises InputError."""
    text = _text(path or _shipped("prompts/judge.md"))
    return PromptText(text, f"sha256:{hashlib.sha256(text.encode()).hexdigest()}")


def _refusal(error: ValidationError, text: str) -> str:
    """All mistakes, each by its path and its line; what is missing last, since a typo leaves its field missing, too."""
    try:
        marks: Marks = load_marked_yaml(text)[1]
    except StrictYamlError:  # JSON, where a tab may stand
        marks = {}
    found: list[tuple[bool, int, str]] = []
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    places = [tuple(part for part in one["loc"] if part != "[key]") for one in errors]
    for one, path in zip(errors, places, strict=True):
        if one["type"] == "too_short" and any(path == other[:-1][: len(path)] for other in places):
            continue  # a list is counted without its entries that are wrong
        line = marks[path].key.line if path in marks else 0
        reason = "unknown field" if one["type"] == "extra_forbidden" else one["msg"]
        where = f" (line {line})" if line else ""
        name = ".".join(map(str, path)) or "the whole file"
        found.append((one["type"] == "missing", line, f"{name}: {reason}{where}."))
    first, *others = [words for _, _, words in sorted(found)]
    if not others:
        return f"Rubric refused at {first} The format: docs/rubric.md."
    return "\n".join(
        [f"Rubric refused at {first}", *(f"  and at {words}" for words in others), "The format: docs/rubric.md."]
    )


def _shipped(name: str) -> Path:
    for folder in (PACKAGE, PACKAGE.parent):
        if (folder / name).is_file():
            return folder / name
    raise InputError(f"{name} is missing: it stands neither in {PACKAGE} nor beside it. Install Assay again.")


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise InputError(f"{path} can't be read: {reason}. Give the path of a file.") from error
