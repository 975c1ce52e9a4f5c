"""Where a secret stands in a text.

Does not hold it. Invariant: a span lies within one line.
"""

from typing import NamedTuple

from worker.dossier.secrets.redaction import SecretKind


class Span(NamedTuple):
    start: int
    end: int
    kind: SecretKind
