"""Write a run's probes as iputils ping's output, and as the CSV that awk makes of it.

Layout and rounding are those of iputils (``ping_common.c``: ``gather_statistics``, ``finish``):
ping stamps both ends in whole microseconds and prints a reply's time with at least three
significant digits, rounded half up: ``0.060``, ``1.26``, ``28.2``, ``155``. The form with a name,
``64 bytes from HOST (ADDRESS):``, is used because scripts rely on it: split at blanks and ``=``, as
in ``awk 'BEGIN { FS = " |=" }'``, it puts the sequence number into ``$7`` and the time into
``$11``. Without a name before the address both would move one field to the left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dumbbell.errors import DumbbellError
from dumbbell.spec import Resolved, Topology
from dumbbell.tables import NO_INSTANT, Run

ICMP_HEADER_BYTES = 8
IP_AND_ICMP_HEADER_BYTES = 28
INITIAL_TTL = 64
"""Linux's default; each router on the way back subtracts one."""
_SEQUENCE_NUMBERS = 1 << 16
_US_PER_MS = 1000

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PingStyle:
    """Details that ping prints and the tables do not contain.

    Attributes:
        address: Address in parentheses after the host's name; None for the one from
            `dumbbell.spec.testbed_lines`.
        timestamps: Whether to print ``[seconds.microseconds]`` before each reply, as ``ping -D``
            does.
        t0_epoch_ns: Unix time of the run's start, for the timestamps.
    """

    address: str | None = None
    timestamps: bool = False
    t0_epoch_ns: int = 0


@dataclass(frozen=True, slots=True)
class _Echoes:
    """A probe's requests, with times in microseconds as on ping's clock."""

    seq: Ints
    sent_us: Ints
    received_us: Ints
    answered: NDArray[np.bool_]

    @classmethod
    def of(cls, run: Run, probe: str | int) -> _Echoes:
        def column(name: str) -> Ints:
            return np.asarray(run.column("probes", name, probe=probe), dtype=np.int64)

        answered = column("rtt_ns") != NO_INSTANT
        sent, received = column("sent_ns"), column("received_ns")
        if (sent == NO_INSTANT).any() or (received[answered] == NO_INSTANT).any():
            raise DumbbellError(
                f"probe {probe!r} has no times of sending (imported from round-trip times only); "
                "ping's text needs them"
            )
        return cls(column("seq"), sent // 1000, received // 1000, answered)

    def replies(self) -> tuple[Ints, Ints, Ints]:
        """Sequence numbers, times of receipt and round-trip times of the answers, in order of
        arrival.
        """
        order = np.argsort(self.received_us[self.answered], kind="stable")
        received = self.received_us[self.answered][order]
        times = received - self.sent_us[self.answered][order]
        return self.seq[self.answered][order], received, times


def ping_text(run: Run, probe: str | int, style: PingStyle | None = None) -> str:
    """The output of ``ping``.

    Args:
        run: A run with a description.
        probe: Name or index.
        style: Details that the tables do not contain.

    Returns:
        Header line, one line per reply in order of arrival, and the trailer. Sequence numbers wrap
        at 16 bits like ping's. A time is printed for any payload size (ping needs 16 bytes for its
        timestamp).

    Raises:
        DumbbellError: The run was imported, or its probe's send times are unknown.
    """
    if run.spec is None:
        raise DumbbellError("an imported run does not say whom its probe asked")
    style = style or PingStyle()
    described = Resolved(run.spec)
    asked = described.probe(run.probe(probe))
    host, payload = asked.to, asked.payload_bytes
    echoes = _Echoes.of(run, probe)
    topology = described.topology
    address = style.address or _address(topology, asked.from_, host)
    ttl = INITIAL_TTL - max(0, len(topology.route(host, asked.from_) or ()) - 1)
    whole = f"{payload}({payload + IP_AND_ICMP_HEADER_BYTES})"
    lines = [f"PING {host} ({address}) {whole} bytes of data."]
    head = f"{payload + ICMP_HEADER_BYTES} bytes from {host} ({address}): icmp_seq="
    for seq, received_us, rtt_us in zip(*map(np.ndarray.tolist, echoes.replies()), strict=True):
        stamp = _timestamp(style, received_us) if style.timestamps else ""
        number = seq % _SEQUENCE_NUMBERS
        lines.append(f"{stamp}{head}{number} ttl={ttl} time={time_text(rtt_us)} ms")
    return "\n".join([*lines, *_trailer(host, echoes)]) + "\n"


def pingtimes_csv(run: Run, probe: str | int, *, sender: str | int, kind: str) -> str:
    """Lines ``sender,kind,seq,rtt``, byte for byte as the published awk line prints them.

    That line is ``grep "bytes from" | awk 'BEGIN { FS = " |=" } ; { print "1,SM," $7 "," $11 }'``
    on ping's text (Fund, "Statistical multiplexing" experiment, WITest Lab blog, 2016).

    Args:
        run: The run.
        probe: Name or index.
        sender: First field: ``1``.
        kind: Second field: ``SM``.

    Returns:
        One line per answered request, milliseconds with ping's precision, without a header.
    """
    seq, _, times = _Echoes.of(run, probe).replies()
    return "".join(
        f"{sender},{kind},{number % _SEQUENCE_NUMBERS},{time_text(rtt_us)}\n"
        for number, rtt_us in zip(seq.tolist(), times.tolist(), strict=True)
    )


def pingtimes_file_name(sender: str | int, kind: str) -> str:
    """``pingtimes-1-sm.csv`` for sender 1 of kind SM."""
    return f"pingtimes-{sender}-{kind.lower()}.csv"


def time_text(rtt_us: int) -> str:
    """Milliseconds as ping prints them: at least three significant digits, rounded half up."""
    if rtt_us >= 100_000:
        return str((rtt_us + 500) // _US_PER_MS)
    if rtt_us >= 10_000:
        tenths = (rtt_us + 50) // 100
        return f"{tenths // 10}.{tenths % 10}"
    if rtt_us >= 1_000:
        hundredths = (rtt_us + 5) // 10
        return f"{hundredths // 100}.{hundredths % 100:02}"
    return f"0.{rtt_us:03}"


def _address(topology: Topology, sender: str, receiver: str) -> str:
    """Address of the receiver's interface on the sender's path."""
    out = topology.route(sender, receiver)
    return topology.interfaces[out[-1]].peer_address if out else "127.0.0.1"


def _timestamp(style: PingStyle, received_us: int) -> str:
    at_us = style.t0_epoch_ns // 1000 + received_us
    return f"[{at_us // 1_000_000}.{at_us % 1_000_000:06}] "


def _trailer(host: str, echoes: _Echoes) -> list[str]:
    transmitted = len(echoes.seq)
    _, _, times = echoes.replies()
    received = len(times)
    lines = ["", f"--- {host} ping statistics ---"]
    counts = f"{transmitted} packets transmitted, {received} received"
    if transmitted:
        # ping computes the loss in single precision and prints it with %g.
        lost = float(np.float32((transmitted - received) * 100.0 / transmitted))
        span_us = int(echoes.sent_us[-1] - echoes.sent_us[0])
        counts += f", {lost:g}% packet loss, time {(span_us + 500) // 1000}ms"
    lines.append(counts)
    if not received:
        return [*lines, ""]
    total, squares = int(times.sum()), sum(each * each for each in times.tolist())
    deviation = math.isqrt((squares - total * total // received) // received)
    numbers = (int(times.min()), total // received, int(times.max()), deviation)
    printed = "/".join(f"{each // 1000}.{each % 1000:03}" for each in numbers)
    most = _most_in_flight(echoes)
    pipe = f", pipe {most}" if most > 1 else ""
    return [*lines, f"rtt min/avg/max/mdev = {printed} ms{pipe}"]


def _most_in_flight(echoes: _Echoes) -> int:
    """Largest number of requests in flight when an answer arrives, itself included."""
    seq, received, _ = echoes.replies()
    sent_by_then = np.searchsorted(echoes.sent_us, received, side="right")
    return int((sent_by_then - seq).max()) + 1
