"""What a case cites, held against the head tree."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.worker.signals.made import diff_of, dossier_of, plain_dossier
from tests.worker.signals.spec_violation.ruled import found, signals
from worker.signals.analysis.change import CodeChange
from worker.signals.spec_violation.case_citations import find_wrong_citations

FILE, LINE, NAME, DOUBT = "cited_file_missing", "cited_line_missing", "cited_name_missing", "citation_doubtful"
PYTHON = "class TestA(Base):\n    def test_b(self):\n        assert a\n\n\ndef test_c():\n    assert c\n"
SCRIPT = "describe('keys', () => {\n  it('rejects empty keys', () => {})\n})\n"
AFTER = {
    "tests/test_a.py": PYTHON,
    "src/a.test.ts": SCRIPT,
    "pkg/src/b.go": "package b\n\nfunc B() {}\n",
    "setup.py": "a\n",
}


def cites(*places: str, absent: Sequence[str] = (), evidence: str | None = None, uncertain: str = "?") -> CodeChange:
    claims = [{"criterion": "AC1", "addressed_by": place, "evidence": evidence} for place in places]
    there = [{"path": path, "text": text} for path, text in AFTER.items()]
    missing = [{"path": path, "exists": False} for path in absent]
    case = {"summary": "s", "ac_coverage": claims, "uncertainties": [uncertain]}
    return CodeChange(dossier_of({}, AFTER, texts=False, files=[*there, *missing], case=case))


@pytest.mark.parametrize(("place", "expected"), [("data/b.golden", FILE), ("data/b.other", DOUBT), ("b.golden", DOUBT)])
def test_a_missing_file_is_one_if_it_is_called_as_files_of_the_repository_are(place: str, expected: str) -> None:
    change = plain_dossier(
        diff_of({}, {"data/a.golden": "x\n"}),
        files=[{"path": place, "exists": False}],
        case={"summary": "s", "ac_coverage": [{"criterion": "A", "addressed_by": "data/a.golden", "evidence": place}]},
    )
    assert [name for name, *_ in found(CodeChange(change))] == [expected]


@pytest.mark.parametrize(
    "place",
    [
        "tests/test_a.py",
        "tests/test_a.py:1",
        "tests/test_a.py:1-7",
        "tests/test_a.py:8",
        "tests/test_a.py:test_c",
        "tests/test_a.py::test_c",
        "tests/test_a.py::TestA::test_b",
        "tests/test_a.py::test_c[one-2]",
        "`tests/test_a.py::test_c` covers it",
        "tests/test_a.py::test_c, which is new",
        "tests/test_a.py#TestA.test_b()",
        "src/a.test.ts > keys > rejects empty keys",
        "src/a.test.ts > rejects empty keys (new)",
        "src/a.test.ts > rejects empty keys[0]",
        "src/a.test.ts > empty 'keys' rejects",
        "b.go:B",
        "src/b.go:3",
        "in words only",
        "tests/test_a.py:" + "x" * 600,
    ],
)
def test_what_is_there_or_not_known_is_silence(place: str) -> None:
    assert found(cites(place)) == []


LONGER = "describe('keys', () => {\n  it('parseKeys rejects', () => {})\n})\n"


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("src/a.test.ts::parseKeys rejects when empty", {NAME}),
        ("src/a.test.ts::parseKeys rejects, which is new", set[str]()),
        ("src/a.test.ts::parseKeys rejects covers this", set[str]()),
        ("src/a.ts::parseKeys rejects when empty", set[str]()),
    ],
    ids=["longer than any title", "words behind a comma", "words about it", "no file of tests"],
)
def test_a_title_that_begins_with_a_name_is_looked_up_as_a_whole(place: str, expected: set[str]) -> None:
    texts = {place.partition(":")[0]: LONGER}
    case = {"summary": "s", "ac_coverage": [{"criterion": "AC1", "addressed_by": place}]}
    assert signals(CodeChange(dossier_of({}, texts, case=case))) == expected


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("src/a.test.ts > rejects odd keys", set[str]()),
        ("src/a.test.ts > rejects odd keys twice", {DOUBT}),
        ("src/a.test.ts:rejects odd keys twice", set[str]()),
        ("src/a.py::rejects odd keys twice", set[str]()),
    ],
)
def test_of_a_file_that_is_not_known_whole_a_title_that_is_not_shown_is_doubtful(
    place: str, expected: set[str]
) -> None:
    path = place.partition(" > ")[0].partition(":")[0]
    before = {path: "".join(f"step({number})\n" for number in range(20))}
    after = {path: before[path].replace("step(9)\n", "it('rejects odd keys', () => {})\n")}
    case = {"summary": "s", "ac_coverage": [{"criterion": "AC1", "addressed_by": place}]}
    assert signals(CodeChange(dossier_of(before, after, texts=False, case=case))) == expected


@pytest.mark.parametrize(
    "place",
    ["src/no.py", "pkg/other/b.go", "no.py", "src/no.py:12", "no.py:12", "no_test.go::TestX", "src/no.ts > title"],
)
def test_a_file_that_is_known_not_to_be_there_is_a_fact(place: str) -> None:
    path = place.split(":", maxsplit=1)[0].split(" ", maxsplit=1)[0]
    change = cites(place, absent=[path])
    assert signals(change) == {FILE}
    (wrong,) = find_wrong_citations(change)
    assert wrong.text == f'the case cites {path} for "AC1", and there is no such file at the head commit'


@pytest.mark.parametrize("place", ["Node.js", "Parser.parse", "v1.2", "src/somewhere", "pkg/b.go", "repo/setup.py"])
def test_what_may_be_no_file_or_stand_elsewhere_is_a_suspicion(place: str) -> None:
    assert signals(cites(place, absent=[place])) == {DOUBT}


def test_a_file_that_the_case_calls_open_is_a_suspicion() -> None:
    assert signals(cites("src/no.py", absent=["src/no.py"], uncertain="no.py will follow")) == {DOUBT}


def test_a_file_that_this_change_moved_or_removed_is_not_called_missing_for_sure() -> None:
    diff = "diff --git a/src/a.py b/lib/b.py\nsimilarity index 100%\nrename from src/a.py\nrename to lib/b.py\n"
    diff += "diff --git a/x.py b/x.py\ndeleted file mode 100644\n--- a/x.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    case = {
        "summary": "s",
        "ac_coverage": [{"criterion": "AC1", "addressed_by": "src/a.py"}, {"criterion": "AC1", "addressed_by": "x.py"}],
    }
    files = [{"path": "src/a.py", "exists": False}, {"path": "x.py", "exists": False}]
    assert signals(CodeChange(plain_dossier(diff, case=case, files=files))) == {DOUBT}


def test_a_line_behind_the_end_is_a_fact_and_an_end_behind_it_a_suspicion() -> None:
    assert found(cites("tests/test_a.py:40")) == [(LINE, "tests/test_a.py", None)]
    assert signals(cites("tests/test_a.py:2-40")) == {DOUBT}
    assert signals(cites("tests/test_a.py:40-50")) == {LINE}


@pytest.mark.parametrize(
    "place",
    [
        "tests/test_a.py::test_x",
        "tests/test_a.py:help_out",
        "tests/test_a.py:helper()",
        "tests/test_a.py::TestA::test_x",
        "src/a.test.ts > keys > rejects broken values",
        "pkg/src/b.go:B.missing",
        "pkg/src/b.go:MissingKey",
        "pkg/src/b.go:HTTPServer",
    ],
)
def test_a_name_that_does_not_stand_in_the_file_is_a_fact(place: str) -> None:
    assert signals(cites(place)) == {NAME}


TITLED = "it('rejects empty keys', () => {})\nt.Run(\"rejects broken keys\", f)\nfunction keysOf() {}\n"


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("src/b.test.ts > rejects empty keys twice", NAME),
        ("src/b.test.ts > broken function Run", DOUBT),
        ("src/b.test.ts:rejects_broken_keys", None),
        ("src/b.test.ts:keysOf", None),
        ("src/b.test.ts:keys", None),
        ("src/b.test.ts:keysO", DOUBT),
        ("src/b.test.ts:Of", DOUBT),
        ("src/b.test.ts:keysOfAll", NAME),
        ("src/b.test.ts:rejects empty keys", None),
        ("src/b.test.ts:rejects empty keys twice", None),
        ("src/b.test.ts:rejects what is empty", None),
    ],
)
def test_a_part_of_a_name_or_more_than_a_title_is_told_from_what_is_there(place: str, expected: str | None) -> None:
    case = {"summary": "s", "ac_coverage": [{"criterion": "AC1", "addressed_by": place}]}
    assert signals(CodeChange(dossier_of({}, {"src/b.test.ts": TITLED}, case=case))) == ({expected} - {None})


def test_evidence_is_held_against_the_tree_too() -> None:
    assert signals(cites("tests/test_a.py", evidence="tests/test_a.py::test_x")) == {NAME}


@pytest.mark.parametrize(
    ("path", "text", "name"),
    [
        ("src/a.test.ts", "it.each([1])('%s', () => {})\n", " > is one of many"),
        ("src/a.test.ts", "for (const name of names) it(name, () => {})\n", " > is one of many"),
        ("src/A.java", "class A extends B {}\n", "#A.inherited"),
        ("src/a_test.py", "from b import *\n", "::TestA::test_of_b"),
    ],
)
def test_a_made_or_inherited_name_is_a_suspicion(path: str, text: str, name: str) -> None:
    case = {"summary": "s", "ac_coverage": [{"criterion": "AC1", "addressed_by": f"{path}{name}"}]}
    assert signals(CodeChange(dossier_of({}, {path: text}, case=case))) == {DOUBT}


def test_a_title_behind_a_call_and_one_beside_imported_names_are_held_to_their_last_word() -> None:
    text = "import * as z from 'zod'\nit('parse() is strict', () => {\n  expect(z.type(1)).toBe(2)\n})\n"
    assert cited_title("src/a.test.ts > parse() is strict", text=text) == []
    assert cited_title("src/a.test.ts > parse() is strict twice", text=text) == [NAME]


def test_a_change_without_a_case_cites_nothing() -> None:
    assert find_wrong_citations(CodeChange(dossier_of({}, AFTER))) == ()


@given(st.text("abc/.:#> `[(1-9\n«é_T", max_size=60).filter(str.strip))
@settings(max_examples=settings().max_examples * 20 // 10, deadline=None)
def test_no_words_break_the_check(place: str) -> None:
    find_wrong_citations(cites(place, absent=["a.py"]))


TITLES = "describe('keys', () => {\n  it('rejects empty keys', () => {})\n  it('reads', () => {})\n})\n"


def told(change: CodeChange) -> list[str]:
    return [signal for signal, _, _ in found(change)]


def cited_title(place: str, path: str = "src/a.test.ts", text: str = TITLES) -> list[str]:
    case = {"summary": "s", "ac_coverage": [{"criterion": "AC1", "addressed_by": place}]}
    return told(CodeChange(dossier_of({}, {path: text}, case=case)))


@pytest.mark.parametrize("behind", ["twice", "when empty", "without a prefix"])
def test_a_title_that_goes_on_behind_the_one_that_is_there_is_another_title(behind: str) -> None:
    assert cited_title(f"src/a.test.ts > rejects empty keys {behind}") == [NAME]


@pytest.mark.parametrize(
    "behind",
    ["is new", "covers AC1", "- the second one", "which also shows that much more", "once twice thrice more again"],
)
def test_words_behind_a_colon_are_a_remark_and_no_title(behind: str) -> None:
    assert cited_title(f"src/a.test.ts:rejects empty keys {behind}") == []


def test_a_title_may_be_made_from_a_table_and_stands_in_a_file_of_tests() -> None:
    assert cited_title("src/a.test.ts > rejects empty keys twice", text=TITLES + "it(`${x} keys`)\n") == [DOUBT]
    assert cited_title("src/a.ts > rejects empty keys twice", "src/a.ts") == [DOUBT]
    assert cited_title("src/a.py > the retry loop", "src/a.py") == [DOUBT]


NATURAL = (
    "setup.py, line 99999",
    "setup.py lines 800 to 900 (the loop)",
    "setup.py:99999 - the retry loop",
    "see setup.py:99999",
    "setup.py: `retry_upload`",
    "setup.py:retry_upload (the loop)",
    "setup.py, function retry",
    "retry_upload() in setup.py",
    "`retry_upload` in `setup.py`",
    "Client.retry (setup.py)",
    "src/no.py: the retry loop",
    "src/no.py - new",
    "the loop in src/no.py",
    "src/no.py, line 12",
)


@pytest.mark.parametrize("place", NATURAL)
def test_a_slip_in_any_other_form_than_the_documented_is_no_fact(place: str) -> None:
    assert signals(cites(place, absent=["src/no.py"])) == {DOUBT}


@pytest.mark.parametrize("separator", [":", "::", " > "])
@pytest.mark.parametrize(
    "name",
    [
        *(
            "N/A",
            "if/else",
            "retry/backoff",
            "upload_with_retry+2",
            "MAX=3",
            "handle_*",
            "(*Client).Retry",
            "<T>",
            "retry-loop",
        ),
        *("TBD", "TODO", "EOF", "none", "various", "everywhere", "logic", "helper", "Missing", "done", "new"),
    ],
)
def test_what_is_no_name_of_code_by_its_form_is_doubtful(name: str, separator: str) -> None:
    assert signals(cites(f"setup.py{separator}{name}")) == {DOUBT}


@pytest.mark.parametrize(
    "path",
    [
        *("tests/*.py", "tests/test_?.py", "src/{a,b}.ts", "src/.../b.py", "<folder>/b.py"),
        *("SETUP.py", "Setup.py:9", "tests/Test_A.py", "widgets/Setup.py"),
    ],
)
def test_a_pattern_of_paths_and_another_case_of_one_are_doubtful(path: str) -> None:
    assert signals(cites(path, absent=[path.partition(":")[0]])) == {DOUBT}


def test_a_missing_file_is_a_fact_whatever_word_stands_behind_it() -> None:
    assert signals(cites("src/no.py:retry", absent=["src/no.py"])) == {FILE}


@pytest.mark.parametrize("path", ["setup.py", "pkg/src/b.go", "src/a.test.ts", "tests/test_a.py"])
@pytest.mark.parametrize(
    "place",
    [
        "{}: the retry loop",
        "{}:the retry loop",
        "{}: retry",
        "{}: handles it",
        "{}:handles both cases",
        "{}: done",
        "{} - handles the case",
        "{} (the retry loop)",
        "{} (new)",
        "{}, line 1",
        "{} at line 1",
        "{} lines 1-2",
        "{} (line 1: the guard)",
        "{}:1 (the guard)",
        "{}:1 - the guard",
        "see {}:1",
        "in {}",
        "the retry loop in {}",
        "the change to {} (new)",
        "`{}`",
        "`{}` - new",
        "`{}`: the loop",
        "**{}**: updated",
        "{} -> the loop",
        "{}#the section on it",
        "[the loop]({})",
        "[{0}]({0}#L1)",
        "https://github.com/acme/widgets/blob/main/{}#L1",
        "file: {}",
        "{}, setup.py",
        "{} and setup.py",
        "{};",
        "{}.",
        "./{}",
        "./{}:1",
        "{}:",
        "{}:0",
        "{}:1:5",
        "{}#L1-L2",
        "{}:L1",
    ],
)
def test_no_natural_way_to_name_a_place_that_is_there_is_held_against_it(place: str, path: str) -> None:
    assert signals(cites(place.format(path))) == set()


@pytest.mark.parametrize(
    "evidence", ["the new test in src/no.py", "src/no.py: not there yet", "setup.py, line 99999", "pytest is green"]
)
def test_evidence_in_prose_cites_nothing(evidence: str) -> None:
    assert signals(cites("setup.py", absent=["src/no.py"], evidence=evidence)) == set()


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("handlers/setup.py:1", FILE),
        ("widgets/setup.py:1", DOUBT),
        ("/repo/setup.py:1", DOUBT),
        ("other/pkg/src/b.go:1", DOUBT),
    ],
)
def test_a_file_at_the_root_stands_in_no_folder_but_the_repositorys_own(place: str, expected: str) -> None:
    assert told(cites(place, absent=[place.partition(":")[0]])) == [expected]


def test_a_name_that_a_part_of_a_file_does_not_show_is_doubtful() -> None:
    before = "def one():\n    a()\n\n\n" + "x = 1\n" * 20
    after = "def one():\n    b()\n\n\n" + "x = 1\n" * 20
    diff = diff_of({"a.py": before}, {"a.py": after})
    for place, expected in (
        ("a.py:one", []),
        ("a.py::two", [DOUBT]),
        ("a.py:3", []),
        ("a.py > one two", []),
        ("a.py", []),
    ):
        case = {"summary": "s", "ac_coverage": [{"criterion": "AC1", "addressed_by": place}]}
        assert told(CodeChange(plain_dossier(diff, case=case))) == expected


def test_a_file_of_which_nothing_is_shown_is_silence() -> None:
    diff = "diff --git a/a.sh b/a.sh\nold mode 100644\nnew mode 100755\n"
    case = {"summary": "s", "ac_coverage": [{"criterion": "AC1", "addressed_by": "a.sh:two"}]}
    assert told(CodeChange(plain_dossier(diff, case=case))) == []


LONG = "".join(f"x{n} = {n}\n" for n in range(30))
SHORT = "def f():\n    pass\n"
BEFORE = {"mid.py": LONG, "end.py": LONG, "short.py": SHORT}
AFTER_AT_END = {
    "mid.py": LONG.replace("x15 = 15", "x15 = 0"),
    "end.py": LONG.replace("x28 = 28", "x28 = 0"),
    "short.py": SHORT + "\n\ndef g():\n    f()\n",
}


def cites_at_end(
    place: str, before: dict[str, str] = BEFORE, after: dict[str, str] = AFTER_AT_END, *, diff: str = ""
) -> list[str]:
    case = {"summary": "s", "ac_coverage": [{"criterion": "AC1", "addressed_by": place}]}
    return [name for name, *_ in found(CodeChange(plain_dossier(diff or diff_of(before, after), case=case)))]


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("end.py:30", []),
        ("end.py:31", []),
        ("end.py:99", [LINE]),
        ("mid.py:99", []),
        ("short.py:6", []),
        ("short.py:60", [LINE]),
        ("short.py:g", []),
        ("short.py:h()", [NAME]),
        ("end.py:h", [DOUBT]),
    ],
)
def test_a_place_behind_an_end_that_the_diff_shows_is_not_there(place: str, expected: list[str]) -> None:
    assert cites_at_end(place) == expected


def test_where_no_hunk_shows_how_many_lines_were_asked_for_no_end_is_known() -> None:
    only = {"short.py": SHORT}
    assert cites_at_end("short.py:60", only, {"short.py": AFTER_AT_END["short.py"]}) == []


def test_where_other_numbers_of_lines_were_asked_for_no_end_is_known() -> None:
    two = "diff --git a/{0} b/{0}\nindex 1111111..2222222 100644\n--- a/{0}\n+++ b/{0}\n@@ -5,5 +5,5 @@\n a\n b\n-c\n+d\n e\n f\n"
    three = diff_of(BEFORE, AFTER_AT_END)
    assert cites_at_end("short.py:60", diff=three + two.format("z.py")) == []
    assert cites_at_end("z.py:60", diff=two.format("z.py")) == []


def test_a_file_that_is_emptied_has_no_end_that_is_shown() -> None:
    assert cites_at_end("short.py:60", BEFORE, {**AFTER_AT_END, "short.py": ""}) == []


def test_a_file_of_several_hunks_is_not_shown_whole() -> None:
    before = {**BEFORE, "end.py": LONG}
    after = {**AFTER_AT_END, "end.py": f"import a\n{AFTER_AT_END['end.py']}"}
    assert cites_at_end("end.py:h", before, after) == [DOUBT]
    assert cites_at_end("end.py:99", before, after) == [LINE]
