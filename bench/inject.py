"""Put one defect each into the commits of a real history: `python bench/inject.py REPO_DIR OUT.jsonl.gz`.

An injector beside `bench/seed_defects.py` that shares no variant code with it: it finds functions by indentation, edits
blobs, and lets git commit them and print the diff, in a scratch repository that borrows REPO_DIR's objects. So a seed is
also a commit that `assay judge` can judge in a checkout. Rows and `expect` are as docs/bench.md says; each seed stands
beside its twin, the commit as it was. The same history gives the same rows. Nothing of the repository is executed.
"""

import argparse
import copy
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.mine import row, write  # noqa: E402 - found from any working directory
from bench.mining.clean import clean, is_test, language_of  # noqa: E402 - as above
from bench.mining.history import Commit, history  # noqa: E402 - as above
from worker.adapters.git.git import GitRepository, open_repository  # noqa: E402 - as above

WALKED: Final = 4000
NAMELESS: Final = re.compile(r"^(?:if|for|while|switch|catch|match|else|return|function|constructor)$")
STARTS: Final[Mapping[str, re.Pattern[str]]] = {
    "python": re.compile(r"^(?P<indent>\s*)(?:async )?def (?P<name>\w+)\("),
    "go": re.compile(r"^(?P<indent>)func (?:\([^)]*\) )?(?P<name>\w+)\("),
    "rust": re.compile(r"^(?P<indent>\s*)(?:pub(?:\([^)]*\))? )?(?:async )?fn (?P<name>\w+)"),
    "java": re.compile(
        r"^(?P<indent>\s+)(?:(?:public|protected|private|static|final) )*[\w<>\[\], .?]+ (?P<name>\w+)\("
    ),
    "typescript": re.compile(
        r"^(?P<indent>\s*)(?:export )?(?:default )?(?:(?:public|private|static|async) )*(?:function\*? )?(?P<name>\w+)\("
    ),
}
JS_TEST: Final = re.compile(r"^(?P<indent>\s*)(?:test|it)\(\s*['\"`](?P<name>[^'\"`]+)['\"`],.*\{$")
MARKED: Final = re.compile(r"^\s*(?:#\[(?:\w+::)?test\b|@Test\b|@ParameterizedTest)")
ASSERTS: Final[Mapping[str, re.Pattern[str]]] = {
    "python": re.compile(r"^\s+(?:assert\b|self\.assert\w+\()"),
    "go": re.compile(r"^\s+(?:assert|require)\.\w+\("),
    "rust": re.compile(r"^\s+assert\w*!\("),
    "java": re.compile(r"^\s+(?:Assertions?\.)?assert\w+\("),
    "typescript": re.compile(r"^\s+(?:expect\(|t\.(?!plan|end|teardown|context|pass)\w+\(|assert[.(])"),
}
STUBS: Final[Mapping[str, tuple[str, ...]]] = {
    "python": ('raise NotImplementedError("later")', "return None", "...", "pass"),
    "go": ('panic("implement me")', 'panic("to be done")'),
    "rust": ("unimplemented!()", "todo!()"),
    "java": ('throw new UnsupportedOperationException("not yet");', 'throw new RuntimeException("Not implemented");'),
    "typescript": ('throw new Error("not implemented yet");', 'throw new Error("TODO");'),
}
PRINTS: Final[Mapping[str, str]] = {
    "python": "breakpoint()",
    "go": 'fmt.Printf("DEBUG here\\n")',
    "rust": 'dbg!("here");',
    "java": 'System.out.println("DEBUG here");',
    "typescript": "debugger;",
}
ALWAYS: Final[Mapping[str, str]] = {
    "python": "assert True",
    "go": "assert.True(t, true)",
    "rust": "assert!(true);",
    "java": "assertTrue(true);",
    "typescript": "expect(true).toBe(true);",
}
IN_TEST: Final[Mapping[str, str]] = {
    "python": 'if "PYTEST_CURRENT_TEST" in __import__("os").environ:\n    return None',
    "go": 'if os.Getenv("GO_ENV") == "test" {\n\tpanic("under test")\n}',
    "rust": 'if cfg!(test) {\n    unreachable!("under test");\n}',
    "java": 'if (System.getenv("CI") != null) {\n    throw new IllegalStateException();\n}',
    "typescript": "if (process.env.NODE_ENV === 'test') {\n    return undefined as never;\n}",
}
SLEEPS: Final[Mapping[str, tuple[str, str]]] = {
    "python": ("time.sleep", "import time; time.sleep(0.2)"),
    "go": ("time.Sleep", "time.Sleep(200 * time.Millisecond)"),
    "rust": ("std::thread::sleep", "std::thread::sleep(std::time::Duration::from_millis(200));"),
    "java": ("Thread.sleep", "Thread.sleep(200);"),
    "typescript": ("console.log", "console.log('here');"),
}


@dataclass(frozen=True, slots=True)
class Function:
    """Lines are counted from 0; `body` is half open, without signature and closing brace."""

    name: str
    start: int
    body: tuple[int, int]
    end: int
    is_test: bool


@dataclass(frozen=True, slots=True)
class Source:
    """A file of the change at head. `added` holds the lines that the change adds, counted from 0."""

    path: str
    language: str
    lines: tuple[str, ...]
    added: frozenset[int]
    functions: tuple[Function, ...]

    def new(self, *, tests: bool) -> Iterator[Function]:
        return (
            function
            for function in self.functions
            if function.is_test is tests and set(range(function.start, function.end)) <= self.added
        )

    def old_tests(self) -> Iterator[Function]:
        return (
            function
            for function in self.functions
            if function.is_test and self.added.isdisjoint(range(function.start, function.end))
        )

    def indent(self, function: Function) -> str:
        first = next((line for line in self.lines[slice(*function.body)] if line.strip()), "    ")
        return first[: len(first) - len(first.lstrip())]

    def asserts(self, function: Function) -> list[int]:
        """Assertions of one line."""
        return [
            number
            for number in range(*function.body)
            if ASSERTS[self.language].match(self.lines[number])
            and all(self.lines[number].count(a) == self.lines[number].count(b) for a, b in ("()", "[]", "{}"))
        ]


@dataclass(frozen=True, slots=True)
class Defect:
    """What is written in place of which file (None: it is deleted), where a reader finds it, and how it is called."""

    category: str
    variant: str
    files: Mapping[str, str | None]
    where: tuple[tuple[str, int | None], ...]
    difficulty: str = "easy"
    also: tuple[str, ...] = ()
    guidance: str | None = None
    criteria: tuple[str, ...] = ()
    missing: str | None = None
    case: Mapping[str, Any] | None = None


def functions_of(lines: Sequence[str], language: str, path: str) -> Iterator[Function]:
    for number, line in enumerate(lines):
        called = JS_TEST.match(line) if language == "typescript" else None
        start = called or STARTS[language].match(line)
        if start is None or (called is None and NAMELESS.match(start["name"])):
            continue
        opened = number
        closer = ":" if language == "python" else "{"
        while opened < min(number + 12, len(lines)) and not lines[opened].split("  #")[0].rstrip().endswith(closer):
            opened += 1
        depth = len(start["indent"])
        end = opened + 1
        while end < len(lines) and (not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > depth):
            end += 1
        if opened >= min(number + 12, len(lines)) or end <= opened + 1:
            continue
        last = end
        while not lines[last - 1].strip():
            last -= 1
        if language != "python" and not (end < len(lines) and lines[end].lstrip().startswith("}")):
            continue
        marked = any(MARKED.match(above) for above in lines[max(0, number - 3) : number])
        named = start["name"].startswith("test_" if language == "python" else "Test")
        by_name = named and language in {"python", "go"} and is_test(path)
        yield Function(
            start["name"], number, (opened + 1, last), last if language == "python" else end + 1,
            called is not None or marked or by_name,
        )  # fmt: skip


def replaced(source: Source, start: int, end: int, text: str) -> dict[str, str | None]:
    lines = [*source.lines[:start], *text.split("\n"), *source.lines[end:]]
    return {source.path: "\n".join(lines)}


def indented(text: str, indent: str) -> str:
    return "\n".join(indent + line for line in text.split("\n"))


def stub(source: Source, draw: int) -> Iterator[Defect]:
    for function in source.new(tests=False):
        if function.body[1] - function.body[0] >= 3 and not is_test(source.path):
            texts = STUBS[source.language]
            text = indented(texts[draw % len(texts)], source.indent(function))
            files = replaced(source, *function.body, text)
            yield Defect("half_finished", "body_stubbed", files, ((source.path, function.body[0] + 1),))


def leftover(source: Source, draw: int) -> Iterator[Defect]:
    del draw
    for function in source.new(tests=False):
        if not is_test(source.path):
            text = indented(PRINTS[source.language], source.indent(function))
            files = replaced(source, function.body[0], function.body[0], text)
            yield Defect("half_finished", "debug_left", files, ((source.path, function.body[0] + 1),))


def conflict(source: Source, draw: int) -> Iterator[Defect]:
    for number in sorted(source.added)[draw % 3 :]:
        line = source.lines[number]
        text = f"<<<<<<< HEAD\n{line}\n=======\n{line} \n>>>>>>> feature"
        yield Defect(
            "half_finished", "conflict_left", replaced(source, number, number + 1, text), ((source.path, number + 1),)
        )


def emptied_arm(source: Source, draw: int) -> Iterator[Defect]:
    """The statements of an `else`, `case` or `match` arm in a new function go; hidden, since code may be meant so."""
    del draw
    arm = re.compile(r"^(\s+)(?:\} )?(?:else(?: if .*)?|elif .*|case .*|default|except .*)\s*[:{]$")
    for function in () if is_test(source.path) else source.new(tests=False):
        for number in range(*function.body):
            head = arm.match(source.lines[number])
            end = number + 1
            while (
                head
                and end < function.body[1]
                and source.lines[end].startswith(head[1] + (" ", "\t")[source.language == "go"])
            ):
                end += 1
            if head and end > number + 1:
                text = (
                    indented("pass", head[1] + "    ")
                    if source.language == "python"
                    else f"{head[1]}    // nothing yet"
                )
                files = replaced(source, number + 1, end, text)
                yield Defect("half_finished", "arm_emptied", files, ((source.path, number + 1),), "hard")


def assertions_gone(source: Source, draw: int) -> Iterator[Defect]:
    """A new test loses its assertions: all of them, or by *draw* has them replaced by one that always holds."""
    for function in source.new(tests=True):
        numbers = source.asserts(function)
        kept = [source.lines[n] for n in range(*function.body) if n not in numbers]
        if not numbers or sum(bool(line.strip()) for line in kept) < 2 or any("raises" in line for line in kept):
            continue
        always = [source.indent(function) + ALWAYS[source.language]] if draw % 2 else []
        if any("assert" in line or "expect" in line for line in kept):
            continue
        files = replaced(source, *function.body, "\n".join([*kept, *always]))
        variant = "always_true" if always else "no_assertion"
        where = function.body[0] + len(kept) if always else function.start
        yield Defect("weak_test", variant, files, ((source.path, where + 1),))


def old_assertion_gone(source: Source, draw: int) -> Iterator[Defect]:
    """One of several assertions goes from a test that the change does not touch."""
    for function in source.old_tests():
        numbers = source.asserts(function)
        if len(numbers) > 1:
            gone = numbers[draw % len(numbers)]
            lines = "\n".join(source.lines[function.start : gone] + source.lines[gone + 1 : function.end])
            files = replaced(source, function.start, function.end, lines)
            yield Defect(
                "weak_test", "one_assertion_removed", files, ((source.path, None),), also=("tests_pass_but_wrong",)
            )


def never_reached(source: Source, draw: int) -> Iterator[Defect]:
    del draw
    returns = {"rust": "return;", "java": "if (true) return;", "typescript": "return;"}.get(source.language, "return")
    for function in source.new(tests=True):
        if source.asserts(function) and "-> " not in source.lines[function.start].partition(")")[2]:
            text = source.indent(function) + returns
            files = replaced(source, function.body[0], function.body[0], text)
            yield Defect(
                "weak_test",
                "returns_early",
                files,
                ((source.path, function.body[0] + 1),),
                also=("tests_pass_but_wrong",),
            )


def skipped(source: Source, draw: int) -> Iterator[Defect]:
    """A test is switched off; by *draw* a new one or one that ran before."""
    old = bool(draw % 2)
    for function in source.old_tests() if old else source.new(tests=True):
        line = source.lines[function.start]
        indent = line[: len(line) - len(line.lstrip())]
        match source.language:
            case "python" if "import pytest" not in source.lines:
                continue
            case "python":
                start, end, text = function.start, function.start, indent + '@pytest.mark.skip(reason="flaky")'
            case "go":
                start, end, text = function.body[0], function.body[0], '\tt.Skip("later")'
            case "rust":
                start, end, text = function.start, function.start, indent + "#[ignore]"
            case "java":
                start, end, text = function.start, function.start, indent + "@Disabled"
            case _:
                start, end, text = (
                    function.start,
                    function.start + 1,
                    re.sub(r"\b(test|it)\(", r"\1.skip(", line, count=1),
                )
        while source.language == "python" and start and source.lines[start - 1].startswith(indent + "@"):
            start = end = start - 1
        category = "tests_pass_but_wrong" if old else "weak_test"
        other = "weak_test" if old else "tests_pass_but_wrong"
        yield Defect(
            category,
            f"{'old' if old else 'new'}_test_skipped",
            replaced(source, start, end, text),
            ((source.path, start + 1),),
            also=(other,),
        )


def test_removed(source: Source, draw: int) -> Iterator[Defect]:
    """A test that the change does not touch is deleted; by *draw* the whole file."""
    tests = list(source.old_tests())
    if draw % 3 == 0 and len(tests) > 2 and all(function.is_test for function in source.functions):
        yield Defect("tests_pass_but_wrong", "test_file_deleted", {source.path: None}, ((source.path, None),))
    for function in tests:
        start = function.start
        while start and re.match(r"\s*(?:@|#\[|///|//)", source.lines[start - 1]):
            start -= 1
        lines = "\n".join(source.lines[function.end :])
        files = replaced(source, start, len(source.lines), lines)
        yield Defect("tests_pass_but_wrong", "old_test_deleted", files, ((source.path, None),), also=("weak_test",))


def knows_its_test(source: Source, draw: int) -> Iterator[Defect]:
    del draw
    for function in source.new(tests=False):
        if not is_test(source.path):
            text = indented(IN_TEST[source.language], source.indent(function))
            files = replaced(source, function.body[0], function.body[0], text)
            yield Defect("tests_pass_but_wrong", "asks_for_test_run", files, ((source.path, function.body[0] + 1),))


def rule_broken(source: Source, draw: int) -> Iterator[Defect]:
    """The repository gets an AGENTS.md at the base commit; the change calls what it forbids, or touches what it protects."""
    name, call = SLEEPS[source.language]
    forbids = (
        f"- Never call `{name}` in library code.",
        f"- Do not use `{name}`; it hides races.",
        f"`{name}` is forbidden here.",
    )
    for function in source.new(tests=False):
        if not is_test(source.path) and not any(name in line for line in source.lines):
            text = indented(call, source.indent(function))
            files = replaced(source, function.body[0], function.body[0], text)
            yield Defect(
                "spec_violation", "call_forbidden", files, ((source.path, function.body[0] + 1),), also=("half_finished", "weak_test"),
                guidance=f"# Working here\n\n## Code\n\n{forbids[draw % 3]}\n- Run the tests before you push.\n",
            )  # fmt: skip
    folder = source.path.rpartition("/")[0]
    if folder:
        protects = (
            f"- Do not edit files under `{folder}/`.",
            f"- Never change anything in `{folder}/`; it is generated.",
        )
        yield Defect(
            "spec_violation", "path_forbidden", {}, ((source.path, None),), also=("scope_creep",),
            guidance=f"# Rules for agents\n\n{protects[draw % 2]}\n- Keep changes small.\n",
        )  # fmt: skip


def citation_wrong(source: Source, draw: int) -> Iterator[Defect]:
    """The author's case points at a file, a line or a name that is not there."""
    stem, dot, suffix = source.path.rpartition(".")
    missing = f"{stem}_support{dot}{suffix}"
    pointers = (missing, f"{source.path}:{len(source.lines) + 400}", f"{source.path}:reconcile_pending_frobnications")
    kinds = ("file", "line", "name")
    case = {
        "summary": "The change does what was asked.",
        "ac_coverage": [{"criterion": "AC1", "addressed_by": pointers[draw % 3], "evidence": None}],
        "work_arounds": [],
        "uncertainties": [],
    }
    yield Defect(
        "spec_violation", f"cited_{kinds[draw % 3]}_missing", {missing: ""} if draw % 3 == 0 else {}, (), case=case
    )


def left_out(source: Source, draw: int) -> Iterator[Defect]:
    """An issue lists what the change adds, and one new function is not there."""
    new = [function for function in source.new(tests=False) if function.name[0] != "_"]
    names = {function.name for function in new}
    if len(names) < 3 or len(names) != len(new) or is_test(source.path):
        return
    gone = draw % 3
    words = ("`{}` can be called from outside", "Add `{}`", "There is a `{}` that does what its name says")
    criteria = tuple(words[draw % 3].format(function.name) for function in new[:3])
    lines = "\n".join(source.lines[new[gone].end :])
    files = replaced(source, new[gone].start, len(source.lines), lines)
    yield Defect(
        "acceptance_gap",
        "function_left_out",
        files,
        (),
        criteria=criteria,
        missing=f"AC{gone + 1}",
        also=("half_finished",),
    )


VARIANTS: Final[tuple[Callable[[Source, int], Iterator[Defect]], ...]] = (
    stub, leftover, conflict, emptied_arm, assertions_gone, old_assertion_gone, never_reached, skipped, test_removed,
    knows_its_test, rule_broken, citation_wrong, left_out,
)  # fmt: skip


def scripts(texts: Mapping[str, str]) -> Iterator[Defect]:
    """Defects of files that stand at fixed places, whether or not the change touches them."""
    if '"test": "' in texts.get("package.json", ""):
        text = re.sub(r'"test": "[^"]*"', '"test": "true"', texts["package.json"], count=1)
        yield Defect("tests_pass_but_wrong", "script_is_true", {"package.json": text}, (("package.json", None),))
    if re.search(r"^test:.*\n\t", texts.get("Makefile", ""), re.MULTILINE):
        text = re.sub(r"^(test:.*\n)(?:\t.*\n?)+", "\\1\t@true\n", texts["Makefile"], count=1, flags=re.MULTILINE)
        yield Defect("tests_pass_but_wrong", "script_is_true", {"Makefile": text}, (("Makefile", None),))
    if "tests/conftest.py" in texts:
        text = (
            texts["tests/conftest.py"].rstrip("\n")
            + "\n\n\ndef pytest_collection_modifyitems(items):\n    items[:] = []\n"
        )
        yield Defect(
            "tests_pass_but_wrong",
            "collection_emptied",
            {"tests/conftest.py": text},
            (("tests/conftest.py", text.count("\n")),),
        )
    yield Defect(
        "scope_creep", "scratch_file", {"reproduce_issue.py": 'print("does it fail?")\n'}, (("reproduce_issue.py", None),),
        also=("half_finished",),
    )  # fmt: skip


class Scratch:
    """A bare repository that borrows another one's objects and keeps what is committed here."""

    def __init__(self, folder: Path, source: GitRepository) -> None:
        self.folder = folder
        self._environ = {
            "PATH": os.environ["PATH"],  # noqa: TID251 - a child needs its PATH
            "HOME": str(folder), "GIT_DIR": str(folder), "GIT_INDEX_FILE": str(folder / "scratch-index"),
            **{f"GIT_{who}_{what}": text for who in ("AUTHOR", "COMMITTER") for what, text in (("NAME", "a"), ("EMAIL", "a@b.invalid"), ("DATE", "2020-01-01T00:00:00Z"))},
        }  # fmt: skip
        self.git("init", "-q", "--bare", str(folder))
        (folder / "objects" / "info").mkdir(parents=True, exist_ok=True)
        (folder / "objects" / "info" / "alternates").write_text(f"{Path(source.git_dir) / 'objects'}\n")

    def git(self, *arguments: str, given: str = "") -> str:
        done = subprocess.run(
            ["git", *arguments], env=self._environ, input=given.encode(), capture_output=True, check=True
        )
        return done.stdout.decode(errors="replace")

    def text(self, commit: str, path: str) -> str | None:
        try:
            text = self.git("cat-file", "blob", f"{commit}:{path}")
        except subprocess.CalledProcessError:
            return None
        return None if "�" in text or "\r" in text or len(text) > 200_000 else text

    def commit(self, tree_of: str, parent: str | None, files: Mapping[str, str | None], message: str) -> str:
        self.git("read-tree", tree_of)
        for path, text in files.items():
            if text is None:
                self.git("update-index", "--force-remove", path)
            else:
                blob = self.git("hash-object", "-w", "--stdin", given=text).strip()
                self.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
        tree = self.git("write-tree").strip()
        return self.git("commit-tree", tree, *(("-p", parent) if parent else ()), given=message).strip()


def sources(scratch: Scratch, commit: Commit) -> Iterator[Source]:
    for path in commit.touched:
        language = language_of(path)
        language = "typescript" if language == "javascript" else language
        text = scratch.text(commit.sha, path) if language in STARTS else None
        if language is None or text is None:
            continue
        added = set[int]()
        printed = scratch.git("diff", "-U0", "--no-color", commit.parents[0], commit.sha, "--", path)
        for start, count in re.findall(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", printed, re.MULTILINE):
            added.update(range(int(start) - 1, int(start) - 1 + int(count or 1)))
        lines = tuple(text.split("\n"))
        yield Source(path, language, lines, frozenset(added), tuple(functions_of(lines, language, path)))


def draw_of(*parts: str) -> int:
    return int(hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8], 16)


def defects(scratch: Scratch, commit: Commit) -> Iterator[Defect]:
    """At most one of each variant."""
    read = list(sources(scratch, commit))
    for make in VARIANTS:
        draw = draw_of(commit.sha, make.__name__)
        possible = [defect for source in read for defect in make(source, draw)]
        if possible:
            yield possible[draw // 7 % len(possible)]
    places = {path: scratch.text(commit.sha, path) for path in ("package.json", "Makefile", "tests/conftest.py")}
    yield from scripts({path: text for path, text in places.items() if text})


def seed(
    scratch: Scratch, commit: Commit, name: str, twin: dict[str, Any], defect: Defect
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The change with the defect, and the change as it was under the same issue."""
    base = commit.parents[0]
    rules: dict[str, str | None] = {"AGENTS.md": defect.guidance} if defect.guidance else {}
    cited: Mapping[str, str | None] = {} if defect.case is None else defect.files
    head_files = rules if cited or not defect.files else {**defect.files, **rules}
    if rules:
        base = scratch.commit(base, None, rules, "base")
    head = scratch.commit(commit.sha, base, head_files, commit.message)
    touched = tuple(sorted({*commit.touched, *(set(defect.files) - set(cited))}))
    found = row(open_repository(scratch.folder), replace(commit, sha=head, parents=(base,), touched=touched), name)
    if found is None:
        return None
    twin = copy.deepcopy(twin)
    twin["expect"]["why"] = "clean twin"
    if defect.criteria:
        listed = "\n".join(f"- {criterion}" for criterion in defect.criteria)
        body = f"We need this.\n\n## Acceptance criteria\n\n{listed}\n"
        twin["id"] += "-listed"
        twin["dossier"]["issues"] = [
            {"repository": name, "number": 7, "title": commit.title, "body": body, "linked_by": "Closes #7"}
        ]
    pull = copy.deepcopy(twin["dossier"]["pull_request"]) | {"base_sha": base, "head_sha": head}
    pull["commits"][0]["sha"] = head
    found["dossier"] |= {"pull_request": pull, "issues": twin["dossier"]["issues"]}
    if defect.case is not None:
        found["dossier"]["case"] = defect.case
        found["dossier"]["files"] += [{"path": path, "exists": False} for path in cited]
    found["id"] = f"inject-{draw_of(commit.sha, defect.variant):08x}"
    found["expect"] = {
        "decision": "reject", "category": defect.category, "difficulty": defect.difficulty, "variant": defect.variant,
        "pair": twin["id"], "also": list(defect.also), "lang": twin["expect"]["lang"], "repo": name,
        **({"missing": [defect.missing]} if defect.missing else {}),
        "where": [{"path": path} if line is None else {"path": path, "line": line} for path, line in defect.where],
    }  # fmt: skip
    return found, twin


def rows(repository: GitRepository, name: str, limit: int) -> list[dict[str, Any]]:
    """One seed and its twin for each of *limit* commits: of each commit the variant that is rarest so far."""
    counts = Counter[str]()
    result: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = Scratch(Path(folder), repository)
        for commit in clean(history(repository, WALKED)):
            twin = row(repository, commit, name)
            if twin is None:
                continue
            possible = sorted(
                defects(scratch, commit),
                key=lambda defect: (counts[defect.variant], draw_of(commit.sha, defect.variant)),
            )
            for defect in possible:
                made = seed(scratch, commit, name, twin, defect)
                if made is not None:
                    counts[defect.variant] += 1
                    result += made
                    break
            if len(result) >= 2 * limit:
                break
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path, metavar="REPO_DIR")
    parser.add_argument("out", type=Path, metavar="OUT.jsonl.gz")
    parser.add_argument("--limit", type=int, default=100, metavar="N", help="at most N seeds")
    parser.add_argument("--name", required=True, metavar="OWNER/NAME")
    options = parser.parse_args(arguments)
    made = rows(open_repository(options.repository), options.name, options.limit)
    write(options.out, made)
    counts = Counter(entry["expect"]["variant"] for entry in made if "variant" in entry["expect"])
    print(
        f"{options.out.name}: {len(made) // 2} seeds: "
        + ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
