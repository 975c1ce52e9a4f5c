"""Changes in a repository that has rules, or a case."""

from collections.abc import Mapping

from tests.worker.signals.made import dossier_of
from worker.signals.analysis.change import Change
from worker.signals.spec_violation import SIGNALS

Found = tuple[str, str | None, int | None]


def ruled(
    rule: str, before: Mapping[str, str], after: Mapping[str, str], *, texts: bool = True, **more: object
) -> Change:
    guidance = [{"path": "AGENTS.md", "text": f"# Rules\n\n- {rule}\n"}]
    return Change(dossier_of(before, after, texts=texts, guidance=guidance, **more))  # type: ignore[arg-type]


def found(change: Change) -> list[Found]:
    """Signal, path and line of every finding."""
    return [(one.signal, one.path, one.line) for signal in SIGNALS for one in signal.findings(change)]


def signals(change: Change) -> set[str]:
    return {signal for signal, _, _ in found(change)}
