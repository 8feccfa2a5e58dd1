"""The study's figures: the source's CDFs, completion times, and the loss-throughput law."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np
import polars as pl
from numpy.typing import NDArray

from dumbbell.report import Curve, Figure, Sample, ecdf_chart, line_with_band, theme
from dumbbell.studies.buffer_sizing import arms, published
from dumbbell.studies.buffer_sizing.arms import Buffer, Setup, Workload
from dumbbell.studies.buffer_sizing.measures import (
    SIZES,
    Flows,
    Found,
    Size,
    by_the_law_kbps,
    under_the_law,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DrawnFlows:
    """The flows of the first replications of the cases drawn.

    Attributes:
        flows: Flows of each run's replications.
        length_s: Length of a run, for the captions.
    """

    flows: Mapping[Setup, Sequence[Flows]]
    length_s: float

    @classmethod
    def of(cls, found: Found, length_s: float) -> DrawnFlows:
        """Return the stored flows."""
        flows = {
            Setup(case, buffer): [each.flows[buffer] for each in found.of(case) if each.flows]
            for case in found.arms
            for buffer in arms.BUFFERS
        }
        return cls({setup: of for setup, of in flows.items() if of}, length_s)

    @property
    def words(self) -> str:
        """Return a description of a curve."""
        runs = max(map(len, self.flows.values()), default=0)
        loads = dict.fromkeys(setup.case.point.load for setup in self.flows)
        return (
            f"Flows of {runs} runs of {self.length_s:g} s together, at the {' and '.join(loads)} "
            "load."
        )


LABELS: Mapping[Buffer, str] = {
    "small": f"{published.SMALL_PACKETS} packets",
    "large": f"{published.LARGE_PACKETS} packets",
}
_WIDTHS = (1.5, 3.0)
"""Line widths: the larger buffer's lines are thicker, to be distinguishable in print."""
_CDF_END = 0.97
"""Quantile at which the axis of a CDF ends: the highest values would compress the rest."""
_DRAWN = 1500
"""Maximum points of a scatter plot."""
_BINS = 12
_LEAST_OF_A_BIN = 20
"""Minimum transfers in a bin: the median of fewer is unreliable."""


def _pooled(flows: Sequence[Flows], quantity: str, size: Size) -> Floats:
    parts = [getattr(each, quantity)[each.of(size)] for each in flows]
    values: Floats = np.concatenate(parts)
    return values[np.isfinite(values)]


def distributions(drawn: DrawnFlows) -> Iterator[Figure]:
    """Draw CDFs of throughput and loss, by workload and size, like the source's four figures."""
    for workload, words in arms.WORKLOADS.items():
        for quantity, factor, x_title, what in (
            ("throughput_kbps", 1.0, "Throughput (kbit/s)", "Throughput"),
            ("loss", 100.0, "Loss by the source's rule (%)", "Loss"),
        ):
            for size in SIZES:
                pooled = {
                    setup: factor * _pooled(of, quantity, size)
                    for setup, of in drawn.flows.items()
                    if setup.case.workload == workload
                }
                samples = [
                    Sample(LABELS[setup.buffer], setup.case.point.stack, values)
                    for setup, values in pooled.items()
                    if values.size
                ]
                if not samples:
                    continue
                everything = np.concatenate([np.ravel(each.values) for each in samples])
                plot = ecdf_chart(
                    samples,
                    x_title=x_title,
                    colour_title="Buffer",
                    dash_title="TCP",
                    published=_printed(what, workload, size),
                    x_max=float(np.quantile(everything, _CDF_END)) or None,
                    widths=_WIDTHS,
                )
                caption = (
                    f"{_CAPTIONS[what, workload, size]} The axis ends where {100 * _CDF_END:g} % "
                    f"of all flows do. {drawn.words}"
                )
                yield Figure(
                    f"{what.lower()}-{workload}-{size}",
                    *plot,
                    caption,
                    title=f"{what} of {size} flows",
                    family=f"{words[0].upper()}{words[1:]}: distributions with both buffers",
                )


def _printed(what: str, workload: Workload, size: Size) -> list[Curve]:
    """Return a printed level that is a point of a distribution: shares without any loss.

    The other printed levels compare two distributions ("80 % do better") and are only in the
    claims.
    """
    if what != "Loss":
        return []
    shares: dict[Buffer, float] = {}
    if workload == "persistent" and size == "small":
        levels = published.PERSISTENT["testbed"]
        shares = {
            "small": levels.small_without_loss_small,
            "large": levels.small_without_loss_large,
        }
    elif workload == "closed-loop" and size == "large":
        shares = {"large": published.CLOSED_LOOP["testbed"].large_without_loss_large}
    made = [Curve(LABELS[buffer], [0.0], [share]) for buffer, share in shares.items()]
    if workload == "persistent" and size == "large":
        # "2 % to 4 %": taken as the median.
        loss = published.PERSISTENT["testbed"].large_loss
        made.append(Curve(LABELS["large"], [100 * loss], [0.5]))
    return made


_CAPTIONS = {
    ("Throughput", "persistent", "large"): "With the small buffer the flows of one base round-trip "
    "time get nearly the same: steps at 34, 234 and 534 ms.",
    ("Throughput", "persistent", "small"): "Mice: where the curve of the small buffer is on the "
    "right, they do better with it, because they do not wait in a long queue.",
    ("Loss", "persistent", "large"): "Retransmissions over packets behind the bottleneck. The "
    "diamond is the middle of the 2 % to 4 % that the source reports.",
    ("Loss", "persistent", "small"): "The jump at 0 is the share of mice without any loss; "
    "diamonds are the shares that the source reports.",
    ("Throughput", "closed-loop", "large"): "Transfers of more than 100 kB, by users who think "
    "between transfers.",
    ("Throughput", "closed-loop", "small"): "A transfer of a few packets takes its round trips: a "
    "throughput is the size over those.",
    (
        "Loss",
        "closed-loop",
        "large",
    ): "A load that thinks backs off: users wait for their transfers. The diamond is the share of "
    "flows without loss that the source reports.",
    (
        "Loss",
        "closed-loop",
        "small",
    ): "A transfer of five packets that loses one shows a fifth or a "
    "sixth: by this rule short transfers reach the large values that the source reports.",
}


def completions(drawn: DrawnFlows) -> Iterator[Figure]:
    """Draw median completion time and slowdown of users' transfers by size."""
    for quantity, y_title, title, caption in (
        (
            "completion_s",
            "Median completion time (s)",
            "Completion time by size",
            "What a user waits for. Up to the initial window a transfer takes its handshake and "
            "one round trip; beyond, losses decide.",
        ),
        (
            "slowdown",
            "Median slowdown",
            "Slowdown by size",
            "Completion time over the least that the path allows: a handshake, the way there, and "
            "the payload at 50 Mbit/s.",
        ),
    ):
        by_size = {
            setup: _by_size(of, quantity)
            for setup, of in drawn.flows.items()
            if setup.case.workload == "closed-loop"
        }
        curves = [
            Curve(LABELS[setup.buffer], x, y, style=setup.case.point.stack)
            for setup, (x, y) in by_size.items()
            if x.size
        ]
        if curves:
            plot = line_with_band(
                curves,
                x_title="Size of the transfer (bytes)",
                y_title=y_title,
                colour_title="Buffer",
                style_title="TCP",
                log_x=True,
                log_y=True,
                widths=_WIDTHS,
            )
            name = f"{quantity.removesuffix('_s')}-by-size"
            said = (
                f"{caption} {drawn.words} Sizes of which fewer than {_LEAST_OF_A_BIN} transfers "
                "were completed are left out."
            )
            yield Figure(name, *plot, said, title=title, family="What users wait for, by size")


def _by_size(flows: Sequence[Flows], quantity: str) -> tuple[Floats, Floats]:
    """Return the median of a quantity in bins of equal width in log size."""
    sizes = np.concatenate([each.bytes for each in flows]).astype(float)
    values = np.concatenate([getattr(each, quantity) for each in flows])
    known = np.isfinite(values) & (sizes > 0)
    sizes, values = sizes[known], values[known]
    if not sizes.size:
        return sizes, values
    edges = np.geomspace(sizes.min(), sizes.max() * 1.001, _BINS + 1)
    bins = np.digitize(sizes, edges) - 1
    filled = [at for at in range(_BINS) if (bins == at).sum() >= _LEAST_OF_A_BIN]
    x = np.array([np.exp(np.log(sizes[bins == at]).mean()) for at in filled])
    y = np.array([np.median(values[bins == at]) for at in filled])
    return x, y


def law_of_losses(drawn: DrawnFlows) -> Figure | None:
    """Draw throughput of persistent flows against R = 0.87/(T sqrt(p)) with each flow's loss."""
    rows = []
    ends: list[float] = []
    for setup, of in drawn.flows.items():
        if setup.case.workload != "persistent":
            continue
        for each in of[:1]:
            these = under_the_law(each)
            predicted = by_the_law_kbps(each, these)
            ends += predicted.tolist()
            rows += [
                {
                    "predicted_kbps": float(x),
                    "throughput_kbps": float(y),
                    "base_rtt": f"{1e3 * rtt:.0f} ms",
                    "what": f"{LABELS[setup.buffer]}, {setup.case.point.stack}",
                }
                for x, y, rtt in zip(
                    predicted,
                    each.throughput_kbps[these],
                    each.base_rtt_s[these],
                    strict=True,
                )
            ]
    if not rows:
        return None
    frame = pl.DataFrame(rows[:: max(1, len(rows) // _DRAWN)])
    ends = [min(ends), max(ends)]
    diagonal = pl.DataFrame({"predicted_kbps": ends, "throughput_kbps": ends})
    log = alt.Scale(type="log")
    x = alt.X("predicted_kbps:Q", title="0.87 packets / (T sqrt p) (kbit/s)", scale=log)
    y = alt.Y("throughput_kbps:Q", title="Throughput (kbit/s)", scale=log)
    points = (
        alt.Chart(frame)
        .mark_point(opacity=0.6, size=25)
        .encode(
            x=x,
            y=y,
            color=alt.Color("what:N", title=None, sort=None, legend=alt.Legend(columns=2)),
            shape=alt.Shape("base_rtt:N", title="Base RTT", sort=None),
            tooltip=[
                alt.Tooltip("what:N"),
                alt.Tooltip("base_rtt:N"),
                alt.Tooltip("predicted_kbps:Q", format=".0f"),
                alt.Tooltip("throughput_kbps:Q", format=".0f"),
            ],
        )
    )
    chart = alt.layer(points, alt.Chart(diagonal).mark_line(color=theme.BLACK).encode(x=x, y=y))
    caption = (
        "Each point is a persistent flow of one run, p its own dropped packets, and T its base "
        "round-trip time and the mean wait at the bottleneck. On the line the law holds. Where "
        "losses leave windows of two or three packets, timeouts decide, which the law does not "
        "have; and p counts packets where the law counts events of loss."
    )
    return Figure("law-of-losses", chart, frame, caption, title="The square-root law")
