"""The source's programs themselves: iperf, tcpdump and tshark of this machine, on the kernel.

The experiment with persistent flows, with both buffers, shortened. Its scripts are not printed, so
the one of a node here is ours. What is measured is what the source measured: tshark's fields of
the packets that tcpdump captured behind the bottleneck. Beside it our own senders with the same
traffic, on both backends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dumbbell.claims import relative_spread, share_better
from dumbbell.formats.tshark import read_tshark_csv
from dumbbell.report import ValueRow, ValueTable
from dumbbell.spec import Experiment
from dumbbell.stats import Estimate
from dumbbell.studies import own_programs
from dumbbell.studies.buffer_sizing import arms, published
from dumbbell.studies.buffer_sizing.arms import Buffer, Point
from dumbbell.studies.buffer_sizing.measures import Floats, Flows, flows_of
from dumbbell.studies.shape import Amount, Runner
from dumbbell.sweep import Replications
from dumbbell.tables import Run

DURATION_S = 20
"""Of a run; the source's took 150."""
SENDING_S = 18
"""Of that what the script of a node takes; the rest is for what is still on its way."""
LOAD = Point(load="light")
PERSISTENT = arms.PERSISTENT_PER_HOST[LOAD.load]
MOUSE_BYTES = arms.MEAN_MOUSE_BYTES
PAUSE_S = 0.5
CAPTURED_BYTES = 96
"""Of each packet; the source kept all of it, and read no further than the TCP header."""
CAPTURE, FIELDS = "behind-bottleneck", "fields"
WATCHING: tuple[Mapping[str, Any], ...] = (
    {"kind": "tcpdump", "name": CAPTURE, "host": "target2", "neighbor": "target1"}
    | {"snap_length": CAPTURED_BYTES, "protocol": "tcp"},
    {"kind": "tshark", "name": FIELDS, "host": "target2", "of": CAPTURE},
)
"""What measures, whoever sends."""

FIRST_PORT = 5001
"""A receiver for each node: one iperf 2.1.8 for all 18 crashed."""


def script(port: int) -> str:
    """In place of the source's ``Perflow.sh``: persistent flows, and mice one after another."""
    return (
        # Started by hand in many windows: within a second of each other.
        "sleep 0.$(shuf -n 1 -i 100-999); "
        f"iperf -c sink -p {port} -P {PERSISTENT} -t {SENDING_S} & "
        f"end=$(($(date +%s) + {SENDING_S})); "
        "while [ $(date +%s) -lt $end ]; do "
        f"iperf -c sink -p {port} -n {MOUSE_BYTES}; sleep {PAUSE_S:g}; "
        "done; wait"
    )


def commands(packets: int, seed: int) -> Experiment:
    """The programs of the experiment with persistent flows.

    Args:
        packets: Limit of the bottleneck's pfifo.
        seed: All randomness follows from it and the replication.
    """
    links = arms.network([], packets, hosts=LOAD.hosts, seed=seed, duration_s=DURATION_S).links
    nodes = list(enumerate(arms.tree(LOAD.hosts).sources, FIRST_PORT))
    # Not as a file is read, which may have no command lines.
    return Experiment(
        name=f"buffer-sizing-{packets}-own-programs",
        duration=f"{DURATION_S}s",
        seed=seed,
        links=list(links),
        programs=[
            *(
                {"kind": "any", "name": f"receiver-{node}", "host": "sink"}
                | {"command": ["iperf", "-s", "-p", str(port)]}
                | {"begins": "before", "stops": "interrupted"}
                for port, node in nodes
            ),
            *(
                {"kind": "any", "name": f"flows-{node}", "host": node}
                | {"command": ["bash", "-c", script(port)]}
                for port, node in nodes
            ),
            *WATCHING,
        ],
    )


def our_senders(packets: int, seed: int) -> Experiment:
    """The same traffic by our own senders.

    Args:
        packets: Limit of the bottleneck's pfifo.
        seed: All randomness follows from it and the replication.
    """
    tcp = arms.STACKS[LOAD.stack]
    mice = {"kind": "closed_loop", "size": f"constant {MOUSE_BYTES}B"}
    mice |= {"think": f"constant {PAUSE_S:g}s"}
    flows = [
        flow | {"stop": f"{SENDING_S}s"}
        for host in arms.tree(LOAD.hosts).sources
        for flow in (
            *arms.persistent(host, LOAD),
            arms.flow(f"mice-{host}", host, tcp, mice),
        )
    ]
    return arms.network(flows, packets, hosts=LOAD.hosts, seed=seed, duration_s=DURATION_S)


def our_senders_watched(packets: int, seed: int) -> Experiment:
    """The same with tcpdump and tshark: a kernel does not count what it receives again."""
    return our_senders(packets, seed).with_(programs=list(WATCHING))


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """Flows of a run, as a capture behind the bottleneck shows them.

    Attributes:
        throughput_kbps: From the first to the last packet; shape (flows,).
        loss: Retransmissions over packets.
        is_large: More than 100 kB.
    """

    throughput_kbps: Floats
    loss: Floats
    is_large: NDArray[np.bool_]

    @classmethod
    def by_tshark(cls, path: Path) -> Seen:
        """What the fields say that tshark printed; flows of one packet have no duration.

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
    def by_our_tables(cls, flows: Flows) -> Seen:
        """The same of our senders."""
        return cls(flows.throughput_kbps, flows.loss, flows.is_large)


@dataclass(frozen=True, slots=True)
class Told:
    """What one replication, with both buffers, would have printed.

    Attributes:
        levels: The printed ones.
        spread: (3) Spread of the large flows' throughput with B_s over that with B_l.
        flows: How many were seen with B_s.
    """

    levels: published.PersistentLevels
    spread: float
    flows: int


def told(seen: Mapping[Buffer, Seen]) -> Told:
    """What is told of the runs with both buffers; NaN of flows that there are none of."""
    small, large = seen["small"], seen["large"]
    without = {buffer: of.loss[~of.is_large] == 0 for buffer, of in seen.items()}
    spreads = [
        relative_spread(of.throughput_kbps[of.is_large]) if of.is_large.any() else math.nan
        for of in (small, large)
    ]
    return Told(
        published.PersistentLevels(
            large_better_with_large=_better_with_large(seen, is_large=True),
            small_better_with_small=1 - _better_with_large(seen, is_large=False),
            large_loss=_median(large.loss[large.is_large]),
            small_without_loss_small=_mean(without["small"]),
            small_without_loss_large=_mean(without["large"]),
        ),
        spreads[0] / spreads[1],
        small.loss.size,
    )


def _better_with_large(seen: Mapping[Buffer, Seen], *, is_large: bool) -> float:
    small, large = (
        of.throughput_kbps[of.is_large == is_large] for of in (seen["small"], seen["large"])
    )
    if not (small.size and large.size):
        return math.nan
    return share_better(large, small, better="higher")


def _median(values: Floats) -> float:
    return float(np.median(values)) if values.size else math.nan


def _mean(values: NDArray[np.bool_]) -> float:
    return float(values.mean()) if values.size else math.nan


def by_programs(runs: Mapping[Buffer, Run]) -> Told:
    """From tshark's files."""
    files = {buffer: run.files[f"{FIELDS}.tshark.csv"] for buffer, run in runs.items()}
    return told({buffer: Seen.by_tshark(file.path) for buffer, file in files.items()})


def by_our_senders(runs: Mapping[Buffer, Run]) -> Told:
    """From our tables."""
    return told({buffer: Seen.by_our_tables(flows_of(run)) for buffer, run in runs.items()})


_ARM, _SHARE = "persistent", "%"


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the table.

    Attributes:
        name: With the number of the observation.
        unit: Of its numbers.
        printed: What the testbed printed.
        value: The same of a replication.
    """

    name: str
    unit: str
    printed: str
    value: Callable[[Told], float]


def _level(name: str, level: str, printed: str = "") -> _Row:
    share: float = getattr(published.PERSISTENT["testbed"], level)
    return _Row(
        name,
        _SHARE,
        printed or f"{100 * share:g}",
        lambda of: 100 * float(getattr(of.levels, level)),
    )


ROWS = (
    _level("(1) Large flows better with 500 packets", "large_better_with_large"),
    _level("(2) Small flows better with 18 packets", "small_better_with_small"),
    _Row(
        "(3) Spread of large flows, 18 packets over 500",
        "1",
        "more than 1",
        lambda of: of.spread,
    ),
    _level("(4) Loss of large flows with 500 packets, median", "large_loss", "2 to 4"),
    _level("(5) Small flows without loss, 18 packets", "small_without_loss_small"),
    _level("(5) Small flows without loss, 500 packets", "small_without_loss_large"),
)
Many = Replications[str, Told]
_Reduce = Callable[[Mapping[Buffer, Run]], Told]


def _within(row: _Row, many: Many) -> Estimate:
    """The mean, its interval within what a share can be."""
    found = many.estimate(_ARM, row.value)
    if row.unit != _SHARE:
        return found
    return replace(found, low=max(found.low, 0.0), high=min(found.high, 100.0))


class OwnPrograms(own_programs.ByOwnPrograms[Buffer, Mapping[str, Many]]):
    """Persistent flows and mice by iperf, with both buffers; beside it our own senders."""

    def __init__(self, amount: Amount[str], seed: int) -> None:
        """How much."""
        self.amount = amount
        self.experiments = {
            buffer: commands(packets, seed) for buffer, packets in arms.BUFFERS.items()
        }
        self.ours, self.ours_watched = (
            {buffer: make(packets, seed) for buffer, packets in arms.BUFFERS.items()}
            for make in (our_senders, our_senders_watched)
        )

    def run(self, runner: Runner) -> Mapping[str, Many]:
        """See `Part`."""
        sides: Mapping[str, tuple[Mapping[Buffer, Experiment], _Reduce, str]] = {
            own_programs.COLUMN: (self.experiments, by_programs, "kernel"),
            "simulator": (self.ours, by_our_senders, "sim"),
            "our senders on the kernel": (self.ours_watched, by_programs, "kernel"),
        }
        return {
            head: runner.replicate_groups(
                {_ARM: experiments},
                reduce,
                self.amount,
                task=f"{self.name}, {head}",
                backend=backend,
                complete=True,
                keep=1,
            )
            for head, (experiments, reduce, backend) in sides.items()
        }

    def runs(self, found: Mapping[str, Many]) -> Mapping[str, Run]:
        """The first with each buffer."""
        (first, *_) = found[own_programs.COLUMN].kept[_ARM]
        return {
            f"own programs {buffer}": run for buffer, run in zip(arms.BUFFERS, first, strict=True)
        }

    def tables(self, found: Mapping[str, Many]) -> Iterator[ValueTable]:
        """What the source says in numbers of this experiment, beside theirs and ours."""
        rows = [
            ValueRow(
                row.name,
                row.unit,
                [row.printed, *(_within(row, many) for many in found.values())],
            )
            for row in ROWS
        ]
        own = found[own_programs.COLUMN]
        caption = (
            f"The testbed's persistent flows with mice, shortened: runs of {DURATION_S} s in place "
            f"of {published.DURATION_S:g}. Means of {own.n} runs with each buffer, by iperf, "
            "tcpdump and tshark of this machine on the Linux kernel in virtual time, and by our "
            "senders with the same traffic, with 95 % intervals. The scripts are not printed; ours "
            f"sends for {SENDING_S} s from each of {LOAD.hosts} nodes: iperf -P {PERSISTENT}, and "
            f"iperf -n {MOUSE_BYTES} again and again with pauses of {PAUSE_S:g} s. tcpdump keeps "
            f"{CAPTURED_BYTES} bytes of a packet. On the kernel losses are tshark's "
            "retransmissions: it calls those out of order, and they count nowhere, that come "
            "within the connection's first round trip of newer data. The simulator's are all."
        )
        heads = ["printed", *found]
        yield ValueTable("With the source's own programs", heads, rows, caption)
