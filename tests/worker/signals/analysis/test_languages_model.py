"""Functions, chains of calls, tests and checks in Ruby, C#, PHP and Kotlin."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.signals.analysis import tests as code
from worker.signals.analysis.assertions import Assertion, find_assertions
from worker.signals.analysis.call_chains import find_call_chains
from worker.signals.analysis.change import Source
from worker.signals.analysis.file_roles import MORE_LANGUAGES, FileRole, Language, role_of
from worker.signals.analysis.functions import FunctionScope, find_functions
from worker.signals.analysis.proofs import Proof
from worker.signals.analysis.syntax import begins_in_text, parse
from worker.signals.analysis.test_pairs import find_asserting_names

NOTHING, SUCCESS, PRESENCE, VALUE = Proof.NOTHING, Proof.SUCCESS, Proof.PRESENCE, Proof.VALUE
R, C, P, K = Language.RUBY, Language.CSHARP, Language.PHP, Language.KOTLIN

RUBY = """
module Shop
  class Cart < Base
    # Counts.
    def count; end

    def self.make(a) = new(a)

    private def total
      raise NotImplementedError
    end

    if RUBY_VERSION > "3"
      def named; 1 end
    end
  end
  concern do
    def hidden; 2 end
  end
end

RSpec.describe Cart do
  describe "total" do
    it "adds", :slow do
      expect(cart.total).to eq(3)
    end
    it { is_expected.to be_empty }
    xit("waits") { expect(1).to eq(1) }
    it "is announced"
    other.it("is no test") { 1 }
    let(:cart) { 1 }
  end
end

class CartTest < Minitest::Test
  def test_total
    assert_equal 3, cart.total
  end
  def test_helper(cart)
    cart
  end
  test "rails" do |one|
    assert one
  end
  test "empty" do
  end
end
"""
CSHARP = """
namespace Shop;

public interface ICart { int Count(); }

/// Counts.
public class Cart : Base {
    public Cart() { }
    [Obsolete] public int Count() { return 1; }
    int Half() => 1;
    public int Size => throw new NotImplementedException();
    public int Plain => 3;
    public int Held { get; set; } = 4;
    public abstract int Total();
    void Outer() { int Inner() { return 1; } Inner(); }
}

public class CartTests {
    [Fact(Skip = "slow")] public async Task Adds() { await Assert.ThrowsAsync<Exception>(() => cart.Total()); }
    [TestCase(1)]
    [TestCase(2)]
    public void Counts(int n) { Assert.That(n, Is.EqualTo(2)); }
    [SetUp] public void Before() { }
}
"""
PHP = """<?php
namespace Shop;

interface Counting { function count(); }

class CartTest extends TestCase {
    public function testTotal(): void { $this->assertSame(3, $cart->total()); }
    /** @test */
    public function it_adds() { self::assertTrue($cart->ok()); }
    #[Test]
    public function adds() { Assert::assertCount(1, [1]); }
    private function testHelper() { }
    public function helper() { }
}

it('works', function () {
    expect($cart)->toBe(3);
});
test('later', fn () => expect(1)->toBe(1))->skip('slow');
test('announced');
other('no', function () { });
$runs('no', function () { });
"""
KOTLIN = """
package shop

interface Counting { fun count(): Int; fun more() { } }

class Cart : Counting {
    override fun count() = 1
    companion object { fun make() { } }
    @Test
    fun `adds up`() { assertEquals(3, cart.total()) }
    @ParameterizedTest fun counts(n: Int) = runTest { assertTrue(n > 1) }
}

class CartSpec : FunSpec({
    test("adds") { cart.total() shouldBe 3 }
    context("empty") { xtest("waits") { cart shouldBe null } }
    "plain" { cart.shouldNotBeNull() }
    other("no") { }
    test("announced")
    (f)("no") { }
})
"""
TEXTS = {R: RUBY, C: CSHARP, P: PHP, K: KOTLIN}


def source(language: Language, text: str) -> Source:
    return Source(text, 1, is_whole=True, language=language)


@pytest.mark.parametrize(
    ("language", "named"),
    [
        (R, [("count", 0, "type"), ("make", 1, "type"), ("total", 1, "type"), ("named", 1, "type"), ("hidden", 1, "type"), ("test_total", 1, "type"), ("test_helper", 1, "type")]),
        (C, [("Cart", 0, "type"), ("Count", 1, "type"), ("Half", 1, "type"), ("Size", 1, "type"), ("Outer", 2, "type"), ("Inner", 1, "function"), ("Adds", 1, "type"), ("Counts", 1, "type"), ("Before", 0, "type")]),
        (P, [("testTotal", 1, "type"), ("it_adds", 1, "type"), ("adds", 1, "type"), ("testHelper", 0, "type"), ("helper", 0, "type")]),
        (K, [("more", 0, "type"), ("count", 1, "type"), ("make", 0, "type"), ("adds up", 1, "type"), ("counts", 1, "type")]),
    ],
)  # fmt: skip
def test_functions_with_a_body_are_found(language: Language, named: list[tuple[str, int, str]]) -> None:
    found = find_functions(source(language, TEXTS[language]))
    assert [(one.name, len(one.statements), str(one.scope)) for one in found] == named


def test_what_stands_before_a_function_belongs_to_it() -> None:
    ruby, csharp, php, kotlin = (
        {one.name: one for one in find_functions(source(at, TEXTS[at]))} for at in (R, C, P, K)
    )
    assert (ruby["count"].nodes_above != (), ruby["total"].attributes) == (True, "private")
    assert csharp["Count"].attributes == "[Obsolete] public"
    assert php["adds"].attributes == "#[Test] public"
    assert kotlin["count"].attributes == "override"


def test_a_method_in_a_branch_or_a_block_is_one_of_several() -> None:
    found = find_functions(source(R, "if old\n  def f; 1 end\nend\nClass.new do\n  def g; 2 end\nend\ndef h; 3 end\n"))
    assert [one.scope for one in found] == [FunctionScope.BRANCH, FunctionScope.BRANCH, FunctionScope.MODULE]


@pytest.mark.parametrize(
    ("language", "keys"),
    [
        (R, [("CartTest", "test_total"), ("Cart", "total", "adds"), ("Cart", "total", "it { is_expected.to be_empty }"), ("Cart", "total", "waits"), ("CartTest", "rails"), ("CartTest", "empty")]),
        (C, [("CartTests", "Adds"), ("CartTests", "Counts")]),
        (P, [("CartTest", "testTotal"), ("CartTest", "it_adds"), ("CartTest", "adds"), ("works",), ("later",)]),
        (K, [("Cart", "adds up"), ("Cart", "counts"), ("CartSpec", "adds"), ("CartSpec", "empty", "waits"), ("CartSpec", "plain")]),
    ],
)  # fmt: skip
def test_tests_are_found_by_the_customs_of_their_frameworks(language: Language, keys: list[tuple[str, ...]]) -> None:
    assert [test.key for test in code.find_tests(source(language, TEXTS[language]))] == keys


def test_the_marks_of_a_test_say_how_it_is_run() -> None:
    marks = {test.name: test.marks for at in (R, C, P, K) for test in code.find_tests(source(at, TEXTS[at]))}
    assert marks["waits"] == "xtest"
    assert marks["adds"] == "test"
    assert marks["later"] == "test ->skip('slow')"
    assert marks["Adds"] == '[Fact(Skip = "slow")] public async'
    assert "@test" in marks["it_adds"]


def test_kotlin_without_a_spec_has_no_tests_that_are_calls() -> None:
    assert code.find_tests(source(K, 'fun f() { test("a") { } }\n')) == ()


CHAINS = [
    (R, "expect(a&.b).to eq 1", ["expect to", "a b", "eq"]),
    (R, "a.(1)\n", ["a.(1)"]),
    (C, "class A { void F() { a?.B(1).C<int>(2); d!.E(); G<int>(); (h).I(); } }", ["a B C", "d E", "G", "h I"]),
    (K, "fun f() { val x = a.b().c }", ["a b c"]),
    (P, "<?php $a->b(1)?->c(2); A::b(); \\A\\f(3); $g(4); $a->b->c();", ["$a b c", "A b", "f", "$g", "$a b c"]),
    (K, "fun f() { a?.b(1)!!.c { d() }; x shouldBe 1; assertFailsWith<E> { g() }; a < b; a > { 1 } }",
     ["a b c", "d", "x shouldBe", "assertFailsWith", "g"]),
]  # fmt: skip


@pytest.mark.parametrize(("language", "text", "names"), CHAINS)
def test_a_chain_of_calls_is_read_link_by_link(language: Language, text: str, names: list[str]) -> None:
    found = [" ".join(one.names) for one in find_call_chains(source(language, text))]
    assert found == names


def test_of_some_rows_only_the_chains_that_begin_there_are_read() -> None:
    assert [one.names for one in find_call_chains(source(R, "a.b\nc.d\n"), rows=frozenset({1}))] == [("c", "d")]


CHECKS = [
    (R, "expect(x).to eq(1)", VALUE, ""),
    (R, "expect(x).to eq(x)", NOTHING, "compared with itself"),
    (R, "expect(1).to eq 1", NOTHING, "a literal compared with itself"),
    (R, "expect(true).to be true", NOTHING, "always true"),
    (R, "expect(nil).to be_nil", NOTHING, "always true"),
    (R, "expect(x).to be_nil", VALUE, ""),
    (R, "expect(x).to be_truthy", PRESENCE, ""),
    (R, "expect(1).to be_truthy", NOTHING, "always true"),
    (R, "expect(x).not_to be_nil", PRESENCE, ""),
    (R, "expect(x).to_not eq(1)", VALUE, ""),
    (R, "expect { x }.not_to raise_error", SUCCESS, ""),
    (R, "expect { x }.to change(y, :z).by(1)", VALUE, ""),
    (R, "expect(x).to", VALUE, ""),
    (R, "is_expected.to eq 1", VALUE, ""),
    (R, "def f\n  expect(x)\n  y\nend", NOTHING, "nothing is expected of it"),
    (R, "a = expect(x)", VALUE, ""),
    (R, "assert true", NOTHING, "always true"),
    (R, "assert_equal 1, x", VALUE, ""),
    (R, "assert_nothing_raised { x }", SUCCESS, ""),
    (R, "refute false", NOTHING, "always true"),
    (R, "refute x", VALUE, ""),
    (R, "refute_nil x", PRESENCE, ""),
    (R, "x.should == 1", VALUE, ""),
    (R, "x.must_equal 1", VALUE, ""),
    (R, "x.wont_be_nil", PRESENCE, ""),
    (C, "Assert.Equal(1, x);", VALUE, ""),
    (C, "Assert.AreEqual(x, x);", NOTHING, "compared with itself"),
    (C, "Assert.True(true);", NOTHING, "always true"),
    (C, "Assert.IsTrue(x);", VALUE, ""),
    (C, "Assert.NotNull(x);", PRESENCE, ""),
    (C, "Assert.That(x, Is.EqualTo(x));", NOTHING, "compared with itself"),
    (C, "Assert.That(x, Is.Not.Null);", PRESENCE, ""),
    (C, "Assert.That(x, Is.True);", VALUE, ""),
    (C, "Assert.That(true);", NOTHING, "always true"),
    (C, "Assert.That(f, Throws.Nothing);", SUCCESS, ""),
    (C, "Assert.That(x, Has.Count.EqualTo(1));", VALUE, ""),
    (C, "Assert.DoesNotThrow(f);", SUCCESS, ""),
    (C, "x.Should().Be(1);", VALUE, ""),
    (C, "x.Should().Be(x);", NOTHING, "compared with itself"),
    (C, "x.ShouldBe(x);", NOTHING, "compared with itself"),
    (C, "x.Should().NotBeNull();", PRESENCE, ""),
    (C, "x.Should().Contain(1);", VALUE, ""),
    (C, "var a = Assert.Throws<E>(f).Message;", VALUE, ""),
    (P, "$this->assertThat(null, $this->isTrue());", VALUE, ""),
    (C, "mock.Received(1).Send();", VALUE, ""),
    (P, "$this->assertSame(1, $x);", VALUE, ""),
    (P, "self::assertTrue(true);", NOTHING, "always true"),
    (P, "$this->assertEquals($x, $x);", NOTHING, "compared with itself"),
    (P, "$this->assertNotNull($x);", PRESENCE, ""),
    (P, "$this->expectException(A::class);", VALUE, ""),
    (P, "expect($x)->toBe(1);", VALUE, ""),
    (P, "expect(1)->toBe(1);", NOTHING, "a literal compared with itself"),
    (P, "expect(true)->toBeTrue();", NOTHING, "always true"),
    (P, "expect($x)->toBeTrue();", VALUE, ""),
    (P, "expect($x)->not->toBeNull();", PRESENCE, ""),
    (P, "expect($x)->not->toBe(1);", VALUE, ""),
    (P, "expect($x)->toHaveCount(1);", VALUE, ""),
    (K, "assertEquals(1, x)", VALUE, ""),
    (K, "assertEquals(x, x)", NOTHING, "compared with itself"),
    (K, "assertTrue(true)", NOTHING, "always true"),
    (K, "assertNotNull(x)", PRESENCE, ""),
    (K, "assertThat(x).isEqualTo(x)", NOTHING, "compared with itself"),
    (K, "assertThat(x).isEqualTo(1)", VALUE, ""),
    (K, "assertFailsWith<E> { f() }", VALUE, ""),
    (K, "x shouldBe x", NOTHING, "compared with itself"),
    (K, "x.shouldBe(1)", VALUE, ""),
    (K, "x shouldNotBe null", PRESENCE, ""),
    (K, "x shouldNotBe 1", VALUE, ""),
]
NO_CHECKS = [
    (R, "a.b = 1\nlet(:x) { 1 }"),
    (C, "x.Send(1); Assert.Multiple(a);"),
    (P, "$x->send(1);"),
    (K, "x.send(1)"),
]
AROUND = {C: "class A {{ void F() {{ {} }} }}", P: "<?php\n{}", K: "fun f() {{ {} }}"}


def oracles(language: Language, text: str) -> list[Assertion]:
    whole = AROUND.get(language, "{}").format(text)
    return [one for one in find_assertions(source(language, whole)) if not one.is_guess]


@pytest.mark.parametrize(("language", "text", "proof", "why"), CHECKS)
def test_a_check_proves_what_it_can_find_out(language: Language, text: str, proof: Proof, why: str) -> None:
    (found,) = oracles(language, text)
    assert (found.proof, found.weakness) == (proof, why)


@pytest.mark.parametrize(("language", "text"), NO_CHECKS)
def test_what_only_does_something_is_no_check(language: Language, text: str) -> None:
    assert oracles(language, text) == []


HELPERS = {
    R: "def holds(x)\n  expect(x).to eq(1)\nend\ndef runs(x)\n  holds(x)\nend\ndef makes = 1\n",
    C: "class A { void holds(int x) { Assert.Equal(1, x); } void runs() { holds(1); } void makes() { } }",
    P: "<?php class A { function holds($x) { $this->assertSame(1, $x); } function runs() { $this->holds(1); } function makes() {} }",
    K: "fun holds(x: Int) { x shouldBe 1 }\nfun runs() { holds(1) }\nfun makes() {}\n",
}


@pytest.mark.parametrize("language", HELPERS)
def test_who_calls_a_helper_that_checks_checks(language: Language) -> None:
    assert find_asserting_names(find_functions(source(language, HELPERS[language]))) == {"holds", "runs"}


@pytest.mark.parametrize(
    ("language", "text", "row", "column"),
    [
        (R, "x = <<~TEXT\n  inside\nTEXT\n", 1, 2),
        (R, "=begin\ninside\n=end\n", 1, 0),
        (R, "x = 1\n__END__\ninside\n", 2, 0),
        (C, 'var x = """\n  inside\n  """;\n', 1, 2),
        (C, 'var x = @"\ninside";\n', 1, 0),
        (P, "<?php\n$x = <<<EOT\ninside\nEOT;\n", 2, 0),
        (P, "<?php\n$x = <<<'EOT'\ninside\nEOT;\n", 2, 0),
        (K, 'val x = """\ninside\n"""\n', 1, 0),
    ],
)
def test_what_stands_in_a_text_is_no_code(language: Language, text: str, row: int, column: int) -> None:
    assert begins_in_text(parse(text, language), row, column)
    assert not begins_in_text(parse("\n" + text, language), 1, 0) or text.startswith("=")


@settings(max_examples=settings().max_examples // 4, deadline=None)
@given(
    st.sampled_from(sorted(MORE_LANGUAGES)),
    st.integers(0, 1_300),
    st.integers(0, 60),
    st.sampled_from(["", "{", "end\n", '"', "<<<A\n", "`"]),
)
def test_broken_syntax_is_read_as_far_as_it_goes(language: Language, at: int, cut: int, put: str) -> None:
    text = TEXTS[language][:at] + put + TEXTS[language][at + cut :]
    broken = source(language, text)
    lines = text.count("\n") + 1
    for function in find_functions(broken):
        assert 1 <= function.first_line <= function.last_line <= lines
    for test in code.find_tests(broken):
        assert 1 <= test.first_line <= test.last_line <= lines
        assert all(one.text for one in find_assertions(broken, test.body))


@pytest.mark.parametrize("code", ["it 'works' do\n  f.(x)\nend\n", "Ief .(x)\n", "a.().b\n"])
def test_a_call_without_a_name_checks_nothing(code: str) -> None:
    assert list(find_assertions(source(R, code))) == []


ROLES = [
    ("spec/models/cart_spec.rb", FileRole.TEST),
    ("test/cart_test.rb", FileRole.TEST),
    ("lib/spec_helper.rb", FileRole.TEST),
    ("features/step_definitions/cart.rb", FileRole.TEST),
    ("lib/cart.rb", FileRole.PRODUCTION),
    ("sorbet/cart.rb", FileRole.FOREIGN),
    ("src/Shop.Tests/Cart.cs", FileRole.TEST),
    ("src/Shop.UnitTests/Cart.cs", FileRole.TEST),
    ("src/Shop/CartTests.cs", FileRole.TEST),
    ("src/Shop/CartFacts.cs", FileRole.TEST),
    ("src/Shop/Cart.cs", FileRole.PRODUCTION),
    ("src/Shop/Contest/Cart.cs", FileRole.PRODUCTION),
    ("src/Shop/obj/Cart.cs", FileRole.FOREIGN),
    ("src/Shop/Form.Designer.cs", FileRole.FOREIGN),
    ("src/Symfony/Tests/Cart.php", FileRole.TEST),
    ("tests/Pest.php", FileRole.TEST),
    ("src/CartTest.php", FileRole.TEST),
    ("src/Cart.php", FileRole.PRODUCTION),
    ("src/test/kotlin/Cart.kt", FileRole.TEST),
    ("shop/src/jvmTest/kotlin/Cart.kt", FileRole.TEST),
    ("src/main/kotlin/CartTest.kt", FileRole.TEST),
    ("src/main/kotlin/Cart.kt", FileRole.PRODUCTION),
    ("src/main/kotlin/latest/Cart.kt", FileRole.PRODUCTION),
]


@pytest.mark.parametrize(("path", "role"), ROLES)
def test_a_path_says_what_its_file_is_for(path: str, role: FileRole) -> None:
    assert role_of(path) is role
