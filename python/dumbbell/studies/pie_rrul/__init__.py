"""PIE under Flent's rrul: the effect of its two parameters on a router.

Seven settings in three scenarios, with the source's four figures and both of its observation
tables; every printed number is judged. Further parts fit the part of the latency that is not due to
PIE, compare the kernel's PIE of that time with today's, compare simulator and Linux kernel, and try
alternatives to PIE on this router.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dumbbell.backends.kernel.programs import irtt_is_installed
from dumbbell.formats.flent import flent_bytes, flent_file
from dumbbell.report import Advice, Report, Topology
from dumbbell.spec.flent import FlentTest
from dumbbell.studies.base import Study, StudyOptions
from dumbbell.studies.pie_rrul import arms, live, parts, published, text
from dumbbell.studies.pie_rrul.arms import Setting
from dumbbell.studies.pie_rrul.measures import RunsBySetting
from dumbbell.studies.pie_rrul.original_programs import RrulPrograms
from dumbbell.studies.pie_rrul.printed_numbers import PRINTED
from dumbbell.studies.reproduction import Reproduction
from dumbbell.studies.shape import Part


class PieRrul(Reproduction):
    """The study; see the module."""

    id = "pie-rrul"
    title = "What do PIE's target and tupdate do?"
    summary = "PIE on a router under Flent's rrul: two observation tables, number by number"
    printed = PRINTED

    def __init__(self, options: StudyOptions) -> None:
        """Nothing is run yet; see `Reproduction`."""
        super().__init__(options)
        self.sizes = parts.PRESETS.of(options)
        self.alone = parts.ScenarioOne(self.sizes.printed, self.sizes.compared)
        self.on_both = parts.OnKernel("alone", self.sizes.kernel)
        self.without: parts.WithoutRing | None = None
        self.bursts: parts.CompetingTraffic | None = None
        self.router: parts.Router | None = None
        self.own = RrulPrograms(
            self.sizes.own_programs, options.seed, parts.KERNEL_TEST, self.beside_own_programs
        )
        self.parts = [self.alone, *self.in_simulator(), *self.on_kernel_too(), self.own]

    def beside_own_programs(self) -> dict[str, RunsBySetting]:
        """Return our senders in tests of the same length, by column heading."""
        if not self.on_both.is_finished:
            return {}
        found = self.on_both.found
        return {"simulator": found.sim, "our senders on the kernel": found.kernel}

    def in_simulator(self) -> Iterator[Part[Any]]:
        """Return the preset's parts beside scenario 1."""
        sizes, alone = self.sizes, self.alone
        yield parts.NetperfUploads(sizes.written, alone)
        if sizes.without:
            self.without = parts.WithoutRing(sizes.without, alone)
            yield self.without
            if sizes.ours:
                yield parts.OurParameters(sizes.ours, alone, self.without)
        if sizes.bursts:
            self.bursts = parts.CompetingTraffic("bursts", sizes.bursts, alone)
            yield self.bursts
        if sizes.tcp:
            yield parts.CompetingTraffic("tcp", sizes.tcp, alone)
        if sizes.tick:
            yield parts.TimerTick(sizes.tick, alone)
        if sizes.today:
            yield parts.CurrentPie(sizes.today, alone)
        if sizes.router:
            self.router = parts.Router(sizes.router)
            yield self.router

    def on_kernel_too(self) -> Iterator[Part[Any]]:
        """Return the preset's parts for the kernel."""
        yield self.on_both
        if irtt := self.sizes.irtt:
            yield parts.Irtt(irtt, self.on_both)
        if bursts := self.sizes.kernel_bursts:
            yield parts.OnKernel("bursts", bursts)
            yield parts.OnKernel("bursts", bursts, gateway=True)
        if tcp := self.sizes.kernel_tcp:
            yield parts.OnKernel("tcp", tcp)

    # --- the report -----------------------------------------------------------------------

    def written(self) -> Report:
        """The report; see `Reproduction`."""
        fit = None
        if self.without and self.without.is_finished:
            fit = self.without.fit(self.without.found)
        bursts = self.bursts.found if self.bursts and self.bursts.is_finished else None
        on_kernel = "kernel" in self.options.backends
        notes = text.notes(
            fit,
            kernel_length_s=parts.KERNEL_TEST.length_s if on_kernel else None,
            without_irtt=on_kernel and bool(self.sizes.irtt) and not irtt_is_installed(),
        )
        notes += self.own.why_absent(self.options)
        if self.interrupted:
            notes.insert(0, "Interrupted: only the parts that had finished are here.")
        by, test = self.shown()
        default = by.run(by.settings[0] if Setting() not in by.settings else Setting())
        said = text.answer(by, self.judged)
        return self.collected(
            summary=text.summary(self.judged, fit, bursts),
            answer=said.sentence,
            measured=said.measured,
            so=said.so,
            done=text.DONE,
            hero=text.figures_name(by) if self.alone.is_finished else "",
            live=live.hero(self.options.seed),
            advice=[*text.advice(by), *self.router_advice()],
            source=published.SOURCE,
            topologies=[Topology.of("Client, router, server", arms.experiment(Setting().qdisc()))],
            commands=text.commands(),
            notes=notes,
            meta={
                "length_s": test.length_s,
                "ring_bytes": arms.RING_BYTES,
                "experiment": arms.experiment(
                    Setting().qdisc(), seed=self.options.seed, test=test
                ).resolved(),
            },
            tables={
                f"default-{table}": default.named_columns(table)
                for table in ("flows", "queues", "flow_samples", "queue_samples", "probes")
            },
            files=flent_files(by, test),
        )

    def router_advice(self) -> list[Advice]:
        """Return advice from the alternatives tried on this router, if any were run."""
        if self.router is None or not self.router.is_finished:
            return []
        return text.router_advice(self.router.found)

    def shown(self) -> tuple[RunsBySetting, FlentTest]:
        """Return scenario 1 of the backend that ran it, with its Flent test."""
        if self.alone.is_finished:
            return self.alone.found, parts.PUBLISHED_TEST
        return self.on_both.found.kernel, parts.KERNEL_TEST


def flent_files(by: RunsBySetting, test: FlentTest) -> dict[str, bytes]:
    """Return replication 0 of every setting in Flent's file format."""
    return {
        f"pie-{setting.name}.flent.gz": flent_bytes(
            flent_file(
                by.run(setting),
                test,
                title=f"pie-{setting.name}",
                queues=[arms.queue_name(arms.RING_BYTES)],
            )
        )
        for setting in by.settings
    }


STUDY: Study = PieRrul
__all__: Sequence[str] = ("STUDY", "PieRrul")
