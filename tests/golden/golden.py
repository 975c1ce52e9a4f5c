"""Golden files: what users and operators see of Assay, as text files. `UPDATE` rewrites them after an intended change.

Invariant: no file names a module, a class or a function, so that these can be moved and renamed.
"""

import json
from collections.abc import Iterable
from difflib import unified_diff
from itertools import islice
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
UPDATE: Final = "./test tests/golden tests/worker/publishing/texts tests/worker/signals tests/app tests/conversations/test_golden.py --update-golden"
LONGEST: Final = 60
"""Shown lines of a difference."""


Pages = Iterable[tuple[str, ...]]
"""A title, and the texts under it."""


class Golden:
    """Compare texts with the files of this folder, or rewrite the files."""

    def __init__(self, *, is_updated: bool) -> None:
        self._is_updated = is_updated

    def check_text(self, name: str, text: str) -> None:
        path = HERE / name
        if self._is_updated:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        stored = path.read_text("utf-8") if path.exists() else ""
        if text != stored:
            diff = unified_diff(stored.splitlines(), text.splitlines(), name, "now", lineterm="", n=2)
            raise AssertionError(
                "\n".join([f"{name} differs. If the change is intended: {UPDATE}", *islice(diff, LONGEST)])
            )

    def check_json(self, name: str, value: object) -> None:
        self.check_text(name, json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n")

    def check_pages(self, name: str, pages: Pages) -> None:
        """Check texts under their titles."""
        self.check_text(name, "\n".join(f"# {title}\n\n{''.join(map(_fenced, texts))}" for title, *texts in pages))

    def check_file_names(self, folder: str, names: Iterable[str]) -> None:
        """The folder has these files and no other."""
        existing, wanted = {path.name for path in (HERE / folder).iterdir()}, set(names)
        if self._is_updated:
            for name in existing - wanted:
                (HERE / folder / name).unlink()
        else:
            assert existing == wanted


def _fenced(text: str) -> str:
    return f"````\n{text}{'' if text.endswith(chr(10)) else chr(10)}````\n"
