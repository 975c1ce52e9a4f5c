"""Phrases for every closed set, and the sentences that the check run and the terminal share: plain text without Markdown or colour."""

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Final, assert_never

from worker.domain.config.config import CONFIG_PATH, MISNAMED_CONFIG_PATH
from worker.domain.dossier import (
    AWAITING_APPROVAL,
    DESCRIPTION,
    Ci,
    CiCheck,
    CiState,
    ConfigOrigin,
    Dossier,
    Issue,
    LateEdit,
    Policy,
    UnreadReason,
)
from worker.domain.judge_request import AuthorKind
from worker.domain.time_range import format_time, pause_from_signals
from worker.domain.verdict.verdict import (
    Abstain,
    AbstainReason,
    Accept,
    Category,
    ClaimStatus,
    ClosingCondition,
    ConditionState,
    CriterionStatus,
    CriterionVerdict,
    Finding,
    JudgeKind,
    Reject,
    ThrottledReason,
    Tokens,
    Verdict,
)
from worker.dossier.diff import DiffError, diff_of
from worker.dossier.repo_rules.files import FOLDER_NAMES, ROOT_NAMES, RULE_FOLDERS
from worker.publishing.texts.markdown import fit, fit_end, one_line

if TYPE_CHECKING:
    from worker.dossier.config import EffectiveConfig, Problem, ProposedConfig, RefusedConfig

TITLE_BYTES: Final = 250
PLACE_BYTES: Final = 160
ONLY_WORDING: Final = "only spelling, layout or links of documentation changed"
"""The changes that code alone accepts."""
NO_MODEL: Final = "no_model"
"""`signals.escalation_skipped` where no model is configured."""

REQUIRED_UNPROVEN: Final = (
    "The base branch requires this check, so a change that was not judged does not pass. "
    "`abstains: {unproven: neutral}` in `.github/assay.yml` lets it pass."
)
_OBSERVED: Final = "so the check neither passes nor blocks. `authors` in `.github/assay.yml` sets that."
OBSERVED_AS: Final[dict[AuthorKind, str]] = {
    AuthorKind.AGENT: f"The pull requests of coding agents are only observed here, {_OBSERVED}",
    AuthorKind.BOT: f"The pull requests of bots that are no coding agents are only observed here, {_OBSERVED}",
    AuthorKind.PERSON: (
        "Assay took the author for a person: neither the account, nor the branch, nor a commit, nor the description is a "
        f"coding agent's. People's pull requests are only observed here, {_OBSERVED}"
    ),
}
WITHOUT_CRITERIA: Final = "No issue and no list says what is wanted: only facts, the repository's rules and what the description itself claims count."
OBSERVED_REPOSITORY: Final = (
    "This repository only observes: whatever is decided here, the check neither passes nor blocks."
)
CHECK_EXPIRED: Final = "no judge finished within the time allowed for this check."
"""The watchdog's reason for closing a check."""
MAX_POINTERS: Final = 20
MAX_ACCEPT_POINTERS: Final = 6
INFERRED_BYTES: Final = 160
"""Of a description that is one criterion as a whole: readers have it in full on the same page."""
PASSING: Final = frozenset({"success", "neutral", "skipped"})

NOT_JUDGED_PHRASES: Final[dict[AbstainReason, str]] = {
    AbstainReason.CI_FAILED: "CI failed",
    AbstainReason.CI_PENDING: "CI did not finish in time",
    AbstainReason.UNPROVEN: "no fact against it, and no model was asked",
    AbstainReason.JUDGE_UNAVAILABLE: "the judge could not be reached",
    AbstainReason.REPLY_INVALID: "the model's answer could not be used",
    AbstainReason.BUDGET: "the budget is used up",
    AbstainReason.TOO_LARGE: "not everything could be read",
    AbstainReason.NO_CRITERIA: "no linked issue says what is wanted",
    AbstainReason.NEEDS_HUMAN: "a person has to decide",
    AbstainReason.PAUSED: "judging is paused",
}
THROTTLED_PHRASES: Final[dict[ThrottledReason, str]] = {
    ThrottledReason.PR_CAP: "the budget of this pull request is used up",
    ThrottledReason.DAILY_CAP: "today's budget is used up",
}
BUDGET_PHRASES: Final[dict[str, str]] = {
    ThrottledReason.PR_CAP.value: "of this pull request",
    ThrottledReason.DAILY_CAP.value: "of today",
    "share": "of this repository's share of today",
}
STATUS_PHRASES: Final[dict[CriterionStatus, str]] = {
    CriterionStatus.MET: "met",
    CriterionStatus.PARTIAL: "partly met",
    CriterionStatus.MISSING: "not met",
    CriterionStatus.UNVERIFIABLE: "could not be verified",
}
CLAIM_PHRASES: Final[dict[ClaimStatus, str]] = {
    ClaimStatus.VERIFIED: "the place that it names is there",
    ClaimStatus.CONTRADICTED: "contradicted by the change",
    ClaimStatus.UNSUPPORTED: "nothing supports it",
    ClaimStatus.OMITTED: "not mentioned",
}
UNREAD_PHRASES: Final[dict[UnreadReason, str]] = {
    UnreadReason.TOO_LARGE: "too large",
    UnreadReason.BINARY: "binary",
    UnreadReason.NOT_UTF8: "not UTF-8",
    UnreadReason.GENERATED: "generated",
    UnreadReason.NEVER_SEND: "never sent, by the repository's rules",
    UnreadReason.OVER_LIMIT: "over the limit of files",
}
CI_PHRASES: Final[dict[CiState, str]] = {
    CiState.SUCCESS: "passed",
    CiState.FAILURE: "failed",
    CiState.PENDING: "not finished",
    CiState.MISSING: "no check has a result on this commit; judged without",
}
PAUSED_BY: Final = {"operator": "by the operator", "repository": "in this repository"}
UNMET_STATUSES: Final = frozenset({CriterionStatus.MISSING, CriterionStatus.PARTIAL})


def category_phrase(category: Category) -> str:
    return category.value.replace("_", " ")


def is_observed(verdict: Verdict, dossier: Dossier) -> bool:
    """Whether the repository is in observe mode, for this verdict's category or for all: the check neither blocks nor passes."""
    policy = dossier.policy or Policy()
    return (policy.categories.get(verdict.category, policy.mode) if verdict.category else policy.mode) == "observe"


def lacks_model(verdict: Verdict) -> bool:
    """Whether the head was not judged because no model is configured."""
    return verdict.signals.get("escalation_skipped") == NO_MODEL


def passing_phrase(verdict: Verdict, dossier: Dossier) -> str:
    """Why the check passes or blocks, where the configuration decides that; else empty."""
    policy, reason = dossier.policy or Policy(), verdict.abstain_reason
    is_unproven = reason is AbstainReason.UNPROVEN and lacks_model(verdict)
    if is_unproven and dossier.is_required and policy.mode == "block" and reason not in policy.abstains:
        return REQUIRED_UNPROVEN
    if dossier.observed_as is not None:
        return OBSERVED_AS[dossier.observed_as]
    if policy.mode == "observe" and is_observed(verdict, dossier):
        return OBSERVED_REPOSITORY
    if is_observed(verdict, dossier) and verdict.category:
        return (
            f"This repository only observes what is rejected as {category_phrase(verdict.category)}: "
            "the check neither passes nor blocks."
        )
    if reason is not None and policy.abstains.get(reason) == "neutral":
        return f"This repository's configuration says that {reason.value} does not block (`abstains`): the check is neutral."
    return ""


def headline(verdict: Verdict, dossier: Dossier) -> str:
    """One line with the decision and its first location. Invisible characters of a path are shown."""
    would = is_observed(verdict, dossier)
    bare = "" if dossier.has_criteria else " without criteria"
    match verdict:
        case Accept(judge_kind=kind):
            solved = "solves what the issue asks for" if dossier.has_criteria else "does what its description says"
            why = ONLY_WORDING if kind is JudgeKind.HEURISTIC else solved
            line = f"{'Would have accepted' if would else 'Accepted'}{bare}: {why}"
        case Reject():
            outcome = "Would have rejected" if would else "Rejected"
            unmet = next((criterion for criterion in verdict.criteria if criterion.status in UNMET_STATUSES), None)
            where = f", {fit(one_line(unmet.id), PLACE_BYTES)} is {STATUS_PHRASES[unmet.status]}" if unmet else ""
            if verdict.evidence:
                where = f" at {fit_end(one_line(verdict.evidence[0].location), PLACE_BYTES)}"
            line = f"{outcome}{bare}: {category_phrase(verdict.category)}{where}"
        case Abstain():
            line = f"Not judged: {not_judged_phrase(verdict, dossier)}"
        case _:
            assert_never(verdict)
    return fit(line, TITLE_BYTES)


def max_pointers(verdict: Verdict) -> int:
    """How many pointers are shown: a few of an accept, most of everything else."""
    return MAX_ACCEPT_POINTERS if isinstance(verdict, Accept) else MAX_POINTERS


def criterion_texts(dossier: Dossier, most_bytes: int) -> dict[str, str]:
    """The text of each criterion on one line, by id."""
    asked = dossier.criteria or ()
    return {
        criterion.id: fit(one_line(criterion.text), INFERRED_BYTES if criterion.inferred else most_bytes)
        for criterion in asked
    }


def not_judged_phrase(verdict: Abstain, dossier: Dossier) -> str:
    """Why the head was not judged, in half a sentence, with the names of failing checks."""
    names = ", ".join(one_line(check.name) for check in failed_checks(dossier))
    if verdict.abstain_reason is AbstainReason.CI_FAILED and names:
        return f"CI failed ({fit(names, PLACE_BYTES)})"
    if verdict.abstain_reason is AbstainReason.CI_PENDING and has_no_ci_run(dossier):
        return "CI did not run"
    if verdict.abstain_reason is AbstainReason.TOO_LARGE and not _is_readable(dossier):
        return "the diff can't be read"
    if verdict.abstain_reason is AbstainReason.TOO_LARGE and not (verdict.coverage.read or verdict.coverage.partly):
        return "nothing of it could be read"
    if verdict.throttled_reason is not None:
        return THROTTLED_PHRASES[verdict.throttled_reason]
    is_unproven = verdict.abstain_reason is AbstainReason.UNPROVEN
    is_partly_read = is_unproven and bool(verdict.coverage.partly or verdict.coverage.unread)
    why = (
        "no fact in what could be read, and no model was asked"
        if is_partly_read
        else NOT_JUDGED_PHRASES[verdict.abstain_reason]
    )
    pause = pause_from_signals(verdict.signals)
    until = f" until {format_time(pause.until)}" if pause and pause.until else ""
    return ("no criteria, " if is_unproven and not dossier.has_criteria else "") + why + until


def _is_readable(dossier: Dossier) -> bool:
    try:
        diff_of(dossier.diff)
    except DiffError:
        return False
    return True


def has_no_ci_run(dossier: Dossier) -> bool:
    """Whether the author skipped CI, or all of it waits for approval."""
    ci = dossier.ci or Ci()
    open_ones = [check for check in ci.checks if check.conclusion is None]
    return ci.silenced is not None or (
        bool(open_ones) and all(check.status == AWAITING_APPROVAL for check in open_ones)
    )


def failed_checks(dossier: Dossier) -> tuple[CiCheck, ...]:
    """The checks that finished and did not pass."""
    checks = dossier.ci.checks if dossier.ci else ()
    return tuple(check for check in checks if check.conclusion is not None and check.conclusion not in PASSING)


def status_phrase(criterion: CriterionVerdict, verdict: Verdict) -> str:
    """The status of a criterion, and whether the author claimed it."""
    is_open = criterion.status is CriterionStatus.UNVERIFIABLE and verdict.judge_kind is JudgeKind.HEURISTIC
    phrase = "not judged" if is_open else STATUS_PHRASES[criterion.status]
    if not criterion.claimed:
        return phrase
    if is_open:
        return f"{phrase}, claimed by the author"
    return f"{phrase}, as claimed" if criterion.status is CriterionStatus.MET else f"{phrase}, though claimed"


def places_phrase(criterion: CriterionVerdict) -> str:
    """The phrase before a criterion's locations."""
    return "the change speaks of it at" if criterion.status is CriterionStatus.UNVERIFIABLE else "see"


def shown_criteria(verdict: Verdict) -> tuple[CriterionVerdict, ...]:
    """All criteria but a description that could not be verified."""
    return tuple(
        criterion
        for criterion in verdict.criteria
        if criterion.id != DESCRIPTION or criterion.status is not CriterionStatus.UNVERIFIABLE
    )


def criteria_heading(shown: Sequence[CriterionVerdict], dossier: Dossier) -> str:
    if dossier.has_criteria:
        return "What was asked for"
    return (
        "What its description says" if any(criterion.id == DESCRIPTION for criterion in shown) else "What is not there"
    )


def suspicions(verdict: Verdict) -> tuple[Finding, ...]:
    """What a person should look at where no verdict was reached."""
    return tuple(finding for finding in verdict.findings if not finding.fact) if isinstance(verdict, Abstain) else ()


def cost_phrase(verdict: Verdict) -> str:
    """The cost of a verdict, with the version of the prices."""
    if verdict.judge_kind is JudgeKind.HEURISTIC:
        return "$0"
    cost = "price unknown" if verdict.judge_cost_usd is None else f"${verdict.judge_cost_usd:f}"
    prices = f" (prices of {verdict.judge_pricing_version})" if verdict.judge_pricing_version else ""
    unheard = verdict.signals.get("unheard_usd") if verdict.carried_from is None else None
    if unheard is None:
        return f"{cost}{prices}"
    return f"at most {cost}{prices}, ${unheard} of it reserved for questions whose answers never came"


def budget_phrase(verdict: Verdict) -> str:
    """A note if this verdict almost used up a budget; else empty."""
    signals = verdict.signals
    whose = BUDGET_PHRASES.get(str(signals.get("budget_cap")))
    if whose is None or verdict.carried_from is not None:
        return ""
    used = f"{signals.get('budget_used')} of {signals.get('budget_limit')}"
    return (
        f"The budget {whose} is almost used up: {used}. Beyond it no model is asked, and what needs one is not judged."
    )


def opinion_phrase(verdict: Verdict) -> str:
    """Each of several opinions, and whether they agree; empty for a single one."""
    opinions = verdict.signals.get("opinions")
    if not opinions:
        return ""
    return f"{'agreed' if verdict.signals.get('opinions_agree') else 'not agreed'}: {one_line(str(opinions))}"


def direction_phrases(verdict: Verdict) -> list[tuple[str, str]]:
    """What works and what does not, of a change over many files."""
    named = (("What works", "what_works"), ("What does not", "what_does_not"))
    return [(name, str(value)) for name, key in named if (value := verdict.signals.get(key))]


def token_phrase(verdict: Verdict) -> str:
    """The tokens that the model counted; empty when there are none."""
    return count_tokens(verdict.tokens, ("in", "out", "read from cache", "written to cache"))


def count_tokens(tokens: Tokens, names: tuple[str, str, str, str]) -> str:
    """The counts that are not zero. *names*: of input, output, and what was read from and written to the cache."""
    counts = (tokens.input, tokens.output, tokens.cache_read, tokens.cache_write)
    return ", ".join(f"{count:,} {name}" for count, name in zip(counts, names, strict=True) if count)


def judge_phrase(verdict: Verdict) -> str:
    """What judged, or why nothing did."""
    match verdict:
        case Abstain(abstain_reason=AbstainReason.PAUSED):
            return f"nothing: judging is paused {PAUSED_BY.get(str(verdict.signals.get('paused_by')), 'here')}"
        case Abstain(abstain_reason=AbstainReason.JUDGE_UNAVAILABLE) if not verdict.tokens.output:
            return f"code checks alone: {verdict.judge_model or 'the model'} gave no answer"
        case _:
            model = verdict.judge_model or "a model"
    by_kind = {
        JudgeKind.HEURISTIC: "code checks alone",
        JudgeKind.LLM: model,
        JudgeKind.HYBRID: f"code checks and {model}",
    }
    return by_kind[verdict.judge_kind]


def escalation_phrase(verdict: Verdict) -> str:
    """Whether a model was asked, and why."""
    once = " for the verdict that is carried over" if verdict.carried_from else ""
    return f"{f'asked{once}' if verdict.escalated else 'not asked'}: {one_line(verdict.escalation_reason)}"


def duration_phrase(milliseconds: int) -> str:
    return f"{milliseconds} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"  # noqa: PLR2004


def issue_phrase(issue: Issue) -> str:
    """An issue with its title and the text that links it, on one line."""
    name = f"{issue.repository or ''}#{issue.number}" if issue.number else "the issue given"
    why = f', linked by "{fit(one_line(issue.linked_by), 100)}"' if issue.linked_by else ""
    return f'{name} "{fit(one_line(issue.title), 200)}"{why}'


def edit_phrases(dossier: Dossier) -> tuple[str, ...]:
    """A sentence for each issue that was edited or renamed after the pull request was opened."""
    phrases = list[str]()
    for issue in dossier.issues:
        name = f"The issue {issue.repository or ''}#{issue.number}" if len(dossier.issues) > 1 else "The issue"
        if edits := issue.late_edits:
            texts = ("what stood there before", "the issue as it stands", "the issue as it stood before")
            phrases.append(_late_sentence(f"{name} was edited", edits, *texts))
        if renames := issue.late_renames:
            texts = ("what it was called before", "the title that it has", "the title that it had before")
            phrases.append(_late_sentence(f"{name} was renamed", renames, *texts))
    return tuple(phrases)


def _late_sentence(edited: str, edits: Sequence[LateEdit], lost: str, now: str, before: str) -> str:
    """*lost*: what GitHub does not show, so that an edit had to be used."""
    names = " and ".join(dict.fromkeys(one_line(edit.by) for edit in edits))
    sentence = f"{edited} by {names} after this pull request was opened"
    if any(edit.used for edit in edits):
        return f"{sentence}, and GitHub does not show {lost}; it was judged by {now}."
    return f"{sentence}; it was judged by {before}."


def check_phrase(check: CiCheck) -> str:
    """`test (success, required)`."""
    required = ", required" if check.required else ""
    return f"{fit(one_line(check.name), 200)} ({one_line(check.conclusion or check.status)}{required})"


def ci_phrase(dossier: Dossier) -> str:
    """The state of the other checks; quotes the commit message that skipped them."""
    if dossier.ci and dossier.ci.silenced:
        return f'not run, skipped by the author: the commit message says "{one_line(dossier.ci.silenced)}"'
    state = dossier.ci.state if dossier.ci else None
    return CI_PHRASES[state or CiState.MISSING]


def list_phrase(items: Sequence[str], most: int = 40) -> str:
    """`: one, two … and 3 more`, or nothing."""
    more = f" … and {len(items) - most} more" if len(items) > most else ""
    return f": {', '.join(items[:most])}{more}" if items else ""


def unread_phrases(dossier: Dossier) -> dict[str, str]:
    """Why each unread file was not read, by its path."""
    return {file.path: UNREAD_PHRASES[file.reason] for file in dossier.files_unread}


def checkbox(condition: ClosingCondition) -> str:
    """A box, ticked when the condition is met."""
    return "[x]" if condition.state is ConditionState.RESOLVED else "[ ]"


def conditions_heading(verdict: Verdict) -> str:
    """The heading of the closing conditions."""
    is_open = any(condition.state is ConditionState.OPEN for condition in verdict.closing_conditions)
    return "What closes this" if is_open else "What closed this"


def count_phrase(items: Sequence[object], noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{len(items)} {noun}{'' if len(items) == 1 else 's'}"


CONFIG_MARKS: Final = (CONFIG_PATH, MISNAMED_CONFIG_PATH, *ROOT_NAMES, *FOLDER_NAMES, *RULE_FOLDERS)
"""A diff without these edits no file that decides how it is judged."""

WEAKENINGS: Final[Mapping[str, str]] = {
    "mode": "a reject would no longer fail the check",
    "categories": "such a reject would no longer fail the check",
    "abstains": "what was not judged for this reason would pass",
    "require_issue": "an issue would no longer be needed",
    "accept_alone": "code would accept changes of documentation without a model",
    "signals": "the code checks would make less of it",
    "authors": "less would be judged, or could fail",
}
MISTAKE_COST: Final = "nothing is accepted without a model as long as it stands"
HIDDEN_MISTAKE_COST: Final = "nothing is accepted without a model and no file is sent to a model as long as it stands"
"""The cost of a mistake that may hide `never_send`."""

VALUE_BYTES: Final = 120
MOST_PROBLEMS: Final = 3


def proposals(dossier: Dossier) -> list[str]:
    """A sentence for each thing that the pull request would change."""
    made = read_proposed(dossier)
    if made is None:
        return []
    rows = list[str]()
    for edit in made.edits:
        remark = f" (weaker: {WEAKENINGS[edit.key.partition('.')[0]]})" if edit.is_weaker else ""
        rows.append(f"`{edit.key}`: {value_phrase(edit.old)} → {value_phrase(edit.new)}{remark}")
    if made.is_unread:
        rows.append(f"`{CONFIG_PATH}`: edited, and its new text could not be read")
    if made.is_misnamed:
        rows.append(f"`{MISNAMED_CONFIG_PATH}`: not read; the file is called `{CONFIG_PATH}`")
    if made.problems:
        rows.append(
            f"`{CONFIG_PATH}`: its new version has a mistake, and {MISTAKE_COST}: {_problem_list(made.problems)}"
        )
    return [*rows, *(f"`{path}`: rules for agents and judge" for path in made.rules)]


def config_notes(verdict: Verdict, dossier: Dossier) -> list[str]:
    """A sentence for each file that configured this verdict, and for what could not be applied."""
    if not dossier.config:
        return []
    from worker.dossier.config import resolve_config  # noqa: PLC0415 - most repositories have none

    config = resolve_config(dossier.config)
    notes = [*_config_sources(config, dossier), *map(_refusal, config.refused_files)]
    if model := verdict.signals.get("model_not_allowed"):
        notes.append(
            f"`model: {model}` is not among the models that the operator allows (ASSAY_MODELS), and was not asked"
        )
    return notes


def _config_sources(configured: "EffectiveConfig", dossier: Dossier) -> Iterator[str]:
    owner = dossier.pull_request.repository.partition("/")[0]
    files = {
        ConfigOrigin.REPOSITORY: f"`{CONFIG_PATH}` of the base commit",
        ConfigOrigin.ORGANISATION: f"The `{CONFIG_PATH}` of `{owner}/.github`, the default for its owner,",
    }
    for origin in ConfigOrigin:
        if keys := [key for key, setter in configured.origins.items() if setter is origin]:
            yield f"{files[origin]} sets {', '.join(f'`{key}`' for key in keys)}"


def _refusal(refusal: "RefusedConfig") -> str:
    """The mistakes of a file. Of the owner's only their lines are shown: it may be private, and a check is public."""
    is_own = refusal.origin is ConfigOrigin.REPOSITORY
    where = "at the base commit" if is_own else "of the owner's `.github` repository"
    instead = "its last version without one" if refusal.is_replaced else "the defaults"
    price = HIDDEN_MISTAKE_COST if refusal.withholds_all else MISTAKE_COST
    if refusal.is_misnamed:
        return f"`{MISNAMED_CONFIG_PATH}` {where} is not read, and {price}: rename it to `{CONFIG_PATH}`"
    wrong = (
        _problem_list(refusal.problems) if is_own else ", ".join(f"line {problem.line}" for problem in refusal.problems)
    )
    return (
        f"`{CONFIG_PATH}` {where} has a mistake: {wrong}. What can't be read of it gives way to {instead}, and {price}. "
        "`assay config check` shows what is wrong"
    )


def _problem_list(problems: Sequence["Problem"]) -> str:
    shown = [f"line {problem.line}, {problem.message}" for problem in problems[:MOST_PROBLEMS]]
    left = len(problems) - len(shown)
    return "; ".join(shown) + (f"; and {left} more" if left else "")


def value_phrase(value: object) -> str:
    """A value as in YAML."""
    if value is None:
        return "not set"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, float):
        return f"`{value:g}`"
    return f"`{fit(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), VALUE_BYTES)}`"


def read_proposed(dossier: Dossier) -> "ProposedConfig | None":
    """The pull request's edits of the files by which it is judged; None: it edits none of them."""
    if not any(mark in dossier.diff for mark in CONFIG_MARKS):
        return None
    from worker.dossier.config import find_proposed_config  # noqa: PLC0415 - most changes edit no such file

    return find_proposed_config(dossier)
