"""By what was judged, as hashes: the content of a rubric, and rubric, prompt and judges together.

Does not read files. Invariant: what is written differently and says the same has the same hash: comments, order of keys and
spaces of a rubric do not count.
"""

import hashlib
import json
from typing import Final

from worker.domain.verdict.rubric import Rubric, VersionedRubric

DIGEST_SIGNAL: Final = "law"
"""Under this name a judging anew says by what law it came about."""

SHADOW_SIGNAL: Final = "canary"
"""A verdict that has this signal is a candidate's, and was shown to nobody."""


def rubric_digest(rubric: VersionedRubric) -> str:
    """The hash of all that a rubric says."""
    return _hash(rubric.model_dump(mode="json"))


def judge_digest(rubric: Rubric, prompt_version: str, judges: str) -> str:
    """The name of one way to judge. *judges* names the allowed tiers and models."""
    return _hash([rubric_digest(rubric), prompt_version, judges])[:16]


def scoring_digest(weights: VersionedRubric, judgings: str) -> str:
    """The name of one way to weigh by code alone. *judgings*: the law by which what is weighed may have been judged anew."""
    return _hash([rubric_digest(weights), "weighed by code", judgings])[:16]


def _hash(content: object) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
