"""Pictures of the story's runs, for a page without JavaScript and for an overview."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from dumbbell.lab.story_runs import (
    CALL,
    DURATION_S,
    FULL_PKTS,
    WAY_MS,
    Bottleneck,
    PacketJourney,
    StoryRun,
)
from dumbbell.report import palette

WIDTH, HEIGHT = 720, 350
_EXIT, _MIDDLE, _MOST_HIGH = 640.0, 96.0, 176.0
_FUNNEL = 555.0
"""Distance from the exit to the wall of the largest buffer."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 708.0, 226.0, 316.0
"""Edges of the plot of delays."""
MOST_MS = 700.0
SHORTEST_MS, LATEST_MS = 150, 400
"""One-way delay up to which a call is good, and above which it is unacceptable (ITU-T G.114, 2003,
clause 5)."""
_NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Funnel:
    """Layout of packets in a queue that narrows towards its exit, so that few packets are visible
    too.

    ``story/funnel.js`` has the same layout.

    Attributes:
        size: Size of a packet's square, including the gap.
        rows: Rows of each column, the one at the exit first.
    """

    size: float
    rows: tuple[int, ...]

    @classmethod
    def of(cls, width: float, height: float) -> Funnel:
        """Return the layout with the largest squares that holds the largest buffer."""
        size = math.sqrt(2 * width * height / FULL_PKTS)
        while True:
            columns, most = int(width // size), int(height // size)
            rows = tuple(max(1, round(most * (place + 0.5) / columns)) for place in range(columns))
            if sum(rows) >= FULL_PKTS:
                return cls(size, rows)
            size -= 0.05

    def places(self) -> Iterable[tuple[int, float]]:
        """Yield column, and offset from the middle in squares, from the first packet on."""
        for column, rows in enumerate(self.rows):
            for row in range(rows):
                yield column, row - rows / 2

    def columns(self, packets: int) -> float:
        """Return the number of columns that this number of packets fills."""
        left = packets
        for column, rows in enumerate(self.rows):
            if left <= rows:
                return column + left / rows
            left -= rows
        return float(len(self.rows))


def picture(told: StoryRun, words: str) -> Markup:
    """Draw a run: its queue when the call's longest delay begins, and the call's delays over time.

    Args:
        told: The run.
        words: Text for screen readers.
    """
    at_ns = _telling_instant(told)
    drawn = {
        Bottleneck.ONE_QUEUE: _queue,
        Bottleneck.LANES: _lanes,
        Bottleneck.POLICER: _policer,
    }[told.setting.bottleneck](told, at_ns)
    inside = "".join([*drawn, *_line(told, at_ns)])
    # It contains no user-supplied text.
    return Markup(
        f'<svg class="still" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{words}">'
        f"{palette.as_variables(inside)}</svg>"
    )


def _telling_instant(told: StoryRun) -> int:
    """Return the arrival time of the call's packet with the longest delay."""
    of_call = [each for each in told.packets if each.flow == CALL and not each.is_dropped]
    waited = [(each.out_ns - each.in_ns, each.in_ns) for each in of_call if each.out_ns is not None]
    return max(waited)[1]


def _ink(flow: int) -> str:
    if flow == CALL:
        return palette.MAGENTA.light
    return palette.SERIES[(flow - 1) % 2 * 5].light


def _squares(placed: Iterable[tuple[float, float, int]], size: float) -> list[str]:
    """Draw a path for each flow's squares; the call's are larger, to be visible."""
    by_ink: dict[str, list[str]] = defaultdict(list)
    for x, y, flow in placed:
        grown = size * 0.9 + (2 if flow == CALL else 0)
        by_ink[_ink(flow)].append(f"M{x:.1f} {y:.1f}h{grown:.1f}v{grown:.1f}h-{grown:.1f}z")
    # The call is drawn on top.
    order = sorted(by_ink, key=lambda ink: ink == palette.MAGENTA.light)
    return [f'<path fill="{ink}" d="{"".join(by_ink[ink])}"/>' for ink in order]


def _text(x: float, y: float, words: str, *, anchor: str = "start", size: int = 21) -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-size="{size}" '
        f'fill="{palette.INK.light}">{words}</text>'
    )


def _stroke(points: Sequence[tuple[float, float]], ink: str, width: float, more: str = "") -> str:
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path d="{path}" fill="none" stroke="{ink}" stroke-width="{width}"{more}/>'


def _link() -> list[str]:
    axis = palette.AXIS.light
    return [
        _stroke([(_EXIT, _MIDDLE - 8), (WIDTH - 8, _MIDDLE - 8)], axis, 2),
        _stroke([(_EXIT, _MIDDLE + 8), (WIDTH - 8, _MIDDLE + 8)], axis, 2),
        _text(WIDTH - 8, _MIDDLE - 18, "you", anchor="end"),
        _text(2, 18, "server"),
    ]


def _queue(told: StoryRun, at_ns: int) -> list[str]:
    funnel = Funnel.of(_FUNNEL, _MOST_HIGH)
    inside = told.inside(at_ns)
    placed = [
        (_EXIT - (column + 1) * funnel.size, _MIDDLE + above * funnel.size, each.flow)
        for (column, above), each in zip(funnel.places(), inside, strict=False)
    ]
    wall = _EXIT - funnel.columns(told.setting.limit_pkts) * funnel.size
    ink = palette.INK.light
    half = _MOST_HIGH / 2 * (_EXIT - wall) / _FUNNEL + 6
    return [
        *_squares(placed, funnel.size),
        *_link(),
        # Does not cross the word above.
        _stroke([(wall - 3, max(_MIDDLE - half, 26)), (wall - 3, _MIDDLE + half)], ink, 5),
        _text(
            min(wall - 8, 420),
            _MIDDLE + _MOST_HIGH / 2 + 24,
            f"wall: {told.setting.limit_pkts} packets",
        ),
    ]


def _lanes(told: StoryRun, at_ns: int) -> list[str]:
    lanes = [*range(told.setting.downloads + 1)]
    high = _MOST_HIGH / len(lanes)
    size = min(12.0, high)
    waiting: dict[int, list[PacketJourney]] = defaultdict(list)
    for each in told.inside(at_ns):
        waiting[each.flow].append(each)
    placed = [
        (
            _EXIT - (place + 1) * size - 4,
            _MIDDLE - _MOST_HIGH / 2 + (lane + 0.5) * high - size / 2,
            flow,
        )
        for lane, flow in enumerate(lanes)
        for place, _ in enumerate(waiting[flow])
        if (place + 1) * size < _FUNNEL
    ]
    return [
        *_squares(placed, size),
        *_link(),
        _text(300, 18, "one lane for each, the call's on top", anchor="middle"),
    ]


def _policer(told: StoryRun, at_ns: int) -> list[str]:
    window_ns = _NS_PER_S // 10
    near = [each for each in told.packets if at_ns - window_ns < each.in_ns <= at_ns]
    placed = [
        (
            _EXIT - 40 - (_FUNNEL - 60) * (at_ns - each.in_ns) / window_ns,
            _MIDDLE + (60.0 if each.is_dropped else -5.0),
            each.flow,
        )
        for each in near
    ]
    bucket = [(_EXIT - 60, 24.0), (_EXIT - 60, 70.0), (_EXIT - 20, 70.0), (_EXIT - 20, 24.0)]
    return [
        *_squares(placed, 10),
        *_link(),
        _stroke(bucket, palette.INK.light, 3),
        _text(_EXIT - 70, 44, f"bucket: {told.setting.burst_kb} kB", anchor="end"),
        _text(30, _MIDDLE + 90, "dropped: no tokens"),
    ]


def _line(told: StoryRun, at_ns: int) -> list[str]:
    """Draw the call's delays over the run, and the limit of an acceptable call."""

    def across(t_s: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * t_s / DURATION_S

    def down(wait_ms: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * min(wait_ms, MOST_MS) / MOST_MS

    soft = palette.RULE.light
    waits = told.waits()
    # At most one point per pixel of the picture's width.
    thinned = [
        max(group, key=lambda each: each[1])
        for _, group in groupby(waits, key=lambda each: int(each[0] * 20))
    ]
    late = down(LATEST_MS - WAY_MS)
    axis = palette.AXIS.light
    return [
        _stroke([(_LEFT, _BOTTOM), (_RIGHT, _BOTTOM)], axis, 1),
        _stroke([(_LEFT, late), (_RIGHT, late)], soft, 1, ' stroke-dasharray="5 4"'),
        _text(_LEFT + 4, late - 5, f"{LATEST_MS} ms one way: too late to talk", size=20),
        _stroke([(across(t), down(wait)) for t, wait in thinned], palette.MAGENTA.light, 2),
        _stroke([(across(at_ns / 1e9), _TOP), (across(at_ns / 1e9), _BOTTOM)], axis, 1),
        _text(_LEFT - 6, _TOP + 14, f"{MOST_MS:.0f}", anchor="end", size=20),
        _text(_LEFT - 6, _BOTTOM + 6, "0", anchor="end", size=20),
        _text(_LEFT, HEIGHT - 8, "how long your call waits in the queue, ms", size=20),
        _text(_RIGHT, HEIGHT - 8, f"{DURATION_S} s", anchor="end", size=20),
    ]
