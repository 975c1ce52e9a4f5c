"""Real changes of code, drawn at random, are never taken for layout; what a formatter does is."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.judge.heuristics.made import change_of, changed_file
from worker.judge.heuristics.paths import Language
from worker.judge.heuristics.safe.programs import is_same_program
from worker.judge.heuristics.safe.prose import is_prose_only
from worker.judge.heuristics.syntax import descendants, parse

PROGRAMS = {
    "a.py": (
        Language.PYTHON,
        (
            'import os\nimport sys\n\n\nclass A(B):\n    """Text."""\n\n    x: int = 1\n\n    def f(self, a, *b, c=2, **d):\n        # why\n'
            "        if a and not b or c == 3:\n            return [self.g(i,j=4) for i in b if i in d], (a, b), a[0]\n"
            "        while a < 5:\n            a += 6\n            yield a, {'k': 'v'}, a if b else c\n        with e(f'{a}') as h:\n            raise h from a\n"
        ),
    ),
    "a.ts": (
        Language.TYPESCRIPT,
        (
            "import { a, b } from 'x';\nexport class A extends B {\n  c = 1;\n  f(d: string, e = 2) {\n    // why\n    for (let i = 0; i < 3; i++) {\n"
            "      if (a && b(d, e)) { return (i) => [d, i]; }\n    }\n    return d ? { e, g: 'h' } : `i${d}`;\n  }\n}\n"
        ),
    ),
    "a.go": (
        Language.GO,
        (
            'package a\n\nimport (\n\t"b"\n\t"c"\n)\n\n// F does.\nfunc F(d int, e ...string) (int, error) {\n\tfor i := 0; i < 3; i++ {\n\t\tif d > i && b.G(e) {\n'
            '\t\t\treturn i + 1, nil\n\t\t}\n\t}\n\tdefer c.H()\n\treturn []int{1, 2}[d], c.New("x")\n}\n'
        ),
    ),
    "a.rs": (
        Language.RUST,
        (
            "use a::{b, c};\nuse d::e;\n\n/// Text.\npub fn f(g: u8, h: &str) -> Option<u8> {\n    let i = b(g + 1, c)?;\n    match i {\n        1 => Some(2),\n"
            '        _ if g < 3 => None,\n        _ => { println!("{}", h); e(i) }\n    }\n}\n'
        ),
    ),
    "A.java": (
        Language.JAVA,
        (
            "import a.B;\nimport a.C;\n\n/** Text. */\nclass A extends B {\n  int[] c = {1, 2};\n\n  int f(int d, String e) {\n    // why\n"
            '    for (int i = 0; i < 3; i++) {\n      if (d > i && !e.isEmpty()) return C.g("h", i);\n    }\n    return d == 4 ? 5 : -d;\n  }\n}\n'
        ),
    ),
}
WORDS = frozenset({"identifier", "type_identifier", "field_identifier", "property_identifier", "integer", "integer_literal", "int_literal", "number"})  # fmt: skip
SIGNS = {
    "<": ">", ">": "<", "==": "!=", "+": "-", "and": "or", "or": "and", "&&": "||", "+=": "-=", "++": "--", "-": "+", "*": "**", "**": "*",
    "in": "not in", "=": "+=", "!": "-", "not": "-", "?": "??", "if": "while", "true": "false",
}  # fmt: skip


def _leaves(path: str) -> list[tuple[int, int, str, bool]]:
    language, text = PROGRAMS[path]
    stack, found = [parse(text, language)], list[tuple[int, int, str, bool]]()
    while stack:
        node = stack.pop()
        stack.extend(node.children)
        if not node.child_count and (node.type in WORDS or node.type in SIGNS):
            found.append((node.start_byte, node.end_byte, node.type, node.is_named))
    return sorted(found)


@given(st.sampled_from(sorted(PROGRAMS)), st.integers(min_value=0, max_value=10_000), st.booleans())
def test_a_changed_token_is_another_program(path: str, drawn: int, removes: bool) -> None:  # noqa: FBT001 - drawn
    _, text = PROGRAMS[path]
    leaves = _leaves(path)
    start, end, kind, is_named = leaves[drawn % len(leaves)]
    other = "" if removes else f"{text[start:end]}9" if is_named else SIGNS[kind]
    changed = text[:start] + other + text[end:]
    assert not is_same_program(changed_file(path, text, changed))
    assert not is_same_program(changed_file(path, changed, text))


@given(st.sampled_from(sorted(PROGRAMS)), st.integers(min_value=0, max_value=10_000))
def test_a_statement_that_is_gone_is_another_program(path: str, drawn: int) -> None:
    language, text = PROGRAMS[path]
    whole = [
        node
        for node in descendants(parse(text, language))
        if node.type.endswith(("_statement", "_declaration", "_definition"))
        and not text[node.start_byte :].startswith('"""')
    ]
    gone = whole[drawn % len(whole)]
    changed = text[: gone.start_byte] + text[gone.end_byte :]
    assert not is_same_program(changed_file(path, text, changed))


PIECES = (
    "()", "[]", "{}", "(", ")", "{", "}", ",", ";", "=", "x", "1", "'a'", '"b"', '"""', "`", "#", "//", "/*", "*/", "\n", "    ", "\\", "def f():", "class A:",
    "return", "for", "import a", "use a::b", "=>", "<p>", "</p>", "#[a]", "/// d", "f'{x}'", "@a", ">>> 1", "::", "```", "...", "yield", "x = ()", "é", "\r", "\0",
)  # fmt: skip
"""What programs and broken programs are made of."""

SOUP = st.lists(st.sampled_from(PIECES), max_size=25).map(lambda pieces: " ".join(pieces) + "\n")


@given(
    st.sampled_from(
        ["a.py", "a.ts", "a.tsx", "a.js", "a.go", "a.rs", "A.java", "README.md", "docs/a.rst", "docs/a.adoc"]
    ),
    SOUP,
    SOUP,
    st.booleans(),
)
def test_no_text_is_too_broken_to_be_looked_at(path: str, before: str, after: str, knows: bool) -> None:  # noqa: FBT001 - drawn
    (file,) = change_of({path: f"{before}x\n"}, {path: f"{after}y\n"}, texts=knows).files
    assert isinstance(is_same_program(file), bool)
    assert isinstance(is_prose_only(file), bool)


@pytest.mark.parametrize(("width", "quotes"), [(20, "single"), (40, "double"), (120, "single")])
def test_what_a_formatter_does_is_layout(width: int, quotes: str) -> None:
    _, text = PROGRAMS["a.py"]
    options = ["--isolated", "--config", f"line-length={width}", "--config", f'format.quote-style="{quotes}"']
    command = [sys.executable, "-m", "ruff", "format", *options, "--stdin-filename", "a.py", "-"]
    formatted = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    assert formatted != text
    assert is_same_program(changed_file("a.py", text, formatted))
