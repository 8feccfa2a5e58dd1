"""Texts of the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from dumbbell.claims import Identified, Judged, Verdict, counts_of, views_of
from dumbbell.claims.rules import CountedAs
from dumbbell.metrics.ccperf import ROWS
from dumbbell.printable import listed
from dumbbell.report import Advice, Answer, ValueRow, ValueTable
from dumbbell.report.badges import BADGES
from dumbbell.report.cells import CellLike
from dumbbell.spec import testbed_lines
from dumbbell.spec.ccperf import NO_EFFECT
from dumbbell.spec.fields import time_ns
from dumbbell.studies.traffic_policing import arms, claims, published
from dumbbell.studies.traffic_policing.arms import Choices
from dumbbell.studies.traffic_policing.measures import EnsembleRun, Floats, Rows
from dumbbell.studies.traffic_policing.standstill import (
    least_cov,
    longest_by_cov_s,
    longest_by_rate_s,
)
from dumbbell.studies.traffic_policing.titles import title_of

DONE = (
    "An endless transfer over TCP goes through a token bucket that passes packets at the peak rate "
    "while it is not empty and after that only at the policing rate, with a queue of 20 packets "
    "for what has no token. The published run is repeated with every choice that its page leaves "
    "open, and each row of its table is compared with all of them. Then Linux's controllers take "
    "the same way, once through the queue and once through a policer without one, and the bucket, "
    "the policing rate and the length of the path are changed one at a time."
)


def answer(
    source: EnsembleRun | None,
    linux: Mapping[str, EnsembleRun],
    *,
    are_both_decided: bool = False,
) -> Answer:
    """State the flow's losses in the run shown, and the losses of all members in the margin.

    Args:
        source: The published flow over the unpublished parameters.
        linux: Members by controller, if the source's flow was not run.
        are_both_decided: Whether every member has lower loss through the shaper, and lower delay
            through the policer.
    """
    ran = source or next(iter(linux.values()), None)
    if ran is None:
        return Answer("What happens when the tokens run out these runs do not say.")
    dropped = ran.row(_DROPPED)
    queue, rate = (
        _span(ran.row(name), decimals)
        for name, decimals in (("mean_qdisc_length_l2", 0), ("mean_throughput_l4", 1))
    )
    runs = f"{ran.n} runs over what the source leaves open" if source else f"{ran.n} runs"
    return Answer(
        f"Without tokens an endless transfer loses {ran.results[0].rows[_DROPPED]:.0f} packets.",
        measured=f"In the {published.STOP_S:g} s of the run that is shown; {runs} lose "
        f"{_span(dropped, 0)}. The flow goes on at {rate} Mbit/s, where the bucket lets "
        f"{published.RATE_MBPS:g} pass, behind a queue of {queue} packets of the "
        f"{published.QUEUE_PKTS} that it holds.",
        so="a queue in front of the bucket saves packets, and costs time."
        if are_both_decided
        else "",
    )


def advice(shaped: Mapping[str, EnsembleRun], policed: Mapping[str, EnsembleRun]) -> list[Advice]:
    """Recommend shaping or policing, if all members of all controllers agree.

    Args:
        shaped: Members through the queue by controller.
        policed: The same members through a policer.
    """
    both = [name for name in policed if name in shaped]
    if not both:
        return []
    rates, lost, waits = (
        tuple(np.concatenate([of[name].row(row) for name in both]) for of in (shaped, policed))
        for row in (_THROUGHPUT, _LOST, _SRTT)
    )
    who = f"{listed(both)}, {policed[both[0]].n} runs each"
    given = []
    if (lost[0] < lost[1]).all():
        given.append(
            Advice(
                wish="Whoever sends above the rate of the contract is to lose little",
                setting="A shaper with a queue (tbf with a limit), not a policer",
                because=f"Flows of {who}, had to send {_span(lost[0], 0)} packets again in "
                f"{published.STOP_S:g} s through the queue of {published.QUEUE_PKTS} packets, and "
                f"{_span(lost[1], 0)} where what had no token was dropped.",
                figure="operating-point",
            )
        )
    if (waits[1] < waits[0]).all():
        given.append(
            Advice(
                wish="Delay is to stay short where the contract limits the rate",
                setting="A policer, or a shaper with a shorter queue",
                because=f"The mean round-trip time of {who}, was {_span(waits[1], 0)} ms through "
                f"the policer and {_span(waits[0], 0)} ms through the queue of "
                f"{published.QUEUE_PKTS} packets, of which {published.BASE_RTT_MS:g} ms are the "
                f"path's own; they got {_span(rates[1], 2)} and {_span(rates[0], 2)} Mbit/s.",
                figure="operating-point",
            )
        )
    return given


_DROPPED = "total_qdisc_drops_l2"
_THROUGHPUT, _LOST, _SRTT = "mean_throughput_l4", "total_retransmissions_l4", "mean_srtt_l4"


def _span(values: Floats, decimals: int) -> str:
    """Format the range from minimum to maximum."""
    ends = (f"{end:.{decimals}f}" for end in (np.nanmin(values), np.nanmax(values)))
    return " to ".join(dict.fromkeys(ends))


def summary(judged: Sequence[Judged], source: EnsembleRun | None) -> str:
    """Summarize the verdicts in a paragraph."""
    sentences = [
        "When the tokens run out an endless transfer gets about the policing rate, and its packets "
        "wait for tokens in the queue."
    ]
    if source:
        first = source.results[0].rows
        counts = [
            count for count in counts_of(views_of(judged)) if count.standing is CountedAs.SOURCE
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
        "What the source calls policing is a token bucket with a queue of 20 packets: it delays "
        "what has no token, where a policer would drop it."
    )
    return " ".join(sentences)


def notes(members: int, interrupted: bool) -> list[str]:
    """Return interpretations of the source and limitations."""
    said = [
        "The source's page gives a command, tables and figures, no definitions and no code. What "
        "it leaves open makes the ensemble that its numbers are compared with: "
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
        "There is no column with the source's own programs: CCPerf's runs are ns-3's, in which no "
        "program of a machine sends.",
    ]
    if interrupted:
        said.insert(0, "Interrupted: only the parts that had finished are here.")
    return said


def values(
    by_arm: Mapping[str, Rows],
    title: str,
    caption: str,
    verdicts: Mapping[str, Verdict] | None = None,
) -> ValueTable:
    """Return the source's table, one column per controller; the best value of each row is bold.

    Args:
        by_arm: Rows by column.
        title: Heading.
        caption: Caption of the table.
        verdicts: Verdicts by row. If given, the first column has the published values and the
            second the verdicts; neither is marked as best.
    """
    rows = []
    for name, row in ROWS.items():
        numbers = [of[name] for of in by_arm.values()]
        before: list[CellLike] = []
        if verdicts is not None:
            before = [published.VALUES.get(name), _agrees(verdicts.get(name))]
        best = frozenset(place + len(before) for place in best_of(numbers, row.better))
        cells = [*before, *map(_cell, numbers)]
        rows.append(ValueRow(title_of(name), row.unit, cells, best, code=name))
    columns = [*(["published", "agrees"] if verdicts is not None else []), *by_arm]
    return ValueTable(title, columns, rows, caption)


def _agrees(verdict: Verdict | None) -> str:
    """Return whether a printed number agrees with the whole ensemble."""
    if verdict is None:
        return "–"
    return f"{BADGES[verdict].symbol} {verdict.value}"


def _cell(value: float) -> float | None:
    return value if math.isfinite(value) else None


def identified(judged: Mapping[str, Judged]) -> ValueTable:
    """Return what each printed number implies about the unpublished choices.

    Args:
        judged: Judged claim by row.
    """
    names = list(arms.NS3_DEFAULTS.setting)
    rows = []
    for row, one in judged.items():
        told = {
            each.parameter: each for each in one.decision.identified if each.constrains_parameter
        }
        if told:
            cells = [_agreeing(told.get(name)) for name in names]
            rows.append(ValueRow(title_of(row), "", cells, code=row))
    return ValueTable(
        "What the printed numbers tell of the open choices",
        names,
        rows,
        "The values of each choice whose runs reach the printed number, where not all or none do. "
        "A dash: the number does not tell.",
    )


def _agreeing(told: Identified | None) -> str:
    return "\u2013" if told is None else " or ".join(str(value) for value in told.agree)


def standstills(by_interval: Mapping[str, Rows]) -> ValueTable:
    """Return the standstill that two printed numbers allow, and its effect on the third.

    Args:
        by_interval: Rows of one run with ns-3's defaults, by sampling interval as typed.
    """
    policing = arms.source()
    cov, wire_mbps = (published.VALUES[row] for row in (_COV, _WIRE))
    by_rate_s = longest_by_rate_s(
        1e6 * (wire_mbps - published.ROUNDING) * published.STOP_S,
        policing.policing_rate_bps,
        8 * policing.burst_bytes,
        published.STOP_S,
    )
    intervals_s = [1e-9 * time_ns(interval) for interval in by_interval]
    rows = [
        ValueRow(
            f"Longest standstill that a coefficient of variation of {cov:g} allows",
            "s",
            [longest_by_cov_s(cov + published.ROUNDING, each, STOP_S) for each in intervals_s],
        ),
        ValueRow(
            f"Longest standstill that {wire_mbps:g} Mbit/s on the wire allow",
            "s",
            [by_rate_s] * len(intervals_s),
        ),
        ValueRow(
            "Least coefficient of variation with the latter",
            "1",
            [least_cov(by_rate_s, each, STOP_S) for each in intervals_s],
        ),
        ValueRow(
            "Coefficient of variation of the run with ns-3's own choices",
            "1",
            [_cell(of[_COV]) for of in by_interval.values()],
        ),
    ]
    return ValueTable(
        "How long can the flow have stood still?",
        [f"every {interval}" for interval in by_interval],
        rows,
        "Of n samples k are zero: the coefficient of variation is at least \u221a(k/(n \u2212 k)), "
        "and is that where all others are equal. The wire's limit is the bucket's: while a flow "
        "stands still it refills, and what comes when it is full is lost. What a standstill "
        "leaves of 0.47 must come from bursts, which weigh the more the shorter the samples are.",
    )


_COV, _WIRE = "cov_throughput_l4", "mean_sending_rate_l1"
STOP_S = published.STOP_S
MOST_CHOICES = 6
"""Combinations shown."""


def nearest_choices(source: EnsembleRun) -> ValueTable:
    """Return which combination of the open choices gives most of the printed numbers.

    Args:
        source: The ensemble: several members with each combination.
    """
    members: dict[Choices, list[Rows]] = {}
    for member, result in zip(source.members, source.results, strict=True):
        if member.choices is not None:
            members.setdefault(member.choices, []).append(result.rows)
    missed = {choices: _missed(rows) for choices, rows in members.items()}
    nearest = sorted(missed, key=lambda choices: len(missed[choices]))[:MOST_CHOICES]
    told = len(published.VALUES)
    return ValueTable(
        "No one combination of the open choices gives the whole table",
        ["numbers given", "missed"],
        [
            ValueRow(
                ", ".join(map(str, choices.setting.values())),
                "",
                [f"{told - len(missed[choices])} of {told}", ", ".join(missed[choices])],
            )
            for choices in nearest
        ],
        f"Of {len(members)} combinations those that come nearest: a number is given where it lies "
        "between the least and the greatest of the runs with that combination, which differ by "
        "jitter, to the last printed digit. The claims are judged over all combinations, as any "
        "of them may be the source's; together the printed numbers are those of one.",
        is_folded=True,
    )


def _missed(rows: Sequence[Rows]) -> list[str]:
    """Return the titles of the printed numbers that none of these runs reaches."""
    missed = []
    for name, printed in published.VALUES.items():
        values = np.array([each[name] for each in rows])
        known = values[np.isfinite(values)]
        reach = (known.min(initial=np.inf), known.max(initial=-np.inf))
        if not reach[0] - published.ROUNDING <= printed <= reach[1] + published.ROUNDING:
            missed.append(title_of(name))
    return missed


def sampled_otherwise(by_interval: Mapping[str, Rows]) -> ValueTable:
    """Return the rows that depend on the sampling interval, which the source does not state."""
    rows = []
    for name, row in ROWS.items():
        numbers = [of[name] for of in by_interval.values()]
        if name in published.VALUES and len({f"{number:.3g}" for number in numbers}) > 1:
            cells = [published.VALUES[name], *map(_cell, numbers)]
            rows.append(ValueRow(title_of(name), row.unit, cells, code=name))
    return ValueTable(
        "The same run, sampled otherwise",
        ["published", *(f"every {interval}" for interval in by_interval)],
        rows,
        "One run, with ns-3's own choices. The claims are judged at 100 ms.",
        is_folded=True,
    )


def best_of(numbers: Sequence[float], better: str) -> set[int]:
    """Return the indices of the best value; none if undefined or if all print the same."""
    known = [value for value in numbers if math.isfinite(value)]
    if not better or len(known) < 2 or len({shown(value) for value in known}) == 1:
        return set()
    target = shown(max(known) if better == "greater" else min(known))
    return {place for place, value in enumerate(numbers) if shown(value) == target}


def shown(value: float) -> str:
    """Format with two decimals, as published, or two digits for small values; a dash for none."""
    if not math.isfinite(value):
        return "–"
    return f"{value:.2f}" if not value or abs(value) >= 0.1 else f"{value:.2g}"


def commands() -> dict[str, list[tuple[str, str]]]:
    """Return the commands for a testbed."""
    return {"reno": list(testbed_lines(arms.linux("reno").experiment()))}
