"""CODEOWNERS: who owns which file, by the last rule that fits, as GitHub reads it, in any case of letters.

A line that can't be read owns nothing; a file that no rule fits has no owner.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from worker.domain.dossier import is_withheld
from worker.domain.pattern import pattern

CODEOWNERS_PATHS: Final = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""Where GitHub looks; the first that is there counts."""

MOST_LINES: Final = 3_000
LONGEST_GLOB: Final = 200
MOST_MATCHES: Final = 50_000
"""Matches of files with rules: of a long list fewer files are matched. Owners are to be found, not counted."""

OWNER_PATTERN: Final = pattern(r"@([A-Za-z0-9][A-Za-z0-9-]{0,99})(?:/([A-Za-z0-9_.-]{1,100}))?")
UNSUPPORTED_PATTERN: Final = pattern(r"^!|[\[\]]")
"""Negations and ranges, which GitHub does not support in a pattern."""


@dataclass(frozen=True)
class Owner:
    """A person, or a team of an organization."""

    login: str
    team: str | None = None

    @property
    def name(self) -> str:
        """`alice`, `acme/platform`."""
        return self.login if self.team is None else f"{self.login}/{self.team}"


@dataclass(frozen=True)
class CodeownersRule:
    glob: str
    owners: tuple[Owner, ...]


def parse_rules(text: str) -> tuple[CodeownersRule, ...]:
    """The rules in their order. E-mail addresses are left out: they name no account."""
    return tuple(rule for line in text.splitlines()[:MOST_LINES] if (rule := _rule(line)) is not None)


def find_owners(text: str, paths: Sequence[str]) -> tuple[Owner, ...]:
    """All owners of these files, those who own most of them first."""
    rules = parse_rules(text)
    counts: dict[Owner, int] = {}
    for path in paths[: max(1, MOST_MATCHES // max(1, len(rules)))]:
        for owner in next((rule.owners for rule in reversed(rules) if _matches(rule.glob, path)), ()):
            counts[owner] = counts.get(owner, 0) + 1
    return tuple(sorted(counts, key=lambda owner: (-counts[owner], owner.name)))


def _matches(glob: str, path: str) -> bool:
    """As in a .gitignore, but that `docs/*` means the files in that folder and nothing below it."""
    body = glob.strip("/")
    if body.endswith("/*") and "**" not in body and path.count("/") != body.count("/"):
        return False
    return is_withheld(path, (glob,))


def _rule(line: str) -> CodeownersRule | None:
    parts = line.replace("\\ ", "\0").partition("#")[0].split()
    if not parts or len(parts[0]) > LONGEST_GLOB or UNSUPPORTED_PATTERN.search(parts[0]):
        return None
    matches = (OWNER_PATTERN.fullmatch(word) for word in parts[1:])
    owners = tuple(Owner(match[1], match[2]) for match in matches if match is not None)
    return CodeownersRule(parts[0].replace("\0", " "), owners)
