"""Figures of a capture's flows over time: throughput, retransmissions, RTT and windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from dumbbell.metrics.captured import CapturedFlows
from dumbbell.metrics.captured_over_time import (
    NS_PER_S,
    CapturedOverTime,
    Spread,
    captured_over_time,
)
from dumbbell.report import theme
from dumbbell.report.model import Figure
from dumbbell.tables import Run

MOST_CURVES = 6
"""Maximum number of flows drawn: more colours cannot be distinguished."""
MOST_POINTS = 240
"""Maximum points of a curve; shared among the panels."""
FEWEST_POINTS = 60
_RATE_POINTS = 120
"""Maximum points of a throughput curve: shorter intervals would show single packets."""
_PANEL_HEIGHT = 150
_LOGARITHMIC_FROM = 4
"""If windows exceed most values of the data in flight by this factor, the axis is logarithmic."""
_MARK_ROOM = 0.07
"""Height of a row of marks, as a share of the highest rate."""
_DIGITS = 6
_IN_FLIGHT, _WINDOW = "in flight", "window offered"
_TABLE = "captured_intervals"
_MEANS = "Lines are means of an interval, bands its extremes."


@dataclass(frozen=True, eq=False)
class SeenPlace:
    """A place of a capture, and the flows seen there.

    Attributes:
        label: Name on the page.
        run: The capture.
        queue: Index of the queue or interface.
        place: Its code.
        flows: The flows, each in the direction that carried more bytes.
        flow_names: Of all flows of the capture.
    """

    label: str
    run: Run
    queue: int
    place: int
    flows: CapturedFlows
    flow_names: Sequence[str]

    def name_of(self, row: int) -> str:
        """Return the name of a flow."""
        return self.flow_names[int(self.flows.flow[row])]

    def over_time(self, row: int, width_s: float) -> CapturedOverTime | None:
        """Return a flow in intervals of at least this width; None if the flow was not tracked."""
        if _TABLE not in self.run.tables:
            return None
        return captured_over_time(
            self.run,
            self.queue,
            self.place,
            int(self.flows.flow[row]),
            is_reply=bool(self.flows.is_reply[row]),
            connection=int(self.flows.connection[row]),
            least_width_s=width_s,
        )

    @property
    def is_tcp(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return which flows are TCP: the loss of other flows is unknown."""
        return ~np.isnan(self.flows.loss_by_flag)

    def names(self, *, is_tcp_only: bool) -> list[str]:
        """Return the names of the flows; loss is known for TCP flows only."""
        kept = self.is_tcp | (not is_tcp_only)
        return [self.name_of(row) for row in np.flatnonzero(kept).tolist()]

    @property
    def span_s(self) -> float:
        """Return the time covered by the intervals, from the first packet."""
        if not self.followed:
            return 0.0
        table = self.run.columns(_TABLE)
        here = (table["queue"] == self.queue) & (table["place"] == self.place)
        end = table["begin_ns"][here] + table["width_ns"][here]
        return float(end.max()) / NS_PER_S

    @cached_property
    def followed(self) -> list[int]:
        """Return the rows of the flows that were tracked, the largest first."""
        if _TABLE not in self.run.tables:
            return []
        table = self.run.columns(_TABLE)
        here = (table["queue"] == self.queue) & (table["place"] == self.place)
        keys = zip(table["flow"][here].tolist(), table["connection"][here].tolist(), strict=True)
        known = set(keys)
        pairs = zip(self.flows.flow.tolist(), self.flows.connection.tolist(), strict=True)
        rows = [row for row, pair in enumerate(pairs) if pair in known]
        return sorted(rows, key=lambda row: -int(self.flows.bytes[row]))


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A flow drawn in a panel."""

    panel: str
    flow: str
    found: CapturedOverTime


def figures_over_time(places: Sequence[SeenPlace]) -> list[Figure]:
    """Throughput, round trips and windows of the largest flows, a panel a place.

    Flows that were not tracked have no figure: a CSV of fields has no table of intervals, and a
    flow that is not TCP has no RTT samples.
    """
    most = max(FEWEST_POINTS, MOST_POINTS // max(1, len(places)))
    span_s = max((seen.span_s for seen in places), default=0.0)
    width_s, rate_width_s = span_s / most, span_s / min(most, _RATE_POINTS)
    figures = [
        _throughput(_drawn(places, rate_width_s, lambda _: True), places),
        _round_trips(_drawn(places, width_s, lambda found: found.round_trip_s.is_known), places),
        _windows(_drawn(places, width_s, _has_window), places),
    ]
    return [figure for figure in figures if figure is not None]


def without_replies(places: Sequence[SeenPlace]) -> list[str]:
    """Return a sentence for each place where TCP was captured in one direction only."""
    notes = []
    for seen in places:
        tcp = [row for row in seen.followed if seen.is_tcp[row]]
        followed = (seen.over_time(row, 0.0) for row in tcp)
        if tcp and not any(each and _has_replies(each) for each in followed):
            notes.append(
                f"{seen.label}: one direction was captured, without acknowledgements: there are no "
                "round trips, bytes in flight or windows."
            )
    return notes


def _has_replies(found: CapturedOverTime) -> bool:
    return found.round_trip_s.is_known or _has_window(found)


def not_followed(places: Sequence[SeenPlace]) -> list[str]:
    """Return a sentence for each place where tracking of one of the largest flows stopped."""
    notes = []
    for seen in places:
        if _TABLE not in seen.run.tables:
            continue
        followed = set(seen.followed)
        order = (-seen.flows.bytes).argsort(kind="stable")[:MOST_CURVES].tolist()
        lost = sum(place not in followed for place in order)
        if lost:
            notes.append(
                f"{seen.label}: {lost} of the {len(order)} largest flows are not among those that "
                "are followed over time: they were given up while others had more bytes, "
                "altogether and of late."
            )
    return notes


def _has_window(found: CapturedOverTime) -> bool:
    return found.in_flight_bytes.is_known or found.window_bytes.is_known


def _drawn(
    places: Sequence[SeenPlace], width_s: float, has: Callable[[CapturedOverTime], bool]
) -> list[_Drawn]:
    """Choose flows with data: round-robin over places, largest first, one per colour."""
    candidates = [
        [
            _Drawn(seen.label, seen.name_of(row), found)
            for row in seen.followed[: 4 * MOST_CURVES]
            if (found := seen.over_time(row, width_s)) is not None and has(found)
        ]
        for seen in places
    ]
    names: dict[str, None] = {}
    for rank in range(max(map(len, candidates), default=0)):
        for each in candidates:
            if rank < len(each) and len(names) < MOST_CURVES:
                names.setdefault(each[rank].flow)
    return [one for each in candidates for one in each if one.flow in names]


def _throughput(drawn: Sequence[_Drawn], places: Sequence[SeenPlace]) -> Figure | None:
    if not drawn:
        return None
    names = _names(drawn)
    top = max(float(each.found.rate_bps.max()) for each in drawn) / 1e6
    frames = []
    for each in drawn:
        again = each.found.sent_again_pkts
        # Rows of marks above the curves, one row per flow, so that marks do not overlap.
        height = top * (1.06 + _MARK_ROOM * names.index(each.flow))
        frame = _frame(each, "rate", each.found.rate_bps / 1e6).with_columns(
            pl.Series("sent_again_pkts", again),
            pl.Series("flagged_pkts", each.found.retransmission_pkts),
            pl.Series("mark", np.where(again > 0, height, np.nan)).fill_nan(None),
        )
        frames.append(frame)
    frame = _rounded(pl.concat(frames))
    x, colour = _time(), _colour(names, symbol="stroke")
    highest = top * (1.06 + _MARK_ROOM * len(names))
    scale = alt.Scale(nice=False, domain=[0, highest or 1])
    y = alt.Y("value:Q", title="Rate (Mbit/s)", scale=scale)
    tooltip = [
        *_tooltip("value", "Mbit/s"),
        alt.Tooltip("sent_again_pkts:Q", title="sent again or late"),
        alt.Tooltip("flagged_pkts:Q", title="flagged by Wireshark's rule"),
    ]
    base = alt.Chart(frame)
    marks = (
        base.transform_filter("isValid(datum.mark)")
        .mark_tick(orient="vertical", size=9, thickness=1.5, opacity=1, clip=True)
        .encode(
            x=x, y=alt.Y("mark:Q", title="Rate (Mbit/s)"), color=_colour(names), tooltip=tooltip
        )
    )
    layers = [
        base.mark_line(clip=True, strokeWidth=1.6).encode(x=x, y=y, color=colour),
        *_single(frame, base, x, y, colour),
        *([marks] if frame["mark"].null_count() < frame.height else []),
        _hover(base).encode(x=x, y=y, tooltip=tooltip),
    ]
    repairs = sum(float(each.found.sent_again_pkts.sum()) for each in drawn)
    ticks = (
        "Ticks above the curves: segments that were sent again, or late, in that interval."
        if repairs
        else "No segment of theirs was sent again or came late."
    )
    return Figure(
        "throughput-over-time",
        *_plot(layers, frame, places, drawn),
        caption=f"{_which(drawn, places)} {ticks}".strip(),
        title="Throughput over time, and what was sent again",
    )


def _round_trips(drawn: Sequence[_Drawn], places: Sequence[SeenPlace]) -> Figure | None:
    if not drawn:
        return None
    frame = _rounded(
        pl.concat([_spread(each, "round trip", each.found.round_trip_s, 1e3) for each in drawn])
    )
    y_title = "Round trip (ms)"
    layers = _spreads(frame, y_title, _names(drawn), alt.Scale(zero=False, nice=True))
    return Figure(
        "round-trips-over-time",
        *_plot(layers, frame, places, drawn),
        caption=(
            "From a segment to the acknowledgement of its end, as seen at the place: the way from "
            "there to the receiver and back. None from what may answer a repair (Karn's "
            f"algorithm). {_MEANS} {_which(drawn, places, is_tcp_only=True)}"
        ),
        title="Round trips over time",
    )


def _windows(drawn: Sequence[_Drawn], places: Sequence[SeenPlace]) -> Figure | None:
    if not drawn:
        return None
    frames = []
    for each in drawn:
        frames.append(_spread(each, _IN_FLIGHT, each.found.in_flight_bytes, 1e-3))
        frames.append(_spread(each, _WINDOW, each.found.window_bytes, 1e-3))
    frame = _rounded(pl.concat(frames))
    is_log, frame, closed = _for_axis(frame)
    scale = alt.Scale(type="log", nice=False, padding=6) if is_log else alt.Scale(nice=True)
    axis = _tens(frame) if is_log else alt.Undefined
    whats = [what for what in (_IN_FLIGHT, _WINDOW) if (frame["what"] == what).any()]
    layers = _spreads(frame, "kB", _names(drawn), scale, axis=axis, dashes=whats)
    unscaled = sum(
        each.found.window_bytes.is_known and not each.found.is_window_scaled for each in drawn
    )
    caption = (
        "Bytes sent and not acknowledged, and the window that the receiver offers. "
        f"{_MEANS} {_which(drawn, places, is_tcp_only=True)}"
    )
    if unscaled:
        caption += (
            f" Of {unscaled} of the curves the handshake is not in the capture: their windows are "
            "as they stand in the header, and may be larger by a power of two."
        )
    if closed:
        caption += " Zero is drawn at the bottom."
    return Figure(
        "windows-over-time",
        *_plot(layers, frame, places, drawn),
        caption=caption,
        title="Bytes in flight and window offered",
    )


def _for_axis(frame: pl.DataFrame) -> tuple[bool, pl.DataFrame, bool]:
    """Return whether the axis is logarithmic, the frame to draw, and whether a zero was moved."""
    flight = frame.filter(pl.col("what") == _IN_FLIGHT)["high"].to_numpy()
    window = frame.filter(pl.col("what") == _WINDOW)["high"].to_numpy()
    if not flight.size or not window.size:
        return False, frame, False
    if window.max() <= _LOGARITHMIC_FROM * np.percentile(flight, 90):
        return False, frame, False
    levels = pl.col(_LEVELS)
    positive = frame.select(pl.when(levels > 0).then(levels)).min().row(0)
    bottom = min(value for value in positive if value is not None) / 2
    closed = bool((frame["low"].to_numpy() <= 0).any())
    return True, frame.with_columns(pl.max_horizontal(each, bottom) for each in _LEVELS), closed


def _tens(frame: pl.DataFrame) -> alt.Axis:
    """Return powers of ten as ticks, with ticks between them where there are few powers."""
    low, high = frame.select(pl.col("low").min(), pl.col("high").max()).row(0)
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    between = (1,) if len(decades) > 4 else (1, 3)
    values = [each * 10.0**decade for decade in decades for each in between]
    return alt.Axis(values=[value for value in values if low <= value <= high], format=",~g")


_LEVELS = ("value", "low", "high")
_CURVE = ("panel", "flow", "what")


def _frame(each: _Drawn, what: str, values: np.ndarray[Any, Any]) -> pl.DataFrame:
    columns = pl.DataFrame({"t_s": each.found.t_s, "value": values})
    names = {"panel": each.panel, "flow": each.flow, "what": what}
    return columns.select(*(pl.lit(value).alias(key) for key, value in names.items()), pl.all())


def _spread(each: _Drawn, what: str, values: Spread, factor: float) -> pl.DataFrame:
    frame = _frame(each, what, values.mean * factor).with_columns(
        pl.Series("low", values.low * factor), pl.Series("high", values.high * factor)
    )
    return frame.filter(pl.col("value").is_not_nan())


def _rounded(frame: pl.DataFrame) -> pl.DataFrame:
    """Round to the visible digits, which keeps the page small."""
    return frame.with_columns(pl.col(pl.Float64).round_sig_figs(_DIGITS))


def _single(
    frame: pl.DataFrame, base: alt.Chart, x: alt.X, y: alt.Y, colour: alt.Color
) -> list[alt.Chart]:
    """Draw curves of a single interval as dots, because a line needs two points."""
    if not frame.select((pl.len().over(_CURVE) == 1).any()).item():
        return []
    counted = base.transform_joinaggregate(points="count()", groupby=list(_CURVE))
    alone = counted.transform_filter("datum.points == 1")
    return [alone.mark_point(size=30, opacity=1, clip=True).encode(x=x, y=y, color=colour)]


def _spreads(
    frame: pl.DataFrame,
    y_title: str,
    names: Sequence[str],
    scale: alt.Scale,
    *,
    axis: Any = alt.Undefined,
    dashes: Sequence[str] = (),
) -> list[alt.Chart]:
    """Draw means as lines, with bands from minimum to maximum and tooltips."""
    x, base = _time(), alt.Chart(frame)
    y = alt.Y("value:Q", title=y_title, scale=scale, axis=axis)
    colour = _colour(names, symbol="stroke")
    dash: Any = alt.Undefined
    if len(dashes) > 1:
        dash = alt.StrokeDash(
            "what:N",
            title=None,
            sort=None,
            scale=alt.Scale(domain=list(dashes), range=[list(each) for each in theme.DASHES[:2]]),
        ).legend(symbolStrokeColor=theme.BLACK, symbolType="stroke")
    band = base.mark_area(clip=True).encode(
        x=x, y=alt.Y("low:Q", title=y_title), y2="high:Q", color=colour, detail="what:N"
    )
    line = base.mark_line(clip=True, strokeWidth=1.6).encode(
        x=x, y=y, color=colour, strokeDash=dash, detail="what:N"
    )
    tooltip = [
        alt.Tooltip("what:N", title="what"),
        *_tooltip("value", "mean"),
        alt.Tooltip("low:Q", title="least", format=",.4~g"),
        alt.Tooltip("high:Q", title="greatest", format=",.4~g"),
    ]
    dots = _single(frame, base, x, y, colour)
    return [band, line, *dots, _hover(base).encode(x=x, y=y, tooltip=tooltip)]


def _time() -> alt.X:
    return alt.X("t_s:Q", title="Time (s)", scale=alt.Scale(nice=False))


def _colour(names: Sequence[str], symbol: str | None = None) -> alt.Color:
    scale = alt.Scale(domain=list(names), range=list(theme.SERIES[: len(names)]))
    colour = alt.Color("flow:N", title="Flow", sort=None, scale=scale)
    # Names of flows are long: list one below the other, on a phone too.
    return colour.legend(symbolType=symbol, columns=1, labelLimit=560) if symbol else colour


def _tooltip(column: str, title: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("flow:N", title="flow"),
        alt.Tooltip("t_s:Q", title="s", format=",.4~g"),
        alt.Tooltip(f"{column}:Q", title=title, format=",.4~g"),
    ]


def _hover(base: alt.Chart) -> alt.Chart:
    points: alt.Chart = base.mark_point(size=160, opacity=0, clip=True)
    return points


def _plot(
    layers: Sequence[alt.Chart],
    frame: pl.DataFrame,
    places: Sequence[SeenPlace],
    drawn: Sequence[_Drawn],
) -> tuple[alt.LayerChart | alt.FacetChart, pl.DataFrame]:
    """Combine the layers into one chart, or into one panel per place with common axes."""
    panels = list(dict.fromkeys(each.panel for each in drawn))
    if len(places) == 1:
        layered = alt.layer(layers[0].add_params(theme.zoom("x")), *layers[1:])
        sized = layered.properties(width=theme.FIGURE_WIDTH, height=theme.FIGURE_HEIGHT)
        return sized, frame.drop("panel")
    layered = alt.layer(*layers).properties(width=theme.FIGURE_WIDTH, height=_PANEL_HEIGHT)
    header = alt.Header(labelAngle=0, labelOrient="top", labelAnchor="start", labelFontSize=12)
    row = alt.Row("panel:N", title=None, sort=panels, header=header)
    return layered.facet(row=row), frame


def _names(drawn: Sequence[_Drawn]) -> list[str]:
    return list(dict.fromkeys(each.flow for each in drawn))


def _which(
    drawn: Sequence[_Drawn], places: Sequence[SeenPlace], *, is_tcp_only: bool = False
) -> str:
    """State which flows are drawn and which are not."""
    shown = len(_names(drawn))
    total = len({name for seen in places for name in seen.names(is_tcp_only=is_tcp_only)})
    direction = "each in the direction that carried more bytes"
    over_tcp = " over TCP" if is_tcp_only else ""
    if total <= shown:
        return f"All {shown} flows{over_tcp}, {direction}." if shown > 1 else ""
    which = f"The {shown} largest of {total} flows{over_tcp}"
    if not_followed(places):
        which = f"{shown} of {total} flows{over_tcp}, the largest of those that are followed"
    return f"{which}, {direction}; {_TABLE}.parquet has up to 128."
