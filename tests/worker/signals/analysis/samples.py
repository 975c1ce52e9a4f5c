"""A text with functions, tests and look-alikes in each language."""

from typing import Final

from worker.signals.analysis.file_roles import Language

PYTHON = """
import pytest

@pytest.mark.slow
def test_plain():
    def test_inner():
        pass
    assert True


class TestBox:
    async def test_method(self):
        assert 1

    def helper(self):
        pass


@pytest.fixture
def test_data():
    return 1
"""
SCRIPT = """
describe('outer', () => {
  describe('inner', () => {
    it('works', () => { expect(1).toBe(1) })
  })
  test.each([1])('of %s', async (x) => expect(x).toBe(1))
  it.skip(`later`, function () {})
  it('wrapped', fakeAsync(() => { tick() }))
  it('announced')
  it('elsewhere', helper)
  test.describe('no test', () => {})
  other('no test', () => {})
  xit(name, () => {})
})
Deno.test('deno', () => {})
a().b('no test', () => {})
it.a.b.c.d.e('no test', () => {})
test.each.only.skip.concurrent.serial.fails('too far', () => {})
(() => it)()('no test', () => {})
"""
GO = """package a

func TestWith(t *testing.T, f func(t *testing.T)) {
}

func TestPlain(t *testing.T) {
	t.Run("sub", func(t *testing.T) { t.Run("subsub", func(t *testing.T) {}) })
	t.Run("named", helper)
	f()()
	s.Other("x", func() {})
	Run(func() {})
}

func (s *Suite) TestMethod() {}

func TestMain(m *testing.M) {}

func Testify(t *testing.T) {}

func TestNoTest(x int) {}

func declared()

func BenchmarkX(b *testing.B) {
	b.Run("no test", func(b *testing.B) {})
}

var _ = It("of ginkgo", func() {})
"""
RUST = """
#[test]
fn plain() {}

mod inner {
    /// Says it.
    #[tokio::test]
    async fn asynchronous() {}
}

#[cfg(test)]
fn helper() {}
"""
JAVA = """
class ATest {
  @Test public void plain() {}
  @ParameterizedTest void parameterized(int x) {}
  void helper() {}
  ATest() {}
}
class Old extends TestCase {
  public void testOld() {}
  public int testNumber() { return 1; }
  public void other() {}
}
@Test
class OfTestNg {
  public void marked() {}
  public void helped(int x) {}
  public static void main(String[] args) {}
}
"""
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
TEXTS: Final = {
    Language.PYTHON: PYTHON,
    Language.JAVASCRIPT: SCRIPT,
    Language.GO: GO,
    Language.RUST: RUST,
    Language.JAVA: JAVA,
    Language.RUBY: RUBY,
    Language.CSHARP: CSHARP,
    Language.PHP: PHP,
    Language.KOTLIN: KOTLIN,
}
