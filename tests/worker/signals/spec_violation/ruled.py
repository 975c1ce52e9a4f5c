"""Changes in a repository that has rules, or a case."""

from collections.abc import Mapping

from tests.worker.signals.made import dossier_of
from worker.signals.analysis.change import CodeChange
from worker.signals.spec_violation import SIGNALS

Found = tuple[str, str | None, int | None]


def ruled(
    rule: str, before: Mapping[str, str], after: Mapping[str, str], *, texts: bool = True, **more: object
) -> CodeChange:
    guidance = [{"path": "AGENTS.md", "text": f"# Rules\n\n- {rule}\n"}]
    return CodeChange(dossier_of(before, after, texts=texts, guidance=guidance, **more))  # type: ignore[arg-type]


def found(change: CodeChange) -> list[Found]:
    """Signal, path and line of every finding."""
    return [(one.signal, one.path, one.line) for signal in SIGNALS for one in signal.findings(change)]


def signals(change: CodeChange) -> set[str]:
    return {signal for signal, _, _ in found(change)}
