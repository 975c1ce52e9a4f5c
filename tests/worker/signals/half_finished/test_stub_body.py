"""Which new bodies are stubs for a fact, which are suspected, and which are right as they are."""

import pytest

from tests.worker.signals.made import change_of
from worker.domain.verdict.verdict import Category, Finding
from worker.signals.analysis.change import CodeChange
from worker.signals.half_finished.stub_body import stub_body, stub_suspected

STUB, SUSPECT = stub_body.name, stub_suspected.name


def told(change: CodeChange) -> list[Finding]:
    return [*stub_body.findings(change), *stub_suspected.findings(change)]


def found(
    path: str, code: str, before: str | None = None, *, texts: bool = True, issue: str | None = None
) -> list[Finding]:
    base = {} if before is None else {path: before}
    return told(change_of(base, {path: code}, texts=texts, issue=issue))


def kinds(path: str, code: str, before: str | None = None, *, texts: bool = True) -> list[str]:
    return [finding.signal for finding in found(path, code, before, texts=texts)]


@pytest.mark.parametrize(
    ("held", "kind"),
    [
        ("assert.Panics(t, func() { r.Load(1) })", SUSPECT),
        ("defer func() { recover() }()\n\tr.Load(1)", SUSPECT),
        ("assert.Equal(t, 1, r.Load(1))", STUB),
        ("assert.Panics(t, func() { r.Store(1) })", STUB),
    ],
)
def test_a_stub_that_a_test_of_the_change_holds_is_only_suspected(held: str, kind: str) -> None:
    code = 'package a\n\nfunc Load(id int) int {\n\tpanic("not implemented")\n}\n'
    test = f"package a\n\nfunc TestLoad_(t *testing.T) {{\n\t{held}\n}}\n"
    assert [finding.signal for finding in told(change_of({}, {"a.go": code, "a_test.go": test}))] == [kind]


@pytest.mark.parametrize(
    ("there", "here", "kind"),
    [
        ('("Chat is not implemented yet")', '("Chat is not implemented yet")', SUSPECT),
        ('("Talk is not implemented yet")', '("Chat is not implemented yet")', STUB),
        ("", "", STUB),
    ],
)
def test_a_stub_beside_the_same_one_of_the_base_is_only_suspected(there: str, here: str, kind: str) -> None:
    stub = "class {}:\n    def chat(self, text):\n        raise NotImplementedError{}\n"
    old, new = stub.format("A", there), "\n\ndef talk(text):\n    raise NotImplementedError" + here + "\n"
    assert kinds("a.py", old + new, old) == [kind]


@pytest.mark.parametrize(
    ("written", "refusal", "kind"),
    [
        ("let x = read(p);\n        x", "unimplemented!()", SUSPECT),
        ("let x = read(p);\n        x", 'panic!("not implemented")', STUB),
        ("read(p)", "unimplemented!()", STUB),
    ],
)
def test_a_bare_refusal_of_what_the_change_writes_for_another_type_is_only_suspected(
    written: str, refusal: str, kind: str
) -> None:
    load = "impl {} {{\n    fn load(p: u8) -> u8 {{\n        {}\n    }}\n}}\n"
    after = {"a.rs": load.format("A", written) + load.format("B", refusal), "b.rs": "fn f() {\n    B::load(1);\n}\n"}
    assert [finding.signal for finding in told(change_of({}, after))] == [kind]


def test_a_plain_body_is_no_refusal_however_often_its_word_stands_in_the_file() -> None:
    old = "password = passed = passport = bypass = compass = 1\n"
    assert kinds("a.py", old + "\n\ndef load(path):\n    pass\n", old) == [STUB]


@pytest.mark.parametrize(("count", "kind"), [(5, SUSPECT), (4, STUB)])
def test_a_bare_stub_beside_many_alike_is_only_suspected(count: int, kind: str) -> None:
    old = "".join(f"fn f{number}(x: u8) -> u8 {{\n    todo!()\n}}\n" for number in range(count))
    assert kinds("a.rs", old + "fn g(x: u8) -> u8 {\n    todo!()\n}\n", old) == [kind]


FACTS = {
    "py bare": ("a.py", "def load(path):\n    raise NotImplementedError\n"),
    "py yet": (
        "a.py",
        'class A:\n    def load(self):\n        """Load."""\n        raise NotImplementedError("not implemented yet")\n',
    ),
    "py other error": ("a.py", 'def load():\n    raise RuntimeError("TODO")\n'),
    "py promised value, pass": ("a.py", "class A:\n    def load(self) -> dict[str, Any]:\n        pass\n"),
    "py promised value, dots": ("a.py", "def load() -> int: ...\n"),
    "py promised value, docstring": ("a.py", 'def load() -> int:\n    """Load it."""\n\n\nX = "pass"\n'),
    "py takes what it never uses": ("a.py", 'def retry(send, payload):\n    """Send again."""\n    pass\n'),
    "py takes what it never uses, dots": ("a.py", "async def retry(send):\n    ...\n"),
    "py plan in other words": ("a.py", "def load():\n    # TODO: try again\n    return None\n"),
    "py of a class that is made": (
        "a.py",
        "class A:\n    def load(self):\n        raise NotImplementedError\n\n\nx = A()\n",
    ),
    "py answer": ("a.py", "class A(B):\n    def __str__(self):\n        pass\n"),
    "py promised value, none": ("a.py", "def load() -> int:\n    return None\n"),
    "py base class, yet": (
        "a.py",
        'class BaseA:\n    def load(self):\n        raise NotImplementedError("not implemented yet")\n',
    ),
    "java not asked for": (
        "A.java",
        "class A {\n  public int f(int x) {\n    throw new UnsupportedOperationException();\n  }\n}\n",
    ),
    "py comment": ("a.py", "def load(path):\n    # TODO: implement\n    pass\n"),
    "py trivial return": ("a.py", "def load(path):\n    # TODO: implement the loading\n    return None\n"),
    "py nested": (
        "a.py",
        'def outer():\n    def inner():\n        raise NotImplementedError("todo")\n    return inner\n',
    ),
    "py property": (
        "a.py",
        'class A:\n    @property\n    def x(self):\n        raise NotImplementedError("not implemented yet")\n',
    ),
    "ts function": ("a.ts", "export function f(): void {\n  throw new Error('not implemented');\n}\n"),
    "ts arrow": ("a.ts", 'export const f = (a: string) => {\n  throw new Error("Method not implemented.")\n}\n'),
    "ts method": ("a.ts", "class A {\n  f() {\n    throw new Error(`f is not yet implemented`);\n  }\n}\n"),
    "ts only a comment": ("a.ts", "function f() {\n  // TODO\n}\n"),
    "js": ("a.js", "function f() {\n  throw new Error('TODO');\n}\n"),
    "tsx": ("a.tsx", "export function App() {\n  throw new Error('not implemented')\n}\n"),
    "go panic": ("a.go", 'package a\n\nfunc (s *S) F() error {\n\tpanic("not implemented")\n}\n'),
    "go planned error": (
        "a.go",
        'package a\n\nfunc F() error {\n\t// TODO: implement it\n\treturn errors.New("not implemented")\n}\n',
    ),
    "go comment above": ("a.go", "package a\n\n// F warns.\n// TODO(x): implement detection\nfunc F() {\n}\n"),
    "rust todo": ("a.rs", "impl A {\n    fn f(&self) -> u8 {\n        todo!()\n    }\n}\n"),
    "rust unimplemented": ("a.rs", "fn f(x: u8) -> u8 {\n    unimplemented!();\n}\n"),
    "rust whole impl": (
        "a.rs",
        "impl Show for A {\n    fn show(&self, f: &mut F) -> R {\n        unimplemented!()\n    }\n}\n",
    ),
    "rust panic": ("a.rs", 'fn f() {\n    panic!("not implemented");\n}\n'),
    "java text": (
        "A.java",
        'class A {\n  @Override public int f() {\n    throw new UnsupportedOperationException("Not implemented yet");\n  }\n}\n',
    ),
    "java private": (
        "A.java",
        "class A {\n  private int f() {\n    throw new UnsupportedOperationException();\n  }\n}\n",
    ),
    "java constructor": (
        "A.java",
        "class A {\n  public A(int x) {\n    throw new UnsupportedOperationException();\n  }\n}\n",
    ),
    "java own exception": ("A.java", "class A {\n  int f() {\n    throw new NotImplementedException();\n  }\n}\n"),
    "py discards first": ("a.py", "def load(path):\n    del path\n    raise NotImplementedError\n"),
    "py message names itself": ("a.py", 'def load(path):\n    raise NotImplementedError("load")\n'),
    "py not supported yet": ("a.py", 'def load(path):\n    raise NotImplementedError("not supported yet")\n'),
    "py assert": ("a.py", 'def load(path):\n    assert False, "not implemented"\n'),
    "py only tells": ("a.py", 'def load(path):\n    logger.warning("not implemented")\n    return None\n'),
    "py stops": ("a.py", 'def load(path):\n    sys.exit("not implemented")\n'),
    "py code goes here": ("a.py", "def load(path):\n    # your code here\n    return {}\n"),
    "py hands back what it got": ("a.py", "def load(path):\n    return path  # TODO\n"),
    "ts without new": ("a.ts", "function f() {\n  throw Error('not implemented');\n}\n"),
    "js text": ("a.js", "function f() {\n  throw 'not implemented';\n}\n"),
    "ts by name": ("a.ts", "function f() {\n  throw new NotImplementedError();\n}\n"),
    "ts calls it so": ("a.ts", "function f() {\n  return notImplemented();\n}\n"),
    "ts rejects": ("a.ts", "function f() {\n  return Promise.reject(new Error('not implemented'));\n}\n"),
    "ts only a stub": ("a.ts", "function f() {\n  // stub\n}\n"),
    "go plain error": ("a.go", 'package a\n\nfunc F() error {\n\treturn errors.New("not implemented")\n}\n'),
    "go values and a plan": ("a.go", "package a\n\nfunc F() (int, error) {\n\treturn 0, nil // TODO\n}\n"),
    "go fatal": ("a.go", 'package a\n\nfunc F() {\n\tlog.Fatal("not implemented")\n}\n'),
    "rust free error": ("a.rs", 'fn f() -> Result<()> {\n    bail!("not implemented")\n}\n'),
    "rust names itself": ("a.rs", 'fn f(x: u8) -> u8 {\n    unimplemented!("f")\n}\n'),
    "java extended, not refused": (
        "A.java",
        'class A {\n  int f() {\n    throw new IllegalStateException("not implemented");\n  }\n}\nclass B extends A {}\n',
    ),
    "java not supported yet": (
        "A.java",
        'class A {\n  int f() {\n    throw new UnsupportedOperationException("Not supported yet.");\n  }\n}\n',
    ),
}


@pytest.mark.parametrize(("path", "code"), FACTS.values(), ids=FACTS.keys())
def test_a_new_body_that_is_only_a_stub_is_a_fact(path: str, code: str) -> None:
    assert kinds(path, code) == [STUB]


@pytest.mark.parametrize(("path", "code"), FACTS.values(), ids=FACTS.keys())
def test_an_existing_stub_is_nothing(path: str, code: str) -> None:
    assert kinds(path, code + "\n", code) == []


@pytest.mark.parametrize("folder", ["tests", "docs", "vendor", "fixtures", "templates", "examples/starter"])
def test_outside_of_production_code_a_stub_is_nothing(folder: str) -> None:
    assert [name for name, (path, code) in FACTS.items() if kinds(f"{folder}/{path}", code)] == []


def test_in_an_example_a_stub_is_suspected_and_in_a_benchmark_or_as_the_whole_program_it_is_a_fact() -> None:
    code = "fn load() {\n    todo!()\n}\n"
    assert kinds("examples/a.rs", code) == [SUSPECT]
    assert kinds("examples/a.rs", "fn main() {\n    todo!()\n}\n") == [STUB]
    assert kinds("benches/a.rs", code) == [STUB]
    assert kinds("benches/a.rs", "#[bench]\nfn load(b: &mut Bencher) {\n    todo!()\n}\n") == [STUB]
    assert kinds("benches/a.rs", "#[test]\nfn load() {\n    todo!()\n}\n") == []
    assert kinds("benches/a.rs", "fn main() {\n    go()\n}\n") == []


@pytest.mark.parametrize(
    "decorator", ["@app.get('/')", "@cli.command()\n@click.option('-x', help='a, b')", "@router.post('/a', tags=[1])"]
)
def test_a_function_that_a_framework_runs_may_be_a_stub(decorator: str) -> None:
    body = "    raise NotImplementedError('not implemented yet')\n"
    assert kinds("a.py", f"{decorator}\ndef run(x):\n{body}") == [STUB]
    assert kinds("a.py", f"{decorator}\n@overload\ndef run(x):\n{body}") == []
    assert kinds("a.py", f"{decorator}\n@unknown\ndef run(x):\n{body}") == [STUB]


def test_under_a_decorator_that_nobody_knows_only_what_says_so_is_told_and_what_is_still_to_come_is_a_fact() -> None:
    to_come = '@solver\ndef load() -> S:\n    raise RuntimeError("unfinished")\n'
    assert kinds("a.py", to_come) == [STUB]
    assert [finding.signal for finding in found("a.py", to_come, issue="Add stubs for the solvers")] == [SUSPECT]
    assert kinds("a.py", '@solver\ndef load() -> S:\n    raise NotImplementedError("not implemented")\n') == [SUSPECT]
    assert kinds("a.py", "@solver\ndef load() -> S:\n    pass\n") == []
    assert kinds("a.py", "@solver\n@abstractmethod\ndef load() -> S:\n    raise NotImplementedError\n") == []
    assert kinds("a.py", "@solver\ndef load() -> S:\n    return S()\n") == []


def test_what_is_still_to_come_stands_in_for_nothing_though_it_is_for_one_platform() -> None:
    assert kinds("a.rs", "#[cfg(unix)]\nfn load(x: u8) {\n    todo!()\n}\n") == [STUB]
    assert kinds("a.rs", '#[cfg(unix)]\nfn load(x: u8) {\n    unimplemented!("not ready yet")\n}\n') == [STUB]
    assert kinds("a.rs", "#[cfg(unix)]\nfn load(x: u8) {\n    unimplemented!()\n}\n") == [SUSPECT]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("a_windows.go", 'package a\n\nfunc F() error {\n\treturn errors.New("locks are not yet supported")\n}\n'),
        (
            "a.go",
            '//go:build windows\n\npackage a\n\nfunc F() error {\n\treturn errors.New("not implemented yet")\n}\n',
        ),
        ("sys/windows.rs", 'fn f(x: u8) -> Result<()> {\n    bail!("links are not supported yet")\n}\n'),
        ("acme/win32.py", "def lock(path):\n    raise NotImplementedError('not implemented')\n"),
    ],
)
def test_that_a_platform_is_not_supported_yet_is_only_suspected(path: str, code: str) -> None:
    assert kinds(path, code) == [SUSPECT]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("a_windows.go", 'package a\n\nfunc F() {\n\tpanic("TODO")\n}\n'),
        ("acme/win32.py", "def lock(path) -> int:\n    # TODO: implement\n    return 0\n"),
        ("acme/window.py", "def lock(path):\n    raise NotImplementedError('not implemented')\n"),
    ],
)
def test_a_body_that_is_still_to_be_written_for_a_platform_is_a_fact(path: str, code: str) -> None:
    assert kinds(path, code) == [STUB]


def test_what_is_to_be_taken_away_later_is_not_left_to_be_written() -> None:
    assert kinds("a.ts", "export function load(path) {\n  // TODO: remove after 3.0\n}\n") == []
    assert kinds("a.ts", "export function load(path) {\n  // TODO: remove this stub\n}\n") == [STUB]


def test_what_has_to_be_a_copy_is_none_where_it_is_nothing() -> None:
    assert kinds("a.py", "class A:\n    def __deepcopy__(self, memo):\n        pass\n") == [STUB]


def test_a_private_or_static_method_is_nobodys_to_override() -> None:
    throws = "(int x) {\n    throw new UnsupportedOperationException();\n  }\n}\n"
    assert kinds("A.java", f"abstract class A {{\n  private int f{throws}") == [STUB]
    assert kinds("A.java", f"abstract class A {{\n  public static int f{throws}") == [STUB]
    assert kinds("A.java", f"abstract class A {{\n  public int f{throws}") == [SUSPECT]
    fields = "".join(f"  int x{n} = {n};\n" for n in range(30))
    before, after = (f"class A {{\n{fields}{more}}}\n" for more in ("", f"\n  private static int f{throws[:-2]}"))
    assert kinds("A.java", after, before, texts=False) == [STUB]


CLASS = "class A:\n    def run(self):\n        return 1\n"
CALLED = "class A:\n    def run(self):\n        return self._load()\n\n    def _load(self):\n        raise NotImplementedError\n"


def test_a_private_method_that_an_old_class_calls_and_nobody_overrides_is_a_fact() -> None:
    assert kinds("a.py", CALLED, CLASS) == [STUB]


@pytest.mark.parametrize(
    "code",
    [
        CALLED + "\n\nclass B(A):\n    def _load(self):\n        return 1\n",
        CALLED + "\n\nclass B(Other):\n    def _load(self):\n        return 1\n",
        CALLED.replace("_load", "load"),
        CALLED.replace("_load", "__load__"),
        CALLED.replace("self._load()", "1"),
        CALLED + "\n    def run_all(self):\n        raise NotImplementedError\n",
    ],
    ids=["overridden", "defined elsewhere", "public", "special", "uncalled", "an abstract class"],
)
def test_a_method_that_somebody_may_override_is_only_suspected(code: str) -> None:
    assert set(kinds("a.py", code, CLASS)) == {SUSPECT}


def test_without_the_whole_text_nobody_knows_who_overrides() -> None:
    assert kinds("a.py", CALLED, CLASS, texts=False) == [SUSPECT]


RIGHT = {
    "py tells and works": ("a.py", 'def load(path):\n    log.info("todo")\n    return read(path)\n'),
    "py tells something else": ("a.py", 'def load(path):\n    log.info("loaded")\n    return None\n'),
    "py abstract": ("a.py", "class A(ABC):\n    def load(self) -> int:\n        raise NotImplementedError\n"),
    "py abstractmethod": ("a.py", "class A:\n    @abstractmethod\n    def load(self) -> int: ...\n"),
    "py protocol": ("a.py", 'class A(Protocol):\n    def load(self) -> int:\n        """Not implemented here."""\n'),
    "py for types alone": (
        "a.py",
        "class A:\n    if TYPE_CHECKING:\n        @classmethod\n        def make(cls, name: str) -> Self: ...\n",
    ),
    "py for types alone, by module": ("a.py", "if typing.TYPE_CHECKING:\n    def load(x: int) -> int: ...\n"),
    "py overload": ("a.py", "@overload\ndef load(x: int) -> int: ...\n"),
    "py command group": ("a.py", "@click.group()\ndef cli() -> int:\n    pass\n"),
    "py decorated, with parameters": ("a.py", "@app.command()\ndef cli(name):\n    pass\n"),
    "py method that takes something": ("a.py", "class A:\n    def on_event(self, event):\n        pass\n"),
    "py no-op by name": ("a.py", "def _noop(value):\n    pass\n"),
    "py callback by name": ("a.py", "def on_connect(client):\n    pass\n"),
    "py takes whatever comes": ("a.py", "def fallback(*args, **options):\n    pass\n"),
    "py says why": ("a.py", "def flush(buffer):\n    pass  # memory only\n"),
    "py migration": ("a.py", "def reverse(apps, schema):\n    pass\n"),
    "py no-op that says so": ("a.py", "def ignore(_event) -> None:\n    pass\n"),
    "py no-op": ("a.py", "def close() -> None:\n    pass\n"),
    "py unannotated no-op": ("a.py", "def close():\n    pass\n"),
    "py optional hook": ("a.py", "class A:\n    def extra(self) -> str | None:\n        pass\n"),
    "py refusal that names another way": (
        "a.py",
        'def add(x):\n    raise NotImplementedError("Headers should be added with add_last()")\n',
    ),
    "py refusal": ("a.py", 'def f():\n    raise NotImplementedError("fork is not supported on Windows")\n'),
    "py other refusal": ("a.py", 'def f():\n    raise ValueError("negative")\n'),
    "py work": ("a.py", "def f():\n    x = 1\n    raise NotImplementedError(x)\n"),
    "py expression": ("a.py", "def f():\n    return todo\n"),
    "py stub file": ("a.pyi", "def f() -> int: ...\n"),
    "ts abstract": ("a.ts", "abstract class A {\n  abstract f(): void; // not implemented\n}\n"),
    "ts refusal": ("a.ts", "function f() {\n  throw new Error('not supported');\n}\n"),
    "ts empty": ("a.ts", "function noop() {} // implement\n"),
    "ts call": ("a.ts", "const f = () => todo()\n"),
    "ts declarations": ("a.d.ts", "declare function f(): void // not implemented\n"),
    "go empty": ("a.go", "package a\n\nfunc (w *W) Flush() {} // todo\n"),
    "go refusal": ("a.go", 'package a\n\nfunc F() {\n\tpanic("not implemented on windows")\n}\n'),
    "go invariant": ("a.go", 'package a\n\n// todo\nfunc F() {\n\tpanic("unreachable")\n}\n'),
    "go error": ("a.go", 'package a\n\n// todo\nfunc F() error {\n\treturn errors.New("no such file")\n}\n'),
    "rust trait default": ("a.rs", "trait A {\n    fn f(&self) {\n        unimplemented!()\n    }\n}\n"),
    "rust in tests": ("a.rs", "#[cfg(test)]\nmod tests {\n    fn f() {\n        todo!()\n    }\n}\n"),
    "rust test": ("a.rs", "#[test]\nfn f() {\n    todo!()\n}\n"),
    "rust refusal": ("a.rs", 'fn f() {\n    unimplemented!("windows is not supported")\n}\n'),
    "rust todo with a reason": ("a.rs", 'fn f() {\n    todo!("cannot happen")\n}\n'),
    "rust panic": ("a.rs", '// todo\nfn f() {\n    panic!("empty path")\n}\n'),
    "rust work": ("a.rs", "fn f() -> u8 {\n    todo + 1\n}\n"),
    "java interface": (
        "A.java",
        'interface A {\n  default int f() { throw new UnsupportedOperationException("not implemented"); }\n}\n',
    ),
    "java override refuses": (
        "A.java",
        "class A {\n  @Override public void f() { throw new UnsupportedOperationException(); }\n}\n",
    ),
    "java with a reason": (
        "A.java",
        'class A {\n  int f() { throw new UnsupportedOperationException("Records are not supported on this JVM"); }\n}\n',
    ),
    "java work": ("A.java", "class A {\n  // todo\n  int f() { return 1; }\n}\n"),
    "java invariant": ("A.java", 'class A {\n  // todo\n  int f() { throw new IllegalStateException("closed"); }\n}\n'),
    "py explained at length": ("a.py", f'def f():\n    raise RuntimeError("{"a stub of the other tool " * 9}")\n'),
    "generated": ("a.py", "# Code generated by tool. DO NOT EDIT.\ndef f() -> int: ...\n"),
    "no code": ("a.txt", "todo!()\n"),
}


@pytest.mark.parametrize(("path", "code"), RIGHT.values(), ids=RIGHT.keys())
def test_what_is_right_as_it_is_is_not_mentioned(path: str, code: str) -> None:
    assert kinds(path, code) == []


SUSPECTED = {
    "rust answers a trait without a use for the call": (
        "a.rs",
        "impl Store for A {\n    fn keep(&mut self, _key: u8) -> R {\n        // TODO: use it for the name\n        Ok(())\n    }\n}\n",
    ),
    "java names the answer for nothing": (
        "A.java",
        "class A {\n  /** Returns null if the size can not be told. */\n  static Size load(int x) {\n    // TODO: call the library\n    return null;\n  }\n}\n",
    ),
    "go kept for tests": (
        "a.go",
        'package a\n\nfunc Load(p string) error {\n\t// TODO: We only use this for testing.\n\tpanic(errors.New("unimplemented"))\n}\n',
    ),
    "py refuses with a reason": (
        "a.py",
        'def refuse(name):\n    raise NotImplementedError("The %s method does not apply to a batch." % name)\n',
    ),
    "py one of a table": (
        "a.py",
        "def add(x):\n    raise NotImplementedError\n\n\ndef drop(x):\n    return x + 1\n\n\ndef run(kind, x):\n    return {'add': add, 'drop': drop}[kind](x)\n",
    ),
    "py one of several clients": (
        "a.py",
        "class MailClient:\n    def send(self, x):\n        return post(x)\n\n    def stream(self, x):\n        raise NotImplementedError\n\n\nclient = MailClient()\n",
    ),
    "ts one of two of a kind": (
        "a.ts",
        "class A {\n  load(p: string) {\n    return read(p)\n  }\n}\nclass B {\n  load(p: string) {\n    throw new Error('not implemented')\n  }\n}\n",
    ),
    "py takes what a caller passes": ("a.py", "signal.connect(retry)\n\ndef retry(sender, payload):\n    pass\n"),
    "py in another branch": (
        "a.py",
        "if READY:\n    def load(x: int) -> int:\n        raise NotImplementedError('to do')\n",
    ),
    "py bare in a method": ("a.py", "class A:\n    def load(self):\n        raise NotImplementedError\n"),
    "py base class": (
        "a.py",
        'class BaseLoader:\n    def load(self):\n        raise NotImplementedError("not implemented")\n',
    ),
    "py below a type that is made": (
        "a.py",
        "class A(B):\n    def load(self):\n        raise NotImplementedError\n\n\nx = A()\n",
    ),
    "java interface asks": (
        "A.java",
        "class A implements B {\n  public int f(int x) {\n    throw new UnsupportedOperationException();\n  }\n}\n",
    ),
    "py hook": ("a.py", 'class A:\n    def load(self) -> int:\n        """Subclasses override this."""\n        ...\n'),
    "py extended": (
        "a.py",
        'class A:\n    def f(self):\n        raise NotImplementedError("not implemented")\n\nclass B(A):\n    x = 1\n',
    ),
    "py branch": ("a.py", "try:\n    import x\nexcept ImportError:\n    def f():\n        raise NotImplementedError\n"),
    "ts extended": (
        "a.ts",
        "class A {\n  f() {\n    throw new Error('not implemented');\n  }\n}\nclass B extends A {}\n",
    ),
    "ts abstract class": ("a.ts", "abstract class A {\n  f() {\n    throw new Error('not implemented');\n  }\n}\n"),
    "go method refuses": (
        "a.go",
        'package a\n\nfunc (s *S) F() (int, error) {\n\treturn 0, fmt.Errorf("F is not implemented")\n}\n',
    ),
    "go error by name": ("a.go", "package a\n\nfunc F() (int, error) {\n\treturn 0, ErrNotImplemented\n}\n"),
    "go of another platform": (
        "a_windows.go",
        'package a\n\nfunc F() error {\n\treturn errors.New("not implemented")\n}\n',
    ),
    "rust method refuses": (
        "a.rs",
        'impl A {\n    fn f(&self) -> Result<()> {\n        Err(anyhow!("not implemented"))\n    }\n}\n',
    ),
    "py private method of a class that others extend": (
        "a.py",
        "class A:\n    def _load(self):\n        raise NotImplementedError\n\n    def run(self):\n        self._load()\n",
    ),
    "rust one of several": (
        "a.rs",
        "impl Show for A {\n    fn a(&self, x: u8) -> u8 {\n        unimplemented!()\n    }\n    fn b(&self) -> u8 {\n        1\n    }\n}\n",
    ),
    "rust unused on purpose": (
        "a.rs",
        "impl Show for A {\n    fn a(&self, _x: u8) {\n        unimplemented!()\n    }\n}\n",
    ),
    "java public": (
        "A.java",
        "class A {\n  public int f() {\n    throw new UnsupportedOperationException();\n  }\n}\n",
    ),
    "java abstract class": (
        "A.java",
        'abstract class A {\n  int f() {\n    throw new UnsupportedOperationException("not implemented");\n  }\n}\n',
    ),
}


@pytest.mark.parametrize(("path", "code"), SUSPECTED.values(), ids=SUSPECTED.keys())
def test_what_may_be_right_is_only_suspected(path: str, code: str) -> None:
    (finding,) = found(path, code)
    assert (finding.signal, finding.fact) == (SUSPECT, False)


def test_a_stub_is_placed_at_the_statement_that_says_so() -> None:
    code = 'import os\n\n\ndef load(path):\n    """Load.\n\n    More.\n    """\n    raise NotImplementedError(\n        "todo"\n    )\n'
    (finding,) = found("src/a.py", code)
    assert finding == Finding(
        signal=STUB,
        category=Category.HALF_FINISHED,
        fact=True,
        path="src/a.py",
        line=9,
        end_line=11,
        weight=1.0,
        note="the whole body of `load` is a stub",
        step="Write the body of `load` at src/a.py:9, or take the function out of this change.",
    )


EMPTIED = {
    "a.py": ("def load(path):\n    return 1\n", "def load(path):\n    raise NotImplementedError\n"),
    "a.go": ("func Load() int {\n\treturn 1\n}\n", 'func Load() int {\n\tpanic("not implemented")\n}\n'),
    "a.rs": ("fn load() -> u8 {\n    1\n}\n", "fn load() -> u8 {\n    todo!()\n}\n"),
}


@pytest.mark.parametrize("path", EMPTIED)
def test_a_body_that_became_a_stub_is_suspected(path: str) -> None:
    before, after = EMPTIED[path]
    assert kinds(path, after, before) == [SUSPECT]
    assert kinds(path, after.replace("load", "read"), after) == [], "a stub that is only renamed was there before"


def test_a_closing_line_that_git_takes_from_the_neighbour_does_not_matter() -> None:
    before = "impl A {\n    fn b(&self) -> u8 {\n        1\n    }\n}\n"
    after = (
        "impl A {\n    fn a(&self) -> u8 {\n        todo!()\n    }\n\n    fn b(&self) -> u8 {\n        1\n    }\n}\n"
    )
    assert kinds("a.rs", after, before) == [STUB]


def test_a_stub_that_was_moved_to_another_file_is_not_new() -> None:
    code = "def load(path):\n    raise NotImplementedError\n"
    moved = change_of({"old.py": code}, {"new.py": code})
    assert told(moved) == []


def test_an_issue_about_placeholders_does_not_ask_for_stubs() -> None:
    (finding,) = found(
        "a.py", "def load(path):\n    raise NotImplementedError\n", issue="Replace placeholders in the defaults"
    )
    assert finding.fact


def test_an_issue_that_asks_for_a_skeleton_gets_a_suspicion() -> None:
    (finding,) = found("a.py", "def load(path):\n    raise NotImplementedError\n", issue="Add a skeleton of the loader")
    assert not finding.fact


BEFORE = "\n".join(f"x{n} = {n}" for n in range(30)) + "\n"


def test_without_the_whole_text_a_function_at_the_margin_is_a_fact() -> None:
    code = BEFORE + "\n\ndef load(path):\n    raise NotImplementedError\n"
    assert kinds("a.py", code, BEFORE, texts=False) == [STUB]


def test_without_the_whole_text_a_method_is_only_suspected() -> None:
    body = "\n".join(f"    x{n} = {n}" for n in range(30)) + "\n"
    before = "class A(Protocol):\n" + body
    code = before + "\n    def load(self):\n        raise NotImplementedError('not implemented')\n"
    assert kinds("a.py", code, before, texts=False) == [SUSPECT]
    assert kinds("a.py", code, before) == []


def test_a_file_full_of_stubs_is_told_twenty_times() -> None:
    code = "".join(f"def f{n}():\n    raise NotImplementedError\n\n\n" for n in range(30))
    assert len(found("a.py", code)) == 20


def test_a_text_that_does_not_parse_is_no_reason_to_fail() -> None:
    assert kinds("a.py", "def f(:\n  pass\n)))\nclass\n\tdef todo\n") == []


def test_a_function_without_a_name_is_nobodys_stub() -> None:
    assert kinds("a.js", 'run(function () {\n  throw new Error("not implemented");\n});\n') == []


def test_a_method_of_java_whose_class_a_hunk_does_not_show_is_only_suspected() -> None:
    fields = "".join(f"  int x{n} = {n};\n" for n in range(30))
    method = "\n  public int f(int x) {\n    throw new UnsupportedOperationException();\n  }\n"
    before, code = f"class A {{\n{fields}}}\n", f"class A {{\n{fields}{method}}}\n"
    assert kinds("A.java", code, before, texts=False) == [SUSPECT]
    assert kinds("A.java", code, before) == [STUB]


def test_a_function_that_a_hunk_cuts_off_is_left_alone() -> None:
    body = '    """Load.\n\n    Take a path.\n\n    Give a text.\n    """\n    return read(path)\n'
    assert (
        kinds("a.py", BEFORE + "def load(path, mode):\n" + body, BEFORE + "def load(path):\n" + body, texts=False) == []
    )


def test_the_head_of_a_function_whose_body_a_hunk_does_not_show_is_left_alone() -> None:
    body = "\n\n\n\n    return read(path)\n"
    before = BEFORE + 'def load(path):\n    """Load it."""' + body
    after = BEFORE + 'def load(path, mode):\n    """Load."""' + body
    assert kinds("a.py", after, before, texts=False) == []


def test_where_a_conflict_stands_no_body_is_read() -> None:
    code = "def load(path):\n    pass\n<<<<<<< ours\n    return 1\n=======\n    return 2\n>>>>>>> theirs\n"
    assert found("a.py", code) == []


def test_a_row_of_declarations_whose_head_is_not_shown_holds_no_stub() -> None:
    rows = "".join(f"    def is_{n}(self) -> bool: ...\n" for n in range(20))
    before = f"class Shape(Protocol):\n{rows}"
    after = before.replace("    def is_9(", "    def has(self) -> bool: ...\n    def is_9(")
    assert told(change_of({"a.py": before}, {"a.py": after}, texts=False)) == []


def test_a_body_of_dots_alone_is_a_stub() -> None:
    assert kinds("a.py", "def load(x: int) -> int:\n    ...\n") == [STUB]


def test_a_named_tuple_is_a_class_like_any_other() -> None:
    code = "class A(NamedTuple):\n    x: int\n\n    def size(self) -> int:\n        return None\n"
    assert kinds("a.py", code) == [STUB]
