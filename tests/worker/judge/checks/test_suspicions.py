"""What code suspects is answered with a line that could settle it, or the accept is another model's or a person's to confirm."""

from dataclasses import replace
from typing import Any

import pytest

from tests.worker.judge.making import (
    accept,
    bench,
    criteria,
    docket,
    dossier,
    fact,
    model_of,
    new_file,
    opinion,
    place,
    pull_request,
    reject,
)
from worker.domain.dossier import Criterion, Dossier
from worker.domain.verdict.verdict import (
    Abstain,
    AbstainReason,
    Accept,
    CriterionStatus,
    EvidencePointer,
    Leaning,
    ModelOpinion,
    Reject,
    SettledAnswer,
    Side,
)
from worker.dossier.diff.parser import diff_of
from worker.judge.checks.ci_status import read_ci
from worker.judge.checks.evidence import Places
from worker.judge.checks.suspicions import find_unanswered
from worker.judge.judge import judge, judge_with_record
from worker.judge.rulings import EvidenceBundle

CODE = ("def send(payload):", "    print(payload)", "    retry = post(payload)", "    return retry", "", "LIMIT = 3")
TESTS = ("def test_send():", "    assert send(1) == 2", "def test_busy():", "    assert retry(send, fails) == 3")
DIFF = new_file("upload.py", *CODE) + new_file("tests/test_upload.py", *TESTS)


def at(path: str, line: int) -> dict[str, Any]:
    lines = CODE if path == "upload.py" else TESTS
    return place(path, line, quote=lines[line - 1])


def answering(*places: dict[str, Any], why: str = "Callers want it.", name: str = "q1") -> dict[str, Any]:
    """An accept that answers one question with these places."""
    met = [{"id": "AC1", "status": "met", "evidence": [at("upload.py", 3)]}]
    return accept(criteria=met, settled=[{"id": name, "why": why, "evidence": list(places)}])


def change(text: str = "the payload is sent again by post", **changes: Any) -> Dossier:
    return dossier(**{"diff": DIFF, "files": None, "criteria": (Criterion(id="AC1", text=text),), **changes})


def ruled(answer: dict[str, Any], what: Dossier) -> Accept | Reject | Abstain:
    verdict = judge(what, docket(), bench(model_of(answer, answer), threshold=2.0))
    if isinstance(verdict, Abstain):
        assert verdict.abstain_reason is AbstainReason.NEEDS_HUMAN
    return verdict


@pytest.mark.parametrize(
    ("answer", "stands"),
    [
        (answering(at("upload.py", 1)), True),  # `payload` is what is printed
        (answering(at("upload.py", 2)), False),  # the suspected line itself
        (answering(at("upload.py", 6)), False),  # about something else
        (answering(at("upload.py", 1), why=""), False),
        (answering(), False),
        (answering(at("upload.py", 1), name="q9"), False),
        ({**answering(), "settled": []}, False),
    ],
)
def test_a_suspicion_is_settled_by_another_line_about_the_same_thing(answer: dict[str, Any], *, stands: bool) -> None:
    verdict = ruled(answer, change())
    assert isinstance(verdict, Accept) is stands
    if not stands:
        assert (verdict.signals["vetoed_by"], verdict.signals["model_decision"]) == ("suspicions", "accept")
        assert "upload.py:2" in verdict.concern


@pytest.mark.parametrize(
    ("text", "places", "stands"),
    [
        ("`jitter` is waited for", (at("upload.py", 3),), False),
        ("`retry` is in `net/retry.py`", (at("upload.py", 3),), False),
        ("a test covers jitter", (at("tests/test_upload.py", 2),), True),  # it may be called otherwise
        ("a test covers jitter", (at("upload.py", 3),), False),
        ("a test covers: post a payload", (at("tests/test_upload.py", 2),), False),  # no finding, and asked about
        ("a test covers: retry send", (at("tests/test_upload.py", 2),), False),
        ("a test covers: send and retry, if a send fails", (at("tests/test_upload.py", 4),), True),
        ("a test covers: busy send and retry, that fails by jitter", (at("tests/test_upload.py", 4),), False),
        ("the changelog tells of it", (at("upload.py", 3),), False),
    ],
)
def test_what_seems_missing_is_settled_by_the_line_that_has_it(
    text: str, places: tuple[Any, ...], *, stands: bool
) -> None:
    quiet = new_file("upload.py", *(line for line in CODE if "print" not in line)) + new_file(
        "tests/test_upload.py", *TESTS
    )
    moved = [{**spot, "line": spot["line"] - (spot["path"] == "upload.py")} for spot in places]
    met = [{"id": "AC1", "status": "met", "evidence": moved if "test" in text else [{**at("upload.py", 3), "line": 2}]}]
    answer = accept(criteria=met, settled=[{"id": "q1", "why": "It is there.", "evidence": moved}])
    assert isinstance(ruled(answer, change(text, diff=quiet)), Accept) is stands


OTHERS = "".join(new_file(f"uploads/retry_{name}.py", f"RETRY_UPLOAD_{name} = upload(1)") for name in "abc")
FOREIGN = new_file(
    "billing/invoice.py",
    *(f"RENDERED_LEDGER_{name} = paint_{name}(canvas)" for name in "abcdefgh"),
    "retries = 3",
    "tried = again(3)",
)


EDITED = (
    "diff --git a/billing/invoice.py b/billing/invoice.py\n--- a/billing/invoice.py\n+++ b/billing/invoice.py\n"
    "@@ -1,2 +1,10 @@\n tried = again(1)\n"
    + "".join(f"+RENDERED_LEDGER_{name} = paint_{name}(canvas)\n" for name in "abcdefgh")
    + "-tried = again(2)\n+tried = again(3)\n"
)


@pytest.mark.parametrize(
    ("diff", "line", "side", "quote", "stands"),
    [
        (FOREIGN, 10, "head", "tried = again(3)", True),
        (FOREIGN, 9, "head", "retries = 3", False),  # one word may be there by chance
        (FOREIGN, 2, "head", "RENDERED_LEDGER_b = paint_b(canvas)", False),
        (EDITED, 10, "head", "tried = again(3)", True),
        (EDITED, 2, "base", "tried = again(2)", True),
        (EDITED, 1, "head", "tried = again(1)", False),  # it did not change
    ],
)
def test_a_file_that_seems_unrelated_is_settled_by_its_changed_line_about_what_was_asked(
    diff: str, line: int, side: str, quote: str, *, stands: bool
) -> None:
    met = [
        {"id": "AC1", "status": "met", "evidence": [place("uploads/retry_a.py", 1, quote="RETRY_UPLOAD_a = upload(1)")]}
    ]
    there = {**place("billing/invoice.py", line, quote=quote), "side": side}
    settled = [{"id": "q1", "why": "The issue needs it.", "evidence": [there]}]
    what = change("uploads are tried again", diff=OTHERS + diff, pull_request=pull_request(title="Retry uploads"))
    assert isinstance(ruled(accept(criteria=met, settled=settled), what), Accept) is stands


def test_the_lines_beside_a_suspected_one_are_what_it_is_about() -> None:
    lines = (
        "def send(data):",
        "    if closed:",
        "        pass",
        "    return post(data)",
        "",
        "post = again",
        "LIMIT = 3",
    )
    what = change(diff=new_file("upload.py", *lines) + new_file("tests/test_upload.py", *TESTS))
    met = [{"id": "AC1", "status": "met", "evidence": [place("upload.py", 4, quote=lines[3])]}]

    def settled(line: int) -> Accept | Reject | Abstain:
        answer = {"id": "q1", "why": "Closed is fine.", "evidence": [place("upload.py", line, quote=lines[line - 1])]}
        return ruled(accept(criteria=met, settled=[answer]), what)

    assert [settled(line).decision for line in (6, 7)] == ["accept", "abstain"]


KINDS_OF_CODE = (
    "from net import post as _spare, retry",
    "",
    "def _spare(data):",
    "    return post(data)",
    "",
    "def send(data, limit):",
    "    try:",
    "        return post(data)",
    "    except OSError:",
    "        pass",
    "    log.warning('%s is not sent: post failed', data)",
    "",
    "HOOKS = {'spare': _spare}",
)
KINDS_OF_TEST = (
    "from upload import send",
    "",
    "def check_sent(data):",
    "    assert send(data).ok",
    "",
    "def test_send():",
    "    send(1)",
    "    retried = send(2)",
    "    must_be_sent(send)",
    "",
    "def test_sent_again():",
    "    send(3)",
    "    assert send(3) == 4",
    "    with raises(SendError):",
    "        send(5)",
)
BEFORE = (
    "diff --git a/tests/test_old.py b/tests/test_old.py\n--- a/tests/test_old.py\n+++ b/tests/test_old.py\n"
    "@@ -1,5 +1,5 @@\n def test_old():\n     sent = send(1)\n-    assert sent.ok\n-    assert sent.status == 200\n"
    "+    assert sent.status\n+    print(sent.ok)\n     assert sent.again\n"
    "diff --git a/sent.py b/sent.py\n--- a/sent.py\n+++ b/sent.py\n@@ -1,2 +1,1 @@\n-ok = sent.ok\n limit = 3\n"
)


@pytest.mark.parametrize(
    ("signal", "category", "at", "note", "answer", "stands"),
    [
        # what proves nothing: an assertion of that test or of what it calls, no import, no mere call
        ("test_without_assertion", "weak_test", "t:6", "`test_send` asserts nothing", "t:1", False),
        ("test_without_assertion", "weak_test", "t:6", "`test_send` asserts nothing", "t:7", False),
        ("test_without_assertion", "weak_test", "t:6", "`test_send` asserts nothing", "t:8", False),
        (
            "test_without_assertion",
            "weak_test",
            "t:6",
            "`test_send` asserts nothing",
            "t:9",
            True,
        ),  # a helper by its name
        ("test_without_assertion", "weak_test", "t:6", "`test_send` asserts nothing", "t:4", True),  # of what it calls
        ("test_without_assertion", "weak_test", "t:6", "`test_send` asserts nothing", "t:13", False),  # of another test
        ("test_without_assertion", "weak_test", "o:2", "`test_old` sent nothing", "t:13", False),
        ("test_expects_presence_only", "weak_test", "t:6", "`test_send` only asks if it is there", "t:13", True),
        ("test_expects_presence_only", "weak_test", "t:6", "`test_send` only asks if it is there", "t:14", True),
        ("test_expects_presence_only", "weak_test", "t:6", "`test_send` only asks if it is there", "t:12", False),
        ("test_expects_presence_only", "weak_test", "o:2", "`sent` is only asked to be there", "o:-4", False),
        # what was taken away: what is new in its place, or code that went with it
        ("assertion_removed", "weak_test", "o:-3", "this assertion was removed", "o:3", True),
        ("assertion_removed", "weak_test", "o:-3", "this assertion was removed", "o:4", True),
        ("assertion_loosened", "weak_test", "o:-3", "this assertion asks less", "o:3", True),
        ("assertion_loosened", "weak_test", "o:-3", "this assertion asks less", "o:4", False),  # no assertion
        ("assertion_removed", "weak_test", "o:-3", "this assertion was removed", "o:5", False),  # as it was
        ("assertion_removed", "weak_test", "o:-3", "this assertion was removed", "o:-4", False),
        ("assertion_removed", "weak_test", "o:-3", "this assertion was removed", "s:-1", True),
        ("test_deleted", "tests_pass_but_wrong", "o:-3", "the test `test_ok` is deleted", "o:4", True),
        ("test_deleted", "tests_pass_but_wrong", "o:-3", "the test `test_ok` is deleted", "o:-4", False),
        # what nothing uses: the line that uses it
        ("function_uncalled", "half_finished", "c:3", "nothing calls the new `_spare`", "c:13", True),
        ("function_uncalled", "half_finished", "c:3", "nothing calls the new `_spare`", "c:1", False),
        ("function_uncalled", "half_finished", "c:3", "nothing calls the new `_spare`", "c:4", False),
        ("function_uncalled", "half_finished", "c:4", "nothing calls the new `_spare`", "c:3", False),  # its definition
        ("import_unused", "half_finished", "c:1", "nothing in this file uses the new import `send`", "t:1", True),
        ("import_unused", "half_finished", "t:1", "nothing in this file uses the new import `post`", "c:4", True),
        ("import_unused", "half_finished", "c:3", "nothing in this file uses the new import `post`", "c:1", False),
        # a failure that is lost: the line that reports it
        ("failure_swallowed", "weak_test", "c:9", "post may fail and nobody sees it", "c:11", True),
        ("failure_swallowed", "weak_test", "c:10", "post may fail and nobody sees it", "c:6", False),
        # anything else: any line about the same thing but an import
        ("branch_empty", "half_finished", "c:10", "this branch of post does nothing", "c:8", True),
        ("branch_empty", "half_finished", "c:10", "this branch of post does nothing", "c:1", False),
        ("snapshot_rewritten", "weak_test", None, "recorded anew", "o:3", True),
    ],
)
def test_each_suspicion_is_settled_by_its_own_kind_of_line(
    signal: str, category: str, at: str | None, note: str, answer: str, *, stands: bool
) -> None:
    diff = new_file("upload.py", *KINDS_OF_CODE) + new_file("tests/test_upload.py", *KINDS_OF_TEST) + BEFORE
    paths = {"c": "upload.py", "t": "tests/test_upload.py", "o": "tests/test_old.py", "s": "sent.py"}

    def placed(text: str) -> tuple[str, int, Side]:
        path, _, line = text.partition(":")
        return paths[path], abs(int(line)), Side.BASE if line.startswith("-") else Side.HEAD

    path, line, side = placed(at) if at else (None, None, Side.HEAD)
    finding = fact(
        signal=signal, category=category, path=path, line=line, side=side, note=note, fact=False, weight=0.3, step=""
    )
    what = dossier(diff=diff, files=None)
    hearing = EvidenceBundle(what, diff_of(diff), Places(what), opinion(finding), read_ci(what.ci), ())
    where, number, of = placed(answer)
    settled = SettledAnswer(id="q1", why="So.", evidence=(EvidencePointer(path=where, line=number, side=of),))
    accepted = ModelOpinion(
        decision=Leaning.ACCEPT,
        category=None,
        concern="Fine.",
        next_step=None,
        settled=(settled,),
        score=0.9,
        confidence=0.9,
    )
    assert (not find_unanswered(accepted, hearing)) is stands


def test_the_model_is_asked_for_its_answers_once() -> None:
    model = model_of({**answering(), "settled": []}, answering(at("upload.py", 1)))
    assert judge(change(), docket(), bench(model, threshold=2.0)).decision == "accept"
    assert "Your accept leaves questions open: q1." in model.asked[1].turns[2]


def test_a_second_opinion_that_settles_it_accepts() -> None:
    blind: dict[str, Any] = {**answering(), "settled": []}
    for second, decision in ((answering(at("upload.py", 1)), "accept"), (blind, "abstain")):
        stronger = replace(bench(model_of(blind, blind), threshold=2.0), second_model=model_of(second, second))
        heard = judge_with_record(change(), docket(), stronger)
        assert heard.verdict.decision == decision
        assert "an accept that leaves suspicions open" in heard.verdict.escalation_reason


CODE_ALONE = new_file("upload.py", *(line for line in CODE if "print" not in line))
BARE = place("upload.py", 2, quote="    retry = post(payload)")
TESTED = (Criterion(id="AC1", text="post is called again"), Criterion(id="AC2", text="a test proves it"))


def test_a_criterion_that_asks_for_a_test_is_never_met_without_one() -> None:
    what = dossier(diff=CODE_ALONE, files=None, criteria=TESTED)
    answer = accept(criteria=criteria("met", "met", at=[BARE]), settled=[])
    model = model_of(answer, answer)
    verdict = judge(what, docket(), bench(model, threshold=2.0))
    assert "AC2 asks for a test, and the change adds to none" in model.asked[1].turns[2]
    assert isinstance(verdict, Abstain)
    assert verdict.signals["vetoed_by"] == "tests"
    assert [criterion.status for criterion in verdict.criteria] == [CriterionStatus.MET, CriterionStatus.MISSING]

    other = reject(
        criteria=criteria("met", "met", at=[BARE]),
        category="half_finished",
        evidence=[BARE],
        concern="`post` has no limit.",
    )
    rejected = judge(what, docket(), bench(model_of(other), threshold=2.0))
    assert (rejected.decision, rejected.criteria[1].note) == ("reject", "the change adds to no test")


@pytest.mark.parametrize("text", ["All existing tests pass", "the tests pass", "the test suite stays green"])
def test_that_tests_pass_asks_for_no_new_one(text: str) -> None:
    asks = (TESTED[0], Criterion(id="AC2", text=text))
    answer = accept(
        criteria=criteria("met", "met", at=[BARE]), settled=[{"id": "q1", "why": "CI says so.", "evidence": [BARE]}]
    )
    verdict = judge(
        dossier(diff=CODE_ALONE, files=None, criteria=asks), docket(), bench(model_of(answer, answer), threshold=2.0)
    )
    assert verdict.signals.get("vetoed_by") != "tests"
