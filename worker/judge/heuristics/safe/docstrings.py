"""Docstrings in Python: which are only words, and what in them is more.

Does not know the rest of the project. Invariant: a docstring that something may read at run time (a command's help,
a tool's or a model's description, `__doc__`) is no mere text, and neither is an example in it.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.domain.value import Value
from worker.judge.heuristics.safe.prose import code_lines
from worker.judge.heuristics.syntax import is_comment, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_DEEPEST: Final = 20
"""Functions in classes in functions: who is deeper is not looked at."""

_READS: Final = pattern(
    r"__doc__|\bgetdoc\b|\bdocopt\(|\bget_docstring\b|\bdocstring_parser\b|\buse_attribute_docstrings\b"
    r"|^[^\S\n]*(?:import|from)\s+(fire|plac|defopt|cyclopts|tyro|clize|baker|argh|pydantic_ai|langchain\w*|crewai|autogen\w*|smolagents|agents|mcp|fastmcp"
    r"|llama_index|dspy|marvin|instructor|google\.adk|strands|semantic_kernel|haystack|openai|anthropic|langgraph|controlflow|agno|inspect_ai)\b",
    re.MULTILINE,
)
"""A file that says so reads docstrings itself, or hands plain functions to what does."""

_READ_PLACES: Final = pattern(
    r"(^|/)_?(tools?|toolkits?|toolsets?|commands?|cli|prompts?|skills?|agents?|mcp\w*|management|dags|migrations)(/|\.py$)",
    re.IGNORECASE,
)
_PLAIN_DECORATORS: Final = pattern(
    r"@\s*((functools|typing|t|te|typing_extensions|abc|contextlib|types|dataclasses|attr|attrs|pytest|unittest|warnings|enum)\.)?(property|staticmethod"
    r"|classmethod|abstractmethod|abstractproperty|\w+\.(setter|getter|deleter)|contextmanager|asynccontextmanager|cached_property|lru_cache|cache|wraps"
    r"|overload|override|final|runtime_checkable|total_ordering|singledispatch\w*|deprecated|attrs|attributes|s|define|frozen|mutable|dataclass|no_type_check|mark\.\w+"
    r"|patch(\.\w+)*|coroutine|skip\w*|unique|implementer)\s*(\(|$)"
)
_PLAIN_BASES: Final = pattern(
    r"(\w+\.)*(object|Exception|BaseException|\w+(Error|Exception|Warning|Interrupt|Exit)|Warning|ABC|Generic|Protocol|TestCase|\w+TestCase|type|dict|list|tuple|set|str|int|float|bytes|Thread|Mapping|MutableMapping|Sequence|Iterator|Iterable|Callable|\w+IO\w*|\w*IO|Mixin|\w+Mixin"
    r"|local|Formatter|Handler|Filter|Logger|NodeVisitor|NodeTransformer|Process)(\[.*)?",
    re.DOTALL,
)
_READING_BASES: Final = pattern(
    r"(Tool|Toolkit|Toolset|Command|Cmd|Group|Agent|Skill|Action|Resource|View|ViewSet|Endpoint|Plugin|Magics|Cog|Schema|Model|Serializer|Signature)s?\b"
)
"""Of such a class methods are commands, too."""

_SCHEMAS: Final = pattern(
    r"\b(pydantic|msgspec|marshmallow|strawberry|graphene|sqlmodel|apischema|dataclasses_json(schema)?|ninja|fastapi)\b"
)


class Docstring(Value):
    """`owner` is the name of what it documents, from the module inwards."""

    owner: tuple[str, ...]
    text: str


def docstring_of(children: "Sequence[Node]") -> "Node | None":
    """The string that is the docstring of a module or of a body, out of what stands in it."""
    first = next((child for child in children if not is_comment(child)), None)
    if first is None or first.type != "expression_statement" or first.child_count != 1:
        return None
    found = first.children[0]
    return found if found.type == "string" and _DOCSTRING.match(text_of(found)) else None


_DOCSTRING: Final = pattern(r"[rRuU]?[\"']")


def is_place_of_texts(path: str, text: str) -> bool:
    """Whether in this file a docstring may be just a text."""
    return not _READ_PLACES.search(path) and not _READS.search(text)


def has_schemas(text: str) -> bool:
    """Whether classes of this file may be described to others by their docstrings."""
    return _SCHEMAS.search(text) is not None


def is_text(owners: "Sequence[Node]", *, schemas: bool) -> bool:
    """Whether nothing around it is seen to read the docstring: no decorator and no base class with a life of its own.

    *owners* are the definitions that it stands in, with their decorations, from the module inwards.
    """
    if len(owners) > _DEEPEST or not all(map(_is_plainly_decorated, owners)):
        return False
    inmost = next((one for one in reversed(owners) if one.type == "class_definition"), None)
    if inmost is None:
        return True
    bases = _bases(inmost)
    if inmost is owners[-1] and not all(map(_PLAIN_BASES.fullmatch, bases)):
        return not schemas and not any(map(_DESCRIBED_BASES.search, bases)) and not _has_fields(inmost)
    return not any(map(_READING_BASES.search, bases)) and not (schemas and inmost is owners[-1])


_DESCRIBED_BASES: Final = pattern(
    r"(Tool|Toolkit|Toolset|Command|Cmd|Group|Agent|Skill|Action|View|ViewSet|Endpoint|Plugin|Schema|Model|Serializer|Signature|Type|Object|Mutation|Query"
    r"|Input|Output|Interface|Form|Config|Settings|Params|Options|Task|Flow|Struct|Document|Entity|Enum|Flag|Dict|Tuple)s?\b"
)
"""Of such a class the docstring may be what others are told about it."""


def _has_fields(definition: "Node") -> bool:
    """Whether it declares fields, as a model does that some base class may turn into a schema."""
    body = definition.child_by_field_name("body")
    statements = body.named_children if body is not None else []
    return any(part.child_by_field_name("type") is not None for one in statements for part in one.named_children[:1])


def is_text_by_its_heading(heading: str) -> bool:
    """The same for a class of which no more is known than the line that begins it."""
    found = _HEADING.fullmatch(heading.strip())
    bases = found[1] or "" if found is not None else None
    return bases is not None and not _DESCRIBED_BASES.search(bases) and not _READING_BASES.search(bases)


_HEADING: Final = pattern(r"class \w+\s*(?:\(([^()]*)\))?:")


def _is_plainly_decorated(owner: "Node") -> bool:
    marks = (child for child in owner.children if child.type == "decorator")
    return all(_PLAIN_DECORATORS.match(text_of(mark)) for mark in marks)


def _bases(definition: "Node") -> list[str]:
    named = definition.child_by_field_name("superclasses")
    return [text_of(one) for one in named.named_children if not is_comment(one)] if named is not None else []


def are_only_words(before: "Sequence[Docstring]", after: "Sequence[Docstring]") -> bool:
    """Whether between two versions of a file the docstrings differ in their words, and nowhere in what is more.

    Examples may be tested. And where a line stands is markup: one that kept its words keeps its place.
    """
    was, now = ({one.owner: one.text for one in some} for some in (before, after))
    pairs = ((was.get(owner, ""), now.get(owner, "")) for owner in was.keys() | now.keys())
    return all(old == new or is_other_wording(_lines(old), _lines(new)) for old, new in pairs)


def is_other_wording(old: "Sequence[str]", new: "Sequence[str]") -> bool:
    """Whether two versions of a docstring, line by line, hold the same examples and the same layout."""
    return _examples(old) == _examples(new) and _stay(old, new)


def _lines(text: str) -> list[str]:
    """The lines without quotes and common indentation; what is left of it is relative."""
    first, *rest = _QUOTES.sub("", text).expandtabs().split("\n")
    indent = min(
        (len(line) - len(line.lstrip()) for line in (*(one for one in rest if one.strip()), *rest[-1:])), default=0
    )
    return [first.strip(), *(line[indent:].rstrip() for line in rest)]


_QUOTES: Final = pattern(r"^[A-Za-z]?(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')$")


def _examples(lines: "Sequence[str]") -> list[str]:
    code = code_lines("a.rst", lines) | code_lines("a.md", lines)
    found: list[str] = []
    in_example = False
    for number, line in enumerate(lines, start=1):
        in_example = bool(line) and (in_example or line.lstrip().startswith(">>>"))
        if in_example or (number in code and line):
            found.append(line.strip())
    return found


def _stay(old: "Sequence[str]", new: "Sequence[str]") -> bool:
    was, now = ({line.strip(): len(line) - len(line.lstrip()) for line in lines[1:] if line} for lines in (old, new))
    return all(was[words] == now[words] for words in was.keys() & now.keys())
