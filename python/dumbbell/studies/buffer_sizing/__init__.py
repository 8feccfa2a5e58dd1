"""Router buffer sizing: 18 or 500 packets, for whom?

Four experiments on a tree of senders behind one bottleneck, with persistent flows and mice or with
users in closed loops, and a small or a large buffer: thirteen published observations as claims,
over a grid of what their source leaves out; then buffers of all sizes for three controllers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dumbbell.report import Figure, Report, Topology, ValueTable
from dumbbell.spec import testbed_lines
from dumbbell.studies.base import StudyOptions
from dumbbell.studies.buffer_sizing import arms, figures, published, text
from dumbbell.studies.buffer_sizing.arms import Point
from dumbbell.studies.buffer_sizing.campaigns import (
    Found,
    Sized,
    buffers_of_all_sizes,
    collect,
    sizes,
)
from dumbbell.studies.buffer_sizing.judging import Verdicts, judge_all
from dumbbell.studies.buffer_sizing.measured import Seen
from dumbbell.sweep import Interrupted

_RUNS = {True: 3, False: 10}
_DURATION_S = {True: 30.0, False: float(published.DURATION_S)}


class BufferSizing:
    """The study; see the module."""

    id = "buffer-sizing"
    title = "Do small router buffers harm individual flows?"
    summary = (
        "Four experiments on a tree, 18 against 500 packets: thirteen observations over a grid of "
        "what their source leaves out"
    )

    def reproduce(self, options: StudyOptions) -> Report:
        """Run everything and judge it.

        Raises:
            SpecError: It cannot be run with these options.
        """
        return _Reproduction(options).report()


class _Reproduction:
    """The study under way. Stopped early, it reports on the points that were finished."""

    def __init__(self, options: StudyOptions) -> None:
        self.options = options
        self.found: dict[Point, Found] = {}
        self.sized: Mapping[tuple[str, int, int], Sized] = {}
        self.verdicts: list[Verdicts] = []
        self.interrupted = False

    def report(self) -> Report:
        try:
            for point in arms.grid(quick=self.options.quick):
                self.found[point] = collect(
                    self.options,
                    point,
                    runs=_RUNS[self.options.quick],
                    duration_s=self.duration_s,
                    keep=0 if self.found else 1,
                )
            self.sized = buffers_of_all_sizes(self.options, sizes(quick=self.options.quick))
        except Interrupted:
            if not self.found:
                raise
            self.interrupted = True
        self.verdicts = judge_all({point: each.values for point, each in self.found.items()})
        return self.written()

    @property
    def duration_s(self) -> float:
        """Of each run."""
        return _DURATION_S[self.options.quick]

    def written(self) -> Report:
        nominal = next(iter(self.found.values()))
        point = next(iter(self.found))
        drawn = self.drawn()
        first = next(iter(nominal.first.values()))
        experiment = arms.experiment(
            point,
            "persistent",
            published.SMALL_PACKETS,
            seed=self.options.seed,
            duration_s=self.duration_s,
        )
        return Report(
            study=BufferSizing.id,
            title=BufferSizing.title,
            summary=text.summary(self.verdicts, self.sized),
            source=published.BOTH,
            topologies=[Topology.of("Tree with 18 source nodes", experiment)],
            judged=[each.whole for each in self.verdicts],
            values=self.tables(),
            figures=drawn,
            commands={
                "18 packets; one persistent flow of each source node": list(
                    testbed_lines(arms.typed(published.SMALL_PACKETS))
                )
            },
            notes=text.notes(
                replications=min(each.n for each in self.found.values()),
                duration_s=self.duration_s,
                interrupted=self.interrupted,
            ),
            meta=self.meta(nominal),
            provenance=first.provenance,
            tables={
                f"{name.replace(' ', '-')}-{table}": run.named_columns(table)
                for name, run in nominal.first.items()
                for table in ("transfers", "queues")
            },
        )

    def tables(self) -> list[ValueTable]:
        """Rules, experiments, and the grid."""
        return [
            *text.by_experiment(self.found),
            text.rules(),
            text.over_the_grid(self.verdicts, self.found),
        ]

    def drawn(self) -> list[Figure]:
        """Figures of the parts that were finished."""
        flows: dict[tuple[str, str], Sequence[Seen]] = {
            (point.stack, name): of
            for point, found in self.found.items()
            if point == Point(point.stack)
            for name, of in found.flows.items()
        }
        drawn = figures.distributions(flows) + figures.completions(flows)
        law = figures.law_of_losses(flows)
        if law:
            drawn.append(law)
        if self.sized:
            drawn += figures.all_buffers(self.sized)
        return drawn

    def meta(self, nominal: Found) -> dict[str, Any]:
        """What is the same whenever the study is repeated with these options."""
        return {
            "study": BufferSizing.id,
            "preset": "quick" if self.options.quick else "full",
            "complete": not self.interrupted,
            "seed": self.options.seed,
            "backends": list(self.options.backends),
            "duration_s": self.duration_s,
            "replications": min(each.n for each in self.found.values()),
            "grid": [point.parameters for point in self.found],
            "versions": next(iter(nominal.first.values())).meta["versions"],
            "digests": {name: run.meta["digest"] for name, run in nominal.first.items()},
        }


STUDY = BufferSizing()
__all__: Sequence[str] = ("STUDY", "BufferSizing")
