"""Peak delays of the queue-size experiment, from the transcript of its session.

    python examples/shell/peak_delays.py results/queue-size-shell

It reads the limits that were typed and the round trips that ping printed after each, prints them
beside the time that a full queue takes (limit / rate), and writes peak-delay.svg there.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import altair as alt
import vl_convert

from dumbbell import units

LIMIT = re.compile(r"router\$ sudo tc .* tbf rate (\S+) limit (\S+)")
ROUND_TRIP = re.compile(r"client:2\| 64 bytes from .* time=([0-9.]+) ms")


def peaks_of(transcript: str) -> list[dict[str, str | float]]:
    """Limit, time of a full queue, and longest round trip after it was set."""
    peaks: list[dict[str, str | float]] = []
    for line in transcript.splitlines():
        if found := LIMIT.search(line):
            limit_bytes = units.parse_size_bytes(found[2])
            full_ms = 8e3 * limit_bytes / units.parse_rate_bps(found[1])
            peaks.append({"limit": found[2], "bytes": limit_bytes, "full_ms": full_ms, "ms": 0.0})
        elif peaks and (found := ROUND_TRIP.search(line)):
            peaks[-1]["ms"] = max(float(peaks[-1]["ms"]), float(found[1]))
    return sorted(peaks, key=lambda peak: float(peak["bytes"]))


def main(folder: Path) -> None:
    """Print and draw."""
    peaks = peaks_of((folder / "transcript.txt").read_text(encoding="utf-8"))
    print("limit     peak (ms)  full queue (ms)")
    for peak in peaks:
        print(f"{peak['limit']:<8} {peak['ms']:>10} {peak['full_ms']:>16.1f}")
    rows = [
        {"bytes": peak["bytes"], "delay_ms": peak[key], "what": what}
        for peak in peaks
        for key, what in (("ms", "peak delay"), ("full_ms", "expected delay"))
    ]
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("bytes:Q", title="Queue size (bytes)").scale(type="log"),
            y=alt.Y("delay_ms:Q", title="Delay (ms)").scale(type="log"),
            color=alt.Color("what:N", title=""),
        )
        .properties(width=560, height=360)
    )
    svg = vl_convert.vegalite_to_svg(chart.to_json())
    (folder / "peak-delay.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
