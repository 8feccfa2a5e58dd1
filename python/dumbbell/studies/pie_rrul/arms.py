"""The experiments: Flent's rrul through the source's router, and unpublished parameters.

    client -- 1 Gbit/s -- ROUTER (PIE) [driver's ring] == 100 Mbit/s == server

The driver's ring is a queue below the qdisc and invisible to it. A ring of B bytes that is refilled
as soon as it has room, in front of a line of rate R, is equivalent to a token bucket of rate R and
burst B in front of a FIFO of rate R: missing tokens equal the bytes in the FIFO. The model is
therefore Linux's ``tbf`` around PIE, and a hop ``ring`` with the line. The line is also a ``tbf``,
with a burst of two packets: a transmitter without credit loses the lateness of timers, 0.3 % of the
rate on the kernel in virtual time, and the FIFO would grow without bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dumbbell.spec import Experiment
from dumbbell.spec.flent import FlentTest, flent_test
from dumbbell.spec.flows import Flow
from dumbbell.spec.links import Link
from dumbbell.studies.pie_rrul import published

TUPDATES_MS = (1, 15, 30, 60)
TARGETS_MS = (5, 10, 15, 20)
TARGET_MS, TUPDATE_MS = 20, 30
"""Defaults of the kernel of that time."""

OF_THE_TIME = "linux_3_14"
ESTIMATOR = "dq_rate_estimator"
TODAY = ""
"""Editions of PIE: kernels 3.14 to 5.0; today's with their estimator; today's default."""

RING_BYTES = 77_500
"""Size of the driver's ring. Not printed in the source; fitted to the seven printed latencies
(`fit`)."""
USB2_RING_PKTS = 60
"""Packets that Linux's USB 2 adapter driver queued, whatever their size, before November 2025."""
SMALL_HEADERS = "2304B"
"""Overhead of a full packet in the send buffer of a kernel built without AX.25 and tunnels; 4352
bytes in a distribution's kernel, and by default."""
ONE_BY_ONE: dict[str, Any] = {"gso_max_segs": 1}
"""Disables GSO bursts: the server's link adds 38 bytes per frame, which Linux's disciplines do not
add for the frames of a burst."""
SERVER_QDISC = "fq_codel"
"""Discipline at the server's egress, not published: the distributions' default (systemd)."""
PLAIN_FIFO = "pfifo limit 1000"
LINE = "100mbit"
BASE_DELAY = "250us"
"""One-way delay, not given by the source: stacks and adapters of three hosts."""
ROUTER, RING, GATEWAY, SERVER, CLIENT = "router", "ring", "gateway", "server", "client"
MORE_UPLOAD, MORE_DOWNLOAD = "more-upload", "more-download"
"""Names of the additional TCP flows."""

SCENARIOS = ("alone", "bursts", "tcp")
SCENARIO_TITLES = {
    "alone": "no other traffic",
    "bursts": "with UDP bursts",
    "tcp": "with additional TCP",
}
BURST_MBPS = 100.0
BURST_S, BURST_EVERY_S = 1.0, 5.0
BURST_PAYLOAD_BYTES = 1470
"""Payload of iperf's UDP datagrams. The source gives the rate only; lengths and gaps are ours."""


@dataclass(frozen=True, slots=True, order=True)
class Setting:
    """PIE's two parameters, in milliseconds."""

    target_ms: int = TARGET_MS
    tupdate_ms: int = TUPDATE_MS

    @property
    def label(self) -> str:
        """Return the name for tables and legends."""
        return f"target {self.target_ms} ms, tupdate {self.tupdate_ms} ms"

    @property
    def name(self) -> str:
        """Return the name for files."""
        return f"t{self.target_ms}-tu{self.tupdate_ms}"

    def qdisc(self, edition: str = OF_THE_TIME) -> str:
        """Return the text typed after ``tc qdisc add dev X root``."""
        words = f"pie target {self.target_ms}ms tupdate {self.tupdate_ms}ms {edition}"
        return words.strip()


def setting_of(varied: str, milliseconds: int) -> Setting:
    """Return the setting of a row of the source's tables."""
    if varied == "target":
        return Setting(target_ms=milliseconds)
    return Setting(tupdate_ms=milliseconds)


CASES = {
    "tupdate": tuple(setting_of("tupdate", ms) for ms in TUPDATES_MS),
    "target": tuple(setting_of("target", ms) for ms in TARGETS_MS),
}
"""The source's two test cases: settings by varied parameter."""
BY_TUPDATE, BY_TARGET = CASES["tupdate"], CASES["target"]
SETTINGS = tuple(dict.fromkeys((*BY_TUPDATE, *BY_TARGET)))
"""The seven distinct settings."""


def rrul(length_s: int = published.LENGTH_S, delay_s: int = 5) -> FlentTest:
    """Flent's test with the parameters of the source's command.

    Args:
        length_s: ``-l``.
        delay_s: ``-d``; before it and after the load only the latency is measured.
    """
    return flent_test(
        "rrul", length_s=length_s, delay_s=delay_s, parameters=dict(published.PARAMETERS)
    )


def queue_name(ring_bytes: int) -> str:
    """Return the name of the router's queue towards the server."""
    return f"{ROUTER}->{RING if ring_bytes else SERVER}"


def links(
    qdisc: str, *, ring_bytes: int, server_qdisc: str = SERVER_QDISC, gateway: bool = False
) -> list[Link]:
    """Return the links.

    Args:
        qdisc: The router's, towards the server.
        ring_bytes: Size of the driver's ring; 0 for the packet on the wire only.
        server_qdisc: Discipline at the server's egress: the downloads' queue.
        gateway: Whether that queue is on a gateway in front of the server. On the sending host, TCP
            small queues keep it short.
    """
    far = GATEWAY if gateway else SERVER
    access = Link(a=CLIENT, b=ROUTER, rate="1gbit", overhead="wire", qdisc=PLAIN_FIFO)
    line: dict[str, Any] = {"b": far, "overhead": "wire", "delay": BASE_DELAY}
    back = {"rate": LINE, "qdisc": server_qdisc}
    behind = [Link(a=GATEWAY, b=SERVER, rate="1gbit", overhead="wire", qdisc=PLAIN_FIFO)]
    behind = behind if gateway else []
    if not ring_bytes:
        return [access, Link(a=ROUTER, rate=LINE, qdisc=qdisc, reverse=back, **line), *behind]
    # The buckets' limits must not drop packets: the limit of the first one includes what PIE holds.
    bucket = f"tbf rate {LINE} burst {{}}b limit 100mb"
    inside = f"root handle 1: {bucket.format(ring_bytes)} ; parent 1:1 handle 10: {qdisc}"
    hop = Link(a=ROUTER, b=RING, overhead="wire", qdisc=inside, reverse={"qdisc": PLAIN_FIFO})
    wire = bucket.format(2 * published.WIRE_BYTES)
    return [access, hop, Link(a=RING, qdisc=wire, reverse=back, **line), *behind]


def experiment(
    qdisc: str,
    scenario: str = "alone",
    *,
    seed: int = 1,
    test: FlentTest | None = None,
    ring_bytes: int = RING_BYTES,
    server_qdisc: str = SERVER_QDISC,
    timer_hz: int = published.TIMER_HZ,
    irtt: bool = False,
    gateway: bool = False,
    packet_memory: str | None = None,
    record_writes: bool = False,
) -> Experiment:
    """Return one arm; flows of equal names share their random numbers.

    Args:
        qdisc: The router's, towards the server.
        scenario: One of `SCENARIOS`.
        seed: Seed of all random numbers.
        test: Flent's, as published when left out.
        ring_bytes: Size of the driver's ring; 0 for none.
        server_qdisc: Discipline at the server's egress.
        timer_hz: Frequency of the kernel's timer.
        irtt: Whether irtt measures the latency over UDP; on the kernel.
        gateway: Whether the downloads queue on a gateway in front of the server.
        packet_memory: Memory charged per packet by the senders' kernel; its default when None.
        record_writes: Whether senders' writes are recorded; has no other effect.
    """
    test = test or rrul()
    return test.experiment(
        links(qdisc, ring_bytes=ring_bytes, server_qdisc=server_qdisc, gateway=gateway),
        seed=seed,
        more_flows=_beside(scenario, test),
        name=f"pie-rrul-{scenario}",
        timer_hz=timer_hz,
        irtt=irtt,
        tcp=ONE_BY_ONE | ({"packet_memory": packet_memory} if packet_memory else {}),
        record_writes=record_writes,
    )


def _beside(scenario: str, test: FlentTest) -> list[Flow]:
    """Return the traffic added to Flent's."""
    begins, ends = float(test.delay_s), float(test.delay_s + test.length_s)
    if scenario == "bursts":
        count = int((ends - begins) / BURST_EVERY_S)
        starts = [begins + BURST_EVERY_S * (k + 0.5) for k in range(count)]
        return [_burst(number, start) for number, start in enumerate(starts, 1)]
    if scenario == "tcp":
        times = {"start": f"{begins:g}s", "stop": f"{ends:g}s", "start_jitter": "10ms"}
        return [
            Flow(
                name=name,
                from_=sender,
                to=receiver,
                source={"kind": "greedy"},
                tcp=ONE_BY_ONE,
                **times,
            )
            for name, sender, receiver in (
                (MORE_UPLOAD, CLIENT, SERVER),
                (MORE_DOWNLOAD, SERVER, CLIENT),
            )
        ]
    return []


def _burst(number: int, start_s: float) -> Flow:
    rate_pps = BURST_MBPS * 1e6 / 8 / BURST_PAYLOAD_BYTES
    return Flow(
        name=f"burst-{number}",
        from_=CLIENT,
        to=SERVER,
        start=f"{start_s:g}s",
        stop=f"{start_s + BURST_S:g}s",
        start_jitter="10ms",
        source={
            "kind": "cbr",
            "rate": f"{rate_pps:.9g}pps",
            "size": f"{BURST_PAYLOAD_BYTES}B",
            "size_at": "payload",
        },
    )


@dataclass(frozen=True, slots=True)
class RouterChoice:
    """An alternative setting of this router.

    Attributes:
        qdisc: Discipline, in tc syntax.
        ring_bytes: Size of the driver's ring, which tc cannot set.
        is_todays: Whether today's kernels support it.
    """

    qdisc: str
    ring_bytes: int = RING_BYTES
    is_todays: bool = True


ROUTER_CHOICES: dict[str, RouterChoice] = {
    "pfifo limit 1000": RouterChoice(PLAIN_FIFO),
    "pfifo limit 100": RouterChoice("pfifo limit 100"),
    "codel": RouterChoice("codel"),
    "pie of the time": RouterChoice(Setting().qdisc(), is_todays=False),
    "pie of the time, target 5ms": RouterChoice(Setting(target_ms=5).qdisc(), is_todays=False),
    "pie": RouterChoice("pie"),
    "fq_codel": RouterChoice("fq_codel"),
    "fq_codel, no ring": RouterChoice("fq_codel", ring_bytes=0),
}
"""Alternatives by label."""
