"""Regular expressions that cost nothing until a text is held against them.

Compiling one takes a tenth of a millisecond and more, there are hundreds of them, and one judging uses a part. A pattern
that *needs* words is not even compiled while no text holds one of them.
Does not check them: a malformed one is found out at its first use (a test compiles all, and draws texts that match to see
that they hold what is needed). Not for functions of `re` that take a pattern (`re.sub(pattern, ...)`): call its methods.
Invariant: the answers are those of the compiled pattern.
"""

import gc
import re
from collections.abc import Iterator
from functools import cached_property
from typing import AnyStr, Generic, cast, overload


class _LazyPattern(Generic[AnyStr]):
    def __init__(self, text: AnyStr, flags: int) -> None:
        self._text = text
        self._flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[AnyStr]:
        return re.compile(self._text, self._flags)

    def __getattr__(self, name: str) -> object:
        value = getattr(self.compiled, name)
        setattr(self, name, value)
        return value


class KeywordPattern(_LazyPattern[str]):
    """A pattern that matches no text without one of *keywords*, which are written in lower case."""

    def __init__(self, text: str, flags: int, needs: tuple[str, ...]) -> None:
        super().__init__(text, flags)
        self.keywords = needs

    def match(self, text: str) -> re.Match[str] | None:
        return self.compiled.match(text) if self.can_match(text) else None

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self.compiled.fullmatch(text) if self.can_match(text) else None

    def search(self, text: str) -> re.Match[str] | None:
        return self.compiled.search(text) if self.can_match(text) else None

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self.compiled.finditer(text) if self.can_match(text) else iter(())

    def can_match(self, text: str) -> bool:
        lower = text.casefold()
        for word in self.keywords:  # noqa: SIM110 - asked of every line of a change, and `any` takes three times as long
            if word in lower:
                return True
        return False


@overload
def pattern(text: str, flags: int = 0, *, needs: tuple[str, ...] = ()) -> re.Pattern[str]: ...
@overload
def pattern(text: bytes, flags: int = 0) -> re.Pattern[bytes]: ...
def pattern(text: str | bytes, flags: int = 0, *, needs: tuple[str, ...] = ()) -> re.Pattern[str] | re.Pattern[bytes]:
    """`re.compile`, put off until the first use, and with *needs* until a text holds one of these words in any case."""
    if needs and isinstance(text, str):
        return cast("re.Pattern[str]", KeywordPattern(text, flags, needs))
    return cast("re.Pattern[str]", _LazyPattern(cast("str", text), flags))


def can_match(regex: re.Pattern[str], text: str) -> bool:
    """False where no line of *text* holds a word that the pattern needs."""
    asked = cast("object", regex)
    return asked.can_match(text) if isinstance(asked, KeywordPattern) else True


def compile_patterns() -> int:
    """Compile what was put off, in all modules that are imported: before a fork, not in each of them. Counts them."""
    waiting = cast("list[_LazyPattern[str]]", [item for item in gc.get_objects() if isinstance(item, _LazyPattern)])
    return len([lazy.compiled for lazy in waiting])
