"""The sawtooth of one CUBIC flow behind `tbf`, against a measurement on Linux 6.18."""

from __future__ import annotations

import csv
import gzip
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from dumbbell.backends import simulate
from dumbbell.spec import Experiment
from dumbbell.tables import Run

FOLDER = Path(__file__).parent / "tcp-over-tbf-linux-6.18"
BOTTLENECK = 2
# Slow start and its two reductions are over, and the long first epoch of CUBIC; five cycles follow.
FROM_S = 12.0
TO_S = 29.5


@dataclass(frozen=True)
class Series:
    """Of one quantity, values at times."""

    times_s: np.ndarray
    values: np.ndarray

    def later(self) -> np.ndarray:
        return self.values[(self.times_s >= FROM_S) & (self.times_s < TO_S)]


@dataclass(frozen=True)
class Sawtooth:
    """Backlog and window of a run, and when the queue dropped."""

    backlog_pkts: Series
    backlog_bytes: Series
    cwnd_pkts: Series
    dropped_pkts: Series

    @property
    def losses_s(self) -> np.ndarray:
        """The first drops of each reduction; those a round trip apart belong together."""
        times = self.dropped_pkts.times_s[1:][np.diff(self.dropped_pkts.values) > 0]
        return times[np.diff(times, prepend=-1.0) > 0.5]

    @property
    def period_s(self) -> float:
        """Mean time between reductions."""
        losses = self.losses_s[(self.losses_s > FROM_S - 2) & (self.losses_s < 30)]
        assert len(losses) >= 6
        return float(np.diff(losses).mean())


def read(name: str) -> dict[str, np.ndarray]:
    text = gzip.decompress((FOLDER / name).read_bytes()).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    return {name: np.array([number(row[name]) for row in rows]) for name in rows[0]}


def number(word: str) -> float:
    if word.endswith("K"):
        return float(word[:-1]) * 1024
    return float(word) if word else np.nan


@pytest.fixture(scope="module")
def measured() -> Sawtooth:
    queue, sender = read("qlen.csv.gz"), read("ss.csv.gz")

    def of(table: dict[str, np.ndarray], name: str) -> Series:
        return Series(table["t_s"], table[name])

    return Sawtooth(
        of(queue, "backlog_pkts"),
        of(queue, "backlog_bytes"),
        of(sender, "cwnd_pkts"),
        of(queue, "dropped"),
    )


def experiment() -> Experiment:
    return Experiment.model_validate(
        {
            "name": "tcp-over-tbf",
            "duration": "30s",
            "sample_interval": "100ms",
            "links": [
                {"a": "client", "b": "router"},
                {
                    "a": "router",
                    "b": "server",
                    "delay": "25us",
                    "forward": {"qdisc": "tbf rate 10mbit burst 5kb limit 150kb"},
                },
            ],
            "flows": [
                {
                    "name": "iperf3",
                    "from": "client",
                    "to": "server",
                    "start_jitter": "20ms",
                    "source": {"kind": "greedy"},
                    "tcp": {"congestion_control": "cubic"},
                }
            ],
        }
    )


def sawtooth(run: Run) -> Sawtooth:
    queues, flows = run.tables["queue_samples"], run.tables["flow_samples"]
    here = np.asarray(queues["queue"]) == BOTTLENECK
    times = np.asarray(queues["t_ns"])[here] / 1e9

    def of(name: str) -> Series:
        return Series(times, np.asarray(queues[name])[here].astype(float))

    window = Series(np.asarray(flows["t_ns"]) / 1e9, np.asarray(flows["cwnd_pkts"]).astype(float))
    return Sawtooth(of("backlog_pkts"), of("backlog_bytes"), window, of("dropped_pkts"))


@pytest.fixture(scope="module", params=range(3), ids=lambda number: f"replication-{number}")
def simulated(request: pytest.FixtureRequest) -> Sawtooth:
    return sawtooth(simulate(experiment(), replication=request.param))


def test_the_period(simulated: Sawtooth, measured: Sawtooth) -> None:
    assert measured.period_s == pytest.approx(3.2, abs=0.1)
    assert simulated.period_s == pytest.approx(measured.period_s, rel=0.10)


def test_reductions_come_when_they_were_measured(simulated: Sawtooth, measured: Sawtooth) -> None:
    assert len(simulated.losses_s) == len(measured.losses_s)
    # Sampled every 0.1 s in both, and the flow starts up to 20 ms after the run.
    assert np.abs(simulated.losses_s - measured.losses_s).max() <= 0.5


@pytest.mark.parametrize("quantity", ["backlog_pkts", "cwnd_pkts"])
def test_the_range(simulated: Sawtooth, measured: Sawtooth, quantity: str) -> None:
    ours, theirs = getattr(simulated, quantity).later(), getattr(measured, quantity).later()
    for quantile in (0.05, 0.95):
        expected = np.quantile(theirs, quantile)
        assert np.quantile(ours, quantile) == pytest.approx(expected, rel=0.10)


@pytest.mark.parametrize("quantity", ["backlog_pkts", "backlog_bytes", "cwnd_pkts"])
def test_the_mean(simulated: Sawtooth, measured: Sawtooth, quantity: str) -> None:
    ours, theirs = getattr(simulated, quantity).later(), getattr(measured, quantity).later()
    assert ours.mean() == pytest.approx(theirs.mean(), rel=0.10)
