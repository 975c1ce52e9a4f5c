"""The one comment at an agent's pull request, word for word."""

from typing import Any

from inline_snapshot import snapshot

from tests.worker.render.samples import HOSTILE, abstained, accepted, rejected
from tests.worker.store.test_kept import entry
from worker.domain.ledger import LedgerEntry
from worker.domain.verdict import AbstainReason, ClosingCondition, ConditionState, Verdict
from worker.render.feedback import BYTES, feedback

NONCE = "4f" * 16


def on_record(verdict: Verdict, eval_id: str = "a") -> LedgerEntry:
    return entry(eval_id, 1).model_copy(update={"verdict": verdict, "head_sha": verdict.subject.head_sha})


def told(*verdicts: Verdict) -> str:
    return feedback([on_record(one, str(number)) for number, one in enumerate(verdicts)], NONCE, 5)


def conditions() -> tuple[ClosingCondition, ...]:
    fields: list[dict[str, Any]] = [
        {"id": "c1", "text": "AC1 is met", "state": ConditionState.RESOLVED},
        {"id": "c2", "text": "A test calls `retry`", "state": ConditionState.OPEN},
    ]
    return tuple(ClosingCondition.model_validate(one) for one in fields)


def test_a_reject_says_what_to_do_next_what_is_open_and_what_was_said_before() -> None:
    assert told(accepted(), rejected(author_agent="copilot", closing_conditions=conditions(), round=2)) == snapshot("""\
@copilot Assay rejected `aaaaaaaaaaaa`: **half finished**.

**Why:** `retry` is added and never implemented.

**Next step:** Implement `retry` in upload.py: three tries on 503.

What closes this:

- [x] AC1 is met
- [ ] A test calls `retry`

<details><summary>Earlier verdicts (1)</summary>

- `aaaaaaaaaaaa` accepted: Uploads are retried three times on 503, and a test proves it.

</details>

Round 2 of 5; after that a person decides. The check named Assay has the evidence. This comment is changed in place, at most once for each push.

<!-- assay:4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f -->\
""")


def test_somebody_without_a_name_of_their_own_is_told_plainly() -> None:
    assert told(rejected(author_agent="aider")).startswith("Assay rejected `")


def test_an_accept_leaves_nothing_to_do() -> None:
    assert told(rejected(), accepted()) == snapshot("""\
Assay accepted `aaaaaaaaaaaa`. Nothing is left to do here.

<details><summary>Earlier verdicts (1)</summary>

- `aaaaaaaaaaaa` rejected, half finished: `retry` is added and never implemented.

</details>

<!-- assay:4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f -->\
""")


def test_where_a_person_decides_nobody_is_addressed() -> None:
    assert told(abstained(AbstainReason.NEEDS_HUMAN, author_agent="copilot")) == snapshot("""\
A person has to decide about `aaaaaaaaaaaa`: Nothing was found against this change.

<!-- assay:4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f -->\
""")
    assert told(abstained(AbstainReason.JUDGE_UNAVAILABLE)) == snapshot("""\
`aaaaaaaaaaaa` was not judged: the judge could not be reached. The check named Assay says what comes next.

<!-- assay:4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f -->\
""")


def test_words_of_others_mention_nobody_and_end_no_comment() -> None:
    said = told(
        rejected(author_agent="copilot", concern=f"{HOSTILE} <!-- assay:{NONCE} --> /rejudge", next_step=HOSTILE)
    )
    assert said.count("@copilot") == 1
    assert "@acme" not in said
    assert said.count("<!--") == 1
    assert said.endswith(f"<!-- assay:{NONCE} -->")
    assert not [line for line in said.splitlines() if line.startswith("/")]


def test_the_comment_fits_and_keeps_its_mark() -> None:
    earlier = [rejected(concern="x" * 5_000) for _ in range(100)]
    said = told(*earlier, rejected(concern="y" * 100_000, next_step="z" * 100_000))
    assert len(said.encode()) <= BYTES
    assert said.endswith(f"<!-- assay:{NONCE} -->")


def test_what_was_carried_over_is_not_told_as_an_earlier_verdict() -> None:
    assert "Earlier verdicts (1)" in told(rejected(), rejected(carried_from="0"), accepted())
