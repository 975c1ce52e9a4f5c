"""Secrets that show what they are: the prefixes and forms that services give their keys, so that scanners find them.

Does not look at names around them (`named` does). Invariant: an expression begins with characters that its run can't be
entered at a second time, or is bounded, so that no text takes more than linear time; none is compiled before a text holds one
of the words that its secrets must have.
"""

import base64
import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from worker.domain.pattern import pattern
from worker.dossier.secrets.entropy import is_password, is_placeholder, is_random
from worker.dossier.secrets.redaction import SecretKind
from worker.dossier.secrets.span import SecretSpan


class SecretPattern(NamedTuple):
    """One form. What is secret in it is the group of that name, or all of it. `keywords`: without one of them, there is none."""

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
    """Not the example of a service's own documentation, and not a row of the same character."""
    return not _EXAMPLE.search(secret)


_EXAMPLE: Final = pattern(r"EXAMPLE|example|(?i:(?<![a-z])your[-_])|x{4}|X{4}|(.)\1{7}|\*{4}|\.{4}")


def _is_key_inside(encoded: str) -> bool:
    """What is packed is a private key, and no certificate."""
    return b"PRIVATE KEY" in base64.b64decode(encoded[:80] + "=" * (-len(encoded[:80]) % 4))


def _is_credential(word: str) -> bool:
    """A password of an address: not the account that everybody's database has, and not a hole to fill."""
    return (
        word.casefold() not in _COMMON_PASSWORDS
        and not _PLACEHOLDER.search(word)
        and not is_placeholder(f"{word}{'~!' * 4}")
    )


def _is_login_inside(encoded: str) -> bool:
    """What is packed is a name and a password, as registries are given them."""
    try:
        name, _, word = base64.b64decode(encoded, validate=True).decode().partition(":")
    except ValueError:
        return False
    return bool(name and word) and word.isprintable() and _is_credential(word)


_COMMON_PASSWORDS: Final = frozenset(
    {"postgres", "password", "passwd", "pass", "pwd", "root", "admin", "guest", "user", "test"}
) | {
    "secret",
    "mysql",
    "redis",
    "mongo",
    "rabbitmq",
    "minio",
    "minioadmin",
    "token",
    "changeme",
    "example",
    "foo",
    "bar",
}
_PLACEHOLDER: Final = pattern(r"[${}<>%()\[\]]|\*{2}|\.{3}|(?i:^x+$|passw(?:or)?d|your)|^.{0,2}$")


def _build_pattern(
    kind: SecretKind, keywords: str, form: str, is_one: Callable[[str], bool] = _is_real
) -> SecretPattern:
    return SecretPattern(kind, tuple(keywords.split()), pattern(form), is_one)


_L, _R = "(?<![A-Za-z0-9])", "(?![A-Za-z0-9])"
_HOOKS = r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9+/_-]{20,}+)"
_OFFICE = r"webhook\.office\.com/webhookb2/(?P<secret>[A-Za-z0-9@/-]{40,}+)"
_DISCORD = r"discord(?:app)?\.com/api/webhooks/(?P<secret>\d{10,20}/[A-Za-z0-9_-]{40,}+)"
_PAIR = r"A[KS]IA[A-Z0-9]{16}[^A-Za-z0-9\n]{1,12}(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"

SECRET_PATTERNS: Final = (
    _build_pattern(SecretKind.AWS_KEY, "AKIA ASIA ABIA ACCA", rf"{_L}A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{{16}}{_R}"),
    _build_pattern(SecretKind.AWS_KEY, "AKIA ASIA", _PAIR),
    _build_pattern(SecretKind.AWS_KEY, "ABSK", rf"{_L}ABSK[A-Za-z0-9+/]{{90,}}+={{0,2}}"),
    _build_pattern(
        SecretKind.AZURE_KEY,
        "AccountKey= SharedAccessKey=",
        r"(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{40,}+={0,2})",
    ),
    _build_pattern(SecretKind.AZURE_KEY, "sig=", r"[?&;]sig=(?P<secret>(?:[A-Za-z0-9+/]|%[0-9A-Fa-f]{2}){40,}+={0,2})"),
    _build_pattern(SecretKind.AZURE_KEY, "Q~", r"(?<![\w~.-])[\w~.-]{3}[78]Q~[\w~.-]{31,34}(?![\w~-])"),
    _build_pattern(SecretKind.AZURE_KEY, "AZDO", rf"{_L}[A-Za-z0-9]{{76}}AZDO[A-Za-z0-9]{{4}}{_R}"),
    _build_pattern(SecretKind.AZURE_KEY, "+ASt", r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{76}\+ASt[A-Za-z0-9+/]{6}=="),
    _build_pattern(SecretKind.GOOGLE_KEY, "AIza", rf"{_L}AIza[A-Za-z0-9_-]{{35}}(?![A-Za-z0-9_-])"),
    _build_pattern(SecretKind.GOOGLE_KEY, "GOCSPX-", rf"{_L}GOCSPX-[A-Za-z0-9_-]{{20,}}+"),
    _build_pattern(SecretKind.GOOGLE_KEY, "ya29.", rf"{_L}ya29\.[A-Za-z0-9_-]{{20,}}+"),
    _build_pattern(SecretKind.GOOGLE_KEY, "1//0", rf"{_L}1//0[A-Za-z0-9_-]{{30,}}+", is_random),
    _build_pattern(
        SecretKind.GITHUB_TOKEN, "ghs_", rf"{_L}ghs_\d{{1,20}}+_eyJ[\w-]{{8,}}+\.[\w-]{{8,}}+\.[\w-]{{8,}}+"
    ),
    _build_pattern(SecretKind.GITHUB_TOKEN, "ghp_ gho_ ghu_ ghs_ ghr_", rf"{_L}gh[pousr]_[A-Za-z0-9]{{20,}}+"),
    _build_pattern(SecretKind.GITHUB_TOKEN, "github_pat_", rf"{_L}github_pat_[A-Za-z0-9_]{{20,}}+"),
    _build_pattern(
        SecretKind.GITLAB_TOKEN,
        "glpat- gldt- glptt- glrt- glcbt- glsoat- glimt- glagent- gloas- glft- glffct-",
        rf"{_L}gl(?:pat|dt|ptt|rt|cbt|soat|imt|agent|oas|ft|ffct)-[A-Za-z0-9_=.-]{{18,}}+",
    ),
    _build_pattern(SecretKind.GITLAB_TOKEN, "GR1348941", rf"{_L}GR1348941[A-Za-z0-9_-]{{18,}}+"),
    _build_pattern(SecretKind.SLACK_TOKEN, "xox", rf"{_L}xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{{10,}}+"),
    _build_pattern(SecretKind.SLACK_TOKEN, "xwfp-", rf"{_L}xwfp-[A-Za-z0-9-]{{10,}}+"),
    _build_pattern(SecretKind.SLACK_TOKEN, "xapp-", rf"{_L}xapp-\d-[A-Za-z0-9-]{{10,}}+"),
    _build_pattern(SecretKind.WEBHOOK, "hooks.slack.com", _HOOKS),
    _build_pattern(SecretKind.WEBHOOK, "webhook.office.com", _OFFICE),
    _build_pattern(SecretKind.WEBHOOK, "/api/webhooks/", _DISCORD),
    _build_pattern(
        SecretKind.STRIPE_KEY, "sk_live_ sk_test_ rk_live_ rk_test_", rf"{_L}[sr]k_(?:live|test)_[A-Za-z0-9]{{16,}}+"
    ),
    _build_pattern(SecretKind.STRIPE_KEY, "whsec_", rf"{_L}whsec_[A-Za-z0-9+/=]{{20,}}+"),
    _build_pattern(SecretKind.ANTHROPIC_KEY, "sk-ant-", rf"{_L}sk-ant-[A-Za-z0-9_-]{{10,}}+"),
    _build_pattern(SecretKind.OPENAI_KEY, "sk-", r"(?<![A-Za-z0-9_-])sk-(?!ant-)[A-Za-z0-9_-]{20,}+", is_random),
    _build_pattern(SecretKind.PACKAGE_TOKEN, "npm_", rf"{_L}npm_[A-Za-z0-9]{{36,}}+"),
    _build_pattern(SecretKind.PACKAGE_TOKEN, "pypi-", rf"{_L}pypi-[A-Za-z0-9_-]{{50,}}+"),
    _build_pattern(SecretKind.PACKAGE_TOKEN, "rubygems_", rf"{_L}rubygems_[0-9a-f]{{40,}}+"),
    _build_pattern(SecretKind.PACKAGE_TOKEN, "dckr_", rf"{_L}dckr_[op]at_[A-Za-z0-9_-]{{20,}}+"),
    _build_pattern(
        SecretKind.PACKAGE_TOKEN,
        "cio oy2 AKCp",
        rf"{_L}(?:cio[A-Za-z0-9]{{32}}|oy2[a-z0-9]{{43}}|AKCp[A-Za-z0-9]{{60,80}}){_R}",
        is_random,
    ),
    _build_pattern(SecretKind.TWILIO_KEY, "SK", rf"{_L}SK[0-9a-f]{{32}}{_R}"),
    _build_pattern(SecretKind.SENDGRID_KEY, "SG.", rf"{_L}SG\.[A-Za-z0-9_-]{{16,32}}+\.[A-Za-z0-9_-]{{30,64}}+"),
    _build_pattern(SecretKind.MAILGUN_KEY, "key-", rf"{_L}key-[0-9a-f]{{32}}{_R}"),
    _build_pattern(
        SecretKind.MAILGUN_KEY,
        "mailgun Mailgun MAILGUN",
        r"(?<![A-Za-z0-9-])[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![A-Za-z0-9-])",
    ),
    _build_pattern(SecretKind.SERVICE_TOKEN, "-us", rf"{_L}[0-9a-f]{{32}}-us\d{{1,2}}{_R}"),
    _build_pattern(
        SecretKind.SERVICE_TOKEN,
        "_v1_ shpat_ shpca_ shppa_ shpss_ sq0 dapi hvs. hvb. hvr. lin_ ntn_ secret_ hf_ r8_ glsa_ glc_ sntrys_ sntryu_ sbp_",
        rf"{_L}(?:do[opr]_v1_[0-9a-f]{{64}}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{{32}}|sq0[a-z]{{3}}-[\w-]{{22,}}+|dapi[0-9a-f]{{32}}"
        r"|hv[sbr]\.[\w-]{24,}+|lin_(?:api|oauth)_[A-Za-z0-9]{32,}+|ntn_[A-Za-z0-9]{40,}+|secret_[A-Za-z0-9]{43}|hf_[A-Za-z0-9]{30,}+"
        r"|r8_[A-Za-z0-9]{37}|glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_[A-Za-z0-9+/=]{32,}+|sntry[su]_[\w=+/]{40,}+|sbp_[0-9a-f]{40})",
    ),
    _build_pattern(
        SecretKind.SERVICE_TOKEN,
        "NRAK- pscale_ PMAK- AGE-SECRET-KEY-1 ATATT3 figd_ gsk_ xai- pplx- tskey- fm2_ dt0c01. LTAI HRKU- .atlasv1. dp.",
        rf"{_L}(?:NRAK-[A-Z0-9]{{27}}|pscale_(?:tkn|pw|oauth)_[\w.=-]{{32,}}+|PMAK-[0-9a-f]{{24}}-[0-9a-f]{{34}}"
        r"|AGE-SECRET-KEY-1[0-9A-Z]{58}|ATATT3[\w=-]{60,}+|figd_[\w-]{30,}+|gsk_[A-Za-z0-9]{40,}+|xai-[A-Za-z0-9]{60,}+"
        r"|pplx-[A-Za-z0-9]{40,}+|tskey-[a-z]{2,10}-[\w-]{20,}+|fm2_[A-Za-z0-9+/=]{60,}+|dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}"
        r"|LTAI[A-Za-z0-9]{16,20}(?![A-Za-z0-9])|HRKU-[\w-]{36,}+|[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}+"
        r"|dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,}+)",
    ),
    _build_pattern(
        SecretKind.SERVICE_TOKEN,
        "pul- nfp_ nfc_ nfo_ nfb_ nfu_ sb_secret_ fo1_ ATCTT3 NRII- NRJS- dose CFPAT- xkeysib- bkua_ CCIPAT_ sgp_ pnu_"
        " cmVmdGtu sha256~ sk.eyJ eyJrIjoi ops_eyJ",
        rf"{_L}(?:pul-[0-9a-f]{{40}}{_R}|nf[pcobu]_[A-Za-z0-9]{{36,}}+|sb_secret_[\w-]{{20,}}+|fo1_[\w-]{{43}}|ATCTT3[\w=-]{{60,}}+"
        r"|NRII-[\w-]{32}|NRJS-[0-9a-f]{19}|dose[0-9a-f]{32}(?![A-Za-z0-9])|CFPAT-[\w-]{43}"
        r"|xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}|bkua_[0-9a-f]{40}|CCIPAT_[A-Za-z0-9]{22}_[0-9a-f]{40}"
        r"|sgp_(?:[0-9a-f]{16}_)?[0-9a-f]{40}|pnu_[A-Za-z0-9]{36}|cmVmdGtu[A-Za-z0-9]{56}|sha256~[\w-]{43}"
        r"|sk\.eyJ[\w-]{20,}+\.[\w-]{20,}+|eyJrIjoi[A-Za-z0-9+/]{40,}+={0,2}|ops_eyJ[\w=-]{100,}+)",
    ),
    _build_pattern(SecretKind.SERVICE_TOKEN, "NRAL", rf"{_L}[A-Za-z0-9]{{36}}NRAL{_R}", is_random),
    _build_pattern(SecretKind.AZURE_KEY, "JQQJ9", rf"{_L}[A-Za-z0-9]{{52}}JQQJ9[A-Za-z0-9]{{27}}{_R}", is_random),
    _build_pattern(
        SecretKind.SERVICE_TOKEN,
        "lsv2_ pcsk_ phx_ phs_ AQ.Ab",
        rf"{_L}(?:lsv2_(?:pt|sk)_[0-9a-f]{{32}}_[0-9a-f]{{10}}|pcsk_[A-Za-z0-9]{{4,8}}_[A-Za-z0-9]{{40,}}+|ph[xs]_[A-Za-z0-9]{{40,}}+"
        r"|AQ\.Ab[\w-]{30,}+)",
        is_random,
    ),
    _build_pattern(SecretKind.SERVICE_TOKEN, "re_", rf"re_(?<!\wre_)[A-Za-z0-9]{{8}}_[A-Za-z0-9]{{24}}{_R}", is_random),
    _build_pattern(SecretKind.SERVICE_TOKEN, "pat", rf"pat(?<!\wpat)[A-Za-z0-9]{{14}}\.[0-9a-f]{{64}}{_R}", is_random),
    _build_pattern(
        SecretKind.SERVICE_TOKEN,
        "ATBB EAAA",
        r"(?<![\w+/-])(?:ATBB[A-Za-z0-9]{24,32}|EAAA[\w-]{60})(?![\w+/=-])",
        is_random,
    ),
    _build_pattern(SecretKind.SERVICE_TOKEN, ":AA", r"(?<![A-Za-z0-9])\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
    _build_pattern(
        SecretKind.SERVICE_TOKEN,
        "discord Discord DISCORD bot Bot BOT",
        r"(?<![A-Za-z0-9_.-])[MNO][A-Za-z0-9_-]{23,27}+\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}+",
        is_random,
    ),
    _build_pattern(
        SecretKind.JWT,
        "eyJ",
        r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\.(?:eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?"
        r"|[A-Za-z0-9_-]*+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{8,}+)",
    ),
    _build_pattern(
        SecretKind.PRIVATE_KEY,
        "LS0tLS1CRUdJTi",
        r"(?<![A-Za-z0-9+/])LS0tLS1CRUdJTi[A-Za-z0-9+/]{60,}+={0,2}",
        _is_key_inside,
    ),
    _build_pattern(
        SecretKind.PRIVATE_KEY, '"kty"', r'"(?:d|p|q|dp|dq|qi|k)"\s{0,4}:\s{0,4}"(?P<secret>[A-Za-z0-9_-]{32,}+)"'
    ),
    _build_pattern(
        SecretKind.CREDENTIALS_IN_URL,
        "://",
        r"://[^\s/?#:@\"'<>\\]{0,200}+:(?P<secret>[^\s/@\"'<>\\]{1,200}+)@(?=[\w\[$%{-])",
        _is_credential,
    ),
    _build_pattern(SecretKind.CREDENTIALS_IN_URL, "://", r"://(?P<secret>[A-Za-z0-9_-]{20,200}+)@(?=\w)", is_random),
    _build_pattern(
        SecretKind.CREDENTIAL,
        '"auth"',
        r'"auth"\s{0,4}:\s{0,4}"(?P<secret>[A-Za-z0-9+/]{8,1000}+={0,2})"',
        _is_login_inside,
    ),
    _build_pattern(
        SecretKind.PASSWORD,
        "curl",
        r"(?<![\w-])(?:-u|--user)[ =]?[\"']?[\w.@+-]{1,64}:(?P<secret>[^\s\"'\\]{6,200}+)",
        is_password,
    ),
)
"""Looked for in this order: of two that stand at one place the first gives the mark."""

_KEYWORDS: Final = tuple((word, shape) for shape in SECRET_PATTERNS for word in shape.keywords)
"""Hardly any text holds one of them, and each is looked for in every line that is judged or shown."""
