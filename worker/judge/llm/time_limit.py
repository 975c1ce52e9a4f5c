"""The end of asking: all questions of one judging together, whoever is asked them.

Does not end a question that is under way (the model's adapter does, each after its own time). Invariant: after the bench's
`asking_ms` no new question begins, so a judging ends before its check's deadline, whatever its models' servers do.
"""

from collections.abc import Callable

from worker.domain.ports import Model, ModelReply, Prompt
from worker.domain.value import replace
from worker.errors import Unavailable
from worker.judge.context import JudgeContext


class TimeLimitedModel:
    """The Model port: asks until the time is up, and then says that it can't be had."""

    def __init__(self, model: Model, now_ms: Callable[[], int], end_ms: int) -> None:
        self._model = model
        self._now_ms = now_ms
        self._end_ms = end_ms

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def pricing_version(self) -> str | None:
        return self._model.pricing_version

    def ask(self, prompt: Prompt) -> ModelReply:
        """Raises Unavailable, also for a question that comes too late."""
        if self._now_ms() >= self._end_ms:
            raise Unavailable(self.name, "its answers took so long that no more were waited for (ASSAY_ASKING)")
        return self._model.ask(prompt)


def with_time_limit(context: JudgeContext, now_ms: Callable[[], int]) -> JudgeContext:
    """The same bench, whose models are asked for so long from now on."""
    end_ms = now_ms() + context.asking_ms
    model, second = (
        TimeLimitedModel(model, now_ms, end_ms) if model else None for model in (context.model, context.second_model)
    )
    return replace(context, model=model, second_model=second)
