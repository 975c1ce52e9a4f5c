"""`assay explain`, called as the command line calls it."""

import pytest

from app.cli.parser import Exit, build_parser
from worker.errors import InputError


def explain(name: str) -> tuple[int, str]:
    arguments = build_parser("explain").parse_args(["explain", name])
    code, text = arguments.run(arguments)
    return code, text


def test_a_signal_is_explained_by_its_name() -> None:
    code, text = explain("conflict_marker")
    assert code == Exit.ACCEPT
    assert text.startswith(
        "conflict_marker: fact, half_finished, looks at anything\n\nWhat it does\n  A merge conflict"
    )


def test_a_name_that_no_signal_has_is_refused() -> None:
    with pytest.raises(InputError, match='"conflict" is no signal'):
        explain("conflict")
