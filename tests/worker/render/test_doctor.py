from inline_snapshot import snapshot

from worker.render.columns import Page
from worker.render.doctor import Examined, Health, doctor_report


def test_what_is_well_and_what_is_not_are_counted() -> None:
    well = Examined("Redis", Health.OK, "embedded")
    assert doctor_report([well], Page()).endswith("\n\nAll is well.\n")
    report = doctor_report([well, Examined("GitHub App", Health.MISSING, "not set")], Page())
    assert report.endswith("\n\n1 of 2 to change; the lines above say how.\n")


def test_the_report_wraps_under_its_words_and_colours_the_health_alone() -> None:
    one = Examined("Redis", Health.WRONG, "word " * 30)
    assert doctor_report([one], Page(60, has_colour=True)) == snapshot("""\
\x1b[1;31mwrong\x1b[0m    Redis                   word word word word word
                                 word word word word word
                                 word word word word word
                                 word word word word word
                                 word word word word word
                                 word word word word word

1 of 1 to change; the lines above say how.
""")
