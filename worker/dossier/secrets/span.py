"""Where a secret stands in a text.

Does not hold it. Invariant: a span lies within one line.
"""

from typing import NamedTuple

from worker.dossier.secrets.redaction import SecretKind


class SecretSpan(NamedTuple):
    start: int
    end: int
    kind: SecretKind
