"""spec_violation: a rule of the repository is broken, or the case cites what is not there.

Invariant: the clean twin keeps the rule, and all that its case cites is there.
"""

from dataclasses import replace
from typing import Any, Final

from bench.seeding import frames, words
from bench.seeding.code import Function, Tongue
from bench.seeding.defect import Case, Difficulty, Made, Place, Variant
from bench.seeding.frames import Claim
from bench.seeding.opened import Frame, Opened, is_test_path, new_functions, new_tests
from bench.seeding.scope_creep import foreign_file, new_file
from bench.seeding.sheet import Edit
from worker.domain.verdict.verdict import Category

FORBIDDEN: Final = {
    Tongue.PYTHON: (
        ("print(", 'print("{name}")'),
        ("time.sleep(", "__import__('time').sleep(0)"),
        ("eval(", 'eval("None")'),
        ("os.system(", "os.system('true')"),
        ("global ", "global _{name}_state"),
    ),
    Tongue.JAVASCRIPT: (
        ("console.log(", "console.log('{name}');"),
        ("eval(", "eval('0');"),
        ("setTimeout(", "setTimeout(() => {{}}, 0);"),
        ("process.exit(", "if (!globalThis) process.exit(1);"),
        ("alert(", "globalThis.alert('{name}');"),
    ),
    Tongue.GO: (
        ("fmt.Println(", 'fmt.Println("{name}")'),
        ("panic(", 'if false {{ panic("{name}") }}'),
        ("time.Sleep(", "time.Sleep(0)"),
        ("os.Exit(", "if false {{ os.Exit(3) }}"),
    ),
    Tongue.RUST: (
        ("println!(", 'println!("{name}");'),
        (".unwrap()", "Some(1).unwrap();"),
        ("unsafe ", "unsafe {{ }}"),
        ("std::thread::sleep(", "std::thread::sleep(std::time::Duration::ZERO);"),
    ),
    Tongue.JAVA: (
        ("System.out.println(", 'System.out.println("{name}");'),
        ("Thread.sleep(", "try {{ Thread.sleep(1); }} catch (InterruptedException e) {{ }}"),
        ("System.exit(", "if (false) {{ System.exit(2); }}"),
        ("printStackTrace(", "new Throwable().printStackTrace();"),
    ),
}
BANS: Final = (
    "Never call `{what}` in library code.",
    "Do not use `{what}`.",
    "`{what}` is forbidden outside of tests.",
    "Don't use `{what}` in production code; it has bitten us.",
    "No `{what}` in new code.",
    "Avoid nothing but this: `{what}` must not be used.",
)
FENCED: Final = (
    "Do not edit anything under `{path}`; it is generated.",
    "Never touch `{path}` by hand: a script writes it.",
    "`{path}` is vendored. Leave it alone.",
    "Files in `{path}` are generated, don't change them.",
)
LOGGED: Final = (
    "Every change adds an entry to `{path}`.",
    "Always add a changelog entry ({path}).",
    "User-visible or not: each pull request updates `{path}`.",
)
DESCRIBED: Final = (
    "Every new public function has a docstring.",
    "New functions must have a docstring.",
    "Document each public function you add with a docstring.",
)
GENERATED: Final = ("gen", "generated", "third_party/shim", "src/generated", "internal/pb", "vendor/patched", "dist")
INVENTED: Final = (
    "{stem}_extra.{end}",
    "{stem}_v2.{end}",
    "handlers/{stem}.{end}",
    "core/{stem}_impl.{end}",
    "{stem}s.{end}",
)


def _added_text(opened: Opened) -> str:
    return "\n".join(line for file in opened.files for line in file.added())


def _ruled(case: Case, *rules: str) -> Opened:
    """The change under *rules*; half of the time with criteria and a case, which it meets."""
    claims = frames.claims_of(case, 2)
    if claims and case.draw.random() < 0.5:
        return case.opened.framed(frames.framed(case, claims, rules))
    return case.opened.framed(Frame({"guidance": [frames.rules_file(case, rules)]}))


def forbidden_call(case: Case) -> Made | None:
    text = _added_text(case.opened)
    for sheet, one in case.shuffled(new_functions(case.opened, 2)):
        choices = [(what, line) for what, line in FORBIDDEN[words.family(one.tongue)] if what.strip("(. ") not in text]
        if not choices or not one.body:
            continue
        what, shape = case.pick(choices)
        twin = _ruled(case, case.pick(BANS).format(what=what.strip(" (") + ("()" if what.endswith("(") else "")))
        at = _first_code_line(one)
        if "global" in what and at != one.inner_first:
            continue
        line = f"{one.indent}{shape.format(name=one.name)}"
        return Made(twin, twin.edited(sheet.path, [Edit(at, at - 1, (line,))]), (Place(sheet.path, at),))
    return None


def _first_code_line(function: Function) -> int:
    first = function.body[0]
    is_docstring = function.tongue is Tongue.PYTHON and first.text.lstrip("rbuRBU").startswith(('"', "'"))
    return first.last + 1 if is_docstring else first.first


def fenced_path(case: Case) -> Made | None:
    """A file in a folder that the rules fence off, from another change of the repository."""
    found = foreign_file(case)
    if found is None:
        return None
    path = found.where[0].path
    folder = path.rpartition("/")[0]
    fence = f"{folder}/" if folder and not any(one.startswith(f"{folder}/") for one in case.opened.paths) else path
    twin = _ruled(case, case.pick(FENCED).format(path=fence))
    return Made(twin, replace(found.seed, frame=twin.frame), found.where)


def generated_by_hand(case: Case) -> Made | None:
    """A new file in a generated folder."""
    folder = case.pick(GENERATED)
    end = next(
        (
            path.rpartition(".")[2]
            for path in case.opened.paths
            if path.rpartition(".")[2] in {"py", "ts", "js", "go", "rs", "java"}
        ),
        "txt",
    )
    path = f"{folder}/{case.pick(('tables', 'schema', 'bindings', 'messages'))}.{end}"
    if any(one.startswith(f"{folder.split('/')[0]}/") for one in case.opened.paths):
        return None
    mark = "#" if end == "py" else "//"
    lines = [
        f"{mark} {case.pick(('adjusted by hand', 'small fix', 'extra entry'))}",
        f"{mark} see {case.opened.paths[0]}",
    ]
    twin = _ruled(case, case.pick(FENCED).format(path=f"{folder}/"))
    return Made(twin, twin.with_file(new_file(path, lines), "".join(f"{line}\n" for line in lines)), (Place(path, 1),))


def changelog_forgotten(case: Case) -> Made | None:
    logs = [path for path in case.opened.paths if frames.CHANGELOG.search(path)]
    if not logs or len(logs) == len(case.opened.paths):
        return None
    folder, _, _ = logs[0].rpartition("/")
    place = f"{folder}/" if case.opened.files[case.opened.paths.index(logs[0])].is_new and folder else logs[0]
    twin = case.opened.framed(Frame({"guidance": [frames.rules_file(case, [case.pick(LOGGED).format(path=place)])]}))
    seed = twin
    for path in logs:
        seed = seed.without(path)
    return Made(twin, seed)


def docstring_forgotten(case: Case) -> Made | None:
    """All new public functions have a docstring; then one loses it."""
    found = [(sheet, one) for sheet, one in new_functions(case.opened) if one.tongue is Tongue.PYTHON]
    if not found or any(_docstring(one) is None for _, one in found):
        return None
    public = [(sheet, one) for sheet, one in found if not one.name.startswith("_") and len(one.body) > 1]
    if not public:
        return None
    sheet, one = case.pick(public)
    twin = _ruled(case, case.pick(DESCRIBED))
    first, last = _docstring(one) or (1, 0)
    return Made(twin, twin.edited(sheet.path, [Edit(first, last, ())]), (Place(sheet.path, one.line),))


def _docstring(function: Function) -> tuple[int, int] | None:
    first = function.body[0] if function.body else None
    if first is None or not first.text.lstrip("rbuRBU").startswith(('"', "'")):
        return None
    return first.first, first.last


def _cited(case: Case, wrong: Claim, right: Claim, absent: tuple[str, ...] = ()) -> Made | None:
    """The twin's case makes the *right* claim where the seed's makes the *wrong* one."""
    others = [one for one in frames.claims_of(case, 3) if one.text != right.text][: case.draw.randint(0, 2)]
    at = case.draw.randint(0, len(others))
    frame = frames.framed(case, [*others[:at], right, *others[at:]])
    fields: dict[str, Any] = {**frame.fields}
    coverage = [dict(one) for one in fields["case"]["ac_coverage"]]
    coverage[at] |= {"addressed_by": wrong.addressed_by, **({"evidence": wrong.evidence} if wrong.evidence else {})}
    fields["case"] = {**fields["case"], "ac_coverage": coverage}
    return Made(case.opened.framed(frame), case.opened.framed(Frame(fields, absent)))


def file_invented(case: Case) -> Made | None:
    claims = frames.claims_of(case, 1)
    if not claims:
        return None
    right = claims[0]
    path = right.addressed_by.partition(":")[0]
    folder, _, name = path.rpartition("/")
    stem, _, end = name.rpartition(".")
    made = case.pick(INVENTED).format(stem=stem or name, end=end)
    invented = f"{folder}/{made}" if folder else made
    if invented in case.opened.paths:
        return None
    if case.draw.random() < 0.5:
        return _cited(case, replace(right, addressed_by=invented), right, (invented,))
    return _cited(case, replace(right, evidence=invented), right, (invented,))


def test_invented(case: Case) -> Made | None:
    tests = new_tests(case.opened)
    claims = [one for one in frames.claims_of(case, 6) if one.evidence]
    if not tests or not claims:
        return None
    sheet, one = case.pick(tests)
    name = _like(one.name, case.pick(("again", "on error", "with defaults", "twice", "when empty")))
    if name in sheet.text:
        return None
    separator = case.pick(("::", " > ", ":"))
    return _cited(case, replace(claims[0], evidence=f"{sheet.path}{separator}{name}"), claims[0])


def _like(name: str, words: str) -> str:
    """*name* with more words, in its own spelling."""
    if " " in name:
        return f"{name} {words}"
    if "_" in name or name.islower():
        return f"{name}_{words.replace(' ', '_')}"
    return name + words.title().replace(" ", "")


def symbol_invented(case: Case) -> Made | None:
    found = new_functions(case.opened)
    if not found:
        return None
    sheet, one = case.pick(found)
    name = _like(one.name, case.pick(("impl", "internal", "or default", "all", "once")))
    right = Claim(case.pick(frames.NAMED).format(name=one.name), f"{sheet.path}:{one.name}")
    if name in sheet.text:
        return None
    return _cited(case, replace(right, addressed_by=f"{sheet.path}:{name}"), right)


def line_invented(case: Case) -> Made | None:
    """A line behind the end of a file."""
    paths = [path for path in case.opened.sheets if not is_test_path(path)]
    if not paths:
        return None
    path = case.pick(paths)
    length = len(case.opened.sheets[path].head)
    right = Claim(frames.FILED[0].format(path=path), f"{path}:{max(1, length // 2)}")
    beyond = length + case.draw.randint(20, 900)
    return _cited(case, replace(right, addressed_by=f"{path}:{beyond}"), right)


SPEC, EASY, HARD = Category.SPEC_VIOLATION, Difficulty.EASY, Difficulty.HARD
CREEP: Final = (Category.SCOPE_CREEP,)
VARIANTS: Final = (
    Variant("forbidden_call", SPEC, EASY, forbidden_call),
    Variant("fenced_path", SPEC, EASY, fenced_path, CREEP),
    Variant("generated_by_hand", SPEC, EASY, generated_by_hand, CREEP),
    Variant("docstring_forgotten", SPEC, EASY, docstring_forgotten),
    Variant("file_invented", SPEC, EASY, file_invented),
    Variant("test_invented", SPEC, EASY, test_invented),
    Variant("symbol_invented", SPEC, EASY, symbol_invented),
    Variant("line_invented", SPEC, EASY, line_invented),
    Variant("changelog_forgotten", SPEC, HARD, changelog_forgotten),
)
