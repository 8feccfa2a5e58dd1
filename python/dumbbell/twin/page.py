"""The page of a twin: measurements beside the twin's simulation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from dumbbell import __version__
from dumbbell.folders import Content
from dumbbell.report import (
    Cell,
    Curve,
    Figure,
    Report,
    Sample,
    Topology,
    ValueRow,
    ValueTable,
    ecdf_chart,
    line_with_band,
)
from dumbbell.spec import Experiment
from dumbbell.twin.profile import FACTORS, Profile
from dumbbell.twin.result import Quantity, Twin
from dumbbell.twin.scene import Scene
from dumbbell.twin.simulated import simulated
from dumbbell.twin.words import class_words, reasons, verdict

_MOST_SCENES = 4
_MOST_DISTANCE = 1e4
"""Maximum distance drawn; larger ones are clipped."""


def twin_report(
    twin: Twin,
    scenes: Sequence[Scene],
    profiles: Sequence[Profile],
    text: str,
    files: Mapping[str, Content],
    *,
    jobs: int = 0,
) -> Report:
    """Return the page.

    Args:
        twin: The twin.
        scenes: Measured scenes.
        profiles: Profiles of its parameters; may be empty.
        text: Text of its experiment.
        files: Files beside the page.
        jobs: Threads; 0 for one per core.
    """
    figures = [*_beside(twin, scenes, jobs), *_profile_figure(profiles)]
    return Report(
        study="twin",
        title="What line is this?",
        summary=verdict(twin),
        answer=_answer(twin),
        measured=verdict(twin),
        topologies=[Topology.of("The twin", Experiment.from_toml(text))],
        values=list(_tables(twin)),
        figures=figures,
        notes=[*reasons(twin), *twin.notes],
        meta={"twin": twin.document, "dumbbell": __version__},
        files=files,
    )


def _answer(twin: Twin) -> str:
    parts = []
    for way in twin.ways:
        rate = twin.line.end(way).rate_bps / 1e6
        buffer = twin.parameter(Quantity.BUFFER, way)
        held = ""
        if buffer is not None and not buffer.unidentifiable and not math.isnan(buffer.value):
            held = f" behind {twin.line.end(way).buffer_ms:.0f} ms of buffer"
        parts.append(f"{rate:.3g} Mbit/s {way.value}{held}")
    return f"{' and '.join(parts)}, with a round trip of {twin.line.rtt_ns / 1e6:.3g} ms"


def _tables(twin: Twin) -> Iterator[ValueTable]:
    rows = []
    for each in twin.parameters:
        known = not each.unidentifiable
        value = None if math.isnan(each.value) else each.value
        low = each.low if known and not math.isnan(each.low) else None
        high = each.high if known and not math.isnan(each.high) else None
        direct = None if math.isnan(each.direct) else Cell(each.direct)
        said = "yes" if known else "no"
        rows.append(ValueRow(each.name, each.unit, [Cell(value, low, high), direct, said]))
    yield ValueTable(
        "The line",
        ("twin", "by arithmetic", "identifiable"),
        rows,
        "Intervals: 95 %, by simulating the twin. Rates are of packets of full size with Ethernet "
        "headers. By arithmetic: goodput with headers, least round trip, greatest delay.",
    )
    rows = []
    for way, decision in twin.decisions.items():
        for candidate in decision.candidates:
            name = f"{way.value}, {candidate.model.word}"
            words = candidate.model.class_.value
            rows.append(ValueRow(name, "1", [Cell(candidate.distance, digits=3), words]))
    if rows:
        said = "; ".join(f"{way.value}: {class_words(twin, way)}" for way in twin.decisions)
        caption = f"{said}. Distance: a weighted sum of squares; a few for the right discipline."
        yield ValueTable("The discipline", ("distance", "class"), rows, caption)
    if twin.predicted:
        rows = [
            ValueRow(
                f"{each.load}: {each.name}",
                each.unit,
                [each.measured, Cell(each.predicted, each.low, each.high),
                 "yes" if each.is_inside else "no"],
            )
            for each in twin.predicted
        ]  # fmt: skip
        caption = "Held-out data. The interval: prediction of one more run, plus a tolerance."
        yield ValueTable("Predicted", ("measured", "twin", "inside"), rows, caption)


def _beside(twin: Twin, scenes: Sequence[Scene], jobs: int) -> Iterator[Figure]:
    loaded = [scene for scene in scenes if scene.flows and len(scene.rtt_ms)]
    for number, scene in enumerate(loaded[:_MOST_SCENES], start=1):
        ((run,),) = simulated(
            [twin.line], scene, seed=twin.seed + 400, replications=range(1), jobs=jobs
        )
        sides = {"measured": scene, "twin": run}
        curves = []
        for label, side in sides.items():
            sent_s = side.sent_s - side.begin_s
            keep = (sent_s >= -2) & (sent_s <= run.length_s)
            curves.append(Curve(label, sent_s[keep], side.rtt_ms[keep]))
        plot = line_with_band(
            curves, x_title="Time from the load's start (s)", y_title="Round trip (ms)",
            points=False,
        )  # fmt: skip
        caption = f"{scene.source}: round trips, measured and of one run of the twin."
        yield Figure(
            f"round-trips-{number}", plot.chart, plot.data, caption, "Round trips under load"
        )
        samples = [
            Sample(label, "", side.between(0.0, 1.0).round_trips_ms())
            for label, side in sides.items()
        ]
        plot = ecdf_chart(samples, x_title="Round trip (ms)", colour_title="")
        caption = f"{scene.source}: share of the round trips under load at or below a value."
        yield Figure(
            f"round-trips-{number}-cdf", plot.chart, plot.data, caption, "The same, distribution"
        )


def _profile_figure(profiles: Sequence[Profile]) -> Iterator[Figure]:
    curves = [
        Curve(each.name, FACTORS, [min(far, _MOST_DISTANCE) for far in each.distances])
        for each in profiles
        if all(math.isfinite(far) for far in each.distances)
    ]
    if curves:
        plot = line_with_band(
            curves, x_title="Parameter, as a multiple of the twin's",
            y_title="Distance from the measurement", log_y=True,
        )  # fmt: skip
        caption = (
            "Distance as one number of the twin changes. Steep: the measurement determines it. "
            "Flat: it is not identifiable."
        )
        yield Figure("profiles", plot.chart, plot.data, caption, "What the measurement determines")
