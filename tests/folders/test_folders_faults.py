"""Each file operation fails once: the result stays complete, no own file is lost, all is
cleaned.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from faults import run_with_faults

pytestmark = pytest.mark.programs

PROGRAM = Path(__file__).with_name("folder_faults.py")
KINDS = ["first folder", "folder", "folder without exchange", "first file", "file"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_disk_that_fails_leaves_nothing_half_written(tmp_path: Path, kind: str) -> None:
    run_with_faults(PROGRAM, tmp_path, kind)
