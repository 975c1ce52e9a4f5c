"""The case of a pull request in the forms that authors write, and the places that its claims name."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.domain.verdict.ledger import Case, CoverageClaim
from worker.dossier.case import (
    CaseError,
    ClaimPointer,
    cited_paths,
    read_block,
    read_case,
    read_case_file,
    read_pointer,
)

WHOLE = """\
summary: Uploads are tried again after a 503.
ac_coverage:
  - criterion: AC1
    addressed_by: upload.py:retry
    evidence: tests/test_upload.py::test_503
  - {criterion: AC2, addressed_by: "upload.py:12-30"}
work_arounds:
  - Pinned the client.
uncertainties: []
"""

READ = Case(
    summary="Uploads are tried again after a 503.",
    ac_coverage=(
        CoverageClaim(criterion="AC1", addressed_by="upload.py:retry", evidence="tests/test_upload.py::test_503"),
        CoverageClaim(criterion="AC2", addressed_by="upload.py:12-30"),
    ),
    work_arounds=("Pinned the client.",),
)


def body(block: str, fence: str = "```", word: str = "assay") -> str:
    return f"Closes #7\n\n{fence}{word}\n{block}\n{fence}\n\nCo-authored-by: A <a@b.c>\n"


@pytest.mark.parametrize("word", ["assay", "Assay", "assay yaml", "ASSAY", "", "yaml", "yml", "YAML", "json", "text"])
@pytest.mark.parametrize("fence", ["```", "~~~", "`````"])
def test_case_is_read_from_a_block_of_assay_or_data(fence: str, word: str) -> None:
    assert read_case(body(WHOLE, fence, word)) == READ


CLAIMED = Case(summary="Done.", ac_coverage=(CoverageClaim(criterion="AC1", addressed_by="a.py:1"),))


@pytest.mark.parametrize(
    ("text", "case"),
    [
        (body(WHOLE).replace("\n", "\r\n"), READ),
        (body('{"summary": "Done.",\t"ac_coverage": null}'), Case(summary="Done.")),
        (
            body('{"summary": "Done.", "ac_coverage": [{"criterion": "AC1", "addressed_by": "a.py:1"}]}', word="json"),
            CLAIMED,
        ),
        (body("summary: first") + body("summary: second"), Case(summary="second")),
        (body("summary: ours") + body(WHOLE, word="yaml"), Case(summary="ours")),
    ],
    ids=["lines of Windows", "JSON", "a block of JSON", "of several blocks the last one", "our word before any other"],
)
def test_case_is_found_in_its_block(text: str, case: Case) -> None:
    assert read_case(text) == case


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No block, but the word assay.",
        "```yaml\nsummary: x\n```",
        "```python\naddressed_by: str = ''\n```",
        "The coverage was addressed.\n\n```yaml\ncoverage: 90\n```",
        "> ```assay\n> summary: quoted\n> ```",
        "<!--\n```assay\nsummary: a template's example\n```\n-->",
        "    ```assay\n    summary: indented code\n    ```",
        "````markdown\n```assay\nsummary: shown\n```\n````",
    ],
)
def test_body_without_block_has_no_case(text: str) -> None:
    assert read_case(text) is None


AC1 = CoverageClaim(criterion="AC1", addressed_by="upload.py:retry", evidence="t.py::test_503")


@pytest.mark.parametrize(
    "block",
    [
        "summary: x\nac_coverage:\n- criterion: AC1\n  addressed_by: upload.py:retry\n  evidence: t.py::test_503",
        "Summary: x\nAC Coverage:\n- Criterion: AC1\n  Addressed-By: upload.py:retry\n  Evidence: t.py::test_503",
        "what: x\ncriteria:\n- id: AC1\n  where: upload.py:retry\n  proof: t.py::test_503",
        "description: x\nacceptance_criteria:\n- ac: AC1\n  implementation: upload.py:retry\n  tests: [t.py::test_503]",
        "summary: x\ncoverage:\n- criterion: AC1\n  file: upload.py\n  symbol: retry\n  test: t.py::test_503",
        "summary: x\nac_coverage:\n  AC1:\n    addressed_by: upload.py:retry\n    evidence: t.py::test_503",
        "summary: x\nac_coverage:\n- AC1:\n    addressed_by: upload.py:retry\n    evidence: t.py::test_503",
        "summary: x\nac_coverage:\n  criterion: AC1\n  addressed_by: upload.py:retry\n  evidence: t.py::test_503",
        "assay:\n  summary: x\n  ac_coverage:\n  - {criterion: AC1, addressed_by: upload.py:retry, evidence: t.py::test_503}",
        "summary: x\nac_coverge:\n- {criterion: AC1, adressed_by: upload.py:retry, evidence: t.py::test_503}",
        '{"case": {"summary": "x", "ac_coverage": [{"criterion": "AC1", "addressed_by": "upload.py:retry", "evidence": "t.py::test_503"}]}}',
        "summary: x\nac_coverage:\n\t- criterion: AC1\n\t  addressed_by: upload.py:retry\n\t  evidence: t.py::test_503",
        "summary: x\nissue: 7\nac_coverage:\n- {criterion: AC1, addressed_by: upload.py:retry, evidence: t.py::test_503, by: me}",
    ],
)
def test_case_fields_are_read_under_guessed_names_and_shapes(block: str) -> None:
    assert read_case(body(block)) == Case(summary="x", ac_coverage=(AC1,))


@pytest.mark.parametrize(
    ("claims", "criterion", "addressed_by", "evidence"),
    [
        ("- AC1: upload.py:retry", "AC1", "upload.py:retry", None),
        ("- AC1 -> upload.py:retry", "AC1", "upload.py:retry", None),
        ("- AC-1 — upload.py:retry", "AC-1", "upload.py:retry", None),
        ("  AC1: upload.py:retry", "AC1", "upload.py:retry", None),
        ("  AC1: [upload.py:retry, client.py]", "AC1", "upload.py:retry, client.py", None),
        ("  |\n  - AC1: upload.py:retry", "AC1", "upload.py:retry", None),
        ("- {criterion: 1, addressed_by: upload.py}", "1", "upload.py", None),
        ("- {criterion: '#1', addressed_by: upload.py}", "1", "upload.py", None),
        ("- {criterion: AC1, file: upload.py, line: 12}", "AC1", "upload.py:12", None),
        ("- {criterion: AC1, file: upload.py, lines: 12-30}", "AC1", "upload.py:12-30", None),
        ("- {criterion: AC1, files: [upload.py, client.py]}", "AC1", "upload.py, client.py", None),
        ("- {criterion: AC1, evidence: 't.py::test_503'}", "AC1", "t.py::test_503", "t.py::test_503"),
        ("- {criterion: AC1, addressed_by: the retry loop}", "AC1", "the retry loop", None),
        ('- {criterion: AC1, addressed_by: a.py, evidence: ""}', "AC1", "a.py", None),
        ("- {criterion: AC1, addressed_by: 't.ts > it works'}", "AC1", "t.ts > it works", None),
        ("- {criterion: AC1, addressed_by: T.java#test}", "AC1", "T.java#test", None),
        ("- criterion: AC1: it tries again\n  addressed_by: upload.py: the retry loop", "AC1: it tries again", "upload.py: the retry loop", None),
        ("- criterion: AC1\n  addressed_by: `upload.py:retry`", "AC1", "`upload.py:retry`", None),
        ("- criterion: AC1\n  addressed_by: **upload.py**: new", "AC1", "**upload.py**: new", None),
        ("- criterion: AC1\n  addressed_by: @app/upload.py", "AC1", "@app/upload.py", None),
        ("- criterion: AC1\n  addressed_by: a.py\n  evidence: it's new: a 503 is tried again", "AC1", "a.py", "it's new: a 503 is tried again"),
        ("- criterion: AC1\n  addressed_by: a.py\n  test: t.py\n  notes: green", "AC1", "a.py", "t.py, green"),
        ("- criterion: AC1\n  addressed_by: a.py\n  evidence: The new test\n    covers it.", "AC1", "a.py", "The new test covers it."),
    ],
)  # fmt: skip
def test_claim_is_read_in_usual_spellings(claims: str, criterion: str, addressed_by: str, evidence: str | None) -> None:
    claim = CoverageClaim(criterion=criterion, addressed_by=addressed_by, evidence=evidence)
    between = " " if claims.startswith("  |") else "\n"
    assert read_case(body(f"summary: x\nac_coverage:{between}{claims}")) == Case(summary="x", ac_coverage=(claim,))


@pytest.mark.parametrize(
    ("lists", "work_arounds"),
    [
        ("work_arounds: none", ()),
        ("work_arounds: N/A", ()),
        ("work_arounds:", ()),
        ("work_arounds: [none]", ()),
        ("workarounds: Pinned the client.", ("Pinned the client.",)),
        ("shortcuts:\n- Pinned: the client\n- 7", ("Pinned: the client", "7")),
        ("ac_coverage: none", ()),
        ("ac_coverage:", ()),
    ],
)
def test_list_field_can_be_a_text_or_none(lists: str, work_arounds: tuple[str, ...]) -> None:
    assert read_case(body(f"summary: x\n{lists}")) == Case(summary="x", work_arounds=work_arounds)


@pytest.mark.parametrize(
    ("summary", "expected"),
    [("Retry: on 503", "Retry: on 503"), ("7", "7"), ("[one, two]", "one, two"), ("{a: b}", "a: b"), ("`retry` is new", "`retry` is new")],
)  # fmt: skip
def test_text_field_can_hold_yaml_syntax(summary: str, expected: str) -> None:
    assert read_case(body(f"summary: {summary}")) == Case(summary=expected)


@pytest.mark.parametrize(
    ("block", "message", "line"),
    [
        ("", "Case refused: the block is empty. Write at least a line `summary: what the change achieves`.", None),
        ("ac_coverage: []", "Case refused at summary (line 1 of the block): missing. Write one or two lines on what the change achieves.", 1),
        ("issue: 7", "Case refused at summary (line 1 of the block): missing.", 1),
        ("summary: ' '", "Case refused at summary (line 1 of the block): the text is empty. Write it, or take the line out.", 1),
        ("summary: true", "Case refused at summary (line 1 of the block): expected text, found true or false. Put text in quotes.", 1),
        ("summary:", "Case refused at summary (line 1 of the block): empty. Write one or two lines on what the change achieves.", 1),
        ("summary: {a: ~}", "Case refused at summary.a (line 1 of the block): expected text, found nothing. Put text in quotes.", 1),
        ("summary: []", "Case refused at summary (line 1 of the block): expected text, found a list. Put text in quotes.", 1),
        ("summary: {a: b, c: d}", "Case refused at summary (line 1 of the block): expected text, found a mapping (a colon makes one). Put text in quotes.", 1),
        ("summary: x\nac_coverage: 7", "Case refused at ac_coverage (line 2 of the block): expected a list, found a number. Write [] for none.", 2),
        ("summary: x\nuncertainties: [true]", "Case refused at uncertainties[0] (line 2 of the block): expected text, found true or false.", 2),
        ("summary: x\ndescription: y", "Case refused at description (line 2 of the block): `summary` and `description` both stand for `summary`. Keep one of them.", 2),
        ("summary: x\nac_coverage:\n  - {criterion: AC1, addressed_by: a.py}\n  - {criterion: AC2}", "Case refused at ac_coverage[1].addressed_by (line 4 of the block): missing. Name the place that meets the criterion, as `path:name` or `path:12-30`; where nothing meets it, leave the item out.", 4),
        ("summary: x\nac_coverage:\n  - {addressed_by: a.py}", "Case refused at ac_coverage[0].criterion (line 3 of the block): missing. Each item names its criterion, as `AC1` or by its text.", 3),
        ("summary: x\nac_coverage: [AC1]", 'Case refused at ac_coverage[0] (line 2 of the block): expected `criterion:`, `addressed_by:`, `evidence:`, found the text "AC1".', 2),
        ("just words", 'Case refused: expected `summary:`, `ac_coverage:`, `work_arounds:`, `uncertainties:`, found the text "just words".', 1),
        ("a: &x 1\nb: *x", "Case refused at line 2 of the block: not YAML as we read it: aliases are not allowed. Put text that begins with *, & or ! in quotes.", 2),
        ("summary: a\nsummary: b", 'Case refused at line 2 of the block: not YAML as we read it: the key "summary" stands twice. Keep one of them.', 2),
        ("ac_coverage:\n  - criterion: AC1\n   addressed_by: a.py", "Case refused at line 3 of the block: not YAML as we read it: the indentation fits no line above. Indent this line like the other fields of its item.", 3),
        ("summary: a: b\nsummary: b", "Case refused at line 1 of the block: not YAML as we read it: mapping values are not allowed here. Put text that holds", 1),
        ('{"summary": "x",\n"ac_coverage": "AC1"}', "Case refused at ac_coverage (line 2 of the block): expected `criterion:`", 2),
        ('{"summary":\ttrue}', "Case refused at summary: expected text, found true or false.", None),
        ("a: 1\nsummary:\nac_coverage: []", "Case refused at summary (line 2 of the block): empty. Write one or two lines on what the change achieves.", 2),
        ("summary: s\nac_coverage:\n  - criterion: AC1\n    addressed_by:\n", "Case refused at ac_coverage[0].addressed_by (line 4 of the block): empty. Name the place", 4),
        ("summary: s\nac_coverage:\n  - criterion: AC1\n    where: none\n", "Case refused at ac_coverage[0].where (line 4 of the block): empty. Name the place", 4),
        ("AC1: upload.py", "Case refused at summary", 1),
        ("It retries in upload.py.", "Case refused: expected `summary:`", 1),
    ],
)  # fmt: skip
def test_malformed_block_names_the_problem_and_the_fix(block: str, message: str, line: int | None) -> None:
    case = read_case(body(block))
    assert isinstance(case, CaseError)
    assert case.message.startswith(message)
    assert case.line == line


def test_unread_fields_are_listed() -> None:
    block = "summary: x\nissue: 7\nac_coverage: [{criterion: AC1, addressed_by: a.py, reviewer: me}]"
    assert read_block(block).unread == ("issue", "ac_coverage[0].reviewer")
    assert read_block("assay: {summary: x}").unread == ()


def test_long_wrong_value_is_shortened_in_the_message() -> None:
    case = read_case(body(f"summary: x\nac_coverage: [{'y' * 500}]"))
    assert isinstance(case, CaseError)
    assert len(case.message) < 250


def test_case_file_holds_a_case_or_markdown_with_a_block() -> None:
    assert read_case_file(WHOLE) == READ
    assert read_case_file(body(WHOLE)) == READ
    assert read_case_file('{"summary": "Done."}') == Case(summary="Done.")
    assert isinstance(read_case_file("ac_coverage: []"), CaseError)
    assert read_case_file("") is None
    assert read_case_file("I changed the upload.") is None


@given(st.text())
def test_any_block_gives_a_case_or_an_error(block: str) -> None:
    assert isinstance(read_case(body(block)), Case | CaseError | None)
    assert isinstance(read_case_file(block), Case | CaseError | None)


@pytest.mark.parametrize(
    "block",
    [
        "summary: “s”\nac_coverage:\n  - criterion: “AC1”\n    addressed_by: “upload.py”\n",
        "summary: s\nac_coverage:\n  – criterion: AC1\n    addressed_by: upload.py\n",
        "summary: s\nac_coverage:\n  — AC1: upload.py\n",
        "summary: s\nac_coverage:\n  • AC1: upload.py\n",
        "summary: s\nac_coverage:\n  * AC1: upload.py\n",
        "summary: s\nac_coverage:\n\u00a0\u00a0- criterion: AC1\n\u00a0\u00a0\u00a0\u00a0addressed_by: upload.py\n",
        "{“summary”: “s”, “ac_coverage”: [{“criterion”: “AC1”, “addressed_by”: “upload.py”}]}",
        "s\n\nAC1: upload.py\n",
        "- AC1 → “upload.py”\n\ns\n",
        "summary: s\nac_coverage:\n  - criterion: AC1\n    addressed_by:\n    evidence: upload.py\n",
    ],
)
def test_case_with_typographic_signs_or_prose_is_read(block: str) -> None:
    case = read_block(block).case
    assert isinstance(case, Case)
    assert case.summary == "s"
    assert [(claim.criterion, claim.addressed_by) for claim in case.ac_coverage] == [("AC1", "upload.py")]


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
