"""Generated changes of any size in each language; the same sizes give the same bytes."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from worker.domain.dossier import Criterion, Dossier, HeadFile, Issue, PullRequest

EDITED_LINE: Final = 3
"""The line of a function that an edit rewrites."""

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


FORMS: Final[dict[str, Form]] = {
    "python": Form(
        'def convert_{n}(rows: list[str], limit: int) -> dict[str, int]:\n    """Count the rows of kind {n}."""\n'
        "    counts: dict[str, int] = {}\n    for row in rows[:limit]:\n        key = row.strip().lower()\n"
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
        "export function convert{n}(rows, limit) {\n  const counts = new Map();\n  for (const row of rows.slice(0, limit)) {\n"
        "    const key = row.trim().toLowerCase();\n    if (!key) {\n      continue;\n    }\n"
        "    counts.set(key, (counts.get(key) ?? {n}) + 1);\n  }\n  return new Map([...counts].sort());\n}\n\n",
        '  it("counts each row of kind {n}", () => {\n    const rows = ["one", "two", "one"];\n'
        '    const counts = convert{n}(rows, 10);\n    expect(counts.get("one")).toBe({n} + 2);\n'
        '    expect(counts.get("two")).toBe({n} + 1);\n    expect(counts.size).toBe(2);\n  });\n\n',
        "src/pack{f}/convert.js",
        "src/pack{f}/convert.test.js",
        test_opening='import { convert } from "./convert.js";\n\ndescribe("convert", () => {\n',
        test_closing="});\n",
    ),
    "go": Form(
        "// Convert{n} counts the rows of kind {n}.\nfunc Convert{n}(rows []string, limit int) map[string]int {\n"
        "\tcounts := map[string]int{}\n\tfor _, row := range rows[:limit] {\n"
        '\t\tkey := strings.ToLower(strings.TrimSpace(row))\n\t\tif key == "" {\n\t\t\tcontinue\n\t\t}\n'
        "\t\tcounts[key] += {n} + 1\n\t}\n\treturn counts\n}\n\n",
        'func TestConvert{n}CountsEachRow(t *testing.T) {\n\trows := []string{"one", "two", "one"}\n'
        '\tcounts := Convert{n}(rows, 3)\n\tif counts["one"] != 2*({n}+1) {\n'
        '\t\tt.Errorf("one is %d", counts["one"])\n\t}\n\tif len(counts) != 2 {\n\t\tt.Fatalf("got %v", counts)\n\t}\n}\n\n',
        "pack{f}/convert.go",
        "pack{f}/convert_test.go",
        opening='package pack\n\nimport "strings"\n\n',
        test_opening='package pack\n\nimport "testing"\n\n',
    ),
    "rust": Form(
        "/// Counts the rows of kind {n}.\npub fn convert_{n}(rows: &[String], limit: usize) -> BTreeMap<String, usize> {\n"
        "    let mut counts = BTreeMap::new();\n    for row in rows.iter().take(limit) {\n"
        "        let key = row.trim().to_lowercase();\n        if key.is_empty() {\n            continue;\n        }\n"
        "        *counts.entry(key).or_insert({n}) += 1;\n    }\n    counts\n}\n\n",
        '#[test]\nfn convert_{n}_counts_each_row() {\n    let rows = rows(&["one", "two", "one"]);\n'
        '    let counts = convert_{n}(&rows, 10);\n    assert_eq!(counts["one"], {n} + 2);\n'
        '    assert_eq!(counts["two"], {n} + 1);\n    assert_eq!(counts.len(), 2);\n}\n\n',
        "src/pack{f}/convert.rs",
        "tests/convert{f}.rs",
        opening="use std::collections::BTreeMap;\n\n",
        test_opening="use pack::convert::*;\n\n",
    ),
    "java": Form(
        "    /** Counts the rows of kind {n}. */\n    public Map<String, Integer> convert{n}(List<String> rows, int limit) {\n"
        "        Map<String, Integer> counts = new TreeMap<>();\n        for (String row : rows.subList(0, limit)) {\n"
        "            String key = row.trim().toLowerCase();\n            if (key.isEmpty()) {\n                continue;\n"
        "            }\n            counts.merge(key, {n}, Integer::sum);\n        }\n        return counts;\n    }\n\n",
        '    @Test\n    void convert{n}CountsEachRow() {\n        List<String> rows = List.of("one", "two", "one");\n'
        "        Map<String, Integer> counts = convert.convert{n}(rows, 3);\n"
        '        assertEquals({n} * 2, counts.get("one"));\n        assertEquals({n}, counts.get("two"));\n'
        "        assertEquals(2, counts.size());\n    }\n\n",
        "src/main/java/pack{f}/Convert.java",
        "src/test/java/pack{f}/ConvertTest.java",
        opening="package pack;\n\nimport java.util.*;\n\npublic class Convert {\n",
        closing="}\n",
        test_opening="package pack;\n\nimport org.junit.jupiter.api.Test;\n\nclass ConvertTest {\n",
        test_closing="}\n",
    ),
}


FORMS["typescript"] = FORMS["javascript"]._replace(
    code_path="src/pack{f}/convert.ts", test_path="src/pack{f}/convert.test.ts"
)


@dataclass(frozen=True, slots=True)
class Size:
    """How large a change is: files, functions that stay in each, and functions that each file gets."""

    files: int
    kept: int = 8
    added: int = 1


class MadeFile(NamedTuple):
    path: str
    base: str
    head: str


def generate_file(language: str, number: int, size: Size) -> MadeFile:
    """Even ones are code, odd ones their tests. One line in every fourth function that stays is rewritten."""
    form, is_test = FORMS[language], number % 2 == 1
    template, path = (form.test, form.test_path) if is_test else (form.code, form.code_path)
    opening, closing = (form.test_opening, form.test_closing) if is_test else (form.opening, form.closing)
    head = [template.replace("{n}", str(100 * number + at)) for at in range(size.kept + size.added)]
    base = [text if at % 4 else before_edit(text) for at, text in enumerate(head[: size.kept])]
    texts = ("".join((opening, *functions, closing)).replace("{f}", str(number // 2)) for functions in (base, head))
    return MadeFile(path.replace("{f}", str(number // 2)), *texts)


def before_edit(text: str) -> str:
    lines = text.split("\n")
    lines[EDITED_LINE] = lines[EDITED_LINE].replace("row", "old").replace("count", "old")
    return "\n".join(lines)


def print_diff(path: str, before: str, after: str) -> str:
    """What git would print of one file."""
    sides: list[list[str]] = []
    for text in (before, after):
        *lines, end = text.split("\n")
        sides.append([f"{line}\n" for line in lines] + ([f"{end}\n\\ No newline at end of file\n"] if end else []))
    base, head = sides
    printed = "".join(difflib.unified_diff(base, head, f"a/{path}", f"b/{path}"))
    return printed and f"diff --git a/{path} b/{path}\nindex 1111111..2222222 100644\n{printed}"


def generate_dossier(languages: Iterable[str], size: Size, *, whole: bool) -> Dossier:
    """A change over these languages in turn, with or without the whole texts of its files."""
    cycle = tuple(languages)
    files = [generate_file(cycle[(number // 2) % len(cycle)], number, size) for number in range(size.files)]
    body = (
        "Rows are counted twice when a limit is given. `convert` should count each row once, and say so in its tests."
    )
    pull = {
        "repository": "made/change", "number": 1, "title": "Count each row once", "body": "Fixes #7", "author": "someone",
        "base_ref": "main", "base_sha": "1" * 40, "head_ref": "rows", "head_sha": "2" * 40,
    }  # fmt: skip
    return Dossier(
        pull_request=PullRequest.model_validate(pull),
        issues=(Issue.model_validate({"repository": "made/change", "number": 7, "title": "Rows", "body": body}),),
        criteria=(Criterion(id="AC1", text="`convert` counts each row once"),),
        diff="".join(print_diff(*file) for file in files),
        files=tuple(HeadFile(path=file.path, text=file.head) for file in files) if whole else None,
    )
