from __future__ import annotations

import pytest
from report_samples import realistic_report

from dumbbell.report.model import Report


@pytest.fixture
def report() -> Report:
    return realistic_report()
