"""Probes: round-trip times as ping measures them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dumbbell.errors import DumbbellError
from dumbbell.metrics.registry import metric
from dumbbell.tables import NO_INSTANT, Run

__all__ = [
    "echo_requests",
    "mean_ping_rtt_ms",
    "ping_loss_ratio",
    "ping_rtt_ms",
    "ping_rtt_quantiles_ms",
]

_SECTION = "Probes"
_NS_PER_MS = 1e6
_NS_PER_S = 1e9
Floats = NDArray[np.float64]


@metric("ms", _SECTION)
def ping_rtt_ms(
    run: Run, probes: Sequence[str | int] | None = None, *, first_s: float | None = None
) -> Floats:
    """Round-trip times of the answered requests, of several probes pooled.

    Probe after probe, each in the order of sequence numbers. Successive samples are correlated, so
    their number cannot be used as the sample size of an interval.

    Args:
        run: The run, which may be imported.
        probes: Names or indices; all if None.
        first_s: Only requests sent in the first ``first_s`` seconds of the run.

    Returns:
        Milliseconds, shape (answers,); exact, not rounded as by ping.

    Raises:
        DumbbellError: ``first_s`` is given for an imported run without the times of requests.
    """
    rtt = np.concatenate([_rtt_ns(run, each, first_s) for each in _probes(run, probes)] or [_NONE])
    answered: Floats = rtt[rtt != NO_INSTANT] / _NS_PER_MS
    return answered


@metric("ms", _SECTION)
def ping_rtt_quantiles_ms(
    run: Run,
    q: ArrayLike,
    probes: Sequence[str | int] | None = None,
    *,
    first_s: float | None = None,
) -> Floats:
    """Sample quantiles of `ping_rtt_ms`, computed as by R's ``quantile`` (type 7) and NumPy.

    Args:
        run: The run.
        q: Levels in [0, 1], any shape; 1 is the maximum.
        probes: Names or indices, pooled; all if None.
        first_s: Only requests sent in the first ``first_s`` seconds of the run.

    Returns:
        An array of the shape of ``q``; NaN without answers.
    """
    rtt = ping_rtt_ms(run, probes, first_s=first_s)
    levels = np.asarray(q, dtype=np.float64)
    return np.quantile(rtt, levels) if len(rtt) else np.full(levels.shape, np.nan)


@metric("ms", _SECTION)
def mean_ping_rtt_ms(
    run: Run, probes: Sequence[str | int] | None = None, *, first_s: float | None = None
) -> float:
    """Mean of `ping_rtt_ms`; NaN without answers."""
    rtt = ping_rtt_ms(run, probes, first_s=first_s)
    return float(rtt.mean()) if len(rtt) else float("nan")


@metric("1", _SECTION)
def ping_loss_ratio(
    run: Run, probes: Sequence[str | int] | None = None, *, first_s: float | None = None
) -> float:
    """Requests without an answer over requests sent. NaN if none was sent.

    A request whose answer is in flight at the end of the run counts as lost, as for a ping that is
    stopped.
    """
    rtt = np.concatenate([_rtt_ns(run, each, first_s) for each in _probes(run, probes)] or [_NONE])
    return float((rtt == NO_INSTANT).mean()) if len(rtt) else float("nan")


@metric("requests", _SECTION)
def echo_requests(run: Run, probes: Sequence[str | int] | None = None) -> int:
    """Requests that were sent, answered or not."""
    return sum(len(run.column("probes", "seq", probe=each)) for each in _probes(run, probes))


_NONE = np.empty(0, dtype=np.int64)


def _probes(run: Run, probes: Sequence[str | int] | None) -> Sequence[str | int]:
    if isinstance(probes, str):
        # Iterating over a single name would give its letters.
        return [probes]
    return range(len(run.probe_names)) if probes is None else probes


def _rtt_ns(run: Run, probe: str | int, first_s: float | None) -> NDArray[np.int64]:
    rtt = run.column("probes", "rtt_ns", probe=probe)
    if first_s is None:
        return rtt
    sent = run.column("probes", "sent_ns", probe=probe)
    if (sent == NO_INSTANT).any():
        raise DumbbellError("first_s: this run does not know when its requests were sent")
    return rtt[sent < first_s * _NS_PER_S]
