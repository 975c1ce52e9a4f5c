"""What a verdict of the model costs before it is asked: `python bench/tokens.py FILE.jsonl[.gz] ... [--most N]`.

Builds the real questions on recorded dossiers, without network, and prints: tokens per verdict (goal 12,000 at the median), the
tokens that are reserved for its replies (700), cost at listed prices of the default model (median $0.003, p95 $0.01), what
fences take (3 %), how many changes are read whole, and in how many questions, and how much of a prompt comes from the cache.

Tokens are estimated, since only a paid call counts them: a token for each `--bytes` bytes (2.9: prompts like these under an older
tokenizer of the same maker, which was published, take 3.3; a newer one may be denser). The bound is what money is
reserved for: a token is a byte at least. Cost is what the first question of a repository costs, nothing of it in the cache yet,
with the whole reserve for the reply; then with the system part read from the cache.
"""

import argparse
import json
import statistics
import sys
import time
from collections import Counter
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
from worker.assemble import complete  # noqa: E402 - as above
from worker.domain.diff import DiffError, diff_of  # noqa: E402 - as above
from worker.domain.dossier import Dossier  # noqa: E402 - as above
from worker.judge.claims import check_claims  # noqa: E402 - as above
from worker.judge.evidence import Places  # noqa: E402 - as above
from worker.judge.heuristics import consider  # noqa: E402 - as above
from worker.judge.prompt import Material, Question, questions_about  # noqa: E402 - as above
from worker.judge.room import PROMPT_TOKENS, QUESTIONS, Room  # noqa: E402 - as above
from worker.judge.validators import read_ci  # noqa: E402 - as above
from worker.llm.prices import Billed, cost_of, worst_case  # noqa: E402 - as above
from worker.llm.size import size_of  # noqa: E402 - as above
from worker.llm.thinking import most_output  # noqa: E402 - as above
from worker.rulebook import load_prompt, load_rubric  # noqa: E402 - as above
from worker.settings import ModelAccess  # noqa: E402 - as above

MODEL = "claude-haiku-5-5"
ACCESS = ModelAccess(SecretStr("x"), None, MODEL, 120, 3, 1, 8000)
GOAL_IN, GOAL_OUT, GOAL_MEDIAN, GOAL_P95, GOAL_FENCES = 12_000, 700, Decimal("0.003"), Decimal("0.01"), 0.03


class Asked(NamedTuple):
    """What one change takes. `sizes`: bytes of each question; `replies`: the reserve for each reply."""

    sizes: tuple[int, ...]
    replies: tuple[int, ...]
    system: int
    fences: float
    is_whole: bool
    has_opaque: bool
    seconds: float


def asked(dossier: Dossier, room: Room) -> Asked:
    rubric, text = load_rubric(), load_prompt()
    diff = diff_of(dossier.diff)
    claims = check_claims(dossier, diff, Places(dossier))
    material = Material(dossier, diff, consider(dossier, rubric), claims, read_ci(dossier.ci))
    started = time.process_time()
    questions = questions_about(material, rubric, text, "bench", room)
    spent = time.process_time() - started
    coverage = questions[-1].coverage if questions else None
    return Asked(
        sizes=tuple(size_of(one.prompt) for one in questions),
        replies=tuple(_reserve(one) for one in questions),
        system=len(questions[0].prompt.system.encode()) if questions else 0,
        fences=statistics.fmean(fencing(one.prompt.system, one.prompt.turns[0]) for one in questions)
        if questions
        else 0,
        is_whole=coverage is not None and coverage.is_complete,
        has_opaque=any(one.is_binary or one.is_submodule for one in diff.files) or bool(dossier.files_unread),
        seconds=spent,
    )


def _reserve(question: Question) -> int:
    """What is reserved for the reply, and sent as its limit."""
    return most_output(ACCESS, question.prompt)


def cost(one: Asked, per_token: float, *, cached: bool) -> Decimal:
    """Of the whole verdict: each question's system part is written to the cache by the first, and read by the next."""
    total = Decimal(0)
    for number, (size, out) in enumerate(zip(one.sizes, one.replies, strict=True)):
        system, rest = int(one.system / per_token), int((size - one.system) / per_token)
        from_cache = system if cached or number else 0
        price = cost_of(MODEL, Billed(rest, out, system - from_cache, 0, from_cache))
        assert price is not None, f"{MODEL} has a price"
        total += price
    return total


def most_of(one: Asked) -> Decimal:
    """What is reserved for all questions of a verdict, while nothing is known of how dense prompts are."""
    costs = (worst_case(MODEL, size, out) for size, out in zip(one.sizes, one.replies, strict=True))
    return sum((cost for cost in costs if cost is not None), Decimal(0))


def told(name: str, rows: Sequence[Asked], per_token: float) -> None:
    rows = [one for one in rows if one.sizes]
    print(f"{name}: {len(rows)} changes")
    for line in (*_of_tokens(rows, per_token), *_of_money(rows, per_token), *_of_reading(rows)):
        print(f"  {line}", flush=True)


def _of_tokens(rows: Sequence[Asked], per_token: float) -> Iterator[str]:
    tokens = sorted(sum(one.sizes) / per_token for one in rows)
    bounds = sorted(sum(one.sizes) for one in rows)
    replies = sorted(sum(one.replies) for one in rows)
    fences = sorted(one.fences for one in rows)
    cacheable = sorted(one.system / statistics.fmean(one.sizes) for one in rows)
    yield f"tokens in: {_spread(tokens)} estimated; at most {_spread(bounds)}: {_held(_at(tokens, 0.5) <= GOAL_IN)}"
    first = sorted(one.replies[0] for one in rows)
    yield f"tokens out reserved: {_spread(replies)}: {_held(_at(replies, 0.5) <= GOAL_OUT)}; of one question {_spread(first)}"
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
    parts = Counter(len(one.sizes) for one in rows)
    counted = ", ".join(f"{count} x {number}" for number, count in sorted(parts.items()))
    yield f"questions: {counted}; in parts {1 - parts[1] / len(rows):.1%}"
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
        yield complete(Dossier.model_validate(row["dossier"]))


def judged(dossiers: Iterable[Dossier], room: Room) -> Iterator[Asked]:
    for dossier in dossiers:
        try:
            yield asked(dossier, room)
        except DiffError:
            continue


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.jsonl[.gz]")
    parser.add_argument("--most", type=int, default=100_000, help="dossiers of each file")
    parser.add_argument("--bytes", type=float, default=2.9, help="bytes of a token, to estimate by")
    parser.add_argument("--room", type=int, default=PROMPT_TOKENS, help="bytes of one question at most")
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="questions of one change at most")
    arguments = parser.parse_args()
    room = Room(arguments.room, arguments.questions)
    everything: list[Asked] = []
    for path in arguments.files:
        rows = list(judged(recorded(path, arguments.most), room))
        told(path.name, rows, arguments.bytes)
        everything += rows
    told("all together", everything, arguments.bytes)
    print(json.dumps({"room": arguments.room, "questions": arguments.questions, "bytes_a_token": arguments.bytes}))


if __name__ == "__main__":
    main()
