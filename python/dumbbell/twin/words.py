"""A twin as sentences and rows, for a terminal and a page."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dumbbell.printable import listed
from dumbbell.report.numbers import plain, with_uncertainty
from dumbbell.twin.line import DisciplineClass
from dumbbell.twin.result import Parameter, Trust, Twin
from dumbbell.twin.scene import Way


def verdict(twin: Twin) -> str:
    """State whether it may be used for advice, and why."""
    match twin.trust:
        case Trust.PREDICTS:
            count = len(twin.predicted)
            return f"The twin predicts the held-out data: {count} of {count} numbers."
        case Trust.UNTESTED:
            return "This twin is not validated: there is no held-out measurement."
        case Trust.FAILS:
            misses = [
                f"During {each.load}, {each.name} was {plain(each.measured, 3)} {each.unit}, not "
                f"{plain(each.low, 3)} to {plain(each.high, 3)}"
                for each in twin.misses
            ]
            sentences = ". ".join(misses)
            return f"The twin does not predict the held-out data: no advice. {sentences}."


def value_words(each: Parameter) -> str:
    """Format a number with its interval, if known."""
    if math.isnan(each.value):
        return "?"
    # A typed number has no uncertainty.
    if each.unidentifiable or math.isnan(each.low) or each.low == each.high:
        return plain(each.value, 4)
    return " ".join(filter(None, with_uncertainty(each.value, each.low, each.high)))


def class_words(twin: Twin, way: Way) -> str:
    """Describe the discipline of a direction, as far as known."""
    decision = twin.decisions.get(way)
    if decision is None:
        return DisciplineClass.NOT_IDENTIFIABLE.value
    simulated = twin.line.end(way).model.word
    if decision.class_ is not DisciplineClass.NOT_IDENTIFIABLE:
        return f"{decision.class_.value} (simulated as {simulated})"
    if not decision.near:
        return f"not identifiable: no discipline tried is near (simulated as {simulated})"
    near = listed(each.value for each in decision.near)
    return f"not identifiable: {near} are alike (simulated as {simulated})"


def reasons(twin: Twin) -> Iterator[str]:
    """State what the measurement does not identify, a sentence each."""
    for each in twin.parameters:
        if each.unidentifiable:
            yield f"{each.name}: {each.unidentifiable}."
