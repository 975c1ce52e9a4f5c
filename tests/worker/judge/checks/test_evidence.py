"""Evidence pointers are completed or explained, claims of the case have a status, and the coverage lists every changed file."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.worker.judge.samples import DIFF, case_with_claims, dossier, new_file
from worker.domain.dossier import Criterion, HeadFile, Issue, UnreadFile, UnreadReason
from worker.domain.verdict.ledger import Case, CoverageClaim
from worker.domain.verdict.verdict import Category, ClaimVerdict, Coverage, EvidencePointer, Finding, Side
from worker.dossier.diff import diff_of
from worker.judge.checks.coverage import coverage_of, mentions_unread_as_missing
from worker.judge.checks.evidence import Places, check_case, check_claims, claimed_ids, draft_claims
from worker.judge.llm.sanitize import NO_NEWLINE

CHANGE = """\
diff --git a/src/up.py b/src/up.py
index 1111111..2222222 100644
--- a/src/up.py
+++ b/src/up.py
@@ -2,2 +2,3 @@ def up():
     context
-    old = 1
+    new = 1
+    newer = 2
diff --git a/gone.py b/gone.py
deleted file mode 100644
index 1111111..0000000
--- a/gone.py
+++ /dev/null
@@ -1,2 +0,0 @@
-first
-last
diff --git a/was.py b/is.py
similarity index 90%
rename from was.py
rename to is.py
index 1111111..2222222 100644
--- a/was.py
+++ b/is.py
@@ -1,2 +1,2 @@
-a
+b
 c
diff --git a/fresh.py b/fresh.py
new file mode 100644
index 0000000..2222222
--- /dev/null
+++ b/fresh.py
@@ -0,0 +1 @@
+x = 1
diff --git a/logo.png b/logo.png
index 1111111..2222222 100644
Binary files a/logo.png and b/logo.png differ
diff --git a/link b/link
new file mode 120000
index 0000000..2222222
--- /dev/null
+++ b/link
@@ -0,0 +1 @@
+src/up.py
\\ No newline at end of file
"""
TEXT = "def up():\n    context\n    new = 1\n    newer = 2\n    return new\n"
FILES = (
    {"path": "src/up.py", "text": TEXT},
    {"path": "AGENTS.md", "text": "No print.\n"},
    {"path": "no.py", "exists": False},
)


def places_of(files: Sequence[object] | None = FILES, diff: str = CHANGE) -> Places:
    return Places(dossier(diff=diff, files=files))


PLACES = places_of()
QUOTES = ("new = 1", "  new  =  1 ", "+    new = 1", "new = 1\n    newer = 2", None, "\tnew = 1\r")


def pointer(path: str, line: int | None = None, side: Side = Side.HEAD, **more: object) -> EvidencePointer:
    return EvidencePointer.model_validate({"path": path, "line": line, "side": side, **more})


@pytest.mark.parametrize(
    ("path", "line", "side", "quote"),
    [
        ("src/up.py", 3, Side.HEAD, "    new = 1"),
        ("src/up.py", 1, Side.HEAD, "def up():"),
        ("src/up.py", 3, Side.BASE, "    old = 1"),
        ("src/up.py", 4, Side.BASE, "    return new"),
        ("AGENTS.md", 1, Side.HEAD, "No print."),
        ("AGENTS.md", 1, Side.BASE, "No print."),
        ("gone.py", 2, Side.BASE, "last"),
        ("was.py", 1, Side.BASE, "a"),
        ("is.py", 1, Side.BASE, "a"),
        ("is.py", 1, Side.HEAD, "b"),
        ("fresh.py", 1, Side.HEAD, "x = 1"),
    ],
)
def test_existing_line_is_quoted(path: str, line: int, side: Side, quote: str) -> None:
    assert PLACES.line(path, line, side) == quote
    checked = PLACES.check(pointer(path, line, side, note="n"))
    assert checked == pointer(path, line, side, quote=quote, note="n")


def test_text_that_contradicts_the_diff_is_ignored() -> None:
    odd = places_of([{"path": "src/up.py", "text": "other\n"}])
    assert (odd.line("src/up.py", 3, Side.BASE), odd.line("src/up.py", 1, Side.BASE)) == ("    old = 1", None)


BINARY = "point at it by its path, without a line"


@pytest.mark.parametrize(
    ("location", "problem"),
    [
        (pointer("src/up.py", 40), "`src/up.py` has 5 lines at the head commit, line 40 does not exist."),
        (pointer("src/up.py", 3, end_line=9), "line 9 does not exist"),
        (pointer("gone.py", 3, Side.BASE), "`gone.py` has 2 lines at the base commit, line 3 does not exist."),
        (pointer("gone.py", 1), '`gone.py` is not there at the head commit: a line of it needs side "base".'),
        (pointer("was.py", 1), '`was.py` is not there at the head commit: a line of it needs side "base".'),
        (pointer("fresh.py", 1, Side.BASE), 'a line of it needs side "head".'),
        (pointer("lib/up.py", 3), "is neither changed by the diff nor among the files you were given. Did you mean `src/up.py`?"),
        (pointer("AGENT.md"), "Did you mean `AGENTS.md`?"),
        (pointer("zzz", 1), "among the files you were given."),
        (pointer("no.py"), "`no.py` does not exist at the head commit: name another place, or none."),
        (pointer("logo.png", 1), BINARY),
        (pointer("logo.png", 1, Side.BASE), BINARY),
        (pointer("link", 1), BINARY),
        (pointer("src/up.py", 3, quote="new"), "not `new`"),  # a part of a line
    ],
)  # fmt: skip
def test_missing_location_is_explained(location: EvidencePointer, problem: str) -> None:
    answer = PLACES.check(location)
    assert isinstance(answer, str)
    assert problem in answer


def test_only_diff_lines_are_known_without_texts() -> None:
    bare = places_of(None)
    assert bare.check(pointer("src/up.py", 1)) == (
        "Line 1 of `src/up.py` is not in the diff, and the text of the file was not given: "
        "known lines at the head commit are 2-4."
    )
    assert bare.check(pointer("src/up.py", 4)) == pointer("src/up.py", 4, quote="    newer = 2")
    unknown = (("src/up.py", Side.HEAD), ("nowhere", Side.HEAD), ("AGENTS.md", Side.BASE), ("logo.png", Side.HEAD))
    assert [bare.line(path, 1, side) for path, side in unknown] == [None] * 4


def test_known_line_ranges_are_limited() -> None:
    hunks = "".join(f"@@ -{n},1 +{n},1 @@\n-a\n+b\n" for n in range(10, 200, 10))
    many = places_of(None, f"diff --git a/m b/m\n--- a/m\n+++ b/m\n{hunks}")
    assert str(many.check(pointer("m", 1))).endswith("10-10, 20-20, 30-30, 40-40, 50-50, 60-60, 70-70, 80-80, ....")
    moved = places_of(None, "diff --git a/o b/n\nsimilarity index 100%\nrename from o\nrename to n\n")
    assert "are none" in str(moved.check(pointer("n", 1)))


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        (pointer("src/up.py", 3, end_line=5), pointer("src/up.py", 3, end_line=5, quote="    new = 1")),
        # a path alone is the whole file, at base when it is deleted
        *((pointer(path, quote="made up"), pointer(path)) for path in ("logo.png", "link", "src/up.py", "AGENTS.md")),
        (pointer("gone.py"), pointer("gone.py", side=Side.BASE)),
        (pointer("fresh.py", side=Side.BASE), pointer("fresh.py")),
        # a quote is compared without white space
        *((pointer("src/up.py", 3, quote=quote), pointer("src/up.py", 3, quote="    new = 1")) for quote in QUOTES),
        (pointer("src/up.py", 3, Side.BASE, quote="-    old = 1"), pointer("src/up.py", 3, Side.BASE, quote="    old = 1")),
    ],
)  # fmt: skip
def test_existing_location_is_completed(location: EvidencePointer, expected: EvidencePointer) -> None:
    assert PLACES.check(location) == expected


RETURNS = "Line 5 of `src/up.py` reads `return new`, not"


@pytest.mark.parametrize(
    ("location", "problem"),
    [
        (pointer("src/up.py", 5, quote="newer = 2"), f"{RETURNS} `newer = 2`. Line 4 of `src/up.py` (side head) reads `newer = 2`."),
        (pointer("src/up.py", 5, quote="old = 1"), f"{RETURNS} `old = 1`. Line 3 of `src/up.py` (side base) reads `old = 1`."),
        (pointer("src/up.py", 5, quote="No print."), f"{RETURNS} `No print.`. Line 1 of `AGENTS.md` (side head) reads `No print.`."),
        (
            pointer("src/up.py", 50, quote="new = 1"),
            (
                "`src/up.py` has 5 lines at the head commit, line 50 does not exist. "
                "Line 3 of `src/up.py` (side head) reads `new = 1`."
            ),
        ),
        (
            pointer("zzz", 1, quote="x = 1"),
            (
                "`zzz` is neither changed by the diff nor among the files you were given. "
                "Line 1 of `fresh.py` (side head) reads `x = 1`."
            ),
        ),
        (pointer("src/up.py", 5, quote="never"), f"{RETURNS} `never`. No line that you were given reads `never`."),
        (pointer("src/up.py", 5, quote=" "), "Line 5 of `src/up.py` is not quoted."),
    ],
    ids=["line", "side", "file", "no line", "no file", "nowhere", "unquoted"],
)  # fmt: skip
def test_wrong_quote_is_explained_with_the_matching_line(location: EvidencePointer, problem: str) -> None:
    assert PLACES.check(location) == problem


LONG = "x = " + "1 + " * 40 + "0"


@pytest.mark.parametrize(
    ("text", "quote", "is_match"),
    [
        (LONG, LONG[:100], True),  # the start of a long line
        (LONG, LONG[:40], False),
        (LONG, LONG[5:120], False),
        ("x = 1", f"x = 1{NO_NEWLINE}", True),
        ("x = 1  # \u202e gone", "x = 1  # \\u202e gone", True),  # as shown
        ("", None, True),  # as our own code does
        ("", "", False),
    ],
)
def test_quote_matches_the_line_as_shown(text: str, quote: str | None, *, is_match: bool) -> None:
    answer = places_of([{"path": "a.py", "text": f"{text}\n"}]).check(pointer("a.py", 1, quote=quote))
    assert answer == pointer("a.py", 1, quote=text) if is_match else isinstance(answer, str)
    assert text or is_match or answer == "Line 1 of `a.py` is blank and shows nothing: point at a line that does."


def test_long_wrong_quote_is_shortened() -> None:
    assert "n" * 160 + " ...`" in (long := str(PLACES.check(pointer("src/up.py", 5, quote="n" * 999))))
    assert len(long) < 500


def test_file_that_became_a_link_has_lines_at_base_only() -> None:
    swap = (
        "diff --git a/s b/s\ndeleted file mode 100644\n--- a/s\n+++ /dev/null\n@@ -1 +0,0 @@\n-text\n"
        "diff --git a/s b/s\nnew file mode 120000\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+t\n"
    )
    both = places_of(None, swap)
    assert both.line("s", 1, Side.BASE) == "text"
    assert "without a line" in str(both.check(pointer("s", 1)))


@pytest.mark.parametrize(
    ("original", "relocated"),
    [
        (pointer("src/up.py", 4, end_line=5, quote="    new = 1"), pointer("src/up.py", 3, end_line=4, quote="    new = 1")),
        (pointer("src/up.py", 1, quote="nothing reads like this"), None),
        (pointer("src/up.py", 1), None),  # a line without its quote
        (pointer("nowhere.py", 1, quote="x"), None),
        (pointer("src/up.py"), pointer("src/up.py")),
        (pointer("nowhere.py"), None),
    ],
)  # fmt: skip
def test_pointer_is_relocated_by_its_quote(original: EvidencePointer, relocated: EvidencePointer | None) -> None:
    assert PLACES.relocate(original) == relocated


# --- coverage -------------------------------------------------------------------------------------


LOGO = "diff --git a/logo.png b/logo.png\nnew file mode 100644\nindex 0000000..1111111\nBinary files /dev/null and b/logo.png differ\n"
OLD_LOGO = "diff --git a/old.png b/old.png\ndeleted file mode 100644\nindex 1111111..0000000\nBinary files a/old.png and /dev/null differ\n"
MOVED = "diff --git a/a.png b/b.png\nsimilarity index 100%\nrename from a.png\nrename to b.png\n"
SUBMODULE = "diff --git a/lib b/lib\nindex 1111111..2222222 160000\n--- a/lib\n+++ b/lib\n@@ -1 +1 @@\n-Subproject commit 1111111\n+Subproject commit 2222222\n"


TABLE = LOGO.replace("logo.png", "docs/img/logo.png")
JAR = LOGO.replace("logo.png", "lib.jar")
COMMIT = "2f" * 20
MOVED_ON = SUBMODULE.replace("commit 2222222", f"commit {COMMIT}")
BECAME_LINK = DIFF.partition("diff --git a/tests")[0] + new_file("upload.py", "target", mode="120000")
BOTH_PATHS = ("upload.py", "tests/test_upload.py")


def with_unread_file(path: str, reason: UnreadReason = UnreadReason.TOO_LARGE) -> dict[str, Any]:
    return {"files_unread": (UnreadFile(path=path, reason=reason),)}


def with_issue(text: str, **changes: Any) -> dict[str, Any]:
    return {"issues": (Issue(number=7, title="Look", body=text),), **changes}


def with_criterion(*, inferred: bool) -> dict[str, Any]:
    return {"criteria": (Criterion(id="AC1", text="`logo.png` is new", inferred=inferred),)}


@pytest.mark.parametrize(
    ("diff", "changes", "expected"),
    [
        (DIFF, {}, Coverage(read=BOTH_PATHS)),
        (DIFF, with_unread_file("upload.py"), Coverage(read=BOTH_PATHS[1:], partly=BOTH_PATHS[:1])),
        (DIFF, with_unread_file("upload.py", UnreadReason.NEVER_SEND), Coverage(read=BOTH_PATHS[1:], unread=BOTH_PATHS[:1])),
        (DIFF, with_unread_file("huge.json", UnreadReason.OVER_LIMIT), Coverage(read=BOTH_PATHS, unread=("huge.json",))),
        # new binary content and a submodule's commit can't be read
        (LOGO + SUBMODULE, {}, Coverage(unread=("logo.png", "lib"))),
        (LOGO, with_unread_file("logo.png", UnreadReason.BINARY), Coverage(unread=("logo.png",))),
        # a picture that the issue, a criterion or documentation names
        (LOGO, with_issue("Replace Logo.PNG, please"), Coverage(read=("logo.png",))),
        (LOGO, with_issue("Replace it", **with_criterion(inferred=False)), Coverage(read=("logo.png",))),
        (LOGO, with_issue("Replace it", **with_criterion(inferred=True)), Coverage(unread=("logo.png",))),
        (LOGO, with_issue("Replace my-logo.png"), Coverage(unread=("logo.png",))),
        (LOGO, with_issue("Replace logo.png", **with_unread_file("logo.png", UnreadReason.BINARY)), Coverage(read=("logo.png",))),
        (TABLE, {}, Coverage(read=("docs/img/logo.png",))),
        (JAR, with_issue("Add lib.jar"), Coverage(unread=("lib.jar",))),  # executable
        # a submodule whose new commit the issue names
        (MOVED_ON, with_issue(f"Move lib to {COMMIT[:9]}"), Coverage(read=("lib",))),
        (MOVED_ON, with_issue("Move lib to 1111111"), Coverage(unread=("lib",))),
        (MOVED_ON, with_issue("Move lib"), Coverage(unread=("lib",))),
        (OLD_LOGO + MOVED, {}, Coverage(read=("old.png", "b.png"))),  # deletions and renames are complete in the diff
    ],
)  # fmt: skip
def test_coverage_lists_every_changed_file(diff: str, changes: dict[str, Any], expected: Coverage) -> None:
    assert coverage_of(dossier(diff=diff, **changes), diff_of(diff)) == expected


@pytest.mark.parametrize(
    ("diff", "cut", "hidden", "expected"),
    [
        (DIFF, BOTH_PATHS[:1], BOTH_PATHS[1:], Coverage(partly=BOTH_PATHS[:1], unread=BOTH_PATHS[1:])),
        (BECAME_LINK, BOTH_PATHS[:1], (), Coverage(partly=BOTH_PATHS[:1])),  # a repeated path counts once
    ],
)
def test_coverage_counts_cut_and_hidden_files(
    diff: str, cut: tuple[str, ...], hidden: tuple[str, ...], expected: Coverage
) -> None:
    assert coverage_of(dossier(diff=diff), diff_of(diff), cut=cut, hidden=hidden) == expected


COVERAGE = Coverage(
    read=("src/index.js", "upload.py"), partly=("big.py",), unread=("data/table.bin", "lib/index.js", "Makefile")
)


@pytest.mark.parametrize(
    ("answer", "is_missed"),
    [
        ("The table of data/table.bin is absent.", True),
        ("`table.bin` does not contain the rows.", True),
        ("Missing: the rows in table.bin.", True),
        ("lib/index.js lacks the export.", True),
        ("index.js lacks the export.", False),  # may be the read file of that name
        ("table.bin.txt is missing.", False),
        ("other/table.bin is missing.", False),
        ("table.bin-backup is missing.", False),
        ("big.py never defined it.", False),  # partly read
        ("A Makefile target is missing.", False),  # an ordinary word
        ("Nobody asked for table.bin.", False),
        ("The retry is missing.", False),
    ],
)
def test_answer_that_misses_something_in_unread_file_is_recognized(answer: str, *, is_missed: bool) -> None:
    assert mentions_unread_as_missing(answer, COVERAGE) is is_missed
    assert not mentions_unread_as_missing(answer, Coverage(read=COVERAGE.read))


GONE = "diff --git a/old.py b/old.py\ndeleted file mode 100644\nindex 1111111..0000000\n--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x = 1\n"


def check_case_claims(case: Case | None, *findings: Finding, **changes: object) -> list[ClaimVerdict]:
    judged = dossier(case=case, **changes)
    return list(check_claims(judged, diff_of(judged.diff), Places(judged), findings))


def check_pairs(*pairs: tuple[str, str], **changes: object) -> list[ClaimVerdict]:
    return check_case_claims(case_with_claims(*pairs), **changes)


WHOLE_FILES, TWICE = (
    {"diff": DIFF + GONE, "files": (*(dossier().files or ()), HeadFile(path="gone.py", exists=False))},
    new_file("a/x.py", "x = 1") + new_file("b/x.py", "x = 1"),
)
DIFF_ALONE = {"files": None}
VERIFIED, CONTRADICTED, UNSUPPORTED, OMITTED = "verified", "contradicted", "unsupported", "omitted"


@pytest.mark.parametrize(
    ("pointer", "status", "note", "changes"),
    [
        ("upload.py", VERIFIED, "", WHOLE_FILES),
        ("upload.py:send", VERIFIED, "", WHOLE_FILES),
        ("upload.py:2", VERIFIED, "", WHOLE_FILES),
        ("upload.py:2-9", VERIFIED, "", WHOLE_FILES),
        ("`./upload.py`", VERIFIED, "", WHOLE_FILES),
        ("test_upload.py::test_503", VERIFIED, "", WHOLE_FILES),
        ("tests/test_upload.py > test_503", VERIFIED, "", WHOLE_FILES),
        ("upload.py:10", CONTRADICTED, "upload.py has 9 lines", WHOLE_FILES),
        ("upload.py:2-10", CONTRADICTED, "upload.py has 9 lines", WHOLE_FILES),
        ("upload.py:send.data", VERIFIED, "", WHOLE_FILES),
        ("upload.py:resend", UNSUPPORTED, '"resend" is not found in upload.py', WHOLE_FILES),
        ("gone.py:x", CONTRADICTED, "gone.py does not exist at the head commit", WHOLE_FILES),
        ("old.py", CONTRADICTED, "old.py is deleted by this change", WHOLE_FILES),
        ("elsewhere.py", UNSUPPORTED, "elsewhere.py is neither changed nor known", WHOLE_FILES),
        ("the retry loop", UNSUPPORTED, '"the retry loop" names no file', WHOLE_FILES),
        ("upload.py: the retry loop", VERIFIED, "", WHOLE_FILES),
        ("upload.py, line 10", UNSUPPORTED, "upload.py has 9 lines", WHOLE_FILES),
        ("the loop in gone.py", UNSUPPORTED, "gone.py does not exist at the head commit", WHOLE_FILES),
        # nothing is contradicted when only the diff is known
        ("upload.py:attempt", VERIFIED, None, DIFF_ALONE),
        ("upload.py:LIMIT", VERIFIED, None, DIFF_ALONE),
        ("upload.py:elsewhere", UNSUPPORTED, None, DIFF_ALONE),
        ("upload.py:2", VERIFIED, None, DIFF_ALONE),
        ("upload.py:12", UNSUPPORTED, None, DIFF_ALONE),
        # an ambiguous path is not resolved
        ("x.py", UNSUPPORTED, None, {"diff": TWICE, "files": None}),
    ],
)
def test_claim_status_follows_location(pointer: str, status: str, note: str | None, changes: dict[str, Any]) -> None:
    first = check_pairs(("AC1", pointer), **changes)[0]
    assert (first.claim, first.status) == (f"AC1 -> {pointer}", status)
    assert note is None or first.note == note


@pytest.mark.parametrize(
    ("evidence", "status", "note"),
    [
        ("tests/test_upload.py:99", CONTRADICTED, "tests/test_upload.py has 6 lines"),
        # prose does not weaken a claim
        ("the new test covers a 503", VERIFIED, ""),
        ("tests/test_upload.py, line 99", VERIFIED, ""),
        ("see nowhere.py", VERIFIED, ""),
    ],
)
def test_evidence_of_a_claim_is_checked(evidence: str, status: str, note: str) -> None:
    claim = CoverageClaim(criterion="AC1", addressed_by="upload.py", evidence=evidence)
    first = check_case_claims(Case(summary="s", ac_coverage=(claim,)))[0]
    assert (first.status, first.note) == (status, note)


@pytest.mark.parametrize(
    ("named", "changes", "statuses"),
    [
        (["AC1"], {}, [VERIFIED, OMITTED]),
        (["AC9", "AC1", "AC2"], {}, [UNSUPPORTED, VERIFIED, VERIFIED]),
        (["AC1"], {"criteria": ()}, [UNSUPPORTED]),
    ],
    ids=["a criterion passed over", "no such criterion", "no criteria"],
)
def test_every_criterion_and_claim_is_reported(named: list[str], changes: dict[str, Any], statuses: list[str]) -> None:
    made = check_pairs(*((name, "upload.py") for name in named), **changes)
    assert [claim.status for claim in made] == statuses
    assert [claim.claim for claim in made if claim.status == OMITTED] == (["AC2"] if OMITTED in statuses else [])
    assert made[0].status == VERIFIED or made[0].note == "there is no such criterion"


@pytest.mark.parametrize(
    ("answer", "criterion"),
    [
        ("AC1", "AC1"),
        ("AC-1", "AC1"),
        ("ac 1: the retry", "AC1"),
        ("Criterion 1", "AC1"),
        ("criterion #2: a test", "AC2"),
        ("1", "AC1"),
        ("#2", "AC2"),
        ("1 retry at most", ""),
        ("2 tests", ""),
        ("ac1", "AC1"),
        ("AC1: the retry", "AC1"),
        ("AC11", ""),
        ("A test   shows it", "AC2"),
        ("A `test` “shows it”.", "AC2"),
        ("something else", ""),
    ],
)
def test_claim_names_criterion_by_id_number_or_text(answer: str, criterion: str) -> None:
    assert claimed_ids(case_with_claims((answer, "upload.py")), dossier().criteria or ()) == {criterion} - {""}


def test_no_claims_without_a_case() -> None:
    assert check_case_claims(None) == []
    assert claimed_ids(None, (Criterion(id="AC1", text="x"),)) == frozenset()


def test_claim_is_unsupported_where_nothing_of_it_changed() -> None:
    note = "AC1: the case points at upload.py, where nothing of it is changed"
    finding = Finding(signal="claim_shows_nothing", category=Category.ACCEPTANCE_GAP, fact=False, note=note)
    claim = check_case_claims(case_with_claims(("AC1", "upload.py")), finding)[0]
    assert (claim.status, claim.note) == (UNSUPPORTED, "nothing of it is changed there")


def criteria_of(*texts: str, inferred: bool = False) -> tuple[Criterion, ...]:
    return tuple(Criterion(id=f"AC{at}", text=text, inferred=inferred) for at, text in enumerate(texts, 1))


def test_draft_claims_list_related_added_lines() -> None:
    texts = ("Each attempt reads the reply's status", "A test sends while it is busy", "Colours are blue")
    first, second, third = draft_claims(dossier(criteria=criteria_of(*texts)))
    assert first.places
    assert all(location.startswith("upload.py:") for location in first.places)
    assert (second.places, second.tests) == (("tests/test_upload.py:6",), ())
    assert (third.criterion.text, third.places, third.tests) == ("Colours are blue", (), ())


def test_inferred_criterion_needs_no_claim() -> None:
    judged = dossier(criteria=criteria_of("Retry the upload", inferred=True))
    assert draft_claims(judged) == ()
    result = check_case(judged, case_with_claims(("AC1", "upload.py:2")), ("issue",))
    assert [(claim.claim, claim.status) for claim in result.claims] == [("AC1 -> upload.py:2", VERIFIED)]
    assert (result.has_criteria, result.problem_count, result.unread) == (False, 0, ("issue",))


def test_check_case_reports_signal_findings() -> None:
    result = check_case(dossier(), case_with_claims(("AC1", "upload.py:99")))
    assert ("cited_line_missing", True) in [(finding.signal, finding.fact) for finding in result.findings]
    assert [claim.status for claim in result.claims] == [CONTRADICTED, OMITTED]
    assert result.problem_count == 2
