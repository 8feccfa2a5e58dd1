"""Three flows that start one after another, through a FIFO and three AQMs."""

from __future__ import annotations

from functools import partial
from typing import Any

from dumbbell import metrics
from dumbbell.claims import Ratio, Verdict
from dumbbell.claims.glyphs import Side
from dumbbell.report import Advice
from dumbbell.spec import Experiment
from dumbbell.studies.one_line import QUEUE, greedy, one_line
from dumbbell.studies.short import Found, Points, ShortStudy, Trial
from dumbbell.tables import Run

FLOWS, STAGGER_S = ("first", "second", "third"), 20
CAIA = "Armitage, CAIA-TR-140630A, 2014, abstract"
DISCIPLINES = {"pfifo": "pfifo limit 1000", "PIE": "pie", "CoDel": "codel", "FQ-CoDel": "fq_codel"}
RUNS = {True: 5, False: 20}


def staggered(controller: str, discipline: str, rtt_ms: int, seed: int) -> Experiment:
    """Return three flows, 20 s apart, as they share 10 Mbit/s in the 20 s after the last start."""
    flows = [
        greedy(controller, name) | {"start": f"{STAGGER_S * n}s", "start_jitter": "100ms"}
        for n, name in enumerate(FLOWS)
    ]
    keys: dict[str, Any] = {
        "length_s": 3 * STAGGER_S,
        "warm_up_s": 2 * STAGGER_S + 1,
        "rate": "10mbit",
    }
    return one_line(*flows, seed=seed, rtt_ms=rtt_ms, qdisc=DISCIPLINES[discipline], **keys)


def total_mbps(run: Run) -> float:
    """Return the goodput of the three flows together."""
    return metrics.total_goodput_bps(run, list(FLOWS)) / 1e6


def against_pfifo(found: Found, *, is_over: bool = False) -> Points:
    """Return ratios of each AQM to pfifo, of equal TCP; the other way round if ``is_over``."""
    points: dict[str, Ratio] = {}
    for arm in found.arms:
        discipline, controller = arm.split(", ")
        if discipline != "pfifo":
            pair = found.values(arm), found.values(f"pfifo, {controller}")
            points[arm] = Ratio(*(pair[::-1] if is_over else pair))
    return points


def against_fq_codel(found: Found) -> Points:
    """Return ratios of FQ-CoDel to each other discipline, of equal TCP."""
    others = [arm for arm in found.arms if not arm.startswith("FQ-CoDel")]
    best = {arm: f"FQ-CoDel, {arm.split(', ')[1]}" for arm in others}
    return {arm: Ratio(found.values(best[arm]), found.values(arm)) for arm in others}


def trials(seed: int, runs: int) -> list[Trial]:
    """Return what the abstract of the report says."""
    arms = {
        rtt_ms: {
            f"{discipline}, {name}": staggered(controller, discipline, rtt_ms, seed)
            for discipline in DISCIPLINES
            for name, controller in (("NewReno", "reno"), ("CUBIC", "cubic"))
        }
        for rtt_ms in (20, 200)
    }
    trial = partial(Trial, source=CAIA, runs=runs, varied="discipline and TCP")
    grid = "PIE, CoDel and FQ-CoDel at their defaults, with NewReno and with CUBIC"
    return [
        trial(
            id="delay", label="delay, pfifo over AQM", grid=grid, arms=arms[20], said=2,
            statement="At 20 ms queueing delays drop dramatically: to half of pfifo's at least",
            number=partial(metrics.mean_sojourn_s, queue=QUEUE),
            points=partial(against_pfifo, is_over=True),
        ),
        trial(
            id="throughput", label="throughput at 20 ms", grid=grid, arms=arms[20],
            statement="At 20 ms they do so without a significant impact on throughput: 3 %",
            said=1, margin=0.03, number=total_mbps, points=against_pfifo,
        ),
        trial(
            id="sharing", label="sharing, FQ-CoDel over others", said=1, arms=arms[20],
            grid="pfifo, PIE and CoDel, with NewReno and with CUBIC",
            statement="FQ-CoDel shares more evenly: Jain's index is at least that of the others",
            number=metrics.jain_index, points=against_fq_codel,
        ),
        trial(
            id="throughput-200", label="throughput at 200 ms", grid=grid, arms=arms[200], said=1,
            side=Side.AT_MOST, statement="At 200 ms the AQMs have some drop-off in throughput",
            number=total_mbps, points=against_pfifo,
        ),
    ]  # fmt: skip


class StaggeredFlows(ShortStudy):
    """The study; see the module."""

    id = "staggered-flows"
    title = "What do AQMs do to flows that start one after another?"
    summary = "Three flows, 20 s apart, through pfifo, PIE, CoDel and FQ-CoDel, 20 and 200 ms."
    source = "G. Armitage, technical report 140630A, CAIA, Swinburne University, 2014"
    done = (
        "Three flows of Linux's TCP start 20 s apart on 10 Mbit/s; measured are the 19 s in which "
        "all of them send."
    )
    labels = "Every number is a ratio of two disciplines, with equal TCP."
    notes = (
        "The report's abstract was read: 10 Mbit/s, 20 and 200 ms, three flows that overlap, "
        "NewReno and CUBIC, disciplines at their defaults. The times of the starts, and that "
        "pfifo holds 1000 packets as by default, are ours.",
        "Half, for 'dramatically', and 3 %, for 'without significant impact', are ours too.",
    )

    def tried(self) -> list[Trial]:
        """See `ShortStudy`."""
        return trials(self.options.seed, RUNS[self.options.quick])

    def said(self) -> dict[str, Any]:
        """See `ShortStudy`."""
        held = sum(each.verdict is Verdict.REPRODUCED for each in self.judged)
        every = len(self.judged)
        verdicts = ", ".join(f"{each.claim.id}: {each.verdict.value}" for each in self.judged)
        return {
            "summary": f"{held} of {every} statements hold.",
            "answer": f"{held} of {every} statements hold for all disciplines and both TCPs.",
            "measured": f"{self.runs_per_network} runs of each network; {verdicts}.",
            "advice": self.advice(),
        }

    def advice(self) -> list[Advice]:
        """Recommend the AQM with the shortest wait of CUBIC, if the runs decide it.

        None if the AQMs lose throughput at 20 ms.
        """
        found = {part.name: part.found for part in self.finished_trials()}
        kept = self.verdicts(("throughput",)).values()
        if "delay" not in found or set(kept) != {Verdict.REPRODUCED}:
            return []
        waits, arms = found["delay"], [f"{each}, CUBIC" for each in DISCIPLINES]
        mean = {arm: 1e3 * waits.estimate(arm).value for arm in arms}
        best, second = sorted(arms, key=lambda arm: mean[arm])[:2]
        if not waits.difference(second, best).low > 0:
            return []
        return [
            Advice(
                wish="Uploads on a line of 10 Mbit/s and a path of 20 ms are not to wait long",
                setting=DISCIPLINES[best.split(",", maxsplit=1)[0]],
                is_typed=True,
                because=f"Three flows of CUBIC: a packet takes {mean[best]:.1f} ms (mean), with "
                f"{second.split(',', maxsplit=1)[0]}, the next, {mean[second]:.1f} ms, and behind "
                f"pfifo of 1000 packets {mean['pfifo, CUBIC']:.0f} ms ({waits.n} runs). Throughput "
                "is within 3 % of pfifo's.",
            )
        ]


STUDY = StaggeredFlows
