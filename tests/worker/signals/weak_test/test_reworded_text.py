"""Assertions that were removed beside a change of the text that they compare with."""

import pytest

from tests.worker.signals.weak_test.seen import seen

DISPLAY = """impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.cause)
    }
}
"""
GONE = {
    "rust": ("a.rs", "tests/a.rs", "#[test]\nfn a() {{\n    let e = run();\n    assert!(e.is_user());\n{gone}}}\n"),
    "python": ("a.py", "test_a.py", "def test_a():\n    e = run()\n    assert e.code == 1\n{gone}"),
}
STRING = 'class E(Exception):\n    def __str__(self):\n        return f"{self.kind}: {self.cause}"\n'
MESSAGE = 'def run(path):\n    return Failure("the file was not found", path)\n'
TEXT = "    assert str(e) == 'no such file: user'\n"


@pytest.mark.parametrize(
    ("kind", "before", "after", "gone"),
    [
        (
            "rust",
            DISPLAY,
            DISPLAY.replace('write!(f, "{}: {}", self.kind, self.cause)', "f.write_str(self.kind)"),
            '    assert_eq!(e.to_string(), "task is gone: user code");\n',
        ),
        ("python", STRING, STRING.replace('f"{self.kind}: {self.cause}"', "self.kind"), TEXT),
        ("python", MESSAGE, MESSAGE.replace("the file was not", "file not"), "    assert e.text == 'the file was not found: a'\n"),
    ],
    ids=["rendered in Rust", "rendered in Python", "worded"],
)  # fmt: skip
def test_an_assertion_about_a_text_that_the_change_rewrites_is_no_fact(
    kind: str, before: str, after: str, gone: str
) -> None:
    assert before != after
    assert removed(kind, before, after, gone) == ["assertion_removed"]
    assert removed(kind, before, f"{before}\n\n", gone) == ["assertion_dropped"]


@pytest.mark.parametrize(
    ("before", "after", "gone"),
    [
        (STRING, STRING.replace('f"{self.kind}: {self.cause}"', "self.kind"), "    assert e.args == (1, 2)\n"),
        (STRING, STRING + "x = 1\n", TEXT),
        (MESSAGE, MESSAGE.replace("the file was not", "file not"), TEXT),
        (MESSAGE, MESSAGE.replace("path)", "path, 1)"), "    assert e.text == 'the file was not found: a'\n"),
    ],
    ids=["no text", "another function", "another text", "the text stays"],
)
def test_another_assertion_that_is_removed_beside_it_is_one(before: str, after: str, gone: str) -> None:
    assert removed("python", before, after, gone) == ["assertion_dropped"]


def removed(kind: str, before: str, after: str, gone: str) -> list[str]:
    path, test, text = GONE[kind]
    found = seen({path: before, test: text.format(gone=gone)}, {path: after, test: text.format(gone="")})
    return [name for name, _ in found if name in {"assertion_dropped", "assertion_removed"}]
