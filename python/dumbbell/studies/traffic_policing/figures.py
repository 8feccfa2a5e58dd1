"""The study's figures: the source's three, and the sweeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import polars as pl

from dumbbell.metrics.ccperf import TcpSeries, tcp_series
from dumbbell.report import Curve, Figure, Sample, ecdf_chart, line_with_band
from dumbbell.report.palette import MAGENTA
from dumbbell.report.theme import BLACK
from dumbbell.studies.traffic_policing import arms, published
from dumbbell.studies.traffic_policing.measures import EnsembleRun, Floats
from dumbbell.studies.traffic_policing.published import BASE_RTT_MS, QUEUE_PKTS, RATE_MBPS, STOP_S
from dumbbell.tables import Run

HEADERS_BYTES = 54
"""IP's 20, TCP's 32 with timestamps, PPP's 2."""
OPTIMUM_MBPS = (
    (RATE_MBPS + 8e-6 * arms.POLICE_BURST_BYTES / STOP_S)
    * (arms.PACKET_BYTES - HEADERS_BYTES)
    / arms.PACKET_BYTES
)
"""Payload of all tokens of a run, including the initially full bucket: the maximum of any flow."""
CLIFF_S = 4.0
"""Time shown in the figure of the beginning."""
_NOMINAL = {"burst": 125.0, "rate": RATE_MBPS, "rtt": BASE_RTT_MS}
"""Value of the published run by sweep, in the axis's unit."""
SIMULATOR, KERNEL = "simulator", "Linux kernel"
"""Styles: results that differ only in backend have the same colour."""
Runs = Mapping[tuple[str, str], Run]
"""Runs by (controller, style); the style is empty for the simulator."""


def _series(runs: Runs) -> dict[tuple[str, str], TcpSeries]:
    return {label: tcp_series(run, arms.FLOW) for label, run in runs.items()}


def _in_flight_pkts(of: TcpSeries) -> Floats:
    return of.in_flight_pkts


def _srtt_ms(of: TcpSeries) -> Floats:
    return of.srtt_ms


def _throughput_mbps(of: TcpSeries) -> Floats:
    return of.throughput_mbps


def over_time(runs: Runs) -> list[Figure]:
    """Draw packets in flight, smoothed RTT and throughput against time."""
    series = _series(runs)
    made = []
    for name, title, y_title, pick, row, caption in (
        (
            "in-flight",
            "Segments in flight",
            "Segments in flight",
            _in_flight_pkts,
            "mean_in_flight_l4",
            "Slow start runs into the empty bucket in the first second; then every one "
            "fills the queue of 20 packets and loses some, over and over, but BBR, which finds the "
            "policing rate and keeps the queue short.",
        ),
        (
            "srtt",
            "Smoothed round-trip time",
            "Smoothed RTT (ms)",
            _srtt_ms,
            "mean_srtt_l4",
            "15 ms while there are tokens, then what the queue adds: 20 packets at 4 Mbit/s are "
            "60 ms.",
        ),
        (
            "throughput",
            "Throughput",
            "Throughput (Mbit/s)",
            _throughput_mbps,
            "mean_throughput_l4",
            "The cliff: what the full bucket let through in the first intervals, then the policing "
            "rate; a timeout shows as a gap.",
        ),
    ):
        curves = []
        for (label, style), each in series.items():
            values = pick(each)
            known = np.isfinite(values)
            curves.append(Curve(label, each.t_s[known], values[known], style=style or SIMULATOR))
        level = published.VALUES[row]
        plot = line_with_band(
            curves,
            x_title="Time (s)",
            y_title=y_title,
            theory=[Curve(f"published mean {level:g}", [0.0, STOP_S], [level, level])],
            points=False,
        )
        text = f"{caption} Samples every 100 ms; the thin line is the mean that the source prints."
        made.append(
            Figure(f"{name}-over-time", *plot, text, title=title, family="The whole run over time")
        )
    return made


def cliff(runs: Runs) -> Figure:
    """Draw the first seconds of the first flow: packets in flight, and the path's capacity."""
    (label, style), run = next(iter(runs.items()))
    of = tcp_series(run, arms.FLOW)
    shown = np.isfinite(of.in_flight_pkts) & (of.t_s <= CLIFF_S)
    room_pkts = QUEUE_PKTS + 1e3 * RATE_MBPS * BASE_RTT_MS / 8 / arms.PACKET_BYTES
    mean = published.VALUES["mean_in_flight_l4"]
    plot = line_with_band(
        [Curve(label, of.t_s[shown], of.in_flight_pkts[shown], style=style or SIMULATOR)],
        x_title="Time (s)",
        y_title="Segments in flight",
        theory=[
            Curve(f"line and queue hold {room_pkts:.0f}", [0.0, CLIFF_S], [room_pkts] * 2),
            Curve(f"published mean of 15 s: {mean:g}", [0.0, CLIFF_S], [mean] * 2),
        ],
        points=False,
    )
    caption = (
        "While the bucket has tokens the flow goes on at the peak rate and slow start doubles its "
        "window. When it is empty the line is suddenly much slower and most of the window does "
        "not fit: that is the cliff. From then on the window swings around what the line and "
        f"the queue of {QUEUE_PKTS} packets hold."
    )
    return Figure("cliff", *plot, caption, title="The cliff")


def operating_points(ran: Mapping[tuple[str, str], EnsembleRun]) -> Figure:
    """Draw mean throughput against mean smoothed RTT, per flow and joint.

    Args:
        ran: Ensemble members by (controller, style).
    """
    rows = [
        {
            "what": label,
            "where": style or SIMULATOR,
            "kind": kind,
            "srtt_ms": float(x),
            "throughput_mbps": float(y),
        }
        for (label, style), of in ran.items()
        for kind, across, up in (
            ("flow, one run", of.row("mean_srtt_l4"), of.row("mean_throughput_l4")),
            (
                "joint, mean of the runs",
                [of.row("mean_flow_srtt_l4").mean()],
                [of.row("agg_throughput_l4").mean()],
            ),
        )
        for x, y in zip(across, up, strict=True)
    ]
    frame = pl.DataFrame(rows)
    printed = pl.DataFrame(
        {
            "srtt_ms": [published.VALUES["mean_srtt_l4"]],
            "throughput_mbps": [published.VALUES["mean_throughput_l4"]],
            "what": ["published"],
        }
    )
    optimum = pl.DataFrame({"srtt_ms": [BASE_RTT_MS], "throughput_mbps": [OPTIMUM_MBPS]})
    x = alt.X("srtt_ms:Q", title="Mean smoothed RTT (ms)", scale=alt.Scale(zero=False, padding=20))
    y = alt.Y(
        "throughput_mbps:Q",
        title="Mean throughput (Mbit/s)",
        scale=alt.Scale(zero=False, padding=20),
    )
    tooltip = [
        alt.Tooltip("what:N", title="flow"),
        alt.Tooltip("where:N"),
        alt.Tooltip("kind:N", title="point"),
        alt.Tooltip("srtt_ms:Q", format=".2f"),
        alt.Tooltip("throughput_mbps:Q", format=".3f"),
    ]
    colour = alt.Color("what:N", title=None, sort=None)
    scale = alt.Scale(domain=[SIMULATOR, KERNEL], range=["circle", "square"])
    shape = alt.Shape("where:N", title=None, sort=None, scale=scale)
    single = alt.Chart(frame.filter(pl.col("kind") == "flow, one run"))
    joint = alt.Chart(frame.filter(pl.col("kind") != "flow, one run"))
    star = alt.Chart(optimum).mark_point(shape=_STAR, size=260, filled=True, color=MAGENTA.light)
    chart = alt.layer(
        single.mark_point(opacity=0.45, size=40).encode(
            x=x, y=y, color=colour, shape=shape, tooltip=tooltip
        ),
        joint.mark_point(size=220, filled=False, strokeWidth=2.5).encode(
            x=x, y=y, color=colour, shape=shape, tooltip=tooltip
        ),
        star.encode(x=x, y=y),
        alt.Chart(printed)
        .mark_point(shape="diamond", size=160, filled=True, color=BLACK, opacity=1)
        .encode(x=x, y=y),
        alt.Chart(printed)
        .mark_text(align="left", dx=9, fontSize=12, color=BLACK)
        .encode(x=x, y=y, text="what:N"),
    )
    caption = (
        "Each small mark is a run of the ensemble; each large one the joint operating point "
        "(aggregate throughput, mean smoothed RTT over the flows; with one flow the mean of its "
        "runs). The diamond is what the source prints, the magenta star the "
        "optimum: the payload of all tokens, no queue. All use the tokens; they differ in the "
        "queue they keep."
    )
    title = "Operating point"
    return Figure("operating-point", chart, frame, caption, title=title)


_STAR = (
    "M0,-1L0.2245,-0.309L0.9511,-0.309L0.3633,0.118L0.5878,0.809L0,0.382L-0.5878,0.809"
    "L-0.3633,0.118L-0.9511,-0.309L-0.2245,-0.309Z"
)


def distributions(runs: Runs) -> list[Figure]:
    """Draw the distribution functions of throughput and smoothed RTT."""
    series = _series(runs)
    made = []
    for name, title, x_title, pick, x_max in (
        (
            "throughput-ecdf",
            "Distribution of the throughput",
            "Throughput (Mbit/s)",
            _throughput_mbps,
            8.0,
        ),
        (
            "srtt-ecdf",
            "Distribution of the smoothed RTT",
            "Smoothed RTT (ms)",
            _srtt_ms,
            None,
        ),
    ):
        samples = [
            Sample(label, style or SIMULATOR, pick(each)[np.isfinite(pick(each))])
            for (label, style), each in series.items()
        ]
        plot = ecdf_chart(
            samples, x_title=x_title, colour_title="Controller", dash_title="Where", x_max=x_max
        )
        caption = "Over the samples of the run with the source's own settings, every 100 ms."
        made.append(Figure(name, *plot, caption, title=title, family="How often which value"))
    return made


def sweep(of: arms.Sweep, by_arm: Mapping[str, Sequence[EnsembleRun]]) -> list[Figure]:
    """Draw losses and utilization against a parameter.

    Args:
        of: The sweep.
        by_arm: Members at each value by arm.
    """
    made = []
    for row, short, y_title, title in (
        (_LOSSES, "retransmissions", "Segments sent again", "Losses"),
        (_USE, "utilization", "Throughput over policing rate", "Utilization"),
    ):
        curves = []
        for label, points in by_arm.items():
            at = [each.row(row) for each in points]
            middle, low, high = (
                [edge(each) for each in at] for edge in (np.median, np.min, np.max)
            )
            curves.append(Curve(label, of.x, middle, low, high))
        printed = Curve("published", [_NOMINAL[of.name]], [_PRINTED[row]])
        plot = line_with_band(
            curves,
            x_title=f"{of.quantity} ({of.unit})",
            y_title=y_title,
            published=[printed],
            log_x=True,
        )
        caption = f"{_CAPTIONS[of.name, row]} {_BAND}"
        made.append(
            Figure(
                f"{short}-against-{of.name}",
                *plot,
                caption,
                title=f"{title} against the {of.quantity.lower()}",
                family="What the bucket's burst, its rate and the path's length do",
            )
        )
    return made


_BAND = "Median and range of runs of 15 s that differ by jitter."
_LOSSES, _USE = "total_retransmissions_l4", "mean_utilization_policing_bw_l4"
_PRINTED = {
    _LOSSES: published.VALUES[_LOSSES],
    _USE: published.VALUES["mean_throughput_l4"] / RATE_MBPS,
}
_CAPTIONS = {
    ("burst", _LOSSES): "The longer the tokens last, the larger the window when they run out: up "
    "to some 100 kB every controller loses more. Beyond, slow start has ended by itself, but BBR "
    "still takes the peak rate for the bandwidth.",
    ("burst", _USE): "A large bucket lifts a flow of 15 s above the policing rate: the burst alone "
    "is 8 burst / 15 s. What it costs in losses stands in the other figure.",
    ("rate", _LOSSES): "The queue holds 20 packets whatever the rate: 60 ms at 4 Mbit/s and "
    "3.75 ms at 64 Mbit/s. BBR, which keeps two bandwidth-delay products under way when it probes, "
    "loses ever more.",
    ("rate", _USE): "At 1 and 2 Mbit/s the full bucket counts for much of what 15 s let through. "
    "At 64 Mbit/s the queue is a sixth of a bandwidth-delay product, and halving the window "
    "empties it.",
    ("rtt", _LOSSES): "The queue holds 20 packets, 60 ms, whatever the path: the longer it is, the "
    "more of what BBR keeps under way does not fit.",
    ("rtt", _USE): "Up to 120 ms (two queues) over nine tenths are used; at 240 ms the cliff's "
    "losses leave a window that 15 s are too short to grow from.",
}
