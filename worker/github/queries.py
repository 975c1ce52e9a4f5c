"""The GraphQL that we ask, and nothing else.

Does not send anything. Invariant: untrusted words (paths, names) travel as variables, never in the text of a query.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

CONTEXT: Final = """
fragment context on StatusCheckRollupContext {
  __typename
  ... on CheckRun {
    name status conclusion startedAt title summary
    isRequired(pullRequestNumber: $number)
    checkSuite { app { slug databaseId } workflowRun { workflow { name } } }
    annotations(first: 10) { nodes { path message title annotationLevel location { start { line } } } }
  }
  ... on StatusContext { context state description isRequired(pullRequestNumber: $number) }
}
"""

WHO: Final = """
fragment who on Actor { __typename login }
"""

ISSUE: Final = """
fragment issue on Issue {
  number title body url authorAssociation lastEditedAt
  author { ...who }
  editor { ...who }
  repository { nameWithOwner }
}
"""

BLOB: Final = """
fragment blob on Blob { text isBinary isTruncated }
"""

LISTING: Final = """
fragment folder on Tree { entries { name object { ...blob } } }
"""

PULL: Final = (
    """
query AssayPull($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      state title body isDraft changedFiles baseRefName baseRefOid headRefName headRefOid
      author { ...who }
      labels(first: 100) { nodes { name } }
      commits(last: 100) { nodes { commit { oid message author { name user { login } } } } }
      closingIssuesReferences(first: 20) { nodes { ...issue } }
      baseRef { refUpdateRule { requiredStatusCheckContexts } }
      statusCheckRollup { contexts(first: 100) { nodes { ...context } pageInfo { hasNextPage endCursor } } }
    }
  }
}
"""
    + ISSUE
    + WHO
    + CONTEXT
)

MORE_CONTEXTS: Final = (
    """
query AssayChecks($owner: String!, $name: String!, $number: Int!, $after: String!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      statusCheckRollup {
        contexts(first: 100, after: $after) { nodes { ...context } pageInfo { hasNextPage endCursor } }
      }
    }
  }
}
"""
    + CONTEXT
)

HEAD: Final = """
query AssayHead($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) { state headRefOid } }
}
"""


@dataclass(frozen=True, slots=True)
class Query:
    """A text and the variables that it takes besides the pull request's."""

    document: str
    variables: dict[str, str | int]


def file_alias(index: int) -> str:
    return f"file_{index}"


def folder_alias(index: int) -> str:
    return f"folder_{index}"


def issue_alias(index: int) -> str:
    return f"issue_{index}"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of thing to ask for: how its aliases are made, the type of what tells it, and the field."""

    alias: Callable[[int], str]
    type: str
    field: str
    fragments: str


FILE: Final = Kind(file_alias, "String!", "object(expression: ${}) {{ ...blob }}", "")
FOLDER: Final = Kind(folder_alias, "String!", "object(expression: ${}) {{ ...folder }}", LISTING)
NUMBERED: Final = Kind(issue_alias, "Int!", "issue(number: ${}) {{ ...issue }}", ISSUE + WHO)


def things(expressions: Sequence[str], issues: Sequence[int], folders: Sequence[str] = ()) -> Query:
    """Ask for blobs and folders (`commit:path`) and issues, each under its alias, and for the newest head beside them."""
    kinds = ((FILE, expressions), (FOLDER, folders), (NUMBERED, issues))
    asked = [(kind, kind.alias(index), value) for kind, values in kinds for index, value in enumerate(values)]
    parameters = [f"${alias}: {kind.type}" for kind, alias, _ in asked]
    fields = [f"{alias}: {kind.field.format(alias)}" for kind, alias, _ in asked]
    fragments = "".join(kind.fragments for kind, values in kinds if values)
    document = f"""
query AssayTexts({", ".join(["$owner: String!, $name: String!, $number: Int!", *parameters])}) {{
  repository(owner: $owner, name: $name) {{
    pullRequest(number: $number) {{ state headRefOid }}
    {" ".join(fields)}
  }}
}}
{BLOB if expressions or folders else ""}{fragments}"""
    return Query(document, {alias: value for _, alias, value in asked})
