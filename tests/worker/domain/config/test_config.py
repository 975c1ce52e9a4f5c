"""Keys, signals and durations of `.github/assay.yml`."""

import re
from contextlib import nullcontext
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
from worker.signals.heuristic_opinion import REGISTERED_NAMES

SIGNAL_NAMES_MODULE = '''"""The names of all signals, for what is read without a judge.

Generated from worker/signals: ./test tests/worker/domain/config --update-golden
"""

from typing import Final

_NAMES: Final = """
{names}
"""
SIGNAL_NAMES: Final = tuple(_NAMES.split())
'''


def test_configurable_signals_are_those_of_the_judge(golden: Golden) -> None:
    names = fill(" ".join(sorted(REGISTERED_NAMES)), 118)
    golden.check_text("../../worker/domain/config/signal_names.py", SIGNAL_NAMES_MODULE.format(names=names))


def test_configuration_keys_are_the_fields_of_the_configuration() -> None:
    fields = {*Policy.model_fields, *RepositoryConfig.model_fields} - {"policy"}
    assert set(ConfigKeys.model_fields) - {"version"} == fields
    assert set(to_keys(RepositoryConfig())) == fields


def test_omitted_key_has_the_default_value() -> None:
    assert to_config({}) == RepositoryConfig()
    keys = ConfigKeys()
    assert to_config({name: getattr(keys, name) for name in ConfigKeys.model_fields}) == RepositoryConfig()


def test_version_key_must_be_the_number_one() -> None:
    assert ConfigKeys.model_validate({"version": 1}).version == 1
    for version in (True, False, 2):
        with pytest.raises(ValidationError):
            ConfigKeys.model_validate({"version": version})


def test_authors_set_in_the_file_are_told_from_the_operator_defaults() -> None:
    config = to_config({"authors": Authors(people=Handling.OBSERVE)})
    assert config.authors.model_fields_set == {"people"}
    assert to_config({}).authors.model_fields_set == set()


def test_keys_are_split_into_policy_and_repository_settings() -> None:
    config = to_config({"mode": "observe", "quiet_window": 5.0, "version": 1})
    assert (config.policy.mode, config.quiet_window) == ("observe", 5.0)
    assert to_keys(config)["mode"] == "observe"


@pytest.mark.parametrize(
    ("text", "expected"), [(45, 45), (0.5, 0.5), ("45s", 45), ("10m", 600), ("2h", 7200), ("1.5m", 90), ("24h", 86400)]
)
def test_duration_is_in_seconds_or_has_a_unit(text: object, expected: float) -> None:
    assert parse_seconds(text) == expected


@pytest.mark.parametrize("text", ["45", "45 s", "s", "-1s", "25h", "1d", "", -1, 86401, True, None, [], float("nan")])
def test_invalid_duration_error_says_what_is_expected(text: object) -> None:
    with pytest.raises(ValueError, match=r"^seconds from 0 to 86400, or a text like 45s, 10m or 2h$"):
        parse_seconds(text)


@given(st.one_of(st.text(max_size=12), st.floats(), st.integers(), st.from_regex(r"[0-9]{1,6}[smh]", fullmatch=True)))
def test_duration_is_at_most_a_day(text: object) -> None:
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
def test_schema_accepts_the_same_durations_as_the_parser(number: Decimal, unit: str) -> None:
    text, is_valid = f"{number}{unit}", number * {"s": 1, "m": 60, "h": 3600}[unit] <= 86_400
    with nullcontext() if is_valid else pytest.raises(ValueError, match="seconds from 0"):
        parse_seconds(text)
    pattern = ConfigKeys.model_json_schema()["properties"]["quiet_window"]["anyOf"][1]["pattern"]
    assert (re.search(pattern, text) is not None) is is_valid
