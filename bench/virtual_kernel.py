"""``make bench``, the second table: one CUBIC flow on the real kernel in virtual time.

Our guest beside a bare script that sends with iperf3, inside the same kernel, over the same hosts,
links and queues, in interleaved pairs. Cost is the CPU time of the whole guest, its kernel
included, from boot to end: per second of virtual time and per packet at the bottleneck. A row
counts only when both sent the same packets within 5 %. Ours also samples TCP's state and the queue
every 100 ms; iperf3 reports once a second, which is what one would type.

The same experiment is also run with ``guest = "module"``, which sends the same packets, and by the
simulator, whose own models send about as many.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paired import MedianInterval, median_interval, pairs_or_none
from run import RESULTS, SAME_WORK_TOLERANCE, difference, machine

from dumbbell.backends import simulate
from dumbbell.backends.base import Job
from dumbbell.backends.kernel import LaunchResult, find_kernel, launch
from dumbbell.backends.kernel.backend import BACKEND, kernel_seed
from dumbbell.backends.kernel.cache import KernelInfo, how_to_build
from dumbbell.backends.kernel.confinement import SYSTEM
from dumbbell.backends.kernel.guest import guest_program
from dumbbell.backends.kernel.job import job, links_of_hosts
from dumbbell.backends.kernel.login import Login
from dumbbell.backends.kernel.programs import host_tools
from dumbbell.backends.kernel.tables import read_result
from dumbbell.backends.kernel.tool_library import tool_library
from dumbbell.backends.kernel.traffic import player_of
from dumbbell.errors import DumbbellError
from dumbbell.spec import Experiment
from dumbbell.spec.resolved import GuestKind

RTT_MS = 20
FASTER_THAN_REAL_TIME = 3.0
"""Goal at the rates of `GOALS`."""
RATES_MBPS = (10, 100)
GOAL_MBPS = 10
BOTTLENECK = 2
"""Index of the queue from router to receiver."""
BY_MODULE = "our guest, module"
SIMULATOR = "simulator"
WALL_LIMIT_S = 300.0
MEMORY_MB = 512

_PATHS = "export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C"
_HOSTS = """#!/bin/sh
{paths}
mount -n -t tmpfs tmpfs /run || exit 2
mount -n -t proc proc /proc && mount -n -t sysfs sysfs /sys || exit 2
export TMPDIR={folder}
for host in {hosts}; do
  ip netns add h$host && ip -n h$host link set lo up || exit 3
{settings}
done
{steps}"""
_SCRIPT = """{hosts}
ip netns exec h2 iperf3 -4 --server --one-off >/dev/null &
sleep 0.1
ip netns exec h0 iperf3 -4 --client {address} --time {duration_s} --congestion cubic --json \\
  > {folder}/iperf3.json
status=$?
tc -n h1 -s -j qdisc show dev {device} > {folder}/qdisc.json
exit $status
"""


@dataclass(frozen=True)
class Sample:
    """One run.

    Attributes:
        packets: Sent by the bottleneck's queue.
        goodput_mbps: Received payload over the time of the run.
        virtual_s: Time the flow lasted.
        wall_s: From boot to end.
        cpu_s: Likewise.
    """

    packets: int
    goodput_mbps: float
    virtual_s: float
    wall_s: float
    cpu_s: float

    @property
    def cpu_per_virtual_s(self) -> float:
        """CPU seconds for a second of the guest's."""
        return self.cpu_s / self.virtual_s

    @property
    def cpu_us_per_packet(self) -> float:
        """CPU microseconds for a packet at the bottleneck."""
        return 1e6 * self.cpu_s / self.packets

    @property
    def speed(self) -> float:
        """Virtual time over CPU time: how many times faster than real time, on a free core."""
        return self.virtual_s / self.cpu_s


@dataclass(frozen=True)
class Row:
    """One rate."""

    rate_mbps: int
    ours: list[Sample]
    iperf3: list[Sample]
    beside: dict[str, list[Sample]] = field(default_factory=dict)
    """Others that ran the same experiment, by name."""

    def ratio(self, others: list[Sample] | None = None) -> MedianInterval | None:
        """CPU time a packet of others' runs, iperf3's unless given, over ours; None without any."""
        pairs = zip(self.ours, self.iperf3 if others is None else others, strict=False)
        ratios = [other.cpu_us_per_packet / own.cpu_us_per_packet for own, other in pairs]
        return median_interval(ratios) if ratios else None

    def verdict(self) -> str:
        """What the row says about its goal, and whether both did the same."""
        if self.iperf3:
            sums = [sum(sample.packets for sample in side) for side in (self.ours, self.iperf3)]
            by = difference(*sums)
            if abs(by) > SAME_WORK_TOLERANCE:
                return f"ratio not counted: packets {by:+.1%}"
        if self.rate_mbps != GOAL_MBPS:
            return "-"
        speed = median_interval([sample.speed for sample in self.ours])
        if speed.low >= FASTER_THAN_REAL_TIME:
            return "met"
        return "missed" if speed.high < FASTER_THAN_REAL_TIME else "open"


def experiment(rate_mbps: int, duration_s: int, seed: int) -> Experiment:
    """One greedy CUBIC flow through a router with a queue of one bandwidth-delay product."""
    bdp_packets = max(10, round(rate_mbps * 1e6 * RTT_MS / 1e3 / 8 / 1514))
    link = {"rate": f"{rate_mbps}mbit", "delay": f"{RTT_MS / 2:g}ms"}
    return Experiment.model_validate(
        {
            "name": "one-cubic-flow",
            "duration": f"{duration_s}s",
            "sample_interval": "100ms",
            "seed": seed,
            "links": [
                {"a": "sender", "b": "router"},
                {
                    "a": "router",
                    "b": "receiver",
                    "forward": {**link, "qdisc": f"pfifo limit {bdp_packets}"},
                    "reverse": {"delay": link["delay"]},
                },
            ],
            "flows": [
                {
                    "name": "flow",
                    "from": "sender",
                    "to": "receiver",
                    "source": {"kind": "greedy"},
                    "tcp": {"congestion_control": "cubic"},
                }
            ],
        }
    )


def run_ours(
    kernel: Path, rate_mbps: int, duration_s: int, seed: int, guest: GuestKind = GuestKind.PROCESS
) -> Sample:
    """Our guest; the module is compiled beforehand."""
    described = experiment(rate_mbps, duration_s, seed).with_(guest=guest)
    tables, ended = tables_of_guest(kernel, described)
    return _sample(tables, duration_s, ended.wall_s, ended.cpu_s)


def tables_of_guest(kernel: Path, described: Experiment) -> tuple[Mapping[str, Any], LaunchResult]:
    """What a guest recorded, and what it cost from boot to end; replication 0."""
    text = described.resolved_json()
    player = player_of(described.resolved())
    memory_mb = max(MEMORY_MB, BACKEND.check(text).memory_bytes // 2**20 + 1)
    with tempfile.TemporaryDirectory(prefix="dumbbell-bench-") as scratch:
        folder = Path(scratch)
        output = folder / "output"
        output.mkdir()
        library = tool_library()
        asked = job(text, 0, output, host_tools(), player=player, tool_library=library)
        (folder / "job.json").write_text(asked, encoding="utf-8")
        env = {"DUMBBELL_JOB": str(folder / "job.json")}
        readable = [path for path in (player.module, library) if path is not None]
        ended = _launched(
            kernel, guest_program(), folder, text, env=env, readable=readable, memory_mb=memory_mb
        )
        result = read_result(output)
        if not ended.ok or result is None:
            sys.exit(ended.why())
    return result.tables, ended


def run_simulator(rate_mbps: int, duration_s: int, seed: int) -> Sample:
    """The simulator, in this process."""
    began, began_cpu = time.perf_counter(), time.process_time()
    run = simulate(experiment(rate_mbps, duration_s, seed))
    wall_s, cpu_s = time.perf_counter() - began, time.process_time() - began_cpu
    return _sample(run.tables, duration_s, wall_s, cpu_s)


def _sample(tables: Mapping[str, Any], duration_s: int, wall_s: float, cpu_s: float) -> Sample:
    packets = int(tables["queues"]["departed_pkts"][BOTTLENECK])
    received_bytes = int(tables["flows"]["received_payload_bytes"][0])
    return Sample(packets, 8e-6 * received_bytes / duration_s, duration_s, wall_s, cpu_s)


def run_iperf3(kernel: Path, rate_mbps: int, duration_s: int, seed: int) -> Sample:
    """The same hosts and queues, made by a script, and iperf3."""
    text = experiment(rate_mbps, duration_s, seed).resolved_json()
    with tempfile.TemporaryDirectory(prefix="dumbbell-bench-") as scratch:
        folder = Path(scratch)
        init = folder / "init"
        init.write_text(bare_script(text, folder, host_tools(), duration_s), encoding="utf-8")
        init.chmod(0o755)
        ended = _launched(kernel, init, folder, text)
        if not ended.ok:
            sys.exit(ended.why())
        report = json.loads((folder / "iperf3.json").read_text(encoding="utf-8"))
        qdiscs = json.loads((folder / "qdisc.json").read_text(encoding="utf-8"))
    (packets,) = (qdisc["packets"] for qdisc in qdiscs if qdisc["kind"] == "pfifo")
    goodput_mbps = report["end"]["sum_received"]["bits_per_second"] / 1e6
    return Sample(packets, goodput_mbps, duration_s, ended.wall_s, ended.cpu_s)


def bare_script(resolved_json: str, folder: Path, tools: Mapping[str, str], duration_s: int) -> str:
    """What one would write by hand for the hosts that our guest makes."""
    asked = json.loads(job(resolved_json, 0, folder, tools))
    return _SCRIPT.format(
        hosts=bare_hosts(resolved_json, folder, tools),
        address=asked["flow_addresses"][0],
        duration_s=duration_s,
        folder=shlex.quote(str(folder)),
        device=asked["queues"][BOTTLENECK]["device"],
    )


def bare_hosts(
    resolved_json: str, folder: Path, tools: Mapping[str, str], login: Login | None = None
) -> str:
    """The beginning of such a script: hosts, links and queues.

    Links are made in a namespace of their own, because `ip` creates none whose name is taken where
    it runs.
    """
    asked = json.loads(job(resolved_json, 0, folder, tools, login=login))
    pairs, links = links_of_hosts(resolved_json, login)
    settings = [
        f"  ip netns exec h$host sh -c 'echo {each['value']} > /proc/sys/{each['path']}'"
        for each in asked["sysctl"]
    ]
    batches = [
        (len(links), tools["ip"], [pair.line for pair in pairs]),
        *((host, tools["ip"], [link.line for link in of]) for host, of in enumerate(links)),
        *((step["host"], step["tool"], step["lines"]) for step in asked["steps"]),
    ]
    steps = [
        "\n".join([f"{tool} -n h{host} -batch - <<'END' || exit 4", *lines, "END"])
        for host, tool, lines in batches
    ]
    return _HOSTS.format(
        paths=_PATHS,
        hosts=" ".join(map(str, range(len(links) + 1))),
        settings="\n".join(settings),
        steps="\n".join(steps),
        folder=shlex.quote(str(folder)),
    )


def _launched(
    kernel: Path,
    init: Path,
    folder: Path,
    text: str,
    *,
    env: Mapping[str, str] | None = None,
    readable: Sequence[Path] = (),
    memory_mb: int = MEMORY_MB,
) -> LaunchResult:
    seed = kernel_seed(Job(text, 0))
    return launch(
        kernel, init, run_dir=folder, seed=seed, wall_limit_s=WALL_LIMIT_S, memory_mb=memory_mb,
        env=env, readable=[*SYSTEM, *readable],
    )  # fmt: skip


def measured(kernel: Path, rate_mbps: int, duration_s: int, pairs: int, iperf3: bool) -> Row:
    """Runs of both, alternating which comes first."""
    ours: list[Sample] = []
    others: list[Sample] = []
    beside: dict[str, list[Sample]] = {BY_MODULE: [], SIMULATOR: []}
    run_ours(kernel, rate_mbps, 1, 1, GuestKind.MODULE)  # compiles it
    for seed in range(1, pairs + 1):
        if not iperf3:
            ours.append(run_ours(kernel, rate_mbps, duration_s, seed))
        elif seed % 2:
            ours.append(run_ours(kernel, rate_mbps, duration_s, seed))
            others.append(run_iperf3(kernel, rate_mbps, duration_s, seed))
        else:
            others.append(run_iperf3(kernel, rate_mbps, duration_s, seed))
            ours.append(run_ours(kernel, rate_mbps, duration_s, seed))
        beside[BY_MODULE].append(run_ours(kernel, rate_mbps, duration_s, seed, GuestKind.MODULE))
        beside[SIMULATOR].append(run_simulator(rate_mbps, duration_s, seed))
    return Row(rate_mbps, ours, others, beside)


def table(rows: list[Row]) -> str:
    """The rows as aligned text."""
    head = ("CUBIC flow", "by", "runs", "packets", "Mbit/s", "CPU s/virtual s", "CPU us/packet",
            "x real time", "over our guest's, median [95 %]", "goal", "")  # fmt: skip
    lines: list[tuple[str, ...]] = [head]
    for row in rows:
        rate = f"{row.rate_mbps} Mbit/s"
        goal = f">= {FASTER_THAN_REAL_TIME:g}x" if row.rate_mbps == GOAL_MBPS else "-"
        lines.append((rate, "our guest", *_cells(row.ours), "-", goal, row.verdict()))
        for name, samples in {"iperf3": row.iperf3, **row.beside}.items():
            if samples:
                lines.append((rate, name, *_cells(samples), str(row.ratio(samples)), "", ""))
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    texts = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in lines]
    return "\n".join(text.rstrip() for text in texts)


def _cells(samples: list[Sample]) -> tuple[str, ...]:
    def median(name: str) -> float:
        return median_interval([getattr(sample, name) for sample in samples]).median

    return (
        str(len(samples)),
        f"{sum(sample.packets for sample in samples):,}",
        f"{median('goodput_mbps'):.2f}",
        f"{median('cpu_per_virtual_s'):.3f}",
        f"{median('cpu_us_per_packet'):.1f}",
        f"{median('speed'):.1f}",
    )


def write(rows: list[Row], kernel_sha256: str) -> Path:
    """Everything measured, as JSON."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "kernel.json"
    content = {
        "machine": machine(),
        "kernel_sha256": kernel_sha256,
        "rows": [{**dataclasses.asdict(row), "verdict": row.verdict()} for row in rows],
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return path


def kernel_to_time(pairs: int) -> KernelInfo | None:
    """The kernel; None, and the reason printed, where guests are not to be timed or cannot run."""
    kernel = find_kernel()
    if pairs == 0 or kernel is None:
        print(f"skipped: {how_to_build() if pairs else '--kernel-pairs 0'}")
        return None
    try:
        guest_program(), host_tools()
    except DumbbellError as error:
        print(f"skipped: {error}")
        return None
    return kernel


def main() -> int:
    """Runs, prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--kernel-pairs", type=pairs_or_none, default=5, help="interleaved pairs a row; 0 for none"
    )
    parser.add_argument("--kernel-seconds", type=int, default=30, help="virtual time of a run")
    parser.add_argument("--check", action="store_true", help="status 1 when the goal is missed")
    given, _ = parser.parse_known_args()
    print(f"\nOne CUBIC flow on the kernel in virtual time, {RTT_MS} ms, queue of one BDP")
    kernel = kernel_to_time(given.kernel_pairs)
    if kernel is None:
        return 0
    iperf3 = shutil.which("iperf3", path="/usr/bin:/bin") is not None
    if not iperf3:
        print("skipped: iperf3: not installed (Debian: apt-get install iperf3)")
    rows = [
        measured(kernel.path, rate, given.kernel_seconds, given.kernel_pairs, iperf3)
        for rate in RATES_MBPS
    ]
    print(table(rows))
    print(f"written: {write(rows, kernel.sha256)}")
    return 1 if given.check and any(row.verdict() == "missed" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
