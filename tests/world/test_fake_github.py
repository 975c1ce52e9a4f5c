"""The fake GitHub behaves as the conversations expect of GitHub."""

import base64
import json
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import httpx
import jwt
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.world.contract import find_violations
from tests.world.examples import load_examples
from tests.world.fake_github import FakeGitHub, RequestRefused

pytestmark = pytest.mark.slow  # about the fake GitHub only


def create_token(github: FakeGitHub, **body: Any) -> str:
    ready, now = github.info, int(time.time())
    claims = {"iat": now - 30, "exp": now + 500, "iss": str(ready.app_id)}
    signed = jwt.encode(claims, ready.private_key, algorithm="RS256")
    path = f"/app/installations/{ready.installation_id}/access_tokens"
    answer = httpx.post(github.url + path, json=body, headers={"Authorization": f"Bearer {signed}"})
    return str(answer.json()["token"])


@pytest.fixture
def app(github: FakeGitHub) -> Iterator[httpx.Client]:
    """The product's view of GitHub: a client with an installation token."""
    headers = {"Authorization": f"token {create_token(github)}"}
    with httpx.Client(base_url=github.url, headers=headers, timeout=30) as client:
        yield client


@pytest.fixture
def repo(github: FakeGitHub) -> Iterator[str]:
    name = f"gadgets-{uuid4().hex[:6]}"
    github.control("repo", name=name, files={"a.py": "x = 1\ny = 2\n", "old.txt": "a\nb\nc\n"}, protect=["Assay"])
    yield f"acme/{name}"
    github.settle()
    github.clear_faults()
    assert find_violations(github.requests(f"acme/{name}")) == []


def push_and_open(
    github: FakeGitHub, repo: str, files: Mapping[str, Any], login: str = "alice", branch: str = "fix"
) -> Any:
    github.control("push", repo=repo, branch=branch, files=files)
    return open_pull(github, repo, login, branch)


def open_pull(github: FakeGitHub, repo: str, login: str, head: str) -> Any:
    fields = {"title": "Fix", "head": head, "base": "main", "body": "Fixes #1"}
    return github.request_as(login, "POST", f"/repos/{repo}/pulls", **fields)


def read_actions(github: FakeGitHub, repo: str, event: str) -> list[str]:
    return [payload["action"] for payload in github.deliveries_of(repo, event)]


def test_diff_is_made_by_git(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    number = push_and_open(github, repo, {"a.py": "x = 1\ny = 3\n", "old.txt": None, "new.txt": "a\nb\nc\n"})["number"]
    files = app.get(f"/repos/{repo}/pulls/{number}/files").json()
    assert [(file["filename"], file["status"], file["changes"]) for file in files] == [
        ("a.py", "modified", 2),
        ("new.txt", "renamed", 0),
    ]
    diff = app.get(f"/repos/{repo}/pulls/{number}", headers={"Accept": "application/vnd.github.diff"}).text
    assert "-y = 2\n+y = 3\n" in diff
    assert "rename from old.txt\nrename to new.txt\n" in diff


def test_diff_keeps_bytes_and_knows_submodules(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    github.control("push", repo=repo, branch="main", files={"lib/only.py": "x = 1\n"})
    latin = {"base64": base64.b64encode("x = 'ä'\n".encode("latin-1")).decode()}
    files = {"lib/only.py": None, "latin.py": latin, "vendor": {"commit": "1" * 40}}
    number = push_and_open(github, repo, files)["number"]
    diff = app.get(f"/repos/{repo}/pulls/{number}", headers={"Accept": "application/vnd.github.diff"}).content
    assert b"+x = '\xe4'\n" in diff
    assert b"deleted file mode 100644" in diff
    assert b"+Subproject commit 1111111" in diff


def test_fork_pull_request_follows_its_pushes(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    fork = github.control("fork", repo=repo, **{"as": "mallory"})["full_name"]
    github.control("push", repo=fork, branch="evil", files={"a.py": "x = 9\n"})
    made = open_pull(github, repo, "mallory", "mallory:evil")
    github.control("push", repo=fork, branch="evil", files={"b.py": "z = 1\n"})
    seen = app.get(f"/repos/{repo}/pulls/{made['number']}").json()
    assert (seen["commits"], seen["changed_files"], seen["head"]["repo"]["full_name"]) == (2, 2, fork)
    assert read_actions(github, repo, "pull_request") == ["opened", "synchronize"]


def test_check_run_has_buttons_and_accumulates_annotations(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    sha = push_and_open(github, repo, {"a.py": "x = 2\n"})["head"]["sha"]
    note = {"path": "a.py", "start_line": 1, "end_line": 1, "annotation_level": "warning", "message": "why 2?"}
    output = {"title": "t", "summary": "s", "annotations": [note]}
    button = {"label": "Waive", "identifier": "waive", "description": "Accept it"}
    body = {"name": "Assay", "head_sha": sha, "status": "in_progress", "output": output, "actions": [button]}
    run = app.post(f"/repos/{repo}/check-runs", json=body).json()
    run = app.patch(f"/repos/{repo}/check-runs/{run['id']}", json={"conclusion": "failure", "output": output}).json()
    assert (run["status"], run["output"]["annotations_count"]) == ("completed", 2)

    github.control("press", button="rerun", check_run=run["id"])
    github.control("press", button="action", check_run=run["id"], identifier="waive")
    assert read_actions(github, repo, "check_run") == ["created", "completed", "rerequested", "requested_action"]
    backwards = {**output, "annotations": [{**note, "end_line": 0}]}
    assert app.patch(f"/repos/{repo}/check-runs/{run['id']}", json={"output": backwards}).status_code == 422


def test_merge_queue_waits_for_the_check_run(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    number = push_and_open(github, repo, {"a.py": "x = 2\n"})["number"]
    group = github.control("merge-group", repo=repo, pulls=[number])
    assert github.deliveries_of(repo, "merge_group")[0]["merge_group"]["head_sha"] == group["head_sha"]
    with pytest.raises(RequestRefused, match="is expected"):
        github.control("merge-group/end", head_sha=group["head_sha"], reason="merged")
    done = {"name": "Assay", "head_sha": group["head_sha"], "conclusion": "success"}
    assert app.post(f"/repos/{repo}/check-runs", json=done).status_code == 201
    assert github.control("merge-group/end", head_sha=group["head_sha"], reason="merged") == {"complaints": []}
    assert app.get(f"/repos/{repo}/pulls/{number}").json()["merged"]
    assert read_actions(github, repo, "pull_request") == ["opened", "closed"]


def test_scripted_fault_happens_once_and_requests_are_counted(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    path = f"/repos/{repo}"
    github.fault(f"GET {path}$", kind="secondary", retry_after=7)
    assert app.get(path).headers["retry-after"] == "7"
    github.fault(f"GET {path}$", kind="reset")
    with pytest.raises(httpx.HTTPError):
        app.get(path)
    first = app.get(path)
    assert app.get(path, headers={"If-None-Match": first.headers["etag"]}).status_code == 304
    other = github.client.request("GET", path, headers={"If-None-Match": first.headers["etag"]})
    assert other.status == 200, "an ETag belongs to one credential"

    sha = push_and_open(github, repo, {"a.py": "x = 2\n"})["head"]["sha"]
    github.fault("POST .*/check-runs", status=502, after=True)
    assert app.post(f"{path}/check-runs", json={"name": "Assay", "head_sha": sha}).status_code == 502
    assert len([run for run in github.state(repo)["check_runs"] if run["name"] == "Assay"]) == 1

    assert [exchange["status"] for exchange in github.requests(repo)] == [403, None, 200, 304, 502]


def test_query_finds_the_linked_issue_and_permissions(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    github.request_as("alice", "POST", f"/repos/{repo}/issues", title="Wrong sum", body="- [ ] y is 3")
    number = push_and_open(github, repo, {"a.py": "x = 2\n"})["number"]
    query = """query($owner: String!, $name: String!, $number: Int!) { repository(owner: $owner, name: $name) {
        pullRequest(number: $number) { closingIssuesReferences(first: 10) { nodes { number title body } } } } }"""
    pull = run_query(app, repo, query, number=number)["data"]["repository"]["pullRequest"]
    assert [(node["number"], node["title"]) for node in pull["closingIssuesReferences"]["nodes"]] == [(1, "Wrong sum")]

    path = f"/repos/{repo}/collaborators"
    may = {login: app.get(f"{path}/{login}/permission").json()["permission"] for login in github.info.tokens}
    bots = {"copilot-swe-agent[bot]": "read", "dependabot[bot]": "read"}
    assert may == {"alice": "admin", "bob": "write", "mallory": "read", **bots}


def test_issue_keeps_its_earlier_bodies(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    path = f"/repos/{repo}/issues"
    github.request_as("alice", "POST", path, title="Wrong sum", body="y is 3")
    query = """query($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { issue(number: 1) {
        body lastEditedAt includesCreatedEdit editor { login }
        userContentEdits(first: 2) { totalCount nodes { editedAt diff editor { __typename login } } } } } }"""
    unedited = run_query(app, repo, query)["data"]["repository"]["issue"]
    assert (unedited["lastEditedAt"], unedited["includesCreatedEdit"]) == (None, False)
    assert unedited["userContentEdits"]["nodes"] == []

    github.request_as("alice", "PATCH", f"{path}/1", title="The sum")
    github.request_as("bob", "PATCH", f"{path}/1", body="y is 2")
    github.request_as("copilot-swe-agent[bot]", "PATCH", f"{path}/1", body="")
    edited = run_query(app, repo, query)["data"]["repository"]["issue"]
    nodes = edited["userContentEdits"]["nodes"]
    assert [(node["diff"], node["editor"]["__typename"], node["editor"]["login"]) for node in nodes] == [
        ("", "Bot", "copilot-swe-agent"),
        ("y is 2", "User", "bob"),
    ]
    assert (edited["userContentEdits"]["totalCount"], edited["includesCreatedEdit"]) == (3, True)
    assert (edited["editor"]["login"], edited["lastEditedAt"]) == ("copilot-swe-agent", nodes[0]["editedAt"])


def test_issue_keeps_its_earlier_titles(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    path = f"/repos/{repo}/issues"
    github.request_as("alice", "POST", path, title="Wrong sum", body="y is 3")
    query = """query($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { issue(number: 1) {
        title timelineItems(last: 2, itemTypes: [RENAMED_TITLE_EVENT]) { totalCount pageInfo { hasPreviousPage } nodes {
            ... on RenamedTitleEvent { createdAt previousTitle currentTitle actor { __typename login } } } } } } }"""
    unedited = run_query(app, repo, query)["data"]["repository"]["issue"]["timelineItems"]
    assert (unedited["nodes"], unedited["totalCount"], unedited["pageInfo"]) == ([], 0, {"hasPreviousPage": False})

    github.request_as("alice", "PATCH", f"{path}/1", body="y is 2", title="Wrong sum")
    for title, who in (("The sum", "alice"), ("Sum", "bob"), ("Product", "copilot-swe-agent[bot]")):
        github.request_as(who, "PATCH", f"{path}/1", title=title)
    edited = run_query(app, repo, query)["data"]["repository"]["issue"]["timelineItems"]
    titles = [(node["previousTitle"], node["currentTitle"], *node["actor"].values()) for node in edited["nodes"]]
    assert titles == [("The sum", "Sum", "User", "bob"), ("Sum", "Product", "Bot", "copilot-swe-agent")]
    assert (edited["totalCount"], edited["pageInfo"]) == (3, {"hasPreviousPage": True})


PULL = """query Pull($owner: String!, $name: String!, $number: Int!) {
  rateLimit { cost remaining resetAt }
  repository(owner: $owner, name: $name) {
    rules: object(expression: "main:AGENTS.md") { ... on Blob { text } }
    collaborators(login: "bob", first: 1) { edges { permission } }
    pullRequest(number: $number) {
      title body state isDraft mergeable isCrossRepository baseRefName baseRefOid headRefName headRefOid
      author { __typename login } headRepository { nameWithOwner } labels(first: 20) { nodes { name } }
      files(first: 100) { totalCount nodes { path changeType additions deletions } pageInfo { hasNextPage endCursor } }
      closingIssuesReferences(first: 10) { nodes { number title body state repository { nameWithOwner } } }
      commits(last: 1) { nodes { commit { oid message authors(first: 5) { nodes { email } } statusCheckRollup { state
        contexts(first: 100) { nodes { __typename
          ... on CheckRun { name status conclusion summary isRequired(pullRequestNumber: $number)
            checkSuite { app { slug databaseId } } }
          ... on StatusContext { context state description isRequired(pullRequestNumber: $number) } } } } } } }
    } } }"""


def run_query(app: httpx.Client, repo: str, query: str, **variables: Any) -> Any:
    owner, name = repo.split("/")
    return app.post("/graphql", json={"query": query, "variables": {"owner": owner, "name": name, **variables}}).json()


def test_two_queries_fetch_what_a_verdict_needs(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    github.request_as("alice", "POST", f"/repos/{repo}/issues", title="Wrong sum", body="- [ ] y is 3")
    github.control("push", repo=repo, branch="main", files={"AGENTS.md": "Test first.\n"})
    texts = {f"src/m{i}.py": f"x = {i}\n" for i in range(8)} | {"a.py": "x = 2\n"}
    made = push_and_open(github, repo, {**texts, "b.bin": {"base64": "AAEC"}}, "copilot-swe-agent[bot]")
    sha = made["head"]["sha"]
    output = {"title": "No", "summary": "E501"}
    github.control("ci", repo=repo, sha=sha, name="lint", conclusion="failure", output=output)
    github.control("ci", repo=repo, sha=sha, context="Assay", state="pending")

    seen = run_query(app, repo, PULL, number=made["number"])["data"]["repository"]
    pr = seen["pullRequest"]
    assert seen["rules"] == {"text": "Test first.\n"}
    assert seen["collaborators"] == {"edges": [{"permission": "WRITE"}]}
    assert pr["author"] == {"__typename": "Bot", "login": "copilot-swe-agent"}
    assert (pr["headRefOid"], pr["headRepository"]) == (sha, {"nameWithOwner": repo})
    assert [node["title"] for node in pr["closingIssuesReferences"]["nodes"]] == ["Wrong sum"]
    rollup = pr["commits"]["nodes"][0]["commit"]["statusCheckRollup"]
    lint, required = rollup["contexts"]["nodes"]
    assert (rollup["state"], lint["summary"]) == ("FAILURE", "E501")
    assert lint["checkSuite"]["app"] == {"slug": "github-actions", "databaseId": 15368}
    assert (lint["isRequired"], required["isRequired"], required["state"]) == (False, True, "PENDING")

    paths = [node["path"] for node in pr["files"]["nodes"]]
    assert read_texts(app, repo, sha, paths) == {**texts, "b.bin": None}
    assert [exchange["operation"] for exchange in github.requests(repo)] == ["Pull", "Texts"]


def read_texts(app: httpx.Client, repo: str, sha: str, paths: list[str]) -> dict[str, str | None]:
    fields = " ".join(f'f{i}: object(expression: "{sha}:{path}") {{ ...t }}' for i, path in enumerate(paths))
    query = f"""query Texts($owner: String!, $name: String!) {{ repository(owner: $owner, name: $name) {{ {fields} }} }}
        fragment t on Blob {{ text byteSize isBinary isTruncated }}"""
    blobs = run_query(app, repo, query)["data"]["repository"]
    return {path: blobs[f"f{i}"]["text"] for i, path in enumerate(paths)}


def run_invalid(app: httpx.Client, repo: str, fields: str) -> tuple[Any, list[tuple[str | None, str]]]:
    query = f"query Q($owner: String!, $name: String!) {{ repository(owner: $owner, name: $name) {{ {fields} }} }}"
    answer = run_query(app, repo, query)
    return answer.get("data"), [(error.get("type"), error["message"]) for error in answer["errors"]]


def test_query_is_validated_against_the_github_schema(app: httpx.Client, repo: str) -> None:
    unknown = "Field 'sumary' doesn't exist on type 'Repository'"
    assert run_invalid(app, repo, "name sumary") == (None, [(None, unknown)])
    missing = "Could not resolve to a PullRequest with the number of 99."
    expected = {"repository": {"name": repo.split("/")[1], "pullRequest": None}}
    assert run_invalid(app, repo, "name pullRequest(number: 99) { title }") == (expected, [("NOT_FOUND", missing)])
    unpaged = "You must provide a `first` or `last` value to properly paginate the `pullRequests` connection."
    assert run_invalid(app, repo, "pullRequests { totalCount }")[1] == [("MISSING_PAGINATION_BOUNDARIES", unpaged)]
    assert run_invalid(app, repo, "stargazerCount")[1] == [
        ("BENCH", "bench: no resolver for Repository.stargazerCount")
    ]


def test_long_list_comes_in_pages(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    number = push_and_open(github, repo, {"b0.py": "x = 0\n"})["number"]
    for i in (1, 2):
        github.control("push", repo=repo, branch="fix", files={f"b{i}.py": f"x = {i}\n"}, message=f"Step {i}")
    query = """query($owner: String!, $name: String!, $number: Int!, $after: String) {
        repository(owner: $owner, name: $name) { pullRequest(number: $number) { commits(first: 2, after: $after) {
            totalCount nodes { commit { message } } pageInfo { hasNextPage endCursor } } } } }"""
    pages: list[Any] = [{"pageInfo": {"endCursor": None, "hasNextPage": True}}]
    while pages[-1]["pageInfo"]["hasNextPage"]:
        after = pages[-1]["pageInfo"]["endCursor"]
        answer = run_query(app, repo, query, number=number, after=after)
        pages.append(answer["data"]["repository"]["pullRequest"]["commits"])
    messages = [[node["commit"]["message"] for node in page["nodes"]] for page in pages[1:]]
    assert messages == [["Change", "Step 1"], ["Step 2"]]
    assert [page["totalCount"] for page in pages[1:]] == [3, 3]


def test_open_pull_requests_are_listed_with_newest_heads(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    names = ("one", "two", "three")
    numbers = [push_and_open(github, repo, {f"{name}.py": "x = 1\n"}, branch=name)["number"] for name in names]
    github.request_as("alice", "PATCH", f"/repos/{repo}/pulls/{numbers[1]}", state="closed")
    moved = github.control("push", repo=repo, branch="three", files={"more.py": "y = 1\n"})["sha"]
    query = """query($owner: String!, $name: String!) { repository(owner: $owner, name: $name) {
        pullRequests(states: OPEN, first: 100) { nodes { number headRefOid baseRefName } pageInfo { hasNextPage } } } }"""
    swept = run_query(app, repo, query)["data"]["repository"]["pullRequests"]
    assert [node["number"] for node in swept["nodes"]] == [numbers[0], numbers[2]]
    assert (swept["nodes"][1]["headRefOid"], swept["pageInfo"]) == (moved, {"hasNextPage": False})


def test_query_can_fail_and_be_forbidden(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    number = push_and_open(github, repo, {"a.py": "x = 2\n"})["number"]
    github.fault("POST /graphql Pull", kind="primary")
    assert "errors" not in run_query(app, repo, "{ viewer { login } }")
    assert [error["type"] for error in run_query(app, repo, PULL, number=number)["errors"]] == ["RATE_LIMITED"]
    github.fault("POST /graphql$", status=502)
    assert run_query(app, repo, PULL, number=number) == {"message": "Server Error"}

    app.headers["Authorization"] = f"token {create_token(github, permissions={'metadata': 'read'})}"
    answer = run_query(app, repo, PULL, number=number)
    assert answer["data"]["repository"]["pullRequest"] is None
    refused = next(error for error in answer["errors"] if error["path"] == ["repository", "pullRequest"])
    assert (refused["type"], refused["message"]) == ("FORBIDDEN", "Resource not accessible by integration")


def test_request_that_github_would_refuse_is_a_violation(github: FakeGitHub, app: httpx.Client) -> None:
    name = f"gizmos-{uuid4().hex[:6]}"
    github.control("repo", name=name)
    app.get(f"/repos/acme/{name}/traffic/clones")
    app.post(f"/repos/acme/{name}/check-runs", json={"name": 5, "head_sha": "0" * 40})
    unknown, mistyped = find_violations(github.requests(f"acme/{name}"))
    assert "PathNotFound" in unknown
    assert "name: 5 is not of type 'string'" in mistyped


def test_organizations_have_their_own_installations_and_redeliver(httpserver: HTTPServer) -> None:
    httpserver.expect_oneshot_request("/hooks").respond_with_data(status=503)
    httpserver.expect_request("/hooks").respond_with_data(status=202)
    github = FakeGitHub.start({"globex": 200})
    try:
        github.control("hooks", url=httpserver.url_for("/hooks"), events=["push"])
        github.control("repo", name="parts", files={"a.py": "x = 1\n"})
        github.control("repo", name="parts", owner="globex", files={"a.py": "x = 1\n"})
        for repo, installation in (("acme/parts", 100), ("globex/parts", 200)):
            assert [payload["installation"]["id"] for payload in github.deliveries_of(repo, "push")] == [installation]
        assert [delivery["status"] for delivery in github.state("acme/parts")["deliveries"]] == [503]
        assert [github.redeliver_refused(), github.redeliver_refused()] == [1, 0]
        github.settle()
        assert [delivery["status"] for delivery in github.state("acme/parts")["deliveries"]] == [202]
    finally:
        github.stop()


def test_held_response_shows_the_state_of_the_request_time(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    number = push_and_open(github, repo, {"a.py": "x = 2\n"})["number"]
    path = f"/repos/{repo}/pulls/{number}"
    with ThreadPoolExecutor(1) as pool, github.hold_answers(f"GET {path}$") as held:
        asked = pool.submit(app.get, path)
        assert held() == f"GET {path}"
        github.request_as("alice", "PATCH", path, title="Edited")
    assert asked.result().json()["title"] == "Fix"


def test_held_push_can_be_delivered_before_an_older_one(httpserver: HTTPServer) -> None:
    delivered = list[str]()

    def record_push(request: Request) -> Response:
        delivered.append(json.loads(request.data).get("after", ""))
        return Response('{"outcome": "queued"}', status=202)

    httpserver.expect_request("/hooks").respond_with_handler(record_push)
    github = FakeGitHub.start()
    try:
        github.control("repo", name="parts", files={"a.py": "x = 1\n"})
        push_and_open(github, "acme/parts", {"a.py": "x = 2\n"})
        github.control("hooks", url=httpserver.url_for("/hooks"), events=["pull_request"], paused=True)
        older, newer = [
            github.control("push", repo="acme/parts", branch="fix", files={"a.py": f"x = {number}\n"})["sha"]
            for number in (3, 4)
        ]
        github.settle()
        assert github.deliver_push("acme/parts", newer) == {"outcome": "queued"}
        github.control("hooks", paused=False)
        github.settle()
        assert delivered == [newer, older]
    finally:
        github.stop()


def test_all_published_examples_are_loaded() -> None:
    published = load_examples()
    assert len(published) == 329
    assert len({example.name for example in published}) == 58
    assert len({example.id for example in published}) == 329
    assert published[0].payload


def test_renamed_repository_redirects_requests_by_old_name(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    sha = push_and_open(github, repo, {"a.py": "x = 2\n"})["head"]["sha"]
    made = github.control("move", repo=repo, name=f"{repo.partition('/')[2]}-renamed")
    new, run = made["full_name"], {"name": "Assay", "head_sha": sha, "status": "queued"}
    fetched, posted = app.get(f"/repos/{repo}/pulls/1"), app.post(f"/repos/{repo}/check-runs", json=run)
    assert (fetched.status_code, posted.status_code) == (301, 307)
    assert fetched.headers["location"] == f"{github.url}/repositories/{made['id']}/pulls/1"
    assert app.get(fetched.headers["location"]).json()["base"]["repo"]["full_name"] == new
    assert app.post(posted.headers["location"], json=run).status_code == 201
    assert find_violations(github.requests(new)) == find_violations(github.requests(repo)) == []

    owner, name = repo.split("/")
    query = "query($owner: String!, $name: String!, $follow: Boolean!) { repository(owner: $owner, name: $name, followRenames: $follow) { nameWithOwner } }"
    by = {"owner": owner, "name": name}
    followed, left = (
        app.post("/graphql", json={"query": query, "variables": {**by, "follow": follow}}).json()
        for follow in (True, False)
    )
    assert followed["data"]["repository"]["nameWithOwner"] == new
    assert left["errors"][0]["type"] == "NOT_FOUND"
    github.control("repo", name=name)
    assert app.get(f"/repos/{repo}").json()["id"] != made["id"], "a new repository takes the old name"


def test_token_cannot_exceed_granted_permissions(github: FakeGitHub) -> None:
    with pytest.raises(KeyError, match="token"):
        create_token(github, permissions={"administration": "read"})
    with pytest.raises(KeyError, match="token"):
        create_token(github, permissions={"contents": "write"})
    assert create_token(github, permissions={"contents": "read"})


def test_former_installation_may_only_read_public_repository(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    sha = push_and_open(github, repo, {"a.py": "x = 2\n"})["head"]["sha"]
    gone = github.control("move", repo=repo, owner="bob")["full_name"]
    assert app.get(f"/repos/{gone}/pulls/1").status_code == 200
    run = {"name": "Assay", "head_sha": sha, "status": "queued"}
    assert app.post(f"/repos/{gone}/check-runs", json=run).status_code == 403
    removed = [payload["repositories_removed"] for payload in read_payloads(github, "installation_repositories")]
    assert [gone in [repository["full_name"] for repository in some] for some in removed].count(True) == 1


def read_payloads(github: FakeGitHub, event: str) -> list[Any]:
    """The payloads of an event that names no repository."""
    github.settle()
    deliveries = github.state("none", "deliveries")["deliveries"]
    return [json.loads(delivery["body"]) for delivery in deliveries if delivery["event"] == event]
