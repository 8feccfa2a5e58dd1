"""The claims of the study, each with its rule and margin, fixed before any run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dumbbell.claims import (
    Amendment,
    Claim,
    Curves,
    Family,
    Fitted,
    Grid,
    GridPoint,
    Judged,
    Levels,
    Pairing,
    Ratio,
    Runs,
    Sides,
    judge,
)
from dumbbell.claims.rules import (
    Agreement,
    Calibration,
    Check,
    Equivalent,
    Explained,
    Joint,
    Level,
    Ordering,
    Preview,
    Published,
    Shortfall,
    Spread,
)
from dumbbell.replication import Replications
from dumbbell.studies.pie_rrul import arms, published
from dumbbell.studies.pie_rrul.arms import Setting
from dumbbell.studies.pie_rrul.fit import LatencyFit
from dumbbell.studies.pie_rrul.measures import Floats, Measured, RunsBySetting

Row = tuple[str, int]
"""Row of the source's tables: varied parameter, and its value in milliseconds."""
TWO_BACKENDS = "One description, two backends"
TIMER = "Linux: PIE's timer is set in whole ticks (sch_pie.c, usecs_to_jiffies)"
SAME_MS = 0.001
"""Runs with a smaller difference count as equal."""
VARIES_MBPS = 1.0
"""Range in the source's table of a flow's upload: 23 at one target, 24 at the others."""
OF_RATES = Equivalent.of_rates(published.LARGEST_MBPS)

FOLLOWS = "delay follows the target"
EQUAL_THROUGHPUT = "a smaller target costs no throughput"
TUPDATE_DELAY, TUPDATE_THROUGHPUT = "tupdate and delay", "tupdate and throughput"
LIKE_ALONE = "additional TCP makes no difference to PIE"
"""Facts shared by several rows, or used by the summary."""

AMENDED = Amendment(
    when="2026-11-22",
    what=(
        "until then the simulator's mean had to lie in the prediction interval of three runs of "
        "the kernel; downloads came to it when scenario 2 had been seen on both backends"
    ),
)

_SERVER = (
    "the source's downloads leave some 2 % more of the line unused than ours: the server's "
    "egress is ours, fq_codel before an adapter that is never late"
)
_NETPERF = (
    "printed ends of 99 to 106 Mbit/s are beyond what the line carries "
    f"({published.LARGEST_MBPS:.1f}): the spread is that of netperf's reports of what its send "
    "calls took, not of what arrived, and an ellipse goes on where no point is"
)
_CONFLICT = (
    "the source's own conflict: four flows of 24 are 96 Mbit/s, more than its average of 91 "
    f"and than the line's {published.LARGEST_MBPS:.1f}; a quarter of 91 is 22.75"
)
_REASONS = {
    "throughput-low": _NETPERF,
    "throughput-high": _NETPERF,
    "upload": _CONFLICT,
    "download": _SERVER,
}
"""Presumed reasons for numbers that are not reproduced."""
_RING_CHOSEN = "the middle of the range is the mean latency, which chose the ring"


# --- what is printed -------------------------------------------------------------------------


def row_number(row: Row, name: str) -> Claim[Runs]:
    """Return the id of the claim about a number of the source's tables.

    Args:
        row: Of `published.TABLES`.
        name: Of `published.QUANTITIES`.
    """
    varied, milliseconds = row
    quantity = published.QUANTITIES[name]
    return Claim(
        id=f"{varied}-{milliseconds}-{name}",
        statement=f"{quantity.title} at {varied} {milliseconds} ms",
        source=published.SOURCE,
        rule=_published(published.TABLES[row][name], name),
        fact=_fact(arms.setting_of(*row), name),
        family=Family(name, quantity.title, f"{varied} {milliseconds} ms"),
    )


def printed(
    found: RunsBySetting, backend: str = "sim", shortfalls: tuple[Shortfall, ...] = ()
) -> dict[tuple[Row, str], Judged]:
    """Judge every printed number of the settings that ran, except those that determined the ring.

    Args:
        found: Scenario 1.
        backend: Backend of the runs.
        shortfalls: Differences from the published run; if any, the claims are previews.
    """
    judged = {}
    for row, numbers in published.TABLES.items():
        setting = arms.setting_of(*row)
        if setting not in found.settings:
            continue
        for name in numbers:
            if name == published.CHOSE_THE_RING:
                continue
            evidence = Runs(found.values(setting, published.QUANTITIES[name].measure))
            claim = row_number(row, name)
            if shortfalls:
                judged[row, name] = judge(_preview(claim, shortfalls), evidence, backend=backend)
                continue
            is_range = name in ("latency-low", "latency-high")
            judged[row, name] = judge(
                claim,
                evidence,
                backend=backend,
                note=_RING_CHOSEN if is_range else "",
                why_not=_REASONS.get(name, ""),
            )
    return judged


def _preview(claim: Claim[Runs], shortfalls: tuple[Shortfall, ...]) -> Claim[Runs]:
    family = claim.family
    return Claim(
        id=f"preview-{claim.id}",
        statement=claim.statement,
        source=claim.source,
        rule=Preview(of=claim.rule, shortfalls=shortfalls),
        fact=claim.fact,
        family=family and Family(f"preview-{family.name}", family.statement, family.label),
    )


def nominal(without: Replications[Setting, Measured]) -> Iterator[Judged]:
    """Judge the printed latencies without a ring, from the printed parameters alone."""
    name = "latency"
    for setting in without.arms:
        claim = Claim(
            id=f"nominal-latency-{setting.name}",
            statement=f"Average latency at {setting.label}, nothing behind PIE but the line",
            source=published.SOURCE,
            rule=_published(printed_at(setting, name), name),
            fact=_fact(setting, name),
            family=Family(
                "nominal-latency", "Average latency, nothing behind PIE but the line", setting.label
            ),
        )
        yield judge(
            claim,
            Runs(without.values(setting, "latency_ms")),
            why_not="printed latencies are 6 to 7 ms above the target: not PIE's, which knows its "
            "own queue",
        )


def ring(fit: LatencyFit, n_replications: int) -> Judged:
    """Report the ring that explains the printed latencies; it was fitted to them."""
    claim = Claim(
        id="ring",
        statement="The driver's ring that explains the printed average latencies",
        source=published.SOURCE,
        rule=Calibration(
            parameter="the driver's ring",
            unit="kB",
            used="the eight printed average latencies, which are no claims at it",
        ),
    )
    found = fit.ring_kb
    fitted = Fitted(found.value, found.low, found.high, n=n_replications, kind=found.kind)
    note = f"interval over the settings; {arms.RING_BYTES / 1000:g} kB are used throughout"
    return judge(claim, fitted, note=note)


WRITTEN_TOGETHER = "written-together"
RECEIVED, SMALL_HEADERS, LARGE_HEADERS = (
    "what arrived",
    "what send calls took, a packet reckoned with 2304 bytes",
    "what send calls took, a packet reckoned with 4352 bytes",
)
"""Counting methods of uploads: the points of the grid."""
_ENDS = {"throughput-low": ("low", "upload_low_mbps", "written_low_mbps"),
         "throughput-high": ("high", "upload_high_mbps", "written_high_mbps")}  # fmt: skip
"""Quantity to its name as a level, and its measures at the receiver and at the sender."""


def written_id(setting: Setting) -> str:
    """Return the id of the claim about the range of the uploads at a setting."""
    return f"written-{setting.name}"


def end_name(setting: Setting, quantity: str) -> str:
    """Return the name of an end of the uploads' range among the levels of a claim."""
    return f"{_ENDS[quantity][0]} end at {setting.label}"


def written(alone: RunsBySetting, small: Replications[Setting, Measured]) -> Iterator[Judged]:
    """Judge whether the printed upload ranges count the bytes of netperf's send calls.

    Args:
        alone: Scenario 1, with the send buffer of a distribution's kernel.
        small: The same settings, with the send buffer of a kernel with short headers.
    """
    settings = [setting for setting in small.arms if setting in alone.settings]
    for setting in settings:
        claim = _written_claim(
            written_id(setting),
            f"The range of the uploads at {setting.label}",
            [setting],
            Joint.HOTELLING,
        )
        yield judge(claim, _ways_to_count(alone, small, [setting]))
    if len(settings) == len(arms.SETTINGS):
        claim = _written_claim(
            WRITTEN_TOGETHER,
            "The ranges of the uploads at all seven settings, by one way to count",
            settings,
            Joint.BONFERRONI,
        )
        yield judge(claim, _ways_to_count(alone, small, settings))


def _written_claim(
    name: str, statement: str, settings: Sequence[Setting], joint: Joint
) -> Claim[Grid[Levels]]:
    levels = {
        end_name(setting, quantity): Level(
            printed=printed_at(setting, quantity),
            reading=published.QUANTITIES[quantity].resolution,
        )
        for setting in settings
        for quantity in _ENDS
    }
    return Claim(
        id=name,
        statement=statement,
        source=published.SOURCE,
        rule=Explained(
            levels=levels, grid="three ways to count an upload", unit="Mbit/s", joint=joint
        ),
        fact=_fact(settings[0], "throughput-low") if len(settings) == 1 else name,
    )


def _ways_to_count(
    alone: RunsBySetting, small: Replications[Setting, Measured], settings: Sequence[Setting]
) -> Grid[Levels]:
    def point(way: str, values: Callable[[Setting, str], Floats], place: int) -> GridPoint[Levels]:
        return GridPoint(
            {"counted": way},
            {
                end_name(setting, quantity): Runs(values(setting, of[place]))
                for setting in settings
                for quantity, of in _ENDS.items()
            },
        )

    return Grid(
        [
            point(RECEIVED, alone.values, 1),
            point(SMALL_HEADERS, small.values, 2),
            point(LARGE_HEADERS, alone.values, 2),
        ]
    )


def printed_at(setting: Setting, name: str) -> float:
    """Return the printed value of a setting; the default has the same value in both tables."""
    return next(
        numbers[name]
        for row, numbers in published.TABLES.items()
        if arms.setting_of(*row) == setting
    )


def _published(value: float, name: str) -> Published:
    quantity = published.QUANTITIES[name]
    return Published(printed=value, rounding=quantity.resolution, unit=quantity.unit)


def _fact(setting: Setting, name: str) -> str:
    return f"{published.QUANTITIES[name].fact} at {setting.label}"


# --- what the source concludes ----------------------------------------------------------------


def targets(found: RunsBySetting) -> Iterator[Judged]:
    """Judge the effect of the target, if more than one was run."""
    settings = found.among(arms.BY_TARGET)
    yield from _delay_is_target(found, settings)
    if len(settings) < 2:
        return
    # The delay behind PIE is the same for all, so latencies have the order of queue delays.
    for measure, name in (("queue_delay_ms", "queue-delay"), ("latency_ms", "latency")):
        claim = Claim(
            id=f"{name}-follows-target",
            statement=f"The larger the target, the larger the {name.replace('-', ' ')}",
            source=published.SOURCE,
            rule=Ordering(over="from each target to the next", unit="ms"),
            fact=FOLLOWS,
        )
        yield judge(claim, Curves.of_steps(found.columns(settings, measure)))
    equal = Claim(
        id="target-equal-throughput",
        statement="A smaller target gives less latency at the same upload",
        source=published.SOURCE,
        rule=OF_RATES,
        fact=EQUAL_THROUGHPUT,
    )
    yield judge(equal, Curves.of_all_pairs(found.columns(settings, "upload_mbps")))
    if len(settings) == len(arms.BY_TARGET):
        yield _upload_varies(found)
    yield _download_is_better(found, settings[0], settings[-1])


def _delay_is_target(found: RunsBySetting, settings: Sequence[Setting]) -> Iterator[Judged]:
    for setting in settings:
        claim = Claim(
            id=f"delay-is-target-{setting.target_ms}",
            statement=f"The queue delay that tc prints is the target, {setting.target_ms} ms",
            source=published.SOURCE,
            rule=Equivalent.of_delays(),
            fact=_fact(setting, "queue-delay"),
            family=Family(
                "delay-is-target",
                "The queue delay that tc prints is the target",
                f"{setting.target_ms} ms",
            ),
        )
        away = found.values(setting, "queue_delay_ms") - setting.target_ms
        yield judge(claim, Runs(away), note="delay less target")


def _upload_varies(found: RunsBySetting) -> Judged:
    """ "When Target is Varied Upload Speed is Varied"."""
    claim = Claim(
        id="upload-varies-with-target",
        statement="The upload of a flow varies with the target, by 1 Mbit/s in the source's table",
        source=published.SOURCE,
        rule=Published(
            printed=VARIES_MBPS,
            rounding=published.QUANTITIES["upload"].resolution,
            unit="Mbit/s",
        ),
    )
    ranges = np.ptp(np.stack(found.columns(arms.BY_TARGET, "upload_each_mbps")), axis=0)
    return judge(claim, Runs(ranges), note="largest less smallest of the four targets")


def _download_is_better(found: RunsBySetting, small: Setting, large: Setting) -> Judged:
    """ "Download Speed is better"."""
    claim = Claim(
        id="download-better-at-small-target",
        statement=(
            f"The download of a flow is better at target {small.target_ms} ms than at "
            f"{large.target_ms} ms"
        ),
        source=published.SOURCE,
        rule=Ordering(over="of the two targets", unit="Mbit/s"),
    )
    steps = Curves.of_steps(found.columns([large, small], "download_each_mbps"))
    return judge(claim, steps, note="the source prints a gain of 0.2")


def tupdates(found: RunsBySetting) -> Iterator[Judged]:
    """Judge that without other traffic tupdate has little effect, if more than one was run."""
    settings = found.among(arms.BY_TUPDATE)
    if len(settings) < 2:
        return
    # The delay behind PIE is the same for all, so latencies differ as queue delays do.
    for name, what, measure, rule, fact in (
        ("latency", "latency", "latency_ms", Equivalent.of_delays(), TUPDATE_DELAY),
        ("queue-delay", "queue delay", "queue_delay_ms", Equivalent.of_delays(), TUPDATE_DELAY),
        ("throughput", "upload of all", "upload_mbps", OF_RATES, TUPDATE_THROUGHPUT),
    ):
        claim = Claim(
            id=f"tupdate-hardly-matters-{name}",
            statement=f"tupdate hardly changes the {what} (no other traffic)",
            source=published.SOURCE,
            rule=rule,
            fact=fact,
        )
        yield judge(claim, Curves.of_all_pairs(found.columns(settings, measure)))


def tick(one_ms: Floats, four_ms: Floats, remarks: Iterable[str]) -> Judged:
    """Judge that tupdate 1 ms acts as 4 ms if the timer ticks 250 times a second.

    Args:
        one_ms: Latency with ``tupdate 1ms``, one value per replication.
        four_ms: Latency with ``tupdate 4ms``, with the same seeds.
        remarks: Remarks added to the claim.
    """
    claim = Claim(
        id="tick-1-acts-as-4",
        statement=(
            f"A kernel whose timer ticks {published.TIMER_HZ} times a second cannot update PIE "
            f"every millisecond: with tupdate 1 ms it does so every {1000 / published.TIMER_HZ:g} "
            "ms, and the latency is exactly that of tupdate 4 ms"
        ),
        source=f"{published.SOURCE}; {TIMER}",
        rule=Check(
            value=0.0,
            because="a timer of the kernel is set in whole ticks, and a tick is "
            f"{1000 / published.TIMER_HZ:g} ms",
            unit="ms",
            tolerance=SAME_MS,
        ),
    )
    return judge(claim, Runs(np.abs(one_ms - four_ms)), note="; ".join(remarks))


def additional_tcp(alone: RunsBySetting, beside: RunsBySetting) -> Iterator[Judged]:
    """Judge that additional TCP affects PIE only in latency and downloads, which vary."""
    for setting in beside.among(alone.settings):
        for name, what, rule, was, now in (
            ("queue-delay", "queue delay", Equivalent.of_delays(), "queue_delay_ms",
             "queue_delay_ms"),
            ("upload", "upload, all uploads counted", OF_RATES, "upload_mbps",
             "upload_with_more_mbps"),
        ):  # fmt: skip
            claim = Claim(
                id=f"tcp-like-alone-{name}-{setting.name}",
                statement=f"Additional TCP makes no difference to PIE: {what} at {setting.label}",
                source=published.SOURCE,
                rule=rule,
                fact=LIKE_ALONE,
                family=Family(
                    f"tcp-like-alone-{name}",
                    f"Additional TCP makes no difference to PIE: {what}",
                    setting.label,
                ),
            )
            yield judge(claim, _pairs(beside.values(setting, now), alone.values(setting, was)))
    default = Setting()
    for name, what, measure in (
        ("latency", "latency", "latency_spread"),
        ("download", "the downloads' sum", "download_spread"),
    ):
        varies = Claim(
            id=f"tcp-varies-{name}",
            statement=f"With additional TCP {what} varies more than without: a ratio above 1",
            source=published.SOURCE,
            rule=Spread.more(f"{what} over the steps of 0.2 s of a run"),
        )
        spreads = _pairs(beside.values(default, measure), alone.values(default, measure))
        yield judge(varies, Ratio(spreads.ours, spreads.other))


def _pairs(ours: Floats, other: Floats) -> Sides:
    n = min(ours.size, other.size)
    return Sides(ours[:n], other[:n], Pairing.SHARED_STREAMS)


# --- two instruments ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BackendComparison:
    """A quantity on which both backends should agree.

    Attributes:
        short: Name in identifiers.
        what: Completes a sentence.
        rule: Rule with its margin.
    """

    short: str
    what: str
    rule: Agreement


RATES = Agreement(relative=0.02, floor=0.1, unit="Mbit/s")
DELAYS = Agreement.of_delays_ms(0.05)
AGREEMENT: Mapping[str, BackendComparison] = {
    "queue_delay_ms": BackendComparison("queue-delay", "PIE's queue delay", DELAYS),
    "drops_pkts": BackendComparison(
        "drops", "drops as tc counts them", Agreement(relative=0.20, floor=1.0, unit="packets")
    ),
    "upload_mbps": BackendComparison("upload", "upload of all", RATES),
    "download_mbps": BackendComparison("download", "download of all", RATES),
    "latency_ms": BackendComparison("latency", "latency", DELAYS),
}
"""Compared quantity and allowed difference between backends, by measure."""
WRITES: Mapping[str, BackendComparison] = {
    "written_mbps": BackendComparison("written", "what the uploads' senders wrote", RATES),
    "written_sd_mbps": BackendComparison(
        "written-spread",
        "spread of what the uploads' senders wrote from step to step",
        Agreement(relative=0.20, floor=0.3, unit="Mbit/s"),
    ),
}
"""The same for netperf's counts, if they are recorded."""


def agreement(
    kernel: RunsBySetting, sim: RunsBySetting, setting: Setting, name: str, title: str
) -> Iterator[Judged]:
    """Compare the same description on both backends, at one setting.

    Args:
        kernel: Runs on the kernel.
        sim: Runs in the simulator.
        setting: The setting.
        name: Name of the scenario, for identifiers.
        title: Title of the scenario, for statements.
    """
    both = (kernel, sim)
    has_writes = all(np.isfinite(of.values(setting, "written_mbps")).all() for of in both)
    for measure, of in {**AGREEMENT, **(WRITES if has_writes else {})}.items():
        claim = Claim(
            id=f"agreement-{name}-{of.short}-{setting.name}",
            statement=(
                f"Simulator and Linux kernel agree on the {of.what} "
                f"({setting.qdisc(arms.ESTIMATOR)}, {title})"
            ),
            source=TWO_BACKENDS,
            rule=of.rule,
            family=Family(
                f"agreement-{name}-{of.short}",
                f"Simulator and Linux kernel agree on the {of.what} ({title})",
                setting.label,
            ),
            amended=AMENDED,
        )
        # On the kernel, PIE uses the kernel's random numbers.
        sides = Sides(
            sim.values(setting, measure), kernel.values(setting, measure), Pairing.INDEPENDENT
        )
        yield judge(claim, sides, backend="kernel", note="simulator less kernel")


def irtt(own_ms: Floats, irtt_ms: Floats, qdisc: str) -> Judged:
    """Judge that irtt in the guest measures the same latency as our prober.

    Args:
        own_ms: UDP latency by our prober, one value per run on the kernel.
        irtt_ms: UDP latency by irtt, in runs of the same description.
        qdisc: Discipline named in the statement.
    """
    claim = Claim(
        id="irtt-agrees",
        statement=f"irtt finds the latency over UDP that our own prober finds ({qdisc})",
        source="One kernel, two programs that measure",
        rule=DELAYS,
        amended=Amendment(
            when="2026-11-22",
            what="until then irtt's mean had to lie in the prediction interval of three runs",
        ),
    )
    sides = Sides(irtt_ms, own_ms, Pairing.INDEPENDENT)
    return judge(claim, sides, backend="kernel", note="irtt less our own prober")
