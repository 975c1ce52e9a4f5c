"""What `assay token` says, word for word."""

from datetime import UTC, datetime

from inline_snapshot import snapshot

from worker.adapters.redis.tokens import ApiTokenGrant
from worker.domain.ids import InstallationId
from worker.publishing.texts.token import (
    created_message,
    name_taken_message,
    revoked_message,
    token_list,
    unknown_name_message,
)

AT = datetime(2026, 11, 20, 20, 5, tzinfo=UTC)


def test_a_new_token_stands_alone_on_its_line() -> None:
    assert created_message("grafana", "assay_secret", [200, 100]) == snapshot("""\
assay_secret
This is the token "grafana". It is not shown again: only its hash is kept.
It reads the figures of installations 100, 200, and the verdicts there with the lines that they quote:
  curl -H "Authorization: Bearer TOKEN" https://YOUR-ASSAY/api/analytics/quality
""")
    assert "installation 100, and" in created_message("grafana", "assay_secret", [100])


def test_tokens_are_listed_in_columns() -> None:
    one = ApiTokenGrant("grafana", frozenset([InstallationId(100)]), AT)
    other = ApiTokenGrant("ci", frozenset([InstallationId(200), InstallationId(100)]), AT)
    assert token_list([one, other]) == snapshot("""\
grafana  2026-11-20  installation 100
ci       2026-11-20  installations 100, 200
""")
    assert token_list([]) == snapshot("There is no token. Make one: assay token create NAME --installation NUMBER\n")


def test_what_can_not_be_done_says_what_can() -> None:
    assert name_taken_message("ci") == snapshot(
        'There is a token "ci" already. Choose another name, or revoke it first: assay token revoke ci\n'
    )
    assert unknown_name_message("ci") == snapshot('There is no token "ci". All there are: assay token list\n')
    assert revoked_message("ci") == snapshot('The token "ci" opens nothing any more.\n')
