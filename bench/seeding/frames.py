"""What a change is held to: made-up issues with criteria that it meets, a truthful case, and rules that it keeps.

Invariant: every criterion, claim and rule of a frame is true of the clean change.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.seeding.defect import Case
from bench.seeding.opened import Frame, is_test_path, new_functions, new_tests

HEADINGS: Final = (
    "## Acceptance criteria",
    "### Acceptance criteria",
    "**Acceptance criteria**",
    "## Done when",
    "## Acceptance Criteria",
)
BULLETS: Final = ("- {}", "- [ ] {}", "* {}", "1. {}", "* [ ] {}")
NAMED: Final = (
    "There is a new `{name}`",
    "`{name}` is available",
    "Introduce `{name}`",
    "Callers can use `{name}`",
    "Offer `{name}` for this",
)
PROSE: Final = (
    "It is possible to {words}",
    "Support {words}",
    "The code can {words}",
    "{words} works as described above",
)
TESTED: Final = (
    "A test `{name}` covers this",
    "Tests show that {words}",
    "There is a test for {words}",
    "{words} is tested",
)
FILED: Final = ("`{path}` is brought up to date", "{words} in {folder} follows", "The change reaches `{path}`")
NAMELESS: Final = {
    "init",
    "main",
    "new",
    "setup",
    "tearDown",
    "setUp",
    "constructor",
    "toString",
    "default",
    "fmt",
    "drop",
}
"""Names that no issue would ask for."""
CHANGELOG: Final = re.compile(
    r"(?:^|/)(?:change(?:s|log)?|news|newsfragments|release[-_ ]?notes|history)[^/]*(?:/|\.(?:md|rst|txt|adoc)$|$)",
    re.IGNORECASE,
)
RULES_FILES: Final = ("AGENTS.md", "CLAUDE.md")
OPENINGS: Final = (
    "# Working here",
    "# Rules for contributors and agents",
    "# Agents",
    "# How we work in this repository",
)
SOFT: Final = (
    "Prefer small commits.",
    "Names should say what a thing is.",
    "Keep the style of the file you are in.",
    "Ask when something is unclear.",
    "We like short functions.",
    "Write commit messages in the imperative.",
)


@dataclass(frozen=True, slots=True)
class Claim:
    """One criterion, and what the case says of it."""

    text: str
    addressed_by: str
    evidence: str | None = None


def spoken(name: str) -> str:
    """The words of an identifier or of a file's name."""
    parts = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name.strip("_")).replace("_", " ").replace("-", " ")
    return " ".join(parts.split()).lower().removeprefix("test ")


def framed(case: Case, claims: Sequence[Claim], guidance: Sequence[str] = ()) -> Frame:
    """An issue with the criteria, and a case that answers each of them."""
    heading, bullet = case.pick(HEADINGS), case.pick(BULLETS)
    number = 1 + case.draw.randrange(6000)
    repository = case.opened.repository
    listed = "\n".join(bullet.format(claim.text) for claim in claims)
    body = f"{_intro(case)}\n\n{heading}\n\n{listed}"
    issue = {
        "repository": repository,
        "number": number,
        "title": case.opened.title,
        "body": body,
        "url": f"https://github.com/{repository}/issues/{number}",
        "linked_by": f"{case.pick(('Closes', 'Fixes', 'Resolves'))} #{number}",
    }
    criteria = [
        {"id": f"AC{at}", "text": claim.text, "source": f"{repository}#{number}"} for at, claim in enumerate(claims, 1)
    ]
    coverage = [
        {
            "criterion": f"AC{at}",
            "addressed_by": claim.addressed_by,
            **({"evidence": claim.evidence} if claim.evidence else {}),
        }
        for at, claim in enumerate(claims, 1)
    ]
    stated = {"summary": case.opened.title, "ac_coverage": coverage, "work_arounds": [], "uncertainties": []}
    rules = {"guidance": [rules_file(case, guidance)]} if guidance else {}
    return Frame({"issues": [issue], "criteria": criteria, "case": stated, **rules})


def _intro(case: Case) -> str:
    first = str(case.opened.dossier["pull_request"]["body"]).strip().split("\n\n", maxsplit=1)[0]
    return first[:600] if len(first) > 20 else f"{case.opened.title}."


def rules_file(case: Case, rules: Sequence[str]) -> dict[str, Any]:
    lines = case.shuffled([*rules, *case.shuffled(SOFT)[: case.draw.randint(1, 4)]])
    body = "\n".join(f"{case.pick(('-', '*'))} {line}" for line in lines)
    return {"path": case.pick(RULES_FILES), "text": f"{case.pick(OPENINGS)}\n\n{body}\n"}


def claims_of(case: Case, most: int = 3) -> list[Claim]:
    """Criteria that the change meets, each with a pointer that is there."""
    tests = new_tests(case.opened)
    proof = f"{tests[0][0].path}::{tests[0][1].name}" if tests else None
    found = [
        Claim(_named(case, one.name), f"{sheet.path}:{one.name}", proof)
        for sheet, one in new_functions(case.opened)
        if one.name not in NAMELESS
    ]
    found += [Claim(_tested(case, one.name), sheet.path, f"{sheet.path}::{one.name}") for sheet, one in tests]
    files = [path for path in case.opened.sheets if not is_test_path(path)]
    found += [Claim(_filed(case, path), path) for path in files]
    unique = {claim.text: claim for claim in case.shuffled(found)}
    return list(unique.values())[:most]


def started(text: str) -> str:
    """With a capital letter, unless code stands there."""
    return text[:1].upper() + text[1:]


def _tested(case: Case, name: str) -> str:
    return started(case.pick(TESTED).format(name=name, words=spoken(name)))


def _named(case: Case, name: str) -> str:
    shape = case.pick(NAMED) if case.draw.random() < 0.6 or " " not in spoken(name) else case.pick(PROSE)
    return started(shape.format(name=name, words=spoken(name)))


def _filed(case: Case, path: str) -> str:
    folder, _, name = path.rpartition("/")
    return started(
        case.pick(FILED).format(path=path, words=spoken(name.partition(".")[0]), folder=folder or "the root")
    )
