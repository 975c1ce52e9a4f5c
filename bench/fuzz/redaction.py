"""Fuzz the finding of secrets: any text keeps its lines, and a second look finds no secret in a mark."""

import sys
from pathlib import Path
from random import Random
from typing import Final

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.fuzz.mutations import spoiled  # noqa: E402 - found from any working directory
from bench.fuzz.running import Target, run_as_script  # noqa: E402 - as above
from tests.worker.dossier.secrets.samples import look_alikes, secrets  # noqa: E402 - as above
from worker.dossier.secrets import redact  # noqa: E402 - as above

WORDS: Final = tuple(
    "password token secret api_key credential key bearer login :// @ : = \" ' ` \\n > < { } ( ) , eyJ . SG. sk- ghp_ AKIA xoxb- ://a: "
    "AccountKey= sig= -us Q~ [redacted: value -----BEGIN -----END PRIVATE KEY----- Private-Lines: LS0tLS1CRUdJTi \u0130 \u200b 0 a= A/+".encode().split()
)


def make(random: Random) -> bytes:
    """Samples spoiled together, or one word again and again."""
    if random.random() < 0.3:
        unit = b"".join(random.choices((*WORDS, b" ", b"\n", b"a" * random.randint(1, 60)), k=random.randint(1, 4)))
        return unit * (random.randint(1_000, 200_000) // len(unit))
    seed = random.randrange(10**6)
    texts = [one.text for one in (*secrets(5, seed), *look_alikes(5, seed))]
    random.shuffle(texts)
    return spoiled("\n".join(texts).encode(), random, WORDS)


def run(raw: bytes) -> None:
    text = raw.decode("utf-8", "replace")
    clean = redact(text)
    assert clean.text.count("\n") == text.count("\n"), "a line was lost"
    assert all(1 <= one.line <= text.count("\n") + 1 for one in clean.secret_lines), "a line that is not there"
    assert redact(clean.text).text.count("[redacted: ") >= clean.text.count("[redacted: "), "a mark was redacted"


TARGET: Final = Target("redaction", make, run)
run_as_script(__name__, TARGET)
