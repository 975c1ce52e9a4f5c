"""Fuzz the heuristic tier with spoiled code in each language, with whole files and without: it never raises.

Each text is tried first in a process of its own, as whatever is judged again has it: some take a parser gigabytes.
"""

import difflib
import sys
from contextlib import nullcontext
from pathlib import Path
from random import Random
from typing import Final

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.fuzz.mutations import spoiled  # noqa: E402 - found from any working directory
from bench.fuzz.running import Target, run_as_script  # noqa: E402 - as above
from bench.made import LANGUAGES, Size, made_dossier, made_file  # noqa: E402 - as above
from worker.domain.dossier.dossier import Dossier, HeadFile  # noqa: E402 - as above
from worker.dossier.parser_sandbox import sandboxed_parsing  # noqa: E402 - as above
from worker.judge.rubric import load_rubric  # noqa: E402 - as above
from worker.signals.heuristic_opinion import form_opinion  # noqa: E402 - as above

RUBRIC: Final = load_rubric()
WORDS: Final = (
    b"assert True\n",
    b"    pass\n",
    b"raise NotImplementedError\n",
    b"@pytest.mark.skip\n",
    b"it.only(",
    b"describe(",
    b"expect(x).toBe(x);",
    b"t.Skip()\n",
    b"#[ignore]\n",
    b"todo!()",
    b"@Disabled\n",
    b"if (process.env.CI) return null;",
    b"// TODO\n",
    b"<<<<<<< HEAD\n=======\n>>>>>>> x\n",
    b'"""',
    b"'''",
    b"`${",
    b"def f(:\n",
    b"func (",
    b"fn x<T>(",
    b"class A {",
    b"/* ",
    b'r#"',
    b"f(" * 200,
    b"if x:\n" + b" " * 4,
    b"a = [" + b"1, " * 300,
    b"}" * 5,
    b"raise NotImplementedError, 'later'\n",
    b"it 'works' do\n",
    b"end\n" * 3,
    b"<<~TEXT\n",
    b"binding.pry\n",
    b'[Fact(Skip = "x")]\n',
    b"x.Should().Be(x);",
    b'$"{',
    b"$this->markTestSkipped();",
    b"<?php ",
    b"?>",
    b"fun f() = TODO()\n",
    b"x shouldBe x\n",
    b"assertFailsWith<A> { f() }\n",
)
FURTHER: Final = {
    "ruby": (("lib/a.rb", "spec/a_spec.rb"), b"class A\n  def f(x)\n    g(x)\n  end\nend\n"),
    "csharp": (("src/A.cs", "test/ATests.cs"), b"class A {\n    int F(int x) { return G(x); }\n}\n"),
    "php": (("src/A.php", "tests/ATest.php"), b"<?php\nclass A {\n    function f($x) { return g($x); }\n}\n"),
    "kotlin": (("src/A.kt", "src/test/ATest.kt"), b"class A {\n    fun f(x: Int) = g(x)\n}\n"),
}
"""Languages that no other bench makes changes in: a path of code, one of tests, and a text."""


def make(random: Random) -> bytes:
    """The language, whether whole files are known, and a text before and one after, each code or its tests."""
    language = random.choice((*LANGUAGES, *FURTHER))
    number = random.randrange(2)
    clean = text_in(language, number, random.choice((1, 4)))
    before = clean if random.random() < 0.5 else spoiled(clean, random, WORDS)
    after = spoiled(before, random, WORDS)
    return b"\0\0".join((language.encode(), b"%d%d" % (number, random.randrange(2)), before, after))


def text_in(language: str, number: int, kept: int) -> bytes:
    if language in FURTHER:
        return FURTHER[language][1]
    return made_file(language, number, Size(files=1, kept=kept, added=1)).head.encode()


def path_in(language: str, number: int) -> str:
    if language in FURTHER:
        return FURTHER[language][0][number]
    return made_file(language, number, Size(files=1, kept=0, added=0)).path


def run(raw: bytes) -> None:
    form_opinion(dossier_of(raw), RUBRIC)


def dossier_of(raw: bytes) -> Dossier:
    language, kind, before, after = (piece.decode("utf-8", "replace") for piece in raw.split(b"\0\0", 3))
    path = path_in(language, int(kind[0]))
    frame = made_dossier([language if language in LANGUAGES else "python"], Size(files=2, kept=1, added=0), whole=True)
    mine = printed(path, before[:MOST], after[:MOST])
    files = (HeadFile(path=path, text=after[:MOST]),)
    return frame.model_copy(update={"diff": mine, "files": files if kind[1] == "1" else None})


MOST: Final = 30_000
"""Characters of each text: to compare two takes long."""


def printed(path: str, before: str, after: str) -> str:
    """What git would print."""
    old, new = before.split("\n"), after.split("\n")
    ends = [side.pop() for side in (old, new)]
    old, new = ([f"{line}\n" for line in side] for side in (old, new))
    for side, end in ((old, ends[0]), (new, ends[1])):
        if end:
            side.append(f"{end}\n\\ No newline at end of file\n")
    if old == new:
        return ""
    lines = list(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}"))
    return f"diff --git a/{path} b/{path}\nindex 1111111..2222222 100644\n{''.join(lines)}"


TARGET: Final = Target("heuristics", make, run)
with sandboxed_parsing() if __name__ == "__main__" else nullcontext():
    run_as_script(__name__, TARGET)
