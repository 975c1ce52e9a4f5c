"""The GraphQL that we ask, and nothing else.

Does not send anything. Invariant: untrusted words (paths, names) travel as variables, never in the text of a query.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from worker.domain.config.config_place import DEFAULTS, PLACE

DEFAULTS_ALIAS: Final = "defaults"

CONTEXT: Final = """
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

BLOB: Final = """
fragment blob on Blob { text isBinary isTruncated }
"""

LISTING: Final = """
fragment folder on Tree { entries { name object { ...blob } } }
"""

REQUIRED: Final = """
fragment required on Ref {
  refUpdateRule { requiredStatusCheckContexts }
  rules(first: 100) {
    nodes { parameters { ... on RequiredStatusChecksParameters { requiredStatusChecks { name: context } } } }
  }
}
"""

PULL: Final = """
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

MORE_CONTEXTS: Final = (
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
    + CONTEXT
)

HEAD: Final = """
query AssayHead($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) { state headRefOid } }
}
"""


MEMBER_FIELDS: Final = """
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
"""The newest head of a pull request, and what our check there says."""

MEMBER: Final = (
    """
query AssayMember($owner: String!, $name: String!, $number: Int!, $app: Int!, $check: String!) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) { ...member } }
}
"""
    + MEMBER_FIELDS
)
"""The same of the one that a merge group tries."""


REVIEWS: Final = """
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
"""Each person's newest review that approves, asks for changes, or is dismissed."""

REACT: Final = """
mutation AssayReact($subject: ID!, $content: ReactionContent!) {
  addReaction(input: {subjectId: $subject, content: $content}) { reaction { content } }
}
"""
"""At what REST knows no reactions of: a review's own text."""

TELL: Final = """
mutation AssayTell($comment: ID!, $text: String!) {
  updateIssueComment(input: {id: $comment, body: $text}) { issueComment { pullRequest { number state headRefOid } } }
}
"""
"""Changes our comment, and answers what HEAD asks."""

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
    fragments: tuple[str, ...]


FILE: Final = Kind(file_alias, "String!", "object(expression: ${}) {{ ...blob }}", (BLOB,))
FOLDER: Final = Kind(folder_alias, "String!", "object(expression: ${}) {{ ...folder }}", (BLOB, LISTING))
NUMBERED: Final = Kind(issue_alias, "Int!", "issue(number: ${}) {{ ...issue }}", (ISSUE, WHO))


@dataclass(frozen=True, slots=True)
class Aliased:
    """What to ask for beside a pull request, each under its alias, and the fragments that it takes."""

    parameters: tuple[str, ...] = ()
    fields: str = ""
    default: str = ""
    fragments: frozenset[str] = frozenset()
    variables: dict[str, str | int] = field(default_factory=dict[str, "str | int"])


def aliased(
    expressions: Sequence[str], issues: Sequence[int], folders: Sequence[str], *, owners_default: bool
) -> Aliased:
    kinds = ((FILE, expressions), (FOLDER, folders), (NUMBERED, issues))
    asked = [(kind, kind.alias(index), value) for kind, values in kinds for index, value in enumerate(values)]
    fragments = {one for kind, values in kinds if values for one in kind.fragments}
    return Aliased(
        tuple(f"${alias}: {kind.type}" for kind, alias, _ in asked),
        " ".join(f"{alias}: {kind.field.format(alias)}" for kind, alias, _ in asked),
        OWNERS_DEFAULT if owners_default else "",
        frozenset(fragments | ({BLOB} if owners_default else set())),
        {alias: value for _, alias, value in asked},
    )


def things(
    expressions: Sequence[str], issues: Sequence[int], folders: Sequence[str] = (), *, owners_default: bool = False
) -> Query:
    """Ask for blobs and folders (`commit:path`) and issues, each under its alias, and for the newest head beside them.

    *owners_default*: also for the configuration that holds for all repositories of this owner.
    """
    one = aliased(expressions, issues, folders, owners_default=owners_default)
    document = f"""
query AssayTexts({", ".join(["$owner: String!, $name: String!, $number: Int!", *one.parameters])}) {{
  repository(owner: $owner, name: $name) {{
    pullRequest(number: $number) {{ state headRefOid }}
    {one.fields}
  }}
  {one.default}
}}
{"".join(sorted(one.fragments))}"""
    return Query(document, one.variables)


def pull(beside: Aliased) -> Query:
    """Ask for a pull request, and for what is *beside* it in the same request."""
    document = PULL.format(
        parameters=", ".join(["$owner: String!, $name: String!, $number: Int!", *beside.parameters]),
        fields=beside.fields,
        default=beside.default,
    )
    fragments = {*beside.fragments, ISSUE, WHO, CONTEXT, SUITE, REQUIRED}
    return Query(document + "".join(sorted(fragments)), beside.variables)
