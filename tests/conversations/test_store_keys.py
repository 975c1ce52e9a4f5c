"""The keys that encrypt what is stored: rotated, dropped too early, lost. All of it is slow: it starts and stops real processes."""

from collections.abc import Mapping

import httpx
import pytest

from tests.conversations.conftest import Open
from tests.world.changes import STUB
from tests.world.product import STORE_KEY, run
from tests.world.tester import World

pytestmark = pytest.mark.slow
NEW_KEY = "bm9wcXJzdHV2d3h5ejAxMjM0NTY3ODkwMTIzNDU2Nzg="


def starts_again_with(world: World, store_keys: str) -> Mapping[str, str]:
    """The operator sets the keys and starts everything again. What the door says of itself then."""
    world.product.stop()
    world.product.environment = {**world.product.environment, "ASSAY_STORE_KEYS": store_keys}
    for command in ("serve", "work"):
        world.product.start(command)
    world.product.wait_until_ready()
    world.github.verb("hooks", url=world.product.webhooks)
    return httpx.get(f"{world.product.url}/readyz").json()


def test_with_the_wrong_key_each_check_says_what_can_not_be_read_until_the_key_is_back(another_world: Open) -> None:
    world = another_world({"ASSAY_SWEEP": "0.3"})
    pull = world.opened(files=STUB, branch="known")
    assert pull.check.conclusion == "failure"

    assert "lacks a key" in starts_again_with(world, NEW_KEY)["problem"]
    assert "lacks a key" in " ".join(run(world.product.environment, "doctor").stdout.split())
    world.agent.pushes(pull, {"NOTES.md": "# Another try\n"})
    other = world.opened(files={**STUB, "NOTES.md": "# Of its own\n"}, branch="new")

    assert pull.check.conclusion == "action_required"
    assert "is encrypted with a key that" in pull.text
    assert other.check.conclusion == "failure", "a token is asked for again, and nothing else is needed of old"

    assert starts_again_with(world, f"{NEW_KEY} {STORE_KEY}") == {"status": "ready"}
    world.commented(pull, "/rejudge", by=world.alice)
    assert pull.check.conclusion == "failure"
