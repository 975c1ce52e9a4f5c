"""New files that were committed by mistake.

Goes by names, and by what else the change holds. A file that title, issue, criteria or case name is none, and a fact is about a
file that no text of the dossier names or uses, and of a kind that nothing asks for.
"""

import re
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.dossier.diff import ChangeKind
from worker.signals.analysis.change import AnalyzedFile, CodeChange, memoized
from worker.signals.analysis.file_roles import FileRole, Language
from worker.signals.analysis.relatedness import list_request_texts, stem, stems_in
from worker.signals.analysis.syntax import is_comment
from worker.signals.scope_creep.unrelated_file import first_change, first_change_of_several, is_code, is_named
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal

if TYPE_CHECKING:
    from tree_sitter import Node

_LONGEST_NAME: Final = 100
_LEFT_BY_TOOLS: Final = pattern(
    r"(^|/)(\.DS_Store|Thumbs\.db|desktop\.ini|nohup\.out|\.coverage|\.eslintcache|npm-debug\.log[\w.]*|yarn-error\.log"
    r"|flycheck_[^/]+|\.?#[^/]+|[^/]+\.(orig|rej|bak|backup|swp|swo|pyc|pyo|class|o|obj|stackdump|hprof|pid)|[^/]+~)$"
    r"|(^|/)(__pycache__|node_modules|\.venv|site-packages|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.tox|\.gradle|\.idea"
    r"|\.(?:cursor|claude)/plans|htmlcov|\.ipynb_checkpoints)/"
)
_SCRATCH: Final = pattern(
    r"[^/]+\.(log|tmp|temp|out|patch|diff|dump|sqlite3?|db)"
    r"|((re)?pro(duce)?|repro|scratch|tmp|temp|foo|bar|baz|asdf|untitled|playground|debug|deleteme|try|quick|simple|verify"
    r"|check|demo|run|final|comprehensive|manual|edge)([_-]?(test|bug|issue|fix|script|case|check|it|me|demo|cases|final|v)"
    r"|[_-]\w+)?\d*\.(py|js|mjs|cjs|ts|go|rs|java|rb|php|sh|txt|md|ipynb)"
    r"|test(_\w*)?(_fix|_bug|_issue|_repro|_manual|_simple|_debug|_scratch|_tmp|_final|_comprehensive)\w*\.(py|js|ts|rb|sh)"
    r"|(test|new|old|copy|temp)\d?\.(py|js|ts|go|rs|java|rb|sh|txt)"
)
_PLANNED: Final = r"(?:implementation|issue|fix|bug|solution|refactor(?:ing)?|session|work)"
_OF_ONE_RUN: Final = pattern(
    r"(?:reproduc\w*?|repro|replicat\w*?|tmp|temp|scratch|deleteme|untitled|asdf)(?:[_-]\w+)?\d*\.(?:py|js|mjs|cjs|ts|go|rs|java|rb|php|sh|txt|ipynb)"
    rf"|{_PLANNED}(?:[_-]{_PLANNED})?[_-](?:plan|summary|notes|progress|analysis)\.md"
    r"|changes?[_-]summary\.md|(?:plan|scratchpad)\.md",
    re.IGNORECASE,
)
_OF_AN_EDITOR: Final = pattern(
    r"(?:^|/)(?:\.DS_Store|Thumbs\.db|desktop\.ini|flycheck_[^/]+|#[^/]+#|\.#[^/]+|[^/]+\.sw[po]|[^/]+~)$"
)
_TEST_DATA: Final = pattern(r"(?:^|/)(?:tests?|testdata|fixtures?|data)/", re.IGNORECASE)
_LONGEST_TEXT: Final = 40_000
_SENTENCE_END: Final = pattern(r"[.!?](?=\s)|\n\s*\n|\n\s*[-*#]")
_ASKS: Final = pattern(
    r"\b(?:add|write|create|provide|include|commit|attach|need|require|keep|draft|supply)(?:s|d|es|ed|ing)?\b",
    re.IGNORECASE,
)
_FILE: Final = pattern(
    r"\b(?:scripts?|files?|programs?|snippets?|documents?|repros?|reproducers?|reproductions?|plans?|summary|notes|analysis|scratchpad)\b",
    re.IGNORECASE,
)
_KINDS: Final = (
    ("reproduce", "reproduction", "reproducer", "repro", "replicate", "replication"),
    ("tmp", "temp", "temporary", "scratch", "scratchpad"),
    ("plan",),
    ("summary",),
    ("notes",),
    ("progress",),
    ("analysis",),
)
"""Words for files of one kind."""
_DEFINITIONS: Final = frozenset({"function_definition", "class_definition", "decorated_definition"})
_IMPORTS: Final = frozenset({"import_statement", "import_from_statement", "future_import_statement"})
_FUNCTION_OF_GO: Final = pattern(r"^func (\w{1,100})\(", re.MULTILINE)


@signal(
    Category.SCOPE_CREEP,
    SignalKind.FACT,
    SignalScope.ANYTHING,
    "Delete {place}, or say in the description what it is for.",
)
def scratch_file(change: CodeChange) -> Iterator[SignalMatch]:
    """A new file of one trial run, of an editor or with an agent's plan, beside a change of other files.

    A script at the root that reproduces an issue, an editor's swap file or `~` backup, a plan or summary of the work at the root.
    Nothing names it, uses it, or asks for such a file, and it does more than define what others could use.

    Why it matters: It is of no use to others, and is hard to take back once it is published.
    Example: A new `reproduce_issue.py` at the root, beside a fix in `src/`.
    False alarms: 1 of 30214 clean changes with anything (0.0 %, at most 0.02 %).
    """
    for file in _find_strays(change):
        if file in _find_scratch_files(change):
            line, side = first_change(file)
            note = "this file was left behind by a trial run, an editor or a plan"
            step = f"Delete {file.path}, or say in the description what it is for."
            yield SignalMatch(note, file.path, line, side=side, step=step)


@signal(Category.SCOPE_CREEP, SignalKind.SUSPICION, SignalScope.ANYTHING)
def stray_file(change: CodeChange) -> Iterator[SignalMatch]:
    """A new file is called like what tools and trial runs leave behind: a backup (`.bak`, `.orig`), a cache, an agent's plans, a scratch script at the root.

    Why it matters: It grows the repository, and may hold what was not meant for others.
    Example: A new `src/upload.py.orig`.
    False alarms: 5 of 30214 clean changes with anything (0.0 %, at most 0.04 %).
    """
    for file in _find_strays(change):
        if file not in _find_scratch_files(change):
            line, side = first_change_of_several(file)
            yield SignalMatch("this file looks left behind by a tool or a trial run", file.path, line, side=side)


def _find_strays(change: CodeChange) -> Iterator[AnalyzedFile]:
    for file in change.files:
        if file.diff.change is ChangeKind.ADDED and _is_stray(file) and not is_named(file, change):
            yield file


def _is_stray(file: AnalyzedFile) -> bool:
    if _LEFT_BY_TOOLS.search(file.path):
        return True
    if "/" in file.path or len(file.path) > _LONGEST_NAME:
        return False
    return file.diff.is_binary or any(names.fullmatch(file.path) for names in (_SCRATCH, _OF_ONE_RUN))


@memoized
def _find_scratch_files(change: CodeChange) -> tuple[AnalyzedFile, ...]:
    """The strays that nothing names, where the change is about something else."""
    new = [file for file in _find_strays(change) if _OF_ONE_RUN.fullmatch(file.path) or _OF_AN_EDITOR.search(file.path)]
    if not any(is_code(file) for file in change.files if file not in new):
        return ()
    return tuple(
        file
        for file in new
        if file.role in {FileRole.PRODUCTION, FileRole.TEST}
        and not _TEST_DATA.search(file.path)
        and not _is_used(file, change)
        and not _is_requested(file, change)
        and not _is_module(file)
    )


def _is_used(file: AnalyzedFile, change: CodeChange) -> bool:
    """Whether another text of the dossier names the file, whole or as a module; of Go, a function of it."""
    name = file.path.rpartition("/")[2]
    module = re.escape(name.partition(".")[0])
    naming = (
        rf"(?<![\w.-]){re.escape(name)}|\b(?:import|from|mod|require(?:_relative|_once)?|include(?:_once)?)\b[\s(\"'./]*{module}\b"
        rf"|^\s*(?:import|from\s[\w.]+\simport|use)\b[^\n]{{0,300}}\b{module}\b"
    )
    functions = _FUNCTION_OF_GO.findall(file.visible_text) if file.language is Language.GO else []
    shared = [re.escape(function) for function in functions if function not in {"main", "init"}]
    if shared:
        naming += rf"|\b(?:{'|'.join(shared)})\("
    texts = (text for path, text in change.texts.items() if path != file.path)
    visible = (other.visible_text for other in change.files if other is not file)
    return any(map(re.compile(naming, re.MULTILINE).search, chain(texts, visible)))


def _is_requested(file: AnalyzedFile, change: CodeChange) -> bool:
    """Whether a sentence of title, description, issue or criteria asks for a file of this kind."""
    stems = stems_in(file.path.rpartition("/")[2].partition(".")[0])
    kinds = [kind for names in _KINDS if not (kind := frozenset(map(stem, names))).isdisjoint(stems)]
    return any(not kind.isdisjoint(asked) for kind in kinds for asked in _find_request_sentences(change))


@memoized
def _find_request_sentences(change: CodeChange) -> tuple[frozenset[str], ...]:
    texts = (text[:_LONGEST_TEXT] for text in list_request_texts(change.dossier))
    sentences = (sentence for text in texts for sentence in _SENTENCE_END.split(text))
    return tuple(stems_in(sentence) for sentence in sentences if _ASKS.search(sentence) and _FILE.search(sentence))


def _is_module(file: AnalyzedFile) -> bool:
    """Whether running the file does nothing, as it only defines what others import. Read of Python alone."""
    if file.language is not Language.PYTHON:
        return False
    statements = [node for source in file.sources for node in source.root.named_children if not is_comment(node)]
    is_defining = any(node.type in _DEFINITIONS for node in statements)
    return is_defining and all(node.type in _DEFINITIONS or _is_passive(node) for node in statements)


def _is_passive(node: "Node") -> bool:
    """Whether it is an import, a text, or a name for a value that no call computes."""
    texts_and_values = (
        child.type == "string" or (child.type == "assignment" and b"(" not in (child.text or b""))
        for child in node.named_children
    )
    return node.type in _IMPORTS or (node.type == "expression_statement" and all(texts_and_values))
