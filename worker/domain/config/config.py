"""What a repository sets in `.github/assay.yml`: how its pull requests are judged, and what happens around that.

Only `policy`, a part of the dossier, decides about a change. A repository without a file has `RepositoryConfig()`. `ConfigKeys`
are the keys as people write them: flat, each with its meaning and an example. The reader, the published schema and the reference
are made of them; every key is a field of `RepositoryConfig` or `Policy`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, StringConstraints, WithJsonSchema

from worker.domain.config.signal_names import SIGNAL_NAMES
from worker.domain.dossier import Glob, Policy
from worker.domain.model import Frozen
from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import AbstainReason, Category

_RETIRED: Final = """
assertion_repeated check_announced_only cited_line_differs claim_outside_change conflict_suspected double_compared
expectation_changed expected_computed_alike expected_is_result handler_unrouted placeholder_value reformatted
retries_added snapshot_rewritten test_branch_empty test_unmarked threshold_lowered
"""
RETIRED_SIGNALS: Final = frozenset(_RETIRED.split())
"""Signals of the past. Policies and rubrics may name them, and nothing comes of it."""

if TYPE_CHECKING:
    SignalName = str
else:
    SignalName = Literal[*sorted({*SIGNAL_NAMES, *RETIRED_SIGNALS})]


LONGEST_WAIT_S = 86_400


class Handling(StrEnum):
    """How the pull requests of one kind of author are treated."""

    JUDGE = "judge"
    OBSERVE = "observe"
    SKIP = "skip"


class AskModelFor(StrEnum):
    """Whose pull requests a model judges without a request."""

    WRITERS = "writers"
    EVERYONE = "everyone"


class Authors(Frozen):
    """By the author: a coding agent, a person, or another bot (one that updates dependencies, say)."""

    agents: Handling = Field(default=Handling.JUDGE, description="Pull requests that a coding agent wrote.")
    people: Handling = Field(default=Handling.OBSERVE, description="Pull requests that a person wrote.")
    bots: Handling = Field(
        default=Handling.OBSERVE, description="Pull requests of other bots, such as those that update dependencies."
    )


class Feedback(Frozen):
    """Whether a reject or red CI leads to a comment, by the kind of author."""

    agents: bool = Field(default=True, description="Comment on the pull requests of coding agents.")
    people: bool = Field(default=False, description="Comment on the pull requests of people.")


Label = Annotated[str, StringConstraints(min_length=1, max_length=50)]


class Review(Frozen):
    """What a verdict that needs a person leads to, once: a review request to the code owners, and a label; None: no label."""

    codeowners: bool = Field(default=True, description="Ask the code owners of the changed files for a review.")
    label: Label | None = Field(default=None, description="Put this label on the pull request. Without it: none.")


CheckName = Annotated[str, StringConstraints(min_length=1, max_length=200)]
CheckNames = Annotated[tuple[CheckName, ...], Field(max_length=100)]
Seconds = Annotated[float, Field(ge=0, le=LONGEST_WAIT_S)]


class RepositoryConfig(Frozen):
    """`quiet_window` and `ci_wait` in seconds; None: as the operator set them. `ci_expect`, `ci_ignore`: names of checks."""

    policy: Policy = Policy()
    authors: Authors = Authors()
    ask_model_for: AskModelFor = AskModelFor.WRITERS
    feedback: Feedback = Feedback()
    review: Review = Review()
    sarif: bool = False
    quiet_window: Seconds | None = None
    ci_wait: Seconds | None = None
    ci_expect: CheckNames = ()
    ci_ignore: CheckNames = ()


CONFIG_PATH: Final = ".github/assay.yml"
"""In each repository; that of the owner's DEFAULTS_REPOSITORY is the default of all of them."""

MISNAMED_CONFIG_PATH: Final = ".github/assay.yaml"
"""A wrong name of it, which is not read and is reported."""

CONFIG_PATHS: Final = (CONFIG_PATH, MISNAMED_CONFIG_PATH)

DEFAULTS_REPOSITORY: Final = ".github"


UNIT_SECONDS: Final = {"s": 1, "m": 60, "h": 3600}
_BELOW_A_DAY: Final = {
    "s": r"0|[1-9][0-9]{0,3}|[1-7][0-9]{4}|8[0-5][0-9]{3}|86[0-3][0-9]{2}",
    "m": r"0|[1-9][0-9]{0,2}|1[0-3][0-9]{2}|14[0-3][0-9]",
    "h": r"0|1?[1-9]|10|2[0-3]",
}
"""Whole numbers of each unit that are less than a day."""

_DURATION_TEXT: Final = "|".join(
    rf"(?:{below})(?:\.[0-9]{{1,3}})?{unit}|{LONGEST_WAIT_S // UNIT_SECONDS[unit]}(?:\.0{{1,3}})?{unit}"
    for unit, below in _BELOW_A_DAY.items()
)
_DURATION: Final = pattern(_DURATION_TEXT)

DURATION_FORMAT: Final = f"seconds from 0 to {LONGEST_WAIT_S}, or a text like 45s, 10m or 2h"


def parse_seconds(value: object) -> float:
    """`45`, `45s` and `10m` as seconds. Raises ValueError."""
    number = value
    if isinstance(value, str):
        number = float(value[:-1]) * UNIT_SECONDS[value[-1]] if _DURATION.fullmatch(value) else None
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= LONGEST_WAIT_S:
        raise ValueError(DURATION_FORMAT)
    return float(number)


Duration = Annotated[
    float,
    BeforeValidator(parse_seconds),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": LONGEST_WAIT_S},
                {"type": "string", "pattern": f"^(?:{_DURATION_TEXT})$"},
            ]
        }
    ),
]


def reject_boolean(value: object) -> object:
    """Python takes `true` for 1, and the published schema does not. Raises ValueError."""
    if isinstance(value, bool):
        raise ValueError("1")  # noqa: TRY004 - pydantic reports ValueErrors
    return value


SchemaVersion = Annotated[Literal[1], BeforeValidator(reject_boolean)]
Mode = Literal["block", "observe"]
AbstainConclusion = Literal["block", "neutral"]
ModelName = Annotated[str, StringConstraints(min_length=1, max_length=100)]


def _key(default: Any, description: str, example: object) -> Any:
    return Field(default, description=description, examples=[example])


class ConfigKeys(Frozen):
    """What `.github/assay.yml` may hold. All of it may be left out."""

    version: SchemaVersion = _key(1, "The version of this format.", 1)
    mode: Mode = _key(
        "block",
        "`block`: a reject fails the check. `observe`: every check is neutral and says what would have been decided.",
        "observe",
    )
    categories: dict[Category, Mode] = _key(
        {},
        "For rejects of a category, another mode than `mode`. A category that is observed never blocks.",
        {"weak_test": "observe"},
    )
    abstains: dict[AbstainReason, AbstainConclusion] = _key(
        {},
        "What the check concludes where the change was not judged, by the reason: `block` (action required) or `neutral`, which "
        "passes. Without it: as docs/verdict.md says, so `unproven: neutral` lets a required check pass without a model. "
        "Where `mode` is `observe`, all are neutral.",
        {"judge_unavailable": "neutral"},
    )
    require_issue: bool = _key(
        default=False,
        description="Do not judge a pull request that no issue is linked to: it is `no_criteria`, at no cost.",
        example=True,
    )
    accept_alone: bool = _key(
        default=True,
        description="Whether code may accept a change without a model, where only spelling, layout or links of "
        "documentation changed. `false`: the model is asked, and without one the change is `unproven`.",
        example=False,
    )
    signals: dict[SignalName, Literal["off", "suspicion"]] = _key(
        {},
        "Signals of the code checks that are switched off, or that may only raise a suspicion. Their names: "
        "docs/signals.md.",
        {"debug_output": "off"},
    )
    never_send: Annotated[tuple[Glob, ...], Field(max_length=200)] = _key(
        (),
        "Files whose text no model is sent, as in a .gitignore without `!`. A change to one of them counts as not read.",
        [".env*", "fixtures/customers/**"],
    )
    model: ModelName | None = _key(
        None,
        "The model that judges here, if the operator allows it (ASSAY_MODELS). Without it: ASSAY_MODEL.",
        "claude-sonnet-5",
    )
    authors: Authors = _key(
        Authors(),
        "What is done with pull requests, by who wrote them: `judge`, `observe` (judged, and always neutral) or `skip`. "
        "What is left out of it: `agents` are judged, the others as ASSAY_PEOPLE and ASSAY_BOTS say.",
        {"people": "judge"},
    )
    ask_model_for: AskModelFor = _key(
        AskModelFor.WRITERS,
        "`writers`: of a pull request from a fork whose author may not write here, only the code checks are made, at $0, until an "
        "account with write access asks (`/rejudge`). `everyone`: a model is asked about these, too, within the budgets.",
        "everyone",
    )
    feedback: Feedback = _key(Feedback(), "Whether a reject or red CI is also told in one comment.", {"agents": False})
    review: Review = _key(
        Review(), "Whom a verdict that needs a person asks, once.", {"codeowners": True, "label": "needs-review"}
    )
    sarif: bool = _key(
        default=False,
        description="Upload each accept and reject as SARIF to GitHub's code scanning: alerts at the pull request, which an "
        "accept closes. It takes the choice `code_scanning` (docs/permissions.md); what is in it: docs/verdict.md.",
        example=True,
    )
    quiet_window: Duration | None = _key(
        None,
        f"How long after the last push judging starts: {DURATION_FORMAT}. It holds from the next pull request on once one was "
        "judged by this file. Without it: ASSAY_QUIET_WINDOW.",
        "2m",
    )
    ci_wait: Duration | None = _key(
        None,
        f"How long other checks are waited for: {DURATION_FORMAT}, and never longer than ASSAY_CI_REQUIRED_WAIT. Without it: "
        "ASSAY_CI_REQUIRED_WAIT for a required check while any check runs, else ASSAY_CI_WAIT.",
        "45m",
    )
    ci_expect: CheckNames = _key(
        (), "Checks that are waited for as if the branch required them, besides those that it does require.", ["e2e"]
    )
    ci_ignore: CheckNames = _key(
        (), "Checks that are not waited for and prove nothing, such as one that itself waits for Assay.", ["all green"]
    )


def to_config(values: Mapping[str, object]) -> RepositoryConfig:
    """The configuration of these keys, each with a value that `ConfigKeys` took; all others have their defaults."""
    policy = {name: value for name, value in values.items() if name in Policy.model_fields}
    rest = {name: value for name, value in values.items() if name in RepositoryConfig.model_fields}
    return RepositoryConfig.model_validate({**rest, "policy": Policy.model_validate(policy)})


def to_keys(config: RepositoryConfig) -> dict[str, Any]:
    """Every key of a configuration with its value, as JSON has it."""
    fields = config.model_dump(mode="json")
    flat = {**fields.pop("policy"), **fields}
    return {name: flat[name] for name in ConfigKeys.model_fields if name in flat}
