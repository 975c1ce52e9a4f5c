"""The verdict as SARIF, by the rules of the format and of GitHub's code scanning."""

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
    """Check what SARIF 2.1.0 and GitHub's code scanning require."""
    assert set(log) == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    [run] = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"]
    rules = {rule["id"] for rule in driver["rules"]}
    assert len(rules) == len(driver["rules"])
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"]
        assert rule["fullDescription"]["text"]
        assert rule["help"]["text"]
        assert rule["defaultConfiguration"]["level"] in {"error", "warning", "note"}
    marks = [result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]]
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
    location = location["physicalLocation"]
    assert location["artifactLocation"]["uriBaseId"] in run["originalUriBaseIds"]
    assert not location["artifactLocation"]["uri"].startswith("/")
    region = location["region"]
    assert 1 <= region["startLine"] <= region["endLine"]
    assert region["startColumn"] >= 1


def locations_of(run: dict[str, Any]) -> list[dict[str, Any]]:
    return [result["locations"][0]["physicalLocation"] for result in run["results"]]


def results_of(run: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Rule, level, location and message of every result."""
    at = [f"{location['artifactLocation']['uri']}:{location['region']['startLine']}" for location in locations_of(run)]
    rows = zip(run["results"], at, strict=True)
    return [(result["ruleId"], result["level"], location, result["message"]["text"]) for result, location in rows]


def stub(path: str = "upload.py", line: int | None = 1, side: Side = Side.HEAD, note: str = "") -> Finding:
    return Finding(
        signal="stub_body", category=Category.WEAK_TEST, fact=True, path=path, line=line, side=side, note=note
    )


def notices(run: dict[str, Any]) -> list[tuple[str, str]]:
    notifications = run["invocations"][0]["toolExecutionNotifications"]
    return [(notice["level"], notice["message"]["text"]) for notice in notifications]


def test_fact_is_an_error_and_suspicion_a_warning_at_its_line() -> None:
    run = run_of(rejected())
    suspicion = ("no_assertions", "warning", "tests/test_upload.py:4", "Only calls `retry`.")
    assert results_of(run) == [("stub_body", "error", "upload.py:17", "Stub body."), suspicion]
    assert locations_of(run)[0] == snapshot(
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


def upload_of(verdict: Verdict, dossier: Dossier | None = KNOWN) -> dict[str, Any]:
    log = json.loads(sarif_for_upload(verdict, dossier, RULES, "0.1.0"))
    check(log)
    return log["runs"][0]


def test_uploaded_reject_is_the_printed_one() -> None:
    assert upload_of(rejected()) == run_of(rejected())


def test_uploaded_accept_has_no_results() -> None:
    suspected = accepted(findings=rejected().findings[1:])
    assert run_of(suspected)["results"]
    assert upload_of(suspected) == {**run_of(suspected), "results": []}


def test_reject_without_a_dossier_keeps_its_locations() -> None:
    run = upload_of(rejected(), None)
    assert results_of(run) == results_of(run_of(rejected()))
    assert notices(run)[0][1].startswith("`retry` is added and never implemented. Next step:")


def test_number_of_uploaded_results_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_RESULTS == 5_000, "the limit of GitHub"
    monkeypatch.setattr("worker.publishing.texts.sarif.MOST_RESULTS", 5)
    verdict = rejected(findings=tuple(stub(line=line) for line in range(1, 7)), evidence=())
    assert len(run_of(verdict)["results"]) == 6
    assert len(upload_of(verdict)["results"]) == 5


def test_each_signal_and_category_is_a_rule() -> None:
    rules = run_of(rejected())["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["stub_body", "no_assertions", *(rule.value for rule in Category)]
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


def test_model_reject_is_located_at_its_evidence() -> None:
    at = EvidencePointer(path="upload.py", line=3, end_line=5, quote="line 3", note="It retries on 404, too")
    gone = EvidencePointer(path="tests/test_upload.py", line=3, side=Side.BASE)
    run = run_of(rejected(findings=(), evidence=(at, gone), category=Category.WEAK_TEST))
    assert results_of(run) == [
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


def test_loosened_assertion_is_one_result_at_its_new_line() -> None:
    fact = stub("tests/test_upload.py", 3)
    new = EvidencePointer(path="tests/test_upload.py", line=3)
    old = EvidencePointer(path="tests/test_upload.py", line=3, side=Side.BASE, note="this stood here before")
    run = run_of(rejected(findings=(fact,), evidence=(new, old)))
    assert [result[:3] for result in results_of(run)] == [("stub_body", "error", "tests/test_upload.py:3")]
    assert locations_of(run)[0]["region"]["endColumn"] == len('    assert send(b"x")') + 1


def test_suspicion_of_an_accepted_change_is_a_note() -> None:
    run = run_of(accepted(findings=rejected().findings[1:]))
    assert [result[:2] for result in results_of(run)] == [("no_assertions", "note")]
    assert [level for level, _ in notices(run)] == ["note"]
    assert run["invocations"][0]["executionSuccessful"] is True


def test_abstain_is_an_unsuccessful_execution() -> None:
    run = run_of(abstained(AbstainReason.UNPROVEN))
    assert (run["results"], run["invocations"][0]["executionSuccessful"]) == ([], False)
    [(level, text)] = notices(run)
    assert (level, text.startswith("Not judged: ")) == ("warning", True)


def test_finding_without_a_location_is_a_notification() -> None:
    nowhere = (
        Finding(signal="stub_body", category=Category.ACCEPTANCE_GAP, fact=True, note="the diff is empty"),
        Finding(signal="no_assertions", category=Category.WEAK_TEST, fact=False),
    )
    run = run_of(rejected(findings=nowhere, evidence=(), category=Category.ACCEPTANCE_GAP))
    assert run["results"] == []
    assert notices(run)[1:] == [("error", "The diff is empty."), ("warning", "No_assertions.")]


def test_fingerprint_moves_with_its_line_and_counts_duplicates() -> None:
    def marks(line: int, text: str) -> list[str]:
        findings = (stub("a.py", line), stub("a.py", line + 2))
        run = run_of(rejected(findings=findings), files=(HeadFile(path="a.py", text=text),))
        return [result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]]

    before, after = marks(1, "same\nx\nsame\n"), marks(3, "new\nnew\n    same\nx\nsame\n")
    assert before == after
    assert [mark[-2:] for mark in before[:2]] == [":1", ":2"]
    assert marks(1, "other\nx\nsame\n")[0] != before[0]


@pytest.mark.parametrize(
    ("line", "side", "last"),
    [(None, Side.HEAD, 7), (9, Side.BASE, 7), (None, Side.BASE, 7), (99, Side.HEAD, None)],
    ids=["a file", "a line that is gone", "a file that is gone", "a line that is not known"],
)
def test_missing_line_is_located_at_the_first_one(line: int | None, side: Side, last: int | None) -> None:
    at = line if line is not None and side is Side.HEAD else 1
    region = {"startLine": at, "startColumn": 1, "endLine": at}
    [present] = locations_of(run_of(rejected(findings=(stub(line=line, side=side),), evidence=())))
    [gone] = locations_of(run_of(rejected(findings=(stub("gone.py", line, side),), evidence=())))
    assert present["region"] == (region if last is None else {**region, "endColumn": last})
    assert gone["region"] == region


def test_unreadable_diff_costs_only_the_columns() -> None:
    run = run_of(rejected(), diff="diff --git a/x b/x\n@@ nonsense", files=None)
    assert "endColumn" not in locations_of(run)[0]["region"]


def test_paths_are_quoted_and_hostile_text_is_inert() -> None:
    finding = stub("a b/c:d/ü#1.py", note=f"{{0}} {HOSTILE}")
    run = run_of(rejected(findings=(finding,), evidence=(), concern="x " * 5_000))
    assert locations_of(run)[0]["artifactLocation"]["uri"] == "a%20b/c%3Ad/%C3%BC%231.py"
    [(_, _, _, text)] = results_of(run)
    assert not [sign for sign in ("](", "{0}", "\x1b", "\u202e") if sign in text]
    assert all(len(message.encode()) <= TEXT_BYTES for _, message in notices(run))


@pytest.mark.parametrize("path", ["/etc/passwd", "//else.where/x", "../../up.py", "a/../../up.py"])
def test_no_path_leaves_the_repository(path: str) -> None:
    assert "/" not in locations_of(run_of(rejected(findings=(stub(path),), evidence=())))[0]["artifactLocation"]["uri"]
