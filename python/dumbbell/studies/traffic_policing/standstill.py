"""What a coefficient of variation of throughput says of the longest standstill.

Of n samples of a flow's throughput, one interval each, let k be zero because the flow stood still.
The other n - k have the mean n/(n - k) times that of all. Their spread only adds, so

    cov^2 >= k/(n - k), and k <= n cov^2 / (1 + cov^2),

with equality where all samples but those are equal. A standstill of length L covers at least
floor(L/interval) - 1 whole samples, wherever the samples' grid lies.

The other limit comes from the rate: a bucket refills while a flow stands still, up to its burst;
what would come after that is lost. So who sent S bits in T seconds through a bucket of rate r and
burst b, full at first, stood still for at most

    (r T + b - S)/r + b/r.
"""

from __future__ import annotations

import math


def least_cov(standstill_s: float, interval_s: float, duration_s: float) -> float:
    """The least coefficient of variation of throughput with one standstill.

    Args:
        standstill_s: Its length.
        interval_s: Between samples.
        duration_s: That is sampled; longer than the standstill.

    Raises:
        ValueError: A standstill as long as all that is sampled.
    """
    samples = round(duration_s / interval_s)
    silent = max(0, math.floor(standstill_s / interval_s + 1e-9) - 1)
    if silent >= samples:
        raise ValueError(f"a standstill of {standstill_s:g} s in {duration_s:g} s; a shorter one")
    return math.sqrt(silent / (samples - silent))


def longest_by_cov_s(cov: float, interval_s: float, duration_s: float) -> float:
    """The longest standstill that a coefficient of variation allows; see the module."""
    samples = round(duration_s / interval_s)
    silent = math.floor(samples * cov**2 / (1 + cov**2) + 1e-9)
    # Two more samples may be silent in part, and almost to their ends.
    return (silent + 2) * interval_s


def longest_by_rate_s(
    sent_bits: float, rate_bps: float, burst_bits: float, duration_s: float
) -> float:
    """The longest standstill after which so much can still have passed a bucket that was full.

    Args:
        sent_bits: What passed it.
        rate_bps: Of the bucket.
        burst_bits: That it holds.
        duration_s: In which it passed.
    """
    unused_bits = rate_bps * duration_s + burst_bits - sent_bits
    return (unused_bits + burst_bits) / rate_bps
