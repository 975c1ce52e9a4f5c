"""Whether somebody wanted a stub.

Does not look at code. Invariant: the author's own words don't count, an issue's do.
"""

import re
from typing import Final

from worker.domain.pattern import pattern
from worker.signals.analysis.change import CodeChange


def is_stub_requested(change: CodeChange) -> bool:
    """An issue may ask for stubs; the author's own words can't."""
    texts = [f"{issue.title}\n{issue.body}" for issue in change.dossier.issues]
    return any(_STUB_REQUEST.search(text) for text in texts)


_STUB_REQUEST: Final = pattern(
    r"\b(add|create|write|provide|leave|introduce|start|only|just|with|as|return|raise|be|make|use|into)s?\b[^.\n]{0,40}?"
    r"(\b(stubs?|skeletons?|scaffold(ing)?|no-?ops?|NotImplementedError)\b(?! (package|file)s?)|\bplaceholder (implementation|function|method|class|module|body)s?\b)"
    r"|\bscaffold(ing)?\b",
    re.IGNORECASE,
    needs=("stub", "skeleton", "scaffold", "noop", "no-op", "notimplemented", "placeholder"),
)
