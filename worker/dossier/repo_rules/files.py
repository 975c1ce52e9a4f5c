"""Where a repository keeps its rules: the names that agents' tools read, and the folders that hold several such files."""

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Final

from worker.domain.dossier import Guidance
from worker.domain.pattern import pattern

FOLDER_NAMES: Final = ("AGENTS.md", "CLAUDE.md")
"""These rule the folder that they are in, wherever that is."""

ROOT_NAMES: Final = (
    *FOLDER_NAMES,
    ".github/copilot-instructions.md",
    "GEMINI.md",
    "CONVENTIONS.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
)
RULE_FOLDERS: Final = {
    ".cursor/rules": ".mdc",
    ".windsurf/rules": ".md",
    ".clinerules": ".md",
    ".github/instructions": ".instructions.md",
}
"""Folders at the root, and how the names of the rules files in them end."""

MOST_IN_A_FOLDER: Final = 20
_LINKS: Final = frozenset(name.lstrip(".") for name in ROOT_NAMES)


def is_rules_name(folder: str, name: str) -> bool:
    """Whether the file *name* of one of the FOLDERS holds rules."""
    return name.endswith(RULE_FOLDERS[folder])


def is_rules_file(path: str) -> bool:
    """Whether changes may be judged by this file."""
    folder, _, name = path.rpartition("/")
    return path in ROOT_NAMES or name in FOLDER_NAMES or (folder in RULE_FOLDERS and is_rules_name(folder, name))


def folders_above(changed: Iterable[str], most: int) -> tuple[str, ...]:
    """Each folder above a changed file, with its slash; the shallowest first."""
    folders = {f"{folder}/" for path in changed for folder in PurePosixPath(path).parents if folder != PurePosixPath()}
    return tuple(sorted(folders, key=lambda folder: (folder.count("/"), folder))[:most])


def folder_of(path: str) -> str:
    """The folder that a rules file rules: its own, the whole repository for one in a tool's folder at the root."""
    folder = path.rpartition("/")[0]
    return f"{folder}/" if folder and not _TOOL_FOLDER.fullmatch(folder) else ""


_TOOL_FOLDER: Final = pattern(r"\.(?:github|claude|cursor|windsurf|clinerules|roo|kiro|amazonq|junie)(?:/.*)?")


def unique_files(files: Iterable[Guidance]) -> tuple[Guidance, ...]:
    """The files that are neither empty, nor links, nor copies in the same folder, in their order."""
    kept: dict[tuple[str, str], Guidance] = {}
    for file in files:
        text = file.text.strip()
        if text and text.lstrip("./@") not in _LINKS:
            kept.setdefault((folder_of(file.path), text), file)
    return tuple(kept.values())
