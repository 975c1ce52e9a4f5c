"""Scratch files."""

import pytest

from tests.worker.signals.samples import change_of
from worker.signals.analysis.change import CodeChange
from worker.signals.scope_creep.scratch_file import stray_file

CODE = {"src/upload.py": "retry()\n"}


@pytest.mark.parametrize(("path", "places"), [("core", [("core", None)]), ("assets/core", [])])
def test_binary_is_scratch_only_at_the_root(path: str, places: list[tuple[str, int | None]]) -> None:
    diff = (
        f"diff --git a/{path} b/{path}\nnew file mode 100755\nindex 0000000..2222222\n"
        f"Binary files /dev/null and b/{path} differ\n"
    )
    dossier = change_of({}, CODE).dossier
    change = CodeChange(dossier.model_copy(update={"diff": diff + dossier.diff}))
    assert [(finding.path, finding.line) for finding in stray_file.findings(change)] == places
