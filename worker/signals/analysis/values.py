"""Values that stand for no work: constants, new objects, a variable that is made and handed back.

Reads one statement's text, white space folded. Does not know what the function promises. Invariant: what was computed
from anything is no such value.
"""

import re
from collections.abc import Sequence
from typing import Final

from worker.domain.pattern import pattern

_ZERO: Final = r"None|nil|null|undefined|NULL|true|false|True|False|void 0|0|0\.0|-1|\"\"|''|``|\(\)|\[\]|\{\}|set\(\)|dict\(\)|list\(\)|tuple\(\)"
_CONSTANT: Final = pattern(
    rf"(?:return\s*)?\(?(?:(?:{_ZERO}"
    r"|(?:std::)?(?:default::)?Default::default\(\)|(?:String|Vec|HashMap|HashSet|BTreeMap)::new\(\)|(?:std::)?vec!\[\]|Ok\((?:\(\)|None|(?:std::)?(?:default::)?Default::default\(\)|Vec::new\(\)|vec!\[\]|false|true|0)?\)"
    rf"|(?:Optional|Collections|List|Map|Set|Stream)\.(?:empty|emptyList|emptyMap|emptySet|of)\(\)|Promise\.resolve\((?:{_ZERO})?\)|<></>)"
    r"(?: as (?:any|never|unknown|[A-Z]\w{0,40}(?:\[\])?)){0,2}(?:,\s*)?){0,4}\)?;?|pass|\.\.\."
)
"""What a statement may be that does nothing."""

_FRESH: Final = pattern(
    r"(?:return )?(?:(?:(?:Ok|Some)\()?[\w:]{1,60}::(?:new|default)\(\)\)?|(?:Ok\()?(?:String::from\(\"\"\)|\"\"\.(?:to_string|to_owned|into)\(\))\)?|new \w+(?:<[^<>]{0,40}>)?\(\)|&?[\w.\[\]]{1,60}\{\}(?:, nil)?|self|this);?"
)
"""A new object, or the same: a factory without parameters hands out nothing else."""

_CREATED: Final = pattern(
    rf"(?:(?:let|const|var|val|final|mut) )*(?:[A-Z][\w<>\[\], ]{{0,60}} )?(?P<name>\w+)(?:: ?[^=]{{1,60}})? :?= (?:{_ZERO}|(?:String|Vec|HashMap|HashSet|BTreeMap)::new\(\)|vec!\[\]|new \w+(?:<[^<>]{{0,40}}>)?\(\));?"
    r"|var (?P<declared>\w+) [\w.*\[\]]{1,60}"
)
_RETURNED: Final = pattern(r"(?:return )?(\w+)(?:, nil)?;?")
_DISCARD: Final = pattern(r"(?:let )?_ ?= ?\(?&?[\w, ]{1,80}\)?;?|void \w+;?|del [\w, ]{1,80}")


def is_constant(text: str) -> bool:
    return _CONSTANT.fullmatch(text) is not None


def is_new_object(text: str) -> bool:
    return _FRESH.fullmatch(text) is not None


def is_discard(text: str) -> bool:
    """It looks at something only to say that it is not used."""
    return _DISCARD.fullmatch(text) is not None


def is_empty_result(statements: Sequence[str]) -> bool:
    """Two statements: an empty thing is made, and handed back as it is."""
    if len(statements) != 2:  # noqa: PLR2004 - made and returned
        return False
    made, back = _CREATED.fullmatch(statements[0]), _RETURNED.fullmatch(statements[1])
    return _created_name(made) == (back[1] if back is not None else "")


def _created_name(made: "re.Match[str] | None") -> str | None:
    return None if made is None else made["name"] or made["declared"]
