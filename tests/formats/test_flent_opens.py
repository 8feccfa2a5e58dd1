"""Debian's flent opens what we write, and its plots are not empty.

Flent leaves with 0 on an empty plot, so what it drew is counted: points of lines, markers and
curves inside the axes, in an SVG.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from flent_samples import file_of

from dumbbell.formats.flent import FlentFile, read_flent, summary_rows, write_flent
from dumbbell.spec import flent as tests_of_flent
from waiting import PATIENCE_S

pytestmark = pytest.mark.slow

PLOTS = {
    # plot: least number of points drawn in an RRUL of 13 s in steps of 0.2 s
    "totals": 60,
    "all_scaled": 200,
    "ellipsis": 8,
    "ping_cdf": 60,
    "box_totals": 30,
    "drops": 60,
    "delay": 50,
    "backlog": 50,
    "tcp_cwnd": 150,
}
LENGTH_S = 13
"""Flent cuts five seconds off both ends of a CDF."""
NO_TOTALS = {"bursts": "ping", "ping": "ping"}
_CLIPPED = re.compile(r'<path d="([^"]*)" clip-path="[^"]*" style="([^"]*)"')
_GRID = "stroke: #ffffff"


@pytest.fixture(scope="module")
def flent() -> str:
    """Debian's program; without it a skip, with CI a failure."""
    found = shutil.which("flent", path="/usr/bin:/usr/local/bin")
    if found is None:
        lack = "flent is not installed: apt-get install --no-install-recommends flent"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(lack)
    return found


def called(program: str, folder: Path, *words: str) -> str:
    """What it printed; its own Python and no window."""
    home = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "MPLBACKEND": "Agg", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [program, *words], capture_output=True, text=True, cwd=folder, env=home, timeout=PATIENCE_S,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "ERROR" not in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def points_drawn(program: str, folder: Path, file: FlentFile, plot: str) -> int:
    """Points of lines and curves, and markers, that are inside the axes and no grid."""
    data = write_flent(file, folder / "data.flent.gz")
    called(program, folder, "-i", data.name, "-p", plot, "-o", "plot.svg")
    text = (folder / "plot.svg").read_text(encoding="utf-8")
    drawn = [path for path, style in _CLIPPED.findall(text) if _GRID not in style]
    lines = sum(len(re.findall(r"[LCQ]", path)) for path in drawn)
    markers = sum(
        len(re.findall("<use ", group))
        for group in re.findall(r'<g clip-path="[^"]*">(.*?)</g>', text, re.DOTALL)
    )
    return lines + markers


@pytest.mark.parametrize("plot", PLOTS)
def test_its_plots_show_something(flent: str, plot: str, tmp_path: Path) -> None:
    assert points_drawn(flent, tmp_path, file_of("rrul", LENGTH_S), plot) >= PLOTS[plot]


def test_an_empty_file_shows_nothing(flent: str, tmp_path: Path) -> None:
    """The count above can fail."""
    whole = file_of()
    nothing: dict[str, list[float | None]] = {
        name: [None] * len(whole.x_values) for name in whole.results
    }
    empty = FlentFile(
        whole.x_values, nothing, {name: [] for name in whole.raw_values}, whole.metadata
    )
    try:
        assert points_drawn(flent, tmp_path, empty, "totals") < 10
    except (AssertionError, FileNotFoundError) as error:
        assert "ERROR" in str(error) or isinstance(error, FileNotFoundError)


@pytest.mark.parametrize("name", tests_of_flent.TEST_NAMES)
def test_it_opens_every_test(flent: str, name: str, tmp_path: Path) -> None:
    file = file_of(name)
    assert points_drawn(flent, tmp_path, file, NO_TOTALS.get(name, "totals")) >= 5


def older(file: FlentFile) -> dict[str, Any]:
    """The same as version 3 had it: netperf's transactions a second, running totals of drops."""
    raw = {name: [dict(sample) for sample in samples] for name, samples in file.raw_values.items()}
    for name, samples in raw.items():
        total = 1000.0
        for sample in samples:
            if name.startswith("Ping (ms) UDP") and "val" in sample:
                sample |= {"val": 1000.0 / sample["val"], "dur": 0.2}
            if "dropped" in sample:
                total += sample["dropped"]
                sample["dropped"] = total
    # Without means in the metadata both programs take them from the samples.
    meta = {name: {"UNITS": of["UNITS"]} for name, of in file.metadata["SERIES_META"].items()}
    return {
        "version": 3,
        "x_values": file.x_values,
        "results": dict(file.results),
        "raw_values": raw,
        "metadata": {**file.metadata, "SERIES_META": meta},
    }


def test_both_read_the_same_from_an_older_file(flent: str, tmp_path: Path) -> None:
    whole = older(file_of())
    (tmp_path / "old.flent").write_text(json.dumps(whole), encoding="utf-8")
    printed = called(flent, tmp_path, "-i", "old.flent", "-f", "summary")
    found = dict(re.findall(r"^ (\S.*?) +: +(\S+)", printed, re.MULTILINE))
    file = read_flent(tmp_path / "old.flent")
    rows = summary_rows(file)
    assert len(rows) == 66
    for row in rows:
        assert float(found[row.series]) == pytest.approx(row.mean, abs=0.006), row.series
    assert file.raw_values["qdisc_stats_router"][0]["dropped"] == 0
    first, *rest = whole["raw_values"]["qdisc_stats_router"]
    dropped = [sample["dropped"] for sample in file.raw_values["qdisc_stats_router"]]
    assert sum(dropped) == rest[-1]["dropped"] - first["dropped"] > 0


def test_its_summary_has_our_numbers(flent: str, tmp_path: Path) -> None:
    file = file_of()
    data = write_flent(file, tmp_path / "data.flent.gz")
    printed = called(flent, tmp_path, "-i", data.name, "-f", "summary")
    found = dict(re.findall(r"^ (\S.*?) +: +(\S+)", printed, re.MULTILINE))
    for row in summary_rows(file):
        assert float(found[row.series]) == pytest.approx(row.mean, abs=0.006)
    assert "Title: 'pie t20'" in printed
