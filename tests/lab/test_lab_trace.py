"""Links with a trace in the laboratory: what is drawn behind the figures, and its sliders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab_module import asked
from lab_page import Opened, Opener, check_equal, moved

import dumbbell
from dumbbell.compare import summary_of
from dumbbell.lab import write_laboratory
from dumbbell.lab.experiments import LabExperiment
from dumbbell.metrics.path import traced_bits

_FILE = """
name = "varying"
duration = "4s"
warm_up = "1s"
sample_interval = "100ms"

[[links]]
a = "server"
b = "phone"
delay = "10ms"
forward = { qdisc = "pfifo limit 100", RATE }

[[flows]]
name = "download"
from = "server"
to = "phone"
source = { kind = "greedy" }

[[probes]]
name = "call"
from = "phone"
to = "server"
interval = "100ms"
"""
_ON_OFF = 'kind = "on-off", rate = "8mbit", on = "exponential 600ms", off = "exponential 100ms"'
_HANDOVER = (
    'kind = "handover", every = "1s", outage = "uniform 10ms 60ms", least_rate = "2mbit",'
    ' most_rate = "9mbit", least_delay = "5ms", most_delay = "20ms"'
)
PARTS = 300
"""Of a run: intervals of the area."""


def _experiment(words: str) -> dumbbell.Experiment:
    return dumbbell.Experiment.from_toml(_FILE.replace("RATE", words))


def _traced(experiment: dumbbell.Experiment, replication: int) -> np.ndarray:
    """Rates of the trace by Python, bit/s."""
    run = dumbbell.simulate(experiment, replication=replication)
    duration_ns = experiment.resolved()["duration_ns"]
    edges_ns = [duration_ns * part // PARTS for part in range(PARTS + 1)]
    return traced_bits(run, 0, edges_ns) / (np.diff(edges_ns) / 1e9)


def _asked(
    module: Path, experiment: dumbbell.Experiment, replication: int
) -> tuple[list[float] | None, dict[str, Any]]:
    """The rates of the first queue's trace, and the numbers of the run by path."""
    _, _, traced, again, other, done = asked(
        module,
        [
            {"do": "load", "resolved": experiment.resolved()},
            {"do": "begin", "replication": replication},
            {"do": "trace", "queue": 0},
            {"do": "trace", "queue": 0},
            {"do": "trace", "queue": 1},
            {"run": 0, "replication": replication, "pieces": 10_000},
        ],
    )
    assert again == traced
    # The way back has none.
    assert other == {"traced_bps": None}
    return traced["traced_bps"], {each["path"]: each["value"] for each in done["numbers"]}


@pytest.mark.parametrize("words", [_ON_OFF, _HANDOVER])
def test_the_page_is_told_the_trace_of_its_replication(module: Path, words: str) -> None:
    experiment = _experiment(f"trace = {{ {words} }}")
    one, numbers = _asked(module, experiment, 1)
    assert one == pytest.approx(_traced(experiment, 1), rel=1e-12)
    # Each replication draws its own, of which goodput is a share.
    two, others = _asked(module, experiment, 2)
    assert two != one
    path = "flow[download].capacity_share"
    for replication, found in ((1, numbers), (2, others)):
        expected = summary_of(dumbbell.simulate(experiment, replication=replication))[path]
        assert found[path] == pytest.approx(expected, rel=1e-12)


def test_a_file_s_steps_are_told(module: Path, tmp_path: Path) -> None:
    (tmp_path / "line.csv").write_text("time,rate_mbit\n0,4\n1.5,0\n2,8\n")
    file = tmp_path / "line.toml"
    file.write_text(_FILE.replace("RATE", 'trace = "line.csv"'))
    rates_bps, _ = _asked(module, dumbbell.Experiment.from_toml(file), 0)
    assert rates_bps is not None
    at = [rates_bps[int(PARTS * s / 4)] for s in (0.5, 1.7, 3.0)]
    assert at == pytest.approx([4e6, 0, 8e6])


def test_a_trace_of_delays_has_no_rate_to_draw(module: Path, tmp_path: Path) -> None:
    (tmp_path / "line.csv").write_text("time,delay_ms\n0,4\n2,8\n")
    file = tmp_path / "line.toml"
    file.write_text(_FILE.replace("RATE", 'trace = "line.csv"'))
    assert _asked(module, dumbbell.Experiment.from_toml(file), 0)[0] is None


_GREY = """(name) => {
  const canvas = laboratory.canvases[name];
  const { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  let grey = 0;
  for (let i = 0; i < data.length; i += 4) {
    const [red, green, blue, alpha] = data.slice(i, i + 4);
    if (alpha > 40 && alpha < 110 && red === green && green === blue) grey += 1;
  }
  return grey / (width * height);
}"""
"""Share of a figure that is light grey: half transparent, as areas behind curves are."""


@pytest.fixture
def varying(opener: Opener, tmp_path: Path) -> Opened:
    experiment = _experiment(f"trace = {{ {_ON_OFF} }}")
    place = tmp_path / "varying.html"
    write_laboratory(place, [LabExperiment("varying", "varying", "", experiment)])
    return opener(place=place)


@pytest.mark.browser
@pytest.mark.slow
def test_the_trace_is_drawn_behind_every_figure_over_time(varying: Opened) -> None:
    page = varying.page
    for name in ("probes", "queue", "goodput", "cwnd"):
        assert page.evaluate(_GREY, name) > 0.2, name
    assert page.evaluate(_GREY, "cdf") < 0.01
    said = page.inner_text("#greys")
    assert "server->phone can send by its trace, 8.00 Mbit/s at the top" in said
    label = page.get_attribute("canvas[data-figure=goodput]", "aria-label") or ""
    assert "the link's trace: mean " in label
    varying.choose("bufferbloat")
    assert page.inner_text("#greys") == "grey line: the run before"
    assert page.evaluate(_GREY, "goodput") < 0.01
    # Chromium says of reading pixels that it is slow.
    assert [each for each in varying.messages if "willReadFrequently" not in each] == []


@pytest.mark.browser
@pytest.mark.slow
def test_the_process_has_sliders(varying: Opened) -> None:
    page = varying.page
    assert page.locator("#control-rate").count() == 0
    for key, share in (("rate_bps", 0.6), ("on", 0.4), ("off", 0.5)):
        varying.after(moved(f"trace-{key}", share))
    trace = dumbbell.Experiment.from_toml(varying.toml()).resolved()["links"][0]["forward"]["trace"]
    assert trace["rate_bps"] != 8_000_000
    assert (trace["on"]["mean"], trace["off"]["mean"]) != (0.6, 0.1)
    check_equal(varying)
    assert varying.is_quiet(), varying
