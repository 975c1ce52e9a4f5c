"""The list of what is broken on purpose, held against the code that it breaks."""

from bench.mutate import MUTATIONS, ROOT


def test_each_text_that_is_broken_stands_in_the_code_once_and_whoever_shall_notice_is_there() -> None:
    for one in MUTATIONS:
        assert (ROOT / one.path).read_text().count(one.before) == 1, one.stage
        assert one.before != one.after
        for name in one.told.split():
            assert (ROOT / "tests" / "conversations" / name).is_file(), one.stage
