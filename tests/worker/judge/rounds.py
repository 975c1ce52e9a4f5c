"""Pull requests over several rounds. Each line that a push writes is unique in the history."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.worker.judge.samples import NOW, dossier, evaluation_header, pull_request
from worker.domain.dossier import Criterion, Dossier, HeadFile
from worker.domain.model import EvalId, Sha
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Abstain, Accept, Reject, Side
from worker.dossier.diff import diff_of
from worker.judge.context import JudgeContext
from worker.judge.fingerprint import fingerprint_of
from worker.scheduling.pipeline import carry_over_or_judge
from worker.scheduling.record import ledger_entry

Tree = dict[str, tuple[str, ...]]
Verdict = Accept | Reject | Abstain
INITIAL_TREE = {
    path: tuple(f"{path[0]}{number} = made({number})" for number in range(12)) for path in ("upload.py", "retry.py")
}


def diff(base: Tree, head: Tree) -> str:
    return "".join(_file(path, base[path], head[path]) for path in sorted(base) if base[path] != head[path])


def _file(path: str, old: tuple[str, ...], new: tuple[str, ...]) -> str:
    hunks = list(difflib.unified_diff(old, new, lineterm="", n=2))[2:]
    top = f"diff --git a/{path} b/{path}\nindex 1111111..2222222 100644\n--- a/{path}\n+++ b/{path}\n"
    return top + "".join(f"{line}\n" for line in hunks)


@dataclass
class History:
    """One pull request. `base` and `head` are the trees now, `ledger` the recorded verdicts."""

    base: Tree = field(default_factory=lambda: dict(INITIAL_TREE))
    head: Tree = field(default_factory=lambda: dict(INITIAL_TREE))
    ledger: list[LedgerEntry] = field(default_factory=list[LedgerEntry])
    commits: int = 0
    lines: int = 0
    title: str = "Retry uploads"

    def new_line(self) -> str:
        self.lines += 1
        return f"fresh_{self.lines} = made({self.lines})"

    def push(self, path: str, edit: Callable[[list[str]], None]) -> None:
        lines = list(self.head[path])
        edit(lines)
        self.head = {**self.head, path: tuple(lines)}
        self.commits += 1

    def replace_line(self, path: str, at: int) -> int:
        """Push a new text for line *at* and return its number."""
        self.push(path, lambda lines: lines.__setitem__(at - 1, self.new_line()))
        return at

    @property
    def head_sha(self) -> Sha:
        return f"{self.commits:040x}"

    def dossier(self, **changes: Any) -> Dossier:
        fields = {
            "pull_request": pull_request(
                title=self.title, head_sha=self.head_sha, pushed_at=changes.pop("pushed_at", None)
            ),
            "criteria": (
                Criterion(id="AC1", text="an upload is retried when the server is busy at night"),
                Criterion(id="AC2", text="it is logged"),
            ),
            "diff": diff(self.base, self.head),
            "files": tuple(
                HeadFile(path=path, text="".join(f"{line}\n" for line in self.head[path])) for path in self.head
            ),
            "ledger": tuple(self.ledger),
        }
        return dossier(**{**fields, **changes})

    def quote_lines(self, answer: Any) -> Any:
        """The answer with the current text of its lines as quotes."""
        match answer:
            case dict():
                whole: dict[str, Any] = {name: self.quote_lines(value) for name, value in answer.items()}  # pyright: ignore[reportUnknownVariableType] - JSON
                return whole | {"quote": self._line(whole)} if "line" in whole else whole
            case list():
                return [self.quote_lines(value) for value in answer]  # pyright: ignore[reportUnknownVariableType] - JSON
            case _:
                return answer

    def _line(self, location: dict[str, Any]) -> str:
        tree = self.head if location["side"] == "head" else self.base
        lines = tree.get(location["path"], ())
        line: int = location["line"] or 0
        return lines[line - 1] if 0 < line <= len(lines) else str(location.get("quote", ""))

    def judge(self, context: JudgeContext, at: datetime = NOW, **changes: Any) -> Verdict:
        """Judge the head or carry a verdict over, and record the verdict."""
        judged = self.dossier(**changes)
        number = len(self.ledger)
        subject = evaluation_header().subject.model_copy(update={"head_sha": self.head_sha})
        header = evaluation_header(
            eval_id=EvalId(f"eval-{number:03}"),
            subject=subject,
            created_at=at + timedelta(seconds=number),
            fingerprint=fingerprint_of(judged, context),
            monotonic_ms=lambda: 0,
        )
        verdict = carry_over_or_judge(judged, header, context).verdict
        self.ledger.append(ledger_entry(verdict, judged, fence=number))
        return verdict

    def changed_lines(self) -> dict[tuple[str, Side, int], tuple[str, str]]:
        """The mark and text of each changed line by location."""
        quotes: dict[tuple[str, Side, int], tuple[str, str]] = {}
        for file in diff_of(diff(self.base, self.head)).files:
            for line in (*file.added_lines, *file.removed_lines):
                side = Side.BASE if line.head_line is None else Side.HEAD
                quotes[file.path, side, line.head_line or line.base_line or 0] = (line.kind.value, line.text)
        return quotes
