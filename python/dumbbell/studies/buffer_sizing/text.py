"""What the page says in words and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dumbbell.claims.legacy import Judged, Verdict
from dumbbell.report import ValueRow, ValueTable
from dumbbell.stats import student_interval
from dumbbell.studies.buffer_sizing import arms, published
from dumbbell.studies.buffer_sizing.all_buffers import AllBuffers
from dumbbell.studies.buffer_sizing.arms import Point
from dumbbell.studies.buffer_sizing.campaigns import Found
from dumbbell.studies.buffer_sizing.judging import Verdicts
from dumbbell.theory import many_flows_packets

_MARK = {
    Verdict.REPRODUCED: "",
    Verdict.NOT_REPRODUCED: " ✗",
    Verdict.INCONCLUSIVE: " ?",
    Verdict.UNINFORMATIVE: " ~",
    Verdict.NOT_TESTABLE: "",
    Verdict.DEPENDS_ON: "",
}


def summary(
    verdicts: Sequence[Verdicts],
    sized: AllBuffers | None,
    agreement: Sequence[Judged],
) -> str:
    """Who was right, in a paragraph."""
    by_id = {each.whole.claim.id: each for each in verdicts}
    numbers = sorted({name.split("-")[1] for name in by_id if name.startswith("observation-")})
    holding = [number for number in numbers if _all_hold(by_id, number)]
    said = []
    if numbers:
        said.append(
            f"{len(holding)} of {len(numbers)} observations hold over the whole grid of what the "
            f"source does not give{_listed(holding)}."
        )
    depends = [each.whole for each in verdicts if each.whole.verdict is Verdict.DEPENDS_ON]
    if depends:
        on = dict.fromkeys(
            name for one in depends for name in (one.depends_on or "").split(" and ")
        )
        said.append(
            f"{len(depends)} of {len(verdicts)} claims depend on what the source does not give "
            f"({', '.join(on)})."
        )
    twelve = by_id.get("observation-12")
    if twelve and twelve.whole.measured is not None:
        said.append(
            "With 18 packets most large flows get less "
            f"({twelve.whole.measured:.0%} at the nominal point)."
        )
    if sized:
        said.append(_who_is_right(sized))
    if agreement:
        good = sum(one.verdict is Verdict.REPRODUCED for one in agreement)
        said.append(
            f"Simulator and Linux kernel agree in {good} of {len(agreement)} comparisons of "
            "shortened runs."
        )
    return " ".join(said)


def _all_hold(by_id: Mapping[str, Verdicts], number: str) -> bool:
    of = [each for name, each in by_id.items() if name.split("-")[1:2] == [number]]
    return all(each.whole.verdict is Verdict.REPRODUCED for each in of)


def _listed(numbers: Sequence[str]) -> str:
    return f" ({', '.join(str(int(number)) for number in numbers)})" if numbers else ""


def _who_is_right(sized: AllBuffers) -> str:
    most = max(sized.wanted.flows)
    few, many = (
        {name: sized.mean(("cubic", most, packets), name) for name in ("utilization", "loss")}
        for packets in arms.BUFFERS.values()
    )
    return (
        f"{most} CUBIC flows use {few['utilization']:.0%} of the bottleneck with 18 packets and "
        f"{many['utilization']:.0%} with 500, and lose {few['loss']:.1%} and {many['loss']:.1%}: "
        "the rule for many flows speaks of the first number, the paper of the second."
    )


def rules() -> ValueTable:
    """The two rules at the round-trip times of the tree."""
    flows = (1, 90, 252, published.MANY_FLOWS)
    rows = []
    named = {
        f"T = {rtt} ms (sources {level})": rtt for level, rtt in published.RTT_GROUPS_MS.items()
    }
    named[f"T = {published.LARGE_RTT_MS} ms (gives the source's 500)"] = published.LARGE_RTT_MS
    for name, rtt_ms in named.items():
        setting = published.BOTTLENECK_BPS, rtt_ms / 1e3, arms.PACKET_BYTES
        sizes = [many_flows_packets(*setting, count) for count in flows]
        rows.append(ValueRow(name, "packets", [f"{size:.0f}" for size in sizes]))
    columns = [f"N = {count}" if count > 1 else "C T" for count in flows]
    caption = (
        "C T, the rule of thumb, and C T / sqrt(N), the rule for N long flows, with 50 Mbit/s and "
        "packets of 1514 bytes."
    )
    return ValueTable("Buffers by the two rules", columns, rows, caption)


def by_experiment(found: Mapping[Point, Found]) -> Iterator[ValueTable]:
    """What happened in the four experiments at the nominal points."""
    rows = (
        ("Utilization", "%", "utilization", 100.0, 1),
        ("Packets dropped", "%", "drop ratio", 100.0, 2),
        ("Mean wait", "ms", "mean wait ms", 1.0, 2),
        ("Flows with a duration", "1", "flows", 1.0, 0),
        ("Flows without one, left out", "1", "flows without duration", 1.0, 0),
        ("Large flows, median throughput", "kbit/s", "large throughput", 1.0, 0),
        ("Small flows, median throughput", "kbit/s", "small throughput", 1.0, 0),
        ("Large flows, median loss by the source's rule", "%", "large loss", 100.0, 2),
        ("Large flows, median of packets really dropped", "%", "large dropped", 100.0, 2),
        ("Small flows without loss", "%", "small without loss", 100.0, 0),
    )
    for point, of in found.items():
        if point != Point(point.stack):
            continue
        columns = [
            f"{workload}, {packets} packets"
            for workload in arms.WORKLOADS
            for packets in arms.BUFFERS.values()
        ]
        values = []
        for title, unit, quantity, factor, digits in rows:
            names = [
                f"{workload} {buffer} {quantity}"
                for workload in arms.WORKLOADS
                for buffer in arms.BUFFERS
            ]
            cells = [_with_half_width(of, name, factor, digits) for name in names]
            values.append(ValueRow(title, unit, cells))
        caption = (
            f"Means of {of.n} runs, and half of their 95 % intervals, with {_tcp(point)}, "
            f"{_load(point)}."
        )
        yield ValueTable(f"The four experiments, {point.stack}'s TCP", columns, values, caption)


def over_the_grid(verdicts: Sequence[Verdicts], found: Mapping[Point, Found]) -> ValueTable:
    """Every claim at every point of the grid."""
    points = list(found)
    rows = []
    for each in verdicts:
        stated = each.whole.claim.published
        cells, held = ["–" if stated is None else f"{stated:g}"], set()
        for point in points:
            one = each.points.get(point)
            if one is None or one.measured is None:
                cells.append("–")
                continue
            cells.append(f"{one.measured:.3g}{_MARK[one.verdict]}")
            if one.verdict is Verdict.REPRODUCED:
                held.add(len(cells) - 1)
        rows.append(ValueRow(each.whole.claim.id, each.whole.claim.unit, cells, frozenset(held)))
    caption = (
        "What was published, and what was measured at each point. Bold: reproduced there; ✗ not; "
        "? the runs do not decide; ~ one run says too little; – this point does not speak to it."
    )
    columns = ["published", *(_point(each) for each in points)]
    return ValueTable("Over the grid", columns, rows, caption)


def intervals_over_the_grid(
    verdicts: Sequence[Verdicts], found: Mapping[Point, Found]
) -> ValueTable:
    """The interval behind every mark of `over_the_grid`, folded below it."""
    points = list(found)
    rows = [
        ValueRow(
            each.whole.claim.id,
            each.whole.claim.unit,
            [_interval(each.points.get(point)) for point in points],
        )
        for each in verdicts
    ]
    caption = (
        "With 95 %, over the runs of a point: the interval of a mean or a ratio; of a greatest "
        "loss (observation 9), that in which one more run's would lie; of an ordering, the "
        "simultaneous band of the smallest difference."
    )
    title = "The intervals behind the table"
    return ValueTable(title, [_point(each) for each in points], rows, caption, is_folded=True)


def _interval(one: Judged | None) -> str:
    if one is None or one.low is None or one.high is None:
        return "–"
    return f"{one.low:.3g} to {one.high:.3g}"


def _with_half_width(found: Found, name: str, factor: float, digits: int) -> str:
    values = found.values.get(name)
    if values is None or not np.isfinite(values).all():
        return "–"
    of = student_interval(factor * values)
    return f"{of.value:.{digits}f} ± {of.half_width:.{digits}f}"


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


def notes(*, replications: int, duration_s: float, interrupted: bool) -> list[str]:
    """Readings taken, traps, limitations."""
    said = [
        "The tree: the text says that there are 18 source nodes, and the picture is of a balanced "
        "binary tree, which has 2 + 4 + 8 = 14. Taken: 18, with three h3 below each h2; 14 is a "
        "point of the grid.",
        "The buffers: 500 packets are a bandwidth-delay product at 121 ms. The delays printed give "
        "round-trip times of 34, 234 and 534 ms, and 534 ms a product of over 2200 packets. Taken: "
        "500 and 18 packets as they stand.",
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
        "timeout of 1 s. Numbers on which testbed and paper disagree (2, 4, 5, 7, 9) are judged "
        "each with its own.",
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
        f"{replications} replications a point of the grid, {duration_s:g} s each"
        + (
            "."
            if duration_s == published.DURATION_S
            else f"; the source's {published.DURATION_S} s in the full preset. Of such short runs "
            "the greatest losses (observation 9) are not judged: in a longer run they are greater."
        ),
    ]
    if interrupted:
        said.insert(0, "Interrupted: only the parts that had finished are here.")
    return said
