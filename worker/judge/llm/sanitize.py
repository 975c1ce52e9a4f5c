"""Make text of others safe to send: redact, withhold, escape, shorten and fence it; and show a change with line numbers.

Every question is built from what comes out of here: no secret and no file of `never_send` leaves this machine, and each redaction is
recorded. A fenced text can't contain the fence's word, hidden characters are visible, and no step changes the number of lines.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Final, TypeVar, cast

from worker.domain.dossier import CiCheck, Dossier, UnreadFile, UnreadReason, is_withheld
from worker.domain.model import Frozen
from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import ClaimVerdict, EvidencePointer, Finding, HeuristicOpinion
from worker.dossier.diff import Diff, DiffError, DiffLine, FileDiff, Hunk, LineKind, diff_of, diff_or_empty
from worker.dossier.secrets import Redaction, SecretKind, redact

M = TypeVar("M", bound=Frozen)

WITHHELD_LINE: Final = "[a line about a file that is never sent]"

_NOT_TEXTS: Final = frozenset({"path", "changed_lines", "diff"})
"""Paths are redacted where they are shown, changed lines are hashes, and a diff is redacted hunk by hunk."""

_KEYS: Final = ("path", "number", "id", "name", "round")
_PATH: Final = pattern(r"[\w.@+/\\-]{1,400}")
_NO_TEXT: Final = b"Binary files differ\n"
"""In place of a withheld file's hunks."""


@dataclass(frozen=True)
class RedactedDossier:
    dossier: Dossier
    opinion: HeuristicOpinion
    claims: tuple[ClaimVerdict, ...]
    redactions: tuple[Redaction, ...]


def redact_dossier(dossier: Dossier, opinion: HeuristicOpinion, claims: tuple[ClaimVerdict, ...]) -> RedactedDossier:
    """Take out what must not leave. Where there is nothing to take out, the same values are returned."""
    globs = dossier.policy.never_send if dossier.policy else ()
    redactor = _DossierRedactor(globs)
    sent = redactor.redact_dossier(dossier)
    if redactor.secrets:  # a value that its name gave away may stand elsewhere without that name
        redactor = _DossierRedactor(globs, redactor.secrets)
        sent = redactor.redact_dossier(dossier)
        redactor.expect_quotes()
    sent_claims = tuple(redactor.redact_model(claim, "claims") for claim in claims)
    return RedactedDossier(sent, redactor.redact_model(opinion, "heuristics"), sent_claims, tuple(redactor.redactions))


class _DossierRedactor:
    """Redacts values and records what it took out."""

    def __init__(self, globs: Sequence[str], known_secrets: Mapping[str, SecretKind] = MappingProxyType({})) -> None:
        self.redactions: list[Redaction] = []
        self.secrets: dict[str, SecretKind] = {}
        self._globs = globs
        # a short one may be a word elsewhere, and a key's lines are found with the key
        distinctive = (
            (secret, kind)
            for secret, kind in known_secrets.items()
            if len(secret) >= _DISTINCTIVE_LENGTH and kind is not SecretKind.PRIVATE_KEY
        )
        self._known_secrets = dict(islice(distinctive, MOST_KNOWN))
        self._pieces = ""

    def expect_quotes(self) -> None:
        """Texts that follow are our own code's, which quotes pieces of secrets without their context."""
        self._pieces = "\n".join(self.secrets)

    def redact_dossier(self, dossier: Dossier) -> Dossier:
        clean = self.redact_model(self._without_withheld(dossier), "")
        changes: dict[str, object] = {"diff": self._redact_diff(dossier.diff, "diff")}
        if dossier.seed is not None:
            changes["seed"] = dossier.seed.model_copy(
                update={"diff": self._redact_diff(dossier.seed.diff, "seed.diff")}
            )
        return clean.model_copy(update=changes)

    def _without_withheld(self, dossier: Dossier) -> Dossier:
        """The dossier without withheld texts; the changed ones among them are listed as unread."""
        if not self._globs:
            return dossier
        unread = (*dossier.files_unread, *self._unread_files(dossier))
        changes: dict[str, object] = {
            "files_unread": unread,
            "guidance": tuple(rule for rule in dossier.guidance if not self._withholds(rule.path)),
        }
        if dossier.files is not None:
            changes["files"] = tuple(file for file in dossier.files if not self._withholds(file.path))
        return dossier.model_copy(update=changes)

    def _unread_files(self, dossier: Dossier) -> list[UnreadFile]:
        files = diff_or_empty(dossier.diff).files
        withheld = {file.path for file in dossier.files_unread if file.reason is UnreadReason.NEVER_SEND}
        paths = dict.fromkeys(file.path for file in files if self._hides(file) and file.path not in withheld)
        return [UnreadFile(path=path, reason=UnreadReason.NEVER_SEND) for path in paths]

    def _hides(self, file: FileDiff) -> bool:
        return self._withholds(file.path) or (file.old_path is not None and self._withholds(file.old_path))

    def _withholds(self, path: str | None) -> bool:
        return path is not None and bool(self._globs) and is_withheld(path, self._globs)

    def redact_model(self, model: M, path: str) -> M:
        """Redact every field; the same model where there is nothing to take out."""
        before = self._redact_mentions(model)
        changes: dict[str, object] = {}
        for name in type(before).model_fields:
            old: object = getattr(before, name)
            new = old if name in _NOT_TEXTS else self._redact_value(old, f"{path}.{name}" if path else name)
            if new is not old:
                changes[name] = new
        return before.model_copy(update=changes) if changes else before

    def _redact_mentions(self, model: M) -> M:
        """Clear notes and quotes about withheld files."""
        match model:
            case Finding(path=path) if self._withholds(path):
                return model.model_copy(update={"note": ""})
            case EvidencePointer(path=path) if self._withholds(path):
                return model.model_copy(update={"note": "", "quote": None})
            case CiCheck() if self._globs:
                cleared = {"summary": self._redact_log(model.summary), "log_tail": self._redact_log(model.log_tail)}
                return model.model_copy(update=cleared)
            case _:
                return model

    def _redact_log(self, log: str) -> str:
        """The log without lines that name a withheld file."""
        return "\n".join(
            WITHHELD_LINE if any(self._withholds(path) for path in _PATH.findall(line)) else line
            for line in log.split("\n")
        )

    def _redact_value(self, value: object, where: str) -> object:
        if type(value) is str:
            return self._redact_text(value, where)
        if isinstance(value, Frozen):
            return self.redact_model(value, where)
        if isinstance(value, tuple):
            items = cast("tuple[object, ...]", value)
            clean: list[object] = []
            for at, item in enumerate(items):
                key = next((key for name in _KEYS if (key := getattr(item, name, None)) is not None), at)
                clean.append(self._redact_value(item, f"{where}[{key}]"))
            return items if all(new is old for new, old in zip(clean, items, strict=True)) else tuple(clean)
        if isinstance(value, dict):
            entries = cast("dict[str, object]", value)
            redacted = {key: self._redact_value(entry, f"{where}.{key}") for key, entry in entries.items()}
            return entries if redacted == entries else redacted
        return value

    def _redact_text(self, text: str, where: str) -> str:
        clean = redact(text, self._known_secrets)
        self.secrets.update(clean.secrets)
        self.redactions += [Redaction(kind=kind, where=where, line=line) for line, kind in clean.secret_lines]
        return self._without_pieces(clean.text, where) if self._pieces else clean.text

    def _without_pieces(self, text: str, where: str) -> str:
        def replace_piece(match: "re.Match[str]") -> str:
            if match[0].rstrip(".\u2026") not in self._pieces:
                return match[0]
            self.redactions.append(Redaction(kind=SecretKind.SECRET, where=where, line=1))
            return SecretKind.SECRET.mark

        return _WORD.sub(replace_piece, text)

    def _redact_diff(self, text: str, where: str) -> str:
        """The diff without secrets and without hunks of withheld files; nothing of one that can't be read."""
        try:
            diff = diff_of(text)
        except DiffError:
            return ""
        clean = b"".join(self._redact_hunks(text.encode(), diff, where)).decode()
        return text if clean == text else clean

    def _redact_hunks(self, raw: bytes, diff: Diff, where: str) -> list[bytes]:
        """The diff in parts, hunk by hunk as they follow in the text."""
        pieces: list[bytes] = []
        done = 0
        for file in diff.files:
            hides = self._hides(file)
            for number, hunk in enumerate(file.hunks):
                start = raw.index(b"\n@@ ", max(0, done - 1)) + 1
                body = raw.index(b"\n", start) + 1
                pieces.append(raw[done:start])
                done = body + len(hunk.body)
                if not hides:
                    header, section = raw[start:body], self._redact_text(hunk.section, where)
                    if section is not hunk.section:
                        header = header.removesuffix(f"{hunk.section}\n".encode()) + f"{section}\n".encode()
                    pieces += [header, self._redact_body(hunk, f"{where}[{file.path}]")]
                elif not number:
                    pieces.append(_NO_TEXT)
        return [*pieces, raw[done:]]

    def _redact_body(self, hunk: Hunk, where: str) -> bytes:
        lines = hunk.lines
        clean = redact("\n".join(line.text for line in lines), self._known_secrets)
        self.secrets.update(clean.secrets)
        if not clean.secret_lines:
            return hunk.body
        for position, kind in clean.secret_lines:
            line = lines[position - 1]
            side = "" if line.head_line else " (base)"
            number = line.head_line or line.base_line or 1
            self.redactions.append(Redaction(kind=kind, where=f"{where}{side}", line=number))
        texts = iter(clean.text.split("\n"))
        rows = hunk.body.decode("utf-8", "replace").split("\n")[:-1]
        return "".join(f"{row if row.startswith(_NOTE) else row[:1] + next(texts)}\n" for row in rows).encode()


_DISTINCTIVE_LENGTH: Final = 8
MOST_KNOWN: Final = 50
"""Secrets that are searched for by value in every text; the rest is found by its form alone."""

_WORD: Final = pattern(r"[^\s\"'`,;:()<>\[\]]{6,512}+")

_NOTE: Final = "\\"
"""Starts a line of a hunk that is not part of the file."""


_SELECTORS: Final = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0), range(0x180B, 0x1810))
_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANK_LETTERS: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f")
_ASCII_SAFE: Final = pattern(r"[\t\n -~]*")


def redact_text(text: str) -> str:
    """Replace what looks like a secret, line by line."""
    return redact(text).text


def escape_hidden(text: str) -> str:
    """Escape every character that hides, reorders or moves text. Line breaks and tabs stay."""
    if _ASCII_SAFE.fullmatch(text):
        return text
    hidden = {ord(char): _escape(char) for char in set(text) if char not in "\t\n" and _is_hidden(char)}
    return text.translate(hidden) if hidden else text


def shown_path(path: str) -> str:
    """A path on one line, as the model reads and cites it."""
    return escape_hidden(redact_text(path)).replace("\t", "\\t").replace("\n", "\\n")


def _is_hidden(char: str) -> bool:
    if char.isascii():
        return not char.isprintable()
    return (
        unicodedata.category(char) in _HIDDEN_CATEGORIES
        or char in _BLANK_LETTERS
        or any(ord(char) in selectors for selectors in _SELECTORS)
    )


def _escape(char: str) -> str:
    code = ord(char)
    if code <= 0xFF:  # noqa: PLR2004 - two hex digits
        return {"\r": "\\r", "\x1b": "\\x1b"}.get(char, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - four hex digits


def cut_text(text: str, limit: int) -> str:
    """At most *limit* bytes of *text*, cut after a whole line where there is one, with a note of how much is left out."""
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= limit:
        return text
    kept = raw[:limit].decode("utf-8", "ignore")
    head, newline, _ = kept.rpartition("\n")
    kept = head if newline else kept
    left_out = len(raw) - len(kept.encode())
    return f"{kept}\n[cut here: {left_out} more bytes are not shown]"


@dataclass(frozen=True)
class PromptFence:
    """Marks that no fenced text contains: the word is made from the texts."""

    word: str

    @property
    def announcement(self) -> str:
        """The first line of a request, which names the word once."""
        return f"{_ANNOUNCEMENT}`{self.word}`."

    def enclose(self, label: str, text: str) -> str:
        """*text* between the marks. Paths in *label* have to be `shown_path`s."""
        return f"[[{self.word} begin: {label}]]\n{text}\n[[{self.word} end]]"


def read_fence(turn: str) -> PromptFence | None:
    """The fence that a request announces."""
    match = _ANNOUNCED_WORD.match(turn)
    return PromptFence(match[1]) if match else None


_ANNOUNCEMENT: Final = "In this request MARK is "
_ANNOUNCED_WORD: Final = pattern(rf"{_ANNOUNCEMENT}`([a-z]+)`\.\n")


def make_fence(seed: str, texts: Iterable[str]) -> PromptFence:
    """A fence that is new for every *seed* (an eval id), so that the authors of the texts can't guess it.

    Its word is a few letters, which are few tokens; a text that contains it gets another.
    """
    whole = "\n".join(texts)
    digest = hashlib.sha256(seed.encode())
    digest.update(whole.encode("utf-8", "surrogatepass"))
    word = _word(digest.digest())
    while word in whole:  # pragma: no cover - needs a text that holds its own hash
        word = _word(hashlib.sha256(word.encode()).digest())
    return PromptFence(word)


def _word(digest: bytes) -> str:
    return "".join(chr(ord("a") + byte % 26) for byte in digest[:WORD_LENGTH])


WORD_LENGTH: Final = 10
"""47 bits."""


NO_NEWLINE: Final = "  [no newline at the end of the file]"
STRETCHES_CUT: Final = "[cut here: {} of the {} stretches of this file are not shown]"


@dataclass(frozen=True)
class Stretch:
    """Consecutive lines of one file. `section`: git's heading of the place."""

    section: str
    lines: tuple[DiffLine, ...]


def stretch_of(hunk: Hunk) -> Stretch:
    return Stretch(hunk.section, hunk.lines)


def render_stretches(stretches: Iterable[Stretch]) -> str:
    """Lines with their numbers at head; a removed line (`-`) has its number in the base."""
    whole = tuple(stretches)
    texts = iter(escape_hidden("\n".join(line.text for stretch in whole for line in stretch.lines)).split("\n"))
    rows: list[str] = []
    for stretch in whole:
        rows.append(f"@@ {escape_hidden(stretch.section)}".rstrip())
        for line in stretch.lines:
            number = line.base_line if line.kind is LineKind.REMOVED else line.head_line
            rows.append(f"{number} {line.kind.value}{next(texts)}{'' if line.has_newline else NO_NEWLINE}")
    return "\n".join(rows)


def size_of_hunk(hunk: Hunk) -> int:
    """The most bytes that a hunk takes with its last line break, counted without splitting it into lines."""
    digits = len(str(max(hunk.base_start + hunk.base_count, hunk.head_start + hunk.head_count)))
    count = hunk.body.count(b"\n")
    text = len(escape_hidden(hunk.body.decode("utf-8", "replace")).encode())
    section = len(escape_hidden(hunk.section).encode())
    return text + count * (digits + 2) + section + 4 + len(NO_NEWLINE) * hunk.body.count(b"\n\\")


def describe_file(file: FileDiff, state: str) -> str:
    """A changed file's line in the list of all; lines are counted in the raw bytes."""
    moved = f', was "{shown_path(file.old_path)}"' if file.old_path else ""
    has_new_mode = file.old_mode and file.new_mode and file.old_mode != file.new_mode
    mode = f", mode {file.old_mode} -> {file.new_mode}" if has_new_mode else ""
    added, removed = (
        sum(hunk.body.count(b"\n" + mark) + hunk.body.startswith(mark) for hunk in file.hunks) for mark in (b"+", b"-")
    )
    return f'"{shown_path(file.path)}": {file.change}{moved}{mode}, +{added} -{removed}, {state}'
