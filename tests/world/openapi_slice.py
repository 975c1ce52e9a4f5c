"""Cuts the operations that a review bot uses out of GitHub's REST OpenAPI description.

    npm pack @octokit/openapi@23.0.2 && tar xzf octokit-openapi-23.0.2.tgz
    python tests/world/openapi_slice.py package/generated/api.github.com.json tests/world/github/gh-slice.json

Does not run in tests. Invariant: only structure is kept: no prose, no examples, and no discriminators, on
which validators choke.
"""

import json
import sys
from pathlib import Path
from typing import Any, cast

Object = dict[str, Any]

OPERATIONS = {
    "apps/get-authenticated",
    "apps/list-installations",
    "apps/get-installation",
    "apps/create-installation-access-token",
    "apps/get-repo-installation",
    "apps/list-repos-accessible-to-installation",
    "apps/create-from-manifest",
    "apps/get-webhook-config-for-app",
    "apps/list-webhook-deliveries",
    "apps/redeliver-webhook-delivery",
    "checks/create",
    "checks/update",
    "checks/get",
    "checks/list-annotations",
    "checks/list-for-ref",
    "checks/list-suites-for-ref",
    "checks/rerequest-run",
    "checks/rerequest-suite",
    "checks/get-suite",
    "checks/list-for-suite",
    "pulls/list",
    "pulls/get",
    "pulls/list-files",
    "pulls/list-commits",
    "pulls/merge",
    "pulls/list-reviews",
    "pulls/list-review-comments",
    "pulls/create-review",
    "pulls/update-review",
    "pulls/dismiss-review",
    "pulls/request-reviewers",
    "pulls/list-requested-reviewers",
    "issues/get",
    "issues/list-comments",
    "issues/list-comments-for-repo",
    "pulls/list-review-comments-for-repo",
    "issues/create-comment",
    "issues/update-comment",
    "issues/get-comment",
    "issues/add-labels",
    "issues/remove-label",
    "issues/list-labels-on-issue",
    "reactions/create-for-issue-comment",
    "reactions/list-for-issue-comment",
    "reactions/create-for-issue",
    "reactions/create-for-pull-request-review-comment",
    "repos/get",
    "repos/get-content",
    "repos/get-commit",
    "repos/compare-commits",
    "repos/get-collaborator-permission-level",
    "repos/list-collaborators",
    "repos/create-commit-status",
    "repos/get-combined-status-for-ref",
    "repos/list-commit-statuses-for-ref",
    "repos/get-branch",
    "repos/get-branch-rules",
    "repos/list-pull-requests-associated-with-commit",
    "repos/get-status-checks-protection",
    "git/get-tree",
    "git/get-blob",
    "git/get-ref",
    "git/get-commit",
    "rate-limit/get",
    "actions/list-workflow-runs-for-repo",
    "actions/list-jobs-for-workflow-run",
    "actions/download-job-logs-for-workflow-run",
    "code-scanning/upload-sarif",
    "users/get-by-username",
}
METHODS = {"get", "post", "put", "patch", "delete"}
PROSE = {
    "description",
    "summary",
    "externalDocs",
    "example",
    "examples",
    "x-github",
    "x-octokit",
    "tags",
    "deprecated",
    "discriminator",
}


def lean(node: Any) -> Any:
    """Drops prose."""
    match node:
        case list():
            return [lean(one) for one in cast("list[Any]", node)]
        case dict():
            return _lean_object(cast("Object", node))
        case _:
            return node


def _lean_object(node: Object) -> Object:
    kept = {
        key: _lean_properties(value) if key == "properties" else lean(value)
        for key, value in node.items()
        if key not in PROSE
    }
    if kept.get("nullable") is True and None not in kept.get("enum", [None]):
        kept["enum"] = [*kept["enum"], None]  # GitHub means this; strict validators want it said
    if isinstance(kept.get("content"), dict) and "schema" not in kept:
        kept.setdefault("description", "")  # a response must have one
    return kept


def _lean_properties(properties: Any) -> Any:
    """A property may well be called `description`."""
    return {name: lean(schema) for name, schema in properties.items()}


def references(node: Any) -> set[str]:
    match node:
        case list():
            return set[str]().union(*map(references, cast("list[Any]", node)))
        case dict():
            thing = cast("Object", node)
            own = {thing["$ref"]} if isinstance(thing.get("$ref"), str) else set[str]()
            return own.union(*map(references, thing.values()))
        case _:
            return set()


def operations(paths: Object) -> Object:
    wanted: Object = {}
    for path, methods in paths.items():
        for method, operation in methods.items():
            if method in METHODS and operation.get("operationId") in OPERATIONS:
                wanted.setdefault(path, {})[method] = described(_lean_object(operation))
    return wanted


def described(operation: Object) -> Object:
    for response in operation["responses"].values():
        if "$ref" not in response:
            response.setdefault("description", "")
            response.pop("headers", None)
    return operation


def components(source: Object, paths: Object) -> Object:
    found: Object = {}
    waiting = references(paths)
    while waiting:
        _, _, kind, name = waiting.pop().split("/")
        if name in found.get(kind, {}):
            continue
        part = lean(source["components"][kind][name])
        if kind == "responses":
            part.setdefault("description", "")
        found.setdefault(kind, {})[name] = part
        waiting |= references(part)
    return found


def main(source_file: str, target_file: str) -> None:
    source = json.loads(Path(source_file).read_text())
    paths = operations(source["paths"])
    have = {operation["operationId"] for methods in paths.values() for operation in methods.values()}
    sys.stderr.write(f"not in the description: {sorted(OPERATIONS - have) or 'none'}\n")
    slice_ = {
        "openapi": source["openapi"],
        "info": {"title": "GitHub REST slice", "version": source["info"]["version"]},
        "servers": [{"url": "https://api.github.com"}],
        "paths": paths,
        "components": components(source, paths),
    }
    Path(target_file).write_text(json.dumps(slice_, separators=(",", ":"), sort_keys=True) + "\n")
    sys.stderr.write(f"{len(have)} operations, {Path(target_file).stat().st_size} bytes\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
