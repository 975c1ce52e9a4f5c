"""Unwritten functions that are a first step: uncalled ones, and those that the title announces."""

import pytest

from tests.worker.signals.samples import change_of, dossier_of
from worker.signals.analysis.change import CodeChange
from worker.signals.half_finished.body_does_nothing import body_does_nothing
from worker.signals.half_finished.stub_body import stub_body
from worker.signals.half_finished.unfinished_function import unfinished_function

WORK = "def send(path):\n    text = read(path)\n    return post(text)\n"
STUB = "\n\ndef retry_later(path):\n    raise NotImplementedError\n"
CALLS = {
    "py call": ("b.py", "retry_later(path)\n"),
    "py starred": ("b.py", "x = make(\n    **retry_later(path),\n)\n"),
    "py awaited": ("b.py", "async def run():\n    return await retry_later(1)\n"),
    "test": ("tests/test_a.py", "def test_a():\n    assert a.retry_later(1) == 2\n"),
    "js new": ("b.js", "const x = new retry_later (1)\n"),
    "rust macro": ("b.rs", "fn run() {\n    let x = retry_later!(1);\n}\n"),
    "rust turbofish": ("b.rs", "fn run() {\n    let x = a::retry_later::<u8>(1);\n}\n"),
}
OTHERWISE = {
    "comment": ("b.py", "# retry_later(path) is to come\n"),
    "block comment": ("b.js", "/*\n * retry_later(path)\n */\n"),
    "another definition": ("b.py", "def retry_later(path):\n    return 1\n"),
    "a method of go": ("b.go", "package b\n\nfunc (o *T) retry_later(path string) error {\n\treturn nil\n}\n"),
    "an interface of go": ("b.go", "package b\n\ntype T interface {\n\tRetryLater(path string) error\n}\n"),
    "a method of js": ("b.js", "class B {\n  retry_later(path) {\n    return 1\n  }\n}\n"),
    "an interface of ts": ("b.ts", "interface B {\n  retry_later(path: string): void\n}\n"),
    "java": ("B.java", "interface B {\n  void retry_later(String path);\n}\n"),
}
NOTHING: list[str] = []


def list_signals(after: dict[str, str], title: str = "Send files", issue: str | None = None) -> list[str]:
    change = change_of({}, after, title=title, issue=issue)
    signals = (stub_body, body_does_nothing, unfinished_function)
    return [finding.signal for signal in signals for finding in signal.findings(change)]


@pytest.mark.parametrize(
    ("path", "code", "expected"),
    [
        ("b.py", "", NOTHING),
        *((path, code, ["stub_body"]) for path, code in CALLS.values()),
        *((path, code, NOTHING) for path, code in OTHERWISE.values()),
    ],
    ids=["nothing", *CALLS, *OTHERWISE],
)
def test_uncalled_stub_beside_finished_work_is_not_a_fact(path: str, code: str, expected: list[str]) -> None:
    assert list_signals({"a.py": WORK + STUB, path: code}) == expected


def test_stub_passed_as_a_value_is_needed() -> None:
    stub = "\n\ndef retry_later() -> int:\n    pass\n"
    assert list_signals({"a.py": WORK + stub, "b.py": "on_rollback(then=retry_later)\n"}) == ["stub_body"]


def test_stub_named_in_title_or_issue_is_needed() -> None:
    assert list_signals({"a.py": WORK + STUB}, title="Send files with retries") == ["stub_body"]
    assert list_signals({"a.py": WORK + STUB}, issue="Retry when the server is busy") == ["stub_body"]


def test_stub_named_in_criterion_is_needed() -> None:
    criteria = [{"id": "AC1", "text": "It makes a retry after a 503"}]
    change = CodeChange(dossier_of({}, {"a.py": WORK + STUB}, title="Send files", criteria=criteria))
    assert [finding.signal for finding in stub_body.findings(change)] == ["stub_body"]


def test_stub_that_the_language_calls_is_needed() -> None:
    python = "\n\nclass A:\n    def __repr__(self):\n        pass\n"
    rust = "fn send(x: u8) -> u8 {\n    let y = x + 1;\n    y\n}\n\nimpl Display for A {\n    fn fmt(&self, f: &mut F) -> R {\n        todo!()\n    }\n}\n"
    assert list_signals({"a.py": WORK + python}) == list_signals({"a.rs": rust}) == ["stub_body"]


def test_stub_that_is_the_whole_change_is_needed() -> None:
    assert list_signals({"a.py": STUB.lstrip()}) == ["stub_body"]
    outer = (
        "def outer():\n    def inner(x):\n        y = x + 1\n        # TODO: the rest\n        return y\n    return 1\n"
    )
    assert list_signals({"a.py": outer}) == ["unfinished_function"]


@pytest.mark.parametrize(
    ("title", "is_announced"),
    [
        ("Scaffold the upload manager", True),
        ("Uploads (2/5)", True),
        ("First installment of uploads", True),
        ("WIP: uploads", True),
        ("Prepare uploads", True),
        ("Etcd stub", True),
        ("Use the stub of etcd", False),
        ("Retry uploads", False),
        ("Fix a partition of uploads", False),
    ],
)
def test_title_announces_unfinished_work(title: str, is_announced: bool) -> None:  # noqa: FBT001 - a column of the table
    files = {"a.py": WORK + STUB, "b.py": "retry_later(path)\n"}
    assert list_signals(files, title=title) == ([] if is_announced else ["stub_body"])


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("a.py", WORK + "\n\nclass A:\n    def drop(self, dct):\n        # dct.pop('x')\n        # return dct\n        return None\n"),
        ("a.py", WORK + "\n\ndef drop(dct):\n    x = dct.pop('x')\n    # TODO: handle the remaining cases\n    check(x)\n"),
    ],
)  # fmt: skip
def test_empty_or_unfinished_body_is_a_fact_only_when_called(path: str, code: str) -> None:
    assert list_signals({path: code}) == []
    assert len(list_signals({path: code, "b.py": "drop(x)\n"})) == 1
