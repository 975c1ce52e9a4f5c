"""Settings: what is wrong is one message, naming the variable, what is expected and where to get it."""

import base64
from decimal import Decimal
from pathlib import Path

import pytest

from worker.domain.config.app_permissions import OPT_IN_SETTINGS, OptIn
from worker.domain.verdict.budget import Caps
from worker.domain.verdict.ledger import ROUND_LIMIT
from worker.errors import SettingError
from worker.settings import APP as APP_FIELDS
from worker.settings import (
    AUTHORS,
    CAPS,
    MODEL,
    PEM,
    PLAIN,
    SERVER,
    SHADOW,
    TIMING,
    ZERO_ALLOWED,
    ShadowSettings,
    Timing,
    read_settings,
)
from worker.settings_reference import VARIABLES

KEY = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----"
APP = {"ASSAY_APP_ID": "7", "ASSAY_APP_PRIVATE_KEY": KEY, "ASSAY_WEBHOOK_SECRET": "hush"}


def test_an_empty_environment_is_enough_for_a_laptop() -> None:
    settings = read_settings({"HOME": "/home/x"})
    assert (settings.app, settings.model, settings.redis_url, settings.tier) == (None, None, None, "hybrid")
    assert settings.data_dir.name == "assay"


def test_a_variable_set_to_nothing_counts_as_not_set() -> None:
    assert read_settings({"ANTHROPIC_API_KEY": " ", "REDIS_URL": ""}).model is None


def test_the_data_folder_follows_the_users_state_folder() -> None:
    assert read_settings({"XDG_STATE_HOME": "/s"}).data_dir == Path("/s/assay")
    assert read_settings({"ASSAY_DATA_DIR": "/d"}).data_dir == Path("/d")


def test_comments_and_reactions_are_on_unless_an_operator_declines_them() -> None:
    assert read_settings({}).declined == frozenset()
    assert read_settings({"ASSAY_COMMENTS": "1", "ASSAY_REACTIONS": "0"}).declined == {OptIn.REACTIONS}
    assert read_settings(dict.fromkeys(OPT_IN_SETTINGS, "0")).declined == {OptIn.COMMENTS, OptIn.REACTIONS}
    with pytest.raises(SettingError, match=r'^ASSAY_REACTIONS is "no"\. Expected: '):
        read_settings({"ASSAY_REACTIONS": "no"})


def test_an_app_missing_is_told_only_when_it_is_needed() -> None:
    with pytest.raises(SettingError, match=r"^ASSAY_APP_ID is not set\. Expected: the App's number\. Get it from"):
        read_settings({}).require_app()


@pytest.mark.parametrize("name", APP)
def test_half_an_app_is_refused_naming_the_missing_half(name: str) -> None:
    rest = {key: value for key, value in APP.items() if key != name}
    with pytest.raises(SettingError, match=rf"^{name} is not set\."):
        read_settings(rest)


@pytest.mark.parametrize(
    "value",
    [KEY, KEY.replace("\n", "\\n"), base64.b64encode(KEY.encode()).decode()],
    ids=["PEM", "PEM with escaped line ends", "base64 of PEM"],
)
def test_the_private_key_is_taken_in_every_usual_form(value: str) -> None:
    app = read_settings({**APP, "ASSAY_APP_PRIVATE_KEY": value}).require_app()
    assert [key.get_secret_value() for key in app.private_keys] == [KEY]


def test_the_private_key_may_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "app.pem"
    file.write_text(KEY)
    app = read_settings({**APP, "ASSAY_APP_PRIVATE_KEY": str(file)}).require_app()
    assert app.private_keys[0].get_secret_value() == KEY


def test_two_keys_and_two_webhook_secrets_are_taken_while_one_is_rotated_out() -> None:
    app = read_settings(
        {**APP, "ASSAY_APP_PRIVATE_KEY": f"{KEY}\n{KEY.replace('abc', 'def')}", "ASSAY_WEBHOOK_SECRET": "new old"}
    ).require_app()
    assert len(app.private_keys) == 2
    assert [secret.get_secret_value() for secret in app.webhook_secrets] == ["new", "old"]


def test_two_keys_may_be_two_files_or_two_words_of_base64(tmp_path: Path) -> None:
    other = KEY.replace("abc", "def")
    for name, key in (("new.pem", KEY), ("old.pem", other)):
        (tmp_path / name).write_text(key)
    words = [base64.b64encode(key.encode()).decode() for key in (KEY, other)]
    for value in (f"{tmp_path}/new.pem {tmp_path}/old.pem", " ".join(words), f"{words[0]} {tmp_path}/old.pem"):
        app = read_settings({**APP, "ASSAY_APP_PRIVATE_KEY": value}).require_app()
        assert [key.get_secret_value() for key in app.private_keys] == [KEY, other]
    with pytest.raises(SettingError, match="holds a word that is neither a key nor the path of one"):
        read_settings({**APP, "ASSAY_APP_PRIVATE_KEY": f"{tmp_path}/new.pem {tmp_path}/gone.pem"})


def test_more_than_two_keys_are_refused() -> None:
    with pytest.raises(SettingError, match=r"^ASSAY_APP_PRIVATE_KEY holds 3 keys"):
        read_settings({**APP, "ASSAY_APP_PRIVATE_KEY": "\n".join([KEY] * 3)})


def test_secrets_never_show_in_a_repr() -> None:
    settings = read_settings({**APP, "ANTHROPIC_API_KEY": "sk-ant-1", "REDIS_URL": "redis://:pw@h"})
    assert not [one for one in ("hush", "abc", "sk-ant-1", "pw@h") if one in repr(settings)]


WRONG = [
    ({**APP, "ASSAY_APP_ID": "seven"}, "ASSAY_APP_ID"),
    ({**APP, "ASSAY_APP_PRIVATE_KEY": "nonsense"}, "ASSAY_APP_PRIVATE_KEY"),
    ({**APP, "ASSAY_APP_PRIVATE_KEY": "/nowhere/key.pem"}, "ASSAY_APP_PRIVATE_KEY"),
    ({**APP, "ASSAY_WEBHOOK_SECRET": "one two three"}, "ASSAY_WEBHOOK_SECRET"),
    ({"REDIS_URL": "localhost:6379"}, "REDIS_URL"),
    ({"ASSAY_STORE_KEYS": "c2hvcnQ="}, "ASSAY_STORE_KEYS"),
    ({"ASSAY_STORE_KEYS": "???"}, "ASSAY_STORE_KEYS"),
    ({"ASSAY_GITHUB_API_URL": "ghes.example"}, "ASSAY_GITHUB_API_URL"),
    ({"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "gateway"}, "ANTHROPIC_BASE_URL"),
    ({"ASSAY_TIER": "best"}, "ASSAY_TIER"),
    ({"ASSAY_PORT": "70000"}, "ASSAY_PORT"),
    ({"ASSAY_LEASE": "soon"}, "ASSAY_LEASE"),
    ({"ASSAY_ESCALATION_THRESHOLD": "-1"}, "ASSAY_ESCALATION_THRESHOLD"),
    ({"ASSAY_LOG_LEVEL": "loud"}, "ASSAY_LOG_LEVEL"),
    ({"ASSAY_PR_MAX_USD": "$1"}, "ASSAY_PR_MAX_USD"),
    ({"ASSAY_ROUND_LIMIT": "0"}, "ASSAY_ROUND_LIMIT"),
    ({"ASSAY_PR_MAX_USD": "1000001"}, "ASSAY_PR_MAX_USD"),
    ({"ASSAY_DAY_MAX_USD": "-1"}, "ASSAY_DAY_MAX_USD"),
    ({"ASSAY_DAY_MAX_USD": "1000000.1"}, "ASSAY_DAY_MAX_USD"),
    ({"ASSAY_REPOSITORY_SHARE": "1.1"}, "ASSAY_REPOSITORY_SHARE"),
    ({"ASSAY_AUTHOR_SHARE": "1.1"}, "ASSAY_AUTHOR_SHARE"),
    ({"ASSAY_PAUSED": "yes"}, "ASSAY_PAUSED"),
]


@pytest.mark.parametrize(("environ", "name"), WRONG)
def test_a_malformed_setting_is_refused_by_name(environ: dict[str, str], name: str) -> None:
    with pytest.raises(SettingError, match=rf"^{name} .+Expected: .+\.$") as refused:
        read_settings(environ)
    assert refused.value.variable == name


def test_where_to_get_a_setting_is_told_where_it_is_no_free_choice() -> None:
    with pytest.raises(SettingError) as free:
        read_settings({"ASSAY_WORKERS": "foo"})
    assert str(free.value) == 'ASSAY_WORKERS is "foo". Expected: how many pull requests are judged at a time.'
    with pytest.raises(SettingError, match=r" Get it from: docs/configuration\.md\.$"):
        read_settings({"ASSAY_TIER": "foo"})


def test_what_is_read_and_what_is_documented_are_the_same_variables() -> None:
    tables = (APP_FIELDS, AUTHORS, CAPS, MODEL, PLAIN, SERVER, SHADOW, TIMING)
    read = {name for table in tables for name, _ in table.values()} | {"ASSAY_DATA_DIR", *OPT_IN_SETTINGS}
    assert sorted(read) == sorted(variable.name for variable in VARIABLES)


def test_every_duration_can_be_set() -> None:
    environ = {f"ASSAY_{name.upper()}": "0.25" for name in Timing.__match_args__}
    timing = read_settings(environ).timing
    assert {getattr(timing, name) for name in Timing.__match_args__} == {0.25}


def test_the_threshold_may_be_zero_for_never_and_above_one_for_always() -> None:
    assert [read_settings({"ASSAY_ESCALATION_THRESHOLD": one}).threshold for one in ("0", "1.5")] == [0.0, 1.5]


def test_a_key_in_another_format_is_found_too() -> None:
    assert PEM.search("-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----")


@pytest.mark.parametrize(
    "name",
    ["LEASE", "HOLD", "OPEN_HOLD", "LEADER", "SWEEP", "TICK", "GITHUB_TIMEOUT", "REDIS_TIMEOUT", "CHECK_DEADLINE"],
)
def test_a_duration_that_nothing_can_be_done_in_is_refused(name: str) -> None:
    with pytest.raises(SettingError, match=rf"^ASSAY_{name} is 0, and has to be more\."):
        read_settings({f"ASSAY_{name}": "0"})


def test_not_to_wait_is_a_choice() -> None:
    timing = read_settings({f"ASSAY_{name.upper()}": "0" for name in ZERO_ALLOWED}).timing
    assert {getattr(timing, name) for name in ZERO_ALLOWED} == {0.0}


def test_money_is_read_as_decimals_and_a_pause_as_a_switch() -> None:
    environ = {"ASSAY_PR_MAX_USD": "0.1", "ASSAY_DAY_MAX_USD": "2.50", "ASSAY_REPOSITORY_SHARE": "1"}
    read = read_settings({**environ, "ASSAY_PAUSED": "1"})
    assert read.caps == Caps(pull_usd=Decimal("0.1"), day_usd=Decimal("2.50"), share=Decimal(1))
    assert read.is_paused
    standard = read_settings({})
    assert (standard.caps, standard.is_paused) == (Caps(), False)
    assert (standard.caps.pull_usd, standard.caps.day_usd) == (Decimal("0.10"), Decimal("1.00"))


def test_the_round_limit_is_the_ledgers_unless_it_is_set() -> None:
    assert read_settings({}).round_limit == ROUND_LIMIT
    assert read_settings({"ASSAY_ROUND_LIMIT": "2"}).round_limit == 2


def test_second_opinions_boards_and_choices_are_off_unless_they_are_set() -> None:
    plain = read_settings({})
    assert (plain.second_model, plain.has_panel, plain.models) == (None, False, ())
    asked = {"ASSAY_SECOND_MODEL": "claude-opus-5-5", "ASSAY_BOARD": "1", "ASSAY_MODELS": "a, b a"}
    found = read_settings(asked)
    assert (found.second_model, found.has_panel, found.models) == ("claude-opus-5-5", True, ("a", "b"))
    with pytest.raises(SettingError, match='ASSAY_BOARD is "yes"'):
        read_settings({"ASSAY_BOARD": "yes"})


def test_without_a_candidate_there_is_no_canary() -> None:
    assert not read_settings({}).shadow.is_set


def test_a_candidate_is_a_rubric_a_prompt_or_both(tmp_path: Path) -> None:
    file = tmp_path / "x.yml"
    assert read_settings({"ASSAY_CANARY_RUBRIC": str(file)}).shadow == ShadowSettings(file)
    both = read_settings(
        {"ASSAY_CANARY_RUBRIC": str(file), "ASSAY_CANARY_PROMPT": str(file), "ASSAY_CANARY_USD": "0.5"}
    )
    assert both.shadow == ShadowSettings(file, file, Decimal("0.5"))
    assert both.shadow.is_set


@pytest.mark.parametrize(
    ("environ", "problem"),
    [
        (
            {"ASSAY_CANARY_PROMPT": "p.md"},
            "ASSAY_CANARY_PROMPT is set and ASSAY_CANARY_USD is not: no model would read it",
        ),
        ({"ASSAY_CANARY_USD": "much"}, 'ASSAY_CANARY_USD is "much"'),
        ({"ASSAY_CANARY_USD": "1000001"}, "more than 1000000"),
    ],
)
def test_a_prompt_that_nobody_would_read_and_money_that_is_none_are_refused(
    environ: dict[str, str], problem: str
) -> None:
    with pytest.raises(SettingError, match=problem):
        read_settings(environ)
