"""Small clean changes in each language, as dossiers with whole texts."""

import difflib
from typing import Any

PYTHON_BASE = """import os


def kept(items):
    total = 0
    for item in items:
        total = total + item
    total = total * 2
    return total
"""
PYTHON_HEAD = (
    PYTHON_BASE
    + '''

def shorten(text: str, limit: int) -> str:
    """Cut *text* to *limit* characters."""
    if len(text) <= limit:
        text = text.strip()
    note(text)
    cut = text[:limit]
    cut = cut.rstrip()
    return cut


def note(text: str) -> None:
    """Remember *text*."""
    seen = os.environ.get("SEEN", "")
    os.environ["SEEN"] = seen + text
'''
)
PYTHON_TEST_BASE = """import os

from lib import kept


def test_kept():
    assert kept([1]) == 2
    assert kept([2]) == 4


def test_kept_of_nothing():
    result = kept([])
    assert result == 0
"""
PYTHON_TEST_HEAD = (
    PYTHON_TEST_BASE.replace("import kept", "import kept, note, shorten")
    + """

def test_shorten():
    os.environ["SEEN"] = ""
    text = shorten("abcdef", 3)
    assert text == "abc"
    assert shorten("ab", 3) == "ab"


def test_note():
    os.environ["SEEN"] = ""
    note("x")
    assert os.environ["SEEN"] == "x"
"""
)
JOIN_BASE = """def order(parts):
    by_name = {}
    for part in parts:
        by_name[part] = len(by_name)
    if not by_name:
        return []
    return sorted(by_name)


def first(parts):
    return parts[0]
"""
JOIN_HEAD = (
    JOIN_BASE.replace("return parts[0]", "return next(iter(parts), None)")
    + """

def join_words(parts, mark):
    if mark is None:
        raise ValueError("no mark")
    joined = " ".join(parts)
    return joined
"""
)
SPLIT_BASE = """LIMIT = 3


def split_words(text):
    return text.split()


def count(text):
    return len(text)
"""
SPLIT_HEAD = SPLIT_BASE.replace("LIMIT = 3", "LIMIT = 4").replace("len(text)", "len(split_words(text.strip_marks()))")
JOIN_TEST_HEAD = """from join import join_words


def test_join_words():
    assert join_words(["a", "b"], "") == "a b"
"""
CHANGES_BASE = "# Changelog\n\n- start\n"
CHANGES_HEAD = "# Changelog\n\n- add shorten\n- start\n"
DOCS_BASE = "# Guide\n\nUse kept.\n"
DOCS_HEAD = "# Guide\n\nUse kept.\n\nUse shorten to cut.\n"
WORKFLOW_BASE = """name: ci
on: push
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v3
      - name: Unit tests
        run: python -m pytest
      - name: Coverage
        run: coverage report --fail-under=90
"""
WORKFLOW_HEAD = WORKFLOW_BASE.replace("checkout@v3", "checkout@v4")

SCRIPT_BASE = """export function kept(a) {
  const first = 'one';
  const second = 'two';
  const both = first + second;
  const third = 'three';
  return both + third + a;
}
"""
SCRIPT_HEAD = (
    SCRIPT_BASE
    + """
export function shorten(text, limit) {
  if (text === undefined) {
    throw new TypeError('no text');
  }
  const cut = text.slice(0, limit);
  return cut;
}
"""
)
SCRIPT_TEST_BASE = """import { expect, it } from 'vitest';
import { kept } from './lib';

it('keeps', () => {
  expect(kept('x')).toBe('onetwothreex');
  expect(kept('')).toBe('onetwothree');
});
"""
SCRIPT_TEST_HEAD = (
    SCRIPT_TEST_BASE.replace("{ kept }", "{ kept, shorten }")
    + """
it('shortens', async () => {
  const text = 'abcdef';
  expect(shorten('abcdef', 3)).toBe('abc');
  expect(shorten(text, 2)).toBe('ab');
});

it('refuses nothing', async () => {
  expect(() => shorten(undefined, 2)).toThrow(TypeError);
  await expect(Promise.reject(new Error('x'))).rejects.toThrow('x');
});
"""
)
GO_BASE = """package lib

func Kept(a int) int {
\tdouble := a * 2
\tdouble = double + 1
\treturn double
}
"""
GO_HEAD = (
    GO_BASE
    + """
// Shorten cuts text.
func Shorten(text string, limit int) string {
\tif len(text) <= limit {
\t\treturn text
\t}
\tcut := text[:limit]
\treturn cut
}
"""
)
GO_TEST_BASE = """package lib

import "testing"

func TestKept(t *testing.T) {
\tif Kept(1) != 3 {
\t\tt.Error("wrong")
\t}
}
"""
GO_TEST_HEAD = (
    GO_TEST_BASE
    + """
func TestShorten(t *testing.T) {
\tgot := Shorten("abcdef", 3)
\tif got != "abc" {
\t\tt.Errorf("got %s", got)
\t}
}
"""
)
RUST_HEAD = """pub fn shorten(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        log(text);
    }
    let cut = &text[..limit];
    cut.to_string()
}

fn log(text: &str) {
    let seen = text.len();
    drop(seen);
}
"""
RUST_TEST_HEAD = """use lib::shorten;

#[test]
fn shortens() {
    let cut = shorten("abcdef", 3);
    assert_eq!(cut, "abc");
}
"""
JAVA_HEAD = """package lib;

class Text {
    static String shorten(String text, int limit) {
        if (text.isEmpty()) {
            text = text.trim();
        }
        String cut = text.substring(0, limit);
        return cut;
    }
}
"""
JAVA_TEST_HEAD = """package lib;

class TextTest {
    @Test
    void shortens() {
        String cut = Text.shorten("abcdef", 3);
        assertEquals("abc", cut);
    }
}
"""


def diff_of(path: str, base: str | None, head: str) -> str:
    """As git prints it, without a heading behind the second @@."""
    old, new = (base or "").splitlines(), head.splitlines()
    mode = "" if base is not None else "new file mode 100644\n"
    before = f"a/{path}" if base is not None else "/dev/null"
    hunks = "".join(f"{line}\n" for line in list(difflib.unified_diff(old, new, lineterm=""))[2:])
    return f"diff --git a/{path} b/{path}\n{mode}index 1111111..2222222 100644\n--- {before}\n+++ b/{path}\n{hunks}"


def change(title: str, files: dict[str, tuple[str | None, str]], name: str = "clean-1") -> dict[str, Any]:
    """A row; *files* are (base, head) texts by path."""
    pull = {
        "repository": "acme/widgets",
        "number": 7,
        "title": title,
        "body": "",
        "author": "alice",
        "base_sha": "1" * 40,
        "head_sha": "2" * 40,
    }
    diff = "".join(diff_of(path, *texts) for path, texts in sorted(files.items()))
    texts = [{"path": path, "text": head} for path, (_, head) in sorted(files.items())]
    return {
        "id": name,
        "dossier": {"dossier_version": 1, "pull_request": pull, "diff": diff, "files": texts},
        "expect": {"decision": "accept", "why": "clean", "lang": "python", "repo": "acme/widgets"},
    }


def rows() -> list[dict[str, Any]]:
    """One clean change a language, and one that touches CI, all of one repository."""
    return [
        change(
            "Shorten long words",
            {
                "src/lib.py": (PYTHON_BASE, PYTHON_HEAD),
                "tests/test_lib.py": (PYTHON_TEST_BASE, PYTHON_TEST_HEAD),
                "CHANGELOG.md": (CHANGES_BASE, CHANGES_HEAD),
                "docs/guide.md": (DOCS_BASE, DOCS_HEAD),
            },
            "clean-py",
        ),
        change(
            "Trim in browsers",
            {"web/lib.js": (SCRIPT_BASE, SCRIPT_HEAD), "web/lib.test.js": (SCRIPT_TEST_BASE, SCRIPT_TEST_HEAD)},
            "clean-js",
        ),
        change(
            "Abbreviate on servers",
            {"lib/lib.go": (GO_BASE, GO_HEAD), "lib/lib_test.go": (GO_TEST_BASE, GO_TEST_HEAD)},
            "clean-go",
        ),
        change(
            "Join parts again",
            {
                "parts/join.py": (JOIN_BASE, JOIN_HEAD),
                "parts/split.py": (SPLIT_BASE, SPLIT_HEAD),
                "parts/test_join.py": (None, JOIN_TEST_HEAD),
            },
            "clean-many",
        ),
        change(
            "Rusty cutting", {"core/lib.rs": (None, RUST_HEAD), "core/tests/cut.rs": (None, RUST_TEST_HEAD)}, "clean-rs"
        ),
        change(
            "Coffee cuts",
            {"java/Text.java": (None, JAVA_HEAD), "java/TextTest.java": (None, JAVA_TEST_HEAD)},
            "clean-java",
        ),
        change("Newer checkout", {".github/workflows/ci.yml": (WORKFLOW_BASE, WORKFLOW_HEAD)}, "clean-ci"),
    ]
