"""Cuts the operations that a review bot uses out of GitHub's REST OpenAPI description.

    npm pack @octokit/openapi@23.0.2 && tar xzf octokit-openapi-23.0.2.tgz
    python tests/world/openapi_slice.py package/generated/api.github.com.json tests/world/github/gh-slice.json

Keeps only structure: no prose, examples and discriminators.
"""

import json
import sys
from pathlib import Path
from typing import Any, cast

Object = dict[str, Any]

OPERATION_NAMES = {
    "apps": (
        "get-authenticated list-installations get-installation create-installation-access-token "
        "get-repo-installation list-repos-accessible-to-installation create-from-manifest "
        "get-webhook-config-for-app list-webhook-deliveries redeliver-webhook-delivery"
    ),
    "checks": (
        "create update get list-annotations list-for-ref list-suites-for-ref rerequest-run rerequest-suite "
        "get-suite list-for-suite"
    ),
    "pulls": (
        "list get list-files list-commits merge list-reviews list-review-comments create-review update-review "
        "dismiss-review request-reviewers list-requested-reviewers list-review-comments-for-repo"
    ),
    "issues": (
        "get list-comments list-comments-for-repo create-comment update-comment get-comment add-labels "
        "remove-label list-labels-on-issue"
    ),
    "reactions": (
        "create-for-issue-comment list-for-issue-comment create-for-issue create-for-pull-request-review-comment"
    ),
    "repos": (
        "get get-content get-commit compare-commits get-collaborator-permission-level list-collaborators "
        "create-commit-status get-combined-status-for-ref list-commit-statuses-for-ref get-branch get-branch-rules "
        "list-pull-requests-associated-with-commit get-status-checks-protection"
    ),
    "git": "get-tree get-blob get-ref get-commit",
    "rate-limit": "get",
    "actions": "list-workflow-runs-for-repo list-jobs-for-workflow-run download-job-logs-for-workflow-run",
    "code-scanning": "upload-sarif",
    "users": "get-by-username",
}
OPERATIONS = {f"{tag}/{name}" for tag, names in OPERATION_NAMES.items() for name in names.split()}
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


def drop_prose(node: Any) -> Any:
    match node:
        case list():
            return [drop_prose(item) for item in cast("list[Any]", node)]
        case dict():
            return _lean_object(cast("Object", node))
        case _:
            return node


def _lean_object(node: Object) -> Object:
    kept = {
        key: _lean_properties(value) if key == "properties" else drop_prose(value)
        for key, value in node.items()
        if key not in PROSE
    }
    if kept.get("nullable") is True and None not in kept.get("enum", [None]):
        kept["enum"] = [*kept["enum"], None]  # strict validators need it
    if isinstance(kept.get("content"), dict) and "schema" not in kept:
        kept.setdefault("description", "")  # a response must have one
    return kept


def _lean_properties(properties: Any) -> Any:
    """A property may be called `description`."""
    return {name: drop_prose(schema) for name, schema in properties.items()}


def collect_references(node: Any) -> set[str]:
    match node:
        case list():
            return set[str]().union(*map(collect_references, cast("list[Any]", node)))
        case dict():
            thing = cast("Object", node)
            own = {thing["$ref"]} if isinstance(thing.get("$ref"), str) else set[str]()
            return own.union(*map(collect_references, thing.values()))
        case _:
            return set()


def select_operations(paths: Object) -> Object:
    wanted: Object = {}
    for path, methods in paths.items():
        for method, operation in methods.items():
            if method in METHODS and operation.get("operationId") in OPERATIONS:
                wanted.setdefault(path, {})[method] = add_descriptions(_lean_object(operation))
    return wanted


def add_descriptions(operation: Object) -> Object:
    for response in operation["responses"].values():
        if "$ref" not in response:
            response.setdefault("description", "")
            response.pop("headers", None)
    return operation


def collect_components(source: Object, paths: Object) -> Object:
    parts: Object = {}
    waiting = collect_references(paths)
    while waiting:
        _, _, kind, name = waiting.pop().split("/")
        if name in parts.get(kind, {}):
            continue
        part = drop_prose(source["components"][kind][name])
        if kind == "responses":
            part.setdefault("description", "")
        parts.setdefault(kind, {})[name] = part
        waiting |= collect_references(part)
    return parts


def main(source_file: str, target_file: str) -> None:
    source = json.loads(Path(source_file).read_text())
    paths = select_operations(source["paths"])
    have = {operation["operationId"] for methods in paths.values() for operation in methods.values()}
    sys.stderr.write(f"not in the description: {sorted(OPERATIONS - have) or 'none'}\n")
    slice_ = {
        "openapi": source["openapi"],
        "info": {"title": "GitHub REST slice", "version": source["info"]["version"]},
        "servers": [{"url": "https://api.github.com"}],
        "paths": paths,
        "components": collect_components(source, paths),
    }
    Path(target_file).write_text(json.dumps(slice_, separators=(",", ":"), sort_keys=True) + "\n")
    sys.stderr.write(f"{len(have)} operations, {Path(target_file).stat().st_size} bytes\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
