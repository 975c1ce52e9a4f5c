"""A short process looks for garbage seldom."""

import subprocess
import sys

SCRIPT = """
import gc
gc.disable()
from worker.garbage_collection import COLLECTOR_THRESHOLDS, collect_rarely

old = [[] for _ in range(100)]
collect_rarely()
print(gc.isenabled(), gc.get_threshold() == COLLECTOR_THRESHOLDS, any(one is old for one in gc.get_objects()))
looks = []
gc.callbacks.append(lambda phase, _: looks.append(phase))
for _ in range(3 * COLLECTOR_THRESHOLDS[0]):
    one = []
    one.append(one)
print(looks.count("start"))
"""


def test_what_was_there_is_left_alone_and_new_circles_are_found_now_and_then() -> None:
    told = subprocess.run([sys.executable, "-c", SCRIPT], check=True, capture_output=True, text=True).stdout
    assert told.split() == ["True", "True", "False", told.split()[-1]]
    assert 2 <= int(told.split()[-1]) <= 4
