"""Twins and advice of random networks that are measured on the Linux kernel, beside the truth.

    python scripts/twin_networks.py FOLDER --seeds 100-129            # measure and fit
    python scripts/twin_networks.py FOLDER --seeds 100-129 --advice   # run every setting too
    python scripts/twin_networks.py FOLDER --table                    # of all finished networks

Each network is drawn from its seed: rates, round trip, disciplines, number of flows. Flows and
pings of ``dumbbell flent --backend kernel`` measure it; ``dumbbell twin`` gets the data files only.
With ``--advice``, the settings of ``dumbbell advise`` for a call while a backup runs are run on the
kernel over the true line, and the advised one is compared with the best. What is finished in
``FOLDER`` is not done again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dumbbell.backends import run_many
from dumbbell.metrics import goodput_bps, ping_rtt_quantiles_ms
from dumbbell.spec import Experiment
from dumbbell.twin.advice.advising import (
    RATE_TOLERANCE,
    ROUND_TRIP_TOLERANCE_MS,
    Trial,
    advise,
    chosen,
    use_experiment,
    why_no_advice,
)
from dumbbell.twin.advice.candidates import candidates
from dumbbell.twin.advice.known_line import read_known_line
from dumbbell.twin.advice.uses import PROBE, flow_names, use_of
from dumbbell.twin.line import DisciplineClass, Line, LineEnd, QueueModel
from dumbbell.twin.scene import Way

DUMBBELL = str(Path(sys.executable).with_name("dumbbell"))
TESTS = {"tcp_nup": "upload_streams", "tcp_ndown": "download_streams"}
USE = "call-and-backup"
RATE_WITHIN, RTT_WITHIN_MS, BUFFER_WITHIN = 0.02, 1.0, 0.10
_DEFAULT_TARGET_NS = {"codel": 5_000_000, "pie": 15_000_000, "fq_codel": 5_000_000}
"""Linux's defaults; tc-codel(8), tc-pie(8), tc-fq_codel(8)."""
_LONG_RTT_MS = 40.0


@dataclass(frozen=True)
class Network:
    """A network to measure.

    Attributes:
        up_mbps: Rate up, Mbit/s, with Ethernet headers.
        down_mbps: Rate down, Mbit/s.
        rtt_ms: Base round trip, milliseconds.
        qdisc_up: Discipline before the rate up, as for ``tc``.
        qdisc_down: Discipline before the rate down.
        flows: TCP flows of each measurement.
    """

    up_mbps: float
    down_mbps: float
    rtt_ms: float
    qdisc_up: str
    qdisc_down: str
    flows: int

    @classmethod
    def drawn(cls, seed: int) -> Network:
        """Return the network of a seed: 1 to 20 Mbit/s up, 5 to 60 down, 5 to 100 ms."""
        random = np.random.Generator(np.random.PCG64(seed))
        up, down = _log_uniform(random, 1, 20), _log_uniform(random, 5, 60)
        rtt = round(_log_uniform(random, 5, 100), 1)
        flows = int(random.choice([1, 2, 4]))
        return cls(up, down, rtt, _qdisc(random, up), _qdisc(random, down), flows)

    @property
    def line(self) -> Line:
        """Return the true line."""
        up = _end(self.up_mbps, self.qdisc_up)
        return Line(up, _end(self.down_mbps, self.qdisc_down), 0).with_rtt(self.rtt_ms * 1e6)

    def mbps(self, way: Way) -> float:
        """Return the rate of a direction, Mbit/s."""
        return self.up_mbps if way is Way.UP else self.down_mbps


def _log_uniform(random: np.random.Generator, least: float, most: float) -> float:
    return round(float(np.exp(random.uniform(np.log(least), np.log(most)))), 2)


def _qdisc(random: np.random.Generator, mbps: float) -> str:
    kind = str(random.choice(["bfifo", "codel", "pie", "fq_codel"]))
    if kind != "bfifo":
        return kind
    return f"bfifo limit {round(125 * mbps * _log_uniform(random, 30, 500))}b"


def _end(mbps: float, qdisc: str) -> LineEnd:
    word, *rest = qdisc.split()
    model = next(each for each in QueueModel if each.word == word)
    size = int(rest[1].removesuffix("b")) if rest else _DEFAULT_TARGET_NS[word]
    return LineEnd(round(mbps * 1e6), model, size)


def fit(network: Network, seed: int, folder: Path) -> None:
    """Measure a network and write its twin's JSON; keep what is there."""
    twin = folder / "twin.json"
    if twin.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "network.json").write_text(json.dumps(asdict(network), indent=1) + "\n")
    for test, streams in TESTS.items():
        if not list(folder.glob(f"{test}-*.flent.gz")):
            _run(_flent(network, seed, test, f"{streams}={network.flows}", folder))
    files = sorted(map(str, folder.glob("*.flent.gz")))
    text = _run([DUMBBELL, "twin", *files, "--json", "--no-page", "--jobs", "1"])
    twin.write_text(text)


def _flent(network: Network, seed: int, test: str, streams: str, folder: Path) -> list[str]:
    options = {
        "--length": "20" if network.rtt_ms < _LONG_RTT_MS else "30",
        "--delay": "3",
        "--backend": "kernel",
        "--rate": f"{network.up_mbps}mbit",
        "--rate-down": f"{network.down_mbps}mbit",
        "--qdisc": network.qdisc_up,
        "--qdisc-down": network.qdisc_down,
        "--rtt": f"{network.rtt_ms}ms",
        "--test-parameter": streams,
        "--seed": str(seed),
        "--data-dir": str(folder),
    }
    return [DUMBBELL, "flent", test, *(word for pair in options.items() for word in pair)]


def _run(command: list[str]) -> str:
    """Return what a command prints.

    Raises:
        RuntimeError: It failed.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-1000:]}")
    return done.stdout


def wrong(network: Network, twin: dict[str, Any]) -> Iterator[str]:
    """Yield a sentence for each number of a twin that is not within its bound."""
    # The first buffer of a direction is in kB, the second in ms.
    numbers = {(each["quantity"], each["way"]): each for each in reversed(twin["parameters"])}
    rtt = numbers["base round trip", None]["value"]
    if abs(rtt - network.rtt_ms) > RTT_WITHIN_MS:
        yield f"round trip {rtt:.2f} ms"
    for way in Way:
        end = network.line.end(way)
        rate = numbers["rate", way.value]["value"]
        if abs(rate / network.mbps(way) - 1) > RATE_WITHIN:
            yield f"rate {way} {rate:.3f} Mbit/s"
        found = twin["disciplines"][way.value]["class"]
        if found not in (end.model.class_, DisciplineClass.NOT_IDENTIFIABLE):
            yield f"discipline {way} {found}"
        buffer = numbers["buffer", way.value]
        if not buffer["not_identifiable"] and _buffer_error(buffer, end) > BUFFER_WITHIN:
            yield f"buffer {way} {buffer['value']:.0f} kB"


def _buffer_error(buffer: dict[str, Any], end: LineEnd) -> float:
    """Return the relative error of a buffer that a twin states; an AQM has none to state."""
    if end.model is not QueueModel.FIFO:
        return math.inf
    return abs(float(buffer["value"]) * 1e3 / end.size - 1)


def largest_errors(network: Network, twin: dict[str, Any]) -> tuple[float, float, float]:
    """Return the largest relative error of a rate, that of the round trip (ms), and of a buffer."""
    rate = buffer = rtt = 0.0
    for each in twin["parameters"]:
        way = each["way"] and Way(each["way"])
        if each["quantity"] == "rate":
            rate = max(rate, abs(each["value"] / network.mbps(way) - 1))
        elif each["quantity"] == "base round trip":
            rtt = abs(each["value"] - network.rtt_ms)
        elif each["quantity"] == "buffer" and each["unit"] == "kB" and each["value"]:
            known = not each["not_identifiable"]
            buffer = max(buffer, _buffer_error(each, network.line.end(way)) if known else 0.0)
    return rate, rtt, buffer


def regret(network: Network, seed: int, folder: Path) -> None:
    """Run every setting on the kernel over the true line, and write what the advised one lacks."""
    target = folder / "regret.json"
    if target.exists():
        return
    use, known = use_of(USE), read_known_line(folder / "twin.json")
    why = why_no_advice(known, use)
    advised = "" if why else advise(known, use, jobs=1).best.candidate.name
    tried, names = list(candidates(known.line, use.ways)), flow_names(use.flows)
    work = ((_on_kernel(use_experiment(each.on(network.line), use, seed)), 0) for each in tried)
    failures: list[object] = []
    trials = []
    for place, run in run_many(work, backend="kernel", jobs=1, on_failure=failures.append):
        p95 = float(ping_rtt_quantiles_ms(run, 0.95, [PROBE]))
        goodput = {Way.UP: (sum(goodput_bps(run, name) for name in names) / 1e6,)}
        trials.append((place, Trial(tried[place], (p95,), (0.0,), goodput)))
    if failures:
        raise RuntimeError(f"{folder.name}: {failures[0]}")
    ordered = [trial for _, trial in sorted(trials, key=lambda each: each[0])]
    document = {
        "why": why,
        "advised": advised,
        "best": chosen(use, ordered).best.candidate.name,
        "kernel": {
            each.candidate.name: {"p95_ms": each.rtt_p95_ms[0], "mbps": each.total_mbps[0]}
            for each in ordered
        },
    }
    target.write_text(json.dumps(document, indent=1) + "\n")


def _on_kernel(experiment: Experiment) -> Experiment:
    return experiment.model_copy(update={"guest": "module"})


def regret_of(found: dict[str, Any], name: str) -> tuple[float, float]:
    """Return what a setting lacks beside the best: ms of the 95th percentile, share of the rate."""
    best, this = found["kernel"][found["best"]], found["kernel"][name]
    return this["p95_ms"] - best["p95_ms"], 1 - this["mbps"] / best["mbps"]


def table(folder: Path) -> Iterator[str]:
    """Yield the lines of the table of all finished networks, and their counts."""
    yield (
        "| seed | up | down | ms | flows | discipline up, down | errors | twin | advised | best |"
        " regret |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    counts = dict.fromkeys(("twins", "right", "predict", "tried", "advised", "good"), 0)
    for path in sorted(folder.glob("*/twin.json")):
        network = Network(**json.loads((path.parent / "network.json").read_text()))
        twin = json.loads(path.read_text())
        faults = list(wrong(network, twin))
        rate, rtt, buffer = largest_errors(network, twin)
        counts["twins"] += 1
        counts["right"] += not faults
        counts["predict"] += twin["trust"] == "predicts"
        cells = ["", "", ""]
        if (path.parent / "regret.json").exists():
            found = json.loads((path.parent / "regret.json").read_text())
            counts["tried"] += 1
            cells = ["–", found["best"], "–"]
            if found["advised"]:
                wait, less = regret_of(found, found["advised"])
                good = wait <= ROUND_TRIP_TOLERANCE_MS and less <= RATE_TOLERANCE
                counts["advised"] += 1
                counts["good"] += good
                cells[0] = found["advised"]
                cells[2] = f"{wait:.2f} ms, {100 * less:.2f} %{'' if good else ' !'}"
        errors = f"{100 * rate:.2f} %, {rtt:.3f} ms, {100 * buffer:.1f} %"
        said = "; ".join(faults) or twin["trust"]
        disciplines = f"{network.qdisc_up}, {network.qdisc_down}"
        yield (
            f"| {path.parent.name} | {network.up_mbps} | {network.down_mbps} | {network.rtt_ms} | "
            f"{network.flows} | {disciplines} | {errors} | {said} | {' | '.join(cells)} |"
        )
    yield ", ".join(f"{name} {count}" for name, count in counts.items())


def _seeds(text: str | None) -> range:
    first, _, last = (text or "1-0").partition("-")
    return range(int(first), int(last or first) + 1)


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", metavar="FIRST-LAST", help="networks to measure")
    parser.add_argument("--advice", action="store_true", help="run every setting on the kernel too")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no network after these")
    parser.add_argument("--table", action="store_true", help="print the table")
    asked = parser.parse_args()
    until_s = time.monotonic() + 60 * asked.minutes
    steps = [fit, regret] if asked.advice else [fit]
    for step, seed in itertools.product(steps, _seeds(asked.seeds)):
        if time.monotonic() > until_s:
            break
        network = Network.drawn(seed)
        step(network, seed, asked.folder / f"{seed:04d}")
        print(f"{step.__name__} {seed}: {network}", flush=True)
    if asked.table:
        print("\n".join(table(asked.folder)))


if __name__ == "__main__":
    main()
