"""`assay doctor`: what it examines, and the lines that it prints."""

import re
import subprocess
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from pytest_httpserver import HTTPServer

from app.cli.doctor import app_lines, read_partial_settings, redis_lines, skew_line
from tests.app.cli.assay_command import environment, run_assay, run_refused
from worker.adapters.github.doctor import AppKeyReport, AppReport
from worker.adapters.github.responses import AppView
from worker.domain.config.github_app import AppInstallation, OptIn, requested_permissions
from worker.process import SystemClock
from worker.publishing.texts.cli_reports import DoctorFinding, Health, doctor_report, is_healthy
from worker.publishing.texts.terminal import TerminalPage
from worker.settings import Settings
from worker.wiring.cli import StoreReport

KEY = "-----BEGIN RSA PRIVATE KEY-----\nx\n-----END RSA PRIVATE KEY-----"
HERE = Settings(data_dir=Path("/nowhere"))
UNREACHABLE_REDIS = {
    "REDIS_URL": "redis://127.0.0.1:1",
    "ASSAY_STORE_KEYS": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
}


def report_text(examined: list[DoctorFinding]) -> str:
    return doctor_report(examined, TerminalPage(100))


def refused_doctor_text(environ: Mapping[str, str]) -> str:
    """What `doctor` prints without starting a Redis."""
    return " ".join(run_refused("doctor", environ=environ).stdout.split())


def setting_health(environ: Mapping[str, str]) -> list[tuple[str, Health]]:
    return [(setting.name, setting.health) for setting in read_partial_settings(environ)[1]]


def test_every_wrong_variable_is_named() -> None:
    environ = {"ASSAY_PORT": "x", "REDIS_URL": "http://x", "ASSAY_APP_ID": "5", "ASSAY_TIER": "hybrid"}
    settings, examined = read_partial_settings(environ)
    assert {(finding.name, finding.health) for finding in examined} == {
        ("ASSAY_PORT", Health.WRONG),
        ("REDIS_URL", Health.WRONG),
        ("ASSAY_APP_PRIVATE_KEY", Health.MISSING),
    }
    assert settings.tier == "hybrid"


def test_unknown_variable_is_a_warning_with_the_nearest_name(tmp_path: Path) -> None:
    environ = environment(tmp_path, ASSAY_RETRYS="5", ASSAY_XYZZY_QWERTY="1", ASSAY_APP_ID="5")
    printed = refused_doctor_text(environ | UNREACHABLE_REDIS)
    assert "warning Environment ASSAY_RETRYS is no setting of Assay; is ASSAY_RETRIES meant?" in printed
    assert "ASSAY_XYZZY_QWERTY is no setting of Assay. All of them: docs/configuration.md." in printed
    judge_errors = run_refused("judge", "--dossier", "/nowhere", environ=environ).stderr
    assert "assay: ASSAY_RETRYS is no setting of Assay; is ASSAY_RETRIES meant?\n" in judge_errors


def test_warning_fails_only_with_strict() -> None:
    lines = [
        DoctorFinding("Redis", Health.OK, "is there"),
        DoctorFinding("Environment", Health.WARNING, "X is no setting."),
    ]
    assert [is_healthy(lines, strict=strict) for strict in (False, True)] == [True, False]
    assert report_text(lines) == snapshot("""\
ok       Redis                   is there
warning  Environment             X is no setting.

All is well.
""")


def test_valid_settings_give_no_findings() -> None:
    complete = {"ASSAY_APP_ID": "5", "ASSAY_APP_PRIVATE_KEY": KEY, "ASSAY_WEBHOOK_SECRET": "s"}
    assert setting_health({}) == []
    assert setting_health(complete) == []


def test_redis_without_persistence_or_with_eviction_is_wrong() -> None:
    lines = [*redis_lines(StoreReport("9.1.2", "AOF", "noeviction"), "embedded")]
    assert report_text(lines) == snapshot("""\
ok       Redis                   embedded, version 9.1.2; what it stores is encrypted
ok       Redis persistence       AOF
ok       Redis eviction          noeviction

All is well.
""")
    assert report_text([*redis_lines(StoreReport("7.0.15", "", "allkeys-lru"), "REDIS_URL")]) == snapshot("""\
ok       Redis                   REDIS_URL, version 7.0.15; what it stores is encrypted
wrong    Redis persistence       neither AOF nor RDB is on: a restart loses every pull request's
                                 memory. Set `appendonly yes`.
wrong    Redis eviction          maxmemory-policy is allkeys-lru: requests may get lost. Set
                                 `maxmemory-policy noeviction`.

2 of 3 to change; the lines above say how.
""")


def test_missing_store_key_is_named_with_its_remedy() -> None:
    lines = redis_lines(StoreReport("9.1.2", "AOF", "noeviction", lacks_key=True), "REDIS_URL")
    assert report_text([line for line in lines if line.name == "Store key"]) == snapshot("""\
wrong    Store key               ASSAY_STORE_KEYS (embedded Redis: store.key) lacks a key that
                                 encrypts what is stored. Add it after the first key (embedded
                                 Redis: restore the file). Until then a pull request with a record
                                 under that key gets no verdict, and its check says so. If the key
                                 is lost, delete such records with `assay forget OWNER/NAME`; this
                                 line goes 90 days after the key was used.

1 of 1 to change; the lines above say how.
""")


def test_app_report_has_a_line_for_each_property() -> None:
    app = AppView(
        id=5,
        slug="assay",
        html_url="https://github.com/apps/assay",
        permissions=requested_permissions(OptIn),
        events=(),
    )
    less = AppView(id=5, slug="assay", permissions=requested_permissions(OptIn) | {"checks": "read"}, events=())
    acme = AppInstallation(100, "acme", requested_permissions(OptIn))
    healthy = AppReport((AppKeyReport(1, None),), app, (), timedelta(seconds=-2), (acme,))
    unhealthy = AppReport(
        (AppKeyReport(1, "the PEM text can't be parsed"), AppKeyReport(2, None)),
        less,
        ("check_run",),
        timedelta(minutes=5),
        (acme,),
    )
    assert report_text([*app_lines(healthy, HERE)]) == snapshot("""\
ok       App key                 accepted at https://api.github.com
ok       GitHub App              assay (5)
ok       App permissions         all there
ok       App events              all there
ok       Installations           1 installation, with all that the App asks for
ok       Clock                   -2 s against GitHub's

All is well.
""")
    assert report_text([*app_lines(unhealthy, HERE)]) == snapshot("""\
wrong    App key 1               the PEM text can't be parsed.
ok       App key 2               accepted at https://api.github.com
ok       GitHub App              assay (5)
wrong    App permissions         the App lacks checks: write (to write the one check that Assay is,
                                 and see the others). Add it in the App's settings: Permissions &
                                 events, Repository permissions.
wrong    App events              the App lacks check_run. Add it in the App's settings: Permissions
                                 & events, Subscribe to events.
ok       Installations           1 installation, with all that the App asks for
wrong    Clock                   +300 s against GitHub's, which refuses tokens then. Set it by NTP.

4 of 7 to change; the lines above say how.
""")
    assert [line.name for line in app_lines(AppReport((AppKeyReport(1, "no"),), None, (), None), HERE)] == ["App key"]


@pytest.mark.parametrize(
    ("seconds", "health"), [(30, Health.OK), (-30, Health.OK), (31, Health.WRONG), (-31, Health.WRONG)]
)
def test_clock_skew_is_wrong_beyond_half_a_minute(seconds: int, health: Health) -> None:
    assert skew_line(timedelta(seconds=seconds)).health is health


def run_doctor(tmp_path: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return run_assay("doctor", environ=environment(tmp_path, **more))


def test_doctor_without_settings_lists_what_is_there_and_missing(tmp_path: Path) -> None:
    done = run_doctor(tmp_path / "state")
    assert done.returncode == 2
    printed = re.sub(r"version [\d.]+", "version V", done.stdout.replace(str(tmp_path), "TMP"))
    assert printed == snapshot("""\
ok       Data folder             TMP/state
ok       Redis                   embedded, version V; what it stores is encrypted
ok       Redis persistence       AOF
ok       Redis eviction          noeviction
missing  GitHub App              ASSAY_APP_ID is not set. Expected: the App's number. Get it from:
                                 the App's settings page, under About. Without an App, `assay judge`
                                 works, and `assay up` serves /setup, which makes one.
ok       Model                   ANTHROPIC_API_KEY is not set: no model is asked, and what needs one
                                 is left unproven
ok       GITHUB_TOKEN            not set: `assay judge OWNER/REPO#N` reads public repositories only

1 of 7 to change; the lines above say how.
""")
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (UNREACHABLE_REDIS, "Check REDIS_URL, and that the server runs."),
        ({"REDIS_URL": "redis://127.0.0.1:1"}, "ASSAY_STORE_KEYS is not set"),
        ({"ASSAY_DATA_DIR": "/dev/null"}, "wrong Data folder /dev/null can't be written to"),
    ],
)
def test_wrong_part_is_named_and_the_rest_is_examined(changes: dict[str, str], line: str, tmp_path: Path) -> None:
    printed = refused_doctor_text({**environment(tmp_path), **changes})
    assert line in printed
    assert "ok GITHUB_TOKEN" in printed


def test_malformed_app_key_is_wrong(tmp_path: Path) -> None:
    app = {"ASSAY_APP_ID": "5", "ASSAY_APP_PRIVATE_KEY": KEY, "ASSAY_WEBHOOK_SECRET": "s"}
    api = {"ASSAY_GITHUB_API_URL": "http://127.0.0.1:1"}
    assert "wrong App key" in refused_doctor_text({**environment(tmp_path), **UNREACHABLE_REDIS, **app, **api})


@pytest.mark.slow
def test_unreachable_model_is_wrong_and_its_key_is_hidden(tmp_path: Path) -> None:
    done = run_doctor(
        tmp_path,
        ANTHROPIC_API_KEY="sk-ant-secret",
        ANTHROPIC_BASE_URL="http://127.0.0.1:1",
        ASSAY_MODEL_RETRY_DELAY="0",
    )
    assert "wrong    Model" in done.stdout
    assert "secret" not in done.stdout.replace("Webhook secret", "")
    assert done.returncode == 2


@pytest.mark.slow
def test_pause_and_model_without_a_price_are_wrong(tmp_path: Path) -> None:
    nine = {"ANTHROPIC_API_KEY": "k", "ASSAY_MODEL": "claude-nine", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}
    printed = " ".join(run_doctor(tmp_path, **nine, ASSAY_PAUSED="1").stdout.split())
    assert (
        "wrong Pause ASSAY_PAUSED is 1: nothing is judged, and every check is neutral. Set it to 0 to go on." in printed
    )
    assert (
        'wrong Model the price of "claude-nine" is not known, so no money can be set aside; set ASSAY_MODEL to'
        in printed
    )
    assert "ok Budget $0.10 a pull request, $1.00 a day for each installation" in printed


def run_week_estimate(tmp_path: Path, repository: str, **more: str) -> str:
    done = run_assay("doctor", repository, environ=environment(tmp_path, **more))
    assert done.stderr == ""
    return " ".join(done.stdout.split())


@pytest.mark.slow
def test_week_estimate_uses_the_repository_pull_requests(tmp_path: Path) -> None:
    with HTTPServer(threaded=True) as fake_server:
        today = SystemClock().now().isoformat()
        fake_server.expect_request("/repos/acme/widgets/pulls").respond_with_json([{"created_at": today}] * 4)
        url = fake_server.url_for("").rstrip("/")
        key = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": url, "ASSAY_GITHUB_API_URL": url}
        assert "A week of acme/widgets $0.0222 for the 4 pull requests opened" in run_week_estimate(
            tmp_path, "acme/widgets", **key
        )
        missing = run_week_estimate(tmp_path, "acme/gone", **key)
        assert "wrong A week of acme/gone can't be looked up: " in missing
        assert "Check the name, or set GITHUB_TOKEN to one that may read it." in missing
        unpriced = run_week_estimate(tmp_path, "acme/widgets", **key, ASSAY_MODEL="claude-nine")
        assert 'wrong A week of acme/widgets the price of "claude-nine" is not known' in unpriced
    assert "ok A week of acme/widgets $0.00: no model is asked" in run_week_estimate(tmp_path, "acme/widgets")
