"""Read the author's case from the block of a pull request's body, as its author is likely to write it.

Any text gives a Case, one CaseError that names what to mend, or None where there is no block. The forms: docs/case.md.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple, cast

from worker.domain.pattern import pattern
from worker.domain.verdict.ledger import Case, CoverageClaim
from worker.dossier.markdown import case_fence
from worker.dossier.strict_yaml import StrictYamlError, load_strict_yaml, load_yaml_with_positions

CASE_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "summary": ("summary", "what", "whatchanged", "description", "overview", "change", "abstract", "tldr"),
    "ac_coverage": (
        *("accoverage", "coverage", "criteria", "acceptancecriteria", "criteriacoverage", "ac", "acs"),
        *("acceptance", "claims", "requirements"),
    ),
    "work_arounds": ("workarounds", "workaround", "shortcuts", "compromises", "tradeoffs", "deviations", "limitations"),
    "uncertainties": (
        *("uncertainties", "uncertainty", "uncertain", "unsure", "openquestions", "questions", "unknowns", "doubts"),
        *("risks", "concerns", "caveats", "assumptions"),
    ),
}
"""What the fields are called, without signs and spaces and in lower case."""
CLAIM_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "criterion": ("criterion", "criteria", "acceptancecriterion", "ac", "id", "requirement", "item"),
    "addressed_by": (
        *("addressedby", "addressedin", "metby", "metin", "coveredby", "implementedby", "implementedin", "donein"),
        *("where", "location", "place", "pointer", "file", "files", "path", "code", "implementation"),
    ),
    "part": ("line", "lines", "symbol", "function", "method", "class"),
    "evidence": (
        *("evidence", "proof", "test", "tests", "testedby", "verifiedby", "provenby", "shownby", "verification"),
        *("how", "why", "explanation", "note", "notes", "comment", "remark", "reason", "status"),
    ),
}
"""`part`: lines or a symbol, where they are a field of their own beside the file."""
_REPEATABLE: Final = frozenset({"addressed_by", "part", "evidence"})
_WRAPPERS: Final = frozenset({"assay", "case", "assaycase"})
_EMPTY_TEXTS: Final = frozenset({"", "none", "none.", "n/a", "na", "nothing", "no", "-", "nil"})
_SIGNS: Final = pattern(r"[\W_]+")
_CLAIM_LINE: Final = pattern(
    r"\s*(?:[-*]\s+)?(?P<criterion>(?:AC|criterion)[ #-]{0,2}\d{1,3}|#?\d{1,3})\s*(?::|[-=]>|→|[-–—=])\s*(?P<place>\S.*)",
    re.IGNORECASE,
)

REMEDIES: Final[Mapping[str, str]] = {
    "stands twice": "Keep one of them.",
    "aliases are": "Put text that begins with *, & or ! in quotes.",
    "tags are": "Put text that begins with *, & or ! in quotes.",
    "<block end>": "Indent this line like the other fields of its item.",
    "": 'Put text that holds ": " or begins with a sign in quotes.',
}
"""What to do about a problem of YAML, by words of it."""

EXPECTED_FORMATS: Final[Mapping[str, str]] = {
    "summary": "Write one or two lines on what the change achieves.",
    "criterion": "Each item names its criterion, as `AC1` or by its text.",
    "addressed_by": "Name the place that meets the criterion, as `path:name` or `path:12-30`; where nothing meets it, leave the item out.",
}
"""What to write where a field is missing or empty."""

LONGEST_SHOWN: Final = 80
"""Characters of the author's text in a message."""

Path = tuple[str | int, ...]
Fields = dict[str, list[tuple[Path, object]]]


@dataclass(frozen=True)
class CaseError:
    """The one thing to mend: where, expected, found, what to do. `line`: of the block, from 1."""

    message: str
    line: int | None = None


class CaseReading(NamedTuple):
    """A case, and the fields beside it that are not read."""

    case: Case | CaseError
    unread: tuple[str, ...] = ()


class _RefusedError(Exception):
    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(problem)
        self.path = path
        self.problem = problem


def read_case(body: str) -> Case | CaseError | None:
    """Read the case in *body* (Markdown); None if it holds no block of one."""
    fence = case_fence(body)
    return read_block(fence.text).case if fence else None


def read_case_file(text: str) -> Case | CaseError | None:
    """Read a file that is a case: Markdown with its block, or the YAML or JSON alone. None if it is neither."""
    case = read_case(text)
    return read_block(text).case if case is None and _holds_fields(text) else case


def _holds_fields(text: str) -> bool:
    """Whether a text without a block begins a field of a case somewhere."""
    names = {name for names in CASE_NAMES.values() for name in names} | _WRAPPERS
    return any(_normalize(key) in names for key in _KEY.findall(text))


_KEY: Final = pattern(r"^[ \t{,\[-]{0,20}[\"']?([A-Za-z][\w -]{1,30})[\"']?[ \t]{0,3}:", re.MULTILINE)


def read_block(block: str) -> CaseReading:
    """Read the text of a block."""
    reader, block = _CaseReader(), block.replace("\u00a0", " ")
    if (prose := _read_prose(block)) is not None:
        return CaseReading(prose)
    try:
        return CaseReading(reader.case(_load_block(block)), tuple(reader.unread))
    except StrictYamlError as error:
        at = "" if error.line is None else f" at line {error.line} of the block"
        remedy = next((text for problem, text in REMEDIES.items() if problem in error.problem), REMEDIES[""])
        problem = "the indentation fits no line above" if "<block end>" in error.problem else error.problem
        return CaseReading(CaseError(f"Case refused{at}: not YAML as we read it: {problem}. {remedy}", error.line))
    except _RefusedError as error:
        line = _line(block, error.path)
        at = f" at {_location(error.path)}" if error.path else ""
        of_the_block = f" (line {line} of the block)" if error.path and line else ""
        return CaseReading(CaseError(f"Case refused{at}{of_the_block}: {error.problem}", line))


def _read_prose(block: str) -> Case | None:
    """The case of a block without any field: lines such as `AC1: upload.py:retry`, and sentences beside them."""
    if _holds_fields(block):
        return None
    lines = [line.strip() for line in block.splitlines() if line.strip()]
    claims = [match for line in lines if (match := _CLAIM_LINE.fullmatch(line))]
    summary = " ".join(line for line in lines if not _CLAIM_LINE.fullmatch(line))
    if not claims or not summary:
        return None
    return Case(summary=summary, ac_coverage=tuple(map(_claim_of, claims)))


def _claim_of(line: re.Match[str]) -> CoverageClaim:
    return CoverageClaim(criterion=line["criterion"].lstrip("#"), addressed_by=_strip_quotes(line["place"]))


def _strip_quotes(text: str) -> str:
    """Strip the quotes that a word processor made around all of it."""
    bare = text.strip()
    return bare[1:-1].strip() or bare if bare[:1] in _OPENING and bare[-1:] in _CLOSING else bare


_OPENING: Final = frozenset("“„‘‚«»”’")
_CLOSING: Final = frozenset("”“’‘»«")
_BULLET: Final = pattern(r"^(\s*)[–—•*+](?=\s)")


def _load_block(block: str) -> object:
    if not block.strip():
        raise _RefusedError((), "the block is empty. Write at least a line `summary: what the change achieves`.")
    try:
        return load_strict_yaml(block)
    except StrictYamlError:
        # quotes around the texts that YAML takes for more than text, spaces for tabs and `-` for other bullets
        lines = (_BULLET.sub(r"\1-", line.expandtabs(4).rstrip()) for line in block.split("\n"))
        with suppress(StrictYamlError):
            return load_strict_yaml("\n".join(_PLAIN.sub(_quote, line) for line in lines))
        raise  # the mistake as the author wrote it


_PLAIN: Final = pattern(
    r"^(?P<head>(?>\s*(?:-\s+)?(?:[A-Za-z][\w-]*(?: [\w-]+)?\s*:\s+)?))(?P<text>(?:[`@%]|\*\*|(?=[^'\"|>&*!#{}\[\],\s])(?=.*:(?:\s|$))).*)$"
)


def _quote(match: re.Match[str]) -> str:
    is_key = not match["head"].strip() or match["text"].endswith(":")
    text = match["text"].replace("'", "''")
    return match.group() if is_key else f"{match['head']}'{text}'"


def _line(block: str, path: Path) -> int | None:
    """The first line of *path*, or of the innermost part around it."""
    try:
        _, marks = load_yaml_with_positions(block)
    except StrictYamlError:
        return None
    return next((marks[path[:end]].key.line for end in range(len(path), -1, -1) if path[:end] in marks), None)


def _location(path: Path) -> str:
    return _shorten("".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix("."))


class _CaseReader:
    """Make a case of what was loaded. Raises _RefusedError."""

    def __init__(self) -> None:
        self.unread: list[str] = []

    def case(self, value: object, path: Path = ()) -> Case:
        fields = self._fields(value, path, CASE_NAMES)
        if not fields and isinstance(value, dict) and len(mapping := cast("dict[str, object]", value)) == 1:
            ((key, inner),) = mapping.items()
            if _normalize(key) in _WRAPPERS:
                self.unread.clear()
                return self.case(inner, (*path, key))
        if "summary" not in fields:
            raise _RefusedError((*path, "summary"), f"missing. {EXPECTED_FORMATS['summary']}")
        ((summary_path, summary),) = fields["summary"]
        if summary is None:
            raise _RefusedError(summary_path, f"empty. {EXPECTED_FORMATS['summary']}")
        return Case(
            summary=_text(summary, summary_path),
            ac_coverage=tuple(claim for at, item in fields.get("ac_coverage", []) for claim in self._claims(item, at)),
            work_arounds=_texts_of(fields, "work_arounds"),
            uncertainties=_texts_of(fields, "uncertainties"),
        )

    def _fields(self, value: object, path: Path, names: Mapping[str, tuple[str, ...]]) -> Fields:
        """The fields of a mapping by their documented names; a field without one is added to `unread`."""
        if not isinstance(value, dict):
            expected = ", ".join(f"`{name}:`" for name in names if name != "part")
            raise _RefusedError(path, f"expected {expected}, found {_kind(value)}.")
        by_alias = {alias: name for name, aliases in names.items() for alias in aliases}
        fields: Fields = {}
        for key, item in cast("dict[str, object]", value).items():  # the strict loader makes no other keys
            name = by_alias.get(_normalize(key)) or _nearest(_normalize(key), by_alias)
            if name is None:
                self.unread.append(_location((*path, key)))
            elif name in fields and name not in _REPEATABLE:
                first = fields[name][0][0][-1]
                raise _RefusedError((*path, key), f"`{first}` and `{key}` both stand for `{name}`. Keep one of them.")
            else:
                fields.setdefault(name, []).append(((*path, key), item))
        return fields

    def _claims(self, value: object, path: Path) -> Iterator[CoverageClaim]:
        match value:
            case str() if value.strip().casefold() not in _EMPTY_TEXTS:
                for line in filter(str.strip, value.splitlines()):
                    yield self._claim(line, path)
            case list():
                for index, item in enumerate(cast("list[object]", value)):
                    yield self._claim(item, (*path, index))
            case dict() if any(_normalize(key) in _CLAIM_KEYS for key in cast("dict[str, object]", value)):
                yield self._claim(cast("object", value), path)
            case dict():
                for key, item in cast("dict[str, object]", value).items():
                    yield self._keyed_claim(key, item, (*path, key))
            case None | str():
                return
            case _:
                raise _RefusedError(path, f"expected a list, found {_kind(value)}. Write [] for none.")

    def _claim(self, value: object, path: Path) -> CoverageClaim:
        match value:
            case str() if line := _CLAIM_LINE.fullmatch(value):
                return _claim_of(line)
            case dict() if len(mapping := cast("dict[str, object]", value)) == 1:
                ((key, item),) = mapping.items()
                if _normalize(key) not in _CLAIM_KEYS:
                    return self._keyed_claim(key, item, (*path, key))
            case _:
                pass
        return self._build_claim(self._fields(cast("object", value), path, CLAIM_NAMES), path)

    def _keyed_claim(self, criterion: str, value: object, path: Path) -> CoverageClaim:
        """A claim whose criterion is its key: `AC1: upload.py:retry`."""
        fields: Fields = {"addressed_by": [(path, value)]}
        if isinstance(value, dict):
            fields = self._fields(cast("object", value), path, CLAIM_NAMES)
        return self._build_claim({"criterion": [(path, criterion)], **fields}, path)

    def _build_claim(self, fields: Fields, path: Path) -> CoverageClaim:
        evidence = _texts_of(fields, "evidence")
        named = [_text(value, at) for at, value in fields.get("addressed_by", []) if not _is_none(value)]
        addressed = named or evidence[:1]
        for name, is_there in (("criterion", "criterion" in fields), ("addressed_by", bool(addressed))):
            if not is_there:
                where = fields[name][0][0] if name in fields else (*path, name)
                raise _RefusedError(where, f"{'empty' if name in fields else 'missing'}. {EXPECTED_FORMATS[name]}")
        ((at, criterion),) = fields["criterion"]
        parts = [_text(value, at) for at, value in fields.get("part", [])]
        return CoverageClaim(
            criterion=_text(criterion, at).lstrip("#•–— "),
            addressed_by=":".join((*addressed[:1], *parts[:1])) + "".join(f", {text}" for text in addressed[1:]),
            evidence=", ".join(evidence) or None,
        )


_CLAIM_KEYS: Final = frozenset(alias for aliases in CLAIM_NAMES.values() for alias in aliases)


def _normalize(key: str) -> str:
    return _SIGNS.sub("", key).casefold()


def _nearest(key: str, names: Mapping[str, str]) -> str | None:
    """The field whose name is misspelt: `ac_coverge`."""
    from difflib import get_close_matches  # noqa: PLC0415 - few cases need it

    near = get_close_matches(key, [alias for alias in names if len(alias) >= 8], 1, 0.85)  # noqa: PLR2004 - shorter ones are alike by chance
    return names[near[0]] if near else None


def _texts_of(fields: Fields, name: str) -> tuple[str, ...]:
    """The texts of a field's lists, or its only text; none for `none`."""
    items: list[tuple[Path, object]] = []
    for path, value in fields.get(name, []):
        listed = cast("list[object]", value) if isinstance(value, list) else None
        items += [(path, value)] if listed is None else [((*path, index), item) for index, item in enumerate(listed)]
    return tuple(_text(item, path) for path, item in items if not _is_none(item))


def _is_none(value: object) -> bool:
    return value is None or (isinstance(value, str) and value.strip().casefold() in _EMPTY_TEXTS)


def _text(value: object, path: Path) -> str:
    match value:
        case bool():
            pass
        case str():
            if not value.strip():
                raise _RefusedError(path, "the text is empty. Write it, or take the line out.")
            return _strip_quotes(value)
        case int() | float():
            return str(value)
        case list() if value:
            return ", ".join(_text(item, (*path, index)) for index, item in enumerate(cast("list[object]", value)))
        case dict() if len(cast("dict[str, object]", value)) == 1:  # a colon in a text makes a mapping
            ((key, inner),) = cast("dict[str, object]", value).items()
            return f"{key}: {_text(inner, (*path, key))}"
        case _:
            pass
    raise _RefusedError(path, f"expected text, found {_kind(value)}. Put text in quotes.")


def _kind(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return f'the text "{_shorten(value)}"'
        case list():
            return "a list"
        case _:
            return "a mapping (a colon makes one)"


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
