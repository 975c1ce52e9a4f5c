"""An accept stands only when it settles each suspicion with a suitable line."""

from dataclasses import replace
from typing import Any

import pytest

from tests.worker.judge.samples import (
    ALWAYS_ASK,
    ScriptedModel,
    accept_answer,
    criteria,
    decision_of,
    dossier,
    evaluation_header,
    evidence_at,
    evidence_bundle,
    fact,
    judge_context,
    judge_dossier,
    model_of,
    new_file,
    opinion,
    pull_request,
    reject_answer,
)
from worker.domain.dossier import Criterion, Dossier
from worker.domain.verdict.verdict import EvidencePointer, Leaning, ModelOpinion, SettledAnswer, Side, Verdict
from worker.judge.checks.suspicions import find_unanswered
from worker.judge.judge import judge

CODE = ("def send(payload):", "    print(payload)", "    retry = post(payload)", "    return retry", "", "LIMIT = 3")
TESTS = ("def test_send():", "    assert send(1) == 2", "def test_busy():", "    assert retry(send, fails) == 3")
DIFF = new_file("upload.py", *CODE) + new_file("tests/test_upload.py", *TESTS)


def evidence_in(path: str, line: int) -> dict[str, Any]:
    lines = CODE if path == "upload.py" else TESTS
    return evidence_at(path, line, quote=lines[line - 1])


def settle(*places: dict[str, Any], why: str = "Callers want it.", name: str = "q1") -> dict[str, Any]:
    """An accept that answers one question with this evidence."""
    met = criteria("met", evidence=[evidence_in("upload.py", 3)])
    return accept_answer(criteria=met, settled=[{"id": name, "why": why, "evidence": list(places)}])


def dossier_of(text: str = "the payload is sent again by post", **changes: Any) -> Dossier:
    return dossier(**{"diff": DIFF, "files": None, "criteria": (Criterion(id="AC1", text=text),), **changes})


def is_accept_kept(answer: dict[str, Any], judged: Dossier) -> bool:
    """Whether the accept is published when the model repeats it."""
    verdict = judge(judged, evaluation_header(), judge_context(model_of(answer, answer), ALWAYS_ASK))
    if verdict.decision != "accept":
        assert decision_of(verdict) == "abstain needs_human"
        assert verdict.signals["model_decision"] == "accept"
    return verdict.decision == "accept"


@pytest.mark.parametrize(
    ("answer", "is_settled"),
    [
        (settle(evidence_in("upload.py", 1)), True),  # `payload` is what is printed
        (settle(evidence_in("upload.py", 2)), False),  # the suspected line itself
        (settle(evidence_in("upload.py", 6)), False),  # about something else
        (settle(evidence_in("upload.py", 1), why=""), False),
        (settle(), False),
        (settle(evidence_in("upload.py", 1), name="q9"), False),
        ({**settle(), "settled": []}, False),
    ],
)
def test_suspicion_is_settled_by_another_line_about_the_same_name(answer: dict[str, Any], *, is_settled: bool) -> None:
    assert is_accept_kept(answer, dossier_of()) is is_settled


def test_unsettled_suspicion_is_named_with_its_location() -> None:
    verdict = judge(dossier_of(), evaluation_header(), judge_context(model_of(settle(), settle()), ALWAYS_ASK))
    assert verdict.signals["vetoed_by"] == "suspicions"
    assert "upload.py:2" in verdict.concern


@pytest.mark.parametrize(
    ("text", "evidence", "is_settled"),
    [
        ("`jitter` is waited for", (evidence_in("upload.py", 3),), False),
        ("`retry` is in `net/retry.py`", (evidence_in("upload.py", 3),), False),
        ("a test covers jitter", (evidence_in("tests/test_upload.py", 2),), True),  # the test may use another name
        ("a test covers jitter", (evidence_in("upload.py", 3),), False),
        # asked about without a finding
        ("a test covers: post a payload", (evidence_in("tests/test_upload.py", 2),), False),
        ("a test covers: retry send", (evidence_in("tests/test_upload.py", 2),), False),
        ("a test covers: send and retry, if a send fails", (evidence_in("tests/test_upload.py", 4),), True),
        ("a test covers: busy send and retry, that fails by jitter", (evidence_in("tests/test_upload.py", 4),), False),
        ("the changelog tells of it", (evidence_in("upload.py", 3),), False),
    ],
)
def test_unmet_criterion_suspicion_is_settled_by_the_line_that_meets_it(
    text: str, evidence: tuple[Any, ...], *, is_settled: bool
) -> None:
    code = [line for line in CODE if "print" not in line]
    diff = new_file("upload.py", *code) + new_file("tests/test_upload.py", *TESTS)
    moved = [{**entry, "line": entry["line"] - (entry["path"] == "upload.py")} for entry in evidence]
    met = criteria("met", evidence=moved if "test" in text else [{**evidence_in("upload.py", 3), "line": 2}])
    answer = accept_answer(criteria=met, settled=[{"id": "q1", "why": "It is there.", "evidence": moved}])
    assert is_accept_kept(answer, dossier_of(text, diff=diff)) is is_settled


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
    ("diff", "line", "side", "quote", "is_settled"),
    [
        (FOREIGN, 10, "head", "tried = again(3)", True),
        (FOREIGN, 9, "head", "retries = 3", False),  # one word may match by chance
        (FOREIGN, 2, "head", "RENDERED_LEDGER_b = paint_b(canvas)", False),
        (EDITED, 10, "head", "tried = again(3)", True),
        (EDITED, 2, "base", "tried = again(2)", True),
        (EDITED, 1, "head", "tried = again(1)", False),  # it did not change
    ],
)
def test_unrelated_file_suspicion_is_settled_by_a_related_changed_line(
    diff: str, line: int, side: str, quote: str, *, is_settled: bool
) -> None:
    met = criteria("met", evidence=[evidence_at("uploads/retry_a.py", 1, quote="RETRY_UPLOAD_a = upload(1)")])
    location = {**evidence_at("billing/invoice.py", line, quote=quote), "side": side}
    answers = [{"id": "q1", "why": "The issue needs it.", "evidence": [location]}]
    judged = dossier_of("uploads are tried again", diff=OTHERS + diff, pull_request=pull_request(title="Retry uploads"))
    assert is_accept_kept(accept_answer(criteria=met, settled=answers), judged) is is_settled


BRANCH = ("def send(data):", "    if closed:", "        pass", "    return post(data)", "", "post = again", "LIMIT = 3")


@pytest.mark.parametrize(("line", "is_settled"), [(6, True), (7, False)])
def test_neighbouring_lines_define_what_a_suspicion_is_about(line: int, *, is_settled: bool) -> None:
    judged = dossier_of(diff=new_file("upload.py", *BRANCH) + new_file("tests/test_upload.py", *TESTS))
    met = criteria("met", evidence=[evidence_at("upload.py", 4, quote=BRANCH[3])])
    answer = {"id": "q1", "why": "It is fine.", "evidence": [evidence_at("upload.py", line, quote=BRANCH[line - 1])]}
    assert is_accept_kept(accept_answer(criteria=met, settled=[answer]), judged) is is_settled


CODE_LINES = (
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
TEST_LINES = (
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
EDITED_TEST = (
    "diff --git a/tests/test_old.py b/tests/test_old.py\n--- a/tests/test_old.py\n+++ b/tests/test_old.py\n"
    "@@ -1,5 +1,5 @@\n def test_old():\n     sent = send(1)\n-    assert sent.ok\n-    assert sent.status == 200\n"
    "+    assert sent.status\n+    print(sent.ok)\n     assert sent.again\n"
    "diff --git a/sent.py b/sent.py\n--- a/sent.py\n+++ b/sent.py\n@@ -1,2 +1,1 @@\n-ok = sent.ok\n limit = 3\n"
)


@pytest.mark.parametrize(
    ("signal", "category", "location", "note", "settling", "others"),
    [
        ("test_without_assertion", "weak_test", "t:6", "`test_send` asserts nothing", "t:9 t:4", "t:1 t:7 t:8 t:13"),  # t:9: a helper by its name; t:4: of what it calls; t:13: of another test
        ("test_without_assertion", "weak_test", "o:2", "`test_old` sent nothing", "", "t:13"),
        ("test_expects_presence_only", "weak_test", "t:6", "`test_send` only asks if it is there", "t:13 t:14", "t:12"),
        ("test_expects_presence_only", "weak_test", "o:2", "`sent` is only asked to be there", "", "o:-4"),
        # removed lines: their replacement, or removed code
        ("assertion_removed", "weak_test", "o:-3", "this assertion was removed", "o:3 o:4", ""),
        ("assertion_loosened", "weak_test", "o:-3", "this assertion asks less", "o:3", "o:4"),  # o:4: no assertion
        ("assertion_removed", "weak_test", "o:-3", "this assertion was removed", "s:-1", "o:5 o:-4"),  # o:5: as it was
        ("test_deleted", "tests_pass_but_wrong", "o:-3", "the test `test_ok` is deleted", "o:4", "o:-4"),
        # unused names: the line that uses them
        ("function_uncalled", "half_finished", "c:3", "nothing calls the new `_spare`", "c:13", "c:1 c:4"),
        ("function_uncalled", "half_finished", "c:4", "nothing calls the new `_spare`", "", "c:3"),  # c:3: its definition
        ("import_unused", "half_finished", "c:1", "nothing in this file uses the new import `send`", "t:1", ""),
        ("import_unused", "half_finished", "t:1", "nothing in this file uses the new import `post`", "c:4", ""),
        ("import_unused", "half_finished", "c:3", "nothing in this file uses the new import `post`", "", "c:1"),
        # swallowed failures: the line that reports them
        ("failure_swallowed", "weak_test", "c:9", "post may fail and nobody sees it", "c:11", ""),
        ("failure_swallowed", "weak_test", "c:10", "post may fail and nobody sees it", "", "c:6"),
        # anything else: any related line but an import
        ("branch_empty", "half_finished", "c:10", "this branch of post does nothing", "c:8", "c:1"),
        ("snapshot_rewritten", "weak_test", None, "recorded again", "o:3", ""),
    ],
)  # fmt: skip
def test_each_signal_is_settled_by_its_own_kind_of_line(
    signal: str, category: str, location: str | None, note: str, settling: str, others: str
) -> None:
    diff = new_file("upload.py", *CODE_LINES) + new_file("tests/test_upload.py", *TEST_LINES) + EDITED_TEST
    paths = {"c": "upload.py", "t": "tests/test_upload.py", "o": "tests/test_old.py", "s": "sent.py"}

    def parse_location(text: str) -> dict[str, Any]:
        path, _, line = text.partition(":")
        return {"path": paths[path], "line": abs(int(line)), "side": Side.BASE if line.startswith("-") else Side.HEAD}

    fields = parse_location(location) if location else {"path": None, "line": None}
    finding = fact(signal=signal, category=category, note=note, fact=False, weight=0.3, step="", **fields)
    bundle = evidence_bundle(dossier(diff=diff, files=None), opinion(finding))

    def is_settled(text: str) -> bool:
        settled = SettledAnswer(id="q1", why="So.", evidence=(EvidencePointer(**parse_location(text)),))
        accept = ModelOpinion(
            decision=Leaning.ACCEPT, category=None, concern="Fine.", next_step=None, settled=(settled,), score=0.9, confidence=0.9
        )  # fmt: skip
        return not find_unanswered(accept, bundle)

    locations = [*settling.split(), *others.split()]
    assert [text for text in locations if is_settled(text)] == settling.split()


def test_unsettled_accept_is_corrected_once() -> None:
    model = model_of({**settle(), "settled": []}, settle(evidence_in("upload.py", 1)))
    assert judge(dossier_of(), evaluation_header(), judge_context(model, ALWAYS_ASK)).decision == "accept"
    assert "Your accept leaves questions open: q1." in model.prompts[1].turns[2]


UNSETTLED: dict[str, Any] = {**settle(), "settled": []}


@pytest.mark.parametrize(("second", "decision"), [(settle(evidence_in("upload.py", 1)), "accept"), (UNSETTLED, "abstain")])  # fmt: skip
def test_second_opinion_may_settle_a_suspicion(second: dict[str, Any], decision: str) -> None:
    stronger = replace(judge_context(model_of(UNSETTLED, UNSETTLED), ALWAYS_ASK), second_model=model_of(second, second))
    verdict = judge(dossier_of(), evaluation_header(), stronger)
    assert verdict.decision == decision
    assert "an accept that leaves suspicions open" in verdict.escalation_reason


BARE = evidence_at("upload.py", 2, quote="    retry = post(payload)")
BOTH_MET = criteria("met", "met", evidence=[BARE])


def judge_without_test(text: str, *answers: dict[str, Any]) -> tuple[Verdict, ScriptedModel]:
    """The verdict on a change without a test whose AC2 has this text."""
    model = model_of(*answers)
    asks = (Criterion(id="AC1", text="post is called again"), Criterion(id="AC2", text=text))
    code_alone = new_file("upload.py", *(line for line in CODE if "print" not in line))
    return judge_dossier(model, ALWAYS_ASK, diff=code_alone, files=None, criteria=asks), model


def test_criterion_that_asks_for_a_test_is_missing_without_one() -> None:
    answer = accept_answer(criteria=BOTH_MET, settled=[])
    verdict, model = judge_without_test("a test proves it", answer, answer)
    assert "AC2 asks for a test, and the change adds to none" in model.prompts[1].turns[2]
    assert (verdict.decision, verdict.signals["vetoed_by"]) == ("abstain", "tests")
    assert [criterion.status for criterion in verdict.criteria] == ["met", "missing"]
    reject = reject_answer(criteria=BOTH_MET, category="half_finished", evidence=[BARE], concern="`post` has no limit.")
    rejected, _ = judge_without_test("a test proves it", reject)
    assert (rejected.decision, rejected.criteria[1].note) == ("reject", "the change adds to no test")


@pytest.mark.parametrize("text", ["All existing tests pass", "the tests pass", "the test suite stays green"])
def test_criterion_that_tests_pass_asks_for_no_new_test(text: str) -> None:
    answer = accept_answer(criteria=BOTH_MET, settled=[{"id": "q1", "why": "CI says so.", "evidence": [BARE]}])
    assert judge_without_test(text, answer, answer)[0].signals.get("vetoed_by") != "tests"
