from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.domain.verdict.ledger import Case
from worker.dossier.claim_pointer import ClaimPointer, cited_paths, read_pointer


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ("upload.py", ClaimPointer("upload.py")),
        ("upload.py.", ClaimPointer("upload.py")),
        ("src/upload.py;", ClaimPointer("src/upload.py")),
        ("./src/upload.py", ClaimPointer("src/upload.py")),
        ("upload.py:12", ClaimPointer("upload.py", 12)),
        ("upload.py:12-30", ClaimPointer("upload.py", 12, 30)),
        ("upload.py:12–30", ClaimPointer("upload.py", 12, 30)),
        ("upload.py:12-12", ClaimPointer("upload.py", 12)),
        ("upload.py#L12", ClaimPointer("upload.py", 12)),
        ("upload.py#L12-L30", ClaimPointer("upload.py", 12, 30)),
        ("upload.py:L12-L30", ClaimPointer("upload.py", 12, 30)),
        ("upload.py:0", ClaimPointer("upload.py")),
        ("upload.py:", ClaimPointer("upload.py")),
        ("upload.py:retry", ClaimPointer("upload.py", name="retry")),
        ("upload.py:retry()", ClaimPointer("upload.py", name="retry()")),
        ("upload.py:retry.", ClaimPointer("upload.py", name="retry")),
        ("upload.py:Client.retry", ClaimPointer("upload.py", name="Client.retry")),
        ("upload.rs:Client::retry", ClaimPointer("upload.rs", name="Client::retry")),
        ("t/test_a.py::TestA::test_b[1-2]", ClaimPointer("t/test_a.py", name="TestA::test_b[1-2]")),
        ("t/test_a.py::", ClaimPointer("t/test_a.py")),
        ("a.test.ts > when asked, it > works", ClaimPointer("a.test.ts", name="when asked, it > works")),
        ("a.test.ts > 12 monkeys", ClaimPointer("a.test.ts", name="12 monkeys")),
        ("src/T.java#testIt", ClaimPointer("src/T.java", name="testIt")),
        ("`upload.py:retry`", ClaimPointer("upload.py", name="retry")),
        ("**upload.py:12**", ClaimPointer("upload.py", 12)),
        ('"upload.py"', ClaimPointer("upload.py")),
        ("`t/test_a.py::test_b` covers it", ClaimPointer("t/test_a.py", name="test_b", remark="covers it")),
        ("`a.test.ts` > works", ClaimPointer("a.test.ts", name="works")),
        ("[the loop](src/upload.py#L12)", ClaimPointer("src/upload.py", 12)),
        ("docs/my file.md:12", ClaimPointer("docs/my file.md", 12)),
        ("“upload.py:retry”", ClaimPointer("upload.py", name="retry")),
        ("‘upload.py’", ClaimPointer("upload.py")),
        ("upload.py:12—30", ClaimPointer("upload.py", 12, 30)),
        ("upload.py:modules", ClaimPointer("upload.py", name="modules")),
        ("upload.py:end_line", ClaimPointer("upload.py", name="end_line")),
        ("upload.py::module", ClaimPointer("upload.py", name="module")),
        ("src/bin", ClaimPointer("src/bin")),
        ("Makefile", ClaimPointer("Makefile")),
        ("Makefile:test", ClaimPointer("Makefile", name="test")),
        (".gitignore", ClaimPointer(".gitignore")),
    ],
)
def test_documented_form_is_an_exact_pointer(text: str, pointer: ClaimPointer) -> None:
    assert read_pointer(text) == pointer


UPLOAD = ClaimPointer("upload.py", is_exact=False)


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ("upload.py: the retry loop", replace(UPLOAD, remark="the retry loop")),
        ("upload.py: retry", replace(UPLOAD, remark="retry")),
        ("upload.py:module", replace(UPLOAD, remark="module")),
        ("upload.py:Module", replace(UPLOAD, remark="Module")),
        ("upload.py#top", replace(UPLOAD, remark="top")),
        ("upload.py:top-level", replace(UPLOAD, remark="top-level")),
        ("upload.py:imports, the first", replace(UPLOAD, remark="imports, the first")),
        ("upload.py:<module>", replace(UPLOAD, remark="<module")),
        ("upload.py:retry-loop", replace(UPLOAD, name="retry-loop")),
        ("upload.py:N/A", replace(UPLOAD, name="N/A")),
        ("upload.py:3d_model", replace(UPLOAD, name="3d_model")),
        ("upload.py::MAX=3", replace(UPLOAD, name="MAX=3")),
        ("upload.go:(*Client).Retry", ClaimPointer("upload.go", name="(*Client).Retry", is_exact=False)),
        ("tests/*.py", ClaimPointer("tests/*.py", is_exact=False)),
        ("src/.../upload.py:12", ClaimPointer("src/.../upload.py", 12, is_exact=False)),
        ("upload.py:retry twice", replace(UPLOAD, remark="retry twice")),
        ("upload.py - the retry loop", replace(UPLOAD, remark="the retry loop")),
        ("upload.py (the new loop)", replace(UPLOAD, remark="the new loop")),
        ("upload.py -> retry", replace(UPLOAD, remark="retry")),
        ("upload.py, client.py", replace(UPLOAD, remark="client.py")),
        ("the retry loop in upload.py", UPLOAD),
        ("I fixed it in upload.py", UPLOAD),
        ("new file upload.py", UPLOAD),
        ("upload.py: retry()", replace(UPLOAD, name="retry")),
        ("upload.py: `retry`", replace(UPLOAD, name="retry")),
        ("upload.py: retry_all", replace(UPLOAD, name="retry_all")),
        ("upload.py — Client.retry", replace(UPLOAD, name="Client.retry")),
        ("upload.py → retryAll", replace(UPLOAD, name="retryAll")),
        ("upload.py (the `retry` loop)", replace(UPLOAD, name="retry", remark="loop")),
        ("upload.py, function retry", replace(UPLOAD, name="retry")),
        ("upload.py, in the function `retry`", replace(UPLOAD, name="retry")),
        ("upload.py retry function", replace(UPLOAD, name="retry")),
        ("upload.py, the function that retries", replace(UPLOAD, remark="the function that retries")),
        ("upload.py:retry (the loop)", replace(UPLOAD, name="retry", remark="the loop")),
        ("upload.py:retry, client.py:x", replace(UPLOAD, name="retry", remark="client.py:x")),
        ("`upload.py`, `retry()`", replace(UPLOAD, name="retry")),
        ("file: upload.py, symbol: retry", replace(UPLOAD, name="retry")),
        ("added upload.py with test_503", replace(UPLOAD, name="test_503")),
        ("retry() in upload.py", replace(UPLOAD, name="retry")),
        ("`retry` in `upload.py`", replace(UPLOAD, name="retry")),
        ("class Client in upload.py", replace(UPLOAD, name="Client")),
        ("Client.retry (upload.py)", replace(UPLOAD, name="Client.retry")),
        ("test_503 in upload.py", replace(UPLOAD, name="test_503")),
        ("upload.py line 12", replace(UPLOAD, line=12)),
        ("upload.py, line 12", replace(UPLOAD, line=12)),
        ("upload.py, lines 12-30", replace(UPLOAD, line=12, end_line=30)),
        ("upload.py lines 12 to 30 (the loop)", replace(UPLOAD, line=12, end_line=30, remark="the loop")),
        ("upload.py (line 12: the loop)", replace(UPLOAD, line=12, remark="the loop")),
        ("upload.py (lines 12–30)", replace(UPLOAD, line=12, end_line=30)),
        ("upload.py at line 12", replace(UPLOAD, line=12)),
        ("upload.py L12", replace(UPLOAD, line=12)),
        ("upload.py: line 12", replace(UPLOAD, line=12)),
        ("upload.py @ 12", replace(UPLOAD, line=12)),
        ("upload.py:12:5", replace(UPLOAD, line=12, remark="5")),
        ("upload.py:12 (the loop)", replace(UPLOAD, line=12, remark="the loop")),
        ("upload.py:12-30: the loop", replace(UPLOAD, line=12, end_line=30, remark="the loop")),
        ("upload.py:12 and client.py:30", replace(UPLOAD, line=12, remark="and client.py:30")),
        ("upload.py:12 times", replace(UPLOAD, line=12, remark="times")),
        ("`upload.py` line 12", replace(UPLOAD, line=12)),
        ("`upload.py`:12 and more", replace(UPLOAD, line=12, remark="and more")),
        ("see upload.py:12", replace(UPLOAD, line=12)),
        ("upload.py(12,3)", replace(UPLOAD, line=12, remark="3")),
        ("line 12 of upload.py", replace(UPLOAD, line=12)),
        ("lines 12-30 in `upload.py`", replace(UPLOAD, line=12, end_line=30)),
        ("Client.retry (upload.py:12)", replace(UPLOAD, line=12)),
        ("https://github.com/acme/widgets/blob/main/upload.py#L12C3-L30", replace(UPLOAD, line=12, end_line=30)),
        ("[the loop](https://github.com/acme/widgets/blob/3f2a/upload.py#L12)", replace(UPLOAD, line=12)),
        ("https://gitlab.example/a/b/-/blob/main/upload.py", UPLOAD),
        ("src\\win\\upload.cs", ClaimPointer("src/win/upload.cs", is_exact=False)),
        ("src\\win\\upload.cs(12)", ClaimPointer("src/win/upload.cs", 12, is_exact=False)),
        ("tests/ and src/a.py", ClaimPointer("src/a.py", is_exact=False)),
        ("`src/a.py`: the loop", ClaimPointer("src/a.py", remark="the loop", is_exact=False)),
        ("src/bin and others", ClaimPointer("src/bin", remark="and others", is_exact=False)),
        ("data/b.golden covers it", ClaimPointer("data/b.golden", remark="covers it", is_exact=False)),
        ("b.golden: the output", ClaimPointer("b.golden", remark="the output", is_exact=False)),
        ("in `a b/c.go` lines 3 to 9", ClaimPointer("b/c.go", 3, 9, is_exact=False)),
        ("Makefile, line 3", ClaimPointer("Makefile", 3, is_exact=False)),
    ],
)
def test_natural_form_is_an_inexact_pointer(text: str, pointer: ClaimPointer) -> None:
    assert read_pointer(text) == pointer


def test_text_without_file_is_not_a_pointer() -> None:
    urls = ("https://x.example/a.py", "https://x.example/a/b/issues/7")
    texts = ("", "  ", "retry", "the retry loop", *urls, ":retry", "`", "e.g. this")
    assert [text for text in texts if read_pointer(text) is not None] == []


@given(st.text())
def test_any_text_is_read_without_an_exception(text: str) -> None:
    pointer = read_pointer(text)
    assert pointer is None or pointer.path


def test_cited_paths_are_inside_the_repository() -> None:
    pairs = [("src/a.py:3", "tests/test_a.py::test_a"), ("../b.py", "in words"), ("/etc/c.toml", None), ("docs/", None)]
    coverage = [{"criterion": "AC1", "addressed_by": location, "evidence": proof} for location, proof in pairs]
    case = Case.model_validate({"summary": "s", "ac_coverage": coverage})
    assert list(cited_paths(case)) == ["src/a.py", "tests/test_a.py", "docs"]
