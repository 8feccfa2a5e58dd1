from __future__ import annotations

import pytest
from tables_samples import every_table

from dumbbell.tables import Run


@pytest.fixture(scope="session")
def full_run() -> Run:
    return every_table()
