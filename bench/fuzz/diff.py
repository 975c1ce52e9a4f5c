"""Fuzz the diff parser: what it takes must come back from its parts, and what it refuses is refused with a DiffError."""

import sys
from pathlib import Path
from random import Random
from typing import Final

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.fuzz.mutations import spoiled  # noqa: E402 - found from any working directory
from bench.fuzz.running import Target, run_as_script  # noqa: E402 - as above
from bench.made import LANGUAGES, Size, made_dossier  # noqa: E402 - as above
from worker.dossier.diff.parser import DiffError, LineKind, parse_diff  # noqa: E402 - as above

WORDS: Final = (
    b"diff --git a/x b/x\n",
    b'diff --git "a/\\303\\251" "b/\\303\\251"\n',
    b"@@ -1 +1 @@\n",
    b"@@ -0,0 +1,3 @@ def f():\n",
    b"@@ -1,999999999 +1,999999999 @@\n",
    b"\\ No newline at end of file\n",
    b"--- a/x\n+++ b/x\n",
    b"--- /dev/null\n",
    b"+++ /dev/null\n",
    b"rename from a\nrename to b\n",
    b"old mode 100644\nnew mode 120000\n",
    b"new file mode 160000\n",
    b"GIT binary patch\nliteral 3\nKc${Nk\n\n",
    b"Binary files a/x and b/x differ\n",
    b"index 1111111..2222222 100644\n",
    b"+",
    b"-",
    b" ",
    b"\n",
)


def make(random: Random) -> bytes:
    size = Size(files=random.choice((1, 2, 6)), kept=random.choice((0, 4)), added=random.choice((0, 1)))
    raw = made_dossier([random.choice(LANGUAGES)], size, whole=False).diff.encode()
    return spoiled(raw, random, WORDS)


def run(raw: bytes) -> None:
    for file in parse_diff(raw).files:
        for hunk in file.hunks:
            base = sum(line.kind is not LineKind.ADDED for line in hunk.lines)
            head = sum(line.kind is not LineKind.REMOVED for line in hunk.lines)
            assert (base, head) == (hunk.base_count, hunk.head_count)
            numbers = [line.head_line for line in hunk.lines if line.head_line is not None]
            assert numbers == list(range(hunk.head_start, hunk.head_start + head))
        lines = [line for hunk in file.hunks for line in hunk.lines]
        for kind, texts in ((LineKind.ADDED, file.added_texts), (LineKind.REMOVED, file.removed_texts)):
            assert texts == tuple(line.text for line in lines if line.kind is kind)
        assert "".join(file.added_passages()) == "".join(f"{text}\n" for text in file.added_texts)
        assert file.head_side == "".join(f"{line.text}\n" for line in lines if line.head_line is not None)


TARGET: Final = Target("diff", make, run, (DiffError,))
run_as_script(__name__, TARGET)
