"""The pages of /setup as HTML: input escaped, without scripts or external resources, readable on a phone."""

import base64
import hashlib
import json
import re
import shlex
from collections.abc import Collection
from dataclasses import dataclass
from html import escape
from typing import Final

from app.web.setup_exchange import CreatedApp
from worker.domain.config.app_manifest import Manifest, SetupForm, is_loopback
from worker.domain.config.app_permissions import (
    CORE_PERMISSIONS,
    DEFAULT_OPT_INS,
    OPT_IN_SETTINGS,
    OPTIONAL_PERMISSIONS,
    OptionalPermission,
    PermissionLevel,
)

STYLE: Final = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:44rem;margin:0 auto;padding:1rem;color:#1f2328;background:#fff;"
    "overflow-wrap:anywhere}"
    "h1{font-size:1.5rem;line-height:1.25}h2{font-size:1.1rem;margin-top:2rem}"
    "label{display:block;font-weight:600;margin-top:1rem}label.tick{font-weight:400}"
    "input[type=text],input[type=url],input[type=password]{box-sizing:border-box;width:100%;font:inherit;padding:.5rem;"
    "border:1px solid #818b98;border-radius:6px}"
    "small{display:block;color:#59636e}"
    "button{font:inherit;font-weight:600;padding:.6rem 1.2rem;margin:1.5rem 0;border:0;border-radius:6px;color:#fff;background:#1f6f43}"
    "pre{white-space:pre-wrap;background:#f6f8fa;border:1px solid #d1d9e0;border-radius:6px;padding:.75rem;font-size:.85rem;"
    "user-select:all;max-height:12rem;overflow-y:auto}"
    "dt{font-weight:600;margin-top:.5rem}dd{margin:0}"
    ".wrong,.note{border-left:4px solid #c93c37;padding:.5rem .75rem;background:#fff5f4}.note{border-color:#9a6700;background:#fffaeb}"
    "@media (prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}small{color:#9198a1}pre{background:#161b22;"
    "border-color:#3d444d}.wrong{background:#2a1515}.note{background:#272115}"
    "input{color:inherit;background:#161b22}a{color:#4493f8}}"
)
STYLE_HASH: Final = "sha256-" + base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
"""The only style that the Content-Security-Policy allows."""


@dataclass(frozen=True)
class SetupFormValues:
    """The values in the form: typed before, or proposed."""

    address: str = ""
    deliveries: str = ""
    organization: str = ""
    opt_ins: frozenset[str] = DEFAULT_OPT_INS


def form_page(form: SetupFormValues, wrong: str = "") -> str:
    """The first page: token, addresses and permissions."""
    ticks = "".join(_checkbox(permission, form.opt_ins) for permission in OPTIONAL_PERMISSIONS)
    error_box = f'<p class="wrong" role="alert">{escape(wrong)}</p>\n' if wrong else ""
    core = "".join(
        f"<li>{escape(_permission_text(permission.title, permission.level))}: {escape(permission.reason)}.</li>"
        for permission in CORE_PERMISSIONS
    )
    return _page(
        "Set up Assay",
        f"""{error_box}<p>This creates the GitHub App that Assay works as. You see all of it before GitHub is asked, and GitHub asks you again.</p>
<form method="post" action="/setup" autocomplete="off">
{_field("token", "One-time token", "password", "", "Assay printed it when it started, in its terminal or log.")}
{_field("address", "Address of this Assay", "url", form.address, "As your browser reaches it. GitHub sends you back to it, with what opens the App: it has to be yours.")}
{_field("deliveries", "Where GitHub sends deliveries", "url", form.deliveries, "Empty: the address above and /github/webhooks. Fill it in where Assay will run elsewhere, or behind a tunnel.")}
{_field("organization", "Organization", "text", form.organization, "Whose App it becomes. Empty: your own account's.")}
<h2>What it may do</h2>
<p>Judging needs this, and no more:</p><ul>{core}</ul>
<p>Each of these is your choice, now or later:</p>{ticks}
<button>Show me what GitHub will be asked</button>
</form>""",
    )


def confirm_page(wanted: SetupForm, manifest: Manifest, target: str) -> str:
    """The second page: the manifest, and the button that sends it to GitHub."""
    note = ""
    if is_loopback(wanted.webhook_base):
        note = (
            '<p class="note">GitHub can’t reach this machine by that address, so no delivery would come. Go back, and fill in '
            "where Assay will run, or a tunnel’s address. It can be changed later in the App’s settings.</p>"
        )
    rows = [
        ("Whose App", wanted.organization or "your own account’s"),
        ("Deliveries go to", wanted.webhook_base),
        ("GitHub sends you back to", manifest["redirect_url"]),
        ("Permissions", ", ".join(f"{name}: {level}" for name, level in manifest["default_permissions"].items())),
        ("Events", ", ".join(manifest["default_events"])),
    ]
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in rows)
    return _page(
        "Is this right?",
        f"""<dl>{listed}</dl>{note}
<p>Sign in to {escape(target.split("/")[2])} in this browser first. There you may still change the App’s name, which no other App may have.</p>
<form method="post" action="{escape(target)}"><input type="hidden" name="manifest" value="{escape(json.dumps(manifest))}">
<button>Create the App on GitHub</button></form>
<p><a href="/setup">No, begin again</a></p>""",
    )


def done_page(made: CreatedApp, declined: Collection[str] = ()) -> str:
    """The last page, shown once: the secrets and where to put them."""
    variables = setting_lines(made, declined)
    fly = " ".join(["fly secrets set", *variables])
    return _page(
        f"Your App “{made.slug}” is there",
        f"""<p class="note">Its secrets are shown this once, and kept nowhere here. Copy them before you close or reload this page; a click on a box selects all of it.</p>
<h2>1. Put them where Assay runs</h2>
<p>In a file <code>.env</code> that only you can read (then <code>set -a; . ./.env; set +a</code>):</p>
<pre>{escape(chr(10).join(variables))}</pre>
<p>Or on Fly (with a space in front, so that your shell does not remember it):</p>
<pre> {escape(fly)}</pre>
<h2>2. Start Assay again</h2>
<p>It reads its settings when it starts. This page is closed from now on.</p>
<h2>3. Install it</h2>
<p><a href="{escape(made.html_url)}/installations/new">Choose the repositories that Assay judges</a>.</p>
<h2>4. See that all is well</h2>
<p><code>assay doctor --repo OWNER/REPO</code> checks every setting and connection, and says what is missing for the check to be required.</p>""",
    )


def setting_lines(made: CreatedApp, declined: Collection[str] = ()) -> list[str]:
    """The App's settings as shell assignments, with the key in base64; then those that switch off what was *declined*."""
    key = base64.b64encode(made.pem.get_secret_value().encode()).decode()
    values = (str(made.id), made.webhook_secret.get_secret_value(), key)
    names = ("ASSAY_APP_ID", "ASSAY_WEBHOOK_SECRET", "ASSAY_APP_PRIVATE_KEY")
    off = [f"{name}=0" for name, opt_in in OPT_IN_SETTINGS.items() if opt_in in declined]
    return [*(f"{name}={shlex.quote(value)}" for name, value in zip(names, values, strict=True)), *off]


def refused_page(message: str) -> str:
    """The page of a failed callback."""
    body = f'<p class="wrong">{escape(message)}</p><p><a href="/setup">Begin again</a></p>'
    return _page("No App was taken over", body)


def closed_page(message: str) -> str:
    return _page("Setup is closed", f"<p>{escape(message)}</p>")


def _page(title: str, body: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main><h1>{escape(title)}</h1>\n{body}\n"
        "</main></body></html>\n"
    )


def _field(name: str, label: str, kind: str, value: str, hint: str) -> str:
    is_needed = " required" if name in {"token", "address"} else ""
    return (
        f'<label for="{name}">{escape(label)}</label>'
        f'<input id="{name}" name="{name}" type="{kind}" value="{escape(value)}" maxlength="200"{is_needed} spellcheck="false">'
        f"<small>{escape(hint)}</small>"
    )


def _checkbox(extra: OptionalPermission, ticked: Collection[str]) -> str:
    is_on = " checked" if extra.opt_in in ticked else ""
    label = escape(_permission_text(extra.permission.title, extra.permission.level))
    reason = re.sub("`([^`]+)`", r"<code>\1</code>", escape(extra.permission.reason))
    return (
        f'<label class="tick"><input type="checkbox" name="opt_in" value="{extra.opt_in}"{is_on}> '
        f"{label}: {reason}<small>Without it {escape(extra.consequence)}.</small></label>"
    )


def _permission_text(title: str, level: PermissionLevel) -> str:
    return f"{title} ({'read and write' if level is PermissionLevel.WRITE else 'read'})"
