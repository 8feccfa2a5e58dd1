"""The page of a dossier, made like the pages of studies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dumbbell import __version__
from dumbbell.folders import Content
from dumbbell.judge.dossier import Dossier
from dumbbell.judge.figures import OVERVIEW, figures_of
from dumbbell.judge.tables import value_tables
from dumbbell.judge.words import answer, how_measured, question, split_words
from dumbbell.report import Report, Topology

DOSSIER = "dossier"
"""Name of the page's study."""


def dossier_report(dossier: Dossier, files: Mapping[str, Content]) -> Report:
    """The page.

    Args:
        dossier: The dossier.
        files: Files to write next to the page.
    """
    first = dossier.found[0].checked.comparison.cells[0]
    return Report(
        study=DOSSIER,
        title=question(dossier),
        summary=_summary(dossier),
        answer=answer(dossier),
        measured=how_measured(dossier),
        done=_done(dossier),
        hero=OVERVIEW,
        source=dossier.suite.source,
        source_url=dossier.suite.source_url,
        topologies=[Topology.of(dossier.suite.drawn, first.experiment)],
        judged=dossier.judged,
        rules_file="the sections' files",
        said="What is expected of it",
        values=list(value_tables(dossier)),
        figures=list(figures_of(dossier)),
        notes=list(_notes(dossier)),
        meta={
            "controller": dossier.request.controller,
            "against": list(dossier.request.against),
            "depth": dossier.request.depth.name.lower(),
            "replications": dossier.request.depth.replications,
            "backends": list(dossier.backends),
            "dumbbell": __version__,
        },
        files=files,
    )


def _summary(dossier: Dossier) -> str:
    found = dossier.found
    failing = [each.section.heading for each in found if each.fails]
    if not failing:
        return "No section has an expectation that does not hold."
    return f"Expectations do not hold in {len(failing)} of {len(found)} sections: " + (
        "; ".join(failing) + "."
    )


def _done(dossier: Dossier) -> str:
    request = dossier.request
    rivals = ", ".join(request.rivals) or "nothing else"
    return (
        "Every section is an experiment's file beside this page, which can be run by itself. "
        f"{dossier.suite.network.format(controller=request.name, rivals=rivals)} Each expectation "
        "is a claim in the file; its threshold was fixed before the runs. Below, an expectation "
        "that holds is called reproduced, and one that does not hold not reproduced."
    )


def _notes(dossier: Dossier) -> Iterator[str]:
    for sentence in split_words(dossier):
        yield f"Simulator and kernel decide differently: {sentence}."
    if dossier.on_kernel is not None:
        for title, why in dossier.on_kernel.not_run.items():
            yield f"{title} was not run on the kernel: {why}"
    for each in dossier.found:
        for failed in each.checked.comparison.failed:
            yield f"{each.section.heading}: {failed.label} failed: {failed.error}"
    for each in dossier.found:
        yield f"{each.section.heading} does not cover: {each.section.not_covered}"
    for title, why in dossier.suite.not_judged.items():
        yield f"{title} is not judged: {why}"
