"""The output of `assay case`, `assay config` (mistakes, effective values, reference and schema) and `assay doctor`."""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from tests.golden.golden import Golden, Pages
from worker.domain.config.config import Authors, ConfigKeys, Handling
from worker.domain.config.github_app import (
    CORE_PERMISSIONS,
    OPTIONAL_PERMISSIONS,
    AppInstallation,
    OptIn,
    RepositoryProtection,
    Requirement,
    requested_permissions,
)
from worker.domain.dossier import ConfigOrigin, ConfigText, Criterion
from worker.domain.verdict.budget import Caps, estimate_week
from worker.domain.verdict.ledger import Case, CoverageClaim
from worker.domain.verdict.verdict import Category, ClaimStatus, ClaimVerdict, Finding
from worker.dossier.case import read_case
from worker.dossier.config import read_config, resolve_config
from worker.judge.checks.evidence import CheckedCase, DraftClaim
from worker.publishing.texts.cli_reports import (
    DoctorFinding,
    Health,
    caps_phrase,
    check_report,
    doctor_report,
    draft,
    effective_report,
    gate_lines,
    installation_lines,
    is_healthy,
    mistake_report,
    parse_error_report,
    permission_lines,
    reference,
    schema,
    week_cost_phrase,
)
from worker.publishing.texts.terminal import TerminalPage

CASE_PAGE = TerminalPage()


def claim(number: int, text: str, places: tuple[str, ...] = (), tests: tuple[str, ...] = ()) -> DraftClaim:
    return DraftClaim(Criterion(id=f"AC{number}", text=text), places, tests)


@given(st.text(min_size=1), st.text(min_size=1), st.text(min_size=1))
def test_every_draft_is_a_readable_case(title: str, text: str, location: str) -> None:
    case = read_case(draft(title, (claim(1, text, (location,), (location,)), claim(2, text))))
    assert isinstance(case, Case)
    assert [claim.criterion for claim in case.ac_coverage] == ["AC1"]
    assert case.summary.endswith("(to be confirmed)")


def test_unreadable_case_report_names_its_line() -> None:
    assert parse_error_report("case.md", 7, "Case refused: x.", CASE_PAGE) == "case.md:7: Case refused: x.\n"
    assert parse_error_report("\x1b[31mcase.md", None, "x", CASE_PAGE) == snapshot("␛[31mcase.md: x\n")


@pytest.mark.parametrize(("is_fact", "word"), [(True, "Rejects"), (False, "Doubted")])
def test_case_report_lists_each_claim(is_fact: bool, word: str) -> None:  # noqa: FBT001 - a table
    case = CheckedCase(
        case=Case(summary="x", ac_coverage=(CoverageClaim(criterion="AC1", addressed_by="a.py:3 (to be confirmed)"),)),
        claims=(
            ClaimVerdict(claim="AC1 -> a.py:3", status=ClaimStatus.VERIFIED),
            ClaimVerdict(claim="AC2 -> b.py", status=ClaimStatus.UNSUPPORTED, note="b.py is neither changed nor known"),
        ),
        findings=(Finding(signal="cited_file_missing", category=Category.SPEC_VIOLATION, fact=is_fact, note="b.py"),),
        unread=("issue",),
        has_criteria=False,
    )
    assert check_report("case.md", case, CASE_PAGE).replace(word, "WORD") == snapshot("""\
case.md holds a case.
  there      AC1 -> a.py:3
  not found  AC2 -> b.py
             b.py is neither changed nor known
  WORD (cited_file_missing): b.py
  Not read: issue. docs/case.md lists the fields.
  1 still marked "to be confirmed": look at each place, and take the words out.
  No criterion is known: name the issue with --issue.
2 to mend.
""")


def case_pages() -> Pages:
    claims = (
        claim(1, "`upload` tries again", ("upload.py:17", "client.py:3"), ("tests/test_upload.py:8",)),
        claim(2, "A test\nshows it", ("tests/test_upload.py:8",)),
        claim(3, f"It gives up {'after a while ' * 20}"),
    )
    yield "a draft holds each criterion with its places", draft("Retry: on 503", claims)
    verified = (ClaimVerdict(claim="AC1 -> a.py:3", status=ClaimStatus.VERIFIED),)
    whole = CheckedCase(case=Case(summary="x"), claims=verified, findings=(), unread=(), has_criteria=True)
    yield "of a case in order there is nothing to mend", check_report("case.md", whole, CASE_PAGE)


CONFIG_PAGE = TerminalPage(width=90)


def report_on(text: str, page: TerminalPage = CONFIG_PAGE) -> str:
    return mistake_report(read_config(text).problems, text, "assay.yml", page)


def test_mistake_out_of_sight_has_no_caret() -> None:
    assert report_on("never_send: [") == snapshot(
        """\
assay.yml:1:14: expected the node content, but found '<stream end>'
  1 | never_send: [
    |              ^

1 mistake. What has one sets nothing: the last version without any holds there, and
nothing is accepted without a model.
"""
    )
    assert "^" not in report_on(f"{'#' * 10}\n{' ' * 300}x: 1")
    assert "|" not in report_on("ci_wait: 5m\rmode: x"), "a line break that only YAML knows"


def test_file_content_emits_no_control_characters() -> None:
    report = report_on("mode: 'a\tb'  # \x7f".replace("\x7f", "x"))
    assert "\t" not in report
    assert "\x1b" not in report
    assert "\x1b[1m" in report_on("mode: x", TerminalPage(has_colour=True))


def test_missing_file_shows_the_defaults() -> None:
    assert effective_report(resolve_config([]), {}, CONFIG_PAGE).startswith(
        "There is no file: every default holds.\n\nmode "
    )


DOCS = Path(__file__).resolve().parents[4] / "docs"


def test_configuration_reference_matches_the_code() -> None:
    assert (DOCS / "repository-configuration.md").read_text("utf-8") == reference(), "assay config reference"


def test_published_schema_matches_the_code() -> None:
    assert (DOCS / "assay.schema.json").read_text("utf-8") == schema(), "assay config schema"


def test_reference_documents_each_key_with_a_valid_example() -> None:
    page = reference()
    for key in ConfigKeys.model_fields:
        assert re.search(rf"^\| `{key}` \| \S.*\| \S.* \|$", page, re.MULTILINE), key
    example = page.split("```yaml\n")[1].split("```")[0]
    reading = read_config(example)
    assert reading.problems == ()
    assert set(reading.values) == set(ConfigKeys.model_fields)


def test_schema_describes_each_key() -> None:
    made: dict[str, Any] = json.loads(schema())
    assert made["additionalProperties"] is False
    assert set(made["properties"]) == set(ConfigKeys.model_fields)
    assert all(field["description"] and field["examples"] for field in made["properties"].values())
    assert made["properties"]["mode"]["enum"] == ["block", "observe"]
    assert "stub_body" in made["properties"]["signals"]["propertyNames"]["enum"]
    assert made["$defs"]["Authors"]["additionalProperties"] is False


def config_pages() -> Pages:
    yield "a caret stands under each mistake", report_on('mode: blok\r\nnever_send: ["ünï 漢字", 3]\n')
    names = {ConfigOrigin.REPOSITORY: "own.yml", ConfigOrigin.ORGANISATION: "org.yml"}
    texts = [
        ConfigText(origin=ConfigOrigin.REPOSITORY, text="mode: observe\nnever_send: ['.env*']"),
        ConfigText(origin=ConfigOrigin.ORGANISATION, text="ci_wait: 5m\nmode: block"),
    ]
    yield "every key is told with who sets it", effective_report(resolve_config(texts), names, CONFIG_PAGE)


def test_warning_is_unhealthy_only_in_strict_mode() -> None:
    warning = DoctorFinding("People", Health.WARNING, "observed")
    assert is_healthy([warning], strict=False)
    assert not is_healthy([warning], strict=True)


PERMISSIONS_PAGE = Path(__file__).resolve().parents[4] / "docs/permissions.md"


def test_permissions_page_lists_every_permission_with_its_reason() -> None:
    needed = [f"| {core.title} | {core.level} | {core.reason} |" for core in CORE_PERMISSIONS]
    chosen = [
        f"| `{extra.opt_in}` | {extra.permission.title} | {extra.permission.level} | {extra.permission.reason} | {extra.consequence} |"
        for extra in OPTIONAL_PERMISSIONS
    ]
    rows = [line for line in PERMISSIONS_PAGE.read_text().splitlines() if line.startswith("| ")]
    heads = ("| permission | level | why |", "| choice | permission | level | why | without it |")
    assert rows == [heads[0], *needed, heads[1], *chosen]


def test_permissions_never_asked_for_are_not_requested() -> None:
    spelled = {name.lower().replace(" ", "_"): level for name, level in requested_permissions(OptIn).items()}
    never = re.findall(
        r"^- \*([^*]+)\*:", PERMISSIONS_PAGE.read_text().partition("## Never asked for")[2], re.MULTILINE
    )
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


def doctor_pages() -> Pages:
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


def test_cli_reports_match_the_golden_pages(golden: Golden) -> None:
    golden.check_pages("prose/texts/case.md", case_pages())
    golden.check_pages("prose/texts/config.md", config_pages())
    golden.check_pages("prose/texts/doctor.md", [*doctor_pages(), *permissions(), *gates()])
