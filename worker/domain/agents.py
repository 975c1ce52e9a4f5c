"""Which coding agent wrote a pull request: one table.

Does not judge anybody: authorship changes no verdict, it is recorded and counted. Invariant: a person's
name alone never makes an agent; logins, mail addresses and branch prefixes that only agents have do.
"""

import re
from typing import Final

from worker.domain.dossier import PullRequest
from worker.domain.pattern import pattern
from worker.domain.value import Value


class AgentMark(Value):
    """How one agent signs. `logins` are whole (GitHub's, or a git author's name); `trailer` is searched for."""

    agent: str
    logins: tuple[str, ...] = ()
    trailer: str | None = None
    branch: str | None = None


AGENTS: Final = (
    # GitHub's docs on the Copilot coding agent: it opens as Copilot and pushes to copilot/...
    AgentMark(
        "copilot",
        ("copilot", "copilot-swe-agent", "copilot-swe-agent[bot]"),
        r"\b(?:198982749|223556219)\+copilot@users\.noreply\.github\.com",
        "copilot/",
    ),
    # Anthropic's docs on Claude Code: its co-author trailer, "Generated with", and the GitHub action's claude/...
    AgentMark(
        "claude",
        ("claude[bot]",),
        r"<(?:noreply|claude)@anthropic\.com>|generated with \[claude code\]",
        "claude/",
    ),
    # OpenAI's docs on Codex in the cloud: branches codex/...; the CLI's co-author trailer
    AgentMark(
        "codex",
        ("chatgpt-codex-connector[bot]", "openai-codex[bot]"),
        r"<(?:noreply|codex)@openai\.com>",
        "codex/",
    ),
    # Cognition's docs on Devin's GitHub integration
    AgentMark(
        "devin",
        ("devin-ai-integration[bot]",),
        r"devin-ai-integration\[bot\]@users\.noreply\.github\.com",
        "devin/",
    ),
    # Cursor's docs on background agents
    AgentMark(
        "cursor",
        ("cursor[bot]", "cursoragent"),
        r"<(?:\d+\+)?cursoragent@(?:cursor\.com|users\.noreply\.github\.com)>",
        "cursor/",
    ),
    # Google's docs on Jules
    AgentMark(
        "jules",
        ("google-labs-jules[bot]",),
        r"google-labs-jules\[bot\]@users\.noreply\.github\.com",
        "jules/",
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


def author_agent(pull: PullRequest) -> str | None:
    """The agent that wrote *pull*, by its author, its branch, then its commits; None is a person."""
    return agent_of(pull.author, pull.head_ref) or _by_commits(pull)


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


def _by_trailers(message: str) -> str | None:
    lines = "\n".join(SIGNING_LINE.findall(message))
    return next((agent for agent, trailer in SIGNED if trailer.search(lines)), None)
