"""Find and read the rubrics and the prompt that ship with Assay, in the installed package or beside it in a checkout.

Nothing of a pull request is read: an author may not write the rules. A returned rubric is valid; an InputError names every
unknown, doubled or malformed field by its path.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, TypeVar, cast

from pydantic import ValidationError

from worker.domain.config.config import RETIRED_SIGNALS
from worker.domain.config.signal_names import SIGNAL_NAMES
from worker.domain.model import Frozen
from worker.domain.verdict.events import CiCheckRubric, PullRequestRubric
from worker.domain.verdict.verdict import Rubric, VersionedRubric
from worker.dossier.strict_yaml import PositionsByPath, StrictYamlError, load_operator_yaml, load_yaml_with_positions
from worker.errors import InputError

M = TypeVar("M", bound=Frozen)
FieldPath = tuple[str | int, ...]

PACKAGE: Final = Path(__file__).resolve().parent.parent
"""The folder of prompts and rubrics in a wheel; in a checkout they are one folder up."""


@dataclass(frozen=True)
class PromptText:
    """The judge's prompt. `version` is the hash of its text."""

    text: str
    version: str


@cache
def load_rubric(path: Path | None = None) -> Rubric:
    """Read a rubric, once per process; without *path* the one that ships with Assay. Raises InputError."""
    return read_rubric(_text(path or _shipped_path("rubrics/default.yml")))


def read_rubric(text: str) -> Rubric:
    """Parse a rubric. Raises InputError with the path and line of every wrong field."""
    return _read(Rubric, text)


def _wrong_names(value: object) -> Iterator[tuple[FieldPath, str]]:
    """Signals of a rubric that don't exist, and ids of criteria and lenses that occur twice."""
    fields = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    signals = fields.get("signals")
    for name in cast("dict[str, object]", signals) if isinstance(signals, dict) else ():
        if name not in SIGNAL_NAMES and name not in RETIRED_SIGNALS:
            yield ("signals", name), "no signal has this name; docs/signals.md lists all"
    for field in ("criteria", "lenses"):
        seen: set[object] = set()
        entries = fields.get(field)
        for index, entry in enumerate(cast("list[object]", entries) if isinstance(entries, list) else ()):
            name = cast("dict[str, object]", entry).get("id") if isinstance(entry, dict) else None
            if isinstance(name, str) and name in seen:
                yield (field, index, "id"), f"{name} stands twice"
            seen.add(name if isinstance(name, str) else None)


@cache
def load_ci_check_rubric(path: Path | None = None) -> CiCheckRubric:
    """The rubric of CI checks, once per process; without *path* the one that ships with Assay. Raises InputError."""
    return _read(CiCheckRubric, _text(path or _shipped_path("rubrics/ci_check.yml")))


@cache
def load_pull_request_rubric(path: Path | None = None) -> PullRequestRubric:
    """The rubric of whole pull requests, likewise."""
    return _read(PullRequestRubric, _text(path or _shipped_path("rubrics/pull_request.yml")))


def is_judged_by(path: Path) -> bool:
    """Whether a file is meant as a rubric for judging changes, not one of the two that no model reads."""
    try:
        document = load_operator_yaml(_text(path))
    except StrictYamlError:
        return False
    return isinstance(document, dict) and "criteria" in cast("dict[str, object]", document)


def shipped_rubrics() -> "tuple[VersionedRubric, ...]":
    """All rubrics that verdicts name: the judge's, and the two that no model reads."""
    return load_rubric(), load_ci_check_rubric(), load_pull_request_rubric()


def _read(model: type[M], text: str) -> M:
    try:
        value = load_operator_yaml(text)
    except StrictYamlError as error:
        raise InputError(f"Rubric refused: {error}. The format: docs/rubric.md.") from error
    wrong = [*_wrong_names(value)] if issubclass(model, Rubric) else []
    try:
        read = model.model_validate(value)
    except ValidationError as error:
        raise InputError(_mistakes_text([*_list_mistakes(error), *wrong], text)) from error
    if wrong:
        raise InputError(_mistakes_text(wrong, text))
    return read


@cache
def load_prompt(path: Path | None = None) -> PromptText:
    """Read the judge's prompt, once per process; without *path* the one that ships with Assay. Raises InputError."""
    text = _text(path or _shipped_path("prompts/judge.md"))
    return PromptText(text, f"sha256:{hashlib.sha256(text.encode()).hexdigest()}")


MISSING_FIELD: Final = "Field required"
MISTAKE_TEXTS: Final = {"extra_forbidden": "unknown field", "string_type": "expected a text; put it in quotes"}
"""Our words for errors that pydantic states less plainly."""


def _list_mistakes(error: ValidationError) -> Iterator[tuple[FieldPath, str]]:
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    paths = [tuple(part for part in error["loc"] if part != "[key]") for error in errors]
    for problem, path in zip(errors, paths, strict=True):
        if problem["type"] == "too_short" and any(path == other[:-1][: len(path)] for other in paths):
            continue  # pydantic counts a list without its wrong entries
        yield path, MISTAKE_TEXTS.get(problem["type"], problem["msg"])


def _mistakes_text(mistakes: Sequence[tuple[FieldPath, str]], text: str) -> str:
    """All mistakes with path and line; missing fields last, as a typo leaves its field missing, too."""
    try:
        marks: PositionsByPath = load_yaml_with_positions(text)[1]
    except StrictYamlError:  # JSON, which allows tabs
        marks = {}
    problems: list[tuple[bool, int, str]] = []
    for path, reason in mistakes:
        line = marks[path].key.line if path in marks else 0
        where = f" (line {line})" if line else ""
        problems.append(
            (reason == MISSING_FIELD, line, f"{'.'.join(map(str, path)) or 'the whole file'}: {reason}{where}.")
        )
    first, *others = [text for _, _, text in sorted(problems)]
    if not others:
        return f"Rubric refused at {first} The format: docs/rubric.md."
    return "\n".join(
        [f"Rubric refused at {first}", *(f"  and at {text}" for text in others), "The format: docs/rubric.md."]
    )


def _shipped_path(name: str) -> Path:
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
