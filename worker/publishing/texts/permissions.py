"""docs/permissions.md, made of the table that the manifest is made of.

Does not know which permissions there are. Invariant: the page names each permission, its reason, and what is lost
without it; nothing is asked for that does not stand here.
"""

from typing import Final

from worker.domain.config.app_permissions import CORE_PERMISSIONS, OPTIONAL_PERMISSIONS

NEVER: Final = (
    ("Contents: write", "Assay pushes nothing and merges nothing"),
    ("Issues: write", "comments and reactions need *Pull requests*; issues are only read"),
    (
        "Administration",
        "*Contents* and *Metadata* show what a branch requires",
    ),
    ("Members", "the repository answers who may command"),
    ("Workflows, Secrets, Variables, Environments, Webhooks", "judging needs none of them"),
)


def permissions_page() -> str:
    core = [f"| {permission.title} | {permission.level} | {permission.reason} |" for permission in CORE_PERMISSIONS]
    extras = [
        f"| `{optional.opt_in}` | {optional.permission.title} | {optional.permission.level} | {optional.permission.reason} | {optional.consequence} |"
        for optional in OPTIONAL_PERMISSIONS
    ]
    never = [f"- *{name}*: {why}." for name, why in NEVER]
    return "\n".join(
        [
            "# Permissions",
            "",
            "<!-- made from worker/domain/config/app_permissions.py; a test holds both together -->",
            "",
            "`/setup` puts these permissions into the manifest. `assay doctor` names what the App or an installation lacks.",
            "",
            "## Needed to judge",
            "",
            "| permission | level | why |",
            "|---|---|---|",
            *core,
            "",
            "## Your choice",
            "",
            "`/setup` offers each; all but `code_scanning` are ticked. A permission that is added later works in an installation once",
            "its owner approves it at GitHub.",
            "",
            "| choice | permission | level | why | without it |",
            "|---|---|---|---|---|",
            *extras,
            "",
            "`comments` and `reactions` share one permission: `ASSAY_COMMENTS=0` or `ASSAY_REACTIONS=0` switches one of them off. The",
            "permission also allows to approve a pull request and to edit its title; Assay does neither.",
            "",
            "## Never asked for",
            "",
            *never,
            "",
            "## Events",
            "",
            "The App subscribes to the events of [triggers.md](triggers.md) for which it has the permission.",
            "",
        ]
    )  # fmt: skip
