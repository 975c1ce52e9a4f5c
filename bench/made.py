"""Made changes of any size, in each language: the same work a line however many lines there are.

Does not look like anybody's repository; what real changes cost, `bench/cost.py --profile FILE` says. Invariant: the diff
and the texts of the head belong together, and the same sizes give the same bytes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple

from worker.domain.dossier.dossier import Criterion, Dossier, HeadFile, Issue, PullRequest

CONTEXT: Final = 3
LANGUAGES: Final = ("python", "javascript", "typescript", "go", "rust", "java")


class Form(NamedTuple):
    """How one language writes a file of code and one of tests; `{n}` is the number of a function, `{f}` of a file."""

    code: str
    test: str
    code_path: str
    test_path: str
    closing: str = ""
    test_closing: str = ""
    opening: str = ""
    test_opening: str = ""


FORMS: Final = {
    "python": Form(
        'def convert_{n}(rows: list[str], limit: int) -> dict[str, int]:\n    """Count the rows of kind {n}."""\n'
        "    counts: dict[str, int] = {{}}\n    for row in rows[:limit]:\n        key = row.strip().lower()\n"
        "        if not key:\n            continue\n        counts[key] = counts.get(key, {n}) + 1\n"
        "    return dict(sorted(counts.items()))\n\n",
        'def test_convert_{n}_counts_each_row():\n    rows = ["one", "two", "one"]\n'
        "    counts = convert_{n}(rows, limit=10)\n"
        '    assert counts["one"] == {n} + 2\n    assert counts["two"] == {n} + 1\n    assert len(counts) == 2\n\n',
        "pack{f}/convert.py",
        "tests/test_convert{f}.py",
        opening="import os\n\n\n",
        test_opening="import pytest\n\nfrom pack{f}.convert import *\n\n\n",
    ),
    "javascript": Form(
        "export function convert{n}(rows, limit) {{\n  const counts = new Map();\n  for (const row of rows.slice(0, limit)) {{\n"
        "    const key = row.trim().toLowerCase();\n    if (!key) {{\n      continue;\n    }}\n"
        "    counts.set(key, (counts.get(key) ?? {n}) + 1);\n  }}\n  return new Map([...counts].sort());\n}}\n\n",
        '  it("counts each row of kind {n}", () => {{\n    const rows = ["one", "two", "one"];\n'
        '    const counts = convert{n}(rows, 10);\n    expect(counts.get("one")).toBe({n} + 2);\n'
        '    expect(counts.get("two")).toBe({n} + 1);\n    expect(counts.size).toBe(2);\n  }});\n\n',
        "src/pack{f}/convert.js",
        "src/pack{f}/convert.test.js",
        test_opening='import {{ convert }} from "./convert.js";\n\ndescribe("convert", () => {{\n',
        test_closing="}});\n",
    ),
    "go": Form(
        "// Convert{n} counts the rows of kind {n}.\nfunc Convert{n}(rows []string, limit int) map[string]int {{\n"
        "\tcounts := map[string]int{{}}\n\tfor _, row := range rows[:limit] {{\n"
        '\t\tkey := strings.ToLower(strings.TrimSpace(row))\n\t\tif key == "" {{\n\t\t\tcontinue\n\t\t}}\n'
        "\t\tcounts[key] += {n} + 1\n\t}}\n\treturn counts\n}}\n\n",
        'func TestConvert{n}CountsEachRow(t *testing.T) {{\n\trows := []string{{"one", "two", "one"}}\n'
        '\tcounts := Convert{n}(rows, 3)\n\tif counts["one"] != 2*({n}+1) {{\n'
        '\t\tt.Errorf("one is %d", counts["one"])\n\t}}\n\tif len(counts) != 2 {{\n\t\tt.Fatalf("got %v", counts)\n\t}}\n}}\n\n',
        "pack{f}/convert.go",
        "pack{f}/convert_test.go",
        opening='package pack\n\nimport "strings"\n\n',
        test_opening='package pack\n\nimport "testing"\n\n',
    ),
    "rust": Form(
        "/// Counts the rows of kind {n}.\npub fn convert_{n}(rows: &[String], limit: usize) -> BTreeMap<String, usize> {{\n"
        "    let mut counts = BTreeMap::new();\n    for row in rows.iter().take(limit) {{\n"
        "        let key = row.trim().to_lowercase();\n        if key.is_empty() {{\n            continue;\n        }}\n"
        "        *counts.entry(key).or_insert({n}) += 1;\n    }}\n    counts\n}}\n\n",
        '#[test]\nfn convert_{n}_counts_each_row() {{\n    let rows = rows(&["one", "two", "one"]);\n'
        '    let counts = convert_{n}(&rows, 10);\n    assert_eq!(counts["one"], {n} + 2);\n'
        '    assert_eq!(counts["two"], {n} + 1);\n    assert_eq!(counts.len(), 2);\n}}\n\n',
        "src/pack{f}/convert.rs",
        "tests/convert{f}.rs",
        opening="use std::collections::BTreeMap;\n\n",
        test_opening="use pack::convert::*;\n\n",
    ),
    "java": Form(
        "    /** Counts the rows of kind {n}. */\n    public Map<String, Integer> convert{n}(List<String> rows, int limit) {{\n"
        "        Map<String, Integer> counts = new TreeMap<>();\n        for (String row : rows.subList(0, limit)) {{\n"
        "            String key = row.trim().toLowerCase();\n            if (key.isEmpty()) {{\n                continue;\n"
        "            }}\n            counts.merge(key, {n}, Integer::sum);\n        }}\n        return counts;\n    }}\n\n",
        '    @Test\n    void convert{n}CountsEachRow() {{\n        List<String> rows = List.of("one", "two", "one");\n'
        "        Map<String, Integer> counts = convert.convert{n}(rows, 3);\n"
        '        assertEquals({n} * 2, counts.get("one"));\n        assertEquals({n}, counts.get("two"));\n'
        "        assertEquals(2, counts.size());\n    }}\n\n",
        "src/main/java/pack{f}/Convert.java",
        "src/test/java/pack{f}/ConvertTest.java",
        opening="package pack;\n\nimport java.util.*;\n\npublic class Convert {{\n",
        closing="}}\n",
        test_opening="package pack;\n\nimport org.junit.jupiter.api.Test;\n\nclass ConvertTest {{\n",
        test_closing="}}\n",
    ),
}


@dataclass(frozen=True, slots=True)
class Size:
    """How large a change is: files, functions that stay in each, and functions that each file gets."""

    files: int
    kept: int = 8
    added: int = 1


class Line(NamedTuple):
    mark: str
    text: str


class MadeFile(NamedTuple):
    path: str
    diff: str
    head: str


def form_of(language: str) -> Form:
    """TypeScript is JavaScript by another name here."""
    form = FORMS["javascript" if language == "typescript" else language]
    if language != "typescript":
        return form
    return form._replace(code_path="src/pack{f}/convert.ts", test_path="src/pack{f}/convert.test.ts")


def made_file(language: str, number: int, size: Size) -> MadeFile:
    """Even ones are code, odd ones their tests. One line in four of the functions that stay is written anew."""
    form, is_test = form_of(language), number % 2 == 1
    written = form.test if is_test else form.code
    opening, closing = (form.test_opening, form.test_closing) if is_test else (form.opening, form.closing)
    path = (form.test_path if is_test else form.code_path).format(f=number // 2)
    lines = [*_kept(opening.format(f=number // 2))]
    for at in range(size.kept + size.added):
        text = written.format(n=100 * number + at, f=number // 2)
        lines += [Line("+", line) for line in _split(text)] if at >= size.kept else _edited(text, is_edited=at % 4 == 0)
    lines += _kept(closing.format(f=number // 2))
    head = "".join(f"{line.text}\n" for line in lines if line.mark != "-")
    return MadeFile(path, printed(path, lines), head)


def _split(text: str) -> list[str]:
    return text.split("\n")[:-1]


def _kept(text: str) -> Iterator[Line]:
    return (Line(" ", line) for line in _split(text))


def _edited(text: str, *, is_edited: bool) -> Iterator[Line]:
    """The function as it was, or with its third line written anew."""
    for row, line in enumerate(_split(text)):
        if is_edited and row == CONTEXT:
            yield Line("-", line.replace("row", "old").replace("count", "old"))
            yield Line("+", line)
        else:
            yield Line(" ", line)


def printed(path: str, lines: list[Line]) -> str:
    """What git would print of one file's lines."""
    near = _near([line.mark != " " for line in lines])
    old = new = 1
    pieces = [f"diff --git a/{path} b/{path}\nindex 1111111..2222222 100644\n--- a/{path}\n+++ b/{path}\n"]
    for is_shown, group in groupby(zip(near, lines, strict=True), key=lambda both: both[0]):
        hunk = [line for _, line in group]
        base, head = (sum(line.mark != mark for line in hunk) for mark in "+-")
        if is_shown:
            pieces.append(f"@@ -{old},{base} +{new},{head} @@\n")
            pieces += [f"{line.mark}{line.text}\n" for line in hunk]
        old, new = old + base, new + head
    return "".join(pieces)


def _near(changed: list[bool]) -> list[bool]:
    """For each line whether a changed one stands within the context."""
    near = [False] * len(changed)
    for at, is_changed in enumerate(changed):
        if is_changed:
            start, end = max(0, at - CONTEXT), min(len(changed), at + CONTEXT + 1)
            near[start:end] = [True] * (end - start)
    return near


def made_dossier(languages: Iterable[str], size: Size, *, whole: bool) -> Dossier:
    """A change over these languages in turn, with or without the whole texts of its files."""
    cycle = tuple(languages)
    files = [made_file(cycle[(number // 2) % len(cycle)], number, size) for number in range(size.files)]
    text = (
        "Rows are counted twice when a limit is given. `convert` should count each row once, and say so in its tests."
    )
    return Dossier(
        pull_request=PullRequest.model_validate(
            {
                "repository": "made/change",
                "number": 1,
                "title": "Count each row once",
                "body": "Fixes #7",
                "author": "someone",
                "base_ref": "main",
                "base_sha": "1" * 40,
                "head_ref": "rows",
                "head_sha": "2" * 40,
            }
        ),
        issues=(Issue.model_validate({"repository": "made/change", "number": 7, "title": "Rows", "body": text}),),
        criteria=(Criterion(id="AC1", text="`convert` counts each row once"),),
        diff="".join(file.diff for file in files),
        files=tuple(HeadFile.model_validate({"path": file.path, "text": file.head}) for file in files)
        if whole
        else None,
    )
