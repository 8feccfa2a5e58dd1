"""Where a capture was made: at places of the path whose delays are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dumbbell.backends import simulate
from dumbbell.formats import read_capture, read_tshark_csv
from dumbbell.metrics.captured import captured_flows
from dumbbell.metrics.observation_point import ObservationPoint, seen_from
from dumbbell.report.capture_loss import loss_notes
from dumbbell.report.capture_page import seen_places
from dumbbell.spec import Experiment
from dumbbell.tables import Run, place_code

TOML = """
duration = "2s"
[[links]]
a = "a"
b = "r"
delay = "{before}ms"
rate = "100mbit"
[[links]]
a = "r"
b = "b"
rate = "5mbit"
delay = "{behind}ms"
qdisc = "pfifo limit 10"
forward = {{ capture = true }}
reverse = {{ capture = true }}
[[flows]]
name = "bulk"
from = "a"
to = "b"
source = {{ kind = "greedy" }}
"""


def captured_at(before_ms: float, behind_ms: float) -> Run:
    """At a router with so much one-way delay to the sender and to the receiver."""
    toml = TOML.format(before=before_ms, behind=behind_ms)
    run = simulate(Experiment.from_toml(toml))
    return read_capture(run.files["capture.pcapng"].path)


@pytest.mark.parametrize(
    ("before_ms", "behind_ms", "point"),
    [
        (0.1, 20, ObservationPoint.SENDER),
        (1.5, 20, ObservationPoint.SENDER),
        (4, 16, ObservationPoint.BETWEEN),
        (10, 10, ObservationPoint.BETWEEN),
        (16, 4, ObservationPoint.BETWEEN),
        (20, 1.5, ObservationPoint.RECEIVER),
        (20, 0.1, ObservationPoint.RECEIVER),
    ],
)
def test_the_point_is_where_the_router_stands(
    before_ms: float, behind_ms: float, point: ObservationPoint
) -> None:
    run = captured_at(before_ms, behind_ms)
    queue, place = run.queue("r->b"), place_code("after")
    found = seen_from(run, queue, place, captured_flows(run, queue, place))
    assert found.point == (point,)
    assert found.behind_s[0] == pytest.approx(2e-3 * before_ms, abs=1e-4)
    assert found.ahead_s[0] == pytest.approx(2e-3 * behind_ms, abs=1e-3)


def test_of_the_other_end_the_point_is_the_other() -> None:
    """At the receiver's own interface nothing is behind but the way to the sender."""
    run = captured_at(5, 5)
    queue, place = run.queue("b->r"), place_code("before")
    found = seen_from(run, queue, place, captured_flows(run, queue, place))
    assert found.point == (ObservationPoint.RECEIVER,)


def test_a_loss_of_nought_says_what_it_is(tmp_path: Path) -> None:
    run = captured_at(0.1, 20)
    (seen,) = (each for each in seen_places(run) if each.label == "r->b before")
    (note,) = loss_notes(seen)
    assert note.startswith("r->b before: 1 flow was seen at its sender or next to it. ")
    assert "a loss of 0 says that nothing was, not that nothing was lost" in note
    assert "(least round trip to the sender 0.2" in note
    fields = tmp_path / "fields.csv"
    line = "{}.5,10.0.0.1,10.0.0.2,1000,80,1514,\n"
    fields.write_text("".join(line.format(n) for n in range(3)))
    (only,) = seen_places(read_tshark_csv(fields))
    assert "nobody can say where" in loss_notes(only)[0]
    assert np.isnan(seen_from(only.run, 0, only.place, only.flows).ahead_s).all()
