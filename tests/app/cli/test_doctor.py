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
from worker.clock import SystemClock
from worker.domain.config.app_permissions import AppInstallation, OptIn, requested_permissions
from worker.publishing.texts.doctor import DoctorFinding, Health, doctor_report, is_healthy
from worker.publishing.texts.terminal import TerminalPage
from worker.settings import Settings
from worker.wiring.doctor import StoreReport

KEY = "-----BEGIN RSA PRIVATE KEY-----\nx\n-----END RSA PRIVATE KEY-----"
HERE = Settings(data_dir=Path("/nowhere"))


def told(examined: list[DoctorFinding]) -> str:
    return doctor_report(examined, TerminalPage(100))


def found(environ: Mapping[str, str]) -> list[tuple[str, Health]]:
    return [(setting.name, setting.health) for setting in read_partial_settings(environ)[1]]


def test_every_wrong_variable_is_named_not_only_the_first() -> None:
    environ = {"ASSAY_PORT": "x", "REDIS_URL": "http://x", "ASSAY_APP_ID": "5", "ASSAY_TIER": "hybrid"}
    settings, examined = read_partial_settings(environ)
    assert {(one.name, one.health) for one in examined} == {
        ("ASSAY_PORT", Health.WRONG),
        ("REDIS_URL", Health.WRONG),
        ("ASSAY_APP_PRIVATE_KEY", Health.MISSING),
    }
    assert settings.tier == "hybrid"


def test_a_name_that_nothing_reads_is_a_warning_with_the_one_that_is_meant(tmp_path: Path) -> None:
    environ = environment(tmp_path, ASSAY_RETRYS="5", ASSAY_XYZZY_QWERTY="1", ASSAY_APP_ID="5")
    done = run_assay("doctor", environ=environ)
    words = " ".join(done.stdout.split())
    assert "warning Environment ASSAY_RETRYS is no setting of Assay; is ASSAY_RETRIES meant?" in words
    assert "ASSAY_XYZZY_QWERTY is no setting of Assay. All of them: docs/configuration.md." in words
    judged = run_assay("judge", "--dossier", "/nowhere", environ=environ)
    assert "assay: ASSAY_RETRYS is no setting of Assay; is ASSAY_RETRIES meant?\n" in judged.stderr


def test_only_doctor_strict_fails_for_a_warning() -> None:
    lines = [
        DoctorFinding("Redis", Health.OK, "is there"),
        DoctorFinding("Environment", Health.WARNING, "X is no setting."),
    ]
    assert [is_healthy(lines, strict=strict) for strict in (False, True)] == [True, False]
    assert told(lines) == snapshot("""\
ok       Redis                   is there
warning  Environment             X is no setting.

All is well.
""")


def test_well_formed_settings_are_no_findings() -> None:
    complete = {"ASSAY_APP_ID": "5", "ASSAY_APP_PRIVATE_KEY": KEY, "ASSAY_WEBHOOK_SECRET": "s"}
    assert found({}) == []
    assert found(complete) == []


def test_a_redis_that_forgets_or_evicts_is_wrong() -> None:
    lines = [*redis_lines(StoreReport("9.1.2", "AOF", "noeviction"), "embedded")]
    assert told(lines) == snapshot("""\
ok       Redis                   embedded, version 9.1.2; what it stores is encrypted
ok       Redis persistence       AOF
ok       Redis eviction          noeviction

All is well.
""")
    assert told([*redis_lines(StoreReport("7.0.15", "", "allkeys-lru"), "REDIS_URL")]) == snapshot("""\
ok       Redis                   REDIS_URL, version 7.0.15; what it stores is encrypted
wrong    Redis persistence       neither AOF nor RDB is on: a restart loses every pull request's
                                 memory. Set `appendonly yes`.
wrong    Redis eviction          maxmemory-policy is allkeys-lru: requests may get lost. Set
                                 `maxmemory-policy noeviction`.

2 of 3 to change; the lines above say how.
""")


def test_a_store_key_that_is_missing_is_named_with_what_to_do() -> None:
    lines = redis_lines(StoreReport("9.1.2", "AOF", "noeviction", lacks_key=True), "REDIS_URL")
    assert told([line for line in lines if line.name == "Store key"]) == snapshot("""\
wrong    Store key               ASSAY_STORE_KEYS (embedded Redis: store.key) lacks a key that
                                 encrypts what is stored. Add it after the first key (embedded
                                 Redis: restore the file). Until then a pull request with a record
                                 under that key gets no verdict, and its check says so. If the key
                                 is lost, delete such records with `assay forget OWNER/NAME`; this
                                 line goes 90 days after the key was used.

1 of 1 to change; the lines above say how.
""")


def test_what_github_says_of_the_app_is_told_line_by_line() -> None:
    app = AppView(
        id=5,
        slug="assay",
        html_url="https://github.com/apps/assay",
        permissions=requested_permissions(OptIn),
        events=(),
    )
    less = AppView(id=5, slug="assay", permissions=requested_permissions(OptIn) | {"checks": "read"}, events=())
    acme = AppInstallation(100, "acme", requested_permissions(OptIn))
    well = AppReport((AppKeyReport(1, None),), app, (), timedelta(seconds=-2), (acme,))
    ill = AppReport(
        (AppKeyReport(1, "the PEM text can't be parsed"), AppKeyReport(2, None)),
        less,
        ("check_run",),
        timedelta(minutes=5),
        (acme,),
    )
    assert told([*app_lines(well, HERE)]) == snapshot("""\
ok       App key                 accepted at https://api.github.com
ok       GitHub App              assay (5)
ok       App permissions         all there
ok       App events              all there
ok       Installations           1 installation, with all that the App asks for
ok       Clock                   -2 s against GitHub's

All is well.
""")
    assert told([*app_lines(ill, HERE)]) == snapshot("""\
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
def test_half_a_minute_of_skew_is_the_limit(seconds: int, health: Health) -> None:
    assert skew_line(timedelta(seconds=seconds)).health is health


def doctor(tmp_path: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return run_assay("doctor", environ=environment(tmp_path, **more))


def test_a_laptop_without_settings_is_told_what_there_is_and_what_is_missing(tmp_path: Path) -> None:
    done = doctor(tmp_path / "state")
    assert done.returncode == 2
    said = re.sub(r"version [\d.]+", "version V", done.stdout.replace(str(tmp_path), "TMP"))
    assert said == snapshot("""\
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


STORE_KEYS = {"ASSAY_STORE_KEYS": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"REDIS_URL": "redis://127.0.0.1:1", **STORE_KEYS}, "Check REDIS_URL, and that the server runs."),
        ({"REDIS_URL": "redis://127.0.0.1:1"}, "ASSAY_STORE_KEYS is not set"),
        ({"ASSAY_DATA_DIR": "/dev/null"}, "wrong Data folder /dev/null can't be written to"),
    ],
)
def test_what_is_wrong_is_named_and_the_rest_is_looked_at(changes: dict[str, str], line: str, tmp_path: Path) -> None:
    told = " ".join(run_refused("doctor", environ={**environment(tmp_path), **changes}).stdout.split())
    assert line in told
    assert "ok GITHUB_TOKEN" in told


def test_a_key_that_is_no_key_is_wrong(tmp_path: Path) -> None:
    done = doctor(
        tmp_path, ASSAY_APP_ID="5", ASSAY_APP_PRIVATE_KEY=KEY, ASSAY_WEBHOOK_SECRET="s",
        ASSAY_GITHUB_API_URL="http://127.0.0.1:1",
    )  # fmt: skip
    assert "wrong    App key" in done.stdout
    assert done.returncode == 2


@pytest.mark.slow
def test_a_model_that_can_not_be_reached_is_wrong_and_its_key_not_shown(tmp_path: Path) -> None:
    done = doctor(
        tmp_path,
        ANTHROPIC_API_KEY="sk-ant-secret",
        ANTHROPIC_BASE_URL="http://127.0.0.1:1",
        ASSAY_MODEL_RETRY_DELAY="0",
    )
    assert "wrong    Model" in done.stdout
    assert "secret" not in done.stdout.replace("Webhook secret", "")
    assert done.returncode == 2


@pytest.mark.slow
def test_a_pause_and_a_model_without_a_price_are_named(tmp_path: Path) -> None:
    nine = {"ANTHROPIC_API_KEY": "k", "ASSAY_MODEL": "claude-nine", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}
    said = " ".join(doctor(tmp_path, **nine, ASSAY_PAUSED="1").stdout.split())
    assert "wrong Pause ASSAY_PAUSED is 1: nothing is judged, and every check is neutral. Set it to 0 to go on." in said
    assert (
        'wrong Model the price of "claude-nine" is not known, so no money can be set aside; set ASSAY_MODEL to' in said
    )
    assert "ok Budget $0.10 a pull request, $1.00 a day for each installation" in said


def week(tmp_path: Path, repository: str, **more: str) -> str:
    done = run_assay("doctor", repository, environ=environment(tmp_path, **more))
    assert done.stderr == ""
    return " ".join(done.stdout.split())


@pytest.mark.slow
def test_a_week_of_a_repository_is_estimated_from_its_pull_requests(tmp_path: Path) -> None:
    with HTTPServer(threaded=True) as played:
        today = SystemClock().now().isoformat()
        played.expect_request("/repos/acme/widgets/pulls").respond_with_json([{"created_at": today}] * 4)
        url = played.url_for("").rstrip("/")
        key = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": url, "ASSAY_GITHUB_API_URL": url}
        assert "A week of acme/widgets $0.0222 for the 4 pull requests opened" in week(tmp_path, "acme/widgets", **key)
        gone = week(tmp_path, "acme/gone", **key)
        assert "wrong A week of acme/gone can't be looked up: " in gone
        assert "Check the name, or set GITHUB_TOKEN to one that may read it." in gone
        nine = week(tmp_path, "acme/widgets", **key, ASSAY_MODEL="claude-nine")
        assert 'wrong A week of acme/widgets the price of "claude-nine" is not known' in nine
    assert "ok A week of acme/widgets $0.00: no model is asked" in week(tmp_path, "acme/widgets")
