"""half_finished: work that was begun and not done.

Invariant: only new or changed production code is touched; tests stay as they are.
"""

import re
from collections.abc import Sequence
from typing import Final

from bench.seeding import words
from bench.seeding.code import Branch, Function, Statement, Tongue
from bench.seeding.defect import Case, Difficulty, Made, Place, Variant, edited, inner_text
from bench.seeding.opened import Frame, Opened, is_test_path, new_functions
from bench.seeding.patch import Line
from bench.seeding.sheet import Edit, Sheet
from worker.domain.verdict.verdict import Category

LEAST_BODY: Final = 3
EMPTY_ALREADY: Final = re.compile(
    r"NotImplemented|todo!|unimplemented|UnsupportedOperation|not implemented", re.IGNORECASE
)
IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*")
CALL: Final = r"(?:await )?(?:[A-Za-z_]\w*(?:\.|::|->))*{name}\((?:[^=]|==)*\);?"


def _whole(case: Case, least: int = LEAST_BODY) -> list[tuple[Sheet, Function]]:
    """New functions with a real body, in the order of the draw."""
    found = [
        (sheet, one) for sheet, one in new_functions(case.opened, least) if not EMPTY_ALREADY.search(inner_text(one))
    ]
    return case.shuffled(found)


def _kept_docstring(function: Function) -> int:
    """The first line of the body behind a docstring."""
    first = function.body[0] if function.body else None
    if function.tongue is Tongue.PYTHON and first and first.text.lstrip("rbuRBU").startswith(('"', "'")):
        return first.last + 1
    return function.inner_first


def _with_body(case: Case, sheet: Sheet, function: Function, lines: Sequence[str]) -> Made | None:
    start = _kept_docstring(function) if case.draw.random() < 0.7 else function.inner_first
    if start > function.inner_last:
        return None
    body = tuple(f"{function.indent}{line}" for line in lines)
    places = [Place(sheet.path, function.line), Place(sheet.path, start)]
    return edited(case, sheet, [Edit(start, function.inner_last, body)], *places)


def stub(case: Case) -> Made | None:
    for sheet, one in _whole(case):
        return _with_body(case, sheet, one, [words.stub(one, case.draw)])
    return None


def empty(case: Case) -> Made | None:
    for sheet, one in _whole(case):
        body = words.nothing(one, case.draw)
        if body is not None:
            return _with_body(case, sheet, one, body)
    return None


def rest_noted(case: Case) -> Made | None:
    """The second half of a body is a note."""
    for sheet, one in _whole(case, 5):
        if len(one.body) < 3:
            continue
        kept = one.body[: case.draw.randint(1, len(one.body) - 2)]
        note = words.comment(one.tongue, words.chosen(words.LEFT, case.draw, name=one.name))
        value = words.nothing(one, case.draw) if "return" in inner_text(one) or one.tongue is Tongue.RUST else ()
        if value is None:
            continue
        lines = tuple(f"{one.indent}{line}" for line in (note, *value))
        place = Place(sheet.path, kept[-1].last + 1)
        return edited(case, sheet, [Edit(kept[-1].last + 1, one.inner_last, lines)], place)
    return None


def commented_out(case: Case) -> Made | None:
    for sheet, one in _whole(case):
        value = words.nothing(one, case.draw)
        if value is None or one.length > 40 or "/*" in inner_text(one):
            continue
        start = _kept_docstring(one)
        old = [line.removeprefix(one.indent) for line in one.lines[start - 1 : one.inner_last]]
        body = [words.comment(one.tongue, line).rstrip() for line in old] + list(value)
        lines = tuple(f"{one.indent}{line}" for line in body)
        if start <= one.inner_last:
            places = (Place(sheet.path, one.line), Place(sheet.path, start))
            return edited(case, sheet, [Edit(start, one.inner_last, lines)], *places)
    return None


def _uses(opened: Opened, name: str) -> list[tuple[Sheet, int]]:
    """Production lines that name *name*."""
    rule = re.compile(rf"\b{re.escape(name)}\b")
    sheets = (sheet for path, sheet in opened.sheets.items() if not is_test_path(path))
    return [(sheet, at) for sheet in sheets for at, line in enumerate(sheet.head, 1) if rule.search(line)]


def unwired(case: Case) -> Made | None:
    """A new function whose only call is taken away."""
    for sheet, one in case.shuffled(new_functions(case.opened, 2)):
        calls = [(at, line) for at, line in _uses(case.opened, one.name) if (at.path, line) != (sheet.path, one.line)]
        if len(calls) != 1:
            continue
        caller, line = calls[0]
        statement = _statement_at(case.opened, caller, line, one.name)
        if statement is None or (caller.path == sheet.path and one.first <= line <= one.last):
            continue
        made = edited(case, caller, [Edit(statement.first, statement.last, ())])
        gone = statement.last - statement.first + 1
        shift = gone if caller.path == sheet.path and statement.last < one.line else 0
        places = (Place(sheet.path, one.line - shift), Place(caller.path, max(1, statement.first - 1)))
        return Made(made.twin, made.seed, places)
    return None


def _statement_at(opened: Opened, sheet: Sheet, line: int, name: str) -> Statement | None:
    """The whole new statement at *line* that does nothing but call *name*."""
    rule = re.compile(CALL.format(name=re.escape(name)), re.DOTALL)
    for other, function in opened.code:
        if other.path != sheet.path or not function.inner_first <= line <= function.inner_last:
            continue
        for one in function.statements:
            if (
                one.first == line
                and rule.fullmatch(one.text)
                and sheet.is_added(one.first, one.last)
                and not one.is_only
            ):
                return one
    return None


def unused_parameter(case: Case) -> Made | None:
    """The one statement that looks at a parameter is gone; the parameter is still accepted."""
    for sheet, one in _whole(case):
        for name in case.shuffled(one.parameters):
            users = [part for part in one.body if re.search(rf"\b{re.escape(name)}\b", part.text)]
            uses = len(re.findall(rf"\b{re.escape(name)}\b", inner_text(one)))
            if len(users) != 1 or not _stands_alone(users[0], one) or uses == 0:
                continue
            gone = users[0]
            places = (Place(sheet.path, one.line), Place(sheet.path, max(one.line, gone.first - 1)))
            return edited(case, sheet, [Edit(gone.first, gone.last, ())], *places)
    return None


def _stands_alone(statement: Statement, function: Function) -> bool:
    """Nothing behind it needs it: no result, no name that is used later."""
    if len(function.body) < 2 or statement == function.body[-1]:
        return False
    if statement.kind.startswith(("if_", "for_")):
        return True
    return statement.kind == "expression_statement" and not re.match(r"[\w.\[\]'\", ]+\s*(?::=|=)[^=]", statement.text)


def emptied_branch(case: Case) -> Made | None:
    """One branch of new code does nothing."""
    found: list[tuple[Sheet, Function, Branch]] = []
    for sheet, one in case.opened.code:
        if not one.is_test and not is_test_path(sheet.path):
            found += [(sheet, one, branch) for branch in one.branches if sheet.is_added(branch.line, branch.last)]
    for sheet, one, branch in case.shuffled(found):
        body = "\n".join(sheet.head[branch.first - 1 : branch.last])
        if len(body) < 12 or re.fullmatch(r"\s*(?:pass|continue;?|break;?|return;?|\.\.\.)\s*", body):
            continue
        if one.tongue is Tongue.RUST and not body.rstrip().endswith(";"):
            continue
        lines = (f"{branch.indent}pass",) if one.tongue is Tongue.PYTHON else ()
        return edited(case, sheet, [Edit(branch.first, branch.last, lines)], Place(sheet.path, branch.line))
    return None


def _tokens(lines: Sequence[Line], mark: str) -> list[str]:
    return [word for line in lines if line.mark == mark for word in IDENTIFIER.findall(line.text)]


def site_left_out(case: Case) -> Made | None:
    """One of several places that the issue names is left as it was."""
    sites: dict[tuple[str, str], list[tuple[Sheet, int, int]]] = {}
    for sheet in case.opened.sheets.values():
        for first, last in sheet.runs() if not sheet.patch.is_new else ():
            run = sheet.lines[first : last + 1]
            old, new = _tokens(run, "-"), _tokens(run, "+")
            gone, come = sorted(set(old) - set(new)), sorted(set(new) - set(old))
            if len(gone) == 1 and len(come) == 1 and old.count(gone[0]) == new.count(come[0]):
                sites.setdefault((gone[0], come[0]), []).append((sheet, first, last))
    runs = {sheet.path: len(sheet.runs()) for sheet in case.opened.sheets.values()}
    for (gone, come), places in sorted(sites.items()):
        if len({sheet.path for sheet, _, _ in places}) >= 3:
            return _left_out(case, (gone, come), [place for place in places if runs[place[0].path] > 1])
    return None


def _left_out(case: Case, names: tuple[str, str], places: Sequence[tuple[Sheet, int, int]]) -> Made | None:
    if not places:
        return None
    sheet, first, last = case.pick(places)
    listed = sorted({f"`{one.path}`" for one, _, _ in places})
    body = words.chosen(SITES, case.draw, old=names[0], new=names[1], places=", ".join(listed[:8]))
    number = 1 + case.draw.randrange(4000)
    issue = {"repository": case.opened.repository, "number": number, "title": case.opened.title, "body": body}
    twin = case.opened.framed(Frame({"issues": [issue]}))
    return Made(twin, twin.with_sheet(sheet.reverted(first, last)), (Place(sheet.path, sheet.head_line(first)),))


SITES: Final = (
    "`{old}` has to become `{new}` in {places}.",
    "Use `{new}` in place of `{old}`. Affected: {places}",
    "We still rely on `{old}`; move to `{new}` everywhere: {places}.",
)


def debug_output(case: Case) -> Made | None:
    for sheet, one in case.shuffled(new_functions(case.opened, 2)):
        if len(one.body) < 2 or not one.parameters:
            continue
        at = case.pick(one.body[1:])
        value = case.pick(one.parameters)
        line = words.chosen(words.DEBUG[words.family(one.tongue)], case.draw, name=one.name, value=value)
        return edited(case, sheet, [Edit(at.first, at.first - 1, (f"{at.indent}{line}",))], Place(sheet.path, at.first))
    return None


def conflict_left(case: Case) -> Made | None:
    for sheet, one in _whole(case, 4):
        at = case.pick(one.body) if one.body else None
        if at is None:
            continue
        old = tuple(sheet.head[at.first - 1 : at.last])
        label = words.chosen(("main", "origin/main", "upstream", "feature", "theirs"), case.draw)
        lines = ("<<<<<<< HEAD", *old, "=======", *old, f">>>>>>> {label}")
        return edited(case, sheet, [Edit(at.first, at.last, lines)], Place(sheet.path, at.first))
    return None


GAP: Final = (Category.ACCEPTANCE_GAP,)
VARIANTS: Final = (
    Variant("stub", Category.HALF_FINISHED, Difficulty.EASY, stub, GAP),
    Variant("empty", Category.HALF_FINISHED, Difficulty.EASY, empty, GAP),
    Variant("rest_noted", Category.HALF_FINISHED, Difficulty.EASY, rest_noted, GAP),
    Variant("commented_out", Category.HALF_FINISHED, Difficulty.EASY, commented_out, GAP),
    Variant("conflict_left", Category.HALF_FINISHED, Difficulty.EASY, conflict_left, is_code=False),
    Variant("unwired", Category.HALF_FINISHED, Difficulty.HARD, unwired, GAP),
    Variant("unused_parameter", Category.HALF_FINISHED, Difficulty.HARD, unused_parameter, GAP),
    Variant("emptied_branch", Category.HALF_FINISHED, Difficulty.HARD, emptied_branch, GAP),
    Variant("site_left_out", Category.HALF_FINISHED, Difficulty.HARD, site_left_out, GAP),
    Variant("debug_output", Category.HALF_FINISHED, Difficulty.HARD, debug_output),
)
