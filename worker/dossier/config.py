"""`.github/assay.yml`: its text to configuration and mistakes, which version counts, and what a pull request changes about it.

Any text gives a reading. A mistake removes its entry only; the last version at the same base without a mistake takes its place.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, cast

from pydantic import ValidationError

from worker.domain.config.config import (
    CONFIG_PATH,
    MISNAMED_CONFIG_PATH,
    ConfigKeys,
    RepositoryConfig,
    to_config,
    to_keys,
)
from worker.domain.dossier import ConfigOrigin, ConfigText, Dossier, Policy
from worker.domain.judge_request import PullRef
from worker.domain.model import Frozen, hash_base
from worker.domain.pattern import pattern
from worker.domain.ports import LastGoodConfigs
from worker.domain.verdict.verdict import AbstainReason
from worker.dossier.diff import ChangeKind, DiffError, diff_of
from worker.dossier.repo_rules.files import is_rules_file
from worker.dossier.strict_yaml import MOST_BYTES, PositionsByPath, StrictYamlError, load_yaml_with_positions


def with_last_good(dossier: Dossier, pull: PullRef, configs: LastGoodConfigs) -> Dossier:
    """Put the last good text beside each with a mistake, and store those without and the quiet window. Raises Unavailable."""
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
    """What steers the judging of this pull request; its policy is also a field of the dossier."""
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
    "literal_error": "{expected}",
    "enum": "{expected}",
    "value_error": "{error}",
    "string_too_long": "at most {max_length} characters",
    "too_long": "at most {max_length} entries",
    "bool_type": "true or false",
    "dict_type": "keys with values, each on a line of its own",
    "model_type": "keys with values, each on a line of its own",
    "tuple_type": "a list",
    "string_type": "a text",
    "string_too_short": "a text that is not empty",
    "string_pattern_mismatch": "a pattern as in a .gitignore, without ! and without white space before it",
}
"""What was expected, by the kind of pydantic's error, with fields of its context."""

UNREADABLE_TEXT: Final = f"not a text of up to {MOST_BYTES // 1024} KB"


@dataclass(frozen=True)
class Problem:
    """One mistake. `key`: its path, empty for the whole file."""

    key: str
    line: int
    column: int
    explanation: str

    @property
    def message(self) -> str:
        return f"`{self.key}`: {self.explanation}" if self.key else self.explanation


@dataclass(frozen=True)
class ConfigReading:
    """What can be read of a file, by its keys, and what can't."""

    values: Mapping[str, object] = field(default_factory=dict[str, object])
    problems: tuple[Problem, ...] = ()


@lru_cache(maxsize=8)
def read_config(text: str | None) -> ConfigReading:
    """Read a file; *text* None: the file is no text, or too long."""
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
    for *above, last in sorted(wrong, reverse=True):  # a list's last entry first: the others keep their numbers
        del cast("Any", _value_at(value, above))[last]
    return _readable_values(value)


def _path(location: Sequence[str | int]) -> tuple[str | int, ...]:
    return tuple(part for part in location if part != "[key]")


def _problems(error: ValidationError, value: object, marks: PositionsByPath) -> Iterator[Problem]:
    for details in error.errors(include_url=False, include_input=False)[:MOST_PROBLEMS]:
        is_key = details["loc"][-1:] == ("[key]",) or details["type"] == "extra_forbidden"
        path = _path(details["loc"])
        position = marks[path].key if is_key else marks[path].value
        if is_key:
            explanation = _explain_unknown(path)
        else:
            expected = EXPECTED_TYPES[details["type"]].format(**details.get("ctx", {})).replace("'", "")
            explanation = f"expected {expected}, found {_format_value(_value_at(value, path))}"
        parts = [f"[{part}]" if isinstance(part, int) else f".{_shorten(part)}" for part in path]
        yield Problem("".join(parts).removeprefix("."), position.line, position.column, explanation)


def _value_at(value: object, path: Sequence[str | int]) -> object:
    for part in path:
        value = cast("Any", value)[part]
    return value


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
    """Name the key that may be meant, or all keys."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for a mistake

    *above, name = path
    names = list_keys(above)
    near = get_close_matches(str(name), names, 1, 0.6) if len(str(name)) <= LONGEST_NAME else []
    if near:
        return f"there is no such key; is `{near[0]}` meant?"
    listed = f"known are {', '.join(names)}" if len(names) <= MOST_PROBLEMS else "docs/signals.md names all"
    return f"there is no such key; {listed}"


def list_keys(above: Sequence[str | int]) -> list[str]:
    """The keys at the top (nothing *above*), or in one of the keys there."""
    schema = ConfigKeys.model_json_schema()
    if not above:
        return list(schema["properties"])
    part = _resolve(schema["properties"][above[0]], schema)
    names = part.get("propertyNames")
    return list(_resolve(names, schema)["enum"] if names else part["properties"])


def _resolve(part: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = part.get("$ref")
    return schema["$defs"][reference.rpartition("/")[2]] if reference else part


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST_FOUND else f"{text[:LONGEST_FOUND]} …"


MISNAMED_PROBLEM: Final = Problem("", 1, 1, f"`{MISNAMED_CONFIG_PATH}` is not read; the file is called `{CONFIG_PATH}`")


@dataclass(frozen=True)
class RefusedConfig:
    """A file with a mistake.

    `is_replaced`: its last version without one takes the place of what can't be read. `withholds_all`: `never_send` can't be read
    in any version, so no file is sent.
    """

    origin: ConfigOrigin
    problems: tuple[Problem, ...]
    is_replaced: bool
    is_misnamed: bool = False
    withholds_all: bool = False


@dataclass(frozen=True)
class EffectiveConfig:
    """What holds. `origins`: whose file sets a key; a key that is not in it has its default."""

    config: RepositoryConfig = field(default_factory=RepositoryConfig)
    origins: Mapping[str, ConfigOrigin] = field(default_factory=dict[str, ConfigOrigin])
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
        if not reading.problems:
            values |= reading.values
            origins |= dict.fromkeys(reading.values, config.origin)
            continue
        is_known = config.last_good is not None
        is_hidden = not is_known and any(map(_hides_never_send, reading.problems))
        refused.append(RefusedConfig(config.origin, reading.problems, is_known, config.is_misnamed, is_hidden))
        own = dict(read_config(config.last_good or "").values)
        for name, value in reading.values.items():  # entry by entry in a key with a mistake
            is_wrong = any(_KEY.split(problem.key)[0] == name for problem in reading.problems)
            own[name] = _merge(own[name], value) if is_wrong and name in own else value
        values |= {**own, "accept_alone": False, **({"never_send": ("**",)} if is_hidden else {})}
        origins |= dict.fromkeys(own, config.origin)
    return EffectiveConfig(to_config(values), origins, tuple(refused))


def _hides_never_send(problem: Problem) -> bool:
    """Whether it is of the whole file, of the key itself, or of an unknown key with nearly that name."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for a mistake

    key = _KEY.split(problem.key)[0][:LONGEST_NAME]
    return not key or bool(get_close_matches(key.casefold(), ["never_send"], cutoff=0.6))


_KEY: Final = pattern(r"[.\[]")


def _merge(before: object, now: object) -> object:
    match now:
        case dict():
            return {**cast("dict[object, object]", before), **cast("dict[object, object]", now)}
        case tuple():
            return tuple(dict.fromkeys((*cast("tuple[object, ...]", before), *cast("tuple[object, ...]", now))))
        case _:
            newer = cast("Frozen", now)
            changes = {name: getattr(newer, name) for name in newer.model_fields_set}
            return cast("Frozen", before).model_copy(update=changes)


def build_policy(texts: Sequence[ConfigText]) -> Policy | None:
    """The part that decides about a change; None where the files set nothing of it, which is as if there were none."""
    policy = resolve_config(texts).config.policy
    return None if policy == Policy() else policy


NESTED_KEYS: Final = frozenset({"categories", "abstains", "signals", "authors", "feedback", "review"})
DEFAULT_VALUES: Final[Mapping[str, object]] = {
    "signals": "fact",
    f"abstains.{AbstainReason.PAUSED}": "neutral",
    "abstains": "block",
}
"""The value of an entry that is left out; of categories it is the mode, of the rest the type's default."""

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
"""Keys whose values are free text."""


class HiddenValue(Enum):
    """Replaces free text of the owner's default: that file may be private, and anybody may read a check."""

    DEFAULT = "the owner's default"


@dataclass(frozen=True)
class ConfigEdit:
    """One key that would have another value. `old`, `new` None: not set."""

    key: str
    old: object
    new: object
    is_weaker: bool


@dataclass(frozen=True)
class ProposedConfig:
    """What the pull request proposes. `problems`: the mistakes in its version of the file. `is_unread`: its text is not known."""

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
    """What this change does to the configuration and the rules files. The base's versions of them count."""
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
            ranks = VALUE_RANKS.get(key.partition(".")[0], ())
            is_weaker = bool(ranks) and ranks.index(_effective_value(key, new)) < ranks.index(
                _effective_value(key, old)
            )
            yield ConfigEdit(key, _visible_value(key, old, was), _visible_value(key, new, will_be), is_weaker)


def _visible_value(key: str, values: Mapping[str, object], configured: EffectiveConfig) -> object:
    family = key.partition(".")[0]
    is_theirs = family in FREE_TEXT_KEYS and configured.origins.get(family) is ConfigOrigin.ORGANISATION
    return HiddenValue.DEFAULT if is_theirs else values.get(key)


def flatten(keys: Mapping[str, Any]) -> dict[str, object]:
    """`{"authors": {"people": "skip"}}` as `{"authors.people": "skip"}`."""
    made: dict[str, object] = {}
    for key, value in keys.items():
        made |= {f"{key}.{name}": item for name, item in value.items()} if key in NESTED_KEYS else {key: value}
    return made


def _effective_value(key: str, values: Mapping[str, object]) -> object:
    """The value of a key, also where it is left out."""
    if key in values:
        return values[key]
    family = key.partition(".")[0]
    return values["mode"] if family == "categories" else DEFAULT_VALUES.get(key, DEFAULT_VALUES[family])
