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
from dumbbell.studies.one_line import FAR, QUEUE, SENDER, greedy, one_line
from dumbbell.studies.reproduction import Reproduction
from dumbbell.studies.shape import Amount, Part, Runner
from dumbbell.tables import Run

RATE_BPS, RTT_S, FRAME, RUNS = 10e6, 0.1, 1514, {True: 3, False: 10}
BDP = LIMIT = round(theory.bandwidth_delay_packets(RATE_BPS, RTT_S, FRAME))
"""Buffer of disciplines without a limit of their own: a bandwidth-delay product (section 3.2)."""
RED = "min 12000 max 36000 avpkt 1000 burst 20 probability 0.1"
AQMS = {
    "pfifo": f"pfifo limit {LIMIT}",
    "red": f"red limit 250000 {RED} bandwidth 10mbit adaptive",
    "choke": f"choke limit {LIMIT} bandwidth 10mbit min 8 max 24 burst 12",
    "sfq with RED": f"sfq redflowlimit 250000 {RED}",
    **{name: name for name in ("codel", "pie", "dualpi2", "fq_codel", "fq_pie", "cake")},
}
"""Each as tc has it by default; RED, which has no defaults, for 10 to 30 ms, and no AQM first."""
LEVELS = {"8.2.2 mild": 0.036, "8.2.3 medium": 0.081, "8.2.4 heavy": 0.114}
"""Flows per packet of pipe and buffer; losses of 0.1, 0.5 and 1 % of Reno: p = (0.87 n/W)^2."""
HERO, CATEGORIES = "8.2.4 heavy congestion", ("category-1", "category-2")
LINE: dict[str, Any] = {"rtt_ms": 100, "rate": "10mbit", "length_s": 70, "warm_up_s": 10}
DRAWN = ("8.2.2 mild congestion", HERO, "7.2 web, CBR, video and Reno", "9.2 mild, both ways")


def at_level(level: float) -> int:
    """Return the number of flows for a level of congestion."""
    return round(level * (BDP + LIMIT))


def udp(name: str, **source: Any) -> dict[str, Any]:
    """Return a flow of datagrams."""
    return {"name": name, "from": SENDER, "to": "receiver",
            "source": source | {"size_at": "payload"}}  # fmt: skip


def scenarios() -> dict[str, dict[str, Any]]:
    """Return the flows of each scenario, with other keys of `one_line`."""
    reno = partial(greedy, "reno", initial_window=3)
    mild, medium, heavy = map(at_level, LEVELS.values())
    short = {"source": {"kind": "closed_loop", "size": "86880B", "think": "2s"}, "start": "10s"}
    object_ = {"kind": "closed_loop", "size": "uniform 1kB 19kB", "think": "exponential 1s"}
    web = greedy("reno", "web", count=6, initial_window=10) | {"source": object_}
    cbr = udp("cbr", kind="cbr", rate="50pps", size="200B")
    voice, back = cbr | {"name": "voice"}, {"from": "receiver", "to": SENDER}
    video = udp("video", kind="bursts", gap="1s", packets=30, size="1400B")
    poisson = partial(udp, "udp", kind="poisson", size="1400B")
    first, second = (partial(reno, name) for name in CATEGORIES)
    return {
        "5.1.1 one Reno flow": {"flows": [reno()]},
        **{f"5.1.2 transfers of 60 packets, window of {window}": {
            "flows": [reno(), greedy("reno", "short", initial_window=window) | short],
        } for window in (3, 10)},
        "5.2 one CUBIC flow": {"flows": [greedy("cubic", initial_window=3)]},
        "5.3 UDP of 120 %": {"flows": [poisson(rate="1050pps")]},
        "5.3 UDP of 80 % and Reno": {"flows": [reno(), poisson(rate="700pps")]},
        "5.4 LEDBAT++ and Reno": {"flows": [reno(), greedy("ledbat++", "background")]},
        **{f"6.2 round trips of 100 and {rtt} ms": {
            "flows": [first(from_=FAR), second()], "rtt_ms": rtt, "far_rtt_ms": 100,
        } for rtt in (5, 20)},
        "6.2 round trips of 100 and 560 ms": {"flows": [first(), second(from_=FAR)],
                                              "far_rtt_ms": 560},
        "7.2 web and CBR": {"flows": [web, cbr]},
        "7.2 web, CBR and Reno": {"flows": [reno(), web, cbr]},
        "7.2 web, CBR and video": {"flows": [web, cbr, video]},
        "7.2 web, CBR, video and Reno": {"flows": [reno(), web, cbr, video]},
        **{f"{name} congestion": {"flows": [reno(count=at_level(level))]}
           for name, level in LEVELS.items()},
        "8.2.5 varying congestion": {"flows": [
            reno(count=mild), reno("more", count=medium - mild, start="30s"),
            reno("most", count=heavy - medium, start="50s"),
        ]},
        **{f"8.2.6 capacity, every {step:g} s": {
            "flows": [reno(count=2)], "rate": "100mbit", "changes": [
                {"at": f"{n * step:g}s", "rate": f"{10 if n % 2 else 100}mbit"}
                for n in range(1, round(70 / step))
            ]} for step in (20, 0.1)},
        "9.1 traffic mix": {"both_ways": True, "flows": [
            reno(count=5), web | {"count": 36}, voice, voice | back | {"name": "heard"}, cbr, video,
        ]},
        "9.2 mild, both ways": {
            "flows": [reno(count=mild), reno("back", count=mild) | back], "both_ways": True},
    }  # fmt: skip


def experiment(scenario: str, aqm: str, seed: int) -> Experiment:
    """Return a scenario through an AQM: 70 s, of which the first 10 are not counted."""
    keys = LINE | scenarios()[scenario]
    back = {"rate": keys["rate"], "qdisc": AQMS[aqm]} if keys.pop("both_ways", False) else {}
    made = one_line(*keys.pop("flows"), seed=seed, qdisc=AQMS[aqm], **keys)
    return made.with_link("router", "receiver", reverse=back) if back else made


@dataclass(frozen=True)
class Reached:
    """What a run is reduced to, mostly end-to-end metrics of RFC 7928, section 2; see `COLUMNS`.

    Delays are at the bottleneck; Jain's index is of greedy flows. NaN is what a scenario has not.
    """

    delay_ms: float
    delay_p99_ms: float
    used_percent: float
    lost_percent: float
    fairness: float
    completion_ms: float
    second_over_first: float


COLUMNS = {
    "delay_ms": "mean delay (ms)",
    "delay_p99_ms": "99 % wait less than (ms)",
    "used_percent": "line used (%)",
    "lost_percent": "packets dropped (%)",
    "fairness": "Jain's index",
    "completion_ms": "time of a transfer (ms)",
    "second_over_first": "category 2 over 1",
}


def reached(run: Run) -> Reached:
    """Return the numbers of a run."""
    of = [metrics.goodput_bps(run, n) for n in CATEGORIES if n in run.flow_names]
    return Reached(
        delay_ms=1e3 * metrics.mean_sojourn_s(run, QUEUE),
        delay_p99_ms=1e3 * float(metrics.sojourn_quantile_s(run, QUEUE, [0.99])[0]),
        used_percent=100 * metrics.utilization_bits(run, QUEUE),
        lost_percent=100 * metrics.loss_ratio(run, QUEUE),
        fairness=metrics.jain_index(run),
        completion_ms=1e3 * metrics.mean_completion_time_s(run),
        second_over_first=of[1] / of[0] if of else np.nan,
    )


Table = Replications[tuple[str, str], Reached]


class Scenarios(Part[Table]):
    """Every scenario through every AQM; there is nothing to judge."""

    name = "scenarios of RFC 7928"

    def __init__(self, options: StudyOptions) -> None:
        """What is run."""
        self.amount = Amount[str](RUNS[options.quick])

    def run(self, runner: Runner) -> Table:
        """See `Part`."""
        arms = {(scenario, aqm): experiment(scenario, aqm, runner.seed)
                for scenario in scenarios() for aqm in AQMS}  # fmt: skip
        return runner.replicate(arms, reached, self.amount, task=self.name)

    def tables(self, found: Table) -> Iterable[ValueTable]:
        """A table of each scenario: AQMs by the metrics that it has."""
        for number, scenario in enumerate(scenarios()):
            values = {(aqm, name): found.values((scenario, aqm), name)
                      for aqm in AQMS for name in COLUMNS}  # fmt: skip
            has = [name for name in COLUMNS if np.isfinite(values["pfifo", name]).all()]
            rows = [ValueRow(aqm, "1", [student_interval(values[aqm, name]) for name in has])
                    for aqm in AQMS]  # fmt: skip
            caption = f"Section of RFC 7928. Means of {found.n} runs of 60 s, 95 % intervals."
            yield ValueTable(scenario, [COLUMNS[n] for n in has], rows, caption, number > 0, True)

    def figures(self, found: Table) -> Iterable[Figure]:
        """The delay of each AQM in some scenarios."""
        for scenario in DRAWN:
            of = {aqm: found.estimate((scenario, aqm), "delay_ms") for aqm in AQMS}
            rows = [IntervalRow(aqm, each.value, each.low, each.high) for aqm, each in of.items()]
            plot = points_with_interval(
                rows, x_title="Mean queue delay (ms)", interval_title="95 % interval", log_x=True
            )
            name, caption = f"delay-{scenario.split()[0]}", f"Section {scenario}."
            yield Figure(name, *plot, caption, title=scenario, family="Queue delay by AQM")


class AqmScenarios(Reproduction):
    """The study; see the module."""

    id = "aqm-scenarios"
    title = "What does each AQM do with RFC 7928's scenarios?"
    summary = (
        f"{len(scenarios())} scenarios of RFC 7928 through {len(AQMS)} disciplines, as tables."
    )

    def __init__(self, options: StudyOptions) -> None:
        """Nothing is run yet; see `Reproduction`."""
        super().__init__(options)
        self.scenarios = Scenarios(options)
        self.parts = [self.scenarios]

    def written(self) -> Report:
        """The report; see `Reproduction`."""
        found = self.scenarios.found
        means, used = ({aqm: found.estimate((HERO, aqm), name).value for aqm in AQMS}
                       for name in ("delay_ms", "used_percent"))  # fmt: skip
        lost = [f"{found.estimate((f'{name} congestion', 'pfifo'), 'lost_percent').value:.2g}"
                for name in LEVELS]  # fmt: skip
        least = min(means, key=lambda aqm: means[aqm])
        first = experiment(HERO, "pfifo", self.options.seed)
        return self.collected(
            summary="A table of each scenario; nothing is claimed.", hero="delay-8.2.4",
            answer=f"Under heavy congestion a packet waits {means['pfifo']:.0f} ms in a FIFO and "
            f"{means[least]:.1f} ms with {least}.",
            measured=f"Mean time at the bottleneck, {found.n} runs of 60 s. Used of the line: "
            f"{used[least]:.0f} % with {least}, {used['pfifo']:.0f} % with a FIFO.",
            so="What each discipline gives up for its delay is in the other tables.",
            done="Linux's TCP over 10 Mbit/s and 100 ms: 70 s a run, of which 10 are not counted.",
            source="RFC 7928, sections 5 to 9", source_url="https://www.rfc-editor.org/rfc/rfc7928",
            notes=[f"Under mild, medium and heavy congestion the FIFO dropped {', '.join(lost)} %.",
                   *NOTES],
            topologies=[Topology.of(HERO, first)], commands={HERO: list(testbed_lines(first))},
        )  # fmt: skip


NOTES = (
    "What RFC 7928 leaves to the tester is ours: 10 Mbit/s, UDP of 120 and 80 % of it, transfers "
    "of 60 packets every 2 s, LEDBAT++ in place of LEDBAT with a target of 5 ms, web objects of 1 "
    "to 19 kB a second apart on each connection, CBR and voice of 50 packets of 200 bytes each "
    "second, video of 30 that does not adapt. Two AQMs in a row (10.2) are not run.",
    "The levels of congestion are losses of 0.1, 0.5 and 1 % of Reno, the packets of path and "
    "buffer being the window (8.2.1). In 8.2.5 each lasts 20 s. A transfer opens a connection.",
    "Disciplines have the defaults of tc, and pfifo, which has no AQM, a bandwidth-delay product "
    "of buffer. Nothing is ECN-capable, so dualpi2 has one of its queues to do with. RED of sfq is "
    "in each flow's queue: many flows fill its 127 packets without it.",
)
STUDY = AqmScenarios
