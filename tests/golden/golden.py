"""Golden files: the outside of Assay, as text files beside these tests.

Invariant: no file names a module, a class or a function, so that these can be moved and renamed. `UPDATE` rewrites all files, after
an intended change of the outside.
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
"""Lines of a difference that are shown."""


Pages = Iterable[tuple[str, ...]]
"""A title, and the texts under it."""


class Golden:
    """Compare texts with the files of this folder, or rewrite the files."""

    def __init__(self, *, is_updated: bool) -> None:
        self._is_updated = is_updated

    def holds(self, name: str, text: str) -> None:
        path = HERE / name
        if self._is_updated:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        kept = path.read_text("utf-8") if path.exists() else ""
        if text != kept:
            diff = unified_diff(kept.splitlines(), text.splitlines(), name, "now", lineterm="", n=2)
            raise AssertionError(
                "\n".join([f"{name} differs. If the change is intended: {UPDATE}", *islice(diff, LONGEST)])
            )

    def holds_json(self, name: str, value: object) -> None:
        self.holds(name, json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n")

    def holds_pages(self, name: str, pages: Pages) -> None:
        """Hold texts that people read under titles that say what they are for."""
        self.holds(name, "\n".join(f"# {title}\n\n{''.join(map(_fenced, texts))}" for title, *texts in pages))

    def has_only(self, folder: str, names: Iterable[str]) -> None:
        """The folder has these files and no other."""
        there, wanted = {path.name for path in (HERE / folder).iterdir()}, set(names)
        if self._is_updated:
            for name in there - wanted:
                (HERE / folder / name).unlink()
        else:
            assert there == wanted


def _fenced(text: str) -> str:
    return f"````\n{text}{'' if text.endswith(chr(10)) else chr(10)}````\n"
