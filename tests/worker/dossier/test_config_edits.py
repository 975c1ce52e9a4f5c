"""What a pull request would change about how pull requests are judged, and where that is weaker."""

import pytest

from worker.domain.dossier.dossier import (
    ConfigOrigin,
    ConfigText,
    Dossier,
    HeadFile,
    PullRequest,
    UnreadFile,
    UnreadReason,
)
from worker.dossier.config_edits import ProposedConfig, find_edits, find_proposed_config

PLACE = ".github/assay.yml"
A, B = "a" * 40, "b" * 40


def text(yaml: str, origin: ConfigOrigin = ConfigOrigin.REPOSITORY) -> ConfigText:
    return ConfigText(origin=origin, text=yaml)


def changed(path: str, *, before: bool = True, after: bool = True) -> str:
    """A diff that edits, adds or deletes one file."""
    marks = ("" if before else "new file mode 100644\n") + ("" if after else "deleted file mode 100644\n")
    old, new = (f"a/{path}" if before else "/dev/null"), (f"b/{path}" if after else "/dev/null")
    lines = ("-x\n" if before else "") + ("+y\n" if after else "")
    counts = f"-{int(before)} +{int(after)}"
    spans = " ".join(f"{count[0]}{'1' if count[1] == '1' else '0,0'}" for count in counts.split())
    return f"diff --git a/{path} b/{path}\n{marks}--- {old}\n+++ {new}\n@@ {spans} @@\n{lines}"


def dossier(diff: str, head: str | None = None, base: str = "", **more: object) -> Dossier:
    fields: dict[str, object] = {
        "pull_request": PullRequest(
            repository="acme/widgets", number=1, title="t", body="", author="a", base_sha=B, head_sha=A
        ),
        "diff": diff,
        "files": () if head is None else (HeadFile(path=PLACE, text=head),),
        "config": (text(base),) if base else (),
    }
    return Dossier.model_validate({**fields, **more})


def one(before: str, after: str) -> tuple[str, object, object, bool]:
    (edit,) = find_edits([text(before)], [text(after)])
    return edit.key, edit.old, edit.new, edit.is_weaker


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "mode: observe", ("mode", "block", "observe", True)),
        ("mode: observe", "", ("mode", "observe", "block", False)),
        ("", "categories: {weak_test: observe}", ("categories.weak_test", None, "observe", True)),
        ("categories: {weak_test: block}", "", ("categories.weak_test", "block", None, False)),
        (
            "mode: observe\ncategories: {weak_test: block}",
            "mode: observe",
            ("categories.weak_test", "block", None, True),
        ),
        ("", "abstains: {too_large: neutral}", ("abstains.too_large", None, "neutral", True)),
        ("abstains: {too_large: block}", "", ("abstains.too_large", "block", None, False)),
        ("abstains: {paused: block}", "", ("abstains.paused", "block", None, True)),
        ("", "abstains: {paused: block}", ("abstains.paused", None, "block", False)),
        ("require_issue: true", "", ("require_issue", True, False, True)),
        ("", "accept_alone: false", ("accept_alone", True, False, False)),
        ("accept_alone: false", "", ("accept_alone", False, True, True)),
        ("", "signals: {stub_body: suspicion}", ("signals.stub_body", None, "suspicion", True)),
        ("signals: {stub_body: suspicion}", "signals: {stub_body: off}", ("signals.stub_body", "suspicion", "off", True)),
        ("signals: {stub_body: off}", "", ("signals.stub_body", "off", None, False)),
        ("", "authors: {agents: observe}", ("authors.agents", "judge", "observe", True)),
        ("", "authors: {people: judge}", ("authors.people", "observe", "judge", False)),
        ("never_send: [b]", "never_send: [a]", ("never_send", ["b"], ["a"], False)),
        ("model: a", "model: b", ("model", "a", "b", False)),
        ("", "feedback: {agents: false}", ("feedback.agents", True, False, False)),
        ("", "review: {label: x}", ("review.label", None, "x", False)),
        ("quiet_window: 1m", "quiet_window: 2m", ("quiet_window", 60.0, 120.0, False)),
    ],
)  # fmt: skip
def test_an_edit_is_told_with_both_values_and_whether_it_is_weaker(
    before: str, after: str, expected: tuple[str, object, object, bool]
) -> None:
    assert one(before, after) == expected


def test_a_change_that_edits_no_such_file_proposes_nothing() -> None:
    assert find_proposed_config(dossier(changed("a.py"), base="mode: observe")) == ProposedConfig()
    assert find_proposed_config(dossier("no diff @@", base="mode: observe")).is_empty


def test_a_diff_that_cannot_be_read_proposes_nothing() -> None:
    assert find_proposed_config(dossier(changed(PLACE).replace("@@ -1 +1 @@", "@@ -9 +9,3 @@"))) == ProposedConfig()


def test_the_heads_version_is_held_against_the_bases() -> None:
    proposed = find_proposed_config(dossier(changed(PLACE), "mode: observe", "ci_wait: 5m"))
    assert [(edit.key, edit.old, edit.new) for edit in proposed.edits] == [
        ("mode", "block", "observe"),
        ("ci_wait", 300.0, None),
    ]


def test_a_new_file_is_held_against_the_owners_default() -> None:
    owners = (text("mode: observe", ConfigOrigin.ORGANISATION),)
    proposed = find_proposed_config(dossier(changed(PLACE, before=False), "mode: block", config=owners))
    assert [(edit.key, edit.is_weaker) for edit in proposed.edits] == [("mode", False)]


def test_a_file_that_is_deleted_gives_way_to_the_defaults() -> None:
    proposed = find_proposed_config(dossier(changed(PLACE, after=False), base="require_issue: true"))
    assert [(edit.key, edit.is_weaker) for edit in proposed.edits] == [("require_issue", True)]


def test_a_new_version_with_a_mistake_is_told_by_its_mistake() -> None:
    proposed = find_proposed_config(dossier(changed(PLACE), "a: 1\nmode: x", "mode: observe"))
    assert [(problem.line, problem.key) for problem in proposed.problems] == [(1, "a"), (2, "mode")]
    assert [edit.key for edit in proposed.edits] == ["accept_alone"]


def test_a_mistake_hides_no_other_edit_of_the_same_version() -> None:
    proposed = find_proposed_config(dossier(changed(PLACE), "require_issue: false\nmodel: 3", "require_issue: true"))
    assert [(edit.key, edit.is_weaker) for edit in proposed.edits] == [("require_issue", True), ("accept_alone", False)]


def test_a_new_version_that_nobody_read_is_told_too() -> None:
    unread = (UnreadFile(path=PLACE, reason=UnreadReason.BINARY),)
    assert find_proposed_config(dossier(changed(PLACE), base="mode: observe", files_unread=unread)) == ProposedConfig(
        is_unread=True
    )


@pytest.mark.parametrize(
    ("path", "are"),
    [
        ("AGENTS.md", True),
        ("src/deep/CLAUDE.md", True),
        (".cursor/rules/a.mdc", True),
        (".cursor/rules/a.txt", False),
        (".github/copilot-instructions.md", True),
        ("docs/agents.md", False),
        ("src/GEMINI.md", False),
    ],
)
def test_rules_files_are_those_that_the_judge_reads(path: str, *, are: bool) -> None:
    assert find_proposed_config(dossier(changed(path))).rules == ((path,) if are else ())
