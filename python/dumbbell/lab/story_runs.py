"""The experiments of the story, a call that competes with downloads, and results of their runs.

The page changes the same description in the browser (`story/scenes.js`); its static pictures show
runs made here.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING

from dumbbell.backends import simulate
from dumbbell.spec import Experiment
from dumbbell.tables.codes import REASONS_FROM_INSIDE

if TYPE_CHECKING:
    import polars as pl

RATE_BPS = 20_000_000
DURATION_S, WARM_UP_S = 16, 8
WAY_MS = 60
"""Propagation delay from the server to the home."""
CALL_HZ = 50
FULL_PKTS = 1000
CALL = 0
"""Index of the call among the flows."""
PACKET_BYTES = 1500
_NS_PER_MS, _NS_PER_S = 1_000_000, 1_000_000_000
_DEQUEUE, _DROP = 1, 2


class Bottleneck(Enum):
    """Discipline in front of the slow link."""

    ONE_QUEUE = "one queue"
    LANES = "lanes"
    POLICER = "policer"


@dataclass(frozen=True, slots=True)
class Setting:
    """Parameters that a reader may change.

    Attributes:
        downloads: Number of downloads, at least 1.
        bottleneck: Discipline in front of the link.
        limit_pkts: Limit of one queue, in packets.
        burst_kb: Size of the policer's bucket, in kB.
    """

    downloads: int = 1
    bottleneck: Bottleneck = Bottleneck.ONE_QUEUE
    limit_pkts: int = FULL_PKTS
    burst_kb: int = 50

    def experiment(self) -> Experiment:
        """Return the full description, with every packet of the queue recorded."""
        is_policed = self.bottleneck is Bottleneck.POLICER
        # With a policer, the policer is the bottleneck, not the link behind it.
        rate_bps = 5 * RATE_BPS if is_policed else RATE_BPS
        one_queue = f"pfifo limit {self.limit_pkts}"
        qdisc = "fq_codel" if self.bottleneck is Bottleneck.LANES else one_queue
        police = f'police = "police rate {RATE_BPS // 10**6}mbit burst {self.burst_kb}kb drop"'
        return Experiment.from_toml(f"""
name = "a-call-behind-downloads"
duration = "{DURATION_S}s"
warm_up = "{WARM_UP_S}s"
sample_interval = "50ms"

[[links]]
a = "server"
b = "router"

[[links]]
a = "router"
b = "home"
delay = "{WAY_MS}ms"
[links.forward]
rate = "{rate_bps // 10**6}mbit"
qdisc = "{qdisc}"
record_packets = true
{police if is_policed else ""}

[[flows]]
name = "call"
from = "server"
to = "home"
source = {{ kind = "cbr", rate = "{CALL_HZ}pps", size = "200B" }}

[[flows]]
name = "download"
count = {self.downloads}
from = "server"
to = "home"
start = "1s"
start_jitter = "200ms"
source = {{ kind = "greedy" }}
""")


QUEUE = "router->home"
GAME = Experiment.from_toml("""
name = "beat-reno"
duration = "15s"
warm_up = "2s"
sample_interval = "50ms"

[[links]]
a = "server"
b = "router"

[[links]]
a = "router"
b = "home"
delay = "30ms"
[links.forward]
rate = "10mbit"
qdisc = "pfifo limit 100"
changes = [{ at = "6s", rate = "5mbit" }, { at = "11s", rate = "10mbit" }]

[[flows]]
name = "download"
from = "server"
to = "home"
source = { kind = "greedy" }
tcp = { congestion_control = "reno" }
""")
"""The reader's game against Reno: the link rate halves for a while."""


@dataclass(frozen=True, slots=True)
class PacketJourney:
    """The passage of one packet through the queue.

    Attributes:
        in_ns: Arrival time.
        out_ns: Time of departure or drop; None if it is still queued at the end.
        flow: Index of the flow.
        is_dropped: Whether it was dropped.
    """

    in_ns: int
    out_ns: int | None
    flow: int
    is_dropped: bool


@dataclass(frozen=True, slots=True)
class StoryRun:
    """Results of a run, measured after the warm-up.

    Attributes:
        setting: The setting.
        digest: Digest of the run.
        packets: All packets that arrived at the queue, in order of arrival.
        mean_wait_ms: Mean time of the call's packets from arrival to the end of transmission.
        longest_wait_ms: Maximum of the same time.
        lost_share: Share of the call's packets lost, 0 to 1.
        download_bps: Payload of all downloads.
    """

    setting: Setting
    digest: str
    packets: tuple[PacketJourney, ...]
    mean_wait_ms: float
    longest_wait_ms: float
    lost_share: float
    download_bps: float

    def waits(self) -> list[tuple[float, float]]:
        """Return arrival times, s, and delays, ms, of the call's packets."""
        return [
            (each.in_ns / _NS_PER_S, (each.out_ns - each.in_ns) / _NS_PER_MS)
            for each in self.packets
            if each.flow == CALL and each.out_ns is not None and not each.is_dropped
        ]

    def inside(self, at_ns: int) -> list[PacketJourney]:
        """Return the packets in queue and transmission at an instant, in order of arrival."""
        return [
            each
            for each in self.packets
            if not each.is_dropped
            and each.in_ns <= at_ns
            and (each.out_ns is None or at_ns < each.out_ns)
        ]


@cache
def told(setting: Setting) -> StoryRun:
    """Run a setting."""
    run = simulate(setting.experiment())
    packets = _passages(run.table("packets"))
    warm_up_ns = WARM_UP_S * _NS_PER_S
    of_call = [each for each in packets if each.flow == CALL and each.in_ns >= warm_up_ns]
    waits = [
        (each.out_ns - each.in_ns) / _NS_PER_MS
        for each in of_call
        if each.out_ns is not None and not each.is_dropped
    ]
    measured_s = DURATION_S - WARM_UP_S
    received = run.table("flows")["received_payload_bytes"].to_list()
    return StoryRun(
        setting=setting,
        digest=str(run.meta["digest"]),
        packets=packets,
        mean_wait_ms=sum(waits) / len(waits),
        longest_wait_ms=max(waits),
        lost_share=sum(each.is_dropped for each in of_call) / len(of_call),
        download_bps=8 * sum(received[CALL + 1 :]) / measured_s,
    )


def _passages(records: pl.DataFrame) -> tuple[PacketJourney, ...]:
    """Convert records to packets, like `page/packets.js`."""
    names = ("t_ns", "event", "reason", "flow", "seq")
    found: list[PacketJourney] = []
    # Another packet with the same numbers may be queued: a retransmission.
    places: dict[tuple[int, int], deque[int]] = defaultdict(deque)
    for t_ns, event, reason, flow, number in records.select(names).iter_rows():
        key = (flow, number)
        if event == _DROP and reason not in REASONS_FROM_INSIDE:
            found.append(PacketJourney(t_ns, t_ns, flow, is_dropped=True))
        elif event in {_DEQUEUE, _DROP}:
            place = places[key].popleft()
            found[place] = PacketJourney(found[place].in_ns, t_ns, flow, is_dropped=event == _DROP)
        elif event == 0:
            places[key].append(len(found))
            found.append(PacketJourney(t_ns, None, flow, is_dropped=False))
    return tuple(found)
