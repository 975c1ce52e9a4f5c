"""Whether a documentation file was changed in its prose only.

Does not read rendered output. Invariant: what a program reads or runs is no prose: rules for agents, prompts,
licences, requirements, configuration, front matter, templates, components, and code that may be tested.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from worker.domain.diff import ChangeKind, Hunk
from worker.domain.pattern import pattern
from worker.judge.heuristics.change import ChangedFile

_MARKDOWN: Final = pattern(r"\.(md|markdown)$", re.IGNORECASE)
_ASCIIDOC: Final = pattern(r"\.(adoc|asciidoc)$", re.IGNORECASE)
_PROSE_FILE: Final = pattern(r"\.(md|markdown|rst|txt|adoc|asciidoc)$", re.IGNORECASE)
_WELL_KNOWN: Final = pattern(
    r"^(readme|change(s|log)?|change[-_]?log|history|news|release[-_ ]?notes?|contributing|contributors?|authors|credits|code[-_]of[-_]conduct"
    r"|governance|security|support|faq|upgrad(e|ing)|migrat(e|ion|ing)|maintain(ers|ing)|acknowledge?ments|todo|roadmap|architecture|design"
    r"|install(ation)?|hacking|developing|development|ecosystem|thanks)([-_.][a-z-]+)?$",
    re.IGNORECASE,
)
_HOMES: Final = pattern(
    r"^(docs?|documentation|changelog|changelog\.d|changes|newsfragments|news\.d|manual|guides?|wiki|man|www|website|site)$",
    re.IGNORECASE,
)
_READ_BY_PROGRAMS: Final = pattern(
    r"(^|/)(agents?|claude|gemini|copilot|cursor|windsurf|cline|codex|warp|skill|prompt|system|persona|soul|memory|llms(-full)?)"
    r"([-_.][^/]*)?\.(md|txt|mdc|markdown)$"
    r"|(^|/)(licen[cs]e|copying|notice|patents|unlicense|eula|copyright|third[-_]?party([-_. ]?(notices?|licen[cs]es?))?(?=[.]|$))[^/]*$"
    r"|(^|/)[^/]*(requirements?|constraints)[^/]*\.txt$|(^|/)(requirements?|constraints)/"
    r"|(^|/)(cmakelists|robots|humans|ads|version|versions|manifest|sources|top_level|entry_points|runtime|packages|words?(list)?"
    r"|dictionary|spelling[^/]*|allowlist|denylist|ignore[^/]*|stopwords|codeowners|pull_request_template|issue_template|bug_report"
    r"|feature_request)\.(txt|md)$"
    r"|(^|/)(version|codeowners)$|(^|/)security\.txt$"
    r"|\.(prompt|instructions|agent|chatmode|mode|tmpl|tpl|template|j2|in)\.(md|txt|rst)$",
    re.IGNORECASE,
)
_FOLDERS_READ_BY_PROGRAMS: Final = pattern(
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
_LIVE_TEXT: Final = pattern(
    r"<!--|-->|<script|<style|<iframe|</?[A-Z]\w*[\s/>]|\{%|\{\{|\}\}|^\s*(import|export)\s.*(from|\{)|^\s*\{[^}]*\}\s*$|>>> "
    r"|^(<{7}|={7}|>{7})(\s|$)|^\[//\]:|^\s*:\w[\w-]*:\s*$|^%\w+|^\s*include::|<\?",
)


def is_prose_only(file: ChangedFile) -> bool:
    """Whether the change of this file is proved to be prose."""
    diff = file.diff
    if diff.change not in {ChangeKind.ADDED, ChangeKind.MODIFIED} or not diff.hunks or diff.is_symlink:
        return False
    if diff.is_submodule or diff.old_mode not in {None, diff.new_mode}:
        return False
    if diff.change is ChangeKind.ADDED and not _is_expected(file.path):
        return False
    if not is_documentation(file.path) or any(_is_live(line.text) for line in (*diff.added, *diff.removed)):
        return False
    if file.head is not None and file.base is not None:
        return _code(file.path, file.base) == _code(file.path, file.head)
    return all(_is_prose_hunk(file.path, hunk) for hunk in diff.hunks)


def _code(path: str, text: str) -> list[str]:
    """What of a document is not prose, in its order: that has to be the same before and after."""
    lines = text.split("\n")
    return [lines[number - 1] for number in sorted(code_lines(path, lines))]


def _is_expected(path: str) -> bool:
    """Whether a new document stands where documents are looked for; a plan or a report at the root was left behind."""
    *folders, name = path.split("/")
    return any(map(_HOMES.match, folders)) or _WELL_KNOWN.match(name.partition(".")[0]) is not None


def _is_live(line: str) -> bool:
    """Whether the line holds what a program acts upon: a marker, a component, a template, a prompt of a session."""
    return len(line) > _LONGEST or _LIVE_TEXT.search(_INLINE_CODE.sub("", line)) is not None


_LONGEST: Final = 4_000
_INLINE_CODE: Final = pattern(r"(`+)[^`].*?\1")


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


def code_lines(path: str, lines: Sequence[str]) -> set[int]:
    """The numbers of the lines of a document, or of a piece of one, that are not prose."""
    tested = set(_doctests(lines))
    if _MARKDOWN.search(path):
        return tested | {*_front_matter(lines), *_fenced(lines, tested="src" in path.split("/"))}
    return tested.union(_delimited(lines) if _ASCIIDOC.search(path) else _literal(lines))


def _doctests(lines: Sequence[str]) -> Iterator[int]:
    """Examples of an interactive session, with what they print: up to the next empty line."""
    inside = False
    for number, line in enumerate(lines, start=1):
        inside = bool(line.strip()) and (inside or line.lstrip().startswith(">>>"))
        if inside:
            yield number


def _front_matter(lines: Sequence[str]) -> Iterator[int]:
    if not lines or lines[0].strip() not in {"---", "+++"}:
        return
    for number, line in enumerate(lines, start=1):
        yield number
        if number > 1 and line.strip() == lines[0].strip():
            return


_FENCE: Final = pattern(r"^[\s>]*(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}|~{3,})\s*(.*)$")


def _fenced(lines: Sequence[str], *, tested: bool) -> Iterator[int]:
    """Lines of fenced blocks that somebody may run, with their fences."""
    fence, runs = "", False
    for number, line in enumerate(lines, start=1):
        found = _FENCE.match(line)
        if fence:
            closes = found is not None and found[1].startswith(fence) and not found[2].strip()
            if runs:
                yield number
            fence = "" if closes else fence
        elif found is not None:
            fence, runs = found[1], _may_run(found[2])
            if runs:
                yield number
        elif tested and line.startswith(("    ", "\t")):
            yield number  # rustdoc runs indented blocks, too


def _may_run(information: str) -> bool:
    """A fence without a language is tested by rustdoc; one with more than a language is told what to do."""
    words = information.strip().lower().split()
    return len(words) != 1 or words[0].strip("{}.") not in _PLAIN_LANGUAGES


_DIRECTIVE: Final = pattern(r"^(\s*)(?:[-*+]\s+)?\.\.\s+([\w:-]+)::\s*(.*)$")
_EXPLICIT: Final = pattern(r"^\s*\.\.\s+(_[^:]+:|\[[^\]]+\]|\|[^|]+\|\s+(replace|image|unicode)::)")
_COMMENT: Final = pattern(r"^\s*\.\.(\s|$)")
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
                outside = None if _DESCRIPTION.search(found[2]) else indent
        elif _EXPLICIT.match(line):
            continue
        elif _COMMENT.match(line):
            yield number
            outside = indent
        elif line.rstrip().endswith("::"):
            outside = indent


_DESCRIPTION: Final = pattern(
    r"^(auto)?(\w+:)?(function|method|classmethod|staticmethod|class|attribute|property|data|module|exception|decorator|describe|object|option|envvar|term|type"
    r"|macro|member|currentmodule)$"
)
"""Directives that name a thing; what stands below is prose about it."""


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


_CODE_LIKE: Final = pattern(
    r"[{};]\s*$|\w\($|^\s*(def|class|import|from|let|const|var|fn|func|use|return|assert|print|with|for|if|@\w+)\b.*[:;(){}=]"
)


def _is_prose_hunk(path: str, hunk: Hunk) -> bool:
    """Without the whole text: only what can't be inside of a code block, whatever stands above the hunk."""
    for side in ("base_line", "head_line"):
        shown = [line for line in hunk.lines if getattr(line, side) is not None]
        texts = [line.text for line in shown]
        code = _perhaps_code(texts) if _MARKDOWN.search(path) else code_lines(path, texts) | _indented(texts)
        changed = [at for at, line in enumerate(shown, start=1) if line.head_line is None or line.base_line is None]
        if any(_CONTINUED.match(texts[at - 1]) or (at in code and texts[at - 1].strip()) for at in changed):
            return False
    return True


_CONTINUED: Final = pattern(r"\s*\.\.\. \S")
"""The next line of an interactive example, whose first line may stand above the hunk."""


def _perhaps_code(lines: Sequence[str]) -> set[int]:
    """Lines of Markdown that are fences or code, or may be, as the first fence may begin a block or end one.

    A fence that names a language begins a block, so what stands before it is none. A whole sentence is prose, too:
    in a block without a language nobody runs it.
    """
    starts = [number for number, line in enumerate(lines, start=1) if _opens(line)]
    first = next((number for number, line in enumerate(lines, start=1) if _FENCE.match(line)), len(lines) + 1)
    known = starts[:1] == [first]
    rest = code_lines("a.md", [*[""] * (starts[0] - 1), *lines[starts[0] - 1 :]]) if starts else set[int]()
    unsure = range(1, first if known else starts[0] if starts else len(lines) + 1)
    fences = {number for number, line in enumerate(lines, start=1) if _FENCE.match(line)}
    has_bare_fence = not known and bool(fences)
    return (
        rest | fences | {number for number in unsure if not _reads_like_prose(lines[number - 1], alone=has_bare_fence)}
    )


def _opens(line: str) -> bool:
    found = _FENCE.match(line)
    return found is not None and bool(found[2].strip())


def _reads_like_prose(line: str, *, alone: bool) -> bool:
    """Whether the line can't be code: a sentence, or, where no fence is near (not *alone*), an item or a heading."""
    if line.startswith(("    ", "\t")):
        return not alone and _NESTED_ITEM.match(line) is not None
    words = _WORD.findall(line)
    if alone:
        return len(words) >= _SENTENCE and not _CODE_LIKE.search(line) and line.lstrip()[:1] not in "#/"
    return _ITEM.match(line) is not None or (len(words) >= _FEW and not _CODE_LIKE.search(line))


def _indented(lines: Sequence[str]) -> set[int]:
    """Lines whose paragraph begins indented: they may belong to a block above."""
    found: set[int] = set()
    inside = False
    for number, line in enumerate(lines, start=1):
        if number == 1 or not lines[number - 2].strip():
            inside = line[:1].isspace()
        if inside:
            found.add(number)
    return found


_FEW: Final = 3
_SENTENCE: Final = 6
_WORD: Final = pattern(r"[A-Za-z]{2,}")
_ITEM: Final = pattern(r" {0,3}(([-*+]|\d+[.)]) +[\w*_`\[(\"']|#{2,6} *\S|\|.*\|\s*$)")
_NESTED_ITEM: Final = pattern(r" {4,7}([-*+]|\d+[.)]) +\S")
