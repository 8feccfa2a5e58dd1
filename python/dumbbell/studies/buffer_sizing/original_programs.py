"""Persistent flows and mice by the source's programs (`original_iperf`), shortened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dumbbell.spec import Experiment
from dumbbell.studies.buffer_sizing import arms, published
from dumbbell.studies.buffer_sizing.arms import Buffer
from dumbbell.studies.buffer_sizing.original_iperf import (
    CAPTURED_BYTES,
    LOAD,
    SHARE,
    FlowsInCapture,
    IperfRow,
    IperfWorkload,
    Scripts,
    better_with_large,
    median,
    scripted,
    share,
    spread_small_over_large,
)
from dumbbell.tables import Run

DURATION_S = 20
"""Duration of a run; the source's runs took 150 s."""
SENDING_S = 18
"""Time that the script of a node sends; the rest is for packets in flight."""
PERSISTENT = arms.PERSISTENT_PER_HOST[LOAD.load]
MOUSE_BYTES = arms.MEAN_MOUSE_BYTES
PAUSE_S = 0.5


def receivers(port: int) -> list[list[str]]:
    """Return receivers of a node's flows: one iperf 2.1.8 for all 18 nodes crashed."""
    return [["iperf", "-s", "-p", str(port)]]


def script(port: int) -> str:
    """Replace the source's ``Perflow.sh``: persistent flows, and mice one after another."""
    return (
        # Started by hand in many windows: within a second of each other.
        "sleep 0.$(shuf -n 1 -i 100-999); "
        f"iperf -c sink -p {port} -P {PERSISTENT} -t {SENDING_S} & "
        f"end=$(($(date +%s) + {SENDING_S})); "
        "while [ $(date +%s) -lt $end ]; do "
        f"iperf -c sink -p {port} -n {MOUSE_BYTES}; sleep {PAUSE_S:g}; "
        "done; wait"
    )


@dataclass(frozen=True, slots=True)
class FlowsReplication:
    """The numbers of one replication with both buffers.

    Attributes:
        levels: The levels that the source prints.
        spread: (3) Spread of the large flows' throughput with B_s over that with B_l.
        flows: Number of flows seen with B_s.
    """

    levels: published.PersistentLevels
    spread: float
    flows: int


def told(seen: Mapping[Buffer, FlowsInCapture]) -> FlowsReplication:
    """Return the numbers of the runs with both buffers; NaN for kinds of flows that are absent."""
    small, large = seen["small"], seen["large"]
    without = {buffer: of.loss[~of.is_large] == 0 for buffer, of in seen.items()}
    return FlowsReplication(
        published.PersistentLevels(
            large_better_with_large=better_with_large(seen, is_large=True),
            small_better_with_small=1 - better_with_large(seen, is_large=False),
            large_loss=median(large.loss[large.is_large]),
            small_without_loss_small=share(without["small"]),
            small_without_loss_large=share(without["large"]),
        ),
        spread_small_over_large(seen),
        small.loss.size,
    )


def _level(name: str, level: str, printed: str = "") -> IperfRow[FlowsReplication]:
    of_testbed: float = getattr(published.PERSISTENT["testbed"], level)
    return IperfRow(
        name,
        SHARE,
        printed or f"{100 * of_testbed:g}",
        lambda of: 100 * float(getattr(of.levels, level)),
    )


class IperfPrograms(IperfWorkload[FlowsReplication]):
    """Persistent flows and mice by iperf, with both buffers, beside our senders."""

    arm = "persistent"
    title = "With the source's own programs"
    rows = (
        _level("(1) Large flows better with 500 packets", "large_better_with_large"),
        _level("(2) Small flows better with 18 packets", "small_better_with_small"),
        IperfRow(
            "(3) Spread of large flows, 18 packets over 500",
            "1",
            "more than 1",
            lambda of: of.spread,
        ),
        _level("(4) Loss of large flows with 500 packets, median", "large_loss", "2 to 4"),
        _level("(5) Small flows without loss, 18 packets", "small_without_loss_small"),
        _level("(5) Small flows without loss, 500 packets", "small_without_loss_large"),
    )

    @staticmethod
    def commands(packets: int, seed: int) -> Experiment:
        """See `IperfWorkload`."""
        return scripted(Scripts(receivers, script), packets, seed, duration_s=DURATION_S)

    @staticmethod
    def our_senders(packets: int, seed: int) -> Experiment:
        """See `IperfWorkload`."""
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

    @staticmethod
    def told(seen: Mapping[Buffer, FlowsInCapture], runs: Mapping[Buffer, Run]) -> FlowsReplication:
        """See `IperfWorkload`."""
        return told(seen)

    def caption(self, runs: int) -> str:
        """See `IperfWorkload`."""
        return (
            f"The testbed's persistent flows with mice, shortened: runs of {DURATION_S} s in place "
            f"of {published.DURATION_S:g}. Means of {runs} runs with each buffer, by iperf, "
            "tcpdump and tshark of this machine on the Linux kernel in virtual time, and by our "
            "senders with the same traffic, with 95 % intervals. The scripts are not printed; ours "
            f"sends for {SENDING_S} s from each of {LOAD.hosts} nodes: iperf -P {PERSISTENT}, and "
            f"iperf -n {MOUSE_BYTES} again and again with pauses of {PAUSE_S:g} s. tcpdump keeps "
            f"{CAPTURED_BYTES} bytes of a packet. On the kernel losses are tshark's "
            "retransmissions: it calls those out of order, and they count nowhere, that come "
            "within the connection's first round trip of newer data. The simulator's are all."
        )
