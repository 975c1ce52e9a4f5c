"""Code with its comments and strings blanked out, by one regular expression a language.

Keeps every offset and line. Does not know grammars. Invariant: newlines stay where they are.
"""

import re
from functools import lru_cache
from typing import Final

_LINE: Final = r"//[^\n]*"
_BLOCK: Final = r"/\*.*?(?:\*/|\Z)"
_DOUBLE: Final = r'"(?:\\.|[^"\\\n])*"'
_SINGLE: Final = r"'(?:\\.|[^'\\\n])*'"
_REGEX: Final = r"(?<=[=(,:;!&|?{}\n])\s*/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*"
_SKIPPED: Final = {
    "python": rf'#[^\n]*|[rbfuRBFU]{{0,2}}(?:"""(?:\\.|.)*?"""|\'\'\'(?:\\.|.)*?\'\'\'|{_DOUBLE}|{_SINGLE})',
    "go": rf"{_LINE}|{_BLOCK}|`[^`]*`|{_DOUBLE}|'(?:\\[^']+|[^'\\\n]|\\')'",
    "java": rf'{_LINE}|{_BLOCK}|"""(?:\\.|.)*?"""|{_DOUBLE}|\'(?:\\[^\']+|[^\'\\\n]|\\\')\'',
    "rust": rf'{_LINE}|{_BLOCK}|b?r(?P<h>#*)".*?"(?P=h)|b?"(?:\\.|[^"\\])*"|b?\'(?:\\[^\']+|[^\'\\\n]|\\\')\'',
    "script": rf"{_LINE}|{_BLOCK}|`(?:\\.|[^`\\])*`|{_DOUBLE}|{_SINGLE}|{_REGEX}",
}
_ENDINGS: Final = {
    "py": "python",
    "go": "go",
    "java": "java",
    "rs": "rust",
    **dict.fromkeys(("js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx"), "script"),
}


def language(path: str) -> str:
    return _ENDINGS.get(path.rpartition(".")[2], "")


@lru_cache(maxsize=256)
def masked(text: str, of: str) -> str:
    """The code alone. Of a string its quotes stay, so that an empty place is seen to hold something."""
    return re.sub(_SKIPPED[of], _quotes, text, flags=re.DOTALL) if of in _SKIPPED else text


@lru_cache(maxsize=256)
def without_comments(text: str, of: str) -> str:
    return re.sub(_SKIPPED[of], _no_comment, text, flags=re.DOTALL) if of in _SKIPPED else text


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _no_comment(found: "re.Match[str]") -> str:
    return _blank(found[0]) if found[0].startswith(_COMMENT_MARKS) else found[0]


_COMMENT_MARKS: Final = ("#", "//", "/*")


def _quotes(found: "re.Match[str]") -> str:
    text = found[0]
    if text.lstrip().startswith(_COMMENT_MARKS):
        return _blank(text)
    opening = re.match(r"\s*[rbfuRBFU]{0,2}#*.", text, re.DOTALL)
    start = opening.end() - 1 if opening else 0
    return _blank(text[:start]) + '"' + _blank(text[start + 1 : -1]) + '"' if len(text) - start > 1 else _blank(text)
