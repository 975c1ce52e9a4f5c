"""`.github/assay.yml` and its problems: key, location, expected and actual value."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.domain.config.config import Authors, Feedback, Handling, RepositoryConfig, Review, to_config, to_keys
from worker.domain.config.signal_names import SIGNAL_NAMES
from worker.domain.dossier import (
    ConfigOrigin,
    ConfigText,
    Dossier,
    HeadFile,
    Policy,
    PullRequest,
    UnreadFile,
    UnreadReason,
)
from worker.domain.verdict.verdict import AbstainReason, Category
from worker.dossier.config import (
    MOST_PROBLEMS,
    ProposedConfig,
    build_policy,
    find_edits,
    find_proposed_config,
    read_config,
    resolve_config,
)


def list_problems(text: str | None) -> list[str]:
    return [f"{problem.line}:{problem.column} {problem.message}" for problem in read_config(text).problems]


def repository_text(text: str | None, last_good: str | None = None) -> ConfigText:
    return ConfigText(origin=ConfigOrigin.REPOSITORY, text=text, last_good=last_good)


def owner_text(text: str) -> ConfigText:
    return ConfigText(origin=ConfigOrigin.ORGANISATION, text=text)


@pytest.mark.parametrize("text", ["", "\n\n", "# mode: observe\n", "{}", "---\n"])
def test_empty_file_sets_nothing(text: str) -> None:
    assert (dict(read_config(text).values), list_problems(text)) == ({}, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mode: blok", '1:7 `mode`: expected block or observe, found "blok"'),
        ("mode:", "1:6 `mode`: expected block or observe, found nothing"),
        ("\nmod: block", "2:1 `mod`: there is no such key; is `mode` meant?"),
        ("review:\n  lable: x", "2:3 `review.lable`: there is no such key; is `label` meant?"),
        ("authors:\n  foo: judge", "2:3 `authors.foo`: there is no such key; known are agents, people, bots"),
        ("signals:\n  stub_bodi: off", "2:3 `signals.stub_bodi`: there is no such key; is `stub_body` meant?"),
        ("signals:\n  x: off", "2:3 `signals.x`: there is no such key; docs/signals.md names all"),
        ("signals:\n  stub_body: on", '2:14 `signals.stub_body`: expected off or suspicion, found "on"'),
        ("categories:\n  weak: block", "2:3 `categories.weak`: there is no such key; is `weak_test` meant?"),
        ("abstains: [1, 2]", "1:11 `abstains`: expected keys with values, each on a line of its own, found a list of 2"),
        ("require_issue: yes", '1:16 `require_issue`: expected true or false, found "yes"'),
        ("never_send: x", '1:13 `never_send`: expected a list, found "x"'),
        ("never_send:\n- a\n- 3", "3:3 `never_send[1]`: expected a text, found 3"),
        ("never_send: ['']", '1:14 `never_send[0]`: expected a text that is not empty, found ""'),
        ("model: {a: 1}", "1:8 `model`: expected a text, found keys with values"),
        ("quiet_window: 45x", '1:15 `quiet_window`: expected seconds from 0 to 86400, or a text like 45s, 10m or 2h, found "45x"'),
        ("version: 2", "1:10 `version`: expected 1, found 2"),
        ("version: true", "1:10 `version`: expected 1, found true"),
        ("review:\n  label: " + "x" * 60, f'2:10 `review.label`: expected at most 50 characters, found "{"x" * 39} …'),
        ("- mode", "1:1 expected keys with values, each on a line of its own, found a list of 1"),
        ("mode: [", "1:8 expected the node content, but found '<stream end>'"),
        ("mode: block\nmode: observe", '2:1 the key "mode" stands twice'),
        ("mode: block\n? [a]\n: b", "2:3 a key that is not text"),
        ("signals: {[stub_body]: off}", "1:11 a key that is not text"),
        ("? {a: b}\n: c", "1:3 a key that is not text"),
        ("a: &x 1\nb: *x", "2:4 aliases are not allowed"),
        ("mode: !!str block", "1:7 tags are not allowed"),
        ('model: "\\ud800"', "1:1 a character that does not exist (half of a surrogate pair)"),
        ("x" * 70_000, "1:1 longer than 64 KB"),
        (None, "1:1 not a text of up to 64 KB"),
    ],
)  # fmt: skip
def test_problem_names_location_expected_and_actual_value(text: str | None, message: str) -> None:
    assert list_problems(text) == [message]


def test_invalid_pattern_or_too_many_patterns_are_refused() -> None:
    (negated,) = list_problems("never_send: ['!a']")
    assert "without ! and without white space" in negated
    assert list_problems("never_send: [" + "a, " * 201 + "]") == [
        "1:13 `never_send`: expected at most 200 entries, found a list of 201"
    ]


def test_problems_are_listed_in_file_order() -> None:
    reading = read_config("mode: observe\nci_wait: never\nmodel: 3\nx: 1\n")
    assert [(problem.line, problem.key) for problem in reading.problems] == [(2, "ci_wait"), (3, "model"), (4, "x")]
    assert dict(reading.values) == {"mode": "observe"}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("require_issue: true\nmodel: 3", {"require_issue": True}),
        ("never_send: [secret/**, 3, '!a', .env*]", {"never_send": ("secret/**", ".env*")}),
        ("categories:\n  weak_test: observe\n  weak: block\n  half_finished: x", {"categories": {"weak_test": "observe"}}),
        ("abstains: {paused: block, 3: neutral}", {}),
        ("- mode", {}),
        ("mode: observe\nmode: block", {}),
    ],
)  # fmt: skip
def test_problem_drops_only_its_own_entry(text: str, holds: dict[str, object]) -> None:
    reading = read_config(text)
    assert reading.problems
    assert dict(reading.values) == holds


@pytest.mark.parametrize(
    "text", ["accept_alone: false\nmodel: 3", "accept_alnoe: false", "accept_alone: no", "accept_alone: true\nmode: x", "mode: [", None]
)  # fmt: skip
def test_file_with_problem_accepts_nothing_alone(text: str | None) -> None:
    assert not resolve_config([repository_text(text)]).config.policy.accept_alone
    assert not resolve_config([repository_text(text, last_good="accept_alone: true")]).config.policy.accept_alone
    assert resolve_config([repository_text("accept_alone: true"), owner_text("mode: x")]).config.policy.accept_alone


@pytest.mark.parametrize(
    ("text", "never_send"),
    [
        ('never_send: ["docs/**"', ("**",)),
        (None, ("**",)),
        ("never_sent: [a/**]", ("**",)),
        ("neverSend: [a/**]", ("**",)),
        ("never_send: a/**", ("**",)),
        ("never_send: [a/**, 3]", ("**",)),
        ("never_send: [a/**]\nmode: x", ("a/**",)),
        ("mode: x", ()),
        ("mood: block", ()),
    ],
)
def test_problem_that_can_hide_never_send_withholds_everything(text: str | None, never_send: tuple[str, ...]) -> None:
    resolved = resolve_config([repository_text(text)])
    assert resolved.config.policy.never_send == never_send
    assert resolved.refused_files[0].withholds_all is (never_send == ("**",))
    assert resolve_config([repository_text(text, last_good="never_send: [b/**]")]).config.policy.never_send != ("**",)


def test_misnamed_file_is_refused_and_accepts_nothing_alone() -> None:
    misnamed = ConfigText(origin=ConfigOrigin.REPOSITORY, text=None, is_misnamed=True)
    resolved = resolve_config([misnamed])
    assert not resolved.config.policy.accept_alone
    (refused,) = resolved.refused_files
    assert refused.is_misnamed
    assert refused.problems[0].message == "`.github/assay.yaml` is not read; the file is called `.github/assay.yml`"


def test_long_unknown_key_is_cut_and_gets_no_suggestion() -> None:
    (message,) = list_problems(f"{'mode' * 40}: 1")
    assert message == (
        f"1:1 `{('mode' * 40)[:40]} …`: there is no such key; known are version, mode, categories, abstains, require_issue, accept_alone, "
        "signals, never_send, model, authors, ask_model_for, feedback, review, sarif, quiet_window, ci_wait, ci_expect, ci_ignore"
    )


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"k{number}: 1\n" for number in range(7000)),
        "signals:\n" + "".join(f"  {'stub_bodi' * 5}{number}: off\n" for number in range(1000)),
        "[" * 60_000,
        "never_send:\n" + "- a\n" * 16_000,
    ],
)
def test_hostile_file_is_read_in_linear_time(text: str) -> None:
    before = time.process_time()
    assert 0 < len(read_config(text).problems) <= MOST_PROBLEMS
    assert time.process_time() - before < 10


def test_repository_overrides_organisation_per_top_level_key() -> None:
    texts = [
        repository_text("mode: block\nauthors: {people: judge}\n"),
        owner_text("authors: {bots: judge}\nci_wait: 5m\n"),
    ]
    resolved = resolve_config(texts)
    assert resolved.config == RepositoryConfig(authors=Authors(people=Handling.JUDGE), ci_wait=300)
    assert resolved.origins == {
        "authors": ConfigOrigin.REPOSITORY,
        "ci_wait": ConfigOrigin.ORGANISATION,
        "mode": ConfigOrigin.REPOSITORY,
    }
    assert resolve_config(texts[::-1]).config == resolved.config


def test_refused_file_leaves_the_other_files_values() -> None:
    resolved = resolve_config([repository_text("mode: x"), owner_text("ci_wait: 5m")])
    assert resolved.config == RepositoryConfig(policy=Policy(accept_alone=False), ci_wait=300)
    assert [(file.origin, file.is_replaced) for file in resolved.refused_files] == [(ConfigOrigin.REPOSITORY, False)]


def test_last_good_file_replaces_a_refused_file_only() -> None:
    resolved = resolve_config([repository_text("mode: x", last_good="mode: observe")])
    assert (resolved.config.policy.mode, resolved.refused_files[0].is_replaced) == ("observe", True)
    newer = resolve_config([repository_text("model: 3\nmode: block", last_good="mode: observe\nrequire_issue: true")])
    assert (newer.config.policy.mode, newer.config.policy.require_issue) == ("block", True)


def test_key_with_problem_is_completed_from_the_last_good_file() -> None:
    last_good = (
        "categories: {weak_test: observe}\nnever_send: [a/**]\nauthors: {people: judge}\nsignals: {stub_body: off}\n"
    )
    wrong = "categories: {weak: block, half_finished: observe}\nnever_send: [b/**, 3]\nauthors: {bots: skip, x: skip}\nsignals: {}\n"
    config = resolve_config([repository_text(wrong, last_good=last_good)]).config
    assert config.policy == Policy(
        categories={Category.WEAK_TEST: "observe", Category.HALF_FINISHED: "observe"},
        never_send=("a/**", "b/**"),
        accept_alone=False,
    )
    assert config.authors == Authors(people=Handling.JUDGE, bots=Handling.SKIP)
    assert resolve_config([repository_text("", last_good="mode: observe")]).config == RepositoryConfig()


def test_file_without_policy_keys_builds_no_policy() -> None:
    assert build_policy([repository_text("quiet_window: 5s\nmode: block\n")]) is None
    assert build_policy([repository_text("mode: observe\n")]) == Policy(mode="observe")
    assert build_policy([]) is None


SECONDS = st.floats(0, 86_400).map(lambda number: round(number, 2))
CONFIGS = st.builds(
    RepositoryConfig,
    policy=st.builds(
        Policy,
        mode=st.sampled_from(["block", "observe"]),
        categories=st.dictionaries(st.sampled_from(Category), st.sampled_from(["block", "observe"])),
        abstains=st.dictionaries(st.sampled_from(AbstainReason), st.sampled_from(["block", "neutral"])),
        require_issue=st.booleans(),
        accept_alone=st.booleans(),
        signals=st.dictionaries(st.sampled_from(SIGNAL_NAMES), st.sampled_from(["off", "suspicion"])),
        never_send=st.lists(st.from_regex(r"[a-z*?.][a-z*/. ]{0,20}", fullmatch=True), max_size=5).map(tuple),
        model=st.none() | st.from_regex(r"[a-z0-9-]{1,30}", fullmatch=True),
    ),
    authors=st.builds(Authors),
    feedback=st.builds(Feedback, agents=st.booleans(), people=st.booleans()),
    review=st.builds(Review, codeowners=st.booleans(), label=st.none() | st.just("needs review")),
    quiet_window=st.none() | SECONDS,
    ci_wait=st.none() | SECONDS,
)


@settings(deadline=None)
@given(CONFIGS)
def test_config_survives_a_round_trip(config: RepositoryConfig) -> None:
    reading = read_config(json.dumps(to_keys(config)))
    assert reading.problems == ()
    assert to_config(reading.values) == config


def test_policy_can_name_a_retired_signal() -> None:
    assert list_problems("signals: {reformatted: off}\n") == []


WORDS = st.sampled_from(
    "mode categories signals never_send authors people review label x block off 45s ~".split()  # noqa: SIM905
)
FILES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), WORDS, st.text()
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=settings().max_examples * 3, deadline=None)
@given(st.one_of(st.text(), FILES.map(json.dumps)))
def test_any_text_is_read_or_refused_at_an_existing_line(text: str) -> None:
    reading = read_config(text)
    lines = len(text.splitlines()) + 1
    assert all(
        1 <= problem.line <= lines and problem.column >= 1 and problem.explanation for problem in reading.problems
    )
    resolve_config([repository_text(text)])


CONFIG_PATH = ".github/assay.yml"
A, B = "a" * 40, "b" * 40


def diff_of(path: str, *, before: bool = True, after: bool = True) -> str:
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
        "files": () if head is None else (HeadFile(path=CONFIG_PATH, text=head),),
        "config": (repository_text(base),) if base else (),
    }
    return Dossier.model_validate({**fields, **more})


def single_edit(before: str, after: str) -> tuple[str, object, object, bool]:
    (edit,) = find_edits([repository_text(before)], [repository_text(after)])
    return edit.key, edit.old, edit.new, edit.is_weaker


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "mode: observe", ("mode", "block", "observe", True)),
        ("mode: observe", "", ("mode", "observe", "block", False)),
        ("", "categories: {weak_test: observe}", ("categories.weak_test", None, "observe", True)),
        ("categories: {weak_test: block}", "", ("categories.weak_test", "block", None, False)),
        ("mode: observe\ncategories: {weak_test: block}", "mode: observe", ("categories.weak_test", "block", None, True)),
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
def test_edit_has_both_values_and_its_weakness(
    before: str, after: str, expected: tuple[str, object, object, bool]
) -> None:
    assert single_edit(before, after) == expected


@pytest.mark.parametrize("diff", [diff_of("a.py"), "no diff @@", diff_of(CONFIG_PATH).replace("-1 +1", "-9 +9,3")])
def test_change_of_other_file_or_unreadable_diff_proposes_nothing(diff: str) -> None:
    proposed = find_proposed_config(dossier(diff, base="mode: observe"))
    assert (proposed, proposed.is_empty) == (ProposedConfig(), True)


OWNERS = (owner_text("mode: observe"),)
EDITED = diff_of(CONFIG_PATH)


@pytest.mark.parametrize(
    ("proposing", "edits", "mistakes"),
    [
        (dossier(EDITED, "mode: observe", "ci_wait: 5m"), [("mode", "observe", True), ("ci_wait", None, False)], []),
        (dossier(diff_of(CONFIG_PATH, before=False), "mode: block", config=OWNERS), [("mode", "block", False)], []),
        (dossier(diff_of(CONFIG_PATH, after=False), base="require_issue: true"), [("require_issue", False, True)], []),
        (dossier(EDITED, "a: 1\nmode: x", "mode: observe"), [("accept_alone", False, False)], [(1, "a"), (2, "mode")]),
        (
            dossier(EDITED, "require_issue: false\nmodel: 3", "require_issue: true"),
            [("require_issue", False, True), ("accept_alone", False, False)],
            [(2, "model")],
        ),
    ],
    ids=["edited", "new, against the owner's", "deleted, the defaults count", "mistakes", "a mistake hides no edit"],
)
def test_head_config_is_compared_with_base_config(
    proposing: Dossier, edits: list[tuple[str, object, bool]], mistakes: list[tuple[int, str]]
) -> None:
    proposed = find_proposed_config(proposing)
    assert [(edit.key, edit.new, edit.is_weaker) for edit in proposed.edits] == edits
    assert [(problem.line, problem.key) for problem in proposed.problems] == mistakes


def test_unread_head_config_is_reported() -> None:
    unread = (UnreadFile(path=CONFIG_PATH, reason=UnreadReason.BINARY),)
    assert find_proposed_config(dossier(EDITED, base="mode: observe", files_unread=unread)) == ProposedConfig(
        is_unread=True
    )


def test_changed_rules_files_are_reported() -> None:
    assert find_proposed_config(dossier(diff_of("AGENTS.md") + diff_of("docs/agents.md"))).rules == ("AGENTS.md",)
