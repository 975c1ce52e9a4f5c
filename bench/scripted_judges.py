"""What code makes of any reply: `python bench/scripted_judges.py FILE.jsonl[.gz]... [--all] [--per-file N] [--out FILE]`.

Judges rows of docs/bench.md at tier hybrid, through the real adapter and a real socket, with models that are made by a rule: an
oracle; one that always accepts and one that always rejects, at places that exist and are drawn by chance; a liar that calls missing
or unasked what is not; one that is fooled and quotes the lines that fit best; a parrot of the author's case; and an oracle that says
the opposite in a tenth of the rows. Prints, for each, the shares of accepts, rejects and
abstains by what is known of the rows, how many a model was asked about, and what stood in the way of the oracle. With `--out`,
a run that was stopped goes on. Costs nothing.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from pydantic import SecretStr

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.scripted.models import MODELS, Label, errs  # noqa: E402 - found from any working directory
from bench.scripted.serving import FIRST, Played, played  # noqa: E402 - as above
from worker.clock import SystemClock  # noqa: E402 - as above
from worker.domain.dossier.dossier import Dossier  # noqa: E402 - as above
from worker.domain.value import replace  # noqa: E402 - as above
from worker.domain.verdict.opinion import HeuristicOpinion  # noqa: E402 - as above
from worker.domain.verdict.rubric import Rubric  # noqa: E402 - as above
from worker.domain.verdict.verdict import Abstain, Accept, Reject  # noqa: E402 - as above
from worker.evaluation.bench.judge_row import judge_row  # noqa: E402 - as above
from worker.evaluation.bench.measures import Share  # noqa: E402 - as above
from worker.evaluation.bench.rows import BenchRow, RawRow, read_lines, read_row  # noqa: E402 - as above
from worker.judge import judge  # noqa: E402 - as above
from worker.judge.context import JudgeContext  # noqa: E402 - as above
from worker.settings import ModelAccess, Settings, load_settings  # noqa: E402 - as above
from worker.wiring.judge import open_judge_context  # noqa: E402 - as above

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
    names = [*(arguments.model or MODELS)]
    done = kept(arguments.out)
    started, before = time.monotonic(), len(done)
    labels: dict[str, Label] = {}
    with ExitStack() as stack:
        server = stack.enter_context(played(labels))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        write = stack.enter_context(written(arguments.out))
        bench = stack.enter_context(open_judge_context(settings_for(server, Path(folder)), "hybrid"))
        stack.enter_context(considering_once())
        for raw in lines(arguments.files, None if arguments.all else arguments.per_file):
            for one in judged(raw, names, Bar(server, labels, bench), done):
                write(one)
                done[one.model, one.row] = one
            shown(len(done) - before, time.monotonic() - started)
    found = [one for one in done.values() if one.model in names]
    rows = len({one.row for one in found})
    print(f"{rows} rows say whether they are good; each is judged by every model.\n")
    for name in names:
        report(name, [one for one in found if one.model == name])
    for key, problem in server.corrections[:SHOWN] if arguments.corrections else ():
        print(f"CORRECTED {key}: {problem}")
    for trouble in server.troubles[:SHOWN]:
        print(f"NO REPLY {trouble}")
    return 1 if server.troubles else met(found)


@contextmanager
def considering_once() -> Generator[None]:
    """Code looks at a row once for all models: it is half of the time, and always the same."""
    look = judge.form_opinion
    last: tuple[Dossier, HeuristicOpinion] | None = None

    def remembered(dossier: Dossier, rubric: Rubric) -> HeuristicOpinion:
        nonlocal last
        if last is None or last[0].diff is not dossier.diff or last[0].issues is not dossier.issues:
            last = dossier, look(dossier, rubric)
        return last[1]

    judge.form_opinion = remembered
    yield
    judge.form_opinion = look


def kept(path: Path | None) -> dict[tuple[str, str], Judged]:
    """What an earlier run left in its file."""
    if path is None or not path.exists():
        return {}
    known: list[Judged] = []
    whole, newline, _ = path.read_text().rpartition("\n")  # what follows was begun when the run was stopped
    path.write_text(whole + newline)
    for line in whole.splitlines():
        told: dict[str, Any] = json.loads(line)
        told["label"] = Label(**told["label"])
        known.append(Judged(**told))
    return {(one.model, one.row): one for one in known}


@contextmanager
def written(path: Path | None) -> Generator[Callable[[Judged], object]]:
    """Where each answer is kept as soon as it is there, so that a run that was stopped goes on."""
    if path is None:
        yield lambda _: None
        return
    with path.open("a") as file:
        yield lambda one: print(json.dumps({**one._asdict(), "label": one.label._asdict()}), file=file, flush=True)


def lines(files: Sequence[str], most: int | None) -> Iterator[RawRow]:
    return (raw for name in files for raw in chosen(Path(name), most))


def shown(count: int, seconds: float) -> None:
    if sys.stderr.isatty() and count:
        print(f"\r{count} judged, {seconds / count * 1000:.0f} ms each", end="", file=sys.stderr)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--all", action="store_true", help="every row (default: some of each file)")
    parser.add_argument("--per-file", type=int, default=PER_FILE, metavar="N", help=f"rows of each file ({PER_FILE})")
    parser.add_argument("--model", action="append", choices=[*MODELS], help="only this one; may be repeated")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="keep each answer there; the same command goes on from it"
    )
    parser.add_argument("--corrections", action="store_true", help="also print what replies had to correct")
    return parser.parse_args()


def chosen(path: Path, most: int | None) -> Iterator[RawRow]:
    """All rows of a file, or so many drawn by chance, the same each time."""
    if most is None:
        return read_lines(path)
    count = sum(1 for _ in read_lines(path))
    drawn = {*Random(path.name).sample(range(count), min(most, count))}  # noqa: S311 - a sample, nothing secret
    return (raw for at, raw in enumerate(read_lines(path)) if at in drawn)


def label_of(row: BenchRow, place: str) -> Label | None:
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
    return replace(load_settings(), data_dir=folder, model=access, is_paused=False)


class Bar(NamedTuple):
    server: Played
    labels: dict[str, Label]
    bench: JudgeContext


def judged(raw: RawRow, names: Sequence[str], bar: Bar, done: Mapping[tuple[str, str], Judged]) -> Iterator[Judged]:
    """One row under each model. What code settles alone is the same under every model, so it is judged once."""
    place = f"{raw.path.name}:{raw.number}"
    if all((name, place) in done for name in names):
        return
    row = read_row(raw)
    label = label_of(row, raw.place)
    if label is None:
        return
    bar.labels[raw.place] = label
    alone: Judged | None = None
    for name in names:
        if (name, place) in done:
            continue
        if alone is None:
            bar.server.now = f"{name} {raw.place}"
            verdict, traits = judge_row(row, raw.path.name, bar.bench, SystemClock())
            one = told((name, place), row, label, verdict, traits.ms)
            alone = None if one.asked else one
            yield one
        else:
            yield alone._replace(model=name)
    del bar.labels[raw.place]


def told(names: tuple[str, str], row: BenchRow, label: Label, verdict: Accept | Reject | Abstain, ms: float) -> Judged:
    model, place = names
    return Judged(
        model=model,
        row=place,
        group="clean" if label.is_good else label.category,
        label=label,
        decision=verdict.decision,
        why=f"{verdict.abstain_reason}: {verdict.concern}" if isinstance(verdict, Abstain) else verdict.concern,
        asked=verdict.escalated,
        right=verdict.decision == ("accept" if label.is_good else "reject") and row.expect.allows(verdict.category),
        ms=ms,
    )


def report(name: str, done: Sequence[Judged]) -> None:
    print(f"## {name}\n\n| rows | of them | a model was asked | accepted | rejected | abstained |\n|{'---|' * 6}")
    groups = ["clean", *sorted({one.group for one in done} - {"clean"})]
    for group in groups:
        line(group, [one for one in done if one.group == group])
    line("all defects", [one for one in done if one.group != "clean"])
    print(f"\nA model was asked about {asked(done)}.")
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


def asked(done: Sequence[Judged]) -> str:
    """The escalation share, of what is good and of what is not."""
    sides = (
        ("good", [one for one in done if one.label.is_good]),
        ("bad", [one for one in done if not one.label.is_good]),
    )
    return ", ".join(f"{count(rows, lambda one: one.asked)} of {len(rows)} {name} rows" for name, rows in sides)


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
