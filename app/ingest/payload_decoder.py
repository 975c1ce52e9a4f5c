"""Body -> the few of its values that any of our shapes looks at, in one pass over the bytes.

A delivery is 36 KB of addresses that nobody reads; what is read of it fits on a page. Does not check what it finds and complains
of nothing (`app.ingest.payloads` does both). Invariant: what is there has the value that the whole body read by a shape would give it;
whatever is odd about a body is left to that, and nothing is found here.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypedDict, TypeGuard, Union, cast, get_args, get_origin

from msgspec import DecodeError
from msgspec.json import Decoder

from app.ingest.payloads import PayloadModel


def decode_payload(body: bytes) -> object:
    """What is found in a body, as plain values; None where that needs a closer look."""
    try:
        if not body.isascii():
            body.decode()  # also where nobody looks, it has to be text
        return _decoder().decode(body)
    except (DecodeError, UnicodeDecodeError, RecursionError):
        return None


@cache
def _decoder() -> Decoder[Any]:
    shapes = set(_subclasses(PayloadModel))
    parts = {part for shape in shapes for annotation in _field_types(shape).values() for part in _models_in(annotation)}
    return Decoder(_object_type(sorted(shapes - parts, key=lambda shape: shape.__name__)))


def _subclasses(shape: type[PayloadModel]) -> Iterator[type[PayloadModel]]:
    for subclass in shape.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


def _field_types(shape: type[PayloadModel]) -> dict[str, object]:
    """What is said of each field, by its name in the body."""
    fields = shape.model_fields.items()
    return {str(field.validation_alias or name): field.annotation for name, field in fields}


def _models_in(annotation: object) -> Iterator[type[PayloadModel]]:
    if is_payload_model(annotation):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def _object_type(shapes: Iterable[type[PayloadModel]]) -> Any:
    """What a decoder takes for an object with the fields of all these shapes, each of which may be missing."""
    types = defaultdict[str, list[object]](list)
    for shape in shapes:
        for name, annotation in _field_types(shape).items():
            types[name].append(_unwrap(annotation))
    make = cast("Callable[..., Any]", TypedDict)
    return make("Looked", {name: _merged_type(ones) for name, ones in types.items()}, total=False)


def _merged_type(annotations: list[object]) -> Any:
    """What a decoder takes for a value of which all this is said. Null is left to the shapes."""
    shapes = [item for item in annotations if is_payload_model(item)]
    if len(shapes) == len(annotations):
        return _object_type(shapes) | None
    if all(get_origin(item) is tuple for item in annotations):
        return tuple[_merged_type([_unwrap(get_args(item)[0]) for item in annotations]), ...] | None
    return Any


def _unwrap(annotation: object) -> object:
    """The type behind `Annotated[...]` and `... | None`."""
    if get_origin(annotation) is Annotated:
        return _unwrap(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        [argument, *others] = [argument for argument in get_args(annotation) if argument is not NoneType]
        return object if others else _unwrap(argument)
    return annotation


def is_payload_model(annotation: object) -> TypeGuard[type[PayloadModel]]:
    return isinstance(annotation, type) and issubclass(annotation, PayloadModel)
