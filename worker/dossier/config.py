"""`.github/assay.yml`: its text to configuration and mistakes, which version counts, and what a pull request changes about it.

Any text gives a reading. A mistake takes away the entry in which it stands, and no more; the last version at the same base
without a mistake takes its place.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from enum import Enum
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, cast

from pydantic import ValidationError

from worker.domain.config.config import CONFIG_PATH, MISNAMED_CONFIG_PATH, RepositoryConfig
from worker.domain.config.schema import ConfigKeys, to_config, to_keys
from worker.domain.dossier.dossier import ConfigOrigin, ConfigText, Dossier, Policy
from worker.domain.ids import hash_base
from worker.domain.model import Frozen
from worker.domain.pattern import pattern
from worker.domain.ports import LastGoodConfigs
from worker.domain.request.judge_request import PullRef
from worker.domain.value import Value
from worker.domain.verdict.verdict import AbstainReason
from worker.dossier.diff.parser import ChangeKind, DiffError, diff_of
from worker.dossier.repo_rules.files import is_rules_file
from worker.dossier.strict_yaml import (
    MOST_BYTES,
    PositionsByPath,
    StrictYamlError,
    YamlPosition,
    load_yaml_with_positions,
)


def with_last_good(dossier: Dossier, pull: PullRef, configs: LastGoodConfigs) -> Dossier:
    """Put the last good text beside each with a mistake, remember those without, and tell the door. Raises Unavailable."""
    broken = {text.origin for text in dossier.config if text.is_misnamed or read_config(text.text).problems}
    good = {text.origin: text.text for text in dossier.config if text.origin not in broken and text.text is not None}
    base = hash_base(dossier.pull_request.base_ref)
    before = configs.exchange(pull, base, good, broken)
    if before:
        texts = [text.model_copy(update={"last_good": before.get(text.origin)}) for text in dossier.config]
        dossier = dossier.model_copy(update={"config": tuple(texts)})
    configs.store_quiet_window(pull, base, config_of(dossier).quiet_window)
    return dossier


def config_of(dossier: Dossier) -> RepositoryConfig:
    """What steers the judging of this pull request; its policy stands in the dossier by itself."""
    return resolve_config(dossier.config).config


def ci_wait(dossier: Dossier, longest: timedelta) -> timedelta | None:
    """How long this repository waits for CI, at most *longest*; None: as the operator set it."""
    chosen = config_of(dossier).ci_wait
    return None if chosen is None else min(timedelta(seconds=chosen), longest)


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


NESTED_KEYS: Final = frozenset({"categories", "abstains", "signals", "authors", "feedback", "review"})
DEFAULT_VALUES: Final[Mapping[str, object]] = {
    "signals": "fact",
    f"abstains.{AbstainReason.PAUSED}": "neutral",
    "abstains": "block",
}
"""What an entry that is left out amounts to; of categories it is the mode, of the rest the type's default."""

VALUE_RANKS: Final[Mapping[str, Sequence[object]]] = {
    "mode": ("observe", "block"),
    "categories": ("observe", "block"),
    "abstains": ("neutral", "block"),
    "require_issue": (False, True),
    "accept_alone": (True, False),
    "signals": ("off", "suspicion", "fact"),
    "authors": ("skip", "observe", "judge"),
}
"""By the key: its values, the weakest first. What is not listed can't be called weaker or stronger."""


FREE_TEXT_KEYS: Final = frozenset({"never_send", "model", "review"})
"""Keys whose values are words of whoever wrote them."""


class HiddenValue(Enum):
    """Stands for what the owner's default says in its own words: that file may be private, and a check be read by anybody."""

    DEFAULT = "the owner's default"


class ConfigEdit(Value):
    """One key that would have another value. `old`, `new` None: not set."""

    key: str
    old: object
    new: object
    is_weaker: bool


class ProposedConfig(Value):
    """What the pull request proposes. `problems`: the mistakes in its version of the file. `is_unread`: nobody knows what it says."""

    edits: tuple[ConfigEdit, ...] = ()
    problems: tuple[Problem, ...] = ()
    rules: tuple[str, ...] = ()
    is_unread: bool = False
    is_misnamed: bool = False
    """It holds a file under a name that nothing reads."""

    @property
    def is_empty(self) -> bool:
        return not (self.edits or self.problems or self.rules or self.is_unread or self.is_misnamed)


def find_proposed_config(dossier: Dossier) -> ProposedConfig:
    """What this change does to the files by which changes are judged."""
    try:
        files = diff_of(dossier.diff).files
    except DiffError:
        return ProposedConfig()
    paths = {path for file in files for path in (file.path, file.old_path) if path}
    rules = tuple(sorted(path for path in paths if is_rules_file(path)))
    if CONFIG_PATH in paths:
        return _with_config(dossier, rules)
    is_misnamed = any(file.path == MISNAMED_CONFIG_PATH and file.change is not ChangeKind.DELETED for file in files)
    return ProposedConfig(rules=rules, is_misnamed=is_misnamed)


def _with_config(dossier: Dossier, rules: tuple[str, ...]) -> ProposedConfig:
    texts = {file.path: file.text for file in dossier.files or () if file.exists}
    is_left = any(
        file.path == CONFIG_PATH for file in diff_of(dossier.diff).files if file.change is not ChangeKind.DELETED
    )
    if is_left and CONFIG_PATH not in texts:
        return ProposedConfig(rules=rules, is_unread=True)
    others = [text for text in dossier.config if text.origin is not ConfigOrigin.REPOSITORY]
    if not is_left:
        return ProposedConfig(tuple(find_edits(dossier.config, others)), rules=rules)
    last_good = next((text.last_good or text.text for text in dossier.config if text not in others), None)
    own = ConfigText(origin=ConfigOrigin.REPOSITORY, text=texts[CONFIG_PATH], last_good=last_good)
    return ProposedConfig(
        tuple(find_edits(dossier.config, [*others, own])),
        problems=read_config(texts[CONFIG_PATH]).problems,
        rules=rules,
    )


def find_edits(before: Sequence[ConfigText], after: Sequence[ConfigText]) -> Iterator[ConfigEdit]:
    """The keys whose values differ, in the order of the reference."""
    was, will_be = resolve_config(before), resolve_config(after)
    old, new = flatten(to_keys(was.config)), flatten(to_keys(will_be.config))
    for key in dict.fromkeys((*old, *new)):
        if old.get(key) != new.get(key):
            yield ConfigEdit(
                key, _visible_value(key, old, was), _visible_value(key, new, will_be), _is_weaker(key, old, new)
            )


def _visible_value(key: str, values: Mapping[str, object], configured: EffectiveConfig) -> object:
    family = key.partition(".")[0]
    is_theirs = family in FREE_TEXT_KEYS and configured.origins.get(family) is ConfigOrigin.ORGANISATION
    return HiddenValue.DEFAULT if is_theirs else values.get(key)


def flatten(keys: Mapping[str, Any]) -> dict[str, object]:
    """`{"authors": {"people": "skip"}}` as `{"authors.people": "skip"}`."""
    made: dict[str, object] = {}
    for key, value in keys.items():
        if key in NESTED_KEYS:
            made |= {f"{key}.{name}": item for name, item in value.items()}
        else:
            made[key] = value
    return made


def _is_weaker(key: str, old: Mapping[str, object], new: Mapping[str, object]) -> bool:
    ranks = VALUE_RANKS.get(key.partition(".")[0])
    if ranks is None:
        return False
    return ranks.index(_effective_value(key, new)) < ranks.index(_effective_value(key, old))


def _effective_value(key: str, values: Mapping[str, object]) -> object:
    """What a key amounts to, also where it is left out."""
    family = key.partition(".")[0]
    if key in values:
        return values[key]
    return values["mode"] if family == "categories" else DEFAULT_VALUES.get(key, DEFAULT_VALUES[family])
