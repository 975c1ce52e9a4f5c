"""How a verdict came about: its stages, every exchange with the model as sent and answered, and hashes of what judged it.

A record can be judged again: replies are kept byte for byte, questions as they left (already redacted).
"""

import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final, cast

from worker.domain.ids import EvalId
from worker.domain.value import Value
from worker.domain.verdict.ledger import ROUND_LIMIT
from worker.domain.verdict.rubric import Rubric, VersionedRubric
from worker.domain.verdict.verdict import Abstain, Accept, Reject, Tokens

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None

AUDIT_VERSION: Final = 1


class AuditError(ValueError):
    """A record of a newer version; the message says so."""

    def __init__(self, version: object) -> None:
        super().__init__(f"The record was written in version {version}; this Assay reads version {AUDIT_VERSION}.")


class Stage(StrEnum):
    """The way from a dossier to a verdict, in its order. A correction is a second question."""

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


class Step(Value):
    """One stage: what came of it, and why. Holds nothing that differs from one run of the same code to the next."""

    stage: Stage
    outcome: str
    reason: str = ""


class RecordedReply(Value):
    """A reply, billed. `stop` is the model's own word for why it ended."""

    text: str
    stop: str
    stop_detail: str
    tokens: Tokens
    cost_usd: Decimal | None
    request_id: str | None


class OverBudget(Value):
    """The cap that stood before a question: how full it was, and what the question might have cost."""

    cap: str
    used_usd: Decimal
    cap_usd: Decimal
    asked_usd: Decimal


class Exchange(Value):
    """One question and what came of it: a reply; else `failure`, in words, and `over` where it was never sent.

    `model` is who was asked. `system` and `form` are hashes of the system part and of the reply's schema. `fault` is the kind of unusable that the
    reply was (None: usable), `problems` what was wrong with it.
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
        """Whether it goes on from a reply that could not be used."""
        return len(self.turns) > 1


class JudgeSettings(Value):
    """By what the verdict was made, in whole but for the texts.

    `model` None: there was none to ask. `second`: who gives a second opinion. `board`: three lenses instead of one look.
    `pause`: who had stopped all judging. `round_limit`: how many rounds might end in a reject. `question_bytes`: the most
    that the model was shown; `second_bytes`: the most that the second was, where that is not the same.
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


class RecordedRedaction(Value):
    """What was taken out of a question before it left: its kind, and the field and line that it stood in."""

    kind: str
    where: str
    line: int


class AuditRecord(Value):
    eval_id: EvalId
    law: JudgeSettings
    steps: tuple[Step, ...]
    exchanges: tuple[Exchange, ...] = ()
    redactions: tuple[RecordedRedaction, ...] = ()


def dump_audit(record: AuditRecord) -> dict[str, Json]:
    """The record as it is stored and printed."""
    return {"audit_version": AUDIT_VERSION, **_dump_fields(record)}


def read_audit(fields: Mapping[str, Any]) -> AuditRecord:
    """The way back; what a law no longer has is left out. Raises AuditError for a version that this code does not know."""
    if fields["audit_version"] != AUDIT_VERSION:
        raise AuditError(fields["audit_version"])
    return AuditRecord(
        eval_id=EvalId(fields["eval_id"]),
        law=JudgeSettings(
            **{name: value for name, value in fields["law"].items() if name in JudgeSettings.__match_args__}
        ),
        steps=tuple(Step(Stage(step["stage"]), step["outcome"], step["reason"]) for step in fields["steps"]),
        exchanges=tuple(_read_exchange(exchange) for exchange in fields["exchanges"]),
        redactions=tuple(RecordedRedaction(**redaction) for redaction in fields["redactions"]),
    )


def _dump_fields(value: Value) -> dict[str, Json]:
    return {name: _dump_value(getattr(value, name)) for name in value.__match_args__}


def _dump_value(value: object) -> Json:
    match value:
        case Value():
            return _dump_fields(value)
        case tuple():
            return [_dump_value(item) for item in cast("tuple[object, ...]", value)]
        case Tokens():
            return cast("Json", value.model_dump())
        case Decimal():
            return format(value, "f")
        case _:
            return cast("Json", value)


def _read_exchange(fields: Mapping[str, Any]) -> Exchange:
    return Exchange(
        fields["system"],
        fields["form"],
        tuple(fields["turns"]),
        reply=_read_reply(fields["reply"]) if fields["reply"] else None,
        fault=fields["fault"],
        problems=tuple(fields["problems"]),
        failure=fields["failure"],
        over=_read_over_budget(fields["over"]) if fields["over"] else None,
        model=fields.get("model"),
    )


def _read_reply(fields: Mapping[str, Any]) -> RecordedReply:
    cost = None if fields["cost_usd"] is None else Decimal(fields["cost_usd"])
    tokens = Tokens(**fields["tokens"])
    return RecordedReply(fields["text"], fields["stop"], fields["stop_detail"], tokens, cost, fields["request_id"])


def _read_over_budget(fields: Mapping[str, Any]) -> OverBudget:
    money = {name: Decimal(fields[name]) for name in ("used_usd", "cap_usd", "asked_usd")}
    return OverBudget(cap=fields["cap"], **money)


class EvaluatedVerdict(Value):
    """A verdict, and the record of how it came about. `opinions`: each seat's own, where several were asked."""

    verdict: Accept | Reject | Abstain
    audit: AuditRecord
    opinions: tuple["EvaluatedVerdict", ...] = ()


class Replay(Value):
    """A verdict made again from its record.

    `differing`: the deciding fields that are not the same; `first_difference`: the step of each way where the two part, if they do.
    """

    recorded: Accept | Reject | Abstain
    replayed: Accept | Reject | Abstain
    differing: tuple[str, ...]
    first_difference: tuple[Step | None, Step | None] | None

    @property
    def is_same(self) -> bool:
        return not self.differing


DIGEST_SIGNAL: Final = "law"
"""Under this name a judging anew says by what law it came about."""

SHADOW_SIGNAL: Final = "canary"
"""A verdict that has this signal is a candidate's, and was shown to nobody."""


def rubric_digest(rubric: VersionedRubric) -> str:
    """The hash of all that a rubric says."""
    return _hash(rubric.model_dump(mode="json"))


def judge_digest(rubric: Rubric, prompt_version: str, judges: str) -> str:
    """The name of one way to judge. *judges* names the allowed tiers and models."""
    return _hash([rubric_digest(rubric), prompt_version, judges])[:16]


def scoring_digest(weights: VersionedRubric, judgings: str) -> str:
    """The name of one way to weigh by code alone. *judgings*: the law by which what is weighed may have been judged anew."""
    return _hash([rubric_digest(weights), "weighed by code", judgings])[:16]


def _hash(content: object) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
