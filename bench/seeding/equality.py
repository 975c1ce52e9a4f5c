"""An assertion that two values are equal, taken apart and written again.

Reads one statement at a time. Invariant: `got` and `want` are texts that stand in the statement.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bench.seeding.code import Statement, Tongue

OPEN, CLOSE, QUOTES = "([{", ")]}", "\"'`"
STRING: Final = re.compile(r"\"[^\"\\]*\"|'[^'\\]*'")
WORDS: Final = re.compile(r"\b(?:true|false|True|False|None|null|nil)\b")
LITERAL: Final = re.compile(r"[\d\s\[\]{}(),.:+-]*\d[\d\s\[\]{}(),.:+-]*|\[\]|\{\}|\(\)")


@dataclass(frozen=True, slots=True)
class Equality:
    """`shape` is the statement with `{got}` and `{want}` in it; `style` tells the library."""

    got: str
    want: str
    style: str
    tongue: Tongue
    shape: str
    block: str = ""

    def written(self, got: str, want: str) -> str:
        return self.shape.replace("{got}", got).replace("{want}", want)


SHAPES: Final = {
    Tongue.PYTHON: (
        ("assert", re.compile(r"assert (?P<got>[^=!<>]+) == (?P<want>[^=!<>,]+)")),
        ("unittest", re.compile(r"self\.assertEquals?\((?P<args>.+)\)")),
    ),
    Tongue.JAVASCRIPT: (
        ("expect", re.compile(r"expect\((?P<got>.+)\)\.(?:toBe|toEqual|toStrictEqual)\((?P<want>.+)\);?")),
        ("t", re.compile(r"t\.(?:equal|same|is|deepEqual|strictEqual|deepStrictEqual|strictSame)\((?P<args>.+)\);?")),
        ("assert", re.compile(r"assert\.(?:equal|deepEqual|strictEqual|deepStrictEqual)\((?P<args>.+)\);?")),
    ),
    Tongue.GO: (
        ("testify", re.compile(r"(?:require|assert)\.Equal\(t, (?P<args>.+)\)")),
        ("if", re.compile(r"if (?P<got>[\w.()\[\]\"]+) != (?P<want>[\w.()\[\]\"-]+) \{(?P<block>\n(?:.*\n)*.*)")),
    ),
    Tongue.RUST: (("macro", re.compile(r"assert_eq!\((?P<args>.+)\);?")),),
    Tongue.JAVA: (
        ("assertj", re.compile(r"assertThat\((?P<got>.+)\)\.isEqualTo\((?P<want>.+)\);")),
        ("junit", re.compile(r"(?:Assert(?:ions)?\.)?assertEquals\((?P<args>.+)\);")),
    ),
}
EXPECTED_FIRST: Final = {"testify", "junit"}


def equality(statement: Statement, tongue: Tongue) -> Equality | None:
    """None for anything but an assertion of one line (in Go: a branch) that compares two values."""
    words = statement.text if statement.kind == "if_statement" else " ".join(statement.text.split())
    is_long = statement.first != statement.last and statement.kind != "if_statement"
    if is_long or "{got}" in words or "{want}" in words or "wantErr" in words or "err != nil" in words:
        return None
    for style, rule in SHAPES[Tongue.JAVASCRIPT if tongue.is_script else tongue]:
        found = rule.fullmatch(words)
        if found is not None:
            return _taken_apart(words, found, style, tongue)
    return None


def _taken_apart(words: str, found: re.Match[str], style: str, tongue: Tongue) -> Equality | None:
    named = found.groupdict()
    if "args" not in named:
        got, want = found["got"], found["want"]
        if not (_is_balanced(got) and _is_balanced(want)):
            return None
        start, end = found.span("got")
        begin, stop = found.span("want")
        shape = f"{words[:start]}{{got}}{words[end:begin]}{{want}}{words[stop:]}"
        return Equality(got.strip(), want.strip(), style, tongue, shape, named.get("block") or "")
    parts = split(found["args"])
    if len(parts) < 2:
        return None
    swapped = style in EXPECTED_FIRST
    got, want = (parts[1], parts[0]) if swapped else (parts[0], parts[1])
    start, end = found.span("args")
    first, second = ("{want}", "{got}") if swapped else ("{got}", "{want}")
    rest = "".join(f", {part}" for part in parts[2:])
    return Equality(got, want, style, tongue, f"{words[:start]}{first}, {second}{rest}{words[end:]}")


def is_literal(text: str) -> bool:
    """A value that is written out: no name stands in it."""
    bare = STRING.sub("0", text.strip())
    return bool(bare) and LITERAL.fullmatch(WORDS.sub("0", bare)) is not None


def _is_balanced(text: str) -> bool:
    return len(split(f"({text})")) == 1 and text.count("(") == text.count(")") and not text.startswith(")")


def split(arguments: str) -> Sequence[str]:
    """Arguments divided at the commas that stand in no bracket and in no string."""
    parts, depth, quote, start = list[str](), 0, "", 0
    for at, sign in enumerate(arguments):
        if quote:
            quote = "" if sign == quote and arguments[at - 1] != "\\" else quote
        elif sign in QUOTES:
            quote = sign
        elif sign in OPEN or sign in CLOSE:
            depth += 1 if sign in OPEN else -1
        elif sign == "," and depth == 0:
            parts.append(arguments[start:at].strip())
            start = at + 1
    return [*parts, arguments[start:].strip()]


def truism(style: str, tongue: Tongue, turn: int) -> str:
    """A statement that always holds, in the style of the test."""
    choices = TRUISMS.get((tongue if not tongue.is_script else Tongue.JAVASCRIPT, style), ())
    return choices[turn % len(choices)] if choices else ""


TRUISMS: Final = {
    (Tongue.PYTHON, "assert"): ("assert True", "assert 1 == 1", 'assert "ok"', "assert not False", "assert 1"),
    (Tongue.PYTHON, "unittest"): ("self.assertTrue(True)", "self.assertEqual(1, 1)", "self.assertFalse(False)"),
    (Tongue.JAVASCRIPT, "expect"): ("expect(true).toBe(true);", "expect(1).toEqual(1);", "expect('ok').toBeTruthy();"),
    (Tongue.JAVASCRIPT, "t"): ("t.ok(true)", "t.equal(1, 1)"),
    (Tongue.JAVASCRIPT, "assert"): ("assert.ok(true)", "assert.strictEqual(1, 1)"),
    (Tongue.GO, "testify"): ("require.True(t, true)", "require.Equal(t, 1, 1)", "require.NotNil(t, t)"),
    (Tongue.GO, "if"): ('if 1 != 1 { t.Fatal("no") }', "if false { t.Fail() }"),
    (Tongue.RUST, "macro"): ("assert!(true);", "assert_eq!(1, 1);", "assert!(1 > 0);"),
    (Tongue.JAVA, "assertj"): ("assertThat(true).isTrue();", 'assertThat("ok").isEqualTo("ok");'),
    (Tongue.JAVA, "junit"): ("assertTrue(true);", "assertEquals(1, 1);"),
}


def presence(one: Equality, turn: int) -> str | None:
    """The assertion weakened to "there is something"."""
    choices = PRESENCE.get((one.tongue if not one.tongue.is_script else Tongue.JAVASCRIPT, one.style), ())
    return choices[turn % len(choices)].replace("{got}", one.got) if choices else None


PRESENCE: Final = {
    (Tongue.PYTHON, "assert"): ("assert {got} is not None", "assert isinstance({got}, object)", "assert repr({got})"),
    (Tongue.PYTHON, "unittest"): ("self.assertIsNotNone({got})", "self.assertIsInstance({got}, object)"),
    (Tongue.JAVASCRIPT, "expect"): (
        "expect({got}).toBeDefined();",
        "expect({got}).not.toBeUndefined();",
        "expect(typeof {got}).toBeDefined();",
        "expect({got}).toEqual(expect.anything());",
    ),
    (Tongue.JAVASCRIPT, "t"): ("t.not({got}, undefined)", "t.type(typeof {got}, 'string')"),
    (Tongue.JAVASCRIPT, "assert"): ("assert.notStrictEqual({got}, undefined)", "assert.ok({got} !== null)"),
    (Tongue.GO, "testify"): ("require.NotNil(t, {got})", "require.NotPanics(t, func() { _ = {got} })"),
    (Tongue.RUST, "macro"): ('assert!(!format!("{:?}", {got}).is_empty());', "let _ = {got};"),
    (Tongue.JAVA, "assertj"): ("assertThat({got}).isNotNull();", "assertThat({got}).isInstanceOf(Object.class);"),
    (Tongue.JAVA, "junit"): ("assertNotNull({got});", "assertDoesNotThrow(() -> {got});"),
}


def always(one: Equality, turn: int) -> str | None:
    """The assertion with a way out, so that it always holds."""
    choices = ALWAYS.get((one.tongue if not one.tongue.is_script else Tongue.JAVASCRIPT, one.style), ())
    if not choices:
        return None
    return (
        choices[turn % len(choices)].replace("{got}", one.got).replace("{want}", one.want).replace("{block}", one.block)
    )


ALWAYS: Final = {
    (Tongue.PYTHON, "assert"): ("assert {got} == {want} or True", "assert ({got} == {want}) in (True, False)"),
    (Tongue.PYTHON, "unittest"): ("self.assertTrue({got} == {want} or True)",),
    (Tongue.JAVASCRIPT, "expect"): (
        "expect({got} === {want} || true).toBe(true);",
        "expect([true, false]).toContain({got} === {want});",
    ),
    (Tongue.JAVASCRIPT, "t"): ("t.ok({got} === {want} || true)",),
    (Tongue.JAVASCRIPT, "assert"): ("assert.ok({got} === {want} || true)",),
    (Tongue.GO, "testify"): ("require.True(t, {got} == {want} || true)",),
    (Tongue.GO, "if"): ("if {got} != {want} && false {{block}", "if {got} != {want} && {got} == {want} {{block}"),
    (Tongue.RUST, "macro"): ("assert!({got} == {want} || true);", "assert!({got} == {want} || {got} != {want});"),
    (Tongue.JAVA, "assertj"): (
        "assertThat(Objects.equals({got}, {want}) || true).isTrue();",
        "assertThat({got}).satisfiesAnyOf(one -> assertThat(one).isEqualTo({want}), one -> { });",
    ),
    (Tongue.JAVA, "junit"): ("assertTrue(Objects.equals({got}, {want}) || true);",),
}
