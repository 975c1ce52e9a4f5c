"""Fixed sleeps added where a race may be, so that it shows less often.

A sleep counts only where it was put alone between existing lines; a new test of a delay may wait.
"""

import re
from collections.abc import Iterator
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.file_roles import FileRole, role_of
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, has_more_than_documents, signal
from worker.signals.tests_pass_but_wrong.ci_weakened import is_comment

_SLEEPS: Final = pattern(
    r"^\s*(?:await\s+)?(?:time\.sleep|asyncio\.sleep|anyio\.sleep|trio\.sleep|sleep|Thread\.sleep|TimeUnit\.\w+\.sleep|time\.Sleep|(?:std::)?thread::sleep|tokio::time::sleep"
    r"|gevent\.sleep|eventlet\.sleep|page\.waitForTimeout|cy\.wait|setTimeout|delay|wait|Uninterruptibles\.sleepUninterruptibly)\(\s*[\w.*:() ]{1,60}\)?(?:\.await)?;?\s*(?:(?:#|//).*)?$"
    r"|^\s*await new Promise\(.{0,60}\bsetTimeout\b",
    needs=("sleep", "wait", "timeout", "delay"),
)
_ZERO: Final = pattern(r"\(\s*0(?:\.0*)?\s*\)|setTimeout\(\w+,?\s*0?\s*\)")
_WAITS: Final = pattern(r"sleep|wait|timeout", re.IGNORECASE)
_LONGEST: Final = 500


@signal(Category.TESTS_PASS_BUT_WRONG, SignalKind.SUSPICION, SignalScope.ANYTHING, only_if=has_more_than_documents)
def sleep_added(change: CodeChange) -> Iterator[SignalMatch]:
    """A sleep of fixed length was put between existing lines, and nothing else with it.

    Why it matters: A race that shows less often is still there, and each run takes longer.
    Example: `+    time.sleep(2)` between two lines that stay.
    False alarms: 33 of 30214 clean changes with anything (0.1 %, at most 0.15 %).
    """
    for file in change.files:
        if file.language is None or role_of(file.path) not in {FileRole.TEST, FileRole.PRODUCTION}:
            continue
        for edit in file.edit_blocks if file.can_match(_SLEEPS) else ():
            code = [line for line in edit.added if line.text.strip() and not is_comment(line.text)]
            text = code[0].text[:_LONGEST] if len(code) == 1 else ""
            was_waiting = any(_WAITS.search(line.text) for line in edit.removed)
            if _SLEEPS.match(text) and not _ZERO.search(text) and not was_waiting:
                note = "a sleep that only makes something likelier to be ready"
                yield SignalMatch(note, file.path, code[0].head_line)
