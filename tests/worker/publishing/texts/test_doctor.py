from decimal import Decimal

from inline_snapshot import snapshot

from worker.domain.verdict.budget import Caps, estimate_week
from worker.publishing.texts.columns import TerminalPage
from worker.publishing.texts.doctor import (
    DoctorFinding,
    Health,
    caps_phrase,
    doctor_report,
    is_healthy,
    week_cost_phrase,
)


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
