"""Users in closed loops by the source's programs (`original_iperf`), shortened.

The source names one sending program, iperf 2.0.5, and also terminates it by that name after this
workload (``pkill -f "iperf"``). It does not print how its ``CLflow.sh`` transfers and thinks, so
users, sizes and think times are those of the study's closed loops at the light load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dumbbell.metrics import loss_ratio, mean_wait_s, utilization_bits
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
    greatest,
    scripted,
    share,
    spread_small_over_large,
)
from dumbbell.tables import Run

DURATION_S = 12
"""Duration of a run; the source's runs took 150 s. Starting iperf takes as long as sending 500
packets."""
SENDING_S = 10
"""Time in which users start transfers; transfers still active a second later are terminated."""
USERS = arms.USERS_PER_HOST[LOAD.load]
LEAST_BYTES = arms.MEAN_TRANSFER_BYTES * (LOAD.tail - 1) / LOAD.tail
"""Minimum of the Pareto distribution of sizes."""


def receivers(port: int) -> list[list[str]]:
    """Return one receiver for each user of a node.

    An iperf 2.1.8 to which one host reconnects repeatedly while its other connections are open
    crashed (SIGABRT, an assertion on its threads' mutexes). The first receiver is a separate
    program, so that a missing installation is detected.
    """
    others = f"$(seq {port + 1} {port + USERS - 1})"
    script = f"for port in {others}; do iperf -s -p $port & done; wait"
    return [["iperf", "-s", "-p", str(port)], ["bash", "-c", script]]


def script(port: int) -> str:
    """Replace the source's ``CLflow.sh``: users who transfer, think, and transfer again.

    All sizes and think times are drawn at the start from the guest's random numbers, so that users
    have the same sizes with either buffer. A ``read`` from a pipe without a writer sleeps without a
    further process.

    Args:
        port: Port of its first user's receiver.
    """
    draws = (
        "BEGIN { srand(seed); for (user = 1; user <= users; user++) { "
        # The first pause is that between the windows in which the command was typed.
        "pause = rand(); for (i = 0; i < 100; i++) { print pause, int(least * (1 - rand()) ^ "
        '(-1 / tail)) > "user-" user; pause = -think * log(1 - rand()) } } }'
    )
    return (
        "mkfifo nobody; exec 9<> nobody; "
        f"awk -v seed=$(shuf -n 1 -i 1-999999) -v users={USERS} -v least={LEAST_BYTES:g} "
        f"-v tail={LOAD.tail:g} -v think={arms.THINK_S:g} '{draws}'; "
        f"end=$((SECONDS + {SENDING_S})); "
        f"for user in $(seq {USERS}); do "
        "while read -r pause size; do "
        "read -r -t $pause -u 9; "
        "[ $SECONDS -lt $end ] || break; "
        f"iperf -c sink -p $(({port - 1} + user)) -n $size < /dev/null; "
        "done < user-$user & "
        "done; "
        f"read -r -t {SENDING_S + 1} -u 9; kill $(jobs -p); pkill -g 0 -x iperf; wait; true"
    )


@dataclass(frozen=True, slots=True)
class UsersReplication:
    """The numbers of one replication with both buffers.

    Attributes:
        levels: The levels that the source prints.
        spread: (8) Spread of the large flows' throughput with B_s over that with B_l.
        utilization: (10) Utilization of the bottleneck, by buffer; a share of its rate over the
            whole run.
        wait_ms: (10) Mean wait there.
        drops: (10) Share of the packets arriving there that were dropped.
        flows: Number of flows seen with B_s.
        large: Number of large flows among them.
    """

    levels: published.ClosedLoopLevels
    spread: float
    utilization: Mapping[Buffer, float]
    wait_ms: Mapping[Buffer, float]
    drops: Mapping[Buffer, float]
    flows: int
    large: int


def told(seen: Mapping[Buffer, FlowsInCapture], runs: Mapping[Buffer, Run]) -> UsersReplication:
    """Return the numbers of the runs with both buffers; NaN for kinds of flows that are absent."""
    small, large = seen["small"], seen["large"]
    at = arms.BOTTLENECK
    return UsersReplication(
        published.ClosedLoopLevels(
            large_better_with_large=better_with_large(seen, is_large=True),
            small_better_with_large=better_with_large(seen, is_large=False),
            large_without_loss_large=share(large.loss[large.is_large] == 0),
            large_greatest_loss_small=greatest(small.loss[small.is_large]),
            small_greatest_loss_small=greatest(small.loss[~small.is_large]),
        ),
        spread_small_over_large(seen),
        {buffer: utilization_bits(run, at) for buffer, run in runs.items()},
        {buffer: 1e3 * mean_wait_s(run, at) for buffer, run in runs.items()},
        {buffer: loss_ratio(run, at) for buffer, run in runs.items()},
        small.loss.size,
        int(np.count_nonzero(small.is_large)),
    )


def _level(name: str, level: str, printed: str) -> IperfRow[UsersReplication]:
    return IperfRow(name, SHARE, printed, lambda of: 100 * float(getattr(of.levels, level)))


def _share(name: str, values: str, buffer: Buffer, printed: str) -> IperfRow[UsersReplication]:
    return IperfRow(name, SHARE, printed, lambda of: 100 * float(getattr(of, values)[buffer]))


class IperfUsers(IperfWorkload[UsersReplication]):
    """Users in closed loops by iperf, with both buffers, beside our senders."""

    name = "the source's own programs, users"
    arm = "closed-loop"
    title = "With the source's own programs, users in closed loops"
    rows = (
        _level(
            "(6, 12) Large flows better with 500 packets", "large_better_with_large", "75 to 80"
        ),
        _level("(7) Small flows better with 500 packets", "small_better_with_large", "75"),
        IperfRow(
            "(8, 13) Spread of large flows, 18 packets over 500",
            "1",
            "more than 1",
            lambda of: of.spread,
        ),
        _level("(9) Large flows without loss, 500 packets", "large_without_loss_large", "15"),
        _level("(9) Greatest loss of a large flow, 18 packets", "large_greatest_loss_small", "25"),
        _level("(9) Greatest loss of a small flow, 18 packets", "small_greatest_loss_small", "90"),
        _share("(10) Utilization, 18 packets", "utilization", "small", "as with 500"),
        _share("(10) Utilization, 500 packets", "utilization", "large", "full"),
        IperfRow("(10) Mean wait, 18 packets", "ms", "less", lambda of: of.wait_ms["small"]),
        IperfRow("(10) Mean wait, 500 packets", "ms", "more", lambda of: of.wait_ms["large"]),
        _share("(10) Packets dropped, 18 packets", "drops", "small", "more"),
        _share("(10) Packets dropped, 500 packets", "drops", "large", "fewer"),
    )

    @staticmethod
    def commands(packets: int, seed: int) -> Experiment:
        """See `IperfWorkload`."""
        scripts = Scripts(receivers, script, ports=USERS)
        return scripted(scripts, packets, seed, duration_s=DURATION_S)

    @staticmethod
    def our_senders(packets: int, seed: int) -> Experiment:
        """See `IperfWorkload`."""
        flows = [
            flow | {"stop": f"{SENDING_S}s"}
            for host in arms.tree(LOAD.hosts).sources
            for flow in arms.users(host, LOAD, USERS)
        ]
        return arms.network(flows, packets, hosts=LOAD.hosts, seed=seed, duration_s=DURATION_S)

    @staticmethod
    def told(seen: Mapping[Buffer, FlowsInCapture], runs: Mapping[Buffer, Run]) -> UsersReplication:
        """See `IperfWorkload`."""
        return told(seen, runs)

    def caption(self, runs: int) -> str:
        """See `IperfWorkload`."""
        return (
            f"The testbed's users in closed loops, shortened: runs of {DURATION_S} s in place of "
            f"{published.DURATION_S:g}. Means of {runs} runs with each buffer, by iperf, tcpdump "
            "and tshark of this machine on the Linux kernel in virtual time, and by our senders "
            "with the same laws, with 95 % intervals. The scripts are not printed; in ours "
            f"{USERS} users on each of {LOAD.hosts} nodes call iperf -n for {SENDING_S} s, with "
            f"Pareto's sizes (shape {LOAD.tail:g}, mean {arms.MEAN_TRANSFER_BYTES} bytes) and "
            f"exponential pauses of {arms.THINK_S:g} s; a second later what is not over is ended. "
            f"tcpdump keeps {CAPTURED_BYTES} bytes of a packet; losses as above. Utilization, "
            "waits and drops are of our own tables of the queue, over whole runs."
        )
