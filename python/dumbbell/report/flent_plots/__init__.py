"""Flent's plots by Flent's names, drawn with the charts of this package.

The series of each plot are those of Flent; the style is ours. Averages that Flent smooths over ten
samples are also smoothed here.
"""

from dumbbell.report.flent_plots.catalogue import check_plot, draw_plot, plot_names, plots_of
from dumbbell.report.flent_plots.series import DrawnPlot

__all__ = ["DrawnPlot", "check_plot", "draw_plot", "plot_names", "plots_of"]
