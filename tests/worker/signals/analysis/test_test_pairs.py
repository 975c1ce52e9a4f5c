"""Tests paired across the two sides of a change."""

import pytest

from tests.worker.signals.samples import change_of, changed_file, diff_of, plain_dossier
from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.test_pairs import MatchedTest, base_sources, find_bodies, match_all_tests, match_tests
from worker.signals.weak_test.test_never_runs import new_test_skipped


def test_assertions_of_hunk_bodies_are_found_once() -> None:
    text = "def test_a():\n    first = 1\n    assert first == 1\n"
    change = change_of({"test_a.py": text}, {"test_a.py": f"{text}    assert first == run()\n"}, texts=False)
    assert [body.name for body in find_bodies(change)] == ["test_a", ""]
    assert all(
        body.assertions is same_body.assertions
        for body, same_body in zip(find_bodies(change), find_bodies(change), strict=True)
    )


def test_go_test_on_long_type_takes_linear_time() -> None:
    types = "type S struct {" + "\n" * 150_000 + "}\n"
    text = f'package a\n\n{types}\nfunc (s *S) TestA(c *C) {{\n\tc.Skip("x")\n}}\n'
    (finding,) = new_test_skipped.findings(change_of({}, {"a_test.go": text}))
    assert finding.fact


def body(name: str, *lines: str) -> str:
    return f"def test_{name}():\n" + "".join(f"    {line}\n" for line in lines) + "\n\n"


LONG = ("one = make()", "two = one.more()", "assert two == 2")


def pair_names(pairs: tuple[MatchedTest, ...]) -> set[tuple[str | None, str | None]]:
    return {(pair.base and pair.base.name, pair.head and pair.head.name) for pair in pairs}


METHOD = "    def test_a(self):\n        assert 1\n"


@pytest.mark.parametrize(
    ("before", "after", "pairs"),
    [
        pytest.param(
            body("a", "assert 1") + body("gone", *LONG),
            body("a", "assert 2") + "x = 1\n\n\n" + body("new", "f()"),
            {("test_a", "test_a"), ("test_gone", None), (None, "test_new")},
            id="by their names",
        ),
        pytest.param(f"class A:\n{METHOD}", f"class B:\n{METHOD}", {("test_a", "test_a")}, id="class renamed"),
        pytest.param(
            body("old", *LONG),
            body("kept", "g()", "h()") + body("new", *LONG),
            {("test_old", "test_new"), (None, "test_kept")},
            id="renamed, by its lines",
        ),
        pytest.param(
            body("before", "assert 1") + body("old", "f()"),
            body("before", "assert 1") + body("new", "g()", "h()"),
            {("test_before", "test_before"), ("test_old", "test_new")},
            id="renamed, in its place",
        ),
    ],
)
def test_tests_of_both_sides_are_paired(before: str, after: str, pairs: set[tuple[str | None, str | None]]) -> None:
    assert pair_names(match_tests(changed_file("test_a.py", before, after))) == pairs


def test_line_shared_by_many_tests_pairs_none() -> None:
    before = "".join(body(f"old_{number}", "same()") for number in range(25))
    change = change_of({"test_a.py": before}, {"test_a.py": "x = 1\n", "test_b.py": body("new", "same()")})
    assert (None, "test_new") in pair_names(match_all_tests(change))


def test_test_moved_to_another_file_is_one_pair() -> None:
    change = change_of({"test_a.py": body("a", *LONG)}, {"test_a.py": "x = 1\n", "test_b.py": body("a", *LONG)})
    (pair,) = match_all_tests(change)
    assert (pair.file.path, pair.base is not None, pair.head is not None) == ("test_b.py", True, True)


def test_tests_of_hunks_are_paired_without_whole_texts() -> None:
    file = changed_file("test_a.py", body("a", "assert 1"), body("a", "assert 2"), texts=False)
    (pair,) = match_tests(file)
    assert pair.base is not None
    assert pair.head is not None
    assert not pair.base.source.is_whole


def test_tests_of_deleted_file_have_no_head() -> None:
    change = CodeChange(plain_dossier(diff_of({"test_a.py": body("a", "assert 1")}, {})))
    assert pair_names(match_all_tests(change)) == {("test_a", None)}


def test_file_without_grammar_has_no_base_sources() -> None:
    assert base_sources(changed_file("notes.txt", "a\n", "b\n")) == ()


@pytest.mark.parametrize(
    ("path", "without", "with_some"),
    [
        ("a_test.go", "package a\n\nfunc f() { g(1) }\n", "package a\n\nfunc TestG(t *testing.T) { g(1) }\n"),
        ("a.test.js", "f(() => { g(1) })\n", "it('works', () => { g(1) })\n"),
        ("src/a.rs", "fn f() { g(1) }\n", "#[test]\nfn f() { g(1) }\n"),
    ],
)
def test_file_without_test_keyword_has_no_tests(path: str, without: str, with_some: str) -> None:
    before, after = changed_file(path, without, without + "\n"), changed_file(path, None, with_some)
    assert match_tests(before) == ()
    assert [pair.base for pair in match_tests(after)] == [None]
