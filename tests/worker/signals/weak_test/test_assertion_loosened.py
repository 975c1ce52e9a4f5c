"""Assertions that a kept test lost."""

import pytest

from tests.worker.signals.made import change_of
from tests.worker.signals.weak_test.seen import names, seen
from worker.signals.weak_test.assertion_loosened import assertion_dropped, assertion_removed

STEPS = "    x = run()\n    y = more(x)\n"
BEFORE = f"def test_a():\n{STEPS}    assert x.a == 1\n    assert y.b == 2\n    assert x.c == 3\n"
OTHER = "\n\ndef test_b():\n    z = other()\n    assert z == 9\n    close(z)\n"

KEPT = {
    "test_a.py": (BEFORE, "    assert y.b == 2\n", -5),
    "a.test.ts": (
        "it('a', () => {\n  const x = run()\n  expect(x.a).toBe(1)\n  expect(x.b).toBe(2)\n})\n",
        "  expect(x.b).toBe(2)\n",
        -4,
    ),
    "a_test.go": (
        "package a\n\nfunc TestA(t *testing.T) {\n\tx := run()\n\tif x.A != 1 {\n\t\tt.Error(x)\n\t}\n\tuse(x)\n}\n",
        "\tif x.A != 1 {\n\t\tt.Error(x)\n\t}\n",
        -5,
    ),
    "tests/a.rs": (
        "#[test]\nfn a() {\n    let x = run();\n    assert_eq!(x.a, 1);\n    assert_eq!(x.b, 2);\n}\n",
        "    assert_eq!(x.a, 1);\n",
        -4,
    ),
    "ATest.java": (
        "class ATest {\n  @Test void a() {\n    int x = run();\n    assertThat(x).isEqualTo(1);\n    use(x);\n  }\n}\n",
        "    assertThat(x).isEqualTo(1);\n",
        -4,
    ),
}


@pytest.mark.parametrize("path", KEPT)
def test_a_lone_removed_assertion_about_what_is_still_there_is_a_fact(path: str) -> None:
    before, removed, line = KEPT[path]
    assert ("assertion_dropped", line) in seen({path: before}, {path: before.replace(removed, "")})


@pytest.mark.parametrize("path", KEPT)
def test_seen_from_the_diff_alone_it_is_found_as_well(path: str) -> None:
    before, removed, line = KEPT[path]
    found = seen({path: before}, {path: before.replace(removed, "")}, texts=False)
    assert {("assertion_dropped", line), ("assertion_removed", line)}.intersection(found)


@pytest.mark.parametrize(
    ("issue", "name"),
    [
        ("- Retry the upload\n- Remove the assertion on the error code", "assertion_removed"),
        ("- Retry the upload\n- Removing the error code from the test of uploads", "assertion_removed"),
        ("- Retry the upload\n- Assert the error code", "assertion_dropped"),
    ],
)
def test_an_assertion_whose_removal_an_issue_asks_for_is_only_suspected(issue: str, name: str) -> None:
    path, (before, removed, _) = "ATest.java", KEPT["ATest.java"]
    change = change_of({path: before}, {path: before.replace(removed, "")}, issue=issue)
    found = [finding.signal for signal in (assertion_dropped, assertion_removed) for finding in signal.findings(change)]
    assert found == [name]


def changed(*edits: tuple[str, str], before: str = BEFORE) -> str:
    for old, new in edits:
        assert old in before
        before = before.replace(old, new)
    return before


def of_losses(found: list[tuple[str, int | None]]) -> list[tuple[str, int | None]]:
    return [one for one in found if one[0].startswith("assertion_")]


def lost(after: str, before: str = BEFORE, *, texts: bool = True) -> list[tuple[str, int | None]]:
    return of_losses(seen({"test_a.py": before}, {"test_a.py": after}, texts=texts))


def test_one_that_leaves_a_value_unread_is_a_fact_although_more_changed() -> None:
    after = changed(("    y = more(x)\n", "    y = more(x, 1)\n"), ("    assert y.b == 2\n", ""))
    assert lost(after) == [("assertion_dropped", -5)]


def test_where_something_else_left_the_test_it_is_suspected() -> None:
    before = changed(("    assert x.c == 3\n", "    assert x.c == 3\n    use(x)\n    use(y)\n"))
    after = changed(("    assert y.b == 2\n", ""), ("    use(x)\n", ""), before=before)
    assert lost(after, before) == [("assertion_removed", -5)]


def test_where_several_were_removed_each_place_is_suspected_once() -> None:
    after = changed(("    assert x.a == 1\n    assert y.b == 2\n", ""), ("    assert x.c == 3\n", "    use(x, y)\n"))
    assert names(lost(after)) == ["assertion_removed"]


def test_where_tests_were_gone_through_one_by_one_no_removal_is_a_fact() -> None:
    after = changed(("    assert y.b == 2\n", ""), ("    assert z == 9\n", ""), before=BEFORE + OTHER)
    assert names(lost(after, BEFORE + OTHER)) == ["assertion_removed", "assertion_removed"]


@pytest.mark.parametrize(
    "after",
    [
        changed(("assert y.b == 2", "assert y.b == 4")),
        changed(("    assert y.b == 2\n", ""), ("    y = more(x)\n", "    y = more(x)\n    assert y.b == 4\n")),
        changed(("    assert y.b == 2\n", ""), ("    y = more(x)\n", "")),
        BEFORE.replace("    assert y.b == 2\n", "    other(x)\n") + OTHER.replace("z == 9", "y.b == 2"),
        OTHER,
        changed(("    assert y.b == 2\n", "    check_all(y)\n    assert y.b == 2\n")),
    ],
    ids=["replaced", "rewritten elsewhere", "subject gone", "moved", "test gone", "kept"],
)
def test_an_assertion_that_was_replaced_moved_or_lost_its_subject_is_not_missed(after: str) -> None:
    assert [one for one in lost(after) if one[0] != "assertion_loosened"] == []


def test_an_assertion_that_another_new_test_repeats_is_suspected_only() -> None:
    after = changed(("    assert y.b == 2\n", "")) + OTHER + OTHER.replace("z == 9", "y.b == 2").replace("_b", "_c")
    assert lost(after, BEFORE + OTHER) == [("assertion_removed", -5)]


def test_an_assertion_about_what_the_code_no_longer_says_is_not_missed() -> None:
    before = {"test_a.py": changed(("y.b == 2", "y['hidden'] == 2")), "a.py": "hidden = 1\n"}
    after = {"test_a.py": changed(("    assert y.b == 2\n", "    ")).replace("    \n", ""), "a.py": "x = 1\n"}
    after["test_a.py"] = BEFORE.replace("    assert y.b == 2\n", "")
    assert of_losses(seen(before, after)) == []


def test_an_assertion_that_asks_less_than_before_is_suspected_where_it_stands_now() -> None:
    assert lost(changed(("assert y.b == 2", "assert y.b is not None"))) == [("assertion_loosened", 5)]


@pytest.mark.parametrize("new", ["assert y.b is not None\n    assert y.d == 5", "assert other is not None"])
def test_an_assertion_beside_a_weaker_one_or_about_something_else_is_not_loosened(new: str) -> None:
    assert names(lost(changed(("assert y.b == 2", new)))) == []


def test_the_opposite_of_what_was_asserted_is_not_less() -> None:
    before = changed(("assert y.b == 2", "assert not y.b"))
    assert lost(changed(("assert not y.b", "assert y.b"), before=before), before) == []


def test_that_nothing_is_thrown_is_less_than_a_value() -> None:
    before = "class ATest {\n  @Test void a() {\n    int x = run();\n    assertEquals(1, x.y());\n  }\n}\n"
    after = before.replace("assertEquals(1, x.y())", "assertDoesNotThrow(() -> x.y())")
    assert ("assertion_loosened", 4) in seen({"ATest.java": before}, {"ATest.java": after})


def test_all_that_a_test_asserted_is_missed_although_it_names_nothing_more() -> None:
    before = "it('a', () => {\n  expect(run()).toBe(1)\n})\n"
    found = seen({"a.test.ts": before}, {"a.test.ts": "it('a', () => {\n})\n"})
    assert ("assertion_dropped", -2) in found


def test_in_a_test_that_a_fragment_does_not_show_it_is_suspected() -> None:
    steps = "".join(f"    step({number})\n" for number in range(9))
    before = f"def test_a():\n{steps}    assert x.a == 1\n    step(x)\n    assert x.b == 2\n"
    assert lost(before.replace("    assert x.a == 1\n", ""), before, texts=False) == [("assertion_removed", -11)]
    weak = before.replace("assert x.a == 1", "assert x.a is not None")
    assert lost(weak, before, texts=False) == [("assertion_loosened", 11)]
    rewritten = before.replace("    assert x.a == 1\n", "    assert x.a is not None\n" + "    y()\n" * 12)
    assert lost(rewritten, before, texts=False) == [("assertion_removed", -11)]


def test_an_assertion_of_a_helper_is_left_alone() -> None:
    before = "def holds(x):\n    assert x == 1\n    assert x != 2\n\n\ndef test_a():\n    holds(1)\n"
    assert lost(before.replace("    assert x != 2\n", ""), before) == []


def test_a_deleted_file_lost_no_assertion() -> None:
    assert of_losses(seen({"test_a.py": BEFORE}, {})) == []


def test_an_assertion_whose_thing_is_asserted_otherwise_now_is_no_fact() -> None:
    before = "def test_a():\n    kind = load()\n    assert kind is not None\n    assert size() == 1\n"
    after = "def test_a():\n    kind = load()\n    assert size() == 1\n    assert names() == [kind, 'b', 'c', 'd', 'e', 'f']\n"
    assert "assertion_dropped" not in names(seen({"test_a.py": before}, {"test_a.py": after}))


JAVA = "class ATest {\n  @Test void a() {\n    Box box = run();\n    %s;\n  }\n}\n"


@pytest.mark.parametrize(
    ("old", "new", "is_less"),
    [
        ("then(box.getSize()).isEqualTo(2)", "then(box.getSize()).isNotNull()", True),
        ("then(box.getSize()).isEqualTo(2)", "then(box.getName()).isNotNull()", False),
        ("then(box.getSize()).isEqualTo(2)", "then(box).isInstanceOf(Object.class)", True),
        ("then(box.getSize().isPresent()).isFalse()", "then(box.getSize()).isNotNull()", False),
    ],
    ids=["the same asked less", "another asked", "any object", "the opposite"],
)
def test_only_what_asks_less_of_the_same_is_loosened(old: str, new: str, *, is_less: bool) -> None:
    found = names(seen({"ATest.java": JAVA % old}, {"ATest.java": JAVA % new}))
    assert ("assertion_loosened" in found) is is_less


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        ("def run(size):\n    return size\n", "assertion_removed"),
        ("def walk(size):\n    return size\n", "assertion_dropped"),
    ],
)
def test_what_a_function_refuses_by_its_new_signature_is_only_suspected(signature: str, expected: str) -> None:
    before = {
        "test_a.py": "def test_a():\n    assert run(None)\n    assert run(1)\n    assert run(2)\n",
        "a.py": signature,
    }
    after = {
        "test_a.py": before["test_a.py"].replace("    assert run(None)\n", ""),
        "a.py": signature.replace("(size)", "(size: int)"),
    }
    assert names(of_losses(seen(before, after))) == [expected]


ACTS = "def test_a():\n    prepare()\n    assert run(1) == 2\n    tidy()\n\n\ndef test_b():\n    prepare()\n    assert run(2) == 4\n    tidy()\n"


def test_an_assertion_that_ran_what_it_asked_is_missed_where_the_file_still_speaks_of_that() -> None:
    assert lost(ACTS.replace("    assert run(1) == 2\n", ""), ACTS) == [("assertion_removed", -3)]
    bound = ACTS.replace("prepare()", "run = load()")
    assert (
        lost(bound.replace("    assert run(1) == 2\n", "").replace("    run = load()\n    tidy", "    tidy"), bound)
        == []
    )


def test_an_assertion_that_went_with_other_lines_may_have_gone_with_what_it_asked() -> None:
    assert lost(ACTS.replace("    prepare()\n    assert run(1) == 2\n", "    x = 1\n"), ACTS) == []


def test_in_a_fragment_an_assertion_that_went_alone_is_missed_whatever_it_names() -> None:
    steps = "".join(f"    step({number})\n" for number in range(9))
    before = f"def test_a():\n{steps}    assert run(1) == other(2)\n{steps}"
    assert lost(before.replace("    assert run(1) == other(2)\n", ""), before, texts=False) == [
        ("assertion_removed", -11)
    ]


@pytest.mark.parametrize(("left", "expected"), [("    self.hidden = 1\n", ["assertion_removed"]), ("", [])])
def test_what_the_code_says_elsewhere_did_not_go_away(left: str, expected: list[str]) -> None:
    code = "class A:\n" + (left or "    pass\n") + "    step()\n" * 9
    before = {
        "test_a.py": changed(("y.b == 2", "y.hidden == 2"), ("y = more(x)", "y = more(x).hidden.y")),
        "a.py": f"{code}    old.hidden = 2\n",
    }
    after = {
        "test_a.py": before["test_a.py"].replace("    assert y.hidden == 2\n", ""),
        "a.py": f"{code}    other = 2\n",
    }
    assert names(of_losses(seen(before, after))) == expected


def test_what_a_double_or_an_error_is_called_is_no_check_beside_a_weak_one() -> None:
    before = "package a\n\nfunc TestA(t *testing.T) {\n\terr := run()\n\tassert.Equal(t, want, err.Error())\n}\n"
    after = before.replace("assert.Equal(t, want, err.Error())", "require.NotPanics(t, func() { _ = err.Error() })")
    assert ("assertion_loosened", 5) in seen({"a_test.go": before}, {"a_test.go": after})


def test_an_assertion_that_named_nothing_is_not_missed() -> None:
    before = ACTS.replace("    assert run(1) == 2\n", "    assert 1 == 2\n")
    assert lost(before.replace("    assert 1 == 2\n", ""), before) == []


RUST = "#[test]\nfn a() {\n    let x = run();\n    more(move || {\n        %s;\n    });\n    assert!(x.b);\n}\n"


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ("let _ = x.len()", [("assertion_loosened", 5)]),
        ("let _ = y.len()", []),
        ("drop(x.len())", []),
    ],
)
def test_a_value_that_was_compared_and_is_thrown_away_now_is_a_fact(new: str, expected: list[tuple[str, int]]) -> None:
    before, after = RUST % "assert_eq!(x.len(), 2)", RUST % new
    found = of_losses(seen({"tests/a.rs": before}, {"tests/a.rs": after}))
    assert [one for one in found if one[0] == "assertion_loosened"] == expected


def test_the_text_of_a_value_is_less_than_the_value() -> None:
    assert lost(changed(("assert y.b == 2", "assert repr(y.b)"))) == [("assertion_loosened", 5)]


MOVED = "def test_c():\n    v = deep()\n    assert v.e == 5\n    v.close()\n"


def test_a_test_that_was_moved_and_asks_less_since_is_a_fact() -> None:
    before, weak = MOVED + "\n\n" + BEFORE + OTHER, MOVED.replace("v.e == 5", "v.e is not None")
    assert lost(f"{BEFORE}{OTHER}\n\n{weak}", before) == [("assertion_loosened", 17)]
    assert lost(f"{BEFORE}{OTHER}\n\n{MOVED}", before) == []


GO_ERRORS = "package a\n\nfunc TestA(t *testing.T) {\n\tx, err := run()\n\trequire.NoError(t, err)\n\tx.More()\n\trequire.Equal(t, 1, x)\n%s}\n"


@pytest.mark.parametrize(
    ("rest", "expected"), [("", [("assertion_removed", -5)]), ("\tuse(err)\n", [("assertion_removed", -5)])]
)
def test_an_error_that_nobody_asks_about_any_more_is_suspected(rest: str, expected: list[tuple[str, int]]) -> None:
    before = GO_ERRORS % rest
    assert (
        of_losses(seen({"a_test.go": before}, {"a_test.go": before.replace("\trequire.NoError(t, err)\n", "")}))
        == expected
    )
    gone = before.replace("\trequire.NoError(t, err)\n", "").replace("x, err :=", "x :=").replace("use(err)", "use(x)")
    assert of_losses(seen({"a_test.go": before}, {"a_test.go": gone})) == []


CALLS = {
    "test_a.py": (
        "def test_a():\n    x = run()\n    check_all(x)\n    use(x)\n    assert x.b == 1\n",
        "    check_all(x)\n",
        -3,
    ),
    "tests/test_b.py": (
        "def test_a():\n    x = run()\n    with pytest.raises(OSError) as found:\n        x.go()\n    x.go(1)\n    assert x.b == 1\n",
        "    with pytest.raises(OSError) as found:\n        x.go()\n",
        -3,
    ),
    "a_test.go": (
        'package a\n\nfunc TestA(t *testing.T) {\n\tx, err := run()\n\tif err != nil {\n\t\tt.Fatalf("got %q", err)\n\t}\n\tuse(x, err)\n}\n',
        '\tif err != nil {\n\t\tt.Fatalf("got %q", err)\n\t}\n',
        -5,
    ),
}


@pytest.mark.parametrize("path", CALLS)
def test_a_call_that_sounds_like_a_check_and_a_look_at_an_error_are_missed_as_well(path: str) -> None:
    before, gone, line = CALLS[path]
    after = before.replace(gone, "")
    assert of_losses(seen({path: before}, {path: after})) == [("assertion_removed", line)]
    assert (
        of_losses(seen({path: before}, {path: before.replace(gone, gone.replace("x", "y").replace("err", "fail"))}))
        == []
    )
    assert of_losses(seen({path: before}, {path: after.replace("x", "y")})) == []
    told = after.replace("func TestA", f"func check(t *testing.T) {{\n{gone}}}\n\nfunc TestA")
    told = told.replace("def test_a", f"def other():\n{gone}\n\ndef test_a")
    assert of_losses(seen({path: before}, {path: told})) == []


@pytest.mark.parametrize(
    "kept", ["    y = check_all(x)\n", "    if check_all(x):\n        pass\n", "    check_all(x)\n    more(x)\n"]
)
def test_what_a_call_like_a_check_is_used_for_or_what_goes_with_it_is_not_missed(kept: str) -> None:
    before = CALLS["test_a.py"][0].replace("    check_all(x)\n", kept)
    assert of_losses(seen({"test_a.py": before}, {"test_a.py": before.replace(kept, "")})) == []


def test_a_call_like_a_check_that_went_with_what_it_was_given_is_not_missed() -> None:
    before = "def test_a():\n    x = run()\n    y = go()\n    check_all(x)\n    use(y)\n    assert y.b == 1\n"
    after = before.replace("    x = run()\n", "").replace("    check_all(x)\n", "")
    assert lost(after, before) == []


def test_a_call_like_a_check_outside_of_any_test_is_left_alone() -> None:
    before = "def prepare(x):\n    check_all(x)\n    use(x)\n\n\n" + BEFORE
    assert lost(before.replace("    check_all(x)\n", ""), before) == []


def test_an_assertion_and_the_call_around_it_that_went_together_are_told_once() -> None:
    held = "    with check_all(x):\n        assert x.c == 2\n"
    before = f"def test_a():\n    x = run()\n{held}    assert x.b == 1\n    x.c()\n"
    assert lost(before.replace(held, ""), before) == [("assertion_removed", -4)]


def test_a_value_thrown_away_is_told_although_it_sounds_like_a_check() -> None:
    before = RUST % "assert_eq!(x.unwrap_err().kind, 2)"
    after = RUST % "let _ = x.unwrap_err().kind"
    assert ("assertion_loosened", 5) in seen({"tests/a.rs": before}, {"tests/a.rs": after})


def test_no_error_asks_as_much_as_nil() -> None:
    before = "package a\n\nfunc TestA(t *testing.T) {\n\tassert.Nil(t, validate(thing))\n}\n"
    after = before.replace("assert.Nil(", "require.NoError(")
    assert seen({"a_test.go": before}, {"a_test.go": after}) == []


@pytest.mark.parametrize("check", ["    assert r.status == 200\n", "    assert ok\n", "    assert self.size == 3\n"])
def test_one_of_several_assertions_is_missed_whatever_its_names(check: str) -> None:
    before = f"def test_a(self):\n    r, ok = run(self.size)\n{check}    assert r.text == 'x' and ok\n"
    found = names(seen({"test_a.py": before}, {"test_a.py": before.replace(check, "")}))
    assert set(found) & {"assertion_dropped", "assertion_removed"}


def test_that_a_step_before_it_failed_stands_in_for_no_check() -> None:
    before = 'package a\n\nfunc TestA(t *testing.T) {\n\tv := load(t)\n\tassert.Equal(t, 1, v.Get("a"))\n}\n'
    after = before.replace(
        "\tv := load(t)\n\tassert.Equal", "\tv, err := load()\n\trequire.NoError(t, err)\n\tassert.Equal"
    )
    rewritten = after.replace('1, v.Get("a")', '1, v.Find("a")')
    assert "assertion_loosened" not in names(seen({"a_test.go": before}, {"a_test.go": rewritten}))
    gone = before.replace('\tassert.Equal(t, 1, v.Get("a"))\n', "\trequire.NoError(t, err)\n")
    assert "assertion_loosened" not in names(seen({"a_test.go": before}, {"a_test.go": gone}))


DISPLAY = """impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.cause)
    }
}
"""
GONE = {
    "rust": ("a.rs", "tests/a.rs", "#[test]\nfn a() {{\n    let e = run();\n    assert!(e.is_user());\n{gone}}}\n"),
    "python": ("a.py", "test_a.py", "def test_a():\n    e = run()\n    assert e.code == 1\n{gone}"),
}
STRING = 'class E(Exception):\n    def __str__(self):\n        return f"{self.kind}: {self.cause}"\n'
MESSAGE = 'def run(path):\n    return Failure("the file was not found", path)\n'
TEXT = "    assert str(e) == 'no such file: user'\n"


@pytest.mark.parametrize(
    ("kind", "before", "after", "gone"),
    [
        (
            "rust",
            DISPLAY,
            DISPLAY.replace('write!(f, "{}: {}", self.kind, self.cause)', "f.write_str(self.kind)"),
            '    assert_eq!(e.to_string(), "task is gone: user code");\n',
        ),
        ("python", STRING, STRING.replace('f"{self.kind}: {self.cause}"', "self.kind"), TEXT),
        ("python", MESSAGE, MESSAGE.replace("the file was not", "file not"), "    assert e.text == 'the file was not found: a'\n"),
    ],
    ids=["rendered in Rust", "rendered in Python", "worded"],
)  # fmt: skip
def test_an_assertion_about_a_text_that_the_change_rewrites_is_no_fact(
    kind: str, before: str, after: str, gone: str
) -> None:
    assert before != after
    assert removed(kind, before, after, gone) == ["assertion_removed"]
    assert removed(kind, before, f"{before}\n\n", gone) == ["assertion_dropped"]


@pytest.mark.parametrize(
    ("before", "after", "gone"),
    [
        (STRING, STRING.replace('f"{self.kind}: {self.cause}"', "self.kind"), "    assert e.args == (1, 2)\n"),
        (STRING, STRING + "x = 1\n", TEXT),
        (MESSAGE, MESSAGE.replace("the file was not", "file not"), TEXT),
        (MESSAGE, MESSAGE.replace("path)", "path, 1)"), "    assert e.text == 'the file was not found: a'\n"),
    ],
    ids=["no text", "another function", "another text", "the text stays"],
)
def test_another_assertion_that_is_removed_beside_it_is_one(before: str, after: str, gone: str) -> None:
    assert removed("python", before, after, gone) == ["assertion_dropped"]


def removed(kind: str, before: str, after: str, gone: str) -> list[str]:
    path, test, text = GONE[kind]
    found = seen({path: before, test: text.format(gone=gone)}, {path: after, test: text.format(gone="")})
    return [name for name, _ in found if name in {"assertion_dropped", "assertion_removed"}]
