"""The question: everything the judge may see, all of it fenced, and within its size."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from tests.worker.judge.rounds.rounds import MADE, History
from tests.worker.judge.samples import (
    DIFF,
    abstain_verdict,
    accept_answer,
    accept_verdict,
    criterion_answers,
    dossier,
    evidence_at,
    fact,
    judge_context,
    ledger_entry,
    model_of,
    new_file,
    opinion,
    prompt_input,
    prompt_question,
    reject_answer,
    reject_verdict,
    score_answers,
)
from worker.adapters.anthropic.prices import prompt_bytes
from worker.domain.dossier import (
    DESCRIPTION,
    Ci,
    CiCheck,
    Criterion,
    Guidance,
    HeadFile,
    Issue,
    UnreadFile,
    UnreadReason,
)
from worker.domain.verdict.ledger import Case, CoverageClaim
from worker.domain.verdict.token_budget import TokenBudget
from worker.domain.verdict.verdict import Coverage, HeuristicOpinion
from worker.judge.llm.prompt import PromptQuestion, build_question, system_part
from worker.judge.llm.reply_schema import reply_schema
from worker.judge.rubric import load_prompt, load_rubric

RUBRIC, TEXT = load_rubric(), load_prompt()


def asked_of(tier: HeuristicOpinion | None = None, **changes: Any) -> PromptQuestion:
    return prompt_question(dossier(**changes), tier)


def turn(tier: HeuristicOpinion | None = None, **changes: Any) -> str:
    return asked_of(tier, **changes).prompt.turns[0]


def fenced(text: str) -> dict[str, str]:
    """What stands inside the fences, by label."""
    mark = re.search(r"MARK is `([a-z]{10})`", text)
    assert mark
    texts = re.findall(rf"\[\[{mark[1]} begin: ([^\n]*)\]\]\n(.*?)\n\[\[{mark[1]} end\]\]", text, re.DOTALL)
    return dict(texts)


def unfenced(text: str) -> str:
    mark = re.search(r"MARK is `([a-z]{10})`", text)
    assert mark
    return re.sub(rf"\[\[{mark[1]} begin: .*?\n\[\[{mark[1]} end\]\]", "", text, flags=re.DOTALL)


def test_the_stable_part_holds_the_prompt_and_the_rubric_and_nothing_of_the_pull_request() -> None:
    first, other = asked_of().prompt, asked_of(diff=new_file("x.py", "y = 1"), files=None, criteria=()).prompt
    assert first.system == other.system == system_part(TEXT, RUBRIC)
    assert all(criterion.question in first.system and criterion.ten in first.system for criterion in RUBRIC.criteria)
    assert all(f"`{name}`: {meaning}" in first.system for name, meaning in RUBRIC.categories.items())
    assert (first.version, first.schema) == (TEXT.version, reply_schema())


def test_issue_and_criteria_are_shown() -> None:
    texts = fenced(turn())
    assert texts["issue 7"] == "Uploads fail on 503\n\nThe server is busy at times."
    assert texts["criteria"] == "AC1: an upload is retried on 503\nAC2: a test shows it"


@pytest.mark.parametrize(
    ("criteria", "shown", "told"),
    [
        ((Criterion(id=DESCRIPTION, text="Retry", inferred=True),), "description (inferred): Retry", "nothing else is asked for"),
        ((Criterion(id="AC1", text="Retry", inferred=True),), "AC1 (inferred): Retry", "taken from prose"),
        ((), None, "`criteria` is []"),
    ],
    ids=["a description alone", "inferred", "none"],
)  # fmt: skip
def test_what_is_asked_for_is_shown_with_where_it_comes_from(
    criteria: tuple[Criterion, ...], shown: str | None, told: str
) -> None:
    text = turn(criteria=criteria, issues=())
    assert fenced(text).get("criteria") == shown
    assert told in unfenced(text)
    assert "# The issue" not in text


def test_each_claim_stands_with_what_code_found() -> None:
    case = Case(
        summary="Retries.",
        ac_coverage=(
            CoverageClaim(criterion="AC1", addressed_by="upload.py:99", evidence="tests/test_upload.py::test_503"),
        ),
        work_arounds=("touched LIMIT",),
        uncertainties=("how often",),
    )
    assert fenced(turn(case=case))["case"].split("\n") == [
        "summary: Retries.",
        "claim: AC1 -> upload.py:99: contradicted (upload.py has 9 lines)",
        "claim: AC2: omitted (the case says nothing about this criterion)",
        "proof given for AC1: tests/test_upload.py::test_503",
        "work-around: touched LIMIT",
        "uncertain: how often",
    ]
    assert "The author made none." in turn(case=None)


def test_what_ci_says_is_shown() -> None:
    ci = Ci(
        checks=(
            CiCheck(name="test", conclusion="success", summary="12 passed"),
            CiCheck(name="lint", conclusion="neutral"),
        )
    )
    assert fenced(turn(ci=ci))["reports of the validators"] == "test: success. 12 passed\nlint: neutral."
    assert "State: missing. No report" in turn(ci=None)


def test_the_diff_carries_the_line_numbers_of_both_sides() -> None:
    shown = fenced(turn())['diff of "upload.py"'].split("\n")
    assert shown[:5] == [
        "@@",
        "1  def send(data):",
        "2 -    return post(data)",
        "2 +    for attempt in range(3):",
        "3 +        reply = post(data)",
    ]
    assert shown[-1] == "9  LIMIT = 10"


def test_a_changed_test_is_shown_in_full_and_before_the_code_that_it_tests() -> None:
    new = new_file("tests/test_new.py", "def test_new():", "    assert True")
    text = turn(diff=DIFF + new)
    texts = fenced(text)
    assert texts['diff of "tests/test_upload.py" in the whole file'].split("\n") == [
        "@@",
        "1  def test_send():",
        '2      assert send(b"x")',
        "3 +",
        "4 +",
        "5 +def test_503():",
        '6 +    assert send(b"busy").status == 200',
    ]
    assert texts['diff of "tests/test_new.py"'] == "@@\n1 +def test_new():\n2 +    assert True"
    assert text.index("# The changed tests") < text.index("# The change\n")


def test_suspicions_are_asked_as_questions_with_their_place() -> None:
    tier = opinion(fact(fact=False), fact(fact=False, path=None, line=None, note="", signal="no_tests"), confidence=0.5)
    assert fenced(turn(tier))["questions"].split("\n") == [
        (
            "- q1: Does this make it `half_finished` at upload.py:2 (head)? (stub body) the whole body is a stub "
            "[settled by another line about the same thing]"
        ),
        "- q2: Does this make it `half_finished`? (no tests) [settled by another line about the same thing]",
    ]


def test_rules_of_the_repository_and_a_contest_are_shown() -> None:
    text = turn(guidance=(Guidance(path="AGENTS.md", text="No sleeps."),), contest="It is intended.")
    assert fenced(text)['rules file "AGENTS.md"'] == "No sleeps."
    assert fenced(text)["reason"] == "It is intended."


def test_the_last_five_rounds_are_remembered_without_their_scores() -> None:
    verdicts = [reject_verdict(round=n, concern=f"concern {n}.", fingerprint=f"sha256:{n}") for n in range(1, 8)]
    texts = fenced(turn(ledger=[ledger_entry(verdict) for verdict in verdicts]))
    assert [label for label in texts if label.startswith("round")] == [f"round {n}" for n in range(3, 8)]
    assert texts["round 7"].split("\n") == [
        "change: 2 files, +9 -1",
        "decision: reject, weak_test",
        "concern: concern 7.",
        "evidence: tests/test_upload.py:6 asserts nothing new",
        "next step: Assert the attempts.",
        "open condition c1: Assert the attempts.",
    ]
    assert "0.137" not in turn(ledger=[ledger_entry(verdict) for verdict in verdicts])
    assert "secret reasoning" not in turn(ledger=[ledger_entry(verdict) for verdict in verdicts])


def test_an_accept_and_an_abstain_are_remembered_as_what_they_were() -> None:
    person = abstain_verdict(round=2, abstain_reason="needs_human", fingerprint="sha256:person")
    texts = fenced(turn(ledger=[ledger_entry(accept_verdict(round=1)), ledger_entry(person)]))
    assert "decision: accept" in texts["round 1"]
    assert "not judged: needs_human" in texts["round 2"]


def test_everything_of_others_stands_inside_a_fence() -> None:
    canary = "CANARY"
    case = Case(summary=canary, ac_coverage=(CoverageClaim(criterion=canary, addressed_by=canary, evidence=canary),))
    text = turn(
        opinion(fact(fact=False, path="CANARY.py", note=canary), confidence=0.5),
        issues=(Issue(number=7, title=canary, body=canary),),
        criteria=(Criterion(id=canary, text=canary),),
        case=case,
        ci=Ci(checks=(CiCheck(name=canary, conclusion="success", summary=canary),)),
        guidance=(Guidance(path="CANARY.md", text=canary),),
        contest=canary,
        ledger=[ledger_entry(reject_verdict(concern=canary), diff_summary=canary)],
        diff=new_file("CANARY/test_x.py", canary),
        files_unread=(UnreadFile(path="CANARY.json", reason=UnreadReason.TOO_LARGE),),
    )
    assert canary in text
    assert canary not in unfenced(text)


def test_the_fence_is_new_for_each_judging_and_the_rest_is_the_same() -> None:
    first, same, other = (prompt_question(dossier(), seed=seed).prompt.turns[0] for seed in ("e1", "e1", "e2"))
    assert first == same != other
    assert list(fenced(first).items()) == list(fenced(other).items())


def test_what_hides_and_what_is_secret_is_not_shown_as_it_is() -> None:
    token = "gh" + "p_" + "a1" * 18
    text = turn(diff=new_file("x\u202ey.py", f'KEY = "{token}"', "a = '\u200b'"), contest=f"see\u202e {token}")
    assert token not in text
    assert "\u202e" not in text
    assert "\u200b" not in text
    lines = fenced(text)['diff of "x\\u202ey.py"'].split("\n")
    assert lines[1:] == ['1 +KEY = "[redacted: github token]"', "2 +a = '\\u200b'"]


def test_what_is_too_much_is_shown_as_far_as_the_question_holds_it() -> None:
    big = [f"x{n} = '{'y' * 60}'" for n in range(3_000)]
    asked = asked_of(diff=new_file("a.py", *big) + new_file("b.py", *big) + new_file("c.md", "small"), files=None)
    texts = fenced(asked.prompt.turns[0])
    assert asked.coverage == Coverage(read=("c.md",), partly=("a.py",), unread=("b.py",))
    assert texts['diff of "a.py"'].endswith("\n[cut here: the rest of this file is not shown]")
    assert '"b.py": added, +3000 -0, not read' in texts["changed files"]
    assert "missing" not in texts["changed files"]


def test_a_file_that_finds_too_little_room_beside_another_says_how_much_of_it_is_left_out() -> None:
    body = [f"value_{n} = '{'y' * 60}'" for n in range(300)]
    asked = asked_of(diff=new_file("a.py", *body) + new_file("b.py", *body), files=None)
    assert asked.coverage == Coverage(read=("a.py",), partly=("b.py",))
    assert fenced(asked.prompt.turns[0])['diff of "b.py"'].endswith("2 of the 3 stretches of this file are not shown]")


def test_code_goes_before_data_where_there_is_no_room_for_both() -> None:
    big = [f"  {n}: {'y' * 60}" for n in range(1_600)]
    diff = new_file("a.lock", *big) + new_file("b.json", *big) + new_file("c.py", *big[:300])
    assert "c.py" in asked_of(diff=diff, files=None).coverage.read


def test_a_file_of_which_something_is_suspected_goes_first() -> None:
    big = [f"x{n} = '{'y' * 60}'" for n in range(2_000)]
    diff = new_file("a.py", *big) + new_file("b.py", *big) + new_file("z.py", *big[:100])
    suspected = opinion(fact(fact=False, path="b.py", line=1), confidence=0.5)
    assert asked_of(suspected, diff=diff, files=None).coverage.partly == ("b.py",)


def test_a_lock_file_that_follows_its_manifest_is_told_in_a_line_and_read() -> None:
    lock = new_file("uv.lock", *["x"] * 4_000)
    asked = asked_of(diff=new_file("pyproject.toml", "[project]") + lock, files=None)
    listed = fenced(asked.prompt.turns[0])["changed files"].split("\n")
    assert listed[0] == '"uv.lock": added, +4000 -0, summarised: written by a tool, it follows "pyproject.toml"'
    assert asked.coverage.is_complete
    assert size(asked) < 30_000


def test_long_chapters_are_shortened_until_the_change_finds_room() -> None:
    rules = tuple(Guidance(path=f"{n}/AGENTS.md", text="Be careful. " * 3_000) for n in range(3))
    asked = asked_of(guidance=rules, issues=(Issue(number=1, title="t", body="z" * 60_000),))
    assert asked.coverage.is_complete
    assert size(asked) <= TokenBudget().question_bytes


def test_a_renamed_file_that_finds_no_room_in_the_list_is_not_read() -> None:
    names = [f"old/{'n' * 80}{number}.py" for number in range(400)]
    diff = "".join(
        f"diff --git a/{name} b/new/{name}\nsimilarity index 100%\nrename from {name}\nrename to new/{name}\n"
        for name in names
    )
    asked = asked_of(diff=diff, files=None)
    assert asked.coverage.read
    assert asked.coverage.unread
    assert len(asked.coverage.read) + len(asked.coverage.unread) == 400
    assert "more files are not listed" in fenced(asked.prompt.turns[0])["changed files"]


def test_an_unread_file_is_listed_with_its_reason() -> None:
    unread = (
        UnreadFile(path="upload.py", reason=UnreadReason.TOO_LARGE),
        UnreadFile(path="huge.json", reason=UnreadReason.OVER_LIMIT),
    )
    listing = fenced(turn(files_unread=unread))["changed files"]
    assert '"upload.py": modified, +6 -1, shown (whole text not read: too large)' in listing
    assert '"huge.json": not read (over limit)' in listing


@pytest.mark.slow
def test_three_thousand_files_stay_within_the_size() -> None:
    many = "".join(new_file(f"src/module_{n}/name_{n}.py", f"x = {n}", "y = 1") for n in range(3_000))
    asked = asked_of(diff=many, files=None)
    assert size(asked) <= TokenBudget().question_bytes
    assert asked.coverage.unread
    assert len(asked.coverage.read) + len(asked.coverage.unread) + len(asked.coverage.partly) == 3_000


def test_an_issue_too_long_for_any_model_is_not_asked_about() -> None:
    criteria = tuple(Criterion(id=f"AC{n}", text="x" * 300) for n in range(1_000))
    assert build_question(prompt_input(dossier(criteria=criteria)), RUBRIC, TEXT, "e") is None


def size(asked: PromptQuestion) -> int:
    return prompt_bytes(asked.prompt)


SIZES = st.lists(st.integers(0, 4_000), min_size=1, max_size=6)


@settings(max_examples=settings().max_examples // 4, deadline=None)
@given(SIZES, st.sampled_from(["x = 1", "é" * 40, "\u202e" * 30, "a\r", "y" * 200]), st.integers(0, 60_000))
def test_no_change_is_larger_than_the_question_may_be(sizes: list[int], line: str, prose: int) -> None:
    assert_it_fits(sizes, line, prose)


@pytest.mark.slow
@settings(max_examples=5, deadline=None)
@given(SIZES, st.just("y" * 5_000), st.integers(0, 60_000))
def test_nor_is_one_of_a_hundred_megabytes(sizes: list[int], line: str, prose: int) -> None:
    assert_it_fits(sizes, line, prose)


def assert_it_fits(sizes: list[int], line: str, prose: int) -> None:
    diff = "".join(new_file(f"f{n}.py", *[line] * count) for n, count in enumerate(sizes))
    asked = asked_of(diff=diff, files=None, issues=(Issue(number=1, title="t", body="z" * prose),))
    assert size(asked) <= TokenBudget().question_bytes
    counted = [*asked.coverage.read, *asked.coverage.partly, *asked.coverage.unread]
    assert sorted(counted) == sorted(f"f{n}.py" for n in range(len(sizes)))


USUAL = "tests/test_upload.py src/upload.test.ts spec/upload_spec.rb pkg/upload_test.go src/test/java/UploadTest.java conftest.py"


@pytest.mark.parametrize(
    ("path", "whole"),
    [
        *((path, True) for path in USUAL.split()),
        *((path, False) for path in ("src/upload.py", "latest.py", "contest.py")),
    ],
)
def test_the_usual_names_of_tests_are_known(path: str, *, whole: bool) -> None:
    diff = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n"
    texts = fenced(turn(diff=diff, files=(HeadFile(path=path, text="b\n"),)))
    assert (f'diff of "{path}" in the whole file' in texts) is whole


def test_modes_renames_and_missing_newlines_are_told() -> None:
    moved = (
        "diff --git a/a.sh b/b.sh\nold mode 100644\nnew mode 100755\nsimilarity index 90%\nrename from a.sh\nrename to b.sh\n"
        "--- a/a.sh\n+++ b/b.sh\n@@ -1 +1 @@ main\n-x\n+y\n\\ No newline at end of file\n"
        "diff --git a/c.sh b/d.sh\nsimilarity index 100%\nrename from c.sh\nrename to d.sh\n"
        "diff --git a/logo.png b/logo.png\nnew file mode 100644\nindex 0000000..1111111\nBinary files /dev/null and b/logo.png differ\n"
    )
    texts = fenced(turn(diff=moved, files=None))
    assert texts['diff of "b.sh"'].split("\n") == [
        "@@ main",
        "1 -x",
        "1 +y  [no newline at the end of the file]",
    ]
    assert texts["changed files"].split("\n") == [
        '"d.sh": renamed, was "c.sh", +0 -0, nothing else to show',
        '"logo.png": added, +0 -0, not read: its content is not text',
        '"b.sh": renamed, was "a.sh", mode 100644 -> 100755, +1 -1, shown',
    ]


# --- what is told of earlier rounds ---------------------------------------------------------------


MET = criterion_answers("met", "met", evidence=[evidence_at("upload.py", 3)])
FIRST = reject_answer(
    criteria=MET, evidence=[evidence_at("upload.py", 3)], scores=score_answers(2), next_step="Retry it on 503."
)


RESOLVED = accept_answer(criteria=MET, conditions=[{"id": "c1", "state": "resolved"}])


def told(history: History, *answers: dict[str, Any]) -> list[str]:
    """The last turn of every request."""
    model = model_of(*(history.quoting(answer) for answer in answers or (RESOLVED,)))
    history.judged(judge_context(model, threshold=2.0))
    return [prompt.turns[-1] for prompt in model.prompts]


def part(request: str, heading: str) -> str:
    """The text under one heading, its fences' words taken out."""
    mark = request.partition("MARK is `")[2].partition("`")[0]
    return request.partition(f"# {heading}\n\n")[2].partition("\n\n# ")[0].replace(mark, "MARK")


def rejected_once() -> History:
    history = History()
    history.replaces("upload.py", 3)
    history.judged(judge_context(model_of(history.quoting(FIRST)), threshold=2.0))
    return history


def test_the_first_round_is_told_nothing_of_others() -> None:
    history = History()
    history.replaces("upload.py", 3)
    (request,) = told(history, FIRST)
    for heading in ("Closing conditions", "What is new", "What was said before"):
        assert f"# {heading}" not in request


def test_open_conditions_are_numbered_and_new_lines_are_listed() -> None:
    history = rejected_once()
    history.replaces("upload.py", 5)
    history.replaces("upload.py", 6)
    (request,) = told(history)
    assert part(request, "Closing conditions") == snapshot("""\
Earlier rounds asked for these, and they are still open. Answer for each id in `conditions`. Their words are frozen: hold the change against them, and against nothing more.

[[MARK begin: open conditions]]
c1: Retry it on 503.
[[MARK end]]\
""")
    assert part(request, "What is new") == snapshot("""\
In this round a reject needs a closing condition that is still open, or a place on a line that changed since the change was judged the last time. What else it shows was judged then, and can't be objected to any more.

[[MARK begin: lines changed since]]
"upload.py" (base): 5-6
"upload.py" (head): 5-6
[[MARK end]]\
""")
    assert part(request, "What was said before") == snapshot("""\
If you reject for one of these categories at the same place again, the earlier step did not get through: teach the principle behind it in your concern, and name a step that is more concrete than those before.

[[MARK begin: earlier rejects]]
weak_test at "upload.py": rejected once; asked for: Retry it on 503.
[[MARK end]]\
""")


def test_a_head_without_a_new_line_is_said_to_have_none() -> None:
    history = History()
    history.replaces("retry.py", 1)
    history.replaces("upload.py", 3)
    history.judged(judge_context(model_of(history.quoting(FIRST)), threshold=2.0))
    history.push("retry.py", lambda lines: lines.__setitem__(0, MADE["retry.py"][0]))
    (request,) = told(history)
    assert part(request, "What is new").endswith("No line changed since.")


def test_what_was_met_is_not_asked_about_again() -> None:
    history = rejected_once()
    history.replaces("upload.py", 3)
    told(history)
    history.replaces("upload.py", 3)
    (request,) = told(history, accept_answer(criteria=MET))
    assert "# Closing conditions" not in request


def test_a_reject_that_can_not_stand_is_told_what_may() -> None:
    history = rejected_once()
    history.replaces("upload.py", 5)
    old = reject_answer(criteria=MET, evidence=[evidence_at("upload.py", 3)], scores=score_answers(2), category="scope_creep",
                 conditions=[{"id": "c1", "state": "open"}])  # fmt: skip
    *_, correction = told(history, old, old)
    assert correction == snapshot("""\
Your answer can't be used:
1. What you object to did not change since it was judged, so it can't carry a reject in this round: point at lines listed under What is new, or where a condition that is still open (c1) was raised. If nothing there has to change, accept; if you can't, cannot_tell.
Judge again and answer with one whole JSON object in the schema. Correct what is named here; keep what was right.\
""")


def test_a_step_that_was_said_before_is_asked_for_in_other_words() -> None:
    history = rejected_once()
    history.replaces("upload.py", 3)
    again = {**FIRST, "conditions": [{"id": "c1", "state": "open"}]}
    *_, correction = told(history, again, again)
    assert correction == snapshot("""\
Your answer can't be used:
1. Your next_step was asked for in an earlier round and did not get through: teach the principle in your concern, and name a more concrete step: where, and what exactly has to stand there.
Judge again and answer with one whole JSON object in the schema. Correct what is named here; keep what was right.\
""")
