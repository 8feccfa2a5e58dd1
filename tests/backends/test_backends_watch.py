"""Runs that would not end, or not fit: refused, or ended as one failed run that says why."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from backends_samples import one_queue

from dumbbell import _engine
from dumbbell.backends import Cost, Failure, memory, run_many, simulate
from dumbbell.backends.sim import Simulator
from dumbbell.errors import FailureKind, RunError, SpecError
from dumbbell.spec import Experiment
from waiting import PATIENCE_S


def experiment(link: dict[str, Any], source: dict[str, Any], **more: Any) -> Experiment:
    return Experiment.read(
        {
            "name": "watched",
            "duration": "1s",
            "links": [{"a": "h0", "b": "h1", **link}],
            "flows": [{"name": "f", "from": "h0", "to": "h1", "source": source}],
            **more,
        }
    )


def records(duration: str) -> Experiment:
    link = {"forward": {"record_packets": True}}
    return experiment(link, {"kind": "cbr", "gap": "1us", "size": "100B"}, duration=duration)


@pytest.fixture
def underestimated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every run look as if it took nothing."""
    monkeypatch.setattr(Simulator, "check", lambda *_: Cost(1, 1, 0.0))


@pytest.mark.parametrize(
    "link",
    [
        {},
        {"qdisc": "fq_codel"},
        {"qdisc": "prio"},
        {"qdisc": "codel"},
        {"qdisc": "pie"},
        {"qdisc": "netem limit 1000"},
        {"qdisc": "netem loss 1%"},
        {"qdisc": "fq_codel", "record_packets": True},
        {"delay": "1ms", "changes": [{"at": "500ms", "delay": "0s"}]},
    ],
)
def test_a_way_round_without_time_is_refused(link: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match="a link has a rate or a delay") as caught:
        simulate(experiment(link, {"kind": "greedy"}))
    assert (caught.value.path, caught.value.value) == ("flows[0].to", "h1")


def test_the_kernel_is_not_asked_either() -> None:
    """In virtual time its clock stands while it computes."""
    text = experiment({}, {"kind": "greedy"}).resolved_json()
    with pytest.raises(_engine.SpecInvalid, match="a link has a rate or a delay"):
        _engine.check(text, simulated=False)


def test_a_run_that_needs_too_much_fails_alone(underestimated: None) -> None:
    pairs = [(one_queue("1s"), 0), (records("60s"), 1), (one_queue("1s"), 2)]
    failures: list[Failure] = []
    runs = list(run_many(pairs, memory_bytes=20_000_000, on_failure=failures.append))
    assert sorted(index for index, _ in runs) == [0, 2]
    (failure,) = failures
    assert (failure.index, failure.replication) == (1, 1)
    assert failure.kind is FailureKind.OUT_OF_MEMORY
    # Of the 20 MB what the other runs hold at that moment is taken.
    assert re.search(r"needs \d+ MB of memory, and (19|20) MB are there", failure.message)


def test_whoever_asks_for_one_run_hears_why_it_failed(underestimated: None) -> None:
    with pytest.raises(RunError, match="record_packets off") as caught:
        simulate(records("60s"), memory_bytes=20_000_000)
    assert caught.value.kind is FailureKind.OUT_OF_MEMORY
    assert caught.value.exit_code == 1


def test_what_does_not_fit_in_what_is_asked_is_refused() -> None:
    with pytest.raises(SpecError, match="20 MB of free memory"):
        simulate(records("1s"), memory_bytes=20_000_000)


def test_a_cancelled_run_says_so_by_its_type() -> None:
    cancel = _engine.Cancel()
    stream = _engine.simulate([(one_queue("16000000s").resolved_json(), 0)], cancel=cancel)
    assert stream.poll(0.2) is None
    cancel.set()
    completed = stream.poll(PATIENCE_S)
    assert completed is not None
    assert completed.failure == _engine.RunFailure.CANCELLED
    assert completed.error is not None


def test_what_was_foreseen_stands_beside_what_it_took() -> None:
    run = simulate(records("100ms"))
    numbers = {
        "events": run.meta["events"],
        "expected_events": run.provenance["expected_events"],
        "memory": run.provenance["memory_bytes"],
        "expected_memory": run.provenance["expected_memory_bytes"],
    }
    assert all(isinstance(each, int) for each in numbers.values())
    assert 1 / 5 < numbers["events"] / numbers["expected_events"] < 5
    assert 1 / 5 < numbers["memory"] / numbers["expected_memory"] < 5


def test_no_more_is_used_than_was_foreseen() -> None:
    """Three times as many packets as datagrams, in a process of its own for its peak."""
    program = """
from pathlib import Path
from dumbbell.backends import simulate
from dumbbell.cli.run.summary import summary_numbers
from dumbbell.spec import Experiment

experiment = Experiment.read({
    "name": "fragments", "duration": "2s",
    "links": [{"a": "h0", "b": "h1", "forward": {"record_packets": True}}],
    "flows": [{"name": "f", "from": "h0", "to": "h1", "source": {
        "kind": "cbr", "gap": "5us", "size": "4000B", "size_at": "payload"}}],
})
def peak():
    # Not ru_maxrss, which begins with that of whoever started the process.
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])
before = peak()
run = simulate(experiment)
summary_numbers(run)
print(peak() - before, run.provenance["expected_memory_bytes"])
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    used, foreseen = map(int, done.stdout.split())
    assert used > 100_000_000
    assert 0.7 < used / foreseen < 1.5


HEAVY = {
    "connections": experiment(
        {"rate": "1mbit", "delay": "10ms"},
        {"kind": "arrivals", "size": "pareto 1.5 6kB", "gap": "constant 500ns"},
        duration="2s",
    ),
    "packets on the way": experiment(
        {"delay": "140ms"}, {"kind": "poisson", "gap": "10ns", "size": "100B"}, duration="1s"
    ),
    "records": records("30s"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", HEAVY)
def test_a_limited_address_space_is_no_reason_to_abort(kind: str, tmp_path: Path) -> None:
    """As after ``ulimit -v 2000000``: the first was killed by a failed allocation."""
    (tmp_path / "resolved.json").write_text(HEAVY[kind].resolved_json())
    program = f"""
from dumbbell.backends import simulate
from dumbbell.errors import DumbbellError

class Resolved:
    def resolved_json(self):
        return open({str(tmp_path / "resolved.json")!r}).read()

try:
    simulate(Resolved())
    print("a result")
except DumbbellError as error:
    print(error.exit_code, str(error).count("\\n"), error)
"""
    limit = 2_000_000 * 1024
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 0 duration:")
    assert "free memory" in done.stdout


def test_memory_is_what_the_least_of_the_limits_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meminfo, own, statm = tmp_path / "meminfo", tmp_path / "own", tmp_path / "statm"
    monkeypatch.setattr(memory, "_MEMINFO", meminfo)
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    monkeypatch.setattr(memory, "_OWN_CGROUPS", own)
    monkeypatch.setattr(memory, "_STATM", statm)
    meminfo.write_text("MemAvailable: 10 kB\n")
    own.write_text("0::/outer/inner\n")
    statm.write_text("1 1 1\n")
    inner = tmp_path / "outer/inner"
    inner.mkdir(parents=True)

    def limited(folder: Path, most: str, used: int) -> None:
        (folder / "memory.max").write_text(most)
        (folder / "memory.current").write_text(str(used))

    assert memory.available_memory_bytes() == 10_240
    limited(inner.parent, "9000", 1000)
    limited(inner, "max", 500)
    assert memory.available_memory_bytes() == 8000
    limited(inner, "5000", 500)
    assert memory.available_memory_bytes() == 4500
    # Pages of files that nobody uses are given back.
    (inner / "memory.stat").write_text("anon 100\ninactive_file 400\n")
    assert memory.available_memory_bytes() == 4900
    page = resource.getpagesize()
    monkeypatch.setattr(resource, "getrlimit", lambda _: (page + 3000, page + 3000))
    assert memory.available_memory_bytes() == 1500
    assert memory.MemoryLimit(700).of_new_runs_bytes() == 700
    assert memory.MemoryLimit(1700).of_new_runs_bytes() == 1500


def test_short_runs_do_not_ask_the_machine_for_its_memory_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = []
    monkeypatch.setattr(memory, "available_memory_bytes", lambda: looks.append(1) or 10**9)
    limit = memory.MemoryLimit()
    assert [limit.of_new_runs_bytes() for _ in range(1000)] == [10**9] * 1000
    assert len(looks) < 500  # one in 0.1 s; a thousand before
    monkeypatch.setattr(memory, "LOOKED_AT_S", 0.0)
    before = len(looks)
    limit.left_bytes()
    assert len(looks) == before + 1
