"""What the bench promises, so that a conversation may rely on it: each test is one promise."""

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

pytestmark = pytest.mark.slow  # about the played GitHub, not about us


def installation_token(github: FakeGitHub, **body: Any) -> str:
    ready, now = github.info, int(time.time())
    claims = {"iat": now - 30, "exp": now + 500, "iss": str(ready.app_id)}
    signed = jwt.encode(claims, ready.private_key, algorithm="RS256")
    path = f"/app/installations/{ready.installation_id}/access_tokens"
    answer = httpx.post(github.url + path, json=body, headers={"Authorization": f"Bearer {signed}"})
    return str(answer.json()["token"])


@pytest.fixture
def app(github: FakeGitHub) -> Iterator[httpx.Client]:
    """The product's view of GitHub: a client with an installation token."""
    headers = {"Authorization": f"token {installation_token(github)}"}
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


def pull(github: FakeGitHub, repo: str, files: Mapping[str, Any], login: str = "alice", branch: str = "fix") -> Any:
    github.control("push", repo=repo, branch=branch, files=files)
    return opened(github, repo, login, branch)


def opened(github: FakeGitHub, repo: str, login: str, head: str) -> Any:
    return github.request_as(
        login, "POST", f"/repos/{repo}/pulls", title="Fix", head=head, base="main", body="Fixes #1"
    )


def actions(github: FakeGitHub, repo: str, event: str) -> list[str]:
    return [one["action"] for one in github.deliveries_of(repo, event)]


def test_the_diff_is_gits(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    number = pull(github, repo, {"a.py": "x = 1\ny = 3\n", "old.txt": None, "new.txt": "a\nb\nc\n"})["number"]
    files = app.get(f"/repos/{repo}/pulls/{number}/files").json()
    assert [(one["filename"], one["status"], one["changes"]) for one in files] == [
        ("a.py", "modified", 2),
        ("new.txt", "renamed", 0),
    ]
    diff = app.get(f"/repos/{repo}/pulls/{number}", headers={"Accept": "application/vnd.github.diff"}).text
    assert "-y = 2\n+y = 3\n" in diff
    assert "rename from old.txt\nrename to new.txt\n" in diff


def test_the_diff_keeps_bytes_empties_folders_and_knows_submodules(
    github: FakeGitHub, app: httpx.Client, repo: str
) -> None:
    github.control("push", repo=repo, branch="main", files={"lib/only.py": "x = 1\n"})
    latin = {"base64": base64.b64encode("x = 'ä'\n".encode("latin-1")).decode()}
    files = {"lib/only.py": None, "latin.py": latin, "vendor": {"commit": "1" * 40}}
    number = pull(github, repo, files)["number"]
    diff = app.get(f"/repos/{repo}/pulls/{number}", headers={"Accept": "application/vnd.github.diff"}).content
    assert b"+x = '\xe4'\n" in diff
    assert b"deleted file mode 100644" in diff
    assert b"+Subproject commit 1111111" in diff


def test_a_fork_follows_its_pushes(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    fork = github.control("fork", repo=repo, **{"as": "mallory"})["full_name"]
    github.control("push", repo=fork, branch="evil", files={"a.py": "x = 9\n"})
    made = opened(github, repo, "mallory", "mallory:evil")
    github.control("push", repo=fork, branch="evil", files={"b.py": "z = 1\n"})
    seen = app.get(f"/repos/{repo}/pulls/{made['number']}").json()
    assert (seen["commits"], seen["changed_files"], seen["head"]["repo"]["full_name"]) == (2, 2, fork)
    assert actions(github, repo, "pull_request") == ["opened", "synchronize"]


def test_a_check_run_has_buttons_and_its_annotations_add_up(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    sha = pull(github, repo, {"a.py": "x = 2\n"})["head"]["sha"]
    note = {"path": "a.py", "start_line": 1, "end_line": 1, "annotation_level": "warning", "message": "why 2?"}
    output = {"title": "t", "summary": "s", "annotations": [note]}
    button = {"label": "Waive", "identifier": "waive", "description": "Accept it"}
    body = {"name": "Assay", "head_sha": sha, "status": "in_progress", "output": output, "actions": [button]}
    run = app.post(f"/repos/{repo}/check-runs", json=body).json()
    run = app.patch(f"/repos/{repo}/check-runs/{run['id']}", json={"conclusion": "failure", "output": output}).json()
    assert (run["status"], run["output"]["annotations_count"]) == ("completed", 2)

    github.control("press", button="rerun", check_run=run["id"])
    github.control("press", button="action", check_run=run["id"], identifier="waive")
    assert actions(github, repo, "check_run") == ["created", "completed", "rerequested", "requested_action"]
    backwards = {**output, "annotations": [{**note, "end_line": 0}]}
    assert app.patch(f"/repos/{repo}/check-runs/{run['id']}", json={"output": backwards}).status_code == 422


def test_the_merge_queue_waits_for_the_check(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    number = pull(github, repo, {"a.py": "x = 2\n"})["number"]
    group = github.control("merge-group", repo=repo, pulls=[number])
    assert github.deliveries_of(repo, "merge_group")[0]["merge_group"]["head_sha"] == group["head_sha"]
    with pytest.raises(RequestRefused, match="is expected"):
        github.control("merge-group/end", head_sha=group["head_sha"], reason="merged")
    done = {"name": "Assay", "head_sha": group["head_sha"], "conclusion": "success"}
    assert app.post(f"/repos/{repo}/check-runs", json=done).status_code == 201
    assert github.control("merge-group/end", head_sha=group["head_sha"], reason="merged") == {"complaints": []}
    assert app.get(f"/repos/{repo}/pulls/{number}").json()["merged"]
    assert actions(github, repo, "pull_request") == ["opened", "closed"]


def test_ordered_faults_happen_once_and_every_request_is_counted(
    github: FakeGitHub, app: httpx.Client, repo: str
) -> None:
    path = f"/repos/{repo}"
    github.fault(f"GET {path}$", kind="secondary", retry_after=7)
    assert app.get(path).headers["retry-after"] == "7"
    github.fault(f"GET {path}$", kind="reset")
    with pytest.raises(httpx.HTTPError):
        app.get(path)
    first = app.get(path)
    assert app.get(path, headers={"If-None-Match": first.headers["etag"]}).status_code == 304
    other = github.client.request("GET", path, headers={"If-None-Match": first.headers["etag"]})
    assert other.status == 200, "an ETag is of one credential"

    sha = pull(github, repo, {"a.py": "x = 2\n"})["head"]["sha"]
    github.fault("POST .*/check-runs", status=502, after=True)
    assert app.post(f"{path}/check-runs", json={"name": "Assay", "head_sha": sha}).status_code == 502
    assert len([run for run in github.state(repo)["check_runs"] if run["name"] == "Assay"]) == 1

    assert [one["status"] for one in github.requests(repo)] == [403, None, 200, 304, 502]


def test_the_linked_issue_is_found_and_each_person_has_a_permission(
    github: FakeGitHub, app: httpx.Client, repo: str
) -> None:
    github.request_as("alice", "POST", f"/repos/{repo}/issues", title="Wrong sum", body="- [ ] y is 3")
    number = pull(github, repo, {"a.py": "x = 2\n"})["number"]
    query = """query($owner: String!, $name: String!, $number: Int!) { repository(owner: $owner, name: $name) {
        pullRequest(number: $number) { closingIssuesReferences(first: 10) { nodes { number title body } } } } }"""
    found = ask(app, repo, query, number=number)["data"]["repository"]["pullRequest"]["closingIssuesReferences"]
    assert [(one["number"], one["title"]) for one in found["nodes"]] == [(1, "Wrong sum")]

    may = {
        who: app.get(f"/repos/{repo}/collaborators/{who}/permission").json()["permission"] for who in github.info.tokens
    }
    bots = {"copilot-swe-agent[bot]": "read", "dependabot[bot]": "read"}
    assert may == {"alice": "admin", "bob": "write", "mallory": "read", **bots}


def test_an_issue_keeps_every_text_that_it_had(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    path = f"/repos/{repo}/issues"
    github.request_as("alice", "POST", path, title="Wrong sum", body="y is 3")
    query = """query($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { issue(number: 1) {
        body lastEditedAt includesCreatedEdit editor { login }
        userContentEdits(first: 2) { totalCount nodes { editedAt diff editor { __typename login } } } } } }"""
    never = ask(app, repo, query)["data"]["repository"]["issue"]
    assert (never["lastEditedAt"], never["includesCreatedEdit"], never["userContentEdits"]["nodes"]) == (
        None,
        False,
        [],
    )

    github.request_as("alice", "PATCH", f"{path}/1", title="The sum")
    github.request_as("bob", "PATCH", f"{path}/1", body="y is 2")
    github.request_as("copilot-swe-agent[bot]", "PATCH", f"{path}/1", body="")
    found = ask(app, repo, query)["data"]["repository"]["issue"]
    nodes = found["userContentEdits"]["nodes"]
    assert [(one["diff"], one["editor"]["__typename"], one["editor"]["login"]) for one in nodes] == [
        ("", "Bot", "copilot-swe-agent"),
        ("y is 2", "User", "bob"),
    ]
    assert (found["userContentEdits"]["totalCount"], found["includesCreatedEdit"]) == (3, True)
    assert (found["editor"]["login"], found["lastEditedAt"]) == ("copilot-swe-agent", nodes[0]["editedAt"])


def test_an_issue_keeps_every_title_that_it_had(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    path = f"/repos/{repo}/issues"
    github.request_as("alice", "POST", path, title="Wrong sum", body="y is 3")
    query = """query($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { issue(number: 1) {
        title timelineItems(last: 2, itemTypes: [RENAMED_TITLE_EVENT]) { totalCount pageInfo { hasPreviousPage } nodes {
            ... on RenamedTitleEvent { createdAt previousTitle currentTitle actor { __typename login } } } } } } }"""
    never = ask(app, repo, query)["data"]["repository"]["issue"]["timelineItems"]
    assert (never["nodes"], never["totalCount"], never["pageInfo"]) == ([], 0, {"hasPreviousPage": False})

    github.request_as("alice", "PATCH", f"{path}/1", body="y is 2", title="Wrong sum")
    for title, who in (("The sum", "alice"), ("Sum", "bob"), ("Product", "copilot-swe-agent[bot]")):
        github.request_as(who, "PATCH", f"{path}/1", title=title)
    found = ask(app, repo, query)["data"]["repository"]["issue"]["timelineItems"]
    told = [(one["previousTitle"], one["currentTitle"], *one["actor"].values()) for one in found["nodes"]]
    assert told == [("The sum", "Sum", "User", "bob"), ("Sum", "Product", "Bot", "copilot-swe-agent")]
    assert (found["totalCount"], found["pageInfo"]) == (3, {"hasPreviousPage": True})


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


def ask(app: httpx.Client, repo: str, query: str, **variables: Any) -> Any:
    owner, name = repo.split("/")
    return app.post("/graphql", json={"query": query, "variables": {"owner": owner, "name": name, **variables}}).json()


def test_two_queries_fetch_what_a_verdict_needs(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    github.request_as("alice", "POST", f"/repos/{repo}/issues", title="Wrong sum", body="- [ ] y is 3")
    github.control("push", repo=repo, branch="main", files={"AGENTS.md": "Test first.\n"})
    texts = {f"src/m{i}.py": f"x = {i}\n" for i in range(8)} | {"a.py": "x = 2\n"}
    made = pull(github, repo, {**texts, "b.bin": {"base64": "AAEC"}}, "copilot-swe-agent[bot]")
    sha = made["head"]["sha"]
    github.control(
        "ci", repo=repo, sha=sha, name="lint", conclusion="failure", output={"title": "No", "summary": "E501"}
    )
    github.control("ci", repo=repo, sha=sha, context="Assay", state="pending")

    seen = ask(app, repo, PULL, number=made["number"])["data"]["repository"]
    pr = seen["pullRequest"]
    assert seen["rules"] == {"text": "Test first.\n"}
    assert seen["collaborators"] == {"edges": [{"permission": "WRITE"}]}
    assert pr["author"] == {"__typename": "Bot", "login": "copilot-swe-agent"}
    assert (pr["headRefOid"], pr["headRepository"]) == (sha, {"nameWithOwner": repo})
    assert [one["title"] for one in pr["closingIssuesReferences"]["nodes"]] == ["Wrong sum"]
    rollup = pr["commits"]["nodes"][0]["commit"]["statusCheckRollup"]
    lint, required = rollup["contexts"]["nodes"]
    assert (rollup["state"], lint["summary"]) == ("FAILURE", "E501")
    assert lint["checkSuite"]["app"] == {"slug": "github-actions", "databaseId": 15368}
    assert (lint["isRequired"], required["isRequired"], required["state"]) == (False, True, "PENDING")

    paths = [one["path"] for one in pr["files"]["nodes"]]
    assert texts_at(app, repo, sha, paths) == {**texts, "b.bin": None}
    assert [one["operation"] for one in github.requests(repo)] == ["Pull", "Texts"]


def texts_at(app: httpx.Client, repo: str, sha: str, paths: list[str]) -> dict[str, str | None]:
    fields = " ".join(f'f{i}: object(expression: "{sha}:{path}") {{ ...t }}' for i, path in enumerate(paths))
    query = f"""query Texts($owner: String!, $name: String!) {{ repository(owner: $owner, name: $name) {{ {fields} }} }}
        fragment t on Blob {{ text byteSize isBinary isTruncated }}"""
    blobs = ask(app, repo, query)["data"]["repository"]
    return {path: blobs[f"f{i}"]["text"] for i, path in enumerate(paths)}


def errors(app: httpx.Client, repo: str, fields: str) -> tuple[Any, list[tuple[str | None, str]]]:
    query = f"query Q($owner: String!, $name: String!) {{ repository(owner: $owner, name: $name) {{ {fields} }} }}"
    answer = ask(app, repo, query)
    return answer.get("data"), [(one.get("type"), one["message"]) for one in answer["errors"]]


def test_a_query_is_held_against_githubs_schema(app: httpx.Client, repo: str) -> None:
    unknown = "Field 'sumary' doesn't exist on type 'Repository'"
    assert errors(app, repo, "name sumary") == (None, [(None, unknown)])
    missing = "Could not resolve to a PullRequest with the number of 99."
    expected = {"repository": {"name": repo.split("/")[1], "pullRequest": None}}
    assert errors(app, repo, "name pullRequest(number: 99) { title }") == (expected, [("NOT_FOUND", missing)])
    unpaged = "You must provide a `first` or `last` value to properly paginate the `pullRequests` connection."
    assert errors(app, repo, "pullRequests { totalCount }")[1] == [("MISSING_PAGINATION_BOUNDARIES", unpaged)]
    assert errors(app, repo, "stargazerCount")[1] == [("BENCH", "bench: no resolver for Repository.stargazerCount")]


def test_a_long_list_comes_in_pages(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    number = pull(github, repo, {"b0.py": "x = 0\n"})["number"]
    for i in (1, 2):
        github.control("push", repo=repo, branch="fix", files={f"b{i}.py": f"x = {i}\n"}, message=f"Step {i}")
    query = """query($owner: String!, $name: String!, $number: Int!, $after: String) {
        repository(owner: $owner, name: $name) { pullRequest(number: $number) { commits(first: 2, after: $after) {
            totalCount nodes { commit { message } } pageInfo { hasNextPage endCursor } } } } }"""
    pages: list[Any] = [{"pageInfo": {"endCursor": None, "hasNextPage": True}}]
    while pages[-1]["pageInfo"]["hasNextPage"]:
        after = pages[-1]["pageInfo"]["endCursor"]
        answer = ask(app, repo, query, number=number, after=after)
        pages.append(answer["data"]["repository"]["pullRequest"]["commits"])
    messages = [[one["commit"]["message"] for one in page["nodes"]] for page in pages[1:]]
    assert messages == [["Change", "Step 1"], ["Step 2"]]
    assert [page["totalCount"] for page in pages[1:]] == [3, 3]


def test_open_pull_requests_are_listed_with_their_moved_heads(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    names = ("one", "two", "three")
    numbers = [pull(github, repo, {f"{name}.py": "x = 1\n"}, branch=name)["number"] for name in names]
    github.request_as("alice", "PATCH", f"/repos/{repo}/pulls/{numbers[1]}", state="closed")
    moved = github.control("push", repo=repo, branch="three", files={"more.py": "y = 1\n"})["sha"]
    query = """query($owner: String!, $name: String!) { repository(owner: $owner, name: $name) {
        pullRequests(states: OPEN, first: 100) { nodes { number headRefOid baseRefName } pageInfo { hasNextPage } } } }"""
    swept = ask(app, repo, query)["data"]["repository"]["pullRequests"]
    assert [one["number"] for one in swept["nodes"]] == [numbers[0], numbers[2]]
    assert (swept["nodes"][1]["headRefOid"], swept["pageInfo"]) == (moved, {"hasNextPage": False})


def test_a_query_can_fail_and_be_forbidden(github: FakeGitHub, app: httpx.Client, repo: str) -> None:
    number = pull(github, repo, {"a.py": "x = 2\n"})["number"]
    github.fault("POST /graphql Pull", kind="primary")
    assert "errors" not in ask(app, repo, "{ viewer { login } }")
    assert [one["type"] for one in ask(app, repo, PULL, number=number)["errors"]] == ["RATE_LIMITED"]
    github.fault("POST /graphql$", status=502)
    assert ask(app, repo, PULL, number=number) == {"message": "Server Error"}

    app.headers["Authorization"] = f"token {installation_token(github, permissions={'metadata': 'read'})}"
    answer = ask(app, repo, PULL, number=number)
    assert answer["data"]["repository"]["pullRequest"] is None
    refused = next(one for one in answer["errors"] if one["path"] == ["repository", "pullRequest"])
    assert (refused["type"], refused["message"]) == ("FORBIDDEN", "Resource not accessible by integration")


def test_a_request_that_github_would_not_take_is_a_violation(github: FakeGitHub, app: httpx.Client) -> None:
    name = f"gizmos-{uuid4().hex[:6]}"
    github.control("repo", name=name)
    app.get(f"/repos/acme/{name}/traffic/clones")
    app.post(f"/repos/acme/{name}/check-runs", json={"name": 5, "head_sha": "0" * 40})
    unknown, mistyped = find_violations(github.requests(f"acme/{name}"))
    assert "PathNotFound" in unknown
    assert "name: 5 is not of type 'string'" in mistyped


def test_each_organization_has_an_installation_of_its_own_and_what_was_refused_can_be_delivered_again(
    httpserver: HTTPServer,
) -> None:
    httpserver.expect_oneshot_request("/hooks").respond_with_data(status=503)
    httpserver.expect_request("/hooks").respond_with_data(status=202)
    github = FakeGitHub.start({"globex": 200})
    try:
        github.control("hooks", url=httpserver.url_for("/hooks"), events=["push"])
        github.control("repo", name="parts", files={"a.py": "x = 1\n"})
        github.control("repo", name="parts", owner="globex", files={"a.py": "x = 1\n"})
        for repo, installation in (("acme/parts", 100), ("globex/parts", 200)):
            assert [one["installation"]["id"] for one in github.deliveries_of(repo, "push")] == [installation]
        assert [one["status"] for one in github.state("acme/parts")["deliveries"]] == [503]
        assert [github.redeliver_refused(), github.redeliver_refused()] == [1, 0]
        github.settle()
        assert [one["status"] for one in github.state("acme/parts")["deliveries"]] == [202]
    finally:
        github.stop()


def test_an_answer_that_is_held_says_what_was_there_when_it_was_asked_for(
    github: FakeGitHub, app: httpx.Client, repo: str
) -> None:
    number = pull(github, repo, {"a.py": "x = 2\n"})["number"]
    path = f"/repos/{repo}/pulls/{number}"
    with ThreadPoolExecutor(1) as pool, github.hold_answers(f"GET {path}$") as held:
        asked = pool.submit(app.get, path)
        assert held() == f"GET {path}"
        github.request_as("alice", "PATCH", path, title="Edited")
    assert asked.result().json()["title"] == "Fix"


def test_a_push_that_is_held_back_can_be_delivered_before_an_older_one(httpserver: HTTPServer) -> None:
    told = list[str]()

    def heard(request: Request) -> Response:
        told.append(json.loads(request.data).get("after", ""))
        return Response('{"outcome": "queued"}', status=202)

    httpserver.expect_request("/hooks").respond_with_handler(heard)
    github = FakeGitHub.start()
    try:
        github.control("repo", name="parts", files={"a.py": "x = 1\n"})
        pull(github, "acme/parts", {"a.py": "x = 2\n"})
        github.control("hooks", url=httpserver.url_for("/hooks"), events=["pull_request"], paused=True)
        older, newer = [
            github.control("push", repo="acme/parts", branch="fix", files={"a.py": f"x = {number}\n"})["sha"]
            for number in (3, 4)
        ]
        github.settle()
        assert github.deliver_push("acme/parts", newer) == {"outcome": "queued"}
        github.control("hooks", paused=False)
        github.settle()
        assert told == [newer, older]
    finally:
        github.stop()


def test_all_published_examples_are_there() -> None:
    everything = load_examples()
    assert len(everything) == 329
    assert len({one.name for one in everything}) == 58
    assert len({one.id for one in everything}) == 329
    assert everything[0].payload


def test_who_asks_by_an_old_name_is_led_to_the_number_and_keeps_the_method(
    github: FakeGitHub, app: httpx.Client, repo: str
) -> None:
    sha = pull(github, repo, {"a.py": "x = 2\n"})["head"]["sha"]
    made = github.control("move", repo=repo, name=f"{repo.partition('/')[2]}-renamed")
    new, run = made["full_name"], {"name": "Assay", "head_sha": sha, "status": "queued"}
    asked, told = app.get(f"/repos/{repo}/pulls/1"), app.post(f"/repos/{repo}/check-runs", json=run)
    assert (asked.status_code, told.status_code) == (301, 307)
    assert asked.headers["location"] == f"{github.url}/repositories/{made['id']}/pulls/1"
    assert app.get(asked.headers["location"]).json()["base"]["repo"]["full_name"] == new
    assert app.post(told.headers["location"], json=run).status_code == 201
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
    assert app.get(f"/repos/{repo}").json()["id"] != made["id"], "who takes the name has it"


def test_nobody_gets_a_token_for_more_than_was_granted(github: FakeGitHub) -> None:
    with pytest.raises(KeyError, match="token"):
        installation_token(github, permissions={"administration": "read"})
    with pytest.raises(KeyError, match="token"):
        installation_token(github, permissions={"contents": "write"})
    assert installation_token(github, permissions={"contents": "read"})


def test_who_was_left_by_a_repository_may_read_what_is_public_and_write_nothing(
    github: FakeGitHub, app: httpx.Client, repo: str
) -> None:
    sha = pull(github, repo, {"a.py": "x = 2\n"})["head"]["sha"]
    gone = github.control("move", repo=repo, owner="bob")["full_name"]
    assert app.get(f"/repos/{gone}/pulls/1").status_code == 200
    run = {"name": "Assay", "head_sha": sha, "status": "queued"}
    assert app.post(f"/repos/{gone}/check-runs", json=run).status_code == 403
    told = [one["repositories_removed"] for one in unnamed(github, "installation_repositories")]
    assert [gone in [one["full_name"] for one in some] for some in told].count(True) == 1


def unnamed(github: FakeGitHub, event: str) -> list[Any]:
    """What was told of no repository."""
    github.settle()
    said = github.state("none", "deliveries")["deliveries"]
    return [json.loads(one["body"]) for one in said if one["event"] == event]
