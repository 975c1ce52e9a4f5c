"""Where the traceback of an error of Assay's own goes, so that people see one line.

Does not handle errors. Invariant: a place that can't be written to is no second error.
"""

import os
import tempfile
import time
from pathlib import Path
from traceback import format_exception

from worker.errors import SettingError
from worker.settings import load_settings


def record_traceback(error: BaseException) -> str:
    """Write the traceback into the data folder's logs, else into the machine's temporary folder. Says where it is."""
    name = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.getpid()}.log"
    text = "".join(format_exception(error))
    try:
        return _write(load_settings().data_dir / "logs" / name, text)
    except (OSError, SettingError):
        pass  # said below, where it is
    try:
        return _write(Path(tempfile.gettempdir()) / f"assay-{name}", text)
    except OSError:
        return f"No folder can be written to, so this is the traceback:\n{text}"


def _write(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_text(text, encoding="utf-8", errors="backslashreplace")
    return f"The traceback is in {path}."
