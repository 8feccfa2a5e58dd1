"""The summary of a dossier: may the controller be deployed, and where not?"""

from __future__ import annotations

from collections.abc import Sequence

from dumbbell.claims import Judged, Verdict
from dumbbell.compare.checking.asserted import CONTRADICTED
from dumbbell.judge.dossier import Dossier, SectionResult

HOLDS, FAILS, OPEN = "holds", "does not hold", "not decided"
MOST_NAMED = 3


def outcome_words(judged: Judged) -> str:
    """Whether an expectation holds, does not hold, or is undecided."""
    if judged.verdict is Verdict.REPRODUCED:
        return HOLDS
    return FAILS if judged.verdict in CONTRADICTED else OPEN


def outcome_counts(dossier: Dossier) -> dict[str, int]:
    """Number of expectations that hold, do not hold, and are undecided."""
    return {
        HOLDS: sum(len(found.holds) for found in dossier.found),
        FAILS: sum(len(found.fails) for found in dossier.found),
        OPEN: sum(len(found.open) for found in dossier.found),
    }


def question(dossier: Dossier) -> str:
    """Title of the page."""
    return dossier.suite.question.format(dossier.request.name)


def answer(dossier: Dossier) -> str:
    """In a sentence: where not to deploy it, and the number of expectations that hold."""
    asked, held = len(dossier.judged), outcome_counts(dossier)[HOLDS]
    counted = f"{held} of {asked} expectations of ours hold. {dossier.suite.no_verdict}"
    if dossier.on_kernel is not None and dossier.on_kernel.differing:
        sections = dict.fromkeys(each.section.title for each in dossier.on_kernel.differing)
        return (
            f"Simulator and kernel disagree about {'; '.join(sections)}. {_sim(dossier, counted)}"
        )
    return _sim(dossier, counted)


def _sim(dossier: Dossier, counted: str) -> str:
    """The answer by the simulator."""
    failing = failing_sections(dossier)
    if not failing:
        is_open = any(found.open for found in dossier.found)
        told = "No run speaks against it" + (
            ", but some expectations are undecided" if is_open else ""
        )
        return f"{told}: {counted}."
    named = [found.section.trouble for found in failing[:MOST_NAMED]]
    more = len(failing) - len(named)
    rest = f" (and in {more} more section{'' if more == 1 else 's'})" if more else ""
    return f"Not without care {_listed(named)}{rest}: {counted}."


def failing_sections(dossier: Dossier) -> list[SectionResult]:
    """Sections with failed expectations, largest share of failures first."""
    failing = [found for found in dossier.found if found.fails and found.section.trouble]
    return sorted(failing, key=lambda found: -len(found.fails) / len(found.judged))


def split_words(dossier: Dossier) -> list[str]:
    """Expectations with different outcomes in the simulator and on the kernel."""
    both = [
        f"{name}: {', '.join(_by_backend(found, name))}"
        for found in dossier.found
        for name in found.split
    ]
    if dossier.on_kernel is None:
        return both
    return both + [
        f"{each.section.reference} {each.expectation.statement}: {outcome_words(each.judged[0])} "
        f"in the simulator, {outcome_words(each.judged[1])} on the kernel"
        for each in dossier.on_kernel.differing
    ]


def kernel_words(dossier: Dossier) -> str:
    """What the kernel says of the deciding cells; empty if they were not run there."""
    check = dossier.on_kernel
    if check is None:
        return ""
    asked, differing = len(check.compared), len(check.differing)
    same = sum(
        outcome_words(each.judged[0]) == outcome_words(each.judged[1]) for each in check.compared
    )
    sections = f"{len(check.found)} section{'' if len(check.found) == 1 else 's'}"
    told = (
        f"The Linux kernel contradicts the simulator in {differing or 'none'} of {asked} "
        f"expectations that decide {sections}, and has the same outcome in {same}"
    )
    if check.not_run:
        told += f"; of {len(check.not_run)} more it says nothing"
    return f"{told}."


def how_measured(dossier: Dossier) -> str:
    """How the numbers were measured, and their limits."""
    n = dossier.request.depth.replications
    kernel = kernel_words(dossier)
    return (f"{kernel} " if kernel else "") + (
        f"{dossier.suite.caution} The thresholds are ours, and a claim that was changed after a "
        f"run says so; {n} runs of each cell on {' and '.join(dossier.backends)}, 95 % intervals."
    )


def _by_backend(found: SectionResult, name: str) -> list[str]:
    return [
        f"{outcome_words(each)} on {each.backend}" for each in found.judged if each.claim.id == name
    ]


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
