"""What may leave this machine: a dossier and what code found about it, without secrets and without files never sent.

Everything that a question is built from goes through here first, whatever field it stands in, so that no part of a prompt
has to think of it. Does not fence and does not choose what is shown. Invariant: no text of a path that `never_send` matches
is left in any field, the number of lines of every other text stays, and each thing taken out is named in `redactions`.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Final, TypeVar

from worker.domain.dossier.dossier import CiCheck, Dossier, UnreadFile, UnreadReason
from worker.domain.dossier.never_send import is_withheld
from worker.domain.model import Frozen
from worker.domain.pattern import pattern
from worker.domain.value import Value
from worker.domain.verdict.opinion import HeuristicOpinion
from worker.domain.verdict.verdict import ClaimVerdict, EvidencePointer, Finding
from worker.dossier.diff.parser import Diff, DiffError, FileDiff, Hunk, diff_of
from worker.dossier.secrets import Redaction, SecretKind, conceal

M = TypeVar("M", bound=Frozen)

WITHHELD_LINE: Final = "[a line about a file that is never sent]"

_NOT_TEXTS: Final = frozenset({"path", "changed_lines", "diff"})
"""Paths are cleaned where they are shown, of changed lines there are hashes only, and a diff is read as one."""

_KEYS: Final = ("path", "number", "id", "name", "round")
_PATH: Final = pattern(r"[\w.@+/\\-]{1,400}")
_NO_TEXT: Final = b"Binary files differ\n"
"""How a diff says that it shows nothing of a file."""


class Sendable(Value):
    dossier: Dossier
    opinion: HeuristicOpinion
    claims: tuple[ClaimVerdict, ...]
    redactions: tuple[Redaction, ...]


def sendable(dossier: Dossier, opinion: HeuristicOpinion, claims: tuple[ClaimVerdict, ...]) -> Sendable:
    """Take out what must not leave. Of a dossier that holds nothing of that, the same values come back."""
    globs = dossier.policy.never_send if dossier.policy else ()
    sieve = _Sieve(globs)
    sent = sieve.dossier(dossier)
    if sieve.secrets:  # what its name gave away in one place stands without that name in another
        sieve = _Sieve(globs, sieve.secrets)
        sent = sieve.dossier(dossier)
        sieve.looks_for_pieces()
    said = tuple(sieve.model(one, "claims") for one in claims)
    return Sendable(sent, sieve.model(opinion, "heuristics"), said, tuple(sieve.redactions))


class _Sieve:
    """Goes through values, and writes down what it took out."""

    def __init__(self, globs: Sequence[str], known: Mapping[str, SecretKind] = MappingProxyType({})) -> None:
        self.redactions: list[Redaction] = []
        self.secrets: dict[str, SecretKind] = {}
        self._globs = globs
        self._known = dict(islice(((one, kind) for one, kind in known.items() if _is_telling(one, kind)), MOST_KNOWN))
        self._pieces = ""

    def looks_for_pieces(self) -> None:
        """From now on the texts are our own code's, which quotes what it read in pieces: of those no context is left."""
        self._pieces = "\n".join(self.secrets)

    def dossier(self, dossier: Dossier) -> Dossier:
        clean = self.model(self._without_withheld(dossier), "")
        changes: dict[str, object] = {"diff": self._diff(dossier.diff, "diff")}
        if dossier.seed is not None:
            changes["seed"] = dossier.seed.model_copy(update={"diff": self._diff(dossier.seed.diff, "seed.diff")})
        return clean.model_copy(update=changes)

    def _without_withheld(self, dossier: Dossier) -> Dossier:
        """Without the texts that are never sent; the changed ones among them are listed as unread."""
        if not self._globs:
            return dossier
        unread = (*dossier.files_unread, *self._unread(dossier))
        changes: dict[str, object] = {
            "files_unread": unread,
            "guidance": tuple(one for one in dossier.guidance if not self._withholds(one.path)),
        }
        if dossier.files is not None:
            changes["files"] = tuple(one for one in dossier.files if not self._withholds(one.path))
        return dossier.model_copy(update=changes)

    def _unread(self, dossier: Dossier) -> list[UnreadFile]:
        try:
            files = diff_of(dossier.diff).files
        except DiffError:
            return []
        known = {one.path for one in dossier.files_unread if one.reason is UnreadReason.NEVER_SEND}
        paths = dict.fromkeys(file.path for file in files if self._hides(file) and file.path not in known)
        return [UnreadFile(path=path, reason=UnreadReason.NEVER_SEND) for path in paths]

    def _hides(self, file: FileDiff) -> bool:
        return self._withholds(file.path) or (file.old_path is not None and self._withholds(file.old_path))

    def _withholds(self, path: str | None) -> bool:
        return path is not None and bool(self._globs) and is_withheld(path, self._globs)

    def model(self, model: M, where: str) -> M:
        """The same model where nothing is taken out of any of its fields."""
        before = self._told(model)
        changes: dict[str, object] = {}
        for name in type(before).model_fields:
            old: object = getattr(before, name)
            new = old if name in _NOT_TEXTS else self._any(old, f"{where}.{name}" if where else name)
            if new is not old:
                changes[name] = new
        return before.model_copy(update=changes) if changes else before

    def _told(self, model: M) -> M:
        """What is said about a file that is never sent may quote it."""
        match model:
            case Finding(path=path) if self._withholds(path):
                return model.model_copy(update={"note": ""})
            case EvidencePointer(path=path) if self._withholds(path):
                return model.model_copy(update={"note": "", "quote": None})
            case CiCheck() if self._globs:
                cleared = {"summary": self._about_others(model.summary), "log_tail": self._about_others(model.log_tail)}
                return model.model_copy(update=cleared)
            case _:
                return model

    def _about_others(self, log: str) -> str:
        """The log without the lines that name a file which is never sent."""
        return "\n".join(
            WITHHELD_LINE if any(self._withholds(found) for found in _PATH.findall(line)) else line
            for line in log.split("\n")
        )

    def _any(self, value: object, where: str) -> object:
        if type(value) is str:
            return self._text(value, where)
        if isinstance(value, Frozen):
            return self.model(value, where)
        if isinstance(value, tuple):
            return self._items(value, where)  # pyright: ignore[reportUnknownArgumentType] - a field holds values only
        if isinstance(value, dict):
            return self._entries(value, where)  # pyright: ignore[reportUnknownArgumentType] - as above
        return value

    def _items(self, items: tuple[object, ...], where: str) -> tuple[object, ...]:
        clean = tuple(self._any(one, f"{where}[{_key(one, at)}]") for at, one in enumerate(items))
        return items if all(new is old for new, old in zip(clean, items, strict=True)) else clean

    def _entries(self, entries: dict[str, object], where: str) -> dict[str, object]:
        clean = {key: self._any(one, f"{where}.{key}") for key, one in entries.items()}
        return entries if clean == entries else clean

    def _text(self, text: str, where: str) -> str:
        concealed = conceal(text, self._known)
        self.secrets.update(concealed.secrets)
        self.redactions += [Redaction(kind=kind, where=where, line=line) for line, kind in concealed.found]
        return self._without_pieces(concealed.text, where) if self._pieces else concealed.text

    def _without_pieces(self, text: str, where: str) -> str:
        def replaced(found: "re.Match[str]") -> str:
            if found[0].rstrip(".\u2026") not in self._pieces:
                return found[0]
            self.redactions.append(Redaction(kind=SecretKind.SECRET, where=where, line=1))
            return SecretKind.SECRET.mark

        return _WORD.sub(replaced, text)

    def _diff(self, text: str, where: str) -> str:
        """The diff with its secrets out and its hunks of withheld files gone; nothing of one that can't be read."""
        try:
            diff = diff_of(text)
        except DiffError:
            return ""
        clean = b"".join(self._rewritten(text.encode(), diff, where)).decode()
        return text if clean == text else clean

    def _rewritten(self, raw: bytes, diff: Diff, where: str) -> list[bytes]:
        """Walk over the hunks as they stand in the text."""
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
                    pieces += [self._header(raw[start:body], hunk, where), self._body(hunk, f"{where}[{file.path}]")]
                elif not number:
                    pieces.append(_NO_TEXT)
        return [*pieces, raw[done:]]

    def _header(self, line: bytes, hunk: Hunk, where: str) -> bytes:
        clean = self._text(hunk.section, where)
        return (
            line if clean is hunk.section else line.removesuffix(f"{hunk.section}\n".encode()) + f"{clean}\n".encode()
        )

    def _body(self, hunk: Hunk, where: str) -> bytes:
        lines = hunk.lines
        concealed = conceal("\n".join(line.text for line in lines), self._known)
        self.secrets.update(concealed.secrets)
        if not concealed.found:
            return hunk.body
        for position, kind in concealed.found:
            of = lines[position - 1]
            side = "" if of.head_line else " (base)"
            self.redactions.append(Redaction(kind=kind, where=f"{where}{side}", line=of.head_line or of.base_line or 1))
        texts = iter(concealed.text.split("\n"))
        rows = hunk.body.decode("utf-8", "replace").split("\n")[:-1]
        return "".join(f"{row if row.startswith(_NOTE) else row[:1] + next(texts)}\n" for row in rows).encode()


def _is_telling(secret: str, kind: SecretKind) -> bool:
    """Whether the same characters elsewhere are the same secret, and not a word; a key's lines are found with the key."""
    return len(secret) >= _TELLING and kind is not SecretKind.PRIVATE_KEY


_TELLING: Final = 8
MOST_KNOWN: Final = 50
"""Each is looked for in every text; whoever writes thousands into a change finds the rest by its form alone."""

_WORD: Final = pattern(r"[^\s\"'`,;:()<>\[\]]{6,512}+")

_NOTE: Final = "\\"
"""Begins a line of a hunk that is none of the file."""


def _key(item: object, position: int) -> object:
    """What an item of a list is called in a place."""
    return next((found for name in _KEYS if (found := getattr(item, name, None)) is not None), position)
