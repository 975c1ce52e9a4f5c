"""Whether both versions of a source file are the same program: only comments, docstrings and layout differ.

Does not trust lines: both versions are parsed, and what is left without comments and layout must be the same tree.
Invariant: a comment that a tool reads is no comment but a token, and so is a docstring that a program may read.
"""

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Final, NamedTuple

from worker.domain.diff import ChangeKind, Hunk
from worker.domain.pattern import pattern
from worker.judge.heuristics.change import ChangedFile, is_parsable
from worker.judge.heuristics.paths import FURTHER, Language, Role, is_signed_by_a_generator, role_of
from worker.judge.heuristics.safe import docstrings, rust_docs
from worker.judge.heuristics.safe.directives import directives_in, is_licence
from worker.judge.heuristics.safe.docstrings import Docstring
from worker.judge.heuristics.safe.fragments import is_same_in_fragments
from worker.judge.heuristics.safe.layout import children_of, in_order, kind_of, leaf_of, without_layout
from worker.judge.heuristics.syntax import is_comment, parse, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_LARGEST: Final = 400_000

_TEST_INPUTS: Final = pattern(
    r"(^|/)(ui|compile-?fail|run-?pass|trybuild|fixtures?|test-?data|snapshots?|__snapshots__|goldens?|pass|fail|cases|corpus|examples?|snippets?)/"
)
_COPIES: Final = pattern(r"(^|/)deno(_dist)?/|\.d(?=\.[mc]?ts$)")
"""Published copies and declarations: not production, but as harmless to comment as any other file."""

_CLOSE: Final = "close"
_OWNERS: Final = frozenset({"decorated_definition", "class_definition", "function_definition"})


class _Token(NamedTuple):
    kind: str
    text: str


class _Open(NamedTuple):
    """A node to come, the type of the node that it stands in, and whether a macro of Rust gets to see it."""

    node: "Node"
    parent: str
    is_seen: bool


def is_same_program(file: ChangedFile) -> bool:
    """Whether both versions of the file are proved to be the same program.

    In no language of FURTHER: which comments their tools read, and which layout means nothing, is not written down.
    """
    diff, language = file.diff, file.language
    if diff.change is not ChangeKind.MODIFIED or diff.old_mode != diff.new_mode or not diff.hunks or language is None:
        return False
    if language in FURTHER or _TEST_INPUTS.search(file.path) or _is_made_elsewhere(file):
        return False
    if file.head is None or file.base is None:
        return file.head is None and is_same_in_fragments(file)
    texts = file.base, file.head
    if not all(len(text) <= _LARGEST and is_parsable(text) for text in texts):
        return False
    if language is Language.GO and 'import "C"' in file.head:
        return False
    return _is_same(texts, file, language)


def _is_made_elsewhere(file: ChangedFile) -> bool:
    """Whether it is generated or vendored: who edits it by hand may lose it, however harmless."""
    path = _COPIES.sub("/", file.path)
    text = file.head or "\n".join(line.text for line in file.diff.lines())
    return role_of(path) is Role.FOREIGN or is_signed_by_a_generator(text)


def _is_same(texts: tuple[str, str], file: ChangedFile, language: Language) -> bool:
    trees = [parse(text, language) for text in texts]
    if any(tree.has_error for tree in trees):
        return False
    shown = [set(chain.from_iterable(side)) for side in zip(*map(_rows, file.diff.hunks), strict=True)]
    readers = [_Reader(text, language, rows, file.path) for text, rows in zip(texts, shown, strict=True)]
    both = zip_longest(*(reader.tokens(tree) for reader, tree in zip(readers, trees, strict=True)))
    before, after = readers
    return all(old == new for old, new in both) and docstrings.are_only_words(before.docstrings, after.docstrings)


def _rows(hunk: Hunk) -> tuple[range, range]:
    """The rows (from 0) that the hunk shows of both sides: its changed lines and what stands around them."""
    return (
        range(hunk.base_start - 1, hunk.base_start + hunk.base_count),
        range(hunk.head_start - 1, hunk.head_start + hunk.head_count),
    )


class _Reader:
    """Reads the tokens of one version: the program, and of its comments only what tools read.

    Comments and docstrings are looked at only in the rows that the diff shows: the others stand as they stood.
    """

    def __init__(self, text: str, language: Language, shown: Container[int], path: str) -> None:
        self.docstrings: list[Docstring] = []
        self._language = language
        self._shown = shown
        self._has_texts = language is Language.PYTHON and docstrings.is_place_of_texts(path, text)
        self._has_schemas = docstrings.has_schemas(text)
        self._owners: list[tuple[Node, str]] = []
        self._named: Counter[tuple[str, ...]] = Counter()

    def tokens(self, root: "Node") -> Iterator[_Token]:
        """Every node with its end, leaves with their text."""
        stack: list[_Open | _Token] = [_Open(root, "", is_seen=False)]
        while stack:
            top = stack.pop()
            if not isinstance(top, _Open):
                self._leave(top)
                yield top
                continue
            kind = kind_of(top.node, top.parent, self._language)
            text = leaf_of(top.node, top.parent, self._language)
            if text is not None:
                yield _Token(kind, text if top.node.is_named else "")
                continue
            self._enter(top.node)
            yield _Token("open", kind)
            stack.append(_Token(_CLOSE, kind))
            stack.extend(reversed(self._inside(top)))

    def _enter(self, node: "Node") -> None:
        if node.type in _OWNERS:
            name = text_of(node.child_by_field_name("name"))
            path = (*self._path(), name)
            self._owners.append((node, f"{name}#{self._named[path]}"))
            self._named[path] += 1

    def _leave(self, token: "_Token") -> None:
        if token.kind == _CLOSE and token.text in _OWNERS:
            self._owners.pop()

    def _path(self) -> tuple[str, ...]:
        return tuple([name for _, name in self._owners])

    def _inside(self, top: "_Open") -> "list[_Open | _Token]":
        """What the node holds: comments that count are tokens already."""
        node, language = top.node, self._language
        children = children_of(node, language)
        known = self._docstring(children) if self._has_texts and _is_body(top) else None
        code = [child for child in children if not is_comment(child) and child != known]
        kept = without_layout(node, code, language)
        remarks = self._remarks(children, is_seen=top.is_seen)
        for_macros = rust_docs.rewritten(children) if language is Language.RUST else [False] * len(children)
        seen = {child.id: top.is_seen or mark for child, mark in zip(children, for_macros, strict=True)}
        if not remarks:
            return [_Open(child, node.type, seen[child.id]) for child in in_order(node, kept, language)]
        meant = {child.id for child in kept}
        return [
            part
            for at, child in enumerate(children)
            for part in (remarks.get(at, ()) if child.id not in meant else [_Open(child, node.type, seen[child.id])])
        ]

    def _docstring(self, children: "Sequence[Node]") -> "Node | None":
        """The statement that is a docstring and nothing but a text; it is noted, and no token."""
        found = docstrings.docstring_of(children)
        owners = [owner for owner, _ in self._owners]
        if found is None or not self._is_shown(found) or not docstrings.is_text(owners, schemas=self._has_schemas):
            return None
        self.docstrings.append(Docstring(self._path(), text_of(found)))
        return found.parent

    def _is_shown(self, node: "Node") -> bool:
        return any(row in self._shown for row in range(node.start_point.row, node.end_point.row + 1))

    def _remarks(self, children: "Sequence[Node]", *, is_seen: bool) -> "dict[int, list[_Token]]":
        """The comments that are more than words, by their place."""
        shown = {at: text_of(child) for at, child in enumerate(children) if is_comment(child) and self._is_shown(child)}
        found = {at: counted for at, words in shown.items() if (counted := self._counted(children, at, words))}
        if self._language is Language.JAVA:
            found |= {at: [_Token("deprecated", "")] for at, words in shown.items() if "@deprecated" in words}
        if self._language is Language.RUST and any(map(rust_docs.is_doc, shown.values())):
            marks = zip(rust_docs.in_examples(children), rust_docs.rewritten(children), strict=True)
            more = [is_seen or example or rewritten for example, rewritten in marks]
            found |= {at: [_Token("doc", words)] for at, words in shown.items() if more[at] and rust_docs.is_doc(words)}
        return found

    def _counted(self, children: "Sequence[Node]", at: int, words: str) -> "list[_Token]":
        if "\n" in words.strip() and _is_between_code(children, at):
            return [_Token("comment", words)]
        read = directives_in(words, self._language)
        return [_Token("licence" if is_licence(words) else _gap(children, at), read)] if read else []


def _is_body(top: _Open) -> bool:
    return top.node.type == "module" or (top.node.type == "block" and top.parent in _OWNERS)


def _rows_between(children: "Sequence[Node]", at: int) -> tuple[int, int]:
    """How many rows above it the code before ends, and how many below it the code after begins; -1 for none."""
    comment = children[at]
    above = comment.start_point.row - children[at - 1].end_point.row if at else -1
    below = children[at + 1].start_point.row - comment.end_point.row if at + 1 < len(children) else -1
    return above, below


def _is_between_code(children: "Sequence[Node]", at: int) -> bool:
    """A comment over several lines ends a line of Go or JavaScript where it stands in the middle of one."""
    return _rows_between(children, at) == (0, 0)


def _gap(children: "Sequence[Node]", at: int) -> str:
    """How far it is to what it speaks of: a directive means its own line or the next."""
    above, below = _rows_between(children, at)
    return f"comment {min(above, 1)} {min(below, 2)}"
