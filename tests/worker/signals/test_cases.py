"""Each signal fires where its cases say, and nowhere else."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import cycle
from operator import itemgetter
from typing import Any, Final

import pytest

from tests.worker.signals.cases import FIXTURES, Case, read_cases
from tests.worker.signals.conftest import CaseRunner
from worker.domain.dossier import Dossier
from worker.signals.analysis.change import CodeChange
from worker.signals.heuristic_opinion import SIGNALS
from worker.signals.signal import Signal, SignalKind, SignalScope, has_more_than_documents

MODULES: Final = sorted({str(path.parent.relative_to(FIXTURES)) for path in FIXTURES.rglob("*.diff")})
HALF_FINISHED: Final = [module for module in MODULES if module.startswith("half_finished/")]
FOREIGN_FOLDERS: Final = ("tests", "vendor", "fixtures", "templates", "examples/starter")


@cache
def cases_of(module: str) -> tuple[Case, ...]:
    return tuple(case for path in sorted((FIXTURES / module).glob("*.diff")) for case in read_cases(path))


def firing_cases(module: str) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((case_id(case), {"case": case}) for case in cases_of(module) if case.firings)


def case_id(case: Case) -> str:
    return f"{case.path.relative_to(FIXTURES).with_suffix('')}: {case.name}"


def module_of(signal: Signal) -> str:
    return "/".join(signal.module.split(".")[2:])


def signals_of(case: Case) -> list[Signal]:
    """The signals of the module that the case's folder is named after."""
    return signals_by_module()[str(case.path.parent.relative_to(FIXTURES))]


@cache
def signals_by_module() -> Mapping[str, list[Signal]]:
    return {module: [signal for signal in SIGNALS if module_of(signal) == module] for module in map(module_of, SIGNALS)}


def fired_in(dossiers: Iterable[Dossier], signals: list[Signal]) -> list[str]:
    changes = [CodeChange(dossier) for dossier in dossiers]
    return [finding.signal for change in changes for signal in signals for finding in signal.findings(change)]


@pytest.mark.parametrize("module", MODULES)
def test_signals_of_a_module_fire_exactly_where_its_cases_say(module: str, run_each: CaseRunner) -> None:
    run_each(check_firings, ((case_id(case), {"case": case}) for case in cases_of(module)))


def check_firings(case: Case) -> None:
    signals = signals_of(case)
    facts = {signal.name for signal in signals if signal.kind is SignalKind.FACT}
    expected = sorted(case.firings, key=itemgetter(0))
    for dossier in case.dossiers:
        change = CodeChange(dossier)
        findings = [finding for signal in signals for finding in signal.findings(change)]
        locations = [(finding.signal, finding.path or "", finding.line or 0, finding.side) for finding in findings]
        fired = sorted(zip(locations, findings, strict=True), key=itemgetter(0))
        assert [location for location, _ in fired] == [location for location, _ in expected], (
            dossier.guidance,
            dossier.case,
        )
        for (location, finding), (_, fields) in zip(fired, expected, strict=True):
            wanted = {"fact": location[0] in facts, **fields}
            assert {name: getattr(finding, name) for name in wanted} == wanted, location


@pytest.mark.parametrize("module", HALF_FINISHED)
def test_half_finished_work_of_the_base_is_not_reported(module: str, run_each: CaseRunner) -> None:
    run_each(check_unfinished_base, firing_cases(module))


def check_unfinished_base(case: Case) -> None:
    with_empty_line = {path: f"{text}\n" for path, text in case.after.items()}
    assert fired_in(case.dossiers_of(case.after, with_empty_line), signals_of(case)) == []


@pytest.mark.parametrize("module", HALF_FINISHED)
def test_half_finished_work_outside_production_code_is_not_reported(module: str, run_each: CaseRunner) -> None:
    folders = cycle(FOREIGN_FOLDERS)
    run_each(check_foreign_folder, [(name, {**case, "folder": next(folders)}) for name, case in firing_cases(module)])


def check_foreign_folder(case: Case, folder: str) -> None:
    before, after = ({f"{folder}/{path}": text for path, text in texts.items()} for texts in (case.before, case.after))
    signals = [signal for signal in signals_of(case) if signal.scope is SignalScope.PRODUCTION]
    assert fired_in(case.dossiers_of(before, after), signals) == []


def test_case_files_are_named_after_their_signal_module_and_outcome() -> None:
    assert set(MODULES) <= set(map(module_of, SIGNALS))
    cases = [case for module in MODULES for case in cases_of(module)]
    assert [case.name for case in cases if case.path.name.startswith("reject_") is not bool(case.firings)] == []
    assert len(set(map(case_id, cases))) == len(cases)


def test_signal_with_cases_fires_in_some_and_stays_silent_in_others() -> None:
    cases = [case for module in MODULES for case in cases_of(module)]
    silent = {signal.name for case in cases if not case.firings for signal in signals_of(case)}
    fired = {firing[0] for case in cases for firing, _ in case.firings}
    assert fired == silent


def test_signals_that_are_not_asked_of_documents_find_nothing_there() -> None:
    unasked = [signal for signal in SIGNALS if signal.only_if is not None or signal.scope is SignalScope.CONFIGURATION]
    asked = 0
    for case in (case for module in {*map(module_of, unasked)} for case in cases_of(module)):
        before, after = ({f"{path}.md": text for path, text in texts.items()} for texts in (case.before, case.after))
        change = CodeChange(next(case.dossiers_of(before, after)))
        is_asked = has_more_than_documents(change)
        asked += is_asked
        assert is_asked or [match for signal in unasked for match in signal.detect(change)] == [], case_id(case)
    assert asked, "`.nycrc.md` configures a tool"
