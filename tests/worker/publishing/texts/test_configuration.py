"""What people read about `.github/assay.yml`, on the check and in the terminal, word for word."""

import pytest
from inline_snapshot import snapshot

from tests.worker.publishing.texts.samples import HOSTILE, abstained, accepted, dossier, rejected
from worker.domain.check.check_run import Annotation, AnnotationLevel, Conclusion
from worker.domain.dossier import ConfigOrigin, ConfigText, Dossier, HeadFile, Policy
from worker.domain.judge_request import AuthorKind
from worker.domain.verdict.verdict import AbstainReason, Category, Verdict
from worker.publishing.texts.check_run import annotations as marked
from worker.publishing.texts.check_run import (
    check_content,
    conclusion,
    config_annotations,
    proposed_changes,
    used_configuration,
)
from worker.publishing.texts.phrases import config_notes, list_phrase, passing_phrase, proposals, value_phrase
from worker.publishing.texts.terminal import TerminalPage, verdict_report

PLACE = ".github/assay.yml"


def edited(path: str) -> str:
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-x\n+y\n"


def texts(own: str | None, last_good: str | None = None, default: str | None = None) -> tuple[ConfigText, ...]:
    found = (ConfigText(origin=ConfigOrigin.REPOSITORY, text=own, last_good=last_good),)
    return found if default is None else (*found, ConfigText(origin=ConfigOrigin.ORGANISATION, text=default))


def editing(head: str, base: str) -> Dossier:
    return dossier(diff=edited(PLACE), files=(HeadFile(path=PLACE, text=head),), config=texts(base))


def with_policy(**policy: object) -> Dossier:
    return dossier(policy=Policy.model_validate(policy))


# --- what is concluded --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "verdict", "concludes", "says"),
    [
        ({}, rejected(), Conclusion.FAILURE, ""),
        ({"mode": "observe"}, rejected(), Conclusion.NEUTRAL, "only observes: whatever is decided here"),
        ({"mode": "observe"}, accepted(), Conclusion.NEUTRAL, "only observes: whatever is decided here"),
        ({"categories": {"half_finished": "observe"}}, rejected(), Conclusion.NEUTRAL, "rejected as half finished"),
        ({"categories": {"weak_test": "observe"}}, rejected(), Conclusion.FAILURE, ""),
        ({"categories": {"weak_test": "observe"}}, accepted(), Conclusion.SUCCESS, ""),
        ({"mode": "observe", "categories": {"half_finished": "block"}}, rejected(), Conclusion.FAILURE, ""),
        (
            {"abstains": {"too_large": "neutral"}},
            abstained(AbstainReason.TOO_LARGE),
            Conclusion.NEUTRAL,
            "says that too_large does not block",
        ),
        ({"abstains": {"too_large": "neutral"}}, abstained(AbstainReason.BUDGET), Conclusion.ACTION_REQUIRED, ""),
        ({"abstains": {"paused": "block"}}, abstained(AbstainReason.PAUSED), Conclusion.ACTION_REQUIRED, ""),
        (
            {"mode": "observe", "abstains": {"paused": "block"}},
            abstained(AbstainReason.PAUSED),
            Conclusion.NEUTRAL,
            "only observes: whatever",
        ),
    ],
)
def test_the_configuration_decides_what_a_verdict_concludes_and_the_text_says_so(
    policy: dict[str, object], verdict: Verdict, concludes: Conclusion, says: str
) -> None:
    judged = with_policy(**policy)
    assert conclusion(verdict, judged) is concludes
    said = passing_phrase(verdict, judged)
    assert says in said
    assert bool(says) is bool(said)
    if says:
        assert check_content(verdict, judged).summary.startswith(f"*{said}*")
        assert said.split(":")[0] in verdict_report(verdict, judged, TerminalPage(width=200))


@pytest.mark.parametrize(
    ("is_required", "policy", "concludes", "says"),
    [
        (True, {}, Conclusion.ACTION_REQUIRED, "The base branch requires this check"),
        (False, {}, Conclusion.NEUTRAL, ""),
        (None, {}, Conclusion.NEUTRAL, ""),
        (True, {"abstains": {"unproven": "neutral"}}, Conclusion.NEUTRAL, "says that unproven does not block"),
        (False, {"abstains": {"unproven": "block"}}, Conclusion.ACTION_REQUIRED, ""),
        (True, {"mode": "observe"}, Conclusion.NEUTRAL, "only observes: whatever"),
    ],
)
def test_without_a_model_only_a_required_check_blocks_a_change_that_nobody_judged(
    *, is_required: bool | None, policy: dict[str, object], concludes: Conclusion, says: str
) -> None:
    unproven = abstained(AbstainReason.UNPROVEN).model_copy(update={"signals": {"escalation_skipped": "no_model"}})
    judged = with_policy(**policy).model_copy(update={"is_required": is_required})
    assert conclusion(unproven, judged) is concludes
    said = passing_phrase(unproven, judged)
    assert says in said
    assert bool(says) is bool(said)


@pytest.mark.parametrize("author", AuthorKind)
def test_a_check_that_only_observes_a_kind_of_author_says_so(author: AuthorKind) -> None:
    observing = with_policy(mode="observe").model_copy(update={"observed_as": author})
    assert conclusion(rejected(), observing) is Conclusion.NEUTRAL
    assert "only observed here, so the check neither passes nor blocks." in passing_phrase(rejected(), observing)


def test_a_category_that_is_observed_never_marks_a_failure() -> None:
    judged = with_policy(categories={Category.HALF_FINISHED: "observe"})
    content = check_content(rejected(), judged)
    assert content.title.startswith("Would have rejected: half finished")
    assert {one.level for one in marked(rejected(), judged)} == {AnnotationLevel.WARNING}


# --- whose file set what ------------------------------------------------------------------------------------


def test_without_a_file_and_without_an_edit_nothing_is_told() -> None:
    judged = dossier(diff=edited("a.py"))
    assert (used_configuration(rejected(), judged), proposed_changes(judged), config_annotations(judged)) == (
        [],
        [],
        (),
    )
    assert (config_notes(rejected(), judged), proposals(judged)) == ([], [])


def test_who_set_what_is_told() -> None:
    judged = dossier(config=texts("mode: block\n", default="ci_wait: 5m\nauthors: {people: judge}\n"))
    assert used_configuration(rejected(), judged) == snapshot(
        [
            "### Configuration",
            """\
- `.github/assay.yml` of the base commit sets `mode`
- The `.github/assay.yml` of `acme/.github`, the default for its owner, sets `authors`, `ci_wait`\
""",
        ]
    )


@pytest.mark.parametrize(
    ("own", "last_good", "said"),
    [
        (
            "mode: x",
            None,
            snapshot(
                '`.github/assay.yml` at the base commit has a mistake: line 1, `mode`: expected block or observe, found "x". What can\'t be read of it gives way to the defaults, and nothing is accepted without a model as long as it stands. `assay config check` shows what is wrong'
            ),
        ),
        (
            None,
            "ci_wait: 5m",
            snapshot(
                "`.github/assay.yml` at the base commit has a mistake: line 1, not a text of up to 64 KB. What can't be read of it gives way to its last version without one, and nothing is accepted without a model as long as it stands. `assay config check` shows what is wrong"
            ),
        ),
        (
            "a: 1\nb: 1\nc: 1\nd: 1\ne: 1\n" * 1,
            None,
            snapshot(
                "`.github/assay.yml` at the base commit has a mistake: line 1, `a`: there is no such key; known are version, mode, categories, abstains, require_issue, accept_alone, signals, never_send, model, authors, ask_model_for, feedback, review, sarif, quiet_window, ci_wait, ci_expect, ci_ignore; line 2, `b`: there is no such key; known are version, mode, categories, abstains, require_issue, accept_alone, signals, never_send, model, authors, ask_model_for, feedback, review, sarif, quiet_window, ci_wait, ci_expect, ci_ignore; line 3, `c`: there is no such key; known are version, mode, categories, abstains, require_issue, accept_alone, signals, never_send, model, authors, ask_model_for, feedback, review, sarif, quiet_window, ci_wait, ci_expect, ci_ignore; and 2 more. What can't be read of it gives way to the defaults, and nothing is accepted without a model as long as it stands. `assay config check` shows what is wrong"
            ),
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_told_with_what_counts_instead(
    own: str | None, last_good: str | None, said: str
) -> None:
    assert config_notes(rejected(), dossier(config=texts(own, last_good)))[-1] == said


def test_a_file_under_the_wrong_name_is_told_on_the_check_and_in_the_terminal() -> None:
    judged = dossier(config=(ConfigText(origin=ConfigOrigin.REPOSITORY, text=None, is_misnamed=True),))
    assert config_notes(rejected(), judged) == snapshot(
        [
            "`.github/assay.yaml` at the base commit is not read, and nothing is accepted without a model and no file is sent to a model as long as it stands: rename it to `.github/assay.yml`"
        ]
    )
    assert "assay.yaml" in check_content(rejected(), judged).text
    assert "assay.yaml" in verdict_report(rejected(), judged, TerminalPage(width=200))


def test_the_owners_file_is_told_apart() -> None:
    """That file may be private, and a check be read by anybody: its words stay where they are."""
    (_, said) = config_notes(rejected(), dossier(config=texts("mode: block", default="mode: secret")))
    assert said == snapshot(
        "`.github/assay.yml` of the owner's `.github` repository has a mistake: line 1. What can't be read of it gives way to the defaults, and nothing is accepted without a model as long as it stands. `assay config check` shows what is wrong"
    )
    theirs = texts("", default="mode: observe\nnever_send: [secret/**]\nmodel: secret\n")
    own = HeadFile(path=PLACE, text="mode: block\nnever_send: []\nmodel: x\n")
    assert proposals(dossier(diff=edited(PLACE), config=theirs, files=(own,))) == snapshot(
        [
            "`mode`: `observe` → `block`",
            "`never_send`: the owner's default → `[]`",
            "`model`: the owner's default → `x`",
        ]
    )


def test_a_model_that_the_operator_does_not_allow_is_told() -> None:
    other = rejected(signals={"model_not_allowed": "gpt"})
    assert config_notes(other, dossier(config=texts("model: gpt")))[-1] == snapshot(
        "`model: gpt` is not among the models that the operator allows (ASSAY_MODELS), and was not asked"
    )


# --- what a pull request would change -----------------------------------------------------------------------


def test_what_a_pull_request_would_change_is_told_on_the_check_and_in_the_terminal() -> None:
    judged = editing("mode: observe\nnever_send: ['a*']\nquiet_window: 2m\n", "signals: {stub_body: suspicion}\n")
    assert proposed_changes(judged) == snapshot(
        [
            "### This pull request changes how it would be judged",
            "It was judged by the files of its base. What would change once it is merged:",
            """\
- `mode`: `block` → `observe` (weaker: a reject would not fail the check any more)
- `signals.stub_body`: `suspicion` → not set
- `never_send`: `[]` → `["a*"]`
- `quiet_window`: not set → `120`\
""",
        ]
    )
    assert proposed_changes(judged)[0] in check_content(rejected(), judged).summary
    assert "Changes    `mode`: `block` → `observe` (weaker" in verdict_report(
        rejected(), judged, TerminalPage(width=200)
    )


def test_a_rules_file_is_named() -> None:
    assert proposals(dossier(diff=edited("src/AGENTS.md"))) == ["`src/AGENTS.md`: rules for agents and judge"]
    assert proposals(dossier(diff=edited("a.py").replace("+y", "+see AGENTS.md"))) == []


def test_an_edit_that_nobody_could_read_is_told() -> None:
    misnamed = dossier(diff=edited(".github/assay.yaml"))
    assert proposals(misnamed) == ["`.github/assay.yaml`: not read; the file is called `.github/assay.yml`"]
    assert proposals(dossier(diff=edited(PLACE))) == ["`.github/assay.yml`: edited, and its new text could not be read"]


def test_a_mistake_in_the_new_version_is_told_and_marked_at_its_line() -> None:
    judged = editing("\nmode: x\n", "mode: block\n")
    assert proposals(judged) == snapshot(
        [
            "`accept_alone`: `true` → `false`",
            '`.github/assay.yml`: its new version has a mistake, and nothing is accepted without a model as long as it stands: line 2, `mode`: expected block or observe, found "x"',
        ]
    )
    assert config_annotations(judged) == snapshot(
        (
            Annotation(
                path=".github/assay.yml",
                start_line=2,
                end_line=2,
                level=AnnotationLevel.WARNING,
                title="Configuration of Assay",
                message='`mode`: expected block or observe, found "x". It sets nothing, and nothing is accepted without a model as long as it stands.',
            ),
        )
    )
    assert check_content(accepted(), judged).annotations == config_annotations(judged)


def test_what_stands_in_a_file_formats_and_links_nothing() -> None:
    quoted = HOSTILE.replace("\x1b", "").replace("\u202e", "").replace('"', "").replace("\\", "").replace("`", "")
    judged = editing(f'model: "{quoted[:90]}"\n', f'never_send: ["{quoted[:90]}"]\n')
    assert proposals(judged)
    told = "\n".join(proposed_changes(judged))
    assert f"`{quoted[:90]}`" in told, "as code, and nothing else"


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "not set"), ("a", "`a`"), (2.5, "`2.5`"), (120.0, "`120`"), ({"a": 1}, '`{"a": 1}`'), (True, "`true`")],
)
def test_a_value_is_shown_as_somebody_would_write_it(value: object, said: str) -> None:
    assert value_phrase(value) == said


@pytest.mark.parametrize(
    ("items", "text"),
    [([], ""), (["a"], ": a"), (["a", "b"], ": a, b"), (["a", "b", "c"], ": a, b … and 1 more")],
)
def test_a_list_names_its_first_items_and_counts_the_rest(items: list[str], text: str) -> None:
    assert list_phrase(items, most=2) == text
