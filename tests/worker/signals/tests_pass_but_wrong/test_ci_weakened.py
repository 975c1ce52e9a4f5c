"""Lines of CI and tool configuration, and weakened CI and test commands."""

import pytest

from tests.worker.signals.samples import change_of
from worker.signals.tests_pass_but_wrong import ci_weakened
from worker.signals.tests_pass_but_wrong.ci_weakened import HeadLines, command_of, find_block, runs_checks, runs_tests

PATH = ".github/workflows/ci.yml"


def test_ci_file_with_very_many_edits_is_checked_in_part() -> None:
    job = "  a{0}:\n    steps:\n      - run: npm test\n{1}"
    before = "jobs:\n" + "".join(job.format(number, "") for number in range(150))
    after = "jobs:\n" + "".join(job.format(number, "    continue-on-error: true\n") for number in range(150))
    places = [*ci_weakened.check_cannot_fail.detect(change_of({PATH: before}, {PATH: after}))]
    assert len(places) == 100


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
