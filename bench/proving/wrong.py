"""Facts about tests that pass for the wrong reason, proved again.

Does not say whether a fact is fair. Invariant: what stood there before is looked up in what git gives back.
"""

import ast
import re
from collections.abc import Iterator
from typing import Any, Final, cast

import yaml

from bench.proving.answer import Answer, Claim, cannot_tell, first_answer, proved, refuted, settled
from bench.proving.looking import Check, not_found, routine_at, stripped, told, with_file
from bench.proving.masking import language, masked
from bench.proving.routines import Routine, around, routines
from bench.proving.shown import Matter, Shown
from bench.proving.weak_test import has_condition, skips

_RETURNS: Final = re.compile(r"^\s*return\b[^=]*$|^\s*raise (?:unittest\.)?SkipTest|^\s*(?:pytest\.)?xfail\(")
_FAILS: Final = re.compile(
    r"xfail\b|expectedFailure|abort\(|assume(?:True|False)\(|cfg\((?:any\(\)|FALSE|false|never|disabled)"
)


@first_answer
def test_disabled(claim: Claim, shown: Shown) -> Iterator[Answer]:
    line = shown.head.get(claim.line, "")
    if claim.line not in shown.added:
        yield refuted("the line was not added")
    if not (skips(line) or any(look.search(line) for look in (_RETURNS, _FAILS, _WHOLE_FILE))):
        yield refuted("the line switches nothing off")
    if has_condition(line):
        yield refuted("the skip has a condition")
    name = next(iter(told(claim.note)), "")
    before = next((one for one in routines(shown.base, shown.path) if one.name == name), None)
    if before is None:
        is_there = any(name in text for text in shown.base.values())
        yield (
            cannot_tell(f"`{name}` can't be cut out")
            if is_there
            else refuted(f"`{name}` is not shown before the change")
        )
        return
    own = f"{before.above}\n" + before.raw.strip().split("\n")[0]
    if skips(own) and not has_condition(own):
        yield refuted(f"`{name}` was switched off before")
    inside = around(shown.head, shown.path, claim.line)
    if inside is not None and inside.first < claim.line and not _is_reached(claim, inside, shown):
        yield refuted("the line stands in a branch")
    yield proved(f"`{name}` stood there before without a skip, and `{line.strip()[:50]}` was added")


_WHOLE_FILE: Final = re.compile(r"^//\s*\+build|^//go:build|^\s*__test__")


def _is_reached(claim: Claim, test: Routine, shown: Shown) -> bool:
    if test.node is not None:
        shift = test.first - test.node.lineno
        own = {one.lineno + shift for one in test.node.body}
        return claim.line in own or claim.line <= test.first
    between = range(test.body_first, claim.line)
    before = masked("\n".join(shown.head.get(n, "") for n in between), language(shown.path))
    return before.count("{") - before.count("}") <= 1


def test_only(claim: Claim, shown: Shown) -> Answer:
    if claim.line not in shown.added:
        return refuted("the line was not added")
    code = masked(shown.head.get(claim.line, ""), language(shown.path))
    marked = re.search(
        r"\.only\b|\bf(?:it|describe|test|context)\s*[(.<]|\bF(?:It|Describe|Context|Specify|When|Entry)\(", code
    )
    same = shown.head[claim.line].strip() in {line.strip() for line in shown.removed_lines()}
    return settled(holds=marked is not None and not same, why=f"`{code.strip()[:50]}` is new")


@first_answer
def test_deleted_alone(claim: Claim, matter: Matter) -> Iterator[Answer]:
    shown = matter.file(claim.path)
    name = next(iter(told(claim.note)), "")
    if shown is None or not name:
        yield cannot_tell("the file or the name is not there")
        return
    test = around(shown.base, shown.path, claim.line)
    if test is None:
        yield not_found(claim, "test")
        return
    if shown.is_deleted or claim.line not in shown.removed:
        yield refuted("its line was not removed, or its file went as a whole")
    if test.name != name or claim.line not in range(test.top, test.first + 1):
        yield refuted(f"`{name}` does not begin there")
    if _times(shown.head, shown.path, name) >= _times(shown.base, shown.path, name):
        yield refuted(f"as many tests `{name}` as before stand in {shown.path}")
    moved = [one.path for one in matter.files if one is not shown and any(name in text for text in one.added_lines())]
    if moved:
        yield refuted(f"an added line of {moved[0]} names `{name}`")
    anew = {line.strip() for one in matter.files for line in one.added_lines()}
    body = [line.strip() for line in test.raw.split("\n") if len(line.strip()) > _TELLING]
    if body and 2 * sum(line in anew for line in body) > len(body):
        yield refuted("most of its lines were added elsewhere")
    called = {one for one in re.findall(r"(\w{4,})\s*\(", test.code) if not _COMMON.match(one)}
    both = sorted(called & _touched(matter, shown, test))
    if both:
        yield refuted(f"changed lines of the code name {both[0]}, which it calls")
    yield proved(f"`{name}` is gone, and no changed line of the code names what it calls")


def _times(lines: dict[int, str], path: str, name: str) -> int:
    return sum(one.name == name and one.is_test for one in routines(lines, path))


_TELLING: Final = 4
_COMMON: Final = re.compile(
    r"assert|expect|require|test|Test|func|print|range|string|String|Error|Fatal|Run|Parallel|Helper|describe|format|append|make|list|dict|raises|unwrap|function|should|with|toBe|toEqual|isEqualTo|contains|equal|Equal|clone|into|from|await|async|is[A-Z]|has[A-Z]|to[A-Z]|byte|open|close|size|then|catch|push|join|data|name|value|init|create|build"
)


def _touched(matter: Matter, shown: Shown, test: Routine) -> set[str]:
    """Words of changed lines, but for those of the lost test and of other test files' new lines."""
    words: set[str] = set()
    for one in matter.files:
        is_test = re.search(r"test|spec", one.path, re.IGNORECASE) is not None
        lines = [] if is_test else one.added_lines()
        lines += [
            text
            for n, text in one.hunk_base.items()
            if n in one.removed and not is_test and not (one is shown and test.top <= n <= test.last)
        ]
        words |= {word for line in lines for word in re.findall(r"\w{4,}", line)}
    return words


def test_hidden(claim: Claim, shown: Shown) -> Answer:
    if "collects" in claim.note:
        return settled(
            holds=_is_collected(shown.old_path) and not _is_collected(shown.path),
            why=f"{shown.old_path} has a name that runners collect, {shown.path} has none",
        )
    name = next(iter(told(claim.note)), "")
    before = next((one for one in routines(shown.base, shown.path) if one.name == name and one.is_test), None)
    if before is None:
        return cannot_tell(f"no test `{name}` can be cut out of what stood before")
    if _times(shown.head, shown.path, name) >= _times(shown.base, shown.path, name):
        return refuted(f"as many tests `{name}` as before are there")
    if name not in shown.head.get(claim.line, "") and not _says_the_same(shown, claim.line, before):
        return refuted("what stands at the line is another function")
    return proved(f"`{name}` was a test before, and what stands at line {claim.line} is none")


def _is_collected(path: str) -> bool:
    name = path.rpartition("/")[2]
    usual = r"test_.*\.py|.*_tests?\.py|.*_test\.go|(?:Test.*|.*(?:Tests?|TestCase|IT|Spec))\.java|.*[._-](?:test|spec|cy|e2e)s?\.[cm]?[jt]sx?"
    return re.fullmatch(usual, name) is not None or re.search(r"(?:^|/)__tests__/[^_][^/]*$", path) is not None


def _says_the_same(shown: Shown, line: int, before: Routine) -> bool:
    after = around(shown.head, shown.path, line)
    if after is None:
        return False
    was, is_now = ([one.strip() for one in text.split("\n") if one.strip()] for text in (before.raw, after.raw))
    return 2 * len(set(was) & set(is_now)) >= len(set(was))


def expected_value_returned(claim: Claim, matter: Matter) -> Answer:
    shown = matter.file(claim.path)
    routine = routine_at(claim, shown) if shown is not None else None
    if shown is None or routine is None:
        return not_found(claim)
    if claim.line not in shown.added:
        return refuted("the line was not added")
    if routine.node is not None:
        answer = _python_answer(routine)
    else:
        body = " ".join(routine.raw.split())
        found = re.match(
            r"(?:return\s+)?([\[({\"'`\d-].*?);?$", body if ";" not in body.rstrip(";") else body.partition(";")[0]
        )
        answer = found[1] if found else None
    if answer is None:
        return refuted("the first thing that it does is not to return a literal")
    core = re.sub(r"[\"'`\s]", "", re.sub(r",\s*nil$|\.to_string\(\)$|\.into\(\)$", "", answer))
    held = "".join(re.sub(r"[\"'`\s]", "", text) for text in _tests_of(matter))
    return settled(
        holds=bool(core) and core in held,
        why=f"`{routine.name}` returns {answer[:50]} at once, and a test of the change holds it",
    )


def _python_answer(routine: Routine) -> str | None:
    assert routine.node is not None
    body = [one for one in routine.node.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    first = body[0] if body else None
    if not isinstance(first, ast.Return) or first.value is None:
        return None
    named = any(isinstance(one, ast.Name | ast.Call | ast.Attribute) for one in ast.walk(first.value))
    return None if named else ast.unparse(first.value)


def _tests_of(matter: Matter) -> Iterator[str]:
    for one in matter.files:
        if re.search(r"test|spec", one.path, re.IGNORECASE) or one.path.endswith(".rs"):
            yield "\n".join(one.head.values())


_MASKS: Final = re.compile(
    r"\|\||continue-on-error|continueOnError|allow_failure|soft_fail|ignore_errors?|if\s*:\s*[\"']?(?:false|0|\$\{\{)|when\s*:\s*[\"']?never|condition\s*:\s*false|enabled\s*:\s*false|skip\s*:\s*true|;\s*(?:true|:|exit 0|echo)|^\t-"
)
_IDLES: Final = re.compile(r"\becho\b|\btrue\b|:\s*$|exit 0|sleep|printf|node -e|[\"']:[\"']?")


def check_cannot_fail(claim: Claim, shown: Shown) -> Answer:
    line = shown.head.get(claim.line, "")
    if claim.line not in shown.added:
        return refuted("the line was not added")
    if "replaced by" in claim.note:
        run = shown.run_at(claim.line, of_base=False)
        gone = [shown.hunk_base[n] for n in run.removed] if run is not None else []
        ran = [one for one in gone if re.search(r"test|tox|jest|vitest|check|lint|cargo|mvn|gradle", one)]
        return settled(
            holds=bool(ran) and _IDLES.search(line) is not None,
            why=f"`{(ran or [''])[0].strip()[:50]}` became `{line.strip()[:50]}`",
        )
    if not _MASKS.search(line):
        return refuted("the line masks no failure")
    if "||" in line or line.startswith("\t-") or re.search(r";\s*(?:true|:|exit 0|echo)", line):
        bare = stripped(re.split(r"\s*(?:\|\||;)", line)[0]).replace("- run:", "").strip(" '\"-\t")
        was = any(bare in stripped(one) for one in shown.removed_lines())
        return settled(holds=was and bool(bare), why=f"`{bare[:60]}` stood there before and could fail")
    return _step_before(claim, shown)


def _step_before(claim: Claim, shown: Shown) -> Answer:
    """The step or job that got the key was there before without it."""
    if shown.text is None or shown.base_text is None:
        lines = [shown.head.get(n, "") for n in range(claim.line - 4, claim.line + 5) if n not in shown.added]
        is_old = any(re.search(r"run:|uses:|name:|script:|steps:", one) for one in lines)
        return settled(holds=is_old, why="the key was added to lines that stood there before")
    try:
        after, before = yaml.safe_load(shown.text), yaml.safe_load(shown.base_text)
    except yaml.YAMLError:
        return cannot_tell("the file is no plain YAML")
    key = shown.head[claim.line].strip(" -").partition(":")[0].strip("\"' ")
    old = list(_mappings(before))
    gained = [one for one in _mappings(after) if key in one and one not in old]
    for one in gained:
        rest = {name: value for name, value in one.items() if name != key}
        if any(_is_same(rest, other, key) for other in old):
            return proved(f"a step or job that was there before got `{key}: {one[key]}`")
    return refuted(f"no step or job that was there before got `{key}`")


def _is_same(rest: dict[str, Any], other: dict[str, Any], key: str) -> bool:
    """The same step but for the key: equal, or of one name or command."""
    if other.get(key) == rest.get(key) and {n: v for n, v in other.items() if n != key} == rest:
        return True
    telling = [name for name in ("run", "name", "uses", "script", "id") if name in rest]
    return bool(telling) and other.get(key) is not True and all(other.get(name) == rest[name] for name in telling[:1])


def _mappings(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        mapping = cast("dict[str, Any]", value)
        yield mapping
        for one in mapping.values():
            yield from _mappings(one)
    elif isinstance(value, list):
        for one in cast("list[object]", value):
            yield from _mappings(one)


_RUNNER: Final = re.compile(
    r"PYTEST|pytest|unittest|nose|doctest|JEST|jest|VITEST|vitest|mocha|NODE_ENV|testing\.Testing|test\.|\.test\b|cfg!\(.*test|surefire|junit|testng|PHPUNIT|RAILS|NEXTEST|describe|beforeEach|getStackTrace"
)


def branch_on_test_runner(claim: Claim, shown: Shown) -> Answer:
    return _branch(claim, shown, _RUNNER, "asks for a test runner")


def _branch(claim: Claim, shown: Shown, marks: "re.Pattern[str]", what: str) -> Answer:
    if claim.line not in shown.added:
        return refuted("the line was not added")
    lines = [shown.head.get(n, "") for n in range(claim.line, claim.line + 6)]
    near = _condition(lines)
    names = {
        found[1]
        for text in shown.added_lines()
        if marks.search(text)
        and (found := re.match(r"\s*(?:[\w<>]+\s+){0,6}?(\w+)\s*(?:\(\)|:\s*\w+)?\s*(?::?=|=>|->|\{)", text))
    }
    if not marks.search(near) and not names & set(re.findall(r"\w+", near)):
        return refuted(f"the condition neither {what} nor uses a name that does")
    then = "\n".join(shown.head.get(n, "") for n in range(claim.line, claim.line + 12))
    block = re.split(r"\n\s*(?:\}|else\b|elif\b)", then)[0]
    return settled(
        holds=re.search(r"\breturn\b|\bthrow\b|\braise\b|\?", block) is not None,
        why=f"the new condition {what}, and its branch ends the function",
    )


def _condition(lines: list[str]) -> str:
    text = ""
    for line in lines:
        text += f"{line}\n"
        if re.search(r"[{:]\s*$|\)\s*return\b", line):
            break
    return text


_CI: Final = re.compile(
    r"\b\w*(?:CI|TEST|TESTS|TESTING|GITHUB_ACTIONS|JEST|MOCHA|JUNIT|ENV|ENVIRONMENT)\w*\b|[tT]est(?:ing|s|Mode)?\b"
)


def nothing_done_in_ci(claim: Claim, shown: Shown) -> Answer:
    first = _branch(claim, shown, _CI, "asks for CI or tests")
    routine = routine_at(claim, shown)
    if first.outcome != "proved" or routine is None:
        return first
    rest = routine.last - claim.line
    above = [
        n
        for n in range(routine.body_first + (routine.node is None), claim.line)
        if masked(shown.head.get(n, ""), language(shown.path)).strip(' {\t"')
    ]
    return settled(holds=rest > 2 and not above, why="the function begins with it, and does its work below")


CHECKS: Final[dict[str, Check]] = {
    "test_disabled": with_file(test_disabled),
    "test_only": with_file(test_only),
    "test_deleted_alone": test_deleted_alone,
    "test_hidden": with_file(test_hidden),
    "expected_value_returned": expected_value_returned,
    "check_cannot_fail": with_file(check_cannot_fail),
    "branch_on_test_runner": with_file(branch_on_test_runner),
    "nothing_done_in_ci": with_file(nothing_done_in_ci),
}
