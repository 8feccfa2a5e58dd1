"""What the page says in words, and its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dumbbell.claims.legacy import Judged, Kind, Verdict
from dumbbell.report import ValueRow, ValueTable
from dumbbell.spec import testbed_lines
from dumbbell.stats import Estimate
from dumbbell.studies.pie_rrul import arms, published
from dumbbell.studies.pie_rrul.campaigns import Arm
from dumbbell.studies.pie_rrul.figures import CASES
from dumbbell.studies.pie_rrul.fit import Fit

By = Mapping[arms.Setting, Arm]
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


def observations(by: By, scenario: str, judged: Sequence[Judged], backend: str) -> list[ValueTable]:
    """The source's two tables; in scenario 1 with the printed numbers and their verdicts."""
    where = arms.SCENARIO_TITLES[scenario] + ("" if backend == "sim" else " (Linux kernel)")
    printed = scenario == "alone"
    marks = {one.claim.id: MARKS.get(one.verdict, "") for one in judged if one.backend == backend}
    made = []
    for varied, settings in CASES.items():
        there = {
            getattr(setting, f"{varied}_ms"): by[setting] for setting in settings if setting in by
        }
        if not there:
            continue
        rows = [
            ValueRow(
                quantity.short,
                quantity.unit,
                [
                    _beside_printed(cell, (varied, ms), name, marks) if printed else cell
                    for ms, cell in _observed(there, name).items()
                ],
            )
            for name, quantity in published.QUANTITIES.items()
        ]
        drops = [interval(arm.one_run("drops_per_s")) for arm in there.values()]
        made.append(
            ValueTable(
                f"Observation table, {varied} varied, {where}",
                [f"{varied} {ms} ms" for ms in there],
                [*rows, ValueRow("Drops", "1/s", drops)],
                _BESIDE_PRINTED if printed else _OURS_ALONE,
            )
        )
    return made


_BESIDE_PRINTED = (
    "What is printed: ours [where one more run would fall, 95 %]. Ends are those of the ellipse. "
    "✓ reproduced: what is printed lies in the interval, widened by how finely it can be read "
    "(half a ms or Mbit/s, downloads 0.05); ✗ not reproduced, ~ uninformative. Drops, as tc counts "
    "them, are not in the source's table."
)
_OURS_ALONE = (
    "Ours [where one more run would fall, 95 %]. Ends are those of the ellipse, a Gaussian's: it "
    "goes on where no sample is, below 0 and above the line's rate."
)


def _observed(arms_by_ms: Mapping[int, Arm], name: str) -> dict[int, str]:
    """Milliseconds of what is varied to the number found there."""
    measure = published.QUANTITIES[name].measure
    # The lower end of an ellipse can be below 0, where no sample is.
    least = -np.inf if name.endswith("-low") else 0.0
    return {ms: interval(arm.one_run(measure), least=least) for ms, arm in arms_by_ms.items()}


def _beside_printed(cell: str, row: tuple[str, int], name: str, marks: Mapping[str, str]) -> str:
    """``26: 25.7 [25.1, 26.3] ✓``."""
    varied, milliseconds = row
    mark = marks.get(f"{varied}-{milliseconds}-{name}", "")
    return f"{published.TABLES[row][name]:g}: {cell} {mark}".strip()


def interval(one: Estimate, digits: int = 1, *, least: float = 0.0, most: float = np.inf) -> str:
    """``26.0 [25.1, 26.9]``; a dash for no number.

    Args:
        one: The number, with its interval.
        digits: After the point.
        least: What cannot be less: the interval ends there.
        most: What cannot be more.
    """
    if not np.isfinite(one.value):
        return "–"
    low, high = max(one.low, least), min(one.high, most)
    text = f"{one.value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"
    return text.replace("-", "−")


def editions(found: Mapping[str, By]) -> ValueTable:
    """PIE of the time beside today's, a row a setting."""
    settings = [setting for setting in arms.SETTINGS if all(setting in by for by in found.values())]
    columns = [f"{label}: {what}" for label in found for what in ("delay", "latency", "drops/s")]
    rows = []
    for setting in settings:
        cells = []
        for by in found.values():
            arm = by[setting]
            cells += [
                interval(arm.one_run(measure))
                for measure in ("queue_delay_ms", "latency_ms", "drops_per_s")
            ]
        rows.append(ValueRow(setting.label, "ms, 1/s", cells))
    return ValueTable(
        "PIE of the kernel of the time, and today's",
        columns,
        rows,
        "No other traffic. Of the time: kernels 3.14 to 5.0, delay from a departure rate. "
        "Today's: delay from time stamps, derandomized drops.",
    )


def parameters_table(found: Mapping[str, Arm]) -> ValueTable:
    """What the parameters that are ours do, at the default setting."""
    names = {
        "latency_ms": ("Average latency", "ms"),
        "queue_delay_ms": ("Queue delay", "ms"),
        "upload_mbps": ("Upload of all", "Mbit/s"),
        "download_mbps": ("Download of all", "Mbit/s"),
    }
    rows = [
        ValueRow(title, unit, [interval(arm.one_run(measure)) for arm in found.values()])
        for measure, (title, unit) in names.items()
    ]
    return ValueTable(
        "Parameters that are ours: the driver's ring and the server's egress queue",
        list(found),
        rows,
        f"At {arms.Setting().label}; the first column is what all other tables have.",
    )


def router_tables(found: Sequence[tuple[str, Arm, Arm]]) -> list[ValueTable]:
    """What should one set on this router? Alone, and under bursts."""
    names = {
        "latency_ms": "latency, ms",
        "latency_p99_ms": "latency, 99th percentile, ms",
        "upload_mbps": "upload, Mbit/s",
        "download_mbps": "download, Mbit/s",
    }
    alone = {
        label: [*(interval(arm.one_run(measure)) for measure in names),
                interval(arm.one_run("upload_fairness"), 3, most=1.0)]
        for label, arm, _ in found
    }  # fmt: skip
    bursts = {
        label: [interval(arm.one_run(measure)) for measure in names] for label, _, arm in found
    }

    def rows(cells: Mapping[str, list[str]]) -> list[ValueRow]:
        return [ValueRow(label, "–", of) for label, of in cells.items()]

    return [
        ValueTable(
            "What should one set on this router?",
            [*names.values(), "fairness of the uploads"],
            rows(alone),
            "rrul through the router; fairness is Jain's index of the four uploads. Latencies are "
            "of Flent's four probes.",
        ),
        ValueTable(
            "What should one set on this router, with UDP bursts?",
            list(names.values()),
            rows(bursts),
            f"The same with bursts of {arms.BURST_MBPS:g} Mbit/s. fq_codel hashes flows to 1024 "
            "queues: in a run in which a probe shares one with a burst, it waits for the burst.",
        ),
    ]


def agreement_table(kernel: By, sim: By, where: str, *, why: str = "") -> ValueTable:
    """Both backends below each other, a column a setting.

    Args:
        kernel: Runs there.
        sim: Runs of the same descriptions here.
        where: What else the table's title says.
        why: A sentence more in its caption.
    """
    names = {
        "queue_delay_ms": ("Queue delay", "ms"),
        "latency_ms": ("Latency", "ms"),
        "drops_pkts": ("Drops", "packets"),
        "upload_mbps": ("Upload", "Mbit/s"),
        "download_mbps": ("Download", "Mbit/s"),
    }
    rows = []
    for measure, (title, unit) in names.items():
        digits = 0 if unit == "packets" else 1
        ours = [f"{float(sim[setting].values[measure].mean()):.{digits}f}" for setting in kernel]
        rows.append(ValueRow(f"{title}, simulator", unit, ours))
        kernels = [interval(arm.one_run(measure), digits) for arm in kernel.values()]
        rows.append(ValueRow(f"{title}, kernel", unit, kernels))
    return ValueTable(
        f"Simulator and Linux kernel side by side, {where}",
        [f"{setting.target_ms} / {setting.tupdate_ms} ms" for setting in kernel],
        rows,
        "A column is target / tupdate. The simulator's mean; the kernel's with the interval in "
        f"which one more of its runs falls. {why}".strip(),
    )


def irtt_table(own: Arm, irtt: Arm, setting: arms.Setting) -> ValueTable:
    """Two programs on one kernel."""
    row = ValueRow(
        setting.label, "ms", [interval(arm.one_run("latency_udp_ms"), 2) for arm in (own, irtt)]
    )
    return ValueTable(
        "Latency over UDP on the Linux kernel: our own prober and irtt",
        ["our own prober", "irtt"],
        [row],
        "Mean of the three probes over UDP while the TCP flows send; irtt 0.9 runs as client and "
        "server in the guest. irtt's requests leave at other instants, so no pair of runs is the "
        "same sample path.",
    )


def summary(judged: Sequence[Judged], fit: Fit | None) -> str:
    """Who was right, in a paragraph."""

    def count(prefix: str, *, end: str = "", backend: str = "sim") -> tuple[int, int]:
        of = [
            one
            for one in judged
            if one.claim.id.startswith(prefix)
            and one.claim.id.endswith(end)
            and one.backend == backend
        ]
        return sum(one.verdict is Verdict.REPRODUCED for one in of), len(of)

    sentences = []
    numbers = [
        one
        for one in judged
        if one.claim.kind is Kind.PUBLISHED_NUMBER
        and not one.claim.id.startswith("nominal-")
        and one.backend == "sim"
    ]
    if numbers:
        right = sum(one.verdict is Verdict.REPRODUCED for one in numbers)
        sentences.append(f"{right} of the {len(numbers)} printed numbers are reproduced.")
    follows = [
        one.verdict
        for one in judged
        if one.claim.id.endswith("-follows-target") or one.claim.id == "target-equal-throughput"
    ]
    if follows and all(verdict is Verdict.REPRODUCED for verdict in follows):
        sentences.append(
            "Queue delay and latency follow the target, and a smaller one costs no throughput."
        )
    alone, of_alone = count("tupdate-hardly-matters-", end="alone")
    bursts, of_bursts = count("tupdate-hardly-matters-", end="bursts")
    if of_alone:
        sentences.append(
            f"Without other traffic tupdate hardly matters ({alone} of {of_alone} comparisons)"
            + (f"; under UDP bursts {bursts} of {of_bursts}." if of_bursts else ".")
        )
    right, of = count("tick-")
    if right:
        sentences.append(
            "tupdate 1 ms is 4 ms at HZ 250, to the byte: the source's kernel did what all do."
        )
    if fit:
        sentences.append(
            f"The printed latencies are {fit.excess_ms.value:.1f} ms above what follows from the "
            f"printed parameters: a driver's ring of {fit.bytes / 1000:.0f} kB behind PIE explains "
            "them, which PIE cannot see."
        )
    sentences.append(
        "Four uploads of 24 Mbit/s, as printed, are more than the line carries; their sum is 91, "
        "as the source prints beside them."
    )
    right, of = count("agreement-", backend="kernel")
    if of:
        sentences.append(
            f"Simulator and Linux kernel agree in {right} of {of} comparisons, within the spread "
            "of the kernel's own seeds."
        )
    return " ".join(sentences)


def notes(
    fit: Fit | None, length_s: int, *, interrupted: bool, without_irtt: bool = False
) -> list[str]:
    """Readings taken and limitations."""
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
        "A FIFO of 1000 packets at the server would give 80 ms of latency at any target: downloads "
        "never meet the router's PIE.",
    ]
    if fit:
        said.append(
            f"The fit: printed latency less ours without a ring is {fit.excess_ms.value:.2f} ms "
            f"({fit.excess_ms.low:.2f} to {fit.excess_ms.high:.2f} over the settings), "
            f"{fit.bytes / 1000:.1f} kB at 100 Mbit/s, {fit.packets:.0f} full packets. The "
            "source's interface is named enx..., as systemd names USB adapters; Linux's driver of "
            f"USB 2 adapters queued {arms.USB2_RING_PKTS} packets of any size (commit "
            "7ff14c52049e of November 2025 says so and adds byte limits): 5 ms with this mix of "
            "data and acknowledgements, 7.4 ms when all are full. Which adapter it was is not said."
        )
    said += [
        "Scenarios 2 and 3 have no numbers. Taken: bursts of "
        f"{arms.BURST_MBPS:g} Mbit/s of UDP payload from the client, {arms.BURST_S:g} s every "
        f"{arms.BURST_EVERY_S:g} s; one more CUBIC flow each way for the whole time.",
        "Upload and download are payload that the receivers got; netperf reports what its sender's "
        "calls took. Averages are the same, the spread from step to step is not.",
        "PIE of the kernel of the time is linux_3_14 (kernels 3.14 to 5.0), which the source's "
        "defaults of 20 and 30 ms belong to. The kernel backend is 6.1: there, and in the "
        "simulator beside it, dq_rate_estimator selects today's estimator of that kind.",
    ]
    if length_s < published.LENGTH_S:
        said.append(
            f"Quick: runs are {length_s} s long, not {published.LENGTH_S} as published. The flows' "
            "slow start weighs more in them, above all in the ends of the ellipses, and where one "
            "more run would fall is wider."
        )
    if without_irtt:
        said.append(
            "irtt is not installed here (Debian: apt-get install irtt), so the latency on the "
            "kernel is that of our own prober alone."
        )
    if interrupted:
        said.insert(0, "Interrupted: only the parts that had finished are here.")
    return said


def commands() -> dict[str, list[tuple[str, str]]]:
    """What one would type on a testbed."""
    lines = testbed_lines(arms.experiment(arms.Setting().qdisc(arms.ESTIMATOR), ring_bytes=0))
    return {f"{arms.Setting().label}, without the ring": list(lines)}
