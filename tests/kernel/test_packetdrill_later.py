"""What Linux 6.12's TCP does otherwise than 6.1's, by our own scripts (docs/kernels.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

from dumbbell.backends.kernel import find_kernel
from dumbbell.backends.kernel.cache import TEST_VARIABLE, how_to_build
from dumbbell.backends.kernel.packetdrill import Conditions, judge_scripts

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("packetdrill")]

SCRIPTS = Path(__file__).parents[2] / "packetdrill/scripts"
OTHERWISE = (
    "fin-beyond-the-window",
    "found/fin-beyond-the-window",
    "push-of-a-window-probe",
    "syn-retransmission",
)
"""Of all that 6.1 passes, those that 6.12 fails."""
ALIKE = ("limited-transmit", "rack-fast-retransmit", "tail-loss-probe")


@pytest.mark.parametrize(("kernel", "passed"), [("6.1", True), ("6.12", False)])
def test_four_rules_are_of_6_1_alone(
    kernel: str, passed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TEST_VARIABLE, raising=False)
    if find_kernel(name=kernel) is None:
        pytest.skip(how_to_build(name=kernel))
    scripts = {name: SCRIPTS / f"{name}.pkt" for name in (*OTHERWISE, *ALIKE)}
    told = judge_scripts(list(scripts.values()), Conditions(gso_max_segs=1, kernel=kernel))
    verdicts = {name: told[path]["verdict"] for name, path in scripts.items()}
    expected = dict.fromkeys(OTHERWISE, "passed" if passed else "failed")
    assert verdicts == expected | dict.fromkeys(ALIKE, "passed")
