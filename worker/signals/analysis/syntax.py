"""Syntax trees by tree-sitter, the nodes in them, and the text of a hunk as a grammar can read it.

Any text has a tree; that of a text that is no program has `has_error`.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from operator import attrgetter
from typing import Final, TypeVar, cast

from tree_sitter import Node, Query, QueryCursor

from worker.domain.pattern import pattern
from worker.dossier.diff import DiffLine
from worker.dossier.tree_sitter import Grammar, load_language, parse_tree, parse_within_limits
from worker.signals.analysis.file_roles import MORE_LANGUAGES, Language

_GRAMMARS: Final = {
    Language.PYTHON: Grammar("tree_sitter_python", "language"),
    Language.JAVASCRIPT: Grammar("tree_sitter_javascript", "language"),
    Language.TYPESCRIPT: Grammar("tree_sitter_typescript", "language_typescript"),
    Language.TSX: Grammar("tree_sitter_typescript", "language_tsx"),
    Language.GO: Grammar("tree_sitter_go", "language"),
    Language.RUST: Grammar("tree_sitter_rust", "language"),
    Language.JAVA: Grammar("tree_sitter_java", "language"),
    Language.RUBY: Grammar("tree_sitter_ruby", "language"),
    Language.CSHARP: Grammar("tree_sitter_c_sharp", "language"),
    Language.PHP: Grammar("tree_sitter_php", "language_php_only"),  # reads what a hunk shows, without `<?php` before it
    Language.KOTLIN: Grammar("tree_sitter_kotlin", "language"),
}

T = TypeVar("T")

COMMENTS: Final = frozenset({"comment", "line_comment", "block_comment", "html_comment", "hash_bang_line"})


@lru_cache(maxsize=256)
def _query(language: Language, types: tuple[str, ...]) -> Query:
    return Query(load_language(_GRAMMARS[language]), " ".join(f"({kind}) @{kind}" for kind in types))


def find(root: Node, language: Language, types: tuple[str, ...], rows: frozenset[int] | None = None) -> list[Node]:
    """The named nodes of these types, in the order of the text.

    With *rows*, at least those that begin in one of these rows, and none that lies before the first or behind the last.
    """
    cursor = QueryCursor(_query(language, types))
    if rows:
        cursor.set_point_range((min(rows), 0), (max(rows) + 1, 0))
    return _in_order(list(chain.from_iterable(cursor.captures(root).values())))


def _in_order(nodes: list[Node]) -> list[Node]:
    """Sort by start, the outer ones first. Two keys that C reads take half as long as one lambda."""
    nodes.sort(key=_END, reverse=True)
    nodes.sort(key=_START)
    return nodes


_START: Final[Callable[[Node], int]] = attrgetter("start_byte")
_END: Final[Callable[[Node], int]] = attrgetter("end_byte")


Types = Mapping[Language, tuple[str, ...]]
_REGISTERED: Final = {language: set[str]() for language in Language}


def register_types(types: Types) -> Types:
    """Register the types that a module asks a `NodeIndex` for."""
    for language, names in types.items():
        _REGISTERED[language].update(names)
    return types


MOST_CACHED: Final = 3_000
"""Nodes of a tree, about 300 lines. The found ones are kept while the change is judged, at a hundred bytes each."""


class NodeIndex:
    """The nodes of one tree, by their types.

    Finding twenty types takes hardly longer than finding one: all registered ones are found together when one of them is asked
    for. Unregistered types, and trees of more than MOST_CACHED nodes, are searched each time.
    """

    def __init__(self, root: Node, language: Language) -> None:
        self._root = root
        self._language = language
        self._starts: dict[str, list[int]] = {}
        self._seen: dict[object, object] = {}
        self._is_kept = root.descendant_count <= MOST_CACHED

    @cached_property
    def _nodes(self) -> dict[str, list[Node]]:
        names = tuple(sorted(_REGISTERED[self._language]))
        nodes = QueryCursor(_query(self._language, names)).captures(self._root)
        return {name: _in_order(nodes.get(name, [])) for name in names}

    def find(
        self, types: tuple[str, ...], within: Node | None = None, rows: frozenset[int] | None = None
    ) -> list[Node]:
        """As `find` does below *within*; with *rows*, those that begin between the first and the last of them."""
        parts: list[list[Node]] = []
        for kind in types:
            nodes = self._nodes.get(kind) if self._is_kept else None
            if nodes is None:
                return find(self._root if within is None else within, self._language, types, rows)
            parts.append(self._select(kind, nodes, within, rows))
        return parts[0] if len(parts) == 1 else _in_order(list(chain(*parts)))

    def cache(self, compute: Callable[..., T], node: Node, *extra: object) -> T:
        """Call *compute* once for each node; *extra* is always the same for a node. Larger trees call it each time."""
        if not self._is_kept:
            return compute(node, *extra)
        key = compute, node.id
        value = self._seen.get(key, self)
        if value is self:
            value = self._seen[key] = compute(node, *extra)
        return cast("T", value)

    def _select(self, kind: str, nodes: Sequence[Node], within: Node | None, rows: frozenset[int] | None) -> list[Node]:
        start, end = 0, len(nodes)
        if within is not None and nodes:
            starts = self._starts.get(kind)
            if starts is None:
                starts = self._starts[kind] = list(map(_START, nodes))
            begin, behind = within.start_byte, within.end_byte
            start = bisect_left(starts, begin)
            while start < end and starts[start] == begin and _is_around(nodes[start], within):
                start += 1
            end = bisect_left(starts, behind, start)
        if rows:
            start = bisect_left(nodes, min(rows), start, end, key=_row)
            end = bisect_right(nodes, max(rows), start, end, key=_row)
        return list(nodes[start:end])


def _is_around(node: Node, inner: Node) -> bool:
    """Whether a node that begins where *inner* does holds it and more, or nothing else."""
    end = inner.end_byte
    return node.end_byte > end or (node.end_byte == end and node.descendant_count > inner.descendant_count)


def _row(node: Node) -> int:
    return node.start_point.row


def parse(text: str, language: Language) -> Node:
    """The root of the text's tree. Rows of nodes count from 0.

    A text that exceeds the limits of parsing or walking has an empty tree with an error.
    """
    raw, grammar = text.encode("utf-8", "replace"), _GRAMMARS[language]
    tree = None if has_endless_line(raw) else parse_tree(raw, grammar)
    if tree is None or is_too_deep(tree.root_node) or has_endless_row(tree.root_node):
        tree = parse_within_limits(_UNREADABLE_TEXT, grammar)
    assert tree is not None  # noqa: S101 - a bracket alone is never too much
    return tree.root_node


def is_unreadable(root: Node) -> bool:
    """Whether `parse` gave the text up."""
    return root.has_error and root.end_byte == len(_UNREADABLE_TEXT)


_UNREADABLE_TEXT: Final = b")"


def ancestors(node: Node, until: Node | None = None) -> Iterator[Node]:
    """From the inside out, without *until* and what is around that. At most DEEPEST: the work grows with the square."""
    around = node.parent
    for _ in range(DEEPEST):
        if around is None or around == until:
            return
        yield around
        around = around.parent


def with_ancestors(node: Node | None, until: Node | None = None) -> Iterator[Node]:
    """The node and its ancestors, below *until*."""
    if node is not None and node != until:
        yield node
        yield from ancestors(node, until)


def outermost(node: Node, goes_on: Callable[[Node], bool]) -> Node:
    """The last ancestor before the first one that does not go on, or the node."""
    for _ in range(DEEPEST):
        around = node.parent
        if around is None or not goes_on(around):
            break
        node = around
    return node


def siblings_above(node: Node, is_part: Callable[[Node], bool]) -> Iterator[Node]:
    """The named siblings right above that are of this kind, nearest first."""
    above = node.prev_named_sibling
    while above is not None and is_part(above):
        yield above
        above = above.prev_named_sibling


def text_of(node: Node | None) -> str:
    raw = None if node is None else node.text  # read once: each access cuts it out of the tree's text
    return "" if raw is None else raw.decode("utf-8", "replace")


def first_child(node: Node | None) -> Node | None:
    """The first named child."""
    return None if node is None else next(iter(node.named_children), None)


def child_of_type(node: Node | None, *types: str) -> Node | None:
    """The first named child of one of these types."""
    return next((child for child in node.named_children if child.type in types), None) if node is not None else None


def descendants(root: Node) -> Iterator[Node]:
    """*root* and every named node below it, in the order of the text."""
    stack = [root.walk().node or root]  # a copy: a node keeps the children that it was asked for
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.named_children))


def comments_in(root: Node, language: Language) -> list[Node]:
    """Every comment, in the order of the text."""
    return find(root, language, _comments(language))


@lru_cache(maxsize=len(Language))
def _comments(language: Language) -> tuple[str, ...]:
    """The types of comments that the grammar knows: a query for others is refused."""
    grammar = load_language(_GRAMMARS[language])
    return tuple(sorted(kind for kind in COMMENTS if grammar.id_for_node_kind(kind, True)))  # noqa: FBT003 - of the library


def consequence_of(branch: Node) -> Node | None:
    """What a branch runs where its condition holds."""
    named = branch.child_by_field_name("consequence") or branch.child_by_field_name("body")
    if named is None and branch.type == "if_expression" and branch.named_child_count > 1:
        return branch.named_children[1]  # Kotlin
    return named


def is_comment(node: Node) -> bool:
    return node.type in COMMENTS


_STRINGS: Final = pattern(
    r"string|template|char_literal|text_block|jsx_text|regex|heredoc|nowdoc|^uninterpreted$|^text(?:_interpolation)?$"
)


def begins_in_text(root: Node, row: int, column: int = 0) -> bool:
    """Whether this position is inside of a string or a comment."""
    return is_in_text(root.descendant_for_point_range((row, column), (row, column + 1)))


def is_in_text(node: Node | None) -> bool:
    """Whether it is a part of a string or a comment."""
    return any(is_comment(around) or _STRINGS.search(around.type) for around in with_ancestors(node))


MOST_WORDS: Final = 5_000
"""In one line. Recovering from an error takes the square of a line's words. Of 18,000 real files none had more."""

_WORD: Final = pattern(rb"\w+|[^\w\s]+")


def has_endless_line(raw: bytes) -> bool:
    """Whether a line holds more than MOST_WORDS words."""
    long = [line for line in raw.splitlines() if len(line) > MOST_WORDS]
    return any(sum(1 for _ in _WORD.finditer(line)) > MOST_WORDS for line in long)


DEEPEST: Final = 250
"""Nodes in nodes. Finding a node's parent takes as long as the tree is deep. Of 5,300 real files none was deeper than 81."""

_STRIDE: Final = 50


def is_too_deep(root: Node) -> bool:
    """Whether some node has more than DEEPEST above it; may be true from DEEPEST - _STRIDE on.

    In the order of the text each node is at most one level below the one before, so that a sample is enough.
    """
    cursor = root.walk()
    for at in range(0, root.descendant_count, _STRIDE):
        cursor.goto_descendant(at)
        if cursor.depth > DEEPEST - _STRIDE:
            return True
    return False


LONGEST_ROW: Final = 500
"""Unnamed children in a row. Searching them takes the square of their number. Of 28,600 real files and parts none had over 34."""


def has_endless_row(root: Node) -> bool:
    """Whether a node of a tree with an error has more than LONGEST_ROW unnamed children in a row."""
    top = root.walk().node if root.has_error else None
    wide = [] if top is None else [top]
    while wide:
        row = 0
        for child in wide.pop().children:
            row = 0 if child.is_named else row + 1
            if row > LONGEST_ROW:
                return True
            if child.has_error and child.descendant_count > LONGEST_ROW:
                wide.append(child)
    return False


_QUOTES: Final = ('"""', "'''")
_BRACKETS: Final = pattern(r"[(\[{)\]}]")
_DEFINES: Final = pattern(r"(?:async def|def|class)\b|@\w")


def build_hunk_source(lines: tuple[DiffLine, ...], language: Language) -> str:
    """The text of these lines of one side, without the end of what began before them if a grammar reads more of it then.

    Lines keep their numbers. Outside of Python no changed line is left out.
    """
    text = join_lines(lines)
    mended = without_partial_string(text, language)
    if mended != text or language in MORE_LANGUAGES:
        return mended
    start = _count_leading_lines(lines, language)
    root = parse(text, language) if start else None
    if root is None or not root.has_error or is_unreadable(root):
        return text
    beheaded = "\n" * start + join_lines(lines[start:])
    rest = parse(beheaded, language)
    is_better = not rest.has_error or _count_error_bytes(rest, language) < _count_error_bytes(root, language)
    return beheaded if is_better else text


def join_lines(lines: tuple[DiffLine, ...]) -> str:
    return "".join(line.text + ("\n" if line.has_newline else "") for line in lines)


def _count_leading_lines(lines: tuple[DiffLine, ...], language: Language) -> int:
    """Count the unchanged lines before the first changed one that end what began before them."""
    depth, start = 0, 0
    for at, line in enumerate(lines):
        if language is Language.PYTHON and _DEFINES.match(line.text):
            return at
        if line.head_line is None or line.base_line is None:
            break
        for bracket in _BRACKETS.findall(line.text):
            depth += 1 if bracket in "([{" else -1
        if depth < 0:
            depth, start = 0, at + 1
    return 0 if language is Language.PYTHON else start


def _count_error_bytes(root: Node, language: Language) -> int:
    return sum(node.end_byte - node.start_byte for node in find(root, language, ("ERROR",)))


def without_partial_string(text: str, language: Language) -> str:
    """A fragment of Python without the part of a triple-quoted string at its beginning or end."""
    for quotes in _QUOTES if language is Language.PYTHON else ():
        count = text.count(quotes)
        if count % 2:
            headless, tailless = _drop_string_head(text, quotes), _drop_string_tail(text, quotes)
            bad_head, bad_tail = (parse(part, language).has_error for part in (headless, tailless))
            rows = text.partition(quotes)[0].count("\n"), text.rpartition(quotes)[2].count("\n")
            text = tailless if bad_head and (not bad_tail or rows[1] < rows[0]) else headless
        elif count and parse(text, language).has_error:  # it may begin in one string and end in another
            between = _drop_string_tail(_drop_string_head(text, quotes), quotes)
            text = text if parse(between, language).has_error else between
    return text


def _drop_string_head(text: str, quotes: str) -> str:
    before, _, after = text.partition(quotes)
    return "\n" * before.count("\n") + " " * len(quotes) + after


def _drop_string_tail(text: str, quotes: str) -> str:
    start, _, rest = text.rpartition(quotes)
    return start + 2 * quotes + "\n" * rest.count("\n")
