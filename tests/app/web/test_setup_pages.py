"""The setup pages, word for word as a person reads them."""

import json
import re
from html import unescape

from inline_snapshot import snapshot
from pydantic import SecretStr

from app.web.setup_exchange import CreatedApp
from app.web.setup_pages import (
    SetupFormValues,
    closed_page,
    confirm_page,
    done_page,
    form_page,
    refused_page,
    setting_lines,
)
from worker.domain.config.app_manifest import build_manifest, read_setup_form

HOME = "https://assay.example.org"
MADE = CreatedApp(
    id=77, slug="assay-acme", html_url="https://github.com/apps/assay-acme", pem=SecretStr("PEM"), webhook_secret=SecretStr("hu'sh")
)  # fmt: skip


def read(html: str) -> str:
    """Each block on a line of its own, fields by their names."""
    body = re.sub(r"<style>.*?</style>|<title>.*?</title>", "", html, flags=re.DOTALL)
    body = re.sub(r'<input id="(\w+)"[^>]* value="([^"]*)"[^>]*>', r" [\1: \2]", body)
    body = re.sub(r'<input type="checkbox"[^>]*value="(\w+)"( checked)?>', r"[\1\2]", body)
    body = re.sub(r"</?(p|li|h1|h2|pre|dd|dt|small|label|button|ul|dl|form)\b[^>]*>", "\n", body)
    return (
        "\n".join(line.strip() for line in unescape(re.sub(r"<[^>]+>", "", body)).splitlines() if line.strip()) + "\n"
    )


def test_the_form() -> None:
    form = SetupFormValues(address=HOME, organization="acme", opt_ins=frozenset({"comments"}))
    assert read(form_page(form, "Nothing like it.")) == snapshot("""\
Set up Assay
Nothing like it.
This creates the GitHub App that Assay works as. You see all of it before GitHub is asked, and GitHub asks you again.
One-time token
[token: ]
Assay printed it when it started, in its terminal or log.
Address of this Assay
[address: https://assay.example.org]
As your browser reaches it. GitHub sends you back to it, with what opens the App: it has to be yours.
Where GitHub sends deliveries
[deliveries: ]
Empty: the address above and /github/webhooks. Fill it in where Assay will run elsewhere, or behind a tunnel.
Organization
[organization: acme]
Whose App it becomes. Empty: your own account's.
What it may do
Judging needs this, and no more:
Metadata (read): read names, rulesets and who may command; every App is given it.
Contents (read): read the change, the files around it, and .github/assay.yml.
Pull requests (read): read what is judged, and hear of pushes.
Issues (read): read what was asked for, and comments with commands.
Actions (read): read the logs of failing jobs.
Commit statuses (read): see CI that reports statuses: nothing may pass while one fails.
Checks (read and write): write the one check that Assay is, and see the others.
Each of these is your choice, now or later:
[comments checked] Pull requests (read and write): comment on pull requests, answer commands, set a label, ask for a review
Without it the agent gets no comment, commands get no answer in words, and no review is requested; verdicts stand on the check alone.
[reactions] Pull requests (read and write): react to commands, so that they are seen to be taken or refused
Without it commands get no reaction: what follows shows on the check, and a refusal only in an answer.
[merge_queue] Merge queues (read): hear of merge groups, and answer for them
Without it merge groups get no answer: where Assay is required, a merge queue waits until it times out.
[code_scanning] Code scanning alerts (read and write): upload SARIF where a repository sets sarif: true
Without it no SARIF is uploaded; where a repository wants it, its checks say so.
Show me what GitHub will be asked
""")


def test_what_is_to_be_typed_is_shown_as_code() -> None:
    html = form_page(SetupFormValues(address=HOME))
    assert "where a repository sets <code>sarif: true</code><small>" in html
    assert "`" not in html


def test_what_github_will_be_asked() -> None:
    wanted = read_setup_form(HOME, "", "", ["comments"])
    html = confirm_page(
        wanted,
        build_manifest(wanted, {"pull_request", "merge_group"}),
        "https://github.com/settings/apps/new?state=s&x=1",
    )
    assert read(html) == snapshot("""\
Is this right?
Whose App
your own account’s
Deliveries go to
https://assay.example.org/github/webhooks
GitHub sends you back to
https://assay.example.org/setup/callback
Permissions
metadata: read, contents: read, pull_requests: write, issues: read, actions: read, statuses: read, checks: write
Events
pull_request
Sign in to github.com in this browser first. There you may still change the App’s name, which no other App may have.
Create the App on GitHub
No, begin again
""")
    assert 'action="https://github.com/settings/apps/new?state=s&amp;x=1"' in html


def test_an_address_that_github_can_not_reach_is_warned_of() -> None:
    wanted = read_setup_form("http://localhost:8000", "", "acme", [])
    told = read(confirm_page(wanted, build_manifest(wanted, ()), "https://github.com/x"))
    assert "GitHub can’t reach this machine by that address" in told
    tunnel = read_setup_form("http://localhost:8000", "https://tunnel.example", "acme", [])
    assert "can’t reach" not in read(confirm_page(tunnel, build_manifest(tunnel, ()), "https://github.com/x"))


def test_what_to_put_where() -> None:
    assert read(done_page(MADE)) == snapshot("""\
Your App “assay-acme” is there
Its secrets are shown this once, and kept nowhere here. Copy them before you close or reload this page; a click on a box selects all of it.
1. Put them where Assay runs
In a file .env that only you can read (then set -a; . ./.env; set +a):
ASSAY_APP_ID=77
ASSAY_WEBHOOK_SECRET='hu'"'"'sh'
ASSAY_APP_PRIVATE_KEY=UEVN
Or on Fly (with a space in front, so that your shell does not remember it):
fly secrets set ASSAY_APP_ID=77 ASSAY_WEBHOOK_SECRET='hu'"'"'sh' ASSAY_APP_PRIVATE_KEY=UEVN
2. Start Assay again
It reads its settings when it starts. This page is closed from now on.
3. Install it
Choose the repositories that Assay judges.
4. See that all is well
assay doctor --repo OWNER/REPO checks every setting and connection, and says what is missing for the check to be required.
""")


def test_what_was_not_chosen_is_one_more_line_to_put_there() -> None:
    assert setting_lines(MADE, ["reactions"]) == [*setting_lines(MADE), "ASSAY_REACTIONS=0"]
    assert setting_lines(MADE, ["made up", "merge_queue"]) == setting_lines(MADE)
    told = read(done_page(MADE, ["comments"]))
    assert "\nASSAY_COMMENTS=0\nOr on Fly" in told
    assert "ASSAY_APP_PRIVATE_KEY=UEVN ASSAY_COMMENTS=0\n" in told


def test_a_secret_that_a_shell_would_misread_is_quoted() -> None:
    assert setting_lines(MADE)[1] == """ASSAY_WEBHOOK_SECRET='hu'"'"'sh'"""


def test_what_came_from_outside_is_escaped_everywhere() -> None:
    evil = '"><script>x</script>'
    pages = [
        form_page(SetupFormValues(evil, evil, evil), evil),
        refused_page(evil),
        closed_page(evil),
        confirm_page(
            read_setup_form(HOME, "", "", []),
            build_manifest(read_setup_form(HOME, "", "", []), ()),
            f"https://github.com/{evil}",
        ),
    ]
    assert not [page for page in pages if "<script" in page]


def test_the_ends_without_an_app() -> None:
    assert read(refused_page("GitHub said no.")) == "No App was taken over\nGitHub said no.\nBegin again\n"
    assert read(closed_page("All done.")) == "Setup is closed\nAll done.\n"


def test_a_made_app_shows_no_secret_by_accident() -> None:
    assert "PEM" not in repr(MADE)
    assert "hu'sh" not in json.dumps(MADE.model_dump(mode="json"))
