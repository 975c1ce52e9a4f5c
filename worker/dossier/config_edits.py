"""What a pull request changes about how pull requests are judged: `.github/assay.yml`, and the rules files.

Does not decide by it: the base's files count, whatever stands here. Invariant: an edit of either is never passed over, and is
called weaker where less would be judged or blocked than before.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final

from worker.domain.config.config_path import CONFIG_PATH, MISNAMED_CONFIG_PATH
from worker.domain.config.schema import to_keys
from worker.domain.dossier.dossier import ConfigOrigin, ConfigText, Dossier
from worker.domain.value import Value
from worker.domain.verdict.verdict import AbstainReason
from worker.dossier.config_file import EffectiveConfig, Problem, read_config, resolve_config
from worker.dossier.diff.parser import ChangeKind, DiffError, diff_of
from worker.dossier.repo_rules.files import is_rules_file

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
