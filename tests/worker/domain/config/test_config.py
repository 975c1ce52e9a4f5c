"""The keys of `.github/assay.yml` are the fields of the configuration, and its signals are the judge's."""

import re
from decimal import Decimal
from textwrap import fill

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.golden.golden import Golden
from worker.domain.config.config import (
    LONGEST_WAIT_S,
    Authors,
    ConfigKeys,
    Handling,
    RepositoryConfig,
    parse_seconds,
    to_config,
    to_keys,
)
from worker.domain.dossier import Policy
from worker.signals.registry import REGISTERED_NAMES

SIGNAL_NAMES_MODULE = '''"""The names of all signals, for what is read without a judge.

Generated from worker/signals: ./test tests/worker/domain/config --update-golden
"""

from typing import Final

_NAMES: Final = """
{names}
"""
SIGNAL_NAMES: Final = tuple(_NAMES.split())
'''


def test_the_signals_that_a_file_may_name_are_the_judges(golden: Golden) -> None:
    names = fill(" ".join(sorted(REGISTERED_NAMES)), 118)
    golden.check_text("../../worker/domain/config/signal_names.py", SIGNAL_NAMES_MODULE.format(names=names))


def test_every_key_is_a_field_of_the_configuration_and_every_field_a_key() -> None:
    fields = {*Policy.model_fields, *RepositoryConfig.model_fields} - {"policy"}
    assert set(ConfigKeys.model_fields) - {"version"} == fields
    assert set(to_keys(RepositoryConfig())) == fields


def test_a_key_that_is_left_out_has_the_configurations_default() -> None:
    assert to_config({}) == RepositoryConfig()
    keys = ConfigKeys()
    assert to_config({name: getattr(keys, name) for name in ConfigKeys.model_fields}) == RepositoryConfig()


def test_a_version_is_a_number_and_no_switch() -> None:
    assert ConfigKeys.model_validate({"version": 1}).version == 1
    for given_instead in (True, False, 2):
        with pytest.raises(ValidationError):
            ConfigKeys.model_validate({"version": given_instead})


def test_what_a_file_says_of_authors_is_told_from_what_it_leaves_to_the_operator() -> None:
    made = to_config({"authors": Authors(people=Handling.OBSERVE)})
    assert made.authors.model_fields_set == {"people"}
    assert to_config({}).authors.model_fields_set == set()


def test_policy_and_steering_find_their_places() -> None:
    made = to_config({"mode": "observe", "quiet_window": 5.0, "version": 1})
    assert (made.policy.mode, made.quiet_window) == ("observe", 5.0)
    assert to_keys(made)["mode"] == "observe"


@pytest.mark.parametrize(
    ("text", "meant"), [(45, 45), (0.5, 0.5), ("45s", 45), ("10m", 600), ("2h", 7200), ("1.5m", 90), ("24h", 86400)]
)
def test_durations_are_seconds_or_have_a_unit(text: object, meant: float) -> None:
    assert parse_seconds(text) == meant


@pytest.mark.parametrize("text", ["45", "45 s", "s", "-1s", "25h", "1d", "", -1, 86401, True, None, [], float("nan")])
def test_what_is_no_duration_says_what_one_is(text: object) -> None:
    with pytest.raises(ValueError, match=r"^seconds from 0 to 86400, or a text like 45s, 10m or 2h$"):
        parse_seconds(text)


@given(st.one_of(st.text(max_size=12), st.floats(), st.integers(), st.from_regex(r"[0-9]{1,6}[smh]", fullmatch=True)))
def test_a_duration_is_never_longer_than_a_day(text: object) -> None:
    try:
        seconds = parse_seconds(text)
    except ValueError:
        return
    assert 0 <= seconds <= LONGEST_WAIT_S


@given(number=st.decimals("0", "99999", places=1), unit=st.sampled_from("smh"))
@example(number=Decimal(86_400), unit="s")
@example(number=Decimal("1440.0"), unit="m")
@example(number=Decimal("24.1"), unit="h")
@example(number=Decimal(24), unit="h")
def test_the_schema_takes_the_same_durations_as_the_reader(number: Decimal, unit: str) -> None:
    text = f"{number}{unit}"
    try:
        parse_seconds(text)
    except ValueError:
        is_read = False
    else:
        is_read = True
    pattern = ConfigKeys.model_json_schema()["properties"]["quiet_window"]["anyOf"][1]["pattern"]
    assert (re.search(pattern, text) is not None) is is_read
    assert is_read is (number * {"s": 1, "m": 60, "h": 3600}[unit] <= 86_400)
