import pytest

from worker.domain.agents import AGENTS, author_agent
from worker.domain.dossier import Commit, PullRequest

SHA = "1" * 40


def pull(
    author: str = "alice", head_ref: str = "retry", message: str = "Retry", commit_author: str = "Alice"
) -> PullRequest:
    return PullRequest(
        repository="acme/widgets",
        number=1,
        title="Retry",
        body="",
        author=author,
        base_sha=SHA,
        head_sha=SHA,
        head_ref=head_ref,
        commits=(Commit(sha=SHA, message=message, author=commit_author),),
    )


@pytest.mark.parametrize(
    ("login", "agent"),
    [
        ("copilot-swe-agent[bot]", "copilot"),
        ("Copilot", "copilot"),
        ("devin-ai-integration[bot]", "devin"),
        ("claude[bot]", "claude"),
        ("cursor[bot]", "cursor"),
        ("google-labs-jules[bot]", "jules"),
        ("Bob (aider)", "aider"),
    ],
)
def test_an_agent_is_known_by_its_login(login: str, agent: str) -> None:
    assert author_agent(pull(author=login)) == agent
    assert author_agent(pull(commit_author=login)) == agent


@pytest.mark.parametrize("branch", ["copilot", "claude", "codex", "devin", "cursor"])
def test_an_agent_is_known_by_its_branch(branch: str) -> None:
    assert author_agent(pull(head_ref=f"{branch}/fix-7")) == branch
    assert author_agent(pull(head_ref=f"feature/{branch}/fix-7")) is None


@pytest.mark.parametrize(
    ("trailer", "agent"),
    [
        ("Co-Authored-By: Claude Opus 4.6 <noreply@anthropic.com>", "claude"),
        ("🤖 Generated with [Claude Code](https://claude.com/claude-code)", "claude"),
        ("Co-authored-by: Copilot <223556219+Copilot@users.noreply.github.com>", "copilot"),
        ("Co-authored-by: Cursor <cursoragent@cursor.com>", "cursor"),
        ("Co-authored-by: Cursor Agent <199161495+cursoragent@users.noreply.github.com>", "cursor"),
        ("Co-authored-by: Codex <noreply@openai.com>", "codex"),
        ("Co-authored-by: aider (gemini-2.5-pro) <aider@aider.chat>", "aider"),
        ("Co-authored-by: aider (gpt-5) <noreply@aider.chat>", "aider"),
        ("Co-authored-by: openhands <openhands@all-hands.dev>", "openhands"),
        ("Co-authored-by: Amp <amp@ampcode.com>", "amp"),
    ],
)
def test_an_agent_is_known_by_its_commits_trailers(trailer: str, agent: str) -> None:
    assert author_agent(pull(message=f"Retry\n\nWhy.\n\n{trailer}\n")) == agent


@pytest.mark.parametrize(
    "message",
    ["Retry", "Co-authored-by: Claude Shannon <claude@shannon.example>", "Mail noreply@anthropic.com about it <noreply@anthropic.com>"],
)  # fmt: skip
def test_a_person_is_nobodys_agent(message: str) -> None:
    assert author_agent(pull(message=message)) is None
    assert author_agent(pull(author="Claude", commit_author="Claude")) is None


def test_every_agent_stands_once_in_the_table() -> None:
    names = [mark.agent for mark in AGENTS]
    assert len(names) == len(set(names))
    assert all(login == login.casefold() for mark in AGENTS for login in mark.logins)
