"""Twins of lines that are known, from data files of Flent's that the simulator made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_lines import DOWN, UP, measured

from dumbbell.errors import SpecError
from dumbbell.spec import Experiment
from dumbbell.spec.flent import Network
from dumbbell.twin import DisciplineClass, Trust, Way, estimate, read_measurements, twin_text
from dumbbell.twin.fitting import Loaded, direct_line
from dumbbell.twin.reading import Measurements
from dumbbell.twin.result import Quantity
from dumbbell.twin.scene import MeasuredFlow, least_ms
from dumbbell.twin.simulated import simulated

FIFO = Network(rate="5mbit", rate_down="8mbit", qdisc="bfifo limit 100000b", rtts=["25ms"])


@pytest.mark.slow
def test_rates_delay_and_buffer_of_a_fifo_are_found_and_predict(tmp_path: Path) -> None:
    twin = estimate(read_measurements([measured(tmp_path, UP, FIFO)], {}))
    assert twin.ways == (Way.UP,)
    rate = twin.parameter(Quantity.RATE, Way.UP)
    delay = twin.parameter(Quantity.BASE_ROUND_TRIP)
    buffer = twin.parameter(Quantity.BUFFER, Way.UP)
    assert rate is not None and rate.value == pytest.approx(5.0, rel=0.02)
    assert delay is not None and delay.value == pytest.approx(25.0, abs=1.0)
    assert buffer is not None and buffer.value == pytest.approx(100.0, rel=0.1)
    assert rate.low <= 5.0 <= rate.high
    assert twin.decisions[Way.UP].class_ is DisciplineClass.FIFO
    assert twin.trust is Trust.PREDICTS


@pytest.mark.slow
@pytest.mark.parametrize(
    ("qdisc", "class_"),
    [("fq_codel", DisciplineClass.FLOW_QUEUEING), ("pie", DisciplineClass.AQM)],
)
def test_disciplines_are_told_apart_and_then_no_buffer_is_known(
    tmp_path: Path, qdisc: str, class_: DisciplineClass
) -> None:
    network = replace(FIFO, qdisc=qdisc)
    twin = estimate(read_measurements([measured(tmp_path, DOWN, network)], {}))
    assert twin.decisions[Way.DOWN].class_ in (class_, DisciplineClass.NOT_IDENTIFIABLE)
    assert twin.decisions[Way.DOWN].nearest.model.class_ is class_
    buffer = twin.parameter(Quantity.BUFFER, Way.DOWN)
    assert buffer is not None and buffer.unidentifiable


@pytest.mark.slow
def test_a_line_whose_rate_halves_is_predicted_badly(tmp_path: Path) -> None:
    read = read_measurements([measured(tmp_path, UP, FIFO)], {})
    (scene,) = read.scenes
    middle_s = scene.begin_s + scene.length_s / 2
    flows = []
    for flow in scene.flows:
        then = np.interp(middle_s, flow.t_s, flow.payload_bytes)
        slow = then + (flow.payload_bytes - then) / 2
        moved = np.where(flow.t_s < middle_s, flow.payload_bytes, slow)
        flows.append(MeasuredFlow(flow.way, flow.t_s, moved, flow.srtt_ms))
    halved = Measurements((replace(scene, flows=tuple(flows)),))
    twin = estimate(halved)
    assert twin.trust is Trust.FAILS
    assert "goodput up" in [each.name for each in twin.misses]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_on_any_threads(tmp_path: Path) -> None:
    read = read_measurements([measured(tmp_path, UP, FIFO, length_s=10)], {})
    one, other = (estimate(read, seed=3, jobs=jobs) for jobs in (1, 2))
    assert one.document == other.document
    assert twin_text(one, read.scenes) == twin_text(other, read.scenes)
    experiment = Experiment.from_toml(twin_text(one, read.scenes))
    assert "modem->isp" in experiment.queue_names


def test_a_part_of_a_load_is_simulated_as_in_the_whole(tmp_path: Path) -> None:
    read = read_measurements([measured(tmp_path, UP, FIFO, length_s=10)], {})
    (scene,) = read.scenes
    line = direct_line([Loaded(scene)], least_ms([scene]))
    both = [
        simulated([line], scene, seed=1, replications=range(1), share=share)[0][0]
        for share in (0.5, 1.0)
    ]
    part, whole = (each.between(0.0, 0.5) for each in both)
    assert part.end_s == whole.end_s
    assert part.goodput_mbps(Way.UP) == whole.goodput_mbps(Way.UP)
    assert part.round_trips_ms().tolist() == whole.round_trips_ms().tolist()
    assert both[0].sent_s[-1] < whole.end_s + 1 < both[1].sent_s[-1]


def test_without_a_load_or_without_round_trips_nothing_is_estimated(tmp_path: Path) -> None:
    read = read_measurements([measured(tmp_path, UP, FIFO, length_s=10)], {})
    (scene,) = read.scenes
    with pytest.raises(SpecError, match="a load of TCP flows"):
        estimate(Measurements((replace(scene, flows=()),)))
    with pytest.raises(SpecError, match="round trips"):
        estimate(Measurements((replace(scene, sent_s=np.empty(0), rtt_ms=np.empty(0)),)))
