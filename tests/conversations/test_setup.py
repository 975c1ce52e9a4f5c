"""From no App to the first verdict, and the rotation of its secrets."""

import json
import re
from collections.abc import Iterator, Mapping
from html import unescape
from urllib.parse import urlencode

import httpx
import pytest
from pytest_httpserver import HTTPServer

from tests.conversations.conftest import OpenWorld
from tests.world.changes import PROJECT, RETRY, RETRY_AT, STUB
from tests.world.fake_github import FakeGitHub
from tests.world.product import Product, build_environment
from tests.world.redis import RedisServer
from tests.world.replies import accept
from worker.domain.config.github_app import OptIn, requested_permissions

pytestmark = pytest.mark.slow

NO_APP = {"ASSAY_APP_ID": "", "ASSAY_APP_PRIVATE_KEY": "", "ASSAY_WEBHOOK_SECRET": ""}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def github() -> Iterator[FakeGitHub]:
    """A separate GitHub, because these tests change the App."""
    fake = FakeGitHub.start()
    yield fake
    fake.stop()


def create_app(product: Product, opt_ins: list[str]) -> Mapping[str, str]:
    """Use /setup as a person does, and return the settings to paste."""
    token = next(line.text.strip() for line in product.log.lines if re.fullmatch(r" {4}[\w-]{43}", line.text))
    fields = {"token": token, "address": product.url, "organization": "acme", "opt_in": opt_ins}
    confirm = httpx.post(f"{product.url}/setup", content=urlencode(fields, doseq=True), headers=FORM).text
    manifest = re.findall(r'name="manifest" value="([^"]+)"', confirm)[0]
    target = re.findall(r'method="post" action="([^"]+)"', confirm)[-1]
    sent = httpx.post(unescape(target), content=urlencode({"manifest": unescape(manifest)}), headers=FORM)
    done = httpx.get(sent.headers["location"]).text
    lines = unescape(re.findall(r"<pre>(ASSAY_.+?)</pre>", done, re.DOTALL)[0]).splitlines()
    return dict(line.split("=", 1) for line in lines)


@pytest.mark.parametrize("opt_ins", [[], ["comments"], [str(opt_in) for opt_in in OptIn]])
def test_setup_creates_an_app_that_gives_the_first_verdict(
    github: FakeGitHub, anthropic_server: HTTPServer, open_world: OpenWorld, opt_ins: list[str]
) -> None:
    redis = RedisServer.launch()
    product = Product.launch(build_environment(github.info, anthropic_server.url_for(""), redis, NO_APP), ("serve",))
    try:
        settings = create_app(product, opt_ins)
    finally:
        product.stop()
        redis.end()
    granted = requested_permissions(OptIn(name) for name in opt_ins)
    github.control("permissions", permissions=granted)
    world = open_world(settings)
    world.create_repository(PROJECT, private=True, collaborators={"copilot-swe-agent[bot]": "push"})
    pull = world.open_and_judge(files=STUB)
    assert pull.check.conclusion == "failure", (pull.check, world.describe())

    github.control("ruleset", repo=world.repository.name, required=["Assay"])
    doctor = world.run_assay("doctor", "--repo", world.repository.name)
    output = " ".join(doctor.stdout.split())
    assert "ok App permissions all there" in output
    assert (
        "wrong Required check Assay is required on main by branch protection and a ruleset, but from any source"
        in output
    )
    assert ("off: the App does not ask for merge_queues: read" in output) is ("merge_queue" not in opt_ins)
    assert ("ok Reactions off: by choice (ASSAY_REACTIONS is 0)" in output) is (opt_ins == ["comments"])


def test_both_secrets_and_both_keys_work_during_rotation(github: FakeGitHub, open_world: OpenWorld) -> None:
    old = github.info.private_key
    new = str(github.control("key")["pem"])
    world = open_world({"ASSAY_APP_PRIVATE_KEY": old + "\n" + new, "ASSAY_WEBHOOK_SECRET": "tomorrows bench-secret"})
    pull = world.open_and_judge(files=STUB)
    assert pull.check.conclusion == "failure", (pull.check, world.describe())

    github.control("key/take-back", pem=old)
    github.control("hooks", secret="tomorrows")
    world.model.reply_by(lambda _: accept(RETRY_AT))
    world.push_and_judge(pull, RETRY)
    assert pull.check.conclusion == "success"

    forged = json.dumps({"action": "opened"})
    github.control("deliver", event="pull_request", body=forged, secret="yesterdays", id="forged")
    github.settle()
    [answered] = [delivery for delivery in github.state("")["deliveries"] if delivery["id"] == "forged"]
    assert answered["status"] == 401

    doctor = world.run_assay("doctor")
    output = " ".join(doctor.stdout.split())
    assert "wrong App key 1 GitHub refuses our credentials: A JSON web token could not be decoded" in output
    assert "ok App key 2 accepted at" in output
    github.control("hooks", secret="bench-secret")
