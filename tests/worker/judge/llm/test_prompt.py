"""The prompt: its sections, fences and size."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from tests.worker.judge.rounds import INITIAL_TREE, History
from tests.worker.judge.samples import (
    DIFF,
    abstain_verdict,
    accept_answer,
    accept_verdict,
    criteria,
    dossier,
    evidence_at,
    evidence_bundle,
    fact,
    judge_context,
    ledger_entry,
    model_of,
    new_file,
    opinion,
    prompt_question,
    reject_answer,
    reject_verdict,
    scores,
)
from worker.domain.dossier import DESCRIPTION, Ci, CiCheck, Criterion, Guidance, Issue, UnreadFile, UnreadReason
from worker.domain.verdict.budget import TokenBudget
from worker.domain.verdict.ledger import Case, CoverageClaim
from worker.domain.verdict.verdict import Coverage, HeuristicOpinion
from worker.judge.convergence import PreviousRounds
from worker.judge.llm.prompt import PromptQuestion, build_question, system_part
from worker.judge.llm.reply import reply_schema
from worker.judge.rubric import load_prompt, load_rubric

RUBRIC, TEXT = load_rubric(), load_prompt()


def question_of(tier: HeuristicOpinion | None = None, **changes: Any) -> PromptQuestion:
    return prompt_question(dossier(**changes), tier)


def first_turn(tier: HeuristicOpinion | None = None, **changes: Any) -> str:
    return question_of(tier, **changes).prompt.turns[0]


def fenced_texts(text: str) -> dict[str, str]:
    """The fenced texts by label."""
    mark = re.search(r"MARK is `([a-z]{10})`", text)
    assert mark
    texts = re.findall(rf"\[\[{mark[1]} begin: ([^\n]*)\]\]\n(.*?)\n\[\[{mark[1]} end\]\]", text, re.DOTALL)
    return dict(texts)


def unfenced_text(text: str) -> str:
    mark = re.search(r"MARK is `([a-z]{10})`", text)
    assert mark
    return re.sub(rf"\[\[{mark[1]} begin: .*?\n\[\[{mark[1]} end\]\]", "", text, flags=re.DOTALL)


def test_system_part_is_independent_of_the_pull_request() -> None:
    first, other = question_of().prompt, question_of(diff=new_file("x.py", "y = 1"), files=None, criteria=()).prompt
    assert first.system == other.system == system_part(TEXT, RUBRIC)
    assert all(criterion.question in first.system and criterion.ten in first.system for criterion in RUBRIC.criteria)
    assert all(f"`{name}`: {meaning}" in first.system for name, meaning in RUBRIC.categories.items())
    assert (first.version, first.schema) == (TEXT.version, reply_schema())


def test_issue_and_criteria_are_shown() -> None:
    texts = fenced_texts(first_turn())
    assert texts["issue 7"] == "Uploads fail on 503\n\nThe server is busy at times."
    assert texts["criteria"] == "AC1: an upload is retried on 503\nAC2: a test shows it"


@pytest.mark.parametrize(
    ("criteria", "shown", "instruction"),
    [
        ((Criterion(id=DESCRIPTION, text="Retry", inferred=True),), "description (inferred): Retry", "nothing else is asked for"),
        ((Criterion(id="AC1", text="Retry", inferred=True),), "AC1 (inferred): Retry", "taken from prose"),
        ((), None, "`criteria` is []"),
    ],
    ids=["a description alone", "inferred", "none"],
)  # fmt: skip
def test_criteria_are_shown_with_their_origin(
    criteria: tuple[Criterion, ...], shown: str | None, instruction: str
) -> None:
    text = first_turn(criteria=criteria, issues=())
    assert fenced_texts(text).get("criteria") == shown
    assert instruction in unfenced_text(text)
    assert "# The issue" not in text


def test_claims_are_shown_with_their_status() -> None:
    case = Case(
        summary="Retries.",
        ac_coverage=(
            CoverageClaim(criterion="AC1", addressed_by="upload.py:99", evidence="tests/test_upload.py::test_503"),
        ),
        work_arounds=("touched LIMIT",),
        uncertainties=("how often",),
    )
    assert fenced_texts(first_turn(case=case))["case"].split("\n") == [
        "summary: Retries.",
        "claim: AC1 -> upload.py:99: contradicted (upload.py has 9 lines)",
        "claim: AC2: omitted (the case says nothing about this criterion)",
        "proof given for AC1: tests/test_upload.py::test_503",
        "work-around: touched LIMIT",
        "uncertain: how often",
    ]
    assert "The author made none." in first_turn(case=None)


def test_ci_reports_are_shown() -> None:
    ci = Ci(
        checks=(
            CiCheck(name="test", conclusion="success", summary="12 passed"),
            CiCheck(name="lint", conclusion="neutral"),
        )
    )
    assert fenced_texts(first_turn(ci=ci))["reports of the validators"] == "test: success. 12 passed\nlint: neutral."
    assert "State: missing. No report" in first_turn(ci=None)


def test_diff_has_line_numbers_of_both_sides() -> None:
    shown = fenced_texts(first_turn())['diff of "upload.py"'].split("\n")
    assert shown[:5] == [
        "@@",
        "1  def send(data):",
        "2 -    return post(data)",
        "2 +    for attempt in range(3):",
        "3 +        reply = post(data)",
    ]
    assert shown[-1] == "9  LIMIT = 10"


def test_changed_test_is_shown_whole_before_the_code() -> None:
    new = new_file("tests/test_new.py", "def test_new():", "    assert True")
    text = first_turn(diff=DIFF + new)
    texts = fenced_texts(text)
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


def test_suspicions_are_asked_as_questions() -> None:
    tier = opinion(fact(fact=False), fact(fact=False, path=None, line=None, note="", signal="no_tests"), confidence=0.5)
    assert fenced_texts(first_turn(tier))["questions"].split("\n") == [
        (
            "- q1: Does this make it `half_finished` at upload.py:2 (head)? (stub body) the whole body is a stub "
            "[settled by another line about the same thing]"
        ),
        "- q2: Does this make it `half_finished`? (no tests) [settled by another line about the same thing]",
    ]


def test_rules_file_and_contest_are_shown() -> None:
    text = first_turn(guidance=(Guidance(path="AGENTS.md", text="No sleeps."),), contest="It is intended.")
    assert fenced_texts(text)['rules file "AGENTS.md"'] == "No sleeps."
    assert fenced_texts(text)["reason"] == "It is intended."


def test_last_five_rounds_are_shown_without_scores() -> None:
    verdicts = [reject_verdict(round=n, concern=f"concern {n}.", fingerprint=f"sha256:{n}") for n in range(1, 8)]
    texts = fenced_texts(first_turn(ledger=[ledger_entry(verdict) for verdict in verdicts]))
    assert [label for label in texts if label.startswith("round")] == [f"round {n}" for n in range(3, 8)]
    assert texts["round 7"].split("\n") == [
        "change: 2 files, +9 -1",
        "decision: reject, weak_test",
        "concern: concern 7.",
        "evidence: tests/test_upload.py:6 asserts nothing new",
        "next step: Assert the attempts.",
        "open condition c1: Assert the attempts.",
    ]
    assert "0.137" not in first_turn(ledger=[ledger_entry(verdict) for verdict in verdicts])
    assert "secret reasoning" not in first_turn(ledger=[ledger_entry(verdict) for verdict in verdicts])


def test_earlier_accept_and_abstain_are_shown() -> None:
    person = abstain_verdict(round=2, abstain_reason="needs_human", fingerprint="sha256:person")
    texts = fenced_texts(first_turn(ledger=[ledger_entry(accept_verdict(round=1)), ledger_entry(person)]))
    assert "decision: accept" in texts["round 1"]
    assert "not judged: needs_human" in texts["round 2"]


def test_all_foreign_text_is_fenced() -> None:
    canary = "CANARY"
    case = Case(summary=canary, ac_coverage=(CoverageClaim(criterion=canary, addressed_by=canary, evidence=canary),))
    text = first_turn(
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
    assert canary not in unfenced_text(text)


def test_fence_word_changes_with_the_seed() -> None:
    first, same, other = (prompt_question(dossier(), seed=seed).prompt.turns[0] for seed in ("e1", "e1", "e2"))
    assert first == same != other
    assert list(fenced_texts(first).items()) == list(fenced_texts(other).items())


def test_large_change_is_shown_up_to_the_budget() -> None:
    big = [f"x{n} = '{'y' * 60}'" for n in range(3_000)]
    question = question_of(diff=new_file("a.py", *big) + new_file("b.py", *big) + new_file("c.md", "small"), files=None)
    texts = fenced_texts(question.prompt.turns[0])
    assert question.coverage == Coverage(read=("c.md",), partly=("a.py",), unread=("b.py",))
    assert texts['diff of "a.py"'].endswith("\n[cut here: the rest of this file is not shown]")
    assert '"b.py": added, +3000 -0, not read' in texts["changed files"]
    assert "missing" not in texts["changed files"]


def test_cut_file_says_how_much_is_not_shown() -> None:
    body = [f"value_{n} = '{'y' * 60}'" for n in range(300)]
    question = question_of(diff=new_file("a.py", *body) + new_file("b.py", *body), files=None)
    assert question.coverage == Coverage(read=("a.py",), partly=("b.py",))
    assert fenced_texts(question.prompt.turns[0])['diff of "b.py"'].endswith(
        "2 of the 3 stretches of this file are not shown]"
    )


def test_code_is_shown_before_data() -> None:
    big = [f"  {n}: {'y' * 60}" for n in range(1_600)]
    diff = new_file("a.lock", *big) + new_file("b.json", *big) + new_file("c.py", *big[:300])
    assert "c.py" in question_of(diff=diff, files=None).coverage.read


def test_suspected_file_is_shown_first() -> None:
    big = [f"x{n} = '{'y' * 60}'" for n in range(2_000)]
    diff = new_file("a.py", *big) + new_file("b.py", *big) + new_file("z.py", *big[:100])
    suspected = opinion(fact(fact=False, path="b.py", line=1), confidence=0.5)
    assert question_of(suspected, diff=diff, files=None).coverage.partly == ("b.py",)


def test_lock_file_beside_manifest_is_summarized() -> None:
    lock = new_file("uv.lock", *["x"] * 4_000)
    question = question_of(diff=new_file("pyproject.toml", "[project]") + lock, files=None)
    listed = fenced_texts(question.prompt.turns[0])["changed files"].split("\n")
    assert listed[0] == '"uv.lock": added, +4000 -0, summarised: written by a tool, it follows "pyproject.toml"'
    assert question.coverage.is_complete
    assert question_bytes(question) < 30_000


def test_long_sections_are_shortened_to_fit_the_change() -> None:
    rules = tuple(Guidance(path=f"{n}/AGENTS.md", text="Be careful. " * 3_000) for n in range(3))
    question = question_of(guidance=rules, issues=(Issue(number=1, title="t", body="z" * 60_000),))
    assert question.coverage.is_complete
    assert question_bytes(question) <= TokenBudget().question_bytes


def test_renamed_file_without_room_in_the_list_is_unread() -> None:
    names = [f"old/{'n' * 80}{number}.py" for number in range(400)]
    diff = "".join(
        f"diff --git a/{name} b/new/{name}\nsimilarity index 100%\nrename from {name}\nrename to new/{name}\n"
        for name in names
    )
    question = question_of(diff=diff, files=None)
    assert question.coverage.read
    assert question.coverage.unread
    assert len(question.coverage.read) + len(question.coverage.unread) == 400
    assert "more files are not listed" in fenced_texts(question.prompt.turns[0])["changed files"]


def test_unread_file_is_listed_with_its_reason() -> None:
    unread = (
        UnreadFile(path="upload.py", reason=UnreadReason.TOO_LARGE),
        UnreadFile(path="huge.json", reason=UnreadReason.OVER_LIMIT),
    )
    listing = fenced_texts(first_turn(files_unread=unread))["changed files"]
    assert '"upload.py": modified, +6 -1, shown (whole text not read: too large)' in listing
    assert '"huge.json": not read (over limit)' in listing


@pytest.mark.slow
def test_three_thousand_files_fit_the_budget() -> None:
    many = "".join(new_file(f"src/module_{n}/name_{n}.py", f"x = {n}", "y = 1") for n in range(3_000))
    question = question_of(diff=many, files=None)
    assert question_bytes(question) <= TokenBudget().question_bytes
    assert question.coverage.unread
    assert len(question.coverage.read) + len(question.coverage.unread) + len(question.coverage.partly) == 3_000


def test_no_question_is_built_for_too_many_criteria() -> None:
    criteria = tuple(Criterion(id=f"AC{n}", text="x" * 300) for n in range(1_000))
    assert build_question(evidence_bundle(dossier(criteria=criteria)), PreviousRounds(), RUBRIC, TEXT, "e") is None


def question_bytes(question: PromptQuestion) -> int:
    return question.prompt.size


SIZES = st.lists(st.integers(0, 4_000), min_size=1, max_size=6)


@settings(max_examples=settings().max_examples // 4, deadline=None)
@given(SIZES, st.sampled_from(["x = 1", "é" * 40, "\u202e" * 30, "a\r", "y" * 200]), st.integers(0, 60_000))
def test_any_change_fits_the_budget(sizes: list[int], line: str, prose: int) -> None:
    assert_fits_budget(sizes, line, prose)


@pytest.mark.slow
@settings(max_examples=5, deadline=None)
@given(SIZES, st.just("y" * 5_000), st.integers(0, 60_000))
def test_hundred_megabytes_fit_the_budget(sizes: list[int], line: str, prose: int) -> None:
    assert_fits_budget(sizes, line, prose)


def assert_fits_budget(sizes: list[int], line: str, prose: int) -> None:
    diff = "".join(new_file(f"f{n}.py", *[line] * count) for n, count in enumerate(sizes))
    question = question_of(diff=diff, files=None, issues=(Issue(number=1, title="t", body="z" * prose),))
    assert question_bytes(question) <= TokenBudget().question_bytes
    counted = [*question.coverage.read, *question.coverage.partly, *question.coverage.unread]
    assert sorted(counted) == sorted(f"f{n}.py" for n in range(len(sizes)))


def test_modes_renames_and_missing_newlines_are_shown() -> None:
    moved = (
        "diff --git a/a.sh b/b.sh\nold mode 100644\nnew mode 100755\nsimilarity index 90%\nrename from a.sh\nrename to b.sh\n"
        "--- a/a.sh\n+++ b/b.sh\n@@ -1 +1 @@ main\n-x\n+y\n\\ No newline at end of file\n"
        "diff --git a/c.sh b/d.sh\nsimilarity index 100%\nrename from c.sh\nrename to d.sh\n"
        "diff --git a/logo.png b/logo.png\nnew file mode 100644\nindex 0000000..1111111\nBinary files /dev/null and b/logo.png differ\n"
    )
    texts = fenced_texts(first_turn(diff=moved, files=None))
    assert texts['diff of "b.sh"'].split("\n") == ["@@ main", "1 -x", "1 +y  [no newline at the end of the file]"]
    assert texts["changed files"].split("\n") == [
        '"d.sh": renamed, was "c.sh", +0 -0, nothing else to show',
        '"logo.png": added, +0 -0, not read: its content is not text',
        '"b.sh": renamed, was "a.sh", mode 100644 -> 100755, +1 -1, shown',
    ]


# --- earlier rounds -------------------------------------------------------------------------------


MET = criteria("met", "met", evidence=[evidence_at("upload.py", 3)])
FIRST = reject_answer(
    criteria=MET, evidence=[evidence_at("upload.py", 3)], scores=scores(2), next_step="Retry it on 503."
)


RESOLVED = accept_answer(criteria=MET, conditions=[{"id": "c1", "state": "resolved"}])


def last_turns(history: History, *answers: dict[str, Any]) -> list[str]:
    """The last turn of each prompt."""
    model = model_of(*(history.quote_lines(answer) for answer in answers or (RESOLVED,)))
    history.judge(judge_context(model, threshold=2.0))
    return [prompt.turns[-1] for prompt in model.prompts]


def section_of(request: str, heading: str) -> str:
    """The section under a heading, with MARK for the fence word."""
    mark = request.partition("MARK is `")[2].partition("`")[0]
    return request.partition(f"# {heading}\n\n")[2].partition("\n\n# ")[0].replace(mark, "MARK")


def history_with_reject() -> History:
    history = History()
    history.replace_line("upload.py", 3)
    history.judge(judge_context(model_of(history.quote_lines(FIRST)), threshold=2.0))
    return history


def test_first_round_prompt_has_no_earlier_rounds() -> None:
    history = History()
    history.replace_line("upload.py", 3)
    (request,) = last_turns(history, FIRST)
    for heading in ("Closing conditions", "What is new", "What was said before"):
        assert f"# {heading}" not in request


def test_open_conditions_and_new_lines_are_listed() -> None:
    history = history_with_reject()
    history.replace_line("upload.py", 5)
    history.replace_line("upload.py", 6)
    (request,) = last_turns(history)
    assert section_of(request, "Closing conditions") == snapshot("""\
Earlier rounds asked for these, and they are still open. Answer for each id in `conditions`. Their words are frozen: hold the change against them, and against nothing more.

[[MARK begin: open conditions]]
c1: Retry it on 503.
[[MARK end]]\
""")
    assert section_of(request, "What is new") == snapshot("""\
In this round a reject needs a closing condition that is still open, or a place on a line that changed since the change was judged the last time. What else it shows was judged then, and can't be objected to any more.

[[MARK begin: lines changed since]]
"upload.py" (base): 5-6
"upload.py" (head): 5-6
[[MARK end]]\
""")
    assert section_of(request, "What was said before") == snapshot("""\
If you reject for one of these categories at the same place again, the earlier step did not get through: teach the principle behind it in your concern, and name a step that is more concrete than those before.

[[MARK begin: earlier rejects]]
weak_test at "upload.py": rejected once; asked for: Retry it on 503.
[[MARK end]]\
""")


def test_head_without_new_lines_is_stated() -> None:
    history = History()
    history.replace_line("retry.py", 1)
    history.replace_line("upload.py", 3)
    history.judge(judge_context(model_of(history.quote_lines(FIRST)), threshold=2.0))
    history.push("retry.py", lambda lines: lines.__setitem__(0, INITIAL_TREE["retry.py"][0]))
    (request,) = last_turns(history)
    assert section_of(request, "What is new").endswith("No line changed since.")


def test_resolved_conditions_are_not_listed() -> None:
    history = history_with_reject()
    history.replace_line("upload.py", 3)
    last_turns(history)
    history.replace_line("upload.py", 3)
    (request,) = last_turns(history, accept_answer(criteria=MET))
    assert "# Closing conditions" not in request


def test_correction_says_what_a_reject_may_rest_on() -> None:
    history = history_with_reject()
    history.replace_line("upload.py", 5)
    old = reject_answer(criteria=MET, evidence=[evidence_at("upload.py", 3)], scores=scores(2), category="scope_creep",
                 conditions=[{"id": "c1", "state": "open"}])  # fmt: skip
    *_, correction = last_turns(history, old, old)
    assert correction == snapshot("""\
Your answer can't be used:
1. What you object to did not change since it was judged, so it can't carry a reject in this round: point at lines listed under What is new, or where a condition that is still open (c1) was raised. If nothing there has to change, accept; if you can't, cannot_tell.
Judge again and answer with one whole JSON object in the schema. Correct what is named here; keep what was right.\
""")


def test_repeated_next_step_is_corrected() -> None:
    history = history_with_reject()
    history.replace_line("upload.py", 3)
    repeated = {**FIRST, "conditions": [{"id": "c1", "state": "open"}]}
    *_, correction = last_turns(history, repeated, repeated)
    assert correction == snapshot("""\
Your answer can't be used:
1. Your next_step was asked for in an earlier round and did not get through: teach the principle in your concern, and name a more concrete step: where, and what exactly has to stand there.
Judge again and answer with one whole JSON object in the schema. Correct what is named here; keep what was right.\
""")
