"""One fast queue or many slow ones: the statistical multiplexing gain.

The ideal source is compared with theory. The testbed's run with the published parameters is
compared with the printed numbers, and does not match. Two kinds of senders that send less are
therefore fitted, each with the base RTT. The study judges whether one of them explains all printed
quartiles, and repeats the run with each for the numbers not used in the fit. Finally the same
traffic runs for the duration measured on a real kernel. The backend ``kernel`` also runs some parts
on the Linux kernel in virtual time, each replication paired with the simulator's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
from dumbbell.studies.statistical_multiplexing.fit import QuartileFit
from dumbbell.studies.statistical_multiplexing.measures import AsPublished
from dumbbell.studies.statistical_multiplexing.original_programs import MultiplexingPrograms
from dumbbell.studies.statistical_multiplexing.printed_numbers import PRINTED
from dumbbell.studies.statistical_multiplexing.senders import OVERSLEEPING, SLOWER, Sender
from dumbbell.tables import Run


class StatisticalMultiplexing(Reproduction):
    """The study; see the module."""

    id = "statistical-multiplexing"
    title = "One fast queue or many slow ones?"
    summary = "Statistical multiplexing gain: percentiles, delay and queue-length CDFs, theory"
    printed = PRINTED

    def __init__(self, options: StudyOptions) -> None:
        """Nothing is run yet; see `Reproduction`."""
        super().__init__(options)
        preset, seed = parts.PRESETS.of(options), options.seed
        self.ideal = [parts.IdealSource(m, preset.ideal) for m in preset.ideal.over]
        self.nominal = parts.Published(preset.nominal)
        self.fit = parts.SenderFit(SLOWER, preset.fit)
        self.oversleep = parts.SenderFit(OVERSLEEPING, preset.oversleep)
        self.together = parts.JointSenderFit([self.fit, self.oversleep])
        self.fitted = parts.Published(preset.fitted, self.fit)
        self.oversleeping = parts.Published(preset.fitted, self.oversleep)
        self.ideal_on_kernel = [
            parts.IdealOnKernel(m, preset.ideal_on_kernel, preset.controls, seed)
            for m in preset.ideal_on_kernel.over
        ]
        self.nominal_on_kernel = parts.PublishedOnKernel(preset.on_kernel, seed)
        self.fitted_on_kernel = parts.PublishedOnKernel(preset.on_kernel, seed, self.fit)
        self.own = MultiplexingPrograms(preset.own_programs, seed, self.beside_own_programs)
        self.parts = [
            *self.ideal,
            self.nominal,
            self.fit,
            self.oversleep,
            self.together,
            self.fitted,
            self.oversleeping,
            parts.KernelLengthRuns(preset.elsewhere),
            *self.ideal_on_kernel,
            self.nominal_on_kernel,
            self.fitted_on_kernel,
            self.own,
        ]

    def beside_own_programs(self) -> dict[str, AsPublished]:
        """Return our senders with the same commands, by column heading."""
        found = self.as_published()
        heads = {"sim": "simulator", "kernel": "our senders on the kernel"}
        return {
            head: found[parts.NOMINAL, backend]
            for backend, head in heads.items()
            if (parts.NOMINAL, backend) in found
        }

    def written(self) -> Report:
        """The report; see `Reproduction`."""
        both = arms.published_arms(self.options.seed)
        fits = self.fits()
        shown = self.shown_runs()
        said = text.answer(self.judged, self.gains())
        return self.collected(
            summary=text.summary(self.judged, self.gains(), fits, self.tried()),
            answer=said.sentence,
            measured=said.measured,
            so=said.so,
            done=text.DONE,
            hero=self.hero(),
            live=live.hero(self.options.seed),
            advice=text.advice(self.gains()),
            source=published.SOURCE,
            source_url=published.SOURCE_URL,
            topologies=[Topology.of(arm.what, arm.experiment) for arm in both],
            commands={arm.what: list(testbed_lines(arm.experiment)) for arm in both},
            notes=self.notes(fits),
            meta={
                "experiments": {arm.key: arm.experiment.resolved() for arm in both},
                "fit": text.fit_facts(fits),
            },
            tables=text.run_tables(shown),
            files=text.ping_files(shown),
        )

    def hero(self) -> str:
        """Return the delays that can be compared with printed ones; empty if not run."""
        for part in (self.oversleeping, self.fitted, self.nominal):
            if part.is_finished:
                return f"rtt-cdf-{part.label}"
        return ""

    def fits(self) -> dict[Sender, QuartileFit]:
        """Return the fits of the senders."""
        fits = (each for each in (self.fit, self.oversleep) if each.is_finished)
        return {each.sender: each.found.fit for each in fits}

    def tried(self) -> dict[Sender, list[float]]:
        """Return the fitted senders, each with the values of its number."""
        tried = (each for each in (self.fit, self.oversleep) if each.is_finished)
        return {each.sender: list(each.found.quartiles_ms) for each in tried}

    def notes(self, fits: Mapping[Sender, QuartileFit]) -> list[str]:
        """Return interpretations of the source and limitations."""
        notes = (
            ["Interrupted: only the parts that had finished are here."] if self.interrupted else []
        )
        notes += text.READINGS
        notes += self.own.why_absent(self.options)
        kernel = [part.found.kernel.n for part in self.ideal_on_kernel if part.is_finished]
        if kernel and self.nominal_on_kernel.is_finished:
            notes += text.about_kernel(
                parts.PACKETS_ON_KERNEL,
                [part.streams for part in self.ideal_on_kernel],
                kernel[0],
                self.nominal_on_kernel.found.kernel.n,
                fitted=bool(fits),
            )
        if fits:
            notes += [text.about_fit(sender, fit) for sender, fit in fits.items()]
            notes.append(text.ABOUT_CAUSES)
        elif "sim" in self.options.backends and not self.interrupted:
            notes.append(text.about_no_fit(self.options.replications))
        return notes

    def shown_runs(self) -> dict[str, Run]:
        """Return each arm's first run as published; the kernel's if the simulator has none."""
        if self.nominal.is_finished:
            return self.nominal.whole
        if self.nominal_on_kernel.is_finished:
            return parts.first_runs(self.nominal_on_kernel.found.kernel)
        return {}

    def figures_of_parts_together(self) -> Iterable[Figure]:
        """Draw the gain against m, the differences of the backends, and every printed number."""
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
        """Return the multiplexing gain by backend and number of streams."""
        here = {p.streams: parts.gain(p.found) for p in self.ideal if p.is_finished}
        there = {p.streams: p.gain(p.found) for p in self.ideal_on_kernel if p.is_finished}
        return {name: each for name, each in (("sim", here), ("kernel", there)) if each}

    def as_published(self) -> dict[tuple[str, str], AsPublished]:
        """Return the runs as published, by (label, backend)."""
        here = (self.nominal, self.fitted, self.oversleeping)
        there = (self.nominal_on_kernel, self.fitted_on_kernel)
        found = {(part.label, "sim"): part.found for part in here if part.is_finished}
        return found | {
            (part.label, "kernel"): part.found.kernel for part in there if part.is_finished
        }


STUDY: Study = StatisticalMultiplexing
