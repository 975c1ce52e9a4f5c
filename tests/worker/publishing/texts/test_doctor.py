import re
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.golden.golden import Golden, Pages
from worker.domain.config.config import Authors, Handling
from worker.domain.config.github_app import (
    CORE_PERMISSIONS,
    OPTIONAL_PERMISSIONS,
    AppInstallation,
    OptIn,
    RepositoryProtection,
    Requirement,
    requested_permissions,
)
from worker.domain.verdict.budget import Caps, estimate_week
from worker.publishing.texts.doctor import (
    DoctorFinding,
    Health,
    caps_phrase,
    doctor_report,
    gate_lines,
    installation_lines,
    is_healthy,
    permission_lines,
    week_cost_phrase,
)
from worker.publishing.texts.terminal import TerminalPage


def test_warning_is_unhealthy_only_in_strict_mode() -> None:
    warning = DoctorFinding("People", Health.WARNING, "observed")
    assert is_healthy([warning], strict=False)
    assert not is_healthy([warning], strict=True)


PAGE = Path(__file__).resolve().parents[4] / "docs/permissions.md"


def test_permissions_page_lists_every_permission_with_its_reason() -> None:
    needed = [f"| {core.title} | {core.level} | {core.reason} |" for core in CORE_PERMISSIONS]
    chosen = [
        f"| `{extra.opt_in}` | {extra.permission.title} | {extra.permission.level} | {extra.permission.reason} | {extra.consequence} |"
        for extra in OPTIONAL_PERMISSIONS
    ]
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    heads = ("| permission | level | why |", "| choice | permission | level | why | without it |")
    assert rows == [heads[0], *needed, heads[1], *chosen]


def test_permissions_never_asked_for_are_not_requested() -> None:
    spelled = {name.lower().replace(" ", "_"): level for name, level in requested_permissions(OptIn).items()}
    never = re.findall(r"^- \*([^*]+)\*:", PAGE.read_text().partition("## Never asked for")[2], re.MULTILINE)
    assert len(never) == 5
    for row in never:
        names, _, level = row.partition(": ")
        for name in names.split(", "):
            asked = spelled.get(name.lower().replace(" ", "_"))
            assert asked != (level or asked or "none")


OURS = 4711
JUDGED = Authors(people=Handling.JUDGE, bots=Handling.JUDGE)
ALL, CORE = requested_permissions(OptIn), requested_permissions([])
URL = "https://github.com/organizations/acme/settings/installations/100"


def report_of(lines: Iterable[DoctorFinding]) -> str:
    return doctor_report(list(lines), TerminalPage(110)).rpartition("\n\n")[0] + "\n"


def gate_report(protection: RepositoryProtection, authors: Authors = JUDGED) -> str:
    return report_of(gate_lines(protection, OURS, "assay", authors))


def installation_report(permissions: dict[str, str], *installations: AppInstallation, **options: Any) -> str:
    return report_of(installation_lines(permissions, installations, "https://x", **options))


def installation(permissions: dict[str, str], account: str = "acme", *, is_suspended: bool = False) -> AppInstallation:
    return AppInstallation(100, account, permissions, URL, is_suspended)


def protection_with(
    *sources: int | None, permissions: dict[str, str] = ALL, has_queue: bool | None = False
) -> RepositoryProtection:
    required = tuple(Requirement("branch protection" if source == 7 else "a ruleset", source) for source in sources)
    return RepositoryProtection("acme/widgets", installation(permissions), "main", required, has_queue)


def test_each_permission_reason_starts_with_a_verb() -> None:
    for permission in CORE_PERMISSIONS:
        assert permission.reason.split()[0] in {"read", "see", "write"}


def test_required_check_that_skips_people_or_bots_is_a_warning() -> None:
    for handling, phrase in ((Handling.OBSERVE, "are only observed"), (Handling.SKIP, "are skipped")):
        lines = list(gate_lines(protection_with(OURS), OURS, "assay", Authors(people=handling, bots=handling)))
        assert not is_healthy(lines, strict=True)
        warnings = [
            (finding.name, finding.message.partition(",")[0]) for finding in lines if finding.health is Health.WARNING
        ]
        assert warnings == [
            ("People", f"the pull requests of people {phrase}"),
            ("Bots", f"the pull requests of bots {phrase}"),
        ]
    assert "pull requests of" not in gate_report(protection_with(), Authors())
    assert "pull requests of" not in gate_report(replace(protection_with(OURS), authors=JUDGED), Authors())


def pages() -> Pages:
    wrong, well = DoctorFinding("Redis", Health.WRONG, "word " * 30), DoctorFinding("Redis", Health.OK, "embedded")
    coloured = doctor_report([wrong], TerminalPage(60, has_colour=True))
    yield "the report wraps under its words and colours the health alone", coloured
    both = [well, replace(wrong, message="not set")]
    reports = (doctor_report(findings, TerminalPage()) for findings in ([well], both))
    yield "what is well and what is not are counted", *reports
    small = Caps(pull_usd=Decimal("0.005"), share=Decimal("0.333"))
    yield "the caps are told in dollars", caps_phrase(Caps()), caps_phrase(small)
    each = Decimal("0.00185")
    weeks = (estimate_week(judgings, each, Caps()) for judgings in ([3] * 40, [3], []))
    yield "a week says what it rests on", *(week_cost_phrase(week, each, 3) for week in weeks)


def permissions() -> Pages:
    owned = (replace(protection_with(OURS), teams=tuple(f"acme/t{at}" for at in range(count))) for count in (1, 7))
    owners = (gate_report(protection).partition("ok       Code owners")[2] for protection in owned)
    yield "teams that own files are named with whose review counts for them", *owners
    granted = (report_of(permission_lines(permissions)) for permissions in (ALL, CORE))
    yield "an app with everything and one with nothing but the core", *granted
    read_only = installation_report(ALL, installation(ALL | {"pull_requests": "read"}), declined={OptIn.REACTIONS})
    yield "an installation misses nothing of what was declined", read_only
    lacks = {name: level for name, level in ALL.items() if name != "actions"} | {"checks": "read"}
    yield "an app that lacks what judging needs", report_of(permission_lines(lacks))
    yield (
        "installations that are as they should be are counted",
        *(installation_report(ALL, *[installation(ALL)] * count) for count in (1, 3)),
        report_of(installation_lines(ALL, [], "https://github.com/apps/assay")),
    )
    before = {name: level for name, level in ALL.items() if name != "merge_queues"}
    unapproved = installation_report(ALL, installation(ALL), installation(before, account="globex"))
    yield "an installation that has not approved merge queues is named", unapproved
    suspended = installation(CORE | {"checks": "read"}, is_suspended=True)
    yield "an installation that lacks more says what does not work", installation_report(ALL, suspended)
    yield "an optional permission is not missed", installation_report(CORE, installation(CORE))


def gates() -> Pages:
    protections = {
        "our check": protection_with(OURS),
        "anybody's": protection_with(None),
        "another's": protection_with(OURS, 7),
        "none": protection_with(),
        "queue": protection_with(OURS, has_queue=True),
        "queue without permission": protection_with(OURS, permissions=CORE, has_queue=True),
        "queue unknown": protection_with(OURS, permissions=CORE, has_queue=None),
        "a repository where the app is not": RepositoryProtection("acme/widgets"),
    }
    bots = gate_lines(protection_with(OURS), OURS, "assay", Authors(people=Handling.JUDGE))
    yield "a required check that holds no bot", report_of(line for line in bots if line.health is Health.WARNING)
    declined = (report_of(permission_lines(granted, {OptIn.REACTIONS})) for granted in (ALL, CORE))
    yield "what is off by choice is told apart from what lacks a permission", *declined
    for title, protection in protections.items():
        yield f"gate: {title}", report_of(gate_lines(protection, OURS, "assay-acme", JUDGED))


def test_doctor_texts_match_the_golden_pages(golden: Golden) -> None:
    golden.check_pages("prose/texts/doctor.md", [*pages(), *permissions(), *gates()])
