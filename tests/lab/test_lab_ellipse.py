"""The ellipse that the page draws: that of the samples' covariance, as Flent's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest
from lab_module import ROOT

from dumbbell import Experiment, Run
from dumbbell.backends import simulate
from dumbbell.stats import covariance_ellipse
from dumbbell.studies.pie_rrul import arms, live, published
from dumbbell.studies.pie_rrul.measures import SIGMAS, measured, series

ELLIPSE = ROOT / "python/dumbbell/lab/live/ellipse_run.js"
COLUMNS = {
    "flow_samples": ["delivered_payload_bytes"],
    "probes": ["sent_ns", "rtt_ns"],
    "queue_samples": ["t_ns", "delay_estimate_ns", "dropped_pkts", "drop_probability"],
}


@pytest.fixture(scope="module")
def run() -> Run:
    return simulate(live.hero(1).arms[0].variants[0])


def _reduced(run: Run) -> dict[str, Any]:
    """What the page makes of the tables of a run."""
    if shutil.which("node") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("node is not installed")
    hero = live.hero(1)
    assert run.spec is not None
    # JSON has no number that is none.
    columns = {
        f"{table}.{name}": [
            None if np.isnan(value) else value for value in run.column(table, name).tolist()
        ]
        for table, names in COLUMNS.items()
        for name in names
    }
    sent = {
        "columns": columns,
        "described": {"resolved": run.spec, "queues": run.queue_names},
        "order": {
            "queues": [run.queue_names.index(hero.arms[0].queues[0][0])],
            "options": dict(hero.options),
        },
    }
    script = (
        'import { readFileSync } from "node:fs";'
        f"import {{ reduceEllipse }} from {json.dumps(ELLIPSE.as_uri())};"
        'const { columns, described, order } = JSON.parse(readFileSync(0, "utf8"));'
        "const column = (name) => columns[name].map((each) => each ?? NaN);"
        "console.log(JSON.stringify(reduceEllipse({ column }, described, order)));"
    )
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script],
        input=json.dumps(sent),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_outline_is_that_of_the_covariance(run: Run) -> None:
    found = _reduced(run)
    of = series(run, live.SETTLED)
    x, y = of.latency_ms, of.upload_mbps
    assert np.isfinite(x).all() and abs(np.corrcoef(x, y)[0, 1]) > 0.01
    numbers = measured(run, live.SETTLED)
    for name, value in found["numbers"].items():
        assert value == pytest.approx(getattr(numbers, name), rel=1e-9), name
    outline = np.array([found["series"]["outline"][axis] for axis in "xy"])
    away = outline - np.array([[x.mean()], [y.mean()]])
    # Every point of it is as many deviations from the mean, whichever way.
    distance = np.einsum("in,ij,jn->n", away, np.linalg.inv(np.cov(x, y)), away)
    assert distance == pytest.approx(SIGMAS**2, rel=1e-9)
    expected = covariance_ellipse(x, y, SIGMAS)
    assert outline[0].max() == pytest.approx(expected.x_range[1], rel=1e-3)
    assert outline[1].max() == pytest.approx(expected.y_range[1], rel=1e-3)


def test_a_tupdate_below_the_tick_is_the_tick() -> None:
    hero = live.hero(1)
    (pie, _) = hero.arms
    digests = {}
    for place, milliseconds in enumerate(live.TUPDATES_MS[:3]):
        experiment, changes = hero.asked(pie, {"tupdate": place})
        resolved = experiment.resolved()
        child = resolved["links"][1]["forward"]["qdisc"]["child"]
        child["tupdate_ns"] = changes[f"{live.SHAPED}.child.tupdate_ns"]
        resolved["duration_ns"] = 3 * 10**9
        run = simulate(Experiment.from_resolved(resolved))
        digests[milliseconds] = run.meta["digest"]
    assert digests[1] == digests[4] != digests[15]
    words = [stop.words for stop in hero.control("tupdate").stops]
    assert words == [
        "1 ms, 4 in ticks",
        "4 ms",
        "15 ms, 16 in ticks",
        "30 ms, 32 in ticks",
        "60 ms",
    ]


def test_the_theory_is_the_target_and_a_full_ring() -> None:
    theory = {
        (each.when["target"], each.when["ring"]): each.x[0]
        for each in live.hero(1).curves
        if each.picture == "theory"
    }
    ring_kb = arms.RING_BYTES / 1e3
    assert theory[20.0, ring_kb] == pytest.approx(20 + 6.2)
    printed = published.TABLES["target", 20]["latency"]
    assert abs(theory[20.0, ring_kb] - printed) < 1
