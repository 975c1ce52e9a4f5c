"""Sentences about `.github/assay.yml`: whose file set what, what could not be used, and what a pull request would change.

Plain text with code in backticks, for a check and a terminal alike. Does not decide anything. Invariant: where no file is there
and none is edited, nothing is told, and nothing is loaded for it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Final

from worker.domain.config.config_place import MISNAMED, PLACE
from worker.domain.dossier.dossier import ConfigOrigin, Dossier
from worker.domain.verdict.verdict import Verdict
from worker.dossier.repo_rules.files import AT_THE_ROOT, FOLDERS, NAMES
from worker.publishing.texts.visible import fit

if TYPE_CHECKING:
    from worker.dossier.config_edits import Edit, Proposed
    from worker.dossier.config_file import Configured, Problem, Refused

MARKS: Final = (PLACE, MISNAMED, *AT_THE_ROOT, *NAMES, *FOLDERS)
"""A diff that holds none of these edits no file that decides how it is judged."""

WEAKER: Final[Mapping[str, str]] = {
    "mode": "a reject would not fail the check any more",
    "categories": "such a reject would not fail the check any more",
    "abstains": "what was not judged for this reason would pass",
    "require_issue": "no issue would be needed any more",
    "accept_alone": "code would accept changes of documentation without a model",
    "signals": "the code checks would make less of it",
    "authors": "less would be judged, or could fail",
}
NOT_ALONE: Final = "nothing is accepted without a model as long as it stands"
"""What a mistake costs."""
NOT_SENT: Final = "nothing is accepted without a model and no file is sent to a model as long as it stands"
"""What a mistake costs that may hide `never_send`."""

VALUE_BYTES: Final = 120
MOST_PROBLEMS: Final = 3


def proposals(dossier: Dossier) -> list[str]:
    """One sentence for each thing that the pull request would change, for people; code stands in backticks."""
    made = read(dossier)
    if made is None:
        return []
    rows = [_edit(one) for one in made.edits]
    if made.is_unread:
        rows.append(f"`{PLACE}`: edited, and its new text could not be read")
    if made.is_misnamed:
        rows.append(f"`{MISNAMED}`: not read; the file is called `{PLACE}`")
    if made.problems:
        rows.append(f"`{PLACE}`: its new version has a mistake, and {NOT_ALONE}: {_listed(made.problems)}")
    return [*rows, *(f"`{path}`: rules for agents and judge" for path in made.rules)]


def notes(verdict: Verdict, dossier: Dossier) -> list[str]:
    """One sentence for each file that had a part in this verdict, and what could not be done as it says."""
    if not dossier.config:
        return []
    from worker.dossier.config_file import configured  # noqa: PLC0415 - most repositories have none

    found = configured(dossier.config)
    return [*_used(found, dossier), *map(_refused, found.refused), *_other_model(verdict)]


def _used(found: "Configured", dossier: Dossier) -> Iterator[str]:
    for origin in ConfigOrigin:
        if keys := [key for key, whose in found.origins.items() if whose is origin]:
            yield f"{_file(origin)} of {_owner(origin, dossier)} sets {', '.join(f'`{key}`' for key in keys)}"


def _owner(origin: ConfigOrigin, dossier: Dossier) -> str:
    owner = dossier.pull_request.repository.partition("/")[0]
    return "the base commit" if origin is ConfigOrigin.REPOSITORY else f"`{owner}/.github`, the default for its owner,"


def _file(origin: ConfigOrigin) -> str:
    return f"`{PLACE}`" if origin is ConfigOrigin.REPOSITORY else f"The `{PLACE}`"


def _refused(one: "Refused") -> str:
    """What is wrong in the owner's file is told by its lines alone: it may be private, and a check be read by anybody."""
    is_own = one.origin is ConfigOrigin.REPOSITORY
    where = "at the base commit" if is_own else "of the owner's `.github` repository"
    instead = "its last version without one" if one.is_replaced else "the defaults"
    price = NOT_SENT if one.withholds_all else NOT_ALONE
    if one.is_misnamed:
        return f"`{MISNAMED}` {where} is not read, and {price}: rename it to `{PLACE}`"
    wrong = _listed(one.problems) if is_own else ", ".join(f"line {problem.line}" for problem in one.problems)
    return (
        f"`{PLACE}` {where} has a mistake: {wrong}. What can't be read of it gives way to {instead}, and {price}. "
        "`assay config check` shows what is wrong"
    )


def _other_model(verdict: Verdict) -> Iterator[str]:
    if name := verdict.signals.get("model_not_allowed"):
        yield f"`model: {name}` is not among the models that the operator allows (ASSAY_MODELS), and was not asked"


def _listed(problems: Sequence["Problem"]) -> str:
    shown = [f"line {one.line}, {one.message}" for one in problems[:MOST_PROBLEMS]]
    left = len(problems) - len(shown)
    return "; ".join(shown) + (f"; and {left} more" if left else "")


def _edit(one: "Edit") -> str:
    remark = f" (weaker: {WEAKER[one.key.partition('.')[0]]})" if one.is_weaker else ""
    return f"`{one.key}`: {value_words(one.old)} → {value_words(one.new)}{remark}"


def value_words(value: object) -> str:
    """A value as somebody would write it."""
    if value is None:
        return "not set"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, float):
        return f"`{value:g}`"
    return f"`{fit(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), VALUE_BYTES)}`"


def read(dossier: Dossier) -> "Proposed | None":
    """What the pull request does to the files by which it is judged; None where it edits none of them."""
    if not any(mark in dossier.diff for mark in MARKS):
        return None
    from worker.dossier.config_edits import proposed  # noqa: PLC0415 - most changes edit no such file

    return proposed(dossier)
