"""Normal forms of literals: two spellings of one value are one.

Does not evaluate anything. Invariant: different values never share a form; what may hold code (an f-string, a
template) is its own form, letter by letter.
"""

import re
from typing import Final

from worker.domain.pattern import pattern

_QUOTES: Final = pattern(r"(\"\"\"|'''|\"|')")
_SCRIPT_STRING: Final = pattern(r"()([\"'])(.*)\2", re.DOTALL)
_PAIR: Final = pattern(r"\\(.)", re.DOTALL)
_SIGNS: Final = pattern(r"[\\\"']")
_SHORT_OCTAL: Final = pattern(r"\\[0-7]{1,2}$")


def python_string(text: str) -> str:
    """A string, whichever quotes it has: the prefix, then what stands in it. With an interpolation only where no quote is near."""
    if _QUOTES.search(text) is None:
        return text  # backticks, which Python 2 read
    prefix, quotes, rest = _QUOTES.split(text, maxsplit=1)
    body, prefix = rest[: -len(quotes)], "".join(sorted(prefix.lower()))
    if "f" in prefix or "t" in prefix:
        return text if _SIGNS.search(body) else f"{prefix}:{body}"
    return f"{prefix}:{body if 'r' in prefix else _with_bare_quotes(body)}"


def python_strings(texts: list[str]) -> str:
    """Strings that stand side by side are one string."""
    forms = [python_string(text) for text in texts]
    prefixes = {form.partition(":")[0] for form in forms}
    bodies = [form.partition(":")[2] for form in forms]
    plain = all(form is not text for form, text in zip(forms, texts, strict=True))
    if len(prefixes) > 1 or not plain or any(map(_SHORT_OCTAL.search, bodies)):
        return "\0".join(forms)
    return f"{prefixes.pop()}:{''.join(bodies)}"


def script_string(text: str) -> str:
    """A string of JavaScript, whichever quotes it has."""
    found = _SCRIPT_STRING.fullmatch(text)
    return text if found is None else f":{_with_bare_quotes(found[3])}"


def _with_bare_quotes(body: str) -> str:
    return _PAIR.sub(lambda pair: pair[1] if pair[1] in "'\"" else pair[0], body)


def attribute_string(text: str) -> str:
    """A string in JSX, where no letter escapes another."""
    body = text[1:-1]
    return text if "'" in body or '"' in body else f":{body}"


_PLAIN_MACRO: Final = pattern(
    r"(std::|core::|tracing::|log::)?(e?print(ln)?|format(_args)?|write(ln)?|panic|todo|unimplemented|unreachable|vec|matches"
    r"|(debug_)?assert(_eq|_ne)?|trace|debug|info|warn|error)!\s*[(\[{]"
)
_RUST_TOKEN: Final = pattern(
    r"(\s+)|(b?r(#{0,8})\".*?\"\3|[bc]?\"(?:[^\"\\]|\\.)*\"|b?'(?:[^'\\]|\\.{1,8}?)'|//[^\n]*|/\*.*?\*/)|(\d[\w.]*|\w+)|(.)",
    re.DOTALL,
)


def rust_macro(text: str) -> str:
    """A call of one of the usual macros without its white space; another macro may see more than its tokens."""
    if not _PLAIN_MACRO.match(text):
        return text
    found: list[str] = []
    apart = last = ""
    for one in _RUST_TOKEN.finditer(text):
        white, literal, _, word, sign = one.groups()
        if white:
            apart = " " if last == "sign" else ""
            continue
        found += [apart, sign] if sign else [literal or word]
        apart, last = "", "sign" if sign else "word"
    closed = "\0".join(part for part in found if part)
    return _LAST_COMMA.sub(r"\1", closed)


_LAST_COMMA: Final = pattern(r"\0,(?:\0 )?(\0[)\]}])$")
