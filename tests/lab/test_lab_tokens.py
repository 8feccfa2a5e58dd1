"""The level of tokens that the page draws: the bucket's own, packet by packet."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace

import pytest
from lab_module import ROOT
from token_levels import replay

from dumbbell.backends import simulate
from dumbbell.spec.ccperf import Policing
from dumbbell.studies.traffic_policing import arms, bucket
from dumbbell.tables import Run

TOKENS = ROOT / "python/dumbbell/lab/live/tokens.js"
SETTINGS = ((4_000_000, 125_000), (16_000_000, 30_000), (1_000_000, 3_000), (6_550_000, 62_500))


def _policing(rate_bps: int, burst_bytes: int) -> Policing:
    stop = 3 * 10**9
    source = arms.source()
    flows = tuple(replace(flow, stop_ns=stop) for flow in source.flows)
    return replace(
        source,
        policing_rate_bps=rate_bps,
        burst_bytes=burst_bytes,
        flows=flows,
        stop_ns=stop,
    )


def _policed(rate_bps: int, burst_bytes: int) -> Policing:
    police = f"police rate {rate_bps}bit burst {burst_bytes}b drop"
    end = {"rate": "1gbit", "qdisc": "pfifo limit 1000", "police": police}
    return replace(_policing(rate_bps, burst_bytes), bottleneck=end)


@pytest.mark.parametrize(("rate_bps", "burst_bytes"), SETTINGS)
def test_a_shaper_keeps_packets_until_there_are_tokens(rate_bps: int, burst_bytes: int) -> None:
    run = simulate(_policing(rate_bps, burst_bytes).experiment())
    found = replay(run, arms.QUEUE)
    assert min(found.left_ns) >= 0
    # What left beyond the rate is what the bucket gave.
    least_bytes = min(found.left_ns) * rate_bps / 8e9
    beyond = bucket.excess(run, arms.QUEUE).rate_bytes
    assert least_bytes == pytest.approx(burst_bytes - beyond, abs=1)
    # Whoever waited left when the bucket held just enough, to the nanosecond: the second bucket
    # has a packet again after 12 us.
    sojourn_ns = run.column("packets", "sojourn_ns", queue=arms.QUEUE, event="dequeue")
    waited = [
        left
        for i, left in enumerate(found.left_ns)
        if i and sojourn_ns[i] > 0 and found.t_ns[i] - found.t_ns[i - 1] > 13_000
    ]
    assert len(waited) > 100
    assert set(waited) == {0}


@pytest.mark.parametrize(("rate_bps", "burst_bytes"), SETTINGS)
def test_a_policer_drops_what_finds_too_few(rate_bps: int, burst_bytes: int) -> None:
    run = simulate(_policed(rate_bps, burst_bytes).experiment())
    found = replay(run, arms.QUEUE)
    assert min(found.left_ns) >= 0
    of = {"queue": arms.QUEUE, "event": "drop"}
    dropped = [run.column("packets", name, **of).tolist() for name in ("t_ns", "bytes")]
    assert len(dropped[0]) > 10
    for t_ns, size in zip(*dropped, strict=True):
        assert found.before(t_ns) < found.bucket.cost_ns(size)


@pytest.mark.parametrize(("rate_bps", "burst_bytes"), SETTINGS)
def test_the_page_counts_the_same_tokens(rate_bps: int, burst_bytes: int) -> None:
    if shutil.which("node") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("node is not installed")
    for policing in (_policing(rate_bps, burst_bytes), _policed(rate_bps, burst_bytes)):
        _check_page(simulate(policing.experiment()))


def _check_page(run: Run) -> None:
    found = replay(run, arms.QUEUE)
    script = (
        'import { readFileSync } from "node:fs";'
        f"import {{ bucketOf, levels, outline }} from {json.dumps(TOKENS.as_uri())};"
        'const { end, t_ns, sizes, until_ns } = JSON.parse(readFileSync(0, "utf8"));'
        "const found = levels(bucketOf(end), t_ns, sizes, until_ns);"
        "const drawn = outline(found.t_ns, found.tokens_ns, 0, until_ns, 100);"
        "const left_ns = [...found.left_ns];"
        "console.log(JSON.stringify({ ...found, left_ns, drawn }));"
    )
    assert run.spec is not None
    sent = {
        "end": run.spec["links"][0]["forward"],
        "t_ns": found.t_ns,
        "sizes": found.sizes,
        "until_ns": found.end_ns,
    }
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script],
        input=json.dumps(sent),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    page = json.loads(done.stdout)
    assert page["left_ns"] == found.left_ns
    assert page["spilled_ns"] == found.spilled_ns
    # Corners are in order and inside the bucket; the drawn line has its ends and extremes.
    assert page["t_ns"] == sorted(page["t_ns"])
    assert page["t_ns"][-1] == found.end_ns
    assert 0 <= min(page["tokens_ns"]) <= max(page["tokens_ns"]) == found.bucket.depth_ns
    drawn = page["drawn"]
    assert len(drawn["x"]) <= 401
    assert drawn["x"] == sorted(drawn["x"])
    assert (drawn["x"][0], drawn["x"][-1]) == (0, found.end_ns)
    assert (min(drawn["y"]), max(drawn["y"])) == (min(page["tokens_ns"]), max(page["tokens_ns"]))
