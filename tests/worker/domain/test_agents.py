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


FOOTERS = [
    ("🤖 Generated with [Claude Code](https://claude.com/claude-code)", "claude"),
    ("_Generated with [Claude Code](https://claude.ai/code)_", "claude"),
    ("https://claude.ai/code/session_01AbCd", "claude"),
    ("------\nhttps://chatgpt.com/codex/tasks/task_e_6841", "codex"),
    ("[Codex Task](https://chatgpt.com/codex/tasks/task_e_6841)", "codex"),
    ("Link to Devin run: https://app.devin.ai/sessions/4f2e", "devin"),
    ("- Link to local Devin session: https://app.devin.ai/sessions/4f2e", "devin"),
    ('<a href="https://cursor.com/background-agent?bcId=bc-1"><img alt="Open in Cursor"></a>', "cursor"),
    ("[Open in Web](https://cursor.com/agents?id=bc-1) • [Open in Cursor](https://x.example)", "cursor"),
    (
        "---\n*PR created automatically by Jules for task [14](https://jules.google.com/task/14) started by @alice*",
        "jules",
    ),
]


@pytest.mark.parametrize(("footer", "agent"), FOOTERS)
def test_an_agent_is_known_by_the_line_that_it_leaves_in_the_description(footer: str, agent: str) -> None:
    body = f"## Summary\n\nRetries.\n\n{footer}\n"
    assert author_agent(pull().model_copy(update={"body": body})) == agent
    assert author_agent(pull().model_copy(update={"body": body.replace("\n", "\r\n")})) == agent


@pytest.mark.parametrize(
    "body",
    [
        *(f"```\n{footer}\n```" for footer, _ in FOOTERS),
        "> 🤖 Generated with [Claude Code](https://claude.com/claude-code)",
        "`🤖 Generated with [Claude Code](https://claude.com/claude-code)`",
        "I removed the line Generated with [Claude Code](https://claude.com/claude-code) from all templates.",
        "Generated with [Some tool](https://claude.example)",
        "Why is https://chatgpt.com/codex/tasks/task_e_6841 wrong about this?",
        '<a href="https://app.devin.ai/review/acme/widgets/pull/1">Open in Devin Review</a>',
        "See https://cursor.com/docs",
    ],
)
def test_who_quotes_such_a_line_or_speaks_of_it_is_a_person(body: str) -> None:
    assert author_agent(pull().model_copy(update={"body": body})) is None


def test_account_and_commits_say_more_than_the_description() -> None:
    told = {"body": FOOTERS[0][0]}
    assert author_agent(pull(author="Copilot").model_copy(update=told)) == "copilot"
    assert (
        author_agent(pull(message="x\n\nCo-authored-by: Codex <noreply@openai.com>").model_copy(update=told)) == "codex"
    )


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
