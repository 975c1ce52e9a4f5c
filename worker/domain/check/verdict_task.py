"""What is still to be done about a verdict once it is out: tell the author, upload its SARIF.

Does not do it. Invariant: numbers and ids only.
"""

from worker.domain.ids import DeliveryId, EvalId, Sha
from worker.domain.model import Frozen
from worker.domain.request.judge_request import PullRef


class VerdictTask(Frozen):
    """The verdict at this head of a pull request, and the delivery that it came of."""

    pull: PullRef
    head_sha: Sha
    eval_id: EvalId
    delivery_id: DeliveryId
