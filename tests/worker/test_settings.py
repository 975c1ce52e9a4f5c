"""Settings: how each is read, and the error message of each malformed one."""

import base64
from decimal import Decimal
from operator import attrgetter
from pathlib import Path

import pytest

from worker.domain.config.github_app import OPT_IN_SETTINGS, OptIn
from worker.domain.verdict.budget import Caps
from worker.domain.verdict.ledger import ROUND_LIMIT
from worker.errors import SettingError
from worker.settings import APP as APP_FIELDS
from worker.settings import (
    AUTHORS,
    CAPS,
    MODEL,
    PLAIN,
    SERVER,
    SHADOW,
    TIMING,
    ZERO_ALLOWED,
    ShadowSettings,
    Timing,
    child_environment,
    read_settings,
    web_url,
)
from worker.settings_reference import VARIABLES

KEY = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----"
OTHER_KEY = "-----BEGIN PRIVATE KEY-----\ndef\n-----END PRIVATE KEY-----"
APP = {"ASSAY_APP_ID": "7", "ASSAY_APP_PRIVATE_KEY": KEY, "ASSAY_WEBHOOK_SECRET": "hush"}
MONEY = {"ASSAY_PR_MAX_USD": "0.1", "ASSAY_DAY_MAX_USD": "2.50", "ASSAY_REPOSITORY_SHARE": "1"}
CANARY = {"ASSAY_CANARY_RUBRIC": "/x.yml", "ASSAY_CANARY_PROMPT": "/x.md", "ASSAY_CANARY_USD": "0.5"}


@pytest.mark.parametrize(
    ("environ", "field", "value"),
    [
        ({"HOME": "/home/x"}, "app", None),
        ({}, "model", None),
        ({"ANTHROPIC_API_KEY": " "}, "model", None),
        ({"REDIS_URL": ""}, "redis_url", None),
        ({}, "data_dir.name", "assay"),
        ({"XDG_STATE_HOME": "/s"}, "data_dir", Path("/s/assay")),
        ({"ASSAY_DATA_DIR": "/d"}, "data_dir", Path("/d")),
        ({}, "tier", "hybrid"),
        ({"ASSAY_ESCALATION_THRESHOLD": "0"}, "threshold", 0.0),
        ({"ASSAY_ESCALATION_THRESHOLD": "1.5"}, "threshold", 1.5),
        ({}, "declined", frozenset[OptIn]()),
        ({"ASSAY_COMMENTS": "1", "ASSAY_REACTIONS": "0"}, "declined", {OptIn.REACTIONS}),
        (dict.fromkeys(OPT_IN_SETTINGS, "0"), "declined", {OptIn.COMMENTS, OptIn.REACTIONS}),
        ({}, "caps", Caps(pull_usd=Decimal("0.10"), day_usd=Decimal("1.00"))),
        (MONEY, "caps", Caps(pull_usd=Decimal("0.1"), day_usd=Decimal("2.50"), share=Decimal(1))),
        ({}, "is_paused", False),
        ({"ASSAY_PAUSED": "1"}, "is_paused", True),
        ({}, "round_limit", ROUND_LIMIT),
        ({"ASSAY_ROUND_LIMIT": "2"}, "round_limit", 2),
        ({}, "second_model", None),
        ({"ASSAY_SECOND_MODEL": "claude-opus-5-5"}, "second_model", "claude-opus-5-5"),
        ({}, "has_panel", False),
        ({"ASSAY_BOARD": "1"}, "has_panel", True),
        ({}, "models", ()),
        ({"ASSAY_MODELS": "a, b a"}, "models", ("a", "b")),
        ({}, "shadow.is_set", False),
        (CANARY, "shadow.is_set", True),
        (CANARY, "shadow", ShadowSettings(Path("/x.yml"), Path("/x.md"), Decimal("0.5"))),
        ({"ASSAY_CANARY_RUBRIC": "/x.yml"}, "shadow", ShadowSettings(Path("/x.yml"))),
        ({"ASSAY_METRICS_ADDRESS": "0.0.0.0:9090"}, "metrics_address", ("0.0.0.0", 9090)),  # noqa: S104 - as written
        ({"ASSAY_METRICS_ADDRESS": "[::1]:0"}, "metrics_address", ("::1", 0)),
        ({"ASSAY_METRICS_ADDRESS": "metrics:1"}, "metrics_address", ("metrics", 1)),
    ],
)
def test_setting_is_read_or_has_its_default(environ: dict[str, str], field: str, value: object) -> None:
    assert attrgetter(field)(read_settings(environ)) == value


IN_BASE64, OTHER_IN_BASE64 = (base64.b64encode(key.encode()).decode() for key in (KEY, OTHER_KEY))


@pytest.mark.parametrize(
    ("value", "keys"),
    [
        (KEY, [KEY]),
        (KEY.replace("\n", "\\n"), [KEY]),
        (IN_BASE64, [KEY]),
        ("{folder}/new.pem", [KEY]),
        (f"{KEY}\n{OTHER_KEY}", [KEY, OTHER_KEY]),
        ("{folder}/new.pem {folder}/old.pem", [KEY, OTHER_KEY]),
        (f"{IN_BASE64} {OTHER_IN_BASE64}", [KEY, OTHER_KEY]),
        (f"{IN_BASE64} {{folder}}/old.pem", [KEY, OTHER_KEY]),
    ],
)
def test_private_keys_are_read_in_every_common_form(value: str, keys: list[str], tmp_path: Path) -> None:
    (tmp_path / "new.pem").write_text(KEY)
    (tmp_path / "old.pem").write_text(OTHER_KEY)
    environ = {**APP, "ASSAY_APP_PRIVATE_KEY": value.format(folder=tmp_path), "ASSAY_WEBHOOK_SECRET": "new old"}
    app = read_settings(environ).require_app()
    assert [key.get_secret_value() for key in app.private_keys] == keys
    assert [secret.get_secret_value() for secret in app.webhook_secrets] == ["new", "old"]


CELLS = {"REDIS_URL": "redis://main", "ASSAY_CELLS": "west=rediss://:pw@west\neast=unix:///east"}


@pytest.mark.parametrize(
    ("environ", "url"),
    [({}, "redis://main"), ({"ASSAY_CELL": "main"}, "redis://main"), ({"ASSAY_CELL": "west"}, "rediss://:pw@west")],
)
def test_process_uses_the_redis_of_its_cell(environ: dict[str, str], url: str) -> None:
    settings = read_settings({**CELLS, **environ})
    assert settings.redis_url is not None
    assert settings.redis_url.get_secret_value() == url
    assert list(settings.cells) == ["main", "west", "east"]
    assert "pw" not in repr(settings)
    child = read_settings({**CELLS, **environ, **child_environment(settings)})
    assert child.cells == settings.cells, "a child finds the main cell"


def test_secrets_never_show_in_a_repr() -> None:
    settings = read_settings({**APP, "ANTHROPIC_API_KEY": "sk-ant-1", "REDIS_URL": "redis://:pw@h"})
    assert not [secret for secret in ("hush", "abc", "sk-ant-1", "pw@h") if secret in repr(settings)]


def without(name: str) -> dict[str, str]:
    return {key: value for key, value in APP.items() if key != name}


@pytest.mark.parametrize(
    ("environ", "problem"),
    [
        *((without(name), f"{name} is not set.") for name in APP),
        ({**APP, "ASSAY_APP_ID": "seven"}, 'ASSAY_APP_ID is "seven".'),
        ({**APP, "ASSAY_APP_PRIVATE_KEY": "nonsense"}, "ASSAY_APP_PRIVATE_KEY holds no PEM private key."),
        ({**APP, "ASSAY_APP_PRIVATE_KEY": "/nowhere/key.pem"}, "ASSAY_APP_PRIVATE_KEY holds no PEM private key."),
        ({**APP, "ASSAY_APP_PRIVATE_KEY": "\n".join([KEY] * 3)}, "ASSAY_APP_PRIVATE_KEY holds 3 keys, more than two."),
        (
            {**APP, "ASSAY_APP_PRIVATE_KEY": f"{IN_BASE64} /nowhere/key.pem"},
            "ASSAY_APP_PRIVATE_KEY holds a word that is neither a key nor the path of one.",
        ),
        ({**APP, "ASSAY_WEBHOOK_SECRET": "one two three"}, "ASSAY_WEBHOOK_SECRET holds 3 words, so more than two secrets."),
        ({"REDIS_URL": "localhost:6379"}, "REDIS_URL starts with none of redis://, rediss://, unix://."),
        (
            {"ASSAY_REDIS_REPLICAS": "1"},
            "ASSAY_REDIS_REPLICAS is set, and REDIS_URL is not: the embedded server has no replica.",
        ),
        ({"ASSAY_CELLS": "west=redis://w"}, "ASSAY_CELLS is set, and REDIS_URL, the main cell, is not."),
        ({**CELLS, "ASSAY_CELLS": "main=redis://w"}, 'ASSAY_CELLS names the cell "main".'),
        ({**CELLS, "ASSAY_CELLS": "a=redis://w a=redis://w"}, 'ASSAY_CELLS names the cell "a".'),
        ({**CELLS, "ASSAY_CELLS": "West=redis://w"}, 'ASSAY_CELLS names the cell "West".'),
        (
            {**CELLS, "ASSAY_CELLS": "west=w:1"},
            'ASSAY_CELLS has a URL of "west" that starts with none of redis://, rediss://, unix://.',
        ),
        ({**CELLS, "ASSAY_CELL": "north"}, 'ASSAY_CELL is "north", which ASSAY_CELLS lacks.'),
        ({"ASSAY_CELL": "west"}, 'ASSAY_CELL is "west", which ASSAY_CELLS lacks.'),
        ({"ASSAY_STORE_KEYS": "c2hvcnQ="}, "ASSAY_STORE_KEYS has a key (number 1) that is not 32 bytes in base64."),
        ({"ASSAY_STORE_KEYS": "???"}, "ASSAY_STORE_KEYS has a key (number 1) that is not 32 bytes in base64."),
        ({"ASSAY_GITHUB_API_URL": "ghes.example"}, 'ASSAY_GITHUB_API_URL is "ghes.example".'),
        ({"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "gateway"}, 'ANTHROPIC_BASE_URL is "gateway".'),
        ({"ASSAY_TIER": "best"}, 'ASSAY_TIER is "best".'),
        ({"ASSAY_PORT": "70000"}, 'ASSAY_PORT is "70000".'),
        ({"ASSAY_LEASE": "soon"}, 'ASSAY_LEASE is "soon".'),
        ({"ASSAY_ESCALATION_THRESHOLD": "-1"}, 'ASSAY_ESCALATION_THRESHOLD is "-1".'),
        ({"ASSAY_LOG_LEVEL": "loud"}, 'ASSAY_LOG_LEVEL is "loud".'),
        ({"ASSAY_ROUND_LIMIT": "0"}, 'ASSAY_ROUND_LIMIT is "0".'),
        ({"ASSAY_PR_MAX_USD": "$1"}, 'ASSAY_PR_MAX_USD is "$1".'),
        ({"ASSAY_PR_MAX_USD": "1000001"}, 'ASSAY_PR_MAX_USD is "1000001", more than 1000000.'),
        ({"ASSAY_DAY_MAX_USD": "-1"}, 'ASSAY_DAY_MAX_USD is "-1".'),
        ({"ASSAY_DAY_MAX_USD": "1000000.1"}, 'ASSAY_DAY_MAX_USD is "1000000.1", more than 1000000.'),
        ({"ASSAY_REPOSITORY_SHARE": "1.1"}, 'ASSAY_REPOSITORY_SHARE is "1.1", and a part of a day is at most 1.'),
        ({"ASSAY_AUTHOR_SHARE": "1.1"}, 'ASSAY_AUTHOR_SHARE is "1.1", and a part of a day is at most 1.'),
        ({"ASSAY_PAUSED": "yes"}, 'ASSAY_PAUSED is "yes".'),
        ({"ASSAY_REACTIONS": "no"}, 'ASSAY_REACTIONS is "no".'),
        ({"ASSAY_BOARD": "yes"}, 'ASSAY_BOARD is "yes".'),
        (
            {"ASSAY_CANARY_PROMPT": "p.md"},
            "ASSAY_CANARY_PROMPT is set and ASSAY_CANARY_USD is not: no model would read it.",
        ),
        ({"ASSAY_CANARY_USD": "much"}, 'ASSAY_CANARY_USD is "much".'),
        ({"ASSAY_CANARY_USD": "1000001"}, 'ASSAY_CANARY_USD is "1000001", more than 1000000.'),
        *(
            ({"ASSAY_METRICS_ADDRESS": address}, f'ASSAY_METRICS_ADDRESS is "{address}".')
            for address in ("9090", ":9090", "host:", "host:65536", "a b:1", "::1:9090")
        ),
        *(
            ({f"ASSAY_{name.upper()}": "0"}, f"ASSAY_{name.upper()} is 0, and has to be more.")
            for name in Timing.__match_args__
            if name not in ZERO_ALLOWED
        ),
    ],
)  # fmt: skip
def test_malformed_setting_is_refused_by_name(environ: dict[str, str], problem: str) -> None:
    with pytest.raises(SettingError) as refused:
        read_settings(environ)
    assert str(refused.value).startswith(f"{problem} Expected: ")
    assert refused.value.variable == problem.split(maxsplit=1)[0]


def test_setting_error_says_where_to_get_the_value() -> None:
    with pytest.raises(SettingError) as free:
        read_settings({"ASSAY_WORKERS": "foo"})
    assert str(free.value) == 'ASSAY_WORKERS is "foo". Expected: how many pull requests are judged at a time.'
    with pytest.raises(SettingError, match=r" Get it from: docs/configuration\.md\.$"):
        read_settings({"ASSAY_TIER": "foo"})
    with pytest.raises(SettingError, match=r"^ASSAY_APP_ID is not set\. Expected: the App's number\. Get it from"):
        read_settings({}).require_app()


def test_read_and_documented_variables_are_the_same() -> None:
    tables = (APP_FIELDS, AUTHORS, CAPS, MODEL, PLAIN, SERVER, SHADOW, TIMING)
    read = {name for table in tables for name, _ in table.values()} | {"ASSAY_DATA_DIR", *OPT_IN_SETTINGS}
    assert sorted(read) == sorted(variable.name for variable in VARIABLES)


@pytest.mark.parametrize(("value", "names"), [("0.25", Timing.__match_args__), ("0", tuple(ZERO_ALLOWED))])
def test_each_duration_can_be_set_and_some_to_zero(value: str, names: tuple[str, ...]) -> None:
    timing = read_settings({f"ASSAY_{name.upper()}": value for name in names}).timing
    assert {getattr(timing, name) for name in names} == {float(value)}


def test_zero_is_refused_for_durations_that_need_time() -> None:
    needed = {
        "lease", "hold", "open_hold", "leader", "sweep", "tick", "github_timeout", "redis_timeout", "check_deadline",
    }  # fmt: skip
    assert needed.isdisjoint(ZERO_ALLOWED)


@pytest.mark.parametrize(
    ("api", "web"),
    [
        ("https://api.github.com", "https://github.com"),
        ("https://ghe.example.org/api/v3", "https://ghe.example.org"),
        ("https://ghe.example.org/api/v3/", "https://ghe.example.org"),
        ("https://api.acme.ghe.com", "https://acme.ghe.com"),
        ("http://127.0.0.1:4000", "http://127.0.0.1:4000"),
    ],
)
def test_web_url_belongs_to_the_api(api: str, web: str) -> None:
    assert web_url(api) == web
