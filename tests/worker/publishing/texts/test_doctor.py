import re
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from inline_snapshot import snapshot

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


def test_what_is_well_and_what_is_not_are_counted() -> None:
    well = DoctorFinding("Redis", Health.OK, "embedded")
    assert doctor_report([well], TerminalPage()).endswith("\n\nAll is well.\n")
    report = doctor_report([well, DoctorFinding("GitHub App", Health.MISSING, "not set")], TerminalPage())
    assert report.endswith("\n\n1 of 2 to change; the lines above say how.\n")


def test_a_warning_is_well_unless_asked_strictly() -> None:
    warning = DoctorFinding("People", Health.WARNING, "observed")
    assert is_healthy([warning], strict=False)
    assert not is_healthy([warning], strict=True)


def test_the_report_wraps_under_its_words_and_colours_the_health_alone() -> None:
    one = DoctorFinding("Redis", Health.WRONG, "word " * 30)
    assert doctor_report([one], TerminalPage(60, has_colour=True)) == snapshot("""\
\x1b[1;31mwrong\x1b[0m    Redis                   word word word word word
                                 word word word word word
                                 word word word word word
                                 word word word word word
                                 word word word word word
                                 word word word word word

1 of 1 to change; the lines above say how.
""")


def test_the_caps_are_told_in_dollars() -> None:
    assert caps_phrase(Caps()) == snapshot(
        "$0.10 a pull request, $1.00 a day for each installation, 50 % of that for one repository beside others. `assay doctor OWNER/REPO` estimates what a week costs"
    )
    assert caps_phrase(Caps(pull_usd=Decimal("0.005"), share=Decimal("0.333"))) == snapshot(
        "$0.0050 a pull request, $1.00 a day for each installation, 33.3 % of that for one repository beside others. `assay doctor OWNER/REPO` estimates what a week costs"
    )


def test_a_week_says_what_it_rests_on() -> None:
    each = Decimal("0.00185")
    assert week_cost_phrase(estimate_week([3] * 40, each, Caps()), each, 3) == snapshot(
        "$0.2220 for the 40 pull requests opened in the last seven days, if a model judges each 3 times at $0.0019; the caps allow $4.00 at most"
    )
    assert week_cost_phrase(estimate_week([3], each, Caps()), each, 3) == snapshot(
        "$0.0056 for the 1 pull request opened in the last seven days, if a model judges each 3 times at $0.0019; the caps allow $0.10 at most"
    )
    assert week_cost_phrase(estimate_week([], each, Caps()), each, 3) == snapshot(
        "no pull request was opened in the last seven days: $0.00"
    )


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


def test_teams_that_own_files_are_named_with_whose_review_counts_for_them() -> None:
    one, many = (replace(gate(OURS), teams=tuple(f"acme/t{at}" for at in range(count))) for count in (1, 7))
    assert told(gate_lines(one, OURS, "assay", JUDGED)).partition("ok       Code owners")[2] == snapshot("""\
             acme/t0 owns files. Assay asks a team for a review, but does not read who is
                                 in it (that takes a permission on the whole organization): for a team counts
                                 the review of an account that may override (the roles maintain and admin).
""")
    assert told(gate_lines(many, OURS, "assay", JUDGED)).partition("ok       Code owners")[2] == snapshot("""\
             acme/t0, acme/t1, acme/t2, acme/t3, acme/t4 and 2 more teams own files. Assay
                                 asks a team for a review, but does not read who is in it (that takes a
                                 permission on the whole organization): for a team counts the review of an
                                 account that may override (the roles maintain and admin).
""")


def installed(permissions: dict[str, str], account: str = "acme", *, is_suspended: bool = False) -> AppInstallation:
    return AppInstallation(100, account, permissions, URL, is_suspended)


def gate(
    *sources: int | None, permissions: dict[str, str] = ALL, has_queue: bool | None = False
) -> RepositoryProtection:
    required = tuple(Requirement("branch protection" if one == 7 else "a ruleset", one) for one in sources)
    return RepositoryProtection("acme/widgets", installed(permissions), "main", required, has_queue)


def test_an_app_with_everything_and_one_with_nothing_but_the_core() -> None:
    assert told(permission_lines(ALL)) == snapshot("ok       App permissions         all there\n")
    assert told(permission_lines(requested_permissions([]))) == snapshot("""\
ok       App permissions         all there
ok       Comments                off: the App does not ask for pull_requests: write, so the agent gets no
                                 comment, commands get no answer in words, and no review is requested;
                                 verdicts stand on the check alone
ok       Reactions               off: the App does not ask for pull_requests: write, so commands get no
                                 reaction: what follows shows on the check, and a refusal only in an answer
ok       Merge queue             off: the App does not ask for merge_queues: read, so merge groups get no
                                 answer: where Assay is required, a merge queue waits until it times out
ok       SARIF                   off: the App does not ask for security_events: write, so no SARIF is
                                 uploaded; where a repository wants it, its checks say so
""")


def test_what_is_off_by_choice_is_told_apart_from_what_lacks_a_permission() -> None:
    assert told(permission_lines(ALL, {OptIn.REACTIONS})) == snapshot("""\
ok       App permissions         all there
ok       Reactions               off: by choice (ASSAY_REACTIONS is 0), so commands get no reaction: what
                                 follows shows on the check, and a refusal only in an answer
""")
    lacking = told(permission_lines(requested_permissions([]), {OptIn.REACTIONS}))
    assert (lacking.count("off: by choice"), lacking.count("off: the App does not ask for")) == (1, 3)


def test_an_installation_misses_nothing_of_what_was_declined() -> None:
    before = ALL | {"pull_requests": "read"}
    assert told(installation_lines(ALL, [installed(before)], "https://x", {OptIn.REACTIONS})) == snapshot("""\
wrong    Installation acme       has not approved pull_requests: write (installation 100). Without
                                 pull_requests: write, the agent gets no comment, commands get no answer in
                                 words, and no review is requested; verdicts stand on the check alone. Its
                                 owner approves it at
                                 https://github.com/organizations/acme/settings/installations/100
""")


def test_an_app_that_lacks_what_judging_needs() -> None:
    lacks = {name: level for name, level in ALL.items() if name != "actions"} | {"checks": "read"}
    assert told(permission_lines(lacks)) == snapshot("""\
wrong    App permissions         the App lacks actions: read (to read the logs of failing jobs); checks: write
                                 (to write the one check that Assay is, and see the others). Add it in the
                                 App's settings: Permissions & events, Repository permissions.
""")


def test_installations_that_are_as_they_should_be_are_counted() -> None:
    assert told(installation_lines(ALL, [installed(ALL)], "https://x")) == snapshot(
        "ok       Installations           1 installation, with all that the App asks for\n"
    )
    assert told(installation_lines(ALL, [installed(ALL)] * 3, "https://x")) == snapshot(
        "ok       Installations           3 installations, with all that the App asks for\n"
    )
    assert told(installation_lines(ALL, [], "https://github.com/apps/assay")) == snapshot("""\
missing  Installations           the App is installed nowhere. Choose its repositories at
                                 https://github.com/apps/assay/installations/new
""")


def test_an_installation_that_has_not_approved_merge_queues_is_named() -> None:
    before = {name: level for name, level in ALL.items() if name != "merge_queues"}
    assert told(
        installation_lines(ALL, [installed(ALL), installed(before, account="globex")], "https://x")
    ) == snapshot("""\
wrong    Installation globex     has not approved merge_queues: read (installation 100). Without merge_queues:
                                 read, merge groups get no answer: where Assay is required, a merge queue
                                 waits until it times out. Its owner approves it at
                                 https://github.com/organizations/acme/settings/installations/100
""")


def test_an_installation_that_lacks_more_says_what_does_not_work() -> None:
    lacks = requested_permissions([]) | {"checks": "read"}
    assert told(installation_lines(ALL, [installed(lacks, is_suspended=True)], "https://x")) == snapshot("""\
wrong    Installation acme       is suspended (installation 100), so nothing is judged there. Its owner ends
                                 that at https://github.com/organizations/acme/settings/installations/100
wrong    Installation acme       has not approved checks: write, merge_queues: read, pull_requests: write,
                                 security_events: write (installation 100). Judging needs checks: write, to
                                 write the one check that Assay is, and see the others. Without pull_requests:
                                 write, the agent gets no comment, commands get no answer in words, and no
                                 review is requested; verdicts stand on the check alone. Without
                                 pull_requests: write, commands get no reaction: what follows shows on the
                                 check, and a refusal only in an answer. Without merge_queues: read, merge
                                 groups get no answer: where Assay is required, a merge queue waits until it
                                 times out. Without security_events: write, no SARIF is uploaded; where a
                                 repository wants it, its checks say so. Its owner approves them at
                                 https://github.com/organizations/acme/settings/installations/100
""")


def test_every_reason_reads_as_the_end_of_a_sentence() -> None:
    for permission in CORE_PERMISSIONS:
        assert permission.reason.split()[0] in {"read", "see", "write"}


def test_what_nobody_asks_for_is_not_missed() -> None:
    assert told(
        installation_lines(requested_permissions([]), [installed(requested_permissions([]))], "https://x")
    ) == snapshot("ok       Installations           1 installation, with all that the App asks for\n")


CORE = requested_permissions([])


@pytest.mark.parametrize(
    ("protection", "lines"),
    [
        (
            gate(OURS),
            snapshot("""\
ok       Required check          Assay is required on main by a ruleset, from assay-acme alone
ok       Merge queue             none on main
"""),
        ),
        (
            gate(None),
            snapshot("""\
wrong    Required check          Assay is required on main by a ruleset, but from any source: each account
                                 with write access can post a status of that name and merge. Choose assay-acme
                                 as its source, where it is required.
ok       Merge queue             none on main
"""),
        ),
        (
            gate(OURS, 7),
            snapshot("""\
wrong    Required check          Assay is required on main by a ruleset and branch protection from another App
                                 (id 7), so ours never counts and nothing can be merged. Choose assay-acme as
                                 its source instead.
ok       Merge queue             none on main
"""),
        ),
        (
            gate(),
            snapshot("""\
missing  Required check          Assay is not required on main, so no merge waits for it. To make it a gate,
                                 open Settings, Rules, Rulesets, and require the status check Assay with
                                 assay-acme as its source.
ok       Merge queue             none on main
"""),
        ),
        (
            gate(OURS, has_queue=True),
            snapshot("""\
ok       Required check          Assay is required on main by a ruleset, from assay-acme alone
ok       Merge queue             on for main, and Assay answers for its groups
"""),
        ),
        (
            gate(OURS, permissions=CORE, has_queue=True),
            snapshot("""\
ok       Required check          Assay is required on main by a ruleset, from assay-acme alone
wrong    Merge queue             on for main, but acme (installation 100) has not granted merge_queues: read,
                                 so merge groups get no answer: where Assay is required, a merge queue waits
                                 until it times out. Ask for it in the App's settings: Permissions & events,
                                 Repository permissions; the owner approves it at
                                 https://github.com/organizations/acme/settings/installations/100
"""),
        ),
        (
            gate(OURS, permissions=CORE, has_queue=None),
            snapshot("""\
ok       Required check          Assay is required on main by a ruleset, from assay-acme alone
ok       Merge queue             no ruleset asks for one on main; whether branch protection does can't be seen
                                 without merge_queues: read
"""),
        ),
    ],
    ids=["ours", "anybody's", "another's", "none", "queue", "queue without permission", "queue unknown"],
)
def test_a_gate_is_told_by_whose_check_it_waits_for(protection: RepositoryProtection, lines: str) -> None:
    text = told(gate_lines(protection, OURS, "assay-acme", JUDGED))
    installed, _, rest = text.partition("\n")
    assert installed == "ok       Installed               on acme/widgets (installation 100)"
    assert rest == lines


def test_a_repository_where_the_app_is_not() -> None:
    assert told(gate_lines(RepositoryProtection("acme/widgets"), OURS, "assay-acme", JUDGED)) == snapshot("""\
missing  Installed               the App is not installed on acme/widgets, or there is no such repository.
                                 Install it there.
""")


def test_a_required_check_that_holds_no_person_or_no_bot_is_a_warning() -> None:
    for handling, words in ((Handling.OBSERVE, "are only observed"), (Handling.SKIP, "are skipped")):
        lines = list(gate_lines(gate(OURS), OURS, "assay", Authors(people=handling, bots=handling)))
        assert not is_healthy(lines, strict=True)
        warnings = [(one.name, one.message.partition(",")[0]) for one in lines if one.health is Health.WARNING]
        assert warnings == [
            ("People", f"the pull requests of people {words}"),
            ("Bots", f"the pull requests of bots {words}"),
        ]
    only_bots = told(gate_lines(gate(OURS), OURS, "assay", Authors(people=Handling.JUDGE)))
    assert only_bots.partition("warning")[2].partition("ok ")[0] == snapshot("""\
  Bots                    the pull requests of bots are only observed, so the required check never
                                 blocks one. An agent whose account Assay does not know counts as a bot. Set
                                 `authors: {bots: judge}` in .github/assay.yml to have the check decide.
""")
    assert "pull requests of" not in told(gate_lines(gate(), OURS, "assay", Authors()))
    chosen = replace(gate(OURS), authors=JUDGED)
    assert "pull requests of" not in told(gate_lines(chosen, OURS, "assay", Authors()))
