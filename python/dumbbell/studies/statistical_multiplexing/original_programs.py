"""The source's commands with ITGSend, ITGRecv and ping, run on the kernel.

They run for 200 of the published 600 s, the part with pings: later traffic does not affect them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from dumbbell.metrics import program_rtt_ms
from dumbbell.report import ValueRow, ValueTable
from dumbbell.spec import Experiment
from dumbbell.stats import Estimate, student_interval
from dumbbell.studies import program_runs
from dumbbell.studies.shape import Amount, Arm, Runner
from dumbbell.studies.statistical_multiplexing import arms, published
from dumbbell.studies.statistical_multiplexing.measures import (
    AsPublished,
    PublishedRun,
    one_run_ratio,
)
from dumbbell.tables import Run

DRAIN_S = 20
PINGS = ("ping-1", "ping-2")
"""Names, by the senders' numbers."""


def commands(arm: str, seed: int) -> Experiment:
    """Return the source's commands of an arm.

    Args:
        arm: ``SM`` or ``TDM``.
        seed: Seed; with the replication it determines all random numbers.
    """
    nominal = arms.as_published(arm, seed)
    between = [(i, {"from": f"sender-{i}", "to": arms.receiver(arm, i)}) for i in (1, 2)]
    gap = f"exponential {published.PACKETS_PER_SECOND:g}pps"
    size = f"exponential {published.MEAN_PAYLOAD_BYTES:g}B"
    seconds = round(arms.PINGED_S)
    return Experiment.read(
        {
            "name": f"statistical-multiplexing-{arm}-own-programs",
            "duration": f"{seconds + DRAIN_S}s",
            "seed": seed,
            "links": list(nominal.links),
            "programs": [
                program
                for i, ends in between
                for program in (
                    {"kind": "ditg", "name": f"stream-{i}", **ends, "gap": gap, "size": size}
                    | {"duration": f"{seconds}s", "log": "none"},
                    {"kind": "ping", "name": PINGS[i - 1], **ends, "interval": "200ms"}
                    | {"count": published.PING_COUNT},
                )
            ],
        }
    )


def pinged_by_ping(run: Run) -> PublishedRun:
    """Return the round-trip times that ping printed, of both senders."""
    return PublishedRun(np.concatenate([program_rtt_ms(run, name) for name in PINGS]))


class MultiplexingPrograms(program_runs.OwnProgramsPart[str, AsPublished]):
    """The run as published, with the source's programs."""

    def __init__(
        self, amount: Amount[str], seed: int, beside: Callable[[], Mapping[str, AsPublished]]
    ) -> None:
        """Set the amount, and the columns to compare with when all has run, by heading."""
        self.amount, self.beside = amount, beside
        self.experiments = {arm: commands(arm, seed) for arm in published.ARMS}

    def run(self, runner: Runner) -> AsPublished:
        """See `Part`."""
        both = [Arm(arm, each, arms.LABELS[arm]) for arm, each in self.experiments.items()]
        return runner.replicate(
            both, pinged_by_ping, self.amount, task=self.name, backend="kernel", keep=1
        )

    def runs(self, found: AsPublished) -> Mapping[str, Run]:
        """Return the first run of each arm."""
        return {f"own programs {arm}": found.run(arm) for arm in found.arms}

    def tables(self, found: AsPublished) -> Iterator[ValueTable]:
        """Return every printed number beside the programs' and ours."""
        yield table(found, self.beside())


def table(own: AsPublished, beside: Mapping[str, AsPublished]) -> ValueTable:
    """Return printed values, the programs' results, and our senders' results."""
    sides = {program_runs.COLUMN: own, **beside}
    rows = [
        ValueRow(
            f"{printed.arm}, {printed.what}",
            "ms",
            [f"{printed.ms:g}", *(_level(side, printed) for side in sides.values())],
        )
        for printed in published.QUARTILES
    ]
    rows += [
        ValueRow(
            f"{arm}, mean", "ms", ["", *(side.estimate(arm, "mean_ms") for side in sides.values())]
        )
        for arm in published.ARMS
    ]
    ratios = [student_interval(one_run_ratio(side)) for side in sides.values()]
    rows.append(
        ValueRow("Mean of SM over that of TDM", "1", [f"{published.MEAN_RATIO:g}", *ratios])
    )
    caption = (
        f"Round-trip times of {published.PING_COUNT} pings of each sender, over 200 s: means of "
        f"{own.n} runs of ITGSend, ITGRecv and ping of this machine on the Linux kernel in virtual "
        "time, and of ours, with 95 % intervals; the source printed one run. The programs draw "
        "random numbers of their own."
    )
    return ValueTable("With the source's own programs", ["printed", *sides], rows, caption)


def _level(side: AsPublished, printed: published.Printed) -> Estimate:
    return side.estimate(printed.arm, lambda run: run.quantile_ms(printed.level))
