"""Router buffer sizing: 18 or 500 packets, and which flows benefit.

Four experiments on a tree of senders behind one bottleneck: persistent flows with mice, or users in
closed loops, each with a small and a large buffer. Thirteen published observations are claims,
judged over a grid of the parameters that the source does not give. A further part runs buffers of
all sizes with three controllers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from dumbbell.claims import Judged
from dumbbell.report import Figure, Report, Topology, ValueTable
from dumbbell.spec import testbed_lines
from dumbbell.studies.base import Study, StudyOptions
from dumbbell.studies.buffer_sizing import (
    all_buffers,
    arms,
    claims,
    figures,
    kernel_vs_sim,
    live,
    original_programs,
    original_users,
    printed_levels,
    published,
    readings,
    text,
)
from dumbbell.studies.buffer_sizing.all_buffers import BuffersOfAllSizes, Cell
from dumbbell.studies.buffer_sizing.arms import Case, Point, Setup
from dumbbell.studies.buffer_sizing.explaining import Readings
from dumbbell.studies.buffer_sizing.kernel_vs_sim import BesideTheKernel
from dumbbell.studies.buffer_sizing.measures import BufferComparison, Found, compared
from dumbbell.studies.buffer_sizing.printed_numbers import PRINTED
from dumbbell.studies.buffer_sizing.readings import Reading
from dumbbell.studies.reproduction import Reproduction
from dumbbell.studies.shape import Amount, Part, Preset, Presets, Runner
from dumbbell.tables import Array, Run

POOLED = 3
"""Number of replications whose flows the CDFs show."""


@dataclass(frozen=True, slots=True)
class BufferSizingPreset(Preset):
    """Number of replications of each part.

    Attributes:
        grid: Replications of each of these cases; printed levels need ten.
        readings: Replications of each of these readings beyond the grid; levels again need ten.
        all_buffers: Replications of each of these cells.
        kernel: Replications of the four experiments, shortened, on both backends; agreement needs
            five.
        own_programs: Replications of persistent flows, by iperf and by our senders, shortened.
        own_users: Replications of users in closed loops, likewise.
    """

    grid: Amount[Case]
    readings: Amount[Reading] | None
    all_buffers: Amount[Cell] | None
    kernel: Amount[str]
    own_programs: Amount[str]
    own_users: Amount[str]


PRESETS = Presets(
    quick=BufferSizingPreset(
        grid=Amount(3, length_s=published.DURATION_S, over=arms.cases(arms.LIGHT)),
        readings=None,
        all_buffers=None,
        kernel=Amount(5, length_s=kernel_vs_sim.DURATION_S),
        own_programs=Amount(3, length_s=original_programs.DURATION_S),
        own_users=Amount(3, length_s=original_users.DURATION_S),
    ),
    full=BufferSizingPreset(
        grid=Amount(10, length_s=published.DURATION_S, over=arms.cases(arms.GRID)),
        readings=Amount(10, length_s=published.DURATION_S, over=readings.READINGS),
        all_buffers=Amount(
            4,
            length_s=all_buffers.DURATION_S,
            over=all_buffers.cells((10, 50, 200, 500), (5, 18, 40, 100, 500, 1000)),
        ),
        kernel=Amount(10, length_s=kernel_vs_sim.DURATION_S),
        own_programs=Amount(10, length_s=original_programs.DURATION_S),
        own_users=Amount(10, length_s=original_users.DURATION_S),
    ),
)


def _reduced(runs: Mapping[Setup, Run], shown: Sequence[Point]) -> BufferComparison:
    """Keep single flows and runs only for the points shown, because they take memory."""
    setup, run = next(iter(runs.items()))
    point = setup.case.point
    return compared(
        {setup.buffer: run for setup, run in runs.items()},
        keep_flows=point in shown and run.replication < POOLED,
        keep_runs=point == shown[0] and run.replication == 0,
    )


class FourExperiments(Part[Found]):
    """Both workloads with both buffers, at every point of the grid."""

    name = "the four experiments"

    def __init__(self, amount: Amount[Case]) -> None:
        """Set the cases to run."""
        self.amount = amount
        self.length_s = amount.length_s or published.DURATION_S
        points = list(dict.fromkeys(case.point for case in amount.over))
        nominal = [point for point in points if Case(point, "persistent").is_nominal]
        self.shown: Sequence[Point] = nominal or points
        """Points whose flows are drawn and tabulated: the nominal points, if any."""

    def run(self, runner: Runner) -> Found:
        """See `Part`."""
        groups = {
            case: arms.both_buffers(case, seed=runner.seed, duration_s=self.length_s)
            for case in self.amount.over
        }
        reduced = partial(_reduced, shown=tuple(self.shown))
        return runner.replicate_groups(groups, reduced, self.amount, task=self.name)

    def judge(self, found: Found) -> Iterator[Judged]:
        """Judge directions, then levels."""
        yield from claims.judge_directions(found)
        yield from printed_levels.judge_levels(found)

    def tables(self, found: Found) -> Iterator[ValueTable]:
        """Return tables of experiments, rules, and the grid."""
        yield from text.by_experiment(found, self.shown)
        yield text.rules()
        yield text.over_the_grid(found)
        yield text.levels_over_the_grid(found)

    def figures(self, found: Found) -> Iterator[Figure]:
        """Draw the source's CDFs and further figures."""
        drawn = figures.DrawnFlows.of(found, self.length_s)
        yield from figures.distributions(drawn)
        yield from figures.completions(drawn)
        law = figures.law_of_losses(drawn)
        if law:
            yield law

    def runs(self, found: Found) -> Mapping[str, Run]:
        """Return the first runs at the first point shown."""
        return {
            f"{case.workload} {buffer}": run
            for case in found.arms
            for buffer, run in found.first(case).runs.items()
        }


class BufferSizing(Reproduction):
    """The study; see the module."""

    id = "buffer-sizing"
    title = "Do small router buffers harm individual flows?"
    summary = (
        "Four experiments on a tree, 18 against 500 packets: thirteen observations over a grid of "
        "what their source leaves out"
    )
    printed = PRINTED

    def __init__(self, options: StudyOptions) -> None:
        """Nothing is run yet; see `Reproduction`."""
        super().__init__(options)
        preset = PRESETS.of(options)
        self.four = FourExperiments(preset.grid)
        self.beyond = Readings(preset.readings) if preset.readings else None
        self.sized = BuffersOfAllSizes(preset.all_buffers) if preset.all_buffers else None
        kernel = BesideTheKernel(options.seed, preset.kernel)
        more = [part for part in (self.beyond, self.sized) if part]
        self.own = original_programs.IperfPrograms(preset.own_programs, options.seed)
        self.own_users = original_users.IperfUsers(preset.own_users, options.seed)
        self.parts = [self.four, *more, kernel, self.own, self.own_users]

    def written(self) -> Report:
        """The report; see `Reproduction`."""
        found = self.four.found if self.four.is_finished else None
        sized = self.sized.found if self.sized and self.sized.is_finished else None
        typed = arms.typed(published.SMALL_PACKETS)
        said = text.answer(self.judged)
        return self.collected(
            summary=text.summary(self.judged, sized),
            answer=said.sentence,
            measured=said.measured,
            so=said.so,
            done=text.DONE,
            advice=text.advice(found, self.four.shown[0]),
            live=live.hero(self.options.seed),
            source=published.BOTH,
            source_url=published.SOURCE_URL,
            topologies=[Topology.of("Tree with 18 source nodes", typed)],
            commands={
                "18 packets; one persistent flow of each source node": list(testbed_lines(typed))
            },
            notes=[
                *text.notes(found, interrupted=self.interrupted),
                *self.own.why_absent(self.options),
            ],
            meta={
                "duration_s": self.four.length_s,
                "replications": found.n if found else 0,
                "cases": [
                    {**case.point.parameters, "workload": case.workload}
                    for case in (found.arms if found else ())
                ],
            },
            tables=self.run_tables(),
        )

    def run_tables(self) -> dict[str, Mapping[str, Array]]:
        """Return transfers and queues of the stored runs."""
        if not self.four.is_finished:
            return {}
        return {
            f"{name.replace(' ', '-')}-{table}": run.named_columns(table)
            for name, run in self.four.runs(self.four.found).items()
            for table in ("transfers", "queues")
        }


STUDY: Study = BufferSizing
__all__: Sequence[str] = ("STUDY", "BufferSizing")
