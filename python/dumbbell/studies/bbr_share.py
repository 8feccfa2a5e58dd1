"""Throughput of BBR beside CUBIC or Reno: one such flow and 1 to 32 BBR flows, by buffer size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from dumbbell import metrics, theory
from dumbbell.claims import Verdict
from dumbbell.claims.glyphs import Origin, Stated
from dumbbell.claims.rules import Agreement, Published
from dumbbell.report import Curve, Figure, line_with_band
from dumbbell.spec import Experiment
from dumbbell.studies.one_line import greedy, one_line
from dumbbell.studies.printed_rows import printed_rows
from dumbbell.studies.settings import Settings, Sought
from dumbbell.studies.short import ShortStudy, Trial
from dumbbell.tables import Run

FRAME, PAYLOAD, LENGTH_S, COUNTED_S = 1514, 1448, 1000.0, 400.0
"""Bytes of a full packet and of its payload; length of a run, and of its last part that counts."""
COMPARED = {
    (16, 1): (240, 5), (16, 2): (240, 10), (32, 1): (400, 36), (32, 2): (400, 12),
    (64, 1): (400, 20), (64, 2): (120, 60), (64, 4): (120, 80), (64, 8): (120, 8),
}  # fmt: skip
"""Seconds and runs beside the kernel where shares scatter, by buffer and BBR flows; else 120, 5."""
BUFFERS = {"receive_window": "32MB", "send_buffer": "64MB"}
"""Linux's limits of 64 MB (``tcp_rmem``, ``tcp_wmem``): half of a receive buffer is window."""
ROUNDING_MBPS, RUNS = 0.005, 10
"""Rounding of the print, and runs of a cell: the fewest with a useful prediction interval."""


@dataclass(frozen=True)
class Panel:
    """A panel of figure 2: rate in Mbit/s, round-trip time in ms, and the other flow."""

    rate: float
    rtt_ms: float
    other: str

    @property
    def words(self) -> str:
        """Its name for readers."""
        return f"{self.other} on {self.rate:g} Mbit/s and {self.rtt_ms:g} ms"


PANELS = {"a": Panel(10, 40, "CUBIC"), "b": Panel(50, 30, "CUBIC"), "c": Panel(10, 40, "Reno")}
Cell = tuple[str, int, int]  # panel, buffer in BDP, number of BBR flows
PRINTED: dict[Cell, tuple[float, ...]] = {
    (row["panel"], int(row["bdp"]), int(row["flows"])): tuple(map(float, row["trials"].split()))
    for row in printed_rows("bbr_share")
}
"""Total Mbit/s of all BBR flows in each trial.

Repository fatihsarpkaya/bbr-shared-bottleneck, data/ware_topology_exps_data/figure2{a,b,c}-1.csv to
-3.csv, rounded to 0.01 Mbit/s. Left out: trial 1 of panel c, 64 BDP, 8 flows, by which the flows
together have 10.7 Mbit/s of a line of 10.
"""


def cell_id(cell: Cell) -> str:
    """Return the id of the claim about a cell."""
    return "{0}-{2}-bbr-{1}-bdp".format(*cell)


CELLS = {cell_id(cell): cell for cell in PRINTED}


def printed(cell: Cell) -> tuple[float, float]:
    """Return the minimum and maximum of the trials, Mbit/s."""
    return min(PRINTED[cell]), max(PRINTED[cell])


def model_mbps(cell: Cell) -> float:
    """Return the total rate of all BBR flows by the model of Ware et al., in Mbit/s of payload."""
    panel, rtt_s = PANELS[cell[0]], PANELS[cell[0]].rtt_ms / 1e3
    rate_pps = panel.rate * 1e6 / (8 * FRAME)
    queue = cell[1] * rate_pps * rtt_s
    return theory.bbr_share(cell[2], queue, rate_pps, rtt_s) * panel.rate * PAYLOAD / FRAME


def bbr_mbps(run: Run, flows: int) -> float:
    """Return the goodput of all BBR flows after the warm-up, Mbit/s."""
    return metrics.total_goodput_bps(run, [f"bbr-{n}" for n in range(1, flows + 1)]) / 1e6


def line(
    seed: int,
    cell: Cell,
    *,
    length_s: float = LENGTH_S,
    late: str = "0s",
    packets: bool = False,
    counted: int = FRAME,
    longer_ms: float = 0.0,
    tcp: dict[str, Any] = BUFFERS,
    **more: Any,
) -> Experiment:
    """Return the experiment of a cell, as the authors' notebook has it where nothing is said."""
    (_, bdps, flows), panel = cell, PANELS[cell[0]]
    size = bdps * panel.rate * panel.rtt_ms / 8 * 1024 * FRAME / counted
    limit = f"pfifo limit {size / FRAME:.0f}" if packets else f"bfifo limit {size:.0f}b"
    return one_line(
        greedy("bbr", "bbr", count=flows, **tcp),
        greedy(panel.other.lower(), "other", start=late, **tcp),
        seed=seed, rtt_ms=panel.rtt_ms + longer_ms, rate=f"{panel.rate:g}mbit", qdisc=limit,
        length_s=length_s, warm_up_s=length_s - min(COUNTED_S, length_s), **more,
    )  # fmt: skip


def trial(seed: int, cell: Cell) -> Trial:
    """Return a cell of the figure as a trial."""
    (low, high), panel, (name, bdps, flows) = printed(cell), PANELS[cell[0]], cell
    compared_s, kernel_runs = COMPARED.get(cell[1:], (120, 5))
    short = line(seed, cell, length_s=compared_s, tcp={})
    return Trial(
        id=cell_id(cell), label=f"{panel.words}, {flows} BBR",
        source=f"Sarpkaya, Srivastava, Fund and Panwar 2025, figure 2{name}",
        statement=f"{flows} BBR beside one {panel.words}, buffer {bdps} BDP: BBR's goodput",
        said=(low + high) / 2, number=partial(bbr_mbps, flows=flows), unit="Mbit/s", runs=RUNS,
        rule=Published(printed=(low + high) / 2, unit="Mbit/s",
                       rounding=(high - low) / 2 + ROUNDING_MBPS),
        beside=(Stated(model_mbps(cell), Origin.THEORY),),
        agreement=Agreement(relative=0.1, floor=0.1, unit="Mbit/s"),
        arms={f"{bdps} BDP": line(seed, cell)}, is_for_kernel=False,
        compared={f"{bdps} BDP, {compared_s} s": short} if name == "a" else {},
        kernel_runs=kernel_runs,
    )  # fmt: skip


DEEP: dict[str, dict[str, Any]] = {
    "as the notebook": {},
    "windows of Linux, at most 6 MB": {"tcp": {}},
    "the first 400 s": {"length_s": COUNTED_S},
    "6 MB, the first 400 s": {"tcp": {}, "length_s": COUNTED_S},
    "6 MB, losses of 1e-5": {"tcp": {}, "loss": 1e-5},
    "losses of 1e-5": {"loss": 1e-5},
    "the other flow 5 s later": {"late": "5s"},
    "a buffer in packets": {"packets": True},
    "no segmentation offload": {"tcp": BUFFERS | {"gso_max_segs": 1}},
}
SHALLOW: dict[str, dict[str, Any]] = {
    "a path of 0.4 ms more": {"longer_ms": 0.4},
    "a buffer that counts payload": {"counted": PAYLOAD},
    "both": {"longer_ms": 0.4, "counted": PAYLOAD},
    **{words: DEEP[words] for words in ("as the notebook", *list(DEEP)[-4:])},
}
"""Settings that may give the cells of one BBR flow behind deep and shallow buffers, by words."""


def sought(seed: int, buffers: str, of: dict[str, list[int]], settings: dict[str, Any]) -> Sought:
    """Return the cells of one BBR flow behind such buffers (BDP by panel), and settings to try."""
    cells = {f"{PANELS[panel].other} on {PANELS[panel].rate:g} Mbit/s, {bdps} BDP":
             (panel, bdps, 1) for panel, sizes in of.items() for bdps in sizes}  # fmt: skip
    return Sought(
        id=f"{buffers}-buffers", title=f"{buffers.title()} buffers, by what is set", unit="Mbit/s",
        statement=f"One setting gives the goodput of one BBR flow behind all {buffers} buffers",
        source="figure 2; settings: the authors' notebook, and what it does not say", runs=RUNS,
        printed={name: printed(cell) for name, cell in cells.items()}, rounding=ROUNDING_MBPS,
        arms={(words, name): line(seed, cell, **keys)
              for words, keys in settings.items() for name, cell in cells.items()},
        grid=", ".join(settings), number=partial(bbr_mbps, flows=1),
    )  # fmt: skip


class BbrShare(ShortStudy):
    """The study; see the module."""

    id = "bbr-share"
    title = "Who gets what beside BBR?"
    summary = (
        "One flow of CUBIC or Reno beside 1 to 32 of BBR, buffers of 1 to 64 BDP: 126 printed "
        "cells, and the steady-state model of Ware and others. Quick: 7 cells of one BBR flow."
    )
    source = (
        "Sarpkaya, Srivastava, Fund and Panwar, TCP BBR Behavior over a Shared Bottleneck, 2025, "
        "figure 2; model: Ware, Mukerjee, Seshan and Sherry, IMC 2019, as code of others has it"
    )
    source_url = "https://github.com/fatihsarpkaya/bbr-shared-bottleneck"
    done = (
        "BBR (version 1) and one flow of CUBIC or Reno share a line, as the authors' notebook has "
        "it. Counted is what all BBR flows together deliver in the last 400 s of 1000 s. A printed "
        "cell is the range of three trials, compared with the prediction interval of one run."
    )
    notes = (
        "The notebook ware-topology-experiments.ipynb tells what the text leaves open: 1000 s (in "
        "the runs that it shows, of BBRv3), of which the last 400 or 200 s count; BBR is started "
        "first; bfifo with 1024 bytes a kb; socket buffers of up to 64 MB. With the 6 MB that "
        "Linux allows otherwise CUBIC is held by its window behind deep buffers at 50 Mbit/s.",
        "Here all flows start within the first second in random order, and ten small packets a "
        "second make no two runs alike. The receive window is 32 MB throughout, not grown to it. "
        "The kernel has 120 s of each cell of figure 2a, or up to 400 s behind deep buffers.",
        "The text of the model's paper was not at hand: its reasoning is from the first author's "
        "article on the blog of CMU's computer science department (2024), its equations (9 to 11) "
        "from code of others. It takes the queue for full and all flows for in step.",
    )

    def __init__(self, options: Any) -> None:
        """Nothing is run yet."""
        super().__init__(options)
        deep = sought(options.seed, "deep", {"a": [64], "b": [16, 64]}, DEEP)
        shallow = sought(options.seed, "shallow", {"a": [1, 2], "c": [1, 2]}, SHALLOW)
        self.parts = [*self.parts, *([] if options.quick else map(Settings, (deep, shallow)))]

    def tried(self) -> list[Trial]:
        """See `ShortStudy`."""
        cells = [c for c in PRINTED if not self.options.quick or (c[0] == "a" and c[2] == 1)]
        return [trial(self.options.seed, cell) for cell in cells]

    def figure(self) -> Figure:
        """Draw one BBR flow by buffer size in each panel: published, measured, and modelled."""
        found = {part.name: part for part in self.finished_trials()}
        curves, prints = [], []
        for name, panel in PANELS.items():
            cells = [c for c in PRINTED if c[0] == name and c[2] == 1 and cell_id(c) in found]
            of = [found[cell_id(cell)].first_point for cell in cells]
            at, over = [cell[1] for cell in cells], 100 / panel.rate
            if words := f"beside {panel.other}, {panel.rate:g} Mbit/s" if cells else "":
                edges = [over * each.low for each in of], [over * each.high for each in of]
                curves.append(Curve(words, at, [over * each.value for each in of], *edges))
                middles = [over * sum(printed(cell)) / 2 for cell in cells]
                prints.append(Curve(f"printed, {words}", at, middles))
        by_model = {bdps: 10 * model_mbps(("a", bdps, 1)) for _, bdps, _ in PRINTED}
        model = Curve("model", [*by_model], [*by_model.values()])
        plot = line_with_band(
            curves, x_title="Buffer (BDP)", y_title="Goodput of one BBR flow (% of the line)",
            theory=[model], published=prints, log_x=True,
        )  # fmt: skip
        return Figure("share", *plot, "Diamonds: the middle of the trials.", title=self.title)

    def said(self) -> dict[str, Any]:
        """See `ShortStudy`."""
        cells = [*self.verdicts(CELLS).values()]
        found = {part.name: part.first_point.value for part in self.finished_trials()}
        ends: list[Cell] = [("a", 1, 1), ("a", 64, 1)]
        answer, measured = "These runs do not decide who gets the line.", ""
        if len(got := [found[id_] for id_ in map(cell_id, ends) if id_ in found]) == len(ends):
            words = ["{:.2f} to {:.2f}".format(*printed(cell)) for cell in ends]
            answer = f"The deepest buffer leaves one BBR flow {10 * got[1]:.0f} % of the line."
            measured = f"{got[0]:.2f} Mbit/s beside one {PANELS['a'].words} behind 1 BDP, "
            measured += f"{got[1]:.2f} behind 64. Printed are {words[0]} and {words[1]}."
        held = f"{cells.count(Verdict.REPRODUCED)} of {len(cells)} cells are reproduced."
        return {
            "summary": held if cells else self.agreed(),
            "answer": answer, "measured": measured, "so": "The buffer decides who gets the line.",
        }  # fmt: skip


STUDY = BbrShare
