"""The report: one self-contained page, its figures and data, and a table for the terminal.

:class:`Report` holds the contents; :func:`write_report` writes the folder and :func:`write_index`
writes the index page of several reports. :mod:`dumbbell.report.charts` has builders for the figures
every study needs. Names are imported on first use, so a terminal table does not import the plotting
libraries.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dumbbell.report.advice import Advice
    from dumbbell.report.answer import Answer
    from dumbbell.report.cells import Cell
    from dumbbell.report.charts import (
        Curve,
        IntervalRow,
        Plot,
        Sample,
        ecdf_chart,
        line_with_band,
        points_with_interval,
    )
    from dumbbell.report.figures import FigureDrawer
    from dumbbell.report.folder import report_folder
    from dumbbell.report.live import (
        ControlKind,
        Form,
        LiveArm,
        LiveBet,
        LiveControl,
        LiveCurve,
        LiveHero,
        LiveStop,
    )
    from dumbbell.report.model import (
        Figure,
        IndexEntry,
        LoadRow,
        Opening,
        Report,
        ValueRow,
        ValueTable,
    )
    from dumbbell.report.page import LABORATORY
    from dumbbell.report.terminal import claims_table, counts_lines, overview_table
    from dumbbell.report.topology import Topology
    from dumbbell.report.write import (
        FigureWarning,
        check_index,
        has_pages,
        link_laboratory,
        pages_in,
        write_index,
        write_report,
    )

_MODULE_OF = {
    "Advice": "advice",
    "Answer": "answer",
    "Cell": "cells",
    "Curve": "charts",
    "IntervalRow": "charts",
    "Plot": "charts",
    "Sample": "charts",
    "ecdf_chart": "charts",
    "line_with_band": "charts",
    "points_with_interval": "charts",
    "ControlKind": "live",
    "Form": "live",
    "LiveArm": "live",
    "LiveBet": "live",
    "LiveControl": "live",
    "LiveCurve": "live",
    "LiveHero": "live",
    "LiveStop": "live",
    "report_folder": "folder",
    "Figure": "model",
    "FigureDrawer": "figures",
    "FigureWarning": "write",
    "IndexEntry": "model",
    "Opening": "model",
    "LoadRow": "model",
    "Report": "model",
    "LABORATORY": "page",
    "claims_table": "terminal",
    "counts_lines": "terminal",
    "overview_table": "terminal",
    "Topology": "topology",
    "ValueRow": "model",
    "ValueTable": "model",
    "check_index": "write",
    "has_pages": "write",
    "pages_in": "write",
    "link_laboratory": "write",
    "write_index": "write",
    "write_report": "write",
}

__all__ = [
    "LABORATORY",
    "Advice",
    "Answer",
    "Cell",
    "ControlKind",
    "Curve",
    "Figure",
    "FigureDrawer",
    "FigureWarning",
    "Form",
    "IndexEntry",
    "IntervalRow",
    "LiveArm",
    "LiveBet",
    "LiveControl",
    "LiveCurve",
    "LiveHero",
    "LiveStop",
    "LoadRow",
    "Opening",
    "Plot",
    "Report",
    "Sample",
    "Topology",
    "ValueRow",
    "ValueTable",
    "check_index",
    "claims_table",
    "counts_lines",
    "ecdf_chart",
    "has_pages",
    "line_with_band",
    "link_laboratory",
    "overview_table",
    "pages_in",
    "points_with_interval",
    "report_folder",
    "write_index",
    "write_report",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its module on first use."""
    if name in _MODULE_OF:
        return getattr(import_module(f"dumbbell.report.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
