"""Tests that no runner finds any more."""

import pytest

from tests.worker.signals.made import Texts, change_of, dossier_of, plain_dossier
from worker.domain.verdict.verdict import Side
from worker.signals.analysis.change import CodeChange
from worker.signals.tests_pass_but_wrong import test_deleted

ALL = (test_deleted.test_deleted_alone, test_deleted.test_deleted, test_deleted.test_hidden)
KEPT = "def test_kept():\n    assert parse('a') == 1\n\n\n"
GONE = "def test_gone():\n    size = render('b')\n    assert size == 2\n"


def fired(before: Texts, after: Texts, *, texts: bool = True) -> list[tuple[str, int | None]]:
    change = change_of(before, after, texts=texts)
    return [(signal.name, finding.line) for signal in ALL for finding in signal.findings(change)]


def names(before: Texts, after: Texts) -> list[str]:
    return [name for name, _ in fired(before, after)]


@pytest.mark.parametrize("deep_before", [True, False])
def test_of_a_file_that_cannot_be_read_on_one_side_nothing_is_said(*, deep_before: bool) -> None:
    deep, flat = f"x = a{'.b' * 3_000}\n", "x = a\n"
    before, after = (deep, flat) if deep_before else (flat, deep)
    assert fired({"tests/test_a.py": before + KEPT + GONE}, {"tests/test_a.py": after + KEPT}) == []
    assert fired({"tests/test_a.py": flat + KEPT + GONE}, {"tests/test_a.py": flat + KEPT}) != []


DELETIONS = {
    "python": ("tests/test_a.py", KEPT, GONE),
    "typescript": (
        "a.test.ts",
        "it('keeps', () => {\n  expect(parse(1)).toBe(1)\n})\n",
        "it('goes', () => {\n  expect(render(2)).toBe(2)\n})\n",
    ),
    "go": (
        "a_test.go",
        "package a\n\nfunc TestKept(t *testing.T) {\n\tparse(1)\n}\n\n",
        'func TestGone(t *testing.T) {\n\tif render(2) != 2 {\n\t\tt.Error("x")\n\t}\n}\n',
    ),
    "rust": (
        "src/a.rs",
        "fn a() {}\n\n#[test]\nfn kept() {\n    parse(1);\n}\n\n",
        "#[test]\nfn gone() {\n    assert!(render(2));\n}\n",
    ),
    "java": (
        "ATest.java",
        "class ATest {\n  @Test\n  void kept() {\n    parse(1);\n  }\n",
        "  @Test\n  void gone() {\n    assertThat(render(2)).isTrue();\n  }\n}\n",
    ),
}


@pytest.mark.parametrize("texts", [True, False])
@pytest.mark.parametrize(("path", "kept", "gone"), DELETIONS.values(), ids=DELETIONS.keys())
def test_a_test_that_is_deleted_alone_is_suspected_by_name(path: str, kept: str, gone: str, *, texts: bool) -> None:
    after = kept + ("}\n" if path.endswith("java") else "")
    change = change_of({path: kept + gone}, {path: after}, texts=texts)
    (found,) = test_deleted.test_deleted_alone.findings(change)
    assert not found.fact
    assert found.side is Side.BASE
    assert found.line is not None
    assert not list(test_deleted.test_deleted.findings(change))


def test_a_test_whose_code_was_touched_is_suspected_only() -> None:
    before = {"tests/test_a.py": KEPT + GONE, "a.py": "def up():\n    return render(1)\n"}
    after = {"tests/test_a.py": KEPT, "a.py": "def up():\n    return 1 + render(1)\n"}
    assert fired(before, after) == [("test_deleted", 5)]
    calls_it_now = {"tests/test_a.py": KEPT, "a.py": before["a.py"] + "\n\ndef down():\n    return render(2)\n"}
    assert fired(before, calls_it_now) == [("test_deleted", 5)]


def test_a_test_that_calls_nothing_is_suspected_only() -> None:
    gone = "def test_gone():\n    assert SIZE == 2\n"
    assert names({"tests/test_a.py": KEPT + gone}, {"tests/test_a.py": KEPT}) == ["test_deleted"]


def test_a_test_with_something_in_its_place_is_suspected_only() -> None:
    assert names({"tests/test_a.py": KEPT + GONE}, {"tests/test_a.py": KEPT + "SIZE = 2\n"}) == ["test_deleted"]


@pytest.mark.parametrize("name", ["gone", "again"])
def test_a_test_that_another_one_says_word_for_word_is_not_lost(name: str) -> None:
    copy = GONE.replace("gone", name)
    assert fired({"tests/test_a.py": KEPT + GONE + "\n\n" + copy}, {"tests/test_a.py": KEPT + GONE}) == []
    other = copy.replace("2", "3")
    assert fired({"tests/test_a.py": KEPT + GONE + "\n\n" + other}, {"tests/test_a.py": KEPT + GONE}) != []


def test_a_copy_that_is_skipped_or_stands_in_another_class_speaks_for_no_lost_test() -> None:
    skipped = "it.skip('again', () => {\n  expect(render(2)).toBe(2)\n})\n"
    gone = skipped.replace("it.skip('again'", "it('goes'")
    assert names({"a.test.ts": skipped + gone}, {"a.test.ts": skipped}) == ["test_deleted_alone"]
    assert fired({"a.test.ts": gone + gone.replace("goes", "again")}, {"a.test.ts": gone}) == []
    one = "class TestA:\n    def test_gone(self):\n        assert render(2) == 2\n"
    other = one.replace("TestA", "TestB") + "\n    def test_kept(self):\n        assert parse(1) == 1\n"
    left = other.replace("    def test_gone(self):\n        assert render(2) == 2\n\n", "")
    assert names({"tests/test_a.py": one + "\n\n" + other}, {"tests/test_a.py": one + "\n\n" + left}) == [
        "test_deleted_alone"
    ]


def test_two_deleted_tests_are_suspected_each() -> None:
    more = "\n\ndef test_more():\n    assert draw(1) == 1\n"
    assert names({"tests/test_a.py": KEPT + GONE + more}, {"tests/test_a.py": KEPT}) == ["test_deleted"] * 2


def test_many_deleted_tests_are_a_rebuilding() -> None:
    more = "".join(f"\n\ndef test_more_{n}():\n    assert draw(1) == 1\n" for n in range(4))
    assert names({"tests/test_a.py": KEPT + more}, {"tests/test_a.py": KEPT}) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"tests/test_a.py": KEPT + GONE}, {"tests/test_a.py": KEPT, "tests/test_b.py": GONE}),
        ({"tests/test_a.py": KEPT + GONE}, {"tests/test_a.py": KEPT + GONE.replace("gone", "renamed")}),
        (
            {"tests/test_a.py": KEPT + GONE, "a.py": "def render():\n    return 1\n\n\nx = 1\n"},
            {"tests/test_a.py": KEPT, "a.py": "x = 1\n"},
        ),
        (
            {"tests/test_a.py": KEPT + GONE},
            {
                "tests/test_a.py": KEPT
                + "def test_sizes():\n    for one in 'abc':\n        assert render(one) > 7, one\n"
            },
        ),
        ({"a.py": KEPT + GONE}, {"a.py": KEPT}),
        ({"tests/test_a.py": KEPT}, {"tests/test_a.py": KEPT + "x = 1\n"}),
    ],
    ids=["moved", "renamed", "with its code", "rewritten", "no tests", "only added"],
)
def test_what_is_accounted_for_is_left_alone(before: Texts, after: Texts) -> None:
    assert fired(before, after) == []


def test_a_subtest_is_not_counted_again() -> None:
    path, kept, _ = DELETIONS["go"]
    gone = 'func TestGone(t *testing.T) {\n\tt.Run("a", func(t *testing.T) {\n\t\trender(2)\n\t})\n}\n'
    assert names({path: kept + gone}, {path: kept}) == ["test_deleted_alone"]


BODY = "    size = render('b')\n    assert size == 2\n    assert size < 3\n"
HIDDEN = {
    "underscore": ("tests/test_a.py", f"def test_gone():\n{BODY}", f"def _test_gone():\n{BODY}", 5),
    "prefix": ("tests/test_a.py", f"def test_gone():\n{BODY}", f"def xtest_gone():\n{BODY}", 5),
    "without the word": ("tests/test_a.py", f"def test_gone():\n{BODY}", f"def _gone():\n{BODY}", 5),
    "other name": ("tests/test_a.py", f"def test_gone():\n{BODY}", f"def check_size():\n{BODY}", 5),
    "commented": ("tests/test_a.py", f"def test_gone():\n{BODY}", f"# def test_gone():\n#{BODY}", 5),
    "quoted": ("tests/test_a.py", f"def test_gone():\n{BODY}", f'"""\ndef test_gone():\n{BODY}"""\n', 6),
    "rust": (
        "src/a.rs",
        "fn a() {}\n\n#[test]\nfn gone() {\n    assert!(render(2));\n}\n",
        "fn a() {}\n\nfn gone() {\n    assert!(render(2));\n}\n",
        7,
    ),
    "java": (
        "ATest.java",
        "class ATest {\n  @Test\n  void gone() {\n    render(2);\n  }\n}\n",
        "class ATest {\n  void gone() {\n    render(2);\n  }\n}\n",
        6,
    ),
    "go": (
        "a_test.go",
        "package a\n\nfunc TestGone(t *testing.T) {\n\trender(2)\n}\n",
        "package a\n\nfunc testGone(t *testing.T) {\n\trender(2)\n}\n",
        7,
    ),
    "block comment": (
        "a.test.ts",
        "it('goes', () => {\n  expect(render(2)).toBe(2)\n})\n",
        "/*\nit('goes', () => {\n  expect(render(2)).toBe(2)\n})\n*/\n",
        6,
    ),
}


@pytest.mark.parametrize(("path", "before", "after", "line"), HIDDEN.values(), ids=HIDDEN.keys())
def test_a_test_that_only_its_runner_lost_is_a_fact(path: str, before: str, after: str, line: int) -> None:
    above = KEPT if path.endswith(".py") else "\n\n\n\n"
    assert fired({path: above + before}, {path: above + after}) == [("test_hidden", line)]


def test_a_test_that_goes_where_a_string_comes_is_not_hidden() -> None:
    assert "test_hidden" not in names({"tests/test_a.py": KEPT + GONE}, {"tests/test_a.py": KEPT + '"""Kept."""\n'})


def test_a_test_under_an_annotation_that_is_made_of_the_runners_is_not_hidden() -> None:
    text = "class ATest {{\n  {}\n  void gone(String a) {{\n    assertThat(render(a)).isTrue();\n  }}\n}}\n"
    before, after = text.format("@ParameterizedTest"), text.format("@ParameterizedTestWithName")
    assert names({"ATest.java": before}, {"ATest.java": after}) == []


def test_a_test_that_stays_as_it_is_where_the_grammar_loses_its_way_is_not_hidden() -> None:
    text = (
        '/*\nA log = new A() {{\nvoid info(String f, {} given) {{\nif ({}given[0] instanceof T) {{\nthrow new E("x");\n}}\n'
        "assertThat(log.out())\n}}\n@Test\npublic void gone() {{\n"
    )
    before, after = text.format("Object...", ""), text.format("@Nullable Object @Nullable...", "given != null && ")
    assert names({"ATest.java": before}, {"ATest.java": after}) == []


RENDER = "x = 1\n\n\ndef render(x):\n    return x\n"
HIDDEN_FOR_A_REASON = {
    "what it calls is gone": ("x = 1\n", ""),
    "what it calls is commented out": ("x = 1\n# def render(x):\n#     return x\n", ""),
    "the reason stands above": (RENDER + "y = 1\n", "# render() keeps no order any longer\n"),
}


@pytest.mark.parametrize(("code", "reason"), HIDDEN_FOR_A_REASON.values(), ids=HIDDEN_FOR_A_REASON.keys())
def test_a_hidden_test_is_suspected_where_its_code_goes_too_or_a_reason_is_stated(code: str, reason: str) -> None:
    hidden = "".join(f"# {line}\n" for line in GONE.split("\n")[:-1])
    before = {"tests/test_a.py": KEPT + GONE, "a.py": RENDER}
    after = {"tests/test_a.py": KEPT + reason + hidden, "a.py": code}
    assert names(before, after) == ["test_deleted"]


def test_a_hidden_test_beside_a_new_one_is_suspected() -> None:
    hidden, new = GONE.replace("test_gone", "_gone"), "\n\ndef test_new():\n    assert parse('b') == 3\n"
    assert names({"tests/test_a.py": KEPT + GONE}, {"tests/test_a.py": KEPT + hidden + new}) == ["test_deleted"]


def test_a_test_that_the_title_names_is_only_suspected() -> None:
    path, before, after = HIDDEN["commented"][:3]
    before, after = (text.replace("test_gone", "test_vercel_pool") for text in (before, after))
    facts = [
        len(list(test_deleted.test_hidden.findings(change_of({path: before}, {path: after}, title=title))))
        for title in ("Skip vercel and fix the pool", "Fix the pool")
    ]
    assert facts == [0, 1]


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [HIDDEN["commented"][:3], HIDDEN["block comment"][:3]],
    ids=["each line", "a block"],
)
def test_a_test_that_is_commented_out_is_called_so(path: str, before: str, after: str) -> None:
    above = KEPT if path.endswith(".py") else "\n\n\n\n"
    (found,) = test_deleted.test_hidden.findings(change_of({path: above + before}, {path: above + after}))
    assert found.note.endswith(" is commented out")
    assert found.step.startswith("Take the comment marks away from the test at ")


@pytest.mark.parametrize("remark", ["", "# TODO: fix this test later\n", "# @mark('a long name of data')\n"])
def test_a_hidden_test_without_a_reason_is_a_fact(remark: str) -> None:
    mark = "@mark('a long name of data')\n" if "@" in remark else ""
    hidden = remark + "".join(f"# {line}\n" for line in GONE.split("\n")[:-1])
    before = {"tests/test_a.py": KEPT + mark + GONE, "a.py": RENDER}
    after = {"tests/test_a.py": KEPT + hidden, "a.py": RENDER + "y = 1\n"}
    assert names(before, after) == ["test_hidden"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"def test_gone():\n{BODY}", f"def check_size():\n{BODY}\n\ndef test_new():\n    check_size()\n"),
        (f"def test_gone():\n{BODY}", "def gone():\n    return 1\n"),
        ("def test_gone():\n    assert one == 2\n", "def other():\n    assert one == 2\n"),
    ],
    ids=["a part of others", "another body", "too short to tell"],
)
def test_a_function_that_is_something_else_hides_no_test(before: str, after: str) -> None:
    assert "test_hidden" not in names({"tests/test_a.py": KEPT + before}, {"tests/test_a.py": KEPT + after})


def test_a_test_that_is_hidden_is_seen_in_the_diff_alone() -> None:
    before, after = {"tests/test_a.py": f"def test_gone():\n{BODY}"}, {"tests/test_a.py": f"def _test_gone():\n{BODY}"}
    assert fired(before, after, texts=False) == [("test_hidden", 1)]


def test_lines_above_and_below_do_not_hide_a_test_that_stays() -> None:
    rest = "".join(f"x{n} = {n}\n" for n in range(12))
    before = f"a = 1\n{rest}{KEPT}{rest}b = 1\n"
    after = f'a = 2\nc = """\n"""\n{rest}{KEPT}{rest}b = 2\n'
    assert fired({"tests/test_a.py": before}, {"tests/test_a.py": after}) == []


def test_a_comment_far_above_hides_a_test_in_an_untouched_line() -> None:
    rest = "".join(f"const x{n} = {n}\n" for n in range(12))
    test = "it('goes', () => {\n  expect(render(2)).toBe(2)\n})\n"
    before = f"const a = 1\n{rest}{test}{rest}"
    after = f"const a = 1\n/*\n{rest}{test}{rest}*/\n"
    assert fired({"a.test.ts": before}, {"a.test.ts": after}) == [("test_hidden", 15)]


def test_a_comment_that_ends_where_an_old_one_ends_hides_what_is_between() -> None:
    rest = "".join(f"const x{n} = {n}\n" for n in range(12))
    test = "it('goes', () => {\n  expect(render(2)).toBe(2)\n})\n"
    before = f"const a = 1\n{rest}{test}/* the end */\n"
    after = f"const a = 1\n/*\n{rest}{test}/* the end */\n"
    assert fired({"a.test.ts": before}, {"a.test.ts": after}) == [("test_hidden", 15)]


def renamed(old: str, new: str, text: str = GONE) -> CodeChange:
    lines = "".join(f" {line}\n" for line in text.split("\n")[:-1])
    count = text.count("\n")
    diff = (
        f"diff --git a/{old} b/{new}\nsimilarity index 90%\nrename from {old}\nrename to {new}\n"
        f"index 1111111..2222222 100644\n--- a/{old}\n+++ b/{new}\n@@ -1,{count} +1,{count + 1} @@\n{lines}+\n"
    )
    return CodeChange(plain_dossier(diff, files=[{"path": new, "text": f"{text}\n"}]))


def test_a_file_of_tests_that_leaves_collection_is_a_fact() -> None:
    found = test_deleted.test_hidden.findings(renamed("tests/test_a.py", "tests/a_disabled.py"))
    assert [(one.path, one.line) for one in found] == [("tests/a_disabled.py", 1)]


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("tests/test_a.py", "tests/test_b.py", GONE),
        ("tests/a.py", "tests/b.py", GONE),
        ("tests/test_a.py", "tests/sizes.py", "def render():\n    return 1\n"),
        ("src/a.rs", "src/b.rs", GONE),
        (
            "src/test/TakeTest.java",
            "src/test/TakeTest2.java",
            "class TakeTest2 {\n  @Test void gone() {\n    assertEquals(1, run());\n  }\n}\n",
        ),
        ("tests/a.txt", "tests/b.txt", GONE),
    ],
)
def test_any_other_renaming_is_left_alone(old: str, new: str, text: str) -> None:
    assert not list(test_deleted.test_hidden.findings(renamed(old, new, text)))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("src/a.py", ["test_deleted"]),
        ("src/a_writer.py", ["test_deleted"]),
        ("src/other.py", ["test_deleted_alone"]),
    ],
)
def test_where_the_code_it_is_named_after_behaves_otherwise_it_is_only_suspected(
    code: str, expected: list[str]
) -> None:
    before = {"tests/test_a.py": KEPT + GONE, code: "LIMIT = 1\n"}
    assert names(before, {"tests/test_a.py": KEPT, code: "LIMIT = 2\n"}) == expected


MARKED = "@pytest.mark.parametrize('name', SOURCES)\n" + GONE
PACKAGE = "import { render } from '..'\n\n"
ELSEWHERE = {
    "its data went": ({"tests/test_a.py": "SOURCES = ['a']\n\n\n" + KEPT + MARKED}, {"tests/test_a.py": KEPT}),
    "its cases became data": (
        {"tests/test_a.py": KEPT + GONE, "tests/data/sizes.txt": "a 1\n"},
        {"tests/test_a.py": KEPT, "tests/data/sizes.txt": "a 1\nb 2\n"},
    ),
    "its code in the plural": (
        {"tests/test_sizes.py": KEPT + GONE, "src/size.py": "LIMIT = 1\n"},
        {"tests/test_sizes.py": KEPT, "src/size.py": "LIMIT = 2\n"},
    ),
    "its package": (
        {"src/__tests__/a.test.ts": PACKAGE + DELETIONS["typescript"][1] + DELETIONS["typescript"][2], "src/b.ts": "let limit = 1\n"},
        {"src/__tests__/a.test.ts": PACKAGE + DELETIONS["typescript"][1], "src/b.ts": "let limit = 2\n"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), ELSEWHERE.values(), ids=ELSEWHERE.keys())
def test_where_its_data_or_its_package_changed_it_is_only_suspected(before: Texts, after: Texts) -> None:
    assert names(before, after) == ["test_deleted"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"tests/test_a.py": "SOURCES = ['a']\n" + KEPT + MARKED}, {"tests/test_a.py": "SOURCES = ['a']\n" + KEPT}),
        (
            {"src/__tests__/a.test.ts": PACKAGE + DELETIONS["typescript"][1] + DELETIONS["typescript"][2], "lib/b.ts": "let limit = 1\n"},
            {"src/__tests__/a.test.ts": PACKAGE + DELETIONS["typescript"][1], "lib/b.ts": "let limit = 2\n"},
        ),
    ],
    ids=["its data stays", "another package"],
)  # fmt: skip
def test_where_they_stay_as_they_are_it_is_a_fact(before: Texts, after: Texts) -> None:
    assert names(before, after) == ["test_deleted_alone"]


CODE = "def render(x):\n    return 1\n"


@pytest.mark.parametrize("texts", [True, False])
def test_a_whole_file_of_tests_that_is_deleted_alone_is_suspected_as_one(*, texts: bool) -> None:
    change = change_of({"tests/test_a.py": KEPT + GONE, "b.py": "x = 1\n"}, {"b.py": "x = 2\n"}, texts=texts)
    (found,) = test_deleted.test_deleted_alone.findings(change)
    assert (found.fact, found.path, found.line, found.side) == (False, "tests/test_a.py", 1, Side.BASE)
    assert found.note == "this file with its 2 tests was deleted, although nothing that it names was changed"
    assert not list(test_deleted.test_deleted.findings(change))


FILE = {"tests/test_a.py": KEPT + GONE}
FILES_GONE: dict[str, tuple[Texts, Texts, list[str]]] = {
    "its code was touched": ({**FILE, "b.py": CODE}, {"b.py": CODE.replace("1", "render(2)")}, ["test_deleted"]),
    "its code went": ({**FILE, "b.py": CODE}, {}, []),
    "rewritten": (FILE, {"tests/test_b.py": "def test_sizes():\n    assert render('c') + parse('d') > 7\n"}, []),
    "other tests speak of it": (
        {**FILE, "tests/test_b.py": KEPT},
        {"tests/test_b.py": KEPT.replace("'a'", "MODES['a']") + "MODES = {'gone': 1}\n"},
        ["test_deleted"],
    ),
    "two files": ({**FILE, "tests/test_b.py": "def test_more():\n    assert draw(1) == 1\n"}, {}, ["test_deleted"] * 2),
    "one test lives on": (FILE, {"tests/test_b.py": KEPT}, []),
}


@pytest.mark.parametrize(("before", "after", "expected"), FILES_GONE.values(), ids=FILES_GONE.keys())
def test_a_file_of_tests_that_does_not_go_alone_is_suspected_at_most(
    before: Texts, after: Texts, expected: list[str]
) -> None:
    assert names(before, after) == expected


def test_a_test_that_did_not_run_before_is_not_lost() -> None:
    skipped = "@pytest.mark.skip(reason='slow')\n" + GONE
    assert fired({"tests/test_a.py": KEPT + skipped}, {"tests/test_a.py": KEPT}) == []


def test_a_test_that_moved_into_a_file_of_another_kind_is_not_lost() -> None:
    after = {"tests/test_a.py": KEPT, "tests/render.bench.txt": GONE}
    assert fired({"tests/test_a.py": KEPT + GONE}, after) == []


@pytest.mark.parametrize(
    "new", ["def test_gone_size():\n    assert draw() > 1\n", "def test_draw():\n    assert draw(render('x'), 1) > 1\n"]
)
def test_a_new_test_of_the_same_leaves_a_suspicion(new: str) -> None:
    gone = GONE.replace("gone", "gone_in_size")
    assert names({"tests/test_a.py": KEPT + gone}, {"tests/test_a.py": KEPT, "tests/test_b.py": new}) == [
        "test_deleted"
    ]


@pytest.mark.parametrize(
    "title",
    ["Remove a flaky test", "test: drop test_gone", "middleware: throttle, disable flaky test", "Cleaned up tests"],
)
def test_a_title_that_says_so_leaves_a_suspicion(title: str) -> None:
    deleted = dossier_of({"tests/test_a.py": KEPT + GONE}, {"tests/test_a.py": KEPT}, title=title)
    hidden = dossier_of(
        {"tests/test_a.py": KEPT + f"def test_gone():\n{BODY}"},
        {"tests/test_a.py": KEPT + f"# def test_gone():\n#{BODY}"},
        title=title,
    )
    for dossier in (deleted, hidden):
        assert [one.signal for signal in ALL for one in signal.findings(CodeChange(dossier))] == ["test_deleted"]


def test_a_title_beside_an_issue_that_asks_for_something_else_says_nothing() -> None:
    before, after = {"tests/test_a.py": KEPT + GONE}, {"tests/test_a.py": KEPT}
    asked = dossier_of(before, after, title="Remove a flaky test", issue="Add a flag")
    assert [one.signal for one in test_deleted.test_deleted_alone.findings(CodeChange(asked))] == ["test_deleted_alone"]
    wanted = dossier_of(before, after, title="Fix it", issue="Remove the flaky test")
    assert not list(test_deleted.test_deleted_alone.findings(CodeChange(wanted)))
