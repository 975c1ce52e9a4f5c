"""Text that others wrote, made safe to show: redacted, escaped, numbered, fenced.

Does not decide what is shown. Invariant: a fenced text can't contain the fence's own word, what could hide or
reorder text is visible, and no step changes the number of lines.
"""

import hashlib
import unicodedata
from collections.abc import Iterable
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.value import Value

_SECRETS: Final = (
    ("github token", pattern(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255})")),
    ("anthropic key", pattern(r"\bsk-ant-[A-Za-z0-9_-]{10,255}")),
    ("aws key", pattern(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")),
    ("slack token", pattern(r"\bxox[baprs]-[A-Za-z0-9-]{10,255}")),
    ("jwt", pattern(r"\beyJ[A-Za-z0-9_-]{8,2048}\.eyJ[A-Za-z0-9_-]{8,8192}\.[A-Za-z0-9_-]{8,2048}")),
)
_KEY_BEGINS: Final = pattern(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_ENDS: Final = pattern(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BODY: Final = pattern(r"[A-Za-z0-9+/=]{16,}")
_KEY: Final = "[redacted: private key]"
_KEY_LINES: Final = 200
"""A private key is not longer; what never ends is no reason to redact a whole file."""

_SELECTORS: Final = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0), range(0x180B, 0x1810))
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANK_LETTERS: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f")
_ASCII_SAFE: Final = pattern(r"[\t\n -~]*")


def redacted(text: str) -> str:
    """*text* with what looks like a secret replaced, line by line."""
    if "PRIVATE KEY" in text:
        text = _without_keys(text)
    for name, secret in _SECRETS:
        text = secret.sub(f"[redacted: {name}]", text)
    return text


def _without_keys(text: str) -> str:
    """Private keys without their bodies; of a key whose end alone is shown, too."""
    lines = text.split("\n")
    left = 0
    for number, line in enumerate(lines):
        begins, ends = _KEY_BEGINS.search(line), _KEY_ENDS.search(line)
        if begins:
            lines[number] = line[: begins.end()] + _KEY_BODY.sub(_KEY, line[begins.end() :])
        elif left:
            lines[number] = _KEY_BODY.sub(_KEY, line)
        elif ends:
            _redact_back(lines, number)
        left = 0 if ends else _KEY_LINES if begins else max(0, left - 1)
    return "\n".join(lines)


def _redact_back(lines: list[str], number: int) -> None:
    """Redact the lines above the end of a key as far as they are nothing but its body."""
    for above in range(number - 1, max(-1, number - _KEY_LINES), -1):
        if not _KEY_BODY.fullmatch(lines[above].strip()):
            return
        lines[above] = _KEY


def visible(text: str) -> str:
    """*text* with every character that hides, reorders or moves text shown as an escape. Lines and tabs stay."""
    if _ASCII_SAFE.fullmatch(text):
        return text
    return "".join(char if char in "\t\n" or not _hides(char) else _escape(char) for char in text)


def shown_path(path: str) -> str:
    """A path on one line, as the model sees it and cites it."""
    return visible(path).replace("\t", "\\t").replace("\n", "\\n")


def _hides(char: str) -> bool:
    if char.isascii():
        return not char.isprintable()
    return (
        unicodedata.category(char) in _HIDDEN
        or char in _BLANK_LETTERS
        or any(ord(char) in selectors for selectors in _SELECTORS)
    )


def _escape(char: str) -> str:
    code = ord(char)
    if code <= 0xFF:  # noqa: PLR2004 - two hex digits
        return {"\r": "\\r", "\x1b": "\\x1b"}.get(char, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - four hex digits


def cut(text: str, limit: int) -> str:
    """At most *limit* bytes of *text*, ending with a whole line where there is one, and saying how much is left out."""
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= limit:
        return text
    kept = raw[:limit].decode("utf-8", "ignore")
    head, newline, _ = kept.rpartition("\n")
    kept = head if newline else kept
    left_out = len(raw) - len(kept.encode())
    return f"{kept}\n[cut here: {left_out} more bytes are not shown]"


class Fence(Value):
    """Marks that no fenced text contains, since the word was chosen after the texts were known."""

    word: str

    def around(self, label: str, text: str) -> str:
        """*text* between the marks. The label is ours; what it quotes has to be a `shown_path`."""
        return f"[[{self.word} begin: {label}]]\n{text}\n[[{self.word} end]]"


def fence_for(seed: str, texts: Iterable[str]) -> Fence:
    """A fence that is new for every *seed* (an eval id) and can't be guessed by whoever wrote the texts."""
    whole = "\n".join(texts)
    digest = hashlib.sha256(seed.encode())
    digest.update(whole.encode("utf-8", "surrogatepass"))
    word = digest.hexdigest()[:16]
    while word in whole:  # pragma: no cover - needs a text that holds its own hash
        word = hashlib.sha256(word.encode()).hexdigest()[:16]
    return Fence(word)
