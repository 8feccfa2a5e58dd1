"""Simulation of a line under the load of a scene, to compute the twin's numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from dumbbell.backends import run_many
from dumbbell.spec import Experiment
from dumbbell.tables import Run
from dumbbell.twin.line import HOSTS, Line
from dumbbell.twin.run_scene import scene_of_run
from dumbbell.twin.scene import Scene, Way, with_segments

LONGEST_S = 40.0
"""Maximum simulated length of a load; of a longer one, the beginning is simulated."""
_MOST_BITS = 2.5e9
"""Maximum simulated traffic, both directions together."""
_LEAST_S = 4.5
_IDLE_S = 2.0
_PROBE = "ping"
_LEAST_INTERVAL_S = 0.02


def simulated_length_s(scene: Scene, line: Line) -> float:
    """Return the simulated length of a scene's load, limited to bound the work."""
    most_s = _MOST_BITS / max(1.0, sum(line.end(way).rate_bps for way in scene.ways))
    return max(min(scene.length_s, LONGEST_S, most_s), _LEAST_S)


def scene_experiment(line: Line, scene: Scene, seed: int, share: float = 1.0) -> Experiment:
    """Return the line with the scene's flows and pings.

    Args:
        line: The twin.
        scene: Its load.
        seed: Seed of all random numbers.
        share: How much of the load is simulated, from its begin; 0 to 1.
    """
    length_s = simulated_length_s(scene, line)
    return Experiment.model_validate(
        {
            "name": "twin",
            "seed": seed,
            "duration": _time(_IDLE_S + share * length_s + 0.5),
            "sample_interval": "200ms",
            "links": line.links(),
            "flows": list(_flows(scene, length_s)),
            "probes": [
                {
                    "name": _PROBE,
                    "from": "laptop",
                    "to": "server",
                    "interval": _time(max(scene.interval_s, _LEAST_INTERVAL_S)),
                    "start_jitter": "100ms",
                }
            ],
        }
    )


def _ways(scene: Scene) -> dict[str, Way]:
    """Return the direction of each simulated flow, by name."""
    return {f"{way}-{k + 1}": way for way in Way for k in range(scene.count(way))}


def _flows(scene: Scene, length_s: float) -> Iterator[dict[str, Any]]:
    for name, way in _ways(scene).items():
        sender, receiver = HOSTS[way]
        yield {
            "name": name,
            "from": sender,
            "to": receiver,
            "start": _time(_IDLE_S),
            "stop": _time(_IDLE_S + length_s),
            "start_jitter": "50ms",
            "source": {"kind": "greedy"},
            "tcp": {"congestion_control": scene.controller(way)},
        }


def simulated_scene(run: Run, scene: Scene, line: Line) -> Scene:
    """Return a run of `scene_experiment` as a scene."""
    span_s = (_IDLE_S, _IDLE_S + simulated_length_s(scene, line))
    found = scene_of_run(run, _ways(scene), [_PROBE], source=scene.source, span_s=span_s)
    if scene.has_pings:
        return found
    return with_segments(found, found.rtt_ms[found.sent_s < found.begin_s])


def simulated(
    lines: Sequence[Line],
    scene: Scene,
    *,
    seed: int,
    replications: range,
    jobs: int = 0,
    share: float = 1.0,
) -> list[list[Scene]]:
    """Simulate each line under a scene's load, with common random numbers.

    Args:
        lines: The lines.
        scene: The load: number of flows, controllers and length.
        seed: Seed of all runs.
        replications: Replications; each runs every line.
        jobs: Threads; 0 for one per core.
        share: How much of the load is simulated, from its begin; a part of the load that ends there
            is the same as of the whole.

    Returns:
        The scenes of each line, in the order of the replications.
    """
    places = [(line, number) for line in range(len(lines)) for number in replications]
    done: dict[int, Scene] = {}
    work = (
        (scene_experiment(lines[line], scene, seed, share), replication)
        for line, replication in places
    )
    for place, run in run_many(work, jobs=jobs):
        done[place] = simulated_scene(run, scene, lines[places[place][0]])
    each = len(replications)
    ordered = [done[place] for place in range(len(places))]
    return [ordered[first : first + each] for first in range(0, len(ordered), each)]


def _time(seconds: float) -> str:
    return f"{max(1, math.floor(seconds * 1e6))}us"
