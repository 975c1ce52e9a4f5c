"""Drafts the author's case: for each criterion the added lines that speak of it.

Reads words, not meaning, so the author has to confirm each place.
"""

from worker.domain.dossier.case_help import DraftClaim
from worker.domain.dossier.dossier import Criterion, Dossier
from worker.signals.acceptance_gap.asking import Wish, wishes_of
from worker.signals.acceptance_gap.shown import Shown, shown_by
from worker.signals.analysis.change import Change
from worker.signals.analysis.file_roles import Role, role_of


def draft_claims(dossier: Dossier) -> tuple[DraftClaim, ...]:
    """One claim for each criterion that somebody listed, in their order. Raises DiffError for a diff that git did not print."""
    change = Change(dossier)
    shown = change.meanwhile(shown_by)
    wishes = {wish.criterion.id: wish for wish in change.once(wishes_of)}
    asked = (criterion for criterion in dossier.criteria or () if not criterion.inferred)
    return tuple(_draft(criterion, wishes.get(criterion.id), shown) for criterion in asked)


def _draft(criterion: Criterion, wish: Wish | None, shown: Shown) -> DraftClaim:
    """A criterion that asks for a test is met by one."""
    pointers = shown.places_of(wish) if wish else ()
    tests = tuple(pointer.place for pointer in pointers if role_of(pointer.path) is Role.TEST)
    places = tuple(pointer.place for pointer in pointers if role_of(pointer.path) is not Role.TEST)
    is_test = not places or (tests and wish and wish.tests)
    return DraftClaim(criterion, tests, ()) if is_test else DraftClaim(criterion, places, tests)
