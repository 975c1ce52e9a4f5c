"""What a defect looks like in each language: stubs, empty values, skip marks, debug output, notes.

Words only, no edits. Invariant: the words differ by draw, so that no single spelling stands for a defect.
"""

import re
from collections.abc import Sequence
from random import Random
from typing import Final

from bench.seeding.code import Function, Tongue

NOTES: Final = (
    "not implemented",
    "not implemented yet",
    "{name} is not implemented",
    "implementation pending",
    "coming in a follow-up",
    "unfinished",
    "not available yet",
    "{name}: still to be written",
)
LEFT: Final = (
    "TODO: finish {name}",
    "TODO implement the remaining cases",
    "FIXME: the rest of {name} is missing",
    "TODO(later): complete this",
    "XXX only the first step so far",
    "TODO: handle everything below",
    "FIXME unfinished, see {name}",
    "TODO port the rest",
)
STUBS: Final = {
    Tongue.PYTHON: (
        "raise NotImplementedError",
        'raise NotImplementedError("{note}")',
        "...",
        'raise RuntimeError("{note}")',
    ),
    Tongue.JAVASCRIPT: ("throw new Error('{note}');", 'throw new Error("{note}");', "throw new Error(`{note}`);"),
    Tongue.GO: ('panic("{note}")', 'panic("{name}: {note}")', 'panic("TODO")', 'panic("unimplemented")'),
    Tongue.RUST: ("todo!()", 'todo!("{note}")', "unimplemented!()", 'unimplemented!("{note}")', 'panic!("{note}")'),
    Tongue.JAVA: (
        "throw new UnsupportedOperationException();",
        'throw new UnsupportedOperationException("{note}");',
        'throw new RuntimeException("{note}");',
        'throw new IllegalStateException("{note}");',
    ),
}
DEBUG: Final = {
    Tongue.PYTHON: (
        'print("DEBUG {name}")',
        'print("here", {value})',
        'print(f"{name}: {{{value}!r}}")',
        "breakpoint()",
        'print(">>>", {value})',
    ),
    Tongue.JAVASCRIPT: (
        "console.log('{name}', {value});",
        "console.log('here');",
        "debugger;",
        "console.debug({value});",
        "console.log('>>>', {value});",
    ),
    Tongue.GO: ('println("{name}", {value})', 'println("here")', 'println("DEBUG", {value})'),
    Tongue.RUST: ("dbg!(&{value});", 'println!("{name} {{:?}}", {value});', 'eprintln!("here: {{:?}}", {value});'),
    Tongue.JAVA: (
        'System.out.println("{name} " + {value});',
        'System.err.println("here");',
        'System.out.println("DEBUG: " + {value});',
    ),
}
SKIPS: Final = {
    Tongue.PYTHON: (
        '@pytest.mark.skip(reason="{why}")',
        '@pytest.mark.xfail(reason="{why}")',
        "@pytest.mark.xfail",
        '@unittest.skip("{why}")',
    ),
    Tongue.RUST: ("#[ignore]", '#[ignore = "{why}"]'),
    Tongue.JAVA: ("@Disabled", '@Disabled("{why}")', '@Ignore("{why}")'),
}
WHY: Final = (
    "flaky",
    "fails on CI",
    "broken right now",
    "times out",
    "needs a look",
    "does not pass yet",
    "unstable since the change",
)
GO_ZERO: Final = (
    (re.compile(r"u?int\d*|float\d+|byte|rune|uintptr"), "0"),
    (re.compile(r"string"), '""'),
    (re.compile(r"bool"), "false"),
    (re.compile(r"\*.*|\[\].*|map\[.*|error|any|interface\{.*|chan .*|func\(.*"), "nil"),
)
RUST_ZERO: Final = (
    (re.compile(r"bool"), "false"),
    (re.compile(r"Option<.*"), "None"),
    (re.compile(r"(?:\w+::)*Result<\(\).*"), "Ok(())"),
    (re.compile(r"[iu](?:\d+|size)"), "0"),
    (re.compile(r"String"), "String::new()"),
    (re.compile(r"Vec<.*"), "Vec::new()"),
    (re.compile(r"Self|(?:[A-Z]\w*)(?:<.*>)?"), "Default::default()"),
)
JAVA_ZERO: Final = (
    (re.compile(r"boolean"), "return false;"),
    (re.compile(r"int|long|short|byte|double|float|char"), "return 0;"),
    (re.compile(r"String"), 'return "";'),
    (re.compile(r"void"), ""),
)
SCRIPT_ZERO: Final = (
    (re.compile(r"(?:Promise<)?void>?|never"), ""),
    (re.compile(r"(?:Promise<)?boolean>?"), "return false;"),
    (re.compile(r"(?:Promise<)?string>?"), "return '';"),
    (re.compile(r"(?:Promise<)?number>?"), "return 0;"),
    (re.compile(r".*\[\]|(?:Readonly)?Array<.*"), "return [];"),
)
PYTHON_ZERO: Final = (
    (re.compile(r"bool"), "return False"),
    (re.compile(r"str"), 'return ""'),
    (re.compile(r"int|float"), "return 0"),
    (re.compile(r"[Ll]ist\b.*|Sequence\b.*"), "return []"),
    (re.compile(r"[Dd]ict\b.*|Mapping\b.*"), "return {}"),
)


def family(tongue: Tongue) -> Tongue:
    return Tongue.JAVASCRIPT if tongue.is_script else tongue


def chosen(words: Sequence[str], draw: Random, **names: str) -> str:
    return words[draw.randrange(len(words))].format(**names)


def comment(tongue: Tongue, text: str) -> str:
    return f"# {text}" if tongue is Tongue.PYTHON else f"// {text}"


def stub(function: Function, draw: Random) -> str:
    note = chosen(NOTES, draw, name=function.name)
    return chosen(STUBS[family(function.tongue)], draw, note=note, name=function.name)


def nothing(function: Function, draw: Random) -> tuple[str, ...] | None:
    """A body that does nothing and satisfies the return type; None where no such value is known."""
    returns = function.returns.strip()
    match function.tongue:
        case Tongue.PYTHON:
            return (_first(PYTHON_ZERO, returns) or chosen(("pass", "return None", "return"), draw),)
        case Tongue.GO:
            return _nothing_in_go(returns)
        case Tongue.RUST:
            value = _first(RUST_ZERO, returns) if returns else ""
            return None if value is None else (value,) * bool(value)
        case Tongue.JAVA:
            value = _first(JAVA_ZERO, returns)
            value = "return null;" if value is None else value
            return (value,) * bool(value)
        case _:
            value = _first(SCRIPT_ZERO, returns)
            value = chosen(("", "return undefined;", "return null;"), draw) if value is None else value
            return (value,) * bool(value)


def _first(table: Sequence[tuple[re.Pattern[str], str]], returns: str) -> str | None:
    return next((value for rule, value in table if rule.fullmatch(returns)), None)


def _nothing_in_go(returns: str) -> tuple[str, ...] | None:
    if not returns:
        return ()
    inner = returns.removeprefix("(").removesuffix(")") if returns.startswith("(") else returns
    if re.search(r"[({]", inner):
        return None
    types = [part.strip().rpartition(" ")[2] for part in inner.split(",")]
    values = [_first(GO_ZERO, one) for one in types]
    known = [value for value in values if value is not None]
    return (f"return {', '.join(known)}",) if len(known) == len(values) else None
