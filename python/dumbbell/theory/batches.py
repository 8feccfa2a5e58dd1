"""M^X/G/1: packets that arrive in batches, such as the IP fragments of one datagram.

Fragments of a datagram reach the queue together, so they wait for each other as well as for the
work already there. A model of separate Poisson packets with the same mean load omits this, so its
wait is too short.
"""
# ruff: noqa: N802 - the field's names

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.theory.errors import Complexes, Floats, TheoryError, not_negative, positive, stable
from dumbbell.theory.inversion import Transform, tail_from_lst
from dumbbell.theory.law import DelayLaw
from dumbbell.theory.mg1 import MG1, wait_cdf, workload_lst
from dumbbell.theory.service import Service, mixture


@dataclass(frozen=True, eq=False)
class BatchLaw:
    """Packets that arrive at one instant and are served one after another.

    Averages "over packets" weight a batch by its number of packets.

    Attributes:
        total: Service time of a whole batch.
        packet: Service time of a packet, over packets.
        packets_mean: Mean packets per batch, at least 1.
        ahead_mean_s: Mean work ahead of a packet within its own batch, over packets, s.
        ahead_lst: Transform of that work, or None when unknown.
        through_lst: Transform of that work plus the packet's own service time (they are dependent:
            the last fragment is shorter), or None when unknown.
    """

    total: Service
    packet: Service
    packets_mean: float
    ahead_mean_s: float
    ahead_lst: Transform | None = field(default=None, repr=False)
    through_lst: Transform | None = field(default=None, repr=False)


def single_packets(service: Service) -> BatchLaw:
    """Batches of one packet: M^X/G/1 is then M/G/1.

    Args:
        service: Service law of a packet.
    """
    return BatchLaw(
        total=service,
        packet=service,
        packets_mean=1.0,
        ahead_mean_s=0.0,
        ahead_lst=np.ones_like,
        through_lst=service.lst,
    )


def independent_batches(service: Service, sizes: ArrayLike, weights: ArrayLike) -> BatchLaw:
    """Batches of random size whose packets have independent service times.

    Takagi, Queueing Analysis Vol. 1, chapter 1; for exponential service Gross & Harris section 3.1.

    Args:
        service: Service law of each packet.
        sizes: Possible numbers of packets in a batch, whole, at least 1.
        weights: Relative frequency of each size, at least 0, any sum.

    Raises:
        TheoryError: A size below 1 or not whole, or weights out of range.
    """
    x = np.asarray(sizes, dtype=np.float64).ravel()
    share = np.asarray(weights, dtype=np.float64).ravel()
    if x.size == 0 or x.size != share.size:
        raise TheoryError(f"{x.size} batch sizes and {share.size} weights; one weight each")
    if not ((x >= 1) & (x == np.floor(x)) & np.isfinite(x)).all():
        raise TheoryError(f"batch sizes {x.tolist()}: whole numbers of packets, at least 1")
    if not (np.isfinite(share) & (share >= 0)).all() or not share.sum() > 0:
        raise TheoryError("weights must be finite, at least 0, and not all 0")
    share = share / share.sum()
    mean, pairs = float(x @ share), float((x * (x - 1)) @ share)
    triples = float((x * (x - 1) * (x - 2)) @ share)
    m, m2, m3 = service.mean_s, service.second_moment_s2, service.third_moment_s3
    lst = service.lst

    def total(s: Complexes) -> Complexes:
        assert lst is not None
        return np.asarray((lst(s)[..., None] ** x) @ share)

    def ahead(s: Complexes) -> Complexes:
        """(1 - X(b)) / (E X (1 - b)), b = B*(s): the place in the batch is uniform."""
        assert lst is not None
        b = lst(s)
        return np.asarray((1.0 - (b[..., None] ** x) @ share) / (mean * (1.0 - b)))

    def through(s: Complexes) -> Complexes:
        assert lst is not None
        return np.asarray(ahead(s) * lst(s))

    known = lst is not None
    return BatchLaw(
        total=Service(
            mean * m,
            mean * m2 + pairs * m**2,
            None if m3 is None else mean * m3 + 3 * pairs * m * m2 + triples * m**3,
            total if known else None,
        ),
        packet=service,
        packets_mean=mean,
        ahead_mean_s=m * pairs / (2.0 * mean),
        ahead_lst=ahead if known else None,
        through_lst=through if known else None,
    )


def superpose(streams: Sequence[tuple[float, BatchLaw]]) -> tuple[float, BatchLaw]:
    """Merge independent Poisson streams of batches at one queue into one stream.

    Args:
        streams: Rate (batches/s) and batch law of each.

    Returns:
        The summed rate and the batch law of the mixture, for :class:`MXG1`.

    Raises:
        TheoryError: No stream, or a rate that is not positive.
    """
    if not streams:
        raise TheoryError("no streams to superpose")
    for rate, _ in streams:
        positive(rate, "rate of a stream", "batches/s")
    rates = [rate for rate, _ in streams]
    laws = [law for _, law in streams]
    packet_rates = [rate * law.packets_mean for rate, law in streams]
    packets = math.fsum(packet_rates)
    shares = [rate / packets for rate in packet_rates]
    return math.fsum(rates), BatchLaw(
        total=mixture([law.total for law in laws], rates),
        packet=mixture([law.packet for law in laws], packet_rates),
        packets_mean=packets / math.fsum(rates),
        ahead_mean_s=math.fsum(w * law.ahead_mean_s for w, law in zip(shares, laws, strict=True)),
        ahead_lst=_mixed([law.ahead_lst for law in laws], shares),
        through_lst=_mixed([law.through_lst for law in laws], shares),
    )


@dataclass(frozen=True)
class MXG1(DelayLaw):
    """The M^X/G/1 queue, first come first served: delays of packets that arrive in batches.

    A batch is one customer of an M/G/1 queue; a packet waits for the work that its batch finds and
    for the packets ahead of it in its own batch (Takagi, Queueing Analysis Vol. 1, chapter 1;
    Burke, "Delays in single-server queues with batch input", Operations Research 23, 1975).

    Attributes:
        lam: Rate of *batches*, batches/s, at least 0.
        batch: Law of a batch.

    Raises:
        UnstableError: The load is 1 or more.
        TheoryError: The rate is negative or not finite.
    """

    lam: float
    batch: BatchLaw

    def __post_init__(self) -> None:
        """Check the rate and the load."""
        not_negative(self.lam, "lam", "batches/s")
        stable("M^X/G/1", self.rho)

    @property
    def rho(self) -> float:
        """Load: rate of batches times mean work of a batch."""
        return self.lam * self.batch.total.mean_s

    @property
    def packet_rate(self) -> float:
        """Packets/s."""
        return self.lam * self.batch.packets_mean

    @property
    def workload(self) -> float:
        """Mean work in the system, s: the mean wait of a batch's first packet, and of a probe.

        Poisson arrivals see time averages, so a rare probe (a ping) has this mean wait.
        """
        return self.lam * self.batch.total.second_moment_s2 / (2.0 * (1.0 - self.rho))

    @property
    def W(self) -> float:
        """Mean wait of a packet, s: work found, and packets of the own batch ahead."""
        return self.workload + self.batch.ahead_mean_s

    @property
    def T(self) -> float:
        """Mean time of a packet in the system, s."""
        return self.W + self.batch.packet.mean_s

    @property
    def T_batch(self) -> float:
        """Mean time until a whole batch has been served, s: the delay of a datagram."""
        return self.workload + self.batch.total.mean_s

    @property
    def L(self) -> float:
        """Mean number in the system, packets (Little's law)."""
        return self.packet_rate * self.T

    @property
    def Lq(self) -> float:
        """Mean number waiting, packets."""
        return self.packet_rate * self.W

    @property
    def plain(self) -> MG1:
        """The approximation by independent packet arrivals: same load, shorter wait."""
        return MG1.of(self.packet_rate, self.batch.packet)

    def workload_cdf(self, t: ArrayLike) -> Floats:
        """P(work in the system <= t), the law of a probe's wait.

        Args:
            t: Times, any shape, s, at least 0.

        Raises:
            TheoryError: A negative time, or the law of a batch is not known.
        """
        times = np.asarray(t, dtype=np.float64)
        if not (times >= 0.0).all():
            raise TheoryError("t: times must be at least 0")
        flat = wait_cdf(self._workload_lst, 1.0 - self.rho, times.ravel())
        return flat.reshape(times.shape)

    def _workload_lst(self, s: Complexes) -> Complexes:
        lst = _needed(self.batch.total.lst)
        return workload_lst(s, self.lam, self.rho, lst)

    def _wait_cdf(self, t: Floats) -> Floats:
        ahead = _needed(self.batch.ahead_lst)
        # The first packet of a batch that finds an empty system does not wait.
        at_zero = (1.0 - self.rho) / self.batch.packets_mean
        return wait_cdf(lambda s: self._workload_lst(s) * ahead(s), at_zero, t)

    def _sojourn_cdf(self, t: Floats) -> Floats:
        through = _needed(self.batch.through_lst)
        result = np.zeros_like(t)
        after = t > 0.0
        if after.any():
            result[after] = 1.0 - tail_from_lst(
                lambda s: self._workload_lst(s) * through(s), t[after]
            )
        return result


def _needed(lst: Transform | None) -> Transform:
    if lst is None:
        raise TheoryError("M^X/G/1: quantiles need the law of the service, not only moments")
    return lst


def _mixed(lsts: Sequence[Transform | None], shares: Sequence[float]) -> Transform | None:
    known = [lst for lst in lsts if lst is not None]
    if len(known) != len(lsts):
        return None

    def lst(s: Complexes) -> Complexes:
        total = np.zeros(s.shape, dtype=np.complex128)
        for share, each in zip(shares, known, strict=True):
            total += share * each(s)
        return total

    return lst
