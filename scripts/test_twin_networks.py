"""What counts as a wrong twin, and as regret."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import twin_networks
from twin_networks import Network

NETWORK = Network(2.0, 20.0, 30.0, "bfifo limit 50000b", "codel", 2)


def twin(**changes: Any) -> dict[str, Any]:
    """A twin of `NETWORK` without errors, but for the changes."""
    numbers: dict[str, Any] = {"up": 2.0, "down": 20.0, "rtt": 30.0, "kB": 50.0}
    numbers |= {"class_up": "FIFO"} | changes

    def each(quantity: str, way: str | None, unit: str, value: Any, why: str | None = None) -> Any:
        names = ("quantity", "way", "unit", "value", "not_identifiable")
        return dict(zip(names, (quantity, way, unit, value, why), strict=True))

    return {
        "parameters": [
            each("rate", "up", "Mbit/s", numbers["up"]),
            each("rate", "down", "Mbit/s", numbers["down"]),
            each("base round trip", None, "ms", numbers["rtt"]),
            each("buffer", "up", "kB", numbers["kB"]),
            each("buffer", "up", "ms", 4 * numbers["kB"]),
            each("buffer", "down", "kB", numbers.get("codel_kB"), numbers.get("why", "codel")),
        ],
        "disciplines": {"up": {"class": numbers["class_up"]}, "down": {"class": "AQM"}},
    }


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, []),
        ({"up": 2.039, "rtt": 30.9, "kB": 54.9}, []),
        ({"class_up": "not identifiable"}, []),
        ({"up": 2.05}, ["rate up 2.050 Mbit/s"]),
        ({"rtt": 28.9}, ["round trip 28.90 ms"]),
        ({"kB": 44.0}, ["buffer up 44 kB"]),
        ({"class_up": "AQM"}, ["discipline up AQM"]),
        ({"codel_kB": 12.0, "why": None}, ["buffer down 12 kB"]),
    ],
)
def test_bounds(changes: dict[str, Any], said: list[str]) -> None:
    assert list(twin_networks.wrong(NETWORK, twin(**changes))) == said


def test_the_largest_errors() -> None:
    found = twin_networks.largest_errors(NETWORK, twin(up=2.02, down=20.1, rtt=30.5, kB=49.0))
    assert found == pytest.approx((0.01, 0.5, 0.02))


def test_a_network_is_that_of_its_seed_and_its_line_has_its_disciplines() -> None:
    assert Network.drawn(7) == Network.drawn(7)
    assert Network.drawn(7) != Network.drawn(8)
    for seed in range(100):
        network = Network.drawn(seed)
        assert 1 <= network.up_mbps <= 20 and 5 <= network.down_mbps <= 60
        assert 5 <= network.rtt_ms <= 100 and network.flows in (1, 2, 4)
    assert NETWORK.line.up.tc_text == NETWORK.qdisc_up
    assert NETWORK.line.down.tc_text == "codel target 5000us interval 100000us"


def test_regret_is_beside_the_best() -> None:
    kernel = {
        "nothing": {"p95_ms": 300.0, "mbps": 1.9},
        "cake at 95 %": {"p95_ms": 40.0, "mbps": 1.8},
        "cake at 80 %": {"p95_ms": 41.5, "mbps": 1.5},
    }
    found = {"best": "cake at 95 %", "kernel": kernel}
    assert twin_networks.regret_of(found, "cake at 95 %") == (0.0, 0.0)
    wait_ms, less = twin_networks.regret_of(found, "cake at 80 %")
    assert wait_ms == 1.5
    assert less == pytest.approx(1 / 6)
