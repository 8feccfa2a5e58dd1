"""Router buffer sizing: 18 or 500 packets, for whom?

Four experiments on a tree of senders behind one bottleneck, with persistent flows and mice or with
users in closed loops, and a small or a large buffer: thirteen published observations as claims,
over a grid of what their source leaves out; then buffers of all sizes for three controllers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dumbbell.report import Figure, Report, Topology, ValueTable
from dumbbell.spec import Experiment, testbed_lines
from dumbbell.studies.base import Study, StudyOptions
from dumbbell.studies.buffer_sizing import all_buffers, arms, beside, figures, published, text
from dumbbell.studies.buffer_sizing.arms import Point
from dumbbell.studies.buffer_sizing.campaigns import POOLED, Found, collect
from dumbbell.studies.buffer_sizing.judging import Verdicts, judge_all
from dumbbell.studies.buffer_sizing.measured import Seen
from dumbbell.studies.reproduction import Reproduction
from dumbbell.sweep import Interrupted
from dumbbell.tables import Run

_RUNS = 10
"""Of each point, also in the quick preset: with fewer most verdicts are *inconclusive*."""
_SHORTENED_RUNS = {True: 3, False: 10}
_DURATION_S = {True: 20.0, False: float(published.DURATION_S)}


class BufferSizing(Reproduction):
    """The study; see the module."""

    id = "buffer-sizing"
    title = "Do small router buffers harm individual flows?"
    summary = (
        "Four experiments on a tree, 18 against 500 packets: thirteen observations over a grid of "
        "what their source leaves out"
    )

    def __init__(self, options: StudyOptions) -> None:
        """Nothing is run yet; see `Reproduction`."""
        super().__init__(options)
        self.found: dict[Point, Found] = {}
        self.sized: all_buffers.AllBuffers | None = None
        self.verdicts: list[Verdicts] = []
        self.beside: beside.Beside | None = None

    def on_kernel(self) -> Iterable[Experiment]:
        """One of the shortened four: they are alike in what the kernel has to know."""
        seed, packets = self.options.seed, published.SMALL_PACKETS
        return [beside.experiment("persistent", packets, seed=seed)]

    def run_all(self) -> None:
        """The grid in the simulator; the shortened four on both."""
        if "sim" in self.options.backends:
            self.run_grid()
        if "kernel" in self.options.backends:
            runs = _SHORTENED_RUNS[self.options.quick]
            self.beside = beside.run_both(self.options, runs)

    @property
    def has_something_to_report(self) -> bool:
        """Whether any point was finished: claims are judged over all of them, at the end."""
        return bool(self.found)

    def run_grid(self) -> None:
        """The four experiments at every point, and buffers of all sizes."""
        for point in arms.grid(quick=self.options.quick):
            self.found[point] = collect(
                self.options,
                point,
                runs=_RUNS,
                duration_s=self.duration_s,
                keep=0 if self.found else 1,
                pooled=POOLED if point == Point(point.stack) else 0,
            )
        wanted = all_buffers.sizes(quick=self.options.quick)
        self.sized = all_buffers.measure(self.options, wanted)

    @property
    def duration_s(self) -> float:
        """Of each run."""
        return _DURATION_S[self.options.quick]

    def written(self) -> Report:
        """Judge what was found, and report; see `Reproduction`."""
        runs = self.first_runs()
        numbers = {point: each.values for point, each in self.found.items()}
        self.verdicts = judge_all(numbers, duration_s=self.duration_s)
        agreement = beside.judge(self.beside) if self.beside else []
        experiment = arms.experiment(
            Point(),
            "persistent",
            published.SMALL_PACKETS,
            seed=self.options.seed,
            duration_s=self.duration_s,
        )
        return Report(
            study=self.id,
            title=self.title,
            summary=text.summary(self.verdicts, self.sized, agreement),
            source=published.BOTH,
            topologies=[Topology.of("Tree with 18 source nodes", experiment)],
            judged=[*(each.whole for each in self.verdicts), *agreement],
            values=self.tables(),
            figures=self.drawn(),
            commands={
                "18 packets; one persistent flow of each source node": list(
                    testbed_lines(arms.typed(published.SMALL_PACKETS))
                )
            },
            notes=text.notes(
                replications=self.replications,
                duration_s=self.duration_s,
                interrupted=self.interrupted,
            ),
            meta=self.meta(runs),
            provenance=next(iter(runs.values())).provenance,
            tables={
                f"{name.replace(' ', '-')}-{table}": run.named_columns(table)
                for name, run in runs.items()
                for table in ("transfers", "queues")
            },
        )

    def tables(self) -> list[ValueTable]:
        """Rules, experiments, the grid, and the kernel."""
        made = [*text.by_experiment(self.found), text.rules()]
        if self.found:
            made.append(text.over_the_grid(self.verdicts, self.found))
            made.append(text.intervals_over_the_grid(self.verdicts, self.found))
        if self.beside:
            made.append(beside.table(self.beside))
        return made

    def drawn(self) -> list[Figure]:
        """Figures of the parts that were finished."""
        flows: dict[tuple[str, str], Sequence[Seen]] = {
            (point.stack, name): of
            for point, found in self.found.items()
            if point == Point(point.stack)
            for name, of in found.flows.items()
        }
        drawn = figures.distributions(flows, self.duration_s)
        drawn += figures.completions(flows, self.duration_s)
        law = figures.law_of_losses(flows)
        if law:
            drawn.append(law)
        if self.sized:
            drawn += all_buffers.figures(self.sized)
        return drawn

    @property
    def replications(self) -> int:
        """Of each point of the grid."""
        return min((each.n for each in self.found.values()), default=0)

    def first_runs(self) -> Mapping[str, Run]:
        """``WORKLOAD BUFFER`` to the first run at the nominal point; or one of the kernel."""
        if self.found:
            return next(iter(self.found.values())).first
        if self.beside:
            return {"shortened": self.beside.first}
        raise Interrupted("stopped before anything was run")

    def meta(self, runs: Mapping[str, Run]) -> dict[str, Any]:
        """What is the same whenever the study is repeated with these options."""
        return {
            **self.asked(),
            "duration_s": self.duration_s,
            "replications": self.replications,
            "grid": [point.parameters for point in self.found],
            "versions": next(iter(runs.values())).meta["versions"],
            "digests": {name: run.meta["digest"] for name, run in runs.items()},
        }


STUDY: Study = BufferSizing
__all__: Sequence[str] = ("STUDY", "BufferSizing")
