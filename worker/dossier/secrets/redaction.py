"""What was redacted, for the record: its kind and its place, and nothing of the secret itself."""

from enum import StrEnum
from typing import Annotated, NamedTuple

from pydantic import Field

from worker.domain.model import Frozen


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
