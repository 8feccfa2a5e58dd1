"""Bounds on the longest standstill from the coefficient of variation of throughput.

Of n samples of a flow's throughput, one interval each, let k be zero because the flow stood still.
The other n - k have the mean n/(n - k) times that of all. Their spread only adds, so

    cov^2 >= k/(n - k), and k <= n cov^2 / (1 + cov^2),

with equality where all samples but those are equal. A standstill of length L covers at least
floor(L/interval) - 1 whole samples, wherever the samples' grid lies.

The other bound comes from the rate: while a flow stands still, the bucket refills up to its burst;
further tokens are lost. A flow that sent S bits in T seconds through a bucket of rate r and burst
b, initially full, therefore stood still for at most

    (r T + b - S)/r + b/r.
"""

from __future__ import annotations

import math


def least_cov(standstill_s: float, interval_s: float, duration_s: float) -> float:
    """Return the minimum coefficient of variation of throughput with one standstill.

    Args:
        standstill_s: Length of the standstill.
        interval_s: Sampling interval.
        duration_s: Sampled time; longer than the standstill.

    Raises:
        ValueError: The standstill is not shorter than the sampled time.
    """
    samples = round(duration_s / interval_s)
    silent = max(0, math.floor(standstill_s / interval_s + 1e-9) - 1)
    if silent >= samples:
        raise ValueError(f"a standstill of {standstill_s:g} s in {duration_s:g} s; a shorter one")
    return math.sqrt(silent / (samples - silent))


def longest_by_cov_s(cov: float, interval_s: float, duration_s: float) -> float:
    """Return the longest standstill that a coefficient of variation allows; see the module."""
    samples = round(duration_s / interval_s)
    silent = math.floor(samples * cov**2 / (1 + cov**2) + 1e-9)
    # Two more samples may be partly, and almost entirely, silent.
    return (silent + 2) * interval_s


def longest_by_rate_s(
    sent_bits: float, rate_bps: float, burst_bits: float, duration_s: float
) -> float:
    """Return the longest standstill for which the bits sent still fit a bucket that was full.

    Args:
        sent_bits: Bits that passed the bucket.
        rate_bps: Rate of the bucket.
        burst_bits: Depth of the bucket.
        duration_s: Time in which they passed.
    """
    unused_bits = rate_bps * duration_s + burst_bits - sent_bits
    return (unused_bits + burst_bits) / rate_bps
