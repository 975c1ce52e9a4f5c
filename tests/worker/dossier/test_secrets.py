"""Secrets are redacted by format, name or context, and nothing else is."""

import base64
import time
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.dossier.secret_samples import ALIKE, ALONE, KEYED, NAMED, PLACES, look_alikes, secrets
from worker.dossier.secrets import ID_FIELDS, Redaction, SecretKind, redact, redact_fields

RANDOM = "q7Rk" + "2Zp9XvTn4Lw8sYd3Hc6M"
AWS_KEY = "AK" + "IAQ7RK2ZP9XVTN4LW8"
PASSWORD = "S3cur" + "3!Pass"
HEX = "9f86d081884c7d65" + "9a2feaa0c55ad015"
BODY = "MIIEowIBAAKCAQEA0123456789abcdefABCDEF+/0123456789abcdefABCDEF+/"
BEGIN, END = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
MARK = "[redacted: private key]"


def redact_text(text: str) -> str:
    return redact(text).text


def test_seeded_secrets_are_redacted_and_lines_kept() -> None:
    for sample in secrets(400, 7):
        clean = redact(sample.text)
        assert [secret for secret in sample.secrets if secret in clean.text] == []
        assert clean.text.count("\n") == sample.text.count("\n")
        assert redact(clean.text).text == clean.text
        assert clean.secret_lines


@pytest.mark.parametrize("service", ALONE)
def test_token_format_of_service_is_redacted(service: str) -> None:
    for number, where in enumerate(PLACES):
        secret = ALONE[service](Random(f"{service} {number}"))  # noqa: S311 - a test value
        assert secret[-12:] not in redact_text(where.format(secret)), where


def test_look_alikes_are_kept() -> None:
    assert [sample.text for sample in look_alikes(400, 7) if redact_text(sample.text) != sample.text] == []


def test_samples_have_many_shapes() -> None:
    assert len(ALONE) + len(NAMED) + len(KEYED) >= 50
    assert len(ALIKE) >= 15


@pytest.mark.parametrize(
    "text",
    [
        'password = "{}"',
        "PASSWORD={}",
        "pass: {}",
        "db.passphrase = {}",
        "my_pwd: str = '{}'",
        '{{\\"password\\": \\"{}\\"}}',
        "machine acme.dev\n  login bob\n  password {}",
        "machine acme.dev login bob password {}",
        "<DbPassword>{}</DbPassword>",
        "mysql --db-password {}",
        "${{DB_PASSWORD:-{}}}",
        "name: DB_PASSWORD\nvalue: {}",
        'auth("password", "{}")',
        "password '{}'",
        "if password == '{}':",
    ],
)
def test_password_is_redacted_by_its_name(text: str) -> None:
    clean = redact(text.format(PASSWORD))
    assert clean.text == text.format("[redacted: password]")
    assert dict(clean.secrets) == {PASSWORD: SecretKind.PASSWORD}


def encode_login(word: str) -> str:
    return base64.b64encode(f"bob:{word}".encode()).decode()


def encode_pem(what: str) -> str:
    return base64.b64encode(f"-----BEGIN {what}-----\n{BODY}".encode()).decode()


@pytest.mark.parametrize(
    ("text", "secret", "kind"),
    [
        ('api_key = "{}"', RANDOM, "key"),
        ("SIGNING-KEY: {}", RANDOM, "key"),
        ("x_token={}", RANDOM, "token"),
        ("//npm.acme.dev/:_auth={}", RANDOM, "token"),
        ("client_secret: {}", RANDOM, "secret"),
        ("credentials = '{}'", RANDOM, "credential"),
        ("Authorization: Bearer {}", RANDOM, "credential"),
        ("curl -H 'authorization: token {}'", RANDOM, "credential"),
        ("curl -u bob:{} https://acme.dev", PASSWORD, "password"),
        ("curl --user 'bob:{}' x", PASSWORD, "password"),
        ('{{"auths": {{"https://index.acme.dev/v1/": {{"auth": "{}"}}}}}}', encode_login(PASSWORD), "credential"),
        ("postgres://app:{}@db/x", "kf82hdmq", "password in an address"),
        ("https://{}@acme.dev/x.git", RANDOM, "password in an address"),
        ("tls.key: {}", encode_pem("PRIVATE KEY"), "private key"),
        ("api_key = '{}'", f"{AWS_KEY}/{RANDOM}", "aws key"),
    ],
)
def test_value_is_redacted_by_name_format_or_context(text: str, secret: str, kind: str) -> None:
    assert redact_text(text.format(secret)) == text.format(f"[redacted: {kind}]")


@pytest.mark.parametrize(
    "text",
    [
        f"key = {RANDOM}",
        f"monkey: {RANDOM}",
        f"token_hash = {HEX}",
        f"passwordSha256 = {HEX}",
        f"tokenize({RANDOM!r})",
        f"Authorization: token {HEX}{HEX[:8]}",
        "password = 12345678901234567890",
        'password = "Enter 8 Chars, please!"',
        'secret: "/run/secrets/Db1"',
        'secret = "https://Acme.dev/Path1"',
        'password = "UserRole2"',
        'password = "Short1!"',
        'token = "aaaaaaaabbbbbbbbaaaaaaaa"',
        "api_key = abcdef",
        f"--dry-run password-reset {RANDOM}",
        "pass `memoize=False1` to it",
        f"login bob password {'lowercase'}",
        'token = "sha256:' + HEX + '"',
        "secret = " + "word-" * 40,
        "token: ________________________",
        'token = "zzzzyyyyxxxxwwwwvvvv"',
        "secret : ---------- == ----------",
        "postgres://postgres:postgres@localhost/db",
        "redis://:${PASSWORD}@cache",
        "https://user:xxxxxxxx@acme.dev",
        "see http://localhost:8080/a@b",
        "https://<user>:<password>@acme.dev",
        'curl -u "$NAME:$WORD" x',
        "apt install curl\nUSER 1000:1000",
        "curl x; docker run -u app:appgroup y",
        f"tls.crt: {encode_pem('CERTIFICATE')}",
        *(
            f'{{"auth": "{word}"}}'
            for word in ("oauth2", "required", "c2Vzc2lvbg==", encode_login("${TOKEN}"), encode_login("password"))
        ),
    ],
)
def test_value_that_is_clearly_no_secret_is_kept(text: str) -> None:
    assert redact_text(text) == text


def test_secret_half_of_key_pair_is_redacted() -> None:
    assert redact_text(f"('{AWS_KEY}', '{RANDOM}{RANDOM[:16]}')") == "('[redacted: aws key]', '[redacted: aws key]')"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"{BEGIN}\n{BODY}\nab==\n{END}\n{BODY}", f"{BEGIN}\n{MARK}\n{MARK}\n{END}\n{BODY}"),
        (f"{BEGIN}\nProc-Type: 4,ENCRYPTED\n\n{BODY}\n{END}", f"{BEGIN}\nProc-Type: 4,ENCRYPTED\n\n{MARK}\n{END}"),
        (f'K = "{BEGIN}\\n{BODY}\\n{END}"', f'K = "{BEGIN}{MARK}{END}"'),
        (f'K = "{BEGIN}\\n{BODY}\\n{BODY}', f'K = "{BEGIN}\\n{MARK}\\n{MARK}'),
        (f'"{BEGIN}\\n" +\n    "{BODY}\\n" +\n    "{END}"', f'"{BEGIN}\\n" +\n    "{MARK}\\n" +\n    "{END}"'),
        (f"['{BEGIN}{BODY}{END}', '{BEGIN}{BODY}{END}']", f"['{BEGIN}{MARK}{END}', '{BEGIN}{MARK}{END}']"),
        (f"{BODY}{END}{BEGIN}\n{BODY}", f"{MARK}{END}{BEGIN}\n{MARK}"),
        (f"{BEGIN}\n{BODY}\n{BODY}{END}", f"{BEGIN}\n{MARK}\n{MARK}{END}"),
        (f"PRIVATE KEY\n{BODY}", f"PRIVATE KEY\n{BODY}"),
        (f"x = 1\n{BODY}\nab==\n{END}", f"x = 1\n{MARK}\n{MARK}\n{END}"),
        (f"y {BODY}{END}", f"y {MARK}{END}"),
        (f"{BEGIN}\n{BODY}\n", f"{BEGIN}\n{MARK}\n"),
        (f"{BEGIN}\n{BODY}\n{END}\n{END}", f"{BEGIN}\n{MARK}\n{END}\n{END}"),
        ("Private-Lines: 2\nAAAA\nBBBB\nPrivate-MAC: 1", f"Private-Lines: 2\n{MARK}\n{MARK}\nPrivate-MAC: 1"),
        ("Private-Lines: 2\nAAAA\n\nx", f"Private-Lines: 2\n{MARK}\n\nx"),
    ],
)
def test_private_key_body_is_redacted(text: str, clean: str) -> None:
    assert redact_text(text) == clean
    assert redact_text(clean) == clean


@pytest.mark.parametrize(
    "text",
    [
        f'assert "{BEGIN}" in text\nassertRaisesRegexExactly(x)\nsomeLongFunctionNameHere',
        f"{BEGIN}{END}",
        f"{BEGIN}\nsomeLongFunctionNameHere()",
        f"{BEGIN}\n{'' * 3}\nabc\nx",
        BEGIN + "\n" * 12 + BODY,
        f"x\n{END}",
        "No Private-Lines: here",
        "Private-Lines: x",
    ],
)
def test_code_that_mentions_a_private_key_is_kept(text: str) -> None:
    assert redact_text(text) == text


def test_known_secret_is_redacted_without_its_name() -> None:
    clean = redact(f"got {RANDOM} twice: {RANDOM}", {RANDOM: SecretKind.TOKEN})
    assert clean.text == "got [redacted: token] twice: [redacted: token]"
    assert [line.line for line in clean.secret_lines] == [1, 1]


def test_redaction_has_kind_and_line_without_the_secret() -> None:
    clean = redact(f"a\npassword = '{PASSWORD}'\nb\nx_token = '{RANDOM}'")
    assert clean.secret_lines == ((2, SecretKind.PASSWORD), (4, SecretKind.TOKEN))
    redaction = Redaction(kind=SecretKind.TOKEN, where="diff[a.py]", line=4)
    assert redaction.model_dump(mode="json") == {"kind": "token", "where": "diff[a.py]", "line": 4}


@given(
    st.text()
    | st.lists(st.sampled_from([BODY, BEGIN, END, "password=", RANDOM, "\n", '"', " ", "://a:", "@b"])).map("".join)
)
def test_any_text_keeps_its_lines_and_reports_each_redaction(text: str) -> None:
    clean = redact(text)
    assert clean.text.count("\n") == text.count("\n")
    assert (clean.text == text) is not bool(clean.secret_lines)


@pytest.mark.parametrize(
    "unit",
    [
        "token=", "password: ", "eyJa.", "://a:", "SG.aaaaaaaaaaaaaaaaa.", "sk-aaaaaaaaaaaaaaaaaaaaaaaa-", "secret", "api_key='",
        "<password", "bearer aaaaaaaaaaaaaaaaa ", f"{BEGIN}\n", f"{END}\n", "AccountKey=", "login a password ", "A" * 64 + "\n",
        "Private-Lines: 9\n", '"Input Tokens"' + " " * 60 + "100 ", '"Tokens" ,  ,  ,  ', "xoxb-1", "eyJ-", "\u0130token=", "_v1_", "LS0tLS1CRUdJTi", "bot M", "password(", "key-", "mailgun -",
    ],
)  # fmt: skip
def test_hostile_text_is_redacted_in_linear_time(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    before = time.process_time()
    assert redact(text).text.count("\n") == text.count("\n")
    assert time.process_time() - before < 3


TOKEN = "ghp_" + "a1B2" * 9
TOKEN_MARK = "[redacted: github token]"


def test_nested_texts_are_redacted_and_other_fields_kept() -> None:
    ids = dict.fromkeys(ID_FIELDS, "0" * 39 + "f")
    others = {"score": 0.5, "category": None, "decision": "reject", "words": ["half_finished", ""], **ids}
    fields = {"concern": f"It holds {TOKEN}.", "evidence": [{"quote": TOKEN, "line": 4}], **others}
    redacted = {"concern": f"It holds {TOKEN_MARK}.", "evidence": [{"quote": TOKEN_MARK, "line": 4}], **others}
    assert redact_fields(fields) == redacted
