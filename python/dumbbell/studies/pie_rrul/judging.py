"""The claims of the study, each with its rule, and how they are judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dumbbell.claims.legacy import (
    Claim,
    Judged,
    Kind,
    Verdict,
    judge_hardly_matters,
    judge_ordering,
    judge_published_number,
    judge_stated,
)
from dumbbell.stats import (
    Estimate,
    IntervalKind,
    difference_interval,
    prediction_interval,
    ratio_interval,
    simultaneous_band,
    student_interval,
)
from dumbbell.studies.pie_rrul import arms, published
from dumbbell.studies.pie_rrul.campaigns import Arm
from dumbbell.studies.pie_rrul.measures import Floats, differences

By = Mapping[arms.Setting, Arm]
AGREEMENT_FLOOR = 0.005
"""Of the kernel's mean: on a line that is always busy the upload of its seeds is the same."""
TWO_BACKENDS = "One description, two backends"
TIMER = "Linux: PIE's timer is set in whole ticks (sch_pie.c, usecs_to_jiffies)"
DELAY_MARGIN_MS = 2.0
RATE_MARGIN_MBPS = 3.0
SAME_MS = 0.001
"""Two runs that are the same differ by less."""
VARIES_MBPS = 1.0
"""What the source's table has for the upload of a flow: 23 at one target, 24 at the others."""

_REASONS = {
    "throughput-low": "netperf",
    "throughput-high": "netperf",
    "upload": "conflict",
    "download": "server",
}
_REASON_TEXTS = {
    "server": (
        "the source's downloads leave 1 to 2 % more of the line unused than ours: the server's "
        "egress is ours, fq_codel before an adapter that is never late"
    ),
    "netperf": (
        "printed ends of 99 to 106 Mbit/s are beyond what the line carries "
        f"({published.LARGEST_MBPS:.1f}): the spread is that of netperf's reports of what its send "
        "calls took, not of what arrived, and an ellipse goes on where no point is"
    ),
    "conflict": (
        "the source's own conflict: four flows of 24 are 96 Mbit/s, more than its average of 91 "
        f"and than the line's {published.LARGEST_MBPS:.1f}; a quarter of 91 is 22.75"
    ),
}


def judge_number(
    arm: Arm, varied: str, milliseconds: int, name: str, *, backend: str = "sim"
) -> Judged:
    """A number of the observation tables.

    Args:
        arm: Scenario 1 at the row's setting.
        varied: ``tupdate`` or ``target``.
        milliseconds: Its value.
        name: Of the quantity.
        backend: Where it ran.
    """
    quantity = published.QUANTITIES[name]
    claim = Claim(
        id=f"{varied}-{milliseconds}-{name}",
        statement=f"{quantity.title} at {varied} {milliseconds} ms",
        source=published.SOURCE,
        kind=Kind.PUBLISHED_NUMBER,
        published=published.TABLES[varied, milliseconds][name],
        unit=quantity.unit,
        rule=_with_reading(quantity.resolution, quantity.unit),
    )
    predicted = _as_read(arm.one_run(quantity.measure), quantity.resolution)
    judged = judge_published_number(claim, predicted, backend=backend)
    if judged.verdict is Verdict.REPRODUCED or name not in _REASONS:
        return judged
    return replace(judged, note=_REASON_TEXTS[_REASONS[name]])


def judge_nominal(arm: Arm, setting: arms.Setting) -> Judged:
    """The printed latency without a ring: what follows from the printed parameters alone."""
    quantity = published.QUANTITIES["latency"]
    row = next(row for row in published.TABLES if arms.setting_of(*row) == setting)
    claim = Claim(
        id=f"nominal-latency-{setting.name}",
        statement=f"Average latency at {setting.label}, nothing behind PIE but the line",
        source=published.SOURCE,
        kind=Kind.PUBLISHED_NUMBER,
        published=published.TABLES[row]["latency"],
        unit="ms",
        rule=_with_reading(quantity.resolution, "ms"),
    )
    predicted = _as_read(arm.one_run("latency_ms"), quantity.resolution)
    note = "printed latencies are 6 to 7 ms above the target: not PIE's, which knows its own queue"
    return judge_published_number(claim, predicted, note=note)


def judge_follows(by: By, measure: str, name: str, backend: str) -> Judged:
    """Queue delay, or latency, grows with every step of the target."""
    claim = Claim(
        id=f"{name}-follows-target",
        statement=f"The larger the target, the larger the {name.replace('-', ' ')}",
        source=published.SOURCE,
        kind=Kind.ORDERING,
        unit="ms",
        rule=(
            "A simultaneous 95 % band of the steps from each target to the next: reproduced when "
            "all are above 0, not reproduced when one lies wholly below."
        ),
    )
    targets = [setting for setting in arms.BY_TARGET if setting in by]
    band = simultaneous_band(np.diff(_columns(by, targets, measure), axis=1))
    return judge_ordering(claim, band, backend=backend)


def judge_delay_is_target(arm: Arm, setting: arms.Setting, backend: str) -> Judged:
    """PIE's own delay is the target."""
    claim = Claim(
        id=f"delay-is-target-{setting.target_ms}",
        statement=f"The queue delay that tc prints is the target, {setting.target_ms} ms",
        source=published.SOURCE,
        kind=Kind.HARDLY_MATTERS,
        margin=DELAY_MARGIN_MS,
        unit="ms",
    )
    difference = student_interval(arm.values["queue_delay_ms"] - setting.target_ms)
    return judge_hardly_matters(claim, difference, backend=backend, note="delay less target")


@dataclass(frozen=True, slots=True)
class _Same:
    id: str
    statement: str
    measure: str
    unit: str
    margin: float


_HARDLY = (
    _Same("latency", "latency", "latency_ms", "ms", DELAY_MARGIN_MS),
    _Same("queue-delay", "queue delay", "queue_delay_ms", "ms", DELAY_MARGIN_MS),
    _Same("throughput", "upload of all", "upload_mbps", "Mbit/s", RATE_MARGIN_MBPS),
)


def judge_hardly(by: By, scenario: str, backend: str) -> list[Judged]:
    """tupdate hardly matters: all differences of any two of its values lie in the margin."""
    settings = [setting for setting in arms.BY_TUPDATE if setting in by]
    where = arms.SCENARIO_TITLES[scenario]
    return [
        _judge_all_pairs(
            Claim(
                id=f"tupdate-hardly-matters-{same.id}-{scenario}",
                statement=f"tupdate hardly changes the {same.statement} ({where})",
                source=published.SOURCE if scenario == "alone" else "Asked by us, as in scenario 1",
                kind=Kind.HARDLY_MATTERS,
                margin=same.margin,
                unit=same.unit,
                rule=_all_pairs(same),
            ),
            _columns(by, settings, same.measure),
            backend,
        )
        for same in _HARDLY
    ]


def judge_equal_throughput(by: By, backend: str) -> Judged:
    """A smaller target costs no throughput."""
    same = _HARDLY[-1]
    claim = Claim(
        id="target-equal-throughput",
        statement="A smaller target gives less latency at the same upload",
        source=published.SOURCE,
        kind=Kind.HARDLY_MATTERS,
        margin=same.margin,
        unit=same.unit,
        rule=_all_pairs(same),
    )
    settings = [setting for setting in arms.BY_TARGET if setting in by]
    return _judge_all_pairs(claim, _columns(by, settings, same.measure), backend)


def judge_varying(by: By, backend: str) -> list[Judged]:
    """ "When Target is Varied Upload Speed is Varied Download Speed is better"."""
    settings = [setting for setting in arms.BY_TARGET if setting in by]
    uploads = _columns(by, settings, "upload_each_mbps")
    upload = Claim(
        id="upload-varies-with-target",
        statement="The upload of a flow varies with the target, by 1 Mbit/s in the source's table",
        source=published.SOURCE,
        kind=Kind.RANGE,
        published=VARIES_MBPS,
        unit="Mbit/s",
        rule=(
            "Largest difference of two targets, by a simultaneous 95 % band of all: reproduced "
            "when it is at least what is printed, not reproduced when it is less, else "
            "inconclusive."
        ),
    )
    pairs = _largest(uploads)
    sized = Estimate(
        abs(pairs.value),
        0.0,
        max(abs(pairs.low), abs(pairs.high)),
        0.95,
        pairs.n,
        IntervalKind.BAND,
    )
    first, last = by[settings[0]], by[settings[-1]]
    gain = first.values["download_each_mbps"] - last.values["download_each_mbps"]
    download = Claim(
        id="download-better-at-small-target",
        statement=(
            f"The download of a flow is better at target {settings[0].target_ms} ms than at "
            f"{settings[-1].target_ms} ms"
        ),
        source=published.SOURCE,
        kind=Kind.ORDERING,
        unit="Mbit/s",
    )
    note = "the source prints a gain of 0.2"
    return [
        judge_stated(upload, sized, side="at least", backend=backend),
        judge_ordering(download, simultaneous_band(gain[:, None]), backend=backend, note=note),
    ]


def judge_tick(one: Arm, four: Arm, fine: Arm | None, backend: str) -> Judged:
    """tupdate 1 ms acts as 4 ms where the timer ticks 250 times a second.

    Args:
        one: With ``tupdate 1ms``.
        four: With ``tupdate 4ms``.
        fine: With ``tupdate 1ms`` where the timer ticks 1000 times a second, for the note.
        backend: Where it ran.
    """
    claim = Claim(
        id="tick-1-acts-as-4",
        statement=f"tupdate 1 ms acts as 4 ms at HZ {published.TIMER_HZ}",
        source=f"{published.SOURCE}; {TIMER}",
        kind=Kind.HARDLY_MATTERS,
        margin=SAME_MS,
        unit="ms",
        rule=(
            "The same seeds: reproduced when every pair of runs has the same latency, to less "
            f"than {SAME_MS:g} ms."
        ),
    )
    runs = min(one.n, four.n)
    gap = one.values["latency_ms"][:runs] - four.values["latency_ms"][:runs]
    is_same = one.first.meta["digest"] == four.first.meta["digest"]
    notes = [f"tables of replication 0 {'are the same bytes' if is_same else 'differ'}"]
    if fine is not None:
        apart = np.abs(fine.values["latency_ms"] - four.values["latency_ms"]).max()
        notes.append(f"at HZ 1000, where 1 ms is 1 ms, pairs are up to {apart:.2g} ms apart")
    kind = IntervalKind.BAND
    widest = Estimate(float(gap.mean()), float(gap.min()), float(gap.max()), 0.95, gap.size, kind)
    return judge_hardly_matters(claim, widest, backend=backend, note="; ".join(notes))


def judge_like_alone(alone: By, beside: By, backend: str) -> list[Judged]:
    """Additional TCP: PIE does as it did, but for latency and downloads, which vary."""
    judged = []
    for setting in (setting for setting in arms.SETTINGS if setting in alone and setting in beside):
        for name, measures, unit, margin in (
            ("queue-delay", ("queue_delay_ms", "queue_delay_ms"), "ms", DELAY_MARGIN_MS),
            ("upload", ("upload_mbps", "upload_with_more_mbps"), "Mbit/s", RATE_MARGIN_MBPS),
        ):
            claim = Claim(
                id=f"tcp-like-alone-{name}-{setting.name}",
                statement=(
                    f"Additional TCP makes no difference to PIE: {name.replace('-', ' ')} at "
                    f"{setting.label}" + (", all uploads counted" if name == "upload" else "")
                ),
                source=published.SOURCE,
                kind=Kind.HARDLY_MATTERS,
                margin=margin,
                unit=unit,
            )
            runs = min(alone[setting].n, beside[setting].n)
            difference = difference_interval(
                beside[setting].values[measures[1]][:runs],
                alone[setting].values[measures[0]][:runs],
            )
            judged.append(judge_hardly_matters(claim, difference, backend=backend))
    for measure, what in (
        ("latency_range_ms", "latency"),
        ("download_range_mbps", "the downloads' sum"),
    ):
        claim = Claim(
            id=f"tcp-varies-{measure.split('_')[0]}",
            statement=f"With additional TCP {what} varies more than without: a ratio above 1",
            source=published.SOURCE,
            kind=Kind.RANGE,
            published=1.0,
            unit="1",
            rule=(
                "Ratio of the 5th to 95th percentile ranges at the default setting, with its 95 % "
                "interval: at least 1."
            ),
        )
        default = arms.Setting()
        runs = min(alone[default].n, beside[default].n)
        ratio = ratio_interval(
            beside[default].values[measure][:runs], alone[default].values[measure][:runs]
        )
        judged.append(judge_stated(claim, ratio, side="at least", backend=backend))
    return judged


AGREEMENT = {
    "queue_delay_ms": ("queue-delay", "PIE's queue delay", "ms"),
    "drops_pkts": ("drops", "drops as tc counts them", "packets"),
    "upload_mbps": ("upload", "upload of all", "Mbit/s"),
    "download_mbps": ("download", "download of all", "Mbit/s"),
    "latency_ms": ("latency", "latency", "ms"),
}
"""Measure to its short name, what it is, and its unit. The downloads, which never meet PIE, came to
it when scenario 2 had been seen on both backends."""


def judge_agreement(kernel: Arm, sim: Arm, qdisc: str, name: str) -> list[Judged]:
    """The simulator within the spread of the kernel's own seeds.

    Args:
        kernel: Runs on the kernel.
        sim: Runs of the same description in the simulator.
        qdisc: For the statement.
        name: For the identifiers.
    """
    judged = []
    for measure, (short, what, unit) in AGREEMENT.items():
        ours = float(sim.values[measure].mean())
        claim = Claim(
            id=f"agreement-{name}-{short}",
            statement=f"The simulator's {what} is the kernel's ({qdisc})",
            source=TWO_BACKENDS,
            kind=Kind.HARDLY_MATTERS,
            unit=unit,
            rule=(
                "The simulator's mean lies in the central 95 % prediction interval of one more run "
                "of the kernel, from the spread of its own seeds, taken to be at least "
                f"±{100 * AGREEMENT_FLOOR:g} % wide (added after first runs: on a line that is "
                "always busy the upload hardly depends on the seed)."
            ),
        )
        judged.append(_within(claim, ours, kernel.values[measure], "the kernel's mean"))
    return judged


def judge_irtt(own: Arm, irtt: Arm, qdisc: str) -> Judged:
    """What irtt measures in the guest is what our own prober measures there.

    Args:
        own: Runs on the kernel with our own prober.
        irtt: Runs of the same description in which irtt measures the latency over UDP.
        qdisc: For the statement.
    """
    claim = Claim(
        id="irtt-agrees",
        statement=f"irtt finds the latency over UDP that our own prober finds ({qdisc})",
        source="One kernel, two programs that measure",
        kind=Kind.HARDLY_MATTERS,
        unit="ms",
        rule=(
            "The mean of irtt's runs lies in the central 95 % prediction interval of one more run "
            "with our own prober, from the spread of its seeds, taken to be at least "
            f"±{100 * AGREEMENT_FLOOR:g} % wide."
        ),
    )
    found = float(irtt.values["latency_udp_ms"].mean())
    return _within(claim, found, own.values["latency_udp_ms"], "our own prober's mean")


def _within(claim: Claim, ours: float, seeds: Floats, whose: str) -> Judged:
    """Whether a mean lies within the spread of another side's seeds."""
    band = prediction_interval(seeds)
    is_near = abs(ours - band.value) <= AGREEMENT_FLOOR * abs(band.value)
    verdict = Verdict.REPRODUCED if is_near or band.contains(ours) else Verdict.NOT_REPRODUCED
    return Judged(
        claim=claim,
        backend="kernel",
        measured=ours,
        low=band.low,
        high=band.high,
        n_replications=seeds.size,
        verdict=verdict if seeds.size > 1 else Verdict.INCONCLUSIVE,
        note=f"{whose} is {band.value:.4g} {claim.unit}",
    )


def _with_reading(resolution: float, unit: str) -> str:
    return (
        "Reproduced when the printed number lies in the central 95 % prediction interval of one "
        f"run, widened by what can be told apart in print, ±{resolution:g} {unit}; uninformative "
        "when that is wider than ±50 % of its centre."
    )


def _as_read(predicted: Estimate, resolution: float) -> Estimate:
    return replace(predicted, low=predicted.low - resolution, high=predicted.high + resolution)


def _columns(by: By, settings: Sequence[arms.Setting], measure: str) -> Floats:
    """A column a setting, a row a replication."""
    return np.stack([by[setting].values[measure] for setting in settings], axis=1)


def _all_pairs(same: _Same) -> str:
    return (
        "A simultaneous 95 % band of the differences of any two settings: reproduced when all of "
        f"it lies inside ±{same.margin:g} {same.unit}, not reproduced when one difference lies "
        "wholly outside, else inconclusive."
    )


def _largest(columns: Floats, margin: float = np.inf) -> Estimate:
    """The largest difference of two columns, with the outer edges of a band of all.

    Where the band of a difference lies wholly beyond the margin, with the edges of that one.
    """
    names = tuple(str(place) for place in range(columns.shape[1]))
    band = simultaneous_band(differences(dict(zip(names, columns.T, strict=True)), names))
    place = int(np.abs(band.value).argmax())
    value, low, high = (float(edge[place]) for edge in (band.value, band.low, band.high))
    if low <= margin and high >= -margin:
        low, high = float(band.low.min()), float(band.high.max())
    return Estimate(value, low, high, band.level, band.n, IntervalKind.BAND)


def _judge_all_pairs(claim: Claim, columns: Floats, backend: str) -> Judged:
    found = _largest(columns, claim.margin if claim.margin is not None else np.inf)
    return judge_hardly_matters(
        claim, found, backend=backend, note="largest difference of two settings"
    )
