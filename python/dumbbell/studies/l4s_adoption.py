"""Throughput of Prague beside CUBIC, by what manages the queue: two published sets of runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from dumbbell import metrics
from dumbbell.claims import Verdict
from dumbbell.claims.glyphs import Side
from dumbbell.claims.rules import Agreement, Published
from dumbbell.report import Figure, IntervalRow, points_with_interval
from dumbbell.spec import Experiment
from dumbbell.stats import student_interval
from dumbbell.studies.one_line import FAR, SENDER, greedy, one_line
from dumbbell.studies.printed_rows import printed_rows
from dumbbell.studies.short import FEWEST_TO_AGREE, ShortStudy, Trial
from dumbbell.tables import Run

ROUNDING_MBPS, MTU, RUNS = 0.005, 1500, 10
"""Rounding of the print, bytes of a packet, and runs of a row: the fewest that tell enough."""
NAMES = {"prague": "Prague", "cubic": "CUBIC"}
DUALPI2 = "dualpi2 min_qlen_step 2"
"""As in the kernels of the L4S team, which both sources have."""
DISCIPLINES = {
    "FIFO": "bfifo limit {bytes}b",
    "single_queue_FQ": "codel limit {packets} target 1000s interval 1000s ecn ce_threshold 5ms",
    "Codel_drop": "codel limit {packets} target 5ms interval 100ms noecn",
    "pie_drop": "pie limit {packets} target 5ms noecn",
    "Codel": "codel limit {packets} target 5ms interval 100ms ecn",
    "FQ": "fq limit {packets} flow_limit {packets} ce_threshold 5ms",
    "FQ_Codel": "fq_codel limit {packets} target 5ms interval 100ms ecn",
    "FQ_Codel_L4S": "fq_codel limit {packets} ecn ce_threshold 1ms ce_threshold_selector 0x1/0x1",
    "DualPI2": f"{DUALPI2} target 5ms",
}
"""Those of 2025 by their names in the data, as the authors' notebook sets them."""
OF_2020 = {
    (name, rate): qdisc for rate in (10, 50) for name, qdisc in
    {"dualpi2": DUALPI2, "fq_codel": "fq_codel", "pfifo": f"pfifo limit {20 * rate}"}.items()
}  # fmt: skip
"""Disciplines of 2020 by name and Mbit/s; ``cnq_codel_af`` is in no kernel, and not here."""


@dataclass(frozen=True)
class Row:
    """A row of ``l4s_adoption.csv``: two flows behind one queue.

    Attributes:
        is_of_2025: Whether it is of Sarpkaya, Fund and Panwar, else of Heist and Morton.
        rate: Mbit/s of the bottleneck.
        qdisc: Name of the discipline in the source.
        bdp: Buffer in bandwidth-delay products; empty if the source has one buffer.
        flows, rtt_ms: Congestion controllers, and round-trip times without a queue.
        printed: Goodput of the first flow in each published run, Mbit/s.
        share: Its share of both, of the means.
    """

    is_of_2025: bool
    rate: int
    qdisc: str
    bdp: str
    flows: tuple[str, str]
    rtt_ms: tuple[int, int]
    printed: tuple[float, ...]
    share: float

    @property
    def id(self) -> str:
        """Id of the claim about it."""
        if self.is_of_2025:
            return f"2025-{self.qdisc}-{self.bdp}-bdp".lower()
        of = "-".join(f"{flow}-{rtt}" for flow, rtt in zip(self.flows, self.rtt_ms, strict=True))
        return f"2020-{self.qdisc}-{self.rate}-{of}"

    @property
    def words(self) -> str:
        """What it is, for readers."""
        both = zip(self.flows, self.rtt_ms, strict=True)
        of = " beside ".join(f"{NAMES[flow]} over {rtt} ms" for flow, rtt in both)
        return f"{of}, {self.qdisc}{self.bdp and f', {self.bdp} BDP'}, {self.rate} Mbit/s"

    def interval(self) -> tuple[float, float]:
        """Middle and half width of the print: of several runs the 95 % interval of their mean."""
        mean = student_interval(np.array(self.printed))
        wide = (mean.high - mean.low) / 2 if len(self.printed) > 1 else 0.0
        return mean.value, wide + ROUNDING_MBPS


def _rows() -> dict[str, Row]:
    rows = [
        Row(row["source"] == "pam", int(row["rate"]), row["qdisc"], row["bdp"],
            (row["first"], row["second"]), (int(row["first_rtt"]), int(row["second_rtt"])),
            first := tuple(map(float, row["first_mbps"].split())),
            sum(first) / (sum(first) + sum(map(float, row["second_mbps"].split()))))
        for row in printed_rows("l4s_adoption")
    ]  # fmt: skip
    return {row.id: row for row in rows if row.is_of_2025 or (row.qdisc, row.rate) in OF_2020}


ROWS = _rows()
CUBIC = {id_ for id_, row in ROWS.items() if row.flows[0] == row.flows[1] == "cubic"
         and row.qdisc != "dualpi2"}  # fmt: skip
COMPARED = {id_ for id_ in CUBIC if ROWS[id_].rate == 10}
"""Rows in which nothing of L4S plays a part, and those by which the backends are compared."""


def first_mbps(run: Run) -> float:
    """Return the goodput of the first flow, Mbit/s."""
    return metrics.goodput_bps(run, "first") / 1e6


def experiment(
    seed: int, row: Row, qdisc: str = "", independent: bool | None = None, shorter_s: float = 0
) -> Experiment:
    """Return the experiment of a row, as its source sets it where nothing else is said."""
    held = int(125 * row.rate * row.rtt_ms[0] * float(row.bdp or 1))
    usual = DISCIPLINES[row.qdisc] if row.is_of_2025 else OF_2020[row.qdisc, row.rate]
    early = 0 if row.is_of_2025 else 120
    on = row.is_of_2025 if independent is None else independent
    # Offloads were off. Prague of 2020 had no RTT independence, and CUBIC of 2025 no ECN.
    of = {"prague": {"rtt_independence": on, "gso_max_segs": 1},
          "cubic": {"ecn": not row.is_of_2025, "gso_max_segs": 1}}  # fmt: skip
    far, near = row.rtt_ms[0] if row.rtt_ms[0] != row.rtt_ms[1] else None, row.rtt_ms[1]
    return one_line(
        greedy(row.flows[0], "first", from_=FAR if far else SENDER, **of[row.flows[0]]),
        greedy(row.flows[1], "second", **of[row.flows[1]]),
        seed=seed, rtt_ms=near, far_rtt_ms=far, rate=f"{row.rate}mbit",
        length_s=shorter_s or 60 + early, warm_up_s=shorter_s / 4 or early,
        qdisc=qdisc or usual.format(bytes=held, packets=held // MTU + 1),
    )  # fmt: skip


def of_print(seed: int, row: Row) -> Trial:
    """Return a printed row as a trial. The kernel has no Prague, and 120 s of rows of CUBIC."""
    (middle, half), short = row.interval(), {"120 s": experiment(seed, row, shorter_s=120)}
    name = "Sarpkaya, Fund and Panwar 2025, Data" if row.is_of_2025 else "l4s-tests, s1_table.md"
    return Trial(
        id=row.id, fact="2025-dualpi2" if row.is_of_2025 and row.qdisc == "DualPI2" else "",
        statement=f"{row.words}: the first flow's goodput", source=name, said=middle,
        rule=Published(printed=middle, rounding=half, unit="Mbit/s"), unit="Mbit/s", runs=RUNS,
        arms={"as set": experiment(seed, row)}, number=first_mbps, is_for_kernel=False,
        compared=short if row.id in COMPARED else {},
        agreement=Agreement(relative=0.1, floor=0.1, unit="Mbit/s"),
        kernel_runs=20 if row.qdisc == "pfifo" else FEWEST_TO_AGREE,  # shares scatter behind it
    )  # fmt: skip


DECIDING = {"2025": ROWS["2025-dualpi2-2-bdp"], "2020": ROWS["2020-dualpi2-50-prague-10-cubic-10"]}
SET = {"2025": (5, True), "2020": (15, False)}
SETTINGS = {f"{target} ms, {'on' if independent else 'off'}": (target, independent)
            for target in (5, 15) for independent in (True, False)}  # fmt: skip


def deciding(seed: int, year: str) -> Trial:
    """Return the settings in which the two sources differ, each varied in the source's network."""
    row, leads = DECIDING[year], year == "2020"
    return Trial(
        id=f"settings-{year}", label=f"Prague's share, {row.rate} Mbit/s",
        statement=f"Behind DualPI2 Prague gets {'more' if leads else 'less'} than CUBIC does "
        f"({row.rate} Mbit/s, 10 ms)",
        source="Heist and Morton 2020" if leads else "Sarpkaya, Fund and Panwar 2025",
        said=0.5, side=Side.AT_LEAST if leads else Side.AT_MOST, varied="settings",
        grid="the classic queue's target of 5 and 15 ms, Prague's RTT independence on and off",
        arms={words: experiment(seed, row, qdisc=f"{DUALPI2} target {target}ms", independent=on)
              for words, (target, on) in SETTINGS.items()},
        number=partial(metrics.goodput_share_of_greedy, flows="first"), runs=RUNS,
        is_for_kernel=False,
        words="The target adds to CUBIC's round trip, and RTT independence to Prague's",
    )  # fmt: skip


class L4sAdoption(ShortStudy):
    """The study; see the module."""

    id = "l4s-adoption"
    title = "Who gains from L4S while few have it?"
    summary = (
        "Prague beside CUBIC behind nine disciplines (2025, ten runs a cell) and behind three "
        "(2020, one run a row, 24 of CUBIC alone). Quick: a buffer of 2025, 12 rows of CUBIC."
    )
    source = (
        "Sarpkaya, Fund and Panwar, To adopt or not to adopt L4S-compatible congestion control?, "
        "PAM 2025; Heist and Morton, l4s-tests, scenario 1, 2020"
    )
    source_url = "https://github.com/fatihsarpkaya/L4S-PAM2025"
    done = (
        "Two flows on a line. 2025: 100 Mbit/s, 10 ms, 60 s, CUBIC without ECN. 2020: 10 and 50 "
        "Mbit/s, 10 to 160 ms, CUBIC with ECN, the last of three minutes, one run a row. The first "
        "flow's goodput is judged; then the settings in which the sources differ are varied."
    )
    notes = (
        "The FIFO with one step (single_queue_FQ) is fq with orphan_mask 0; here it is codel with "
        "a target never reached and the same ce_threshold. cnq_codel_af, 48 of the 192 rows of "
        "2020, is not in Linux and not run. Two rows of pfifo at 50 Mbit/s print the same numbers "
        "(39.98 and 7.55); one of them is probably a copy. DualPI2 had 10000 packets at every "
        "buffer of 2025, as the authors note.",
        "The kernel (6.1, without Prague) has 120 s of the rows of CUBIC alone at 10 Mbit/s.",
    )

    def tried(self) -> list[Trial]:
        """See `ShortStudy`."""
        seed, quick = self.options.seed, self.options.quick
        rows = (r for r in ROWS.values() if not quick or r.bdp == "2" or r.id in COMPARED)
        return [*(deciding(seed, year) for year in DECIDING), *(of_print(seed, r) for r in rows)]

    def figure(self) -> Figure:
        """Draw Prague's share by the two settings, in each source's network."""
        found = {part.name: part.found for part in self.finished_trials()}
        rows = []
        for (year, row), words in product(DECIDING.items(), SETTINGS):
            if runs := found.get(f"settings-{year}"):
                each, is_printed = runs.estimate(words), SETTINGS[words] == SET[year]
                rows.append(IntervalRow(
                    words, 100 * each.value, 100 * each.low, 100 * each.high,
                    100 * row.share if is_printed else None, style=f"{row.rate} Mbit/s ({year})",
                ))  # fmt: skip
        plot = points_with_interval(rows, x_title="Prague's share (%)", interval_title="95 %")
        caption = "Behind DualPI2: its target, and whether Prague's RTT independence is on."
        return Figure("prague", *plot, caption, title="Prague's share, by two settings")

    def said(self) -> dict[str, Any]:
        """See `ShortStudy`."""
        verdicts = self.verdicts(ROWS)
        right = {id_ for id_, verdict in verdicts.items() if verdict is Verdict.REPRODUCED}
        held, all_ = (Counter(ROWS[id_].is_of_2025 for id_ in ids) for ids in (right, verdicts))
        answer, measured = "These runs do not decide who gains.", ""
        if part := {each.name: each for each in self.finished_trials()}.get("settings-2025"):
            share = {words: 100 * part.found.estimate(words).value for words in SETTINGS}
            low, high = min(share, key=lambda w: share[w]), max(share, key=lambda w: share[w])
            if share[low] < 50 < share[high]:
                answer = "Two settings decide whether Prague or CUBIC leads behind DualPI2."
            measured = f"Prague gets {share[low]:.0f} % of 100 Mbit/s with {low}, "
            measured += f"{share[high]:.0f} % with {high} (target, RTT independence). "
        alone = f"{len(CUBIC & right)} of {len(CUBIC & verdicts.keys())} of CUBIC alone"
        measured += f"Reproduced: {held[True]} of {all_[True]} cells of 2025, {held[False]} of "
        measured += f"{all_[False]} rows of 2020 ({alone})"
        return {
            "summary": f"{sum(held.values())} of {len(verdicts)} printed rows are reproduced.",
            "answer": answer, "measured": f"{measured}.",
            "so": "Ask of a figure of DualPI2 which target and which Prague it was made with.",
        }  # fmt: skip


STUDY = L4sAdoption
