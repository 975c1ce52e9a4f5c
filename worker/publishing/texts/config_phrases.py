"""Sentences about `.github/assay.yml`: the source of each key, mistakes, and what a pull request would change.

Plain text with code in backticks, for checks and terminals alike. Without a file and an edit there are none, and nothing is loaded.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Final

from worker.domain.config.config import CONFIG_PATH, MISNAMED_CONFIG_PATH
from worker.domain.dossier.dossier import ConfigOrigin, Dossier
from worker.domain.verdict.verdict import Verdict
from worker.dossier.repo_rules.files import FOLDER_NAMES, ROOT_NAMES, RULE_FOLDERS
from worker.publishing.texts.markdown import fit

if TYPE_CHECKING:
    from worker.dossier.config import ConfigEdit, EffectiveConfig, Problem, ProposedConfig, RefusedConfig

CONFIG_MARKS: Final = (CONFIG_PATH, MISNAMED_CONFIG_PATH, *ROOT_NAMES, *FOLDER_NAMES, *RULE_FOLDERS)
"""A diff without these edits no file that decides how it is judged."""

WEAKENINGS: Final[Mapping[str, str]] = {
    "mode": "a reject would not fail the check any more",
    "categories": "such a reject would not fail the check any more",
    "abstains": "what was not judged for this reason would pass",
    "require_issue": "no issue would be needed any more",
    "accept_alone": "code would accept changes of documentation without a model",
    "signals": "the code checks would make less of it",
    "authors": "less would be judged, or could fail",
}
MISTAKE_COST: Final = "nothing is accepted without a model as long as it stands"
HIDDEN_MISTAKE_COST: Final = "nothing is accepted without a model and no file is sent to a model as long as it stands"
"""The cost of a mistake that may hide `never_send`."""

VALUE_BYTES: Final = 120
MOST_PROBLEMS: Final = 3


def proposals(dossier: Dossier) -> list[str]:
    """A sentence for each thing that the pull request would change."""
    made = read_proposed(dossier)
    if made is None:
        return []
    rows = [_edit(edit) for edit in made.edits]
    if made.is_unread:
        rows.append(f"`{CONFIG_PATH}`: edited, and its new text could not be read")
    if made.is_misnamed:
        rows.append(f"`{MISNAMED_CONFIG_PATH}`: not read; the file is called `{CONFIG_PATH}`")
    if made.problems:
        rows.append(
            f"`{CONFIG_PATH}`: its new version has a mistake, and {MISTAKE_COST}: {_problem_list(made.problems)}"
        )
    return [*rows, *(f"`{path}`: rules for agents and judge" for path in made.rules)]


def config_notes(verdict: Verdict, dossier: Dossier) -> list[str]:
    """A sentence for each file that configured this verdict, and for what could not be applied."""
    if not dossier.config:
        return []
    from worker.dossier.config import resolve_config  # noqa: PLC0415 - most repositories have none

    config = resolve_config(dossier.config)
    notes = [*_config_sources(config, dossier), *map(_refusal, config.refused_files)]
    if model := verdict.signals.get("model_not_allowed"):
        notes.append(
            f"`model: {model}` is not among the models that the operator allows (ASSAY_MODELS), and was not asked"
        )
    return notes


def _config_sources(configured: "EffectiveConfig", dossier: Dossier) -> Iterator[str]:
    owner = dossier.pull_request.repository.partition("/")[0]
    files = {
        ConfigOrigin.REPOSITORY: f"`{CONFIG_PATH}` of the base commit",
        ConfigOrigin.ORGANISATION: f"The `{CONFIG_PATH}` of `{owner}/.github`, the default for its owner,",
    }
    for origin in ConfigOrigin:
        if keys := [key for key, setter in configured.origins.items() if setter is origin]:
            yield f"{files[origin]} sets {', '.join(f'`{key}`' for key in keys)}"


def _refusal(refusal: "RefusedConfig") -> str:
    """The mistakes of a file. Of the owner's only their lines are shown: it may be private, and a check is public."""
    is_own = refusal.origin is ConfigOrigin.REPOSITORY
    where = "at the base commit" if is_own else "of the owner's `.github` repository"
    instead = "its last version without one" if refusal.is_replaced else "the defaults"
    price = HIDDEN_MISTAKE_COST if refusal.withholds_all else MISTAKE_COST
    if refusal.is_misnamed:
        return f"`{MISNAMED_CONFIG_PATH}` {where} is not read, and {price}: rename it to `{CONFIG_PATH}`"
    wrong = (
        _problem_list(refusal.problems) if is_own else ", ".join(f"line {problem.line}" for problem in refusal.problems)
    )
    return (
        f"`{CONFIG_PATH}` {where} has a mistake: {wrong}. What can't be read of it gives way to {instead}, and {price}. "
        "`assay config check` shows what is wrong"
    )


def _problem_list(problems: Sequence["Problem"]) -> str:
    shown = [f"line {problem.line}, {problem.message}" for problem in problems[:MOST_PROBLEMS]]
    left = len(problems) - len(shown)
    return "; ".join(shown) + (f"; and {left} more" if left else "")


def _edit(edit: "ConfigEdit") -> str:
    remark = f" (weaker: {WEAKENINGS[edit.key.partition('.')[0]]})" if edit.is_weaker else ""
    return f"`{edit.key}`: {value_phrase(edit.old)} → {value_phrase(edit.new)}{remark}"


def value_phrase(value: object) -> str:
    """A value as in YAML."""
    if value is None:
        return "not set"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, float):
        return f"`{value:g}`"
    return f"`{fit(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), VALUE_BYTES)}`"


def read_proposed(dossier: Dossier) -> "ProposedConfig | None":
    """The pull request's edits of the files by which it is judged; None: it edits none of them."""
    if not any(mark in dossier.diff for mark in CONFIG_MARKS):
        return None
    from worker.dossier.config import find_proposed_config  # noqa: PLC0415 - most changes edit no such file

    return find_proposed_config(dossier)
