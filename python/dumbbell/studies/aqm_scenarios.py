"""RFC 7928's scenarios through every AQM: delay, use of the line, loss and fairness."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dumbbell import metrics, theory
from dumbbell.replication import Replications
from dumbbell.report import (
    Figure,
    IntervalRow,
    Report,
    Topology,
    ValueRow,
    ValueTable,
    points_with_interval,
)
from dumbbell.spec import Experiment, testbed_lines
from dumbbell.stats import student_interval
from dumbbell.studies.base import StudyOptions
from dumbbell.studies.one_line import FAR, QUEUE, greedy, one_line
from dumbbell.studies.reproduction import Reproduction
from dumbbell.studies.shape import Amount, Part, Runner
from dumbbell.tables import Run

RATE_BPS, RTT_S, FRAME = 10e6, 0.1, 1514
BDP = round(theory.bandwidth_delay_packets(RATE_BPS, RTT_S, FRAME))
LIMIT = BDP
"""Buffer of disciplines without a limit of their own: a bandwidth-delay product (section 3.2)."""
AQMS = {
    "pfifo": f"pfifo limit {LIMIT}",
    "red": "red limit 250000 min 12000 max 36000 avpkt 1000 burst 20 probability 0.1 bandwidth "
    "10mbit adaptive",
    "choke": f"choke limit {LIMIT} bandwidth 10mbit min 8 max 24 burst 12",
    "codel": "codel",
    "pie": "pie",
    "dualpi2": "dualpi2",
    "fq_codel": "fq_codel",
    "fq_pie": "fq_pie",
    "cake": "cake",
}
"""Each as tc has it by default; RED, which has no defaults, for 10 to 30 ms, and no AQM first."""
LEVELS = {"8.2.2 mild": 0.036, "8.2.3 medium": 0.081, "8.2.4 heavy": 0.114}
"""Flows per packet of pipe and buffer; losses of 0.1, 0.5 and 1 % of Reno: p = (0.87 n/W)^2."""
RUNS = {True: 3, False: 10}


def at_level(level: float) -> int:
    """Return the number of flows for a level of congestion."""
    return round(level * (BDP + LIMIT))


def scenarios() -> dict[str, dict[str, Any]]:
    """Return the flows of each scenario, with other keys of `one_line`."""
    reno = partial(greedy, "reno")
    udp = {"name": "udp", "from": "sender", "to": "receiver"}
    calm, heavy = (at_level(LEVELS[name]) for name in ("8.2.2 mild", "8.2.4 heavy"))
    more = [
        reno(f"later-{n}") | {"start": "30s", "stop": "50s"} for n in range(1, heavy - calm + 1)
    ]
    slow_fast = [{"at": f"{20 * n}s", "rate": "10mbit" if n % 2 else "100mbit"} for n in (1, 2, 3)]
    return {
        "5.1.1 one Reno flow": {"flows": [reno()]},
        "5.1.2 windows of 3 and 10": {
            "flows": [reno("three", initial_window=3), reno("ten", initial_window=10)]
        },
        "5.2 one CUBIC flow": {"flows": [greedy("cubic")]},
        "5.3 UDP of 80 % and Reno": {
            "flows": [reno(), udp | {"source": {"kind": "poisson", "rate": "700pps",
                                                "size": "1400B", "size_at": "payload"}}]
        },
        "5.4 LEDBAT++ and Reno": {"flows": [reno(), greedy("ledbat++", "background")]},
        "6.2 round trips of 20 and 100 ms": {
            "flows": [reno("near"), reno(FAR, from_=FAR)], "rtt_ms": 20, "far_rtt_ms": 100,
        },
        "7.2 bursts beside Reno": {
            "flows": [reno(), udp | {"source": {"kind": "bursts", "gap": "1s", "packets": 30,
                                                "size": "1400B", "size_at": "payload"}}]
        },
        **{f"{name} congestion": {"flows": [reno(count=at_level(level))]}
           for name, level in LEVELS.items()},
        "8.2.5 varying congestion": {"flows": [reno(count=calm), *more]},
        "8.2.6 varying capacity": {
            "flows": [reno(count=2)], "rate": "100mbit", "changes": slow_fast
        },
    }  # fmt: skip


def experiment(scenario: str, aqm: str, seed: int) -> Experiment:
    """Return a scenario through an AQM: 70 s, of which the first 10 are not counted."""
    line: dict[str, Any] = {"rtt_ms": 100, "rate": "10mbit", "length_s": 70, "warm_up_s": 10}
    keys = line | scenarios()[scenario]
    return one_line(*keys.pop("flows"), seed=seed, qdisc=AQMS[aqm], **keys)


@dataclass(frozen=True)
class Reached:
    """What a run is reduced to: end-to-end metrics of RFC 7928, section 2.

    Attributes:
        delay_ms: Mean sojourn time at the bottleneck.
        delay_p99_ms: Its 99th percentile.
        used_percent: Per cent of the capacity.
        lost_percent: Per cent of packets dropped there.
        fairness: Jain's index of the greedy flows; NaN of one.
    """

    delay_ms: float
    delay_p99_ms: float
    used_percent: float
    lost_percent: float
    fairness: float


COLUMNS = {
    "delay_ms": "mean delay (ms)",
    "delay_p99_ms": "99 % wait less than (ms)",
    "used_percent": "line used (%)",
    "lost_percent": "packets dropped (%)",
    "fairness": "Jain's index",
}


def reached(run: Run) -> Reached:
    """Return the numbers of a run."""
    return Reached(
        delay_ms=1e3 * metrics.mean_sojourn_s(run, QUEUE),
        delay_p99_ms=1e3 * float(metrics.sojourn_quantile_s(run, QUEUE, [0.99])[0]),
        used_percent=100 * metrics.utilization_bits(run, QUEUE),
        lost_percent=100 * metrics.loss_ratio(run, QUEUE),
        fairness=metrics.jain_index(run),
    )


Table = Replications[tuple[str, str], Reached]


class Scenarios(Part[Table]):
    """Every scenario through every AQM; there is nothing to judge."""

    name = "scenarios of RFC 7928"

    def __init__(self, options: StudyOptions) -> None:
        """What is run."""
        self.options = options

    def run(self, runner: Runner) -> Table:
        """See `Part`."""
        arms = {
            (scenario, aqm): experiment(scenario, aqm, runner.seed)
            for scenario in scenarios()
            for aqm in AQMS
        }
        return runner.replicate(
            arms, reached, Amount[str](RUNS[self.options.quick]), task=self.name
        )

    def tables(self, found: Table) -> Iterable[ValueTable]:
        """A table of each scenario: AQMs by metrics."""
        for number, scenario in enumerate(scenarios()):
            rows = []
            for aqm in AQMS:
                values = [found.values((scenario, aqm), name) for name in COLUMNS]
                cells = [student_interval(v) if np.isfinite(v).all() else "–" for v in values]
                rows.append(ValueRow(aqm, "1", cells))
            caption = f"Section of RFC 7928. Means of {found.n} runs of 60 s, 95 % intervals."
            is_folded = number > 0
            yield ValueTable(scenario, [*COLUMNS.values()], rows, caption, is_folded, True)

    def figures(self, found: Table) -> Iterable[Figure]:
        """The delay of each AQM in some scenarios."""
        for scenario in list(scenarios())[-5:]:
            rows = []
            for aqm in AQMS:
                of = found.estimate((scenario, aqm), "delay_ms")
                rows.append(IntervalRow(aqm, of.value, of.low, of.high))
            yield Figure(
                f"delay-{scenario.split()[0]}",
                *points_with_interval(
                    rows,
                    x_title="Mean queue delay (ms)",
                    interval_title="95 % interval",
                    log_x=True,
                ),
                f"RFC 7928, section {scenario}.",
                title=scenario,
                family="Queue delay by AQM",
            )


class AqmScenarios(Reproduction):
    """The study; see the module."""

    id = "aqm-scenarios"
    title = "What does each AQM do with RFC 7928's scenarios?"
    summary = "Eleven scenarios of RFC 7928 through nine disciplines, as tables with intervals."

    def __init__(self, options: StudyOptions) -> None:
        """Nothing is run yet; see `Reproduction`."""
        super().__init__(options)
        self.scenarios = Scenarios(options)
        self.parts = [self.scenarios]

    def written(self) -> Report:
        """The report; see `Reproduction`."""
        found, last = self.scenarios.found, "8.2.4 heavy congestion"
        means = {aqm: found.estimate((last, aqm), "delay_ms").value for aqm in AQMS}
        used = {aqm: found.estimate((last, aqm), "used_percent").value for aqm in AQMS}
        arms = [(f"{name} congestion", "pfifo") for name in LEVELS]
        lost = [f"{found.estimate(arm, 'lost_percent').value:.2g}" for arm in arms]
        least = min(means, key=lambda aqm: means[aqm])
        first = experiment(last, "pfifo", self.options.seed)
        return self.collected(
            summary="A table of each scenario; nothing is claimed.",
            answer=f"Under heavy congestion a packet waits {means['pfifo']:.0f} ms in a FIFO and "
            f"{means[least]:.1f} ms with {least}.",
            measured=f"Mean time at the bottleneck, {found.n} runs of 60 s. Used of the line: "
            f"{used[least]:.0f} % with {least}, {used['pfifo']:.0f} % with a FIFO.",
            so="What each discipline gives up for its delay is in the other tables.",
            done="Linux's TCP over 10 Mbit/s and 100 ms: 70 s a run, of which 10 are not counted.",
            hero="delay-8.2.4",
            source="RFC 7928, sections 5 to 8",
            source_url="https://www.rfc-editor.org/rfc/rfc7928",
            notes=[
                f"With mild, medium and heavy congestion the FIFO dropped {', '.join(lost)} %.",
                *NOTES,
            ],
            topologies=[Topology.of(last, first)],
            commands={last: list(testbed_lines(first))},
        )


NOTES = (
    "RFC 7928 leaves rates, round trips and sources to the tester. Its levels of congestion are "
    "numbers of flows; they are computed for losses of 0.1, 0.5 and 1 % of Reno, with the packets "
    "of the path and of the buffer as the window.",
    "Instead of its web pages and videos (section 7.2) 30 datagrams are sent at once every second.",
    "Disciplines have the defaults of tc, and pfifo, which has no AQM, a bandwidth-delay product "
    "of buffer. Nothing is ECN-capable, so dualpi2 has one of its queues to do with.",
)
STUDY = AqmScenarios
