from __future__ import annotations

from collections.abc import Iterator

import pytest
from report_samples import realistic_report

from dumbbell.report import FigureDrawer
from dumbbell.report.model import Report


@pytest.fixture(scope="session")
def drawer() -> Iterator[FigureDrawer]:
    """Processes that draw for all these tests: starting one takes seconds."""
    with FigureDrawer() as one:
        yield one


@pytest.fixture
def report() -> Report:
    return realistic_report()
