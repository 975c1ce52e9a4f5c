"""What leaves: `python bench/redaction.py [--count N] [--seed S] [FILE.jsonl[.gz] ...]`.

Seeded secrets of common shapes (goal: 0 of 1,000 leave) and harmless look-alikes (goal: at most 1 % redacted), each put into
one of the fields that a question is made from, and looked for in the real prompt; then what fences cost on recorded dossiers
(goal: at most 3 % of the tokens), what redaction takes, and how much of these real texts it takes out. Not named `secrets`,
since every other bench would then import it for the standard library's.
"""

import argparse
import math
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.made import LANGUAGES, Size, made_dossier  # noqa: E402 - found from any working directory
from bench.redaction_samples import Sample, look_alikes, secrets  # noqa: E402 - as above
from bench.rows import read  # noqa: E402 - as above
from worker.domain.dossier.case import Case  # noqa: E402 - as above
from worker.domain.dossier.dossier import Ci, CiCheck, Criterion, Dossier, Guidance, HeadFile, Issue  # noqa: E402 - as above
from worker.dossier.assemble import complete_dossier  # noqa: E402 - as above
from worker.dossier.diff.parser import diff_of  # noqa: E402 - as above
from worker.judge.checks.ci_status import read_ci  # noqa: E402 - as above
from worker.judge.checks.claims import check_claims  # noqa: E402 - as above
from worker.judge.checks.evidence import Places  # noqa: E402 - as above
from worker.judge.llm.prompt import PromptInput, PromptQuestion, build_question  # noqa: E402 - as above
from worker.judge.llm.redact import redact_dossier  # noqa: E402 - as above
from worker.judge.rubric import load_prompt, load_rubric  # noqa: E402 - as above
from worker.signals.heuristic_opinion import form_opinion  # noqa: E402 - as above

GOAL_ALIKE, GOAL_FENCES = 0.01, 0.03
A_PART: Final = 12
"""So many characters of a secret in a row are a leak, too."""


def _in_diff(dossier: Dossier, text: str) -> Dossier:
    lines = text.split("\n")
    added = "".join(f"+{line}\n" for line in lines)
    head = (
        "diff --git a/app.cfg b/app.cfg\nnew file mode 100644\nindex 0000000..1111111\n--- /dev/null\n+++ b/app.cfg\n"
    )
    return dossier.model_copy(update={"diff": f"{head}@@ -0,0 +1,{len(lines)} @@\n{added}", "files": None})


def _in_test(dossier: Dossier, text: str) -> Dossier:
    count = text.count("\n") + 1
    diff = (
        "diff --git a/tests/test_app.py b/tests/test_app.py\nindex 1111111..2222222 100644\n--- a/tests/test_app.py\n"
        f"+++ b/tests/test_app.py\n@@ -{count + 1} +{count + 1} @@\n-a = 1\n+a = 2\n"
    )
    file = HeadFile(path="tests/test_app.py", text=f"{text}\na = 2\n")
    return dossier.model_copy(update={"diff": diff, "files": (file,)})


def _in_case(dossier: Dossier, text: str) -> Dossier:
    return dossier.model_copy(update={"case": Case(summary="As asked.", work_arounds=(text,))})


def _in_log(dossier: Dossier, text: str) -> Dossier:
    return dossier.model_copy(update={"ci": Ci(checks=(CiCheck(name="test", conclusion="success", summary=text),))})


FIELDS: Final[dict[str, Callable[[Dossier, str], Dossier]]] = {
    "diff": _in_diff,
    "changed test": _in_test,
    "issue": lambda dossier, text: dossier.model_copy(
        update={"issues": (Issue(number=7, title="Uploads", body=text),)}
    ),
    "criterion": lambda dossier, text: dossier.model_copy(update={"criteria": (Criterion(id="AC1", text=text),)}),
    "case": _in_case,
    "CI log": _in_log,
    "rules file": lambda dossier, text: dossier.model_copy(
        update={"guidance": (Guidance(path="AGENTS.md", text=text),)}
    ),
    "contest": lambda dossier, text: dossier.model_copy(update={"contest": text}),
}


def asked(dossier: Dossier) -> PromptQuestion | None:
    diff = diff_of(dossier.diff)
    claims = check_claims(dossier, diff, Places(dossier))
    material = PromptInput(dossier, diff, form_opinion(dossier, load_rubric()), claims, read_ci(dossier.ci))
    return build_question(material, load_rubric(), load_prompt(), "bench")


def judged(samples: Iterable[Sample]) -> Iterator[tuple[Sample, str, str]]:
    """Each sample with the field it was put into and the turn of the prompt made from that."""
    plain = complete_dossier(made_dossier(["python"], Size(files=1), whole=False))
    for at, sample in enumerate(samples):
        field = list(FIELDS)[at % len(FIELDS)]
        question = asked(FIELDS[field](plain, sample.text))
        assert question is not None, "a sample fits any question"
        yield sample, field, question.prompt.turns[0]


def leaks(secret: str, prompt: str) -> bool:
    parts = [secret[at : at + A_PART] for at in range(0, max(1, len(secret) - A_PART + 1), A_PART)]
    return any(part in prompt for part in parts)


def told(count: int, seed: int) -> None:
    lost: Counter[str] = Counter()
    for sample, field, prompt in judged(secrets(count, seed)):
        if any(leaks(secret, prompt) for secret in sample.secrets):
            lost[f"{sample.shape} in the {field}"] += 1
    total = lost.total()
    print(f"secrets that left: {total} of {count} (goal: 0): {'met' if not total else 'MISSED'} {dict(lost) or ''}")
    taken: Counter[str] = Counter()
    for sample, _, prompt in judged(look_alikes(count, seed)):
        taken[sample.shape] += "[redacted: " in prompt
    share = taken.total() / count
    kinds = {shape: n for shape, n in taken.items() if n}
    verdict = "met" if share <= GOAL_ALIKE else "MISSED"
    print(f"look-alikes redacted: {taken.total()} of {count} (goal: at most {GOAL_ALIKE:.0%}): {verdict} {kinds or ''}")


_TOKENS: Final = re.compile(r" ?[A-Za-z]+|\d| ?[^\w\s]+|\s+|\w")


def tokens(text: str) -> int:
    """An estimate that is hard on fences: a word is a token for each five letters, each digit and each run of signs is one."""
    return sum(math.ceil(len(found) / 5) if found.strip().isalpha() else 1 for found in _TOKENS.findall(text))


def fencing(system: str, prompt: str) -> float:
    """The share of a question's tokens that are marks."""
    found = re.search(r"MARK is `(\w+)`", prompt)
    assert found is not None, "a turn names its fence"
    marks = re.findall(rf"^\[\[{found[1]} (?:begin: .*|end)\]\]$", prompt, re.MULTILINE)
    bare = [
        re.sub(r"begin: .*", "begin: ]]", mark) for mark in marks
    ]  # the label names the text: it is none of the fence
    return sum(map(tokens, bare)) / (tokens(system) + tokens(prompt))


def real(dossiers: Iterable[Dossier]) -> None:
    shares: list[float] = []
    kinds: Counter[str] = Counter()
    spent, size, lines = 0.0, 0, 0
    for dossier in dossiers:
        diff_of(dossier.diff)
        opinion = form_opinion(dossier, load_rubric())
        started = time.process_time()
        sent = redact_dossier(dossier, opinion, ())
        spent += time.process_time() - started
        texts = [dossier.diff, *(file.text or "" for file in dossier.files or ())]
        size, lines = size + sum(map(len, texts)), lines + sum(text.count("\n") for text in texts)
        kinds.update(one.kind.value for one in sent.redactions)
        if question := asked(dossier):
            shares.append(fencing(question.prompt.system, question.prompt.turns[0]))
    shares.sort()
    middle, high = shares[len(shares) // 2], shares[int(len(shares) * 0.95)]
    print(
        f"fences: {middle:.2%} of the tokens at the median, {high:.2%} at p95, of {len(shares)} questions"
        f" (goal: at most {GOAL_FENCES:.0%}): {'met' if middle <= GOAL_FENCES else 'MISSED'}"
    )
    print(f"redacting: {spent / len(shares) * 1e3:.1f} ms a dossier, {size / 1e6 / spent:.1f} MB/s")
    print(f"in {lines} lines of recorded changes: {kinds.total()} redactions {dict(kinds)}")


def recorded(paths: Iterable[Path], most: int) -> Iterator[Dossier]:
    for path in paths:
        for row in islice(read(path), most):
            yield complete_dossier(Dossier.model_validate(row["dossier"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE.jsonl[.gz]")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=100, help="dossiers of each file")
    arguments = parser.parse_args()
    told(arguments.count, arguments.seed)
    made = [complete_dossier(made_dossier([language], Size(files=8), whole=True)) for language in LANGUAGES]
    real(recorded(arguments.files, arguments.most) if arguments.files else made)


if __name__ == "__main__":
    main()
