"""Which coding agent wrote a pull request: one table.

Does not judge anybody: authorship changes no verdict, it is recorded and counted. Invariant: a person's
name alone never makes an agent; logins, mail addresses, branch prefixes and lines that only agents have or leave do.
"""

import re
from typing import Final

from worker.domain.dossier import PullRequest
from worker.domain.pattern import pattern
from worker.domain.value import Value


class AgentMark(Value):
    """How one agent signs. `logins` are whole (GitHub's, or a git author's name); `trailer` is searched for.

    `footer` begins a line of the description, but for marks in front of it.
    """

    agent: str
    logins: tuple[str, ...] = ()
    trailer: str | None = None
    branch: str | None = None
    footer: str | None = None


AGENTS: Final = (
    # GitHub's docs on the Copilot coding agent: it opens as Copilot and pushes to copilot/...
    AgentMark(
        "copilot",
        ("copilot", "copilot-swe-agent", "copilot-swe-agent[bot]"),
        r"\b(?:198982749|223556219)\+copilot@users\.noreply\.github\.com",
        "copilot/",
    ),
    # Anthropic's docs on Claude Code: its co-author trailer, "Generated with" and the session's link (settings:
    # `attribution`), and the GitHub action's claude/...
    AgentMark(
        "claude",
        ("claude[bot]",),
        r"<(?:noreply|claude)@anthropic\.com>|generated with \[claude code\]",
        "claude/",
        r"generated with \[claude code\]\(|https://claude\.ai/code/session_\w",
    ),
    # OpenAI's docs on Codex in the cloud: branches codex/... and the task's link; the CLI's co-author trailer
    AgentMark(
        "codex",
        ("chatgpt-codex-connector[bot]", "openai-codex[bot]"),
        r"<(?:noreply|codex)@openai\.com>",
        "codex/",
        r"(?:codex task\]\()?https://chatgpt\.com/codex/tasks/task_\w+\)?\s*$",
    ),
    # Cognition's docs on Devin's GitHub integration: the session's link (one of Devin Review stands under people's work)
    AgentMark(
        "devin",
        ("devin-ai-integration[bot]",),
        r"devin-ai-integration\[bot\]@users\.noreply\.github\.com",
        "devin/",
        r"link to (?:local )?devin (?:run|session): https://app\.devin\.ai/sessions/\w",
    ),
    # Cursor's docs on background agents: the buttons that open the agent
    AgentMark(
        "cursor",
        ("cursor[bot]", "cursoragent"),
        r"<(?:\d+\+)?cursoragent@(?:cursor\.com|users\.noreply\.github\.com)>",
        "cursor/",
        r"(?:a href=\"|open in \w+\]\()https://(?:www\.)?cursor\.com/(?:background-agent\?bcId|agents\?id)=bc-",
    ),
    # Google's docs on Jules: the last line of what it opens under its user's name
    AgentMark(
        "jules",
        ("google-labs-jules[bot]",),
        r"google-labs-jules\[bot\]@users\.noreply\.github\.com",
        "jules/",
        r"pr created automatically by jules for task \[\d+\]\(https://jules\.google\.com/task/",
    ),
    # OpenHands' docs on its GitHub app and resolver
    AgentMark(
        "openhands",
        ("openhands-agent", "openhands-ai[bot]"),
        r"<openhands@all-hands\.dev>",
        "openhands/",
    ),
    # Aider's docs on git integration: "(aider)" behind the author's name, or a co-author trailer
    AgentMark("aider", trailer=r"<(?:noreply@)?aider(?:@|\.)(?:aider\.)?chat>"),
    # Sourcegraph's docs on Amp
    AgentMark("amp", trailer=r"<amp@ampcode\.com>"),
)

SIGNED: Final = tuple((mark.agent, pattern(mark.trailer, re.IGNORECASE)) for mark in AGENTS if mark.trailer is not None)
SIGNING_LINE: Final = pattern(
    r"^(?:(?:co-authored-by|assisted-by|generated-by):.*|.*\bgenerated with \[.*)", re.IGNORECASE | re.MULTILINE
)


_MARKS: Final = r"^(?:[^\w>`\n]|_){0,12}"
FOOTERS: Final = tuple(
    (mark.agent, pattern(f"{_MARKS}(?:{mark.footer})", re.IGNORECASE | re.MULTILINE))
    for mark in AGENTS
    if mark.footer is not None
)


def author_agent(pull: PullRequest) -> str | None:
    """The agent that wrote *pull*, by its author, its branch, its commits, then its description; None is a person."""
    return agent_of(pull.author, pull.head_ref) or _by_commits(pull) or _by_footer(pull.body)


def agent_of(login: str, head_ref: str) -> str | None:
    """The agent whose account or whose kind of branch this is; None: neither tells of one."""
    return _by_login(login) or _by_branch(head_ref)


def _by_login(login: str) -> str | None:
    name = login.strip().casefold()
    if name.endswith("(aider)"):
        return "aider"
    return next((mark.agent for mark in AGENTS if name in mark.logins), None)


def _by_branch(head_ref: str) -> str | None:
    return next((mark.agent for mark in AGENTS if mark.branch and head_ref.startswith(mark.branch)), None)


def _by_commits(pull: PullRequest) -> str | None:
    authors = (_by_login(commit.author) for commit in pull.commits)
    signed = (_by_trailers(commit.message) for commit in pull.commits)
    return next(filter(None, authors), None) or next(filter(None, signed), None)


def _by_footer(body: str) -> str | None:
    """By a line that the agent leaves there, where it is neither quoted nor shown as code."""
    if not any(footer.search(body) for _, footer in FOOTERS):
        return None
    from worker.domain.markdown import blocks, unquoted  # noqa: PLC0415 - most descriptions hold no such line

    tokens = unquoted(blocks(body))
    shown = [token.content for token in tokens if token.type in {"inline", "html_block"}]
    return next((agent for agent, footer in FOOTERS if any(map(footer.search, shown))), None)


def _by_trailers(message: str) -> str | None:
    lines = "\n".join(SIGNING_LINE.findall(message))
    return next((agent for agent, trailer in SIGNED if trailer.search(lines)), None)
