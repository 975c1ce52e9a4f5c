"""Read the author's case from the block of a pull request's body, and where its claims point to: a file, lines, a symbol, a test.

Any text gives a Case, one CaseError that names what to mend, or None where there is no block. The documented forms (docs/case.md)
of a place are exact: `path`, `path:12`, `path:12-30`, `path:name`, `path::test`, `path > test`, `path#test`, `path#L12-L30`, alone
or in backticks or quotes. Every other way to name a place is read as well as possible.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final, NamedTuple, cast

from worker.domain.pattern import pattern
from worker.domain.verdict.ledger import Case, CoverageClaim
from worker.dossier.markup import case_fence
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


BARE_NAMES: Final = frozenset(
    {"BUILD", "CHANGELOG", "CODEOWNERS", "Dockerfile", "Gemfile", "Jenkinsfile", "Justfile", "LICENSE", "Makefile"}
    | {"NOTICE", "Procfile", "README", "Rakefile", "VERSION", "WORKSPACE", "Vagrantfile", "justfile", "makefile"}
)
"""Files that have neither a folder nor an ending in their name."""

FILE_ENDINGS: Final = (
    r"(?:py|pyi|ipynb|[cm]?[jt]sx?|go|rs|java|kts?|rb|cs|php|swift|scala|c|cc|cpp|h|hpp|vue|svelte|sql|sh|md|mdx|rst|txt"
    r"|adoc|json|ya?ml|toml|xml|html|css|scss|cfg|ini|proto|snap|gradle|lock|ex|exs|lua|dart)"
)
"""Endings by which a word in the middle of a sentence is known to be a file."""

SEPARATOR: Final = pattern(r"::|:\s*|#(?!\s)|\s>\s")
ENDING: Final = pattern(r"\.\w{1,12}$")
_LONGEST: Final = 1_000
"""Characters of a text in which a place is looked for."""


@dataclass(frozen=True)
class ClaimPointer:
    """A file, and in it lines or a name (a symbol or a test), or neither. `remark`: a remark behind the place.

    `is_exact`: the text has a documented form, so that it can't mean any other place.
    """

    path: str
    line: int | None = None
    end_line: int | None = None
    name: str | None = None
    remark: str | None = None
    is_exact: bool = True

    @property
    def names_code(self) -> bool:
        """Whether the name is a title, or one of code by its form: a plain word (`TBD`, `logic`) may be a remark."""
        name = self.name or ""
        return " " in name or name.endswith("()") or _CODE_NAME.search(name) is not None


def read_pointer(text: str) -> ClaimPointer | None:
    """Read the first place that *text* names; None if it names no file."""
    straight = text.strip().translate(_STRAIGHT)
    bare = _LINK.sub(lambda link: link["target"] if _path(link["target"]) else link["label"], straight)
    quoted = _QUOTED_PLACE.match(bare)
    documented = quoted and _read_documented(quoted["place"])
    remark = _remark(bare[quoted.end() :]) if quoted else None
    if documented and (documented.line or documented.name or not remark):
        return replace(documented, remark=remark)
    return _read_documented(_MARKS.sub("", bare).strip("\"'").strip()) or _read_sentence(bare[:_LONGEST])


def cited_paths(case: Case) -> Iterator[str]:
    """The files of the repository that a case points at."""
    for claim in case.ac_coverage:
        for text in (claim.addressed_by, claim.evidence or ""):
            pointer = read_pointer(text)
            path = pointer.path if pointer is not None else ""
            is_named = len(path) <= _LONGEST_PATH and "\0" not in path and path.strip("/") != ""
            if is_named and not path.startswith("/") and ".." not in PurePosixPath(path).parts:
                yield path.rstrip("/")


_LONGEST_PATH: Final = 500

_STRAIGHT: Final = str.maketrans("“”„«»‘’‚", '"""""' + "'" * 3)
"""The quotes that a word processor makes."""
_QUOTED_PLACE: Final = pattern(r"`(?P<place>[^`]+)`(?!\s*(?:::|[:#]\s?\S|>))")
"""A place in backticks that does not go on behind them."""
_MARKS: Final = pattern(r"`|\*\*")


def _read_documented(text: str) -> ClaimPointer | None:
    """The place if the whole text is a documented form of one."""
    separator = SEPARATOR.search(text)
    named = text[: separator.start()].rstrip() if separator else text.rstrip(".,;")
    rest = text[separator.end() :] if separator else ""
    path = _path(named)
    if path is None or path != named or "\\" in path:
        return None
    pointer = ClaimPointer(path.removeprefix("./"), is_exact=_EXACT_PATH.fullmatch(path) is not None)
    if separator is None or not rest.strip():
        return pointer
    if separator.group().strip() in {"::", ">"}:  # titles of tests may hold spaces
        return _with_name(pointer, rest.strip())
    lines = _LINES.fullmatch(rest)
    if lines:
        return _with_lines(pointer, lines["first"], lines["last"])
    if separator.group() not in {":", "#"} or not _NAME.fullmatch(rest) or rest.casefold() in _REMARKS:
        return None
    return _with_name(pointer, rest.rstrip("."))


def _with_name(pointer: ClaimPointer, name: str) -> ClaimPointer:
    is_exact = pointer.is_exact and (" " in name or _EXACT_NAME.fullmatch(name) is not None)
    return replace(pointer, name=name, is_exact=is_exact)


_REMARKS: Final = frozenset(
    {"<module>", "module", "module-level", "script", "file", "top", "top-level", "bottom", "start", "beginning", "end"}
    | {
        "header",
        "footer",
        "body",
        "imports",
        "docstring",
        "class",
        "function",
        "method",
        "constructor",
        "loop",
        "block",
    }
)
"""Words behind a file that name a part of it, and no symbol."""
_EXACT_PATH: Final = pattern(r"(?!.*\.{3})[\w.@+/ \[\]()$~#-]+")
"""No pattern (`*`, `?`, `{a,b}`) and no placeholder (`...`, `<name>`)."""
_IDENTIFIER: Final = r"(?:[^\W\d]|\$)[\w$]*[?!]?"
_EXACT_NAME: Final = pattern(rf"{_IDENTIFIER}(?:(?:\.|::|#){_IDENTIFIER})*(?:\(\))?(?:\[[^\[\]]*\])?")
"""Identifiers, as code or a test's id joins them. Anything else (`N/A`, `if/else`, `MAX=3`) may be a remark."""
_LINES: Final = pattern(r"L?(?P<first>\d{1,9})(?:[-–—]L?(?P<last>\d{1,9}))?")
_NAME: Final = pattern(r"(?!\d+\b)[^\s,;:]+(?:::[^\s,;:]+)*")


def _path(text: str) -> str | None:
    """The path at the start of *text*: its first word if that looks like one, else all of it (folders with spaces)."""
    first = text.split(maxsplit=1)[0].rstrip(",;") if text.strip() else ""
    if first in BARE_NAMES or ENDING.search(first):
        return first
    if "/" not in first:
        return None
    is_one = first == text or (ENDING.search(text) is not None and not first.endswith("/"))
    return text if is_one else first


def _with_lines(pointer: ClaimPointer, first_line: str, last_line: str | None) -> ClaimPointer:
    first, last = int(first_line), int(last_line or 0)
    return replace(pointer, line=first or None, end_line=last if last > first > 0 else None)


def _read_sentence(text: str) -> ClaimPointer | None:
    """The place that a sentence names: `retry() in upload.py`, `upload.py, lines 12 to 30 (the loop)`."""
    plain = _URL.sub(_url_path, text)
    bounds = _find_file(plain)
    if bounds is None:
        return None
    start, end = bounds
    path = plain[start:end].replace("\\", "/").removeprefix("./").rstrip(",;")
    pointer = ClaimPointer(path, is_exact=False)
    before, behind = plain[:start], plain[end:]
    for lines in (_LINES_BEHIND.match(behind), _LINES_BEFORE.search(before)):
        if lines:
            remark = behind[lines.end() :] if lines.string is behind else behind
            return replace(_with_lines(pointer, lines["first"], lines["last"]), remark=_remark(remark))
    name = _NAME_DIRECTLY_BEHIND.match(behind)
    if name and name["bare"].casefold() not in _REMARKS:
        return replace(pointer, name=name["bare"], remark=_remark(behind[name.end() :]))
    name = _NAME_BEHIND.match(behind)
    if name and (symbol := _symbol(name)):
        return replace(pointer, name=symbol, remark=_remark(behind[name.end() :]))
    name = _NAME_BEFORE.search(before)
    return replace(pointer, name=_symbol(name) if name else None, remark=_remark(behind))


def _find_file(text: str) -> tuple[int, int] | None:
    """Where the text names a file."""
    first = _path(text)
    is_file = first is not None and (
        first in BARE_NAMES or ("/" in first and ENDING.search(first)) or _ENDS_AS_FILE.search(first)
    )
    file_match = None if is_file else _FILE.search(text)
    if file_match:
        return file_match.span()
    separator = SEPARATOR.search(text)
    first = _path(text[: separator.start()].rstrip()) if separator else first
    return (0, len(first)) if first else None


_ENDS_AS_FILE: Final = pattern(rf"\.{FILE_ENDINGS}$")
_FILE: Final = pattern(
    rf"(?<![\w/\\.-])(?:[\w.@+$()\[\]-]{{1,100}}[/\\]){{0,20}}[\w.@+$\[\]-]{{0,100}}[\w\]]\.{FILE_ENDINGS}(?![\w/]|\.\w)"
)
_LINK: Final = pattern(r"\[(?P<label>[^\[\]]{1,300})\]\((?P<target>[^()\s]{1,500})\)")
_URL: Final = pattern(
    r"https?://[^/\s]{1,200}(?:/[^/\s]{1,100}/[^/\s]{1,100}(?:/-)?/(?:blob|blame|raw|tree)/[^/\s]{1,200}/"
    r"(?P<path>[^\s#?)]{1,500})(?:\?[^\s#)]{0,100})?(?P<lines>#L\d{1,9}(?:C\d{1,9})?(?:-L?\d{1,9})?)?)?[^\s)]*"
)


def _url_path(url: re.Match[str]) -> str:
    """The path and lines of a file's page on GitHub; nothing of another page."""
    return f"{url['path']}{_COLUMN.sub('', url['lines'] or '')}" if url["path"] else ""


_COLUMN: Final = pattern(r"C\d+")
_CLOSED: Final = r"[`'\"*\])]{0,4}\s{0,3}"
_NUMBERS: Final = r"L?(?P<first>\d{1,9})(?:\s?(?:[-–—]|to|through|until)\s?L?(?P<last>\d{1,9}))?"
_LINES_BEHIND: Final = pattern(
    rf"{_CLOSED}(?:(?:[:,@#(\[–—-]\s{{0,3}})?(?:(?:at|on|in|see|from)\s)?(?:lines?|lns?|ll?)\.?\s?#?|[:@#(\[]\s{{0,3}}){_NUMBERS}(?!\w|\.\d)",
    re.IGNORECASE,
)
_LINES_BEFORE: Final = pattern(
    rf"\blines?\s{_NUMBERS}\s(?:of|in|from)\s(?:the\s)?(?:file\s)?[`'\"*]{{0,4}}$", re.IGNORECASE
)

_KIND: Final = r"(?:functions?|func|fn|def|methods?|class|struct|enum|trait|interface|type|const|constant|symbol|variable|tests?|macro)"
_BARE: Final = r"(?P<bare>[^\W\d][\w$]{0,100}(?:(?:\.|::|#)[^\W\d][\w$]{0,100}){0,10})"
_SYMBOL: Final = rf"(?:(?P<kind>{_KIND}):?\s)?(?:`(?P<quoted>[^`\s]{{1,200}})`|{_BARE}(?P<call>\([^()]{{0,100}}\))?)(?:\s(?P<after>{_KIND})\b)?"
_NAME_DIRECTLY_BEHIND: Final = pattern(rf"[:#]{_BARE}(?:\(\))?(?=\s?[,;(–—]|\s-|[`'\".]*$)")
_NAME_BEHIND: Final = pattern(
    rf"{_CLOSED}(?:(?:::?|[#@,(\[|;>]|[-=]>|→|[-–—]{{1,2}})\s{{0,3}})?(?:(?:in|at|by|with|the|its|new)\s){{0,2}}{_SYMBOL}"
)
_NAME_BEFORE: Final = pattern(
    rf"(?:^|(?<=[\s(])){_SYMBOL}(?:\s|[(@,:–—-]|[-=]>|→|\b(?:in|of|from|at|inside|the|file|module)\b){{1,8}}[`'\"*\[]{{0,4}}$"
)
_CODE_NAME: Final = pattern(r"\w_\w|[a-z][A-Z]|[A-Z]{2}[a-z]{2}|\w\d|^[_$]|\.|::|#")
_NO_NAMES: Final = frozenset({"that", "which", "the", "a", "an", "for", "to", "of", "in", "is", "and", "it", "this"})


def _symbol(name: re.Match[str]) -> str | None:
    """The symbol that the words around a file name, None where they are a remark."""
    if name["quoted"]:
        return name["quoted"].removesuffix("()")
    is_called_one = (name["kind"] or name["after"]) and name["bare"].casefold() not in _NO_NAMES
    if _ENDS_AS_FILE.search(name["bare"]):
        return None  # another file
    is_code = name["call"] is not None or is_called_one or _CODE_NAME.search(name["bare"]) is not None
    return name["bare"] if is_code else None


def _remark(text: str) -> str | None:
    return text.strip(" \t`'\"*()[],;:.>#@-–—→=|") or None
