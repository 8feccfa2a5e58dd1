"""Reading of scenes from files, by their content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dumbbell.errors import SpecError
from dumbbell.formats.kinds import FileKind, kind_of
from dumbbell.formats.logs import Log, LogText, log_of_text
from dumbbell.printable import printable
from dumbbell.twin.queue_counters import QueueCounters, queue_counters
from dumbbell.twin.scene import Scene, Way

MOST_FILES = 12
DURING: Mapping[str, frozenset[Way]] = {
    "--idle": frozenset(),
    "--during-up": frozenset({Way.UP}),
    "--during-down": frozenset({Way.DOWN}),
    "--during-both": frozenset(Way),
}
"""Options for round-trip logs that do not state the load of the line."""


@dataclass(frozen=True, slots=True)
class Measurements:
    """All measurements of a line.

    Attributes:
        scenes: One scene per load, and idle scenes.
        notes: Assumptions and omissions, a sentence each.
        queues: Counters of the router's queues, by direction.
    """

    scenes: tuple[Scene, ...]
    notes: tuple[str, ...] = ()
    queues: tuple[QueueCounters, ...] = ()


def read_measurements(
    files: Sequence[Path],
    during: Mapping[str, Sequence[Path]],
    senders: Mapping[Way, str] | None = None,
    counted: Mapping[Way, Sequence[Path]] | None = None,
) -> Measurements:
    """Read the measurements.

    Args:
        files: Files with loads: Flent's, iperf3's, crusader's, captures.
        during: Logs of ping and irtt, by option of `DURING`.
        senders: Congestion controllers by direction, overriding those in the files.
        counted: Output of ``tc -s qdisc`` before and after, by the direction that the device sends
            in.

    Raises:
        SpecError: A file's kind does not describe a line, or there are too many files.
        FormatError: A file cannot be parsed.
        OSError: A file cannot be read.
    """
    count = len(files) + sum(map(len, during.values()))
    if count > MOST_FILES:
        raise SpecError("FILE", f"{count} files", f"at most {MOST_FILES}")
    scenes: list[Scene] = []
    notes: list[str] = []
    for path in files:
        found, said = _of_file(path, senders or {})
        scenes += found
        notes += said
    for option, paths in during.items():
        for path in paths:
            said = _add_round_trips(scenes, path, option)
            notes += said
    queues = tuple(queue_counters(way, paths) for way, paths in (counted or {}).items() if paths)
    notes += [each.sentence for each in queues]
    return Measurements(tuple(scenes), tuple(notes), queues)


def _of_file(path: Path, senders: Mapping[Way, str]) -> tuple[list[Scene], Sequence[str]]:
    # The readers are rarely used, so they are imported on demand.
    from dumbbell.twin.flent_scene import scene_of_flent
    from dumbbell.twin.log_scenes import READ, loads_of_log

    name = printable(path.name)
    if path.is_dir():
        raise SpecError("FILE", f"{name}, a folder", f"a file of {READ}")
    path.stat()
    kind = kind_of(path)
    if kind is FileKind.FLENT:
        from dumbbell.formats.flent import read_flent

        scene, said = scene_of_flent(read_flent(path), name, senders)
        return [scene], said
    if kind is FileKind.CAPTURE:
        from dumbbell.formats.capture import read_capture
        from dumbbell.twin.capture_scene import scenes_of_capture

        return scenes_of_capture(read_capture(path), name, senders)
    if kind is FileKind.LOG:
        log = _log(path)
        return loads_of_log(log, senders), _unread(log)
    raise SpecError("FILE", f"{name}, {kind.value}", f"a file of {READ}")


def _log(path: Path) -> Log:
    return log_of_text(LogText.of_file(path))


def _unread(log: Log) -> list[str]:
    said = [*log.problems, *filter(None, [str(log.unknown)])]
    return [f"{log.source}: {sentence}" for sentence in said]


def _add_round_trips(scenes: list[Scene], path: Path, option: str) -> Sequence[str]:
    """Add round trips as a scene of an idle line, or of the load they were measured in."""
    from dumbbell.twin.log_scenes import round_trips_of_log

    log = _log(path)
    trips = round_trips_of_log(log)
    ways = DURING[option]
    last_s = float(trips.sent_s[-1])
    if not ways:
        scenes.append(
            Scene(
                source=printable(path.name),
                begin_s=0.0,
                end_s=last_s,
                sent_s=trips.sent_s,
                rtt_ms=trips.rtt_ms,
                lost=trips.lost,
                interval_s=trips.interval_s,
            )
        )
        return _unread(log)
    place = next((k for k, each in enumerate(scenes) if each.ways == ways), None)
    if place is None:
        allowed = "a file with the throughput of that load beside it, such as iperf3's JSON"
        raise SpecError(option, printable(path.name), allowed)
    scene = scenes[place]
    # Both are assumed to start together: their clocks differ or are not stated.
    scenes[place] = replace(
        scene,
        source=f"{scene.source} and {printable(path.name)}",
        end_s=min(scene.end_s, scene.begin_s + last_s) if last_s > 5 else scene.end_s,
        sent_s=trips.sent_s + scene.begin_s,
        rtt_ms=trips.rtt_ms,
        lost=trips.lost,
        interval_s=trips.interval_s,
        has_pings=True,
    )
    return _unread(log)
