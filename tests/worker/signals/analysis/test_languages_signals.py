"""What the signals see in Ruby, C#, PHP and Kotlin: each told and left alone, and none of it a fact."""

import pytest

from tests.worker.signals.made import RUBRIC, change_of, dossier_of
from worker.signals.analysis.file_roles import MORE_LANGUAGES, language_of
from worker.signals.heuristic_opinion import form_opinion
from worker.signals.registry import SIGNALS

BASE = {
    "rb": "class Cart\n  def count\n    rows.size\n  end\nend\n",
    "cs": "class Cart {\n    int Count() { return rows.Count; }\n}\n",
    "php": "<?php\nclass Cart {\n    function count() { return size($this->rows); }\n}\n",
    "kt": "class Cart {\n    fun count() = rows.size\n}\n",
}
CODE = {"rb": "lib/cart.rb", "cs": "src/Cart.cs", "php": "src/Cart.php", "kt": "src/main/Cart.kt"}
TEST = {"rb": "spec/cart_spec.rb", "cs": "test/CartTests.cs", "php": "tests/CartTest.php", "kt": "src/test/CartTest.kt"}


def told(path: str, before: str | None, after: str, *, texts: bool = True) -> list[str]:
    old = {path: before} if before is not None else {}
    change = change_of(old, {path: after}, texts=texts)
    findings = [finding for signal in SIGNALS for finding in signal.findings(change)]
    assert not any(finding.fact for finding in findings if language_of(finding.path or "") in MORE_LANGUAGES)
    return [finding.signal for finding in findings]


def put(ending: str, lines: str) -> str:
    """The class with these lines behind its first one."""
    head, _, rest = BASE[ending].partition("{\n" if ending != "rb" else "Cart\n")
    return f"{head}{'{' if ending != 'rb' else 'Cart'}\n{lines}\n{rest}"


IN_CODE = {
    "ruby stub, module": ("rb", "stub_body", "  end\nend\ndef total(rows)\n  raise NotImplementedError\nend\nclass More\n  def more\n    1\n  end\n  if true"),
    "ruby stub": ("rb", "stub_suspected", "  def total(rows)\n    raise NotImplementedError, 'subtotal is missing'\n  end"),
    "ruby stub, later": ("rb", "stub_body", "  def total(rows)\n    raise NotImplementedError, 'not yet implemented'\n  end"),
    "ruby stub, told": ("rb", "stub_body", "  def total(rows)\n    raise 'not implemented yet'\n  end"),
    "ruby plan": ("rb", "stub_body", "  def total(rows)\n    # TODO: implement\n  end"),
    "c# stub": ("cs", "stub_body", "    int Total(int a) { throw new NotImplementedException(); }"),
    "c# property": ("cs", "stub_body", "    int Total => throw new NotImplementedException();"),
    "c# virtual": ("cs", "stub_suspected", "    public virtual int Total(int a) { throw new NotImplementedException(); }"),
    "php stub": ("php", "stub_body", "    function total($a) { throw new \\LogicException('Not implemented'); }"),
    "php by name": ("php", "stub_body", "    function total($a) { throw new NotImplementedException(); }"),
    "kotlin stub": ("kt", "stub_body", "    fun total(a: Int): Int = TODO()"),
    "kotlin, thrown": ("kt", "stub_body", '    fun total(a: Int): Int { throw NotImplementedError("later") }'),
    "kotlin open": ("kt", "stub_suspected", "    open fun total(a: Int): Int = TODO()"),
    "ruby debugger": ("rb", "debugger_left", "  def total\n    binding.pry\n    rows.sum\n  end"),
    "c# debugger": ("cs", "debugger_left", "    int Total() {\n        Debugger.Break();\n        return rows.Sum();\n    }"),
    "php debugger": ("php", "debugger_left", "    function total() {\n        dd($this->rows);\n        return sum($this->rows);\n    }"),
    "ruby output": ("rb", "debug_output", "  def total\n    puts rows\n    rows.sum\n  end"),
    "c# output": ("cs", "debug_output", "    int Total() {\n        Console.WriteLine(rows);\n        return rows.Sum();\n    }"),
    "php output": ("php", "debug_output", "    function total() {\n        var_dump($rows);\n        return sum($this->rows);\n    }"),
    "kotlin output": ("kt", "debug_output", "    fun total(): Int {\n        println(rows)\n        return rows.sum()\n    }"),
    "ruby comments": ("rb", "commented_out_code", "  # total = rows.sum\n  # return total\n  # notify(total)\n"),
    "c# comments": ("cs", "commented_out_code", "    // var total = rows.Sum();\n    // Notify(total);\n    // return total;"),
    "c# branch": ("cs", "branch_empty", "    int Total(int a) {\n        if (a > 1) {\n        }\n        return rows.Sum();\n    }"),
    "php branch": ("php", "branch_empty", "    function total($a) {\n        if ($a > 1) {\n        }\n        return sum($this->rows);\n    }"),
    "kotlin branch": ("kt", "branch_empty", "    fun total(a: Int): Int {\n        if (a > 1) {\n        }\n        return rows.sum()\n    }"),
    "conflict": ("php", "conflict_marker", "<<<<<<< HEAD\n    // a\n=======\n    // b\n>>>>>>> branch"),
    "c# private": ("cs", "function_uncalled", "    private int Total(int a) { return rows.Sum(a); }"),
    "ruby private": ("rb", "function_uncalled_suspected", "  private def total(a)\n    rows.sum(a)\n  end"),
    "kotlin private, described": ("kt", "function_uncalled", "    /** Adds a row. */\n    private fun more(a: Int) = rows.add(a)"),
    "kotlin private, empty": ("kt", "body_does_nothing", "    private fun total() { }\n    fun all() = total()"),
    "kotlin open, empty": ("kt", "body_empty_suspected", "    /** Adds up what the rows say, and rounds it up to cents. */\n    open fun total() { }"),
    "c# commented": ("cs", "body_does_nothing", "    private int Total(int a) {\n        // return rows.Sum(a);\n    }\n    int All() { return Total(1); }"),
}  # fmt: skip


@pytest.mark.parametrize(("ending", "signal", "lines"), IN_CODE.values(), ids=IN_CODE.keys())
def test_what_is_unfinished_in_code_is_told(ending: str, signal: str, lines: str) -> None:
    assert signal in told(CODE[ending], BASE[ending], put(ending, lines))


FINE = {
    "ruby refuses": ("rb", "  def total(rows)\n    raise ArgumentError, 'rows must not be empty'\n  end"),
    "c# refuses": ("cs", '    int Total(int a) { throw new NotSupportedException("read-only"); }'),
    "php refuses": ("php", "    function total($a) { throw new \\LogicException('Cannot add to a frozen cart'); }"),
    "kotlin refuses": ("kt", '    fun total(a: Int): Int = error("use sum instead")'),
    "c# interface": ("cs", "    interface Totals { int Total(int a); }"),
    "c# abstract": ("cs", "    public abstract int Total(int a);"),
    "ruby works": ("rb", "  def total(rows)\n    rows.sum\n  end"),
    "php works": ("php", "    function total($a) { return sum($this->rows, $a); }"),
    "kotlin works": ("kt", "    fun total(a: Int) = rows.sum() + a"),
    "ruby prose": ("rb", "  # Adds up what the rows hold.\n  # The last one counts twice.\n  # Nothing is rounded."),
    "kotlin else": ("kt", "    fun total(a: Int) = if (a > 1) { rows.sum() } else { a }"),
}  # fmt: skip
UNFINISHED = {"stub_body", "stub_suspected", "debugger_left", "debug_output", "commented_out_code", "branch_empty", "body_does_nothing", "body_empty_suspected"}  # fmt: skip


@pytest.mark.parametrize(("ending", "lines"), FINE.values(), ids=FINE.keys())
def test_what_works_or_refuses_on_purpose_is_left_alone(ending: str, lines: str) -> None:
    assert UNFINISHED.isdisjoint(told(CODE[ending], BASE[ending], put(ending, lines)))


@pytest.mark.parametrize(
    ("ending", "lines"),
    [
        ("rb", "  private def method_missing(name)\n    rows.send(name)\n  end"),
        ("php", "    private function __clone() { $this->rows = copy($this->rows); }"),
        ("cs", "    private void OnLoaded(int a) { rows.Add(a); }"),
        ("rb", "  # Adds a row.\n  def more(a)\n    rows.add(a)\n  end"),
        ("kt", "    /** Adds a row. */\n    fun more(a: Int) = rows.add(a)"),
        ("cs", "    /// <summary>Adds a row.</summary>\n    public int More(int a) { return rows.Add(a); }"),
    ],
)
def test_what_is_called_by_its_name_is_not_uncalled(ending: str, lines: str) -> None:
    assert {"function_uncalled", "function_uncalled_suspected"}.isdisjoint(
        told(CODE[ending], BASE[ending], put(ending, lines))
    )


SUITE = {
    "rb": ("RSpec.describe Cart do\n{}end\n", '  it "adds" do\n    expect(Cart.new.total).to eq(3)\n  end\n'),
    "cs": ("public class CartTests {{\n{}}}\n", "    [Fact]\n    public void Adds() {\n        Assert.Equal(3, new Cart().Total());\n    }\n"),
    "php": ("<?php\nclass CartTest extends TestCase {{\n{}}}\n", "    public function testAdds() {\n        $this->assertSame(3, (new Cart())->total());\n    }\n"),
    "kt": ("class CartTest {{\n{}}}\n", "    @Test\n    fun adds() {\n        assertEquals(3, Cart().total())\n    }\n"),
}  # fmt: skip
NEW = {
    "ruby, nothing": ("rb", "test_empty", '  it "more" do\n  end\n'),
    "ruby, unread": ("rb", "test_result_unread", '  it "more" do\n    sum = Cart.new.total\n  end\n'),
    "php, unasserted": ("php", "test_without_assertion", "    public function testMore() {\n        (new Cart())->total();\n    }\n"),
    "c#, unasserted": ("cs", "test_without_assertion", "    [Fact]\n    public void More() {\n        new Cart().Total();\n    }\n"),
    "kotlin, unasserted": ("kt", "test_without_assertion", "    @Test\n    fun more() {\n        Cart().total()\n    }\n"),
    "ruby, true": ("rb", "assertion_always_true", '  it "more" do\n    Cart.new.total\n    expect(true).to be(true)\n  end\n'),
    "c#, true": ("cs", "assertion_always_true", "    [Fact]\n    public void More() {\n        new Cart().Total();\n        Assert.True(true);\n    }\n"),
    "php, itself": ("php", "assertion_always_true", "    public function testMore() {\n        $a = (new Cart())->total();\n        $this->assertSame($a, $a);\n    }\n"),
    "kotlin, itself": ("kt", "assertion_always_true", "    @Test\n    fun more() {\n        val a = Cart().total()\n        assertEquals(a, a)\n    }\n"),
    "ruby, skipped": ("rb", "new_test_skipped", '  xit "more" do\n    expect(Cart.new.total).to eq(3)\n  end\n'),
    "ruby, skips": ("rb", "new_test_skipped", '  it "more" do\n    skip "later"\n    expect(Cart.new.total).to eq(3)\n  end\n'),
    "c#, skipped": ("cs", "new_test_skipped", '    [Fact(Skip = "later")]\n    public void More() {\n        Assert.Equal(3, new Cart().Total());\n    }\n'),
    "php, skips": ("php", "new_test_skipped", "    public function testMore() {\n        $this->markTestSkipped('later');\n        $this->assertSame(3, (new Cart())->total());\n    }\n"),
    "kotlin, skipped": ("kt", "new_test_skipped", "    @Disabled\n    @Test\n    fun more() {\n        assertEquals(3, Cart().total())\n    }\n"),
    "c#, swallowed": ("cs", "failure_swallowed", "    [Fact]\n    public void More() {\n        try {\n            Assert.Equal(3, new Cart().Total());\n        } catch (Exception e) { }\n    }\n"),
    "php, swallowed": ("php", "failure_swallowed", "    public function testMore() {\n        try {\n            $this->assertSame(3, (new Cart())->total());\n        } catch (\\Throwable $e) { }\n    }\n"),
    "kotlin, swallowed": ("kt", "failure_swallowed", "    @Test\n    fun more() {\n        try {\n            assertEquals(3, Cart().total())\n        } catch (e: Throwable) { }\n    }\n"),
    "ruby, only": ("rb", "test_only", '  fit "more" do\n    expect(Cart.new.total).to eq(4)\n  end\n'),
    "ruby, unreached": ("rb", "assertion_unreached", '  it "more" do\n    return\n    expect(Cart.new.total).to eq(4)\n  end\n'),
    "kotlin, on a condition": ("kt", "assertion_conditional", "    @Test\n    fun more() {\n        if (fast) {\n            assertEquals(3, Cart().total())\n        }\n    }\n"),
}  # fmt: skip


@pytest.mark.parametrize(("ending", "signal", "test"), NEW.values(), ids=NEW.keys())
def test_a_new_test_that_proves_nothing_is_told(ending: str, signal: str, test: str) -> None:
    frame, old = SUITE[ending]
    assert signal in told(TEST[ending], frame.format(old), frame.format(old + test))


SOUND = {
    "ruby": ("rb", '  it "more" do\n    return if slow\n    expect(Cart.new.total).to eq(4)\n  end\n'),
    "ruby, material": ("rb", '  it "more" do\n    group = RSpec.describe { it("inner") { } }\n    expect(group.run).to be(true)\n  end\n  let(:group) { RSpec.describe { it("inner") { } } }\n'),
    "c#": ("cs", "    [SkippableFact]\n    public void More() {\n        Skip.If(slow);\n        Assert.Equal(4, new Cart().Total());\n    }\n"),
    "c#, a mark expects it": ("cs", "    [TestCase(1, ExpectedResult = 4)]\n    public int More(int a) {\n        return new Cart().Total(a);\n    }\n"),
    "c#, about coming through": ("cs", "    [Fact]\n    public void MoreDoesNotThrow() {\n        new Cart().Total();\n    }\n"),
    "c#, a benchmark": ("cs", "    [Fact]\n    public void More() {\n        BenchmarkRunner.Run<Cart>();\n    }\n"),
    "c#, for a test tool": ("cs", "    private class Inner {\n        [Test]\n        public void More() {\n            new Cart().Total();\n        }\n    }\n"),
    "php": ("php", "    public function testMore() {\n        $this->expectException(Gone::class);\n        (new Cart())->total();\n    }\n"),
    "kotlin": ("kt", "    @Test\n    fun more() {\n        if (fast) { assertEquals(3, Cart().total()) } else { assertEquals(4, Cart().total()) }\n    }\n"),
    "kotlin, thrown": ("kt", "    @Test\n    fun more() {\n        assertFailsWith<Gone> { Cart().total() }\n    }\n"),
}  # fmt: skip


@pytest.mark.parametrize(("ending", "test"), SOUND.values(), ids=SOUND.keys())
def test_a_new_test_that_may_fail_is_left_alone(ending: str, test: str) -> None:
    frame, old = SUITE[ending]
    assert told(TEST[ending], frame.format(old), frame.format(old + test)) == []


OFF = {
    "ruby": ("rb", "test_disabled", '  it "adds" do', '  xit "adds" do'),
    "ruby, skips": ("rb", "test_disabled", '  it "adds" do', '  it "adds" do\n    skip'),
    "c#": ("cs", "test_disabled", "    [Fact]", '    [Fact(Skip = "slow")]'),
    "c#, skips": ("cs", "test_disabled", "Adds() {", 'Adds() {\n        Assert.Ignore("slow");'),
    "php": ("php", "test_disabled", "testAdds() {", "testAdds() {\n        $this->markTestSkipped('slow');"),
    "kotlin": ("kt", "test_disabled", "    @Test", "    @Disabled\n    @Test"),
    "ruby, hidden": ("rb", "test_hidden", '  it "adds" do', '  # it "adds" do'),
    "c#, hidden": ("cs", "test_hidden", "    [Fact]\n", ""),
    "php, hidden": ("php", "test_hidden", "testAdds()", "noTestAdds()"),
    "c#, less": ("cs", "assertion_loosened", "Assert.Equal(3, new Cart().Total())", "Assert.NotNull(new Cart().Total())"),
    "php, less": ("php", "assertion_loosened", "assertSame(3, (new Cart())->total())", "assertNotNull((new Cart())->total())"),
}  # fmt: skip


@pytest.mark.parametrize(("ending", "signal", "old", "new"), OFF.values(), ids=OFF.keys())
def test_an_existing_test_that_is_switched_off_or_loosened_is_told(
    ending: str, signal: str, old: str, new: str
) -> None:
    frame, test = SUITE[ending]
    before = frame.format(test + test.replace("dds", "ll").replace("3", "4"))
    assert signal in told(TEST[ending], before, before.replace(old, new, 1))


SHOWN = {
    "ruby": ("rb", '  it "adds" do', '  xit "adds" do'),
    "c#": ("cs", "    [Fact]", "    [Fact]\n    [Ignore]"),
    "php": ("php", "testAdds() {", "testAdds() {\n        $this->markTestSkipped('slow');"),
    "kotlin": ("kt", "    @Test", "    @Disabled\n    @Test"),
}


@pytest.mark.parametrize(("ending", "old", "new"), SHOWN.values(), ids=SHOWN.keys())
def test_what_is_switched_off_is_told_from_the_diff_alone(ending: str, old: str, new: str) -> None:
    frame, test = SUITE[ending]
    before = frame.format(test)
    assert "test_disabled" in told(TEST[ending], before, before.replace(old, new, 1), texts=False)


def test_what_was_null_and_is_there_now_is_no_loosening() -> None:
    before = "public class CartTests {\n    [Fact]\n    public void Adds() {\n        cart.Rows.Should().BeNull();\n    }\n}\n"
    assert "assertion_loosened" not in told(TEST["cs"], before, before.replace("BeNull", "NotBeNull"))


DELETED = (
    "class CartTest < Minitest::Test\n  def test_adds\n    cart.add 1\n    assert_equal 1, cart.total\n  end\n{}end\n"
)


def test_a_deleted_test_of_ruby_names_its_code_without_brackets() -> None:
    more = "  def test_total\n    assert_equal 3, basket.total\n  end\n"
    assert "test_deleted" not in told("test/cart_test.rb", None, DELETED.format(more))
    before, after = {"test/cart_test.rb": DELETED.format(more)}, {"test/cart_test.rb": DELETED.format("")}
    code = {"lib/a.rb": "basket = 1\n"}, {"lib/a.rb": "basket = 2\n"}
    names = [one.signal for signal in SIGNALS for one in signal.findings(change_of(before | code[0], after | code[1]))]
    assert "test_deleted_alone" not in names


LITERALS = {
    "rb": "def f(x)\n  if x == 'seven'\n    return 'eleven'\n  end\n  g(x)\nend\n",
    "cs": 'class A {\n    string F(string x) {\n        if (x == "seven") { return "eleven"; }\n        return G(x);\n    }\n}\n',
    "php": "<?php\nfunction f($x) {\n    if ($x === 'seven') { return 'eleven'; }\n    return g($x);\n}\n",
    "kt": 'fun f(x: String): String {\n    if (x == "seven") { return "eleven" }\n    return g(x)\n}\n',
}


@pytest.mark.parametrize("ending", LITERALS)
def test_production_code_that_answers_a_test_by_its_input_is_looked_at(ending: str) -> None:
    after = {
        CODE[ending]: LITERALS[ending],
        TEST[ending]: "check(f(\"seven\"), \"eleven\")\ncheck(f('seven'), 'eleven')\n",
    }
    names = [one.signal for signal in SIGNALS for one in signal.findings(change_of({}, after))]
    assert ("branch_on_test_input" in names) is (ending != "php")


IMPORTS = {
    "kotlin": ("kt", "import shop.Row\nimport shop.Cell as Box\nimport shop.plus\nimport shop.all.*\n", 2),
    "php": ("php", "<?php\nuse Shop\\Row;\nuse Shop\\{Cell, Box};\n", 1),
}


@pytest.mark.parametrize(("ending", "imports", "count"), IMPORTS.values(), ids=IMPORTS.keys())
def test_imports_that_nothing_uses_are_told(ending: str, imports: str, count: int) -> None:
    body = BASE[ending].removeprefix("<?php\n")
    assert told(CODE[ending], BASE[ending], imports + body).count("import_unused") == count
    used = body.replace("rows", "Row") + "// Box\n"
    assert "import_unused" not in told(CODE[ending], BASE[ending], imports + used)


def test_nothing_in_these_languages_rejects_and_no_change_of_them_is_safe() -> None:
    stub = put("kt", "    fun total(a: Int): Int = TODO()")
    opinion = form_opinion(dossier_of({CODE["kt"]: BASE["kt"]}, {CODE["kt"]: stub}), RUBRIC)
    assert (opinion.findings[0].signal, opinion.findings[0].fact, opinion.safe) == ("stub_body", False, None)
    words = dossier_of({"a.rb": "# Odl.\n"}, {"a.rb": "# Old.\n"}, title="Fix a typo in a comment")
    assert form_opinion(words, RUBRIC).safe is None
