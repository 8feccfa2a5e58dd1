"""A twin of typed numbers, from a speed test and a ping, without a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dumbbell.errors import SpecError
from dumbbell.printable import printable
from dumbbell.twin.line import FULL_BYTES, FULL_PAYLOAD_BYTES, Line, LineEnd, QueueModel
from dumbbell.twin.result import Parameter, Quantity, Twin
from dumbbell.twin.scene import TOP, Way
from dumbbell.units import format_time

NAME = "typed numbers"
_SPEED_TOLERANCE = 0.05
_DELAY_TOLERANCE = 0.2
"""Tolerance of speeds and delays read off a speed test: relative, in both directions."""
_REPLACED = {"--idle": "--rtt", "--during-up": "--loaded-up", "--during-down": "--loaded-down"}
"""Typed round trips that a log replaces."""
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
        sources: Names of the files with the round trips, if they were not typed.
    """

    up_bps: int
    down_bps: int
    rtt_ns: int
    loaded_up_ns: int | None
    loaded_down_ns: int | None
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RoundTripLogs:
    """Round trips of ping and irtt in place of typed ones.

    Attributes:
        times: The time with its unit, by the option that it replaces; None without a log.
        options: The option of the log, by the option that it replaces.
        sources: Names of the files.
    """

    times: Mapping[str, str | None]
    options: Mapping[str, str]
    sources: tuple[str, ...]

    @classmethod
    def of(cls, during: Mapping[str, Sequence[Path]]) -> RoundTripLogs:
        """Read the logs: the minimum of an idle line, and the 98th percentile under load.

        Args:
            during: Logs by the options of `dumbbell.twin.reading.DURING`.

        Raises:
            SpecError: A log has no round trips, or is of both directions at once.
            FormatError: A log cannot be read.
            OSError: A log cannot be read.
        """
        # The readers of logs are imported on demand.
        from dumbbell.twin.log_scenes import read_round_trips

        times: dict[str, str | None] = dict.fromkeys(_REPLACED.values())
        options: dict[str, str] = {}
        sources: list[str] = []
        for option, paths in during.items():
            if not paths:
                continue
            if option not in _REPLACED:
                allowed = "--during-up and --during-down beside typed speeds"
                raise SpecError(option, printable(paths[0].name), allowed)
            logs = [read_round_trips(path) for path in paths]
            rtt_ms = np.concatenate([log.rtt_ms for log in logs])
            is_idle = option == "--idle"
            ms = float(rtt_ms.min() if is_idle else np.quantile(rtt_ms, TOP))
            times[_REPLACED[option]] = format_time(max(1, round(1e6 * ms)))
            options[_REPLACED[option]] = option
            sources += [printable(path.name) for path in paths]
        return cls(times, options, tuple(sources))


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
        sources=(NAME, *typed.sources),
        notes=("A FIFO is assumed where packets wait: typed numbers do not show the discipline.",),
        seed=seed,
    )
