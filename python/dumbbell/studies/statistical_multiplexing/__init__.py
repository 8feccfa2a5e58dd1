"""One fast queue or many slow ones: the statistical multiplexing gain.

The ideal source first, held against theory. Then the testbed's run with the published
parameters, held against what was printed. It does not fit, so load and base RTT are fitted, and
the run is done again as the fit says, for the numbers that were not used. Last, the same traffic
for as long as a real kernel was measured with it. With the backend ``kernel`` some of it is run on
the Linux kernel in virtual time too, each replication beside the simulator's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dumbbell.report import Figure, Report, Topology
from dumbbell.spec import testbed_lines
from dumbbell.stats import Estimate
from dumbbell.studies.base import Study, StudyOptions
from dumbbell.studies.reproduction import Reproduction
from dumbbell.studies.statistical_multiplexing import (
    arms,
    figures,
    live,
    parts,
    published,
    text,
)
from dumbbell.studies.statistical_multiplexing.fit import Fit
from dumbbell.studies.statistical_multiplexing.measures import AsPublished
from dumbbell.tables import Run


class StatisticalMultiplexing(Reproduction):
    """The study; see the module."""

    id = "statistical-multiplexing"
    title = "One fast queue or many slow ones?"
    summary = "Statistical multiplexing gain: percentiles, delay and queue-length CDFs, theory"

    def __init__(self, options: StudyOptions) -> None:
        """Nothing is run yet; see `Reproduction`."""
        super().__init__(options)
        preset, seed = parts.PRESETS.of(options), options.seed
        self.ideal = [parts.IdealSource(m, preset.ideal) for m in preset.ideal.over]
        self.nominal = parts.Published("nominal", preset.nominal)
        self.fit = parts.LoadFit(preset.fit)
        self.fitted = parts.Published("fitted", preset.fitted, self.fit)
        self.ideal_on_kernel = [
            parts.IdealOnKernel(m, preset.ideal_on_kernel, preset.controls, seed)
            for m in preset.ideal_on_kernel.over
        ]
        self.nominal_on_kernel = parts.PublishedOnKernel("nominal", preset.on_kernel, seed)
        self.fitted_on_kernel = parts.PublishedOnKernel("fitted", preset.on_kernel, seed, self.fit)
        self.parts = [
            *self.ideal,
            self.nominal,
            self.fit,
            self.fitted,
            parts.Elsewhere(preset.elsewhere),
            *self.ideal_on_kernel,
            self.nominal_on_kernel,
            self.fitted_on_kernel,
        ]

    def written(self) -> Report:
        """The report; see `Reproduction`."""
        both = arms.published_arms(self.options.seed)
        fit = self.fit.found if self.fit.is_finished else None
        shown = self.shown_runs()
        return self.collected(
            summary=text.summary(self.judged, self.gains(), fit),
            answer=text.answer(self.judged, self.gains()),
            done=text.DONE,
            hero=self.hero(),
            live=live.hero(self.options.seed),
            advice=text.advice(self.gains()),
            source=published.SOURCE,
            source_url=published.SOURCE_URL,
            topologies=[Topology.of(arm.what, arm.experiment) for arm in both],
            commands={arm.what: list(testbed_lines(arm.experiment)) for arm in both},
            notes=self.notes(fit),
            meta={
                "experiments": {arm.key: arm.experiment.resolved() for arm in both},
                "fit": text.fit_facts(fit),
            },
            tables=text.run_tables(shown),
            files=text.ping_files(shown),
        )

    def hero(self) -> str:
        """The delays where they can be held against what was printed; empty where not run."""
        for part in (self.fitted, self.nominal):
            if part.is_finished:
                return f"rtt-cdf-{part.label}"
        return ""

    def notes(self, fit: Fit | None) -> list[str]:
        """Readings taken and limitations."""
        notes = (
            ["Interrupted: only the parts that had finished are here."] if self.interrupted else []
        )
        notes += text.READINGS
        kernel = [part.found.kernel.n for part in self.ideal_on_kernel if part.is_finished]
        if kernel and self.nominal_on_kernel.is_finished:
            notes += text.about_kernel(
                parts.PACKETS_ON_KERNEL,
                [part.streams for part in self.ideal_on_kernel],
                kernel[0],
                self.nominal_on_kernel.found.kernel.n,
                fitted=fit is not None,
            )
        if fit:
            notes.append(text.about_fit(fit))
        elif "sim" in self.options.backends and not self.interrupted:
            notes.append(text.about_no_fit(self.options.replications))
        return notes

    def shown_runs(self) -> dict[str, Run]:
        """Arm to the first run as published; of the kernel where nothing was run here."""
        if self.nominal.is_finished:
            return self.nominal.whole
        if self.nominal_on_kernel.is_finished:
            return parts.first_runs(self.nominal_on_kernel.found.kernel)
        return {}

    def figures_of_parts_together(self) -> Iterable[Figure]:
        """The gain against m, both backends' differences, and every printed number."""
        if gains := self.gains():
            yield figures.gain(gains)
        on_kernel: list[parts.OnKernel[Any]] = [
            *self.ideal_on_kernel,
            self.nominal_on_kernel,
            self.fitted_on_kernel,
        ]
        compared = [
            each for part in on_kernel if part.is_finished for each in part.compared(part.found)
        ]
        if compared:
            yield figures.kernel_less_simulator(compared)
        as_published = self.as_published()
        if as_published:
            yield figures.published_against_predicted(as_published)

    def gains(self) -> dict[str, dict[int, Estimate]]:
        """Backend to number of streams to the multiplexing gain, of what was run."""
        here = {p.streams: parts.gain(p.found) for p in self.ideal if p.is_finished}
        there = {p.streams: p.gain(p.found) for p in self.ideal_on_kernel if p.is_finished}
        return {name: each for name, each in (("sim", here), ("kernel", there)) if each}

    def as_published(self) -> dict[tuple[str, str], AsPublished]:
        """(label, backend) to the runs as published that there are."""
        here = {"nominal": self.nominal, "fitted": self.fitted}
        there = {"nominal": self.nominal_on_kernel, "fitted": self.fitted_on_kernel}
        found = {(label, "sim"): part.found for label, part in here.items() if part.is_finished}
        return found | {
            (label, "kernel"): part.found.kernel
            for label, part in there.items()
            if part.is_finished
        }


STUDY: Study = StatisticalMultiplexing
