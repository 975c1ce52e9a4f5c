"""The verdict as SARIF: what the format and GitHub's code scanning ask for, and nothing that is not so."""

import json
from typing import Any

import pytest
from inline_snapshot import snapshot

from tests.worker.publishing.texts.samples import HEAD, HOSTILE, abstained, accepted, dossier, rejected
from worker.domain.check.check_run import MOST_RESULTS
from worker.domain.dossier import Dossier, HeadFile
from worker.domain.verdict.verdict import AbstainReason, Category, EvidencePointer, Finding, Side, Verdict
from worker.publishing.texts.sarif import TEXT_BYTES, SarifRule, sarif_for_upload, sarif_text

RULES = (
    SarifRule(
        "stub_body", Category.HALF_FINISHED, is_fact=True, description="A stub.\n\n    False alarms: 2 of 5658 clean.\n"
    ),
    SarifRule("no_assertions", Category.WEAK_TEST, is_fact=False, description="A test that asserts nothing."),
)
UPLOAD = "\n".join(f"line {number}" for number in range(1, 17)) + "\n    raise NotImplementedError\n"
DIFF = """\
diff --git a/tests/test_upload.py b/tests/test_upload.py
index 1111111..2222222 100644
--- a/tests/test_upload.py
+++ b/tests/test_upload.py
@@ -2,3 +2,3 @@
 def test_upload():
-    assert send(b"x") == 200
+    assert send(b"x")
     close()
"""
KNOWN = dossier(diff=DIFF, files=(HeadFile(path="upload.py", text=UPLOAD),))


def run_of(verdict: Verdict, **changes: Any) -> dict[str, Any]:
    text = sarif_text(verdict, KNOWN.model_copy(update=changes), RULES, "0.1.0")
    assert text.isascii()
    assert text.endswith("}\n")
    log = json.loads(text)
    check(log)
    return log["runs"][0]


def check(log: dict[str, Any]) -> None:
    """What SARIF 2.1.0 requires, and what GitHub's code scanning does on top: none of it empty."""
    assert set(log) == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    [run] = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"]
    rules = {one["id"] for one in driver["rules"]}
    assert len(rules) == len(driver["rules"])
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"]
        assert rule["fullDescription"]["text"]
        assert rule["help"]["text"]
        assert rule["defaultConfiguration"]["level"] in {"error", "warning", "note"}
    marks = [one["partialFingerprints"]["primaryLocationLineHash"] for one in run["results"]]
    assert len(set(marks)) == len(marks)
    for result in run["results"]:
        check_result(result, run)
    [invocation] = run["invocations"]
    assert isinstance(invocation["executionSuccessful"], bool)
    for notice in invocation["toolExecutionNotifications"]:
        assert notice["message"]["text"]
        assert notice["level"] in {"error", "warning", "note"}


def check_result(result: dict[str, Any], run: dict[str, Any]) -> None:
    assert result["level"] in {"error", "warning", "note"}
    assert result["message"]["text"]
    [location] = result["locations"]
    place = location["physicalLocation"]
    assert place["artifactLocation"]["uriBaseId"] in run["originalUriBaseIds"]
    assert not place["artifactLocation"]["uri"].startswith("/")
    region = place["region"]
    assert 1 <= region["startLine"] <= region["endLine"]
    assert region["startColumn"] >= 1


def places(run: dict[str, Any]) -> list[dict[str, Any]]:
    return [result["locations"][0]["physicalLocation"] for result in run["results"]]


def told(run: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Rule, level, place and words of every result."""
    at = [f"{place['artifactLocation']['uri']}:{place['region']['startLine']}" for place in places(run)]
    return [
        (result["ruleId"], result["level"], place, result["message"]["text"])
        for result, place in zip(run["results"], at, strict=True)
    ]


def stub(path: str = "upload.py", line: int | None = 1, side: Side = Side.HEAD, note: str = "") -> Finding:
    return Finding(
        signal="stub_body", category=Category.WEAK_TEST, fact=True, path=path, line=line, side=side, note=note
    )


def notices(run: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["level"], one["message"]["text"]) for one in run["invocations"][0]["toolExecutionNotifications"]]


def test_a_fact_is_an_error_and_a_suspicion_a_warning_each_at_its_line() -> None:
    run = run_of(rejected())
    assert told(run) == [
        ("stub_body", "error", "upload.py:17", "Stub body."),
        ("no_assertions", "warning", "tests/test_upload.py:4", "Only calls `retry`."),
    ]
    assert places(run)[0] == snapshot(
        {
            "artifactLocation": {"uri": "upload.py", "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": 17, "startColumn": 1, "endLine": 17, "endColumn": 30},
        }
    )
    assert notices(run) == snapshot(
        [
            (
                "error",
                "Rejected: half finished at upload.py:17. `retry` is added and never implemented. Next step: Implement `retry` in upload.py: three tries on 503.",
            )
        ]
    )
    assert run["automationDetails"] == {"id": f"assay/{HEAD}"}


def upload_of(verdict: Verdict, known: Dossier | None = KNOWN) -> dict[str, Any]:
    log = json.loads(sarif_for_upload(verdict, known, RULES, "0.1.0"))
    check(log)
    return log["runs"][0]


def test_what_is_uploaded_of_a_reject_is_what_is_printed() -> None:
    assert upload_of(rejected()) == run_of(rejected())


def test_an_accept_uploads_no_result_so_that_every_alert_closes() -> None:
    suspected = accepted(findings=rejected().findings[1:])
    assert run_of(suspected)["results"]
    assert upload_of(suspected) == {**run_of(suspected), "results": []}


def test_where_no_dossier_is_kept_a_reject_still_has_its_places() -> None:
    run = upload_of(rejected(), None)
    assert told(run) == told(run_of(rejected()))
    assert notices(run)[0][1].startswith("`retry` is added and never implemented. Next step:")


def test_no_more_is_uploaded_than_github_shows() -> None:
    [fact, *_] = rejected().findings
    many = tuple(fact.model_copy(update={"line": line}) for line in range(1, MOST_RESULTS + 2))
    assert len(run_of(rejected(findings=many, evidence=()))["results"]) == MOST_RESULTS + 1
    assert len(upload_of(rejected(findings=many, evidence=()))["results"]) == MOST_RESULTS


def test_every_signal_and_every_category_is_a_rule() -> None:
    rules = run_of(rejected())["tool"]["driver"]["rules"]
    assert [one["id"] for one in rules] == ["stub_body", "no_assertions", *(one.value for one in Category)]
    assert rules[0] == snapshot(
        {
            "id": "stub_body",
            "shortDescription": {"text": "Half finished: stub body"},
            "fullDescription": {"text": "A stub."},
            "help": {"text": "A stub. False alarms: 2 of 5658 clean."},
            "defaultConfiguration": {"level": "error"},
            "properties": {"tags": ["half_finished"], "precision": "very-high", "problem.severity": "error"},
        }
    )


def test_what_a_model_rejects_for_stands_at_its_evidence() -> None:
    at = EvidencePointer(path="upload.py", line=3, end_line=5, quote="line 3", note="It retries on 404, too")
    gone = EvidencePointer(path="tests/test_upload.py", line=3, side=Side.BASE)
    run = run_of(rejected(findings=(), evidence=(at, gone), category=Category.WEAK_TEST))
    assert told(run) == [
        (
            "weak_test",
            "error",
            "upload.py:3",
            "It retries on 404, too. Next step: Implement `retry` in upload.py: three tries on 503.",
        ),
        (
            "weak_test",
            "error",
            "tests/test_upload.py:1",
            "`retry` is added and never implemented. Next step: Implement `retry` in upload.py: three tries on 503. This is about line 3 before the change.",
        ),
    ]


def test_a_loosened_assertion_is_one_result_at_the_line_that_is_there() -> None:
    fact = stub("tests/test_upload.py", 3)
    new = EvidencePointer(path="tests/test_upload.py", line=3)
    old = EvidencePointer(path="tests/test_upload.py", line=3, side=Side.BASE, note="this stood here before")
    run = run_of(rejected(findings=(fact,), evidence=(new, old)))
    assert [one[:3] for one in told(run)] == [("stub_body", "error", "tests/test_upload.py:3")]
    assert places(run)[0]["region"]["endColumn"] == len('    assert send(b"x")') + 1


def test_what_was_suspected_of_an_accepted_change_is_a_note() -> None:
    run = run_of(accepted(findings=rejected().findings[1:]))
    assert [one[:2] for one in told(run)] == [("no_assertions", "note")]
    assert [level for level, _ in notices(run)] == ["note"]
    assert run["invocations"][0]["executionSuccessful"] is True


def test_where_nobody_judged_no_result_is_no_pass() -> None:
    run = run_of(abstained(AbstainReason.UNPROVEN))
    assert (run["results"], run["invocations"][0]["executionSuccessful"]) == ([], False)
    [(level, text)] = notices(run)
    assert (level, text.startswith("Not judged: ")) == ("warning", True)


def test_what_has_no_place_is_told_beside_the_results() -> None:
    nowhere = (
        Finding(signal="stub_body", category=Category.ACCEPTANCE_GAP, fact=True, note="the diff is empty"),
        Finding(signal="no_assertions", category=Category.WEAK_TEST, fact=False),
    )
    run = run_of(rejected(findings=nowhere, evidence=(), category=Category.ACCEPTANCE_GAP))
    assert run["results"] == []
    assert notices(run)[1:] == [("error", "The diff is empty."), ("warning", "No_assertions.")]


def test_the_same_line_has_the_same_mark_wherever_it_moves_and_two_alike_have_two() -> None:
    def marks(line: int, text: str) -> list[str]:
        found = (stub("a.py", line), stub("a.py", line + 2))
        run = run_of(rejected(findings=found), files=(HeadFile(path="a.py", text=text),))
        return [one["partialFingerprints"]["primaryLocationLineHash"] for one in run["results"]]

    before, after = marks(1, "same\nx\nsame\n"), marks(3, "new\nnew\n    same\nx\nsame\n")
    assert before == after
    assert [one[-2:] for one in before[:2]] == [":1", ":2"]
    assert marks(1, "other\nx\nsame\n")[0] != before[0]


@pytest.mark.parametrize(
    ("line", "side", "last"),
    [(None, Side.HEAD, 7), (9, Side.BASE, 7), (None, Side.BASE, 7), (99, Side.HEAD, None)],
    ids=["a file", "a line that is gone", "a file that is gone", "a line that is not known"],
)
def test_what_is_no_line_of_the_head_stands_at_the_first_one(line: int | None, side: Side, last: int | None) -> None:
    at = line if line is not None and side is Side.HEAD else 1
    region = {"startLine": at, "startColumn": 1, "endLine": at}
    [known] = places(run_of(rejected(findings=(stub(line=line, side=side),), evidence=())))
    [gone] = places(run_of(rejected(findings=(stub("gone.py", line, side),), evidence=())))
    assert known["region"] == (region if last is None else {**region, "endColumn": last})
    assert gone["region"] == region


def test_a_diff_that_cant_be_read_costs_only_the_columns() -> None:
    assert (
        "endColumn" not in places(run_of(rejected(), diff="diff --git a/x b/x\n@@ nonsense", files=None))[0]["region"]
    )


def test_paths_are_addresses_and_words_of_others_neither_link_nor_hide() -> None:
    found = stub("a b/c:d/ü#1.py", note=f"{{0}} {HOSTILE}")
    run = run_of(rejected(findings=(found,), evidence=(), concern="x " * 5_000))
    assert places(run)[0]["artifactLocation"]["uri"] == "a%20b/c%3Ad/%C3%BC%231.py"
    [(_, _, _, text)] = told(run)
    assert not [sign for sign in ("](", "{0}", "\x1b", "\u202e") if sign in text]
    assert all(len(said.encode()) <= TEXT_BYTES for _, said in notices(run))


@pytest.mark.parametrize("path", ["/etc/passwd", "//else.where/x", "../../up.py", "a/../../up.py"])
def test_no_path_leads_out_of_the_repository(path: str) -> None:
    assert "/" not in places(run_of(rejected(findings=(stub(path),), evidence=())))[0]["artifactLocation"]["uri"]
