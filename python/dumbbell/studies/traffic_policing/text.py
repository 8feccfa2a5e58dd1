"""What the page says in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dumbbell.claims import Identified, Judged, Verdict, counts_of, views_of
from dumbbell.claims.rules import Standing
from dumbbell.metrics.ccperf import ROWS
from dumbbell.report import ValueRow, ValueTable
from dumbbell.spec import testbed_lines
from dumbbell.spec.ccperf import NO_EFFECT
from dumbbell.studies.traffic_policing import arms, claims, published
from dumbbell.studies.traffic_policing.measures import Ran, Rows


def summary(judged: Sequence[Judged], source: Ran | None) -> str:
    """Who was right, in a paragraph."""
    sentences = [
        "When the tokens run out a greedy flow loses most of a window at once; after that it gets "
        "the policing rate, behind a queue that is nearly always full."
    ]
    if source:
        first = source.results[0].rows
        counts = [
            count for count in counts_of(views_of(judged)) if count.standing is Standing.SOURCE
        ]
        sentences += [
            f"Of {count.facts} things that the source's {len(published.VALUES)} numbers say, "
            f"{count.verdicts.get(Verdict.REPRODUCED, 0)} come out of what its page tells, over "
            "every choice that it leaves open."
            for count in counts
        ]
        sentences.append(
            "With ns-3's own choices one run gives "
            f"{first['mean_throughput_l4']:.2f} Mbit/s, {first['total_qdisc_drops_l2']:.0f} drops, "
            f"{first['total_rtos_l4']:.0f} timeout and a queue of "
            f"{first['mean_qdisc_length_l2']:.1f} packets."
        )
    sentences.append(
        "What the source calls policing is a shaper with a queue of 20 packets: it delays what "
        "has no token, where a policer would drop it."
    )
    return " ".join(sentences)


def notes(members: int, interrupted: bool) -> list[str]:
    """Readings taken and limitations."""
    said = [
        "The source's page gives a command, tables and figures, no definitions and no code. What "
        "it leaves open makes the ensemble that its numbers are held against: "
        f"{'; '.join(claims.DECLARED)}. Every combination of the first five, {members} runs in "
        "all. The burst of the bucket, 125 kB, is ns-3's default.",
        "The figures over time, and the column NewReno, are of one point of that ensemble, the one "
        "with which ns-3 3.37 gives the printed 120 drops: access 10 Gbit/s, initial window 10, "
        "every segment acknowledged, SACK, least timeout 1 s. It was chosen by those drops, so it "
        "is no evidence for them.",
        "A single run of a sawtooth is one sample of a chaotic system: third digits are luck.",
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
    by_arm: Mapping[str, Rows], title: str, caption: str, *, with_source: bool
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
        before = [published.VALUES.get(name)] if with_source else []
        best = {place + len(before) for place in best_of(numbers, row.better)}
        rows.append(ValueRow(name, row.unit, [*before, *map(_cell, numbers)], frozenset(best)))
    columns = [*(["published"] if with_source else []), *by_arm]
    return ValueTable(title, columns, rows, caption)


def _cell(value: float) -> float | None:
    return value if math.isfinite(value) else None


def identified(judged: Sequence[Judged]) -> ValueTable:
    """What each printed number tells of the choices that the source leaves open."""
    names = list(arms.NS3_DEFAULTS.setting)
    rows = []
    for one in judged:
        told = {each.parameter: each for each in one.decision.identified if each.is_told}
        if told:
            cells = [_agreeing(told.get(name)) for name in names]
            rows.append(ValueRow(one.claim.id.replace("-", "_"), "", cells))
    return ValueTable(
        "What the printed numbers tell of the open choices",
        names,
        rows,
        "The values of each choice whose runs reach the printed number, where not all or none do. "
        "A dash: the number does not tell.",
    )


def _agreeing(told: Identified | None) -> str:
    return "\u2013" if told is None else " or ".join(str(value) for value in told.agree)


def sampled_otherwise(by_interval: Mapping[str, Rows]) -> ValueTable:
    """The rows that depend on the sampling interval, which the source does not state."""
    rows = []
    for name, row in ROWS.items():
        numbers = [of[name] for of in by_interval.values()]
        if name in published.VALUES and len({f"{number:.3g}" for number in numbers}) > 1:
            rows.append(ValueRow(name, row.unit, [published.VALUES[name], *map(_cell, numbers)]))
    return ValueTable(
        "The same run, sampled otherwise",
        ["published", *(f"every {interval}" for interval in by_interval)],
        rows,
        "One run, with ns-3's own choices. The claims are judged at 100 ms.",
        is_folded=True,
    )


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
