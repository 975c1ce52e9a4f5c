"""New tests in which nothing looks at a result."""

import pytest

from tests.worker.signals.made import dossier_of
from tests.worker.signals.weak_test.seen import names, seen, seen_new
from worker.signals.analysis.change import CodeChange
from worker.signals.weak_test import SIGNALS

GO = "package a\n\nfunc TestA(t *testing.T) {{\n{}}}\n"
JAVA = "class ATest {{\n  @Test void a() {{\n{}  }}\n}}\n"

UNREAD = {
    "test_a.py": "def test_a():\n    result = run()\n",
    "tests/test_a.py": "def test_a():\n    result = run()\n    print(result)\n",
    "a.test.ts": "it('a', () => {\n  const result = run()\n})\n",
    "tests/a.rs": "#[test]\nfn a() {\n    let result = run().unwrap();\n}\n",
    "ATest.java": JAVA.format("    String json = run();\n    System.out.println(json);\n"),
    "a_test.go": GO.format("\tgot, err := run()\n\tif err != nil { t.Fatal(err) }\n\twant := make()\n"),
    "b.test.ts": "it('a', () => {\n  const expected = 3\n  run()\n})\n",
    "c.test.ts": "it('a', () => {\n  const result = run('$ExpectType') // the type that is expected\n})\n",
    "tests/test_b.py": "def test_a():\n    with pytest.MonkeyPatch.context():\n        result = run()\n",
}
EMPTY = {
    "test_a.py": 'def test_a():\n    """Says it."""\n',
    "tests/test_a.py": "def test_a():\n    pass\n",
    "a.test.ts": "it('a', () => {\n  // later\n})\n",
    "tests/a.rs": "#[test]\nfn a() {\n}\n",
    "ATest.java": JAVA.format(""),
    "a_test.go": GO.format(""),
}
BARE = {
    "test_a.py": "def test_a():\n    run()\n",
    "a.test.ts": "it('a', () => {\n  run()\n})\n",
    "b.test.ts": "it('a', () => {\n  const a: A = run()\n})\n",
    "tests/a.rs": "#[test]\nfn a() {\n    let _guard = run();\n    run()?;\n}\n",
    "ATest.java": JAVA.format("    run();\n"),
    "a_test.go": GO.format("\tif err := run(); err != nil { t.Fatal(err) }\n\tmore()\n"),
    "b_test.go": GO.format("\tif _, err := run(); err != nil { t.Fatal(err) }\n"),
    "tests/test_b.py": "def test_a():\n    global x\n    x = run()\n",
    "tests/test_c.py": "def test_a(self):\n    self.x = run()\n",
}
ASSERTING = {
    "test_a.py": "def test_a():\n    result = run()\n    assert result == 1\n",
    "tests/test_check.py": "def check_it(x):\n    assert x\n\n\ndef test_a():\n    check_it(1)\n",
    "tests/test_helper.py": "def holds(x):\n    assert x == 1\n\n\ndef test_a():\n    holds(run())\n",
    "tests/test_fixture.py": "@pytest.fixture\ndef ready():\n    yield 1\n    assert x == 1\n\n\ndef test_a(ready):\n    run()\n",
    "tests/test_teardown.py": "class TestA:\n    def tearDown(self):\n        assert self.x == 1\n\n    def test_a(self):\n        run()\n",
    "tests/test_raises.py": "@raises(ValueError)\ndef test_a():\n    run()\n",
    "a.test.ts": "it('a', async () => {\n  const x = await run()\n  expect(x).toBe(1)\n})\n",
    "b.test.ts": "afterEach(() => { expect(errors).toEqual([]) })\nit('a', () => {\n  run()\n})\n",
    "c.test.ts": "it('a', () => {\n  expect(() => run()).not.toThrow()\n})\n",
    "d.test.ts": "it('a', () => {\n  const a = run(); // $ExpectType Widget<string>\n})\n",
    "e.test.ts": "it('a', () => {\n  const a = run('x'); // $ExpectError\n})\n",
    "f.test.ts": "it('a', () => {\n  const a = run(); // $ExpectDeprecation\n  const b = run(1); // $ExpectNoDeprecation\n})\n",
    "g.test.ts": "it('a', () => {\n  // @ts-expect-error\n  const a = run('x')\n})\n",
    "h.test.ts": "it('a', () => {\n  const a = run()\n  expectTypeOf(a).toEqualTypeOf<Widget>()\n})\n",
    "i.test.ts": "it('a', () => {\n  const a = run()\n  assertType<Widget>(a)\n})\n",
    "tests/test_deprecated.py": "def walk(x):\n    return x\n\n\ndef test_b():\n    assert walk(1) == 1\n\n\ndef test_a():\n    with pytest.deprecated_call():\n        walk(2)\n",
    "tests/test_warns.py": "def test_a():\n    with pytest.warns(UserWarning):\n        run()\n",
    "tests/test_logs.py": "class TestA(TestCase):\n    def test_a(self):\n        with self.assertLogs('x'):\n            run()\n",
    "tests/test_warned.py": "class TestA(TestCase):\n    def test_a(self):\n        with self.assertWarns(UserWarning):\n            run()\n",
    "tests/a.rs": "#[test]\n#[should_panic]\nfn a() {\n    let x = run();\n}\n",
    "src/test/ATest.java": JAVA.format("    int x = run();\n    assertEquals(1, x);\n"),
    "a_test.go": GO.format("\tif got := run(); got != 1 { t.Error(got) }\n"),
}


@pytest.mark.parametrize("path", UNREAD)
def test_a_test_that_computes_something_and_never_reads_it_is_a_fact(path: str) -> None:
    assert names(seen_new(path, UNREAD[path])) == ["test_result_unread"]


@pytest.mark.parametrize("path", EMPTY)
def test_a_test_that_does_nothing_is_a_fact(path: str) -> None:
    assert "test_empty" in names(seen_new(path, EMPTY[path]))


@pytest.mark.parametrize("path", BARE)
def test_a_test_that_only_runs_something_is_suspected(path: str) -> None:
    assert names(seen_new(path, BARE[path])) == ["test_without_assertion"]


ENDS = {
    "in one": '\tstart()\n\tif err := run(); err != nil {\n\t\tt.Fatalf("got %v", err)\n\t}\n',
    "in two": "\terr := run()\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n",
    "with a comment": "\tvar err error\n\terr = run()\n\t// all went well\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n",
    "of a subtest": '\tt.Run("b", func(t *testing.T) {\n\t\tif err := run(); err != nil {\n\t\t\tt.Fatal(err)\n\t\t}\n\t})\n',
    "of one that handles an error": "\tfail := run()\n\tif err := fail.err; err != nil {\n\t\tt.Error(err)\n\t}\n",
}


@pytest.mark.parametrize("body", ENDS.values(), ids=ENDS.keys())
def test_a_test_that_ends_with_the_error_that_is_all_its_last_step_returns_asserts_that(body: str) -> None:
    assert "test_without_assertion" not in names(seen_new("a_test.go", GO.format(body)))


def test_where_a_value_comes_with_the_error_or_more_follows_nothing_is_asserted() -> None:
    first = "\tif err := run(); err != nil {\n\t\tt.Fatal(err)\n\t}\n"
    looped = "\tfor range 3 {\n" + first + "\t}\n"
    for body in (first + "\tmore()\n", looped, "\tvar _, err = run()\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n"):
        assert names(seen_new("a_test.go", GO.format(body))) == ["test_without_assertion"]


@pytest.mark.parametrize("path", ASSERTING)
def test_a_test_that_asserts_somehow_is_left_alone(path: str) -> None:
    assert seen_new(path, ASSERTING[path]) == []


def test_what_other_tests_hold_to_account_and_this_one_drops_is_a_fact() -> None:
    text = "def test_a():\n    assert words('a') == []\n\n\ndef test_b():\n    other()\n    words('b')\n"
    assert seen_new("test_a.py", text) == [("test_result_unread", 5)]


def test_a_value_that_a_test_with_assertions_never_reads_is_suspected() -> None:
    text = "def test_a():\n    got = run()\n    other = more()\n    assert other == 1\n"
    assert seen_new("test_a.py", text) == [("test_value_unread", 1)]
    assert seen_new("test_a.py", "@raises(A)\n" + text) == []


def test_the_fields_of_a_class_inside_of_a_test_are_no_values_of_it() -> None:
    text = "def test_a():\n    class A:\n        x = field()\n\n    run(A)\n"
    assert names(seen_new("test_a.py", text)) == ["test_without_assertion"]


def test_what_a_check_returns_and_nobody_reads_is_no_check() -> None:
    text = "def test_a():\n    result = process_error(1)\n    found = verify(1)\n"
    assert names(seen_new("test_a.py", text)) == ["test_result_unread"]


def test_a_test_that_was_emptied_is_a_fact() -> None:
    before = "it('a', () => {\n  expect(run()).toBe(1)\n})\n"
    found = seen({"a.test.ts": before}, {"a.test.ts": "it('a', () => {\n})\n"})
    assert ("test_empty", 1) in found


def test_what_a_fragment_shows_of_a_test_may_do_nothing() -> None:
    before = "def test_a():\n    x = {\n        1: 2,\n    }\n    y = 3\n    z = 4\n    run(x)\n    assert x\n"
    assert seen({"test_a.py": before}, {"test_a.py": before.replace("1: 2", "1: 3")}, texts=False) == []


def test_a_helper_in_another_file_of_the_dossier_is_looked_into() -> None:
    helper = "def holds(x):\n    assert x == 1\n"
    code = "def holds(x):\n    return 1\n"
    test = "def test_a():\n    holds(run())\n"
    assert seen({"tests/helper.py": helper}, {"tests/helper.py": helper, "test_a.py": test}) == []
    assert names(seen({"code.py": code}, {"code.py": code, "test_a.py": test})) == ["test_without_assertion"]
    assert names(seen_new("production.py", test)) == []


def test_a_test_that_lost_all_its_checks_is_looked_at_like_a_new_one() -> None:
    before = "def test_a():\n    result = run()\n    assert result == 1\n    assert result != 2\n"
    found = seen({"test_a.py": before}, {"test_a.py": "def test_a():\n    result = run()\n"})
    assert ("test_result_unread", 1) in found


def test_an_old_test_without_a_check_is_not_what_this_change_did() -> None:
    before = "def test_a():\n    result = run()\n"
    assert seen({"test_a.py": before}, {"test_a.py": before.replace("run()", "run(1)")}) == []


def test_a_test_that_was_only_moved_is_not_new() -> None:
    text = "def test_a():\n    result = run()\n    more(1)\n"
    around = "class TestA:\n" + "".join(f"    {line}\n" for line in text.splitlines())
    assert seen({"test_a.py": text}, {"test_b.py": around}) == []


def test_a_test_made_of_lines_that_stood_elsewhere_is_not_new() -> None:
    lines = "    x = run()\n    more(1)\n"
    assert seen({"a.py": f"def main():\n{lines}"}, {"test_a.py": f"def test_a():\n{lines}"}) == []


def test_a_file_that_a_generator_signed_is_not_looked_at() -> None:
    assert seen_new("test_a.py", "# @generated\n" + UNREAD["test_a.py"]) == []
    assert seen_new("vendor/test_a.py", UNREAD["test_a.py"]) == []
    assert seen_new("tests/fixtures/test_a.py", UNREAD["test_a.py"]) == []


LONG = "def test_a():\n    x = run()\n    assert x == 1\n    b(x)\n    c(x)\n    d(x)\n    e(x)\n    assert y == 1\n"


def test_what_a_fragment_cuts_off_may_still_assert() -> None:
    after = LONG.replace("    assert x == 1\n", "")
    assert names(seen({"test_a.py": LONG}, {"test_a.py": after}, texts=False)) == ["assertion_dropped"]


def test_a_test_at_the_end_of_a_file_is_seen_whole_in_its_hunk() -> None:
    after = f"{LONG}\n\ndef test_new():\n    x = run()\n"
    assert names(seen({"test_a.py": LONG}, {"test_a.py": after}, texts=False)) == ["test_result_unread"]


def test_an_indented_piece_of_a_fragment_may_be_text() -> None:
    text = 'class A:\n    x = make("""\n    a\n    b\n    c\n    d\n    """)\n'
    after = text.replace("    c\n", "    c\n    def test_a():\n        pass\n")
    assert seen({"test_a.py": text}, {"test_a.py": after}, texts=False) == []


KEEPS = {
    "ATest.java": JAVA.format("    seen = given;\n"),
    "test_a.py": "def test_a(self):\n    self.seen = given\n",
}


@pytest.mark.parametrize("path", KEEPS)
def test_a_test_that_sets_a_field_for_the_next_does_something(path: str) -> None:
    assert "test_empty" not in names(seen_new(path, KEEPS[path]))


def test_a_value_that_is_written_to_a_file_is_read() -> None:
    text = JAVA.format("    String yaml = make();\n    Files.write(path, yaml);\n    new Runner(path);\n")
    assert "test_result_unread" not in names(seen_new("ATest.java", text))


def test_a_benchmark_need_not_assert() -> None:
    assert seen_new("test_a.py", "def test_a(benchmark):\n    benchmark(run)\n") == []


def test_a_method_of_a_class_inside_of_a_test_is_no_test() -> None:
    text = "def test_a():\n    class Crew:\n        def test_agent(self):\n            return run()\n    assert Crew().test_agent() == 1\n"
    assert seen_new("test_a.py", text) == []


RUNNING = {
    "does not raise": ("test_a.py", "def test_does_not_raise():\n    run()\n"),
    "accepted": ("test_a.py", "def test_empty_list_is_accepted():\n    value = run([])\n"),
    "a comment": (
        "test_a.py",
        "def test_close():\n    # closing it twice should not raise\n    close()\n    close()\n",
    ),
    "can be built": ("test_a.py", "def test_app_can_be_built():\n    app = build(CONFIG)\n"),
    "can create": ("a.test.ts", "it('can create a client', () => {\n  const client = make(1)\n})\n"),
    "a docstring": ("test_a.py", 'def test_close():\n    """It does not hang."""\n    close()\n'),
    "valid": ("ATest.java", JAVA.format("    parse(FULL);\n").replace("void a", "void validStyle")),
    "allows": (
        "ATest.java",
        JAVA.format("    Thing thing = mock(Thing.class);\n").replace("void a", "void allowsStatic"),
    ),
    "supports": ("a_test.go", "package a\n\nfunc TestSupportsIPv6(t *testing.T) {\n\tgot, _ := run()\n}\n"),
    "skips": ("a.test.ts", "it('skips what is there', async () => {\n  await run()\n})\n"),
    "unwrapped": ("src/a.rs", '#[test]\nfn accepts_a_dash() {\n    parse("-").unwrap();\n}\n'),
    "retried": ("test_a.py", "def test_upload_is_retried():\n    get.side_effect = [OSError, 1]\n    upload()\n"),
    "an extension of its class": (
        "ATest.java",
        "@ExtendWith(Aborting.class)\n" + JAVA.format("").replace("void a", "void skippedBefore"),
    ),
    "an extension": (
        "ATest.java",
        JAVA.format("")
        .replace("@Test", "@Test\n  @ExtendWith(Aborting.class)")
        .replace("void a", "void skippedBefore"),
    ),
    "an annotation of the repository": ("ATest.java", JAVA.format("").replace("@Test", "@CompilerTest")),
    "an annotation of its class": ("ATest.java", '@WithSources("a/A.java")\n' + JAVA.format("")),
}


@pytest.mark.parametrize(("path", "text"), RUNNING.values(), ids=RUNNING.keys())
def test_a_test_that_is_named_after_coming_through_proves_it_by_running(path: str, text: str) -> None:
    assert not {"test_without_assertion", "test_result_unread", "test_empty"}.intersection(names(seen_new(path, text)))


@pytest.mark.parametrize("mark", ["@Test", '@Test @DisplayName("adds")', "@Test @Timeout(3)", "@org.junit.Test"])
def test_an_empty_test_with_plain_annotations_is_a_fact(mark: str) -> None:
    assert names(seen_new("ATest.java", JAVA.format("").replace("@Test", mark))) == ["test_empty"]


@pytest.mark.parametrize("given", ["{ body: expect.stringMatching(/a/) }", "{ expectedModules: 'a' }"])
def test_what_is_handed_over_to_be_compared_asserts(given: str) -> None:
    text = f"it('a', async () => {{\n  mockRequest({given})\n  const result = await run('publish')\n}})\n"
    assert "test_result_unread" not in names(seen_new("a.test.ts", text))


def test_a_test_that_ends_in_an_empty_check_is_told_by_that_check_alone() -> None:
    text = JAVA.format("    Saver saver = build();\n    assertTrue(true);\n")
    assert names(seen_new("ATest.java", text)) == ["assertion_always_true"]


def test_a_name_alone_proves_nothing() -> None:
    assert names(seen_new("test_a.py", "def test_upload_retries():\n    upload()\n")) == ["test_without_assertion"]
    assert "assertion_always_true" in names(seen_new("test_a.py", "def test_accepts():\n    run()\n    assert True\n"))
    before = "def test_accepts_a_dash():\n    assert parse('-') == 1\n"
    after = before.replace("assert parse('-') == 1", "parse('-')")
    assert "test_without_assertion" in names(seen({"test_a.py": before}, {"test_a.py": after}))


def test_a_value_of_a_block_that_only_another_block_reads_is_unread() -> None:
    block = "  {\n    const result = run(%s)\n%s  }\n"
    checked, left = "    expect(result).toBe(1)\n", "    expect(state()).toBe(1)\n"
    text = "it('a', () => {\n" + block % (1, left) + block % (2, checked) + "})\n"
    assert seen_new("a.test.ts", text) == [("test_value_unread", 1)]
    assert seen_new("a.test.ts", text.replace(left, checked)) == []
    again = "def test_a():\n    if x:\n        result = run()\n    else:\n        result = 2\n    assert result\n    assert y == 1\n"
    assert seen_new("test_a.py", again) == []


@pytest.mark.parametrize(
    ("line", "is_told"),
    [
        ("let _ = &x[..3];", True),
        ("let _ = x.name;", True),
        ('let _ = x.value_of("hex");', True),
        ("let _ = x.err.kind();", True),
        ("let _ = x.send(1);", False),
        ("let _ = x.ready.await;", False),
        ("let _ = start();", False),
    ],
)
def test_a_value_that_a_new_test_in_rust_names_and_throws_away_is_told(line: str, *, is_told: bool) -> None:
    text = f"#[test]\nfn a() {{\n    let x = run();\n    {line}\n    assert_eq!(x.b, 1);\n}}\n"
    assert (("test_value_unread", 4) in seen_new("tests/a.rs", text)) is is_told


STARTS = [
    "@SpringBootTest\nclass ATest {\n  @Test void contextLoads() {\n  }\n}\n",
    "@QuarkusIntegrationTest\nclass ATest {\n  @Test void starts() { /* no more */ }\n}\n",
    "@ContextConfiguration(classes = A.class)\nclass ATest {\n  @Test void contextLoads() {}\n}\n",
    "@RunWith(SpringRunner.class)\nclass ATest {\n  @Test public void contextLoads() {}\n}\n",
]


@pytest.mark.parametrize("text", STARTS)
def test_an_empty_test_for_which_a_framework_starts_the_application_does_something(text: str) -> None:
    assert "test_empty" not in names(seen_new("ATest.java", text))


MADE = {
    "test_a.py": "def test_a():\n    client = api.Client('x')\n",
    "a.test.ts": "it('a', () => {\n  const client = new Client('x')\n})\n",
    "tests/a.rs": "#[test]\nfn a() {\n    let client = api::Client::new(1);\n}\n",
    "tests/b.rs": "#[test]\nfn a() {\n    let client = Client { x: run() };\n}\n",
    "ATest.java": JAVA.format("    Client client = new Client(1);\n"),
    "a_test.go": GO.format("\tclient := api.NewClient(1)\n"),
    "b_test.go": GO.format("\tre := api.MustCompile(1)\n"),
    "src/test/BTest.java": JAVA.format('    Gauge gauge = registry.get("size").gauge();\n'),
    "src/test/CTest.java": JAVA.format("    User user = users.byId(1).orElseThrow();\n"),
    "src/test/DTest.java": JAVA.format("    new Client(1);\n"),
}
COMPUTED = {
    "ATest.java": JAVA.format("    String json = new Client(1).send();\n"),
    "a_test.go": GO.format("\tgot := api.Render(1)\n"),
    "test_a.py": "def test_a():\n    reply = client.get('x')\n",
    "tests/a.rs": "#[test]\nfn a() {\n    let got = Client::new(1).send();\n}\n",
}


@pytest.mark.parametrize("path", MADE)
def test_a_test_that_only_makes_or_looks_up_a_thing_is_suspected(path: str) -> None:
    assert names(seen_new(path, MADE[path])) == ["test_without_assertion"]


@pytest.mark.parametrize("path", COMPUTED)
def test_what_a_thing_that_was_made_returns_is_a_value(path: str) -> None:
    assert names(seen_new(path, COMPUTED[path])) == ["test_result_unread"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("started_app", "test_without_assertion"),
        ("monkeypatch", "test_empty"),
        ("self", "test_empty"),
        ("tmp_path: Path", "test_empty"),
    ],
)
def test_an_empty_test_that_takes_a_fixture_of_the_repository_is_suspected(given: str, told: str) -> None:
    assert names(seen_new("test_a.py", f'def test_a({given}):\n    """It starts."""\n')) == [told]


@pytest.mark.parametrize(
    ("title", "is_told"),
    [("Add a CLI with test stub", False), ("Add skeletons for tests", False), ("Test the stub", True), ("Add", True)],
)
def test_an_empty_test_that_the_title_calls_a_stub_is_suspected(title: str, *, is_told: bool) -> None:
    change = CodeChange(dossier_of({}, {"test_a.py": EMPTY["test_a.py"]}, title=title))
    found = [one.name for one in SIGNALS if list(one.findings(change))]
    assert ("test_empty" in found) is is_told
    assert ("test_without_assertion" in found) is not is_told


def test_an_empty_test_beside_one_that_only_throws_tries_a_runner() -> None:
    empty, failing = "test('a', () => {});\n", "test('b', () => {\n  throw new Error('b');\n});\n"
    assert names(seen_new("a.test.js", empty + failing)) == ["test_without_assertion"]
    assert names(seen_new("a.test.js", empty)) == ["test_empty"]


def test_a_call_that_an_older_test_of_the_file_ends_with_is_asked_to_run() -> None:
    older = "def test_a():\n    assert digest(1) == digest(1)\n\n\ndef test_b():\n    digest(other())\n"
    new = "\n\ndef test_c():\n    digest(mixed())\n"
    assert names(seen({"test_a.py": older}, {"test_a.py": older + new})) == ["test_without_assertion"]
    checked = older.replace("    digest(other())", "    assert other()")
    assert names(seen({"test_a.py": checked}, {"test_a.py": checked + new})) == ["test_result_unread"]


def test_an_empty_test_is_a_fact_whatever_its_parameters_are_filled_with() -> None:
    text = "@pytest.mark.parametrize('size', [1, 2])\ndef test_a(size):\n    ...\n"
    assert "test_empty" in names(seen_new("test_a.py", text))


@pytest.mark.parametrize(("given", "is_told"), [("testError, ", False), ("", True), ("{timeout: 5}, ", True)])
def test_what_a_macro_is_called_with_is_no_test(given: str, *, is_told: bool) -> None:
    assert ("test_empty" in names(seen_new("a.test.ts", f"test('a', {given}() => {{}})\n"))) is is_told


def test_a_function_of_a_test_that_nobody_calls_computes_nothing() -> None:
    text = "it('a', () => {\n  expect(size(1)).toBe(1)\n})\nit('b', () => {\n  function check(x: Day) {\n    size(x)\n  }\n})\n"
    assert "test_result_unread" not in names(seen_new("a.test.ts", text))


def test_a_renamed_test_that_a_fragment_shows_up_to_its_comments_is_not_empty() -> None:
    rest = "".join(f"    # and {n}\n" for n in range(6))
    before = f"x = 1\n\n\ndef test_labled():\n{rest}    assert run() == 1\n"
    assert seen({"test_a.py": before}, {"test_a.py": before.replace("labled", "labeled")}, texts=False) == []


def test_an_empty_test_is_a_fact_where_nothing_is_started_and_where_it_was_emptied() -> None:
    emptied = "@SpringBootTest\nclass ATest {\n  @Test void a() {%s}\n}\n"
    assert "test_empty" in names(seen_new("ATest.java", '@Tag("a")\nclass ATest {\n  @Test void a() {}\n}\n'))
    assert "test_empty" in names(
        seen({"ATest.java": emptied % " assertEquals(run(), 1); "}, {"ATest.java": emptied % " "})
    )


@pytest.mark.parametrize(
    ("path", "beside", "name", "is_fact"),
    [
        ("test/cases/a/index.js", "test/cases/a/webpack.config.js", "keeps the page", False),
        ("test/cases/a/index.js", "test/cases/a/page.html", "keeps the page", True),
        ("test/cases/a/index.js", "b.js", "should compile", False),
        ("test/cases/a/index.js", "b.js", "should build without errors", False),
        ("test/cases/a/index.js", "b.js", "should load", False),
        ("test/cases/a/index.js", "b.js", "should load the user", True),
        ("test/cases/a/index.js", "b.js", "builds", True),
        ("test/a.test.js", "test/test.config.js", "keeps the page", True),
    ],
)
def test_an_empty_test_that_something_else_may_check_is_only_suspected(
    path: str, beside: str, name: str, *, is_fact: bool
) -> None:
    found = names(seen({}, {path: f"it('{name}', () => {{}})\n", beside: "x = 1\n"}))
    assert ("test_empty" in found) is is_fact
    assert ("test_without_assertion" in found) is not is_fact
