"""Regular expressions that cost nothing until a text is held against them.

Compiling one takes a tenth of a millisecond and more, there are hundreds of them, and one judging uses a part.
Does not check them: a malformed one is found out at its first use (a test compiles all). Not for functions of `re` that
take a pattern (`re.sub(pattern, ...)`): call its methods. Invariant: after the first use, what is called is the compiled
pattern's own method.
"""

import gc
import re
from functools import cached_property
from typing import AnyStr, Generic, cast


class _PutOff(Generic[AnyStr]):
    def __init__(self, text: AnyStr, flags: int) -> None:
        self._text = text
        self._flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[AnyStr]:
        return re.compile(self._text, self._flags)

    def __getattr__(self, name: str) -> object:
        found = getattr(self.compiled, name)
        setattr(self, name, found)
        return found


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """`re.compile`, put off until the first use."""
    return cast("re.Pattern[AnyStr]", _PutOff(text, flags))


def compile_patterns() -> int:
    """Compile what was put off, in all modules that are imported: before a fork, not in each of them. Counts them."""
    waiting = cast("list[_PutOff[str]]", [one for one in gc.get_objects() if type(one) is _PutOff])
    return len([one.compiled for one in waiting])
