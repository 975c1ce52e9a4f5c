"""`.github/assay.yml`: its text to configuration, or to what is wrong in it, key by key.

Does not fetch it and does not know its earlier versions (`worker.dossier.config` does). Invariant: any text gives a reading, in
bounded time, never an exception; a mistake takes away the entry in which it stands and nothing else; and each mistake has its
line, what was expected there and what was found.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, cast

from pydantic import ValidationError

from worker.domain.config.config import RepositoryConfig
from worker.domain.config.config_path import CONFIG_PATH, MISNAMED_CONFIG_PATH
from worker.domain.config.schema import ConfigKeys, to_config
from worker.domain.dossier.dossier import ConfigOrigin, ConfigText, Policy
from worker.domain.model import Frozen
from worker.domain.pattern import pattern
from worker.domain.value import Value
from worker.dossier.strict_yaml import (
    MOST_BYTES,
    PositionsByPath,
    StrictYamlError,
    YamlPosition,
    load_yaml_with_positions,
)

MOST_PROBLEMS: Final = 20
LONGEST_FOUND: Final = 40
LONGEST_NAME: Final = 60
"""No key's name is longer; what is longer is not looked for among them."""

EXPECTED_TYPES: Final[Mapping[str, str]] = {
    "bool_type": "true or false",
    "dict_type": "keys with values, each on a line of its own",
    "model_type": "keys with values, each on a line of its own",
    "tuple_type": "a list",
    "string_type": "a text",
    "string_too_short": "a text that is not empty",
    "string_pattern_mismatch": "a pattern as in a .gitignore, without ! and without white space before it",
}
"""What pydantic's errors say was expected, where they carry no more than their kind."""

UNREADABLE_TEXT: Final = f"not a text of up to {MOST_BYTES // 1024} KB"


class Problem(Value):
    """One mistake. `key`: its path, empty for the whole file."""

    key: str
    line: int
    column: int
    explanation: str

    @property
    def message(self) -> str:
        return f"`{self.key}`: {self.explanation}" if self.key else self.explanation


class ConfigReading(Value):
    """What can be read of a file, by its keys, and what can't."""

    values: Mapping[str, object] = MappingProxyType({})
    problems: tuple[Problem, ...] = ()


@lru_cache(maxsize=8)
def read_config(text: str | None) -> ConfigReading:
    """Read a file. None: what is there is no text, or too long to be read."""
    if text is None:
        return ConfigReading(problems=(Problem("", 1, 1, UNREADABLE_TEXT),))
    try:
        value, marks = load_yaml_with_positions(text.removeprefix("\ufeff"))
    except StrictYamlError as error:
        return ConfigReading(problems=(Problem("", error.line or 1, error.column or 1, error.problem),))
    if value is None:
        return ConfigReading()
    try:
        return ConfigReading(_valid_values(value))
    except ValidationError as error:
        problems = sorted(_problems(error, value, marks), key=lambda problem: (problem.line, problem.column))
        return ConfigReading(_readable_values(value), tuple(problems))


def _valid_values(value: object) -> Mapping[str, object]:
    """The keys of a file without a mistake. Raises ValidationError."""
    read = ConfigKeys.model_validate_json(json.dumps(value), strict=True)
    values = {name: getattr(read, name) for name in ConfigKeys.model_fields if name in read.model_fields_set}
    return MappingProxyType(values)


def _readable_values(value: object) -> Mapping[str, object]:
    """The keys of what is left once each entry with a mistake is taken out of *value*."""
    try:
        return _valid_values(value)
    except ValidationError as error:
        wrong = {
            _path(details["loc"])
            for details in error.errors(include_url=False, include_context=False, include_input=False)
        }
    if () in wrong:
        return MappingProxyType({})
    for *above, last in sorted(
        wrong, reverse=True
    ):  # of a list the last entry first, so that the others keep their numbers
        del cast("Any", _value_at(value, above))[last]
    return _readable_values(value)


def _path(location: Sequence[str | int]) -> tuple[str | int, ...]:
    return tuple(part for part in location if part != "[key]")


def _problems(error: ValidationError, value: object, marks: PositionsByPath) -> Iterator[Problem]:
    for details in error.errors(include_url=False, include_input=False)[:MOST_PROBLEMS]:
        is_key = details["loc"][-1:] == ("[key]",) or details["type"] == "extra_forbidden"
        path = _path(details["loc"])
        stands = marks[path]
        position = stands.key if is_key else stands.value
        context = cast("Mapping[str, Any]", details.get("ctx") or {})
        yield _build_problem(
            path,
            position,
            _explain_unknown(path) if is_key else _expected(details["type"], context, _value_at(value, path)),
        )


def _build_problem(path: Sequence[str | int], position: YamlPosition, explanation: str) -> Problem:
    return Problem(_name(path), position.line, position.column, explanation)


def _name(path: Sequence[str | int]) -> str:
    """`never_send[2]`, `authors.people`; a name of others is cut."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{_shorten(part)}" for part in path]
    return "".join(parts).removeprefix(".")


def _value_at(value: object, path: Sequence[str | int]) -> object:
    for part in path:
        value = cast("Any", value)[part]
    return value


def _expected(kind: str, context: Mapping[str, Any], value: object) -> str:
    match kind:
        case "literal_error" | "enum":
            expected = str(context["expected"]).replace("'", "")
        case "string_too_long":
            expected = f"at most {context['max_length']} characters"
        case "too_long":
            expected = f"at most {context['max_length']} entries"
        case "value_error":
            expected = str(context["error"])
        case _:
            expected = EXPECTED_TYPES[kind]
    return f"expected {expected}, found {_format_value(value)}"


def _format_value(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case dict():
            return "keys with values"
        case list():
            return f"a list of {len(cast('list[object]', value))}"
        case _:
            return _shorten(json.dumps(value, ensure_ascii=False))


def _explain_unknown(path: Sequence[str | int]) -> str:
    """That there is no such key, and the one that may be meant."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for a mistake

    *above, name = path
    names = list_keys(above)
    near = get_close_matches(str(name), names, 1, 0.6) if len(str(name)) <= LONGEST_NAME else []
    if near:
        return f"there is no such key; is `{near[0]}` meant?"
    return (
        f"there is no such key; known are {', '.join(names)}"
        if len(names) <= MOST_PROBLEMS
        else ("there is no such key; docs/signals.md names all")
    )


def list_keys(above: Sequence[str | int]) -> list[str]:
    """The keys that may stand at the top (nothing *above*), or in one of the keys there."""
    schema = ConfigKeys.model_json_schema()
    if above:
        schema = _resolve(schema["properties"][above[0]], schema)
        if names := schema.get("propertyNames"):
            return list(_resolve(names, ConfigKeys.model_json_schema())["enum"])
    return list(schema["properties"])


def _resolve(part: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = part.get("$ref")
    return schema["$defs"][reference.rpartition("/")[2]] if reference else part


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST_FOUND else f"{text[:LONGEST_FOUND]} …"


MISNAMED_PROBLEM: Final = Problem("", 1, 1, f"`{MISNAMED_CONFIG_PATH}` is not read; the file is called `{CONFIG_PATH}`")


class RefusedConfig(Value):
    """A file with a mistake.

    `is_replaced`: its last version without one is known, and holds for what can't be read. `withholds_all`: what it says of
    `never_send` can't be read in any version, so no file is sent.
    """

    origin: ConfigOrigin
    problems: tuple[Problem, ...]
    is_replaced: bool
    is_misnamed: bool = False
    withholds_all: bool = False


class EffectiveConfig(Value):
    """What holds. `origins`: whose file sets a key; what is not in it has its default."""

    config: RepositoryConfig = RepositoryConfig()
    origins: Mapping[str, ConfigOrigin] = MappingProxyType({})
    refused_files: tuple[RefusedConfig, ...] = ()


def resolve_config(texts: Sequence[ConfigText]) -> EffectiveConfig:
    """The repository's file over its owner's, key by key at the top level.

    A mistake may hide what its author wrote to protect the repository. So a file with a mistake accepts nothing alone, and one
    whose `never_send` can't be read, in any version, sends nothing.
    """
    values: dict[str, object] = {}
    origins: dict[str, ConfigOrigin] = {}
    refused: list[RefusedConfig] = []
    for config in sorted(texts, key=lambda text: text.origin is ConfigOrigin.REPOSITORY):
        reading = ConfigReading(problems=(MISNAMED_PROBLEM,)) if config.is_misnamed else read_config(config.text)
        own = dict(reading.values)
        is_hidden = config.last_good is None and any(map(_hides_never_send, reading.problems))
        if reading.problems:
            refused.append(
                RefusedConfig(
                    config.origin, reading.problems, config.last_good is not None, config.is_misnamed, is_hidden
                )
            )
            own = _complete_values(reading, read_config(config.last_good or ""))
        origins |= dict.fromkeys(own, config.origin)
        if reading.problems:
            own["accept_alone"] = False
            if is_hidden:
                own["never_send"] = ("**",)
        values |= own
    return EffectiveConfig(to_config(values), origins, tuple(refused))


def _hides_never_send(problem: Problem) -> bool:
    """It is of the whole file, of the key itself, or of an unknown key that is nearly called so."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for a mistake

    key = _KEY.split(problem.key)[0][:LONGEST_NAME]
    return not key or bool(get_close_matches(key.casefold(), ["never_send"], cutoff=0.6))


def _complete_values(reading: ConfigReading, last_good: ConfigReading) -> dict[str, object]:
    """What a file with a mistake sets, and what its last version without one does: entry by entry in a key with a mistake."""
    wrong = {_KEY.split(problem.key)[0] for problem in reading.problems}
    before = last_good.values
    both = {
        name: _merge(before[name], value) for name, value in reading.values.items() if name in wrong & before.keys()
    }
    return {**before, **reading.values, **both}


_KEY: Final = pattern(r"[.\[]")


def _merge(before: object, now: object) -> object:
    match now:
        case dict():
            return {**cast("dict[object, object]", before), **cast("dict[object, object]", now)}
        case tuple():
            return tuple(dict.fromkeys((*cast("tuple[object, ...]", before), *cast("tuple[object, ...]", now))))
        case _:
            newer = cast("Frozen", now)
            return cast("Frozen", before).model_copy(
                update={name: getattr(newer, name) for name in newer.model_fields_set}
            )


def build_policy(texts: Sequence[ConfigText]) -> Policy | None:
    """By what the judge judges; None where the files set nothing of it, which is as if there were none."""
    policy = resolve_config(texts).config.policy
    return None if policy == Policy() else policy
