"""Advice as sentences, and a table of the trials."""

from __future__ import annotations

from rich import box
from rich.table import Table

from dumbbell.printable import listed
from dumbbell.report.numbers import plain, with_uncertainty
from dumbbell.stats import Estimate
from dumbbell.twin.advice.advising import Advice
from dumbbell.twin.advice.known_line import KnownLine
from dumbbell.twin.result import Trust

_NARROW = 0.002
"""Width of an interval, relative to its number, below which four digits show all that matters."""


def _number(estimate: Estimate) -> str:
    value, low, high = estimate.value, estimate.low, estimate.high
    if high - low < _NARROW * abs(value):
        return f"{plain(value, 4)} [{plain(low, 4)}, {plain(high, 4)}]"
    return " ".join(filter(None, with_uncertainty(value, low, high)))


def answer(advice: Advice) -> str:
    """State the recommended setting, and its expected effect."""
    best = advice.best
    rates = listed(f"{_number(best.goodput(way))} Mbit/s {way.value}" for way in best.goodput_mbps)
    expects = (
        f"{advice.use.what} has round trips of at most {_number(best.round_trip)} ms (95th "
        f"percentile), with {rates}"
    )
    if not best.candidate.qdisc:
        return f"For {advice.use.sentence}: set nothing; {expects}."
    return (
        f"For {advice.use.sentence}: {best.candidate.name}; {expects}. As the line is: "
        f"{_number(advice.nothing.round_trip)} ms."
    )


def runner_up(advice: Advice) -> str:
    """State the next best setting, and its disadvantage."""
    slower, less = advice.slower_ms, advice.less_mbps
    return (
        f"Runner-up: {advice.runner_up.candidate.name}. Paired difference: "
        f"{_number(slower)} ms and {_number(less)} Mbit/s."
    )


def caution(advice: Advice, known: KnownLine) -> str:
    """State the basis of the advice."""
    lines = len(advice.best.rtt_p95_ms)
    tested = (
        "The twin predicts the held-out data."
        if known.trust is Trust.PREDICTS
        else "The twin is not validated: it is from typed numbers."
    )
    return (
        f"Brackets: 95 % prediction intervals over {lines} lines drawn from the twin's "
        f"uncertainty. {tested} {_overhead(known)}"
    )


def _overhead(known: KnownLine) -> str:
    kind = known.line.technology
    if kind is None:
        return (
            "Overhead was not tried: the measurement does not determine it (--technology gives it)."
        )
    return f"The line is simulated with the overhead of {kind.word}, as given."


def trials_table(advice: Advice) -> Table:
    """Return a table with a row per setting."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("setting", no_wrap=True)
    table.add_column("95 % (ms)", justify="right", no_wrap=True)
    for way in advice.best.goodput_mbps:
        table.add_column(f"{way.value} (Mbit/s)", justify="right", no_wrap=True)
    table.add_column("lost (%)", justify="right", no_wrap=True)
    for trial in advice.trials:
        mark = " *" if trial is advice.best else ""
        table.add_row(
            f"{trial.candidate.name}{mark}",
            _number(trial.round_trip),
            *(_number(trial.goodput(way)) for way in trial.goodput_mbps),
            plain(100 * max(trial.lost), 2),
        )
    return table
