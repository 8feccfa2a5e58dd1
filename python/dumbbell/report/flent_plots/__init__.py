"""Flent's plots by Flent's names, drawn with the charts of this package.

Which series a plot has is Flent's; its look is ours. Averages that Flent smooths over ten samples
are smoothed here too.
"""

from dumbbell.report.flent_plots.catalogue import check_plot, draw_plot, plot_names, plots_of
from dumbbell.report.flent_plots.series import DrawnPlot

__all__ = ["DrawnPlot", "check_plot", "draw_plot", "plot_names", "plots_of"]
