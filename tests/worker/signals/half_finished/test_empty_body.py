"""Which functions that do nothing are facts, which are suspected, and which are right as they are."""

import pytest

from tests.worker.signals.made import change_of
from worker.signals.half_finished.empty_body import body_does_nothing, body_empty_suspected
from worker.signals.half_finished.stub_body import stub_body


def found(path: str, code: str, before: str | None = None, *, texts: bool = True, issue: str | None = None) -> str:
    base = {} if before is None else {path: before}
    change = change_of(base, {path: code}, texts=texts, issue=issue)
    facts, suspected = list(body_does_nothing.findings(change)), list(body_empty_suspected.findings(change))
    return "fact" * len(facts) + "suspected" * len(suspected)


FACTS = {
    "rust check of other bounds": ("a.rs", "// Checks the bounds of the index.\nfn load(index: usize) {}\n"),
    "rust check that is no body": ("a.rs", "// Checks that the path is there before it is loaded.\nfn load(path: Path) {}\n"),
    "rust after another": ("a.rs", "// A compile-time check.\nfn first(path: Path) {\n    go(path);\n}\n\nfn load(path: Path) {}\n"),
    "java value below a type": ("A.java", "class A extends Node {\n  Object load(int x) {\n    return null;\n  }\n}\n"),
    "py under an unknown decorator": ("a.py", "@solver\ndef load():\n    # text = read()\n    # return text\n    return None\n"),
    "py commented out in a class to extend": ("a.py", "class BaseA:\n    def load(self, path) -> str:\n        # text = read(path)\n        # return text\n        return None\n"),
    "py of a named tuple": ("a.py", "class A(NamedTuple):\n    def load(self, path):\n        return []\n"),
    "py never equal": ("a.py", "class A(B):\n    def __eq__(self, other):\n        return False\n"),
    "java never equal": ("A.java", "class A {\n  @Override\n  public boolean equals(Object other) {\n    return false;\n  }\n}\n"),
    "rust only one with a feature": ("a.rs", '#[cfg(feature = "x")]\nfn load(path: u8) -> bool {\n    false\n}\n'),
    "go discards": ("a.go", "package a\n\nfunc Load(s string) (*T, error) {\n\t_ = s\n\treturn nil, nil\n}\n"),
    "rust default of a type": ("a.rs", "pub fn load(path: &str) -> Result<T> {\n    let _ = path;\n    Ok(T::default())\n}\n"),
    "rust no text": ("a.rs", 'pub fn load(path: &str) -> String {\n    "".to_string()\n}\n'),
    "ts cast twice": ("a.ts", "function load(path: string): T {\n  return {} as unknown as T\n}\n"),
    "py takes": ("a.py", "class A:\n    def load(self, path):\n        return {}\n"),
    "py documented": ("a.py", 'class A:\n    def load(self, path):\n        """Read the text at this path and check its form."""\n        return []\n'),
    "py documented with what it does and what not": ("a.py", 'class A:\n    def load(self):\n        """Read the text at this path and check its form. It does not close the file."""\n        return []\n'),
    "py commented out": ("a.py", "def load(path):\n    # text = read(path)\n    # return text\n    return False\n"),
    "py behind words": ("a.py", "def load(path):\n    # First the text.\n    # text = read(path)\n    # check(text)\n    # return text\n    return False\n"),
    "py context manager": ("a.py", "@contextlib.contextmanager\ndef opened(path):\n    pass\n"),
    "py about what is ignored": ("a.py", 'class A:\n    def is_ignored(self, path):\n        """Say whether the path is one that is ignored."""\n        return False\n'),
    "rust under a macro for what the bodies do": ("a.rs", "#[async_trait]\nimpl<B> From<B> for A {\n    async fn from(req: &mut B) -> R {\n        Ok(())\n    }\n}\n"),
    "ts remark among parameters": ("a.ts", "function load(\n  // eslint-disable-next-line\n  path: any,\n) {\n  return undefined;\n}\n"),
    "java static of an interface": ("A.java", "interface A {\n  static A deny(int x) {\n    return null;\n  }\n}\n"),
    "py initialiser": ("a.py", "class A:\n    def __init__(self, path):\n        return\n"),
    "go takes": ("a.go", "package a\n\nfunc any(s []string, t string) bool {\n\treturn false\n}\n"),
    "go several": ("a.go", "package a\n\nfunc Load(s string) (int, error) {\n\treturn 0, nil\n}\n"),
    "go documented": ("a.go", "package a\n\n// cleanup closes any idle connections and shuts the provider down.\nfunc cleanup(o *T) error {\n\treturn nil\n}\n"),
    "go commented out": ("a.go", "package a\n\nfunc Load() int {\n\t// x := 1\n\t// return x\n\treturn 0\n}\n"),
    "rust takes": ("a.rs", "fn is_last(arg: &Arg) -> bool {\n    Default::default()\n}\n"),
    "rust takes in a trait": ("a.rs", "impl Show for A {\n    fn show(&self, f: u8) -> R {\n        Ok(())\n    }\n}\n"),
    "rust hands back itself": ("a.rs", "impl A {\n    pub fn with(mut self, heading: &str) -> Self {\n        self\n    }\n}\n"),
    "go empty": ("a.go", "package a\n\nfunc warn() {\n}\n"),
    "js empty": ("a.js", "function warn() {\n}\n"),
    "rust empty": ("a.rs", "impl A {\n    fn clear(&mut self) {}\n}\n"),
    "rust free": ("a.rs", "fn clear() {\n}\n"),
    "rust commented out": ("a.rs", "fn load() -> u8 {\n    // let x = 1;\n    // x\n    0\n}\n"),
    "java documented with what it does where it has none": ("A.java", "class A {\n  /** Closes the input, does nothing when the input is null. */\n  public static void shut(Object input) {\n  }\n}\n"),
    "ts documented as always doing something": ("a.ts", "/** Always throws the given error with another trace. */\nfunction fail(error: Error, source: Error) {\n  return undefined;\n}\n"),
    "java private": ("A.java", "abstract class A {\n  private void check() {\n  }\n}\n"),
    "java static": ("A.java", "class A {\n  static Object load(int x) {\n    return null;\n  }\n}\n"),
    "java null": ("A.java", "class A {\n  Object load() {\n    return null;\n  }\n}\n"),
    "java commented out": ("A.java", "class A {\n  @Override Object load() {\n    /* int x = 1;\n    return x; */\n    return null;\n  }\n}\n"),
    "ts takes": ("a.ts", "export function load(path: string): string {\n  return '';\n}\n"),
    "ts private name": ("a.ts", "class A extends B {\n  #load() {\n  }\n}\n"),
    "ts private word": ("a.ts", "class A extends B {\n  private load() {\n  }\n}\n"),
    "js arrow": ("a.js", "const load = (path) => {\n}\n"),
    "rust of an answer that is not looked at": ("a.rs", "fn _load(_b: &dyn Buf) {}\n"),
    "js commented out": ("a.js", "function load() {\n  // const x = await read()\n  // return x\n}\n"),
}  # fmt: skip


@pytest.mark.parametrize(("path", "code"), FACTS.values(), ids=FACTS.keys())
def test_a_new_function_that_does_less_than_it_promises_is_a_fact(path: str, code: str) -> None:
    assert found(path, code) == "fact"


@pytest.mark.parametrize(("path", "code"), FACTS.values(), ids=FACTS.keys())
def test_an_old_one_is_nothing(path: str, code: str) -> None:
    assert found(path, code + "\n", code) == ""


SUSPECTED = {
    "go maker that takes what all of its kind take": ("a.go", "package a\n\nfunc NewMock(t *testing.T) *Mock {\n\treturn &Mock{}\n}\n"),
    "rust drops a box": ("a.rs", 'pub extern "C" fn linker_delete(_linker: Box<Linker>) {}\n'),
    "rust default of a field": ("a.rs", "/// Says whether the namespace is read as well as the pod.\nfn default_insert_fields() -> bool {\n    true\n}\n"),
    "java null without a word below a type": ("A.java", "class A implements Node {\n  public Lock lock() {\n    return null;\n  }\n}\n"),
    "rust drops what it takes": ("a.rs", "impl A {\n    pub(crate) async fn cleanup(self) {}\n}\n"),
    "py a default callback": ("a.py", "async def _default_logging_callback(params):\n    pass\n"),
    "py a default for a callback": ("a.py", "def chain(prompt, proceed=None):\n    if proceed is None:\n        def proceed(reply):\n            return None\n    return run(prompt, proceed)\n"),
    "py the default of a loader": ("a.py", 'class Validator:\n    def validate(self, path):\n        """Validate the path of this conversation for the user."""\n        return None\n\n\ndef make():\n    return get_impl(Validator, os.environ["VALIDATOR"])()\n'),
    "py takes what it ignores": ("a.py", 'def omit(_value):\n    """Helper of a policy that records an entry without the value of it."""\n    return {}\n'),
    "py an answer beside an unused import": ("a.py", "import json\n\n\nclass A(B):\n    def needs_table(self):\n        return True\n"),
    "rust check of bounds in a function": ("a.rs", "fn _bounds() {\n    fn _is_send<T: Send>() {}\n\n    _is_send::<Path>();\n}\n"),
    "py plugin": ("a.py", "class AuditPlugin:\n    def configure(self, config):\n        pass\n"),
    "ts one of two of a kind": ("a.ts", "class A {\n  load(path: string) {\n    return read(path)\n  }\n}\nclass B {\n  load(path: string) {\n    return null\n  }\n}\n"),
    "ts asked for by an interface beside it": ("a.ts", "interface Loads {\n  load(path: string): string | null\n}\nclass A {\n  load(path: string) {\n    return null\n  }\n}\n"),
    "rust in a macro": ("a.rs", "paste! {\n    fn load(path: u8) -> u8 {\n        0\n    }\n}\n"),
    "java state with a parameter": ("A.java", "class A {\n  /** Says whether a call may be made at this moment or not. */\n  @Override\n  public boolean may(int x) {\n    return true;\n  }\n}\n"),
    "py says what it leaves out": ("a.py", 'class A:\n    def keys(self):\n        """We don\'t want to get any other attributes of it if the model did not ask for them."""\n        return set()\n'),
    "py documented where a type may ask for it": ("a.py", 'class A(B):\n    def load(self, path):\n        """Read the text at this path and check its form."""\n        return []\n'),
    "go documented method": ("a.go", "package a\n\n// Cleanup closes any idle connections and shuts the provider down.\nfunc (o *T) Cleanup() error {\n\treturn nil\n}\n"),
    "go private method of a new type": ("a.go", "package a\n\ntype t struct{}\n\nfunc (o *t) write(v view) {}\n"),
    "go value of a field": ("a.go", "package a\n\nvar c = Codec{Empty: isVoid}\n\nfunc isVoid(p *T) bool {\n\treturn false\n}\n"),
    "py argument": ("a.py", "register('x', load)\n\ndef load(path):\n    return []\n"),
    "js exported": ("a.js", "export function deactivate() {\n}\n"),
    "go program": ("main.go", "package main\n\nfunc main() {\n}\n"),
    "rust asks whether a type can be made": ("a.rs", "fn _assert_object(_b: &dyn Buf) {}\n"),
    "rust documents what does not compile": ("a.rs", "/// ```compile_fail\n/// #![deny(unused_must_use)]\n/// let mut b = make(); b.split(6);\n/// ```\nfn _must_use() {}\n"),
    "py stub of a limiter": ("a.py", "import acme\n\n\nclass StubLimiter(Limiter):\n    def release(self, x):\n        pass\n"),
    "go one of the platforms": ("node_netbsd.go", "package a\n\nfunc Load(p string) error {\n\treturn nil\n}\n"),
    "rust asks the compiler": ("a.rs", "fn assert_send<T: Send>() {}\n"),
    "ts asks the compiler": ("a.ts", "function assertType<T>(value: T): void {}\n"),
    "rust documented answer to a trait": ("a.rs", "impl Visit for A {\n    // Attributes were seen on the way down, by the pass before.\n    fn visit(&mut self) {}\n}\n"),
    "java answer without a word": ("A.java", "class A extends Node {\n  void tail(Appendable out, int depth) {\n  }\n}\n"),
    "java of a visitor": ("A.java", "class NodeVisitor {\n  public void enter(Node node) {\n  }\n}\n"),
    "java of a stub of a service": ("A.java", "class StubMailer {\n  public boolean send(Mail mail) {\n    return true;\n  }\n}\n"),
    "py that says what it is there for": ("a.py", 'class A:\n    def load(self, path):\n        """Called by the runner before it reads the file at this path."""\n'),
    "py other answer": ("a.py", "class A(B):\n    def __eq__(self, other):\n        return True\n"),
    "rust one of two features": ("a.rs", '#[cfg(feature = "x")]\nfn load(path: u8) -> bool {\n    false\n}\n\n#[cfg(feature = "y")]\nfn load(path: u8) -> bool {\n    go(path)\n}\n'),
    "py override": ("a.py", "class A(B):\n    def load(self, path):\n        return None\n"),
    "py override that takes nothing": ("a.py", "class A(B):\n    def load(self):\n        pass\n"),
    "py hook": ("a.py", "class BaseA:\n    def load(self, path):\n        return []\n"),
    "go constant": ("a.go", "package a\n\nfunc (o T) Strip() int {\n\treturn 0\n}\n"),
    "an example in comments": ("examples/a.py", "def load(path):\n    # text = read(path)\n    # return text\n    return None\n"),
    "rust cfg around": ("a.rs", '#[cfg(not(feature = "x"))]\nimpl A {\n    fn load(path: u8) {}\n}\n'),
    "rust cfg": ("a.rs", '#[cfg(not(feature = "x"))]\nfn load(path: u8) {}\n'),
    "rust module of a macro": ("a.rs", "#[probe]\nmod p {\n    pub fn start(x: u8) {}\n}\n"),
    "go other platform": ("a_windows.go", "package a\n\nfunc Load(p string) error {\n\treturn nil\n}\n"),
    "go interface": ("a.go", "package a\n\nfunc (o T) Load(p string) error {\n\treturn nil\n}\n"),
    "go build": ("a.go", "//go:build !cgo\n\npackage a\n\nfunc Load(p string) error {\n\treturn nil\n}\n"),
    "java override": ("A.java", "class A {\n  @Override\n  public Object load(int x) {\n    return null;\n  }\n}\n"),
    "java anonymous": ("A.java", "class A {\n  Object o = new B() {\n    public Object load(int x) {\n      return null;\n    }\n  };\n}\n"),
    "java extended": ("A.java", "class A {\n  public void load(int x) {\n  }\n}\nclass B extends A {\n}\n"),
    "java state": ("A.java", "class A {\n  /** Says whether a call may be made at this moment or not. */\n  @Override\n  public boolean may() {\n    return true;\n  }\n}\n"),
    "py null object": ("a.py", "class StatusIgnored:\n    def started(self, value=None):\n        pass\n"),
    "ts below": ("a.ts", "class A extends B {\n  load(path: string) {\n    return null;\n  }\n}\n"),
    "ts typed": ("a.ts", "const load: Loader = (path) => {\n  return null;\n}\n"),
    "js object": ("a.js", "const a = {\n  load(path) {\n    return null;\n  },\n}\n"),
}  # fmt: skip


@pytest.mark.parametrize(("path", "code"), SUSPECTED.values(), ids=SUSPECTED.keys())
def test_where_a_type_or_a_platform_may_ask_for_it_it_is_only_suspected(path: str, code: str) -> None:
    assert found(path, code) == "suspected"


RIGHT = {
    "py explained above in a function": ("a.py", "def run(files):\n    check(files)\n    # Linters do not like lambdas, so this takes all files.\n    def take(p):\n        return True\n    return filter(take, files)\n"),
    "java of a dummy class": ("A.java", "/**\n * Dummy class for compilation purposes only.\n */\nclass A {\n  static Object load(int x) {\n    return null;\n  }\n}\n"),
    "ts handler in a function": ("a.ts", "export function run(child: Child) {\n  // The child gets the signal itself. Keep the parent alive to reap it.\n  const ignore = () => {};\n  process.on('SIGINT', ignore);\n  return child.wait();\n}\n"),
    "rust check of bounds": ("a.rs", "// These bounds leak by the blanket impl.\n// So this exists to detect that we break those.\nfn _implied() {\n    fn load<T: Load>(_t: T) {}\n\n    fn url<T: Url>(t: T) {\n        load(t);\n    }\n}\n"),
    "rust check as it is compiled": ("a.rs", "// Checks at compile time that a path can be loaded.\nfn load(path: Path) {}\n"),
    "ts check as it is compiled": ("a.ts", "// Compile-time check: fails to build if the shape changes.\nfunction load(path: Exact<Path>): void {}\n"),
    "ts constructor of properties": ("a.ts", "class A {\n  constructor(private readonly path: string, mode: string) {}\n}\n"),
    "ts private constructor of properties": ("a.ts", "class A {\n  private constructor(@Inject() public path: string) {}\n}\n"),
    "php constructor of properties": ("a.php", "<?php\nclass A {\n  public function __construct(private Path $path) {\n  }\n}\n"),
    "go says that it never fails": ("a.go", "package a\n\n// Any never returns an error.\nfunc Any(p string) error {\n\treturn nil\n}\n"),
    "py works": ("a.py", "def load(path):\n    return read(path)\n"),
    "py two statements": ("a.py", "def load(path):\n    go(path)\n    return None\n"),
    "an example that is brief": ("examples/a.py", "def load(path):\n    return None\n"),
    "an example that works": ("examples/a.py", "def load(path):\n    return read(path)\n"),
    "java default of an interface": ("A.java", "interface A {\n  default A deny(int x) {\n    return null;\n  }\n}\n"),
    "py no-op": ("a.py", "def noop(path):\n    return False\n"),
    "py says so": ("a.py", 'class A:\n    def load(self, path):\n        """Does nothing here."""\n        return False\n'),
    "py says why": ("a.py", "class A:\n    def load(self, path):\n        return False  # memory only\n"),
    "go says what it hands back": ("a.go", "package a\n\n// Stamp returns false because this parser knows no stamps at all.\nfunc (p *P) Stamp(_ *T) bool {\n\treturn false\n}\n"),
    "go factory": ("a.go", "package a\n\nfunc New() *A {\n\treturn &A{}\n}\n"),
    "go receiver that does nothing": ("a.go", "package a\n\nfunc (n nilRenderer) write(v view) {}\n"),
    "java constructor beside an unused import": ("A.java", "import java.util.List;\n\nclass A {\n  A() { }\n}\n"),
    "java constructor": ("A.java", "class A {\n  private A() {\n  }\n}\n"),
    "java documented constructor": ("A.java", "class A {\n  /** Makes one of these for the tools that need one. */\n  public A() {\n  }\n}\n"),
    "java factory": ("A.java", "class A {\n  /** Hands out one of these for the tools that need one. */\n  static A of() {\n    return new A();\n  }\n}\n"),
    "js works": ("a.js", "const load = (path) => read(path)\n"),
    "java null object": ("A.java", "class NullSink {\n  @Override\n  public Object emit(int x) {\n    return null;\n  }\n}\n"),
    "kotlin object made on the spot": ("A.kt", "val a = object : Listener {\n    override fun flush() {\n    }\n}\n"),
    "c# open": ("A.cs", "class A : B {\n    protected virtual void Load() {\n    }\n}\n"),
    "c# disposes of nothing": ("A.cs", "class A : B {\n    public void Dispose() {\n    }\n}\n"),
    "a stub is reported elsewhere": ("a.py", "def load(path):\n    pass\n"),
}  # fmt: skip


@pytest.mark.parametrize(("path", "code"), RIGHT.values(), ids=RIGHT.keys())
def test_what_is_right_as_it_is_is_not_mentioned(path: str, code: str) -> None:
    assert found(path, code) == ""


CLASS = "class A(B):\n    def run(self, path):\n        return 1\n"
CALLED = "class A(B):\n    def run(self, path):\n        return self._load(path)\n\n    def _load(self, path):\n        pass\n"


KEPT = {
    "py": ("a.py", 'def load(path):\n    """No longer has any effect."""\n'),
    "py, a word": ("a.py", 'def load(path):\n    """Deprecated."""\n    pass\n'),
    "py, in a class": ("a.py", 'class A:\n    def load(self, path):\n        """Has no effect since 2.0."""\n        return None\n'),
    "ts": ("a.ts", "/** @deprecated It has no effect. */\nexport function load(path: string): void {}\n"),
    "go": ("a.go", "package a\n\n// Load reads.\n//\n// Deprecated: it is done at the start.\nfunc Load(path string) {}\n"),
    "rust": ("src/a.rs", '/// Loads it.\n#[deprecated(note = "done at the start")]\npub fn load(path: u8) {}\n'),
}  # fmt: skip


@pytest.mark.parametrize(("path", "code"), KEPT.values(), ids=KEPT.keys())
def test_what_is_only_kept_for_old_callers_and_says_so_is_not_mentioned(path: str, code: str) -> None:
    assert found(path, code) == ""
    assert not list(stub_body.findings(change_of({}, {path: code})))


def test_a_private_method_that_its_class_calls_and_nobody_else_defines_does_nothing() -> None:
    assert found("a.py", CALLED, CLASS) == "fact"
    assert found("a.py", CALLED.replace("self._load(path)", "1"), CLASS) == "suspected"
    assert found("a.py", CALLED) == "suspected", "who adds a class may add those below it later"


@pytest.mark.parametrize(
    ("text", "kind"), [("", "fact"), ("public ", "suspected"), ("protected ", "suspected"), ("@Override ", "suspected")]
)
def test_a_method_of_java_that_a_fragment_shows_is_asked_for_by_a_type_only_if_it_says_so(text: str, kind: str) -> None:
    before = "class A {\n" + "  // x\n" * 8 + "  int a() {\n    return 1;\n  }\n}\n"
    after = before[:-2] + f"\n  {text}Object load(int x) {{\n    return null;\n  }}\n}}\n"
    assert found("A.java", after, before, texts=False) == kind


def test_an_issue_that_asks_for_no_ops_gets_a_suspicion() -> None:
    path, code = FACTS["go takes"]
    assert found(path, code, issue="Add no-op filters") == "suspected"


def test_work_that_was_taken_out_is_suspected() -> None:
    before = "function load(path) {\n  return read(path)\n}\n"
    assert found("a.js", "function load(path) {\n  return null\n}\n", before) == "suspected"
    assert found("a.js", "function load(path) {\n  return write(path)\n}\n", before) == ""
    assert found("a.js", "function load(path) {\n  // later\n  return null\n}\n", before) == ""


def test_a_method_that_is_called_by_the_name_of_its_class_is_not_replaced() -> None:
    code = "class Source:\n    @classmethod\n    def validate(cls, value):\n        pass\n\n\ndef make(source):\n    {}\n    return load(Source)\n"
    assert found("a.py", code.format("Source.validate(source)")) == "fact"
    assert found("a.py", code.format("check(source)")) == "suspected"


def test_it_is_placed_at_the_function_with_all_its_lines() -> None:
    path, code = FACTS["go takes"]
    (finding,) = body_does_nothing.findings(change_of({}, {path: code}))
    assert (finding.line, finding.end_line) == (3, 5)
    assert finding.note == "`any` does nothing: it takes `s, t` and never looks at it"


BEFORE = "\n".join(f"x{n} = {n}" for n in range(30)) + "\n"


def test_a_function_that_a_hunk_cuts_off_is_left_alone() -> None:
    body = '    """Load.\n\n    Take a path.\n\n    Give a text.\n    """\n    return read(path)\n'
    before = BEFORE + "def load(path):\n" + body
    after = BEFORE + "def load(path, mode):\n" + body
    assert found("a.py", after, before, texts=False) == ""


def test_what_follows_in_the_hunk_is_part_of_a_function_or_not_by_its_margin() -> None:
    before = BEFORE + "\n\ndef last():\n    return 1\n"
    after = BEFORE + "\n\ndef load(path):\n    return False\n\n\ndef last():\n    return 1\n"
    assert found("a.py", after, before, texts=False) == "fact"
    assert found("a.py", BEFORE + "\n\ndef load(path):\n    return False\n", BEFORE, texts=False) == "fact"


def test_a_body_that_was_left_behind_when_its_function_moved_is_new() -> None:
    old = "package a\n\nfunc any(s string) bool {\n\tfor {\n\t\tgo(s)\n\t\treturn true\n\t}\n\treturn false\n}\n"
    new = "package b\n\nfunc any(s string) bool {\n\treturn false\n}\n"
    assert len(list(body_does_nothing.findings(change_of({"a.go": old}, {"b.go": new})))) == 1
    assert list(body_does_nothing.findings(change_of({"a.go": new}, {"b.go": new}))) == []


def test_a_stand_in_for_what_can_not_be_imported_is_only_suspected() -> None:
    code = (
        "try:\n    from store import load\nexcept ImportError:\n\n    class Store:\n"
        '        def load(self, path: str) -> str:\n            """Load the text at path."""\n            return ""\n'
    )
    assert found("a.py", code) in {"", "suspected"}


IDLE = "import json\n\n\nclass A(B):\n    def load(self):\n        return {}\n"


def test_what_the_change_imports_for_it_and_nothing_uses_makes_it_a_fact() -> None:
    assert found("a.py", IDLE) == "fact"
    assert found("a.py", IDLE.replace("import json", "import json  # noqa: F401")) == "suspected"


@pytest.mark.parametrize(
    "code",
    [
        IDLE.replace("load", "on_load"),
        "import json\n\n\ntry:\n    import x\nexcept ImportError:\n    class A(B):\n        def load(self):\n            return {}\n",
    ],
)
def test_an_unused_import_does_not_speak_against_what_may_be_idle(code: str) -> None:
    assert "fact" not in found("a.py", code)


def test_a_variable_that_is_made_and_handed_back_is_no_work() -> None:
    assert found("a.py", "def load(path):\n    rows = []\n    return rows\n") == "fact"


def test_a_handler_whose_work_is_put_into_comments_does_nothing() -> None:
    handler = "@app.route('/')\ndef load():\n    # text = read()\n    # return text\n    return None\n"
    assert found("a.py", handler) == "fact"
    assert found("a.py", "@app.route('/')\ndef load(path):\n    return None\n") == ""
    assert found("a.py", "@app.route('/')\ndef load(path):\n    return read(path)\n") == ""


def test_a_method_beside_others_of_its_type_that_do_nothing_is_only_suspected() -> None:
    method = "class A:\n    def load(self, path):\n        return None\n"
    works, idle = (
        "\n    def keep(self, text):\n        return text\n",
        "\n    def keep(self, text):\n        return None\n",
    )
    assert found("a.py", method + works) == "fact"
    assert found("a.py", method + idle) == "suspected" * 2
    assert found("a.py", method + "\n    def __init__(self, path):\n        self.path = path\n") == "fact"
    assert found("a.py", method + "\nclass C:\n    def keep(self, text):\n        return None\n") == "fact" * 2


KNOWN = "package a\n\ntype t struct{}\n\nfunc (o *t) Run() int {\n\treturn 1\n}\n"
PRIVATE = KNOWN + "\nfunc (o *t) write(v view) {}\n"


def test_a_private_method_of_a_type_of_go_that_was_there_is_a_fact_unless_an_interface_names_it() -> None:
    assert found("a.go", PRIVATE, KNOWN) == "fact"
    assert found("a.go", PRIVATE, KNOWN, texts=False) == "fact", "what a hunk shows of the type is enough"
    assert found("a.go", PRIVATE + "\ntype writer interface {\n\twrite(v view)\n}\n", KNOWN) == "suspected"
    assert found("a.go", PRIVATE.replace("write(", "Write("), KNOWN) == "suspected"
