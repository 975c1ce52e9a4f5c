"""What a helper is called that checks something, by the words of its name.

Does not know what it does. Invariant: in doubt it checks something, but for what makes a thing, or tells a double what to do.
"""

from functools import lru_cache
from typing import Final

from worker.domain.pattern import pattern
from worker.signals.analysis.change import Source
from worker.signals.analysis.file_roles import Language

_NAME: Final = 80
_WORDS: Final = pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_ANYWHERE: Final = pattern(
    r"assert|expect|should|verif|check|rais|fail|requir|must|ensur|compar|equal|snapshot|golden|panic|throw|roundtrip|trybuild"
)
_FIRST: Final = pattern(
    r"diff|contain|valid|wait|until|prove|confirm|approv|inspect|lint|exit|abort|approx|almost|compil|reject|same|satisf|warn"
    r"|then$|within$|screen$|cmp$"
)
_LAST: Final = frozenset({"eq", "ok", "error", "errors", "pass", "passes", "done", "works", "same", "survives"})
_MATCHING: Final = pattern(r"(?:fn|re_?|to_?|^)match(?:es)?(?:_|[A-Z]|$)|(?:get|find|query)(?:All)?By[A-Z]|round_?trip")
_ENDS: Final = pattern(r"^test|_test$|^run_?tests?(?![a-z])|^do_?test", 2)
_STUBBING: Final = pattern(r"(?:then|will|do)(?:Return|Throw|Answer)")
"""What a double is told: `when(x).thenThrow(...)`."""
_MAKING: Final = frozenset(
    {"setup", "set", "new", "create", "make", "build", "mock", "prepare", "start", "init", "open", "fake", "get", "try"}
    | {"list", "read", "load", "parse", "fetch", "add", "with", "from"}
)
_QUALITIES: Final = frozenset({"required", "checked"})
"""What a builder says of the thing that it makes."""


@lru_cache(maxsize=4096)
def is_check_name(name: str) -> bool:
    """Whether a function of this name may check something; one that makes something does not."""
    if len(name) > _NAME:
        return False
    parts = [word.lower() for word in _WORDS.findall(name)]
    if _MATCHING.search(name) or _ENDS.search(name):
        return True
    if not parts or parts[0] in _MAKING or name in _QUALITIES or _STUBBING.match(name):
        return False
    return any(map(_ANYWHERE.match, parts)) or _FIRST.match(parts[0]) is not None or parts[-1] in _LAST


_ASSERTING: Final = pattern(r"assert|panic|unreachable|expect|check|matches_snapshot|unwrap_err|\brequire\.|\bis\.")
"""Without one of these, code of Rust holds nothing that is called an assertion: no macro, and no chain that asks for an error."""


def can_assert(source: Source) -> bool:
    """False for code of Rust that asserts nothing, as most of it does. It keeps its tests beside it, and so is looked at too."""
    return source.language is not Language.RUST or _ASSERTING.search(source.text) is not None
