"""The base of small immutable values without validation: `@dataclass(frozen=True)` without its price.

A stdlib dataclass compiles six methods for every class, 0.4 ms each time that a process starts; sixty of them were a
seventh of `assay judge`. Subclasses of Value share one set of methods, and type checkers read them like dataclasses.
Does not convert or check types (`model.py` does), takes no factory as a default, and is not slim: what exists by the
ten thousand is a NamedTuple. Invariant: no attribute of a value is ever set twice, and only values of one class with
equal fields are equal.
"""

from typing import Any, ClassVar, NoReturn, TypeVar, dataclass_transform

V = TypeVar("V", bound="Value")


@dataclass_transform(frozen_default=True)
class Value:
    """Fields are the annotations of the class itself, in their order; what they are set to is their default."""

    __match_args__: ClassVar[tuple[str, ...]] = ()
    _defaults: ClassVar[dict[str, object]] = {}
    _required_count: ClassVar[int] = 0
    """Fields that have to be given: those up to the last one without a default."""

    def __init_subclass__(cls) -> None:
        own = vars(cls)
        cls.__match_args__ = tuple(cls.__annotations__)
        cls._defaults = {name: own[name] for name in cls.__match_args__ if name in own}
        cls._required_count = max((at for at, name in enumerate(cls.__match_args__, 1) if name not in own), default=0)

    def __init__(self, *positional: Any, **named: Any) -> None:
        names, fields = self.__match_args__, self.__dict__
        if not named and len(positional) == len(names):  # most are made so
            fields.update(zip(names, positional, strict=False))
            return
        if not named and self._required_count <= len(positional) < len(names):
            fields.update(self._defaults)
            fields.update(zip(names, positional, strict=False))
            return
        if len(positional) + len(named) == len(names) and (not named or named.keys() == set(names[len(positional) :])):
            fields.update(zip(names, positional, strict=False))
            fields.update(named)
            return
        fields.update(self._defaults)
        fields.update(zip(names, positional, strict=False))
        fields.update(named)
        if (
            fields.keys() != set(names)
            or len(positional) > len(names)
            or not named.keys().isdisjoint(names[: len(positional)])
        ):
            arguments = [*map(repr, positional), *(f"{name}=..." for name in named)]
            raise TypeError(f"{type(self).__name__}({', '.join(names)}) was called with ({', '.join(arguments)})")

    def __eq__(self, other: object) -> bool:
        return self._fields() == other._fields() if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._fields())

    def __repr__(self) -> str:
        shown = (f"{name}={field!r}" for name, field in zip(self.__match_args__, self._fields(), strict=True))
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __setattr__(self, name: str, _: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is a value: {name} can't be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is a value: {name} can't be deleted")

    def _fields(self) -> tuple[object, ...]:
        return tuple([self.__dict__[name] for name in self.__match_args__])


def replace(original: V, **changes: object) -> V:
    """Another value of the same class, with these fields changed."""
    return type(original)(**{**{name: vars(original)[name] for name in original.__match_args__}, **changes})
