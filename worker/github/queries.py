"""The GraphQL that we ask, and nothing else.

Does not send anything. Invariant: untrusted words (paths, names) travel as variables, never in the text of a query.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from worker.domain.config_place import DEFAULTS, PLACE

DEFAULTS_ALIAS: Final = "defaults"

CONTEXT: Final = """
fragment context on StatusCheckRollupContext {
  __typename
  ... on CheckRun {
    name status conclusion startedAt detailsUrl title summary
    isRequired(pullRequestNumber: $number)
    checkSuite { app { slug databaseId } workflowRun { workflow { name } } }
    annotations(first: 10) { nodes { path message title annotationLevel location { start { line } } } }
  }
  ... on StatusContext { context state description isRequired(pullRequestNumber: $number) }
}
"""

SUITE: Final = """
fragment suite on CheckSuite {
  conclusion
  app { slug databaseId }
  workflowRun { workflow { name } }
  checkRuns(first: 1) { totalCount }
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
  repository { nameWithOwner isPrivate }
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
      baseRepository { nameWithOwner isPrivate }
      baseRef {
        refUpdateRule { requiredStatusCheckContexts }
        target { ... on Commit { statusCheckRollup { contexts(first: 1) { totalCount } } } }
      }
      tip: commits(last: 1) { nodes { commit { checkSuites(first: 50) { nodes { ...suite } } } } }
      statusCheckRollup { contexts(first: 100) { nodes { ...context } pageInfo { hasNextPage endCursor } } }
    }
  }
}
"""
    + ISSUE
    + WHO
    + CONTEXT
    + SUITE
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


OWNERS_DEFAULT: Final = f"""
  {DEFAULTS_ALIAS}: repository(owner: $owner, name: "{DEFAULTS}", followRenames: false) {{
    object(expression: "HEAD:{PLACE}") {{ ...blob }}
  }}
"""
"""A repository that moved away is not followed: it may be somebody else's now."""


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


def things(
    expressions: Sequence[str], issues: Sequence[int], folders: Sequence[str] = (), *, owners_default: bool = False
) -> Query:
    """Ask for blobs and folders (`commit:path`) and issues, each under its alias, and for the newest head beside them.

    *owners_default*: also for the configuration that holds for all repositories of this owner.
    """
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
  {OWNERS_DEFAULT if owners_default else ""}
}}
{BLOB if expressions or folders or owners_default else ""}{fragments}"""
    return Query(document, {alias: value for _, alias, value in asked})
