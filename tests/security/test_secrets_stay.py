"""What people wrote, and every secret, stays out of the log, out of the files of Redis, and out of what the door says.

Invariant: each test finds a word that may be there first, so that it is known to look in the right place.
"""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import SecretStr

from tests.app.web.web_server import SECRET, SHA, WebServer, payload
from tests.conversations.conftest import OpenWorld, anthropic_server, github, open_world
from tests.worker.adapters.redis.store_samples import HEAD, REQUESTED_AT, pull_ref, settings_for
from tests.worker.adapters.redis.test_lease_writes import CANARY_TOKEN, archive, ledger_entry_of, start_judging_new
from tests.worker.publishing.texts.samples import dossier
from tests.world import aof
from tests.world.changes import ISSUE, PROJECT, RETRY, RETRY_AT
from tests.world.product import STORE_KEY, run_assay
from tests.world.pull_requests import PullRequest
from tests.world.redis import RedisServer
from tests.world.replies import accept, reject
from tests.world.world import World
from worker.adapters.redis.records.documents import RedisNotes
from worker.adapters.redis.store import Store, open_store
from worker.domain.check.author_comment import CommentJob, CommentRecord
from worker.domain.check.overrides import Contest, Override, ReviewDecision
from worker.domain.dossier import ConfigOrigin
from worker.domain.ids import DeliveryId, EvalId, InstallationId, hash_base

__all__ = ["anthropic_server", "github", "open_world"]  # the stage of the conversations

CANARY: Final = "canary_of_somebody_5b1f"
TOKEN: Final = "ghp_" + "c4Na" * 9
KNOWN: Final = "acme/widgets"


def written(folder: Path) -> bytes:
    """All files of a server or of a product, whatever they are called."""
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def told_of(content: bytes, *words: str) -> list[str]:
    return [word for word in words if word.encode() in content]


PEOPLE: Final = {"login": "alice", "type": "User"}
PULL: Final[dict[str, Any]] = {
    "number": 3, "draft": False, "state": "open", "title": CANARY, "body": f"Closes #7 {CANARY}",
    "head": {"sha": SHA, "ref": CANARY}, "base": {"sha": "2" * 40, "ref": CANARY}, "labels": [{"name": CANARY}],
    "user": {"login": "copilot-swe-agent[bot]", "type": "Bot"},
}  # fmt: skip
ISSUE_OF: Final = {"number": 3, "state": "open", "title": CANARY, "body": CANARY, "pull_request": {"url": "x"}}


def said(body: str, **changes: Any) -> dict[str, Any]:
    return payload(
        "created", issue=ISSUE_OF, comment={"id": 55, "body": body, "user": PEOPLE}, sender=PEOPLE, **changes
    )


def deliveries() -> Iterator[tuple[str, dict[str, Any]]]:
    """One of each kind, with the canary wherever people write."""
    changes = {"title": {"from": CANARY}, "body": {"from": CANARY}}
    for action in ("opened", "edited", "synchronize", "labeled", "review_requested", "closed", "reopened"):
        yield (
            "pull_request",
            payload(
                action,
                pull_request=PULL,
                changes=changes,
                label={"name": CANARY},
                sender=PEOPLE,
                requested_reviewer=PEOPLE,
            ),
        )
    for body in (f"/override {CANARY}", f"/contest {CANARY}", f"/rejudge {CANARY}", f"/overide {CANARY}", CANARY):
        yield "issue_comment", said(body)
    yield "issue_comment", {**said(f"/override {CANARY}"), "action": "edited", "changes": {"body": {"from": CANARY}}}
    review = {"id": 9, "state": "approved", "body": CANARY, "commit_id": SHA, "user": PEOPLE}
    yield "pull_request_review", payload("submitted", pull_request=PULL, review=review, sender=PEOPLE)
    line = {"id": 10, "body": f"/contest {CANARY}", "user": PEOPLE, "path": CANARY, "diff_hunk": CANARY}
    yield "pull_request_review_comment", payload("created", pull_request=PULL, comment=line, sender=PEOPLE)
    issue = {"number": 7, "state": "open", "title": CANARY, "body": CANARY, "user": PEOPLE}
    yield "issues", payload("edited", issue=issue, changes=changes, sender=PEOPLE)
    output = {"title": CANARY, "summary": CANARY, "text": CANARY}
    check: dict[str, Any] = {"id": 1, "name": CANARY, "head_sha": SHA, "status": "completed", "conclusion": "failure", "output": output,
             "app": {"id": 1}, "external_id": CANARY, "pull_requests": []}  # fmt: skip
    yield "check_run", payload("completed", check_run=check, sender=PEOPLE)
    yield (
        "status",
        {**payload(), "sha": SHA, "context": CANARY, "description": CANARY, "state": "failure", "target_url": CANARY},
    )
    commit = {
        "id": SHA,
        "message": f'Revert "{CANARY}"',
        "author": {"name": CANARY},
        "modified": [CANARY],
        "added": [],
        "removed": [],
    }
    repository = {"id": 7, "full_name": KNOWN, "default_branch": "main"}
    yield (
        "push",
        {**payload(repository=repository), "ref": "refs/heads/main", "commits": [commit], "head_commit": commit},
    )
    group = {"head_sha": SHA, "head_ref": f"refs/heads/gh-readonly-queue/main/pr-3-{'2' * 40}", "base_sha": "2" * 40,
             "base_ref": "refs/heads/main", "head_commit": commit}  # fmt: skip
    yield "merge_group", payload("checks_requested", merge_group=group)


def test_no_word_of_a_delivery_is_logged_answered_or_written_down_readably(web_server: WebServer, store: Store) -> None:
    start_judging_new(store)
    for number, (event_name, content) in enumerate(deliveries()):
        answer = web_server.deliver(event_name, content, {"X-GitHub-Delivery": f"d-{number}"})
        assert answer.status_code == 202, (event_name, answer.text)
        assert CANARY not in answer.text
    assert "checks_requested" in web_server.log.getvalue(), "or this test looks in the wrong place"
    assert told_of(web_server.log.getvalue().encode(), CANARY, SECRET) == []
    files = written(web_server.redis.folder)
    assert told_of(files, KNOWN), "or this test looks in the wrong place"
    assert told_of(files, CANARY, SECRET) == []


def keep_everything(store: Store) -> None:
    """What a judging and what people say about it leaves, by the store's own doors."""
    taken = start_judging_new(store)
    spoken: dict[str, Any] = {"login": CANARY, "reason": CANARY, "at": REQUESTED_AT}
    store.decisions.override(pull_ref(), HEAD, Override(**spoken))
    store.decisions.contest(pull_ref(), HEAD, Contest(**spoken))
    store.decisions.review(pull_ref(), HEAD, ReviewDecision(**spoken, is_approved=True))
    store.decisions.record_requested_reviewers(pull_ref(), (CANARY,))
    store.decisions.claim_action(pull_ref(), CANARY, DeliveryId("a"), REQUESTED_AT)
    store.decisions.claim_answer(pull_ref(), CANARY, DeliveryId("a"))
    store.configs.exchange(
        pull_ref(), hash_base("main"), dict.fromkeys(ConfigOrigin, f"# {CANARY}\nmode: observe\n"), frozenset()
    )
    letter = CommentJob(pull=pull_ref(), head_sha=HEAD, eval_id=EvalId("e"), delivery_id=DeliveryId("d"))
    store.comment_jobs.put(letter)
    RedisNotes(store.client).put(pull_ref(), CommentRecord(nonce="4f" * 16, comment_id=5, head_sha=HEAD))
    store.vault.put("token:1", CANARY_TOKEN, timedelta(hours=1))
    private = ledger_entry_of("e", taken.lease.fence).model_copy(update={"diff_summary": CANARY})
    archive(store, private, dossier(diff=CANARY))
    store.ledger.append(pull_ref(), private)
    store.tokens().create("reader", [InstallationId(100)], REQUESTED_AT)
    store.client.call("SET", "visible", "a word that may be read")


def test_what_is_said_about_a_verdict_and_what_it_was_made_of_stand_in_no_file_of_redis() -> None:
    server = RedisServer.launch()
    try:
        with open_store(settings_for(server.url)) as store:
            keep_everything(store)
            token = store.tokens().create("other", [InstallationId(100)], REQUESTED_AT)
        commands = [" ".join(one) for one in aof.read_commands(server.folder)]
        assert any("a word that may be read" in one for one in commands), "or this test looks in the wrong place"
        assert [one for one in commands if CANARY in one or CANARY_TOKEN.decode() in one] == []
        assert token
        assert told_of(written(server.folder), CANARY, CANARY_TOKEN.decode(), token) == []
    finally:
        server.end()


def test_settings_that_are_shown_show_no_secret() -> None:
    made = settings_for(f"redis://:{TOKEN}@localhost/0", github_token=SecretStr(TOKEN), store_keys=(SecretStr(TOKEN),))
    for shown in (repr(made), str(made), f"{made}"):
        assert TOKEN not in shown


@pytest.mark.slow
def test_a_whole_conversation_leaves_no_line_of_the_source_and_no_secret_anywhere(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_LOG_LEVEL": "DEBUG"})
    pull = everything_happens(world)
    log = "\n".join(line.text for line in world.product.log.lines).encode()
    printed = json.dumps([one.printed for one in world.product.processes]).encode()
    ready, environ = world.github.info, world.product.environment
    secrets = (
        CANARY, TOKEN, "ghs_", ready.webhook_secret, ready.private_key.splitlines()[1], environ["ANTHROPIC_API_KEY"], STORE_KEY,
    )  # fmt: skip
    assert told_of(log, pull.repository.name), "or this test looks in the wrong place"
    assert [line.text[:300] for line in world.product.log.lines if told_of(line.text.encode(), *secrets)] == []
    assert told_of(log + printed, *secrets) == []
    files = written(world.redis.folder)
    assert told_of(files, pull.head), "or this test looks in the wrong place"
    assert told_of(files, *secrets) == []
    shown = [run_assay(environ, *words) for words in (("show", pull.verdict["eval_id"]), ("doctor",))]
    lines = [line for one in shown for line in (one.stdout + one.stderr).splitlines()]
    assert [line for line in lines if told_of(line.encode(), *secrets[2:])] == [], "but for what people said in public"
    asked = json.dumps([one.body for one in world.model.requests]).encode()
    assert told_of(asked, *secrets[1:]) == [], "no secret goes to the model"
    assert told_of(asked, CANARY), "the source does: or nothing was judged"


def everything_happens(world: World) -> PullRequest:
    """Judged, told, contested, overridden, configured, queued; with a secret and a line of source in all of it."""
    config = f"# {CANARY}\n"
    here = world.create_repository({**PROJECT, ".github/assay.yml": config, "CODEOWNERS": "* @bob\n"})
    issue = world.alice.write_issue(f"{ISSUE[0]} {CANARY}", f"{ISSUE[1]}\n{CANARY} {TOKEN}\n")
    world.model.reply_with(
        reject(
            "weak_test",
            RETRY_AT,
            concern=f"The loop `for _ in range(3)` of `{CANARY}` holds {TOKEN}.",
            next_step=f"Test the loop without {TOKEN}.",
        )
    )
    files = {**RETRY, "notes.py": f'{CANARY} = "{TOKEN}"\n'}
    pull = world.agent.open_pull_request(
        files, body=f"Closes #{issue.number}\n\n{CANARY} {TOKEN}", title=f"{CANARY} {TOKEN}"
    )
    world.wait_until_idle()
    world.model.reply_with(
        reject("weak_test", RETRY_AT, concern=f"The loop `for _ in range(3)` of `{CANARY}` holds {TOKEN}.")
    )
    world.bob.comment(pull, f"/contest {CANARY} {TOKEN}")
    world.wait_until_idle()
    world.alice.comment(pull, f"/override {CANARY} {TOKEN}")
    world.wait_until_idle()
    world.model.reply_by(lambda _: accept(RETRY_AT))
    other = world.agent.open_pull_request({"a.py": f"{CANARY} = 1\n"}, branch="other")
    world.wait_until_idle()
    group = here.add_to_merge_queue(other)
    world.wait_until(lambda: any(one.status == "completed" for one in group.checks), "the merge group is answered")
    assert "Overridden by @alice" in pull.check.title
    return pull
