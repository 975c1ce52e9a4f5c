"""The signals of the heuristic tier as rules of SARIF.

Does not make any SARIF (`worker.publishing.texts.sarif` does). Invariant: every signal is one rule, by its own name.
"""

from worker.publishing.texts.sarif import Rule
from worker.signals.registry import SIGNALS
from worker.signals.signal import Kind


def sarif_rules() -> list[Rule]:
    return [Rule(one.name, one.category, one.kind is Kind.FACT, one.sees) for one in SIGNALS]
