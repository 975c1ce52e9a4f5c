"""Recorded dossiers, judged as the App judges them, and what a check run of each says on GitHub.

`dossiers/NAME.json` is a dossier (docs/dossier.md). The optional `models/NAME.json` has the `replies` of the model and of the
`second` model, settings, and in `after` the name of the dossier whose verdict is in the ledger. Without it no model is asked.
Invariant: clock, ids and prices are fixed.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from tests.worker.judge.samples import ScriptedModel, reply
from worker.adapters.github.checks import check_run_output, check_run_state
from worker.domain.check.check_run import CheckContent
from worker.domain.dossier import Dossier, read_dossier
from worker.domain.model import EvalId, InstallationId, RepositoryId
from worker.domain.verdict.audit import EvaluatedVerdict
from worker.domain.verdict.budget import Cap, CapLevel, TokenBudget
from worker.domain.verdict.ledger import ROUND_LIMIT, LedgerEntry
from worker.domain.verdict.verdict import Subject
from worker.dossier.assemble import complete_dossier
from worker.errors import BudgetReached, Unavailable
from worker.judge.context import EvaluationHeader, JudgeContext, ModelSkipReason, Pause
from worker.judge.fingerprint import fingerprint_of
from worker.judge.rubric import load_prompt, load_rubric
from worker.publishing.texts.check_run import check_content
from worker.scheduling.pipeline import carry_over_or_judge
from worker.scheduling.record import ledger_entry

HERE = Path(__file__).parent
NAMES = sorted(path.stem for path in (HERE / "dossiers").glob("*.json"))
NOW = datetime(2026, 11, 20, 20, 5, tzinfo=UTC)
BLOCK = re.compile(r"<details><summary>([^<]+ as JSON)</summary>\n\n```json\n(.+?)\n```\n\n</details>", re.DOTALL)
DOLLAR = Decimal(1)
ERRORS: Mapping[str, Exception] = {
    "unavailable": Unavailable("The model", "status 529 (overloaded_error)"),
    "daily_cap": BudgetReached(CapLevel(Cap.DAY, DOLLAR, DOLLAR), Decimal("0.01")),
}


class JudgedDossier(NamedTuple):
    """The outcome of a dossier. `check`: the body of the request to GitHub. `question_digests`: every question, hashed."""

    dossier: Dossier
    evaluated: EvaluatedVerdict
    check: dict[str, Any]
    question_digests: tuple[str, ...]

    @property
    def verdict(self) -> dict[str, Any]:
        return json.loads(self.evaluated.verdict.model_dump_json())

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """The ledger after this verdict."""
        return (*self.dossier.ledger, ledger_entry(self.evaluated.verdict, self.dossier, fence=1))


@cache
def judge_dossier(name: str) -> JudgedDossier:
    settings = read_settings(name)
    recorded = read_dossier((HERE / "dossiers" / f"{name}.json").read_bytes())
    earlier = judge_dossier(settings["after"]) if "after" in settings else None
    if earlier is not None:
        recorded = recorded.model_copy(update={"ledger": earlier.entries})
    dossier = complete_dossier(recorded)
    first, second = scripted_model(settings.get("replies")), scripted_model(settings.get("second"), "claude-opus-5")
    context = JudgeContext(
        load_rubric(),
        load_prompt(),
        threshold=0.7,
        model=first,
        second_model=second,
        is_panel=settings.get("board", False),
        pause=Pause(settings["pause"]) if "pause" in settings else None,
        no_model=ModelSkipReason(settings.get("no_model", "no_model")),
        round_limit=settings.get("round_limit", ROUND_LIMIT),
        token_budget=TokenBudget(settings.get("question_bytes", 60_000)),
    )
    pull = dossier.pull_request
    subject = Subject(
        installation_id=InstallationId(100),
        repository_id=RepositoryId(7),
        repository=pull.repository,
        number=pull.number,
        head_sha=pull.head_sha,
    )
    at = NOW + timedelta(minutes=0 if earlier is None else 10)
    header = EvaluationHeader(EvalId(f"eval-{name}"), subject, at, fingerprint_of(dossier, context), lambda: 0)
    evaluated = carry_over_or_judge(dossier, header, context)
    check = body_of(check_content(evaluated.verdict, dossier, delivery_id="a-delivery"))
    questions = [prompt for model in (first, second) if model for prompt in model.prompts]
    return JudgedDossier(
        dossier, evaluated, check, tuple(short_digest(question.system, *question.turns) for question in questions)
    )


def body_of(content: CheckContent) -> dict[str, Any]:
    """The body of the request that writes the check run."""
    return {**check_run_state(content), "output": check_run_output(content, content.annotations)}


def blocks_of(check: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON blocks in the text of a check run, by heading."""
    return {heading: json.loads(text) for heading, text in BLOCK.findall(check["output"]["text"])}


def text_of(check: Mapping[str, Any]) -> str:
    """The text of a check run without these blocks."""
    return BLOCK.sub(r"(\1)", check["output"]["text"])


def read_settings(name: str) -> dict[str, Any]:
    path = HERE / "models" / f"{name}.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def scripted_model(replies: list[Any] | None, name: str = "claude-haiku-5-5") -> ScriptedModel | None:
    if replies is None:
        return None
    return ScriptedModel([ERRORS[entry["error"]] if "error" in entry else reply(entry) for entry in replies], name)


def short_digest(*texts: str) -> str:
    return sha256("\0".join(texts).encode()).hexdigest()[:16]
