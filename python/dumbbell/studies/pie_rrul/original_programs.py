"""Flent's programs on the kernel: netperf if installed, otherwise iperf3; ping; irtt.

Flent's rrul runs four netperf in each direction, irtt at three DSCPs and a ping. In Debian, netperf
is non-free; iperf3 also counts bytes of its send calls, and reports equally often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from dumbbell.replication import Replications
from dumbbell.report import Cell, ValueRow, ValueTable
from dumbbell.spec import Experiment
from dumbbell.spec.flent import FlentTest, Stream
from dumbbell.spec.flows import Flow
from dumbbell.spec.programs import NetperfProgram
from dumbbell.studies import program_runs
from dumbbell.studies.pie_rrul import arms, published
from dumbbell.studies.pie_rrul.arms import Setting
from dumbbell.studies.pie_rrul.measures import (
    Floats,
    Measured,
    RunsBySetting,
    average_latency_ms,
    load_steps,
    mean_of_known,
    numbers,
    round_trips,
    with_queue,
)
from dumbbell.studies.shape import Amount, Runner
from dumbbell.tables import Run

PING = "ping"
ASKING = 0
"""Code in ``side`` of the program told to measure: Flent reads its counts."""
Found = Replications[Setting, Measured]


def has_netperf() -> bool:
    """Whether the streams are netperf's, as in Flent."""
    return program_runs.can_run(NetperfProgram.TOOLS)


def commands(setting: Setting, seed: int, test: FlentTest, *, netperf: bool) -> Experiment:
    """Return the commands that Flent starts, at a setting of PIE in today's kernel.

    Args:
        setting: The setting of PIE.
        seed: Seed; with the replication it determines all random numbers.
        test: Flent's test.
        netperf: Whether netperf sends; otherwise iperf3.
    """
    stream = partial(_netperf if netperf else _iperf3, test)
    length = f"{test.total_s:g}s"
    interval = f"{test.step_s:g}s"
    ping: dict[str, Any] = {"kind": "ping", "name": PING, "from": test.client, "to": test.hosts[0]}
    ping |= {"interval": interval, "count": round(test.total_s / test.step_s)}
    probes = [probe for probe in test.pings(irtt=True) if probe.kind == "irtt"]
    return Experiment(
        name=f"pie-rrul-{setting.name}-own-programs",
        seed=seed,
        duration=length,
        sample_interval=interval,
        timer_hz=published.TIMER_HZ,
        links=arms.links(setting.qdisc(arms.ESTIMATOR), ring_bytes=arms.RING_BYTES),
        flows=[_one_by_one(*ends) for ends in _both_ways(test)],
        programs=[*(stream(each) for each in test.streams), ping],
        probes=probes,
    )


def _both_ways(test: FlentTest) -> Iterator[tuple[str, str]]:
    yield test.client, test.hosts[0]
    yield test.hosts[0], test.client


def _one_by_one(sender: str, receiver: str) -> Flow:
    """Return a flow of one byte: a host's devices send one by one if one of its flows says so."""
    return Flow(
        name=f"one-by-one-{sender}",
        from_=sender,
        to=receiver,
        source={"kind": "sized", "size": "1B"},
        tcp=arms.ONE_BY_ONE,
    )


def _common(test: FlentTest, stream: Stream) -> dict[str, Any]:
    return {
        "name": stream.flow,
        "from": test.client,
        "to": stream.host,
        "start": f"{stream.start_s:g}s",
        "duration": f"{stream.length_s:g}s",
        "interval": f"{test.step_s:g}s",
        "dscp": stream.dscp,
    }


def _netperf(test: FlentTest, stream: Stream) -> dict[str, Any]:
    way = "TCP_STREAM" if stream.upload else "TCP_MAERTS"
    return {"kind": "netperf", "test": way} | _common(test, stream)


def _iperf3(test: FlentTest, stream: Stream) -> dict[str, Any]:
    return {"kind": "iperf3", "reverse": not stream.upload} | _common(test, stream)


def measured_by_programs(run: Run, test: FlentTest) -> Measured:
    """Return the numbers of Flent's plots from the programs' output, and the queue's from tc."""
    steps, loaded = load_steps(test)
    ends_s = test.step_s * np.arange(1, steps + 1, dtype=np.float64)[loaded]
    rates = {each.flow: _rate_mbps(run, each.flow, ends_s) for each in test.streams}
    ups, downs = (
        [rates[each.flow] for each in test.streams if each.upload == is_upload]
        for is_upload in (True, False)
    )
    by_irtt = [round_trips(run, "probes", probe=name) for name in run.probe_names]
    by_ping = round_trips(run, "program_round_trips", program=PING)
    upload: Floats = np.sum(ups, axis=0)
    return numbers(
        with_queue(
            run,
            test,
            upload_mbps=upload,
            download_mbps=np.sum(downs, axis=0),
            latency_ms=average_latency_ms([*by_irtt, by_ping], test.step_s, steps)[loaded],
        ),
        test,
        uploads_mbps=[float(each.mean()) for each in ups],
        latency_udp_ms=mean_of_known(average_latency_ms(by_irtt, test.step_s, steps)[loaded]),
        written_mbps=upload,
    )


def _rate_mbps(run: Run, program: str, ends_s: Floats) -> Floats:
    """Return a program's rate at the ends of steps, interpolated linearly as in Flent."""
    begin, end, counted = (
        run.column("program_intervals", column, program=program, side=ASKING)
        for column in ("start_ns", "end_ns", "bytes")
    )
    length = end - begin
    # The remainder at the end, of a hundredth of a second, would dominate the spread of a short
    # test.
    whole = length > 0.5 * np.median(length)
    rates: Floats = np.interp(ends_s, end[whole] / 1e9, 8e3 * (counted / length)[whole])
    return rates


class RrulPrograms(program_runs.OwnProgramsPart[Setting, Found]):
    """Scenario 1 by the programs that Flent starts."""

    def __init__(
        self,
        amount: Amount[Setting],
        seed: int,
        test: FlentTest,
        beside: Callable[[], Mapping[str, RunsBySetting]],
    ) -> None:
        """Set the amount, and the columns to compare with when all has run, by heading."""
        self.amount, self.test, self.beside = amount, test, beside
        self.netperf = has_netperf()
        self.experiments = {
            each: commands(each, seed, test, netperf=self.netperf) for each in amount.over
        }

    def run(self, runner: Runner) -> Found:
        """See `Part`."""
        return runner.replicate(
            self.experiments,
            partial(measured_by_programs, test=self.test),
            self.amount,
            task=self.name,
            backend="kernel",
            complete=True,
            keep=1,
        )

    def runs(self, found: Found) -> Mapping[str, Run]:
        """Return the first run at each setting."""
        return {f"own programs {each.name}": found.run(each) for each in found.arms}

    def tables(self, found: Found) -> Iterator[ValueTable]:
        """Return every printed number beside the programs' and ours, one table per setting."""
        sides = self.beside()
        for setting in found.arms:
            rows = [
                ValueRow(
                    quantity.short,
                    quantity.unit,
                    [
                        Cell.of(_printed(setting, name)),
                        found.estimate(setting, _counted_by_senders(quantity.measure)),
                        *(
                            side.mean(setting, _counted_by_senders(quantity.measure))
                            if setting in side.settings
                            else ""
                            for side in sides.values()
                        ),
                    ],
                )
                for name, quantity in published.QUANTITIES.items()
            ]
            said = caption(found.n, self.test, netperf=self.netperf)
            yield ValueTable(
                f"With the source's own programs, {setting.label}",
                ["printed", program_runs.COLUMN, *sides],
                rows,
                said if setting == found.arms[0] else "As above.",
            )


def _printed(setting: Setting, name: str) -> float:
    return next(
        numbers[name]
        for row, numbers in published.TABLES.items()
        if arms.setting_of(*row) == setting
    )


def _counted_by_senders(measure: str) -> str:
    """Map an upload range to the bytes of send calls, as netperf counts them."""
    ranges = {"upload_low_mbps": "written_low_mbps", "upload_high_mbps": "written_high_mbps"}
    return ranges.get(measure, measure)


def caption(runs: int, test: FlentTest, *, netperf: bool) -> str:
    """Describe the experiment and its differences from Flent."""
    streams = (
        "netperf"
        if netperf
        else "iperf3 (in place of netperf, which is not installed; it also counts what its send "
        "calls took)"
    )
    return (
        f"Flent's rrul, shortened: tests of {test.length_s} s in place of {published.LENGTH_S}. "
        f"Means of {runs} runs of {streams}, irtt and ping of this machine on the Linux kernel in "
        "virtual time, started as Flent starts them, and of our senders and probes, with 95 % "
        "intervals. Flent itself is not run. The driver's ring, the server's egress and sending "
        "one by one are ours as in scenario 1. The range of the uploads is that of what send calls "
        "took; a program's last report is left out if it is of less than half an interval. In a "
        "short test slow start weighs more."
    )
