"""Redact a dossier and what code found in it: no secret and no file of `never_send` leaves this machine.

Every question is built from what comes out of here. No text of a withheld path is left in any field, the number of lines of
every other text stays, and each redaction is recorded.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Final, TypeVar, cast

from worker.domain.dossier import CiCheck, Dossier, UnreadFile, UnreadReason, is_withheld
from worker.domain.model import Frozen
from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import ClaimVerdict, EvidencePointer, Finding, HeuristicOpinion
from worker.dossier.diff.parser import Diff, DiffError, FileDiff, Hunk, diff_of
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
                    pieces += [
                        self._redact_header(raw[start:body], hunk, where),
                        self._redact_body(hunk, f"{where}[{file.path}]"),
                    ]
                elif not number:
                    pieces.append(_NO_TEXT)
        return [*pieces, raw[done:]]

    def _redact_header(self, line: bytes, hunk: Hunk, where: str) -> bytes:
        clean = self._redact_text(hunk.section, where)
        if clean is hunk.section:
            return line
        return line.removesuffix(f"{hunk.section}\n".encode()) + f"{clean}\n".encode()

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
