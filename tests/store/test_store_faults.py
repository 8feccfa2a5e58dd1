"""Each change of a file fails once: what was kept is kept, what was not is cleanly absent."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults import run_with_faults

pytestmark = pytest.mark.programs

PROGRAM = Path(__file__).with_name("store_faults.py")


@pytest.mark.parametrize(
    "kind",
    [
        "new",
        "shard",
        pytest.param("tables", marks=pytest.mark.slow),
        pytest.param("forget", marks=pytest.mark.slow),
    ],
)
def test_a_disk_that_fails_costs_no_run_that_was_kept(tmp_path: Path, kind: str) -> None:
    run_with_faults(PROGRAM, tmp_path, kind)
