"""The signals of the heuristic tier as rules of SARIF.

Does not make any SARIF (`worker.publishing.texts.sarif` does). Invariant: every signal is one rule, by its own name.
"""

from worker.publishing.texts.sarif import SarifRule
from worker.signals.registry import SIGNALS
from worker.signals.signal import SignalKind


def sarif_rules() -> list[SarifRule]:
    return [
        SarifRule(signal.name, signal.category, signal.kind is SignalKind.FACT, signal.description)
        for signal in SIGNALS
    ]
