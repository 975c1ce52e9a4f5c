"""The author's case: reads the fenced `assay` block of a pull request's body, YAML or JSON.

Checks the form and words the one error to fix. Does not check any claim (the judge does).
Invariant: any text gives a Case, one CaseError, or None where there is no block; never an exception.
With several blocks the last one counts: agents append a new case to the body after a reject.
A block in a quotation or in an HTML comment (a template's example) is none.
"""

from collections.abc import Mapping
from typing import Final, cast

from worker.domain.case import Case, CoverageClaim
from worker.domain.claim_pointer import read_pointer
from worker.domain.markdown import fences
from worker.domain.value import Value
from worker.strict_yaml import StrictYamlError, load_strict_yaml

FENCE_WORD: Final = "assay"
FIELDS: Final = ("summary", "ac_coverage", "work_arounds", "uncertainties")
CLAIM_FIELDS: Final = ("criterion", "addressed_by", "evidence")


class CaseError(Value):
    """The one error to fix: what, where, expected, found, what to do."""

    message: str


class _RefusedError(Exception):
    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"Case refused at {place}: {problem}" if place else f"Case refused: {problem}")


def read_case(body: str) -> Case | CaseError | None:
    """Read the case in *body* (Markdown); None if it holds no `assay` block."""
    if FENCE_WORD not in body.casefold():
        return None
    blocks = [fence.text for fence in fences(body) if fence.word.casefold() == FENCE_WORD]
    return _read(blocks[-1]) if blocks else None


def read_case_file(text: str) -> Case | CaseError:
    """Read a file that is a case: Markdown with an `assay` block, or the YAML or JSON alone."""
    case = read_case(text)
    return _read(text) if case is None else case


def _read(block: str) -> Case | CaseError:
    try:
        return _case(_loaded(block))
    except _RefusedError as error:
        return CaseError(str(error))


def _loaded(block: str) -> object:
    if not block.strip():
        raise _RefusedError("", "the block is empty. Write at least a line `summary: what the change achieves`.")
    try:
        return load_strict_yaml(block)
    except StrictYamlError as error:
        place = "" if error.line is None else f"line {error.line} of the block"
        remedy = 'Put text that holds ": " or begins with a sign in quotes.'
        raise _RefusedError(place, f"not YAML as we read it: {error.problem}. {remedy}") from error


def _case(value: object) -> Case:
    fields = _mapping(value, "", FIELDS)
    if "summary" not in fields:
        raise _RefusedError("summary", "missing. Write one or two lines on what the change achieves.")
    claims = _list(fields.get("ac_coverage"), "ac_coverage")
    return Case(
        summary=_text(fields["summary"], "summary"),
        ac_coverage=tuple(_claim(claim, f"ac_coverage[{index}]") for index, claim in enumerate(claims)),
        work_arounds=_texts(fields.get("work_arounds"), "work_arounds"),
        uncertainties=_texts(fields.get("uncertainties"), "uncertainties"),
    )


def _claim(value: object, place: str) -> CoverageClaim:
    fields = _mapping(value, place, CLAIM_FIELDS)
    for name in ("criterion", "addressed_by"):
        if name not in fields:
            raise _RefusedError(f"{place}.{name}", "missing. Each item has criterion and addressed_by.")
    addressed_by = _text(fields["addressed_by"], f"{place}.addressed_by")
    if read_pointer(addressed_by) is None:
        problem = f'"{_short(addressed_by)}" names no file. Write path:symbol, as in upload.py:retry.'
        raise _RefusedError(f"{place}.addressed_by", problem)
    evidence = fields.get("evidence")
    return CoverageClaim(
        criterion=_text(fields["criterion"], f"{place}.criterion"),
        addressed_by=addressed_by,
        evidence=None if evidence in (None, "") else _text(evidence, f"{place}.evidence"),
    )


def _mapping(value: object, place: str, allowed: tuple[str, ...]) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise _RefusedError(place, f"expected {', '.join(f'`{name}:`' for name in allowed)}, found {_kind(value)}.")
    fields = cast("dict[str, object]", value)  # the strict loader makes no other keys
    for name in fields:
        if name not in allowed:
            where = f"{place}.{name}" if place else name
            raise _RefusedError(_short(where), f"unknown field. There are {', '.join(allowed)}.")
    return fields


def _list(value: object, place: str) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _RefusedError(place, f"expected a list, found {_kind(value)}. Write [] for none.")
    return cast("list[object]", value)


def _texts(value: object, place: str) -> tuple[str, ...]:
    return tuple(_text(item, f"{place}[{index}]") for index, item in enumerate(_list(value, place)))


def _text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise _RefusedError(place, f"expected text, found {_kind(value)}. Put text in quotes.")
    if not value.strip():
        raise _RefusedError(place, "the text is empty. Write it, or take the line out.")
    return value.strip()


def _kind(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return f'the text "{_short(value)}"'
        case list():
            return "a list"
        case _:
            return "a mapping (a colon makes one)"


def _short(text: str, most: int = 80) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
