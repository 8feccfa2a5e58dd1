"""Twins of networks that were drawn at random and measured on the kernel, from the kept files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dumbbell.twin import DisciplineClass, Trust, Way, estimate, read_measurements
from dumbbell.twin.result import Quantity

KEPT = Path(__file__).parent / "kernel_networks"
NETWORKS = json.loads((KEPT / "networks.json").read_text())
CLASSES = {
    "bfifo": DisciplineClass.FIFO,
    "codel": DisciplineClass.AQM,
    "pie": DisciplineClass.AQM,
    "fq_codel": DisciplineClass.FLOW_QUEUEING,
}


@pytest.mark.long
@pytest.mark.parametrize("name", NETWORKS)
def test_rate_delay_buffer_and_discipline_are_found(name: str) -> None:
    truth = NETWORKS[name]
    files = [KEPT / f"{name}-{test}.flent.gz" for test in ("tcp_nup", "tcp_ndown")]
    twin = estimate(read_measurements(files, {}))
    assert twin.trust is Trust.PREDICTS, twin.misses
    delay = twin.parameter(Quantity.BASE_ROUND_TRIP)
    assert delay is not None and delay.value == pytest.approx(truth["rtt_ms"], abs=1.0)
    for way in Way:
        rate = twin.parameter(Quantity.RATE, way)
        assert rate is not None
        assert rate.value == pytest.approx(truth[f"{way.value}_mbps"], rel=0.02)
        kind, *words = truth[f"qdisc_{way.value}"].split()
        found = twin.decisions[way].class_
        assert found in (CLASSES[kind], DisciplineClass.NOT_IDENTIFIABLE)
        buffer = twin.parameter(Quantity.BUFFER, way)
        assert buffer is not None
        if kind != "bfifo":
            assert buffer.unidentifiable
        elif not buffer.unidentifiable:
            kilobytes = int(words[1].removesuffix("b")) / 1e3
            assert buffer.value == pytest.approx(kilobytes, rel=0.10)
