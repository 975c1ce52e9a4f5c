"""Ways to take the teeth out of one test, given as edits of its lines.

Serves new tests (weak_test) and old ones alike. Invariant: an edit touches no line outside the test.
"""

import re
from collections.abc import Sequence
from random import Random
from typing import Final

from bench.seeding import words
from bench.seeding.code import LIKE_AN_ORACLE, Function, Statement, Tongue
from bench.seeding.equality import Equality, equality
from bench.seeding.sheet import Edit, Sheet

GATES: Final = {
    Tongue.JAVASCRIPT: (
        "if (process.env.STRICT) {",
        "if (process.env.FULL_TESTS === '1') {",
        "if (globalThis.__slow) {",
    ),
    Tongue.GO: ("if testing.Verbose() {", "if !testing.Short() && testing.Verbose() {"),
    Tongue.RUST: ('if std::env::var("STRICT").is_ok() {', 'if option_env!("FULL_TESTS").is_some() {'),
    Tongue.JAVA: ('if (Boolean.getBoolean("strict")) {', 'if (System.getenv("FULL_TESTS") != null) {'),
}
NARROWED: Final = {
    Tongue.PYTHON: (
        re.compile(r"(pytest\.raises\()(?!Exception\b|BaseException\b)[\w.]+.*?\)(?=:| as)"),
        r"\1Exception)",
    ),
    Tongue.JAVASCRIPT: (re.compile(r"(\.toThrow(?:Error)?\().+(\);?)$"), r"\1\2"),
    Tongue.GO: (
        re.compile(r"((?:require|assert)\.)(?:ErrorIs|EqualError|ErrorContains)\(t, ([\w.]+), .+\)$"),
        r"\1Error(t, \2)",
    ),
    Tongue.RUST: (re.compile(r"#\[should_panic\(.*\)\]"), "#[should_panic]"),
    Tongue.JAVA: (re.compile(r"(assertThrows\()(?!Throwable|Exception)\w+\.class"), r"\1Throwable.class"),
}


def equalities(function: Function) -> list[tuple[Statement, Equality]]:
    found = ((one, equality(one, function.tongue)) for one in function.oracles)
    return [(statement, made) for statement, made in found if made is not None]


def removed(oracles: Sequence[Statement], tongue: Tongue) -> list[Edit]:
    """A block of Python may not become empty."""
    filler = {one.first: (f"{one.indent}pass",) for one in oracles if one.is_only and tongue is Tongue.PYTHON}
    return [Edit(one.first, one.last, filler.get(one.first, ())) for one in oracles]


def rest_of(function: Function, edits: Sequence[Edit]) -> list[str]:
    """The lines of the body and the marks above it that the edits leave."""
    gone = {line for edit in edits for line in range(edit.first, edit.last + 1)}
    kept = [*range(function.first, function.line), *range(function.inner_first, function.inner_last + 1)]
    return [function.lines[line - 1] for line in kept if line not in gone and function.lines[line - 1].strip()]


def holds_nothing(function: Function, edits: Sequence[Edit]) -> bool:
    """What is left still does something, and has nothing that could fail on purpose."""
    rest = rest_of(function, edits)
    return len(rest) >= 2 and not any(LIKE_AN_ORACLE.search(line) for line in rest)


def marked_as_skipped(sheet: Sheet, function: Function, draw: Random) -> Edit | None:
    """A skip mark in the language's way, at the test's first line."""
    why = words.chosen(words.WHY, draw)
    match words.family(function.tongue):
        case Tongue.GO:
            line = words.chosen(('t.Skip("{why}")', "t.SkipNow()", 't.Skipf("{why}")'), draw, why=why)
            return Edit(function.inner_first, function.inner_first - 1, (f"{function.indent}{line}",))
        case Tongue.JAVASCRIPT:
            old = sheet.head[function.line - 1]
            shape = words.chosen(("{name}.skip(", "x{name}("), draw, name=r"\1")
            new = re.sub(r"\b(it|test)\(", shape, old, count=1)
            return Edit(function.line, function.line, (new,)) if new != old else None
        case tongue:
            at = function.line if tongue is not Tongue.JAVA else _annotation(function)
            mark = words.chosen(words.SKIPS[tongue], draw, why=why)
            if mark.startswith("@unittest") != ("unittest" in sheet.text) and tongue is Tongue.PYTHON:
                mark = f'@{"unittest.skip" if "unittest" in sheet.text else "pytest.mark.skip"}("{why}")'
            return Edit(at, at - 1, (f"{function.margin}{mark}",))


def _annotation(function: Function) -> int:
    """The line of a Java method's first annotation."""
    for at in range(function.first, function.inner_first):
        if function.lines[at - 1].lstrip().startswith("@"):
            return at
    return function.line


def _tail(function: Function) -> tuple[int, int] | None:
    """From the first top-level statement with an oracle to the end of the body."""
    if not function.oracles or not function.body:
        return None
    at = function.oracles[0].first
    holder = next((one for one in function.body if one.first <= at <= one.last), None)
    return (holder.first, function.body[-1].last) if holder else None


def swallowed(function: Function, draw: Random) -> Edit | None:
    """The assertions stand where their failure is caught."""
    tail = _tail(function)
    shapes = {
        Tongue.PYTHON: (("try:",), ("except {error}:", "    pass")),
        Tongue.JAVASCRIPT: (("try {",), ("} catch {}",)),
        Tongue.JAVA: (("try {",), ("}} catch ({throwable} ignored) {{", "}")),
        Tongue.RUST: (("let _ = std::panic::catch_unwind(|| {",), ("});",)),
    }
    shape = shapes.get(words.family(function.tongue))
    if tail is None or shape is None:
        return None
    error = words.chosen(("Exception", "AssertionError", "BaseException", "(AssertionError, ValueError)"), draw)
    throwable = words.chosen(("Throwable", "AssertionError", "Error"), draw)
    end = tuple(line.replace("{error}", error).replace("{throwable}", throwable) for line in shape[1])
    return _wrapped(function, tail, shape[0], tuple(line.replace("}}", "}").replace("{{", "{") for line in end))


def gated(sheet: Sheet, function: Function, draw: Random) -> Edit | None:
    """The assertions stand behind a condition that holds nowhere."""
    tail = _tail(function)
    if tail is None:
        return None
    if function.tongue is Tongue.PYTHON:
        if not re.search(r"^import os$", sheet.text, re.MULTILINE):
            return None
        gate = words.chosen(('if os.environ.get("STRICT"):', 'if os.getenv("FULL_TESTS"):'), draw)
        return _wrapped(function, tail, (gate,), ())
    return _wrapped(function, tail, (words.chosen(_escaped(GATES[words.family(function.tongue)]), draw),), ("}",))


def _escaped(lines: Sequence[str]) -> list[str]:
    return [line.replace("{", "{{") for line in lines]


def _wrapped(function: Function, tail: tuple[int, int], before: Sequence[str], behind: Sequence[str]) -> Edit | None:
    own = function.lines[tail[0] - 1 : tail[1]]
    if any("'''" in line or '"""' in line or "`" in line for line in own):
        return None
    deeper = [f"{function.step}{line}" if line.strip() else line for line in own]
    outer = [f"{function.indent}{line}" for line in before]
    closing = [f"{function.indent}{line}" for line in behind]
    return Edit(tail[0], tail[1], (*outer, *deeper, *closing))


def left_early(function: Function) -> Edit | None:
    """The test ends before its assertions."""
    tail = _tail(function)
    line = {Tongue.PYTHON: "return", Tongue.GO: "return", Tongue.JAVA: "if (true) return;"}.get(
        function.tongue, "return;"
    )
    return (
        Edit(tail[0], tail[0] - 1, (f"{function.indent}{line}",)) if tail and tail[0] > function.inner_first else None
    )


def broadened(sheet: Sheet, function: Function) -> Edit | None:
    """An expected error of one kind becomes any error."""
    rule, shape = NARROWED[words.family(function.tongue)]
    for at in range(function.first, function.inner_last + 1):
        old = sheet.head[at - 1]
        new = rule.sub(shape, old)
        if new != old:
            return Edit(at, at, (new,))
    return None


def not_awaited(sheet: Sheet, function: Function) -> Edit | None:
    for one in function.oracles if function.tongue.is_script else ():
        if re.match(r"await expect\(", one.text) and re.search(r"\.(?:rejects|resolves)\b", one.text):
            old = sheet.head[one.first - 1]
            return Edit(one.first, one.first, (old.replace("await expect(", "expect(", 1),))
    return None
