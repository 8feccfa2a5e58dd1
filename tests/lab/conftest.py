"""The module of the laboratory, built."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_module import built_module


@pytest.fixture(scope="session")
def module() -> Path:
    return built_module()
