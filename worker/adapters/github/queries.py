"""GraphQL queries. Untrusted text (paths, names) is passed in variables, never in a query's text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from worker.domain.config.config import CONFIG_PATH, DEFAULTS_REPOSITORY

DEFAULTS_ALIAS: Final = "defaults"

CONTEXT_FRAGMENT: Final = """
fragment context on StatusCheckRollupContext {
  __typename
  ... on CheckRun {
    name status conclusion startedAt detailsUrl title summary
    isRequired(pullRequestNumber: $number)
    checkSuite { app { slug databaseId } workflowRun { event workflow { name } } }
    annotations(first: 10) { nodes { path message title annotationLevel location { start { line } } } }
  }
  ... on StatusContext { context state description isRequired(pullRequestNumber: $number) }
}
"""

SUITE_FRAGMENT: Final = """
fragment suite on CheckSuite {
  conclusion
  app { slug databaseId }
  workflowRun { workflow { name } }
  checkRuns(first: 1) { totalCount }
}
"""

ACTOR_FRAGMENT: Final = """
fragment who on Actor { __typename login }
"""

ISSUE_FRAGMENT: Final = """
fragment issue on Issue {
  number title body url authorAssociation lastEditedAt includesCreatedEdit
  author { ...who }
  editor { ...who }
  repository { nameWithOwner isPrivate }
  userContentEdits(first: 20) { nodes { editedAt diff editor { ...who } } pageInfo { hasNextPage } }
  timelineItems(last: 100, itemTypes: [RENAMED_TITLE_EVENT]) {
    nodes { ... on RenamedTitleEvent { createdAt previousTitle currentTitle actor { ...who } } }
    pageInfo { hasPreviousPage }
  }
}
"""

BLOB_FRAGMENT: Final = """
fragment blob on Blob { text isBinary isTruncated }
"""

FOLDER_FRAGMENT: Final = """
fragment folder on Tree { entries { name object { ...blob } } }
"""

REQUIRED_FRAGMENT: Final = """
fragment required on Ref {
  refUpdateRule { requiredStatusCheckContexts }
  rules(first: 100) {
    nodes { parameters { ... on RequiredStatusChecksParameters { requiredStatusChecks { name: context } } } }
  }
}
"""

PULL_QUERY: Final = """
query AssayPull({parameters}) {{
  repository(owner: $owner, name: $name) {{
    pullRequest(number: $number) {{
      state title body createdAt isDraft isCrossRepository changedFiles baseRefName baseRefOid headRefName headRefOid
      author {{ ...who }}
      labels(first: 100) {{ nodes {{ name }} }}
      commits(last: 100) {{ nodes {{ commit {{ oid message author {{ name user {{ login }} }} }} }} }}
      closingIssuesReferences(first: 20) {{ nodes {{ ...issue }} }}
      baseRepository {{ nameWithOwner isPrivate }}
      baseRef {{
        ...required
        target {{ ... on Commit {{ statusCheckRollup {{ contexts(first: 1) {{ totalCount }} }} }} }}
      }}
      tip: commits(last: 1) {{ nodes {{ commit {{ checkSuites(first: 50) {{ nodes {{ ...suite }} }} }} }} }}
      statusCheckRollup {{ contexts(first: 100) {{ nodes {{ ...context }} pageInfo {{ hasNextPage endCursor }} }} }}
    }}
    {fields}
  }}
  {default}
}}
"""

CONTEXTS_QUERY: Final = (
    """
query AssayChecks($owner: String!, $name: String!, $number: Int!, $after: String!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      state headRefOid
      statusCheckRollup {
        contexts(first: 100, after: $after) { nodes { ...context } pageInfo { hasNextPage endCursor } }
      }
    }
  }
}
"""
    + CONTEXT_FRAGMENT
)

HEAD_QUERY: Final = """
query AssayHead($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) { state headRefOid } }
}
"""


MEMBER_FRAGMENT: Final = """
fragment member on PullRequest {
  state headRefOid
  commits(last: 1) {
    nodes {
      commit {
        oid
        checkSuites(first: 10, filterBy: {appId: $app}) {
          totalCount
          nodes {
            checkRuns(first: 50, filterBy: {checkName: $check, checkType: ALL}) {
              totalCount
              nodes { url externalId status conclusion title }
            }
          }
        }
      }
    }
  }
}
"""
"""The newest head of a pull request, and our check run on it."""

MEMBER_QUERY: Final = (
    """
query AssayMember($owner: String!, $name: String!, $number: Int!, $app: Int!, $check: String!) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) { ...member } }
}
"""
    + MEMBER_FRAGMENT
)
"""The same for the pull request of a merge group."""


REVIEWS_QUERY: Final = """
query AssayReviews($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      latestOpinionatedReviews(last: 50, writersOnly: true) {
        nodes { url state submittedAt author { __typename login } commit { oid } }
      }
    }
  }
}
"""
"""Each person's newest review that approves, requests changes, or is dismissed."""

REACT_MUTATION: Final = """
mutation AssayReact($subject: ID!, $content: ReactionContent!) {
  addReaction(input: {subjectId: $subject, content: $content}) { reaction { content } }
}
"""
"""React to a review's own text, which REST can't."""

UPDATE_COMMENT_MUTATION: Final = """
mutation AssayTell($comment: ID!, $text: String!) {
  updateIssueComment(input: {id: $comment, body: $text}) { issueComment { pullRequest { number state headRefOid } } }
}
"""
"""Edit our comment, and read the head as HEAD does."""

OWNERS_DEFAULT_FIELD: Final = f"""
  {DEFAULTS_ALIAS}: repository(owner: $owner, name: "{DEFAULTS_REPOSITORY}", followRenames: false) {{
    object(expression: "HEAD:{CONFIG_PATH}") {{ ...blob }}
  }}
"""
"""A moved repository is not followed: its new owner may be a stranger."""


@dataclass(frozen=True, slots=True)
class GraphQuery:
    """A text and its variables besides the pull request's."""

    document: str
    variables: dict[str, str | int]


def file_alias(index: int) -> str:
    return f"file_{index}"


def folder_alias(index: int) -> str:
    return f"folder_{index}"


def issue_alias(index: int) -> str:
    return f"issue_{index}"


@dataclass(frozen=True, slots=True)
class AliasKind:
    """A kind of item: prefix of its aliases, type of its variable, and its field."""

    alias: Callable[[int], str]
    type: str
    field: str
    fragments: tuple[str, ...]


FILE_KIND: Final = AliasKind(file_alias, "String!", "object(expression: ${}) {{ ...blob }}", (BLOB_FRAGMENT,))
FOLDER_KIND: Final = AliasKind(
    folder_alias, "String!", "object(expression: ${}) {{ ...folder }}", (BLOB_FRAGMENT, FOLDER_FRAGMENT)
)
ISSUE_KIND: Final = AliasKind(
    issue_alias, "Int!", "issue(number: ${}) {{ ...issue }}", (ISSUE_FRAGMENT, ACTOR_FRAGMENT)
)


@dataclass(frozen=True, slots=True)
class AliasedFields:
    """Items to query beside a pull request, each under its alias, and their fragments."""

    parameters: tuple[str, ...] = ()
    fields: str = ""
    default: str = ""
    fragments: frozenset[str] = frozenset()
    variables: dict[str, str | int] = field(default_factory=dict[str, "str | int"])


def alias_items(
    expressions: Sequence[str], issues: Sequence[int], folders: Sequence[str], *, owners_default: bool
) -> AliasedFields:
    kinds = ((FILE_KIND, expressions), (FOLDER_KIND, folders), (ISSUE_KIND, issues))
    asked = [(kind, kind.alias(index), value) for kind, values in kinds for index, value in enumerate(values)]
    fragments = {fragment for kind, values in kinds if values for fragment in kind.fragments}
    return AliasedFields(
        tuple(f"${alias}: {kind.type}" for kind, alias, _ in asked),
        " ".join(f"{alias}: {kind.field.format(alias)}" for kind, alias, _ in asked),
        OWNERS_DEFAULT_FIELD if owners_default else "",
        frozenset(fragments | ({BLOB_FRAGMENT} if owners_default else set())),
        {alias: value for _, alias, value in asked},
    )


def items_query(
    expressions: Sequence[str], issues: Sequence[int], folders: Sequence[str] = (), *, owners_default: bool = False
) -> GraphQuery:
    """Query blobs and folders (`commit:path`) and issues, each under its alias, and the newest head.

    *owners_default*: also the configuration for all repositories of this owner.
    """
    alias = alias_items(expressions, issues, folders, owners_default=owners_default)
    document = f"""
query AssayTexts({", ".join(["$owner: String!, $name: String!, $number: Int!", *alias.parameters])}) {{
  repository(owner: $owner, name: $name) {{
    pullRequest(number: $number) {{ state headRefOid }}
    {alias.fields}
  }}
  {alias.default}
}}
{"".join(sorted(alias.fragments))}"""
    return GraphQuery(document, alias.variables)


def pull_query(beside: AliasedFields) -> GraphQuery:
    """Query a pull request, and *beside* it further items in the same request."""
    document = PULL_QUERY.format(
        parameters=", ".join(["$owner: String!, $name: String!, $number: Int!", *beside.parameters]),
        fields=beside.fields,
        default=beside.default,
    )
    fragments = {*beside.fragments, ISSUE_FRAGMENT, ACTOR_FRAGMENT, CONTEXT_FRAGMENT, SUITE_FRAGMENT, REQUIRED_FRAGMENT}
    return GraphQuery(document + "".join(sorted(fragments)), beside.variables)
