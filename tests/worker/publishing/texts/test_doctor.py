import re
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from tests.golden.golden import Golden, Pages
from worker.domain.config.app_permissions import (
    CORE_PERMISSIONS,
    OPTIONAL_PERMISSIONS,
    AppInstallation,
    OptIn,
    RepositoryProtection,
    Requirement,
    requested_permissions,
)
from worker.domain.config.config import Authors, Handling
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


def test_a_warning_is_well_unless_asked_strictly() -> None:
    warning = DoctorFinding("People", Health.WARNING, "observed")
    assert is_healthy([warning], strict=False)
    assert not is_healthy([warning], strict=True)


PAGE = Path(__file__).resolve().parents[4] / "docs/permissions.md"


def test_every_permission_stands_on_the_page_with_its_reason_and_no_other() -> None:
    needed = [f"| {core.title} | {core.level} | {core.reason} |" for core in CORE_PERMISSIONS]
    chosen = [
        f"| `{extra.opt_in}` | {extra.permission.title} | {extra.permission.level} | {extra.permission.reason} | {extra.consequence} |"
        for extra in OPTIONAL_PERMISSIONS
    ]
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    assert rows == [
        "| permission | level | why |",
        *needed,
        "| choice | permission | level | why | without it |",
        *chosen,
    ]


def test_what_is_never_asked_for_is_not_asked_for() -> None:
    spelled = {name.lower().replace(" ", "_"): level for name, level in requested_permissions(OptIn).items()}
    never = re.findall(r"^- \*([^*]+)\*:", PAGE.read_text().partition("## Never asked for")[2], re.MULTILINE)
    assert len(never) == 5
    for names in never:
        name, _, level = names.partition(": ")
        for one in name.split(", "):
            asked = spelled.get(one.lower().replace(" ", "_"))
            assert asked != (level or asked or "none")


OURS = 4711
JUDGED = Authors(people=Handling.JUDGE, bots=Handling.JUDGE)
ALL = requested_permissions(OptIn)
URL = "https://github.com/organizations/acme/settings/installations/100"


def told(lines: Iterable[DoctorFinding]) -> str:
    return doctor_report(list(lines), TerminalPage(110)).rpartition("\n\n")[0] + "\n"


def installed(permissions: dict[str, str], account: str = "acme", *, is_suspended: bool = False) -> AppInstallation:
    return AppInstallation(100, account, permissions, URL, is_suspended)


def gate(
    *sources: int | None, permissions: dict[str, str] = ALL, has_queue: bool | None = False
) -> RepositoryProtection:
    required = tuple(Requirement("branch protection" if one == 7 else "a ruleset", one) for one in sources)
    return RepositoryProtection("acme/widgets", installed(permissions), "main", required, has_queue)


def test_every_reason_reads_as_the_end_of_a_sentence() -> None:
    for permission in CORE_PERMISSIONS:
        assert permission.reason.split()[0] in {"read", "see", "write"}


CORE = requested_permissions([])


def test_a_required_check_that_holds_no_person_or_no_bot_is_a_warning() -> None:
    for handling, words in ((Handling.OBSERVE, "are only observed"), (Handling.SKIP, "are skipped")):
        lines = list(gate_lines(gate(OURS), OURS, "assay", Authors(people=handling, bots=handling)))
        assert not is_healthy(lines, strict=True)
        warnings = [(one.name, one.message.partition(",")[0]) for one in lines if one.health is Health.WARNING]
        assert warnings == [
            ("People", f"the pull requests of people {words}"),
            ("Bots", f"the pull requests of bots {words}"),
        ]
    assert "pull requests of" not in told(gate_lines(gate(), OURS, "assay", Authors()))
    chosen = replace(gate(OURS), authors=JUDGED)
    assert "pull requests of" not in told(gate_lines(chosen, OURS, "assay", Authors()))


def pages() -> Pages:
    one = DoctorFinding("Redis", Health.WRONG, "word " * 30)
    yield (
        "the report wraps under its words and colours the health alone",
        doctor_report([one], TerminalPage(60, has_colour=True)),
    )
    well = DoctorFinding("Redis", Health.OK, "embedded")
    yield (
        "what is well and what is not are counted",
        *(doctor_report(lines, TerminalPage()) for lines in ([well], [well, replace(one, message="not set")])),
    )
    yield (
        "the caps are told in dollars",
        caps_phrase(Caps()),
        caps_phrase(Caps(pull_usd=Decimal("0.005"), share=Decimal("0.333"))),
    )
    each = Decimal("0.00185")
    yield (
        "a week says what it rests on",
        week_cost_phrase(estimate_week([3] * 40, each, Caps()), each, 3),
        week_cost_phrase(estimate_week([3], each, Caps()), each, 3),
        week_cost_phrase(estimate_week([], each, Caps()), each, 3),
    )


def permissions() -> Pages:
    one, many = (replace(gate(OURS), teams=tuple(f"acme/t{at}" for at in range(count))) for count in (1, 7))
    yield (
        "teams that own files are named with whose review counts for them",
        told(gate_lines(one, OURS, "assay", JUDGED)).partition("ok       Code owners")[2],
        told(gate_lines(many, OURS, "assay", JUDGED)).partition("ok       Code owners")[2],
    )
    yield (
        "an app with everything and one with nothing but the core",
        told(permission_lines(ALL)),
        told(permission_lines(requested_permissions([]))),
    )
    before = ALL | {"pull_requests": "read"}
    yield (
        "an installation misses nothing of what was declined",
        told(installation_lines(ALL, [installed(before)], "https://x", {OptIn.REACTIONS})),
    )
    lacks = {name: level for name, level in ALL.items() if name != "actions"} | {"checks": "read"}
    yield "an app that lacks what judging needs", told(permission_lines(lacks))
    yield (
        "installations that are as they should be are counted",
        told(installation_lines(ALL, [installed(ALL)], "https://x")),
        told(installation_lines(ALL, [installed(ALL)] * 3, "https://x")),
        told(installation_lines(ALL, [], "https://github.com/apps/assay")),
    )
    before = {name: level for name, level in ALL.items() if name != "merge_queues"}
    yield (
        "an installation that has not approved merge queues is named",
        told(installation_lines(ALL, [installed(ALL), installed(before, account="globex")], "https://x")),
    )
    lacks = requested_permissions([]) | {"checks": "read"}
    yield (
        "an installation that lacks more says what does not work",
        told(installation_lines(ALL, [installed(lacks, is_suspended=True)], "https://x")),
    )
    yield (
        "what nobody asks for is not missed",
        told(installation_lines(requested_permissions([]), [installed(requested_permissions([]))], "https://x")),
    )


def gates() -> Pages:
    protections = {
        "our check": gate(OURS),
        "anybody's": gate(None),
        "another's": gate(OURS, 7),
        "none": gate(),
        "queue": gate(OURS, has_queue=True),
        "queue without permission": gate(OURS, permissions=CORE, has_queue=True),
        "queue unknown": gate(OURS, permissions=CORE, has_queue=None),
        "a repository where the app is not": RepositoryProtection("acme/widgets"),
    }
    bots = gate_lines(gate(OURS), OURS, "assay", Authors(people=Handling.JUDGE))
    yield "a required check that holds no bot", told(line for line in bots if line.health is Health.WARNING)
    yield (
        "what is off by choice is told apart from what lacks a permission",
        *(told(permission_lines(asked, {OptIn.REACTIONS})) for asked in (ALL, CORE)),
    )
    for title, protection in protections.items():
        yield f"gate: {title}", told(gate_lines(protection, OURS, "assay-acme", JUDGED))


def test_what_people_read(golden: Golden) -> None:
    golden.check_pages("prose/texts/doctor.md", [*pages(), *permissions(), *gates()])
