"""Changes with unusual bytes, names and sizes are judged, or named as unread."""

import base64
import re
from pathlib import Path

import pytest

from tests.world.changes import PROJECT, RETRY, RETRY_AT, UPLOAD
from tests.world.people import Files
from tests.world.pull_requests import PullRequest
from tests.world.replies import accept, reject
from tests.world.world import World

pytestmark = pytest.mark.slow  # many conversations


def encode_binary(content: bytes) -> dict[str, str]:
    return {"base64": base64.b64encode(content).decode()}


LATIN = "NAME = 'Käse'\n".encode("latin-1")

UNUSUAL: Files = {
    "windows.py": "x = 1\r\ny = 2\r\n",
    "latest.py": {"text": "upload.py", "mode": "120000"},  # a symlink
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
"""Unusual names and contents that can be read."""


def name_files(*paths: str) -> str:
    """A description that names the files, so that none seems unrelated."""
    return f"The change also needs {', '.join(f'`{path}`' for path in paths)}."


def test_unusual_names_and_contents_are_read_and_judged(world: World) -> None:
    pull = world.open_and_judge(accept(RETRY_AT), files={**RETRY, **UNUSUAL}, body=name_files(*UNUSUAL))

    assert list_unread(pull) == []
    assert {path for path, file in UNUSUAL.items() if file is not None} <= set(pull.verdict["coverage"]["read"])
    assert pull.check.conclusion == "success"


def test_diff_is_built_from_files_when_github_times_out(world: World) -> None:
    repository = world.create_repository(PROJECT)
    slow = {"message": "Server Error: Sorry, this diff is taking too long to generate."}
    world.github.fault(rf"GET /repos/{repository.name}/pulls/\d+$", status=422, body=slow, count=50)
    pull = world.open_and_judge(accept(RETRY_AT))
    world.github.clear_faults()
    assert (pull.check.conclusion, list_unread(pull)) == ("success", [])


@pytest.mark.parametrize("name", [path for path, file in UNUSUAL.items() if isinstance(file, str) and file])
def test_verdict_can_cite_a_file_with_an_unusual_name(world: World, name: str) -> None:
    pull = world.open_and_judge(
        reject("scope_creep", f"{name}:1", concern=f"{name} belongs to another task."), files={name: UNUSUAL[name]}
    )

    assert pull.verdict["evidence"][0]["path"] == name
    assert pull.check_run["annotations"][0]["path"] == name


def test_mode_change_alone_is_judged(world: World) -> None:
    world.create_repository(PROJECT)
    whole = {"path": "upload.py", "line": None, "end_line": None, "side": "head", "note": "now executable"}
    met = {"criteria": [{"id": "AC1", "status": "met", "evidence": [whole]}], "evidence": [whole]}
    pull = world.open_and_judge({**accept(), **met}, files={"upload.py": {"text": UPLOAD, "mode": "100755"}})

    assert pull.check.conclusion == "success"


def test_rename_is_judged(world: World) -> None:
    pull = world.open_and_judge(accept("transfer.py:5"), files={"upload.py": None, "transfer.py": RETRY["upload.py"]})

    assert pull.check.conclusion == "success"
    assert "upload.py" in world.model.requests[0].text


@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("logo.png", encode_binary(b"\x89PNG\r\n\x1a\n\x00\x00" + bytes(range(256)))),
        ("cheese.py", encode_binary(LATIN)),
        ("vendor/lib", {"commit": "1" * 40}),
    ],
    ids=["binary", "latin-1", "submodule"],
)
def test_unreadable_file_is_named_and_never_passes_unread(world: World, path: str, file: dict[str, str]) -> None:
    world.model.reply_by(lambda _: accept(RETRY_AT))
    pull = world.open_and_judge(files={**RETRY, path: file}, body=name_files(path))

    if pull.check.conclusion == "success":
        assert path in pull.verdict["coverage"]["read"]
    else:
        assert (pull.check.conclusion, pull.verdict["abstain_reason"]) == ("action_required", "too_large")
        assert path in pull.text


def open_with_file(world: World, path: str, content: str) -> PullRequest:
    return world.open_and_judge(accept(RETRY_AT), files={**RETRY, path: content}, body=name_files(path))


def list_unread(pull: PullRequest) -> list[str]:
    coverage = pull.verdict["coverage"]
    return [*coverage["unread"], *coverage["partly"]]


@pytest.mark.timeout(400)
def test_three_thousand_files_are_too_large_and_unread_ones_are_listed(world: World) -> None:
    repository = world.create_repository(PROJECT)
    world.model.reply_by(lambda _: accept("lib/part0000.py:1"))
    many = {f"lib/part{number:04}.py": f"PART = {number}\n" for number in range(3000)}
    pull = world.agent.open_pull_request(many)
    world.wait_until_idle(300)

    assert pull.verdict["abstain_reason"] == "too_large"
    assert "coverage" in pull.verdict.get("cut", ()) or list_unread(pull)
    assert re.search(r"^- [\d,]+ files? (?:in part|not at all)", pull.text, re.MULTILINE)
    assert "lib/part" in pull.text
    assert len(repository.requests) < 60


@pytest.mark.timeout(400)
def test_diff_of_twenty_megabytes_is_too_large(world: World) -> None:
    world.create_repository(PROJECT)
    world.model.reply_by(lambda _: accept(RETRY_AT))
    huge = "".join(f"ROW_{number} = {number}  # {'x' * 60}\n" for number in range(240_000))
    pull = world.agent.open_pull_request({**RETRY, "table.py": huge})
    world.wait_until_idle(300)

    assert (pull.check.conclusion, pull.verdict["abstain_reason"]) == ("action_required", "too_large")
    assert "table.py" in pull.text


def test_secret_in_the_change_does_not_reach_the_model(world: World) -> None:
    world.create_repository(PROJECT)
    token = "ghp_" + "a1B2" * 9
    open_with_file(world, "deploy.py", f'TOKEN = "{token}"\n')

    assert token not in world.model.requests[0].text


def test_stored_data_is_encrypted(world: World) -> None:
    canary = "canary_line_5d1e"
    pull = open_with_file(world, "mascot.py", f"{canary} = 1\n")
    assert pull.check.conclusion == "success"

    stored = b"".join(path.read_bytes() for path in list_files(world.redis.folder))
    assert canary.encode() not in stored
    assert b"ghs_" not in stored
    assert world.github.info.private_key.splitlines()[1].encode() not in stored


def list_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".log"]


def test_file_that_crashes_its_parser_is_judged_by_lines(world: World) -> None:
    """For this file, tree-sitter takes four gigabytes and crashes."""
    world.expected_errors = ("judge process killed",)
    pull = open_with_file(world, "mascot.py", "/*\n" * 4_000)
    assert pull.check.conclusion == "success"
    assert "mascot.py" in pull.verdict["coverage"]["read"]
    assert len(world.model.requests) == 1
