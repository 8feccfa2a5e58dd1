"""The source's programs iperf, tcpdump and tshark, run on the kernel.

This module has the common part of both workloads (`original_programs`, `original_users`). The
source does not print its scripts, so the per-node script is ours. The measurement is that of the
source: tshark's fields of packets captured by tcpdump behind the bottleneck. Our senders run the
same traffic on both backends for comparison.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from dumbbell.claims import relative_spread, share_better
from dumbbell.formats.tshark import read_tshark_csv
from dumbbell.replication import Replications
from dumbbell.report import ValueRow, ValueTable
from dumbbell.spec import Experiment
from dumbbell.stats import Estimate
from dumbbell.studies import program_runs
from dumbbell.studies.buffer_sizing import arms, published
from dumbbell.studies.buffer_sizing.arms import Buffer, Point
from dumbbell.studies.buffer_sizing.measures import Floats, Flows, flows_of
from dumbbell.studies.shape import Amount, Runner
from dumbbell.tables import Run

LOAD = Point(load="light")
CAPTURED_BYTES = 96
"""Bytes captured per packet; the source captured whole packets but used TCP headers only."""
CAPTURE, FIELDS = "behind-bottleneck", "fields"
WATCHING: tuple[Mapping[str, Any], ...] = (
    {"kind": "tcpdump", "name": CAPTURE, "host": "target2", "neighbor": "target1"}
    | {"snap_length": CAPTURED_BYTES, "protocol": "tcp"},
    {"kind": "tshark", "name": FIELDS, "host": "target2", "of": CAPTURE},
)
"""Measuring programs, independent of the sender."""

FIRST_PORT = 5001
SHARE = "%"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Scripts:
    """Commands of a node, from its first port.

    Attributes:
        receivers: Command lines at the sink.
        sender: Shell script at the node.
        ports: Number of ports.
    """

    receivers: Callable[[int], Sequence[Sequence[str]]]
    sender: Callable[[int], str]
    ports: int = 1


def scripted(scripts: Scripts, packets: int, seed: int, *, duration_s: float) -> Experiment:
    """Return the receivers and script of each node, and the measuring programs.

    Args:
        scripts: Scripts of a node.
        packets: Limit of the bottleneck's pfifo.
        seed: Seed; with the replication it determines all random numbers.
        duration_s: Duration of the run.
    """
    links = arms.network([], packets, hosts=LOAD.hosts, seed=seed, duration_s=duration_s).links
    sources = arms.tree(LOAD.hosts).sources
    nodes = [(FIRST_PORT + at * scripts.ports, node) for at, node in enumerate(sources)]
    # Not read as a file, because a file may not have command lines.
    return Experiment(
        name=f"buffer-sizing-{packets}-own-programs",
        duration=f"{duration_s:g}s",
        seed=seed,
        links=list(links),
        programs=[
            *(
                {"kind": "any", "name": f"receiver-{node}-{number}", "host": "sink"}
                | {"command": list(command)}
                | {"begins": "before", "stops": "interrupted"}
                for port, node in nodes
                for number, command in enumerate(scripts.receivers(port), 1)
            ),
            *(
                {"kind": "any", "name": f"flows-{node}", "host": node}
                | {"command": ["bash", "-c", scripts.sender(port)]}
                for port, node in nodes
            ),
            *WATCHING,
        ],
    )


@dataclass(frozen=True, slots=True, eq=False)
class FlowsInCapture:
    """Flows of a run, as a capture behind the bottleneck shows them.

    Attributes:
        throughput_kbps: Throughput from the first to the last packet; shape (flows,).
        loss: Retransmissions over packets.
        is_large: Whether it has more than 100 kB.
    """

    throughput_kbps: Floats
    loss: Floats
    is_large: NDArray[np.bool_]

    @classmethod
    def by_tshark(cls, path: Path) -> FlowsInCapture:
        """Read the fields printed by tshark; flows of one packet have no duration.

        Raises:
            FormatError: The file is not of that form.
        """
        flows = read_tshark_csv(path).tables["captured_flows"]
        length_ns = flows["last_ns"] - flows["first_ns"]
        kept = (flows["is_reply"] == 0) & (length_ns > 0)
        size, packets = flows["bytes"][kept], flows["pkts"][kept]
        return cls(
            8e6 * size / length_ns[kept],
            flows["retransmission_pkts"][kept] / packets,
            size > published.LARGE_BYTES,
        )

    @classmethod
    def of_run(cls, run: Run) -> FlowsInCapture:
        """Return the flows printed by tshark in a run of the kernel."""
        return cls.by_tshark(run.files[f"{FIELDS}.tshark.csv"].path)

    @classmethod
    def by_our_tables(cls, flows: Flows) -> FlowsInCapture:
        """Return the flows of our senders."""
        return cls(flows.throughput_kbps, flows.loss, flows.is_large)


def spread_small_over_large(seen: Mapping[Buffer, FlowsInCapture]) -> float:
    """Spread of the large flows' throughput with B_s over that with B_l.

    NaN without such flows, or if the throughputs with B_l are all equal.
    """
    small, large = (
        seen[buffer].throughput_kbps[seen[buffer].is_large] for buffer in ("small", "large")
    )
    if not (small.size and large.size) or not relative_spread(large):
        return math.nan
    return relative_spread(small) / relative_spread(large)


def better_with_large(seen: Mapping[Buffer, FlowsInCapture], *, is_large: bool) -> float:
    """Return the share of large or small flows with more throughput with B_l; NaN without any."""
    small, large = (
        of.throughput_kbps[of.is_large == is_large] for of in (seen["small"], seen["large"])
    )
    if not (small.size and large.size):
        return math.nan
    return share_better(large, small, better="higher")


def median(values: Floats) -> float:
    """Return the median; NaN without values."""
    return float(np.median(values)) if values.size else math.nan


def greatest(values: Floats) -> float:
    """Return the maximum; NaN without values."""
    return float(values.max()) if values.size else math.nan


def share(values: NDArray[np.bool_]) -> float:
    """Return the share of true values; NaN without values."""
    return float(values.mean()) if values.size else math.nan


@dataclass(frozen=True, slots=True)
class IperfRow(Generic[T]):
    """A row of the table.

    Attributes:
        name: Name, with the number of the observation.
        unit: Unit of its numbers.
        printed: Value printed for the testbed.
        value: The same value of a replication.
    """

    name: str
    unit: str
    printed: str
    value: Callable[[T], float]


Sides = Mapping[str, Replications[str, T]]
"""Results by column heading."""
_Reduce = Callable[[Mapping[Buffer, Run]], T]


def _within(row: IperfRow[T], arm: str, many: Replications[str, T]) -> Estimate:
    """Return the mean, with its interval clipped to the range of a share."""
    found = many.estimate(arm, row.value)
    if row.unit != SHARE:
        return found
    return replace(found, low=max(found.low, 0.0), high=min(found.high, 100.0))


class IperfWorkload(program_runs.OwnProgramsPart[Buffer, Sides[T]], Generic[T]):
    """A workload by iperf, with both buffers, beside our senders.

    Attributes:
        arm: Name of the workload.
        title: Title of the table.
        rows: Rows of the table.
    """

    arm: ClassVar[str]
    title: ClassVar[str]
    rows: Sequence[IperfRow[T]]

    def __init__(self, amount: Amount[str], seed: int) -> None:
        """Set the amount and the seed."""
        self.amount = amount
        self.experiments = {
            buffer: self.commands(packets, seed) for buffer, packets in arms.BUFFERS.items()
        }
        self.ours = {
            buffer: self.our_senders(packets, seed) for buffer, packets in arms.BUFFERS.items()
        }

    @staticmethod
    @abstractmethod
    def commands(packets: int, seed: int) -> Experiment:
        """Return the programs, with a pfifo of `packets` packets."""

    @staticmethod
    @abstractmethod
    def our_senders(packets: int, seed: int) -> Experiment:
        """Return the same traffic by our senders."""

    @staticmethod
    @abstractmethod
    def told(seen: Mapping[Buffer, FlowsInCapture], runs: Mapping[Buffer, Run]) -> T:
        """Return the numbers of the runs with both buffers."""

    @abstractmethod
    def caption(self, runs: int) -> str:
        """Describe the experiment, run `runs` times with each buffer."""

    def by_programs(self, runs: Mapping[Buffer, Run]) -> T:
        """Return the numbers from tshark's files."""
        return self.told({buffer: FlowsInCapture.of_run(run) for buffer, run in runs.items()}, runs)

    def by_our_senders(self, runs: Mapping[Buffer, Run]) -> T:
        """Return the numbers from our tables."""
        seen = {buffer: FlowsInCapture.by_our_tables(flows_of(run)) for buffer, run in runs.items()}
        return self.told(seen, runs)

    def run(self, runner: Runner) -> Sides[T]:
        """See `Part`."""
        # The kernel does not count retransmissions it receives, so tshark also captures our senders
        # there.
        watched = {
            buffer: each.with_(programs=list(WATCHING)) for buffer, each in self.ours.items()
        }
        sides: Mapping[str, tuple[Mapping[Buffer, Experiment], _Reduce[T], str]] = {
            program_runs.COLUMN: (self.experiments, self.by_programs, "kernel"),
            "simulator": (self.ours, self.by_our_senders, "sim"),
            "our senders on the kernel": (watched, self.by_programs, "kernel"),
        }
        return {
            head: runner.replicate_groups(
                {self.arm: experiments},
                reduce,
                self.amount,
                task=f"{self.name}, {head}",
                backend=backend,
                complete=True,
                keep=1,
            )
            for head, (experiments, reduce, backend) in sides.items()
        }

    def runs(self, found: Sides[T]) -> Mapping[str, Run]:
        """Return the first run with each buffer."""
        (first, *_) = found[program_runs.COLUMN].kept[self.arm]
        return {
            f"{self.name} {buffer}": run for buffer, run in zip(arms.BUFFERS, first, strict=True)
        }

    def tables(self, found: Sides[T]) -> Iterator[ValueTable]:
        """Return the source's numbers for this workload, beside the programs' and ours."""
        rows = [
            ValueRow(
                row.name,
                row.unit,
                [row.printed, *(_within(row, self.arm, many) for many in found.values())],
            )
            for row in self.rows
        ]
        caption = self.caption(found[program_runs.COLUMN].n)
        yield ValueTable(self.title, ["printed", *found], rows, caption)
