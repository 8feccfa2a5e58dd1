"""The parts of a twin used for advice: the line, its uncertainty, and whether it is trusted."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from dumbbell.errors import SpecError
from dumbbell.printable import printable
from dumbbell.spec.home import Technology
from dumbbell.twin.discipline import NEAR
from dumbbell.twin.line import (
    LEAST_RATE_BPS,
    LEAST_RTT_NS,
    MOST_RATE_BPS,
    MOST_RTT_NS,
    Line,
    LineEnd,
    QueueModel,
)
from dumbbell.twin.result import FORMAT, Quantity, Trust, Twin
from dumbbell.twin.scene import Way

LARGEST_TWIN_BYTES = 1 << 20
_Key = tuple[Quantity, Way | None]
_OF_LEVEL = 1.96
"""Standard deviations from the centre to an end of a 95 % interval."""
_UNKNOWN_SIZE = 0.5
"""Standard deviation of the logarithm of a size that is not identifiable."""


@dataclass(frozen=True, slots=True)
class KnownLine:
    """A line and its uncertainty.

    Attributes:
        line: The twin's line.
        ways: The measured directions.
        spreads: Standard deviation over value of the rate and buffer of each direction and of the
            base round trip.
        trust: Whether its predictions were correct.
        sources: Names of the measured files.
        unexplained: Directions whose delays no tried discipline explains.
    """

    line: Line
    ways: tuple[Way, ...]
    spreads: Mapping[_Key, float]
    trust: Trust
    sources: tuple[str, ...]
    unexplained: tuple[Way, ...] = ()

    def of_technology(self, technology: Technology) -> KnownLine:
        """Return the same with the overhead of a kind of line."""
        return replace(self, line=replace(self.line, technology=technology))

    def drawn(self, count: int, seed: int) -> list[Line]:
        """Return possible real lines: the twin's first, then lines drawn from the intervals.

        Args:
            count: Number of lines, at least one.
            seed: Seed of the draws.
        """
        random = np.random.Generator(np.random.PCG64(seed))
        found = [self.line]
        for _ in range(count - 1):
            line = self.line
            for way in Way:
                end = line.end(way)
                rate = 1 + self.spreads[Quantity.RATE, way] * float(random.standard_normal())
                size = math.exp(
                    self.spreads[Quantity.BUFFER, way] * float(random.standard_normal())
                )
                line = line.with_end(
                    way, end.with_rate(end.rate_bps * rate).with_size(end.size * size)
                )
            rtt = 1 + self.spreads[Quantity.BASE_ROUND_TRIP, None] * float(random.standard_normal())
            found.append(line.with_rtt(line.rtt_ns * rtt).rounded)
        return found


def known_line(document: Mapping[str, Any], source: str) -> KnownLine:
    """Return the line of a twin's JSON.

    Args:
        document: As of `Twin.document`; untrusted until checked.
        source: Its name in error messages.

    Raises:
        SpecError: A value is missing or out of range.
    """
    line = _object(document, "line", source)
    ends = {way: _end(_object(line, way.value, f"{source}: line"), source) for way in Way}
    rtt = _number(line, "rtt_ns", f"{source}: line", LEAST_RTT_NS, MOST_RTT_NS)
    trusts = {each.value: each for each in Trust}
    trust = document.get("trust")
    if not isinstance(trust, str) or trust not in trusts:
        raise SpecError(f"{source}: trust", printable(str(trust))[:60], ", ".join(trusts))
    spreads, measured = _spreads(document.get("parameters"), source)
    sources = document.get("sources")
    names = [each for each in sources if isinstance(each, str)] if isinstance(sources, list) else []
    return KnownLine(
        Line(ends[Way.UP], ends[Way.DOWN], 0).with_rtt(rtt),
        tuple(way for way in Way if (Quantity.RATE, way) in measured),
        spreads,
        trusts[trust],
        tuple(printable(each)[:200] for each in names[:12]),
        tuple(_unexplained(document.get("disciplines"))),
    )


def known_line_of(twin: Twin) -> KnownLine:
    """Return the line of a twin that was just estimated."""
    return known_line(twin.document, "twin")


def read_known_line(path: Path) -> KnownLine:
    """Read the line from ``twin.json``, or from its folder.

    Raises:
        SpecError: It is not a twin.
        OSError: It cannot be read.
    """
    file = path / "twin.json" if path.is_dir() else path
    name = printable(file.name)
    with file.open("rb") as stream:
        content = stream.read(LARGEST_TWIN_BYTES + 1)
    if len(content) > LARGEST_TWIN_BYTES:
        raise SpecError(name, "more than 1 MiB", "the twin.json that dumbbell twin wrote")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise SpecError(name, "no twin", "the twin.json that dumbbell twin wrote")
    return known_line(document, name)


def is_twin(path: Path) -> bool:
    """Whether a path is the folder or the JSON file of a twin.

    Raises:
        OSError: It cannot be read.
    """
    if path.is_dir():
        return True
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        content = stream.read(LARGEST_TWIN_BYTES + 1)
    if len(content) > LARGEST_TWIN_BYTES:
        return False
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and document.get("format") == FORMAT


def _spreads(parameters: object, source: str) -> tuple[dict[_Key, float], set[_Key]]:
    spreads: dict[_Key, float] = {(Quantity.BASE_ROUND_TRIP, None): 0.0}
    spreads |= {(Quantity.RATE, way): 0.0 for way in Way}
    spreads |= {(Quantity.BUFFER, way): _UNKNOWN_SIZE for way in Way}
    measured: set[_Key] = set()
    if not isinstance(parameters, list):
        raise SpecError(f"{source}: parameters", "no list", "a list of parameters")
    for each in parameters[:100]:
        key = _key(each)
        if key is None or key not in spreads:
            continue
        measured.add(key)
        known = [each.get(key) for key in ("value", "low", "high")]
        numbers = [float(number) for number in known if _is_number(number)]
        if len(numbers) == len(known) and numbers[0] > 0 and numbers[1] <= numbers[2]:
            spread = (numbers[2] - numbers[1]) / (2 * _OF_LEVEL) / numbers[0]
            spreads[key] = min(spread, 1.0)
    return spreads, measured


def _key(parameter: object) -> _Key | None:
    """What a parameter is; None if its words are unknown."""
    if not isinstance(parameter, dict):
        return None
    quantity, way = parameter.get("quantity"), parameter.get("way")
    if quantity not in tuple(Quantity) or (way is not None and way not in tuple(Way)):
        return None
    return Quantity(quantity), None if way is None else Way(way)


def _unexplained(disciplines: object) -> Iterator[Way]:
    for way in Way:
        of_way = disciplines.get(way.value) if isinstance(disciplines, dict) else None
        distances = of_way.get("distances") if isinstance(of_way, dict) else None
        if isinstance(distances, dict) and distances:
            numbers = [float(far) for far in distances.values() if _is_number(far)]
            if min(numbers, default=math.inf) > NEAR:
                yield way


def _end(table: Mapping[str, Any], source: str) -> LineEnd:
    models = {model.word: model for model in QueueModel}
    word = table.get("model")
    if not isinstance(word, str) or word not in models:
        raise SpecError(f"{source}: model", printable(str(word))[:60], ", ".join(models))
    model = models[word]
    rate = _number(table, "rate_bps", source, LEAST_RATE_BPS, MOST_RATE_BPS)
    size = _number(table, "size", source, model.least, model.most)
    return LineEnd(round(rate), model, round(size))


def _object(table: Mapping[str, Any], key: str, source: str) -> Mapping[str, Any]:
    found = table.get(key)
    if not isinstance(found, dict):
        raise SpecError(f"{source}: {key}", "no object", "the twin.json that dumbbell twin wrote")
    return found


def _number(table: Mapping[str, Any], key: str, source: str, least: float, most: float) -> float:
    value = table.get(key)
    if not _is_number(value) or not least <= value <= most:
        raise SpecError(f"{source}: {key}", printable(str(value))[:60], f"{least:g} to {most:g}")
    return float(value)


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e18
