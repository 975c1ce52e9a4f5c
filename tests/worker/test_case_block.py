import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.case_block import CaseError, read_case, read_case_file
from worker.domain.case import Case, CoverageClaim

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


def refusal(block: str) -> str:
    case = read_case(body(block))
    assert isinstance(case, CaseError)
    return case.message


def test_a_case_is_read_from_the_fenced_block_of_a_body() -> None:
    assert read_case(body(WHOLE)) == READ


@pytest.mark.parametrize("word", ["assay", "Assay", "assay yaml", "ASSAY"])
@pytest.mark.parametrize("fence", ["```", "~~~", "`````"])
def test_any_fence_with_our_word_is_the_block(fence: str, word: str) -> None:
    assert read_case(body(WHOLE, fence, word)) == READ


def test_windows_newlines_change_nothing() -> None:
    assert read_case(body(WHOLE).replace("\n", "\r\n")) == READ


def test_a_case_may_be_json() -> None:
    assert read_case(body('{"summary": "Done.",\t"ac_coverage": null}')) == Case(summary="Done.")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No block, but the word assay.",
        "```yaml\nsummary: x\n```",
        "> ```assay\n> summary: quoted\n> ```",
        "<!--\n```assay\nsummary: a template's example\n```\n-->",
        "    ```assay\n    summary: indented code\n    ```",
        "````markdown\n```assay\nsummary: shown\n```\n````",
    ],
)
def test_without_a_real_block_there_is_no_case(text: str) -> None:
    assert read_case(text) is None


def test_of_several_blocks_the_last_one_counts() -> None:
    assert read_case(body("summary: first") + body("summary: second")) == Case(summary="second")


@pytest.mark.parametrize(
    "pointer",
    ["upload.py", "upload.py:12", "upload.py:12-30", "upload.py:retry", "t.py::test", "t.ts > it works", "T.java#test"],
)
def test_every_usual_form_of_a_pointer_is_taken(pointer: str) -> None:
    case = read_case(body(f"summary: x\nac_coverage:\n  - criterion: AC1\n    addressed_by: '{pointer}'"))
    assert isinstance(case, Case)
    assert case.ac_coverage[0].addressed_by == pointer


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (
            "summary: x\nac_coverage:\n  - {criterion: AC1, addressed_by: a.py}\n  - {criterion: AC2, addressed_by: retry}",
            'Case refused at ac_coverage[1].addressed_by: "retry" names no file. Write path:symbol, as in upload.py:retry.',
        ),
        ("", "Case refused: the block is empty. Write at least a line `summary: what the change achieves`."),
        (
            "summary: Retry: on 503",
            'Case refused at line 1 of the block: not YAML as we read it: mapping values are not allowed here. Put text that holds ": " or begins with a sign in quotes.',
        ),
        ("ac_coverage: []", "Case refused at summary: missing. Write one or two lines on what the change achieves."),
        ("summary: ' '", "Case refused at summary: the text is empty. Write it, or take the line out."),
        ("summary: 7", "Case refused at summary: expected text, found a number. Put text in quotes."),
        ("summary: [x]", "Case refused at summary: expected text, found a list. Put text in quotes."),
        ("summary: true", "Case refused at summary: expected text, found true or false. Put text in quotes."),
        ("summary:", "Case refused at summary: expected text, found nothing. Put text in quotes."),
        (
            "summary: {a: b}",
            "Case refused at summary: expected text, found a mapping (a colon makes one). Put text in quotes.",
        ),
        (
            "summary: x\nwork_arounds: none",
            'Case refused at work_arounds: expected a list, found the text "none". Write [] for none.',
        ),
        ("summary: x\nuncertainties: [1]", "Case refused at uncertainties[0]: expected text, found a number. Put text in quotes."),
        (
            "summary: x\nnotes: y",
            "Case refused at notes: unknown field. There are summary, ac_coverage, work_arounds, uncertainties.",
        ),
        (
            "summary: x\nac_coverage:\n  - {criterion: AC1, file: a.py}",
            "Case refused at ac_coverage[0].file: unknown field. There are criterion, addressed_by, evidence.",
        ),
        (
            "summary: x\nac_coverage:\n  - {criterion: AC1}",
            "Case refused at ac_coverage[0].addressed_by: missing. Each item has criterion and addressed_by.",
        ),
        (
            "summary: x\nac_coverage: [AC1]",
            'Case refused at ac_coverage[0]: expected `criterion:`, `addressed_by:`, `evidence:`, found the text "AC1".',
        ),
        (
            "just words",
            'Case refused: expected `summary:`, `ac_coverage:`, `work_arounds:`, `uncertainties:`, found the text "just words".',
        ),
        ("a: &x 1\nb: *x", "Case refused at line 2 of the block: not YAML as we read it: aliases are not allowed."),
    ],
)  # fmt: skip
def test_a_malformed_block_is_answered_with_the_one_error_to_fix(block: str, message: str) -> None:
    assert refusal(block).startswith(message)


def test_an_empty_evidence_is_none() -> None:
    case = read_case(body('summary: x\nac_coverage:\n  - {criterion: AC1, addressed_by: a.py, evidence: ""}'))
    assert isinstance(case, Case)
    assert case.ac_coverage[0].evidence is None


def test_a_long_wrong_value_is_shortened_in_the_message() -> None:
    assert len(refusal(f"summary: x\nwork_arounds: {'y' * 500}")) < 200


def test_a_file_may_hold_the_case_alone_or_markdown_with_a_block() -> None:
    assert read_case_file(WHOLE) == READ
    assert read_case_file(body(WHOLE)) == READ
    assert read_case_file('{"summary": "Done."}') == Case(summary="Done.")
    assert read_case_file("") == CaseError(
        "Case refused: the block is empty. Write at least a line `summary: what the change achieves`."
    )


@given(st.text())
def test_any_text_in_a_block_gives_a_case_or_an_error(block: str) -> None:
    assert isinstance(read_case(body(block)), Case | CaseError | None)
    assert isinstance(read_case_file(block), Case | CaseError)
