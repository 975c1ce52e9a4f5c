"""Each signal fires where its cases say, and nowhere else."""

from collections.abc import Iterable
from itertools import cycle
from operator import itemgetter
from typing import Final

import pytest

from tests.worker.signals.cases import FIXTURES, Case, read_cases
from worker.domain.dossier import Dossier
from worker.signals.analysis.change import CodeChange
from worker.signals.registry import SIGNALS
from worker.signals.signal import Signal, SignalKind, SignalScope

CASES: Final = [case for path in sorted(FIXTURES.rglob("*.diff")) for case in read_cases(path)]
HALF_FINISHED: Final = [case for case in CASES if case.firings and case.path.is_relative_to(FIXTURES / "half_finished")]
FOREIGN_FOLDERS: Final = ("tests", "vendor", "fixtures", "templates", "examples/starter")


def case_id(case: object) -> str:
    return f"{case.path.relative_to(FIXTURES).with_suffix('')}: {case.name}" if isinstance(case, Case) else str(case)


def module_of(signal: Signal) -> str:
    return "/".join(signal.module.split(".")[2:])


def signals_of(case: Case) -> list[Signal]:
    """Those of the module that the folder is named after."""
    return [signal for signal in SIGNALS if module_of(signal) == str(case.path.parent.relative_to(FIXTURES))]


def fired_in(dossiers: Iterable[Dossier], signals: list[Signal]) -> list[str]:
    changes = [CodeChange(dossier) for dossier in dossiers]
    return [finding.signal for change in changes for signal in signals for finding in signal.findings(change)]


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_signals_of_a_module_fire_where_the_case_says_and_nowhere_else(case: Case) -> None:
    signals = signals_of(case)
    facts = {signal.name for signal in signals if signal.kind is SignalKind.FACT}
    expected = sorted(case.firings, key=itemgetter(0))
    for dossier in case.dossiers:
        change = CodeChange(dossier)
        findings = [finding for signal in signals for finding in signal.findings(change)]
        places = [(finding.signal, finding.path or "", finding.line or 0, finding.side) for finding in findings]
        fired = sorted(zip(places, findings, strict=True), key=itemgetter(0))
        assert [place for place, _ in fired] == [place for place, _ in expected], (dossier.guidance, dossier.case)
        for (place, finding), (_, fields) in zip(fired, expected, strict=True):
            wanted = {"fact": place[0] in facts, **fields}
            assert {name: getattr(finding, name) for name in wanted} == wanted, place


@pytest.mark.parametrize("case", HALF_FINISHED, ids=case_id)
def test_half_finished_work_that_was_there_before_is_not_new(case: Case) -> None:
    with_an_empty_line = {name: f"{text}\n" for name, text in case.after.items()}
    assert fired_in(case.dossiers_of(case.after, with_an_empty_line), signals_of(case)) == []


@pytest.mark.parametrize(("folder", "case"), [*zip(cycle(FOREIGN_FOLDERS), HALF_FINISHED)], ids=case_id)
def test_half_finished_work_outside_of_production_code_is_nothing(folder: str, case: Case) -> None:
    before, after = ({f"{folder}/{name}": text for name, text in texts.items()} for texts in (case.before, case.after))
    signals = [signal for signal in signals_of(case) if signal.scope is SignalScope.PRODUCTION]
    assert fired_in(case.dossiers_of(before, after), signals) == []


def test_each_file_of_cases_stands_beside_its_module_and_is_named_after_its_outcome() -> None:
    assert {str(case.path.parent.relative_to(FIXTURES)) for case in CASES} <= set(map(module_of, SIGNALS))
    assert [case.name for case in CASES if case.path.name.startswith("reject_") is not bool(case.firings)] == []
    assert len(set(map(case_id, CASES))) == len(CASES)


def test_each_signal_that_is_tested_by_cases_fires_in_some_and_stays_silent_in_others() -> None:
    silent = {signal.name for case in CASES if not case.firings for signal in signals_of(case)}
    firing = {place[0] for case in CASES for place, _ in case.firings}
    assert firing == silent
