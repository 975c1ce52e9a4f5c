"""docs/permissions.md, made of the table that the manifest is made of.

Does not know which permissions there are. Invariant: whoever reads the page knows each permission, its reason, and what is lost
without it; nothing is asked for that does not stand here.
"""

from typing import Final

from worker.domain.config.app_permissions import CORE_PERMISSIONS, OPTIONAL_PERMISSIONS

NEVER: Final = (
    ("Contents: write", "Assay pushes nothing and merges nothing"),
    ("Issues: write", "comments and reactions at pull requests need *Pull requests*, and issues are only read"),
    (
        "Administration",
        "what a branch requires can be read with *Contents* and *Metadata*; nothing is changed there",
    ),
    ("Members", "who may command is asked per command, of the repository"),
    ("Workflows, Secrets, Variables, Environments, Webhooks", "nothing there is needed to judge"),
)


def permissions_page() -> str:
    core = [f"| {one.title} | {one.level} | {one.reason} |" for one in CORE_PERMISSIONS]
    extras = [
        f"| `{one.opt_in}` | {one.permission.title} | {one.permission.level} | {one.permission.reason} | {one.consequence} |"
        for one in OPTIONAL_PERMISSIONS
    ]
    never = [f"- *{name}*: {why}." for name, why in NEVER]
    return "\n".join(
        [
            "# Permissions",
            "",
            "<!-- made from worker/domain/config/app_permissions.py; a test holds both together -->",
            "",
            "The App asks for the least that judging needs. `/setup` puts exactly this into the manifest, and `assay doctor` says",
            "what the App or an installation lacks, and what does not work because of it.",
            "",
            "## Needed to judge",
            "",
            "| permission | level | why |",
            "|---|---|---|",
            *core,
            "",
            "## Your choice",
            "",
            "Each can be left out at `/setup`, or taken out in the App's settings, and be added later: GitHub then asks the owner of",
            "each installation to approve it, and until they do, nothing of it works there. An installation from before merge",
            "queues were supported has to approve *Merge queues* that way. `code_scanning` is not ticked at `/setup`; the others are.",
            "",
            "| choice | permission | level | why | without it |",
            "|---|---|---|---|---|",
            *extras,
            "",
            "`comments` and `reactions` take the same permission. Where only one of them was chosen, a setting keeps the other off: `0`",
            "in `ASSAY_COMMENTS` or `ASSAY_REACTIONS` ([configuration.md](configuration.md)), which `/setup` shows beside the secrets.",
            "Either may be set at any time; `assay doctor` says what is off by choice, and what for want of a permission.",
            "",
            "GitHub has no finer permission for comments, reactions, labels and review requests at pull requests than this one. It",
            "would also allow to approve a pull request, and to edit its title; Assay does neither.",
            "",
            "## Never asked for",
            "",
            *never,
            "",
            "## Events",
            "",
            "The App subscribes to what the door reads ([triggers.md](triggers.md)), as far as it has the permission that GitHub wants",
            "for it: *Merge group* needs *Merge queues*, and a manifest with an event and not its permission is refused.",
            "",
        ]
    )  # fmt: skip
