"""The files of the small benches."""

from pathlib import Path

from bench.rows import read, write


def test_what_is_written_is_read_again_packed_or_not(tmp_path: Path) -> None:
    rows = [{"id": "a", "text": "one\u2028two"}, {"id": "b"}]
    for name in ("rows.jsonl", "rows.jsonl.gz"):
        write(tmp_path / name, rows)
        assert list(read(tmp_path / name)) == rows
    assert (tmp_path / "rows.jsonl.gz").read_bytes().startswith(b"\x1f\x8b")
