"""By what was judged, as hashes: the content of a rubric, and rubric, prompt and judges together.

Does not read files. Invariant: what is written differently and says the same has the same hash: comments, order of keys and
spaces of a rubric do not count.
"""

import hashlib
import json
from typing import Final

from worker.domain.verdict.rubric import Rubric, Versioned

SIGNAL: Final = "law"
"""Under this name a judging anew says by what law it came about."""

CANARY: Final = "canary"
"""A verdict that has this signal is a candidate's, and was shown to nobody."""


def digest_of(rubric: Versioned) -> str:
    """The hash of all that a rubric says."""
    return _hash(rubric.model_dump(mode="json"))


def law_of(rubric: Rubric, prompt_version: str, judges: str) -> str:
    """The name of one way to judge. *judges* names the allowed tiers and models."""
    return _hash([digest_of(rubric), prompt_version, judges])[:16]


def weighing_law_of(weights: Versioned, judgings: str) -> str:
    """The name of one way to weigh by code alone. *judgings*: the law by which what is weighed may have been judged anew."""
    return _hash([digest_of(weights), "weighed by code", judgings])[:16]


def _hash(content: object) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
