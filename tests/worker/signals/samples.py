"""Dossiers made from texts before and after a change."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from worker.domain.dossier import Dossier
from worker.domain.verdict.verdict import Category, Rubric, RubricCriterion
from worker.signals.analysis.change import AnalyzedFile, CodeChange, Source
from worker.signals.analysis.file_roles import Language
from worker.signals.heuristic_opinion import REGISTERED_NAMES

Texts = Mapping[str, str]

RUBRIC = Rubric(
    id="made",
    version="1",
    criteria=(RubricCriterion(id="correctness", question="Right?", ten="Right."),),
    categories=dict.fromkeys(Category, "words"),
    signals=dict.fromkeys(REGISTERED_NAMES, 0.4),
)


def diff_of(before: Texts, after: Texts) -> str:
    """The diff that git prints; each text ends with a newline."""
    paths = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    return "".join(file_diff(path, before.get(path), after.get(path)) for path in paths)


def file_diff(path: str, before: str | None, after: str | None) -> str:
    mode = "new file mode 100644\n" if before is None else "deleted file mode 100644\n" if after is None else ""
    old, new = ("/dev/null" if before is None else f"a/{path}"), ("/dev/null" if after is None else f"b/{path}")
    lines = difflib.unified_diff(_lines(before), _lines(after), old, new)
    return f"diff --git a/{path} b/{path}\n{mode}index 1111111..2222222{'' if mode else ' 100644'}\n{''.join(lines)}"


def _lines(text: str | None) -> list[str]:
    return [f"{line}\n" for line in (text or "").split("\n")[:-1]]


def dossier_of(
    before: Texts,
    after: Texts,
    *,
    texts: bool = True,
    title: str = "Change",
    issue: str | None = None,
    absent: Sequence[Mapping[str, object]] = (),
    **more: Any,
) -> Dossier:
    """The dossier of a change; *texts* adds the head's files, *absent* files that do not exist."""
    files = [*({"path": path, "text": text} for path, text in after.items() if texts), *absent]
    return plain_dossier(diff_of(before, after), title, issue, **({"files": files} if texts or absent else {}), **more)


def plain_dossier(
    diff: str,
    title: str = "Change",
    issue: str | None = None,
    pull_request: Mapping[str, str] | None = None,
    **more: object,
) -> Dossier:
    """*pull_request* overrides its usual fields; *more* are fields of the dossier."""
    pull = {
        "repository": "acme/widgets",
        "number": 1,
        "title": title,
        "body": "",
        "author": "alice",
        "base_sha": "a" * 40,
        "head_sha": "b" * 40,
        **(pull_request or {}),
    }
    issues: Sequence[object] = [] if issue is None else [{"number": 7, "title": issue, "body": ""}]
    return Dossier.model_validate({"pull_request": pull, "diff": diff, "issues": issues, **more})


def change_of(
    before: Texts, after: Texts, *, texts: bool = True, title: str = "Change", issue: str | None = None
) -> CodeChange:
    return CodeChange(dossier_of(before, after, texts=texts, title=title, issue=issue))


def source_of(text: str, language: Language) -> Source:
    return Source(text, 1, is_whole=True, language=language)


def changed_file(path: str, before: str | None, after: str, *, texts: bool = True) -> AnalyzedFile:
    (file,) = change_of({} if before is None else {path: before}, {path: after}, texts=texts).files
    return file
