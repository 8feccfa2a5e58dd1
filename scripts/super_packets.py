"""Effects of device offloads on both backends: table and picture of docs/host-bursts.md.

``super_packets.py --write``    runs the networks with each switch on both, keeps the means in
                                tests/reference/super-packets.json, puts the table into the page
``super_packets.py --picture``  draws docs/bursts.svg from a run of each backend
``super_packets.py``            prints the page's table of what is kept

A flow begins at the same six instants on both. Packets are segments, also where several are one.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from dumbbell.backends import Failure, run_many, simulate
from dumbbell.metrics import goodput_bps, mean_sojourn_s
from dumbbell.spec import Experiment
from dumbbell.tables import Run

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "tests/reference/super-packets.json"
PAGE = ROOT / "docs/host-bursts.md"
PICTURE = ROOT / "docs/bursts.svg"
BEGIN, END = "<!-- switches -->\n", "<!-- end of switches -->\n"
QUEUE = "router->client"
STARTS = 6
START_NS = 2_000_000_000
BACKENDS = ("kernel", "sim")
NAMES = {"cubic": "CUBIC", "bbr": "BBR", "reno": "Reno"}
SWITCHES: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "one by one": ({}, {}),
    "bursts": ({}, {}),
    "`gro` at the router": ({"forward": {"gro": "0s"}}, {}),
    "`tso` everywhere": ({"tso": True}, {"tso": True}),
    "`fq` at the sender": ({"forward": {"qdisc": "fq"}}, {}),
}
"""Settings of the links to and behind the router."""
MEASURES = {
    "dropped_at_start_pkts": "drops of the first 2 s",
    "dropped_pkts": "drops of 8 s",
    "sojourn_mean_ms": "mean time in the queue, ms",
    "goodput_mbps": "goodput, Mbit/s",
}

Numbers = dict[str, float]


@dataclass(frozen=True)
class Network:
    """One flow through the queue of a router."""

    controller: str
    rate_mbps: int
    limit_pkts: int

    @property
    def name(self) -> str:
        """Return its name in the table."""
        return f"{NAMES[self.controller]}, {self.rate_mbps} Mbit/s, {self.limit_pkts} packets"

    def experiment(self, switch: str, **more: Any) -> Experiment:
        """Return its experiment with a switch set."""
        first, second = SWITCHES[switch]
        segments = {"gso_max_segs": 1} if switch == "one by one" else {}
        behind = {"rate": f"{self.rate_mbps}mbit", "qdisc": f"pfifo limit {self.limit_pkts}"}
        return Experiment.model_validate(
            {
                "duration": "8s",
                "warm_up": "1s",
                "sample_interval": "10ms",
                "links": [
                    {"a": "server", "b": "router", **first},
                    {"a": "router", "b": "client", "delay": "20ms", "forward": behind, **second},
                ],
                "flows": [
                    {
                        "name": "f",
                        "from": "server",
                        "to": "client",
                        "start_jitter": "50ms",
                        "source": {"kind": "greedy"},
                        "tcp": {"congestion_control": self.controller, **segments},
                    }
                ],
                **more,
            }
        )


NETWORKS = (
    Network("cubic", 10, 17),
    Network("cubic", 10, 34),
    Network("bbr", 10, 17),
    Network("bbr", 100, 80),
    Network("reno", 10, 34),
    Network("reno", 100, 340),
)


def numbers(run: Run) -> Numbers:
    """Return the compared numbers of a run."""
    times_ns = run.column("queue_samples", "t_ns", queue=QUEUE)
    dropped = run.column("queue_samples", "dropped_pkts", queue=QUEUE)
    return {
        "dropped_at_start_pkts": float(dropped[np.searchsorted(times_ns, START_NS) - 1]),
        "dropped_pkts": float(dropped[-1]),
        "sojourn_mean_ms": 1e3 * mean_sojourn_s(run, QUEUE),
        "goodput_mbps": 1e-6 * goodput_bps(run, "f"),
    }


def measured(network: Network, switch: str, backend: str) -> Numbers:
    """Return the means over the start times.

    Raises:
        RuntimeError: A run failed.
    """
    failures: list[Failure] = []
    jobs = [(network.experiment(switch), start) for start in range(STARTS)]
    found = [numbers(run) for _, run in run_many(jobs, backend=backend, on_failure=failures.append)]
    if failures:
        raise RuntimeError(f"{network.name}, {switch}, {backend}: {failures[0]}")
    return {name: round(statistics.fmean(each[name] for each in found), 4) for name in MEASURES}


def table(kept: Mapping[str, Any]) -> str:
    """Return the page's table: in each cell the kernel's value first."""
    return "\n".join(_rows(kept)) + "\n"


def _rows(kept: Mapping[str, Any]) -> Iterator[str]:
    yield f"| | | {' | '.join(MEASURES.values())} |"
    yield "| --- | --- |" + " --- |" * len(MEASURES)
    for network in NETWORKS:
        for switch in SWITCHES:
            both = [kept[backend][network.name][switch] for backend in BACKENDS]
            cells = [", ".join(_shown(each[name]) for each in both) for name in MEASURES]
            first = network.name if switch == next(iter(SWITCHES)) else ""
            yield f"| {first} | {switch} | {' | '.join(cells)} |"


def _shown(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def with_table(page: str, kept: Mapping[str, Any]) -> str:
    """Return the page with its table replaced."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + table(kept) + END + rest.split(END)[1]


# --- the picture ---------------------------------------------------------------------------

DRAWN = Network("cubic", 100, 340)
FROM_MS, TO_MS = 0.0, 8.0
"""Window, from the first packet after the pause."""
WIDTH, LEFT, RIGHT, ROW, TOP = 720, 150, 14, 74, 58
INK, PALE, FAINT = "#1f2933", "#52606d", "#d5dbe1"
TICK = {"kernel": "#b4540a", "sim": "#0b62a4"}
BACKEND = {"kernel": "Linux 6.1", "sim": "simulator"}
DRAWN_SWITCHES = ("one by one", "bursts", "`tso` everywhere")


def arrivals_ms(switch: str, backend: str) -> tuple[list[float], list[float]]:
    """Return the arrival and departure times of data packets at the router's queue.

    They start with the first arrival later than 1.5 s after the start.
    """
    experiment = DRAWN.experiment(switch, duration="2s", warm_up="0s")
    written = experiment.model_dump(by_alias=True, exclude_unset=True)
    written["links"][1]["forward"]["record_packets"] = True
    written["flows"][0]["start_jitter"] = "0s"
    packets = simulate(Experiment.model_validate(written), backend=backend).table("packets")
    data = packets.filter((packets["queue"] == 2) & (packets["bytes"] > 100))
    came = data.filter(data["event"] == 0)["t_ns"].to_numpy()
    left = data.filter(data["event"] == 1)["t_ns"].to_numpy()
    begin_ns = came[np.searchsorted(came, 1_500_000_000)]
    windows = [(each - begin_ns) / 1e6 for each in (came, left)]
    return tuple(  # type: ignore[return-value]  # two of them
        [float(at) for at in each if FROM_MS <= at <= TO_MS] for each in windows
    )


def scale_ms() -> float:
    """Return the width of a millisecond."""
    return (WIDTH - LEFT - RIGHT) / (TO_MS - FROM_MS)


def picture() -> str:
    """Draw rows of ticks: above the line arrivals at the router, below departures."""
    height = TOP + ROW * len(DRAWN_SWITCHES) * 2 + 46
    scale = scale_ms()
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" font-family="sans-serif" role="img" '
        'aria-label="Instants at which packets of one CUBIC flow come to a router and leave it">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(14, 22, "One CUBIC flow over 100 Mbit/s: packets at the router", 16, weight=600),
        _text(
            14,
            42,
            "above each line they come, below it they leave; thick: several at once",
            14,
            PALE,
        ),
    ]
    rows = [(switch, backend) for switch in DRAWN_SWITCHES for backend in BACKENDS]
    for place, (switch, backend) in enumerate(rows):
        middle = TOP + ROW * place + ROW // 2
        came, left = arrivals_ms(switch, backend)
        if backend == BACKENDS[0]:
            parts.append(_line(14, middle - ROW // 2, WIDTH - RIGHT, middle - ROW // 2, FAINT))
        parts.append(_text(14, middle - 6, switch.replace("`", ""), 14, weight=600))
        parts.append(_text(14, middle + 14, BACKEND[backend], 14, TICK[backend]))
        parts.append(_line(LEFT, middle, WIDTH - RIGHT, middle, PALE))
        for times, top in ((came, middle - 25), (left, middle + 5)):
            parts += [
                f'<path d="M{x} {top}v20" stroke="{TICK[backend]}" stroke-width="{width:.1f}"/>'
                for x, width in _ticks(times)
            ]
    bottom = TOP + ROW * len(rows) + 6
    for ms in range(int(FROM_MS), int(TO_MS) + 1, 2):
        parts.append(_text(LEFT + scale * ms, bottom + 16, f"{ms}", 14, PALE, anchor="middle"))
    parts.append(_text(LEFT, bottom + 36, "ms behind the first of these packets", 14, PALE))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _ticks(times_ms: list[float]) -> list[tuple[str, float]]:
    """Return position and width of each bar; simultaneous bars merge into one as wide as all."""
    places = Counter(f"{LEFT + scale_ms() * at:.1f}" for at in times_ms)
    return [(x, 1 + 0.5 * count) for x, count in places.items()]


def _text(
    x: float, y: float, words: str, size: int, fill: str = INK, *, weight: int = 400,
    anchor: str = "start",
) -> str:  # fmt: skip
    return (
        f'<text x="{x:.1f}" y="{y}" font-size="{size}" font-weight="{weight}" fill="{fill}" '
        f'text-anchor="{anchor}">{escape(words)}</text>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}"/>'


def main() -> int:
    """Run the requested action."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="run everything, keep it")
    parser.add_argument("--picture", action="store_true", help="draw the picture")
    given = parser.parse_args()
    if given.picture:
        PICTURE.write_text(picture(), encoding="utf-8")
    if given.write:
        kept: dict[str, Any] = {}
        for backend in BACKENDS:
            for network in NETWORKS:
                of_network = kept.setdefault(backend, {}).setdefault(network.name, {})
                for switch in SWITCHES:
                    of_network[switch] = measured(network, switch, backend)
                    print(backend, network.name, switch, of_network[switch], file=sys.stderr)
        KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), kept), encoding="utf-8")
    if not given.picture:
        print(table(json.loads(KEPT.read_text(encoding="utf-8"))), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
