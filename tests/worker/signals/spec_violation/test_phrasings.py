"""The many ways in which rules are worded: what breaks them is a fact, what keeps them is nothing."""

import pytest

from tests.worker.signals.made import dossier_of
from tests.worker.signals.spec_violation.phrasings import (
    BEYOND,
    CODE,
    DUTIES,
    HAND,
    LICENCE,
    MORE_PHRASINGS,
    OPEN,
    PATHS,
    SOFT,
    Group,
    Texts,
)
from worker.domain.verdict.verdict import Finding
from worker.signals.analysis.change import CodeChange
from worker.signals.spec_violation import SIGNALS

GROUPS = (*CODE, *PATHS, *DUTIES)


def phrasings(group: Group) -> tuple[str, ...]:
    return (*group.phrasings, *MORE_PHRASINGS.get(group.name, ()))


def findings(rules: str, before: Texts, after: Texts) -> list[Finding]:
    guidance = [{"path": "AGENTS.md", "text": rules}]
    change = CodeChange(dossier_of(before, after, title="Add counting", guidance=guidance))
    return [one for signal in SIGNALS for one in signal.findings(change)]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_what_breaks_a_rule_is_a_fact_however_the_rule_is_worded(group: Group) -> None:
    after = {**group.before, **group.broken}
    silent = [rules for rules in phrasings(group) if not any(one.fact for one in findings(rules, group.before, after))]
    assert silent == []


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_what_keeps_a_rule_is_nothing_however_the_rule_is_worded(group: Group) -> None:
    after = {**group.before, **group.kept}
    assert [one for rules in phrasings(group) for one in findings(rules, group.before, after)] == []


@pytest.mark.parametrize("rules", LICENCE.phrasings)
def test_a_missing_licence_header_is_a_suspicion(rules: str) -> None:
    assert [one.fact for one in findings(rules, {}, LICENCE.broken)] == [False]
    assert findings(rules, {}, LICENCE.kept) == []


@pytest.mark.parametrize("rules", [*OPEN, *SOFT, *BEYOND])
def test_a_condition_that_only_a_reader_can_check_makes_no_fact(rules: str) -> None:
    before = dict.fromkeys(HAND, "a = 1\n")
    assert [one.note for one in findings(rules, before, HAND) if one.fact] == []


@pytest.mark.parametrize("rules", SOFT)
def test_a_preference_makes_no_suspicion(rules: str) -> None:
    before = dict.fromkeys(HAND, "a = 1\n")
    assert findings(rules, before, HAND) == []


def test_the_groups_of_the_second_list_are_those_of_the_first() -> None:
    assert MORE_PHRASINGS.keys() <= {group.name for group in GROUPS}
