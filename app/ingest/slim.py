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

from app.ingest.payloads import Slim


def slim(body: bytes) -> object:
    """What is found in a body, as plain values; None where that needs a closer look."""
    try:
        if not body.isascii():
            body.decode()  # also where nobody looks, it has to be text
        return _decoder().decode(body)
    except (DecodeError, UnicodeDecodeError, RecursionError):
        return None


@cache
def _decoder() -> Decoder[Any]:
    shapes = set(_below(Slim))
    parts = {part for shape in shapes for one in _fields(shape).values() for part in _shapes_in(one)}
    return Decoder(_all_of(sorted(shapes - parts, key=lambda shape: shape.__name__)))


def _below(shape: type[Slim]) -> Iterator[type[Slim]]:
    for one in shape.__subclasses__():
        yield one
        yield from _below(one)


def _fields(shape: type[Slim]) -> dict[str, object]:
    """What is said of each field, by its name in the body."""
    found = shape.model_fields.items()
    return {str(field.validation_alias or name): field.annotation for name, field in found}


def _shapes_in(said: object) -> Iterator[type[Slim]]:
    if is_shape(said):
        yield said
    for one in get_args(said):
        yield from _shapes_in(one)


def _all_of(shapes: Iterable[type[Slim]]) -> Any:
    """What a decoder takes for an object with the fields of all these shapes, each of which may be missing."""
    said = defaultdict[str, list[object]](list)
    for shape in shapes:
        for name, one in _fields(shape).items():
            said[name].append(_bare(one))
    make = cast("Callable[..., Any]", TypedDict)
    return make("Looked", {name: _any_of(ones) for name, ones in said.items()}, total=False)


def _any_of(said: list[object]) -> Any:
    """What a decoder takes for a value of which all this is said. Null is left to the shapes."""
    shapes = [one for one in said if is_shape(one)]
    if len(shapes) == len(said):
        return _all_of(shapes) | None
    if all(get_origin(one) is tuple for one in said):
        return tuple[_any_of([_bare(get_args(one)[0]) for one in said]), ...] | None
    return Any


def _bare(said: object) -> object:
    """The type behind `Annotated[...]` and `... | None`."""
    if get_origin(said) is Annotated:
        return _bare(get_args(said)[0])
    if get_origin(said) in (Union, UnionType):
        [one, *others] = [one for one in get_args(said) if one is not NoneType]
        return object if others else _bare(one)
    return said


def is_shape(said: object) -> TypeGuard[type[Slim]]:
    return isinstance(said, type) and issubclass(said, Slim)
