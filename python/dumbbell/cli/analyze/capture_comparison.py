"""Compare a capture's flows with those of simulated runs, as the same capture would see them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dumbbell.cli.analyze.flent_comparison import ComparedNumber
from dumbbell.cli.analyze.log_comparison import ComparisonOptions, runs_of
from dumbbell.errors import SpecError
from dumbbell.metrics.captured import captured_flows, captured_places
from dumbbell.metrics.observation_point import ObservationPoint, seen_from
from dumbbell.printable import printable
from dumbbell.report.capture_page import LARGE_BYTES, mean, median, seen_places
from dumbbell.spec.refusal import nearest

if TYPE_CHECKING:
    from dumbbell.metrics.captured import CapturedFlows
    from dumbbell.report.capture_over_time import SeenPlace
    from dumbbell.spec import Experiment
    from dumbbell.tables import Run

_BEFORE, _AFTER = 0, 1


@dataclass(frozen=True, slots=True)
class BesideCapture:
    """Simulated runs to compare a capture with.

    Attributes:
        said: A sentence that describes them.
        runs: Number of runs.
        rows: Numbers of each capture point with those of the runs; their ``series`` is the capture
            point.
    """

    said: str
    runs: int
    rows: Sequence[ComparedNumber]


def set_beside_captures(
    captures: Mapping[str, Run], beside: ComparisonOptions
) -> dict[str, BesideCapture]:
    """Simulate the runs for each capture, by the capture's name.

    Raises:
        SpecError: The runs have no such queue, or no flows of it were recorded.
        RunError: A run failed.
    """
    runs = runs_of(beside, _with_flows)
    return {name: _beside(run, runs, beside) for name, run in captures.items()}


def _with_flows(experiment: Experiment) -> Experiment:
    """The experiment with flow records at every queue, as a capture has them."""
    from dumbbell.spec import Experiment

    resolved = experiment.resolved()
    for link in resolved["links"]:
        for end in (link["forward"], link["reverse"]):
            end["capture_flows"] = True
    return Experiment.from_resolved(resolved)


def _beside(capture: Run, runs: Sequence[Run], beside: ComparisonOptions) -> BesideCapture:
    from dumbbell.stats import prediction_interval

    queue = _queue(runs[0], beside)
    rows = []
    said = []
    for seen in seen_places(capture):
        place = _place_of(seen)
        known = captured_places(runs[0]) if "captured_flows" in runs[0].tables else []
        if (runs[0].queue(queue), place) not in known:
            allowed = "FILE.toml, or the folder of a run with capture_flows at that link"
            raise SpecError("--beside", beside.source, allowed)
        found = [_numbers(captured_flows(run, queue, place)) for run in runs]
        for (name, unit), measured in _numbers(seen.flows).items():
            values = [each[name, unit] for each in found]
            low = high = simulated = math.nan
            if not any(map(math.isnan, values)):
                simulated = sum(values) / len(values)
            if len(values) > 1 and not math.isnan(simulated):
                interval = prediction_interval(values)
                low, high = max(interval.low, 0.0), interval.high
            rows.append(ComparedNumber(seen.label, name, unit, measured, simulated, low, high))
        where = "before" if place == _BEFORE else "after"
        said.append(f"{seen.label} beside {printable(queue)} {where}")
    count = f"{len(runs)} simulated runs" if len(runs) > 1 else "the run"
    sentence = f"{', '.join(said)}, of {count} of {printable(str(beside.source))}"
    return BesideCapture(sentence, len(runs), rows)


def _place_of(seen: SeenPlace) -> int:
    """The side of the queue that corresponds to the capture's."""
    if seen.place in (_BEFORE, _AFTER):
        return seen.place
    points = seen_from(seen.run, seen.queue, seen.place, seen.flows).point
    at_sender = sum(each is ObservationPoint.SENDER for each in points)
    return _BEFORE if at_sender and 2 * at_sender >= len(points) else _AFTER


def _queue(run: Run, beside: ComparisonOptions) -> str:
    """The named queue, or else the one that carried most and had the longest waiting times."""
    from dumbbell.metrics.logs.run_numbers import fullest_queue

    names = run.queue_names
    for name in beside.names:
        if name not in names:
            raise SpecError("--of", name, f"one of {', '.join(names)}", nearest(name, names))
    return beside.names[0] if beside.names else fullest_queue(run)


def _numbers(flows: CapturedFlows) -> dict[tuple[str, str], float]:
    """Numbers by title and unit; of flows over 100 KB if there are any, otherwise of all flows."""
    large = flows.bytes > LARGE_BYTES
    keep = large if large.any() else ~large
    return {
        ("median throughput", "Mbit/s"): median(flows.throughput_bps[keep]) / 1e6,
        ("mean loss by flag", "%"): 100 * mean(flows.loss_by_flag[keep]),
        ("mean loss by bytes", "%"): 100 * mean(flows.loss_by_bytes[keep]),
    }
