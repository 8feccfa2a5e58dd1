"""Texts and tables of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from dumbbell.claims import Count, Judged, Verdict, counts_of, facts_of, views_of
from dumbbell.claims.rules import Agreement, CountedAs, Published
from dumbbell.replication import Replications
from dumbbell.report import Advice, Answer, Cell, ValueRow, ValueTable
from dumbbell.report.cells import CellLike
from dumbbell.spec import testbed_lines
from dumbbell.stats import Estimate, prediction_interval
from dumbbell.studies.pie_rrul import arms, claims, published
from dumbbell.studies.pie_rrul.arms import Setting
from dumbbell.studies.pie_rrul.claims import Row
from dumbbell.studies.pie_rrul.fit import LatencyFit
from dumbbell.studies.pie_rrul.measures import Measured, RunsBySetting
from dumbbell.studies.pie_rrul.sentences import of_ring, of_target, of_tupdate

AT_GATEWAY = "downloads queue at a gateway"
SMALL_QUEUES = (
    "Downloads queue at their own sender, where TCP small queues keep the queue below fq_codel's "
    "target, on the kernel as in the simulator: the downloads go on while a burst stretches their "
    "round trip. In the table in which they queue at a gateway fq_codel drops some of them."
)
MARKS = {
    Verdict.REPRODUCED: "✓",
    Verdict.NOT_REPRODUCED: "✗",
    Verdict.INCONCLUSIVE: "?",
    Verdict.UNINFORMATIVE: "~",
}
BESIDE_PRINTED = (
    "Ours [where one more run would fall, 95 %], and what is printed. Ends are those of the "
    "ellipse. ✓ reproduced: what is printed lies in the interval, widened by how finely it can be "
    "read (half a ms or Mbit/s, downloads 0.05); ✗ not reproduced, ~ uninformative, ? too few "
    "runs. Latencies have no mark: they chose the ring. Drops, as tc counts them, are not in the "
    "source's table."
)
OURS_ALONE = (
    "Means of our runs with their 95 % intervals. Ends are those of the ellipse, a Gaussian's: it "
    "goes on where no sample is, below 0 and above the line's rate."
)


# --- tables ------------------------------------------------------------------------------------


def observations(by: RunsBySetting, where: str) -> list[ValueTable]:
    """Return the source's two tables with our values, of the settings that ran.

    Args:
        by: Runs of a scenario.
        where: The scenario's title.
    """

    def cell(row: Row, name: str) -> Estimate:
        found = by.mean(arms.setting_of(*row), published.QUANTITIES[name].measure)
        return _possible(found, name)

    return _two_tables(by, cell, where, OURS_ALONE)


def beside_printed(
    by: RunsBySetting, judged: Mapping[tuple[Row, str], Judged], where: str
) -> list[ValueTable]:
    """Return the source's two tables, printed values beside ours with verdicts.

    Args:
        by: Runs of scenario 1.
        judged: Verdicts; none in a preview.
        where: The scenario's title.
    """

    def cell(row: Row, name: str) -> Cell:
        one = judged.get((row, name))
        mark = MARKS.get(one.verdict, "") if one else ""
        found = by.one_run(arms.setting_of(*row), published.QUANTITIES[name].measure)
        words = f"({published.TABLES[row][name]:g}) {mark}".strip()
        return Cell.of(_possible(found, name), words=words)

    return _two_tables(by, cell, where, BESIDE_PRINTED)


def _two_tables(
    by: RunsBySetting, cell: Callable[[Row, str], CellLike], where: str, caption: str
) -> list[ValueTable]:
    made = []
    for varied in arms.CASES:
        rows = [row for row in published.TABLES if row[0] == varied]
        rows = [row for row in rows if arms.setting_of(*row) in by.settings]
        drops = [cut(by.mean(arms.setting_of(*row), "drops_per_s")) for row in rows]
        values = [
            ValueRow(quantity.short, quantity.unit, [cell(row, name) for row in rows])
            for name, quantity in published.QUANTITIES.items()
        ]
        made.append(
            ValueTable(
                f"Observation table, {varied} varied, {where}",
                [f"{varied} {milliseconds} ms" for _, milliseconds in rows],
                [*values, ValueRow("Drops", "1/s", drops)],
                caption,
            )
        )
    return [table for table in made if table.columns]


def written_table(alone: RunsBySetting, small: Replications[Setting, Measured]) -> ValueTable:
    """Return the uploads' range by received bytes and by send calls, beside the printed range.

    Args:
        alone: Scenario 1, with the send buffer of a distribution's kernel.
        small: Scenario 1, with the send buffer of a kernel with short headers.
    """
    settings = [setting for setting in small.arms if setting in alone.settings]
    ends = (("Lower end", "throughput-low", "low"), ("Upper end", "throughput-high", "high"))
    rows = []
    for title, quantity, end in ends:
        own, sent = f"upload_{end}_mbps", f"written_{end}_mbps"
        rows += [
            ValueRow(
                f"{title}, printed",
                "Mbit/s",
                [claims.printed_at(each, quantity) for each in settings],
            ),
            ValueRow(
                f"{title}, {claims.RECEIVED}",
                "Mbit/s",
                [alone.one_run(each, own) for each in settings],
            ),
            ValueRow(
                f"{title}, {claims.SMALL_HEADERS}",
                "Mbit/s",
                [prediction_interval(small.values(each, sent)) for each in settings],
            ),
            ValueRow(
                f"{title}, {claims.LARGE_HEADERS}",
                "Mbit/s",
                [alone.one_run(each, sent) for each in settings],
            ),
        ]
    return ValueTable(
        "The range of the uploads, counted in three ways",
        [each.label for each in settings],
        rows,
        "Where one more run would fall, 95 %. netperf counts what its send calls took. They wake "
        "when a third of the send buffer is free, and fill it: with a buffer for two windows of "
        "packets of 2304 bytes, or 4352 as a distribution's kernel reckons, the count comes in "
        "pieces of that third, which a step of 0.2 s cuts unevenly. What arrives does not.",
    )


def _possible(found: Estimate, name: str) -> Estimate:
    return found if published.QUANTITIES[name].may_be_negative else cut(found)


def cut(found: Estimate, most: float = np.inf) -> Estimate:
    """Return the estimate with its interval clipped to 0 and the possible maximum."""
    return replace(found, low=max(found.low, 0.0), high=min(found.high, most))


def clock_table(alone: RunsBySetting, bursts: RunsBySetting) -> ValueTable:
    """Return the effect of tupdate, without and with bursts: differences from the smallest."""
    fast, *slow = arms.BY_TUPDATE
    rows = [
        ValueRow(
            f"{title}, {arms.SCENARIO_TITLES[scenario]}",
            unit,
            [by.difference(setting, fast, measure) for setting in slow],
        )
        for scenario, by in (("alone", alone), ("bursts", bursts))
        for measure, title, unit in (
            ("queue_delay_ms", "Queue delay", "ms"),
            ("latency_ms", "Latency", "ms"),
            ("upload_mbps", "Upload", "Mbit/s"),
        )
    ]
    return ValueTable(
        "What a slow clock does",
        [f"tupdate {setting.tupdate_ms} ms less {fast.tupdate_ms} ms" for setting in slow],
        rows,
        "Differences of means, pairs of runs, 95 %. The source asks what bursts change, and "
        "prints no answer.",
    )


def editions(of_the_time: RunsBySetting, today: Replications[Setting, Measured]) -> ValueTable:
    """Return PIE of that time beside today's, one row per setting."""
    measures = {"delay": "queue_delay_ms", "latency": "latency_ms", "drops/s": "drops_per_s"}
    rows = [
        ValueRow(
            setting.label,
            "ms, 1/s",
            [
                *(cut(of_the_time.mean(setting, measure)) for measure in measures.values()),
                *(cut(today.estimate(setting, measure)) for measure in measures.values()),
            ],
        )
        for setting in today.arms
    ]
    return ValueTable(
        "PIE of the kernel of the time, and today's",
        [f"{label}: {what}" for label in ("of the time", "today's") for what in measures],
        rows,
        "No other traffic, means. Of the time: kernels 3.14 to 5.0, delay from a departure rate. "
        "Today's: delay from time stamps, derandomized drops.",
    )


def parameters_table(columns: Mapping[str, Sequence[Estimate]]) -> ValueTable:
    """Return the effects of the parameters not given by the source, at the default setting.

    Args:
        columns: Means of `PARAMETERS_MEASURES` by label.
    """
    return ValueTable(
        "Parameters that are ours: the driver's ring and the server's egress queue",
        list(columns),
        [
            ValueRow(title, unit, list(cells))
            for (title, unit), *cells in zip(
                PARAMETERS_MEASURES.values(), *columns.values(), strict=True
            )
        ],
        f"At {Setting().label}, means; the first column is what all other tables have.",
    )


PARAMETERS_MEASURES = {
    "latency_ms": ("Average latency", "ms"),
    "queue_delay_ms": ("Queue delay", "ms"),
    "upload_mbps": ("Upload of all", "Mbit/s"),
    "download_mbps": ("Download of all", "Mbit/s"),
}
"""Title and unit by measure."""


def router_tables(found: Replications[tuple[str, str], Measured]) -> list[ValueTable]:
    """Return the alternatives on this router, alone and under bursts.

    Args:
        found: Runs by (label, scenario).
    """
    names = {
        "latency_ms": "latency, ms",
        "latency_p99_ms": "latency, 99th percentile, ms",
        "upload_mbps": "upload, Mbit/s",
        "download_mbps": "download, Mbit/s",
    }
    labels = list(dict.fromkeys(label for label, _ in found.arms))

    def rows(scenario: str, *, fairness: bool) -> list[ValueRow]:
        made = []
        for label in labels:
            arm = (label, scenario)
            cells = [cut(found.estimate(arm, measure)) for measure in names]
            if fairness:
                cells.append(cut(found.estimate(arm, "upload_fairness"), 1.0))
            made.append(ValueRow(label, "–", cells, is_code=True))
        return made

    return [
        ValueTable(
            "What should one set on this router?",
            [*names.values(), "fairness of the uploads"],
            rows("alone", fairness=True),
            "Means. rrul through the router; fairness is Jain's index of the four uploads. "
            "Latencies are of Flent's four probes.",
        ),
        ValueTable(
            "What should one set on this router, with UDP bursts?",
            list(names.values()),
            rows("bursts", fairness=False),
            f"The same with bursts of {arms.BURST_MBPS:g} Mbit/s. fq_codel hashes flows to 1024 "
            "queues: in a run in which a probe shares one with a burst, it waits for the burst.",
        ),
    ]


def agreement_table(
    kernel: RunsBySetting, sim: RunsBySetting, length_s: int, where: str, *, why: str = ""
) -> ValueTable:
    """Return both backends one below the other, one column per setting.

    Args:
        kernel: Runs on the kernel.
        sim: Runs of the same descriptions in the simulator.
        length_s: Length of the test on both.
        where: Suffix of the table's title.
        why: Additional sentence of its caption.
    """
    names = {
        "queue_delay_ms": ("Queue delay", "ms"),
        "latency_ms": ("Latency", "ms"),
        "drops_pkts": ("Drops", "packets"),
        "upload_mbps": ("Upload", "Mbit/s"),
        "download_mbps": ("Download", "Mbit/s"),
    }
    rows = [
        ValueRow(
            f"{title}, {side}",
            unit,
            [cut(of.mean(setting, measure)) for setting in kernel.settings],
        )
        for measure, (title, unit) in names.items()
        for side, of in (("simulator", sim), ("kernel", kernel))
    ]
    return ValueTable(
        f"Simulator and Linux kernel side by side, {where}",
        [f"{setting.target_ms} / {setting.tupdate_ms} ms" for setting in kernel.settings],
        rows,
        f"A column is target / tupdate. Means of tests of {length_s} s on both, with their 95 % "
        f"intervals. {why}".strip(),
    )


def irtt_table(own: Estimate, irtt: Estimate) -> ValueTable:
    """Return the results of two programs on one kernel."""
    return ValueTable(
        "Latency over UDP on the Linux kernel: our own prober and irtt",
        ["our own prober", "irtt"],
        [ValueRow(Setting().label, "ms", [own, irtt])],
        "Mean of the three probes over UDP while the TCP flows send; irtt 0.9 runs as client and "
        "server in the guest. irtt's requests leave at other instants, so no pair of runs is the "
        "same sample path.",
    )


# --- words -------------------------------------------------------------------------------------


DONE = (
    "A router with PIE stands in front of a line of 100 Mbit/s, and Flent's test rrul loads it "
    "with four uploads and four downloads for a minute while it measures latency. Target and "
    "tupdate are changed one at a time, as in the published tables, and every printed number is "
    "compared with repeated runs; then once more with bursts of UDP and with additional TCP beside."
)


def answer(by: RunsBySetting, judged: Sequence[Judged]) -> Answer:
    """State the growth of latency with the target: the quantity of the figure below.

    Args:
        by: Scenario 1, on the backend that ran it.
        judged: Verdicts.
    """
    targets = [setting for setting in arms.BY_TARGET if setting in by.settings]
    if len(targets) < 2:
        return Answer("What PIE's target does these runs do not say: only one was run.")
    small, large = targets[0], targets[-1]
    latency, queue = (
        [by.mean(setting, name) for setting in (small, large)]
        for name in ("latency_ms", "queue_delay_ms")
    )
    added = by.difference(large, small, "latency_ms")
    milliseconds = large.target_ms - small.target_ms
    clock, known = _by_clock(by)
    within = max((each.high - each.low) / 2 for each in [*latency, *queue, *known])
    facts = {fact.name: fact.verdict for fact in facts_of(views_of(judged))}
    decided = [facts.get(name) for name in (claims.FOLLOWS, claims.TUPDATE_DELAY)]
    return Answer(
        f"Each millisecond of PIE's target adds {added.value / milliseconds:.2f} ms of latency.",
        measured=f"Latency is {latency[0].value:.1f} ms with target {small.target_ms} ms and "
        f"{latency[1].value:.1f} ms with {large.target_ms} ms; of that packets wait "
        f"{queue[0].value:.1f} and {queue[1].value:.1f} ms in PIE's queue{clock} (means, 95 % "
        f"intervals \u00b1{within:.1g} ms at most).",
        so="choose the target by the delay that you accept, and leave tupdate as it is."
        if set(decided) == {Verdict.REPRODUCED}
        else "",
    )


def _by_clock(by: RunsBySetting) -> tuple[str, list[Estimate]]:
    """State how the largest tupdate differs from the smallest, if several were run."""
    clocks = [setting for setting in arms.BY_TUPDATE if setting in by.settings]
    if len(clocks) < 2:
        return "", []
    slowest, fastest = clocks[-1], clocks[0]
    apart = by.difference(slowest, fastest, "latency_ms")
    words = (
        f"; tupdate {slowest.tupdate_ms} instead of {fastest.tupdate_ms} ms changes latency by "
        f"{apart.value:.1f} ms"
    )
    return words, [apart]


def advice(by: RunsBySetting) -> list[Advice]:
    """Recommend the smallest target that costs no throughput beyond the claims' margin."""
    targets = [setting for setting in arms.BY_TARGET if setting in by.settings]
    if len(targets) < 2:
        return []
    large = targets[-1]
    for small in targets[:-1]:
        lost = by.difference(large, small, "upload_mbps")
        if lost.high > claims.OF_RATES.margin:
            continue
        waits = [by.mean(each, "latency_ms").value for each in (small, large)]
        return [
            Advice(
                wish="PIE is to keep latency short without losing throughput",
                setting=small.qdisc(arms.TODAY),
                is_typed=True,
                because="Measured with PIE of the kernel of the time (3.14 to 5.0): latency was "
                f"{waits[0]:.1f} ms, with target {large.target_ms} ms {waits[1]:.1f} ms, and the "
                f"uploads lost at most {max(lost.high, 0.0):.2g} Mbit/s (95 %) of "
                f"{by.mean(large, 'upload_mbps').value:.0f}.",
                figure=figures_name(by),
            )
        ]
    return []


def figures_name(by: RunsBySetting) -> str:
    """Return the name of the figure of ellipses over the targets."""
    return "ellipsis-alone-few" if set(by.settings) < set(arms.SETTINGS) else ELLIPSES_BY_TARGET


ELLIPSES_BY_TARGET = "ellipsis-alone-target"


def router_advice(found: Replications[tuple[str, str], Measured]) -> list[Advice]:
    """Recommend the choice with the lowest latency, alone and with bursts, if the runs decide it.

    Only disciplines of today's kernels are considered, in front of the same ring. The one with the
    lowest 99th percentile is recommended if the interval of its paired difference from the next is
    above zero.
    """
    given = []
    for scenario, wish in (
        ("alone", "Short latency on a busy line, with nothing else in the way"),
        ("bursts", "Short latency although bursts of UDP fill the line"),
    ):
        labels = [label for label, where in found.arms if where == scenario and _can_set(label)]
        if len(labels) < 2:
            continue
        mean = {label: found.estimate((label, scenario), _P99) for label in labels}
        best, second = sorted(labels, key=lambda label: mean[label].value)[:2]
        longer = found.difference((second, scenario), (best, scenario), _P99)
        if not longer.low > 0:
            continue
        upload = found.estimate((best, scenario), "upload_mbps").value
        given.append(
            Advice(
                wish=wish,
                setting=arms.ROUTER_CHOICES[best].qdisc,
                is_typed=True,
                because=f"Of {len(labels)} choices 99 % of the probes are back soonest, within "
                f"{mean[best].value:.1f} ms, with {upload:.0f} Mbit/s of uploads; with {second}, "
                f"the next, it takes {longer.value:.1f} ms more (95 % interval {longer.low:.1f} to "
                f"{longer.high:.1f}, {found.n} runs).",
                figure="router",
            )
        )
    return given


_P99 = "latency_p99_ms"


def _can_set(label: str) -> bool:
    choice = arms.ROUTER_CHOICES[label]
    return choice.is_todays and choice.ring_bytes == arms.RING_BYTES


def summary(
    judged: Sequence[Judged], fit: LatencyFit | None, bursts: RunsBySetting | None = None
) -> str:
    """Summarize the verdicts in a paragraph: the main result first, then counts of facts."""
    facts = {
        fact.name: fact.verdict
        for fact in facts_of(views_of(judged))
        if fact.standing is CountedAs.SOURCE
    }
    sentences = [*of_target(facts), *of_tupdate(facts, bursts)]
    if fit:
        sentences.append(of_ring(fit))
    sentences.append(
        "Four uploads of 24 Mbit/s, as printed, are more than the line carries; their sum is 91, "
        "as the source prints beside them."
    )
    return " ".join([*sentences, *_counted(judged), *_agreement(judged)])


def printed_count(judged: Sequence[Judged]) -> Count | None:
    """Count the facts in the source's tables."""
    of = [one for one in judged if isinstance(one.claim.rule, Published) and one.claim.family]
    return next(iter(counts_of(views_of(of))), None)


def _counted(judged: Sequence[Judged]) -> list[str]:
    count = printed_count(judged)
    if count is None:
        return []
    right = count.verdicts.get(Verdict.REPRODUCED, 0)
    chance = f" ({count.chance_words})" if count.chance_words else ""
    return [
        f"Of {count.facts} facts in the source's tables, told by {count.rows} numbers, {right} are "
        f"reproduced{chance}."
    ]


def _agreement(judged: Sequence[Judged]) -> list[str]:
    of = [one for one in judged if isinstance(one.claim.rule, Agreement)]
    if not of:
        return []
    right, wrong = (
        sum(one.verdict is verdict for one in of)
        for verdict in (Verdict.REPRODUCED, Verdict.NOT_REPRODUCED)
    )
    return [
        f"Simulator and Linux kernel agree in {right} of {len(of)} comparisons and disagree in "
        f"{wrong}."
    ]


def notes(
    fit: LatencyFit | None, *, kernel_length_s: int | None = None, without_irtt: bool = False
) -> list[str]:
    """Return interpretations of the source and limitations.

    Args:
        fit: Fit of the ring, if there is one.
        kernel_length_s: Length of tests on the kernel, if there were any.
        without_irtt: Whether irtt was requested and is not installed.
    """
    test = arms.rrul()
    said = [
        "Test parameters of the printed command that rrul does not read: "
        + "; ".join(f"{name} ({why})" for name, why in test.without_effect.items())
        + ". It always has four uploads and four downloads.",
        f"The line carries {published.LARGEST_MBPS:.1f} Mbit/s of payload: 1448 of every 1538 "
        "bytes (24 bytes of preamble, checksum and gap beside Ethernet's 14 of header). "
        "Acknowledgements of the downloads take some 3 Mbit/s of it: 91 are left for the uploads, "
        "which is what the source prints as their average.",
        "The source conflicts with itself: an average of 91 Mbit/s for the sum of the uploads "
        "and an upload speed of 24 for each of the four, which is 96. Ends of the throughput's "
        "range at 99 to 106 are artefacts of a Gaussian ellipse around netperf's uneven reports.",
        "Ours, not the source's: the server's egress queue (fq_codel, the default of the "
        "distributions of the time), a one-way delay of 0.25 ms for three hosts' stacks, and a "
        f"ring of {arms.RING_BYTES} bytes in the router's driver, fitted to the printed latencies. "
        "Downloads never meet the router's PIE. A FIFO of 1000 packets at the server would add a "
        "millisecond only: TCP small queues keep the queue at a sender short.",
    ]
    if fit:
        found, kb = fit.excess_ms, fit.ring_kb
        said.append(
            f"The fit: printed latency less ours without a ring is {found.value:.2f} ms "
            f"({found.low:.2f} to {found.high:.2f} over the settings), "
            f"{kb.value:.1f} kB at 100 Mbit/s, {fit.packets:.0f} full packets. The "
            "source's interface is named enx..., as systemd names USB adapters; Linux's driver of "
            f"USB 2 adapters queued {arms.USB2_RING_PKTS} packets of any size (commit "
            "7ff14c52049e of November 2025 says so and adds byte limits): 5 ms with this mix of "
            "data and acknowledgements, 7.4 ms when all are full. Which adapter it was is not said."
        )
    said += [
        "What follows from one another is one fact: both ends of a range, the upload of all and "
        "that of a flow, the row of target 20 ms in both tables. The average latencies chose the "
        "ring and count only where there is none.",
        "Scenarios 2 and 3 have no numbers. Taken: bursts of "
        f"{arms.BURST_MBPS:g} Mbit/s of UDP payload from the client, {arms.BURST_S:g} s every "
        f"{arms.BURST_EVERY_S:g} s; one more CUBIC flow each way for the whole time.",
        "Upload and download are payload that the receivers got; netperf reports what its sender's "
        "calls took. Averages are the same, the spread from step to step is not.",
        "PIE of the kernel of the time is linux_3_14 (kernels 3.14 to 5.0), which the source's "
        "defaults of 20 and 30 ms belong to. The kernel backend is 6.1: there, and in the "
        "simulator beside it, dq_rate_estimator selects today's estimator of that kind.",
    ]
    if kernel_length_s is not None:
        said.append(
            f"On the kernel tests are {kernel_length_s} s long and not {published.LENGTH_S}, and "
            "so are those in the simulator that they are compared with: equal lengths are enough "
            "for that. What is printed is not judged there: its numbers are a preview."
        )
    if without_irtt:
        said.append(
            "irtt is not installed here (Debian: apt-get install irtt), so the latency on the "
            "kernel is that of our own prober alone."
        )
    return said


def commands() -> dict[str, list[tuple[str, str]]]:
    """Return the commands for a testbed."""
    lines = testbed_lines(arms.experiment(arms.Setting().qdisc(arms.ESTIMATOR), ring_bytes=0))
    return {f"{arms.Setting().label}, without the ring": list(lines)}
