import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.domain.claim_pointer import ClaimPointer, read_pointer


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ("upload.py", ClaimPointer("upload.py")),
        ("./src/upload.py", ClaimPointer("src/upload.py")),
        ("upload.py:12", ClaimPointer("upload.py", 12)),
        ("upload.py:12-30", ClaimPointer("upload.py", 12, 30)),
        ("upload.py:12-12", ClaimPointer("upload.py", 12)),
        ("upload.py:12:5", ClaimPointer("upload.py", 12)),
        ("upload.py#L12-L30", ClaimPointer("upload.py", 12, 30)),
        ("upload.py:0", ClaimPointer("upload.py")),
        ("upload.py:retry", ClaimPointer("upload.py", name="retry")),
        ("upload.py: retry", ClaimPointer("upload.py", name="retry")),
        ("upload.py:Client.retry, client.py:x", ClaimPointer("upload.py", name="Client.retry")),
        ("upload.py:retry twice", ClaimPointer("upload.py", name="retry", words="retry twice")),
        ("upload.py:12 times", ClaimPointer("upload.py", 12)),
        ("upload.py:3d_model", ClaimPointer("upload.py", name="3d_model")),
        ("upload.py:", ClaimPointer("upload.py")),
        ("t/test_a.py::TestA::test_b[1-2]", ClaimPointer("t/test_a.py", name="TestA::test_b[1-2]")),
        ("t/test_a.py::", ClaimPointer("t/test_a.py")),
        ("a.test.ts > when asked, it > works", ClaimPointer("a.test.ts", name="when asked, it > works")),
        ("a.test.ts > 12 monkeys", ClaimPointer("a.test.ts", name="12 monkeys")),
        ("src/T.java#testIt", ClaimPointer("src/T.java", name="testIt")),
        ("`upload.py:retry`", ClaimPointer("upload.py", name="retry")),
        ("`t/test_a.py::test_b` covers it", ClaimPointer("t/test_a.py", name="test_b")),
        ("`upload.py`:12 and more", ClaimPointer("upload.py", 12)),
        ('"upload.py"', ClaimPointer("upload.py")),
        ("upload.py (the new loop)", ClaimPointer("upload.py")),
        ("upload.py, client.py", ClaimPointer("upload.py")),
        ("docs/my file.md:12", ClaimPointer("docs/my file.md", 12)),
        ("src/bin", ClaimPointer("src/bin")),
        ("src/bin and others", ClaimPointer("src/bin")),
        ("Makefile", ClaimPointer("Makefile")),
        ("Makefile:test", ClaimPointer("Makefile", name="test")),
        (".gitignore", ClaimPointer(".gitignore")),
    ],
)
def test_the_usual_forms_are_read(text: str, pointer: ClaimPointer) -> None:
    assert read_pointer(text) == pointer


@pytest.mark.parametrize(
    "text", ["", "  ", "retry", "I fixed it in upload.py", "https://x.example/a.py", ":retry", "`"]
)
def test_what_does_not_begin_with_a_file_is_none(text: str) -> None:
    assert read_pointer(text) is None


@given(st.text())
def test_any_text_is_read_without_an_exception(text: str) -> None:
    pointer = read_pointer(text)
    assert pointer is None or pointer.path
