"""Assertions of each language and their strength of proof."""

import pytest

from tests.worker.signals.samples import source_of
from worker.signals.analysis import tests as code
from worker.signals.analysis.assertions import Assertion, find_assertions
from worker.signals.analysis.file_roles import Language
from worker.signals.analysis.functions import find_functions
from worker.signals.analysis.proofs import Proof
from worker.signals.analysis.test_pairs import AFTER_EACH_TEST, find_asserting_names
from worker.signals.analysis.tests import has_expecting_mark

NOTHING, SUCCESS, PRESENCE, VALUE = Proof.NOTHING, Proof.SUCCESS, Proof.PRESENCE, Proof.VALUE
WRAPPERS = {
    Language.GO: "package a\nfunc TestA(t *testing.T) {{\n{}\n}}\n",
    Language.RUST: "fn a() {{\n{}\n}}\n",
    Language.JAVA: "class A {{ void a() {{\n{}\n}} }}\n",
    Language.CSHARP: "class A {{ void F() {{ {} }} }}",
    Language.PHP: "<?php\n{}",
    Language.KOTLIN: "fun f() {{ {} }}",
}


def list_assertions(language: Language, text: str) -> list[Assertion]:
    whole = WRAPPERS.get(language, "{}").format(text)
    return list(find_assertions(source_of(whole, language)))


P, J, T = Language.PYTHON, Language.JAVASCRIPT, Language.TYPESCRIPT
G, R, V = Language.GO, Language.RUST, Language.JAVA
RUBY, CSHARP, PHP, KOTLIN = Language.RUBY, Language.CSHARP, Language.PHP, Language.KOTLIN
CHECKS = [
    (G, "if x.y != 1 && x.y == 1 { t.Fatal(x) }", NOTHING, "it is never reached"),
    (G, "if x == 1 && x != 1 { t.Fatal(x) }", NOTHING, "it is never reached"),
    (G, "if x != 1 && y == 1 { t.Fatal(x) }", VALUE, ""),
    (P, "assert True", NOTHING, "always true"),
    (P, "assert (x, 'message')", NOTHING, "a tuple is always true"),
    (P, "assert x == x, 'why'", NOTHING, "compared with itself"),
    (P, "assert x.y == 1", VALUE, ""),
    (P, "assert x", PRESENCE, ""),
    (P, "assert ()", VALUE, ""),
    (P, "mock.assert_called_once", NOTHING, "not called"),
    (P, "mock.assert_called_once()", VALUE, ""),
    (P, "self.assertTrue(True)", NOTHING, "always true"),
    (P, "self.assertEqual(x, x)", NOTHING, "compared with itself"),
    (P, "self.assertEqual(1, 1)", NOTHING, "a literal compared with itself"),
    (P, "self.assertEqual(f(x), 2)", VALUE, ""),
    (P, "self.assertEqual(x)", VALUE, ""),
    (P, "self.assertIsNotNone(x)", PRESENCE, ""),
    (P, "self.assertIsNotNone(1)", NOTHING, "always true"),
    (P, "raise AssertionError", VALUE, ""),
    (J, "throw new AssertionError()", VALUE, ""),
    (J, "expect(x).toBe(1)", VALUE, ""),
    (J, "expect(true).toBe(true)", NOTHING, "always true"),
    (J, "expect(x).toEqual(x)", NOTHING, "compared with itself"),
    (J, "expect(x).not.toBe(x)", VALUE, ""),
    (J, "expect(x === 1 || true).toBe(true)", NOTHING, "always true"),
    (J, "expect(x.is(1)).toBe(true)", VALUE, ""),
    (J, "expect(x).toBeInstanceOf(Object)", PRESENCE, ""),
    (J, "expect(x).toBeDefined()", PRESENCE, ""),
    (J, "expect(1).toBeDefined()", NOTHING, "always true"),
    (J, "expect(undefined).toBeDefined()", PRESENCE, ""),
    (J, "expect(x).not.toBeNull()", PRESENCE, ""),
    (J, "expect(() => x).not.toThrow()", SUCCESS, ""),
    (J, "expect(x.y).toBeTruthy()", PRESENCE, ""),
    (J, "expect(true).toBeTruthy()", NOTHING, "always true"),
    (J, "expect(is(x)).toBeTruthy()", VALUE, ""),
    (J, "expect(x).toBeFalsy", NOTHING, "not called"),
    (J, "expect(x).to.be.true", VALUE, ""),
    (J, "expect(x)", NOTHING, "nothing is expected of it"),
    (J, "expect()", NOTHING, "nothing is expected of it"),
    (J, "const y = expect(x)", VALUE, ""),
    (J, "expect(x).rejects.toThrow()", NOTHING, "not awaited"),
    (J, "await expect(x).rejects.toThrow()", VALUE, ""),
    (J, "assert(true)", NOTHING, "always true"),
    (J, "assert.ok(x)", PRESENCE, ""),
    (J, "assert.equal(x, 1)", VALUE, ""),
    (J, "x.should.equal(1)", VALUE, ""),
    (T, "// @ts-expect-error no\nf()", VALUE, ""),
    (G, "assert.Equal(t, 1, x)", VALUE, ""),
    (G, "assert.Equal(t, x, x)", NOTHING, "compared with itself"),
    (G, "assert.True(t, true)", NOTHING, "always true"),
    (G, "assert.True(t, x)", VALUE, ""),
    (G, "assert.True(t)", VALUE, ""),
    (G, "require.NoError(t, err)", SUCCESS, ""),
    (G, "require.NotNil(t, x)", PRESENCE, ""),
    (G, "if err != nil { t.Fatal(err) }", SUCCESS, ""),
    (G, "if err := f(); err != nil { t.Fatal(err) }", SUCCESS, ""),
    (G, "if err == nil { t.Fatal(1) }", VALUE, ""),
    (G, "if x == nil { t.Error(1) }", PRESENCE, ""),
    (G, "if got != want { t.Errorf(1) }", VALUE, ""),
    (G, "if false { t.Error(1) }", NOTHING, "it is never reached"),
    (G, "if x != 1 && false { t.Error(1) }", NOTHING, "it is never reached"),
    (G, "t.Fatal(1)", VALUE, ""),
    (R, "assert_eq!(a, b);", VALUE, ""),
    (R, "assert_eq!(a, a);", NOTHING, "compared with itself"),
    (R, "assert!(true);", NOTHING, "always true"),
    (R, "assert!(x);", VALUE, ""),
    (R, "assert!(x.is_some());", PRESENCE, ""),
    (R, "assert!();", VALUE, ""),
    (R, "assert_ok!(x);", SUCCESS, ""),
    (R, "assert_some!(x);", PRESENCE, ""),
    (R, "x.f()?;", SUCCESS, ""),
    (R, "x.f().unwrap();", SUCCESS, ""),
    (R, "x.f().unwrap_err();", VALUE, ""),
    (R, 'panic!("x");', VALUE, ""),
    (V, "assertThat(x).isEqualTo(1);", VALUE, ""),
    (V, "assertThat(x).isEqualTo(x);", NOTHING, "compared with itself"),
    (V, "assertThat(x).isNotNull();", PRESENCE, ""),
    (V, "assertThat(x).isNotNull().isEqualTo(1);", VALUE, ""),
    (V, "assertThat(x).hasSize(1).contains(y);", VALUE, ""),
    (V, "assertThat(x);", NOTHING, "nothing is expected of it"),
    (V, "assertThat(x, is(1));", VALUE, ""),
    (V, "assertThat(true).isTrue();", NOTHING, "always true"),
    (V, "assertThat(x).isTrue();", VALUE, ""),
    (V, "assertTrue(true);", NOTHING, "always true"),
    (V, "assertTrue(x);", VALUE, ""),
    (V, "assertNotNull(x);", PRESENCE, ""),
    (V, "assertThatThrownBy(() -> x).hasMessage(1);", VALUE, ""),
    (V, "assertEquals(x, 1);", VALUE, ""),
    (V, "assertDoesNotThrow(() -> x);", SUCCESS, ""),
    (V, "assert x == 1;", VALUE, ""),
    (V, "assertThat(x, is(anything()));", PRESENCE, ""),
    (P, "self.assertGreaterEqual(len(x), 0)", NOTHING, "always true"),
    (RUBY, "expect(x).to eq(1)", VALUE, ""),
    (RUBY, "expect(x).to eq(x)", NOTHING, "compared with itself"),
    (RUBY, "expect(1).to eq 1", NOTHING, "a literal compared with itself"),
    (RUBY, "expect(true).to be true", NOTHING, "always true"),
    (RUBY, "expect(nil).to be_nil", NOTHING, "always true"),
    (RUBY, "expect(x).to be_nil", VALUE, ""),
    (RUBY, "expect(x).to be_truthy", PRESENCE, ""),
    (RUBY, "expect(1).to be_truthy", NOTHING, "always true"),
    (RUBY, "expect(x).not_to be_nil", PRESENCE, ""),
    (RUBY, "expect(x).to_not eq(1)", VALUE, ""),
    (RUBY, "expect { x }.not_to raise_error", SUCCESS, ""),
    (RUBY, "expect { x }.to change(y, :z).by(1)", VALUE, ""),
    (RUBY, "expect(x).to", VALUE, ""),
    (RUBY, "is_expected.to eq 1", VALUE, ""),
    (RUBY, "def f\n  expect(x)\n  y\nend", NOTHING, "nothing is expected of it"),
    (RUBY, "a = expect(x)", VALUE, ""),
    (RUBY, "assert true", NOTHING, "always true"),
    (RUBY, "assert_equal 1, x", VALUE, ""),
    (RUBY, "assert_nothing_raised { x }", SUCCESS, ""),
    (RUBY, "refute false", NOTHING, "always true"),
    (RUBY, "refute x", VALUE, ""),
    (RUBY, "refute_nil x", PRESENCE, ""),
    (RUBY, "x.should == 1", VALUE, ""),
    (RUBY, "x.must_equal 1", VALUE, ""),
    (RUBY, "x.wont_be_nil", PRESENCE, ""),
    (CSHARP, "Assert.Equal(1, x);", VALUE, ""),
    (CSHARP, "Assert.AreEqual(x, x);", NOTHING, "compared with itself"),
    (CSHARP, "Assert.True(true);", NOTHING, "always true"),
    (CSHARP, "Assert.IsTrue(x);", VALUE, ""),
    (CSHARP, "Assert.NotNull(x);", PRESENCE, ""),
    (CSHARP, "Assert.That(x, Is.EqualTo(x));", NOTHING, "compared with itself"),
    (CSHARP, "Assert.That(x, Is.Not.Null);", PRESENCE, ""),
    (CSHARP, "Assert.That(x, Is.True);", VALUE, ""),
    (CSHARP, "Assert.That(true);", NOTHING, "always true"),
    (CSHARP, "Assert.That(f, Throws.Nothing);", SUCCESS, ""),
    (CSHARP, "Assert.That(x, Has.Count.EqualTo(1));", VALUE, ""),
    (CSHARP, "Assert.DoesNotThrow(f);", SUCCESS, ""),
    (CSHARP, "x.Should().Be(1);", VALUE, ""),
    (CSHARP, "x.Should().Be(x);", NOTHING, "compared with itself"),
    (CSHARP, "x.ShouldBe(x);", NOTHING, "compared with itself"),
    (CSHARP, "x.Should().NotBeNull();", PRESENCE, ""),
    (CSHARP, "x.Should().Contain(1);", VALUE, ""),
    (CSHARP, "var a = Assert.Throws<E>(f).Message;", VALUE, ""),
    (PHP, "$this->assertThat(null, $this->isTrue());", VALUE, ""),
    (CSHARP, "mock.Received(1).Send();", VALUE, ""),
    (PHP, "$this->assertSame(1, $x);", VALUE, ""),
    (PHP, "self::assertTrue(true);", NOTHING, "always true"),
    (PHP, "$this->assertEquals($x, $x);", NOTHING, "compared with itself"),
    (PHP, "$this->assertNotNull($x);", PRESENCE, ""),
    (PHP, "$this->expectException(A::class);", VALUE, ""),
    (PHP, "expect($x)->toBe(1);", VALUE, ""),
    (PHP, "expect(1)->toBe(1);", NOTHING, "a literal compared with itself"),
    (PHP, "expect(true)->toBeTrue();", NOTHING, "always true"),
    (PHP, "expect($x)->toBeTrue();", VALUE, ""),
    (PHP, "expect($x)->not->toBeNull();", PRESENCE, ""),
    (PHP, "expect($x)->not->toBe(1);", VALUE, ""),
    (PHP, "expect($x)->toHaveCount(1);", VALUE, ""),
    (KOTLIN, "assertEquals(1, x)", VALUE, ""),
    (KOTLIN, "assertEquals(x, x)", NOTHING, "compared with itself"),
    (KOTLIN, "assertTrue(true)", NOTHING, "always true"),
    (KOTLIN, "assertNotNull(x)", PRESENCE, ""),
    (KOTLIN, "assertThat(x).isEqualTo(x)", NOTHING, "compared with itself"),
    (KOTLIN, "assertThat(x).isEqualTo(1)", VALUE, ""),
    (KOTLIN, "assertFailsWith<E> { f() }", VALUE, ""),
    (KOTLIN, "x shouldBe x", NOTHING, "compared with itself"),
    (KOTLIN, "x.shouldBe(1)", VALUE, ""),
    (KOTLIN, "x shouldNotBe null", PRESENCE, ""),
    (KOTLIN, "x shouldNotBe 1", VALUE, ""),
]


@pytest.mark.parametrize(
    ("language", "text", "proof", "why"), CHECKS, ids=[f"{check[0]}: {check[1]}" for check in CHECKS]
)
def test_assertion_has_its_strength_of_proof(language: Language, text: str, proof: Proof, why: str) -> None:
    assertions = [assertion for assertion in list_assertions(language, text) if not assertion.is_guess]
    assert [(assertion.proof, assertion.weakness) for assertion in assertions] == [(proof, why)]


NO_CHECKS = [
    (P, "x = f()\nprint(x)\nx.y"),
    (P, "x = check(1)\ny = await verify(1)"),
    (J, "f(x); x.y; g().toString"),
    (J, "t.plan(1)"),
    (G, "x := f()\nr.Body.Close()\nlog.Fatal(1)\nx = g(t)\nx = f().value\nt.Run(name, func(t *testing.T) {})"),
    (R, "let x = f(); println!(1);"),
    (G, "assert := assert.New(t)"),
    (T, "type A = typeof b.c"),
    (V, "int x = f(); x.then;"),
    (V, "when(x.y()).thenReturn(1); given(x.y()).willThrow(z);"),
    (RUBY, "a.b = 1\nlet(:x) { 1 }"),
    (RUBY, "it 'works' do\n  f.(x)\nend\n"),
    (RUBY, "Ief .(x)\n"),
    (RUBY, "a.().b\n"),
    (CSHARP, "x.Send(1); Assert.Multiple(a);"),
    (PHP, "$x->send(1);"),
    (KOTLIN, "x.send(1)"),
]


@pytest.mark.parametrize(("language", "text"), NO_CHECKS, ids=[check[1] for check in NO_CHECKS])
def test_working_code_has_no_assertion(language: Language, text: str) -> None:
    assert [assertion.text for assertion in list_assertions(language, text) if assertion.text != "log.Fatal(1)"] == []


GUESSES = [
    (P, "check_that(x)"),
    (P, "with pytest.raises(A):\n    pass"),
    (P, "raise ValueError"),
    (T, "type A = Expect<Equal<B, C>>"),
    (T, "type A = Expect<typeof b>"),
    (J, "screen.getByText('x')"),
    (J, "verifyAll()"),
    (G, 't.Run("x", helper)'),
    (G, "tester.AssertResponse(x)"),
    (G, "c.Something(1)"),
    (G, "s.Require().Something(1)"),
    (G, "s.assert.Something(1)"),
    (R, "x.should_be(1).unwrap();"),
    (V, "verify(x).y();"),
]


@pytest.mark.parametrize(("language", "text"), GUESSES, ids=[text for _, text in GUESSES])
def test_call_with_check_name_is_a_guessed_assertion(language: Language, text: str) -> None:
    (assertion,) = list_assertions(language, text)
    assert (assertion.proof, assertion.is_guess) == (VALUE, True)


HELPERS = """
def outer(x):
    middle(x)

def middle(x):
    inner(x)

def inner(x):
    assert x == 1

def inert(x):
    return make(x)

def tearDown(self):
    assert self.x == 1
"""


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        (P, HELPERS, {"outer", "middle", "inner", AFTER_EACH_TEST}),
        (RUBY, "def a(x)\n  expect(x).to eq(1)\nend\ndef b(x)\n  a(x)\nend\ndef c = 1\n", {"a", "b"}),
        (CSHARP, "class A { void a(int x) { Assert.Equal(1, x); } void b() { a(1); } void c() { } }", {"a", "b"}),
        (
            PHP,
            "<?php class A { function a($x) { $this->assertSame(1, $x); } function b() { $this->a(1); } function c() {} }",
            {"a", "b"},
        ),
        (KOTLIN, "fun a(x: Int) { x shouldBe 1 }\nfun b() { a(1) }\nfun c() {}\n", {"a", "b"}),
    ],
)
def test_caller_of_asserting_helper_asserts(language: Language, text: str, names: set[str]) -> None:
    assert find_asserting_names(find_functions(source_of(text, language))) == names


@pytest.mark.parametrize(
    ("language", "text", "proves"),
    [
        (R, "#[test]\n#[should_panic]\nfn a() {}", True),
        (R, "#[test]\nfn a() {}", False),
        (V, "class A { @Test(expected = X.class) public void a() {} }", True),
        (P, '@pytest.mark.parametrize("expected", [1])\ndef test_a():\n    pass', False),
        (P, "@check_figures_equal()\ndef test_a():\n    pass", True),
    ],
)
def test_mark_can_state_the_expected_failure(language: Language, text: str, *, proves: bool) -> None:
    (test,) = code.find_tests(source_of(text, language))
    assert has_expecting_mark(test) is proves


ROWS = [
    (Language.GO, "x := f()\nif x != 1 {\n\tt.Error(x)\n}\nassert.Equal(t, x, 1)", {3}, ["if x != 1 { t.Error(x) }"]),
    (Language.PYTHON, "assert a\nassert b\ncheck(c)\nm.assert_called_once", {1, 2}, ["assert b", "check(c)"]),
    (Language.PYTHON, "assert a\nm.assert_called_once", {1}, ["m.assert_called_once"]),
]


@pytest.mark.parametrize(("language", "text", "rows", "expected"), ROWS)
def test_assertions_limited_to_rows_include_all_that_begin_there(
    language: Language, text: str, rows: set[int], expected: list[str]
) -> None:
    whole = WRAPPERS.get(language, "{}").format(text)
    assertions = find_assertions(source_of(whole, language), rows=frozenset(rows))
    assert [assertion.text for assertion in assertions if assertion.node.start_point.row in rows] == expected


WORDS = [
    ("expect(x).to.exist", PRESENCE),
    ("expect('a').to.exist", NOTHING),
    ("expect(x).to.be.ok", PRESENCE),
    ("expect(x).to.not.be.undefined", PRESENCE),
    ("expect(x).to.not.be.empty", VALUE),
    ("expect(x === 1).to.be.true", VALUE),
    ("expect(true).to.be.true", NOTHING),
    ("expect(x).to.be.empty", VALUE),
    ("expect(f).to.not.throw()", SUCCESS),
    ("expect(f).to.throw", NOTHING),
    ("expect(x).to.deep.equal", NOTHING),
    ("assert.notStrictEqual(x, null)", PRESENCE),
    ("assert.match(x, /.*/)", PRESENCE),
]


@pytest.mark.parametrize(("text", "proof"), WORDS)
def test_matcher_property_has_its_strength_of_proof(text: str, proof: Proof) -> None:
    (assertion,) = list_assertions(Language.JAVASCRIPT, text)
    assert assertion.proof is proof


@pytest.mark.parametrize(
    ("language", "text", "pair"),
    [(P, "assert x == f(y)", ("x", "f(y)")), (P, "assert x", None), (G, "assert.Equal(t, x, y)", ("x", "y"))],
)
def test_assertion_has_the_pair_it_compares(language: Language, text: str, pair: tuple[str, str] | None) -> None:
    assert [assertion.pair for assertion in list_assertions(language, text)] == [pair]
