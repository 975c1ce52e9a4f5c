"""YAML (or JSON) without surprises, for texts that people and agents write: cases, rubrics, configuration.

It gives text-keyed mappings, lists, text, plain decimal numbers, booleans and null only, in bounded time; everything else is one
StrictYamlError. `on`, `no`, `0777`, `12:30` and dates stay text.
"""

import json
from collections.abc import Callable, Hashable, Mapping
from typing import Final, NamedTuple, Never, cast

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from worker.domain.pattern import pattern

MOST_BYTES: Final = 64 * 1024
MOST_LEVELS: Final = 32

STRICT_TYPES: Final = (
    ("tag:yaml.org,2002:null", r"~|null|", ("~", "n", "")),
    ("tag:yaml.org,2002:bool", r"true|false", ("t", "f")),
    ("tag:yaml.org,2002:int", r"[-+]?(?:0|[1-9][0-9]{0,17})", tuple("-+0123456789")),
    ("tag:yaml.org,2002:float", r"[-+]?[0-9]{1,18}\.[0-9]{1,18}(?:[eE][-+]?[0-9]{1,2})?", tuple("-+0123456789")),
)


class StrictYamlError(ValueError):
    """The first problem, and its line and column (from 1) where known."""

    def __init__(self, problem: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(problem if line is None else f"line {line}: {problem}")
        self.problem = problem
        self.line = line
        self.column = column


class YamlPosition(NamedTuple):
    """A line and a column, from 1."""

    line: int
    column: int


class YamlPositions(NamedTuple):
    """The position of a value, and that of its key or dash; both are the same for the whole text."""

    key: YamlPosition
    value: YamlPosition


Path = tuple[str | int, ...]
PositionsByPath = Mapping[Path, YamlPositions]


def load_strict_yaml(text: str) -> object:
    """Load one document. Raises StrictYamlError, never anything else."""
    return _load_whole(text, lambda: _load_json(text) if text.lstrip().startswith(("{", "[")) else _load_yaml(text))


def load_yaml_with_positions(text: str) -> tuple[object, PositionsByPath]:
    """The same for YAML alone, with the position of each key and value by its path. Raises StrictYamlError."""
    marks: dict[Path, YamlPositions] = {}

    def load() -> object:
        loader = StrictLoader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        value = cast("object", loader.construct_document(node))  # pyright: ignore[reportUnknownMemberType] - PyYAML's stubs leave it untyped
        start = _position(node.start_mark)
        _record_positions(node, (), YamlPositions(start, start), marks)  # last: now every key is known to be a text
        return value

    return _load_whole(text, lambda: _translate_errors(load)), marks


def _load_whole(text: str, load: Callable[[], object]) -> object:
    if len(text.encode(errors="replace")) > MOST_BYTES:
        raise StrictYamlError(f"longer than {MOST_BYTES // 1024} KB")
    try:
        value = load()
        json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair, written as an escape
    except UnicodeEncodeError:
        raise StrictYamlError("a character that does not exist (half of a surrogate pair)") from None
    return value


def _record_positions(node: yaml.Node, path: Path, positions: YamlPositions, marks: dict[Path, YamlPositions]) -> None:
    marks[path] = positions
    if isinstance(node, yaml.MappingNode):
        children = [(key, key.value, value) for key, value in node.value]
    elif isinstance(node, yaml.SequenceNode):
        children = [(item, index, item) for index, item in enumerate(node.value)]
    else:
        return
    for key, part, value in children:
        inner = YamlPositions(_position(key.start_mark), _position(value.start_mark))
        _record_positions(value, (*path, part), inner, marks)


def _position(mark: yaml.Mark) -> YamlPosition:
    return YamlPosition(mark.line + 1, mark.column + 1)


def load_operator_yaml(text: str) -> object:
    """`load_strict_yaml` for the operator's files: by libyaml, which is six times as fast and forgives tabs behind a value.

    A text that libyaml refuses, and every text where PyYAML comes without it, goes to `load_strict_yaml`. Raises StrictYamlError.
    """
    if OwnLoader is None or len(text) > MOST_BYTES or text.lstrip().startswith(("{", "[")):
        return load_strict_yaml(text)
    try:
        value: object = OwnLoader(text).get_single_data()
        json.dumps(value, ensure_ascii=False).encode()
    except (yaml.YAMLError, ValueError, OverflowError):
        return load_strict_yaml(text)
    return value


def _load_json(text: str) -> object:
    """JSON if it is JSON (which may hold tabs), else YAML in its flow style."""
    try:
        return json.loads(text, object_pairs_hook=_reject_duplicate_keys, parse_constant=_reject_constant)
    except StrictYamlError:
        raise
    except (ValueError, RecursionError):
        return _load_yaml(text)


def _reject_duplicate_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made: dict[str, object] = {}
    for key, value in pairs:
        if key in made:
            raise StrictYamlError(f'the key "{key}" stands twice')
        made[key] = value
    return made


def _reject_constant(name: str) -> Never:
    raise StrictYamlError(f"{name} is not a number we read")


def _load_yaml(text: str) -> object:
    return _translate_errors(lambda: StrictLoader(text).get_single_data())


def _translate_errors(load: Callable[[], object]) -> object:
    """Load, and raise PyYAML's errors as one StrictYamlError."""
    try:
        return load()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        position = _position(mark) if mark else (None, None)
        raise StrictYamlError(error.problem or "not YAML", *position) from error
    except yaml.YAMLError as error:
        raise StrictYamlError("a character that YAML does not allow") from error
    except (ValueError, OverflowError) as error:  # an escape like "\UFFFFFFFF"
        raise StrictYamlError("an escape that names no character") from error


class _StrictComposer(Composer, SafeConstructor, Resolver):
    """PyYAML's safe half without aliases, tags, deep nesting, duplicate keys and guessed types; subclasses add a parser."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - PyYAML's own way to set them, per class
    peek_event: "Callable[[], yaml.Event]"
    _level = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event, problem = self.peek_event(), None
        if isinstance(event, yaml.AliasEvent):
            problem = "aliases are not allowed"
        elif getattr(event, "tag", None) is not None:
            problem = "tags are not allowed"
        elif self._level >= MOST_LEVELS:
            problem = "nested too deeply"
        if problem is not None:
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
        self._level += 1
        node = super().compose_node(parent, index)
        self._level -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:  # noqa: FBT001, FBT002 - PyYAML's signature
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:str":
                raise yaml.MarkedYAMLError(problem="a key that is not text", problem_mark=key.start_mark)
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f'the key "{key.value}" stands twice', problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


class StrictLoader(_StrictComposer, yaml.SafeLoader):
    """By PyYAML's own parser."""

    def __init__(self, text: str) -> None:
        yaml.SafeLoader.__init__(self, text)


class _ByLibyaml(_StrictComposer, yaml.CSafeLoader):
    """By libyaml's parser. PyYAML's class comes last: it has its own composer, which would skip our checks."""

    def __init__(self, text: str) -> None:
        yaml.CSafeLoader.__init__(self, text)
        Composer.__init__(self)


OwnLoader: Final = _ByLibyaml if yaml.__with_libyaml__ else None


for _tag, _form, _first in STRICT_TYPES:
    _StrictComposer.add_implicit_resolver(  # pyright: ignore[reportUnknownMemberType] - PyYAML's stubs leave it untyped
        _tag, pattern(rf"^(?:{_form})$"), list(_first)
    )
