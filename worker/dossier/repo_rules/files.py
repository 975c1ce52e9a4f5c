"""Rules files: the names and folders that agents' tools read, and the rules in them, in the order of the file; at most MOST_RULES.

Markdown is read as statements: headings, list items, paragraphs and rows of tables, with their lines and code spans. Code blocks
and HTML comments state nothing. One pass over at most MOST_LINES lines of LONGEST characters.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import PurePosixPath
from typing import Final

from worker.domain.dossier import Guidance
from worker.domain.pattern import pattern
from worker.dossier.repo_rules.duties import find_dependency_bans, find_duties
from worker.dossier.repo_rules.prohibitions import RuleSentence, find_prohibitions, is_path, to_imperative
from worker.dossier.repo_rules.scope import (
    LANGUAGE_WORD,
    SPAN_LIST,
    RepoRule,
    RuleOrigin,
    RuleReach,
    RuleScope,
    ScopeReading,
    find_languages,
    read_exceptions,
    read_qualifiers,
)

FOLDER_NAMES: Final = ("AGENTS.md", "CLAUDE.md")
"""These rule the folder that they are in, wherever that is."""

ROOT_NAMES: Final = (
    *FOLDER_NAMES,
    ".github/copilot-instructions.md",
    "GEMINI.md",
    "CONVENTIONS.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
)
RULE_FOLDERS: Final = {
    ".cursor/rules": ".mdc",
    ".windsurf/rules": ".md",
    ".clinerules": ".md",
    ".github/instructions": ".instructions.md",
}
"""Folders at the root, and how the names of the rules files in them end."""

MOST_IN_A_FOLDER: Final = 20
_LINKS: Final = frozenset(name.lstrip(".") for name in ROOT_NAMES)


def is_rules_name(folder: str, name: str) -> bool:
    """Whether the file *name* of one of the FOLDERS holds rules."""
    return name.endswith(RULE_FOLDERS[folder])


def is_rules_file(path: str) -> bool:
    """Whether changes may be judged by this file."""
    folder, _, name = path.rpartition("/")
    return path in ROOT_NAMES or name in FOLDER_NAMES or (folder in RULE_FOLDERS and is_rules_name(folder, name))


def folders_above(changed: Iterable[str], most: int) -> tuple[str, ...]:
    """Each folder above a changed file, with its slash; the shallowest first."""
    folders = {f"{folder}/" for path in changed for folder in PurePosixPath(path).parents if folder != PurePosixPath()}
    return tuple(sorted(folders, key=lambda folder: (folder.count("/"), folder))[:most])


def folder_of(path: str) -> str:
    """The folder that a rules file rules: its own, the whole repository for one in a tool's folder at the root."""
    folder = path.rpartition("/")[0]
    return f"{folder}/" if folder and not _TOOL_FOLDER.fullmatch(folder) else ""


_TOOL_FOLDER: Final = pattern(r"\.(?:github|claude|cursor|windsurf|clinerules|roo|kiro|amazonq|junie)(?:/.*)?")


def unique_files(files: Iterable[Guidance]) -> tuple[Guidance, ...]:
    """The files that are neither empty, nor links, nor copies in the same folder, in their order."""
    kept: dict[tuple[str, str], Guidance] = {}
    for file in files:
        text = file.text.strip()
        if text and text.lstrip("./@") not in _LINKS:
            kept.setdefault((folder_of(file.path), text), file)
    return tuple(kept.values())


MOST_LINES: Final = 5_000
LONGEST: Final = 2_000
MOST_CELLS: Final = 10
MOST_IN_ONE: Final = 30
"""Lines of one paragraph; what is longer is prose, and its rest is left out."""

MOST_BELOW: Final = 12
"""Lines under a heading that may qualify it."""

OPEN, CLOSE = "«", "»"
"""Around the number of a code span, in prose."""

_FENCE: Final = pattern(r"\s{0,12}(`{3,}|~{3,})")
_HEADING: Final = pattern(r"\s{0,3}(#{1,6})\s+(.*)")
_UNDERLINE: Final = pattern(r"\s{0,3}(?:=+|-{2,})\s*")
_NUMBERED: Final = pattern(r"^(?:\d{1,3}(?:\.\d{1,3})*[.):]?\s+)+(?=\S)")
_ITEM: Final = pattern(r"(\s{0,40})(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?(.*)")
_CODE: Final = pattern(r" {4}|\t")
_QUOTED: Final = pattern(r"\s{0,3}(?:>\s?)+(?:\[!\w{1,20}\]\s*$)?")
_ROW: Final = pattern(r"\s{0,3}\|")
_RULE_LINE: Final = pattern(r"[\s|:-]+")
_SPAN: Final = pattern(r"(`{1,3})(?!`)([^\n]{1,200}?)(?<!`)\1(?!`)")
_LINK: Final = pattern(r"\[([^\]\n]{1,200})\]\([^)\n]{0,500}\)")
_EMPHASIS: Final = pattern(r"\*{1,3}|(?<!\w)_{1,2}(?=\S)|(?<=\S)_{1,2}(?!\w)")
_MARKS: Final = pattern(r"^[\s✅⚠️❗️❕‼️:!-]+")
_BARE_CODE: Final = pattern(
    r"(?<![\w`«./-])(?:[A-Za-z_][\w.]{0,60}\(\)|(?:console|System\.out|fmt|os|time|Thread)\.[A-Za-z]\w{0,30}(?:\(\))?"
    r"|(?:println|dbg|todo|unimplemented|eprintln|panic)!|(?:TODO|FIXME|XXX|HACK)(?=s?\b)|@ts-[a-z-]{3,20}|(?:(?<=use )|(?<=call )|(?<=using ))(?:eval|print)(?=$|[.,;])"
    r"|(?:[\w.@-]{1,60}/){1,12}(?:(?=[\s,;:.)]|$)|\*{1,2}|[\w*-]{1,60}(?:\.[a-z]{1,10}){1,2}\b)"
    r"|[\w-]{2,60}\.(?:md|rst|json|lock|toml|ya?ml|proto|sql|mod|sum|xml|gradle|cfg|ini)\b)"
)
"""Code and paths that are not marked as such."""

_CODE_PHRASES: Final = (
    (
        pattern(r"\b(?:debug(?:ging)? )?print(?= statements?\b| calls?\b)|\bdebug(?:ging)? prints\b", re.IGNORECASE),
        "print()",
    ),
    (pattern(r"\b(?:wildcard|star)(?= imports?\b(?! \())", re.IGNORECASE), "import *"),
    (pattern(r"\bdefault(?= exports?\b(?! \())", re.IGNORECASE), "export default"),
    (pattern(r"\bbare (?:«)?except:?(?= |s\b|\.|$)", re.IGNORECASE), "except:"),
)
"""Code that words name."""


@dataclass(frozen=True)
class Statement:
    """`prose` has `«0»`, `«1»` ... for the code `spans`. `lead` is the line that leads its list in."""

    prose: str
    spans: tuple[str, ...]
    headings: tuple[str, ...]
    lead: str
    lines: tuple[tuple[int, int], ...]
    """(offset in prose, line number), in order."""

    code_phrases: tuple[tuple[int, str], ...] = ()
    """(number of a code span, the words that name it)."""

    following_text: str = ""
    """The lines under a heading, which may make an exception of it."""

    def line_at(self, offset: int) -> int:
        return self.lines[max(0, bisect_right(self.lines, (offset, MOST_LINES * 2)) - 1)][1]

    @cached_property
    def plain_text(self) -> str:
        return self.restore_spans(self.prose)

    def restore_spans(self, prose: str) -> str:
        """*prose* with its code spans as they were written."""
        phrases = dict(self.code_phrases)
        return _NUMBER.sub(lambda match: phrases.get(int(match[1])) or f"`{self.spans[int(match[1])]}`", prose)


_NUMBER: Final = pattern(rf"{OPEN}(\d{{1,4}}){CLOSE}")


def parse_statements(markdown: str) -> Iterator[Statement]:
    """The statements of *markdown*, in order."""
    lines = [line[:LONGEST].rstrip("\r") for line in markdown.split("\n", MOST_LINES)[:MOST_LINES]]
    reader = _StatementReader(lines)
    for number, line in enumerate(lines, start=1):
        yield from reader.read(number, line)
    yield from reader.end()


class _StatementReader:
    """The place in the file: in a fence, in a comment, under which headings, in which item."""

    def __init__(self, lines: list[str]) -> None:
        self.all = lines
        self.fence = ""
        self.in_comment = False
        self.headings: list[tuple[int, str]] = []
        self.is_titled = False
        self.lead = ""
        self.is_item = False
        self.open: list[tuple[int, str]] = []
        self.columns: tuple[str, ...] = ()

    def read(self, number: int, line: str) -> Iterator[Statement]:
        line = line[match.end() :] if (match := _QUOTED.match(line)) else line
        if self._is_hidden(line):
            return
        if _ROW.match(line):
            yield from self.end()
            yield from self._row(number, line)
            return
        self.columns = ()
        if _UNDERLINE.fullmatch(line) and len(self.open) == 1 and not self.is_item:
            first, text = self.open.pop()
            yield from self._title(first, 1 if "=" in line else 2, text)
            return
        heading, item = _HEADING.match(line), _ITEM.match(line)
        fence = _FENCE.match(line)
        if fence or heading or item or not line.strip():
            yield from self.end()
        if fence:
            self.fence = fence[1]
            self.lead = self.lead if self.is_item else ""  # what it led in was this code
        elif heading:
            yield from self._title(number, len(heading[1]), heading[2].rstrip().rstrip("#").rstrip())
        elif item:
            self.is_item = True
            self.open = [(number, item[2])]
        elif line.strip() and (self.open or self.is_item or not _CODE.match(line)):
            self.is_item = self.is_item and (bool(self.open) or line[0].isspace())
            self.open.append((number, line.strip()))

    def _row(self, number: int, line: str) -> Iterator[Statement]:
        """A row as one statement, and each of its cells as an item under the head of its column."""
        cells = tuple(cell.strip() for cell in line.strip().strip("|").split("|")[:MOST_CELLS])
        if not self.columns:
            self.columns = cells
            return
        if _RULE_LINE.fullmatch(line):
            return
        headings = tuple(title for _, title in self.headings)
        yield _statement([(number, " | ".join(filter(None, cells)))], headings, "")
        for head, cell in zip(self.columns, cells, strict=False):
            if head and cell:
                yield _statement([(number, cell)], headings, head)

    def _is_hidden(self, line: str) -> bool:
        """Whether it is in a fence or a comment, their last lines included; a comment that begins here hides its line."""
        if self.fence:
            if line.strip().startswith(self.fence) and not line.strip().strip(self.fence[0]):
                self.fence = ""
            return True
        if self.in_comment or line.lstrip().startswith("<!--"):
            self.in_comment = "-->" not in line
            return True
        return False

    def _title(self, number: int, level: int, text: str) -> Iterator[Statement]:
        """Enter a heading. The file's own title heads everything, and so tells nothing of where a rule holds."""
        is_first, self.is_titled = not self.is_titled, True
        above = [(outer, title) for outer, title in self.headings if outer < level]
        below = " . ".join(_lines_below(self.all[number : number + MOST_BELOW]))
        plain = _NUMBERED.sub("", text, count=1)
        yield _statement([(number, plain)], tuple(title for _, title in above), "", below)
        if is_first and level == 1:
            return
        self.headings = [*above, (level, text)]
        self.lead, self.is_item = "", False

    def end(self) -> Iterator[Statement]:
        """End the open statement; a paragraph that ends in a colon also leads the list below it in."""
        if not self.open:
            return
        lines, self.open = self.open[:MOST_IN_ONE], []
        lead = self.lead if self.is_item else ""
        statement = _statement(lines, tuple(title for _, title in self.headings), lead)
        if not self.is_item:
            self.lead = statement.plain_text if statement.prose.endswith(":") else ""
        yield statement


def _lines_below(lines: list[str]) -> Iterator[str]:
    """The lines under a heading, up to the next one."""
    for line in lines:
        if _HEADING.match(line):
            return
        if line.strip() and not _UNDERLINE.fullmatch(line):
            yield line.strip()


def _statement(lines: list[tuple[int, str]], headings: tuple[str, ...], lead: str, below: str = "") -> Statement:
    spans: list[str] = []
    spoken: list[tuple[int, str]] = []
    prose = ""
    starts: list[tuple[int, int]] = []
    for number, line in lines:
        starts.append((len(prose), number))
        prose += _number_code_phrases(_prose(line, spans, is_first=not prose), spans, spoken) + " "
    return Statement(prose.rstrip(), tuple(spans), headings, lead, tuple(starts), tuple(spoken), below)


def _number_code_phrases(prose: str, spans: list[str], spoken: list[tuple[int, str]]) -> str:
    """*prose* with numbers for the code that its words name."""
    for regex, code in _CODE_PHRASES:
        if match := regex.search(prose):
            spoken.append((len(spans), match[0]))
            spans.append(code)
            prose = f"{prose[: match.start()]}{OPEN}{len(spans) - 1}{CLOSE}{prose[match.end() :]}"
    return prose


def _prose(line: str, spans: list[str], *, is_first: bool) -> str:
    """One line without emphasis and links, its code as numbers, also where that is not marked as code."""

    def number_span(match: re.Match[str]) -> str:
        spans.append((match[2] if match.lastindex else match[0]).strip())
        return f"{OPEN}{len(spans) - 1}{CLOSE}"

    kept = line.replace(OPEN, " ").replace(CLOSE, " ")
    kept = _SPAN.sub(number_span, kept)
    kept = _EMPHASIS.sub("", _LINK.sub(r"\1", kept))
    kept = _BARE_CODE.sub(number_span, kept)
    return (_MARKS.sub("", kept) if is_first else kept).replace("’", "'").strip()


MOST_RULES: Final = 300
_LONGEST_STATEMENT: Final = 3_000
_MOST_SENTENCES: Final = 30
_LONGEST_FILE: Final = 500_000
_SHOWN: Final = 160

_END: Final = pattern(
    r"[.!?;](?=\s|$)\s*|(?<!\s)\s++(?:—|–|--|-|\|)\s+|(?<=[^\s:]):\s+(?=(?:do not|don't|never|no|must not)\b)",
    re.IGNORECASE,
)
_LABEL: Final = pattern(r"([^:«»]{1,60}):\s+(.*)", re.DOTALL)
_NOT_ENDS: Final = pattern(r"\b(?:e\.g|i\.e|etc|vs|cf)\.\s*$", re.IGNORECASE)
_VERBS: Final = (
    r"(?: (?:use|do|add|touch|edit|modify|change|call|import|commit|write|modify or delete|edit or delete))?"
)
_NEGATIVE_LEAD: Final = pattern(
    rf"(?:please )?(?:(?:(?:files|paths|folders|things|apis|functions|calls|code) )?(?:(?:you|agents|we) )?(?:do not|must not|may not|never|don'?ts?){_VERBS}|(?:the following|these)?(?: [a-z]{{1,12}})?(?: (?:are|is))? ?"
    r"(?:strictly )?(?:forbidden|banned|prohibited|not allowed|disallowed|off[- ]limits|read[- ]only|hands off))"
    r"(?: (?:any of )?(?:the following|these|this|any of these))?(?: things| apis?| calls| functions| files| paths| folders| directories| imports| patterns| code)?[ :!*]*",
    re.IGNORECASE,
    needs=("not", "never", "don", "forbidden", "banned", "prohibited", "disallowed", "off", "read"),
)


def parse_guidance(guidance: Guidance) -> tuple[RepoRule, ...]:
    """The rules of the file that a program can check."""
    return _parse_rules(guidance.path, guidance.text)


@lru_cache(maxsize=64)
def _parse_rules(path: str, text: str) -> tuple[RepoRule, ...]:
    front, body = split_front_matter(text[:_LONGEST_FILE])
    start = ScopeReading(RuleScope(root=folder_of(path), inside=front.globs), front.is_always)
    parsed = (rule for statement in parse_statements(body) for rule in _parse_statement(path, statement, start))
    rules = tuple(islice(parsed, MOST_RULES))
    if not front.globs:
        return rules
    # a rule with places of its own in a file for some paths: both together are more than we understand
    return tuple(rule if rule.scope.inside == front.globs else replace(rule, is_sure=False) for rule in rules)


def _parse_statement(path: str, statement: Statement, start: ScopeReading) -> Iterator[RepoRule]:
    if len(statement.prose) > _LONGEST_STATEMENT:
        return
    pieces = list(_split_pieces(statement.prose))
    for piece in pieces:
        labelled = _LABEL.fullmatch(piece.prose)  # `Imports: never use x` is a label and its sentence
        label, body = (labelled[1], labelled[2]) if labelled else ("", piece.prose)
        others = (*(other.prose for other in pieces if other is not piece), *filter(None, (statement.following_text,)))
        around = _merge_readings(start, _read_surroundings(statement, label, start.scope))
        around = _merge_readings(around, read_exceptions(" . ".join(others), around.scope))
        quoted = statement.restore_spans(piece.quoted)
        shown = quoted if len(quoted) <= _SHOWN else f"{quoted[:_SHOWN]} ..."
        origin = RuleOrigin(path, statement.line_at(piece.offset), shown)
        sentence = RuleSentence(_negate_item(statement, label, body), statement.spans, origin, around, others)
        if "«" in sentence.prose or _ON_DEPENDENCIES.search(sentence.prose):  # nothing else names what to leave alone
            plain = to_imperative(sentence.prose)
            around = _merge_readings(around, read_qualifiers(plain.scope_text, sentence.spans, around.scope))
            banning = replace(sentence, prose=plain.prose, surroundings=around)
            yield from find_prohibitions(banning)
            yield from find_dependency_bans(banning)
        yield from find_duties(sentence)


_ON_DEPENDENCIES: Final = pattern(r"dependenc|packages|libraries|crates", re.IGNORECASE)


@dataclass(frozen=True)
class _Piece:
    """A sentence, where it begins, and its text in the file."""

    offset: int
    prose: str
    quoted: str


def _split_pieces(prose: str) -> Iterator[_Piece]:
    """The sentences; a path or code alone before a dash or a colon is the subject of the words behind it."""
    subject: _Piece | None = None
    for offset, part in islice(_split_sentences(prose), _MOST_SENTENCES):
        piece = _Piece(offset, part, part)
        if subject is not None:
            link = "is out of reach," if _NEGATIVE.match(part) else "is"
            quoted = prose[subject.offset : offset + len(part)].strip()
            piece = _Piece(subject.offset, f"{subject.prose.rstrip(':')} {link} {part}", quoted)
        subject = piece if _CODE_ALONE.fullmatch(part) else None
        if subject is None:
            yield piece
    if subject is not None:
        yield subject


_CODE_ALONE: Final = pattern(rf"{SPAN_LIST}:?")


def _merge_readings(around: ScopeReading, more: ScopeReading) -> ScopeReading:
    return ScopeReading(more.scope, around.is_sure and more.is_sure)


def _split_sentences(prose: str) -> Iterator[tuple[int, str]]:
    """Each sentence, and where it begins; a dash or a semicolon ends one, too."""
    stops = [
        end.span() for end in _END.finditer(prose) if not _NOT_ENDS.search(prose[max(0, end.start() - 8) : end.end()])
    ]
    start = 0
    for end, following in (*stops, (len(prose), 0)):
        if part := prose[start:end].strip():
            yield start, part
        start = following


def _negate_item(statement: Statement, label: str, prose: str) -> str:
    """Forbid a bare item of a list that is led in by "never:" or is under "Do not"."""
    lead = statement.lead or (statement.headings[-1] if statement.headings else "")
    is_led = _NEGATIVE_LEAD.fullmatch(label) or _NEGATIVE_LEAD.fullmatch(lead)
    if not is_led or _NEGATIVE.match(prose):
        return prose
    first = _FIRST.match(prose)
    if first is None:
        return f"do not {prose}"
    return f"do not touch {prose}" if is_path(statement.spans[int(first[1])]) else f"do not use {prose}"


_NEGATIVE: Final = pattern(r"(?:do not|don't|never|no|must|nobody)\b", re.IGNORECASE)
_FIRST: Final = pattern(rf"(?:the )?(?={SPAN_LIST})«(\d+)»", re.IGNORECASE)


_MOST_FRONT_LINES: Final = 60
_MOST_GLOBS: Final = 40
_DASHES: Final = "---"
_LINE: Final = pattern(r"([A-Za-z]{1,40}):\s*(.{0,2000})")
_LISTED: Final = pattern(r"\s{0,8}-\s+(.{1,500})")
_KEYS: Final = frozenset({"globs", "applyTo", "paths"})
_EVERYTHING: Final = frozenset({"*", "**", "**/*"})
_OUTSIDE_BRACES: Final = pattern(r",(?![^{}]{0,300}\})")
_BRACES: Final = pattern(r"\{([^{}]{1,300})\}")


@dataclass(frozen=True)
class FrontMatter:
    """The paths that the file is for (none: all), and whether tools always read it there."""

    globs: tuple[str, ...] = ()
    is_always: bool = True


def split_front_matter(text: str) -> tuple[FrontMatter, str]:
    """The lines between dashes on top, where tools read the paths that the file is for; empty lines take their place in the text.

    A key has one value, or a list below it. A file that tools read only when they think it fits is not always read.
    """
    lines = text.split("\n", _MOST_FRONT_LINES)
    if lines[0].rstrip() != _DASHES:
        return FrontMatter(), text
    last = next((at for at, line in enumerate(lines[1:_MOST_FRONT_LINES], 1) if line.rstrip() == _DASHES), None)
    if last is None:
        return FrontMatter(), text
    values = _values(lines[1:last])
    globs = tuple(glob for key in _KEYS & values.keys() for glob in _globs(values[key]))[:_MOST_GLOBS]
    body = "\n" * (last + 1) + "\n".join(lines[last + 1 :])
    always = "".join(values.get("alwaysApply", [])).strip().casefold()
    if always == "true" or not _EVERYTHING.isdisjoint(globs):
        return FrontMatter(), body
    return FrontMatter(globs, is_always=bool(globs) or always != "false"), body


def _values(lines: list[str]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    key = ""
    for line in lines:
        if named := _LINE.fullmatch(line.rstrip()):
            key = named[1]
            values[key] = [named[2]]
        elif (item := _LISTED.fullmatch(line.rstrip())) and key:
            values[key].append(item[1])
    return values


def _globs(values: list[str]) -> Iterator[str]:
    for value in values:
        for item in _OUTSIDE_BRACES.split(value.strip().strip("[]")):
            glob = item.strip().strip("\"'").strip()
            yield from _expand_braces(glob) if glob else ()


def _expand_braces(glob: str) -> Iterator[str]:
    """`*.{ts,tsx}` as two globs."""
    braces = _BRACES.search(glob)
    if braces is None:
        yield glob
        return
    for option in braces[1].split(","):
        yield f"{glob[: braces.start()]}{option.strip()}{glob[braces.end() :]}"


def _read_surroundings(statement: Statement, label: str, start: RuleScope) -> ScopeReading:
    """Read where the statement holds from its headings, the line that leads its list in and its label."""
    scope, is_sure = start, True
    for title in (*statement.headings, statement.lead, label):
        plain = title.strip(" :*#").casefold()
        if match := _TITLE_LANGUAGE.fullmatch(plain):
            scope = replace(scope, languages=find_languages(match[1]))
        elif _TESTING.search(plain) and not _TESTING_AND_MORE.search(plain):
            scope = replace(scope, reach=RuleReach.TESTS)
        elif _NOT_ABOUT_CODE.search(plain):
            is_sure = False
    return ScopeReading(scope, is_sure)


_NOT_ABOUT_CODE: Final = pattern(
    r"\b(?:commits?|git|pull requests?|prs?|issues?|comment(?:ing)?|release|releasing|chat|tone|communicat\w+|shell|commands?"
    r"|tools?|sessions?|workflow|reviews?|output|docs|documentation|markdown|changelog|example|sql|css|html|yaml|config\w*"
    r"|deploy\w*|debug\w*|migration\w*|frontend|backend|legacy|archive|writing|answers?|responses?|when|if|during)\b",
    re.IGNORECASE,
)
_TESTING: Final = pattern(r"\b(?:tests?|testing)\b", re.IGNORECASE)
_OF_CODE: Final = r"(?:coding|code|style|implementation|development|quality|lint|build|architecture)"
_TESTING_AND_MORE: Final = pattern(
    rf"\btest(?:s|ing)?(?:,| and| &) (?:\w+ )?{_OF_CODE}|\b{_OF_CODE}\w*(?:,| and| &) test(?:s|ing)?\b"
)
"""A section about the code as well: "Testing and code style"."""
_TITLE_LANGUAGE: Final = pattern(
    rf"{LANGUAGE_WORD}(?: (?:code|rules|style|guidelines|conventions|files))?", re.IGNORECASE
)
