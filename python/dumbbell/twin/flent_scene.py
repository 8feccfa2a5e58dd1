"""The scene in a Flent data file: its TCP flows and its unmarked pings."""

from __future__ import annotations

from collections.abc import Mapping

from dumbbell.errors import SpecError
from dumbbell.formats.flent import FlentFile, imported_run
from dumbbell.formats.flent.file import shown
from dumbbell.spec.tcp import CONGESTION_CONTROLLERS
from dumbbell.tables import Run
from dumbbell.twin.run_scene import scene_of_run
from dumbbell.twin.scene import Scene, Way

_STARTS = {"TCP upload": Way.UP, "TCP download": Way.DOWN}
_MARKED = (" EF", " BK", " CS", " AF")
"""Names of series with marked packets, which a queue may prioritize or deprioritize."""
_LEAST_S = 5.0


def scene_of_flent(
    file: FlentFile, source: str, senders: Mapping[Way, str]
) -> tuple[Scene, tuple[str, ...]]:
    """Return the scene of a Flent file.

    Args:
        file: The measurement, by any test with TCP flows or pings.
        source: Name of the source.
        senders: Congestion controllers by direction, overriding those in the file.

    Returns:
        The scene, and its assumptions, a sentence each.

    Raises:
        SpecError: It has neither flows nor round trips of sufficient length.
    """
    hosts = {each for each in file.metadata.get("HOSTS") or [] if isinstance(each, str)}
    if len(hosts) > 1:
        reason = "a line is fitted to one round trip"
        raise SpecError(source, f"a test with {len(hosts)} hosts", "one host", reason=reason)
    run = imported_run(file)
    ways = {
        name: way
        for name in run.flow_names
        for start, way in _STARTS.items()
        if name.startswith(start)
    }
    notes: list[str] = []
    controllers = []
    for way in Way:
        said = _controllers(file, [name for name, each in ways.items() if each is way])
        if way in senders:
            said = {senders[way]}
        if not said:
            continue
        first = min(said)
        if first not in CONGESTION_CONTROLLERS or len(said) > 1:
            notes.append(
                f"{source}: senders {way.value} have {', '.join(map(shown, sorted(said)))}; "
                "simulated as cubic"
            )
            first = "cubic"
        controllers.append((way, first))
    probes = [name for name in run.probe_names if _is_unmarked_ping(name)]
    scene = scene_of_run(
        run, ways, probes or _pings(run), source=source, controllers=tuple(controllers)
    )
    if scene.length_s < _LEAST_S:
        raise SpecError(
            source,
            f"{scene.length_s:.1f} s with TCP flows or pings",
            f"a test of {_LEAST_S:g} s and longer with TCP uploads, downloads or pings",
        )
    return scene, tuple(notes)


def _controllers(file: FlentFile, names: list[str]) -> set[str]:
    """Return the senders' controllers stated by the measuring program."""
    found = {file.series_meta(name).get("CONG_CONTROL") for name in names}
    return {each for each in found if isinstance(each, str) and each}


def _pings(run: Run) -> list[str]:
    return [name for name in run.probe_names if name.startswith("Ping (ms)")]


def _is_unmarked_ping(name: str) -> bool:
    return name.startswith("Ping (ms)") and not any(mark in name for mark in _MARKED)
