"""CI and tool configuration as lines, and doubts about a green CI."""

import pytest

from tests.worker.signals.made import changed_file
from worker.domain.dossier import Ci, CiCheck
from worker.signals.analysis.ci_config import (
    HeadLines,
    command_of,
    find_block,
    find_ci_doubt,
    is_ci,
    is_configuration,
    runs_checks,
    runs_tests,
)


@pytest.mark.parametrize(
    "path",
    [
        ".github/workflows/a.yml",
        ".gitlab-ci.yml",
        ".circleci/config.yml",
        "azure-pipelines.yml",
        "Jenkinsfile",
        ".travis.yml",
    ],
)
def test_files_of_ci_are_known(path: str) -> None:
    assert is_ci(path)
    assert is_configuration(path)


@pytest.mark.parametrize(
    "path",
    [
        "tox.ini",
        "noxfile.py",
        "package.json",
        "sub/Makefile",
        "jest.config.ts",
        "codecov.yml",
        "pom.xml",
        "ci/run.sh",
        ".coveragerc",
    ],
)
def test_files_of_tools_are_known(path: str) -> None:
    assert is_configuration(path)
    assert not is_ci(path)


@pytest.mark.parametrize(
    "path", ["src/a.py", "README.md", "tests/fixtures/package.json", "config.yml", "examples/tox.ini"]
)
def test_other_files_are_none(path: str) -> None:
    assert not is_configuration(path)


@pytest.mark.parametrize(
    "line",
    [
        "      - run: pytest -q",
        "        run: npm test",
        "run: npm run test:unit -- --ci",
        '    "test": "vitest run",',
        "\tgo test ./...",
        "    cargo test --workspace",
        "commands = python -m unittest",
        "  - ./gradlew check",
        "mvn -B verify",
        "run: make test-${{ matrix.features }}",
        "      - run: uv run pytest",
        "  script: tox",
        "      - run: ./scripts/test.sh --all",
        "- bundle exec rspec",
        "- dotnet test",
    ],
)
def test_a_line_that_runs_tests_is_known(line: str) -> None:
    assert runs_tests(line)
    assert runs_checks(line)


@pytest.mark.parametrize(
    "line",
    [
        "run: pip install pytest",
        "run: npm ci",
        "- uses: actions/checkout@v4",
        "# run: pytest",
        'run: echo "tests are run elsewhere"',
        "name: Test",
        "run: make html",
        "pytest==8.0",
        "yarn add jest",
        "path: tests/results.xml",
    ],
)
def test_a_line_that_runs_none_is_known_too(line: str) -> None:
    assert not runs_tests(line)


@pytest.mark.parametrize("line", ["run: npx eslint .", "run: ruff check", "- cargo clippy", "run: npm run lint"])
def test_linters_are_checks_but_no_tests(line: str) -> None:
    assert runs_checks(line)
    assert not runs_tests(line)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("      - run: pytest -q", "pytest -q"),
        ('  "test": "jest --ci",', "jest --ci"),
        ("\t@go test ./...", "go test ./..."),
        ("run: |", ""),
        ("commands = tox", "tox"),
        ("", ""),
    ],
)
def test_a_command_is_read_without_what_is_around_it(line: str, command: str) -> None:
    assert command_of(line) == command


STEPS = HeadLines(1, ("steps:", "  - name: a", "    run: b", "", "    with:", "      c: d", "  - run: e", "other: f"))


@pytest.mark.parametrize(("line", "first", "last"), [(3, 2, 6), (2, 2, 6), (7, 7, 7), (6, 5, 6), (1, 1, 8), (8, 1, 8)])
def test_a_block_is_what_the_line_is_a_key_of(line: int, first: int, last: int) -> None:
    found = find_block(STEPS, line)
    assert (found.start, found.stop - 1) == (first, last)


def test_a_block_is_looked_at_a_limited_distance_far() -> None:
    view = HeadLines(1, tuple(f"k{n}: v" for n in range(1_000)))
    assert len(find_block(view, 500)) <= 402


def test_lines_that_changed_together_are_one_edit() -> None:
    file = changed_file("a.txt", "a\nb\nc\nd\ne\n", "a\nB\nc\nD\ne\nf\n")
    shown = [([one.text for one in edit.removed], [one.text for one in edit.added]) for edit in file.edit_blocks]
    assert shown == [(["b"], ["B"]), (["d"], ["D"]), ([], ["f"])]


def check(name: str, conclusion: str | None, *, required: bool | None = None, attempt: int = 1) -> CiCheck:
    return CiCheck(name=name, conclusion=conclusion, required=required, attempt=attempt)


def test_a_failed_check_that_is_not_required_speaks_against_the_change() -> None:
    ci = Ci(checks=(check("test", "success", required=True), check("fuzz", "failure", required=False)))
    assert find_ci_doubt(ci) == "fuzz failed, though it is not required"


def test_a_required_check_that_needed_reruns_speaks_against_it() -> None:
    assert (
        find_ci_doubt(Ci(checks=(check("test", "success", required=True, attempt=3),)))
        == "test passed only at attempt 3"
    )


@pytest.mark.parametrize(
    "ci",
    [
        None,
        Ci(),
        Ci(checks=(check("test", "success", required=True),)),
        Ci(checks=(check("lint", "success", attempt=2),)),
        Ci(checks=(check("lint", "failure"),)),
        Ci(checks=(check("docs", None, required=False),)),
    ],
)
def test_what_passed_or_is_not_known_raises_no_doubt(ci: Ci | None) -> None:
    assert find_ci_doubt(ci) is None
