"""Comments that a tool acts upon: to a judge they are code.

Does not parse. Invariant: when in doubt a comment is a directive; such a change is looked at, no more.
"""

import re
from typing import Final

from worker.domain.pattern import pattern
from worker.judge.heuristics.paths import Language

_LONGEST: Final = 20_000
"""Characters of a comment that we read; a longer one counts as a directive."""

_ANYWHERE: Final = pattern(
    r"(?i:^#!|-\*-|\bcoding[:=]|\bvim?:|\bnoqa\b|\bnosec\b|\bpragma\b|__PURE__|__NO_SIDE_EFFECTS__|source(Mapp?ing)?URL|\bnolint|\bgolint\b|\blint:|#cgo"
    r"|#\s*type:\s*\S|\b(mypy|pyright|pylint|pyre|pytype|ruff|flake8|isort|fmt|yapf|black|autopep8|cython|distutils|doctest|sphinx|codespell|cspell|spell-?checker"
    r"|pyproject|bandit|radon|lgtm|codeql|sonar|deepsource|skipcq|coverage|pyupgrade|djlint|refurb|vulture|pyspelling|spotless|errorprone|hadolint"
    r"|shellcheck|semgrep|trivy|gitleaks|trufflehog|bazel|gazelle|cov)\s*:\s*\S"
    r"|\b(eslint|tslint|jshint|jslint|jscs|oxlint|stylelint|prettier|biome|rome|deno|dprint|rustfmt|clippy|clang|markdownlint|standard)-\w+"
    r"|\b(istanbul|nyc|[cv]8|node:coverage|tarpaulin|biome|oxlint|deno-coverage|stryker)\W+(ignore|disable|skip|restore|enable|exclude)"
    r"|@(ts-|vite|flow|jsx|license|preserve|internal|jest-|vitest-|generated|formatter|cc_on|noflow|providesModule|alpha|beta|public|packageDocumentation"
    r"|SuppressWarnings|checkstyle|noinspection|swagger|openapi|api\b|apiNote|implSpec|__|hidden|experimental|noinline|abstract|sealed|virtual|override)"
    r"|\bNOSONAR\b|\bCHECKSTYLE|\bNOPMD\b|\bPMD\b|\bnoinspection\b|\$NON-NLS|\bSPOTBUGS|\bFINDBUGS|\bLCOV_|\bGCOV_|\bjacoco\b|\bgrcov|\bJSCPD"
    r"|\b(run|check|build)-(pass|fail)\b|\bcompile-flags|do not edit|\bIWYU\b|clang-format"
    r"|\bCODEGEN\b|\bcog\b|\[\[\[|\]\]\]|<reference\b|<amd-|\bTODO\(bot\)|\bbuildifier|\bkeep-sorted|\bLINT\.|\brenovate\b|\bdependabot|x-release-please"
    r"|\b(ignore|disable|enable|suppress|exclude|skip)[-_](next|line|file|start|end|stop)|\w-*+:\s?(ignore|disable|off|skip|noqa|no-?lint)\b"
    r"|\b(tag|end)::|\[(START|END)\b|\bANCHOR(_END)?:|\bsnippet[-:]|\bdoc(s|tag|region)-?(start|end|region|tag)\b"
    r"|PYTHON_ARGCOMPLETE_OK|\bskip file\b|\bskip-file\b)"
    r"|\bSAFETY\b|\bDeprecated:"
)
"""Tools look for these wherever they stand in a comment."""

_AT_THE_START: Final = pattern(
    r"(eslint|tslint|jshint|jslint|istanbul|knip|biome|rustfmt|clippy|tarpaulin)\b|webpack[A-Z]\w*\s*:|\$Flow|(typos?|ty|infer|version|exec|eval)\s?:"
    r"|(unordered )?output:|#?(end)?region\b|(begin|end)\b[-_ :]?\S*$|%%|</?editor-fold|#\s*(?-i:include|define|undef|ifdef|ifndef|if|endif|pragma|cgo)\b",
    re.IGNORECASE,
)
"""Tools look for these at the beginning of a comment, or of a line of it."""

_LINE_START: Final = pattern(r"^[ \t]*(?://+[/!]?|/\*+!?|\*+/?|#+:?|<!--)?[ \t]*")
_TIGHT: Final = pattern(
    r"^\s*(//([a-z0-9_]+:\S| ?\+\w| ?@\w|~|(export|line|sys|sysnb|extern|DEPS|JAVA|SOURCES|REPOS|GAV)\b)|# ?[@+]\w|#\s*///"
    r"|/\*\s*(globals?|exported)\b)",
)
"""And for these right behind the marker."""

_JSDOC_TYPES: Final = pattern(
    r"@(type|typedef|param|returns?|template|import|satisfies|overload|callback|enum|this|extends|implements|prop(erty)?"
    r"|class|constructor|private|protected|readonly|deprecated|augments|async|yields?|throws|exports|module|member|constant|const)\b"
)


def is_directive(comment: str, language: Language) -> bool:
    """Whether a tool reads this comment, or a line of it: it begins with its marker (`#`, `//`, `/*`)."""
    return bool(directives_in(comment, language))


def is_licence(comment: str) -> bool:
    return _LICENCE.search(comment) is not None


def directives_in(comment: str, language: Language) -> str:
    """The lines of a comment that a tool reads; of a licence, each word counts."""
    if len(comment) > _LONGEST or is_licence(comment):
        return comment
    return "\n".join(line.strip() for line in comment.split("\n") if _is_read(line, language))


def _is_read(line: str, language: Language) -> bool:
    if _ANYWHERE.search(line) or _TIGHT.search(line):
        return True
    if language is Language.JAVASCRIPT and _JSDOC_TYPES.search(line):
        return True
    return _AT_THE_START.match(_LINE_START.sub("", line)) is not None


_LICENCE: Final = pattern(r"\bcopyright|\blicen[cs]ed?\b|\bSPDX|all rights reserved", re.IGNORECASE)
