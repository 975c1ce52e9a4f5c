"""What code may accept alone: changes of documentation that keep its words and mend their spelling, layout or links.

An allow-list: `documentation` says which files are documentation, `blocks` which of their lines are prose, `sentences` what
a line says, `rewording` what of it may change. Does not read titles. Invariant: what is not on a list is not accepted alone.
"""

from typing import Final

from worker.signals.analysis.change import CodeChange
from worker.signals.safe_change.documentation import can_be_rules, find_file_obstacle, is_documentation
from worker.signals.safe_change.obstacle import Obstacle

SAFE_REASON: Final = "only spelling, layout or links of documentation changed"


def is_documentation_only(change: CodeChange) -> bool:
    """Whether all that changed is documentation, so that code may look whether it can be accepted alone, or say why not."""
    return bool(change.files) and all(is_documentation(file.path) or can_be_rules(file.path) for file in change.files)


def find_obstacle(change: CodeChange) -> Obstacle | None:
    """Return what keeps a change of documentation from being accepted alone; None where its harmlessness is proved."""
    dossier = change.dossier
    if dossier.policy is not None and not dossier.policy.accept_alone:
        return Obstacle("this repository accepts nothing without a model (`accept_alone`)")
    if dossier.issues or any(not criterion.inferred for criterion in dossier.criteria or ()):
        return Obstacle("whether the words are those that were asked for, code can't tell")
    obstacles = (find_file_obstacle(file, dossier.guidance) for file in change.files)
    return next((obstacle for obstacle in obstacles if obstacle is not None), None)
