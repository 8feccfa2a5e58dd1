"""Cost of a run with real programs, compared with a guest that runs the same commands in a script.

Source 000 (statistical multiplexing): two ITGSend, an ITGRecv, two pings, a router with ``netem
rate``. Ours starts the programs in hosts as one logs in to them, looks at the queue packet by
packet, and reads what they print into tables; the script has network namespaces and the commands.
Cost is the CPU time of the whole guest, from boot to end, in alternating pairs. A pair counts only
when the queue sent as many packets within 5 %.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paired import median_interval, pairs_or_none
from run import SAME_WORK_TOLERANCE, difference
from virtual_kernel import bare_hosts

from dumbbell.backends import simulate
from dumbbell.backends.base import Job
from dumbbell.backends.kernel import find_kernel, launch
from dumbbell.backends.kernel.backend import kernel_seed
from dumbbell.backends.kernel.cache import how_to_build
from dumbbell.backends.kernel.confinement import SYSTEM
from dumbbell.backends.kernel.guest import guest_program
from dumbbell.backends.kernel.job import job
from dumbbell.backends.kernel.program_tasks import planned_tasks
from dumbbell.backends.kernel.programs import asked_tools, host_tools
from dumbbell.errors import DumbbellError
from dumbbell.spec import Experiment
from dumbbell.spec.programs import RunTimes

MOST_RATIO = 1.2
"""Goal: our CPU time over the script's."""
PINGS = 1000
PING_INTERVAL_S = 0.2
QUEUE = "router->receiver-1"
WALL_LIMIT_S = 900.0
MEMORY_MB = 512
_SCRIPT = """{hosts}
export HOME={folder} TMPDIR={folder}
cd {folder}
{servers}
sleep 1
{clients}
wait $clients
tc -n h{router} -s -j qdisc show dev {device} > {folder}/qdisc.json
"""


@dataclass(frozen=True)
class Cost:
    """One run.

    Attributes:
        cpu_s: Of the guest, from boot to end.
        packets: Sent by the router's queue.
    """

    cpu_s: float
    packets: int


def experiment(duration_s: int, seed: int, *, programs: bool) -> Experiment:
    """The SM arm of source 000; without programs probes stand for the routes that they need."""
    links: list[dict[str, Any]] = [{"a": f"sender-{i}", "b": "router"} for i in (1, 2)]
    links.append({"a": "router", "b": "receiver-1", "forward": {"qdisc": "netem rate 1000kbit"}})
    ends = [{"from": f"sender-{i}", "to": "receiver-1"} for i in (1, 2)]
    pings = min(PINGS, round(duration_s / PING_INTERVAL_S))
    stream = {"gap": "exponential 110pps", "size": "exponential 512B", "log": "none"}
    started = [
        {"kind": "ditg", "name": f"stream-{i}", **each, **stream, "duration": f"{duration_s}s"}
        for i, each in enumerate(ends, 1)
    ] + [
        {"kind": "ping", "name": f"ping-{i}", **each, "interval": "200ms", "count": pings}
        for i, each in enumerate(ends, 1)
    ]
    routes = [{"name": f"way-{i}", **each, "count": 1} for i, each in enumerate(ends, 1)]
    more = {"programs": started} if programs else {"probes": routes}
    end = {"name": "source-000", "duration": f"{duration_s + 20}s", "seed": seed, "links": links}
    return Experiment.model_validate(end | more)


def run_ours(duration_s: int, seed: int) -> Cost:
    """As `[[programs]]`."""
    run = simulate(experiment(duration_s, seed, programs=True), backend="kernel")
    (packets,) = run.column("queues", "departed_pkts", queue=QUEUE)
    return Cost(run.provenance["cpu_s"], int(packets))


def run_script(kernel: Path, duration_s: int, seed: int) -> Cost:
    """As a script: the same commands, no sampling."""
    text = experiment(duration_s, seed, programs=False).resolved_json()
    resolved = experiment(duration_s, seed, programs=True).resolved()
    tools = host_tools(asked_tools(resolved))
    with tempfile.TemporaryDirectory(prefix="dumbbell-bench-") as scratch:
        folder = Path(scratch)
        asked = json.loads(job(text, 0, folder, tools))
        init = folder / "init"
        hosts = bare_hosts(text, folder, tools)
        init.write_text(script(hosts, asked, resolved, tools, folder), encoding="utf-8")
        init.chmod(0o755)
        ended = launch(
            kernel,
            init,
            run_dir=folder,
            seed=kernel_seed(Job(text, 0)),
            wall_limit_s=WALL_LIMIT_S,
            memory_mb=MEMORY_MB,
            readable=SYSTEM,
        )
        if not ended.ok:
            sys.exit(ended.why())
        qdiscs = json.loads((folder / "qdisc.json").read_text(encoding="utf-8"))
    (packets,) = (each["packets"] for each in qdiscs if each["kind"] == "netem")
    return Cost(ended.cpu_s, packets)


def script(
    made_hosts: str,
    asked: dict[str, Any],
    resolved: dict[str, Any],
    tools: dict[str, str],
    folder: Path,
) -> str:
    """What one would write by hand, from the lines and words that our guest is given."""
    hosts = {host["name"]: index for index, host in enumerate(resolved["hosts"])}
    servers, clients = [], ["clients="]
    for each in planned_tasks(resolved, 0):
        words = shlex.join([tools[each.task.tool], *each.task.words])
        line = f"ip netns exec h{hosts[each.task.host]} {words} > {each.task.output} 2>&1 &"
        if each.task.when is RunTimes.BEFORE:
            servers.append(line)
        else:
            clients += [line, 'clients="$clients $!"']
    (place,) = (each for each in asked["queues"] if each["host"] == hosts["router"]
                and each["device"] == "eth3")  # fmt: skip
    return _SCRIPT.format(
        hosts=made_hosts,
        servers="\n".join(servers),
        clients="\n".join(clients),
        router=hosts["router"],
        device=place["device"],
        folder=shlex.quote(str(folder)),
    )


def measured(kernel: Path, duration_s: int, pairs: int) -> list[tuple[Cost, Cost]]:
    """Pairs of ours and the script's, alternating which comes first."""
    found = []
    for seed in range(1, pairs + 1):
        if seed % 2:
            ours = run_ours(duration_s, seed)
            theirs = run_script(kernel, duration_s, seed)
        else:
            theirs = run_script(kernel, duration_s, seed)
            ours = run_ours(duration_s, seed)
        found.append((ours, theirs))
        print(f"pair {seed}: ours {ours}, script {theirs}", file=sys.stderr)
    return found


def said(pairs: list[tuple[Cost, Cost]], duration_s: int) -> tuple[str, bool]:
    """A line, and whether the goal is met."""
    by = difference(*(sum(side.packets for side in each) for each in zip(*pairs, strict=True)))
    if abs(by) > SAME_WORK_TOLERANCE:
        return f"not counted: packets {by:+.1%}", False
    ratio = median_interval([ours.cpu_s / theirs.cpu_s for ours, theirs in pairs])
    sides = [
        median_interval([side.cpu_s for side in each]).median for each in zip(*pairs, strict=True)
    ]
    is_met = ratio.median <= MOST_RATIO
    return (
        f"{duration_s} s of source 000: ours {sides[0]:.1f} s of CPU, the script {sides[1]:.1f} s; "
        f"ratio {ratio}, goal <= {MOST_RATIO}: {'met' if is_met else 'missed'}",
        is_met,
    )


def main() -> int:
    """Runs, prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pairs", type=pairs_or_none, default=3, help="alternating pairs")
    parser.add_argument("--seconds", type=int, default=600, help="how long ITGSend sends")
    parser.add_argument("--check", action="store_true", help="status 1 when the goal is missed")
    given = parser.parse_args()
    kernel = find_kernel()
    if kernel is None or not given.pairs:
        print(f"skipped: {how_to_build()}")
        return 0
    try:
        guest_program()
        host_tools(asked_tools(experiment(10, 1, programs=True).resolved()))
    except DumbbellError as error:
        print(f"skipped: {error}")
        return 0
    line, is_met = said(measured(kernel.path, given.seconds, given.pairs), given.seconds)
    print(line)
    return 1 if given.check and not is_met else 0


if __name__ == "__main__":
    sys.exit(main())
