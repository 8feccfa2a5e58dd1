"""Congestion controllers in C as modules of the kernel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from dumbbell.backends import Failure, run_many, simulate
from dumbbell.backends.kernel.controller_records import kernel_records
from dumbbell.backends.native.recording import EVENTS, simulated_records
from dumbbell.cli.app import app
from dumbbell.errors import RunError, SpecError
from dumbbell.folders import cache_folder
from dumbbell.spec import Experiment
from own_controllers import toml as one_download

pytestmark = pytest.mark.usefixtures("kernel", "cache")

TOP = 'sample_interval = "20ms"'
EXAMPLE = Path(__file__).parents[2] / "examples/controllers/my_cc.c"
# Linux's `scalable` (net/ipv4/tcp_scalable.c): one more for each 100 at most, an eighth less.
SCALABLE = """
#include <dumbbell_cc.h>
#include <string.h>
static void ack(struct dumbbell_cc_flow *f, const struct dumbbell_cc_ack *a)
{
	struct dumbbell_cc_window *w = f->window;
	uint32_t acked = a->newly_delivered_pkts, per = w->cwnd_pkts < 100 ? w->cwnd_pkts : 100;
	if (!a->is_cwnd_limited) return;
	if (w->cwnd_pkts < w->ssthresh_pkts) {
		acked = dumbbell_cc_slow_start(w, acked);
		per = w->cwnd_pkts < 100 ? w->cwnd_pkts : 100;
	}
	if (acked) dumbbell_cc_grow_by_one_per(w, per, acked);
}
static void loss(struct dumbbell_cc_flow *f, const struct dumbbell_cc_snapshot *n)
{
	uint32_t left = f->window->cwnd_pkts - (f->window->cwnd_pkts >> 3);
	(void)n;
	f->window->ssthresh_pkts = left > 2 ? left : 2;
}
const struct dumbbell_cc_ops dumbbell_cc = {
	.version = DUMBBELL_CC_VERSION, .name = "scalable", .on_ack = ack, .on_loss = loss };
"""
BODY = """
#include <dumbbell_cc.h>
FIRST
static void loss(struct dumbbell_cc_flow *f, const struct dumbbell_cc_snapshot *n)
{ (void)n; f->window->ssthresh_pkts = 2; }
static void ack(struct dumbbell_cc_flow *f, const struct dumbbell_cc_ack *a)
{ (void)f; (void)a; BODY }
const struct dumbbell_cc_ops dumbbell_cc = {
	.version = DUMBBELL_CC_VERSION, .name = "test", .on_ack = ack, .on_loss = loss };
"""

HEEDS_ALL = """
#include <dumbbell_cc.h>
typedef struct dumbbell_cc_flow F; typedef const struct dumbbell_cc_snapshot S;
static void nothing(F *f, S *n) { (void)f; (void)n; }
static void loss(F *f, S *n) {
	uint32_t half = f->window->cwnd_pkts / 2;
	(void)n;
	f->window->ssthresh_pkts = half > 2 ? half : 2;
}
static void rtt(F *f, const struct dumbbell_cc_rtt_sample *r) { (void)f; (void)r; }
static void undo(F *f) {
	struct dumbbell_cc_window *w = f->window;
	if (w->cwnd_pkts < w->prior_cwnd_pkts) w->cwnd_pkts = w->prior_cwnd_pkts;
}
static void start(F *f, S *n, uint64_t last) { (void)f; (void)n; (void)last; }
static void ack(F *f, const struct dumbbell_cc_ack *a)
{
	struct dumbbell_cc_window *w = f->window; uint32_t acked = a->newly_delivered_pkts;
	if (OWNS && a->state >= DUMBBELL_CC_CWR) {
		if (w->cwnd_pkts > w->ssthresh_pkts) w->cwnd_pkts = w->ssthresh_pkts;
		return;
	}
	if (!a->is_cwnd_limited) return;
	if (w->cwnd_pkts < w->ssthresh_pkts) acked = dumbbell_cc_slow_start(w, acked);
	if (acked) dumbbell_cc_grow_by_one_per(w, w->cwnd_pkts, acked);
}
const struct dumbbell_cc_ops dumbbell_cc = {
 .version = DUMBBELL_CC_VERSION, .name = "all", .state_bytes = 20, .owns_recovery = OWNS,
 .on_ack = ack, .on_loss = loss, .init = nothing, .on_rtt = rtt,
 .on_rto = loss, .on_enter_loss = nothing, .on_ecn = loss,
 .on_exit_recovery = nothing, .on_undo = undo, .on_transmit_start = start,
 .on_idle_restart = nothing };
"""


def toml(controller: str, *, tcp: str = "", **changes: Any) -> str:
    return one_download(controller, tcp, **{"duration": "6s", "top": TOP} | changes)


def own(folder: Path, source: str, *, allow_native: bool = True, **changes: Any) -> Experiment:
    (folder / "own.c").write_text(source)
    file = folder / "own.toml"
    file.write_text(toml("file:own.c", **changes))
    return Experiment.from_toml(file, allow_native=allow_native)


def body(text: str, first: str = "") -> str:
    return BODY.replace("BODY", text, 1).replace("BODY", text).replace("FIRST", first)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"qdisc": "pfifo limit 2"},
        {"qdisc": "codel target 2ms ecn", "tcp": "ecn = true"},
        {"tcp": "sack = false\nrack = false\ntimestamps = false", "qdisc": "pfifo limit 4"},
    ],
    ids=["a-queue", "timeouts", "marks", "no-sack"],
)
@pytest.mark.parametrize("name", ["reno", "scalable"])
def test_the_same_bytes_as_linuxs_own(name: str, changes: dict[str, Any], tmp_path: Path) -> None:
    source = {"reno": EXAMPLE.read_text(), "scalable": SCALABLE}[name]
    ours = simulate(own(tmp_path, source, **changes), backend="kernel")
    linuxs = simulate(Experiment.from_toml(toml(name, **changes)), backend="kernel")
    assert ours.meta["digest"] == linuxs.meta["digest"]
    (said,) = ours.meta["versions"]["controllers"].values()
    assert said["congestion_control"] == "file:own.c"
    assert "controllers" not in linuxs.meta["versions"]


def test_parameters_and_flows_with_others(tmp_path: Path) -> None:
    half = simulate(own(tmp_path, EXAMPLE.read_text()), backend="kernel")
    most = own(tmp_path, EXAMPLE.read_text(), tcp="parameters = { keep = 90 }")
    kept = simulate(most, backend="kernel")
    assert kept.meta["digest"] != half.meta["digest"]
    both = tmp_path / "both.toml"
    second = toml("file:own.c").partition("[[flows]]")[2].replace("download", "other")
    both.write_text(toml("file:own.c", tcp="parameters = { keep = 90 }") + "[[flows]]" + second)
    run = simulate(Experiment.from_toml(both, allow_native=True), backend="kernel")
    received = run.column("flows", "received_payload_bytes")
    assert received[0] > received[1] > 0
    wrong = own(tmp_path, EXAMPLE.read_text(), tcp="parameters = { kep = 90 }")
    with pytest.raises(SpecError, match="did you mean"):
        simulate(wrong, backend="kernel")


def test_nothing_that_nobody_has_allowed(tmp_path: Path) -> None:
    experiment = own(tmp_path, EXAMPLE.read_text(), allow_native=False)
    with pytest.raises(SpecError, match="--allow-native"):
        simulate(experiment, backend="kernel")
    assert not (cache_folder() / "controllers").exists()


@pytest.mark.parametrize(
    ("first", "text", "said"),
    [
        ("#include <stdio.h>", "", "controller.c:3:10: fatal error: stdio.h"),
        ("", "double x = 0.5; (void)x;", 'controller.c:7:.*poisoned "double"'),
        ("", "if (a->now_ns > 0.5 * 3) f->window->cwnd_pkts = 3;", "controller.c:7:.*float"),
        ("", "f->window->cwnd_pkts *= 1.5f;", "controller.c:7:.*SSE disabled"),
        ("#include <stdlib.h>", "if (!a) abort();", "stdlib.h"),
        (
            "typedef unsigned __int128 wide;",
            "f->window->cwnd_pkts = (wide)a->now_ns * 9 / (a->now_ns + 1);",
            "__udivti3",
        ),
    ],
)
def test_what_the_kernel_has_not(first: str, text: str, said: str, tmp_path: Path) -> None:
    experiment = own(tmp_path, body(text, first), duration="100ms")
    simulate(experiment, backend="sim")
    with pytest.raises(SpecError, match=f"(?s){said}") as raised:
        simulate(experiment, backend="kernel")
    assert raised.value.path == "flows[0].tcp.congestion_control"
    assert str(tmp_path) not in str(raised.value)


@pytest.mark.parametrize("asked", ["sees_sender", "needs_ecn"])
def test_what_the_simulator_alone_gives_is_refused(asked: str, tmp_path: Path) -> None:
    source = body("").replace(".on_loss = loss", f".on_loss = loss, .{asked} = true")
    with pytest.raises(SpecError, match=f"`{asked}`") as raised:
        simulate(own(tmp_path, source, duration="100ms"), backend="kernel")
    assert raised.value.path == "flows[0].tcp.congestion_control"


def test_it_is_configured_after_its_parameters_are_set(tmp_path: Path) -> None:
    first = """
static int keep = 1, worked_out;
static const struct dumbbell_cc_parameter parameters[] = { DUMBBELL_CC_PARAMETER(keep, 1, 9) };
static int configure(void) { worked_out = 10 * keep; return keep == 9 ? 22 : 0; }
"""
    more = ", .configure = configure, .parameters = parameters, .parameters_count = 1"
    text = "f->window->cwnd_pkts = worked_out;"
    source = body(text, first).replace(".on_loss = loss", ".on_loss = loss" + more)
    for backend in ("sim", "kernel"):
        run = simulate(
            own(tmp_path, source, tcp="parameters = { keep = 2 }", duration="1s"), backend=backend
        )
        assert run.tables["flow_samples"]["cwnd_pkts"][-1] == 20
        refused = own(tmp_path, source, tcp="parameters = { keep = 9 }", duration="1s")
        with pytest.raises(RunError):
            simulate(refused, backend=backend)


def test_one_that_crashes_ends_its_run_with_the_kernels_words(tmp_path: Path) -> None:
    crash = "if (a->now_ns > 1000000000u) *(volatile int *)8 = 1;"
    bad = own(tmp_path, body(crash))
    good = Experiment.from_toml(toml("cubic", duration="1s"))
    failures: list[Failure] = []
    runs = list(run_many([(bad, 0), (good, 0)], backend="kernel", on_failure=failures.append))
    assert [index for index, _ in runs] == [1]
    (failure,) = failures
    assert failure.index == 0
    assert "panicked" in failure.message
    assert "RIP: 0033:ack+0x" in failure.message


def test_both_backends_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "own.c").write_text(EXAMPLE.read_text())
    file = tmp_path / "own.toml"
    file.write_text(toml("file:own.c", duration="2s"))
    words = ["run", str(file), "--backend", "sim,kernel", "--replications", "2", "--json"]
    done = CliRunner().invoke(app, [*words, "--no-store", "--no-page", "--allow-native"])
    assert done.exit_code == 0, done.output
    runs = json.loads(done.stdout)["runs"]
    assert {each["backend"] for each in runs} == {"sim", "kernel"}


@pytest.mark.usefixtures("linux_6_1")
def test_where_simulator_and_kernel_part(tmp_path: Path) -> None:
    (tmp_path / "own.c").write_text(EXAMPLE.read_text())
    file = tmp_path / "own.toml"
    file.write_text(toml("reno", duration="1s"))
    words = ["controller", "compare", str(tmp_path / "own.c"), str(file)]
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert min(found["events_sim"], found["events_kernel"]) > 400
    for first_difference in filter(None, (found["anything"], found["window"])):
        # Slow start, the first losses and fast recovery are the same.
        assert first_difference["number"] > 100
    # One that looks at what only the simulator tells it.
    (tmp_path / "own.c").write_text(
        body("f->window->cwnd_pkts = a->now_ns > 300000000u && a->rate.delivered_pkts > 0 ? 7 : 9;")
    )
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    first_difference = json.loads(done.stdout)["window"]
    assert first_difference["fields"] == [{"part": "after", "name": "cwnd_pkts"}]
    assert (first_difference["sim"]["event"], first_difference["kernel"]["event"]) == (
        "on_ack",
        "on_ack",
    )
    assert (
        first_difference["sim"]["after"]["cwnd_pkts"],
        first_difference["kernel"]["after"]["cwnd_pkts"],
    ) == (7, 9)
    assert 300_000_000 < first_difference["sim"]["told"]["now_ns"] < 330_000_000
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "after.cwnd_pkts *" in done.output
    file.write_text(toml("file:own.c").replace("[flows.tcp]", "[flows.tcp]\nparameters = {x = 1}"))
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, SpecError)


@pytest.mark.usefixtures("linux_6_1")
@pytest.mark.parametrize("owns_recovery", [0, 1])
@pytest.mark.parametrize("changes", [{}, {"qdisc": "codel target 2ms ecn", "tcp": "ecn = true"}])
def test_the_same_events_as_in_the_simulator(
    owns_recovery: int, changes: dict[str, Any], tmp_path: Path
) -> None:
    source = HEEDS_ALL.replace("OWNS", str(owns_recovery))
    experiment = own(tmp_path, source, duration="4s", **changes)
    resolved_json = experiment.resolved_json()
    sha256 = json.loads(resolved_json)["flows"][0]["tcp"]["controller"]["sha256"]
    both = simulated_records(resolved_json, 0, sha256), kernel_records(resolved_json, 0)
    sim, kernel = (np.bincount(each["event"], minlength=len(EVENTS)) for each in both)
    reductions = "on_ecn" if changes else "on_loss"
    for name in ("init", "on_transmit_start", reductions, "on_exit_recovery"):
        assert sim[EVENTS.index(name)] == kernel[EVENTS.index(name)] > 0
    for name in ("on_rto", "on_enter_loss", "on_undo", "on_ecn" if not changes else "on_loss"):
        assert sim[EVENTS.index(name)] == kernel[EVENTS.index(name)] == 0
    for name in ("on_ack", "on_rtt"):
        assert kernel[EVENTS.index(name)] == pytest.approx(sim[EVENTS.index(name)], rel=0.02)
