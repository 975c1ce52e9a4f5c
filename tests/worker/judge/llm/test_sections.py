"""What a model is told of the earlier rounds: what is open, what is new, and what was said before."""

from typing import Any

from inline_snapshot import snapshot

from tests.worker.judge.making import accept, bench, criteria, model_of, place, reject, scores
from tests.worker.judge.rounds.rounds import MADE, History

MET = criteria("met", "met", at=[place("upload.py", 3)])
FIRST = reject(criteria=MET, evidence=[place("upload.py", 3)], scores=scores(2), next_step="Retry it on 503.")


RESOLVED = accept(criteria=MET, conditions=[{"id": "c1", "state": "resolved"}])


def told(history: History, *answers: dict[str, Any]) -> list[str]:
    """The last turn of every request."""
    model = model_of(*(history.quoting(answer) for answer in answers or (RESOLVED,)))
    history.judged(bench(model, threshold=2.0))
    return [prompt.turns[-1] for prompt in model.asked]


def part(request: str, heading: str) -> str:
    """The text under one heading, its fences' words taken out."""
    mark = request.partition("MARK is `")[2].partition("`")[0]
    return request.partition(f"# {heading}\n\n")[2].partition("\n\n# ")[0].replace(mark, "MARK")


def rejected_once() -> History:
    history = History()
    history.replaces("upload.py", 3)
    history.judged(bench(model_of(history.quoting(FIRST)), threshold=2.0))
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
    history.judged(bench(model_of(history.quoting(FIRST)), threshold=2.0))
    history.push("retry.py", lambda lines: lines.__setitem__(0, MADE["retry.py"][0]))
    (request,) = told(history)
    assert part(request, "What is new").endswith("No line changed since.")


def test_what_was_met_is_not_asked_about_again() -> None:
    history = rejected_once()
    history.replaces("upload.py", 3)
    told(history)
    history.replaces("upload.py", 3)
    (request,) = told(history, accept(criteria=MET))
    assert "# Closing conditions" not in request


def test_a_reject_that_can_not_stand_is_told_what_may() -> None:
    history = rejected_once()
    history.replaces("upload.py", 5)
    old = reject(criteria=MET, evidence=[place("upload.py", 3)], scores=scores(2), category="scope_creep",
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
