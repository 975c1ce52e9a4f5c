"""New functions without a caller, and parameters that are never looked at."""

from collections.abc import Sequence

import pytest

from tests.worker.signals.made import change_of, dossier_of, plain_dossier
from worker.signals.analysis.change import CodeChange
from worker.signals.half_finished.uncalled_function import (
    function_uncalled,
    function_uncalled_suspected,
    parameter_unused,
)
from worker.signals.heuristic_opinion import find_lookups


def uncalled(
    path: str, code: str, before: str | None = None, *, texts: bool = True, paths: Sequence[str] | None = ()
) -> str:
    """What is found once the name was looked up in the head tree. *paths*: files that hold it; None: it was not looked up."""
    lookups = [{"name": name, "paths": paths} for name in ("load", "_load")] if paths is not None else []
    dossier = dossier_of({} if before is None else {path: before}, {path: code}, texts=texts, lookups=lookups)
    change = CodeChange(dossier)
    facts = list(function_uncalled.findings(change))
    return "fact" * len(facts) + "suspected" * len(list(function_uncalled_suspected.findings(change)))


FACTS = {
    "py": ("a.py", "def _load(path):\n    return read(path)\n"),
    "py inner": ("a.py", "def main():\n    def load(path):\n        return read(path)\n\n    go()\n"),
    "go": ("a.go", "package a\n\n// load reads.\nfunc load(p string) string {\n\treturn read(p)\n}\n"),
    "rust": ("src/a.rs", "fn load(p: u8) -> u8 {\n    read(p)\n}\n"),
    "rust method": ("src/a.rs", "impl A {\n    fn load(&self) -> u8 {\n        self.x\n    }\n}\n"),
    "java": ("A.java", "class A {\n  private int load(int x) {\n    return x + load(x - 1);\n  }\n}\n"),
    "ts": ("a.ts", "function load(p: string) {\n  return read(p)\n}\n"),
    "ts arrow": ("a.ts", "const load = (p) => {\n  return read(p)\n}\n"),
    "ts private": ("a.ts", "class A {\n  private load() {\n    return 1\n  }\n}\n"),
    "js private": ("a.js", "class A {\n  #load() {\n    return 1\n  }\n}\n"),
    "js inner": ("a.js", "export function main() {\n  function load(p) {\n    return p\n  }\n}\n"),
}


@pytest.mark.parametrize(("path", "code"), FACTS.values(), ids=FACTS.keys())
def test_a_new_private_function_that_nothing_names_is_a_fact(path: str, code: str) -> None:
    assert uncalled(path, code).replace("suspected", "") == "fact"


@pytest.mark.parametrize(("path", "code"), FACTS.values(), ids=FACTS.keys())
def test_one_that_something_names_is_nothing(path: str, code: str) -> None:
    mark = "#" if path.endswith("py") else "//"
    name = "_load" if "_load" in code else "load"
    assert "fact" not in uncalled(path, f"{code}{mark} {name}\n")


REACHED_FROM_OTHER_FILES = {
    "py": (*FACTS["py"], "b.py"),
    "py in a folder": ("a/b.py", FACTS["py"][1], "setup.cfg"),
    "go": (*FACTS["go"], "b.go"),
    "go in a folder": ("a/a.go", FACTS["go"][1], "a/b.go"),
    "rust with child modules": ("src/a.rs", "mod b;\n\n" + FACTS["rust"][1], "src/a/b.rs"),
    "script of a page": (*FACTS["ts"], "b.ts"),
}


@pytest.mark.parametrize(
    ("path", "code", "caller"), REACHED_FROM_OTHER_FILES.values(), ids=REACHED_FROM_OTHER_FILES.keys()
)
def test_what_other_files_can_call_is_a_fact_only_once_it_was_looked_up_there(
    path: str, code: str, caller: str
) -> None:
    assert uncalled(path, code, paths=None) == "suspected"
    assert uncalled(path, code) == "fact"
    assert uncalled(path, code, paths=[caller]) == ""
    (definition,) = find_lookups(dossier_of({}, {path: code})).definitions
    assert definition.is_private
    assert definition.can_be_called_in(caller)
    assert not definition.can_be_called_in("logo.png")


@pytest.mark.parametrize(
    "path",
    ["x.html", "x.html.j2", "a/x.json", "x.txt", "docs/x.rst", "run.sh", "Makefile", "x.xml", "x.mako", "README.md", "bin/x"],
)  # fmt: skip
def test_any_file_but_a_binary_one_may_name_a_private_function(path: str) -> None:
    (definition,) = find_lookups(dossier_of({}, {"a.py": FACTS["py"][1]})).definitions
    assert definition.can_be_called_in(path)
    assert uncalled(*FACTS["py"], paths=[path]) == ""


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("A.cs", "partial class A {\n  private int load(int x) {\n    return x + 1;\n  }\n}\n"),
        ("A.php", "<?php\ntrait A {\n  private function load($x) {\n    return $x + 1;\n  }\n}\n"),
    ],
)
def test_a_private_method_of_a_class_over_several_files_is_looked_up(path: str, code: str) -> None:
    assert uncalled(path, code, paths=None) == "suspected"
    assert uncalled(path, code) == "fact"
    assert uncalled(path, code, paths=["A.xaml"]) == ""
    whole = code.replace("partial class", "class").replace("trait", "class")
    assert uncalled(path, whole, paths=None) == "fact"


COMMANDS = "def _cmd_a(v):\n    return v\n"
NEW_COMMAND = COMMANDS + "\n\ndef _cmd_b(v):\n    return v * 2 + 1\n"
HANDLERS = "import {{ x }} from './x'\nself[{name}](1)\nfunction whenStopped(v) {{\n  return x(v)\n}}\n"


def commands(
    before: dict[str, str], after: dict[str, str], *names: str, paths: Sequence[str] = ()
) -> tuple[str, list[str]]:
    """What is found, and what is looked up. *names*: those that files at *paths* hold."""
    lookups = [{"name": "_cmd_b", "paths": ()}, *({"name": name, "paths": paths} for name in names)]
    dossier = dossier_of(before, after, lookups=lookups)
    facts = "fact" * len(list(function_uncalled.findings(CodeChange(dossier))))
    suspicions = "suspected" * len(list(function_uncalled_suspected.findings(CodeChange(dossier))))
    return facts + suspicions, [definition.name for definition in find_lookups(dossier).definitions]


def test_beside_a_function_that_begins_alike_and_that_nothing_names_a_new_one_is_suspected() -> None:
    assert commands({"a.py": COMMANDS}, {"a.py": NEW_COMMAND})[0] == "suspected"
    called = COMMANDS + "\n\nx = _cmd_a(1)\n"
    assert commands({"a.py": called}, {"a.py": called + NEW_COMMAND.removeprefix(COMMANDS)})[0] == "fact"
    other = COMMANDS.replace("_cmd_a", "_load_a")
    assert commands({"a.py": other}, {"a.py": other + NEW_COMMAND.removeprefix(COMMANDS)})[0] == "fact"
    assert commands({}, {"a.py": NEW_COMMAND})[0] == "factsuspected"


@pytest.mark.parametrize(
    "caller",
    ['getattr(mod, "_cmd_" + name)(v)', 'getattr(mod, f"_cmd_{name}")(v)', "getattr(mod, '_cmd_%s' % name)", 'PREFIX = "_cmd_"'],
)  # fmt: skip
def test_a_function_that_a_call_by_a_built_name_fits_is_not_mentioned(caller: str) -> None:
    new = NEW_COMMAND.removeprefix(COMMANDS)
    assert commands({}, {"cmds.py": new, "run.py": f"x = {caller}\n"})[0] == ""
    assert commands({}, {"cmds.py": new, "run.py": "x = getattr(mod, '_cmd')\n"})[0] == "fact"


@pytest.mark.parametrize("name", ['"when" + n', "`when${n}`", "'when'.concat(n)"])
def test_the_beginning_of_a_name_in_camel_case_fits_only_where_a_value_goes_on(name: str) -> None:
    fits = name != "'when'.concat(n)"
    signals = commands({}, {"a.ts": HANDLERS.format(name=name)})[0]
    assert signals == ("" if fits else "fact")


def test_the_beginning_of_a_private_name_is_looked_up_too() -> None:
    new = {"cmds.py": NEW_COMMAND.removeprefix(COMMANDS)}
    assert commands({}, new)[1] == ["_cmd_b", "_cmd_"]
    assert commands({}, new, "_cmd_", paths=["app/run.py"])[0] == ""
    assert commands({}, new, "_cmd_")[0] == "fact"
    assert commands({}, {"a.go": "package a\n\nfunc cmd_b(v int) int {\n\treturn v + 1\n}\n"})[1] == ["cmd_b"]


@pytest.mark.parametrize("kind", ["py inner", "rust", "rust method", "java", "ts private", "js private", "js inner"])
def test_what_its_own_file_alone_can_call_needs_no_lookup(kind: str) -> None:
    path, code = FACTS[kind]
    assert uncalled(path, code, paths=None) == "fact"
    assert find_lookups(dossier_of({}, {path: code})).definitions == ()


def test_a_module_of_a_script_keeps_its_functions() -> None:
    path, code = FACTS["ts"]
    assert uncalled(path, f"import {{ read }} from './b'\n{code}", paths=None) == "fact"


def test_private_functions_of_go_are_called_in_their_own_folder_alone() -> None:
    (definition,) = find_lookups(dossier_of({}, {"a/a.go": FACTS["go"][1]})).definitions
    assert [definition.can_be_called_in(path) for path in ("a/b.go", "b.go", "a/b/c.go")] == [True, False, False]


def test_a_public_function_is_looked_up_too_and_stays_a_suspicion() -> None:
    path, code = SUSPECTED["py"]
    (definition,) = find_lookups(dossier_of({}, {path: code})).definitions
    assert not definition.is_private
    assert (uncalled(path, code), uncalled(path, code, paths=["b.py"])) == ("suspected", "")


def test_a_file_of_the_change_is_no_caller_elsewhere() -> None:
    assert uncalled(*FACTS["go"], texts=False, paths=["a.go"]) == "fact"


def test_nothing_is_looked_up_for_a_diff_that_can_t_be_read() -> None:
    assert find_lookups(plain_dossier("no diff")).definitions == ()


SUSPECTED = {
    "py": ("a.py", "def load(path):\n    return read(path)\n"),
    "py method": ("a.py", "class A:\n    def _load(self):\n        return self.x\n"),
    "go": ("a.go", "package a\n\nfunc Load(p string) string {\n\treturn read(p)\n}\n"),
    "rust": ("src/a.rs", "pub fn load(p: u8) -> u8 {\n    read(p)\n}\n"),
    "java": ("A.java", "class A {\n  public int load(int x) {\n    return x;\n  }\n}\n"),
    "ts": ("a.ts", "export const load = (p: string) => {\n  return read(p)\n}\n"),
    "ts method": ("a.ts", "class A {\n  load() {\n    return 1\n  }\n}\n"),
}


@pytest.mark.parametrize(("path", "code"), SUSPECTED.values(), ids=SUSPECTED.keys())
def test_what_others_may_call_is_only_suspected(path: str, code: str) -> None:
    assert uncalled(path, code) == "suspected"


OUTSIDE = {
    "py decorated": ("a.py", "@app.route('/')\ndef _load():\n    return 1\n"),
    "py dunder": ("a.py", "class A:\n    def __len__(self):\n        return 1\n"),
    "py below a type": ("a.py", "class A(B):\n    def _load(self):\n        return 1\n"),
    "py package": ("a/__init__.py", "def _load():\n    return 1\n"),
    "py branch": ("a.py", "try:\n    import x\nexcept ImportError:\n    def _load():\n        return 1\n"),
    "py named by Jupyter": ("a.py", "def _jupyter_labextension_paths():\n    return [x()]\n\n\ndef _load_jupyter_server_extension(app):\n    app.x()\n"),
    "go for C": ("a.go", "package a\n\n//export load\nfunc load(p string) string {\n\treturn read(p)\n}\n"),
    "go linked": ("a.go", "package a\n\n//go:linkname load runtime.load\n\n// load reads.\nfunc load(p string) string {\n\treturn read(p)\n}\n"),
    "C# attribute": ("A.cs", "class A {\n  [OnDeserialized]\n  private int load(int x) {\n    return x + 1;\n  }\n}\n"),
    "go main": ("a.go", "package a\n\nfunc main() {\n\tgo()\n}\n"),
    "go interface": ("a.go", "package a\n\nfunc (a *A) Load() string {\n\treturn a.x\n}\n"),
    "rust trait": ("src/a.rs", "impl Show for A {\n    fn load(&self) -> u8 {\n        self.x\n    }\n}\n"),
    "rust attribute": ("src/a.rs", "#[no_mangle]\nfn load() -> u8 {\n    1\n}\n"),
    "java serialization": ("A.java", "class A {\n  private Object writeReplace() {\n    return x();\n  }\n}\n"),
    "java annotated": ("A.java", "class A {\n  @Bean\n  private int load() {\n    return x();\n  }\n}\n"),
    "js handed over": ("a.js", "run(function load() {\n  return 1\n})\n"),
    "js computed name": ("a.js", "class A {\n  [Symbol.iterator]() {\n    return 1\n  }\n}\n"),
    "rust extended": ("A.java", "class A {\n  int load() {\n    return x();\n  }\n}\nclass B extends A {}\n"),
    "rust module": ("src/lib.rs", "fn load() -> u8 {\n    1\n}\n"),
    "platform": ("a_linux.go", "package a\n\nfunc load() string {\n\treturn x()\n}\n"),
    "hook": ("a.py", 'class A:\n    def load(self):\n        """Subclasses override it."""\n        return 1\n'),
}  # fmt: skip


@pytest.mark.parametrize(("path", "code"), OUTSIDE.values(), ids=OUTSIDE.keys())
def test_what_is_called_from_outside_is_not_mentioned(path: str, code: str) -> None:
    assert uncalled(path, code) == ""


def test_a_name_that_was_there_before_may_have_callers_that_nobody_shows() -> None:
    assert uncalled("a.py", "def _load():\n    return 1\n", "from x import _load\n") == ""


BEFORE = "\n".join(f"x{n} = {n}" for n in range(30)) + "\n"


OLD_TYPE = "package a\n\ntype A struct{}\n"
LOADS = "\nfunc (a *A) load(p string) string {\n\treturn read(p)\n}\n"


def test_a_private_method_of_go_may_be_asked_for_by_an_interface_only_where_its_type_is_new() -> None:
    assert uncalled("a.go", OLD_TYPE + LOADS, before=OLD_TYPE) == "fact"
    assert uncalled("a.go", OLD_TYPE + LOADS) == "suspected"
    assert uncalled("a.go", "package a\n" + LOADS) == "suspected"


def test_without_the_whole_text_it_is_only_suspected() -> None:
    code = BEFORE + "\n\ndef _load(path):\n    return read(path)\n"
    assert uncalled("a.py", code, BEFORE, texts=False) == "suspected"
    assert uncalled("a.py", code, BEFORE) == "fact"


def test_another_text_of_the_dossier_counts_as_a_caller() -> None:
    helper = "def _load(path):\n    return read(path)\n"
    caller = "from a import _load\n"
    both = change_of({"b.py": caller}, {"a.py": helper, "b.py": caller})
    assert list(function_uncalled.findings(both)) == []


def unused(path: str, code: str, more: str = "") -> list[str]:
    change = change_of({}, {path: code + more})
    return [finding.note for finding in parameter_unused.findings(change)]


UNUSED = {
    "py": ("a.py", "def load(path, mode=1, *, size: int = 2):\n    # mode\n    return read(path, size)\n"),
    "py method": ("a.py", 'class A:\n    def load(self, path, mode: int):\n        """Load in this mode."""\n        return read(path)\n'),
    "py initialiser": ("a.py", "class A:\n    def __init__(self, path, mode):\n        self.path = path\n"),
    "go": ("a.go", "package a\n\nfunc load(path string, mode int) string {\n\treturn read(path)\n}\n"),
    "rust": ("a.rs", "fn load(path: u8, mut mode: u8) -> u8 {\n    read(path)\n}\n"),
    "java": ("A.java", "class A {\n  int load(int path, int mode) {\n    return path + 1;\n  }\n}\n"),
    "ts": ("a.ts", "export function load(path: string, mode?: string) {\n  return read(path)\n}\n"),
    "ts arrow": ("a.ts", "const load = (path, mode = 1) => {\n  return read(path)\n}\n"),
    "py note": ("a.py", "def load(path, mode):\n    x = path\n    # mode\n    return read(x)\n"),
    "go note": ("a.go", "package a\n\nfunc load(path string, mode int) string {\n\treturn read(path) // mode\n}\n"),
    "java note": ("A.java", "class A {\n  int load(int path, int mode) {\n    /* mode */\n    return path + 1;\n  }\n}\n"),
    "js note": ("a.js", "function load(path, mode) {\n<!-- mode\n  return read(path)\n}\n"),
    "js end note": ("a.js", "function load(path, mode) {\n--> mode\n  return read(path)\n}\n"),
    "ruby note": ("a.rb", "def load(path, mode)\n  open(path)\n=begin\nmode\n=end\n  read(path)\nend\n"),
}  # fmt: skip


@pytest.mark.parametrize(("path", "code"), UNUSED.values(), ids=UNUSED.keys())
def test_a_parameter_that_the_body_never_looks_at_is_suspected(path: str, code: str) -> None:
    name = "__init__" if "__init__" in code else "load"
    assert unused(path, code) == [f"never looks at `mode`: `{name}`"]


LOOKED_AT = {
    "py used": ("a.py", "def load(path):\n    return read(path)\n"),
    "py underscore": ("a.py", "def load(_path, x):\n    return x + 1\n"),
    "py by custom": ("a.py", "def load(ctx, x):\n    return x + 1\n"),
    "py locals": ("a.py", "def load(path):\n    return read(locals())\n"),
    "py class method": ("a.py", "class A:\n    @classmethod\n    def load(cls, path):\n        return cls.x()\n"),
    "py dunder": ("a.py", "class A:\n    def __getitem__(self, path):\n        return self.x()\n"),
    "py callback by name": ("a.py", "def on_load(path):\n    return x()\n"),
    "py taken apart": ("a.py", "def load(*path, **more):\n    return x()\n"),
    "py handed on": ("a.py", "def load(path):\n    return x()\n\nrun(load)\n"),
    "py stub": ("a.py", "def load(path):\n    raise NotImplementedError\n"),
    "py empty": ("a.py", "def load(path):\n    return False\n"),
    "rust trait": ("a.rs", "impl Show for A {\n    fn load(&self, path: u8) -> u8 {\n        self.x\n    }\n}\n"),
    "ts property": ("a.ts", "class A {\n  constructor(private path: string) {\n    this.x = 1\n  }\n}\n"),
    "ts this": ("a.ts", "function load(this: A) {\n  return x()\n}\n"),
    "ts pattern": ("a.ts", "function load({ path }: A) {\n  return x()\n}\n"),
    "js callback": ("a.js", "run((path) => {\n  return x()\n})\n"),
    "js arrow handed over": ("a.js", "const load = path => {\n  return x(path)\n}\n"),
    "java override": ("A.java", "class A {\n  @Override\n  public int load(int path) {\n    return x();\n  }\n}\n"),
}


@pytest.mark.parametrize(("path", "code"), LOOKED_AT.values(), ids=LOOKED_AT.keys())
def test_a_parameter_that_is_used_or_asked_for_is_not_mentioned(path: str, code: str) -> None:
    assert unused(path, code) == []


def test_what_a_model_calls_by_its_name_is_called() -> None:
    code = "class Box(BaseModel):\n    def model_post_init(self, context):\n        self.size = measure(context)\n"
    change = change_of({}, {"a.py": code})
    assert [*function_uncalled_suspected.findings(change)] == []


def test_a_function_that_another_file_hands_on_is_not_mentioned() -> None:
    load, run, more = (
        "def load(path):\n    return x()\n",
        "from a import load\n\nrun(load)\n",
        "def more():\n    return y\n",
    )
    for others, count in ({"b.py": run, "c.py": more}, 0), ({"b.py": "from a import load\n", "c.py": more}, 1):
        change = change_of({}, {"a.py": load, **others})
        assert len(list(parameter_unused.findings(change))) == count
