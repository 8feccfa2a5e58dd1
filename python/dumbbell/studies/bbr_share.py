"""Throughput of BBR beside CUBIC: one CUBIC flow and 1 to 32 BBR flows, by buffer size."""

from __future__ import annotations

from functools import partial
from typing import Any

from dumbbell import metrics, theory
from dumbbell.claims import Verdict
from dumbbell.claims.glyphs import Origin, Stated
from dumbbell.claims.rules import Agreement, Published
from dumbbell.report import Curve, Figure, ValueRow, ValueTable, line_with_band
from dumbbell.studies.one_line import greedy, one_line
from dumbbell.studies.short import BACKENDS, ShortStudy, Trial, estimate_of
from dumbbell.tables import Run

RATE_MBPS, RTT_MS, LENGTH_S = 10.0, 40.0, 400.0
BDP_KB = 50
"""The bandwidth-delay product as the authors' scripts round it; tc's kb has 1024 bytes."""
FRAME, PAYLOAD = 1514, 1448
"""Bytes of a full packet in the queue, and of its payload."""
FLOWS = (1, 2, 4, 8, 16, 32)
PRINTED = {
    1: "8.15 8.11 8.16, 9.07 9.09 9.08, 9.18 9.19 9.16, 9.28 9.28 9.28, 9.39 9.37 9.37, "
    "9.41 9.40 9.39",
    2: "5.66 5.75 5.79, 7.92 7.91 8.01, 9.19 9.20 9.18, 9.31 9.31 9.32, 9.40 9.39 9.41, "
    "9.43 9.42 9.43",
    4: "4.79 4.76 4.90, 5.63 5.62 5.53, 7.29 7.29 7.32, 8.80 8.77 8.81, 9.41 9.41 9.41, "
    "9.44 9.44 9.45",
    8: "4.46 4.24 4.63, 5.10 5.16 5.12, 6.05 6.00 6.03, 7.11 7.12 7.12, 8.45 8.44 8.44, "
    "9.46 9.46 9.46",
    16: "3.85 4.04 3.98, 4.73 4.87 4.78, 5.17 5.46 5.36, 5.98 5.98 5.94, 6.91 6.92 6.89, "
    "8.35 8.41 8.37",
    32: "3.19 3.32 3.42, 3.73 3.53 3.73, 4.19 4.26 4.15, 4.64 4.35 4.85, 5.32 5.33 5.24, "
    "6.17 6.15 6.19",
    64: "1.91 1.70 2.06, 2.51 2.33 2.23, 2.88 2.78 2.65, 3.02 2.94 2.89, 3.28 3.47 3.38, "
    "3.81 3.70 3.83",
}
"""Total Mbit/s of all BBR flows by buffer size in BDP: a cell for each of `FLOWS`, of three trials.

Data of figure 2a: repository fatihsarpkaya/bbr-shared-bottleneck, files
data/ware_topology_exps_data/figure2a-1.csv to -3.csv, rounded to 0.01 Mbit/s.
"""
ROUNDING_MBPS = 0.005
RUNS = 10
"""Runs of each cell: the smallest number that gives a useful prediction interval."""


def cell_id(bdps: int, flows: int) -> str:
    """Return the id of the claim about a cell."""
    return f"{flows}-bbr-{bdps}-bdp"


CELLS = {cell_id(bdps, flows): (bdps, flows) for flows in FLOWS for bdps in PRINTED}


def printed(bdps: int, flows: int) -> tuple[float, float]:
    """Return the minimum and maximum of the three trials, Mbit/s."""
    cell = PRINTED[bdps].split(", ")[FLOWS.index(flows)]
    trials = [float(word) for word in cell.split()]
    return min(trials), max(trials)


def model_mbps(bdps: int, flows: int) -> float:
    """Return the total rate of all BBR flows by the model of Ware et al., in Mbit/s of payload."""
    rate_pps = RATE_MBPS * 1e6 / (8 * FRAME)
    share = theory.bbr_share(flows, bdps * rate_pps * RTT_MS / 1e3, rate_pps, RTT_MS / 1e3)
    return share * RATE_MBPS * PAYLOAD / FRAME


def bbr_mbps(run: Run, flows: int) -> float:
    """Return the goodput of all BBR flows over the whole run, Mbit/s."""
    return metrics.total_goodput_bps(run, [f"bbr-{n}" for n in range(1, flows + 1)]) / 1e6


def cell(seed: int, bdps: int, flows: int) -> Trial:
    """Return a cell of the figure as a trial."""
    low, high = printed(bdps, flows)
    middle = (low + high) / 2
    experiment = one_line(
        greedy("bbr", "bbr", count=flows),
        greedy("cubic", "cubic"),
        seed=seed,
        rtt_ms=RTT_MS,
        length_s=LENGTH_S,
        warm_up_s=0,
        rate=f"{RATE_MBPS:g}mbit",
        qdisc=f"bfifo limit {bdps * BDP_KB}kb",
    )
    return Trial(
        id=cell_id(bdps, flows),
        statement=f"{flows} BBR beside one CUBIC, buffer {bdps} BDP: BBR's goodput",
        source="Sarpkaya, Srivastava, Fund and Panwar 2025, figure 2a",
        said=middle,
        rule=Published(printed=middle, rounding=(high - low) / 2 + ROUNDING_MBPS, unit="Mbit/s"),
        beside=(Stated(model_mbps(bdps, flows), Origin.THEORY),),
        agreement=Agreement(relative=0.1, floor=0.1, unit="Mbit/s"),
        arms={f"{bdps} BDP": experiment},
        number=partial(bbr_mbps, flows=flows),
        unit="Mbit/s",
        runs=RUNS,
    )


class BbrShare(ShortStudy):
    """The study; see the module."""

    id = "bbr-share"
    title = "Who gets what beside BBR?"
    summary = (
        "One CUBIC flow beside 1 to 32 flows of BBR on 10 Mbit/s, buffers of 1 to 64 BDP: 42 "
        "printed cells, and the steady-state model of Ware and others. Quick: one BBR flow."
    )
    source = (
        "Sarpkaya, Srivastava, Fund and Panwar, TCP BBR Behavior over a Shared Bottleneck, 2025, "
        "figure 2a; model: Ware, Mukerjee, Seshan and Sherry, IMC 2019, as code of others has it"
    )
    source_url = "https://github.com/fatihsarpkaya/bbr-shared-bottleneck"
    done = (
        "BBR (version 1) and one CUBIC flow share a line of 10 Mbit/s, 40 ms away. Counted is what "
        "all BBR flows together deliver. A printed cell is three trials: the range from the least "
        "to the greatest of them is compared with the prediction interval of one run."
    )
    notes = (
        "The source leaves open how long a run is, which flow starts first, and over which time a "
        "rate is taken. Taken: 400 s, all flows within the first second in random order, and the "
        "whole run; with 120 s the shares have not settled beyond 8 BDP. Ten small packets a "
        "second make no two runs alike.",
        "The text of the model's paper was not at hand. Its reasoning is taken from the first "
        "author's article on the blog of CMU's computer science department (2024), its equations "
        "(9 to 11) from code of others; they were not compared with the paper.",
        "The buffer is in bytes, as in the scripts of the same authors for the model's figures "
        "(bfifo, 50 kb a BDP). Their hosts' offloads are not told; here each packet is a segment.",
        "The model takes the queue for full and all flows for in step. Where CUBIC has little "
        "room, at one or two BDP, it gives BBR all of the line but for its probes.",
        "Quick runs one BBR flow at every buffer, as long and as often as full, which has all.",
    )

    def tried(self) -> list[Trial]:
        """See `ShortStudy`."""
        flows = FLOWS[:1] if self.options.quick else FLOWS
        return [cell(self.options.seed, bdps, n) for n in flows for bdps in PRINTED]

    def figure(self) -> Figure:
        """Draw one BBR flow by buffer size: published, measured, and modelled."""
        buffers = sorted(PRINTED)
        found = {(part.name, part.backend): part for part in self.finished_trials()}
        curves = []
        for backend, words in BACKENDS.items():
            at = [each for each in buffers if (f"1-bbr-{each}-bdp", backend) in found]
            if at:
                parts = [found[f"1-bbr-{each}-bdp", backend] for each in at]
                of = [estimate_of(next(iter(p.trial.points(p.found).values()))) for p in parts]
                edges = [each.low for each in of], [each.high for each in of]
                curves.append(Curve(words, at, [each.value for each in of], *edges))
        print_ = [sum(printed(each, 1)) / 2 for each in buffers]
        plot = line_with_band(
            curves,
            x_title="Buffer (BDP)",
            y_title="Goodput of one BBR flow (Mbit/s)",
            theory=[Curve("model", buffers, [model_mbps(each, 1) for each in buffers])],
            published=[Curve("printed", buffers, print_)],
            log_x=True,
        )
        caption = (
            "One BBR flow beside one CUBIC flow. Diamonds: the middle of three printed trials."
        )
        return Figure("share", *plot, caption, title="One BBR flow beside one CUBIC flow")

    def table(self) -> ValueTable:
        """Return every cell beside the published value and the model."""
        plain = super().table()
        rows = [
            ValueRow(trial.statement.removesuffix(": BBR's goodput"), "Mbit/s",
                     ["{:g} to {:g}".format(*printed(*CELLS[trial.id])),
                      model_mbps(*CELLS[trial.id]), *row.cells])
            for trial, row in zip(self.trials, plain.rows, strict=False)
        ]  # fmt: skip
        caption = (
            "All BBR flows together; measured are means of "
            f"{self.runs_per_network} runs of {LENGTH_S:g} s."
        )
        return ValueTable("Cells", ["printed", "model", *plain.columns], rows, caption)

    def said(self) -> dict[str, Any]:
        """See `ShortStudy`."""
        cells = [each for each in self.judged if each.claim.id in CELLS]
        held = sum(each.verdict is Verdict.REPRODUCED for each in cells)
        found = {part.name: part for part in self.finished_trials() if part.backend == "sim"}
        got = {
            each: estimate_of(next(iter(part.trial.points(part.found).values()))).value
            for each in (1, 64)
            if (part := found.get(cell_id(each, 1)))
        }
        answer, measured = "These runs do not decide who gets the line.", ""
        if len(got) == 2:
            share = 100 * got[64] / RATE_MBPS
            answer = f"The deepest buffer leaves one BBR flow {share:.0f} % of a line it shares."
            words = ["{:.2f} to {:.2f}".format(*printed(each, 1)) for each in got]
            measured = (
                f"One BBR flow beside one CUBIC flow on {RATE_MBPS:g} Mbit/s gets {got[1]:.2f} "
                f"Mbit/s behind 1 BDP and {got[64]:.2f} behind 64. Printed are {words[0]} and "
                f"{words[1]}."
            )
        return {
            "summary": f"{held} of {len(cells)} printed cells are reproduced.",
            "answer": answer,
            "measured": measured,
            "so": "Beside BBR it is the buffer that decides who gets the line.",
        }  # fmt: skip


STUDY = BbrShare
