"""The language and the role of a file by its path, whether it sets up CI or tools, and the mark of a generator in its first lines.

In doubt a file is *not* production code, so that no fact is found in it.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Final

from worker.domain.pattern import can_match, pattern


class Language(StrEnum):
    PYTHON = "python"
    JAVASCRIPT = "javascript"
    TYPESCRIPT = "typescript"
    TSX = "tsx"
    GO = "go"
    RUST = "rust"
    JAVA = "java"
    RUBY = "ruby"
    CSHARP = "csharp"
    PHP = "php"
    KOTLIN = "kotlin"


_LANGUAGES: Final = {
    "py": Language.PYTHON,
    **dict.fromkeys(("js", "mjs", "cjs", "jsx"), Language.JAVASCRIPT),
    **dict.fromkeys(("ts", "mts", "cts"), Language.TYPESCRIPT),
    "tsx": Language.TSX,
    "go": Language.GO,
    "rs": Language.RUST,
    "java": Language.JAVA,
    **dict.fromkeys(("rb", "rake"), Language.RUBY),
    "cs": Language.CSHARP,
    "php": Language.PHP,
    "kt": Language.KOTLIN,
}

SCRIPT_LANGUAGES: Final = frozenset({Language.JAVASCRIPT, Language.TYPESCRIPT, Language.TSX})
MORE_LANGUAGES: Final = frozenset({Language.RUBY, Language.CSHARP, Language.PHP, Language.KOTLIN})
"""Languages that are read in part.

Of C#, PHP and Kotlin the parameters of a function are unknown, of C# and Kotlin the values that a test binds to names; PHP between
HTML is parsed in part; comments and layout are never proved harmless. `signal.UNMEASURED_LANGUAGES` says which have no facts.
"""


class FileRole(StrEnum):
    """The purpose of a file. Only PRODUCTION code can have a stub that is a fact."""

    PRODUCTION = "production"
    TEST = "test"
    EXAMPLE = "example"
    FOREIGN = "foreign"
    """Generated, vendored, built, or a declaration without bodies."""


_TEST_FOLDERS: Final = pattern(
    r"^(tests?|testing|__tests__|specs?|e2e|it|integration[-_]?tests?|testdata|test[-_]?data|test[-_]?(?:utils?|libs?|helpers?|kits?|support)|\w*[-_]tests?"
    r"|test(ing)?[-_]\w+|[\w-]+-test(s|ing)?|[\w-]+-test(ing)?-(support|utils?|helpers?|kit|app|libs?)|fixtures?|__fixtures__|__mocks__|mocks?|fakes?|stubs?|goldens?|snapshots?"
    r"|__snapshots__|testFixtures|androidTest)$"
)
_TEST_NAMES: Final = pattern(
    r"^(test_.*|.*_tests?|conftest|.*[._-](test|spec|cy|e2e|mock|stub|fake|fixture)s?|tests?|mocks?|fakes?|Mock\w+|Fake\w+"
    r"|.*(Tests?|TestCase|IT|Spec|Mock|Fixtures?))$"
)
_EXAMPLE_FOLDERS: Final = pattern(
    r"^(examples?|demos?|samples?|docs?|documentation|docs?[-_](?:src|sources?|code|snippets?|site|website)|tutorials?|playgrounds?|sandbox|bench(es|marks?)?|templates?"
    r"|scaffolds?|snippets?|prototypes?|cookbooks?|notebooks?|website|site|skeletons?|boilerplates?|.*[-_](examples?|templates?))$",
    re.IGNORECASE,
)
_FOREIGN_FOLDERS: Final = pattern(
    r"^(vendor|vendored|_vendor|third[-_]?party|node_modules|dist|build|out|target|deno_dist|deno|generated|gen|__generated__"
    r"|external|extern|deps|typings|\.yarn|site-packages)$"
)
_FOREIGN_NAMES: Final = pattern(
    r"(\.pyi|\.d\.[mc]?ts|\.min\.\w+|\.bundle\.js|\.pb\.go|_pb2(_grpc)?\.py|\.(generated|gen)\.\w+|_(generated|gen)\.\w+"
    r"|\.g\.\w+|_string\.go)$|(^|/)(zz_generated|mock_)[^/]*$|_mocks?\.go$"
)
_TEST_CUSTOMS: Final = {
    Language.RUBY: pattern(r"(?:^|/)(?:features|step_definitions)/|(?:^|/)(?:spec|test)_helper\.rb$"),
    Language.CSHARP: pattern(
        r"(?:^|/)(?:[\w.]{1,100}[._-])?(?:\w{0,60}(?:Tests?|Specs|Testing)|tests?)/|(?:Facts?|Specs|Fixtures?|Scenarios?)\.cs$"
    ),
    Language.PHP: pattern(r"(?:^|/)(?:Tests?|Fixtures?|Testing)/|(?:^|/)Pest\.php$"),
    Language.KOTLIN: pattern(r"(?:^|/)[a-z]\w*Tests?/|(?:^|/)test[A-Z]\w*/|Tests?Base\.kt$"),
}
_FOREIGN_CUSTOMS: Final = {
    Language.RUBY: pattern(r"(?:^|/)(?:sorbet|rbi)/|(?:^|/)db/schema\.rb$"),
    Language.CSHARP: pattern(
        r"(?:^|/)(?:obj|bin|packages)/|\.(?:Designer|designer|g\.i)\.cs$|(?:^|/)AssemblyInfo\.cs$"
    ),
    Language.PHP: pattern(r"(?:^|/)_ide_helper\w*\.php$|(?:^|/)autoload_\w+\.php$"),
}
"""Paths that are customary in these languages only."""

_SIGNED: Final = pattern(
    r"@generated|code generated .*do not edit|do not edit|automatically generated|auto-?generated",
    re.IGNORECASE,
    needs=("generated", "do not ed"),
)
SIGNED_LINES: Final = 10
"""First lines, in which a generator signs."""

_SIGNED_CHARACTERS: Final = 4_000


@lru_cache(maxsize=4096)
def language_of(path: str) -> Language | None:
    _, dot, ending = path.rpartition("/")[2].rpartition(".")
    return _LANGUAGES.get(ending) if dot else None


_SHIPPED_FOLDERS: Final = pattern(r"(?:^|/)src/main/(?:java|kotlin|scala)/")
"""Maven and Gradle ship these: even in a module for testers, or named like a double, such a file is no test."""
_FOR_TESTERS: Final = pattern(r"^(?!.*(?:integration|e2e|smoke|functional))[\w.-]+-test(?:ing|kit)?$")
_DOUBLE: Final = pattern(r"^(?:Mock|Fake)\w+(?<!Tests)(?<!Test)$")


@lru_cache(maxsize=4096)
def role_of(path: str) -> FileRole:
    folders = path.split("/")[:-1]
    # no build of Go or Rust leaves sources in `build/`: there it is a package about building
    own = "build" if language_of(path) in {Language.GO, Language.RUST} else ""
    is_theirs = any(folder != own and _FOREIGN_FOLDERS.match(folder) for folder in folders)
    if is_theirs or _FOREIGN_NAMES.search(path) or _has_custom(_FOREIGN_CUSTOMS, path):
        return FileRole.FOREIGN
    if _is_test(path, folders):
        return FileRole.TEST
    return FileRole.EXAMPLE if any(map(_EXAMPLE_FOLDERS.match, folders)) else FileRole.PRODUCTION


def _is_test(path: str, folders: list[str]) -> bool:
    is_shipped = _SHIPPED_FOLDERS.search(path) is not None
    name = path.rpartition("/")[2]
    bare = name.rpartition(".")[0] or name
    counted = (folder for folder in folders if not (is_shipped and _FOR_TESTERS.match(folder)))
    is_named_so = _TEST_NAMES.match(bare) is not None and not (is_shipped and _DOUBLE.match(bare))
    return is_named_so or any(map(_TEST_FOLDERS.match, counted)) or _has_custom(_TEST_CUSTOMS, path)


def _has_custom(customs: Mapping[Language, re.Pattern[str]], path: str) -> bool:
    """Whether the path follows a custom of its language."""
    language = language_of(path)
    custom = customs.get(language) if language is not None else None
    return custom is not None and custom.search(path) is not None


def is_signed_by_generator(text: str) -> bool:
    beginning = text[:_SIGNED_CHARACTERS]
    lines = beginning.split("\n", SIGNED_LINES)[:SIGNED_LINES] if can_match(_SIGNED, beginning) else []
    return any(map(_SIGNED.search, lines))


_CI: Final = pattern(
    r"(^|/)(\.(github|gitea|forgejo)/(workflows|actions)/.*\.ya?ml|\.gitlab-ci[^/]*\.ya?ml|\.gitlab/.*\.ya?ml|\.circleci/.*\.ya?ml"
    r"|azure-pipelines[^/]*\.ya?ml|\.azure[^/]*/.*\.ya?ml|\.travis\.ya?ml|[Jj]enkinsfile[^/]*|bitbucket-pipelines\.ya?ml|\.buildkite/.*"
    r"|\.drone\.ya?ml|\.?appveyor\.ya?ml|\.cirrus\.ya?ml|\.woodpecker[^/]*(/.*)?\.ya?ml|\.semaphore/.*\.ya?ml|cloudbuild\.ya?ml)$",
    needs=(".yml", ".yaml", "jenkinsfile", ".buildkite"),
)
_TOOLS: Final = pattern(
    r"(^|/)(tox\.ini|noxfile\.py|setup\.cfg|pytest\.ini|pyproject\.toml|package\.json|(GNU)?[Mm]akefile|[^/]+\.mk|[Jj]ustfile|\.justfile"
    r"|Taskfile[^/]*\.ya?ml|\.coveragerc|\.?codecov\.ya?ml|(jest|vitest|vite|playwright|cypress|karma|wdio|ava|nyc|eslint|stylelint)[\w.-]*\.(config|conf|setup)\.\w+"
    r"|\.(nycrc|c8rc|mocharc|taprc|eslintrc)[^/]*|pom\.xml|build\.gradle(\.kts)?|nextest\.toml|phpunit[^/]*\.xml[^/]*|\.rspec|Rakefile"
    r"|\.pre-commit-config\.yaml|\.golangci\.ya?ml|\.?octocov[^/]*\.ya?ml|conftest\.py|tsconfig[\w.-]*\.json|\.?mypy\.ini|\.?ruff\.toml|\.flake8|\.?clippy\.toml|\.cargo/config(\.toml)?|biome\.jsonc?|deno\.jsonc?|pyrightconfig\.json|(scripts?|ci|\.ci|bin|hack|tools|build|tests?)/[^/]*\.(sh|bash|ps1)|[^/]*(test|check|ci)[^/]*\.(sh|bash))$",
    needs=(
        *(".ini", ".cfg", ".toml", ".json", ".xml", ".yml", ".yaml", ".mk", ".sh", ".bash", ".ps1", ".gradle"),
        *(".rspec", ".flake8", "noxfile", "conftest", "makefile", "justfile", "rakefile", "taskfile", "rc", "conf"),
        "setup",
    ),
)

_TEST_DATA: Final = pattern(
    r"(^|/)(fixtures?|__fixtures__|testdata|test-data|examples?|templates?|vendor|node_modules)/"
)
"""Inputs of tests are no set-up of tests."""


_DOCUMENT: Final = pattern(r"\.(?:mdx?|markdown|rst|txt|adoc|asciidoc)$", re.IGNORECASE)


def is_document(path: str) -> bool:
    return _DOCUMENT.search(path) is not None


def is_ci(path: str) -> bool:
    return _CI.search(path) is not None


def is_configuration(path: str) -> bool:
    return is_ci(path) or (_TOOLS.search(path) is not None and _TEST_DATA.search(path) is None)
