"""What is told on a check of `.github/assay.yml`: whose file set what, and what a pull request would change.

Does not word it (`worker.publishing.texts.config_phrases` does). Invariant: what stands in a file goes through `prose` or `visible`; where no
file is there and none is edited, nothing is told.
"""

from typing import Final

from worker.domain.check.check_run import Annotation, AnnotationLevel
from worker.domain.config.config_path import CONFIG_PATH
from worker.domain.dossier.dossier import Dossier
from worker.domain.verdict.verdict import Verdict
from worker.publishing.texts.config_phrases import MISTAKE_COST, config_notes, proposals, read_proposed
from worker.publishing.texts.markdown import bullets, prose
from worker.publishing.texts.visible import fit, visible

MOST_EDITS: Final = 30
MESSAGE_BYTES: Final = 1_000


def proposed_changes(dossier: Dossier) -> list[str]:
    """What the pull request would change about how it is judged, as blocks of Markdown."""
    rows = proposals(dossier)
    if not rows:
        return []
    intro = "It was judged by the files of its base. What would change once it is merged:"
    return ["### This pull request changes how it would be judged", intro, bullets([*map(prose, rows)], MOST_EDITS)]


def used_configuration(verdict: Verdict, dossier: Dossier) -> list[str]:
    """By which configuration was judged, as blocks of Markdown."""
    rows = [*map(prose, config_notes(verdict, dossier))]
    return ["### Configuration", bullets(rows)] if rows else []


def annotations(dossier: Dossier) -> tuple[Annotation, ...]:
    """What is wrong in the pull request's own version of the file, at its lines."""
    made = read_proposed(dossier)
    return tuple(
        Annotation(
            path=CONFIG_PATH,
            start_line=problem.line,
            end_line=problem.line,
            level=AnnotationLevel.WARNING,
            title="Configuration of Assay",
            message=fit(f"{visible(problem.message)}. It sets nothing, and {MISTAKE_COST}.", MESSAGE_BYTES),
        )
        for problem in (made.problems if made else ())
    )
