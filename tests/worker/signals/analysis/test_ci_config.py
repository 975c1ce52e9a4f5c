"""Lines of CI and tool configuration, and doubts about a green CI."""

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
def test_ci_and_tool_configuration_files_are_recognized(paths: str, expected: tuple[bool, bool]) -> None:
    recognized = {path: (is_ci(path), is_configuration(path)) for path in paths.split()}
    assert recognized == dict.fromkeys(paths.split(), expected)


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
def test_line_that_runs_tests_or_checks_is_recognized(lines: str, expected: tuple[bool, bool]) -> None:
    recognized = {line: (runs_tests(line), runs_checks(line)) for line in lines.split("\n")}
    assert recognized == dict.fromkeys(recognized, expected)


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
def test_command_is_extracted_from_its_line(line: str, command: str) -> None:
    assert command_of(line) == command


STEPS = HeadLines(1, ("steps:", "  - name: a", "    run: b", "", "    with:", "      c: d", "  - run: e", "other: f"))


@pytest.mark.parametrize(("line", "first", "last"), [(3, 2, 6), (2, 2, 6), (7, 7, 7), (6, 5, 6), (1, 1, 8), (8, 1, 8)])
def test_block_spans_the_value_of_its_line(line: int, first: int, last: int) -> None:
    block = find_block(STEPS, line)
    assert (block.start, block.stop - 1) == (first, last)


def test_block_search_is_bounded() -> None:
    view = HeadLines(1, tuple(f"k{n}: v" for n in range(1_000)))
    assert len(find_block(view, 500)) <= 402


def test_adjacent_changed_lines_are_one_edit() -> None:
    file = changed_file("a.txt", "a\nb\nc\nd\ne\n", "a\nB\nc\nD\ne\nf\n")
    edits = [([line.text for line in edit.removed], [line.text for line in edit.added]) for edit in file.edit_blocks]
    assert edits == [(["b"], ["B"]), (["d"], ["D"]), ([], ["f"])]


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
def test_unreliable_check_raises_a_ci_doubt(ci: Ci | None, doubt: str | None) -> None:
    assert find_ci_doubt(ci) == doubt
