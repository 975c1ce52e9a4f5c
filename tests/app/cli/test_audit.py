"""`assay show`, `replay` and `report` of a verdict that code made from other records, called as the command line calls them."""

import pytest

from app.cli.exit_codes import Exit
from app.cli.parser import build_parser
from tests.worker.adapters.redis.played import KEY, pull
from tests.worker.adapters.redis.test_kept import entry, judging
from tests.world.redis import Redis
from worker.adapters.redis.store import Store
from worker.domain.ids import EvalId
from worker.domain.verdict.verdict import SubjectKind
from worker.errors import InputError

PARENT, CHILD = EvalId("0190aaaa-bbbb-7ccc-8ddd-000000000000"), EvalId("0190aaaa-bbbb-7ccc-8ddd-000000000001")


@pytest.fixture(autouse=True)
def recorded(store: Store, redis_server: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    """A verdict of which nothing is kept, and one on a CI check beside it."""
    monkeypatch.setenv("REDIS_URL", redis_server.url)
    monkeypatch.setenv("ASSAY_STORE_KEYS", KEY.get_secret_value())
    store.client.call("FLUSHALL")
    fence = judging(store).lease.fence
    parent = entry(PARENT, fence)
    subject = parent.verdict.subject.model_copy(update={"kind": SubjectKind.CI_CHECK})
    store.ledger.append(pull(), parent)
    store.ledger.append(pull(), entry(CHILD, fence, parent_eval_id=PARENT, subject=subject))


def said(*given: str) -> str:
    arguments = build_parser(given[0]).parse_args(given)
    code, text = arguments.run(arguments)
    assert code == Exit.ACCEPT
    return " ".join(text.split())


def test_a_check_s_verdict_is_shown_as_what_it_is() -> None:
    assert f"has no dossier of its own. Code made it beside {PARENT}" in said("show", CHILD)
    assert "(ASSAY_RETENTION_DAYS)" in said("show", PARENT)


@pytest.mark.parametrize("command", ["replay", "report"])
def test_what_never_had_a_dossier_is_not_blamed_on_the_retention(command: str) -> None:
    with pytest.raises(InputError, match=f"^{CHILD} can't be judged again or reported: a verdict on a CI check has no"):
        said(command, CHILD)
    with pytest.raises(InputError, match="ASSAY_RETENTION_DAYS says how long"):
        said(command, PARENT)
