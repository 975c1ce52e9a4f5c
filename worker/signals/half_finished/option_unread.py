"""Command-line options that a change adds and nothing reads.

An option counts as unread only where its file is known whole, no line of the change names it in any spelling but where it is
declared, and nothing in its file takes all options together.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import chain, takewhile
from typing import Final, NamedTuple

from tree_sitter import Node

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis import references
from worker.signals.analysis.change import CodeChange, memoized, memoized_for_family
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language, language_of
from worker.signals.analysis.syntax import ancestors, find, text_of
from worker.signals.signal import SettlingLine, SignalKind, SignalMatch, SignalScope, signal

_DECLARING: Final = {
    Language.PYTHON: pattern(r"(?:^|\.)(?:add_argument|option)$"),
    Language.GO: pattern(r"[Ff]lags?(?:\(\))?\.(?:String|Bool|Int|Uint|Float|Duration|Count)\w*$"),
    Language.RUST: pattern(r"^(?:\w+::)*Arg::(?:new|with_name)$"),
    **dict.fromkeys(SCRIPT_LANGUAGES, pattern(r"\.(?:option|requiredOption)$")),
}


_NODE_TYPES: Final = {
    Language.PYTHON: ("call",),
    Language.RUST: ("attribute_item", "call_expression"),
    **dict.fromkeys((Language.GO, *SCRIPT_LANGUAGES), ("call_expression",)),
}


_LONG: Final = pattern(r"""["'`](?:-\w(?:,? |\|))?--(?:\[no-?\]|no-)?([A-Za-z][\w-]{1,60})""")


_PLAIN: Final = pattern(r"""["'`]([A-Za-z][\w-]{1,60})["'`]""")


_BOUND: Final = pattern(r"&(?:\w+\.){0,4}(\w+)")


_DEST: Final = pattern(r"\bdest\s*=\s*[\"'](\w+)[\"']")


_NO_VALUE_ACTION: Final = pattern(
    r"\baction\s*=\s*(?![\"'](?:store|append|count|extend))|\bcallback\s*=|\bexpose_value\s*=|SUPPRESS|deprecat|hidden|\bhide\(|no longer|ignored|no-op|compat",
    2,
)
"""The option does its work where it is declared, or is declared to do none."""


_TAKES_ALL: Final = pattern(
    r"\bvars\(|__dict__|_get_kwargs|\*\*\w|getattr\(|\.\.\.\w|Object\.(?:assign|entries|keys|values|fromEntries)\(|BindPFlags?\(|VisitAll\(|\.Visit\("
    r"|\.params\b|parse_known_args|JSON\.stringify"
)


_DASHED: Final = pattern(r"[\"'`]([A-Za-z]\w*(?:-\w+)+)[\"'`]")


_CLAP: Final = pattern(r"^#\[(?:arg|clap|structopt)\(.{0,500}?\blong\b", 16)


_HINTS: Final = pattern(r"add_argument|ption\(|[Ff]lags?(?:\(\))?\.|\bArg::|#\[(?:arg|clap|structopt)\(")


_FIELD: Final = pattern(r"([A-Za-z]\w*)\s+[*\[\]]{0,3}[A-Za-z][\w.]*(?:\s*(?:`[^`]*`|//.*))?")


_LONGEST: Final = 1_000


class _Option(NamedTuple):
    """`own_text` declares it; for that, its names occur up to `other_uses` times elsewhere."""

    name: str
    spellings: frozenset[str]
    node: Node
    own_text: str
    other_uses: int = 0


@signal(Category.HALF_FINISHED, SignalKind.SUSPICION, SignalScope.PRODUCTION, settled_by=SettlingLine.USE)
def option_unread(change: CodeChange) -> Iterator[SignalMatch]:
    """A new option of a command line that nothing in the change names again, so that giving it does nothing.

    Why it matters: Users give an option that changes nothing.
    Example: `parser.add_argument("--dry-run")`, and no line that says `dry_run`.
    False alarms: 6 of 30051 clean changes with production code (0.0 %, at most 0.04 %).
    """
    for file in change.production_files():
        source = next((source for source in file.sources if source.is_whole and source.language in _DECLARING), None)
        if source is None or not any(_HINTS.search(text[:_LONGEST]) for text in file.diff.added_texts):
            continue
        if _TAKES_ALL.search(source.text):
            continue
        rows = frozenset(line - 1 for line in file.added_lines)
        for node in find(source.root, source.language, _NODE_TYPES[source.language], rows):
            option = _read_option(node, source.language) if node.start_point.row in rows else None
            if option is None or not option.spellings.isdisjoint(references.find_removed_words(change)):
                continue
            counts, own = _count_names(change), Counter(_list_names(option.own_text))
            uses = {name: counts[name] - own[name] - _count_typed_fields(change)[name] for name in option.spellings}
            if max(uses.values()) <= option.other_uses:
                note = f"nothing reads the new option `--{option.name}`"
                yield SignalMatch(note, file.path, option.node.start_point.row + 1, option.node.end_point.row + 1)


def _read_option(node: Node, language: Language) -> _Option | None:
    if node.type == "attribute_item":  # clap derives the option from the field below
        field, text = node.next_named_sibling, text_of(node)
        if field is None or field.type != "field_declaration":
            return None
        name = text_of(field.child_by_field_name("name"))
        is_option = _CLAP.search(text) and not _NO_VALUE_ACTION.search(text)
        return _Option(name.replace("_", "-"), frozenset({name}), field, text_of(field)) if is_option else None
    called = text_of(node.child_by_field_name("function"))[-200:]
    whole = node.child_by_field_name("arguments")
    if language is Language.RUST:  # the last call of the chain: the whole of `Arg::new("x").long("x")`
        around = ancestors(node)
        pairs = takewhile(lambda pair: pair[0].type == "field_expression", zip(around, around, strict=False))
        whole = [node, *(call for _, call in pairs)][-1]
    arguments = text_of(whole)
    long = (_LONG if language not in {Language.GO, Language.RUST} else _PLAIN).search(arguments)
    if long is None or not _DECLARING[language].search(called) or _NO_VALUE_ACTION.search(arguments):
        return None
    bound = _BOUND.search(arguments) if language is Language.GO else _DEST.search(arguments)
    spellings = frozenset(_spell(long[1], bound[1] if bound else ""))
    is_parameter = node.parent is not None and node.parent.type == "decorator"
    return _Option(long[1], spellings, node, arguments, int(is_parameter))


def _spell(*names: str) -> Iterator[str]:
    """Each name as the languages write it: with underscores, and in camel case."""
    for name in filter(None, names):
        parts = [part for part in name.replace("-", "_").split("_") if part]
        joined = "".join(part[:1].upper() + part[1:] for part in parts)
        yield from ("_".join(parts), joined, joined[:1].lower() + joined[1:], name)


def _list_names(text: str) -> list[str]:
    """Every word, and each quoted name with dashes in it; one that begins with dashes is none."""
    return [*references.WORD_PATTERN.findall(text), *_DASHED.findall(text)]


@memoized_for_family
def _count_names(change: CodeChange) -> Counter[str]:
    """How often each name occurs in code."""
    changed = {file.path for file in change.files}
    unchanged = (text for path, text in change.texts.items() if path not in changed and language_of(path))
    visible = (file.visible_text for file in change.files if file.language is not None)
    return Counter(name for text in chain(unchanged, visible) for name in _list_names(text))


@memoized
def _count_typed_fields(change: CodeChange) -> Counter[str]:
    """Names that a line only gives a type, as Go writes it."""
    return Counter(match[1] for text in change.added_texts if (match := _FIELD.fullmatch(text)))
