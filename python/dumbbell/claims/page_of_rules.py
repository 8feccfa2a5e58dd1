"""Print docs/rules.md: each rule, an example of each verdict, and error rates on synthetic data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dumbbell.claims.evidence import (
    Curves,
    Ensemble,
    Fitted,
    Grid,
    GridPoint,
    Pairing,
    Ratio,
    Runs,
    Sides,
)
from dumbbell.claims.glyphs import Side
from dumbbell.claims.model import Claim, judge
from dumbbell.claims.rules import (
    Agreement,
    Calibration,
    Check,
    Direction,
    Equals,
    Equivalent,
    Explained,
    Level,
    Ordering,
    Preview,
    Published,
    PublishedInEnsemble,
    Rule,
    RuleName,
    Share,
    Shortfall,
    Spread,
    Supremum,
)
from dumbbell.claims.synthetic import (
    CONFIRMS,
    DENIES,
    REPLICATIONS,
    TRIALS,
    Trial,
    allowed,
    shares,
    wrong_share,
)
from dumbbell.claims.view import ClaimView, view_of

DRAWS = 2000
"""Draws for each error rate on the page; expensive rules get proportionally fewer."""

INTRODUCTION = """\
# How a claim is judged

<!-- Printed by `python -m dumbbell.claims`; takes some minutes. -->

A verdict says what a careful reader may conclude. Each claim of a study has a rule, written before
the study is run; one that was changed after a run says so and when (*amended*). Rules are values in
`dumbbell.claims.rules`; `judge(claim, evidence)` applies them, and nothing else makes a verdict.

    from dumbbell.claims import Claim, Runs, judge
    from dumbbell.claims.rules import Equals
    rule = Equals(value=5.0, margin=0.2, unit="ms")
    claim = Claim(id="wait", statement="Packets wait 5 ms", source="theory", rule=rule)
    judge(claim, Runs([5.02, 4.97, 5.05, 4.99, 5.01])).verdict   # reproduced

- **Published** is what the source prints. What others or we measured elsewhere has a column of its
  own, and never counts as published.
- **Facts are counted, not rows.** Rows that follow from one another (drops and retransmissions of
  one flow) are one fact. Beside a count stands how many misses chance alone would give: of 72 true
  numbers at 95 %, 3 to 4.
- **Previews, calibrations and checks count nowhere.** A preview is a run shorter, coarser or
  smaller than the published one. A calibration is a number that chose a parameter. A check holds
  by construction.
- **Exit status 1** (a contradiction with theory) needs a p-value that Holm's procedure over all
  claims of theory leaves below 0.1 %; or a check that fails, which is a fault of ours.

Each table of wrong verdicts below comes from numbers drawn with a known truth: σ is the standard
deviation of one replication, n the number of replications. *Wrong* is a verdict of agreement on a
truth beyond the margin (for a published number: 6 σ away), or one of disagreement on a truth inside
it. At most 5 % may be wrong; a table of 2,000 draws may show up to {most:.1f} %, of 100 up to
{most_of_few:.1f} %. *Decided* is how many of the draws with 40 replications were given a verdict of
agreement or disagreement: a rule that never decides is never wrong.
"""


@dataclass(frozen=True, slots=True)
class Example:
    """An example decision: the measurement in words, and its judged claim."""

    measured: str
    rule: Rule[Any]
    evidence: Any

    @property
    def view(self) -> ClaimView:
        """The claim as a page shows it."""
        claim = Claim(id="example", statement=self.measured, source="made up", rule=self.rule)
        return view_of(judge(claim, self.evidence))


def _around(value: float, *steps: float) -> Runs:
    return Runs([value + step for step in steps])


_FIVE = (-0.2, -0.1, 0.0, 0.1, 0.2)
_TEN = (-1.5, -1.0, -0.7, -0.4, -0.1, 0.1, 0.4, 0.7, 1.0, 1.5)
_EQUALS = Equals(value=10.0, margin=0.5, unit="ms")
_PUBLISHED = Published(printed=20.0, rounding=0.5, unit="ms")
_ENSEMBLE = PublishedInEnsemble(
    printed=20.0, rounding=0.5, declared=("start within a packet time", "SACK"), unit="ms"
)
_AGREEMENT = Agreement.of_delays_ms(0.02)
_ORDERING = Ordering(over="at three sizes", unit="ms")
_EQUIVALENT = Equivalent.of_delays()
_MOST = Share.most("the flows")
_MORE = Spread.more("throughput")
_SUPREMUM = Supremum(bound=100.0, packet=1.0, unit="ms")
_DIRECTION = Direction(at_each=_MOST, grid="load")
_EXPLAINED = Explained(
    levels={"median": Level(printed=20.0, reading=0.5), "p95": Level(printed=60.0, reading=0.5)},
    grid="load",
    unit="ms",
)
_CHECK = Check(value=0.0, because="a bucket cannot go below empty", unit="bytes", side=Side.AT_MOST)


def _members(on: float, off: float) -> Ensemble:
    jitter = [0.05 * step for step in range(-10, 10)]
    values = [on + step for step in jitter] + [off + step for step in jitter]
    return Ensemble(values, [{"SACK": "on"}] * 20 + [{"SACK": "off"}] * 20)


def _sides(gap: float, n: int = 5) -> Sides:
    other = [20.0 + step for step in _TEN[:n]]
    ours = [value + gap + 0.02 * (k % 3) for k, value in enumerate(other)]
    return Sides(ours, other, Pairing.SHARED_STREAMS)


def _curves(*means: float) -> Curves:
    return Curves([[mean + step for mean in means] for step in _FIVE])


def _shares(*means: float) -> Grid[Any]:
    return Grid(
        [GridPoint({"load": 4.0 + 4 * k}, _around(mean, *(0.1 * step for step in _FIVE)))
         for k, mean in enumerate(means)]
    )  # fmt: skip


def _levels(*points: tuple[float, float], n: int = 10, scale: float = 1.0) -> Grid[Any]:
    steps = [scale * step for step in _TEN[:n]]
    return Grid(
        [
            GridPoint(
                {"load": 1.0 + k}, {"median": _around(median, *steps), "p95": _around(p95, *steps)}
            )
            for k, (median, p95) in enumerate(points)
        ]
    )


EXAMPLES: Mapping[RuleName, Sequence[Example]] = {
    RuleName.EQUALS: (
        Example("a mean close to it", _EQUALS, _around(10.1, *_FIVE)),
        Example("a mean far from it", _EQUALS, _around(11.0, *_FIVE)),
        Example("a mean near the edge", _EQUALS, _around(10.5, *_FIVE)),
    ),
    RuleName.PUBLISHED: (
        Example("runs around it", _PUBLISHED, _around(20.6, *_TEN)),
        Example("runs elsewhere", _PUBLISHED, _around(26.0, *_TEN)),
        Example("runs far and wide", _PUBLISHED, _around(26.0, *(8 * step for step in _TEN))),
        Example("three runs", _PUBLISHED, _around(20.6, -1.0, 0.0, 1.0)),
        Example("five runs, far away", _PUBLISHED, _around(0.49, *(0.4 * step for step in _FIVE))),
    ),
    RuleName.ENSEMBLE: (
        Example("a band that holds it", _ENSEMBLE, _members(20.2, 22.0)),
        Example("a band beside it", _ENSEMBLE, _members(23.0, 25.0)),
        Example("a band that holds everything", _ENSEMBLE, _members(8.0, 40.0)),
        Example("ten members", _ENSEMBLE, Ensemble(20.0 + 0.1 * _around(0.0, *_TEN).values)),
    ),
    RuleName.AGREEMENT: (
        Example("sides that are close", _AGREEMENT, _sides(0.1)),
        Example("sides 2 ms apart", _AGREEMENT, _sides(2.0)),
        Example("sides at the margin", _AGREEMENT, _sides(0.48)),
        Example("three runs a side", _AGREEMENT, _sides(0.1, n=3)),
    ),
    RuleName.ORDERING: (
        Example("positive everywhere", _ORDERING, _curves(1.0, 1.5, 2.0)),
        Example("negative at one size", _ORDERING, _curves(1.0, -1.5, 2.0)),
        Example("near zero at one size", _ORDERING, _curves(1.0, 0.1, 2.0)),
    ),
    RuleName.EQUIVALENT: (
        Example("a small difference", _EQUIVALENT, _sides(0.5)),
        Example("a difference of 4 ms", _EQUIVALENT, _sides(4.0)),
        Example("differences near the margin", _EQUIVALENT, _curves(0.1, 2.0, 0.3)),
    ),
    RuleName.SHARE: (
        Example("seven of ten", _MOST, _around(0.7, *(0.1 * step for step in _FIVE))),
        Example("four of ten", _MOST, _around(0.4, *(0.1 * step for step in _FIVE))),
        Example("about half", _MOST, _around(0.505, *(0.1 * step for step in _FIVE))),
    ),
    RuleName.SPREAD: (
        Example("twice the spread", _MORE, Ratio([2.0, 2.1, 1.9, 2.0], [1.0, 1.0, 1.05, 0.95])),
        Example("half the spread", _MORE, Ratio([0.5, 0.6, 0.4, 0.5], [1.0, 1.0, 1.05, 0.95])),
        Example("the same spread", _MORE, Ratio([1.0, 1.1, 0.9, 1.0], [1.0, 1.0, 1.05, 0.95])),
    ),
    RuleName.SUPREMUM: (
        Example("all come close", _SUPREMUM, Runs([99.5, 99.7, 99.2, 99.9, 99.4])),
        Example("one passes it", _SUPREMUM, Runs([99.5, 100.4, 99.2, 99.9, 99.4])),
        Example("none comes close", _SUPREMUM, Runs([95.0, 96.0, 95.5, 94.0, 97.0])),
        Example("some do", _SUPREMUM, Runs([99.5, 96.0, 99.2, 94.0, 99.4])),
    ),
    RuleName.DIRECTION: (
        Example("at both loads", _DIRECTION, _shares(0.7, 0.6)),
        Example("at neither", _DIRECTION, _shares(0.4, 0.3)),
        Example("at the lower load only", _DIRECTION, _shares(0.7, 0.3)),
        Example("undecided at the higher", _DIRECTION, _shares(0.7, 0.505)),
    ),
    RuleName.EXPLAINED: (
        Example("both at the second load", _EXPLAINED, _levels((10.0, 30.0), (20.0, 61.0))),
        Example("never both", _EXPLAINED, _levels((20.0, 30.0), (40.0, 60.0))),
        Example("both, far and wide", _EXPLAINED,
                _levels((20.0, 60.0), (25.0, 61.0), scale=20.0)),
        Example("five runs a point", _EXPLAINED, _levels((10.0, 30.0), (20.0, 61.0), n=5)),
    ),
    RuleName.PREVIEW: (
        Example(
            "a run of 20 s",
            Preview(
                of=_PUBLISHED,
                shortfalls=(
                    Shortfall(what="run length", ours=20.0, published=150.0, unit="s"),
                ),
            ),
            _around(20.6, *_TEN),
        ),
    ),
    RuleName.CALIBRATION: (
        Example(
            "a load that was fitted",
            Calibration(
                parameter="load", unit="packets/s", used="six printed quartiles", nominal=110.0
            ),
            Fitted(92.0, 90.5, 93.5, n=200, p_value=0.3),
        ),
    ),
    RuleName.CHECK: (
        Example("no run goes below", _CHECK, Runs([-12.0, -3.0, 0.0])),
        Example("one run does", _CHECK, Runs([-12.0, 3.0, 0.0])),
    ),
}  # fmt: skip
"""Examples for each rule, at least one for each verdict it can give (except *not testable*)."""


def rules_markdown(draws: int = DRAWS) -> str:
    """The page of rules as Markdown.

    Args:
        draws: Draws for each error rate; expensive rules get proportionally fewer.
    """
    head = INTRODUCTION.format(most=100 * allowed(2000), most_of_few=100 * allowed(100))
    parts = [head, *(_part(name, draws) for name in RuleName)]
    return "\n".join(parts)


def _part(name: RuleName, draws: int) -> str:
    lines = [f"## {name.value[0].upper()}{name.value[1:]}", ""]
    examples = EXAMPLES[name]
    rule = examples[0].rule
    doc = type(rule).__doc__ or ""
    lines += [*doc.split("\n\n    Attributes:")[0].replace("\n    ", "\n").splitlines(), ""]
    lines += [f"On a page it reads: *{rule.words}*", ""]
    lines += list(_example_lines(examples))
    trials = [trial for trial in TRIALS if trial.rule is name]
    for trial in trials:
        lines += ["", *trial_lines(trial, draws)]
    return "\n".join([*lines, ""])


def _example_lines(examples: Sequence[Example]) -> Iterator[str]:
    yield "| for example | measured | n | verdict |"
    yield "| --- | --- | --- | --- |"
    for example in examples:
        view = example.view
        verdict = f"**{view.verdict_text}**{f'; {view.note}' if view.note else ''}"
        yield f"| {example.measured} | {_measured(view)} | {view.n_replications} | {verdict} |"


def _measured(view: ClaimView) -> str:
    unit = "" if view.unit in ("", "1") else f" {view.unit}"
    if view.measured is None:
        return ""
    if view.low is None or view.high is None:
        return f"{view.measured:.4g}{unit}"
    kind = "" if view.interval_kind is None else f", {view.interval_kind.value}"
    return f"{view.measured:.4g} [{view.low:.4g}, {view.high:.4g}]{unit}{kind}"


def trial_lines(trial: Trial, draws: int) -> list[str]:
    """The table of a trial's error rates."""
    times = max(1, draws // trial.weight)
    heads = " | ".join(f"n = {n}" for n in REPLICATIONS)
    lines = [
        f"Wrong verdicts, {trial.what} ({times:,} draws each):",
        "",
        f"| truth | {heads} | decided at {REPLICATIONS[-1]} |",
        f"| --- |{' --- |' * (len(REPLICATIONS) + 1)}",
    ]
    for case in trial.cases:
        found = [shares(case, n, times) for n in REPLICATIONS]
        wrong = " | ".join(f"{100 * wrong_share(case, each):.1f} %" for each in found)
        lines.append(f"| {case.truth} | {wrong} | {100 * decided(found[-1]):.0f} % |")
    return lines


def decided(found: Mapping[Any, float]) -> float:
    """Share of verdicts that are agreement or disagreement."""
    return sum(share for verdict, share in found.items() if verdict in CONFIRMS | DENIES)
