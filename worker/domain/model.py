"""The base of every model: immutable, validated, and closed against unknown fields."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A value. Unknown fields are refused, so that a typo in a dossier or a rubric is an error."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        ser_json_inf_nan="strings",
        hide_input_in_errors=True,
        defer_build=True,  # a command needs a part of all models, and building one takes as long as importing a module
    )


def build_models() -> None:
    """Build the deferred schemas of all models that are imported: before a fork or a thread, not in each of them."""
    waiting: list[type[BaseModel]] = [Frozen]
    while waiting:
        model = waiting.pop()
        model.model_rebuild()
        waiting.extend(model.__subclasses__())
