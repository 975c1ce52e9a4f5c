"""What people read about several opinions: each of them, and whether they agree."""

from inline_snapshot import snapshot

from tests.worker.publishing.texts.samples import accepted, dossier
from worker.domain.verdict.verdict import Verdict
from worker.publishing.texts.check_run import check_content
from worker.publishing.texts.columns import TerminalPage
from worker.publishing.texts.terminal import verdict_report

TOLD = "first (claude-haiku-5-5): reject, weak_test, 0.80; second (claude-opus-5-5): accept, 0.90"


def on_check(verdict: Verdict) -> list[str]:
    content = check_content(verdict, dossier())
    return [line for line in f"{content.summary}\n{content.text}".split("\n") if "Opinions" in line]


def on_terminal(verdict: Verdict) -> list[str]:
    return [
        line
        for line in verdict_report(verdict, dossier(), TerminalPage(200)).split("\n")
        if line.startswith("Opinions")
    ]


def test_opinions_that_differ_are_shown() -> None:
    verdict = accepted(signals={"opinions": TOLD, "opinions_agree": False})
    assert on_check(verdict) == snapshot(
        [
            "**Opinions** not agreed: first (claude-haiku-5-5): reject, weak_test, 0.80; second (claude-opus-5-5): accept, 0.90"
        ]
    )
    assert on_terminal(verdict) == snapshot(
        [
            "Opinions   not agreed: first (claude-haiku-5-5): reject, weak_test, 0.80; second (claude-opus-5-5): accept, 0.90"
        ]
    )


def test_opinions_that_agree_are_shown_as_such() -> None:
    verdict = accepted(signals={"opinions": TOLD, "opinions_agree": True})
    assert on_terminal(verdict) == [f"Opinions   agreed: {TOLD}"]


def test_one_opinion_is_no_line() -> None:
    assert (on_check(accepted()), on_terminal(accepted())) == ([], [])
