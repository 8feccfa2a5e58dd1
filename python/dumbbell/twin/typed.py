"""A twin of typed numbers, from a speed test and a ping, without a file."""

from __future__ import annotations

from dataclasses import dataclass

from dumbbell.errors import SpecError
from dumbbell.twin.line import FULL_BYTES, FULL_PAYLOAD_BYTES, Line, LineEnd, QueueModel
from dumbbell.twin.result import Parameter, Quantity, Twin
from dumbbell.twin.scene import Way
from dumbbell.units import format_time

NAME = "typed numbers"
_SPEED_TOLERANCE = 0.05
_DELAY_TOLERANCE = 0.2
"""Tolerance of speeds and delays read off a speed test: relative, in both directions."""
_QUEUED_NS = 10_000_000
"""Minimum queueing delay under load: with less, the discipline cannot be identified."""


@dataclass(frozen=True, slots=True)
class TypedNumbers:
    """The typed numbers.

    Attributes:
        up_bps: Upload speed as shown by a speed test: payload.
        down_bps: Download speed.
        rtt_ns: Round-trip time of the idle line.
        loaded_up_ns: Round-trip time during an upload; None if unknown.
        loaded_down_ns: Round-trip time during a download.
    """

    up_bps: int
    down_bps: int
    rtt_ns: int
    loaded_up_ns: int | None
    loaded_down_ns: int | None


def twin_of_numbers(typed: TypedNumbers, seed: int) -> Twin:
    """Compute the twin directly: nothing is fitted, and nothing can be predicted.

    Args:
        typed: The typed numbers.
        seed: Seed of later simulations.

    Raises:
        SpecError: A round-trip time under load is less than the idle one.
    """
    parameters = []
    ends = {}
    speeds = {Way.UP: typed.up_bps, Way.DOWN: typed.down_bps}
    loaded = {Way.UP: typed.loaded_up_ns, Way.DOWN: typed.loaded_down_ns}
    for way in Way:
        rate = speeds[way] * FULL_BYTES / FULL_PAYLOAD_BYTES
        end = LineEnd(0, QueueModel.FQ_CODEL, 5_000_000).with_rate(rate)
        mbps = end.rate_bps / 1e6
        low, high = (mbps * (1 + sign * _SPEED_TOLERANCE) for sign in (-1, 1))
        parameters.append(Parameter(Quantity.RATE, way, "Mbit/s", mbps, low, high, mbps))
        under_load = loaded[way]
        if under_load is None:
            why = f"--loaded-{way} was not given"
            parameters.append(Parameter(Quantity.BUFFER, way, "kB", unidentifiable=why))
        elif under_load < typed.rtt_ns:
            allowed = f"{format_time(typed.rtt_ns)}, the idle round trip, and more"
            raise SpecError(f"--loaded-{way.value}", format_time(under_load), allowed)
        elif under_load - typed.rtt_ns < _QUEUED_NS:
            why = "too little queueing to identify the discipline"
            parameters.append(Parameter(Quantity.BUFFER, way, "kB", unidentifiable=why))
        else:
            queued_ns = under_load - typed.rtt_ns
            end = LineEnd(end.rate_bps, QueueModel.FIFO, 0).with_size(
                end.rate_bps * queued_ns / 8e9
            )
            size = end.size / 1e3
            low, high = (size * (1 + sign * _DELAY_TOLERANCE) for sign in (-1, 1))
            parameters.append(Parameter(Quantity.BUFFER, way, "kB", size, low, high, size))
        ends[way] = end
    rtt_ms = typed.rtt_ns / 1e6
    parameters += [
        Parameter(Quantity.BASE_ROUND_TRIP, None, "ms", rtt_ms, rtt_ms, rtt_ms, rtt_ms),
        Parameter(Quantity.OVERHEAD, None, "bytes", unidentifiable="it was not given"),
    ]
    return Twin(
        line=Line(ends[Way.UP], ends[Way.DOWN], 0).with_rtt(typed.rtt_ns),
        ways=tuple(Way),
        parameters=tuple(parameters),
        decisions={},
        predicted=(),
        sources=(NAME,),
        notes=("A FIFO is assumed where packets wait: typed numbers do not show the discipline.",),
        seed=seed,
    )
