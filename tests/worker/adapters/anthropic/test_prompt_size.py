"""What is weighed of a question without the SDK, and that collecting the tests does not load it either."""

import re
from pathlib import Path

from worker.adapters.anthropic.prices import FRAMING_BYTES, prompt_bytes
from worker.domain.ports import Prompt

TESTS = Path(__file__).resolve().parents[3]
LOADS_IT = re.compile(
    r"^(?:import anthropic|from anthropic|from worker\.adapters\.anthropic\.model )",
    re.MULTILINE,
)
PROMPT = Prompt("You judge.", ("The change: ä.",), {"type": "object"}, "v")
SIZE = FRAMING_BYTES + len("You judge.") + len("The change: ä.") + 1 + len('{"type": "object"}')


def test_every_turn_and_the_schema_count_and_half_a_character_does_too() -> None:
    assert prompt_bytes(PROMPT) == SIZE
    longer = Prompt(PROMPT.system, (*PROMPT.turns, "no", "\ud800"), PROMPT.schema, "v")
    assert prompt_bytes(longer) == SIZE + 2 + 3


def test_no_module_of_tests_loads_the_sdk_before_one_of_them_runs() -> None:
    """It takes a second, in each process of a run."""
    assert [path.name for path in TESTS.rglob("*.py") if LOADS_IT.search(path.read_text(encoding="utf-8"))] == []
