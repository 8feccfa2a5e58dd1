"""Service times of ITGSend's "exponential packet size" on the wire.

``ITGSend -e 512 -T UDP`` (D-ITG 2.8.1) does not send packets of 512 bytes on average. The payload
is an exponential draw cut to whole bytes, at least 20 (its own header) and at most 64,000; UDP, IP
and the link add headers; and above 1472 bytes IP sends fragments, each with its own headers (RFC
791 section 3.2: all but the last carry a multiple of 8 bytes), which reach the bottleneck together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dumbbell.theory.batches import BatchLaw
from dumbbell.theory.errors import Complexes, Floats, TheoryError, positive
from dumbbell.theory.inversion import Transform
from dumbbell.theory.service import Service

LEAST_PAYLOAD_BYTES = 20
"""16 bytes of metadata and 4 that the option -T adds."""
LARGEST_PAYLOAD_BYTES = 64_000


@dataclass(frozen=True, eq=False)
class ItgsendService:
    """Exact distribution of ITGSend's exponential sizes at a link.

    Attributes:
        rate_bps: Link rate, bit/s.
        mean_bytes: Nominal mean payload (``ITGSend -e``), bytes.
        payload_mean_bytes: Mean payload actually sent, bytes.
        fragments_mean: Mean packets per datagram.
        datagram_bytes_mean: Mean bytes on the wire per datagram, all its fragments.
        datagram_bytes_second_moment: Second moment of the same, bytes^2.
        fragment_bytes_mean: Mean bytes on the wire per packet (fragment).
        fragment_bytes_second_moment: Second moment of the same, bytes^2.
        batch: The datagram as a batch of fragments, for :class:`~dumbbell.theory.MXG1`.
    """

    rate_bps: float
    mean_bytes: float
    payload_mean_bytes: float
    fragments_mean: float
    datagram_bytes_mean: float
    datagram_bytes_second_moment: float
    fragment_bytes_mean: float
    fragment_bytes_second_moment: float
    batch: BatchLaw = field(repr=False)

    @property
    def fragment(self) -> Service:
        """Service time of a single fragment (for the approximation by independent packets)."""
        return self.batch.packet

    @property
    def datagram(self) -> Service:
        """Service time of a whole datagram."""
        return self.batch.total


def itgsend_service(
    rate_bps: float,
    mean_bytes: float,
    *,
    mtu_bytes: int = 1500,
    link_header_bytes: int = 14,
    ip_header_bytes: int = 20,
    udp_header_bytes: int = 8,
) -> ItgsendService:
    """The service times of ``ITGSend -e MEAN -T UDP`` on a link.

    With the defaults a datagram of payload n <= 1472 is n + 42 bytes, and each further fragment
    adds 34. Moments are exact sums over the 63,981 payloads; transforms are exact too, as sums
    of geometric series over the payloads of equal fragment count.

    Args:
        rate_bps: Link rate, bit/s.
        mean_bytes: Mean of the exponential draw, bytes.
        mtu_bytes: Largest IP packet, bytes.
        link_header_bytes: Link layer's bytes per packet (Ethernet 14 at a Linux qdisc).
        ip_header_bytes: IP header, bytes.
        udp_header_bytes: UDP header, bytes.

    Raises:
        TheoryError: A number out of range, or an MTU too small for any payload.
    """
    positive(rate_bps, "rate", "bit/s")
    positive(mean_bytes, "mean payload", "bytes")
    headers = _Headers(mtu_bytes, link_header_bytes, ip_header_bytes, udp_header_bytes)
    law = _PayloadLaw(mean_bytes)
    payload, share = law.payload, law.share
    fragments = headers.fragments(payload)
    datagram = payload + headers.first + headers.further * (fragments - 1)
    full = headers.further + headers.carried
    last = datagram - full * (fragments - 1)

    per_byte = 8.0 / rate_bps
    fragments_mean = float(fragments @ share)
    over_fragments = [
        float(((fragments - 1) * float(full) ** k + last**k) @ share) / fragments_mean
        for k in (1, 2, 3)
    ]
    over_datagrams = [float(datagram**k @ share) for k in (1, 2, 3)]
    ahead = float((fragments * (fragments - 1) / 2.0) @ share) * full / fragments_mean
    transforms = _Transforms(law, headers, fragments, per_byte, fragments_mean)
    return ItgsendService(
        rate_bps=float(rate_bps),
        mean_bytes=float(mean_bytes),
        payload_mean_bytes=float(payload @ share),
        fragments_mean=fragments_mean,
        datagram_bytes_mean=over_datagrams[0],
        datagram_bytes_second_moment=over_datagrams[1],
        fragment_bytes_mean=over_fragments[0],
        fragment_bytes_second_moment=over_fragments[1],
        batch=BatchLaw(
            total=_service(over_datagrams, per_byte, transforms.datagram),
            packet=_service(over_fragments, per_byte, transforms.fragment),
            packets_mean=fragments_mean,
            ahead_mean_s=ahead * per_byte,
            ahead_lst=transforms.ahead,
            through_lst=transforms.through,
        ),
    )


class _PayloadLaw:
    """min(64000, max(20, floor(mean * Exp(1)))): geometric, with atoms at both ends."""

    def __init__(self, mean_bytes: float) -> None:
        self.decay = 1.0 / mean_bytes
        self.payload: Floats = np.arange(
            LEAST_PAYLOAD_BYTES, LARGEST_PAYLOAD_BYTES + 1, dtype=np.float64
        )
        # P(payload >= n) = P(mean * Exp(1) >= n) above the lower end; differences of it sum to 1.
        at_least = np.exp(-self.payload / mean_bytes)
        at_least[0] = 1.0
        self.share: Floats = at_least - np.append(at_least[1:], 0.0)


@dataclass(frozen=True)
class _Headers:
    """Sizes that turn a payload into packets, bytes."""

    mtu: int
    link: int
    ip: int
    udp: int

    def __post_init__(self) -> None:
        if min(self.link, self.ip, self.udp) < 0:
            raise TheoryError("headers: bytes, at least 0")
        if self.carried < 8:
            raise TheoryError(f"mtu {self.mtu} carries nothing after a {self.ip}-byte IP header")

    @property
    def carried(self) -> int:
        """Bytes after the IP header in every fragment but the last, a multiple of 8."""
        return (self.mtu - self.ip) // 8 * 8

    @property
    def first(self) -> int:
        """Header bytes of an unfragmented datagram."""
        return self.link + self.ip + self.udp

    @property
    def further(self) -> int:
        """Header bytes of each fragment after the first."""
        return self.link + self.ip

    def fragments(self, payload: Floats) -> NDArray[np.float64]:
        """Packets that a datagram of this payload becomes."""
        body = payload + self.udp
        # An unfragmented packet may use the last few bytes of the MTU; fragments carry multiples of
        # 8.
        whole = body <= self.mtu - self.ip
        return np.where(whole, 1.0, np.ceil(body / self.carried))


class _Transforms:
    """E exp(-s ..) of ITGSend's datagrams and fragments, by sums of geometric series."""

    def __init__(
        self,
        law: _PayloadLaw,
        headers: _Headers,
        fragments: Floats,
        per_byte: float,
        fragments_mean: float,
    ) -> None:
        self._per_byte = per_byte
        self._mean = fragments_mean
        self._decay = law.decay
        self._headers = headers
        self._full = headers.further + headers.carried
        # The atoms at 20 and 64000 are added separately; between them P(n) = (1 - r) r^n with
        # r = exp(-decay).
        inner = slice(1, -1)
        count, start = np.unique(fragments[inner], return_index=True)
        first = law.payload[inner][start]
        self._classes = [
            (int(k), float(a), float(b))
            for k, a, b in zip(count, first, np.append(first[1:] - 1, law.payload[-2]), strict=True)
        ]
        self._ends = [
            (int(fragments[i]), float(law.payload[i]), float(law.share[i])) for i in (0, -1)
        ]
        more = [float(law.share[fragments > k].sum()) for k in range(int(fragments.max()))]
        self._more_than = np.array([p for p in more if p > 0.0])

    def datagram(self, s: Complexes) -> Complexes:
        """E exp(-s D), D the time of a whole datagram."""
        return self._sum(s, lambda k: self._headers.first + self._headers.further * (k - 1))

    def last(self, s: Complexes) -> Complexes:
        """E exp(-s Z), Z the time of a datagram's last (or only) fragment."""
        return self._sum(s, lambda k: self._headers.first - self._headers.carried * (k - 1))

    def fragment(self, s: Complexes) -> Complexes:
        """E exp(-s S), S the time of a fragment, over fragments."""
        full = np.exp(-s * (self._full * self._per_byte))
        return np.asarray(((self._mean - 1.0) * full + self.last(s)) / self._mean)

    def ahead(self, s: Complexes) -> Complexes:
        """E exp(-s A), A the work of the own datagram ahead of a fragment, over fragments."""
        return np.asarray(self._after_full_ones(s) / self._mean)

    def through(self, s: Complexes) -> Complexes:
        """E exp(-s (A + S)): a full fragment ends where the next begins, the last one with all."""
        ends = self._after_full_ones(s) - 1.0 + self.datagram(s)
        return np.asarray(ends / self._mean)

    def _after_full_ones(self, s: Complexes) -> Complexes:
        """Sum over j >= 0 of P(more than j fragments) exp(-s j full), by Horner's scheme."""
        full = np.exp(-s * (self._full * self._per_byte))
        total = np.zeros(s.shape, dtype=np.complex128)
        for probability in self._more_than[::-1]:
            total = total * full + probability
        return total

    def _sum(self, s: Complexes, headers: Callable[[int], int]) -> Complexes:
        """E exp(-8 s (payload + headers(fragments)) / rate); ``headers`` may be negative."""
        z = -s * self._per_byte
        step = z - self._decay
        total = np.zeros(s.shape, dtype=np.complex128)
        for k, a, b in self._classes:
            # Sum over n = a..b of exp(n step), a geometric series.
            series = np.expm1((b - a + 1.0) * step) / np.expm1(step)
            total += -np.expm1(-self._decay) * np.exp(a * step + headers(k) * z) * series
        for k, n, share in self._ends:
            total += share * np.exp((n + headers(k)) * z)
        return total


def _service(moments_bytes: list[float], per_byte: float, lst: Transform) -> Service:
    first, second, third = (m * per_byte**k for k, m in enumerate(moments_bytes, 1))
    return Service(first, second, third, lst)
