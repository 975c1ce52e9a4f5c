"""Each opinion is an entry of its own beside the verdict it led to, and decides nothing in later rounds."""

import pytest

from tests.worker.judge.courtroom import bench, docket
from tests.worker.judge.making import DIFF, accept, dossier, entry, model_of, reject
from tests.worker.judge.verdicts import rejected
from worker.domain.audit import AuditRecord
from worker.domain.dossier import Dossier
from worker.domain.ids import InstallationId, RepositoryId
from worker.domain.ledger import LedgerEntry
from worker.domain.request import PullRef
from worker.domain.value import replace
from worker.judge.court import content_of, hear
from worker.pipeline import settle
from worker.record import Keepers, record, record_beside

PULL = PullRef(installation_id=InstallationId(100), repository_id=RepositoryId(7), number=12)


class Shelf:
    """A ledger and an archive that write down what they are told, in order."""

    def __init__(self) -> None:
        self.told: list[tuple[str, LedgerEntry]] = []

    def keep(self, pull: PullRef, entry: LedgerEntry, dossier: Dossier, audit: AuditRecord) -> None:
        assert (pull, dossier.diff, audit.eval_id) == (PULL, DIFF, entry.eval_id)
        self.told.append(("archive", entry))

    def append(self, pull: PullRef, entry: LedgerEntry) -> None:
        assert pull == PULL
        self.told.append(("ledger", entry))

    def entries(self, pull: PullRef) -> tuple[LedgerEntry, ...]:
        return tuple(one for where, one in self.told if where == "ledger" and pull == PULL)


class Held:
    """A lease that is never lost."""

    fence = 3

    def keep(self) -> None:
        """It is kept."""


def test_opinions_are_recorded_beside_their_verdict_and_after_it() -> None:
    heard = hear(dossier(), docket(), replace(bench(model_of(reject())), second=model_of(accept())))
    shelf = Shelf()
    made = record(PULL, heard, dossier(), Keepers(shelf, shelf, Held()))
    written = [(where, one.verdict.signals.get("opinion_of"), one.fence) for where, one in shelf.told]
    assert written == [
        ("archive", None, 3),
        ("ledger", None, 3),
        ("archive", "first", 3),
        ("ledger", "first", 3),
        ("archive", "second", 3),
        ("ledger", "second", 3),
    ]
    assert {one.verdict.parent_eval_id for _, one in shelf.told[2:]} == {made.eval_id}
    assert all(one.open_conditions == () for _, one in shelf.told[2:])


def test_a_judging_anew_keeps_its_opinions_beside_itself() -> None:
    asked = replace(bench(model_of(accept(), accept(), accept())), board=True)
    heard = hear(dossier(), docket(), asked)
    shelf = Shelf()
    record_beside(entry(rejected()), heard, dossier(), shelf, shelf)
    parents = [one.verdict.parent_eval_id for where, one in shelf.told if where == "ledger"]
    assert parents == [None, *[heard.verdict.eval_id] * 3]


@pytest.mark.parametrize(("contest", "asked"), [(None, 0), ("Look again.", 1)])
def test_a_contested_verdict_is_not_carried_over(contest: str | None, asked: int) -> None:
    model = model_of(accept())
    judges = bench(model)
    content = content_of(dossier(), judges)
    known = hear(dossier(), docket(fingerprint=content), bench(model_of(accept()))).verdict
    of: Dossier = dossier(ledger=[entry(known)], contest=contest)
    assert settle(of, docket(fingerprint=content), judges).verdict.decision == "accept"
    assert len(model.asked) == asked
