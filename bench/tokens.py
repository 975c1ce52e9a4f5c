"""What a verdict of the model costs before it is asked: `python bench/tokens.py FILE.jsonl[.gz] ... [--most N]`.

Builds the real question on each recorded dossier, without network, and prints: tokens per verdict (goal 12,000 at the median), the
tokens that are reserved for its replies (700), cost at listed prices of the default model (median $0.003, p95 $0.01), what
fences take (3 %), how many changes are read whole, and how much of a prompt comes from the cache.

Tokens are estimated, since only a paid call counts them: a token for each `--bytes` bytes (2.9: prompts like these under an older
tokenizer of the same maker, which was published, take 3.3; a newer one may be denser). The bound is what money is
reserved for: a token is a byte at least. Cost is what the first question of a repository costs, nothing of it in the cache yet,
with the whole reserve for the reply; then with the system part read from the cache.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import SecretStr

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.redaction import fencing  # noqa: E402 - found from any working directory

from bench.rows import read  # noqa: E402 - as above
from worker.adapters.anthropic.model import max_output_tokens  # noqa: E402 - as above
from worker.adapters.anthropic.prices import (  # noqa: E402 - as above
    BilledTokens,
    cost_of,
    prompt_bytes,
    worst_case,
)
from worker.domain.dossier.dossier import Dossier  # noqa: E402 - as above
from worker.domain.verdict.budget import PROMPT_TOKENS, TokenBudget  # noqa: E402 - as above
from worker.dossier.assemble import complete_dossier  # noqa: E402 - as above
from worker.dossier.diff.parser import DiffError, diff_of  # noqa: E402 - as above
from worker.judge.checks.ci_status import read_ci  # noqa: E402 - as above
from worker.judge.checks.claims import check_claims  # noqa: E402 - as above
from worker.judge.checks.evidence import Places  # noqa: E402 - as above
from worker.judge.llm.prompt import PromptInput, PromptQuestion, build_question  # noqa: E402 - as above
from worker.judge.rubric import load_prompt, load_rubric  # noqa: E402 - as above
from worker.settings import ModelAccess  # noqa: E402 - as above
from worker.signals.heuristic_opinion import form_opinion  # noqa: E402 - as above

MODEL = "claude-haiku-5-5"
ACCESS = ModelAccess(SecretStr("x"), None, MODEL, 120, 3, 1, 8000)
GOAL_IN, GOAL_OUT, GOAL_MEDIAN, GOAL_P95, GOAL_FENCES = 12_000, 700, Decimal("0.003"), Decimal("0.01"), 0.03


class Asked(NamedTuple):
    """What one change takes. `size`: bytes of the question; `reply`: the reserve for its reply."""

    size: int
    reply: int
    system: int
    fences: float
    is_whole: bool
    has_opaque: bool
    seconds: float


def asked(dossier: Dossier, room: TokenBudget) -> Asked | None:
    """None: not even the issue fits."""
    rubric, text = load_rubric(), load_prompt()
    diff = diff_of(dossier.diff)
    claims = check_claims(dossier, diff, Places(dossier))
    material = PromptInput(dossier, diff, form_opinion(dossier, rubric), claims, read_ci(dossier.ci))
    started = time.process_time()
    question = build_question(material, rubric, text, "bench", room)
    spent = time.process_time() - started
    if question is None:
        return None
    prompt = question.prompt
    return Asked(
        size=prompt_bytes(prompt),
        reply=_reserve(question),
        system=len(prompt.system.encode()),
        fences=fencing(prompt.system, prompt.turns[0]),
        is_whole=question.coverage.is_complete,
        has_opaque=any(one.is_binary or one.is_submodule for one in diff.files) or bool(dossier.files_unread),
        seconds=spent,
    )


def _reserve(question: PromptQuestion) -> int:
    """What is reserved for the reply, and sent as its limit."""
    return max_output_tokens(ACCESS, question.prompt)


def cost(one: Asked, per_token: float, *, cached: bool) -> Decimal:
    """Of the verdict: the system part is written to the cache, or read from it."""
    system, rest = int(one.system / per_token), int((one.size - one.system) / per_token)
    from_cache = system if cached else 0
    price = cost_of(MODEL, BilledTokens(rest, one.reply, system - from_cache, 0, from_cache))
    assert price is not None, f"{MODEL} has a price"
    return price


def most_of(one: Asked) -> Decimal:
    """What is reserved for a verdict, while nothing is known of how dense prompts are."""
    return worst_case(MODEL, one.size, one.reply) or Decimal(0)


def told(name: str, rows: Sequence[Asked], per_token: float) -> None:
    print(f"{name}: {len(rows)} changes")
    for line in (*_of_tokens(rows, per_token), *_of_money(rows, per_token), *_of_reading(rows)):
        print(f"  {line}", flush=True)


def _of_tokens(rows: Sequence[Asked], per_token: float) -> Iterator[str]:
    tokens = sorted(one.size / per_token for one in rows)
    bounds = sorted(one.size for one in rows)
    replies = sorted(one.reply for one in rows)
    fences = sorted(one.fences for one in rows)
    cacheable = sorted(one.system / one.size for one in rows)
    yield f"tokens in: {_spread(tokens)} estimated; at most {_spread(bounds)}: {_held(_at(tokens, 0.5) <= GOAL_IN)}"
    yield f"tokens out reserved: {_spread(replies)}: {_held(_at(replies, 0.5) <= GOAL_OUT)}"
    bounds = sorted(most_of(one) for one in rows)
    yield f"dollars reserved at most: median ${_at(bounds, 0.5):.4f}, p95 ${_at(bounds, 0.95):.4f}"
    share = f"{_at(fences, 0.5):.2%} at the median, p95 {_at(fences, 0.95):.2%}"
    yield f"fences: {share}: {_held(_at(fences, 0.5) <= GOAL_FENCES)}"
    yield f"cacheable: {_at(cacheable, 0.5):.0%} of a prompt at the median"


def _of_money(rows: Sequence[Asked], per_token: float) -> Iterator[str]:
    for what, cached in (("nothing cached", False), ("system part cached", True)):
        costs = sorted(cost(one, per_token, cached=cached) for one in rows)
        middle, high = _at(costs, 0.5), _at(costs, 0.95)
        held = _held(middle <= GOAL_MEDIAN and high <= GOAL_P95)
        yield f"cost, {what}: median ${middle:.4f}, p95 ${high:.4f}: {held}"


def _of_reading(rows: Sequence[Asked]) -> Iterator[str]:
    whole = sum(one.is_whole for one in rows) / len(rows)
    seen = [one.is_whole for one in rows if not one.has_opaque]
    yield f"read whole: {whole:.1%}; of changes without binary files {sum(seen) / max(1, len(seen)):.1%}"
    seconds = sorted(one.seconds for one in rows)
    yield f"built in {_at(seconds, 0.5) * 1e3:.0f} ms of CPU, p95 {_at(seconds, 0.95) * 1e3:.0f} ms"


Number = TypeVar("Number", int, float, Decimal)


def _spread(values: Sequence[float]) -> str:
    return f"median {_at(values, 0.5):,.0f}, p95 {_at(values, 0.95):,.0f}"


def _at(values: Sequence[Number], share: float) -> Number:
    return values[min(len(values) - 1, int(len(values) * share))]


def _held(is_held: object) -> str:
    return "met" if is_held else "MISSED"


def recorded(path: Path, most: int) -> Iterator[Dossier]:
    for row in islice(read(path), most):
        yield complete_dossier(Dossier.model_validate(row["dossier"]))


def judged(dossiers: Iterable[Dossier], room: TokenBudget) -> Iterator[Asked]:
    for dossier in dossiers:
        try:
            found = asked(dossier, room)
        except DiffError:
            continue
        if found is not None:
            yield found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.jsonl[.gz]")
    parser.add_argument("--most", type=int, default=100_000, help="dossiers of each file")
    parser.add_argument("--bytes", type=float, default=2.9, help="bytes of a token, to estimate by")
    parser.add_argument("--room", type=int, default=PROMPT_TOKENS, help="bytes of one question at most")
    arguments = parser.parse_args()
    room = TokenBudget(arguments.room)
    everything: list[Asked] = []
    for path in arguments.files:
        rows = list(judged(recorded(path, arguments.most), room))
        told(path.name, rows, arguments.bytes)
        everything += rows
    told("all together", everything, arguments.bytes)
    print(json.dumps({"room": arguments.room, "bytes_a_token": arguments.bytes}))


if __name__ == "__main__":
    main()
