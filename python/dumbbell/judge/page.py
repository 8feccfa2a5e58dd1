"""The page of a dossier, by the same machinery as those of studies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dumbbell import __version__
from dumbbell.folders import Content
from dumbbell.judge.dossier import Dossier
from dumbbell.judge.figures import OVERVIEW, figures_of
from dumbbell.judge.tables import value_tables
from dumbbell.judge.unsaid import UNSAID
from dumbbell.judge.words import answer, how_measured, question, split_words
from dumbbell.report import Report, Topology

DOSSIER = "dossier"
"""What its page calls its study."""
RFC_ADDRESS = "https://www.rfc-editor.org/rfc/rfc9743.html"


def dossier_report(dossier: Dossier, files: Mapping[str, Content]) -> Report:
    """The page.

    Args:
        dossier: What was found.
        files: Beside it.
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
        source="RFC 9743 (BCP 133), Specifying New Congestion Control Algorithms, March 2025",
        source_url=RFC_ADDRESS,
        topologies=[Topology.of("the line of most sections", first.experiment)],
        judged=dossier.judged,
        rules_file="the sections' files",
        said="What is expected of it",
        values=list(value_tables(dossier)),
        figures=list(figures_of(dossier)),
        notes=list(_notes(dossier)),
        meta={
            "controller": dossier.asked.controller,
            "against": list(dossier.asked.against),
            "depth": dossier.asked.depth.name.lower(),
            "replications": dossier.asked.depth.replications,
            "backends": list(dossier.backends),
            "dumbbell": __version__,
        },
        files=files,
    )


def _summary(dossier: Dossier) -> str:
    found = dossier.found
    failing = [f"{each.section.rfc} {each.section.title}" for each in found if each.fails]
    if not failing:
        return "In no section was anything found that does not hold."
    return f"Something does not hold in {len(failing)} of {len(found)} sections: " + (
        "; ".join(failing) + "."
    )


def _done(dossier: Dossier) -> str:
    asked = dossier.asked
    return (
        f"Every section is one experiment's file beside this page, which runs alone. Most have a "
        f"line of 20 Mbit/s and a round trip of 40 ms. {asked.name} is alone there, beside its own "
        f"kind, or beside {', '.join(asked.rivals) or 'nothing else'}; what is asked of it is a "
        "claim in the file with a threshold that was fixed first. What holds is called reproduced "
        "below, as everywhere, and what does not hold not reproduced."
    )


def _notes(dossier: Dossier) -> Iterator[str]:
    for sentence in split_words(dossier):
        yield f"Simulator and kernel decide differently: {sentence}."
    for each in dossier.found:
        for failed in each.checked.comparison.failed:
            yield f"{each.section.rfc} {each.section.title}: {failed.label} failed: {failed.error}"
    for each in dossier.found:
        yield f"{each.section.rfc} {each.section.title} does not say: {each.section.unsaid}"
    yield from (f"{rfc} is not judged: {why}" for rfc, why in UNSAID.items())
