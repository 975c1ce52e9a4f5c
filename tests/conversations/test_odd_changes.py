"""Changes as they come: bytes, names and sizes that nobody tests with. Judged, or named as not read."""

import base64
import re
from pathlib import Path

import pytest

from tests.world.changes import PROJECT, RETRY, RETRY_AT, UPLOAD
from tests.world.people import Files
from tests.world.pull_requests import PullRequest
from tests.world.replies import accept, reject
from tests.world.world import World

pytestmark = pytest.mark.slow  # many, and each a whole conversation


def binary(content: bytes) -> dict[str, str]:
    return {"base64": base64.b64encode(content).decode()}


LATIN = "NAME = 'Käse'\n".encode("latin-1")

STRANGE: Files = {
    "windows.py": "x = 1\r\ny = 2\r\n",
    "latest.py": {"text": "upload.py", "mode": "120000"},  # a link
    "run.py": {"text": "x = 1\n", "mode": "100755"},
    "my tests/the menu.py": "x = 1\n",
    'say "hi".py': "x = 1\n",
    "zebra's.py": "x = 1\n",
    "llama\tzebra.py": "x = 1\n",
    "llama\\zebra.py": "x = 1\n",
    "größe/测试 🚀.py": "x = 'ß'\n",
    "query.sql": "-- a comment\n++ b\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n",
    "page.py": "x = 1\n\x0cy = 2\u2028z = 3\n",
    "pkg/__init__.py": "",
    "end.py": "x = 1",  # no newline
    "hidden.py": "access = 'user\u202e \u2066# admin\u2069 \u2066'\n",
    "tests/test_upload.py": None,
}
"""Names and contents that are unusual and can all be read."""


def naming(*paths: str) -> str:
    """A description that names the files, so that none of them seems to belong to another task."""
    return f"The change also needs {', '.join(f'`{path}`' for path in paths)}."


def test_strange_names_and_contents_are_read_and_judged(world: World) -> None:
    pull = world.open_and_judge(accept(RETRY_AT), files={**RETRY, **STRANGE}, body=naming(*STRANGE))

    assert not_read(pull) == []
    assert {path for path, file in STRANGE.items() if file is not None} <= set(pull.verdict["coverage"]["read"])
    assert pull.check.conclusion == "success"


def test_a_diff_that_github_makes_in_no_time_is_put_together_from_the_files(world: World) -> None:
    here = world.create_repository(PROJECT)
    slow = {"message": "Server Error: Sorry, this diff is taking too long to generate."}
    world.github.fault(rf"GET /repos/{here.name}/pulls/\d+$", status=422, body=slow, count=50)
    pull = world.open_and_judge(accept(RETRY_AT))
    world.github.clear_faults()
    assert (pull.check.conclusion, not_read(pull)) == ("success", [])


@pytest.mark.parametrize("name", [path for path, file in STRANGE.items() if isinstance(file, str) and file])
def test_a_place_in_a_file_with_a_strange_name_can_be_cited(world: World, name: str) -> None:
    pull = world.open_and_judge(
        reject("scope_creep", f"{name}:1", concern=f"{name} belongs to another task."), files={name: STRANGE[name]}
    )

    assert pull.verdict["evidence"][0]["path"] == name
    assert pull.check_run["annotations"][0]["path"] == name


def test_a_changed_mode_alone_is_judged(world: World) -> None:
    world.create_repository(PROJECT)
    whole = {"path": "upload.py", "line": None, "end_line": None, "side": "head", "note": "now executable"}
    met = {"criteria": [{"id": "AC1", "status": "met", "evidence": [whole]}], "evidence": [whole]}
    pull = world.open_and_judge({**accept(), **met}, files={"upload.py": {"text": UPLOAD, "mode": "100755"}})

    assert pull.check.conclusion == "success"


def test_a_rename_is_judged_as_one(world: World) -> None:
    pull = world.open_and_judge(accept("transfer.py:5"), files={"upload.py": None, "transfer.py": RETRY["upload.py"]})

    assert pull.check.conclusion == "success"
    assert "upload.py" in world.model.requests[0].text


@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("logo.png", binary(b"\x89PNG\r\n\x1a\n\x00\x00" + bytes(range(256)))),
        ("cheese.py", binary(LATIN)),
        ("vendor/lib", {"commit": "1" * 40}),
    ],
    ids=["binary", "latin-1", "submodule"],
)
def test_what_cannot_be_read_is_named_and_never_passes_unread(world: World, path: str, file: dict[str, str]) -> None:
    world.model.reply_by(lambda _: accept(RETRY_AT))
    pull = world.open_and_judge(files={**RETRY, path: file}, body=naming(path))

    if pull.check.conclusion == "success":
        assert path in pull.verdict["coverage"]["read"]
    else:
        assert (pull.check.conclusion, pull.verdict["abstain_reason"]) == ("action_required", "too_large")
        assert path in pull.text


def not_read(pull: PullRequest) -> list[str]:
    coverage = pull.verdict["coverage"]
    return [*coverage["unread"], *coverage["partly"]]


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_three_thousand_files_are_judged_or_listed_as_too_many(world: World) -> None:
    here = world.create_repository(PROJECT)
    world.model.reply_by(lambda _: accept("lib/part0000.py:1"))
    many = {f"lib/part{number:04}.py": f"PART = {number}\n" for number in range(3000)}
    pull = world.agent.open_pull_request(many)
    world.wait_until_idle(300)

    assert pull.verdict["abstain_reason"] == "too_large"
    # how many fit into the questions depends on what replies have taught by then; the check's text lists those that did not
    assert "coverage" in pull.verdict.get("cut", ()) or not_read(pull)
    assert re.search(r"^- [\d,]+ files? (?:in part|not at all)", pull.text, re.MULTILINE)
    assert "lib/part" in pull.text
    assert len(world.github.requests(here.name)) < 60


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_diff_of_twenty_megabytes_is_too_large_and_says_which_file(world: World) -> None:
    world.create_repository(PROJECT)
    world.model.reply_by(lambda _: accept(RETRY_AT))
    huge = "".join(f"ROW_{number} = {number}  # {'x' * 60}\n" for number in range(240_000))
    pull = world.agent.open_pull_request({**RETRY, "table.py": huge})
    world.wait_until_idle(300)

    assert (pull.check.conclusion, pull.verdict["abstain_reason"]) == ("action_required", "too_large")
    assert "table.py" in pull.text


def test_a_secret_in_the_change_does_not_reach_the_model(world: World) -> None:
    world.create_repository(PROJECT)
    token = "ghp_" + "a1B2" * 9
    world.open_and_judge(
        accept(RETRY_AT), files={**RETRY, "deploy.py": f'TOKEN = "{token}"\n'}, body=naming("deploy.py")
    )

    assert token not in world.model.requests[0].text


def test_what_is_stored_is_encrypted(world: World) -> None:
    canary = "canary_line_that_nobody_else_writes"
    pull = world.open_and_judge(
        accept(RETRY_AT), files={**RETRY, "mascot.py": f"{canary} = 1\n"}, body=naming("mascot.py")
    )
    assert pull.check.conclusion == "success"

    stored = b"".join(path.read_bytes() for path in _files(world.redis.folder))
    assert canary.encode() not in stored
    assert b"ghs_" not in stored, "no installation token"
    assert world.github.info.private_key.splitlines()[1].encode() not in stored


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".log"]


def test_a_text_that_its_parser_does_not_survive_is_judged_by_its_lines_and_takes_nobody_along(world: World) -> None:
    """Twelve kilobytes for which tree-sitter takes more than four gigabytes, and then ends its process."""
    world.expected_errors = ("judge process killed",)
    world.create_repository(PROJECT)
    pull = world.open_and_judge(
        accept(RETRY_AT), files={**RETRY, "mascot.py": "/*\n" * 4_000}, body=naming("mascot.py")
    )
    assert pull.check.conclusion == "success"
    assert "mascot.py" in pull.verdict["coverage"]["read"]
    assert len(world.model.requests) == 1, "the first judging ended before it asked anybody"
