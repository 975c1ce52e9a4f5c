"""Secrets of common shapes and what looks like them, made up from a seed, each as it stands in a file.

Nothing here is a credential: every secret is drawn when it is asked for, so that no scanner takes this file for a leak.
"""

import base64
import json
import string
from collections.abc import Callable
from random import Random
from typing import Final, NamedTuple

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALNUM: Final = LOWER + UPPER + DIGITS
URL: Final = ALNUM + "-_"
B64: Final = ALNUM + "+/"
HEX: Final = DIGITS + "abcdef"


class Sample(NamedTuple):
    """`text` as a file has it; `secrets` are its secret parts, none for a look-alike."""

    shape: str
    text: str
    secrets: tuple[str, ...] = ()


def drawn(random: Random, alphabet: str, length: int) -> str:
    return "".join(random.choice(alphabet) for _ in range(length))


def password(random: Random) -> str:
    """Eight or more characters of at least three kinds."""
    some = [random.choice(LOWER), random.choice(UPPER), random.choice(DIGITS), random.choice("!@#%^*-_+")]
    rest = [random.choice(ALNUM + "!@#%^*-_+") for _ in range(random.randint(6, 16))]
    random.shuffle(whole := some + rest)
    return random.choice(ALNUM) + "".join(whole)


def _prefixed(prefix: str, alphabet: str, length: int) -> Callable[[Random], str]:
    return lambda random: prefix + drawn(random, alphabet, length)


def _jwt(random: Random) -> str:
    def packed(part: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")

    return (
        f"{packed({'alg': 'HS256', 'typ': 'JWT'})}.{packed({'sub': drawn(random, DIGITS, 9)})}.{drawn(random, URL, 43)}"
    )


def _uuid(random: Random) -> str:
    return "-".join(drawn(random, HEX, length) for length in (8, 4, 4, 4, 12))


ALONE: Final[dict[str, Callable[[Random], str]]] = {
    "aws access key id": _prefixed("AK" + "IA", UPPER + "234567", 16),
    "github ghp": _prefixed("gh" + "p_", ALNUM, 36),
    "github gho": _prefixed("gh" + "o_", ALNUM, 36),
    "github ghs": _prefixed("gh" + "s_", ALNUM, 36),
    "github fine": lambda random: f"github{'_pat_'}{drawn(random, ALNUM, 22)}_{drawn(random, ALNUM, 59)}",
    "gitlab": _prefixed("gl" + "pat-", URL, 20),
    "slack bot": lambda random: (
        f"xo{'xb-'}{drawn(random, DIGITS, 12)}-{drawn(random, DIGITS, 12)}-{drawn(random, ALNUM, 24)}"
    ),
    "slack hook": lambda random: (
        f"https://hooks.slack{'.com/services/'}T{drawn(random, UPPER, 8)}/B{drawn(random, UPPER, 8)}/{drawn(random, ALNUM, 24)}"
    ),
    "stripe": _prefixed("sk_" + "live_", ALNUM, 24),
    "anthropic": lambda random: f"sk-{'ant-'}api03-{drawn(random, URL, 93)}AA",
    "openai": lambda random: f"sk-{'proj-'}{drawn(random, URL, 40)}T3Blbk{'FJ'}{drawn(random, URL, 40)}",
    "openai old": _prefixed("s" + "k-", ALNUM, 48),
    "npm": _prefixed("np" + "m_", ALNUM, 36),
    "pypi": lambda random: f"py{'pi-'}AgEIcHlwaS5vcmc{drawn(random, URL, 120)}",
    "jwt": _jwt,
    "twilio": _prefixed("S" + "K", HEX, 32),
    "sendgrid": lambda random: f"S{'G.'}{drawn(random, URL, 22)}.{drawn(random, URL, 43)}",
    "mailgun": _prefixed("ke" + "y-", HEX, 32),
    "google api": _prefixed("AI" + "za", URL, 35),
    "google oauth": _prefixed("GOCS" + "PX-", URL, 28),
    "azure client": lambda random: f"{drawn(random, ALNUM, 3)}8{'Q~'}{drawn(random, ALNUM, 34)}",
    "digitalocean": _prefixed("do" + "p_v1_", HEX, 64),
    "hugging face": _prefixed("h" + "f_", ALNUM, 34),
    "shopify": _prefixed("shp" + "at_", HEX, 32),
    "telegram": lambda random: f"{drawn(random, '123456789', 10)}:A{'A'}{drawn(random, URL, 33)}",
    "github installation": lambda random: f"gh{'s_'}{drawn(random, DIGITS, 7)}_{_jwt(random)}",
    "slack workflow": _prefixed("xw" + "fp-", ALNUM, 40),
    "databricks": _prefixed("da" + "pi", HEX, 32),
    "doppler": _prefixed("dp" + ".pt.", ALNUM, 43),
    "vault": _prefixed("hv" + "s.", URL, 90),
    "terraform": lambda random: f"{drawn(random, ALNUM, 14)}.atlas{'v1.'}{drawn(random, URL, 67)}",
    "grafana": lambda random: f"gl{'sa_'}{drawn(random, ALNUM, 32)}_{drawn(random, HEX, 8)}",
    "grafana old": _prefixed("eyJr" + "Ijoi", ALNUM, 72),
    "new relic user": _prefixed("NR" + "AK-", UPPER + DIGITS, 27),
    "new relic insert": _prefixed("NR" + "II-", URL, 32),
    "new relic licence": lambda random: f"{drawn(random, HEX, 36)}NR{'AL'}",
    "sentry": lambda random: f"sntr{'ys_'}eyJ{drawn(random, ALNUM, 80)}_{drawn(random, B64, 43)}",
    "linear": _prefixed("lin_" + "api_", ALNUM, 40),
    "notion": _prefixed("nt" + "n_", ALNUM, 46),
    "figma": _prefixed("fi" + "gd_", URL, 40),
    "square": _prefixed("sq0" + "atp-", URL, 22),
    "square access": _prefixed("EA" + "AA", URL, 60),
    "discord bot": lambda random: (
        f"discord {'M'}{drawn(random, ALNUM, 25)}.{drawn(random, URL, 6)}.{drawn(random, URL, 38)}"
    ),
    "discord hook": lambda random: (
        f"https://discord{'.com/api/webhooks/'}{drawn(random, DIGITS, 18)}/{drawn(random, URL, 68)}"
    ),
    "heroku": _prefixed("HRK" + "U-AA", URL, 58),
    "atlassian": _prefixed("ATA" + "TT3", URL, 180),
    "bitbucket access": _prefixed("ATC" + "TT3", URL, 180),
    "bitbucket app": _prefixed("AT" + "BB", ALNUM, 32),
    "postman": lambda random: f"PM{'AK-'}{drawn(random, HEX, 24)}-{drawn(random, HEX, 34)}",
    "pulumi": _prefixed("pu" + "l-", HEX, 40),
    "planetscale": _prefixed("psc" + "ale_tkn_", URL, 43),
    "supabase": _prefixed("sb" + "p_", HEX, 40),
    "supabase secret": _prefixed("sb_" + "secret_", URL, 31),
    "fly": _prefixed("fm" + "2_", B64, 120),
    "fly old": _prefixed("fo" + "1_", URL, 43),
    "netlify": _prefixed("nf" + "p_", ALNUM, 36),
    "databricks oauth": _prefixed("do" + "se", HEX, 32),
    "google ai": _prefixed("AQ" + ".Ab8R", URL, 46),
    "azure ai": lambda random: f"{drawn(random, ALNUM, 52)}JQ{'QJ9'}{drawn(random, ALNUM, 27)}",
    "airtable": lambda random: f"pa{'t'}{drawn(random, ALNUM, 14)}.{drawn(random, HEX, 64)}",
    "brevo": lambda random: f"xkey{'sib-'}{drawn(random, HEX, 64)}-{drawn(random, ALNUM, 16)}",
    "contentful": _prefixed("CF" + "PAT-", URL, 43),
    "buildkite": _prefixed("bk" + "ua_", HEX, 40),
    "circleci": lambda random: f"CCI{'PAT_'}{drawn(random, ALNUM, 22)}_{drawn(random, HEX, 40)}",
    "sourcegraph": lambda random: f"sg{'p_'}{drawn(random, HEX, 16)}_{drawn(random, HEX, 40)}",
    "langsmith": lambda random: f"ls{'v2_pt_'}{drawn(random, HEX, 32)}_{drawn(random, HEX, 10)}",
    "pinecone": lambda random: f"pc{'sk_'}{drawn(random, ALNUM, 6)}_{drawn(random, ALNUM, 63)}",
    "posthog": _prefixed("ph" + "x_", ALNUM, 43),
    "resend": lambda random: f"r{'e_'}{drawn(random, ALNUM, 8)}_{drawn(random, ALNUM, 24)}",
    "openshift": _prefixed("sha2" + "56~", URL, 43),
    "mapbox": lambda random: f"sk{'.eyJ'}{drawn(random, ALNUM, 60)}.{drawn(random, URL, 22)}",
    "prefect": _prefixed("pn" + "u_", ALNUM, 36),
    "jfrog": _prefixed("cmVm" + "dGtu", ALNUM, 56),
    "1password": _prefixed("ops" + "_eyJ", ALNUM, 300),
}
PLACES: Final = (
    'client = Client("{}")',
    "{}",
    "export X={}",
    '  "value": "{}",',
    "curl -H 'X: {}' https://api.acme.dev",
    "# old one: {}",
    "const c = '{}';",
    "ERROR 401 for {} at 12:03",
)
NAMED: Final = (
    'password = "{}"',
    "DB_PASSWORD={}",
    'db_password: "{}"',
    "  password: {}",
    '"password": "{}",',
    "const dbPassword = '{}';",
    'String password = "{}";',
    "PGPASSWORD={} psql -h db",
    "<password>{}</password>",
    "mysql --password={} -u root",
    'os.environ.get("DB_PASSWORD", "{}")',
    ':password => "{}",',
    'password: str = "{}"',
    'client_secret = "{}"',
    "  - name: DB_PASSWORD\n    value: {}",
    "Server=db;User Id=app;Password={};",
    'login("root", password="{}")',
)
KEYED: Final = (
    'API_KEY = "{}"',
    "api-key: {}",
    '"apiKey": "{}"',
    "AUTH_TOKEN={}",
    'const accessToken = "{}"',
    "aws_secret_access_key = {}",
    'secret_key := "{}"',
    "Authorization: Bearer {}",
    "X-Api-Key: {}",
    "deploy --token {}",
    "//registry.acme.dev/:_authToken={}",
    'ENV SIGNING_KEY="{}"',
    '{{"api_token", "{}"}},',
    'set_secret("{}")',
    "TWILIO_AUTH_TOKEN={}",
)


def _alone(random: Random) -> Sample:
    shape = random.choice(list(ALONE))
    secret = ALONE[shape](random)
    return Sample(shape, random.choice(PLACES).format(secret), (secret.rpartition("/")[2],))


def _named(random: Random) -> Sample:
    secret = password(random)
    return Sample("password by its name", random.choice(NAMED).format(secret), (secret,))


def _keyed(random: Random) -> Sample:
    alphabet, length = random.choice(
        [(HEX, 32), (HEX, 40), (HEX, 64), (ALNUM, 24), (ALNUM, 40), (URL, 32), (B64, 40), (B64, 64)]
    )
    secret = drawn(random, alphabet, length)
    return Sample("key by its name", random.choice(KEYED).format(secret), (secret,))


def _in_address(random: Random) -> Sample:
    secret = drawn(random, ALNUM, random.randint(10, 24))
    scheme = random.choice(["postgres", "redis", "mongodb+srv", "amqp", "https", "mysql"])
    return Sample("password in an address", f"url = '{scheme}://app:{secret}@db.acme.dev:5432/app'", (secret,))


def _azure(random: Random) -> Sample:
    secret = drawn(random, B64, 86) + "=="
    text = f"DefaultEndpointsProtocol=https;AccountName=acme;AccountKey={secret};EndpointSuffix=core.windows.net"
    return Sample("connection string", text, (secret,))


def _key_lines(random: Random) -> list[str]:
    return [drawn(random, B64, 64) for _ in range(random.randint(3, 26))] + [
        drawn(random, B64, random.choice([20, 40])) + "=="
    ]


def _pem(random: Random) -> Sample:
    kind = random.choice(["RSA ", "EC ", "", "OPENSSH ", "ENCRYPTED "])
    lines = _key_lines(random)
    begin, end = f"-----BEGIN {kind}PRIVATE KEY-----", f"-----END {kind}PRIVATE KEY-----"
    return Sample("private key", "\n".join([begin, *lines, end]), tuple(lines))


def _service_account(random: Random) -> Sample:
    lines = _key_lines(random)
    body = "\n".join(lines)
    key = f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"
    account = {"type": "service_account", "private_key": key, "client_email": "ci@acme.iam.gserviceaccount.com"}
    return Sample("service account", json.dumps(account, indent=random.choice([None, 2])), tuple(lines))


def secrets(count: int, seed: int) -> list[Sample]:
    """*count* seeded secrets: half by their token format, the others in a block, a URL or by a name."""
    random = Random(seed)  # noqa: S311 - the same samples again, not secrets
    makers = [_alone] * 10 + [_named] * 4 + [_keyed] * 4 + [_in_address, _azure, _pem, _service_account]
    return [random.choice(makers)(random) for _ in range(count)]


WORDS: Final = "auth user session refresh provider account service rotate vault client login reset".split()  # noqa: SIM905


def _words(random: Random, joint: str, count: int) -> str:
    return joint.join(random.choice(WORDS) for _ in range(count))


def _camel(random: Random, count: int) -> str:
    return "".join(random.choice(WORDS).capitalize() for _ in range(count))


ALIKE: Final[dict[str, Callable[[Random], str]]] = {
    "commit id": lambda random: f"Reverts {drawn(random, HEX, 40)} (token refresh)",
    "short id": lambda random: f"index {drawn(random, HEX, 7)}..{drawn(random, HEX, 7)} 100644",
    "uuid": lambda random: f'id = "{_uuid(random)}"',
    "request id": lambda random: f'"requestId": "{_uuid(random)}",',
    "integrity": lambda random: f'"integrity": "sha512-{drawn(random, B64, 86)}==",',
    "checksum": lambda random: f'checksum = "{drawn(random, HEX, 64)}"',
    "wheel": lambda random: (
        f'{{ url = "https://files.acme.dev/tokenize_rt-6.whl", hash = "sha256:{drawn(random, HEX, 64)}" }},'
    ),
    "go.sum": lambda random: (
        f"github.com/acme/oauth-token v0.0.0-20200107190931-{drawn(random, HEX, 12)} h1:{drawn(random, B64, 43)}="
    ),
    "lock": lambda random: f'resolved "https://npm.acme.dev/js-tokens/-/js-tokens-4.0.0.tgz#{drawn(random, HEX, 40)}"',
    "image": lambda random: f'<img src="data:image/png;base64,iVBORw0KGgo{drawn(random, B64, 400)}">',
    "placeholder": lambda random: random.choice(
        [
            'password = "changeme"',
            "API_KEY=<your-token>",
            "token: ${TOKEN}",
            "password: {{ db_password }}",
            'secret = "xxxxxxxxxxxxxxxxxxxx"',
            "DB_PASSWORD=your_password_here",
            'apiKey: "YOUR_API_KEY_HERE"',
            'password = "********"',
            "TOKEN=$(cat /run/secrets/token)",
            'api_key = "0123456789abcdef0123456789abcdef"',
            "url = 'postgres://postgres:postgres@localhost:5432/test'",
            "url = 'redis://:${REDIS_PASSWORD}@cache:6379'",
            'f"postgres://{user}:{password}@{host}/app"',
            'aws_access_key_id = "AKIAIOSFODNN7EXAMPLE"',
            'token = "test-token-12345"',
            'password="password123"',
            'secret: "dummy-secret-value"',
        ]
    ),
    "look-up": lambda random: random.choice(
        [
            'password = os.environ["DB_PASSWORD"]',
            "const token = process.env.GITHUB_TOKEN;",
            f"self.token = {_words(random, '_', 2)}(secret_key)",
            'password = getpass.getpass("Password: ")',
            f"api_key=settings.{_words(random, '_', 2)}",
            f"token = request.headers.get('{_words(random, '-', 2)}')",
            'secret = Secret.from_name("acme")',
            "access_token: secrets.GITHUB_TOKEN",
        ]
    ),
    "name": lambda random: random.choice(
        [
            f'SECRET_NAME = "projects/acme/secrets/{_words(random, "-", 4)}"',
            f'token_type = "{_camel(random, 3)}"',
            f"class {_camel(random, 3)}Token({_camel(random, 2)}Credential):",
            f"def test_{_words(random, '_', 7)}_with_token() -> None:",
            f'token = "{_words(random, "-", 4)}"',
            f"secret: {_words(random, '/', 4)}",
            f'password_field = "{_camel(random, 3)}2"',
            f'"tokenProvider": "{_camel(random, 4)}V2",',
            f"token: {_camel(random, 3)}Type",
        ]
    ),
    "test id": lambda random: (
        f"tests/test_token.py::TestLogin::test_{_words(random, '_', 3)}[{drawn(random, HEX, 8)}-secret] PASSED"
    ),
    "colours": lambda random: (
        f"--token-color: #{drawn(random, HEX, 6)}; --secret-bg: rgba(12, 34, 56, 0.{drawn(random, DIGITS, 2)});"
    ),
    "prose": lambda random: (
        f"Set a password: at least 8 characters, 1 digit, and no {random.choice(WORDS)} token (see #{drawn(random, DIGITS, 4)})."
    ),
    "minified": lambda random: "".join(
        f'function {random.choice(ALNUM[:52])}(e,t){{return e.token&&t("{_words(random, "-", 2)}"),n({drawn(random, DIGITS, 3)})}}'
        for _ in range(20)
    ),
    "public key": lambda random: f"ssh-rsa AAAAB3NzaC1yc2E{drawn(random, B64, 350)} ci@acme",
    "certificate": lambda random: "\n".join(
        ["-----BEGIN CERTIFICATE-----", *(drawn(random, B64, 64) for _ in range(5)), "-----END CERTIFICATE-----"]
    ),
    "hash of a key": lambda random: f'api_key_hash = "{drawn(random, HEX, 64)}"',
}


def look_alikes(count: int, seed: int) -> list[Sample]:
    """*count* texts without a secret, of all kinds in turn."""
    random = Random(seed)  # noqa: S311 - as above
    kinds = list(ALIKE)
    return [Sample(kinds[at % len(kinds)], ALIKE[kinds[at % len(kinds)]](random)) for at in range(count)]
