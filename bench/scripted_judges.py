"""What code makes of any reply: `python bench/scripted_judges.py FILE.jsonl[.gz]... [--all] [--per-file N] [--model NAME]...`.

Judges rows of docs/bench.md at tier hybrid, through the real adapter and a real socket, with models that are made by a rule: an
oracle; one that always accepts and one that always rejects, at places that exist and are drawn by chance; a parrot of the
author's case; and an oracle that says the opposite in a tenth of the rows. Prints, for each, the shares of accepts, rejects and
abstains by what is known of the rows, and what stood in the way of the oracle. Costs nothing.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from pydantic import SecretStr

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.scripted.models import MODELS, Label, errs  # noqa: E402 - found from any working directory
from bench.scripted.serving import FIRST, Played, played  # noqa: E402 - as above
from worker.bootstrap import open_bench  # noqa: E402 - as above
from worker.corpus.measures import Share  # noqa: E402 - as above
from worker.corpus.rows import Raw, Row, read_lines, read_row  # noqa: E402 - as above
from worker.corpus.sitting import sit  # noqa: E402 - as above
from worker.domain.value import replace  # noqa: E402 - as above
from worker.domain.verdict import Abstain, Accept, Reject  # noqa: E402 - as above
from worker.settings import ModelAccess, Settings, from_environment  # noqa: E402 - as above
from worker.system_clock import SystemClock  # noqa: E402 - as above

PER_FILE = 40
WEAK = "weak"
GOALS = {"clean": 0.9, "defects": 0.95}
SHOWN = 15


class Judged(NamedTuple):
    """One row under one model. *why*: what an abstain says."""

    model: str
    row: str
    group: str
    label: Label
    decision: str
    why: str
    asked: bool
    right: bool
    ms: float


def main() -> int:
    arguments = parsed()
    files = [Path(name) for name in arguments.files]
    rows = [raw for path in files for raw in chosen(path, None if arguments.all else arguments.per_file)]
    labels = {raw.place: label_of(read_row(raw), raw.place) for raw in rows}
    known = {place: label for place, label in labels.items() if label is not None}
    with played(known) as server, tempfile.TemporaryDirectory() as folder:
        settings = settings_for(server, Path(folder))
        done = [one for name in arguments.model or MODELS for one in judged(name, rows, known, settings)]
    print(f"{len(known)} of {len(rows)} rows say whether they are good; each is judged by every model.\n")
    for name in dict.fromkeys(one.model for one in done):
        report(name, [one for one in done if one.model == name])
    for key, problem in server.corrections[:SHOWN] if arguments.corrections else ():
        print(f"CORRECTED {key}: {problem}")
    for trouble in server.troubles[:SHOWN]:
        print(f"NO REPLY {trouble}")
    return 1 if server.troubles else met(done)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--all", action="store_true", help="every row (default: some of each file)")
    parser.add_argument("--per-file", type=int, default=PER_FILE, metavar="N", help=f"rows of each file ({PER_FILE})")
    parser.add_argument("--model", action="append", choices=[*MODELS], help="only this one; may be repeated")
    parser.add_argument("--corrections", action="store_true", help="also print what replies had to correct")
    return parser.parse_args()


def chosen(path: Path, most: int | None) -> list[Raw]:
    """All rows of a file, or so many drawn by chance, the same each time."""
    lines = list(read_lines(path))
    if most is None or most >= len(lines):
        return lines
    drawn = Random(path.name).sample(range(len(lines)), most)  # noqa: S311 - a sample, nothing secret
    return [lines[at] for at in sorted(drawn)]


def label_of(row: Row, place: str) -> Label | None:
    """What a model may know of the row; None where nobody knows whether it is good."""
    expect = row.expect
    if expect.label == WEAK or expect.decision not in {"accept", "reject"}:
        return None
    if expect.decision == "reject" and expect.category is None:
        return None
    where = tuple(one.model_dump(mode="json") for one in expect.where)
    return Label(place, expect.decision == "accept", str(expect.category or ""), where, expect.missing)


def settings_for(server: Played, folder: Path) -> Settings:
    """The environment's settings, with our server for the model and nothing else kept."""
    access = ModelAccess(
        api_key=SecretStr("x"), base_url=server.url, name=FIRST, timeout_s=60, attempts=1,
        retry_delay_s=0, max_output_tokens=8000,
    )  # fmt: skip
    return replace(from_environment(), data_dir=folder, model=access, is_paused=False)


def judged(name: str, rows: Sequence[Raw], known: dict[str, Label], settings: Settings) -> Iterator[Judged]:
    assert settings.model is not None
    for number, raw in enumerate(rows):
        if raw.place not in known:
            continue
        access = replace(settings.model, api_key=SecretStr(f"{name} {raw.place}"))
        with open_bench(replace(settings, model=access), "hybrid") as bench:
            row = read_row(raw)
            verdict, traits = sit(row, raw.path.name, bench, SystemClock())
        yield told(name, raw, known[raw.place], verdict, traits.ms)
        if sys.stderr.isatty():
            print(f"\r{name} {number + 1}/{len(rows)}", end="", file=sys.stderr)


def told(name: str, raw: Raw, label: Label, verdict: Accept | Reject | Abstain, ms: float) -> Judged:
    expect = read_row(raw).expect
    return Judged(
        model=name,
        row=f"{raw.path.name}:{raw.number}",
        group="clean" if label.is_good else label.category,
        label=label,
        decision=verdict.decision,
        why=f"{verdict.abstain_reason}: {verdict.concern}" if isinstance(verdict, Abstain) else verdict.concern,
        asked=verdict.escalated,
        right=verdict.decision == ("accept" if label.is_good else "reject") and expect.allows(verdict.category),
        ms=ms,
    )


def report(name: str, done: Sequence[Judged]) -> None:
    print(f"## {name}\n\n| rows | of them | a model was asked | accepted | rejected | abstained |\n|{'---|' * 6}")
    groups = ["clean", *sorted({one.group for one in done} - {"clean"})]
    for group in groups:
        line(group, [one for one in done if one.group == group])
    line("all defects", [one for one in done if one.group != "clean"])
    abstains = Counter(one.why.partition(":")[0] for one in done if one.decision == "abstain")
    print(f"\nAbstains: {', '.join(f'{why} {count}' for why, count in abstains.most_common()) or 'none'}.")
    if name == "flips":
        flipped(done)
    if name == "oracle":
        for one in [one for one in done if not one.right][:SHOWN]:
            print(f"- {one.row} ({one.group}) {one.decision}: {one.why[:150]}")
    print()


def line(group: str, rows: Sequence[Judged]) -> None:
    cells = (count(rows, lambda one, word=word: one.decision == word) for word in ("accept", "reject", "abstain"))
    print(f"| {group} | {len(rows)} | {sum(one.asked for one in rows)} | {' | '.join(cells)} |")


def count(rows: Sequence[Judged], holds: Callable[[Judged], bool]) -> str:
    share = Share(sum(map(holds, rows)), len(rows))
    return f"{share.rate:.1%} ({share.low:.1%} to {share.high:.1%})" if rows else "-"


def flipped(done: Sequence[Judged]) -> None:
    """What became of the rows about which the oracle erred."""
    wrong = [one for one in done if one.asked and errs(one.label)]
    for kind, rows in (
        ("good", [one for one in wrong if one.label.is_good]),
        ("bad", [one for one in wrong if not one.label.is_good]),
    ):
        ends = Counter(one.decision for one in rows)
        print(f"Erred about {len(rows)} {kind} rows: {dict(ends)}.")


def met(done: Sequence[Judged]) -> int:
    """Whether the oracle's goals are met: 0, else 1."""
    oracle = [one for one in done if one.model == "oracle"]
    sides = {
        "clean": [one for one in oracle if one.label.is_good],
        "defects": [one for one in oracle if not one.label.is_good],
    }
    code = 0
    for side, rows in sides.items():
        word = "accept" if side == "clean" else "reject"
        if not rows:
            continue
        rate = sum(one.decision == word for one in rows) / len(rows)
        print(f"Goal: oracle, {side} {word}ed {rate:.1%} of {len(rows)}, at least {GOALS[side]:.0%}.")
        code |= rate < GOALS[side]
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
