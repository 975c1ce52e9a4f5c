"""Retries and sleeps that were put where a race was, so that it shows less often.

Does not know whether there is a race. Invariant: a sleep counts only where it was put alone between lines that stood there
before; a new test of a delay may wait.
"""

from collections.abc import Iterator
from typing import Final

from worker.domain.diff import DiffLine
from worker.domain.pattern import pattern
from worker.domain.verdict import Category
from worker.judge.heuristics.change import Change, ChangedFile
from worker.judge.heuristics.paths import Role, role_of
from worker.judge.heuristics.signal import Kind, Looks, Place, signal
from worker.judge.heuristics.tests_pass_but_wrong.configuration import Edit, edits_of, is_comment, is_configuration

_RETRIES: Final = pattern(
    r"^\s*@(?:pytest\.mark\.)?(?:flaky|retry)\b|^\s*@(?:\w+\.)*(?:RetryingTest|RepeatedIfExceptionsTest|Retry|Flaky)\b|\bjest\.retryTimes\(|\bthis\.retries\(\s*[1-9]"
    r"|\bretryAnalyzer\s*=|^\s*(?:test|describe)\.(?:describe\.)?configure\(\{[^}]*\bretries\b|\{[^{}]{0,60}\bretry:\s*[1-9]|\bflaky_test!|#\[(?:\w+::)?(?:flaky_test|retry)\b",
    needs=("retr", "flaky", "repeatedif"),
)
_CONFIGURED: Final = pattern(
    r"--reruns[= ]+[1-9]|\breruns\s*=\s*[1-9]|--retries[= ]+[1-9]|\brerunFailingTestsCount\b|--flaky_test_attempts|--force-flaky-run|--retry[= ]+[1-9]|--test-retries"
    r"|^\s*[\"']?(?:retries|retry|retryTimes|maxRetries)[\"']?\s*[:=]\s*(?:[1-9]|process\.env\.CI|\{)|\b(?:nick-fields/retry|Wandalen/wretry)|uses:.*\bretry@"
    r"|--rerun-fails\b|\bretryTimes\s*:|-Dsurefire\.rerunFailingTestsCount|^\s*<rerunFailingTestsCount>"
)
_SLEEPS: Final = pattern(
    r"^\s*(?:await\s+)?(?:time\.sleep|asyncio\.sleep|anyio\.sleep|trio\.sleep|sleep|Thread\.sleep|TimeUnit\.\w+\.sleep|time\.Sleep|(?:std::)?thread::sleep|tokio::time::sleep"
    r"|gevent\.sleep|eventlet\.sleep|page\.waitForTimeout|cy\.wait|setTimeout|delay|wait|Uninterruptibles\.sleepUninterruptibly)\(\s*[\w.*:() ]{1,60}\)?(?:\.await)?;?\s*(?:(?:#|//).*)?$"
    r"|^\s*await new Promise\(.{0,60}\bsetTimeout\b",
    needs=("sleep", "wait", "timeout", "delay"),
)
_ZERO: Final = pattern(r"\(\s*0(?:\.0*)?\s*\)|setTimeout\(\w+,?\s*0?\s*\)")
_TEST_CONFIGURATION: Final = pattern(
    r"test|pytest|jest|vitest|playwright|cypress|tox|nox|\.github/|\.gitlab|\.circleci|pom\.xml|package\.json|Makefile|setup\.cfg|pyproject",
    2,
)


@signal(Category.TESTS_PASS_BUT_WRONG, Kind.SUSPICION, Looks.ANYTHING)
def retries_added(change: Change) -> Iterator[Place]:
    """Tests are now run again when they fail: a mark on a test, or a setting of the runner.

    False alarms: 17 of 30214 clean changes with anything (0.1 %, at most 0.09 %).
    """
    for file in change.files:
        look = _CONFIGURED if is_configuration(file.path) and _TEST_CONFIGURATION.search(file.path) else None
        look = _RETRIES if look is None and role_of(file.path) is Role.TEST and file.language is not None else look
        for line in file.diff.added if look is not None and file.may_show(look) else ():
            if look is None or not look.search(line.text[:_LONGEST]) or is_comment(line.text):
                continue
            if line.text.strip() not in file.once(_removed):
                yield Place("a test that fails is run again", file.path, line.head_line)


@signal(Category.TESTS_PASS_BUT_WRONG, Kind.SUSPICION, Looks.ANYTHING)
def sleep_added(change: Change) -> Iterator[Place]:
    """A sleep of fixed length was put between lines that stood there before, and nothing else with it.

    False alarms: 33 of 30214 clean changes with anything (0.1 %, at most 0.15 %).
    """
    for file in change.files:
        if file.language is None or role_of(file.path) not in {Role.TEST, Role.PRODUCTION}:
            continue
        for edit in edits_of(file) if file.may_show(_SLEEPS) else ():
            line = _lone_sleep(edit)
            if line is not None:
                yield Place("a sleep that only makes something likelier to be ready", file.path, line.head_line)


def _lone_sleep(edit: Edit) -> DiffLine | None:
    code = [line for line in edit.added if line.text.strip() and not is_comment(line.text)]
    if len(code) != 1 or any(_is_sleep(line) for line in edit.removed):
        return None
    text = code[0].text[:_LONGEST]
    return code[0] if _SLEEPS.match(text) and not _ZERO.search(text) else None


_LONGEST: Final = 500


def _is_sleep(line: DiffLine) -> bool:
    return "sleep" in line.text.lower() or "wait" in line.text.lower() or "timeout" in line.text.lower()


def _removed(file: ChangedFile) -> frozenset[str]:
    return frozenset(line.text.strip() for line in file.diff.removed)
