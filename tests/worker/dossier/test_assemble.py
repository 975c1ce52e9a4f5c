import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.domain.dossier import Ci, CiCheck, CiState, Criterion, Dossier, Issue, PullRequest
from worker.domain.verdict.ledger import Case
from worker.dossier.assemble import complete_dossier

SHA = "1" * 40
CASE = Case(summary="Done.")


def pull(body: str = "", **fields: object) -> PullRequest:
    of_change = {"base_sha": SHA, "head_sha": SHA, "head_ref": "claude/retry"}
    defaults = {"repository": "acme/widgets", "number": 1, "title": "Retry", "body": body, "author": "alice"}
    return PullRequest.model_validate(defaults | of_change | fields)


def dossier(body: str = "", **fields: object) -> Dossier:
    return Dossier.model_validate({"pull_request": pull(body), "diff": ""} | fields)


def checks(*conclusions: str | None) -> tuple[CiCheck, ...]:
    return tuple(CiCheck(name=f"check {index}", conclusion=conclusion) for index, conclusion in enumerate(conclusions))


def test_missing_fields_are_derived() -> None:
    body = "```assay\nsummary: Done.\n```"
    issue = Issue(repository="acme/widgets", number=7, title="Retry", body="- [ ] Retries\n")
    whole = complete_dossier(dossier(body, issues=(issue,), ci=Ci(checks=checks("success"))))
    assert whole.criteria == (Criterion(id="AC1", text="Retries", source="acme/widgets#7"),)
    assert whole.case == CASE
    assert whole.case_error is None
    assert whole.pull_request.author_agent == "claude"
    assert whole.ci is not None
    assert whole.ci.state is CiState.SUCCESS


def test_recorded_fields_and_recorded_absence_stay() -> None:
    recorded = dossier(
        "```assay\nsummary: Done.\n```", pull_request=pull(author_agent=None), criteria=[], case=None, ci=None
    )
    assert complete_dossier(recorded) == recorded


def test_malformed_case_is_an_error() -> None:
    whole = complete_dossier(dossier("```assay\nsummary: true\n```"))
    assert whole.case is None
    assert whole.case_error == (
        "Case refused at summary (line 1 of the block): expected text, found true or false. Put text in quotes."
    )


def test_recorded_case_error_keeps_the_body_unread() -> None:
    whole = complete_dossier(dossier("```assay\nsummary: Done.\n```", case_error="refused"))
    assert (whole.case, whole.case_error) == (None, "refused")


@pytest.mark.parametrize(
    ("conclusions", "state"),
    [
        ((), CiState.MISSING),
        (("success", "neutral", "skipped"), CiState.SUCCESS),
        (("success", None), CiState.PENDING),
        (("success", "stale"), CiState.PENDING),
        ((None, "failure"), CiState.FAILURE),
        (("timed_out",), CiState.FAILURE),
        (("startup_failure",), CiState.FAILURE),
        (("action_required",), CiState.FAILURE),
        (("success", "cancelled"), CiState.FAILURE),
    ],
)
def test_ci_state_follows_from_its_checks(conclusions: tuple[str | None, ...], state: CiState) -> None:
    whole = complete_dossier(dossier(ci=Ci(checks=checks(*conclusions))))
    assert whole.ci is not None
    assert whole.ci.state is state


def test_recorded_ci_state_stays_and_unknown_ci_is_missing() -> None:
    stated = Ci(state=CiState.PENDING, checks=checks("success"))
    assert complete_dossier(dossier(ci=stated)).ci == stated
    assert complete_dossier(dossier()).ci == Ci(state=CiState.MISSING)


BODIES = st.text() | st.text().map(lambda text: f"```assay\n{text}\n```") | st.just("```assay\nsummary: x\n```")
CONCLUSIONS = st.lists(st.sampled_from([None, "success", "failure", "neutral", "stale", "odd"]))
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "issues": st.lists(BODIES.map(lambda body: Issue(number=7, title="Retry", body=body)), max_size=2),
        "criteria": st.just([]) | st.none(),
        "case": st.just(CASE) | st.none(),
        "case_error": st.just("refused") | st.none(),
        "ci": st.none() | CONCLUSIONS.map(lambda conclusions: Ci(checks=checks(*conclusions))),
    },
)


@given(BODIES, FIELDS)
def test_completing_is_idempotent_also_after_recording(body: str, fields: dict[str, object]) -> None:
    raw = dossier(body, **fields)
    before = raw.model_dump_json()
    once = complete_dossier(raw)
    assert complete_dossier(once) == once
    assert complete_dossier(raw) == once
    assert raw.model_dump_json() == before
    recorded = Dossier.model_validate_json(once.model_dump_json(exclude_unset=True))
    assert complete_dossier(recorded) == once
