"""Facts about unfinished work, proved again.

Does not say whether a fact is fair. Invariant: "new" is read off the added lines alone.
"""

import ast
import re
from collections.abc import Iterator
from typing import Final

from bench.proving.answer import Answer, Claim, cannot_tell, first_answer, proved, refuted, settled
from bench.proving.looking import (
    Check,
    counted,
    is_all_new,
    is_python,
    may_go_on,
    not_found,
    routine_at,
    told,
    with_file,
)
from bench.proving.masking import language, masked
from bench.proving.routines import Routine, parsed, routines
from bench.proving.shown import Matter, Shown


def conflict_marker(claim: Claim, shown: Shown) -> Answer:
    lines = {line: shown.head.get(line, "") for line in range(claim.line, claim.last + 1)}
    if not lines.keys() & shown.added:
        return refuted("the lines were not added")
    middle = [line for line, text in lines.items() if text.rstrip("\r") == "======="]
    is_there = lines[claim.line].startswith("<<<<<<<") and lines[claim.last].startswith(">>>>>>>") and bool(middle)
    if is_there and is_python(shown) and shown.text is not None and parsed(shown.text) is not None:
        return refuted("the file parses, so the markers stand in a string")
    return settled(holds=is_there, why="the three markers stand there in their order, added")


_UNWRITTEN: Final = re.compile(
    r"\b(?:todo|fixme|tbd|wip)\b|to-?do|not[ _-]?(?:yet[ _-])?(?:been )?(?:fully )?(?:implemented|available|ready|done|finished|written|complete|wired|there|supported)|unimplemented|notimplemented"
    r"|implement(?:ation)? (?:me|this|pending|missing|needed|later)|coming soon|placeholder|\bstub|unfinished|follow-?up|yet to be|still to be|(?:needs? to|to|will|should|must|left to) be \w+|incomplete|UnsupportedOperation|NotImplemented",
    re.IGNORECASE,
)


@first_answer
def stub_body(claim: Claim, shown: Shown) -> Iterator[Answer]:
    routine = routine_at(claim, shown)
    if routine is None:
        yield not_found(claim)
        return
    if not is_all_new(routine, shown):
        yield refuted(f"not every line of `{routine.name}` is new")
    if re.search(r"abstractmethod|@overload|\babstract\b", routine.above):
        yield refuted("it is abstract")
    if may_go_on(routine, shown):
        yield refuted("the end of the function is not shown, so nobody can know")
    count = _statements(routine)
    if count > 1:
        yield refuted(f"its body has {count} statements")
    text = f"{routine.raw}\n{routine.above}"
    if _UNWRITTEN.search(text):
        yield proved("its body is one statement at most, and says that it is not written")
    idle = routine.code.strip().rstrip(";") in {"", "pass", "...", "return", "return None"} or _is_doc_only(routine)
    yield settled(holds=idle, why="its body does nothing")


def _is_doc_only(routine: Routine) -> bool:
    return routine.node is not None and all(_is_idle(one) for one in routine.node.body)


def _is_idle(node: ast.stmt) -> bool:
    match node:
        case ast.Pass():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Return():
            return node.value is None or _is_constant(node.value)
        case _:
            return False


def _is_constant(node: ast.expr) -> bool:
    plain = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Load, ast.UnaryOp, ast.USub)
    made = ast.unparse(node) in {"set()", "dict()", "list()", "tuple()", "self", "str()"}
    return made or all(isinstance(one, plain) for one in ast.walk(node))


def _statements(routine: Routine) -> int:
    if routine.node is not None:
        return sum(not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)) for one in routine.node.body)
    code = re.sub(r"\{[^{}]*\}", "", routine.code)
    return max(
        code.count(";"), len([line for line in code.split("\n") if re.search(r"\w", line)]) if ";" not in code else 1
    )


@first_answer
def function_uncalled(claim: Claim, matter: Matter) -> Iterator[Answer]:
    shown = matter.file(claim.path)
    name = next(iter(told(claim.note)), "")
    if shown is None or not name:
        yield cannot_tell("the file or the name is not there")
        return
    word = name.lstrip("#")
    if not counted(word, shown.head.get(claim.line, "")):
        yield refuted(f"`{name}` does not begin there")
    if claim.line not in shown.added:
        yield refuted("its first line was not added")
    if any(counted(word, line) for one in matter.files for line in one.removed_lines()):
        yield refuted("a removed line names it, so it was not new")
    elsewhere = [
        f"{path}:{number}"
        for path, number, text in matter.lines_after()
        if counted(word, text)
        and not (path == shown.path and claim.line <= number <= claim.last)
        and not re.match(r"\s*(?://|#(?!\[)|\*|/\*)", text)
    ]
    if elsewhere:
        yield refuted(f"`{name}` is named at {elsewhere[0]}")
    if _is_exported(shown, claim.line):
        yield refuted(f"`{name}` is not private")
    yield proved(f"no other line that is shown names `{name}`, and it is private")


_PUBLIC: Final = {
    "rust": re.compile(r"^\s*pub\b(?!\()"),
    "go": re.compile(r"\bfunc\s*(?:\([^)]*\)\s*)?[A-Z]"),
    "python": re.compile(r"^(?:async )?def (?!_)"),
    "script": re.compile(r"^export "),
}


def _is_exported(shown: Shown, line: int) -> bool:
    of = language(shown.path)
    if of == "java":
        return "private" not in " ".join(shown.head.get(n, "") for n in range(line - 2, line + 3))
    return of in _PUBLIC and _PUBLIC[of].search(shown.head.get(line, "")) is not None


def _comment_at(shown: Shown, line: int) -> str:
    """What the comment on this line says, if there is nothing else on it."""
    text = shown.head.get(line, "")
    found = re.match(r"\s*(?:#|//+|/\*+|\*)\s*(.*)", text)
    return found[1] if found else ""


_LEFT: Final = re.compile(
    r"\b(?:todo|fixme|xxx|tbd|wip|hack)\b|remain|\brest\b|unfinished|incomplete|half|implement|finish|not (?:yet )?\w*(?:done|complete|written|wired|ported)|to be \w+|fill|placeholder|stub|missing|later|follow-?up",
    re.IGNORECASE,
)


@first_answer
def unfinished_function(claim: Claim, shown: Shown) -> Iterator[Answer]:
    if claim.line not in shown.added:
        yield refuted("the line was not added")
    said = _comment_at(shown, claim.line)
    if not said:
        yield refuted("no comment stands alone on the line")
    if is_python(shown) and shown.text is not None and not _is_python_comment(shown.text, claim.line):
        yield refuted("it stands in a string")
    if any(said.strip() in line for line in shown.removed_lines()):
        yield refuted("the comment stood in a removed line")
    routine = routine_at(claim, shown)
    if routine is None:
        yield not_found(claim)
        return
    if not is_all_new(routine, shown):
        yield refuted(f"not every line of `{routine.name}` is new")
    yield settled(holds=_LEFT.search(said) is not None, why=f"in the new `{routine.name}` a comment says: {said[:80]}")


def _is_python_comment(text: str, line: int) -> bool:
    lines = masked(text, "python").split("\n")
    return not lines[line - 1].strip()


_DEBUGS: Final = re.compile(
    r"\bbreakpoint\(\)|\bset_trace\(|\b(?:pdb|ipdb|pudb|remote_pdb|wdb)\b|\bembed\b|\bdbg!\s*\(|\bdebugger\b|runtime\.Breakpoint\(\)|spew\.Dump\("
)


def debugger_left(claim: Claim, shown: Shown) -> Answer:
    if claim.line not in shown.added:
        return refuted("the line was not added")
    if shown.text is not None:
        code = masked(shown.text, language(shown.path)).split("\n")[claim.line - 1]
    else:
        code = masked(shown.head.get(claim.line, ""), language(shown.path))
    if not _DEBUGS.search(code):
        return refuted("no code for debugging stands there")
    before = [line for line in shown.removed_lines() if line.strip() == shown.head[claim.line].strip()]
    return settled(holds=not before, why=f"`{code.strip()[:60]}` was added, and stood nowhere before")


_CONSTANT: Final = re.compile(
    r"(?:return\s*)?(?:(?:None|nil|null|undefined|true|false|-?\d+(?:\.\d+)?|\"\s*\"|\[\]|\{\}|\(\)|self|this|vec!\[\]|\w*(?:::\w+)*::(?:new|default)\(\)|Default::default\(\)|Ok\(.{0,30}\)"
    r"|(?:Optional|Collections|List|Map|Set|Stream|Promise)\.\w+\(\)|new \w+(?:<[^<>]*>)?\(\)|&?[\w.\[\]]+\{\}|void 0)(?:,\s*)?)*;?"
)


@first_answer
def body_does_nothing(claim: Claim, shown: Shown) -> Iterator[Answer]:
    routine = next(
        (
            one
            for one in routines(shown.head, shown.path)
            if one.last == claim.last and claim.line <= one.last and one.name in told(claim.note)
        ),
        None,
    ) or routine_at(claim, shown)
    if routine is None:
        yield not_found(claim)
        return
    if not is_all_new(routine, shown):
        yield refuted(f"not every line of `{routine.name}` is new")
    if may_go_on(routine, shown):
        yield refuted("the end of the function is not shown, so nobody can know")
    if routine.node is not None:
        idle = all(map(_is_idle, routine.node.body))
    else:
        idle = _CONSTANT.fullmatch(" ".join(routine.code.split())) is not None
    yield settled(holds=idle, why=f"the body of `{routine.name}` is empty or hands back a constant")


CHECKS: Final[dict[str, Check]] = {
    "conflict_marker": with_file(conflict_marker),
    "stub_body": with_file(stub_body),
    "function_uncalled": function_uncalled,
    "unfinished_function": with_file(unfinished_function),
    "debugger_left": with_file(debugger_left),
    "body_does_nothing": with_file(body_does_nothing),
}
