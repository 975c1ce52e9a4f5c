"""Foreign text and secrets stay out of the log, the answers and the files of Redis.

Invariant: each test first finds a text that may be there, so that it looks in the right place.
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
from tests.worker.adapters.redis.store_samples import (
    CANARY_TOKEN,
    HEAD,
    REQUESTED_AT,
    archive,
    ledger_entry_of,
    pull_ref,
    settings_for,
    start_judging_new,
)
from tests.worker.publishing.texts.samples import dossier
from tests.world import aof
from tests.world.changes import ISSUE, PROJECT, RETRY, RETRY_AT
from tests.world.product import STORE_KEY, run_assay
from tests.world.pull_requests import PullRequest
from tests.world.redis import RedisServer
from tests.world.replies import accept, reject
from tests.world.world import World
from worker.adapters.redis.documents import RedisNotes
from worker.adapters.redis.store import Store, open_store
from worker.domain.check.author_comment import CommentJob, CommentRecord
from worker.domain.check.overrides import Contest, Override, ReviewDecision
from worker.domain.dossier import ConfigOrigin
from worker.domain.model import DeliveryId, EvalId, InstallationId, hash_base

__all__ = ["anthropic_server", "github", "open_world"]  # fixtures of the conversations

CANARY: Final = "canary_of_somebody_5b1f"
TOKEN: Final = "ghp_" + "c4Na" * 9
KNOWN: Final = "acme/widgets"


def file_contents(folder: Path) -> bytes:
    """The content of all files below a folder."""
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def contained(content: bytes, *texts: str) -> list[str]:
    return [text for text in texts if text.encode() in content]


PERSON: Final = {"login": "alice", "type": "User"}
PULL: Final[dict[str, Any]] = {
    "number": 3, "draft": False, "state": "open", "title": CANARY, "body": f"Closes #7 {CANARY}",
    "head": {"sha": SHA, "ref": CANARY}, "base": {"sha": "2" * 40, "ref": CANARY}, "labels": [{"name": CANARY}],
    "user": {"login": "copilot-swe-agent[bot]", "type": "Bot"},
}  # fmt: skip
ISSUE_OF: Final = {"number": 3, "state": "open", "title": CANARY, "body": CANARY, "pull_request": {"url": "x"}}


def comment_payload(body: str, **changes: Any) -> dict[str, Any]:
    return payload(
        "created", issue=ISSUE_OF, comment={"id": 55, "body": body, "user": PERSON}, sender=PERSON, **changes
    )


def deliveries() -> Iterator[tuple[str, dict[str, Any]]]:
    """A delivery of each kind with the canary in every foreign text."""
    changes = {"title": {"from": CANARY}, "body": {"from": CANARY}}
    for action in ("opened", "edited", "synchronize", "labeled", "review_requested", "closed", "reopened"):
        yield (
            "pull_request",
            payload(
                action,
                pull_request=PULL,
                changes=changes,
                label={"name": CANARY},
                sender=PERSON,
                requested_reviewer=PERSON,
            ),
        )
    for body in (f"/override {CANARY}", f"/contest {CANARY}", f"/rejudge {CANARY}", f"/overide {CANARY}", CANARY):
        yield "issue_comment", comment_payload(body)
    yield (
        "issue_comment",
        {**comment_payload(f"/override {CANARY}"), "action": "edited", "changes": {"body": {"from": CANARY}}},
    )
    review = {"id": 9, "state": "approved", "body": CANARY, "commit_id": SHA, "user": PERSON}
    yield "pull_request_review", payload("submitted", pull_request=PULL, review=review, sender=PERSON)
    line = {"id": 10, "body": f"/contest {CANARY}", "user": PERSON, "path": CANARY, "diff_hunk": CANARY}
    yield "pull_request_review_comment", payload("created", pull_request=PULL, comment=line, sender=PERSON)
    issue = {"number": 7, "state": "open", "title": CANARY, "body": CANARY, "user": PERSON}
    yield "issues", payload("edited", issue=issue, changes=changes, sender=PERSON)
    output = {"title": CANARY, "summary": CANARY, "text": CANARY}
    check: dict[str, Any] = {"id": 1, "name": CANARY, "head_sha": SHA, "status": "completed", "conclusion": "failure", "output": output,
             "app": {"id": 1}, "external_id": CANARY, "pull_requests": []}  # fmt: skip
    yield "check_run", payload("completed", check_run=check, sender=PERSON)
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


def test_delivery_text_is_neither_logged_nor_answered_nor_stored_readably(web_server: WebServer, store: Store) -> None:
    start_judging_new(store)
    for number, (event_name, content) in enumerate(deliveries()):
        answer = web_server.deliver(event_name, content, {"X-GitHub-Delivery": f"d-{number}"})
        assert answer.status_code == 202, (event_name, answer.text)
        assert CANARY not in answer.text
    assert "checks_requested" in web_server.log.getvalue(), "the test looks in the right place"
    assert contained(web_server.log.getvalue().encode(), CANARY, SECRET) == []
    files = file_contents(web_server.redis.folder)
    assert contained(files, KNOWN), "the test looks in the right place"
    assert contained(files, CANARY, SECRET) == []


def store_everything(store: Store) -> None:
    """Store a judging and all decisions about it."""
    leased_job = start_judging_new(store)
    decision: dict[str, Any] = {"login": CANARY, "reason": CANARY, "at": REQUESTED_AT}
    store.decisions.override(pull_ref(), HEAD, Override(**decision))
    store.decisions.contest(pull_ref(), HEAD, Contest(**decision))
    store.decisions.review(pull_ref(), HEAD, ReviewDecision(**decision, is_approved=True))
    store.decisions.record_requested_reviewers(pull_ref(), (CANARY,))
    store.decisions.claim_action(pull_ref(), CANARY, DeliveryId("a"), REQUESTED_AT)
    store.decisions.claim_answer(pull_ref(), CANARY, DeliveryId("a"))
    store.configs.exchange(
        pull_ref(), hash_base("main"), dict.fromkeys(ConfigOrigin, f"# {CANARY}\nmode: observe\n"), frozenset()
    )
    comment_job = CommentJob(pull=pull_ref(), head_sha=HEAD, eval_id=EvalId("e"), delivery_id=DeliveryId("d"))
    store.comment_jobs.put(comment_job)
    RedisNotes(store.client).put(pull_ref(), CommentRecord(nonce="4f" * 16, comment_id=5, head_sha=HEAD))
    store.vault.put("token:1", CANARY_TOKEN, timedelta(hours=1))
    private = ledger_entry_of("e", leased_job.lease.fence).model_copy(update={"diff_summary": CANARY})
    archive(store, private, dossier(diff=CANARY))
    store.ledger.append(pull_ref(), private)
    store.tokens().create("reader", [InstallationId(100)], REQUESTED_AT)
    store.client.call("SET", "visible", "a word that may be read")


def test_decisions_and_dossiers_are_unreadable_in_redis_files() -> None:
    server = RedisServer.launch()
    try:
        with open_store(settings_for(server.url)) as store:
            store_everything(store)
            token = store.tokens().create("other", [InstallationId(100)], REQUESTED_AT)
        commands = [" ".join(command) for command in aof.read_commands(server.folder)]
        assert any("a word that may be read" in command for command in commands), "the test looks in the right place"
        assert [command for command in commands if CANARY in command or CANARY_TOKEN.decode() in command] == []
        assert token
        assert contained(file_contents(server.folder), CANARY, CANARY_TOKEN.decode(), token) == []
    finally:
        server.end()


def test_settings_repr_hides_secrets() -> None:
    settings = settings_for(
        f"redis://:{TOKEN}@localhost/0", github_token=SecretStr(TOKEN), store_keys=(SecretStr(TOKEN),)
    )
    for shown in (repr(settings), str(settings), f"{settings}"):
        assert TOKEN not in shown


@pytest.mark.slow
def test_conversation_leaves_no_source_line_and_no_secret_anywhere(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_LOG_LEVEL": "DEBUG"})
    pull = run_conversation(world)
    log = "\n".join(line.text for line in world.product.log.lines).encode()
    printed = json.dumps([item.printed for item in world.product.processes]).encode()
    ready, environ = world.github.info, world.product.environment
    secrets = (
        CANARY, TOKEN, "ghs_", ready.webhook_secret, ready.private_key.splitlines()[1], environ["ANTHROPIC_API_KEY"], STORE_KEY,
    )  # fmt: skip
    assert contained(log, pull.repository.name), "the test looks in the right place"
    assert [line.text[:300] for line in world.product.log.lines if contained(line.text.encode(), *secrets)] == []
    assert contained(log + printed, *secrets) == []
    files = file_contents(world.redis.folder)
    assert contained(files, pull.head), "the test looks in the right place"
    assert contained(files, *secrets) == []
    shown = [run_assay(environ, *arguments) for arguments in (("show", pull.verdict["eval_id"]), ("doctor",))]
    lines = [line for item in shown for line in (item.stdout + item.stderr).splitlines()]
    assert [line for line in lines if contained(line.encode(), *secrets[2:])] == [], (
        "apart from what people wrote in public"
    )
    questions = json.dumps([item.body for item in world.model.requests]).encode()
    assert contained(questions, *secrets[1:]) == [], "no secret goes to the model"
    assert contained(questions, CANARY), "the model was asked"


def run_conversation(world: World) -> PullRequest:
    """Judge, contest, override, configure and queue, with a secret and a source line in every text."""
    config = f"# {CANARY}\n"
    repository = world.create_repository({**PROJECT, ".github/assay.yml": config, "CODEOWNERS": "* @bob\n"})
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
    group = repository.add_to_merge_queue(other)
    world.wait_until(lambda: any(check.status == "completed" for check in group.checks), "the merge group is answered")
    assert "Overridden by @alice" in pull.check.title
    return pull
