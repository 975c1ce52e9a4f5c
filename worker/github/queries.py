"""The GraphQL that we ask, and nothing else.

Does not send anything. Invariant: untrusted words (paths, names) travel as variables, never in the text of a query.
"""

from collections.abc import Sequence
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


def issue_alias(index: int) -> str:
    return f"issue_{index}"


def things(expressions: Sequence[str], issues: Sequence[int]) -> Query:
    """Ask for blobs (`commit:path`) and issues, each under its alias, and for the newest head beside them."""
    files = [file_alias(index) for index in range(len(expressions))]
    numbers = [issue_alias(index) for index in range(len(issues))]
    parameters = [*(f"${alias}: String!" for alias in files), *(f"${alias}: Int!" for alias in numbers)]
    fields = [
        *(f"{alias}: object(expression: ${alias}) {{ ...blob }}" for alias in files),
        *(f"{alias}: issue(number: ${alias}) {{ ...issue }}" for alias in numbers),
    ]
    document = f"""
query AssayTexts({", ".join(["$owner: String!, $name: String!, $number: Int!", *parameters])}) {{
  repository(owner: $owner, name: $name) {{
    pullRequest(number: $number) {{ state headRefOid }}
    {" ".join(fields)}
  }}
}}
{BLOB if files else ""}{ISSUE + WHO if numbers else ""}"""
    return Query(document, dict(zip([*files, *numbers], [*expressions, *issues], strict=True)))
