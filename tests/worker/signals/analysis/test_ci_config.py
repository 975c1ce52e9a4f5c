"""CI and tool configuration as lines, and doubts about a green CI."""

import pytest

from tests.worker.signals.samples import changed_file
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
    ("paths", "expected"),
    [
        (
            ".github/workflows/a.yml .gitlab-ci.yml .circleci/config.yml azure-pipelines.yml Jenkinsfile .travis.yml",
            (True, True),
        ),
        (
            "tox.ini noxfile.py package.json sub/Makefile jest.config.ts codecov.yml pom.xml ci/run.sh .coveragerc",
            (False, True),
        ),
        ("src/a.py README.md tests/fixtures/package.json config.yml examples/tox.ini", (False, False)),
    ],
    ids=["CI", "tools", "others"],
)
def test_files_of_ci_and_of_tools_are_known(paths: str, expected: tuple[bool, bool]) -> None:
    known = {path: (is_ci(path), is_configuration(path)) for path in paths.split()}
    assert known == dict.fromkeys(paths.split(), expected)


RUN_TESTS = """\
      - run: pytest -q
        run: npm test
run: npm run test:unit -- --ci
    "test": "vitest run",
	go test ./...
    cargo test --workspace
commands = python -m unittest
  - ./gradlew check
mvn -B verify
run: make test-${{ matrix.features }}
      - run: uv run pytest
  script: tox
      - run: ./scripts/test.sh --all
- bundle exec rspec
- dotnet test"""
RUN_LINTERS = "run: npx eslint .\nrun: ruff check\n- cargo clippy\nrun: npm run lint"
RUN_NEITHER = """\
run: pip install pytest
run: npm ci
- uses: actions/checkout@v4
# run: pytest
run: echo "tests are run elsewhere"
name: Test
run: make html
pytest==8.0
yarn add jest
path: tests/results.xml"""


@pytest.mark.parametrize(
    ("lines", "expected"),
    [(RUN_TESTS, (True, True)), (RUN_LINTERS, (False, True)), (RUN_NEITHER, (False, False))],
    ids=["tests", "linters", "neither"],
)
def test_a_line_that_runs_tests_or_other_checks_is_known(lines: str, expected: tuple[bool, bool]) -> None:
    known = {line: (runs_tests(line), runs_checks(line)) for line in lines.split("\n")}
    assert known == dict.fromkeys(known, expected)


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


FUZZ_FAILED = check("fuzz", "failure", required=False)


@pytest.mark.parametrize(
    ("ci", "doubt"),
    [
        (Ci(checks=(check("test", "success", required=True), FUZZ_FAILED)), "fuzz failed, though it is not required"),
        (Ci(checks=(check("test", "success", required=True, attempt=3),)), "test passed only at attempt 3"),
        (None, None),
        (Ci(), None),
        (Ci(checks=(check("test", "success", required=True),)), None),
        (Ci(checks=(check("lint", "success", attempt=2),)), None),
        (Ci(checks=(check("lint", "failure"),)), None),
        (Ci(checks=(check("docs", None, required=False),)), None),
    ],
)
def test_what_wavered_raises_a_doubt_and_what_passed_or_is_not_known_raises_none(
    ci: Ci | None, doubt: str | None
) -> None:
    assert find_ci_doubt(ci) == doubt
