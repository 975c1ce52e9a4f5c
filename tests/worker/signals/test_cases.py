"""Each signal fires where its cases say, and nowhere else."""

from collections import defaultdict
from pathlib import Path
from typing import Final

import pytest

from tests.worker.signals.cases import FIXTURES, Case, read_cases
from worker.signals.analysis.change import CodeChange
from worker.signals.registry import SIGNALS
from worker.signals.signal import Signal, SignalKind

SIGNALS_OF: Final[defaultdict[str, list[Signal]]] = defaultdict(list)
"""By the file that they stand in."""
for one in SIGNALS:
    SIGNALS_OF["/".join(one.detect.__module__.split(".")[2:])].append(one)

FILES: Final = sorted(FIXTURES.rglob("*.diff"))
CASES: Final = [(path, case) for path in FILES for case in read_cases(path)]
IDS: Final = [f"{path.relative_to(FIXTURES).with_suffix('')}: {case.name}" for path, case in CASES]


@pytest.mark.parametrize(("path", "case"), CASES, ids=IDS)
def test_the_signals_of_a_file_fire_where_the_case_says_and_nowhere_else(path: Path, case: Case) -> None:
    signals = SIGNALS_OF[str(path.parent.relative_to(FIXTURES))]
    change = CodeChange(case.dossier)
    findings = [finding for signal in signals for finding in signal.findings(change)]
    fired = sorted(
        ((finding.signal, finding.path or "", finding.line or 0, finding.side), finding.model_dump(mode="json"))
        for finding in findings
    )
    facts = {signal.name: {"fact": signal.kind is SignalKind.FACT} for signal in signals}
    expected = sorted((firing, facts[firing[0]] | fields) for firing, fields in case.firings)
    assert [place for place, _ in fired] == [place for place, _ in expected]
    for (_, values), (place, fields) in zip(fired, expected, strict=True):
        assert {"place": place, **fields} == {"place": place, **{name: values[name] for name in fields}}


def test_each_case_stands_in_the_folder_of_its_signals_and_under_the_name_of_its_outcome() -> None:
    assert {str(path.parent.relative_to(FIXTURES)) for path in FILES} <= SIGNALS_OF.keys()
    wrong = [
        name
        for (path, case), name in zip(CASES, IDS, strict=True)
        if path.name.startswith("reject_") is not bool(case.firings)
    ]
    assert wrong == []
    assert len(set(IDS)) == len(IDS)
