from pathlib import Path

import pytest

from tests.worker.adapters.git.laptop import Laptop


@pytest.fixture
def laptop(tmp_path: Path) -> Laptop:
    return Laptop(tmp_path / "widgets")
