"""Facts about rules and cited places, and the empty diff, proved again by plain search in the dossier.

Does not say whether a fact is fair. Invariant: the rule must stand at the line that the note names.
"""

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import Any, Final, NamedTuple

from bench.proving.answer import Answer, Claim, cannot_tell, first_answer, proved, refuted, settled
from bench.proving.looking import Check, stripped, told
from bench.proving.masking import language, masked
from bench.proving.routines import routines
from bench.proving.shown import Matter, Shown, numbered

_SAID: Final = re.compile(r'(?P<path>\S+?):(?P<line>\d+) says "(?P<text>.*)", and (?P<rest>.*)', re.DOTALL)
_FORBIDS: Final = re.compile(
    r"\b(?:not|never|no|don't|do not|avoid|forbid\w*|forbidden|without|instead of|off[- ]limits|must not|ban\w*|prohibit\w*|nobody|only|leave|keep|generated|vendor\w*|third-party|stay\w*|nothing|untouched|read-only|rather than|own pull|separate|disallow\w*|refrain|reserved|frozen)\b|n't\b",
    re.IGNORECASE,
)


class Rule(NamedTuple):
    """A rule's sentence, and what the note says of the change."""

    text: str
    rest: str


def _rule(claim: Claim, matter: Matter) -> Rule | Answer:
    """The rule's text and the rest of the note, if the rule stands where the note says."""
    said = _SAID.match(claim.note)
    if said is None:
        return cannot_tell("the note names no rule")
    listed: list[dict[str, Any]] = matter.dossier.get("guidance") or []
    text = next((one["text"] for one in listed if one["path"] == said["path"]), None)
    if text is None:
        return refuted(f"there is no rules file {said['path']}")
    lines = numbered(text)
    number = int(said["line"])
    near = _plain(" ".join(lines.get(n, "") for n in range(number, number + 8)))
    if _plain(said["text"])[:60] not in near:
        return refuted(f"the rule does not stand at {said['path']}:{number}")
    return Rule(said["text"], said["rest"])


def _plain(text: str) -> str:
    return re.sub(r"[\s*_`>-]+", "", text)


@first_answer
def forbidden_code_added(claim: Claim, matter: Matter) -> Iterator[Answer]:
    rule = _rule(claim, matter)
    shown = matter.file(claim.path)
    if isinstance(rule, Answer):
        yield rule
        return
    if shown is None:
        yield refuted("the file is not in the diff")
        return
    target = next(iter(told(rule.rest)), "")
    if "brings the new dependency" in rule.rest:
        yield _new_dependency(target, rule, claim, shown)
    is_named = _plain(target) in _plain(rule.text) or target.rstrip("()") in rule.text
    if not target or not (is_named or re.search(_SPOKEN.get(target, "$^"), rule.text, re.IGNORECASE)):
        yield refuted(f"the rule does not name `{target}`")
    if not _FORBIDS.search(rule.text):
        yield refuted("the rule forbids nothing")
    if claim.line not in shown.added:
        yield refuted("the line was not added")
    word = re.match(r"[@#]?[\w.:$!-]*\w!?", target.strip("`"))
    needle = word[0] if word else target
    line = shown.head[claim.line]
    code = _code_at(shown, claim.line)
    is_comment = (
        target.lstrip().startswith(("#", "//", "@ts-", "eslint", "noqa")) or "TODO" in target or "FIXME" in target
    )
    held = line if is_comment else code
    module, _, rest = needle.partition(".")
    by_name = re.search(rf"__import__\(\s*[\"']{re.escape(module)}[\"']\s*\)\s*\.\s*{re.escape(rest)}", line)
    if not by_name and needle not in held and stripped(needle).replace(" ", "") not in held.replace(" ", ""):
        yield refuted(f"`{needle}` is not in the code of the line")
    before = [one for one in shown.removed_lines() if one.strip() == line.strip()]
    yield settled(holds=not before, why=f"the rule names `{target}`, and the added line holds it")


_SPOKEN: Final = {"import *": "wildcard|star", "export default": "default export", "except:": "bare `?except"}
"""Code, and the words that rules call it by."""


def _new_dependency(name: str, rule: Rule, claim: Claim, shown: Shown) -> Answer:
    if not re.search(r"dependenc|packages|libraries|crates", rule.text, re.IGNORECASE):
        return refuted("the rule speaks of no dependencies")
    old = [shown.head[line] for line in shown.head if line not in shown.added] + list(shown.removed_lines())
    stood = any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", line) for line in old)
    is_added = claim.line in shown.added and name in shown.head[claim.line]
    return settled(holds=is_added and not stood, why=f"the line adds `{name}`, and no older line names it")


def _code_at(shown: Shown, line: int) -> str:
    """The line without comments; strings stay where an import names them."""
    whole = "\n".join(shown.head[n] for n in sorted(shown.head)) if shown.text is not None else shown.head[line]
    row = line - 1 if shown.text is not None else 0
    code = masked(whole, language(shown.path)).split("\n")[row]
    return shown.head[line] if re.search(r"\b(?:import|from|require|use)\b", code) else code


def forbidden_path_touched(claim: Claim, matter: Matter) -> Answer:
    rule = _rule(claim, matter)
    if isinstance(rule, Answer):
        return rule
    shown = matter.file(claim.path)
    if shown is None:
        return refuted(f"{claim.path} is not in the diff")
    if not _FORBIDS.search(rule.text):
        return refuted("the rule forbids nothing")
    named = [*told(rule.text), *re.findall(r"[\w./*-]*[/.][\w./*-]+", rule.text)]
    hit = next((one for one in named if _covers(one.strip(), shown.path) or _covers(one.strip(), shown.old_path)), None)
    return settled(holds=hit is not None, why=f"the rule names `{hit}`, and {shown.path} is in the diff")


def _covers(named: str, path: str) -> bool:
    bare = named.removeprefix("./").strip("/")
    if not bare or bare in {".", "*"}:
        return False
    if any(letter in bare for letter in "*?"):
        return fnmatch(path, bare) or fnmatch(path, f"*/{bare}") or fnmatch(path.rpartition("/")[2], bare)
    return path == bare or path.startswith(f"{bare}/") or f"/{bare}/" in f"/{path}/" or path.endswith(f"/{bare}")


_LOG: Final = re.compile(r"change|news|history|release", re.IGNORECASE)


def changelog_entry_missing(claim: Claim, matter: Matter) -> Answer:
    rule = _rule(claim, matter)
    if isinstance(rule, Answer):
        return rule
    if not _LOG.search(rule.text):
        return refuted("the rule asks for no changelog")
    logs = [one.path for one in matter.files if re.search(r"change|news|history|release", one.path, re.IGNORECASE)]
    if logs:
        return refuted(f"{logs[0]} is in the diff")
    named = [one for one in told(rule.text) if any(_covers(one, file.path) for file in matter.files)]
    if named:
        return refuted(f"`{named[0]}` is in the diff")
    code = [one for one in matter.files if _changes_code(one)]
    return settled(
        holds=bool(code),
        why=f"code changes ({code[0].path if code else 'nowhere'}), and no file of the diff is a changelog",
    )


def _changes_code(shown: Shown) -> bool:
    of = language(shown.path)
    if not of or re.search(
        r"(?:^|/)(?:tests?|specs?|__tests__|examples?|docs?)/|[._](?:test|spec)\.|_test\.|(?:^|/)test_", shown.path
    ):
        return False
    old = sorted(masked(line, of).strip() for line in shown.removed_lines())
    new = sorted(masked(line, of).strip() for line in shown.added_lines())
    return [one for one in old if one] != [one for one in new if one]


@first_answer
def docstring_missing(claim: Claim, matter: Matter) -> Iterator[Answer]:
    rule = _rule(claim, matter)
    shown = matter.file(claim.path)
    if isinstance(rule, Answer):
        yield rule
        return
    if shown is None:
        yield refuted("the file is not in the diff")
        return
    if not re.search(r"doc|comment", rule.text, re.IGNORECASE):
        yield refuted("the rule asks for no documentation")
    routine = next((one for one in routines(shown.head, shown.path) if one.first == claim.line), None)
    if routine is None:
        yield cannot_tell("no function can be cut out there")
        return
    if claim.line not in shown.added or any(re.search(rf"\b{routine.name}\s*\(", one) for one in shown.removed_lines()):
        yield refuted("it is not new")
    if routine.node is not None:
        yield settled(holds=ast.get_docstring(routine.node) is None, why=f"the new `{routine.name}` has no docstring")
    above = shown.head.get(routine.top - 1, "").strip() + re.sub(r"@\w+.*", "", routine.above)
    yield settled(
        holds=re.search(r"//|/\*|\*/", above) is None, why=f"no comment stands above the new `{routine.name}`"
    )


def cited_file_missing(claim: Claim, matter: Matter) -> Answer:
    found = re.match(r"the case cites (.+?) for \"", claim.note)
    if found is None:
        return cannot_tell("the note names no file")
    path = found[1]
    if not _is_cited(path, matter):
        return refuted(f"the case does not cite {path}")
    if path in matter.texts or any(one.path == path and not one.is_deleted for one in matter.files):
        return refuted(f"{path} is there")
    short = re.compile(r"(?:.*/)?".join(re.escape(f"{part}/") for part in path.split("/"))[:-1])
    there = (*matter.texts, *(one.path for one in matter.files))
    alike = [
        one
        for one in there
        if short.fullmatch(one) or re.search(rf"(?:^|/){short.pattern}$", one) or path.endswith(f"/{one}")
    ]
    if alike:
        return refuted(f"{alike[0]} may be meant")
    return settled(holds=path in matter.absent, why=f"{path} is listed as not being there at the head")


def _is_cited(text: str, matter: Matter) -> bool:
    case: dict[str, Any] = matter.dossier.get("case") or {}
    claims: list[dict[str, Any]] = case.get("ac_coverage") or []
    return any(text in f"{one.get('addressed_by')} {one.get('evidence')}" for one in claims)


def cited_line_missing(claim: Claim, matter: Matter) -> Answer:
    found = re.match(r"the case cites line (\d+) of (.+), which has (\d+) lines", claim.note)
    if found is None:
        return cannot_tell("the note names no line")
    text = matter.texts.get(found[2])
    shown = matter.file(found[2])
    if text is None and shown is not None and shown.is_new:
        text = "\n".join(shown.head.values())
    if text is None:
        return cannot_tell("the text is not there")
    count = len(numbered(text))
    cited = _is_cited(found[1], matter)
    return settled(holds=cited and int(found[1]) > count, why=f"line {found[1]} is cited, and {found[2]} has {count}")


def cited_name_missing(claim: Claim, matter: Matter) -> Answer:
    found = re.match(r'the case cites "(.*)" in (.+), and "(.*)" does not stand there', claim.note, re.DOTALL)
    if found is None:
        return cannot_tell("the note names no name")
    text = matter.texts.get(found[2])
    shown = matter.file(found[2])
    if text is None and shown is not None and shown.is_new:
        text = "\n".join(shown.head.values())
    if text is None:
        return cannot_tell("the text is not there")
    name = found[3].strip("`'\"() ")
    if not _is_cited(name, matter):
        return refuted(f"the case does not name {name}")
    return settled(holds=name not in text, why=f"`{name[:60]}` is cited, and stands nowhere in {found[2]}")


def empty_diff(claim: Claim, matter: Matter) -> Answer:
    del claim
    is_empty = not matter.dossier["diff"].strip() and not matter.dossier.get("files_unread")
    return proved("the diff has no line") if is_empty else refuted("the diff is not empty")


CHECKS: Final[dict[str, Check]] = {
    "forbidden_code_added": forbidden_code_added,
    "forbidden_path_touched": forbidden_path_touched,
    "changelog_entry_missing": changelog_entry_missing,
    "docstring_missing": docstring_missing,
    "cited_file_missing": cited_file_missing,
    "cited_line_missing": cited_line_missing,
    "cited_name_missing": cited_name_missing,
    "empty_diff": empty_diff,
}
