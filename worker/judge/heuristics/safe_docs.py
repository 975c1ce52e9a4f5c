"""Whether a documentation file was changed in its prose only.

Does not read rendered output. Invariant: what a program reads or runs is no prose: rules for agents, prompts,
licences, requirements, configuration, front matter, templates, components, and code that may be tested.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from worker.domain.diff import ChangeKind, DiffLine, Hunk
from worker.judge.heuristics.change import ChangedFile

_MARKDOWN: Final = re.compile(r"\.(md|markdown)$", re.IGNORECASE)
_ASCIIDOC: Final = re.compile(r"\.(adoc|asciidoc)$", re.IGNORECASE)
_PROSE_FILE: Final = re.compile(r"\.(md|markdown|rst|txt|adoc|asciidoc)$", re.IGNORECASE)
_WELL_KNOWN: Final = re.compile(
    r"^(readme|change(s|log)?|change[-_]?log|history|news|release[-_ ]?notes?|contributing|contributors?|authors|credits|code[-_]of[-_]conduct"
    r"|governance|security|support|faq|upgrad(e|ing)|migrat(e|ion|ing)|maintain(ers|ing)|acknowledge?ments|todo|roadmap|architecture|design"
    r"|install(ation)?|hacking|developing|development|ecosystem|thanks)([-_.][a-z-]+)?$",
    re.IGNORECASE,
)
_HOMES: Final = re.compile(
    r"^(docs?|documentation|changelog|changelog\.d|changes|newsfragments|news\.d|manual|guides?|wiki|man)$",
    re.IGNORECASE,
)
_READ_BY_PROGRAMS: Final = re.compile(
    r"(^|/)(agents?|claude|gemini|copilot|cursor|windsurf|cline|codex|warp|skill|prompt|system|persona|soul|memory|llms(-full)?)"
    r"([-_.][^/]*)?\.(md|txt|mdc|markdown)$"
    r"|(^|/)(licen[cs]e|copying|notice|patents|unlicense|eula|copyright|third[-_]?party)[^/]*$"
    r"|(^|/)[^/]*(requirements?|constraints)[^/]*\.txt$|(^|/)(requirements?|constraints)/"
    r"|(^|/)(cmakelists|robots|humans|ads|security|version|versions|manifest|sources|top_level|entry_points|runtime|packages|words?(list)?"
    r"|dictionary|spelling[^/]*|allowlist|denylist|ignore[^/]*|stopwords|codeowners|pull_request_template|issue_template|bug_report"
    r"|feature_request)\.(txt|md)$"
    r"|(^|/)(version|codeowners)$"
    r"|\.(prompt|instructions|agent|chatmode|mode|tmpl|tpl|template|j2|in)\.(md|txt|rst)$",
    re.IGNORECASE,
)
_FOLDERS_READ_BY_PROGRAMS: Final = re.compile(
    r"^(\.(?!github$).*|prompts?|skills?|agents?|rules?|commands?|instructions|chatmodes|personas?|templates?|_templates?|.*[-_]templates?"
    r"|issue_template|pull_request_template|workflows|fixtures?|test[-_]?data|testdata|snapshots?|__snapshots__|goldens?|resources|assets"
    r"|static|public|tests?|testing|__tests__|specs?|_?includes?|partials|layouts|vendor|third_party|node_modules|dist|build|locales?|i18n|site-packages)$",
    re.IGNORECASE,
)
_PLAIN_LANGUAGES: Final = frozenset(
    [
        "bash",
        "sh",
        "shell",
        "zsh",
        "fish",
        "console",
        "shell-session",
        "sh-session",
        "bat",
        "batch",
        "powershell",
        "ps1",
        "cmd",
        "text",
        "txt",
        "plain",
        "plaintext",
        "none",
        "output",
        "log",
        "json",
        "jsonc",
        "json5",
        "yaml",
        "yml",
        "toml",
        "ini",
        "cfg",
        "conf",
        "properties",
        "env",
        "dotenv",
        "diff",
        "patch",
        "xml",
        "css",
        "sql",
        "http",
        "dockerfile",
        "docker",
        "makefile",
        "make",
        "csv",
        "gitignore",
        "nginx",
        "caddy",
        "caddyfile",
        "groovy",
        "gradle",
        "mermaid",
    ]
)
_LIVE_TEXT: Final = re.compile(
    r"<!--|-->|<script|<style|<iframe|</?[A-Z]\w*[\s/>]|\{%|\{\{|\}\}|^\s*(import|export)\s.*(from|\{)|^\s*\{[^}]*\}\s*$|>>> |^\s*>>>|^\s*\.\.\. \S"
    r"|^(<{7}|={7}|>{7})(\s|$)|^\[//\]:|^\s*:\w[\w-]*:\s*$|^%\w+|^\s*include::|<\?",
)


def is_prose_only(file: ChangedFile) -> bool:
    """Whether the change of this file is proved to be prose."""
    diff = file.diff
    if (
        diff.change not in {ChangeKind.ADDED, ChangeKind.MODIFIED}
        or not diff.hunks
        or diff.is_symlink
        or diff.is_submodule
    ):
        return False
    if diff.old_mode is not None and diff.old_mode != diff.new_mode:
        return False
    if not is_documentation(file.path) or any(_is_live(line.text) for line in (*diff.added, *diff.removed)):
        return False
    if file.head is not None and file.base is not None:
        head, base = _Text(file.path, file.head.split("\n")), _Text(file.path, file.base.split("\n"))
        return all(head.is_prose(line.head_line) for line in diff.added) and all(
            base.is_prose(line.base_line) for line in diff.removed
        )
    return all(_is_prose_hunk(file.path, hunk) for hunk in diff.hunks)


def _is_live(line: str) -> bool:
    """Whether the line holds what a program acts upon: a marker, a component, a template, a prompt of a session."""
    return len(line) > _LONGEST or _LIVE_TEXT.search(_INLINE_CODE.sub("", line)) is not None


_LONGEST: Final = 4_000
_INLINE_CODE: Final = re.compile(r"(`+)[^`].*?\1")


def is_documentation(path: str) -> bool:
    """Documentation in a conventional place, that no program is known to read."""
    *folders, name = path.split("/")
    stem, _, _ = name.partition(".")
    if _READ_BY_PROGRAMS.search(path) or any(map(_FOLDERS_READ_BY_PROGRAMS.match, folders)):
        return False
    known = _WELL_KNOWN.match(stem) is not None
    if not _PROSE_FILE.search(name):
        return known and "." not in name
    at_home = any(map(_HOMES.match, folders))
    if name.lower().endswith(".txt"):
        return known or at_home
    return known or at_home or len(folders) == 0 or folders == [".github"]


@dataclass
class _Text:
    """A document, or a piece of one, and which of its lines are not prose."""

    path: str
    lines: Sequence[str]
    code: set[int] = field(default_factory=set[int])

    def __post_init__(self) -> None:
        if _MARKDOWN.search(self.path):
            self.code.update(_front_matter(self.lines))
            self.code.update(_fenced(self.lines, tested="src" in self.path.split("/")))
        elif _ASCIIDOC.search(self.path):
            self.code.update(_delimited(self.lines))
        else:
            self.code.update(_literal(self.lines))

    def is_prose(self, number: int | None) -> bool:
        return number is not None and number not in self.code


def _front_matter(lines: Sequence[str]) -> Iterator[int]:
    if not lines or lines[0].strip() not in {"---", "+++"}:
        return
    for number, line in enumerate(lines, start=1):
        yield number
        if number > 1 and line.strip() == lines[0].strip():
            return


_FENCE: Final = re.compile(r"^[\s>]*(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}|~{3,})\s*(.*)$")


def _fenced(lines: Sequence[str], *, tested: bool) -> Iterator[int]:
    """Lines of fenced blocks that somebody may run, and the fences of all of them."""
    fence, runs = "", False
    for number, line in enumerate(lines, start=1):
        found = _FENCE.match(line)
        if fence:
            closes = found is not None and found[1].startswith(fence) and not found[2].strip()
            if runs or closes:
                yield number
            fence = "" if closes else fence
        elif found is not None:
            fence, runs = found[1], _may_run(found[2])
            yield number
        elif tested and line.startswith(("    ", "\t")):
            yield number  # rustdoc runs indented blocks, too


def _may_run(information: str) -> bool:
    """A fence without a language is tested by rustdoc; one with more than a language is told what to do."""
    words = information.strip().lower().split()
    return len(words) != 1 or words[0].strip("{}.") not in _PLAIN_LANGUAGES


_DIRECTIVE: Final = re.compile(r"^(\s*)(?:[-*+]\s+)?\.\.\s+([\w:-]+)::\s*(.*)$")
_EXPLICIT: Final = re.compile(r"^\s*\.\.\s+(_[^:]+:|\[[^\]]+\]|\|[^|]+\|\s+(replace|image|unicode)::)")
_COMMENT: Final = re.compile(r"^\s*\.\.(\s|$)")
_PROSE_DIRECTIVES: Final = frozenset(
    [
        "note",
        "warning",
        "tip",
        "important",
        "caution",
        "danger",
        "attention",
        "hint",
        "error",
        "seealso",
        "admonition",
        "versionadded",
        "versionchanged",
        "versionremoved",
        "deprecated",
        "topic",
        "sidebar",
        "epigraph",
        "rubric",
        "centered",
        "image",
        "figure",
        "list-table",
        "table",
        "csv-table",
        "glossary",
        "contents",
        "container",
    ]
)


def _literal(lines: Sequence[str]) -> Iterator[int]:
    """Lines of literal blocks and of directives whose content is not prose (reStructuredText and plain text)."""
    outside: int | None = None
    for number, line in enumerate(lines, start=1):
        indent = len(line) - len(line.lstrip())
        if outside is not None and (not line.strip() or indent > outside):
            yield number
            continue
        outside = None
        found = _DIRECTIVE.match(line)
        if found is not None:
            if not _is_prose_directive(found[2], found[3]):
                yield number
                outside = indent
        elif _EXPLICIT.match(line):
            continue
        elif _COMMENT.match(line):
            yield number
            outside = indent
        elif line.rstrip().endswith("::"):
            outside = indent


def _is_prose_directive(name: str, argument: str) -> bool:
    if name in {"code-block", "code", "sourcecode"}:
        return argument.strip().lower() in _PLAIN_LANGUAGES
    return name in _PROSE_DIRECTIVES


def _delimited(lines: Sequence[str]) -> Iterator[int]:
    """Blocks between delimiters, block attributes and document attributes (AsciiDoc)."""
    fence = ""
    for number, line in enumerate(lines, start=1):
        text = line.rstrip()
        mark = re.fullmatch(r"(-{4,}|\.{4,}|\+{4,}|/{4,}|`{3,}.*)", text)
        if fence or mark or re.match(r"\[|:[\w-]+:|(ifdef|ifndef|include|endif)::", text):
            yield number
        if mark:
            fence = "" if fence == text else (fence or text)


_CODE_LIKE: Final = re.compile(
    r"[{};]\s*$|\w\($|^\s*(def|class|import|from|let|const|var|fn|func|use|return|assert|print|with|for|if|@\w+)\b.*[:;(){}=]"
)


def _is_prose_hunk(path: str, hunk: Hunk) -> bool:
    """Without the whole text: only what can't be inside of a code block, whatever stands above the hunk."""
    for side in ("head_line", "base_line"):
        shown = [line for line in hunk.lines if getattr(line, side) is not None]
        piece = _Text(path, [line.text for line in shown])
        for number, line in enumerate(shown, start=1):
            changed = line.head_line is None or line.base_line is None
            if changed and line.text.strip() and not (piece.is_prose(number) and _stands_free(path, shown, number - 1)):
                return False
    return True


def _stands_free(path: str, lines: Sequence[DiffLine], at: int) -> bool:
    if _MARKDOWN.search(path):
        if any(_FENCE.match(line.text) for line in lines):
            return False
        text = lines[at].text
        if text.startswith(("    ", "\t")):
            return False
        words = re.findall(r"[A-Za-z]{2,}", text)
        return _ITEM.match(text) is not None or (len(words) >= _FEW and not _CODE_LIKE.search(text))
    start = at
    while start > 0 and lines[start - 1].text.strip():
        start -= 1
    return not lines[start].text[:1].isspace()


_FEW: Final = 3
_ITEM: Final = re.compile(r" {0,3}([-*] +[\w*_`\[(\"']|#{2,6} *\S)")
