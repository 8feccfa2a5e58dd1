"""What the page says in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dumbbell.claims.legacy import Judged, Verdict
from dumbbell.metrics.ccperf import ROWS
from dumbbell.report import ValueRow, ValueTable
from dumbbell.spec import testbed_lines
from dumbbell.spec.ccperf import NO_EFFECT
from dumbbell.studies.traffic_policing import arms, published
from dumbbell.studies.traffic_policing.campaigns import Arm


def summary(judged: Sequence[Judged], source: Arm | None) -> str:
    """Who was right, in a paragraph."""
    rows = [one for one in judged if one.claim.published is not None]
    right = sum(one.verdict is Verdict.REPRODUCED for one in rows)
    outside = [one for one in rows if one.verdict is not Verdict.REPRODUCED]
    sentences = []
    if rows and source:
        sentences.append(
            f"{right} of {len(rows)} printed numbers lie where a declared ensemble around the "
            "source's settings puts them: "
            f"{source.values['mean_throughput_l4'].mean():.2f} Mbit/s, "
            f"{source.values['total_qdisc_drops_l2'].mean():.0f} drops, "
            f"{source.values['total_rtos_l4'].mean():.0f} timeout, a queue of "
            f"{source.values['mean_qdisc_length_l2'].mean():.1f} packets."
        )
        if outside:
            names = ", ".join(one.claim.id.replace("-", "_") for one in outside)
            sentences.append(f"Outside, with the reason beside each: {names}.")
    buckets = [one for one in judged if one.claim.id.startswith("bucket-")]
    if buckets and all(one.verdict is Verdict.REPRODUCED for one in buckets):
        sentences.append(
            "The token bucket keeps its promise in every window of every run, and lets through all "
            "that it allows."
        )
    agreement = [one for one in judged if one.claim.id.startswith("agreement-")]
    if agreement:
        good = sum(one.verdict is Verdict.REPRODUCED for one in agreement)
        sentences.append(
            f"Simulator and Linux kernel agree in {good} of {len(agreement)} comparisons."
        )
    sentences.append(
        "What the source calls policing is a shaper with a queue of 20 packets: it delays what "
        "has no token, where a policer would drop it."
    )
    return " ".join(sentences)


def notes(members: int, interrupted: bool) -> list[str]:
    """Readings taken and limitations."""
    said = [
        "The source's page gives a command, tables and figures, no definitions and no code. Rates "
        "of links, send buffer, acknowledgements, burst and the lower bound of the timeout are "
        "those with which ns-3 3.37 gives its 120 drops and one timeout: access 10 Gbit/s, 4 MB, "
        "every segment acknowledged, 125 kB, 1 s.",
        "A single run of a sawtooth is one sample of a chaotic system: third digits are luck. "
        f"Bands are over {members} runs: base RTT ±1 %, burst ±1 packet, start within a packet's "
        "time.",
        "Sampling interval: 100 ms for every row, fixed beforehand. The source states none, and "
        "no single one fits all of its rows (CoV of throughput points to 100 to 200 ms, network "
        "power to 50 ms).",
        "Options of the command that have no effect: "
        + "; ".join(f"{name}: {why}" for name, why in NO_EFFECT.items())
        + ".",
        "Utilization against the peak rate, as published, makes a policed link look unused (0.00); "
        "the rows against the policing rate stand beside it.",
        "In flight is what was neither acknowledged nor taken for lost; the source counts what is "
        "not acknowledged, which is more during a recovery.",
        "mean_sending_rate_l7 and mean_one_way_delay_l7 follow from a send buffer of fixed size "
        "that is always full; Linux's grows, so the rows are empty there. Rows of recorded packets "
        "(recovery time, inter-departure time) and timeouts are empty where the kernel backend "
        "does not know them.",
    ]
    if interrupted:
        said.insert(0, "Interrupted: only the parts that had finished are here.")
    return said


def values(
    by_arm: Mapping[str, Mapping[str, float]], title: str, caption: str, *, with_source: bool
) -> ValueTable:
    """The source's table, a column a controller; the best value of each row bold.

    Args:
        by_arm: Column to its rows.
        title: Heading.
        caption: Under it.
        with_source: Whether the first column is to be the published one; it is never the best.
    """
    rows = []
    for name, row in ROWS.items():
        numbers = [of[name] for of in by_arm.values()]
        shift = 1 if with_source else 0
        cells = [shown(published.VALUES.get(name, float("nan")))] if with_source else []
        cells += [shown(value) for value in numbers]
        best = {place + shift for place in best_of(numbers, row.better)}
        rows.append(ValueRow(name, row.unit, cells, frozenset(best)))
    columns = [*(["published"] if with_source else []), *by_arm]
    return ValueTable(title, columns, rows, caption)


def best_of(numbers: Sequence[float], better: str) -> set[int]:
    """Places of the best value; none where one cannot say or all are the same as printed."""
    known = [value for value in numbers if math.isfinite(value)]
    if not better or len(known) < 2 or len({shown(value) for value in known}) == 1:
        return set()
    target = shown(max(known) if better == "greater" else min(known))
    return {place for place, value in enumerate(numbers) if shown(value) == target}


def shown(value: float) -> str:
    """Two decimals, as published; two digits where those would say nothing; a dash for none."""
    if not math.isfinite(value):
        return "–"
    return f"{value:.2f}" if not value or abs(value) >= 0.1 else f"{value:.2g}"


def commands() -> dict[str, list[tuple[str, str]]]:
    """What one would type on a testbed."""
    return {"reno": list(testbed_lines(arms.linux("reno").experiment()))}
