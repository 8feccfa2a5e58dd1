"""The source's commands with ITGSend, ITGRecv and ping, run on the kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from dumbbell.metrics import program_rtt_quantiles_ms
from dumbbell.replication import Replications
from dumbbell.report import ValueRow, ValueTable
from dumbbell.spec import Experiment, Resolved
from dumbbell.stats import Estimate, student_interval
from dumbbell.studies import program_runs
from dumbbell.studies.queue_size_delay import arms, measured, published
from dumbbell.studies.queue_size_delay.limits import largest_delay_ms
from dumbbell.studies.queue_size_delay.measures import DelaysOfRuns
from dumbbell.studies.shape import Amount, Runner
from dumbbell.tables import Run

PING_START_S = 0.5
"""Start of ping, typed in a second window after the sender."""
Peaks = Replications[str, float]


def commands(limit: str, seed: int) -> Experiment:
    """Return the source's commands behind one queue size.

    Args:
        limit: Queue limit in tc syntax, such as ``40kb``.
        seed: Seed; with the replication it determines all random numbers.
    """
    nominal = arms.experiment(arms.SourceKind.DITG, limit, seed)
    ends = {"from": "client", "to": "server"}
    return Experiment.read(
        {
            "name": f"queue-size-delay-{limit}-own-programs",
            "duration": nominal.duration,
            "seed": seed,
            "links": list(nominal.links),
            "programs": [
                {"kind": "ditg", "name": arms.FLOW, **ends, "log": "none"}
                | {"gap": f"exponential {published.PACKETS_PER_SECOND:g}pps"}
                | {"size": f"exponential {published.MEAN_PAYLOAD_BYTES:g}B"}
                | {"duration": f"{published.DURATION_S:g}s"},
                {"kind": "ping", "name": arms.PING, **ends, "interval": "1s"}
                | {"count": published.PING_COUNT, "start": f"{PING_START_S:g}s"},
            ],
        }
    )


def ping_peak_ms(run: Run) -> float:
    """Return the largest round-trip time that ping printed; NaN without any."""
    return float(program_rtt_quantiles_ms(run, arms.PING, 1.0))


class QueueSizePrograms(program_runs.OwnProgramsPart[str, Peaks]):
    """Every size, with the source's programs."""

    def __init__(
        self,
        amount: Amount[str],
        seed: int,
        beside: Callable[[], Mapping[str, Mapping[str, DelaysOfRuns]]],
    ) -> None:
        """Set the amount, and the columns to compare with when all has run, by heading."""
        self.amount, self.beside = amount, beside
        self.experiments = {limit: commands(limit, seed) for limit in amount.over}

    def run(self, runner: Runner) -> Peaks:
        """See `Part`."""
        return runner.replicate(
            self.experiments, ping_peak_ms, self.amount, task=self.name, backend="kernel", keep=1
        )

    def runs(self, found: Peaks) -> Mapping[str, Run]:
        """Return the first run behind each size."""
        return {f"own programs {limit}": found.run(limit) for limit in found.arms}

    def tables(self, found: Peaks) -> Iterator[ValueTable]:
        """Return their peaks beside theory, our peaks, and those of a real kernel."""
        sides = self.beside()
        rows = [
            ValueRow(
                limit,
                "ms",
                [
                    largest_delay_ms(_limit_bytes(self.experiments[limit])),
                    found.estimate(limit),
                    *(
                        student_interval(side[limit].ping_peak_ms) if limit in side else ""
                        for side in sides.values()
                    ),
                    _measured(limit),
                ],
                is_code=True,
            )
            for limit in found.arms
        ]
        caption = (
            f"The greatest of {published.PING_COUNT} pings, behind each size: means of {found.n} "
            "runs of ITGSend, ITGRecv and ping of this machine on the Linux kernel in virtual "
            "time, and of ours, with 95 % intervals; three runs of the same on a real one. "
            "In virtual time ITGSend does not oversleep: it sends what it is asked for. The source "
            "prints its peaks as a picture only."
        )
        heads = ["m/\u00b5", program_runs.COLUMN, *sides, "a real kernel, three runs"]
        yield ValueTable("With the source's own programs", heads, rows, caption)


def _limit_bytes(experiment: Experiment) -> int:
    return Resolved(experiment.resolved()).queue(arms.QUEUE).limit_bytes or 0


def _measured(limit: str) -> Estimate:
    is_large = limit == published.LARGE
    peaks_ms = measured.LARGE_PEAKS_MS if is_large else measured.PING_PEAKS_MS[limit]
    return student_interval(np.array(peaks_ms))
