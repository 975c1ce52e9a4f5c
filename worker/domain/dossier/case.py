"""The author's case: what the change claims, in a fenced `assay` block of the pull request's body."""

from typing import Annotated

from pydantic import StringConstraints

from worker.domain.model import Frozen

CaseText = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


class CoverageClaim(Frozen):
    """`addressed_by` is `path:symbol` (also `path`, `path:12`, `path::test` ...); `evidence` is optional."""

    criterion: CaseText
    addressed_by: CaseText
    evidence: str | None = None


class Case(Frozen):
    summary: CaseText
    ac_coverage: tuple[CoverageClaim, ...] = ()
    work_arounds: tuple[CaseText, ...] = ()
    uncertainties: tuple[CaseText, ...] = ()
