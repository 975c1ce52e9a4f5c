"""Same content, same verdict: what is carried over, and what never is."""

from decimal import Decimal

import pytest

from tests.worker.judge.courtroom import bench, docket
from tests.worker.judge.making import (
    DIFF,
    TEXTS,
    accept,
    cannot_tell,
    criteria,
    dossier,
    entry,
    model_of,
    new_file,
    place,
    reject,
)
from worker.domain.dossier.dossier import Dossier, HeadFile
from worker.domain.ids import EvalId, Fingerprint
from worker.domain.verdict.verdict import (
    Abstain,
    Accept,
    ClosingCondition,
    ConditionState,
    CriterionStatus,
    EvidencePointer,
    Reject,
    Tokens,
)
from worker.judge.checks.evidence import Places
from worker.judge.judge import judge
from worker.judge.rounds.carry_over import carry_over_verdict

THEN = docket(eval_id=EvalId("0192-then"))
NOW = docket(eval_id=EvalId("0193-now"))


def judged(answer: dict[str, object]) -> Accept | Reject | Abstain:
    return judge(dossier(), THEN, bench(model_of(answer)))


def remembering(*verdicts: Accept | Reject | Abstain, **changes: object) -> Dossier:
    return dossier(ledger=[entry(verdict) for verdict in verdicts], **changes)


@pytest.mark.parametrize("answer", [accept(), reject()], ids=["accept", "reject"])
def test_an_accept_and_a_reject_come_back_with_their_words_and_at_no_cost(answer: dict[str, object]) -> None:
    then = judged(answer)
    now = carry_over_verdict(remembering(then), NOW, bench())
    assert now is not None
    assert (now.eval_id, now.carried_from) == ("0193-now", "0192-then")
    assert (now.judge_cost_usd, now.tokens, now.judge_latency_ms) == (Decimal(0), Tokens(), 0)
    assert (now.decision, now.concern, now.evidence, now.criteria) == (
        then.decision,
        then.concern,
        then.evidence,
        then.criteria,
    )


def test_a_quote_of_a_line_that_held_a_secret_is_carried_as_it_was_sent() -> None:
    secret = "ghp_" + "4Lw8sYd3Hc6Mq7Rk2Zp9XvTn4Lw8sYd3Hc6M"
    line = f'    reply = post(data, "{secret}", retry=True)'
    changes = {
        "diff": DIFF.replace("        reply = post(data)", f"    {line}"),
        "files": [
            HeadFile(path=path, text=text.replace("        reply = post(data)", f"    {line}"))
            for path, text in TEXTS.items()
        ],
    }
    quoted = place("upload.py", 3, quote='reply = post(data, "[redacted: github token]", retry=True)')
    then = judge(dossier(**changes), THEN, bench(model_of(accept(criteria=criteria("met", "met", at=[quoted])))))
    assert isinstance(then, Accept)
    assert then.evidence[0].quote == '        reply = post(data, "[redacted: github token]", retry=True)'
    now = carry_over_verdict(remembering(then, **changes), NOW, bench())
    assert now is not None
    assert now.evidence == then.evidence
    gone = {**changes, "diff": DIFF, "files": [HeadFile(path=path, text=text) for path, text in TEXTS.items()]}
    assert carry_over_verdict(remembering(then, **gone), NOW, bench()) is None


@pytest.mark.parametrize(
    ("line", "quote", "is_it"),
    [
        ("a = b1", "a = [redacted: key]", True),
        ("a = ", "a = [redacted: key]", False),
        ("c = b1", "a = [redacted: key]", False),
        ("a = b1;", "a = [redacted: key]", True),
        ("a = b1", "a = [redacted: key];", False),
        ("u = x:y@z", "u = [redacted: key]:[redacted: password]@z", True),
        ("u = x@z", "u = [redacted: key]:[redacted: password]@z", False),
        ("u = x:@z", "u = [redacted: key]:[redacted: password]@z", False),
        ("MIIEowIBAAKCAQEA", "[redacted: private key]", True),
        ("return a or b", "[redacted: private key]", False),
        ("a = b1", "a = b2", False),
    ],
)
def test_a_redacted_quote_stands_where_its_line_differs_in_the_secrets_alone(
    line: str, quote: str, *, is_it: bool
) -> None:
    diff = new_file("a.py", line)
    pointer = Places(dossier(diff=diff, files=None)).relocate(EvidencePointer(path="a.py", line=1, quote=quote))
    assert (pointer is not None) is is_it


def test_what_was_carried_names_the_verdict_that_was_judged() -> None:
    once = carry_over_verdict(remembering(judged(accept())), NOW, bench())
    assert once is not None
    twice = carry_over_verdict(remembering(judged(accept()), once), docket(eval_id=EvalId("0194")), bench())
    assert twice is not None
    assert twice.carried_from == "0192-then"


def test_an_abstain_is_never_carried_and_hides_no_older_verdict() -> None:
    unjudged = judged(cannot_tell())
    assert carry_over_verdict(remembering(unjudged), NOW, bench()) is None
    verdict = carry_over_verdict(remembering(judged(accept()), unjudged), NOW, bench())
    assert verdict is not None
    assert verdict.decision == "accept"


def test_another_content_is_not_carried() -> None:
    other = docket(fingerprint=Fingerprint("sha256:other"))
    assert carry_over_verdict(remembering(judged(accept())), other, bench()) is None


def test_an_unknown_price_stays_unknown() -> None:
    verdict = judged(accept()).model_copy(update={"judge_cost_usd": None})
    carried = carry_over_verdict(remembering(verdict), NOW, bench())
    assert carried is not None
    assert carried.judge_cost_usd is None


SHIFTED = DIFF.replace("@@ -1,4 +1,9 @@", "@@ -2,4 +2,9 @@")


def test_pointers_follow_their_lines() -> None:
    then = judged(reject())
    files = [
        HeadFile(path=path, text=f"# new\n{text}" if path == "upload.py" else text) for path, text in TEXTS.items()
    ]
    verdict = carry_over_verdict(remembering(then, diff=SHIFTED, files=files), NOW, bench())
    assert verdict is not None
    lines = [(pointer.path, pointer.line) for pointer in then.evidence]
    assert [(pointer.path, pointer.line) for pointer in verdict.evidence] == [
        (path, line + 1 if path == "upload.py" and line else line) for path, line in lines
    ]


@pytest.mark.parametrize("where", ["evidence", "criteria"])
def test_a_line_that_stands_nowhere_is_judged_again(where: str) -> None:
    then = judged(accept())
    lost = then.evidence[0].model_copy(update={"quote": "not there any more"})
    criteria = [
        pointer.model_copy(update={"evidence": (lost,), "status": CriterionStatus.MET}) for pointer in then.criteria
    ]
    changed = {"evidence": (lost,)} if where == "evidence" else {"criteria": tuple(criteria)}
    assert carry_over_verdict(remembering(then.model_copy(update=changed)), NOW, bench()) is None


def test_a_diff_that_can_not_be_read_is_judged_again() -> None:
    assert (
        carry_over_verdict(remembering(judged(accept()), diff="diff --git a/x b/x\n@@ -1 +1 @@\n"), NOW, bench())
        is None
    )


def test_what_comes_back_brings_all_conditions_with_it() -> None:
    then = judged(reject())
    later = then.model_copy(
        update={
            "eval_id": EvalId("0193-later"),
            "fingerprint": Fingerprint("sha256:later"),
            "closing_conditions": (
                *(
                    condition.model_copy(update={"state": ConditionState.RESOLVED})
                    for condition in then.closing_conditions
                ),
                ClosingCondition(id="c3", text="Log it."),
            ),
        }
    )
    now = carry_over_verdict(remembering(then, later), NOW, bench())
    assert now is not None
    assert [(condition.id, condition.state) for condition in now.closing_conditions] == [
        ("c1", "open"),
        ("c2", "open"),
        ("c3", "open"),
    ]


def test_an_accept_that_comes_back_leaves_no_condition_open() -> None:
    other = judged(reject()).model_copy(update={"fingerprint": Fingerprint("sha256:other")})
    now = carry_over_verdict(remembering(judged(accept()), other), NOW, bench())
    assert now is not None
    assert [(condition.id, condition.state) for condition in now.closing_conditions] == [
        ("c1", "resolved"),
        ("c2", "resolved"),
    ]
