"""Error rates of each rule on synthetic data with a known true value.

A case draws evidence for a true value and states which verdicts would be wrong for it. Wrong
*reproduced* means a truth beyond the margin, or for a published number one that is 6 standard
deviations away; wrong *not reproduced* means a truth inside the margin, or at the published number.
docs/rules.md prints the shares, tests/claims hold them to 5 % plus three binomial standard errors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from dumbbell.claims.evidence import (
    Curves,
    Ensemble,
    Floats,
    Grid,
    GridPoint,
    Pairing,
    Ratio,
    Runs,
    Sides,
)
from dumbbell.claims.model import Claim, judge
from dumbbell.claims.rules import (
    Agreement,
    Direction,
    Equals,
    Equivalent,
    Explained,
    Joint,
    Law,
    Level,
    Ordering,
    Published,
    PublishedInEnsemble,
    Rule,
    RuleName,
    Share,
    Spread,
    Supremum,
)
from dumbbell.claims.verdicts import Verdict

REPLICATIONS = (2, 3, 5, 10, 40)
"""Numbers of replications of a quick look, a quick preset, a backend and a full preset."""
WRONG_AT_MOST = 0.05
SEED = 20260301
"""Fixed, and never chosen for its results."""

Random: TypeAlias = np.random.Generator
Draw: TypeAlias = Callable[[Random, int], tuple[Rule[Any], Any]]

CONFIRMS = frozenset({Verdict.REPRODUCED, Verdict.EXPLAINED_AT})
DENIES = frozenset({Verdict.NOT_REPRODUCED, Verdict.NOT_EXPLAINED, Verdict.DEPENDS_ON})


@dataclass(frozen=True, slots=True)
class Case:
    """A true value, and which verdicts on it would be wrong.

    Attributes:
        truth: In words; sigma is the standard deviation of one replication.
        wrong: Verdicts that would be wrong.
        draw: Maps a generator and a number of replications to a rule and evidence.
    """

    truth: str
    wrong: frozenset[Verdict]
    draw: Draw


@dataclass(frozen=True, slots=True)
class Trial:
    """A rule and the cases on which it is tried.

    Attributes:
        rule: Its name.
        what: Which variant of the rule, in words.
        cases: The cases.
        weight: Relative cost of a decision: expensive rules are drawn less often.
    """

    rule: RuleName
    what: str
    cases: tuple[Case, ...]
    weight: int = 1


def shares(case: Case, n: int, draws: int, seed: int = SEED) -> Mapping[Verdict, float]:
    """Share of each verdict over independent draws.

    Args:
        case: The case.
        n: Replications in each draw.
        draws: Number of draws.
        seed: Seed of all randomness.
    """
    generator = np.random.default_rng([seed, n])
    counted: Counter[Verdict] = Counter()
    for _ in range(draws):
        rule, evidence = case.draw(generator, n)
        claim = Claim(id="synthetic", statement=case.truth, source="drawn", rule=rule)
        counted[judge(claim, evidence).verdict] += 1
    return {verdict: count / draws for verdict, count in counted.items()}


def wrong_share(case: Case, found: Mapping[Verdict, float]) -> float:
    """Share of wrong verdicts among the given ones."""
    return sum(share for verdict, share in found.items() if verdict in case.wrong)


def allowed(draws: int) -> float:
    """5 % plus three binomial standard errors."""
    return WRONG_AT_MOST + 3 * float(np.sqrt(WRONG_AT_MOST * (1 - WRONG_AT_MOST) / draws))


# Four true values for an equivalence, in standard deviations of one replication; the margin is one.
_MEAN, _SIGMA, _MARGIN = 20.0, 1.0, 1.0
_TRUTHS: tuple[tuple[str, float, frozenset[Verdict]], ...] = (
    ("at the truth", 0.0, DENIES),
    ("at the margin's edge", 1.0, CONFIRMS | DENIES),
    ("2 σ away, beyond the margin", 2.0, CONFIRMS),
    ("6 σ away", 6.0, CONFIRMS),
)


def _equivalences(
    evidence: Callable[[Random, int, float], tuple[Rule[Any], Any]],
) -> tuple[Case, ...]:
    """At the margin's edge neither verdict is right: each may be given in 5 % of cases."""

    def cases() -> Iterator[Case]:
        for truth, away, wrong in _TRUTHS:

            def draw(random: Random, n: int, away: float = away) -> tuple[Rule[Any], Any]:
                return evidence(random, n, away)

            if wrong >= CONFIRMS | DENIES:
                yield Case(f"{truth}, just beyond", CONFIRMS, draw)
                yield Case(f"{truth}, just inside", DENIES, draw)
            else:
                yield Case(truth, wrong, draw)

    return tuple(cases())


def _equals(random: Random, n: int, away: float) -> tuple[Rule[Any], Any]:
    rule = Equals(value=_MEAN, margin=_MARGIN, unit="ms")
    return rule, Runs(random.normal(_MEAN + away * _SIGMA, _SIGMA, n))


def _agree(pairing: Pairing) -> Callable[[Random, int, float], tuple[Rule[Any], Any]]:
    def draw(random: Random, n: int, away: float) -> tuple[Rule[Any], Any]:
        rule = Agreement(relative=0.01, floor=_MARGIN, unit="ms")
        if pairing is Pairing.INDEPENDENT:
            other = random.normal(_MEAN, _SIGMA, n)
            # The kernel's spread is twice the simulator's; Welch's interval accounts for that.
            return rule, Sides(random.normal(_MEAN + away, 2 * _SIGMA, n), other, pairing)
        common = random.normal(_MEAN, 5 * _SIGMA, n)
        return rule, Sides(common + random.normal(away, _SIGMA, n), common, pairing)

    return draw


def _equivalent(random: Random, n: int, away: float) -> tuple[Rule[Any], Any]:
    rule = Equivalent(margin=_MARGIN, unit="ms")
    common = random.normal(_MEAN, 5 * _SIGMA, n)
    ours = common + random.normal(away, _SIGMA, n)
    return rule, Sides(ours, common, Pairing.SHARED_STREAMS)


def _share(random: Random, n: int, away: float) -> tuple[Rule[Any], Any]:
    sigma = 0.05
    rule = Share(value=0.4, of="flows", margin=sigma)
    return rule, Runs(random.normal(0.4 + away * sigma, sigma, n))


def _spread(random: Random, n: int, away: float) -> tuple[Rule[Any], Any]:
    sigma = 0.05
    rule = Spread(value=1.0, of="throughput", margin=sigma)
    common = random.normal(1.0, 0.02, n)
    return rule, Ratio((1.0 + away * sigma) * common + random.normal(0, sigma, n), common)


def _printed(law: Law) -> Callable[[float, bool], Draw]:
    """Numbers of one distribution; the printed one is at a distance, or is one more run."""

    def one(random: Random, size: int) -> Floats:
        if law is Law.NORMAL:
            return random.normal(_MEAN, _SIGMA, size)
        if law is Law.LOG_NORMAL:
            return np.exp(random.normal(np.log(_MEAN), 0.05, size))
        # Skewed to the right, as the maximum of many delays is; standard deviation _SIGMA.
        return random.gumbel(_MEAN, _SIGMA * float(np.sqrt(6)) / np.pi, size)

    def make(away: float, is_one_more_run: bool) -> Draw:
        def draw(random: Random, n: int) -> tuple[Rule[Any], Any]:
            values = one(random, n)
            printed = float(one(random, 1)[0]) if is_one_more_run else _MEAN + away * _SIGMA
            if law is Law.ANY and not is_one_more_run and away == 0:
                printed = float(_MEAN + _SIGMA * np.sqrt(6) / np.pi * np.euler_gamma)
            return Published(printed=printed, rounding=0.0, unit="ms", law=law), Runs(values)

        return draw

    return make


def _published(law: Law) -> tuple[Case, ...]:
    make = _printed(law)
    return (
        Case("the printed number is the mean of a run", DENIES, make(0.0, False)),
        Case("the printed number is one more run", DENIES, make(0.0, True)),
        Case("2 σ away: neither verdict is wrong", frozenset(), make(2.0, False)),
        Case("6 σ away", CONFIRMS, make(6.0, False)),
    )


def _rounded(random: Random, n: int) -> tuple[Rule[Any], Any]:
    """One more run, printed without decimals: the rounding error is as large as sigma."""
    printed = float(np.round(random.normal(_MEAN, 0.1)))
    values = random.normal(_MEAN, 0.1, n)
    return Published(printed=printed, rounding=0.5, unit="ms"), Runs(values)


def _wide(random: Random, n: int) -> tuple[Rule[Any], Any]:
    """Runs vary by 60 %: no printed number within that range can be tested."""
    rule = Published(printed=20.0, rounding=0.0, unit="ms")
    return rule, Runs(random.normal(20.0, 12.0, n))


def _member(away: float, is_one_more: bool) -> Draw:
    def draw(random: Random, n: int) -> tuple[Rule[Any], Any]:
        # One unpublished parameter shifts the number by 2, jitter adds a standard deviation of 1.
        choices = random.integers(0, 2, n + 1)
        members = _MEAN + 2.0 * choices + random.uniform(-1.0, 1.0, n + 1)
        sigma = float(np.sqrt(1.0 + 1.0 / 3.0))
        printed = float(members[n]) if is_one_more else _MEAN + 1.0 + away * sigma
        settings = [{"SACK": "on" if choice else "off"} for choice in choices[:n]]
        rule = PublishedInEnsemble(
            printed=printed, rounding=0.0, declared=("start", "SACK"), unit="ms"
        )
        return rule, Ensemble(members[:n], settings)

    return draw


def _curves(lowest: float, reversed_at: float | None = None) -> Draw:
    """A positive difference at five correlated points; one has the lowest or a reversed value."""

    def draw(random: Random, n: int) -> tuple[Rule[Any], Any]:
        truth = np.array([3.0, 2.5, lowest, 2.5, 3.0])
        if reversed_at is not None:
            truth[2] = -reversed_at
        common = random.normal(0.0, 0.8, (n, 1))
        rows = truth + common + random.normal(0.0, 0.6, (n, truth.size))
        return Ordering(over="at five points", unit="ms"), Curves(rows)

    return draw


def _all_pairs(away: float) -> Draw:
    """Differences between every two of four settings; one setting differs."""

    def draw(random: Random, n: int) -> tuple[Rule[Any], Any]:
        columns = [random.normal(_MEAN + (away if k == 3 else 0.0), _SIGMA, n) for k in range(4)]
        return Equivalent(margin=_MARGIN, unit="ms"), Curves.of_all_pairs(columns)

    return draw


def _most(away: float) -> Draw:
    def draw(random: Random, n: int) -> tuple[Rule[Any], Any]:
        return Share.most("flows"), Runs(random.normal(0.5 + 0.05 * away, 0.05, n))

    return draw


def _maxima(reach: float, above: float = 0.0) -> Draw:
    """Maxima within one packet of the bound with a given probability, else two packets below."""

    def draw(random: Random, n: int) -> tuple[Rule[Any], Any]:
        near = random.random(n) < reach
        peaks = np.where(near, 100.0 - random.random(n), 98.0 - random.random(n)) + above
        return Supremum(bound=100.0, packet=1.0, unit="ms"), Runs(peaks)

    return draw


def _grid(where: Sequence[float]) -> Draw:
    """A share of flows at four points, each `where` standard deviations above one half."""

    def draw(random: Random, n: int) -> tuple[Rule[Any], Any]:
        rule = Direction(at_each=Share.most("flows"), grid="load, base RTT")
        settings = [{"load": load, "RTT (ms)": rtt} for load in (4.0, 8.0) for rtt in (20.0, 80.0)]
        points = [
            GridPoint(setting, Runs(random.normal(0.5 + 0.05 * away, 0.05, n)))
            for setting, away in zip(settings, where, strict=True)
        ]
        return rule, Grid(points)

    return draw


def _levels(away: float, is_one_more_run: bool, joint: Joint = Joint.BONFERRONI) -> Draw:
    """Three correlated levels at four loads; printed is a run at the second load, or at none."""

    def run(random: Random, load: float, size: int) -> Floats:
        means = np.array([10.0, 20.0, 30.0]) * load
        common = random.normal(0.0, 0.7, (size, 1))
        return means + common + random.normal(0.0, 0.7, (size, 3))

    def draw(random: Random, n: int) -> tuple[Rule[Any], Any]:
        names = ("p25", "p50", "p75")
        printed = run(random, 2.0, 1)[0] if is_one_more_run else np.array([20.0, 40.0, 60.0])
        printed = printed + np.array([0.0, away, 0.0])
        levels = {
            name: Level(printed=float(value), reading=0.0)
            for name, value in zip(names, printed, strict=True)
        }
        points = []
        for load in (1.0, 2.0, 3.0, 4.0):
            columns = run(random, load, n).T
            found = {name: Runs(column) for name, column in zip(names, columns, strict=True)}
            points.append(GridPoint({"load": load}, found))
        return Explained(levels=levels, grid="load", unit="ms", joint=joint), Grid(points)

    return draw


AT_ONCE = Joint.HOTELLING
TRIALS: tuple[Trial, ...] = (
    Trial(RuleName.EQUALS, "a mean, margin 1 σ", _equivalences(_equals)),
    Trial(RuleName.PUBLISHED, "Student's prediction", _published(Law.NORMAL)),
    Trial(
        RuleName.PUBLISHED,
        "Student's prediction of the logarithms",
        _published(Law.LOG_NORMAL),
    ),
    Trial(RuleName.PUBLISHED, "order statistics, of a skewed number", _published(Law.ANY)),
    Trial(
        RuleName.PUBLISHED,
        "printed coarsely, or of runs that scatter widely",
        (
            Case("one more run, rounded to whole numbers", DENIES, _rounded),
            Case("runs scatter by 60 %", CONFIRMS | DENIES, _wide),
        ),
    ),
    Trial(
        RuleName.ENSEMBLE,
        "one open choice and jitter",
        (
            Case("the printed number is the middle", DENIES, _member(0.0, False)),
            Case("the printed number is one more member", DENIES, _member(0.0, True)),
            Case("2 σ away: neither verdict is wrong", frozenset(), _member(2.0, False)),
            Case("6 σ away", CONFIRMS, _member(6.0, False)),
        ),
    ),
    Trial(
        RuleName.AGREEMENT,
        "streams shared, margin 1 σ of a pair's difference",
        _equivalences(_agree(Pairing.SHARED_STREAMS)),
    ),
    Trial(
        RuleName.AGREEMENT,
        "independent runs, one side scattering twice as much",
        _equivalences(_agree(Pairing.INDEPENDENT)),
    ),
    Trial(
        RuleName.ORDERING,
        "a difference at five points",
        (
            Case("positive everywhere, 2 σ at least", DENIES, _curves(2.0)),
            Case("zero at one point, counted as no order", CONFIRMS, _curves(0.0)),
            Case("zero at one point, counted as an order", DENIES, _curves(0.0)),
            Case("reversed by 2 σ at one point", CONFIRMS, _curves(0.0, 2.0)),
            Case("reversed by 6 σ at one point", CONFIRMS, _curves(0.0, 6.0)),
        ),
        weight=20,
    ),
    Trial(RuleName.EQUIVALENT, "a paired difference, margin 1 σ", _equivalences(_equivalent)),
    Trial(
        RuleName.EQUIVALENT,
        "any two of four settings, margin 1 σ",
        (
            Case("no difference", DENIES, _all_pairs(0.0)),
            Case("one setting at the margin's edge, just beyond", CONFIRMS, _all_pairs(1.0)),
            Case("one setting at the margin's edge, just inside", DENIES, _all_pairs(1.0)),
            Case("one setting 2 σ away", CONFIRMS, _all_pairs(2.0)),
            Case("one setting 6 σ away", CONFIRMS, _all_pairs(6.0)),
        ),
        weight=20,
    ),
    Trial(RuleName.SHARE, "around a value, margin 1 σ", _equivalences(_share)),
    Trial(
        RuleName.SHARE,
        "most: at least half",
        (
            Case("2 σ above one half", DENIES, _most(2.0)),
            Case("one half, counted as less", CONFIRMS, _most(0.0)),
            Case("one half, counted as enough", DENIES, _most(0.0)),
            Case("2 σ below one half", CONFIRMS, _most(-2.0)),
            Case("6 σ below one half", CONFIRMS, _most(-6.0)),
        ),
    ),
    Trial(RuleName.SPREAD, "a ratio of spreads, margin 1 σ", _equivalences(_spread)),
    Trial(
        RuleName.SUPREMUM,
        "maxima within one packet of the bound, or not",
        (
            Case("every run reaches it", DENIES, _maxima(1.0)),
            Case("nine runs of ten reach it", DENIES, _maxima(0.9)),
            Case("half of all runs do, counted as too few", CONFIRMS, _maxima(0.5)),
            Case("half of all runs do, counted as enough", DENIES, _maxima(0.5)),
            Case("one run of ten reaches it", CONFIRMS, _maxima(0.1)),
            Case("runs pass it by up to a packet", CONFIRMS, _maxima(1.0, above=1.0)),
        ),
    ),
    Trial(
        RuleName.DIRECTION,
        "most flows, at four points",
        (
            Case("2 σ above at every point", DENIES, _grid((2.0, 2.0, 2.0, 2.0))),
            Case("at the edge everywhere, as failing", CONFIRMS, _grid((0.0, 0.0, 0.0, 0.0))),
            Case("at the edge everywhere, as holding", DENIES, _grid((0.0, 0.0, 0.0, 0.0))),
            Case("2 σ below at one load", CONFIRMS, _grid((2.0, 2.0, -2.0, -2.0))),
            Case("6 σ below at one point", CONFIRMS, _grid((6.0, 6.0, 6.0, -6.0))),
        ),
        weight=4,
    ),
    Trial(
        RuleName.EXPLAINED,
        "three levels at four loads",
        (
            Case("printed are the means at one point", DENIES, _levels(0.0, False)),
            Case("printed is one more run at one point", DENIES, _levels(0.0, True)),
            Case("one level 2 σ off: neither is wrong", frozenset(), _levels(2.0, False)),
            Case("one level 6 σ off", CONFIRMS, _levels(6.0, False)),
        ),
        weight=12,
    ),
    Trial(
        RuleName.EXPLAINED,
        "three levels at four loads, held at once",
        (
            Case("printed are the means at one point", DENIES, _levels(0.0, False, AT_ONCE)),
            Case("printed is one more run at one point", DENIES, _levels(0.0, True, AT_ONCE)),
            Case("one level 2 σ off: neither is wrong", frozenset(), _levels(2.0, False, AT_ONCE)),
            Case("one level 6 σ off", CONFIRMS, _levels(6.0, False, AT_ONCE)),
        ),
        weight=12,
    ),
)
