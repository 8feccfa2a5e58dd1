from __future__ import annotations

import pytest
from metrics_samples import lab

from dumbbell.tables import Run


@pytest.fixture(scope="session")
def lab_run() -> Run:
    return lab()
