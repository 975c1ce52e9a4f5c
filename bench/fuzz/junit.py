"""Fuzz the reading of JUnit reports: a check, or the refusal that an input gets; no entity is ever expanded."""

import sys
from pathlib import Path
from random import Random
from typing import Final

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.fuzz.mutations import spoiled  # noqa: E402 - found from any working directory
from bench.fuzz.running import Target, run_as_script  # noqa: E402 - as above
from worker.adapters.git.junit import read_junit  # noqa: E402 - as above
from worker.errors import InputError  # noqa: E402 - as above

REPORT: Final = b"""<?xml version="1.0" encoding="utf-8"?>
<testsuites tests="3" failures="1" errors="0">
  <testsuite name="pytest" tests="3" failures="1" skipped="1" time="0.1">
    <testcase classname="tests.test_a" name="test_one" time="0.01"/>
    <testcase classname="tests.test_a" name="test_two"><failure message="assert 1 == 2">long &lt;text&gt;</failure></testcase>
    <testcase classname="tests.test_a" name="test_three"><skipped message="later"/><system-out><![CDATA[x]]></system-out></testcase>
  </testsuite>
</testsuites>
"""
WORDS: Final = (
    b"<testsuite>",
    b"</testsuite>",
    b'<testcase name="a">',
    b"</testcase>",
    b"<failure>",
    b"<error/>",
    b'<!DOCTYPE x [<!ENTITY a "b">]>',
    b"&a;",
    b"&#0;",
    b"<![CDATA[",
    b"]]>",
    b"<?xml version='1.0' encoding='utf-16'?>",
    b'tests="99999999999999999999"',
    b'xmlns:a="b"',
    b"<!-- -->",
)


def make(random: Random) -> bytes:
    return spoiled(REPORT, random, WORDS)


def run(raw: bytes) -> None:
    read_junit(raw, "junit.xml")


TARGET: Final = Target("junit", make, run, (InputError,))
run_as_script(__name__, TARGET)
