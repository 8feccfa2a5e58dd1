"""Texts and tables of the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dumbbell.claims import Count, Judged, Verdict, counts_of, views_of
from dumbbell.claims.rules import CountedAs
from dumbbell.claims.rules.prediction import predict
from dumbbell.report import Advice, Answer, Cell, ValueRow, ValueTable
from dumbbell.stats import student_interval
from dumbbell.studies.buffer_sizing import all_buffers, arms, claims, printed_levels, published
from dumbbell.studies.buffer_sizing.all_buffers import AllBuffers
from dumbbell.studies.buffer_sizing.arms import Buffer, Case, Point, Setup, Workload
from dumbbell.studies.buffer_sizing.measures import BufferComparison, BufferRun, Found
from dumbbell.theory import many_flows_packets

NOTHING_SAMPLED = "Over whole runs, the first second to the last; nothing is sampled."
_PREDICTED = 0.95


DONE = (
    "A tree of 18 source nodes sends through one bottleneck of 50 Mbit/s, once with a buffer of "
    "18 packets, as the rule for many flows has it, and once with 500, as the rule of thumb has "
    "it. Two kinds of traffic are tried with both: persistent flows among mice, and users who "
    "ask, wait and think. How many flows there were, how large and by which TCP "
    "the source does not say, so every observation is looked at over a grid of what it leaves out."
)


def answer(judged: Sequence[Judged]) -> Answer:
    """State the share of flows that the small buffer slows down, over the part of the grid that
    ran.
    """
    found = {one.claim.id: one for one in judged}
    for span, where in ((claims.WHOLE, ""), (claims.LIGHT, ", at the light load")):
        harmed = found.get(f"observation-12-persistent{span.suffix}")
        if harmed is None or harmed.verdict not in _HARM or harmed.found.value is None:
            continue
        waits = found.get(f"observation-10-delay-persistent{span.suffix}")
        is_shorter = waits is not None and waits.verdict is Verdict.REPRODUCED
        return Answer(
            _HARM[harmed.verdict].format(f"{100 * harmed.found.value:.0f} %"),
            measured="Persistent flows that get less throughput with "
            f"{published.SMALL_PACKETS} packets than with {published.LARGE_PACKETS}{where}: "
            f"{_ranged(harmed, '%', 100)}, over what the source leaves open."
            + (f" Packets wait {_ranged(waits, 'ms')} less." if waits and is_shorter else ""),
            so="a small buffer shortens the wait, and long flows pay for it."
            if is_shorter and harmed.verdict is Verdict.REPRODUCED
            else "",
        )
    return Answer("Whether small buffers harm individual flows these runs do not decide.")


_HARM = {
    Verdict.REPRODUCED: "A small buffer slows down {} of the long flows.",
    Verdict.NOT_REPRODUCED: "A small buffer slows down only {} of the long flows.",
    Verdict.DEPENDS_ON: "How many long flows a small buffer slows down depends on what the source "
    "leaves open.",
}
"""Wording of observation 12, if it is decided."""


def _ranged(judged: Judged, unit: str, factor: float = 1.0) -> str:
    """Format the number with its interval over all grid points, if it has one."""
    found = judged.found
    if found.value is None:
        return "some"
    shown = f"{factor * found.value:.0f} {unit}"
    if found.low is None or found.high is None:
        return shown
    return f"{shown} ({factor * found.low:.0f} to {factor * found.high:.0f})"


def advice(found: Found | None, point: Point) -> list[Advice]:
    """Give advice for long flows and for low delay, if the two buffers clearly differ.

    Args:
        found: The four experiments.
        point: The point shown.
    """
    if found is None:
        return []
    given = []
    kinds: dict[Workload, str] = {
        "persistent": "persistent flows",
        "closed-loop": "transfers of users",
    }
    for workload, of in kinds.items():
        case = Case(point, workload)
        if case not in found.results:
            continue
        rates, waits = (
            {
                buffer: student_interval(found.values(case, _of_buffer(row, buffer)))
                for buffer in arms.BUFFERS
            }
            for row in (_LARGE_THROUGHPUT, _WAIT)
        )
        if rates["large"].low > rates["small"].high:
            given.append(
                Advice(
                    wish=f"Large {of} are to be fast ({point.load} load, {point.stack}'s TCP)",
                    setting=f"pfifo limit {arms.BUFFERS['large']}",
                    is_typed=True,
                    because=f"Their median throughput is {rates['large'].value:.0f} kbit/s with "
                    f"{arms.BUFFERS['large']} packets and {rates['small'].value:.0f} with "
                    f"{arms.BUFFERS['small']}. The price is the wait: on average "
                    f"{waits['large'].value:.0f} ms instead of {waits['small'].value:.1f} ms.",
                    figure=f"throughput-{workload}-large",
                )
            )
    return given


def _of_buffer(row: _Row, buffer: Buffer) -> Callable[[BufferComparison], float]:
    return lambda of: row.value(getattr(of, buffer))


def summary(judged: Sequence[Judged], sized: AllBuffers | None) -> str:
    """Summarize the verdicts in a paragraph: the main result first, then counts of facts."""
    verdicts = {one.claim.id: one for one in judged}
    said = []
    for workload, flows in (
        ("persistent", "persistent flows"),
        ("closed-loop", "large transfers of users"),
    ):
        for span in (claims.WHOLE, claims.LIGHT):
            one = verdicts.get(f"observation-12-{workload}{span.suffix}")
            if one and one.found.value is not None:
                held = {
                    Verdict.REPRODUCED: "as the source says",
                    Verdict.NOT_REPRODUCED: "not most of them, against what the source says",
                    Verdict.DEPENDS_ON: "but not more than half at every point of the grid",
                }.get(one.verdict, "which is too close to half to decide")
                where = "at the light load" if span is claims.LIGHT else "at the nominal load"
                said.append(
                    f"With 18 packets {100 * one.found.value:.0f} % of the {flows} get less than "
                    f"with 500 {where}, {held}."
                )
                break
    said += [_counted(count) for count in counts_of(views_of(judged))]
    if sized:
        said.append(_who_is_right(sized))
    return " ".join(filter(None, said))


def _counted(count: Count) -> str:
    def of(*verdicts: Verdict) -> int:
        return sum(count.verdicts.get(verdict, 0) for verdict in verdicts)

    good, at_a_point = of(Verdict.REPRODUCED), of(Verdict.EXPLAINED_AT)
    if count.standing is CountedAs.BACKENDS:
        return (
            f"Simulator and Linux kernel agree in {good} of {count.facts} shortened experiments, "
            f"each by {len(claims.AGREEMENT)} numbers."
        )
    bad, depends = of(Verdict.NOT_REPRODUCED, Verdict.NOT_EXPLAINED), of(Verdict.DEPENDS_ON)
    open_, silent = of(Verdict.INCONCLUSIVE), of(Verdict.UNINFORMATIVE, Verdict.NOT_TESTABLE)
    parts = [f"{good} hold wherever they were looked at"]
    parts += [f"{at_a_point} come out at a point of what it leaves open"] if at_a_point else []
    parts += [f"{bad} hold nowhere"] if bad else []
    parts += [f"{depends} depend on what it does not give"] if depends else []
    parts += [f"{open_} would take more runs to decide"] if open_ else []
    parts += [f"{silent} no such run can test"] if silent else []
    return f"Of {count.facts} facts that the source states {', '.join(parts)}."


def _who_is_right(sized: AllBuffers) -> str:
    most = max(cell.flows for cell in sized.arms)
    few, many = (all_buffers.Cell("cubic", most, packets) for packets in arms.BUFFERS.values())
    used = [sized.estimate(cell, "utilization").value for cell in (few, many)]
    lost = [sized.estimate(cell, "loss").value for cell in (few, many)]
    return (
        f"{most} flows of Linux's default TCP use {100 * used[0]:.0f} % of the bottleneck with "
        f"18 packets and {100 * used[1]:.0f} % with 500, and lose {100 * lost[0]:.1f} and "
        f"{100 * lost[1]:.1f} %: the rule for many flows speaks of the first number, "
        "the paper of the second."
    )


def rules() -> ValueTable:
    """Tabulate the two rules at the tree's RTTs, and at the RTTs that give 18 and 500."""
    flows = (1, 90, published.SMALL_FLOWS, 252, published.MANY_FLOWS)
    named = {
        f"T = {rtt} ms (sources {level})": rtt for level, rtt in published.RTT_GROUPS_MS.items()
    }
    named |= {
        f"T = {rtt} ms (sources {level}, delays one way)": rtt
        for level, rtt in published.ONE_WAY_RTT_GROUPS_MS.items()
    }
    named[f"T = {published.LARGE_RTT_MS} ms (gives the source's 500)"] = published.LARGE_RTT_MS
    small = f"T = {published.SMALL_RTT_MS} ms (gives its 18 with {published.SMALL_FLOWS} flows)"
    named[small] = published.SMALL_RTT_MS
    rows = []
    for name, rtt_ms in named.items():
        setting = published.BOTTLENECK_BPS, rtt_ms / 1e3, arms.PACKET_BYTES
        sizes = [many_flows_packets(*setting, count) for count in flows]
        rows.append(ValueRow(name, "packets", [round(size) for size in sizes]))
    columns = [f"N = {count}" if count > 1 else "C T" for count in flows]
    caption = (
        "C T, the rule of thumb, and C T / sqrt(N), the rule for N long flows, with 50 Mbit/s and "
        "packets of 1514 bytes. If one T gave both of the source's buffers it was 121 ms, which "
        "no path has, and there were 772 flows. If the small one came of a mean T of 60 ms, 200 "
        "flows give it; 500 packets are then C T of the sources h2 with delays one way."
    )
    return ValueTable("Buffers by the two rules", columns, rows, caption)


@dataclass(frozen=True, slots=True)
class _Row:
    title: str
    unit: str
    attribute: str
    factor: float = 1.0
    of: str = ""

    def value(self, ran: BufferRun) -> float:
        of = getattr(ran, self.of) if self.of else ran
        return self.factor * float(getattr(of, self.attribute))


_WAIT = _Row("Mean wait", "ms", "mean_wait_ms")
_LARGE_THROUGHPUT = _Row("Large flows, median throughput", "kbit/s", "throughput_kbps", of="large")
_ROWS = (
    _Row("Utilization", "%", "utilization", 100.0),
    _Row("Packets dropped", "%", "drop_share", 100.0),
    _WAIT,
    _Row("Large flows", "1", "flows", of="large"),
    _Row("Small flows", "1", "flows", of="small"),
    _Row("Flows without a duration, left out", "1", "left_out"),
    _LARGE_THROUGHPUT,
    _Row("Small flows, median throughput", "kbit/s", "throughput_kbps", of="small"),
    _Row("Large flows, spread of the throughput", "1", "spread", of="large"),
    _Row("Large flows, median loss by the source's rule", "%", "loss", 100.0, "large"),
    _Row("Large flows, median of packets really dropped", "%", "dropped", 100.0, "large"),
    _Row("Small flows without loss", "%", "without_loss", 100.0, "small"),
    _Row("Small flows, 95th percentile of completion", "s", "late_completion_s", of="small"),
)


def by_experiment(found: Found, points: Sequence[Point]) -> Iterator[ValueTable]:
    """Tabulate results of the four experiments at some points."""
    for point in points:
        setups = [
            Setup(Case(point, workload), buffer)
            for workload in arms.WORKLOADS
            for buffer in arms.BUFFERS
        ]
        setups = [setup for setup in setups if setup.case in found.results]
        columns = [
            f"{setup.case.workload}, {arms.BUFFERS[setup.buffer]} packets" for setup in setups
        ]
        rows = [
            ValueRow(row.title, row.unit, [_mean(found, setup, row) for setup in setups])
            for row in _ROWS
        ]
        caption = (
            f"{NOTHING_SAMPLED} Means of {found.n} runs, and half of their 95 % intervals, with "
            f"{_tcp(point)}, {_load(point)}."
        )
        title = f"The four experiments, {point.stack}'s TCP, {point.load} load"
        yield ValueTable(title, columns, rows, caption)


def _mean(found: Found, setup: Setup, row: _Row) -> Cell:
    def value(of: BufferComparison) -> float:
        return row.value(getattr(of, setup.buffer))

    values = found.values(setup.case, value)
    return Cell.of(student_interval(values) if np.isfinite(values).all() else None)


def over_the_grid(found: Found) -> ValueTable:
    """Tabulate every direction at every point of the grid that was run."""
    points = _points(found)
    rows = []
    for of in claims.OBSERVATIONS:
        cells, held = [], set()
        for place, point in enumerate(points):
            decision = claims.decide_at(of, point, found)
            if decision is None:
                cells.append(Cell())
                continue
            at = decision.found
            cells.append(Cell(at.value, at.low, at.high))
            if decision.verdict is Verdict.REPRODUCED:
                held.add(place)
        rows.append(ValueRow(of.id, of.rule.unit, cells, frozenset(held), is_code=True))
    caption = (
        f"{NOTHING_SAMPLED} What each claim is about, over {found.n} runs at each point, with "
        "half of the 95 % interval that its rule looks at. Bold: it holds there; a dash: it is not "
        "about this point. What is about a difference (utilization, delay, loss) is that one."
    )
    return ValueTable("Directions over the grid", list(map(_point, points)), rows, caption)


def levels_over_the_grid(found: Found) -> ValueTable:
    """Tabulate printed values, and what one run would print at each grid point."""
    points = _points(found)
    rows = []
    for workload, experiment in printed_levels.EXPERIMENTS.items():
        printed = [experiment.levels(platform) for platform in published.PLATFORMS]
        for field, told in experiment.told.items():
            cells = [Cell.of(levels.get(field)) for levels in printed]
            for point in points:
                case = Case(point, workload)
                values = experiment.values(found, case, field) if case in found.results else None
                if values is None or not np.isfinite(values).all():
                    cells.append(Cell())
                    continue
                cells.append(Cell.of(predict(values, told.law, _PREDICTED)))
            rows.append(ValueRow(f"{told.name}, {workload}", "1", cells))
    columns = [*(f"printed, {platform}" for platform in published.PLATFORMS), *map(_point, points)]
    caption = (
        f"{NOTHING_SAMPLED} Shares. What one run would print at each point, and half of the "
        f"{100 * _PREDICTED:.0f} % interval in which it lies, from {found.n} runs. Whether one "
        "point gives all levels of an experiment is judged above."
    )
    return ValueTable("Printed levels over the grid", columns, rows, caption, is_folded=True)


def _points(found: Found) -> list[Point]:
    return list(dict.fromkeys(case.point for case in found.arms))


def _tcp(point: Point) -> str:
    return {
        "testbed": "Linux's CUBIC (SACK, initial window 10)",
        "ns-2": "NewReno without SACK (initial window 2, an acknowledgement a packet)",
    }[point.stack]


def _load(point: Point) -> str:
    persistent = arms.PERSISTENT_PER_HOST[point.load]
    users = arms.USERS_PER_HOST[point.load]
    return f"{persistent} persistent flows and {users} users on each of {point.hosts} source nodes"


def _point(point: Point) -> str:
    parts: list[str] = [point.stack, point.load]
    if point.hosts != published.SOURCES:
        parts.append(f"{point.hosts} nodes")
    if point.tail != Point().tail:
        parts.append(f"tail {point.tail:g}")
    return ", ".join(parts)


def notes(found: Found | None, *, interrupted: bool) -> list[str]:
    """Return interpretations of the source, pitfalls and limitations."""
    said = [
        "The tree: the text says that there are 18 source nodes, and the picture is of a balanced "
        "binary tree, which has 2 + 4 + 8 = 14. Taken: 18, with three h3 below each h2; 14 is a "
        "point of the grid.",
        "The buffers: 500 packets are a bandwidth-delay product at 121 ms. The delays printed give "
        "round-trip times of 34, 234 and 534 ms, and 534 ms a product of over 2200 packets; "
        "a netem at one end of each link makes them 17, 117 and 267 ms, and 117 ms give 483. "
        "18 are 500 over the root of 772 flows if one T gave both, or C T of 60 ms over the root "
        "of 200. Taken: 500 and 18 packets as they stand, and on the grid up to 774 flows.",
        "The delays: tc qdisc replace dev IFACE root pfifo on target2 takes away a netem that "
        "stood at the root there, so that on the testbed the 5 ms between target2 and target1 may "
        "have been missing in one direction during the runs. Taken: all delays are there.",
        "How many flows, the sizes of mice and transfers, thinking times, and the congestion "
        "control are not given. Ours: 772 persistent flows are what B = CT/sqrt(N) needs to turn "
        "500 into 18 packets; a third and a ninth of that are the other loads. Users ask for about "
        "a half, once and twice the bottleneck. Mice: two a second from each node, 15 kB on "
        "average. Transfers: 30 kB on average, thinking 1 s. Sizes follow Pareto's law with shape "
        "1.2, or 1.5 at points of the grid.",
        "Two readings of TCP: the testbed's is what a Linux host does by default (CUBIC, initial "
        "window 10, SACK); ns-2's is NewReno without SACK, with an initial window of 2 and a least "
        "timeout of 1 s. The levels that the testbed prints are compared with the points with the "
        "first, the paper's against those with the second.",
        "Loss by the source's rule: retransmissions over packets in a capture behind the "
        "bottleneck. Dropped packets are never in such a capture. Here a packet counts whose "
        "payload was sent before and which arrived; no queue behind the bottleneck loses any. "
        "tshark calls some retransmissions out of order, so its flag shows at most this. What was "
        "really dropped stands beside it.",
        "Throughput is that of the source's capture: bits of a flow's packets over the time from "
        "its first to its last packet. Flows of which fewer than two packets arrived have no "
        "duration; they are counted and left out.",
        "Not the same flows are compared: '80 % do better' is the quantile at which the two CDFs "
        "cross. Both buffers see the same arrivals of mice.",
    ]
    if found:
        points = _points(found)
        said.append(
            f"{found.n} replications of each of {len(found.arms)} cases at {len(points)} points, "
            f"{published.DURATION_S:g} s each as the source's, from empty."
        )
        if len(points) < len(arms.GRID):
            said.append(
                "Only the light load was run: a ninth of 772 flows, or users who ask for half the "
                "bottleneck. What is printed, and what depends on the load, takes the full preset."
            )
    if interrupted:
        said.insert(0, "Interrupted: only the parts that had finished are here.")
    return said
