"""How much a model reads of a question, without the SDK: whoever only weighs a question need not load that.

Does not count tokens (nobody can without the model). Invariant: never less than what is read.
"""

import json
from typing import Final

from worker.domain.ports import Prompt

FRAMING_BYTES: Final = 1_000
"""What the server adds to a prompt, in bytes: roles, and its words about the schema."""


def prompt_bytes(prompt: Prompt) -> int:
    """Bytes that the model reads. A token is a byte at least, so this bounds the tokens, too."""
    texts = (prompt.system, *prompt.turns, json.dumps(prompt.schema, ensure_ascii=False))
    return FRAMING_BYTES + sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
