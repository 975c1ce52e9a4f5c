"""Verdicts as a Parquet file: the one writer that needs an extra.

Does not read the stream. Invariant: without `assay[parquet]` nothing is opened or written, and the error names it; a file has its
columns even where it has no rows.
"""

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from worker.errors import InputError
from worker.evaluation.stats.export import COLUMN_KINDS, TYPED_COLUMNS

MISSING_PACKAGE: Final = "--format parquet needs pyarrow. Install the extra: pip install 'assay[parquet]'."


class Parquet:
    """Writes groups of rows. Raises InputError where pyarrow is not installed."""

    def __init__(self) -> None:
        try:
            self._arrow: Any = import_module("pyarrow")
            self._parquet: Any = import_module("pyarrow.parquet")
        except ImportError as error:
            raise InputError(MISSING_PACKAGE) from error

    def write(self, to: Path, groups: Iterable[Mapping[str, list[Any]]]) -> None:
        """Each group is one row group, compressed. Raises OSError."""
        schema = self._schema()
        with to.open("wb") as file, self._parquet.ParquetWriter(file, schema, compression="zstd") as writer:
            for group in groups:
                writer.write_table(self._arrow.table(dict(group), schema=schema))

    def _schema(self) -> Any:
        arrow = self._arrow
        of = {int: arrow.int64(), float: arrow.float64(), bool: arrow.bool_(), list: arrow.list_(arrow.string())}
        kinds = {name: of[COLUMN_KINDS[name]] if name in COLUMN_KINDS else arrow.string() for name in TYPED_COLUMNS}
        return arrow.schema(list((kinds | {"at": arrow.timestamp("ms", tz="UTC")}).items()))
