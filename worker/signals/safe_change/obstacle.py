"""What keeps a change from being accepted without a model."""

from worker.domain.value import Value
from worker.dossier.diff.parser import DiffLine
from worker.signals.analysis.change import AnalyzedFile


class Obstacle(Value):
    """A clause that says what could not be proved, and where: a file, a line of the head or, if removed, of the base."""

    reason: str
    path: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        position = self.path if self.line is None else f"{self.path}:{self.line}"
        return self.reason if position is None else f"{position}: {self.reason}"


def build_obstacle(file: AnalyzedFile, line: DiffLine, what: str) -> Obstacle:
    return Obstacle(what, file.path, line.head_line or line.base_line)
