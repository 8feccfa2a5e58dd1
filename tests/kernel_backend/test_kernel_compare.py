"""The two backends side by side, and exactly the number of transfers asked for on both."""

from __future__ import annotations

from typing import Any

import pytest

from dumbbell.backends import simulate
from dumbbell.compare import Arm, Cell, Outcome, compare, sentences
from dumbbell.spec import Experiment

pytestmark = pytest.mark.usefixtures("kernel")

LINE: dict[str, Any] = {
    "name": "line",
    "duration": "6s",
    "warm_up": "1s",
    "links": [
        {"a": "server", "b": "isp", "delay": "10ms"},
        {"a": "isp", "b": "home", "rate": "10mbit"},
    ],
    "flows": [
        {
            "name": "stream",
            "from": "server",
            "to": "home",
            "source": {
                "kind": "poisson",
                "rate": "900pps",
                "size": "exponential 1000B",
                "size_at": "payload",
            },
        }
    ],
    "probes": [{"name": "call", "from": "home", "to": "server", "interval": "50ms"}],
}
CALL = "probe[call].mean_rtt_ms"


def test_backends_side_by_side() -> None:
    cell = Cell("line", Experiment.read(LINE))
    found = compare([cell], backends=("sim", "kernel"), replications=5)
    assert list(found.results) == [Arm("line", "sim"), Arm("line", "kernel")]
    assert found.differences == ()
    agreement = next(each for each in found.agreements if each.quantity.path == CALL)
    assert (agreement.backend, agreement.other) == ("kernel", "sim")
    assert agreement.outcome is Outcome.SAME
    # Both draw the same packets: pairs differ by far less than runs do.
    numbers = found.measured(CALL, "line", "sim")
    assert agreement.measured.high - agreement.measured.low < (numbers.high - numbers.low) / 3
    (said,) = sentences(found)
    assert said.startswith("kernel and sim, line: agree on ")


@pytest.mark.parametrize("kind", ["arrivals", "closed_loop"])
def test_so_many_transfers_on_both(kind: str) -> None:
    pause = {"arrivals": {"gap": "exponential 10pps"}, "closed_loop": {"think": "100ms"}}[kind]
    web = {
        "name": "web",
        "from": "server",
        "to": "home",
        "source": {"kind": kind, "size": "exponential 10kb", "transfers": 12, **pause},
    }
    experiment = Experiment.read({**LINE, "flows": [web]})
    for backend in ("sim", "kernel"):
        run = simulate(experiment, backend=backend)
        assert len(run.column("transfers", "bytes")) == 12
        assert (run.column("transfers", "completed_ns") > 0).all()
