"""Facts that are proved again: true ones are proved, the same ones beside the mark are refuted."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.prove_facts import CHECKS, main, prove
from bench.proving.answer import Claim, Outcome, claim_of
from bench.proving.shown import Matter, numbered
from worker.signals.registry import SIGNALS
from worker.signals.signal import SignalKind

ROOT = Path(__file__).resolve().parent.parent.parent

PYTHON_TEST = "def test_old():\n    assert run(1) == 1\n"


def git_diff(folder: Path, path: str, base: str | None, head: str | None) -> str:
    """What git prints for one file of a real repository."""
    run = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run([*run, "init", "-q"], check=True)
    place = folder / path
    place.parent.mkdir(parents=True, exist_ok=True)
    (folder / "README").write_text("")
    if base is not None:
        place.write_text(base)
    subprocess.run([*run, "add", "."], check=True)
    subprocess.run([*run, "commit", "-qm", "base", "--no-gpg-sign"], check=True)
    place.unlink(missing_ok=True)
    if head is not None:
        place.write_text(head)
    subprocess.run([*run, "add", "-A"], check=True)
    done = subprocess.run([*run, "diff", "--cached"], check=True, capture_output=True, text=True)
    return done.stdout


def matter(folder: Path, path: str, base: str | None, head: str | None, **more: Any) -> Matter:
    dossier: dict[str, Any] = {"diff": git_diff(folder, path, base, head), **more}
    if head is not None and "files" not in more:
        dossier["files"] = [{"path": path, "text": head}]
    return Matter(dossier)


def stated(signal: str, path: str | None, line: int = 0, last: int = 0, note: str = "") -> Claim:
    return Claim(signal, path, line, last or line, is_base=False, note=note)


def outcome(claim: Claim, about: Matter) -> Outcome:
    return prove(claim, about).outcome


def test_every_fact_of_the_registry_has_a_check() -> None:
    facts = {signal.name for signal in SIGNALS if signal.kind is SignalKind.FACT}
    assert facts <= CHECKS.keys()


def test_a_fact_without_a_check_counts_as_not_proved() -> None:
    answer = prove(stated("unheard_of", "a.py", 1), Matter({"diff": ""}))
    assert answer == (Outcome.NO_CHECK, "not proved, no check")


def test_the_prover_never_loads_the_judge_nor_the_diff_parser() -> None:
    code = "import sys, bench.prove_facts; print([m for m in sys.modules if m.startswith('worker')])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_text_before_is_what_git_takes_back(tmp_path: Path) -> None:
    base, head = "a\nb\nc\n", "a\nB\nc\nd\n"
    shown = matter(tmp_path, "x/y.txt", base, head).files[0]
    assert (shown.base_text, shown.base, shown.added, shown.removed) == (base, numbered(base), {2, 4}, {2})


def test_a_file_without_its_text_shows_only_its_hunks(tmp_path: Path) -> None:
    base = "".join(f"{number}\n" for number in range(1, 30))
    shown = matter(tmp_path, "y.txt", base, base.replace("15\n", "x\n"), files=None).files[0]
    assert (min(shown.head), max(shown.head), shown.base_text) == (12, 18, None)


def test_a_new_stub_is_proved_and_a_whole_function_is_refuted(tmp_path: Path) -> None:
    head = "def one(a):\n    raise NotImplementedError\n\n\ndef two(a):\n    b = a\n    return b\n"
    about = matter(tmp_path, "a.py", None, head)
    assert outcome(stated("stub_body", "a.py", 2), about) is Outcome.PROVED
    assert outcome(stated("stub_body", "a.py", 6), about) is Outcome.REFUTED


def test_a_function_that_works_before_it_gives_up_is_no_stub(tmp_path: Path) -> None:
    head = "def one(a):\n    save(a)\n    raise NotImplementedError\n"
    about = matter(tmp_path, "a.py", None, head)
    assert outcome(stated("stub_body", "a.py", 3), about) is Outcome.REFUTED


def test_a_function_with_a_conflict_in_it_is_no_stub(tmp_path: Path) -> None:
    head = 'def one(a):\n<<<<<<< HEAD\n    """One."""\n=======\n    b = a\n    return b\n>>>>>>> x\n'
    about = matter(tmp_path, "a.py", None, head)
    assert outcome(stated("stub_body", "a.py", 1), about) is Outcome.REFUTED
    assert outcome(stated("conflict_marker", "a.py", 2, 7), about) is Outcome.PROVED


def test_a_test_that_is_cut_by_the_end_of_a_hunk_is_not_empty(tmp_path: Path) -> None:
    base = "def test_old():\n    names = {\n        'a': 1,\n    }\n    b = 1\n    c = 2\n    assert names\n"
    head = base.replace("'a'", "'b'")
    note = "the changed test `test_old` does nothing"
    cut = matter(tmp_path, "test_a.py", base, head, files=None)
    assert outcome(stated("test_empty", "test_a.py", 1, note=note), cut) is Outcome.REFUTED


@pytest.mark.parametrize(
    ("body", "expected"),
    [("    pass\n", Outcome.PROVED), ("    run()\n", Outcome.REFUTED), ("    assert 1\n", Outcome.REFUTED)],
)
def test_an_empty_test_calls_and_asserts_nothing(tmp_path: Path, body: str, expected: Outcome) -> None:
    about = matter(tmp_path, "test_a.py", None, f"def test_new():\n{body}")
    assert outcome(stated("test_empty", "test_a.py", 1, 2), about) is expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("assert True", Outcome.PROVED),
        ("assert x or True", Outcome.PROVED),
        ("assert x == x", Outcome.PROVED),
        ("assert f() == f()", Outcome.CANNOT_TELL),
        ("assert x == y", Outcome.REFUTED),
        ("assert x is not None", Outcome.REFUTED),
    ],
)
def test_an_assertion_holds_always_only_if_nothing_can_make_it_fail(
    tmp_path: Path, line: str, expected: Outcome
) -> None:
    about = matter(tmp_path, "test_a.py", None, f"def test_new():\n    {line}\n")
    assert outcome(stated("assertion_always_true", "test_a.py", 2), about) is expected


def test_the_opposite_of_an_assertion_is_not_looser(tmp_path: Path) -> None:
    base = "test('a', (t) => {\n  t.ok(!x.busy)\n})\n"
    about = matter(tmp_path, "a.test.js", base, base.replace("!", ""))
    assert outcome(stated("assertion_loosened", "a.test.js", 2), about) is Outcome.REFUTED


def test_a_value_that_became_a_presence_is_looser(tmp_path: Path) -> None:
    base = "test('a', () => {\n  expect(x).toBe(3)\n})\n"
    about = matter(tmp_path, "a.test.js", base, base.replace("toBe(3)", "toBeDefined()"))
    assert outcome(stated("assertion_loosened", "a.test.js", 2), about) is Outcome.PROVED


@pytest.mark.parametrize(("new", "expected"), [("let _ = x.len();", Outcome.PROVED), ("let _ = y();", Outcome.REFUTED)])
def test_a_value_that_is_thrown_away_was_asserted_before(tmp_path: Path, new: str, expected: Outcome) -> None:
    base = "#[test]\nfn a() {\n    assert_eq!(x.len(), 2);\n}\n"
    about = matter(tmp_path, "tests/a.rs", base, base.replace("assert_eq!(x.len(), 2);", new))
    assert outcome(stated("assertion_loosened", "tests/a.rs", 3), about) is expected


@pytest.mark.parametrize(("asked", "expected"), [("x.a", Outcome.PROVED), ("y.a", Outcome.REFUTED)])
def test_a_test_that_was_moved_may_ask_less_than_where_it_stood(tmp_path: Path, asked: str, expected: Outcome) -> None:
    first, rest = (
        "def test_a():\n    assert x.a == 1\n\n\n",
        "def test_b():\n    f(1)\n    f(2)\n    f(3)\n    f(4)\n\n\n",
    )
    weak = first.replace("x.a == 1", f"{asked} is not None")
    about = matter(tmp_path, "test_a.py", first + rest, rest + weak)
    assert outcome(stated("assertion_loosened", "test_a.py", 9), about) is expected


def test_whether_one_value_asks_less_than_another_can_not_be_told(tmp_path: Path) -> None:
    base = "test('a', () => {\n  expect(x).toBe(3)\n})\n"
    about = matter(tmp_path, "a.test.js", base, base.replace("toBe(3)", "toMatch(/3/)"))
    assert outcome(stated("assertion_loosened", "a.test.js", 2), about) is Outcome.CANNOT_TELL


def test_a_skip_above_an_old_test_disables_it_and_a_conditional_one_does_not(tmp_path: Path) -> None:
    note = "the test `test_old`, which ran before, is switched off"
    (tmp_path / "b").mkdir()
    off = matter(tmp_path, "test_a.py", PYTHON_TEST, f"@pytest.mark.skip\n{PYTHON_TEST}")
    honest = matter(tmp_path / "b", "test_a.py", PYTHON_TEST, f"@pytest.mark.skipif(WINDOWS)\n{PYTHON_TEST}")
    assert outcome(stated("test_disabled", "test_a.py", 1, note=note), off) is Outcome.PROVED
    assert outcome(stated("test_disabled", "test_a.py", 1, note=note), honest) is Outcome.REFUTED


def test_a_test_that_is_deleted_and_one_that_moved(tmp_path: Path) -> None:
    base = f"def test_a():\n    assert 1\n\n\n{PYTHON_TEST}"
    note = "the test `test_old` was deleted although nothing that it names was changed"
    claim = stated("test_deleted_alone", "test_a.py", 5, note=note)._replace(is_base=True)
    (tmp_path / "b").mkdir()
    gone = matter(tmp_path, "test_a.py", base, "def test_a():\n    assert 1\n")
    moved = matter(tmp_path / "b", "test_a.py", base, f"{PYTHON_TEST}\n\ndef test_a():\n    assert 1\n")
    assert outcome(claim, gone) is Outcome.PROVED
    assert outcome(claim, moved) is Outcome.REFUTED


def test_a_deleted_test_whose_namesake_was_put_elsewhere_is_not_gone(tmp_path: Path) -> None:
    base = f"def test_a():\n    assert 1\n\n\n{PYTHON_TEST}"
    head = "class TestOld:\n    def test_old(self):\n        assert other(3) == 4\n"
    note = "the test `test_old` was deleted although nothing that it names was changed"
    claim = stated("test_deleted_alone", "test_a.py", 5, note=note)._replace(is_base=True)
    assert outcome(claim, matter(tmp_path, "test_a.py", base, head)) is Outcome.REFUTED


def test_a_private_function_is_called_if_any_shown_line_names_it(tmp_path: Path) -> None:
    note = "nothing calls the new private function `_one`"
    claim = stated("function_uncalled", "a.py", 1, 2, note)
    alone = matter(tmp_path, "a.py", None, "def _one():\n    return 1\n")
    assert outcome(claim, alone) is Outcome.PROVED
    used = Matter(
        {**alone.dossier, "files": [*alone.dossier["files"], {"path": "b.py", "text": "from a import _one\n"}]}
    )
    assert outcome(claim, used) is Outcome.REFUTED


WORKFLOW = "jobs:\n  a:\n    steps:\n      - name: Test\n        run: make test\n"


def test_a_step_that_may_fail_now_must_have_counted_before(tmp_path: Path) -> None:
    path = ".github/workflows/a.yml"
    claim = stated("check_cannot_fail", path, 6, note="this check can't fail any more: `continue-on-error: true`")
    (tmp_path / "b").mkdir()
    old = matter(tmp_path, path, WORKFLOW, f"{WORKFLOW}        continue-on-error: true\n")
    new = matter(tmp_path / "b", path, "jobs:\n", f"{WORKFLOW}        continue-on-error: true\n")
    assert outcome(claim, old) is Outcome.PROVED
    assert outcome(claim, new) is Outcome.REFUTED


def test_a_rule_must_stand_where_the_note_says(tmp_path: Path) -> None:
    rules = [{"path": "AGENTS.md", "text": "# Rules\n- Never use `eval()`.\n"}]
    about = matter(tmp_path, "a.py", None, "x = eval(y)\nz = 'eval(y)'\n", guidance=rules)
    note = 'AGENTS.md:{} says "Never use `eval()`", and this line adds `eval()`'
    assert outcome(stated("forbidden_code_added", "a.py", 1, note=note.format(2)), about) is Outcome.PROVED
    assert outcome(stated("forbidden_code_added", "a.py", 2, note=note.format(2)), about) is Outcome.REFUTED
    assert outcome(stated("forbidden_code_added", "a.py", 1, note=note.format(9)), about) is Outcome.REFUTED


def test_a_new_dependency_must_be_added_and_must_not_have_stood_there(tmp_path: Path) -> None:
    rules = [{"path": "AGENTS.md", "text": "- No new dependencies.\n"}]
    about = matter(tmp_path, "go.mod", "module a\nb v1\n", "module a\nb v2\nc v1\n", guidance=rules)
    note = 'AGENTS.md:1 says "No new dependencies", and this change brings the new dependency `{}`'
    assert outcome(stated("forbidden_code_added", "go.mod", 3, note=note.format("c")), about) is Outcome.PROVED
    assert outcome(stated("forbidden_code_added", "go.mod", 2, note=note.format("b")), about) is Outcome.REFUTED
    other = [{"path": "AGENTS.md", "text": "- No new folders.\n"}]
    (tmp_path / "b").mkdir()
    about = matter(tmp_path / "b", "go.mod", "module a\n", "module a\nc v1\n", guidance=other)
    note = 'AGENTS.md:1 says "No new folders", and this change brings the new dependency `c`'
    assert outcome(stated("forbidden_code_added", "go.mod", 2, note=note), about) is Outcome.REFUTED


def test_code_that_a_rule_calls_by_its_name_is_named_by_it(tmp_path: Path) -> None:
    rules = [{"path": "AGENTS.md", "text": "- No wildcard imports.\n"}]
    about = matter(tmp_path, "a.py", None, "from os import *\n", guidance=rules)
    note = 'AGENTS.md:1 says "No wildcard imports", and this line adds `import *`'
    assert outcome(stated("forbidden_code_added", "a.py", 1, note=note), about) is Outcome.PROVED


def test_a_rule_that_forbids_nothing_is_not_broken(tmp_path: Path) -> None:
    rules = [{"path": "AGENTS.md", "text": "- Use `eval()` with care.\n"}]
    about = matter(tmp_path, "a.py", None, "x = eval(y)\n", guidance=rules)
    note = 'AGENTS.md:1 says "Use `eval()` with care", and this line adds `eval()`'
    assert outcome(stated("forbidden_code_added", "a.py", 1, note=note), about) is Outcome.REFUTED


def test_a_cited_file_is_missing_only_if_the_dossier_says_so(tmp_path: Path) -> None:
    case = {"ac_coverage": [{"criterion": "AC1", "addressed_by": "b.py"}]}
    note = 'the case cites b.py for "AC1", and there is no such file at the head commit'
    missing = matter(tmp_path, "a.py", None, "x = 1\n", case=case, files=[{"path": "b.py", "exists": False}])
    unknown = Matter({**missing.dossier, "files": []})
    assert outcome(stated("cited_file_missing", None, note=note), missing) is Outcome.PROVED
    assert outcome(stated("cited_file_missing", None, note=note), unknown) is Outcome.REFUTED


def run_folder(folder: Path, dossier: dict[str, Any], finding: dict[str, Any]) -> list[str]:
    """A finished run of one row, and the arguments that prove it."""
    verdict = {"id": "one", "verdict": {"findings": [finding, {**finding, "fact": False}]}}
    (folder / "verdicts.jsonl").write_text(json.dumps(verdict) + "\n")
    rows = folder / "rows.jsonl.gz"
    rows.write_bytes(gzip.compress((json.dumps({"id": "one", "dossier": dossier}) + "\n").encode()))
    return [str(folder), str(rows)]


@pytest.mark.parametrize(("line", "code", "said"), [(2, 0, "100.0%"), (6, 1, "refuted: one stub_body a.py:6")])
def test_a_run_is_proved_fact_by_fact_and_a_false_one_fails_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: int, code: int, said: str
) -> None:
    head = "def one(a):\n    raise NotImplementedError\n\n\ndef two(a):\n    b = a\n    return b\n"
    dossier = matter(tmp_path, "a.py", None, head).dossier
    finding = {"signal": "stub_body", "fact": True, "path": "a.py", "line": line, "side": "head", "note": ""}
    assert main(run_folder(tmp_path, dossier, finding)) == code
    assert said in capsys.readouterr().out


def test_a_fact_whose_dossier_is_in_no_file_stops_the_run(tmp_path: Path) -> None:
    finding = {"signal": "stub_body", "fact": True, "path": "a.py", "line": 1, "side": "head", "note": ""}
    folder, rows = run_folder(tmp_path, {"diff": ""}, finding)
    Path(rows).write_bytes(gzip.compress(b""))
    with pytest.raises(SystemExit, match="among them one"):
        main([folder, rows])


def test_a_finding_of_the_base_is_claimed_of_the_base() -> None:
    claim = claim_of({"signal": "a", "path": "b", "line": 3, "end_line": None, "side": "base", "note": ""})
    assert (claim.line, claim.last, claim.is_base) == (3, 3, True)


def test_a_scratch_file_is_new_beside_other_changes_and_nothing_names_it(tmp_path: Path) -> None:
    claim = stated("scratch_file", "reproduce_issue.py", 1)
    code = git_diff(tmp_path, "a.py", "x = 1\n", "x = 2\n")
    alone = git_diff(tmp_path, "reproduce_issue.py", None, "a()\n")
    old = git_diff(tmp_path, "reproduce_issue.py", "a()\n", "b()\n")
    naming = git_diff(tmp_path, "b.py", "x = 1\n", "run('reproduce_issue.py')\n")
    said = {"pull_request": {"title": "Add reproduce_issue", "body": ""}}
    told = {"issues": [{"title": "Crash", "body": "reproduce_issue.py shows it"}]}
    assert outcome(claim, Matter({"diff": alone + code})) is Outcome.PROVED
    for refused in ({"diff": old + code}, {"diff": alone}, {"diff": alone + naming}):
        assert outcome(claim, Matter(refused)) is Outcome.REFUTED
    for asked in (said, told):
        assert outcome(claim, Matter({"diff": alone + code, **asked})) is Outcome.REFUTED
    hidden = stated("scratch_file", "src/.a.py.swp", 1)
    assert outcome(hidden, Matter({"diff": git_diff(tmp_path, "src/.a.py.swp", None, "a\n") + code})) is Outcome.PROVED
    assert outcome(hidden, Matter({"diff": code})) is Outcome.REFUTED
