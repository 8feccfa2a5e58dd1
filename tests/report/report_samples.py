"""A realistic report, made of numbers drawn here: no simulator is needed to test a page."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from report_topologies import MULTIPLEXED, SEPARATE, tc_words
from scipy.special import stdtrit

from dumbbell.claims import (
    Amendment,
    Claim,
    Curves,
    Family,
    Fitted,
    Grid,
    GridPoint,
    Judged,
    Origin,
    Pairing,
    Runs,
    Side,
    Sides,
    Stated,
    judge,
    not_testable,
)
from dumbbell.claims.rules import (
    Agreement,
    Calibration,
    Check,
    CountedAs,
    Direction,
    Equals,
    Equivalent,
    Explained,
    Level,
    Ordering,
    Preview,
    Published,
    Rule,
    Share,
    Shortfall,
    Supremum,
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

SOURCE = (
    "Fund, 'Reproducing: one fast queue or many slow ones' statistical multiplexing experiment "
    "(witestlab blog, 2016)"
)
THEOREM = "Bertsekas and Gallager, Data Networks, 2nd ed., example 3.9"


def runs(centre: float, sd: float, n: int = 40) -> Runs:
    """Runs of exactly that mean and standard deviation."""
    x = np.linspace(-1.0, 1.0, n)
    return Runs(centre + sd * x / x.std(ddof=1))


def mean(value: float, half_width: float, n: int = 40) -> Runs:
    """Runs whose mean has that interval at 95 %."""
    return runs(value, half_width * np.sqrt(n) / stdtrit(n - 1, 0.975), n)


def prediction(value: float, half_width: float, n: int = 40) -> Runs:
    """Runs of which one more lies in that interval with 95 %."""
    return runs(value, half_width / np.sqrt(1 + 1 / n) / stdtrit(n - 1, 0.975), n)


def claim(name: str, statement: str, rule: Rule[Any], **more: Any) -> Claim[Any]:
    source = THEOREM if rule.standing is CountedAs.THEORY else SOURCE
    return Claim(id=name, statement=statement, source=source, rule=rule, **more)


def printed(value: float, rounding: float = 0.05) -> Published:
    return Published(printed=value, rounding=rounding, unit="ms")


def tiny_claim() -> Judged:
    """With numbers as long as they are ever printed."""
    rule = Equals(value=-1.23456e-5, margin=0.8, unit="1")
    return judge(claim("tiny", "A tiny number.", rule), mean(-1.23456789e-5, 1.2e-9))


def realistic_claims() -> list[Judged]:
    sojourn = claim(
        "sm-sojourn",
        "The mean time in the system with one fast queue is 1/(μ − λ).",
        Equals(value=41.423, margin=0.8, unit="ms"),
    )
    factor = claim(
        "factor-2",
        "Two slow queues keep a packet twice as long as one fast queue.",
        Equals(value=2.0, margin=0.05, unit="1"),
    )
    ratio = claim(
        "published-ratio",
        "The mean delay with one fast queue is 0.546 of the mean delay with two slow ones "
        "(printed as a per cent).",
        Published(printed=0.546, rounding=0.0005, unit="1"),
        beside=(Stated(0.5, Origin.THEORY),),
    )
    upper = claim(
        "published-p75",
        "The 75th percentile of the round trip time with one fast queue is 15.6 ms.",
        printed(15.6),
    )
    largest = claim(
        "published-max",
        "The largest round trip time with two slow queues is 193 ms.",
        printed(193.0, 0.5),
        amended=Amendment("2026-05-02", "the rounding of print was forgotten"),
    )
    left = claim(
        "left-of",
        "The delay CDF of one fast queue lies left of that of two slow queues everywhere above "
        "the base round trip time.",
        Ordering(over="above the base RTT", unit="1"),
    )
    same_n = claim(
        "same-n",
        "The number of packets per queue is the same in both arrangements.",
        Equivalent(margin=0.5, unit="packets"),
    )
    grid = claim(
        "quartiles-grid",
        "The published quartiles follow from the published parameters.",
        Direction(at_each=printed(15.6), grid="load, base RTT"),
    )
    queue_cdf = claim(
        "queue-length-published",
        "The queue-length CDF the text asks for is the same for every queue.",
        Equivalent(margin=0.5, unit="packets"),
    )
    points = [
        GridPoint({"load": load, "base RTT (ms)": base}, prediction(centre, half_width))
        for load, base, centre, half_width in [
            (0.98, 1.0, 160.0, 40.0),
            (0.98, 2.0, 161.0, 40.0),
            (0.75, 1.0, 15.9, 3.8),
            (0.75, 2.0, 16.9, 3.8),
        ]
    ]
    steps = np.linspace(-0.2, 0.2, 40)[:, None]
    return [
        judge(sojourn, mean(41.37, 0.31)),
        judge(factor, mean(2.021, 0.047)),
        judge(ratio, prediction(0.507, 0.1)),
        judge(
            upper,
            prediction(163.0, 36.0),
            note="At the nominal load the queue is nearly saturated: headers and fragments count.",
        ),
        judge(largest, prediction(812.0, 660.0)),
        judge(left, Curves(np.array([0.29, 0.4, 0.32]) + steps)),
        judge(same_n, mean(0.04, 0.22)),
        judge(grid, Grid(points)),
        not_testable(queue_cdf, "The text announces this figure but does not print it."),
    ]


def further_claims() -> list[Judged]:
    """What else a page can hold: a family, facts of several rows, what counts nowhere."""
    family = [
        claim(
            f"factor-m{m}",
            f"With m = {m} streams separate queues are slower by the factor m.",
            Equals(value=float(m), margin=0.02 * m, unit="1"),
            family=Family("factor", "Separate queues are slower by the factor m.", f"m = {m}"),
        )
        for m in (2, 4, 8, 16)
    ]
    found = [2.005, 3.99, 8.6, 16.05]
    levels = Explained(
        levels={"p25": Level(printed=2.5, reading=0.05), "p75": Level(printed=15.6, reading=0.05)},
        grid="load",
        unit="ms",
    )
    at_load = [
        GridPoint({"load": load}, {"p25": prediction(a, 0.4), "p75": prediction(b, 2.0)})
        for load, a, b in ((0.7, 2.1, 12.0), (0.75, 2.6, 15.4), (0.98, 20.0, 163.0))
    ]
    most = Share.most("the flows")
    bucket = Check(
        value=0.0, because="tokens are counted", unit="bytes", side=Side.AT_MOST, tolerance=4.0
    )
    shortfall = Shortfall(what="run length", ours=20.0, published=150.0, unit="s")
    at_rest = Supremum(bound=125000.0, packet=1514.0, unit="bytes")
    fitted = Calibration(
        parameter="load", unit="packets/s", used="the six printed quartiles", nominal=110.0
    )
    elsewhere = Published(printed=14.9, rounding=0.05, unit="ms", origin=Origin.ELSEWHERE)
    sides = Sides(runs(10.1, 0.2, 6).values, runs(10.0, 0.3, 6).values, Pairing.INDEPENDENT)
    agree = Agreement.of_delays_ms(0.02)
    return [
        *(
            judge(each, mean(value, 0.01 * value))
            for each, value in zip(family, found, strict=True)
        ),
        judge(claim("levels", "Both printed quartiles come from one load.", levels), Grid(at_load)),
        judge(claim("most", "Most flows are faster with one fast queue.", most), mean(0.7, 0.05)),
        judge(claim("full", "A full bucket is emptied to the last packet.", at_rest),
              Runs([125000.0] * 6)),
        judge(claim("testbed", "The median on a testbed.", elsewhere), prediction(15.2, 1.0)),
        judge(claim("backends", "Simulator and kernel agree on the mean delay.", agree), sides,
              backend="kernel"),
        judge(claim("drops", "One packet of a hundred is dropped.", printed(20.0), fact="loss"),
              prediction(20.4, 2.0)),
        judge(claim("again", "One packet of a hundred is sent again.", printed(20.0), fact="loss"),
              prediction(20.5, 2.0)),
        judge(claim("short", "The delay of a long run.",
                    Preview(of=printed(20.0), shortfalls=(shortfall,))), prediction(26.0, 2.0)),
        judge(claim("fit", "The load that explains the quartiles.", fitted),
              Fitted(92.0, 90.5, 93.5, n=200, p_value=0.3)),
        judge(claim("bucket", "A bucket never gives more than it holds.", bucket),
              Runs([-3.0, 0.0, -9.0])),
    ]  # fmt: skip


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
