"""Comments that admit unfinished work."""

from tests.worker.signals.samples import change_of
from worker.signals.half_finished.unfinished_function import is_marked, unfinished_function


def test_line_with_many_functions_is_read_once() -> None:
    """A file with carriage returns as line ends is one line."""
    functions = "".join(f"fun f{number}(x: Int) = g(x)\r" for number in range(50))
    is_marked.cache_clear()
    assert list(unfinished_function.findings(change_of({}, {"A.kt": f"{functions}\n"}))) == []
    assert is_marked.cache_info().misses <= 2
    assert is_marked.cache_info().hits >= 49
