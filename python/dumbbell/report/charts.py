"""Builders for the figures every study needs. Each returns a chart and the data it shows.

All of them use the theme of :mod:`dumbbell.report.theme`, thin their curves to
:data:`dumbbell.report.sampling.MAX_POINTS`, label curves directly where there is room, show
tooltips, and zoom with Shift and the wheel.
"""

from __future__ import annotations

from dumbbell.report.chart_parts import Curve, IntervalRow, Plot, Sample
from dumbbell.report.distribution_chart import ecdf_chart
from dumbbell.report.dot_plot import points_with_interval
from dumbbell.report.line_chart import line_with_band

__all__ = [
    "Curve",
    "IntervalRow",
    "Plot",
    "Sample",
    "ecdf_chart",
    "line_with_band",
    "points_with_interval",
]
