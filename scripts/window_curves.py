"""Draw ``docs/window-curves.svg``: the window of one Reno and one CUBIC flow, simulator and kernel.

``python scripts/window_curves.py`` runs two cells of the reference grid in the simulator and draws
them over the kernel's (``tests/reference/kernel-6.1``), the first replication of each.
"""

from __future__ import annotations

import sys
from pathlib import Path

import altair as alt
import polars as pl

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/reference"))

import reference_grid as grid  # noqa: E402

from dumbbell.backends import simulate  # noqa: E402

CELLS = {
    "pfifo-half-reno-40mbit-100ms-1": "Reno, 40 Mbit/s, 100 ms, half a BDP of queue",
    "pfifo-one-cubic-10mbit-100ms-1": "CUBIC, 10 Mbit/s, 100 ms, one BDP of queue",
}
COLOURS = {"Linux 6.1": "#bbbbbb", "simulator": "#0b62a4"}
SAMPLE_S = 0.1


def curves(name: str) -> pl.DataFrame:
    """Return columns time_s, window_pkts, backend of a cell's flow."""
    (cell,) = (cell for cell in grid.cells() if cell.name == name)
    run = simulate(cell.experiment(), 0)
    both = {
        "Linux 6.1": list(grid.read_series()[name, 0, 0]),
        "simulator": list(dict(grid.series(cell, run))[0]),
    }
    frames = [
        pl.DataFrame({"window_pkts": [float(value) for value in values]})
        .with_row_index("sample")
        .select(
            (pl.col("sample") * SAMPLE_S).alias("time_s"),
            "window_pkts",
            pl.lit(backend).alias("backend"),
        )
        for backend, values in both.items()
    ]
    return pl.concat(frames)


def chart(name: str, title: str) -> alt.LayerChart | alt.FacetChart:
    """Draw the kernel's curve wide and pale, the simulator's thin on top of it."""
    frame = curves(name)
    scale = alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
    layers = [
        alt.Chart(frame.filter(pl.col("backend") == backend))
        .mark_line(strokeWidth=width, clip=True)
        .encode(
            alt.X("time_s:Q", title="time, s", scale=alt.Scale(domain=[0, 30])),
            alt.Y("window_pkts:Q", title="window, packets"),
            alt.Color("backend:N", scale=scale, legend=alt.Legend(title=None, orient="top")),
        )
        for backend, width in (("Linux 6.1", 5), ("simulator", 1.2))
    ]
    return alt.layer(*layers).properties(title=title, width=640, height=170)


def main() -> None:
    """Write the figure."""
    figure = alt.vconcat(*(chart(name, title) for name, title in CELLS.items()))
    figure.save(ROOT / "docs/window-curves.svg")


if __name__ == "__main__":
    main()
