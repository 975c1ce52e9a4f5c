"""Functions and test callbacks of a text, found by Python's own parser or by counting braces.

Does not know grammars of other languages: a header is what stands before its brace. Invariant: lines are numbered as in
the file that the text is of.
"""

import ast
import re
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from bench.proving.masking import language, masked

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Routine:
    """One function, method or callback of a test. `top` is its first decorator or annotation."""

    name: str
    header: str
    top: int
    first: int
    last: int
    above: str
    """Decorators, annotations and attributes, with the comments among them."""
    raw: str
    """Its body as it is written."""
    code: str
    """The same without comments and the insides of strings."""
    body_first: int
    is_cut: bool = False
    node: FunctionNode | None = None
    scope: str = ""
    """What the header is before its name (`new`, `func (x *T)`), or the classes around it."""
    parameters: str = field(default="")
    is_of_junit3: bool = False
    is_broken: bool = False
    """A definition that does not parse."""

    def holds(self, line: int) -> bool:
        return self.top <= line <= self.last

    @property
    def is_test(self) -> bool:
        marked = re.search(
            r"@(?:\w+\.)*\w*(?:Test|Property|Theory)\b|#\[[^\]]*\b(?:\w*test\w*|quickcheck|proptest)\b", self.above
        )
        called = re.search(r"\b(?:it|test|fit|xit|xtest|specify|Test|Run|It)\b[^;{]*$", self.scope)
        if re.search(r"\bfn\s|\b(?:void|class)\s", self.header) and not self.is_of_junit3:
            return bool(marked)
        return bool(marked or called or re.match(r"_*test|Test|Fuzz", self.name))


def segments(lines: dict[int, str]) -> Iterator[tuple[int, str]]:
    """Lines that follow each other, with the number of the first."""
    first, block = 0, list[str]()
    for number in sorted(lines):
        if block and number != first + len(block):
            yield first, "\n".join(block)
            block = []
        first = first if block else number
        block.append(lines[number])
    if block:
        yield first, "\n".join(block)


def routines(lines: dict[int, str], path: str) -> list[Routine]:
    """Every function that these lines show, an outer one before what stands in it."""
    of = language(path)
    found: list[Routine] = []
    for first, text in segments(lines):
        found += _python(text, first) if of == "python" else _braced(text, first, of)
    return found


def around(lines: dict[int, str], path: str, line: int) -> Routine | None:
    """The innermost function that holds the line."""
    inside = [one for one in routines(lines, path) if one.holds(line)]
    return max(inside, key=lambda one: (one.top, -one.last), default=None)


def tests_around(lines: dict[int, str], path: str, line: int) -> Routine | None:
    """The innermost test that holds the line."""
    inside = [one for one in routines(lines, path) if one.holds(line) and one.is_test]
    return max(inside, key=lambda one: (one.top, -one.last), default=None)


def parsed(text: str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            return None


def _python(text: str, first: int) -> list[Routine]:
    tree = parsed(text)
    if tree is not None:
        return list(_of_tree(tree, text.split("\n"), first, ""))
    return list(_of_fragment(text.split("\n"), first))


def _of_tree(tree: ast.AST, lines: list[str], first: int, scope: str) -> Iterator[Routine]:
    for node in ast.iter_child_nodes(tree):
        inner = scope
        if isinstance(node, FunctionNode):
            yield _of_node(node, lines, first, scope)
        if isinstance(node, ast.ClassDef | FunctionNode):
            inner = f"{scope}.{node.name}"
        yield from _of_tree(node, lines, first, inner)


def _of_node(node: FunctionNode, lines: list[str], first: int, scope: str) -> Routine:
    shift = first - 1
    top = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    end = _with_comments(node, lines)
    start = node.body[0].lineno
    body = lines[node.lineno - 1].partition(":")[2]
    # a comment above the first statement is part of the body
    head_end = max([node.lineno, *(getattr(one, "end_lineno", 0) or 0 for one in ast.walk(node.args))])
    body = "\n".join(lines[head_end:end]) if start > head_end else body
    return Routine(
        name=node.name,
        header=lines[node.lineno - 1],
        top=top + shift,
        first=node.lineno + shift,
        last=end + shift,
        above="\n".join(lines[top - 1 : node.lineno - 1]),
        raw=body,
        code=masked(body, "python"),
        body_first=start + shift,
        node=node,
        scope=scope,
        parameters=ast.unparse(node.args),
    )


def _with_comments(node: FunctionNode, lines: list[str]) -> int:
    """Its last line: comments below the last statement, as far in, are a part of it."""
    end = node.end_lineno or node.lineno
    indent = node.col_offset
    for number in range(end, len(lines)):
        text = lines[number]
        if text.strip() and not (text.lstrip().startswith("#") and _indent(text) > indent):
            break
        end = number + 1 if text.strip() else end
    return end


_DEF: Final = re.compile(r"(\s*)(?:async )?def (\w+)")


def _of_fragment(lines: list[str], first: int) -> Iterator[Routine]:
    """Each definition that can be cut out by its indentation and parsed alone."""
    for at, line in enumerate(lines):
        found = _DEF.match(line)
        if found is None:
            continue
        indent = len(found[1])
        top = at
        while top and re.match(rf"\s{{{indent}}}@", lines[top - 1]):
            top -= 1
        end = at + 1
        while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > indent or _goes_on(lines[end])):
            end += 1
        while not lines[end - 1].strip():
            end -= 1
        tree = parsed(textwrap.dedent("\n".join(lines[top:end])))
        node = tree.body[0] if tree is not None and tree.body else None
        if isinstance(node, FunctionNode):
            yield _of_node(node, lines[top:end], first + top, "?" if indent else "")
        else:
            yield _of_broken(found[2], lines[top:end], at - top, first + top)


def _of_broken(name: str, lines: list[str], at: int, first: int) -> Routine:
    """A definition that does not parse: its lines, as far as they are further in."""
    ends = next((n for n in range(at, len(lines)) if lines[n].rstrip().endswith(":")), at)
    body = "\n".join(lines[ends + 1 :])
    return Routine(
        name=name,
        header=lines[at],
        top=first,
        first=first + at,
        last=first + len(lines) - 1,
        above="\n".join(lines[:at]),
        raw=body,
        code=masked(body, "python"),
        body_first=first + ends + 1,
        scope="?",
        is_broken=True,
    )


def _goes_on(line: str) -> bool:
    """A bracket that closes at the margin, or a marker of a conflict."""
    return line.strip()[:1] in {")", "]", "}"} or re.match(r"<{7}|={7}|>{7}", line) is not None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


_CONTROL: Final = re.compile(
    r"^(?:\}\s*)?(?:if|else|for|while|switch|match|catch|try|do|loop|unsafe|synchronized|finally|select|return|with|impl|class|struct|enum|trait|mod|interface|type|namespace"
    r"|extern|static \{?|new|use|macro_rules)\b"
)
_NAMES: Final = {
    "go": re.compile(r"\bfunc\s*(?:\([^)]*\)\s*)?(\w+)\s*[\[(]"),
    "rust": re.compile(r"\bfn\s+(\w+)"),
    "java": re.compile(r"(\w+)\s*\([^;{}]*\)\s*(?:throws[\w\s,.<>]+)?$"),
    "script": re.compile(
        r"function\s*\*?\s*(\w+)|([\w$#]+)\s*[:=]\s*(?:async\s*)?(?:function\b|<|\(|\w+\s*=>)[^;]*$|([\w$#]+)\s*(?:<[^()]*>)?\([^;]*\)\s*(?::[^=;]+)?$"
    ),
}
_TITLE: Final = re.compile(r"\b(?:it|test|fit|xit|xtest|specify|Run|It|Specify)\b[\w.]*(?:\([^()]*\))?\s*\(\s*$")


def _braced(text: str, first: int, of: str) -> list[Routine]:
    if of not in _NAMES:
        return []
    code = re.sub(r"\b(interface|struct)\{\}", r"\1  ", masked(text, of))
    found: list[Routine] = []
    opened: list[int] = []
    pairs: list[tuple[int, int, bool]] = []
    for place in re.finditer(r"[{}]", code):
        if place[0] == "{":
            opened.append(place.start())
        elif opened:
            pairs.append((opened.pop(), place.start(), False))
    pairs += [(start, len(code), True) for start in opened]
    for start, end, is_cut in sorted(pairs):
        made = _at_brace(text, code, (start, end), of)
        if made is not None:
            name, header_at = made
            made_of = _braced_routine(text, code, (header_at, start, end), name, first)
            found.append(replace(made_of, is_cut=is_cut))
    return found


def _at_brace(text: str, code: str, span: tuple[int, int], of: str) -> tuple[str, int] | None:
    """The name and the begin of the header of a function that opens here."""
    at = _header_start(code, span[0], of)
    header = code[at : span[0]].rstrip()
    bare = header.strip()
    title = _callback_title(text, code, at, span[0]) if of in {"script", "go"} else None
    if title is not None:
        return title[0], title[1]
    if _CONTROL.match(bare) and not re.match(r"(?:static|extern|unsafe)\b.*\b(?:fn|\w+\s*\()", bare, re.DOTALL):
        return None
    if of == "script" and not re.search(r"[)>]\s*(?::[^=]*)?$|=>\s*$|[\]}\w]\s*$", bare):
        return None
    names = _NAMES[of].search(_flat(bare))
    if names is None:
        return None
    name = next(filter(None, names.groups()), "")
    is_word = of != "rust" and _CONTROL.match(f"{name} ") is not None
    return (name, at + len(header) - len(header.lstrip())) if name and not is_word else None


def _flat(header: str) -> str:
    """Without what stands in inner parentheses, so that a pattern sees one pair."""
    flat, before = re.sub(r"@\w+(?:\.\w+)*", " ", header), ""
    while flat != before:
        before, flat = flat, re.sub(r"(\([^()]*)\([^()]*\)", r"\1", flat)
    return " ".join(flat.split())


def _header_start(code: str, brace: int, of: str) -> int:
    """Behind the last `;`, `{` or `}` before, not counting what stands in parentheses; a script may leave out the `;`."""
    depth, at = 0, brace
    while at:
        letter = code[at - 1]
        if letter in ")]":
            depth += 1
        elif letter in "([":
            depth = max(0, depth - 1)
        elif not depth and (letter in ";{}" or (of == "script" and letter == "\n" and _ends_there(code, at))):
            break
        at -= 1
    return at


def _ends_there(code: str, at: int) -> bool:
    """A statement ended above this line, and none goes on below."""
    return code[:at].rstrip()[-1:] in {")", '"', "}", ""} and code[at:].lstrip()[:1] not in set(".{:=,)?&|")


def _callback_title(text: str, code: str, start: int, brace: int) -> tuple[str, int] | None:
    """Of a callback: the title that its test was given, and where the call begins."""
    before = code[start:brace]
    for found in reversed(list(re.finditer(r"\"\s*\"", before))):
        call = _TITLE.search(before[: found.start()])
        if call is not None and re.search(r"=>\s*$|function\b[^{}]*$|\bfunc\s*\(", before[found.end() :]):
            return text[start + found.start() + 1 : start + found.end() - 1], start + call.start()
    return None


def _braced_routine(text: str, code: str, places: tuple[int, int, int], name: str, first: int) -> Routine:
    header_at, start, end = places
    lines = text.split("\n")
    top = text.count("\n", 0, header_at)
    named = code.rfind(name, header_at, start) if re.fullmatch(r"\w+", name) else header_at
    line = text.count("\n", 0, named) if named >= 0 else top
    above = line
    while above and re.match(r"\s*(?:@|#\[|//|\*|/\*)", lines[above - 1]):
        above -= 1
    return Routine(
        name=name,
        header=code[header_at:start],
        top=min(top, above) + first,
        first=line + first,
        last=text.count("\n", 0, end) + first,
        above="\n".join([*lines[min(top, above) : line], text[header_at:start]]),
        raw=text[start + 1 : end],
        code=code[start + 1 : end],
        body_first=text.count("\n", 0, start) + first,
        scope=code[header_at:start],
        parameters="".join(re.findall(r"\((.*)\)", code[header_at:start], re.DOTALL)[:1]),
        is_of_junit3=re.search(r"\bextends \w*Test\w*", code) is not None,
    )
