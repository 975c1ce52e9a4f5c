"""CI and test commands that can fail less than before."""

import pytest

from tests.worker.signals.made import Texts, change_of, dossier_of
from worker.domain.verdict.verdict import Side
from worker.signals.analysis.change import CodeChange
from worker.signals.tests_pass_but_wrong import ci_weakened
from worker.signals.tests_pass_but_wrong.ci_weakened import strictness_off

ALL = (
    ci_weakened.check_cannot_fail,
    ci_weakened.check_may_not_fail,
    ci_weakened.tests_left_out,
    ci_weakened.check_removed,
)
PATH = ".github/workflows/ci.yml"
FLOW = """name: ci
on:
  push:
  pull_request:

jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: npm ci

      - name: Test
        run: npm test

      - name: Lint
        run: npx eslint .
  docs:
    runs-on: ubuntu-latest
    steps:
      - run: make html
"""


def fired(before: Texts, after: Texts, *, texts: bool = True) -> list[tuple[str, int | None]]:
    change = change_of(before, after, texts=texts)
    return [(signal.name, finding.line) for signal in ALL for finding in signal.findings(change)]


def flow(old: str, new: str, *, texts: bool = True) -> list[tuple[str, int | None]]:
    assert old in FLOW
    return fired({PATH: FLOW}, {PATH: FLOW.replace(old, new, 1)}, texts=texts)


SURE = {
    "masked": ("run: npm test\n", "run: npm test || true\n", 14),
    "masked by a colon": ("run: npm test\n", "run: npm test || :\n", 14),
    "masked by words": ("run: npm test\n", 'run: npm test || echo "never mind"\n', 14),
    "in a block": ("run: npm test\n", "run: |\n          npm test || exit 0\n", 15),
    "linter": ("run: npx eslint .\n", "run: npx eslint . || true\n", 17),
    "ignored": ("run: npm test\n", "run: npm test\n        continue-on-error: true\n", 15),
    "ignored above": ("        run: npm test\n", "        continue-on-error: true\n        run: npm test\n", 14),
    "ignored first": ("      - name: Test\n", "      - continue-on-error: true\n        name: Test\n", 13),
    "off": ("run: npm test\n", "run: npm test\n        if: false\n", 15),
    "off by expression": ("run: npm test\n", "run: npm test\n        if: ${{ false }}\n", 15),
    "replaced": ("run: npm test\n", 'run: echo "tests are run elsewhere"\n', 14),
    "replaced by true": ("run: npm test\n", "run: true\n", 14),
}


@pytest.mark.parametrize("texts", [True, False])
@pytest.mark.parametrize(("old", "new", "line"), SURE.values(), ids=SURE.keys())
def test_a_check_that_cannot_fail_any_more_is_a_fact(old: str, new: str, line: int, *, texts: bool) -> None:
    assert ("check_cannot_fail", line) in flow(old, new, texts=texts)


@pytest.mark.parametrize(
    "new", ["  test:\n    continue-on-error: true\n    runs-on", "  test:\n    if: ${{ false }}\n    runs-on"]
)
def test_a_job_is_known_by_its_steps(new: str) -> None:
    assert flow("  test:\n    runs-on", new) == [("check_cannot_fail", 8)]
    assert "check_cannot_fail" not in [name for name, _ in flow("  test:\n    runs-on", new, texts=False)]


def test_the_fact_shows_its_line() -> None:
    long = f"npm test -- {'x' * 80}"
    change = change_of({PATH: FLOW.replace("npm test", long)}, {PATH: FLOW.replace("npm test", f"{long} || true")})
    (found,) = ci_weakened.check_cannot_fail.findings(change)
    assert found.fact
    assert found.note.endswith("...`")


PLAIN = {
    "package.json": ("package.json", '{\n  "test": "jest --ci",\n}\n', '{\n  "test": "jest --ci; exit 0",\n}\n'),
    "make": ("Makefile", "test:\n\tpytest tests\n", "test:\n\tpytest tests; true\n"),
    "make's dash": ("Makefile", "test:\n\tpytest tests\n", "test:\n\t-pytest tests\n"),
    "gitlab": (
        ".gitlab-ci.yml",
        "unit:\n  script: go test ./...\n",
        "unit:\n  script: go test ./...\n  allow_failure: true\n",
    ),
}


@pytest.mark.parametrize(("path", "before", "after"), PLAIN.values(), ids=PLAIN.keys())
def test_other_places_of_test_commands_count_as_well(path: str, before: str, after: str) -> None:
    assert [name for name, _ in fired({path: before}, {path: after})] == ["check_cannot_fail"]


HARMLESS = {
    "install": ("run: npm ci\n", "run: npm ci || true\n"),
    "docs": ("      - run: make html\n", "      - run: make html\n        continue-on-error: true\n"),
    "expression": ("run: npm test\n", "run: npm test\n        continue-on-error: ${{ matrix.next }}\n"),
    "comment": ("run: npm test\n", "run: npm test\n        # continue-on-error: true\n"),
    "condition": ("run: npm test\n", "run: npm test\n        if: runner.os == 'Linux'\n"),
    "another command": ("run: npm test\n", "run: npm run test:all\n"),
    "a message": ("run: npm test\n", "run: npm test\n      - run: echo done\n"),
    "looked at": (
        "run: npm test\n",
        "run: npm test\n        id: t\n        continue-on-error: true\n      - run: exit 1\n        if: steps.t.outcome == 'failure'\n",
    ),
}


@pytest.mark.parametrize(("old", "new"), HARMLESS.values(), ids=HARMLESS.keys())
def test_what_loosens_nothing_is_no_fact(old: str, new: str) -> None:
    assert "check_cannot_fail" not in [name for name, _ in flow(old, new)]


def test_a_line_that_was_only_moved_is_no_fact() -> None:
    before = FLOW.replace("        run: npm test\n", "        continue-on-error: true\n        run: npm test\n")
    after = FLOW.replace("        run: npm test\n", "        run: npm test\n        continue-on-error: true\n")
    assert fired({PATH: before}, {PATH: after}) == []


NEW = {
    "step": ("      - run: make html\n", "      - run: make html\n      - run: make test || true\n", 22),
    "plain shell": ("run: npm test\n", "run: npm test; true\n", 14),
    "job": (
        "  docs:\n",
        "  slow-tests:\n    continue-on-error: true\n    steps:\n      - run: ./go\n  docs:\n",
        19,
    ),
    "named step": (
        "  docs:\n",
        "      - name: Slow tests\n        uses: ./go\n        continue-on-error: true\n  docs:\n",
        20,
    ),
    "given up": ("      - run: make html\n", "      - run: make html || true\n", 21),
    "in the middle": ("run: npm test\n", "run: npm test -x || true -- a\n", 14),
    "any step": ("      - run: make html\n", "      - run: make html\n        if: false\n", 22),
    "by expression": (
        "      - run: make html\n",
        "      - run: make html\n        continue-on-error: ${{ always() }}\n",
        22,
    ),
    "shell": ("run: npm test\n", "run: |\n          set +e\n          npm test\n", 15),
}


@pytest.mark.parametrize(("old", "new", "line"), NEW.values(), ids=NEW.keys())
def test_a_new_check_without_consequence_is_suspected(old: str, new: str, line: int) -> None:
    assert ("check_may_not_fail", line) in flow(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  docs:\n", "  more:\n    continue-on-error: true\n    steps:\n      - run: ./go\n  docs:\n"),
        ("      - run: make html\n", "      - run: |\n          set +e\n          make html\n"),
        ("run: npm test\n", "run: npm test\n        # npm test || true\n"),
    ],
)
def test_what_lets_no_test_fail_is_left_alone(old: str, new: str) -> None:
    assert flow(old, new) == []


def test_elsewhere_than_in_ci_these_words_mean_nothing() -> None:
    after = "[pytest]\nx = 1\ncontinue-on-error: true\nset +e\npytest\n"
    assert fired({"tox.ini": "[pytest]\nx = 1\n"}, {"tox.ini": after}) == []


LEFT_OUT = {
    "not": ("tox.ini", "[t]\ncommands = pytest\n", "[t]\ncommands = pytest -k 'not slow'\n", 2),
    "ignore": ("tox.ini", "[t]\ncommands = pytest\n", "[t]\ncommands = pytest --ignore=tests/test_a.py\n", 2),
    "addopts": ("pytest.ini", "[pytest]\n", "[pytest]\naddopts = --deselect tests/test_a.py::test_b\n", 2),
    "maven": (PATH, "a:\n  run: mvn verify\n", "a:\n  run: mvn verify -DskipTests\n", 2),
    "no tests": ("package.json", '{\n "a": 1,\n}\n', '{\n "a": 1,\n "test": "jest --passWithNoTests"\n}\n', 3),
    "jest": ("jest.config.js", "x = {\n}\n", "x = {\n  testPathIgnorePatterns: ['slow'],\n}\n", 2),
    "next line": (PATH, "a:\n  run: |\n    pytest \\\n", "a:\n  run: |\n    pytest \\\n    --deselect tests/a.py\n", 4),
    "collect": ("conftest.py", "x = 1\n", "x = 1\ncollect_ignore = ['test_a.py']\n", 2),
}


@pytest.mark.parametrize(("path", "before", "after", "line"), LEFT_OUT.values(), ids=LEFT_OUT.keys())
def test_tests_that_are_left_out_are_suspected(path: str, before: str, after: str, line: int) -> None:
    assert fired({path: before}, {path: after}) == [("tests_left_out", line)]


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        (PATH, "a:\n  run: mvn x\n", "a:\n  run: mvn deploy -DskipTests\n"),
        (PATH, "a:\n", "a:\n# pytest -k 'not slow'\n"),
        (PATH, "a:\n", "a:\n  run: tar --ignore=x .\n"),
        ("tox.ini", "a = pytest -k 'not slow'\n", "a = pytest -v -k 'not slow'\n"),
        ("README.md", "a\n", "pytest -k 'not slow'\n"),
        ("tests/fixtures/tox.ini", "a\n", "a = pytest -k 'not slow'\n"),
    ],
)
def test_flags_of_other_things_are_left_alone(path: str, before: str, after: str) -> None:
    assert fired({path: before}, {path: after}) == []


def test_a_test_command_that_ci_lost_is_suspected_at_its_old_line() -> None:
    change = change_of({PATH: FLOW}, {PATH: FLOW.replace("      - name: Test\n        run: npm test\n", "")})
    (found,) = ci_weakened.check_removed.findings(change)
    assert (found.line, found.side, found.fact) == (13, Side.BASE, False)


def test_each_step_that_ci_lost_is_one_place() -> None:
    more = "      - name: Slow tests\n        run: ./go\n"
    before = FLOW.replace("      - run: make html\n", f"      - run: make html\n{more}")
    after = FLOW.replace("      - name: Test\n        run: npm test\n", "")
    found = ci_weakened.check_removed.findings(
        change_of({PATH: before, ".travis.yml": "script: tox\n"}, {PATH: after, ".travis.yml": "a: b\n"})
    )
    assert [(one.path, one.line) for one in found] == [(PATH, 13), (PATH, 22), (".travis.yml", 1)]


@pytest.mark.parametrize("texts", [True, False])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("        run: npm test\n", "        run: npm run test:unit\n"),
        ("run: npm test\n\n      - name: Lint\n", "run: ./go\n\n      - name: Lint\n      - run: npm test\n"),
        ("      - run: npm ci\n", ""),
    ],
)
def test_a_command_that_runs_elsewhere_is_not_lost(old: str, new: str, *, texts: bool) -> None:
    assert flow(old, new, texts=texts) == []


@pytest.mark.parametrize("texts", [True, False])
def test_the_same_command_at_another_place_makes_up_for_one_of_two(*, texts: bool) -> None:
    before = FLOW.replace("run: npm ci\n", "run: npm ci\n      - run: pytest\n")
    after = FLOW.replace("        run: npm test\n", "").replace("make html\n", "make html\n      - run: npm test\n")
    change = change_of({PATH: before}, {PATH: after}, texts=texts)
    assert [one.note for one in ci_weakened.check_removed.findings(change)] == ["CI had `- run: pytest`"]


LINTED = "\n      - name: Lint\n        run: npx eslint .\n"


def test_a_linter_that_was_taken_out_alone_is_suspected() -> None:
    assert flow(LINTED, "") == [("check_removed", 17)]


@pytest.mark.parametrize(
    ("old", "new"), [(LINTED, LINTED.replace("eslint .", "eslint src")), ("      - run: npm ci\n", "")]
)
def test_a_step_that_was_replaced_or_checks_nothing_is_left_alone(old: str, new: str) -> None:
    assert flow(old, new) == []


@pytest.mark.parametrize("never", ["${{ !always() }}", "github.actor == 0", "${{ github.ref == 'never' }}"])
def test_a_condition_that_never_holds_is_a_fact(never: str) -> None:
    added = f"        if: {never}\n        run: npm test\n"
    assert flow("        run: npm test\n", added) == [("check_cannot_fail", 14)]


def test_a_workflow_that_pull_requests_no_longer_start_is_suspected() -> None:
    assert flow("  pull_request:\n", "") == [("check_removed", 4)]


@pytest.mark.parametrize(
    "before",
    [
        FLOW.replace("  pull_request:\n", "  # pull_request:\n"),
        FLOW.replace("  pull_request:\n", "  workflow_call:\n"),
    ],
)
def test_a_workflow_that_they_never_started_is_not(before: str) -> None:
    after = before.replace("  # pull_request:\n", "").replace("  workflow_call:\n", "")
    assert fired({PATH: before}, {PATH: after}) == []


def test_a_workflow_without_tests_may_start_when_it_likes() -> None:
    before = "on:\n  push:\n  pull_request:\njobs:\n  a:\n    steps:\n      - run: make html\n"
    assert fired({PATH: before}, {PATH: before.replace("  pull_request:\n", "")}) == []


def test_a_file_that_was_made_to_keep_us_busy_is_looked_at_in_part() -> None:
    job = "  a{0}:\n    steps:\n      - run: npm test\n{1}"
    before = "jobs:\n" + "".join(job.format(number, "") for number in range(150))
    after = "jobs:\n" + "".join(job.format(number, "    continue-on-error: true\n") for number in range(150))
    places = [*ci_weakened.check_cannot_fail.detect(change_of({PATH: before}, {PATH: after}))]
    assert len(places) == 100


WAITS = "  all:\n    needs:\n      - test\n      - docs\n    runs-on: ubuntu-latest\n    steps:\n      - run: exit 0\n"
IDLE = "  all:\n    runs-on: ubuntu-latest\n    steps:\n      - run: exit 0\n"
BESIDE = "  e2e:\n    needs: test\n    steps:\n" + IDLE
STEP = "      - run: exit 0\n"
LATE = "      - run: exit 0\n" * 61
CANNOT = ci_weakened.check_cannot_fail.name


@pytest.mark.parametrize(("job", "told"), [(WAITS, 0), (IDLE, 1), (BESIDE, 1), (STEP, 1), (WAITS + LATE, 7)])
def test_a_new_job_that_only_waits_for_others_stands_in_for_no_test(job: str, told: int) -> None:
    before = FLOW[: FLOW.index("\n      - name: Lint")]
    after = before[: before.index("      - name: Test")] + job
    assert [name for name, _ in fired({PATH: before}, {PATH: after})].count(CANNOT) == told


def test_a_job_that_needs_others_from_now_on_waits_for_them_though_the_rest_of_it_was_there() -> None:
    before = "jobs:\n  all:\n    runs-on: ubuntu-latest\n    steps:\n      - run: npm test\n"
    after = before.replace("npm test", "exit 0")
    assert CANNOT in [name for name, _ in fired({PATH: before}, {PATH: after})]
    after = after.replace("    runs-on", "    needs: test\n    runs-on")
    assert CANNOT not in [name for name, _ in fired({PATH: before}, {PATH: after})]
    old = before.replace("    runs-on", "    needs: test\n    runs-on")
    assert CANNOT in [name for name, _ in fired({PATH: old}, {PATH: after})]


JSON = '{\n  "scripts": {\n    "test": "jest --ci",\n    "lint": "eslint ."\n  }\n}\n'
NOTHING_RUN = {
    "script": ("package.json", JSON, JSON.replace("jest --ci", "true"), 3),
    "script that exits": ("package.json", JSON, JSON.replace("jest --ci", "exit 0"), 3),
    "script that prints": ("package.json", JSON, JSON.replace("jest --ci", "echo skipped"), 3),
    "empty script": ("package.json", JSON, JSON.replace("jest --ci", ""), 3),
    "recipe": ("Makefile", "test:\n\tpytest tests\n", "test:\n\t@true\n", 2),
    "quiet recipe": ("Makefile", "test:\n\t@go test ./...\n", "test:\n\t@exit 0\n", 2),
    "tox": ("tox.ini", "[testenv]\ncommands =\n    pytest\n", "[testenv]\ncommands =\n    true\n", 3),
    "tox on one line": ("tox.ini", "[testenv]\ncommands = pytest\n", "[testenv]\ncommands = true\n", 2),
    "script file": ("scripts/test.sh", "set -e\npytest tests\n", "set -e\ntrue\n", 2),
    "script file that ends": ("scripts/test.sh", "set -e\npytest tests\n", "set -e\nexit 0\npytest tests\n", 2),
    "block": (
        PATH,
        FLOW.replace("run: npm test", "run: |\n          npm test"),
        FLOW.replace("run: npm test", "run: true"),
        14,
    ),
    "collected only": (
        PATH,
        FLOW.replace("npm test", "pytest tests"),
        FLOW.replace("npm test", "pytest --collect-only tests"),
        14,
    ),
    "not run": (PATH, FLOW.replace("npm test", "cargo test"), FLOW.replace("npm test", "cargo test --no-run"), 14),
    "no name": (
        PATH,
        FLOW.replace("npm test", "go test ./..."),
        FLOW.replace("npm test", "go test -run '^$' ./..."),
        14,
    ),
    "a target called test": ("Makefile", "test: bin ## run\n\tbin/everything\n", "test: bin ## run\n\t@true\n", 2),
    "a target of several steps": (
        "Makefile",
        "unit-tests:\n\t@mkdir -p out\n\t$(PYTHON) run.py\n",
        "unit-tests:\n\t@true\n",
        2,
    ),
    "a script called test": (
        "package.json",
        JSON.replace("jest --ci", "node all.js"),
        JSON.replace("jest --ci", "true"),
        3,
    ),
    "no test for any command": ("pytest.ini", "[pytest]\naddopts = -q\n", "[pytest]\naddopts = -q --collect-only\n", 2),
    "a target that needs nothing": ("Makefile", "test: bin\n\tpytest tests\n", "test: # later\n\t@true\n", 2),
    "no keyword": ("Makefile", "test:\n\tpytest tests\n", "test:\n\tpytest -k nothing tests\n", 2),
}


@pytest.mark.parametrize("texts", [True, False])
@pytest.mark.parametrize(("path", "before", "after", "line"), NOTHING_RUN.values(), ids=NOTHING_RUN.keys())
def test_a_test_command_that_runs_nothing_is_a_fact(
    path: str, before: str, after: str, line: int, *, texts: bool
) -> None:
    assert ("check_cannot_fail", line) in fired({path: before}, {path: after}, texts=texts)


STILL_RUN = {
    "a value of YAML": (
        PATH,
        FLOW,
        FLOW.replace(
            "      - name: Test\n        run: npm test\n",
            "      - uses: ./quality\n        with:\n          lint: true\n",
        ),
    ),
    "a value behind the name of a job": (
        PATH,
        FLOW.replace("  test:\n    runs-on: ubuntu-latest\n", "  lint:\n    runs-on: ubuntu-latest\n"),
        FLOW.replace("  test:\n    runs-on: ubuntu-latest\n", "  checks:\n    with:\n      lint: true\n"),
    ),
    "what was only said before": (
        "Makefile",
        "test:\n\t@echo 'running all tests'\n\t@go test ./...\n",
        "test:\n\t@echo 'running all tests; set SKIP'\n\t@go test ./...\n",
    ),
    "another target": ("Makefile", "docs:\n\tbin/everything\n", "docs:\n\t@true\n"),
    "no target": ("Makefile", "X := 1\n", "X := 1\n\t@true\n"),
    "a new target": ("Makefile", "docs:\n\tbin/docs\n", "docs:\n\tbin/docs\ntest:\n\t@true\n"),
    "a recipe without its target": ("Makefile", "\tbin/everything\n", "\t@true\n"),
    "a comment beside it": ("Makefile", "test:\n\tpytest tests\n", "test:\n\t@echo tests\n\t./everything\n"),
    "a target that needs others from now on": (
        "Makefile",
        "unit:\n\tbin/unit\n\ntest:\n\tpytest tests\n",
        "unit:\n\tbin/unit\n\ntest: unit lint\n\t@echo all passed\n",
    ),
    "an early end on a condition": (
        "scripts/test.sh",
        "set -e\npytest tests\n",
        'set -e\nif [ -n "$SKIP" ]; then\n  exit 0\nfi\npytest tests\n',
    ),
    "an end behind the tests": ("scripts/test.sh", "set -e\npytest tests\n", "set -e\npytest tests\nexit 0\n"),
    "benchmarks": (
        "Makefile",
        "test:\n\tgo test ./...\n",
        "test:\n\tgo test ./...\nbench:\n\tgo test -run '^$' -bench . ./...\n",
    ),
}


@pytest.mark.parametrize(("path", "before", "after"), STILL_RUN.values(), ids=STILL_RUN.keys())
def test_a_test_command_that_still_runs_is_no_fact(path: str, before: str, after: str) -> None:
    assert "check_cannot_fail" not in [name for name, _ in fired({path: before}, {path: after})]


CHOSEN = {
    "keyword": ("pytest tests", "pytest -k fast tests"),
    "quoted keyword": ("pytest tests", 'pytest -k "fast or small" tests'),
    "name": ("go test ./...", "go test -run TestFast ./..."),
    "pattern": ("npx jest", "npx jest --testNamePattern=fast"),
    "gradle": ("./gradlew test", "./gradlew test --tests FastTest"),
    "maven": ("mvn test", "mvn test -Dtest=FastTest"),
}


@pytest.mark.parametrize(("before", "after"), CHOSEN.values(), ids=CHOSEN.keys())
def test_a_test_command_that_chooses_some_tests_is_suspected(before: str, after: str) -> None:
    found = fired({PATH: FLOW.replace("npm test", before)}, {PATH: FLOW.replace("npm test", after)})
    assert [name for name, _ in found] == ["tests_left_out"]
    more = FLOW.replace("run: npm test", f"run: {before}\n      - run: {after}")
    assert fired({PATH: FLOW.replace("npm test", before)}, {PATH: more}) == []


def test_ci_that_the_title_switches_off_is_suspected() -> None:
    change = CodeChange(
        dossier_of({PATH: FLOW}, {PATH: FLOW.replace("npm test", "true")}, title="ci: disable the workflow for now")
    )
    assert [one.signal for signal in ALL for one in signal.findings(change)] == ["check_may_not_fail", "check_removed"]
    asked = dossier_of(
        {PATH: FLOW}, {PATH: FLOW.replace("npm test", "true")}, title="ci: disable it", issue="Add a flag"
    )
    assert [one.signal for one in ci_weakened.check_cannot_fail.findings(CodeChange(asked))] == ["check_cannot_fail"]


HOOK = "def pytest_collection_modifyitems(config, items):\n"
EMPTIED = {
    "slice": f"{HOOK}    items[:] = []\n",
    "cleared": f"{HOOK}    items.clear()\n",
    "deleted": f"{HOOK}    del items[:]\n",
    "marked": f"{HOOK}    for item in items:\n        item.add_marker(pytest.mark.skip(reason='x'))\n",
    "ignored": "import pytest\n\nif True:\n    pass\n\ncollect_ignore_glob = ['*.py']\n",
    "passed": "def pytest_sessionfinish(session, exitstatus):\n    session.exitstatus = 0\n",
}


@pytest.mark.parametrize("texts", [True, False])
@pytest.mark.parametrize("text", EMPTIED.values(), ids=EMPTIED.keys())
def test_a_conftest_that_drops_all_tests_is_a_fact(text: str, *, texts: bool) -> None:
    found = fired(
        {"tests/conftest.py": "import pytest\n"}, {"tests/conftest.py": f"import pytest\n\n{text}"}, texts=texts
    )
    assert "check_cannot_fail" in [name for name, _ in found]


ON_CONDITION = {
    "branch": f"{HOOK}    if config.option.docs:\n        items[:] = []\n",
    "each": f"{HOOK}    for item in items:\n        if 'slow' in item.keywords:\n            item.add_marker(skip_slow)\n",
    "early return": f"{HOOK}    if config.getoption('--slow'):\n        return\n    items.clear()\n",
}


@pytest.mark.parametrize("text", ON_CONDITION.values(), ids=ON_CONDITION.keys())
def test_a_conftest_that_drops_tests_on_a_condition_is_suspected(text: str) -> None:
    assert [name for name, _ in fired({}, {"tests/conftest.py": text})] == ["tests_left_out"]
    assert fired({}, {"tests/helpers.py": text}) == []
    assert fired({}, {"tests/conftest.py": f'TEXT = """\n{text}"""\n'}) == []


WORKFLOW = ".github/workflows/ci.yml"
OFF = [
    ("scripts/test.sh", "set -e\npytest\n", "pytest\n"),
    ("scripts/test.sh", "set -euo pipefail\npytest\n", "set -u\npytest\n"),
    ("setup.cfg", "filterwarnings =\n    error\n", "filterwarnings =\n    default\n"),
    ("pyproject.toml", 'filterwarnings = ["error"]\n', 'filterwarnings = ["ignore"]\n'),
    (WORKFLOW, "env:\n  RUSTFLAGS: -D warnings\n", "env:\n  RUSTFLAGS: -A warnings\n"),
    (WORKFLOW, "  - run: python -W error -m pytest\n", "  - run: python -m pytest -q\n"),
    ("Makefile", "test:\n\tgo test -race ./...\n", "test:\n\tgo test -v ./...\n"),
    ("Makefile", "CFLAGS = -Wall -Werror\n", "CFLAGS = -Wall\n"),
    ("tsconfig.json", '{\n  "strict": true,\n  "a": 1\n}\n', '{\n  "a": 1\n}\n'),
    ("src/lib.rs", "#![deny(missing_docs)]\nmod a;\n", "mod a;\n"),
    (".eslintrc.json", '  "no-floating-promises": "error",\n', '  "no-floating-promises": "off",\n'),
    ("Cargo.toml", 'unwrap_used = "deny"\n', 'unwrap_used = "allow"\n'),
]
KEPT = [
    ("scripts/test.sh", "set -e\npytest\n", "set -euo pipefail\npytest\n"),
    ("scripts/test.sh", "# set -e\npytest\n", "pytest\n"),
    ("scripts/test.sh", "pytest\n", "pytest -q\n"),
    ("scripts/test.sh", "set -e\ncd x\nmake\npytest\n", "cd x\nmake\nset -e\npytest\n"),
    ("Makefile", "a:\n\tgo test -race ./...\nb:\n\tx\n", "b:\n\tx\na:\n\tgo test -race ./...\n"),
    (".eslintrc.json", '  "semi": "off",\n', '  "semi": "error",\n'),
    (".eslintrc.json", '  "semi": "error",\n', '  "quotes": "off",\n'),
    ("tox.ini", "semi = error\n", "semi = off\n"),
    ("src/a.py", "set -e\n", "x = 1\n"),
]


@pytest.mark.parametrize(("path", "before", "after"), OFF, ids=range(len(OFF)))
def test_strictness_that_was_taken_out_or_turned_down_is_suspected(path: str, before: str, after: str) -> None:
    assert len([*strictness_off.findings(change_of({path: before}, {path: after}))]) == 1


@pytest.mark.parametrize(("path", "before", "after"), KEPT, ids=range(len(KEPT)))
def test_what_is_as_strict_as_before_is_left_alone(path: str, before: str, after: str) -> None:
    assert [*strictness_off.findings(change_of({path: before}, {path: after}))] == []


def test_what_was_only_removed_is_told_at_its_old_line() -> None:
    change = change_of({"scripts/test.sh": "a\nset -e\npytest\n"}, {"scripts/test.sh": "a\npytest\n"})
    (found,) = strictness_off.findings(change)
    assert (found.side, found.line) == (Side.BASE, 2)


def test_a_new_configuration_may_be_lax() -> None:
    assert [*strictness_off.findings(change_of({}, {"scripts/test.sh": "pytest\n"}))] == []
