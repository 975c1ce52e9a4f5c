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
from worker.dossier.secrets import Redaction, SecretKind, redact

M = TypeVar("M", bound=Frozen)

WITHHELD_LINE: Final = "[a line about a file that is never sent]"

_NOT_TEXTS: Final = frozenset({"path", "changed_lines", "diff"})
"""Paths are cleaned where they are shown, of changed lines there are hashes only, and a diff is read as one."""

_KEYS: Final = ("path", "number", "id", "name", "round")
_PATH: Final = pattern(r"[\w.@+/\\-]{1,400}")
_NO_TEXT: Final = b"Binary files differ\n"
"""How a diff says that it shows nothing of a file."""


class RedactedDossier(Value):
    dossier: Dossier
    opinion: HeuristicOpinion
    claims: tuple[ClaimVerdict, ...]
    redactions: tuple[Redaction, ...]


def redact_dossier(dossier: Dossier, opinion: HeuristicOpinion, claims: tuple[ClaimVerdict, ...]) -> RedactedDossier:
    """Take out what must not leave. Of a dossier that holds nothing of that, the same values come back."""
    globs = dossier.policy.never_send if dossier.policy else ()
    sieve = _DossierRedactor(globs)
    sent = sieve.redact_dossier(dossier)
    if sieve.secrets:  # what its name gave away in one place stands without that name in another
        sieve = _DossierRedactor(globs, sieve.secrets)
        sent = sieve.redact_dossier(dossier)
        sieve.expect_quotes()
    redacted = tuple(sieve.redact_model(claim, "claims") for claim in claims)
    return RedactedDossier(sent, sieve.redact_model(opinion, "heuristics"), redacted, tuple(sieve.redactions))


class _DossierRedactor:
    """Goes through values, and writes down what it took out."""

    def __init__(self, globs: Sequence[str], known_secrets: Mapping[str, SecretKind] = MappingProxyType({})) -> None:
        self.redactions: list[Redaction] = []
        self.secrets: dict[str, SecretKind] = {}
        self._globs = globs
        self._known_secrets = dict(
            islice(
                ((secret, kind) for secret, kind in known_secrets.items() if _is_distinctive(secret, kind)), MOST_KNOWN
            )
        )
        self._pieces = ""

    def expect_quotes(self) -> None:
        """From now on the texts are our own code's, which quotes what it read in pieces: of those no context is left."""
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
        """Without the texts that are never sent; the changed ones among them are listed as unread."""
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
        try:
            files = diff_of(dossier.diff).files
        except DiffError:
            return []
        withheld = {file.path for file in dossier.files_unread if file.reason is UnreadReason.NEVER_SEND}
        paths = dict.fromkeys(file.path for file in files if self._hides(file) and file.path not in withheld)
        return [UnreadFile(path=path, reason=UnreadReason.NEVER_SEND) for path in paths]

    def _hides(self, file: FileDiff) -> bool:
        return self._withholds(file.path) or (file.old_path is not None and self._withholds(file.old_path))

    def _withholds(self, path: str | None) -> bool:
        return path is not None and bool(self._globs) and is_withheld(path, self._globs)

    def redact_model(self, model: M, path: str) -> M:
        """The same model where nothing is taken out of any of its fields."""
        before = self._redact_mentions(model)
        changes: dict[str, object] = {}
        for name in type(before).model_fields:
            old: object = getattr(before, name)
            new = old if name in _NOT_TEXTS else self._redact_value(old, f"{path}.{name}" if path else name)
            if new is not old:
                changes[name] = new
        return before.model_copy(update=changes) if changes else before

    def _redact_mentions(self, model: M) -> M:
        """What is said about a file that is never sent may quote it."""
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
        """The log without the lines that name a file which is never sent."""
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
            return self._redact_items(value, where)  # pyright: ignore[reportUnknownArgumentType] - a field holds values only
        if isinstance(value, dict):
            return self._redact_entries(value, where)  # pyright: ignore[reportUnknownArgumentType] - as above
        return value

    def _redact_items(self, items: tuple[object, ...], where: str) -> tuple[object, ...]:
        clean = tuple(self._redact_value(item, f"{where}[{_key(item, at)}]") for at, item in enumerate(items))
        return items if all(new is old for new, old in zip(clean, items, strict=True)) else clean

    def _redact_entries(self, entries: dict[str, object], where: str) -> dict[str, object]:
        clean = {key: self._redact_value(entry, f"{where}.{key}") for key, entry in entries.items()}
        return entries if clean == entries else clean

    def _redact_text(self, text: str, where: str) -> str:
        concealed = redact(text, self._known_secrets)
        self.secrets.update(concealed.secrets)
        self.redactions += [Redaction(kind=kind, where=where, line=line) for line, kind in concealed.secret_lines]
        return self._without_pieces(concealed.text, where) if self._pieces else concealed.text

    def _without_pieces(self, text: str, where: str) -> str:
        def replaced(match: "re.Match[str]") -> str:
            if match[0].rstrip(".\u2026") not in self._pieces:
                return match[0]
            self.redactions.append(Redaction(kind=SecretKind.SECRET, where=where, line=1))
            return SecretKind.SECRET.mark

        return _WORD.sub(replaced, text)

    def _redact_diff(self, text: str, where: str) -> str:
        """The diff with its secrets out and its hunks of withheld files gone; nothing of one that can't be read."""
        try:
            diff = diff_of(text)
        except DiffError:
            return ""
        clean = b"".join(self._redact_hunks(text.encode(), diff, where)).decode()
        return text if clean == text else clean

    def _redact_hunks(self, raw: bytes, diff: Diff, where: str) -> list[bytes]:
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
                    pieces += [
                        self._redact_header(raw[start:body], hunk, where),
                        self._redact_body(hunk, f"{where}[{file.path}]"),
                    ]
                elif not number:
                    pieces.append(_NO_TEXT)
        return [*pieces, raw[done:]]

    def _redact_header(self, line: bytes, hunk: Hunk, where: str) -> bytes:
        clean = self._redact_text(hunk.section, where)
        return (
            line if clean is hunk.section else line.removesuffix(f"{hunk.section}\n".encode()) + f"{clean}\n".encode()
        )

    def _redact_body(self, hunk: Hunk, where: str) -> bytes:
        lines = hunk.lines
        concealed = redact("\n".join(line.text for line in lines), self._known_secrets)
        self.secrets.update(concealed.secrets)
        if not concealed.secret_lines:
            return hunk.body
        for position, kind in concealed.secret_lines:
            of = lines[position - 1]
            side = "" if of.head_line else " (base)"
            self.redactions.append(Redaction(kind=kind, where=f"{where}{side}", line=of.head_line or of.base_line or 1))
        texts = iter(concealed.text.split("\n"))
        rows = hunk.body.decode("utf-8", "replace").split("\n")[:-1]
        return "".join(f"{row if row.startswith(_NOTE) else row[:1] + next(texts)}\n" for row in rows).encode()


def _is_distinctive(secret: str, kind: SecretKind) -> bool:
    """Whether the same characters elsewhere are the same secret, and not a word; a key's lines are found with the key."""
    return len(secret) >= _DISTINCTIVE_LENGTH and kind is not SecretKind.PRIVATE_KEY


_DISTINCTIVE_LENGTH: Final = 8
MOST_KNOWN: Final = 50
"""Each is looked for in every text; whoever writes thousands into a change finds the rest by its form alone."""

_WORD: Final = pattern(r"[^\s\"'`,;:()<>\[\]]{6,512}+")

_NOTE: Final = "\\"
"""Begins a line of a hunk that is none of the file."""


def _key(item: object, position: int) -> object:
    """What an item of a list is called in a place."""
    return next((key for name in _KEYS if (key := getattr(item, name, None)) is not None), position)
