"""Options of a command line that a change adds and nothing reads.

Does not run a parser of arguments. Invariant: an option is unread only where its file is known whole, no line of the change
names it in any spelling but where it is declared, and nothing in its file takes all options at once.
"""

from collections import Counter, deque
from collections.abc import Iterator
from itertools import chain, takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis import references
from worker.signals.analysis.change import AnalyzedFile, CodeChange, Source
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language, language_of
from worker.signals.analysis.syntax import ancestors, find, text_of
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal

if TYPE_CHECKING:
    from tree_sitter import Node

_DECLARING: Final = {
    Language.PYTHON: pattern(r"(?:^|\.)(?:add_argument|option)$"),
    Language.GO: pattern(r"[Ff]lags?(?:\(\))?\.(?:String|Bool|Int|Uint|Float|Duration|Count)\w*$"),
    Language.RUST: pattern(r"^(?:\w+::)*Arg::(?:new|with_name)$"),
    **dict.fromkeys(SCRIPT_LANGUAGES, pattern(r"\.(?:option|requiredOption)$")),
}
_CALLS: Final = {
    Language.PYTHON: ("call",),
    **dict.fromkeys((Language.GO, Language.RUST, *SCRIPT_LANGUAGES), ("call_expression",)),
}
_LONG: Final = pattern(r"""["'`](?:-\w(?:,? |\|))?--(?:\[no-?\]|no-)?([A-Za-z][\w-]{1,60})""")
_PLAIN: Final = pattern(r"""["'`]([A-Za-z][\w-]{1,60})["'`]""")
_BOUND: Final = pattern(r"&(?:\w+\.){0,4}(\w+)")
_DEST: Final = pattern(r"\bdest\s*=\s*[\"'](\w+)[\"']")
_NO_VALUE_ACTION: Final = pattern(
    r"\baction\s*=\s*(?![\"'](?:store|append|count|extend))|\bcallback\s*=|\bexpose_value\s*=|SUPPRESS|deprecat|hidden|\bhide\(|no longer|ignored|no-op|compat",
    2,
)
"""It does its work where it is declared, or says that it does none."""

_TAKES_ALL: Final = pattern(
    r"\bvars\(|__dict__|_get_kwargs|\*\*\w|getattr\(|\.\.\.\w|Object\.(?:assign|entries|keys|values|fromEntries)\(|BindPFlags?\(|VisitAll\(|\.Visit\("
    r"|\.params\b|parse_known_args|JSON\.stringify"
)
_DASHED: Final = pattern(r"[\"'`]([A-Za-z]\w*(?:-\w+)+)[\"'`]")
_CLAP: Final = pattern(r"^#\[(?:arg|clap|structopt)\(.{0,500}?\blong\b", 16)


class _Option(NamedTuple):
    """`own_text` is the text that declares it, `other_uses` how often its names must stand elsewhere for that."""

    name: str
    spellings: frozenset[str]
    node: "Node"
    own_text: str
    other_uses: int = 0


@signal(Category.HALF_FINISHED, SignalKind.SUSPICION, SignalScope.PRODUCTION)
def option_unread(change: CodeChange) -> Iterator[SignalMatch]:
    """A new option of a command line that nothing in the change names again, so that giving it does nothing.

    False alarms: 6 of 30051 clean changes with production code (0.0 %, at most 0.04 %).
    """
    for file in change.production_files():
        source = next((source for source in file.sources if source.is_whole and source.language in _DECLARING), None)
        if source is None or not _is_about_options(source, file):
            continue
        for option in _new_options(source, file, change):
            if _is_unread(option, change):
                note = f"nothing reads the new option `--{option.name}`"
                yield SignalMatch(note, file.path, option.node.start_point.row + 1, option.node.end_point.row + 1)


def _is_about_options(source: Source, file: AnalyzedFile) -> bool:
    is_one_new = any(_HINTS.search(text[:_LONGEST]) for text in file.diff.added_texts)
    return is_one_new and _TAKES_ALL.search(source.text) is None


_LONGEST: Final = 1_000


_HINTS: Final = pattern(r"add_argument|ption\(|[Ff]lags?(?:\(\))?\.|\bArg::|#\[(?:arg|clap|structopt)\(")


def _new_options(source: Source, file: AnalyzedFile, change: CodeChange) -> Iterator[_Option]:
    rows = frozenset(line - 1 for line in file.added_lines)
    read = _of_clap if source.language is Language.RUST else _of_call
    types = ("attribute_item", "call_expression") if source.language is Language.RUST else _CALLS[source.language]
    for node in find(source.root, source.language, types, rows):
        option = read(node, source.language) if node.start_point.row in rows else None
        if option is not None and option.spellings.isdisjoint(references.find_removed_words(change)):
            yield option


def _of_call(node: "Node", language: Language) -> _Option | None:
    called = text_of(node.child_by_field_name("function"))[-200:]
    arguments = text_of(_find_in_chain(node) if language is Language.RUST else node.child_by_field_name("arguments"))
    long = (_LONG if language not in {Language.GO, Language.RUST} else _PLAIN).search(arguments)
    if long is None or not _DECLARING[language].search(called) or _NO_VALUE_ACTION.search(arguments):
        return None
    bound = _BOUND.search(arguments) if language is Language.GO else _DEST.search(arguments)
    is_parameter = node.parent is not None and node.parent.type == "decorator"
    return _Option(long[1], _spellings(long[1], bound[1] if bound else ""), node, arguments, int(is_parameter))


def _find_in_chain(node: "Node") -> "Node":
    """The call with all that is said of its result: `Arg::new("x").long("x")`."""
    around = ancestors(node)
    goes_on = takewhile(lambda both: both[0].type == "field_expression", zip(around, around, strict=False))
    return deque(chain((node,), (call for _, call in goes_on)), maxlen=1).pop()


def _of_clap(node: "Node", language: Language) -> _Option | None:
    """A field below an attribute, or an argument that is built."""
    if node.type == "call_expression":
        return _of_call(node, language)
    field = node.next_named_sibling
    if (
        field is None
        or field.type != "field_declaration"
        or not _CLAP.search(text_of(node))
        or _NO_VALUE_ACTION.search(text_of(node))
    ):
        return None
    name = text_of(field.child_by_field_name("name"))
    return _Option(name.replace("_", "-"), frozenset({name}), field, text_of(field))


def _spellings(*names: str) -> frozenset[str]:
    return frozenset(spelling for name in names if name for spelling in _spelling(name))


def _spelling(name: str) -> Iterator[str]:
    """A name as the languages write it: with low lines, and run together."""
    parts = [part for part in name.replace("-", "_").split("_") if part]
    joined = "".join(part[:1].upper() + part[1:] for part in parts)
    yield from ("_".join(parts), joined, joined[:1].lower() + joined[1:], name)


def _is_unread(option: _Option, change: CodeChange) -> bool:
    """Whether its names stand nowhere but in its own declaration and in the type of what it is bound to."""
    counts, own = change.cached_for_family(_words), Counter(_names(option.own_text))
    return all(
        counts[spelling] - own[spelling] - change.cached(_fields)[spelling] <= option.other_uses
        for spelling in option.spellings
    )


def _names(text: str) -> list[str]:
    """Every word, and what stands alone in quotes with dashes in it; what two dashes lead in is no name."""
    return [*references.WORD_PATTERN.findall(text), *_DASHED.findall(text)]


def _words(change: CodeChange) -> Counter[str]:
    """How often each name stands in code."""
    return Counter(name for text in _texts(change) for name in _names(text))


def _texts(change: CodeChange) -> Iterator[str]:
    changed = {file.path for file in change.files}
    yield from (text for path, text in change.texts.items() if path not in changed and language_of(path))
    yield from (file.visible_text for file in change.files if file.language is not None)


def _fields(change: CodeChange) -> Counter[str]:
    """Names that a line gives a type as Go writes it, and does nothing else with."""
    return Counter(match[1] for text in change.added_texts if (match := _FIELD.fullmatch(text)))


_FIELD: Final = pattern(r"([A-Za-z]\w*)\s+[*\[\]]{0,3}[A-Za-z][\w.]*(?:\s*(?:`[^`]*`|//.*))?")
