"""How a verdict came about: its stages, every exchange with the model as sent and answered, and hashes of what judged it.

A record can be judged again: replies are kept byte for byte, questions as they left (already redacted).
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final, cast

from worker.domain.model import EvalId
from worker.domain.verdict.ledger import ROUND_LIMIT
from worker.domain.verdict.verdict import Abstain, Accept, Reject, Rubric, Tokens, VersionedRubric

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None

AUDIT_VERSION: Final = 1


class AuditError(ValueError):
    """A record of a newer version."""

    def __init__(self, version: object) -> None:
        super().__init__(f"The record was written in version {version}; this Assay reads version {AUDIT_VERSION}.")


class Stage(StrEnum):
    """The stages from a dossier to a verdict, in order. A correction is a second question."""

    LAW = "law"
    VALIDATORS = "validators"
    HEURISTICS = "code checks"
    ROUTE = "route"
    QUESTION = "question"
    REPLY = "reply"
    CORRECTION = "correction"
    EVIDENCE = "evidence"
    VETOES = "vetoes"
    OPINIONS = "opinions"
    RULING = "ruling"
    VERDICT = "verdict"
    CARRIED = "carried over"


@dataclass(frozen=True)
class Step:
    """The result of one stage, and why. It is the same in every run of the same code."""

    stage: Stage
    outcome: str
    reason: str = ""


@dataclass(frozen=True)
class RecordedReply:
    """A reply, billed. `stop`: why it ended, as the model reports it."""

    text: str
    stop: str
    stop_detail: str
    tokens: Tokens
    cost_usd: Decimal | None
    request_id: str | None


@dataclass(frozen=True)
class OverBudget:
    """The cap that prevented a question: how full it was, and what the question might have cost."""

    cap: str
    used_usd: Decimal
    cap_usd: Decimal
    asked_usd: Decimal


@dataclass(frozen=True)
class Exchange:
    """One question and its reply; else `failure`, in words, and `over` where a cap kept it from being sent.

    `system` and `form`: hashes of the system part and of the reply's schema. `fault`: why the reply was unusable (None: it was
    usable), and `problems`: what was wrong with it.
    """

    system: str
    form: str
    turns: tuple[str, ...]
    reply: RecordedReply | None = None
    fault: str | None = None
    problems: tuple[str, ...] = ()
    failure: str | None = None
    over: OverBudget | None = None
    model: str | None = None

    @property
    def is_correction(self) -> bool:
        """Whether it follows a reply that could not be used."""
        return len(self.turns) > 1


@dataclass(frozen=True)
class JudgeSettings:
    """The settings of the judge, without the texts.

    `model` None: there was none. `second`: the model of the second opinion. `board`: three lenses instead of one question.
    `pause`: who had paused all judging. `round_limit`: how many rounds may end in a reject. `question_bytes`: the most that the
    model is shown; `second_bytes`: the same of the second, where it differs.
    """

    rubric: str
    rubric_hash: str
    prompt_version: str
    threshold: float
    model: str | None
    pricing_version: str | None
    round_limit: int = ROUND_LIMIT
    pause: str | None = None
    second: str | None = None
    second_pricing_version: str | None = None
    board: bool = False
    question_bytes: int = 60_000
    second_bytes: int | None = None


@dataclass(frozen=True)
class RecordedRedaction:
    """A secret that was removed from a question: its kind, and the field and line where it was."""

    kind: str
    where: str
    line: int


@dataclass(frozen=True)
class AuditRecord:
    eval_id: EvalId
    law: JudgeSettings
    steps: tuple[Step, ...]
    exchanges: tuple[Exchange, ...] = ()
    redactions: tuple[RecordedRedaction, ...] = ()


def dump_audit(record: AuditRecord) -> dict[str, Json]:
    """The record as it is stored and printed."""
    return {"audit_version": AUDIT_VERSION, **cast("dict[str, Json]", _dump_value(record))}


def read_audit(stored: Mapping[str, Any]) -> AuditRecord:
    """Read what `dump_audit` made; settings that no longer exist are left out. Raises AuditError for a newer version."""
    if stored["audit_version"] != AUDIT_VERSION:
        raise AuditError(stored["audit_version"])
    return AuditRecord(
        eval_id=EvalId(stored["eval_id"]),
        law=JudgeSettings(
            **{name: value for name, value in stored["law"].items() if name in JudgeSettings.__match_args__}
        ),
        steps=tuple(Step(Stage(step["stage"]), step["outcome"], step["reason"]) for step in stored["steps"]),
        exchanges=tuple(_read_exchange(exchange) for exchange in stored["exchanges"]),
        redactions=tuple(RecordedRedaction(**redaction) for redaction in stored["redactions"]),
    )


def _dump_value(value: object) -> Json:
    match value:
        case _ if is_dataclass(value):
            return {field.name: _dump_value(getattr(value, field.name)) for field in fields(value)}
        case tuple():
            return [_dump_value(item) for item in cast("tuple[object, ...]", value)]
        case Tokens():
            return cast("Json", value.model_dump())
        case Decimal():
            return format(value, "f")
        case _:
            return cast("Json", value)


def _read_exchange(stored: Mapping[str, Any]) -> Exchange:
    reply, over = stored["reply"], stored["over"]
    if reply:
        cost = None if reply["cost_usd"] is None else Decimal(reply["cost_usd"])
        tokens = Tokens(**reply["tokens"])
        reply = RecordedReply(reply["text"], reply["stop"], reply["stop_detail"], tokens, cost, reply["request_id"])
    if over:
        over = OverBudget(over["cap"], *(Decimal(over[name]) for name in ("used_usd", "cap_usd", "asked_usd")))
    return Exchange(
        stored["system"],
        stored["form"],
        tuple(stored["turns"]),
        reply=reply or None,
        fault=stored["fault"],
        problems=tuple(stored["problems"]),
        failure=stored["failure"],
        over=over or None,
        model=stored.get("model"),
    )


@dataclass(frozen=True)
class EvaluatedVerdict:
    """A verdict and its record. `opinions`: that of each panel member, where several were asked."""

    verdict: Accept | Reject | Abstain
    audit: AuditRecord
    opinions: tuple["EvaluatedVerdict", ...] = ()


@dataclass(frozen=True)
class Replay:
    """A verdict made again from its record.

    `differing`: the deciding fields that differ. `first_difference`: the first step of each that differs.
    """

    recorded: Accept | Reject | Abstain
    replayed: Accept | Reject | Abstain
    differing: tuple[str, ...]
    first_difference: tuple[Step | None, Step | None] | None

    @property
    def is_same(self) -> bool:
        return not self.differing


DIGEST_SIGNAL: Final = "law"
"""The signal of a re-evaluation that holds its judge digest."""

SHADOW_SIGNAL: Final = "canary"
"""The signal of a verdict by a shadow evaluation, which is shown nowhere."""


def rubric_digest(rubric: VersionedRubric) -> str:
    """The hash of a rubric's content; comments, spaces and the order of keys do not count."""
    return _hash(rubric.model_dump(mode="json"))


def judge_digest(rubric: Rubric, prompt_version: str, judges: str) -> str:
    """The name of one way to judge. *judges* names the allowed tiers and models."""
    return _hash([rubric_digest(rubric), prompt_version, judges])[:16]


def scoring_digest(weights: VersionedRubric, judgings: str) -> str:
    """The name of one way to score by code alone. *judgings*: the judge digest of the verdicts that are scored."""
    return _hash([rubric_digest(weights), "weighed by code", judgings])[:16]


def _hash(content: object) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
