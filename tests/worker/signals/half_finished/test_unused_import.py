"""Imports that nothing uses."""

import pytest

from tests.worker.signals.made import change_of
from worker.signals.half_finished.unused_import import import_unused


def found(path: str, code: str, before: str | None = None, *, texts: bool = True) -> list[tuple[str, int | None]]:
    change = change_of({} if before is None else {path: before}, {path: code}, texts=texts)
    return [(finding.note.split("`")[1], finding.line) for finding in import_unused.findings(change)]


UNUSED = {
    "py": ("src/a.py", "import json\n\nx = 1\n", "json"),
    "py dotted": ("src/a.py", "import os.path\n\nx = 1\n", "os"),
    "py from": ("src/a.py", "from json import (\n    dumps,\n)\n\nx = 1\n", "dumps"),
    "py alias": ("src/a.py", "import numpy as np\n\nx = 1\n", "np"),
    "js default": ("src/a.js", "import fs from 'fs'\nlet x = 1\n", "fs"),
    "ts named": ("src/a.ts", "import { read } from './io'\nlet x = 1\n", "read"),
    "ts renamed": ("src/a.ts", "import { read as load } from './io'\nlet x = 1\n", "load"),
    "ts all": ("src/a.ts", "import * as io from './files'\nlet x = 1\n", "io"),
    "java": ("src/A.java", "import java.util.List;\n\nclass A {}\n", "List"),
    "kotlin": ("src/A.kt", "import a.b.name\n\nval x = 1\n", "name"),
}


@pytest.mark.parametrize(("path", "code", "name"), UNUSED.values(), ids=UNUSED.keys())
def test_a_new_import_that_nothing_uses_is_suspected(path: str, code: str, name: str) -> None:
    assert found(path, code) == [(name, 1)]


@pytest.mark.parametrize(("path", "code", "name"), UNUSED.values(), ids=UNUSED.keys())
def test_an_import_that_is_used_or_was_there_before_is_none(path: str, code: str, name: str) -> None:
    assert found(path, f"{code}// {name}\n" if not path.endswith("py") else f"{code}# {name}\n") == []
    assert found(path, f"{code}\n", code) == []
    assert found(path, f"{code}\n", code, texts=False) == []


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("src/__init__.py", "import json\n"),
        ("src/index.ts", "import { read } from './io'\n"),
        ("src/a.py", "import json  # noqa: F401\n"),
        ("src/a.py", "from json import dumps as dumps\n"),
        ("src/a.py", "try:\n    import json\nexcept ImportError:\n    pass\n"),
        ("src/a.js", "import './setup'\n"),
        ("src/a.ts", "import { $Kind } from './kinds'\nlet x: $Kind = 1\n"),
        ("src/A.java", "import java.util.*;\n\nclass A {}\n"),
        ("src/a.go", 'package a\n\nimport "fmt"\n'),
        ("src/a.py", "import json\ndef f(:\n"),
        ("src/a.py", "x = 1\n"),
        ("src/A.kt", 'import a.b.name\n\nval x = "$name says"\n'),
    ],
)
def test_what_hands_on_is_kept_or_cannot_be_told_is_none(path: str, code: str) -> None:
    assert found(path, code) == []


def test_a_file_that_only_lost_lines_brings_nothing_in() -> None:
    assert found("src/a.py", "import json\n", "import json\nx = json\n") == []
