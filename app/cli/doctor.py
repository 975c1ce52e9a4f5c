"""`assay doctor`: check every setting and connection, and print what to do about each problem.

A problem stops none of the later checks, and no line holds a secret.
"""

import argparse
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from app.cli.parser import CommandResult, Exit
from app.cli.terminal import terminal_page
from worker.domain.verdict.budget import estimate_week
from worker.errors import AssayError, InputError, SettingError
from worker.judge.rubric import load_prompt, load_rubric, shipped_rubrics
from worker.publishing.texts.cli_reports import (
    DoctorFinding,
    Health,
    caps_phrase,
    doctor_report,
    dollars,
    gate_lines,
    installation_lines,
    is_healthy,
    permission_lines,
    week_cost_phrase,
)
from worker.publishing.texts.sarif import sarif_refusal_line
from worker.publishing.texts.states import pause_line
from worker.settings import (
    Settings,
    environment,
    missing_setting,
    read_settings,
    unknown_variable_phrase,
    unknown_variables,
)
from worker.wiring.cli import (
    StoreReport,
    count_opened_this_week,
    examine_app,
    examine_store,
    find_model_problem,
    price_model,
    read_branch_protection,
)
from worker.wiring.store import LACKS_KEY, RESTORE_HINT, open_store

if TYPE_CHECKING:
    from worker.wiring.cli import AppReport

APP_VARIABLES: Final = ("ASSAY_APP_ID", "ASSAY_APP_PRIVATE_KEY", "ASSAY_WEBHOOK_SECRET")
HEADS_PER_PULL: Final = 3
"""How often the estimate has a pull request judged: opened, and pushed to twice."""
MOST_SKEW: Final = timedelta(seconds=30)
"""GitHub refuses a token from its future, and one older than ten minutes."""


def doctor(arguments: argparse.Namespace) -> CommandResult:
    """Check everything. Exit code 0: healthy; 2: something has to be changed.

    With a repository, estimate the cost of a week of its pull requests; with --repo, report what the check lacks to be required.
    """
    repository: str | None = arguments.repository
    settings, examined = read_partial_settings(environment())
    folder = _data_dir(settings)
    has_store = settings.redis_url is not None or folder.health is Health.OK
    redis = _redis(settings) if has_store else ()
    examined += [folder, *redis, *_app(settings), *_model(settings), *_shadow(settings)]
    token = "set" if settings.github_token else "not set: `assay judge OWNER/REPO#N` reads public repositories only"
    examined += [DoctorFinding("GITHUB_TOKEN", Health.OK, token)]
    examined += [_weekly_cost(settings, repository)] if repository is not None else []
    examined += _required_check(settings, arguments.repo) if arguments.repo is not None else []
    if arguments.repo is not None and has_store:
        with suppress(AssayError), open_store(settings) as store:  # an unreachable one is reported above
            examined += [
                DoctorFinding("SARIF", Health.WRONG, sarif_refusal_line(refusal))
                for refusal in store.scan_notes.refusals(arguments.repo)
            ]
    examined += [
        DoctorFinding("Environment", Health.WARNING, unknown_variable_phrase(*pair))
        for pair in unknown_variables(environment()).items()
    ]
    code = Exit.ACCEPT if is_healthy(examined, strict=arguments.strict) else Exit.USAGE
    return CommandResult(code, doctor_report(examined, terminal_page()))


def read_partial_settings(environ: Mapping[str, str]) -> tuple[Settings, list[DoctorFinding]]:
    """The settings that can be read, and a finding for each variable that can't."""
    left, findings = dict(environ), list[DoctorFinding]()
    while True:
        try:
            return read_settings(left), findings
        except SettingError as error:
            is_set = left.pop(error.variable, None) is not None
            findings.append(_wrong_setting(error.variable, error, Health.WRONG if is_set else Health.MISSING))
            for name in () if is_set else APP_VARIABLES:
                left.pop(name, None)


def _wrong_setting(name: str, error: AssayError, health: Health = Health.WRONG) -> DoctorFinding:
    return DoctorFinding(name, health, str(error))


def _data_dir(settings: Settings) -> DoctorFinding:
    folder = settings.data_dir
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            return DoctorFinding("Data folder", Health.OK, str(folder))
    except OSError as error:
        message = f"{folder} can't be written to ({error.strerror}). Set ASSAY_DATA_DIR to a folder that can."
        return DoctorFinding("Data folder", Health.WRONG, message)


def _redis(settings: Settings) -> Iterator[DoctorFinding]:
    try:
        with open_store(settings) as store:
            report = examine_store(store)
            refused = [refusal for refusal in map(store.rubrics.check, shipped_rubrics()) if refusal]
            demoted = [
                demotion.notice(installation)
                for installation in store.events.installations()
                for demotion in store.demotions.list_demotions(installation)
            ]
            pauses = store.pauses.list_pauses()
    except SettingError as error:
        yield _wrong_setting(error.variable, error, Health.WRONG if settings.redis_url else Health.MISSING)
    except AssayError as error:
        message = f"{error}. Check REDIS_URL, and that the server runs." if settings.redis_url else str(error)
        yield DoctorFinding("Redis", Health.WRONG, message)
    else:
        yield from redis_lines(report, "embedded" if settings.redis_url is None else "REDIS_URL")
        yield from (DoctorFinding("Demoted signal", Health.OK, notice) for notice in demoted)
        yield from (DoctorFinding("Pause", Health.OK, pause_line(pause)) for pause in pauses)
        yield from (
            DoctorFinding("Rubric", Health.WRONG, f"{refusal} Until then nothing is judged.") for refusal in refused
        )


def redis_lines(report: StoreReport, which: str) -> Iterator[DoctorFinding]:
    """Findings about a Redis server that answers."""
    yield DoctorFinding("Redis", Health.OK, f"{which}, version {report.version}; what it stores is encrypted")
    if report.lacks_key:
        message = (
            f"{LACKS_KEY} {RESTORE_HINT} Until then a pull request with a record under that key gets no verdict, and its check says so. "
            "If the key is lost, delete such records with `assay forget OWNER/NAME`; this line goes 90 days after the key was used."
        )
        yield DoctorFinding("Store key", Health.WRONG, message)
    if report.persistence:
        yield DoctorFinding("Redis persistence", Health.OK, report.persistence)
    else:
        message = "neither AOF nor RDB is on: a restart loses every pull request's memory. Set `appendonly yes`."
        yield DoctorFinding("Redis persistence", Health.WRONG, message)
    if report.eviction == "noeviction":
        yield DoctorFinding("Redis eviction", Health.OK, "noeviction")
    else:
        message = f"maxmemory-policy is {report.eviction}: requests may get lost. Set `maxmemory-policy noeviction`."
        yield DoctorFinding("Redis eviction", Health.WRONG, message)


def _app(settings: Settings) -> Iterator[DoctorFinding]:
    if settings.app is None:
        message = f"{missing_setting('ASSAY_APP_ID')} Without an App, `assay judge` works, and `assay up` serves /setup, which makes one."
        yield DoctorFinding("GitHub App", Health.MISSING, message)
        return
    from app.ingest.events import SUBSCRIBED_EVENTS

    yield DoctorFinding("Webhook secret", Health.OK, f"{len(settings.app.webhook_secrets)} set")
    yield from app_lines(examine_app(settings, SUBSCRIBED_EVENTS), settings)


def app_lines(report: "AppReport", settings: Settings) -> Iterator[DoctorFinding]:
    """Findings about the App, its keys and its installations."""
    for key in report.keys:
        name = "App key" if len(report.keys) == 1 else f"App key {key.position}"
        if key.problem:
            yield DoctorFinding(name, Health.WRONG, f"{key.problem.rstrip('.')}.")
        else:
            yield DoctorFinding(name, Health.OK, f"accepted at {settings.github_api_url}")
    if report.app is not None:
        yield DoctorFinding("GitHub App", Health.OK, f"{report.app.slug} ({report.app.id})")
        yield from permission_lines(report.app.permissions, settings.declined)
        if not report.missing_events:
            yield DoctorFinding("App events", Health.OK, "all there")
        else:
            missing = ", ".join(report.missing_events)
            message = (
                f"the App lacks {missing}. Add it in the App's settings: Permissions & events, Subscribe to events."
            )
            yield DoctorFinding("App events", Health.WRONG, message)
        yield from installation_lines(
            report.app.permissions, report.installations, report.app.html_url, settings.declined
        )
    if report.clock_skew is not None:
        yield skew_line(report.clock_skew)


def skew_line(skew: timedelta) -> DoctorFinding:
    """The distance of this machine's clock from GitHub's."""
    distance = f"{round(skew.total_seconds()):+d} s against GitHub's"
    if abs(skew) <= MOST_SKEW:
        return DoctorFinding("Clock", Health.OK, distance)
    return DoctorFinding("Clock", Health.WRONG, f"{distance}, which refuses tokens then. Set it by NTP.")


def _model(settings: Settings) -> Iterator[DoctorFinding]:
    if settings.is_paused:
        message = "ASSAY_PAUSED is 1: nothing is judged, and every check is neutral. Set it to 0 to go on."
        yield DoctorFinding("Pause", Health.WRONG, message)
    if settings.model is None:
        message = "ANTHROPIC_API_KEY is not set: no model is asked, and what needs one is left unproven"
        yield DoctorFinding("Model", Health.OK, message)
        return
    if problem := find_model_problem(settings.model):
        yield DoctorFinding("Model", Health.WRONG, f"{problem}.")
    else:
        yield DoctorFinding("Model", Health.OK, f"{settings.model.name}; the key is accepted")
    yield DoctorFinding("Budget", Health.OK, caps_phrase(settings.caps))


def _shadow(settings: Settings) -> Iterator[DoctorFinding]:
    """The candidate rubric or prompt of the shadow evaluation, where there is one."""
    shadow = settings.shadow
    if not shadow.is_set:
        return
    try:
        rubric, _ = load_rubric(shadow.rubric), load_prompt(shadow.prompt)
    except InputError as error:
        yield DoctorFinding("Canary", Health.WRONG, f"{error} Until then it judges nothing; live judgings go on.")
        return
    cost = f"up to {dollars(shadow.day_usd)} a day and installation" if shadow.day_usd else "at $0, by code alone"
    yield DoctorFinding("Canary", Health.OK, f"{rubric.id} {rubric.version} judges beside the active rubric, {cost}")


def _weekly_cost(settings: Settings, repository: str) -> DoctorFinding:
    name = f"A week of {repository}"
    if settings.model is None or settings.tier == "heuristic":
        return DoctorFinding(name, Health.OK, "$0.00: no model is asked")
    each = price_model(settings.model.name)
    if isinstance(each, str):
        return DoctorFinding(name, Health.WRONG, f"{each}.")
    try:
        pulls = count_opened_this_week(settings, repository)
    except AssayError as error:
        message = f"can't be looked up: {str(error).rstrip('.')}. Check the name, or set GITHUB_TOKEN to one that may read it."
        return DoctorFinding(name, Health.WRONG, message)
    week = estimate_week([HEADS_PER_PULL] * pulls, each, settings.caps)
    return DoctorFinding(name, Health.OK, week_cost_phrase(week, each, HEADS_PER_PULL))


def _required_check(settings: Settings, repository: str) -> Iterator[DoctorFinding]:
    """Whether a repository's branch protection requires the check."""
    if settings.app is None:
        message = f"{repository} can't be looked at: that needs the App's settings."
        yield DoctorFinding("Required check", Health.MISSING, message)
        return
    try:
        gate = read_branch_protection(settings, repository)
    except AssayError as error:
        message = f"{repository} can't be looked at: {str(error).rstrip('.')}."
        yield DoctorFinding("Required check", Health.WRONG, message)
    else:
        yield from gate_lines(gate, settings.app.app_id, "your App", settings.authors)
