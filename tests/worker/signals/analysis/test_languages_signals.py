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
