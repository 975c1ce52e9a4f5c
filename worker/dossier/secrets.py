"""Find secrets in text that others wrote: by their shape, or by the name before something random.

Our own patterns, and not a library's, for what was measured on 1,000 seeded secrets and 1,000 look-alikes of
`tests/worker/dossier/secret_samples.py`: detect-secrets 1.5.0 (May 2024; Apache-2.0; 130 ms to import, and requests with it), the best
small one that is maintained, misses 389 of the secrets and reports 182 look-alikes, at 0.2 MB/s, and it names tainted lines where
we need to know what to take out of them. The others bring a trained model or a Go program, or send the text away. All texts are
searched before every question to a model; what is redacted by mistake is code that the judge can't read.

`redact` takes linear time, keeps the number of lines and takes no mark for a secret. No mark and no `Redaction` holds any
character of its secret.
"""

import base64
import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any, Final, NamedTuple, cast

from pydantic import Field

from worker.domain.model import Frozen
from worker.domain.pattern import pattern
from worker.dossier.entropy import is_password, is_placeholder, is_random


class SecretKind(StrEnum):
    """What a secret looks like; the mark in its place names it."""

    PRIVATE_KEY = "private key"
    AWS_KEY = "aws key"
    AZURE_KEY = "azure key"
    GOOGLE_KEY = "google key"
    GITHUB_TOKEN = "github token"  # noqa: S105 - a kind, not a secret
    GITLAB_TOKEN = "gitlab token"  # noqa: S105 - as above
    SLACK_TOKEN = "slack token"  # noqa: S105 - as above
    STRIPE_KEY = "stripe key"
    ANTHROPIC_KEY = "anthropic key"
    OPENAI_KEY = "openai key"
    PACKAGE_TOKEN = "package registry token"  # noqa: S105 - as above
    TWILIO_KEY = "twilio key"
    SENDGRID_KEY = "sendgrid key"
    MAILGUN_KEY = "mailgun key"
    SERVICE_TOKEN = "service token"  # noqa: S105 - as above
    JWT = "jwt"
    WEBHOOK = "webhook address"
    CREDENTIALS_IN_URL = "password in an address"
    PASSWORD = "password"  # noqa: S105 - as above
    KEY = "key"
    TOKEN = "token"  # noqa: S105 - as above
    SECRET = "secret"  # noqa: S105 - as above
    CREDENTIAL = "credential"

    @property
    def mark(self) -> str:
        """The text in its place."""
        return f"[redacted: {self.value}]"


class Redaction(Frozen):
    """One secret that was taken out.

    `where` names the field of the dossier (`issues[7].body`, `diff[src/a.py]`), and so holds paths that others chose;
    `line` counts in that text, from 1; of a diff it is the number of the line in its file.
    """

    kind: SecretKind
    where: str
    line: Annotated[int, Field(ge=1)]


class SecretSpan(NamedTuple):
    start: int
    end: int
    kind: SecretKind


class SecretPattern(NamedTuple):
    """One form. The secret is its group of that name, or all of it. `keywords`: a text without any holds no such secret."""

    kind: SecretKind
    keywords: tuple[str, ...]
    regex: "re.Pattern[str]"
    is_secret: Callable[[str], bool]


def find_pattern_secrets(text: str) -> Iterator[SecretSpan]:
    """Every secret of a known form."""
    for shape in dict.fromkeys([shape for word, shape in _KEYWORDS if word in text]):
        group = "secret" if "secret" in shape.regex.groupindex else 0
        for match in shape.regex.finditer(text):
            if shape.is_secret(match[group]):
                yield SecretSpan(*match.span(group), shape.kind)


def _is_real(secret: str) -> bool:
    """Whether it is neither an example of documentation nor a row of the same character."""
    return not _EXAMPLE.search(secret)


_EXAMPLE: Final = pattern(r"EXAMPLE|example|(?i:(?<![a-z])your[-_])|x{4}|X{4}|(.)\1{7}|\*{4}|\.{4}")


def _is_key_inside(encoded: str) -> bool:
    """Whether the encoded text is a private key, and no certificate."""
    return b"PRIVATE KEY" in base64.b64decode(encoded[:80] + "=" * (-len(encoded[:80]) % 4))


def _is_credential(word: str) -> bool:
    """Whether it is a password of an address: no default of a database, and no placeholder."""
    is_common = word.casefold() in _COMMON_PASSWORDS
    return not (is_common or _PLACEHOLDER.search(word) or is_placeholder(f"{word}{'~!' * 4}"))


def _is_login_inside(encoded: str) -> bool:
    """Whether the encoded text is a name and a password, as registries take them."""
    try:
        name, _, word = base64.b64decode(encoded, validate=True).decode().partition(":")
    except ValueError:
        return False
    return bool(name and word) and word.isprintable() and _is_credential(word)


_COMMON_PASSWORDS: Final = frozenset(
    {"postgres", "password", "passwd", "pass", "pwd", "root", "admin", "guest", "user", "test", "secret", "mysql"}
    | {"redis", "mongo", "rabbitmq", "minio", "minioadmin", "token", "changeme", "example", "foo", "bar"}
)
_PLACEHOLDER: Final = pattern(r"[${}<>%()\[\]]|\*{2}|\.{3}|(?i:^x+$|passw(?:or)?d|your)|^.{0,2}$")


def _form(kind: SecretKind, keywords: str, form: str, is_one: Callable[[str], bool] = _is_real) -> SecretPattern:
    return SecretPattern(kind, tuple(keywords.split()), pattern(form), is_one)


_L, _R = "(?<![A-Za-z0-9])", "(?![A-Za-z0-9])"
_HOOKS = r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9+/_-]{20,}+)"
_OFFICE = r"webhook\.office\.com/webhookb2/(?P<secret>[A-Za-z0-9@/-]{40,}+)"
_DISCORD = r"discord(?:app)?\.com/api/webhooks/(?P<secret>\d{10,20}/[A-Za-z0-9_-]{40,}+)"
_PAIR = r"A[KS]IA[A-Z0-9]{16}[^A-Za-z0-9\n]{1,12}(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"

SECRET_PATTERNS: Final = (
    _form(SecretKind.AWS_KEY, "AKIA ASIA ABIA ACCA", rf"{_L}A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{{16}}{_R}"),
    _form(SecretKind.AWS_KEY, "AKIA ASIA", _PAIR),
    _form(SecretKind.AWS_KEY, "ABSK", rf"{_L}ABSK[A-Za-z0-9+/]{{90,}}+={{0,2}}"),
    _form(
        SecretKind.AZURE_KEY,
        "AccountKey= SharedAccessKey=",
        r"(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{40,}+={0,2})",
    ),
    _form(SecretKind.AZURE_KEY, "sig=", r"[?&;]sig=(?P<secret>(?:[A-Za-z0-9+/]|%[0-9A-Fa-f]{2}){40,}+={0,2})"),
    _form(SecretKind.AZURE_KEY, "Q~", r"(?<![\w~.-])[\w~.-]{3}[78]Q~[\w~.-]{31,34}(?![\w~-])"),
    _form(SecretKind.AZURE_KEY, "AZDO", rf"{_L}[A-Za-z0-9]{{76}}AZDO[A-Za-z0-9]{{4}}{_R}"),
    _form(SecretKind.AZURE_KEY, "+ASt", r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{76}\+ASt[A-Za-z0-9+/]{6}=="),
    _form(SecretKind.GOOGLE_KEY, "AIza", rf"{_L}AIza[A-Za-z0-9_-]{{35}}(?![A-Za-z0-9_-])"),
    _form(SecretKind.GOOGLE_KEY, "GOCSPX-", rf"{_L}GOCSPX-[A-Za-z0-9_-]{{20,}}+"),
    _form(SecretKind.GOOGLE_KEY, "ya29.", rf"{_L}ya29\.[A-Za-z0-9_-]{{20,}}+"),
    _form(SecretKind.GOOGLE_KEY, "1//0", rf"{_L}1//0[A-Za-z0-9_-]{{30,}}+", is_random),
    _form(SecretKind.GITHUB_TOKEN, "ghs_", rf"{_L}ghs_\d{{1,20}}+_eyJ[\w-]{{8,}}+\.[\w-]{{8,}}+\.[\w-]{{8,}}+"),
    _form(SecretKind.GITHUB_TOKEN, "ghp_ gho_ ghu_ ghs_ ghr_", rf"{_L}gh[pousr]_[A-Za-z0-9]{{20,}}+"),
    _form(SecretKind.GITHUB_TOKEN, "github_pat_", rf"{_L}github_pat_[A-Za-z0-9_]{{20,}}+"),
    _form(
        SecretKind.GITLAB_TOKEN,
        "glpat- gldt- glptt- glrt- glcbt- glsoat- glimt- glagent- gloas- glft- glffct-",
        rf"{_L}gl(?:pat|dt|ptt|rt|cbt|soat|imt|agent|oas|ft|ffct)-[A-Za-z0-9_=.-]{{18,}}+",
    ),
    _form(SecretKind.GITLAB_TOKEN, "GR1348941", rf"{_L}GR1348941[A-Za-z0-9_-]{{18,}}+"),
    _form(SecretKind.SLACK_TOKEN, "xox", rf"{_L}xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{{10,}}+"),
    _form(SecretKind.SLACK_TOKEN, "xwfp-", rf"{_L}xwfp-[A-Za-z0-9-]{{10,}}+"),
    _form(SecretKind.SLACK_TOKEN, "xapp-", rf"{_L}xapp-\d-[A-Za-z0-9-]{{10,}}+"),
    _form(SecretKind.WEBHOOK, "hooks.slack.com", _HOOKS),
    _form(SecretKind.WEBHOOK, "webhook.office.com", _OFFICE),
    _form(SecretKind.WEBHOOK, "/api/webhooks/", _DISCORD),
    _form(
        SecretKind.STRIPE_KEY, "sk_live_ sk_test_ rk_live_ rk_test_", rf"{_L}[sr]k_(?:live|test)_[A-Za-z0-9]{{16,}}+"
    ),
    _form(SecretKind.STRIPE_KEY, "whsec_", rf"{_L}whsec_[A-Za-z0-9+/=]{{20,}}+"),
    _form(SecretKind.ANTHROPIC_KEY, "sk-ant-", rf"{_L}sk-ant-[A-Za-z0-9_-]{{10,}}+"),
    _form(SecretKind.OPENAI_KEY, "sk-", r"(?<![A-Za-z0-9_-])sk-(?!ant-)[A-Za-z0-9_-]{20,}+", is_random),
    _form(SecretKind.PACKAGE_TOKEN, "npm_", rf"{_L}npm_[A-Za-z0-9]{{36,}}+"),
    _form(SecretKind.PACKAGE_TOKEN, "pypi-", rf"{_L}pypi-[A-Za-z0-9_-]{{50,}}+"),
    _form(SecretKind.PACKAGE_TOKEN, "rubygems_", rf"{_L}rubygems_[0-9a-f]{{40,}}+"),
    _form(SecretKind.PACKAGE_TOKEN, "dckr_", rf"{_L}dckr_[op]at_[A-Za-z0-9_-]{{20,}}+"),
    _form(
        SecretKind.PACKAGE_TOKEN,
        "cio oy2 AKCp",
        rf"{_L}(?:cio[A-Za-z0-9]{{32}}|oy2[a-z0-9]{{43}}|AKCp[A-Za-z0-9]{{60,80}}){_R}",
        is_random,
    ),
    _form(SecretKind.TWILIO_KEY, "SK", rf"{_L}SK[0-9a-f]{{32}}{_R}"),
    _form(SecretKind.SENDGRID_KEY, "SG.", rf"{_L}SG\.[A-Za-z0-9_-]{{16,32}}+\.[A-Za-z0-9_-]{{30,64}}+"),
    _form(SecretKind.MAILGUN_KEY, "key-", rf"{_L}key-[0-9a-f]{{32}}{_R}"),
    _form(
        SecretKind.MAILGUN_KEY,
        "mailgun Mailgun MAILGUN",
        r"(?<![A-Za-z0-9-])[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![A-Za-z0-9-])",
    ),
    _form(SecretKind.SERVICE_TOKEN, "-us", rf"{_L}[0-9a-f]{{32}}-us\d{{1,2}}{_R}"),
    _form(
        SecretKind.SERVICE_TOKEN,
        "_v1_ shpat_ shpca_ shppa_ shpss_ sq0 dapi hvs. hvb. hvr. lin_ ntn_ secret_ hf_ r8_ glsa_ glc_ sntrys_ sntryu_ sbp_",
        rf"{_L}(?:do[opr]_v1_[0-9a-f]{{64}}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{{32}}|sq0[a-z]{{3}}-[\w-]{{22,}}+|dapi[0-9a-f]{{32}}"
        r"|hv[sbr]\.[\w-]{24,}+|lin_(?:api|oauth)_[A-Za-z0-9]{32,}+|ntn_[A-Za-z0-9]{40,}+|secret_[A-Za-z0-9]{43}|hf_[A-Za-z0-9]{30,}+"
        r"|r8_[A-Za-z0-9]{37}|glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_[A-Za-z0-9+/=]{32,}+|sntry[su]_[\w=+/]{40,}+|sbp_[0-9a-f]{40})",
    ),
    _form(
        SecretKind.SERVICE_TOKEN,
        "NRAK- pscale_ PMAK- AGE-SECRET-KEY-1 ATATT3 figd_ gsk_ xai- pplx- tskey- fm2_ dt0c01. LTAI HRKU- .atlasv1. dp.",
        rf"{_L}(?:NRAK-[A-Z0-9]{{27}}|pscale_(?:tkn|pw|oauth)_[\w.=-]{{32,}}+|PMAK-[0-9a-f]{{24}}-[0-9a-f]{{34}}"
        r"|AGE-SECRET-KEY-1[0-9A-Z]{58}|ATATT3[\w=-]{60,}+|figd_[\w-]{30,}+|gsk_[A-Za-z0-9]{40,}+|xai-[A-Za-z0-9]{60,}+"
        r"|pplx-[A-Za-z0-9]{40,}+|tskey-[a-z]{2,10}-[\w-]{20,}+|fm2_[A-Za-z0-9+/=]{60,}+|dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}"
        r"|LTAI[A-Za-z0-9]{16,20}(?![A-Za-z0-9])|HRKU-[\w-]{36,}+|[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}+"
        r"|dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,}+)",
    ),
    _form(
        SecretKind.SERVICE_TOKEN,
        "pul- nfp_ nfc_ nfo_ nfb_ nfu_ sb_secret_ fo1_ ATCTT3 NRII- NRJS- dose CFPAT- xkeysib- bkua_ CCIPAT_ sgp_ pnu_"
        " cmVmdGtu sha256~ sk.eyJ eyJrIjoi ops_eyJ",
        rf"{_L}(?:pul-[0-9a-f]{{40}}{_R}|nf[pcobu]_[A-Za-z0-9]{{36,}}+|sb_secret_[\w-]{{20,}}+|fo1_[\w-]{{43}}|ATCTT3[\w=-]{{60,}}+"
        r"|NRII-[\w-]{32}|NRJS-[0-9a-f]{19}|dose[0-9a-f]{32}(?![A-Za-z0-9])|CFPAT-[\w-]{43}"
        r"|xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}|bkua_[0-9a-f]{40}|CCIPAT_[A-Za-z0-9]{22}_[0-9a-f]{40}"
        r"|sgp_(?:[0-9a-f]{16}_)?[0-9a-f]{40}|pnu_[A-Za-z0-9]{36}|cmVmdGtu[A-Za-z0-9]{56}|sha256~[\w-]{43}"
        r"|sk\.eyJ[\w-]{20,}+\.[\w-]{20,}+|eyJrIjoi[A-Za-z0-9+/]{40,}+={0,2}|ops_eyJ[\w=-]{100,}+)",
    ),
    _form(SecretKind.SERVICE_TOKEN, "NRAL", rf"{_L}[A-Za-z0-9]{{36}}NRAL{_R}", is_random),
    _form(SecretKind.AZURE_KEY, "JQQJ9", rf"{_L}[A-Za-z0-9]{{52}}JQQJ9[A-Za-z0-9]{{27}}{_R}", is_random),
    _form(
        SecretKind.SERVICE_TOKEN,
        "lsv2_ pcsk_ phx_ phs_ AQ.Ab",
        rf"{_L}(?:lsv2_(?:pt|sk)_[0-9a-f]{{32}}_[0-9a-f]{{10}}|pcsk_[A-Za-z0-9]{{4,8}}_[A-Za-z0-9]{{40,}}+|ph[xs]_[A-Za-z0-9]{{40,}}+"
        r"|AQ\.Ab[\w-]{30,}+)",
        is_random,
    ),
    _form(SecretKind.SERVICE_TOKEN, "re_", rf"re_(?<!\wre_)[A-Za-z0-9]{{8}}_[A-Za-z0-9]{{24}}{_R}", is_random),
    _form(SecretKind.SERVICE_TOKEN, "pat", rf"pat(?<!\wpat)[A-Za-z0-9]{{14}}\.[0-9a-f]{{64}}{_R}", is_random),
    _form(
        SecretKind.SERVICE_TOKEN,
        "ATBB EAAA",
        r"(?<![\w+/-])(?:ATBB[A-Za-z0-9]{24,32}|EAAA[\w-]{60})(?![\w+/=-])",
        is_random,
    ),
    _form(SecretKind.SERVICE_TOKEN, ":AA", r"(?<![A-Za-z0-9])\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
    _form(
        SecretKind.SERVICE_TOKEN,
        "discord Discord DISCORD bot Bot BOT",
        r"(?<![A-Za-z0-9_.-])[MNO][A-Za-z0-9_-]{23,27}+\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}+",
        is_random,
    ),
    _form(
        SecretKind.JWT,
        "eyJ",
        r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\.(?:eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?"
        r"|[A-Za-z0-9_-]*+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{8,}+)",
    ),
    _form(
        SecretKind.PRIVATE_KEY,
        "LS0tLS1CRUdJTi",
        r"(?<![A-Za-z0-9+/])LS0tLS1CRUdJTi[A-Za-z0-9+/]{60,}+={0,2}",
        _is_key_inside,
    ),
    _form(SecretKind.PRIVATE_KEY, '"kty"', r'"(?:d|p|q|dp|dq|qi|k)"\s{0,4}:\s{0,4}"(?P<secret>[A-Za-z0-9_-]{32,}+)"'),
    _form(
        SecretKind.CREDENTIALS_IN_URL,
        "://",
        r"://[^\s/?#:@\"'<>\\]{0,200}+:(?P<secret>[^\s/@\"'<>\\]{1,200}+)@(?=[\w\[$%{-])",
        _is_credential,
    ),
    _form(SecretKind.CREDENTIALS_IN_URL, "://", r"://(?P<secret>[A-Za-z0-9_-]{20,200}+)@(?=\w)", is_random),
    _form(
        SecretKind.CREDENTIAL,
        '"auth"',
        r'"auth"\s{0,4}:\s{0,4}"(?P<secret>[A-Za-z0-9+/]{8,1000}+={0,2})"',
        _is_login_inside,
    ),
    _form(
        SecretKind.PASSWORD,
        "curl",
        r"(?<![\w-])(?:-u|--user)[ =]?[\"']?[\w.@+-]{1,64}:(?P<secret>[^\s\"'\\]{6,200}+)",
        is_password,
    ),
)
"""Searched in this order: of two at the same place the first gives the mark."""

_KEYWORDS: Final = tuple((word, shape) for shape in SECRET_PATTERNS for word in shape.keywords)
"""Hardly any text holds one of them, and each is searched in every line that is judged or shown."""


_BEGINS: Final = pattern(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_ENDS: Final = pattern(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_RUN: Final = pattern(r"(?:\\+[rn]|[\s\"'`,])*+([A-Za-z0-9+/=]{16,}+)")
_LONG_RUN: Final = pattern(r"[A-Za-z0-9+/=]{16,}+")
_BODY: Final = pattern(r"[\s\"'`#>|*]*+(?://\s)?([A-Za-z0-9+/=]++)(?:\\+[nr])*+[\s\"'`,;)\\+]*+")
_KEY_HEADER: Final = pattern(r"[\s\"'`#>|*]*+(?:[A-Z][A-Za-z-]{2,30}+: [^\n]{0,200}+)?")
_PUTTY: Final = pattern(r"Private-Lines: (\d{1,4})\s*")
_SHORTEST: Final = 16
_MOST_SHORT_LINES: Final = 2
"""So many last lines may be shorter."""

_HEADERS: Final = 8
"""Most lines of a key's head (`Proc-Type: ...`, empty ones) before its body."""


def find_private_keys(text: str) -> Iterator[SecretSpan]:
    """Every run of a private key's body."""
    if "PRIVATE KEY" in text:
        yield from _KeyBlocks(text).spans()
    if "Private-Lines: " in text:
        yield from _find_putty_keys(text)


class _KeyBlocks:
    """One pass over the lines. `_open`: how many lines of head may still come before the body; None outside of a key."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._open: int | None = None
        self._closed = -1

    def spans(self) -> Iterator[SecretSpan]:
        starts = [0]
        for line in self._lines:
            starts.append(starts[-1] + len(line) + 1)
        for number in range(len(self._lines)):
            for line, start, end in self._scan_line(number):
                yield SecretSpan(starts[line] + start, starts[line] + end, SecretKind.PRIVATE_KEY)

    def _scan_line(self, number: int) -> Iterator[tuple[int, int, int]]:
        line = self._lines[number]
        if "PRIVATE KEY" not in line:
            yield from () if self._open is None else self._body(number, line)
            return
        begins, ends = _BEGINS.search(line), _ENDS.search(line)
        if ends is not None and (begins is None or ends.start() < begins.start()):
            # what goes on without a break up to the end of a key that began above, or nowhere
            start = len(line[: ends.start()].rstrip(_OF_BODY))
            if _LONG_RUN.search(line, start, ends.start()) is not None:
                yield number, start, ends.start()
            yield from self._scan_above(number) if self._open is None else ()
        if ends is not None:
            self._open, self._closed = None, number
        if begins is not None:
            yield from ((number, *run) for run in self._in_line(line, begins))

    def _in_line(self, line: str, begins: "re.Match[str] | None") -> Iterator[tuple[int, int]]:
        """The bodies of all keys that begin in this line; the last may go on below."""
        while begins is not None:
            start = begins.end()
            ends = _ENDS.search(line, start)
            yield from _find_within_line(line, start, ends)
            self._open = _HEADERS if ends is None else None
            begins = None if ends is None else _BEGINS.search(line, ends.end())

    def _body(self, number: int, line: str) -> Iterator[tuple[int, int, int]]:
        match = _BODY.fullmatch(line)
        # a key's last lines are short: the rest of the body, and a PGP block's checksum
        is_last = any("PRIVATE KEY" in below for below in self._lines[number + 1 : number + 1 + _MOST_SHORT_LINES])
        if match and (len(match[1]) >= _SHORTEST or is_last):
            yield number, *match.span(1)
        elif self._open and _KEY_HEADER.fullmatch(line):
            self._open -= 1
        else:
            self._open = None

    def _scan_above(self, number: int) -> Iterator[tuple[int, int, int]]:
        """Of a key whose end alone is shown, the lines above that are nothing but its body."""
        short: list[tuple[int, int, int]] = []  # the rest of the body and a checksum: theirs only below a line of it
        for above in range(number - 1, self._closed, -1):
            match = _BODY.fullmatch(self._lines[above])
            if match is None or (len(match[1]) < _SHORTEST and number - above > _MOST_SHORT_LINES):
                return
            short.append((above, *match.span(1)))
            if len(match[1]) >= _SHORTEST:
                yield from short
                short.clear()


def _find_within_line(line: str, start: int, ends: "re.Match[str] | None") -> Iterator[tuple[int, int]]:
    """The body in one line with the key's beginning, up to its end or as far as it goes on."""
    if ends is not None:
        body = _LONG_RUN.search(line, start, ends.start())
        if body is not None:
            yield start, ends.start()
        return
    while (match := _RUN.match(line, start)) is not None:
        yield match.span(1)
        start = match.end()


_OF_BODY: Final = f"{string.ascii_letters}{string.digits}+/=\\"


def _find_putty_keys(text: str) -> Iterator[SecretSpan]:
    left = at = 0
    for line in text.split("\n"):
        if left:
            left -= 1
            if line.strip():
                yield SecretSpan(at, at + len(line), SecretKind.PRIVATE_KEY)
        elif match := _PUTTY.fullmatch(line):
            left = int(match[1])
        at += len(line) + 1


_NAME: Final = pattern(
    r"(?P<password>pass(?:w(?:or)?d|phrase)|pwd)|(?P<pass>(?<![a-z])pass(?![a-z]))|(?P<token>token|_auth\b)|(?P<secret>secret)"
    r"|(?P<credential>credential)|(?P<key>key)"
)
"""Held against folded text: without IGNORECASE the search is six times as fast."""

_KEY_OWNER: Final = pattern(
    r"(?:api|access|private|auth|account|shared|master|encryption|signing|crypto|cipher|hmac|storage|session|cookie|webhook"
    r"|licen[cs]e|service|client|deploy|app|admin|subscription|integration)[_ -]?$"
)
"""The word before "key" where that is one to something."""

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
"""How many forms count for `pass`, a word like others: those that plainly set a value."""

_FLAG: Final = pattern(r"[ \t]{1,4}+(?=[^\s-])")
_QUOTED: Final = pattern(r"(?:[rbfuL@$]{0,2}\\?)([\"'`])(?P<value>[^\"'`\n\\]{6,512}+)")
_BARE: Final = pattern(r"(?P<value>[^\s\"'`,;<>(){}\[\]|&\\]{6,512}+)(?![(\[{])")
_HEADER: Final = pattern(
    r"(?i)\b(?:bearer|basic|apikey|(?P<word>token))[ \t]{1,4}+(?P<value>[A-Za-z0-9._~+/-]{16,}+={0,2})"
)
_HEX: Final = pattern(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NETRC: Final = pattern(r"\blogin[ \t]{1,8}+\S{1,100}+\s{1,8}+password[ \t]{1,8}+(?P<value>\S{6,200}+)")


def find_named_secrets(text: str) -> Iterator[SecretSpan]:
    """Every value that is secret by its name, never the name: `password = "..."`, `--secret ...`, `Authorization: Bearer ...`.

    A placeholder, a look-up, a name or a sentence stays. The search goes on behind a value, so that no text is read more often
    than its names are long.
    """
    folded = text.replace("\u0130", "I").lower()  # the one letter that becomes two when it is folded
    yield from _find_after_names(text, folded)
    for match in _HEADER.finditer(text) if "bearer" in folded or "authorization" in folded else ():
        is_commit = match["word"] is not None and _HEX.fullmatch(match["value"])
        if is_random(match["value"]) and not is_commit:
            yield SecretSpan(*match.span("value"), SecretKind.CREDENTIAL)
    for match in _NETRC.finditer(text) if "login " in folded and "password " in folded else ():
        if is_password(match["value"]):
            yield SecretSpan(*match.span("value"), SecretKind.PASSWORD)


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
"""A word in a mark is no name: a second pass would find a value behind it."""

_KINDS: Final = {
    "password": SecretKind.PASSWORD,
    "pass": SecretKind.PASSWORD,
    "token": SecretKind.TOKEN,
    "secret": SecretKind.SECRET,
    "credential": SecretKind.CREDENTIAL,
    "key": SecretKind.KEY,
}
_CHOSEN_KINDS: Final = frozenset({SecretKind.PASSWORD, SecretKind.SECRET, SecretKind.CREDENTIAL})
"""Chosen by people; keys and tokens are drawn."""

_RESCANNED_LENGTH: Final = 64
"""A longer value that is no secret is not searched for names."""


def _candidate_values(text: str, name: "re.Match[str]", end: int) -> Iterator["re.Match[str]"]:
    """The possible values of this name, the likeliest first."""
    forms = [*_FORMS[: _STRONG if name.lastgroup == "pass" else None]]
    if "<" in text[max(0, name.start() - 40) : name.start()]:
        forms.append(_MARKED)
    if "--" in text[max(0, name.start() - 30) : name.start()].rpartition(" ")[2]:  # an option, as in `--db-password`
        forms.append(_FLAG)
    for form in forms:
        between = form.match(text, end)
        value = (_QUOTED.match(text, between.end()) or _BARE.match(text, between.end())) if between else None
        if value is not None:
            yield value


class SecretLine(NamedTuple):
    line: int
    kind: SecretKind


@dataclass(frozen=True)
class RedactedText:
    """`secret_lines` names the line of each secret, counted from 1, and its kind, in order.

    `secrets` are the removed texts, to be searched for elsewhere and never to be stored.
    """

    text: str
    secret_lines: tuple[SecretLine, ...] = ()
    secrets: Mapping[str, SecretKind] = field(default_factory=dict[str, SecretKind])


def redact(text: str, known_secrets: Mapping[str, SecretKind] = MappingProxyType({})) -> RedactedText:
    """Replace what looks like a secret, and *known_secrets* wherever they occur."""
    searches = (find_private_keys, find_pattern_secrets, find_named_secrets)
    unmerged = [span for search in searches for span in search(text)]
    for secret, kind in known_secrets.items():
        at = text.find(secret)
        while at >= 0:
            unmerged.append(SecretSpan(at, at + len(secret), kind))
            at = text.find(secret, at + len(secret))
    spans = list(_merge_overlaps(unmerged))
    if not spans:
        return RedactedText(text)
    pieces: list[str] = []
    lines: list[SecretLine] = []
    done, line = 0, 1
    for start, end, kind in spans:
        before = text[done:start]
        line += before.count("\n")
        lines.append(SecretLine(line, kind))
        pieces += [before, kind.mark]
        done = end
    secrets = {text[start:end]: kind for start, end, kind in spans}
    return RedactedText("".join([*pieces, text[done:]]), tuple(lines), secrets)


def _merge_overlaps(spans: Iterable[SecretSpan]) -> Iterator[SecretSpan]:
    """Join spans that overlap to one, of the kind that was searched first."""
    waiting: SecretSpan | None = None
    for span in sorted(spans, key=lambda span: span.start):
        if waiting is None or span.start >= waiting.end:
            if waiting is not None:
                yield waiting
            waiting = span
        elif span.end > waiting.end:
            waiting = waiting._replace(end=span.end)
    if waiting is not None:
        yield waiting


ID_FIELDS: Final = frozenset(
    {"eval_id", "parent_eval_id", "carried_from", "head_sha", "fingerprint", "created_at", "judge_cost_usd"}
    | {"rubric_hash", "rubric_version", "prompt_version", "system", "form", "request_id", "outcome"}
)
"""Fields of verdicts and of audits that hold hashes, ids, figures and our own words."""

WORD_PATTERN: Final = pattern(r"[a-z_]{0,30}")
"""A word of a closed set: searching it for secrets would take a while."""


def redact_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Redact each text of a record, as JSON has it; hashes, ids and figures, which look like secrets, stay."""
    return {name: value if name in ID_FIELDS else _redact_value(value) for name, value in fields.items()}


def _redact_value(value: object) -> Any:
    match value:
        case str():
            return value if WORD_PATTERN.fullmatch(value) else redact(value).text
        case list():
            return [_redact_value(item) for item in cast("list[object]", value)]
        case dict():
            return redact_fields(cast("dict[str, Any]", value))
        case _:
            return value
