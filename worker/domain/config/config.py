"""What a repository sets in `.github/assay.yml`: how its pull requests are judged, and what happens around that.

Only `policy`, a part of the dossier, decides about a change. A repository without a file has `RepositoryConfig()`.
"""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, StringConstraints

from worker.domain.dossier.dossier import Policy
from worker.domain.model import Frozen

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
