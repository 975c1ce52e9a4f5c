"""Secrets that only their name gives away: `password = "..."`, `API_TOKEN: ...`, `--secret ...`, `Authorization: Bearer ...`.

Does not take every value of such a name for one: what is a placeholder, a look-up, a name or a sentence stays
(`entropy`). Invariant: only the value is taken out, never the name; after a value the search goes on behind it, so that
no text is looked at more often than its names are long.
"""

import re
from collections.abc import Iterator
from typing import Final

from worker.domain.pattern import pattern
from worker.dossier.secrets.entropy import is_password, is_random
from worker.dossier.secrets.redaction import SecretKind
from worker.dossier.secrets.span import SecretSpan

_NAME: Final = pattern(
    r"(?P<password>pass(?:w(?:or)?d|phrase)|pwd)|(?P<pass>(?<![a-z])pass(?![a-z]))|(?P<token>token|_auth\b)|(?P<secret>secret)"
    r"|(?P<credential>credential)|(?P<key>key)"
)
"""Held against folded text: without IGNORECASE the search is six times as fast."""

_KEY_OWNER: Final = pattern(
    r"(?:api|access|private|auth|account|shared|master|encryption|signing|crypto|cipher|hmac|storage|session|cookie|webhook"
    r"|licen[cs]e|service|client|deploy|app|admin|subscription|integration)[_ -]?$"
)
"""What stands before "key" where that is one to something."""

_REST: Final = pattern(r"[A-Za-z0-9_-]{0,40}+")
_NO_SECRET_NAME: Final = pattern(
    r"(?i)(?:^i[sz]e|(?:^|[_-]|(?<=[a-z])(?=[A-Z]))(?:hash(?:ed)?|sha\d{0,3}|digest|checksum|ids?|names?|ur[il]s?|paths?|files?|dir|type"
    r"|len(?:gth)?|size|count|limit|max|min|expir\w*|ttl|field|column|label|hint|placeholder|policy|pattern|regexp?|version|arn|ref"
    r"|status|state|error|message|text|title|test|index|prefix|suffix|format|class|color|colour)s?)$"
)
_CLOSE: Final = r"(?:\\?[\"'`])?\]?"
_TYPED: Final = pattern(rf"{_CLOSE}\??[ \t]?:[ \t]?[A-Za-z_][\w.\[\]| ]{{0,40}}+=[ \t]{{0,8}}+")
_ASSIGNED: Final = pattern(rf"{_CLOSE}[ \t]{{0,20}}+(?:=>|:=|\?=|:-|={{1,3}}|:(?!:)|!==?)[ \t]{{0,20}}+")
_MARKED: Final = pattern(r"[^<>\n]{0,60}+>\s{0,4}+(?=[^\s<])")
_PASSED: Final = pattern(rf"{_CLOSE}(?:[ \t]?[,(][ \t]{{0,8}}+|[ \t]{{1,4}}+)++(?=\\?[\"'`])")
_NEXT_LINE: Final = pattern(
    r"(?:\\?[\"'])?,?[ \t]*+\r?\n[ \t\"'+>-]{0,80}+value(?:\\?[\"'])?[ \t]{0,4}+[:=][ \t]{0,4}+", re.IGNORECASE
)
_FORMS: Final = (_ASSIGNED, _TYPED, _NEXT_LINE, _PASSED)
_STRONG: Final = 2
"""`pass` is a word like others: only what is plainly set to a value counts."""

_FLAG: Final = pattern(r"[ \t]{1,4}+(?=[^\s-])")
_QUOTED: Final = pattern(r"(?:[rbfuL@$]{0,2}\\?)([\"'`])(?P<value>[^\"'`\n\\]{6,512}+)")
_BARE: Final = pattern(r"(?P<value>[^\s\"'`,;<>(){}\[\]|&\\]{6,512}+)(?![(\[{])")
_HEADER: Final = pattern(
    r"(?i)\b(?:bearer|basic|apikey|(?P<word>token))[ \t]{1,4}+(?P<value>[A-Za-z0-9._~+/-]{16,}+={0,2})"
)
_HEX: Final = pattern(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def find_named_secrets(text: str) -> Iterator[SecretSpan]:
    """Every value that is secret by its name. Where one begins, no other is looked for inside."""
    folded = text.replace("\u0130", "I").lower()  # the one letter that becomes two when it is folded
    yield from _find_after_names(text, folded)
    if "bearer" in folded or "authorization" in folded:
        yield from _find_in_headers(text)
    if "login " in folded and "password " in folded:
        yield from _find_in_netrc(text)


def _find_after_names(text: str, folded: str) -> Iterator[SecretSpan]:
    at = 0
    while (name := _NAME.search(folded, at)) is not None:
        at = name.end()
        if folded.startswith(_MARKS, folded.rfind("[", max(0, name.start() - _LONGEST), name.start())):
            continue
        kind = _KINDS[name.lastgroup or ""]
        if kind is SecretKind.KEY and not _KEY_OWNER.search(folded[max(0, name.start() - 14) : name.start()]):
            continue
        rest = _REST.match(text, at)
        at = rest.end() if rest else at
        if rest and _NO_SECRET_NAME.search(rest[0]):
            continue
        is_secret = is_password if kind in _CHOSEN_KINDS else is_random
        for value in _candidate_values(text, name, at):
            if is_secret(value["value"]):
                yield SecretSpan(*value.span("value"), kind)
                at = value.end()
                break
            if len(value["value"]) > _RESCANNED_LENGTH:
                at = value.end()
                break


_MARKS: Final = tuple(kind.mark for kind in SecretKind)
_LONGEST: Final = max(map(len, _MARKS))
"""What stands in a mark is no name: a second look would find a value behind it."""

_KINDS: Final = {
    "password": SecretKind.PASSWORD,
    "pass": SecretKind.PASSWORD,
    "token": SecretKind.TOKEN,
    "secret": SecretKind.SECRET,
    "credential": SecretKind.CREDENTIAL,
    "key": SecretKind.KEY,
}
_CHOSEN_KINDS: Final = frozenset({SecretKind.PASSWORD, SecretKind.SECRET, SecretKind.CREDENTIAL})
"""What people choose by themselves; keys and tokens are drawn."""

_RESCANNED_LENGTH: Final = 64
"""A longer value that is no secret is not searched for names."""


def _candidate_values(text: str, name: "re.Match[str]", end: int) -> Iterator["re.Match[str]"]:
    """What may be the value of this name, the likeliest first."""
    for form in _FORMS[: _STRONG if name.lastgroup == "pass" else None]:
        between = form.match(text, end)
        value = _read_value(text, between.end()) if between else None
        if value is not None:
            yield value
    tagged = _MARKED.match(text, end) if "<" in text[max(0, name.start() - 40) : name.start()] else None
    flagged = _FLAG.match(text, end) if _is_flag(text, name) else None
    for between in (tagged, flagged):
        value = _read_value(text, between.end()) if between else None
        if value is not None:
            yield value


def _is_flag(text: str, name: "re.Match[str]") -> bool:
    """Whether this is an option, as in `--db-password`."""
    return "--" in text[max(0, name.start() - 30) : name.start()].rpartition(" ")[2]


def _read_value(text: str, at: int) -> "re.Match[str] | None":
    return _QUOTED.match(text, at) or _BARE.match(text, at)


def _find_in_headers(text: str) -> Iterator[SecretSpan]:
    for match in _HEADER.finditer(text):
        is_commit = match["word"] is not None and _HEX.fullmatch(match["value"])
        if is_random(match["value"]) and not is_commit:
            yield SecretSpan(*match.span("value"), SecretKind.CREDENTIAL)


_NETRC: Final = pattern(r"\blogin[ \t]{1,8}+\S{1,100}+\s{1,8}+password[ \t]{1,8}+(?P<value>\S{6,200}+)")


def _find_in_netrc(text: str) -> Iterator[SecretSpan]:
    for match in _NETRC.finditer(text):
        if is_password(match["value"]):
            yield SecretSpan(*match.span("value"), SecretKind.PASSWORD)
