"""What R draws and prints in Fund's experiment, from the same files.

    python examples/shell/delay_cdf.py results/multiplexing-shell

It reads hosts/*/pingtimes-*.csv (sender, type, number, round trip in ms), writes delay.svg and
delay.png into that folder, and prints the quartiles and the maximum of each type.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import altair as alt
import vl_convert


def rows_of(folder: Path) -> list[dict[str, str | float]]:
    """All round trips that the senders kept, with the share of them that is no longer."""
    rows: list[dict[str, str | float]] = []
    for file in sorted(folder.glob("hosts/*/pingtimes-*.csv")):
        sender = file.parent.name.rpartition("-")[2]
        if not file.name.startswith(f"pingtimes-{sender}-"):
            continue  # what was brought together for R
        with file.open(encoding="utf-8", newline="") as stream:
            found = [(number, kind, float(rtt)) for number, kind, _, rtt in csv.reader(stream)]
        found.sort(key=lambda row: row[2])
        for place, (number, kind, rtt_ms) in enumerate(found, 1):
            share = place / len(found)
            rows.append({"sender": number, "type": kind, "rtt_ms": rtt_ms, "share": share})
    return rows


def quantile(values: list[float], share: float) -> float:
    """As R's quantile() by default (type 7)."""
    at = (len(values) - 1) * share
    low = values[int(at)]
    return low + (values[min(int(at) + 1, len(values) - 1)] - low) * (at - int(at))


def main(folder: Path) -> None:
    """Print and draw."""
    rows = rows_of(folder)
    if not rows:
        sys.exit(f"{folder}: no hosts/*/pingtimes-*.csv there")
    for kind in sorted({str(row["type"]) for row in rows}):
        values = sorted(float(row["rtt_ms"]) for row in rows if row["type"] == kind)
        found = [f"{quantile(values, share):.1f}" for share in (0.25, 0.5, 0.75, 1.0)]
        print(f"{kind}: 25% {found[0]}  50% {found[1]}  75% {found[2]}  100% {found[3]} ms")
    chart = (
        alt.Chart(alt.InlineData(values=rows), title="CDF of delay for M/M/1 queue")
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("rtt_ms:Q", title="Round trip time (ms)"),
            y=alt.Y("share:Q", title=""),
            color=alt.Color("type:N", title="Type"),
            strokeDash=alt.StrokeDash("sender:N", title="Sender"),
        )
        .properties(width=560, height=360)
    )
    text = chart.to_json()
    (folder / "delay.svg").write_text(vl_convert.vegalite_to_svg(text), encoding="utf-8")
    (folder / "delay.png").write_bytes(vl_convert.vegalite_to_png(text, scale=2))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
