"""A realistic report, made of numbers drawn here: no simulator is needed to test a page."""

from __future__ import annotations

import numpy as np
import polars as pl
from report_topologies import MULTIPLEXED, SEPARATE, tc_words

from dumbbell.claims.legacy import (
    Claim,
    GridPoint,
    Judged,
    Kind,
    judge_free_parameters,
    judge_hardly_matters,
    judge_ordering,
    judge_published_number,
    judge_theory_equals,
    not_testable,
)
from dumbbell.report.charts import (
    Curve,
    IntervalRow,
    Sample,
    ecdf_chart,
    line_with_band,
    points_with_interval,
)
from dumbbell.report.model import Figure, LoadRow, Report
from dumbbell.report.topology import Topology
from dumbbell.stats import Band, Estimate, IntervalKind

SOURCE = (
    "Fund, 'Reproducing: one fast queue or many slow ones' statistical multiplexing experiment "
    "(witestlab blog, 2016)"
)
THEOREM = "Bertsekas and Gallager, Data Networks, 2nd ed., example 3.9"


def mean(value: float, half_width: float, n: int = 40) -> Estimate:
    return Estimate(value, value - half_width, value + half_width, 0.95, n, IntervalKind.MEAN)


def prediction(value: float, low: float, high: float, n: int = 40) -> Estimate:
    return Estimate(value, low, high, 0.95, n, IntervalKind.PREDICTION)


def tiny_claim() -> Judged:
    """With numbers as long as they are ever printed."""
    claim = Claim(
        "tiny", "A tiny number.", THEOREM, Kind.THEORY_EQUALS, "1", theory=-1.23456e-5, margin=0.8
    )
    return judge_theory_equals(claim, mean(-1.23456789e-5, 1.2e-9))


def band(values: list[float], half_width: float) -> Band:
    value = np.array(values)
    return Band(np.arange(value.size), value, value - half_width, value + half_width, 0.95, 40, 2.8)


def realistic_claims() -> list[Judged]:
    sojourn = Claim(
        "sm-sojourn",
        "The mean time in the system with one fast queue is 1/(μ − λ).",
        THEOREM,
        Kind.THEORY_EQUALS,
        "ms",
        theory=41.423,
        margin=0.8,
    )
    factor = Claim(
        "factor-2",
        "Two slow queues keep a packet twice as long as one fast queue.",
        THEOREM,
        Kind.THEORY_EQUALS,
        "1",
        theory=2.0,
        margin=0.05,
    )
    ratio = Claim(
        "published-ratio",
        "The mean delay with one fast queue is 0.546 of the mean delay with two slow ones "
        "(printed as a per cent).",
        SOURCE,
        Kind.PUBLISHED_NUMBER,
        "1",
        published=0.546,
        theory=0.5,
    )
    upper = Claim(
        "published-p75",
        "The 75th percentile of the round trip time with one fast queue is 15.6 ms.",
        SOURCE,
        Kind.PUBLISHED_NUMBER,
        "ms",
        published=15.6,
    )
    largest = Claim(
        "published-max",
        "The largest round trip time with two slow queues is 193 ms.",
        SOURCE,
        Kind.PUBLISHED_NUMBER,
        "ms",
        published=193.0,
    )
    left = Claim(
        "left-of",
        "The delay CDF of one fast queue lies left of that of two slow queues everywhere above "
        "the base round trip time.",
        SOURCE,
        Kind.ORDERING,
        "1",
    )
    same_n = Claim(
        "same-n",
        "The number of packets per queue is the same in both arrangements.",
        SOURCE,
        Kind.HARDLY_MATTERS,
        "packets",
        margin=0.5,
    )
    grid = Claim(
        "quartiles-grid",
        "The published quartiles follow from the published parameters.",
        SOURCE,
        Kind.FREE_PARAMETERS,
        "ms",
    )
    queue_cdf = Claim(
        "queue-length-published",
        "The queue-length CDF the text asks for is the same for every queue.",
        SOURCE,
        Kind.HARDLY_MATTERS,
        "packets",
    )
    points = [
        GridPoint(
            {"load": load, "base RTT (ms)": base},
            judge_published_number(upper, prediction(centre, low, high)),
        )
        for load, base, centre, low, high in [
            (0.98, 1.0, 160.0, 120.0, 200.0),
            (0.98, 2.0, 161.0, 121.0, 201.0),
            (0.75, 1.0, 15.9, 12.0, 19.7),
            (0.75, 2.0, 16.9, 13.0, 20.7),
        ]
    ]
    return [
        judge_theory_equals(sojourn, mean(41.37, 0.31)),
        judge_theory_equals(factor, mean(2.021, 0.047)),
        judge_published_number(ratio, prediction(0.507, 0.41, 0.61)),
        judge_published_number(
            upper,
            prediction(163.0, 128.0, 201.0),
            note="At the nominal load the queue is nearly saturated: headers and fragments count.",
        ),
        judge_published_number(largest, prediction(812.0, 310.0, 1650.0)),
        judge_ordering(left, band([0.09, 0.2, 0.12], 0.045)),
        judge_hardly_matters(same_n, mean(0.04, 0.22)),
        judge_free_parameters(grid, points),
        not_testable(queue_cdf, "The text announces this figure but does not print it."),
    ]


def rtt_figure(pings: int = 1000) -> Figure:
    generator = np.random.default_rng(2016)
    samples = [
        Sample(kind, sender, 1.3 + generator.exponential(scale, pings))
        for kind, scale in (("SM", 9.5), ("TDM", 19.5))
        for sender in ("1", "2")
    ]
    x = np.linspace(1.3, 120.0, 300)
    theory = [Curve("theory (M/G/1)", x, 1 - np.exp(-(x - 1.3) / scale)) for scale in (9.5, 19.5)]
    plot = ecdf_chart(samples, x_title="Round trip time (ms)", theory=theory, x_max=120)
    return Figure(
        "rtt-cdf",
        *plot,
        caption="Round trip times of 1000 pings per sender: one fast queue (SM) is left of two "
        "slow ones (TDM), and theory runs through both.",
        title="Delay",
    )


def factor_figure() -> Figure:
    m = np.array([2, 4, 8, 16])
    band = [Curve("measured", m, m * 1.005, m * 0.96, m * 1.05)]
    plot = line_with_band(
        band,
        x_title="Number of streams m",
        y_title="Mean delay, TDM over SM",
        theory=[Curve("theory: m", m, m)],
        published=[Curve("published (1 / 0.546)", [2], [1 / 0.546])],
        log_x=True,
    )
    return Figure(
        "factor", *plot, caption="The factor between the two arrangements grows as the number "
        "of streams. The band is a simultaneous 95 % interval.", title="How much faster"
    )  # fmt: skip


def dots_figure() -> Figure:
    rows = [
        IntervalRow("SM, 25th percentile", 2.9, 2.3, 3.4, 2.52),
        IntervalRow("SM, median", 7.9, 7.0, 8.8, 7.595, 7.885),
        IntervalRow("SM, 75th percentile", 14.5, 12.6, 16.3, 15.6, 14.47),
        IntervalRow("TDM, 25th percentile", 6.9, 5.4, 8.3, 3.38),
        IntervalRow("TDM, median", 14.8, 12.9, 16.9, 13.9, 14.82),
        IntervalRow("TDM, 75th percentile", 28.3, 24.4, 32.1, 30.4, 28.3),
    ]
    plot = points_with_interval(rows, x_title="Round trip time (ms)")
    return Figure("quartiles", *plot, caption="Published quartiles on the prediction interval "
                  "of one run as published.", title="Published quartiles")  # fmt: skip


def realistic_report(**changes: object) -> Report:
    fields: dict[str, object] = {
        "study": "statistical-multiplexing",
        "title": "One fast queue or many slow ones?",
        "summary": "One fast queue, as theory says: it is twice as fast as two slow queues. The "
        "published ratio agrees; the published quartiles do not follow from the published load, "
        "because headers and fragments bring the queues to a utilization of 0.98.",
        "source": SOURCE,
        "source_url": "https://witestlab.poly.edu/blog/",
        "topologies": [
            Topology.from_resolved("SM: one queue of 1 Mbit/s", MULTIPLEXED, tc_words()),
            Topology.from_resolved("TDM: two queues of 500 kbit/s", SEPARATE, tc_words()),
        ],
        "judged": realistic_claims(),
        "figures": [rtt_figure(), factor_figure(), dots_figure()],
        "loads": [
            LoadRow(
                "sender-1 → receiver-1 (SM)",
                0.45056,
                0.48904,
                "Mbit/s",
                "8 + 20 bytes of headers, 14 of Ethernet, fragments above 1472 B",
            ),
            LoadRow("packets created by sender-1", 110.0, 110.06, "packets/s"),
            LoadRow("utilization of router→receiver-1 (SM)", 0.901, 0.978, "1", "pings count too"),
        ],
        "commands": {
            "SM": [
                ("router", "tc qdisc replace dev eth2 root netem rate 1000kbit"),
                ("receiver-1", "ITGRecv"),
                ("sender-1", "ITGSend -a receiver-1 -E 110 -e 512 -T UDP -t 600000"),
                ("sender-1", "ping -i 0.2 -c 1000 receiver-1 | tee pingtimes.txt"),
                ("sender-2", "ITGSend -a receiver-1 -E 110 -e 512 -T UDP -t 600000"),
            ],
            "TDM": [
                ("router", "tc qdisc replace dev eth2 root netem rate 500kbit"),
                ("router", "tc qdisc replace dev eth3 root netem rate 500kbit"),
            ],
        },
        "notes": [
            "“N times the service rate” in the source should be Little's law, T = N/λ.",
            "The base round trip time of the testbed is not given; 1.3 ms is our reading.",
        ],
        "meta": {
            "seed": 2016,
            "version": "0.1.0",
            "digest": "9f2c71b04d6e8a3395c0f1d2e4b5a697",
            "origin": "simulated",
            "spec": MULTIPLEXED,
        },
        "provenance": {"wall_time_s": 4.213, "host": "laptop", "date": "2026-05-09", "cpus": 2},
        "tables": {
            "queues": {"queue": np.array([0, 1], dtype=np.int32), "busy_s": np.array([1.5, 0.2])},
            "probes": pl.DataFrame({"probe": [0, 0], "seq": [1, 2], "rtt_ns": [2_520_000, -1]}),
        },
        "files": {"pingtimes-1-sm.csv": "1,SM,1,2.520\n"},
    }
    return Report(**(fields | changes))  # type: ignore[arg-type]
