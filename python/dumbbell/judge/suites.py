"""The suites by which a controller can be judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from dumbbell.errors import SpecError
from dumbbell.judge import ccperf, nsperf, sections
from dumbbell.judge.ccperf.network import CCPERF
from dumbbell.judge.nsperf.network import NSPERF
from dumbbell.judge.section import Section
from dumbbell.judge.sections.rfc9743 import RFC_9743
from dumbbell.judge.suite import Suite
from dumbbell.spec.refusal import nearest, one_of

DEFAULT_SUITE = RFC_9743.id

SUITES: Mapping[str, Callable[[], Sequence[Section]]] = MappingProxyType(
    {
        RFC_9743.id: lambda: sections.SECTIONS,
        NSPERF.id: lambda: nsperf.SECTIONS,
        CCPERF.id: lambda: ccperf.SECTIONS,
    }
)


def suite_of(name: str) -> Suite:
    """The suite of a name.

    Raises:
        SpecError: There is no such suite.
    """
    return sections_of(name)[0].suite


def sections_of(suite: str) -> Sequence[Section]:
    """Sections of a suite.

    Raises:
        SpecError: There is no such suite.
    """
    if suite not in SUITES:
        raise SpecError("--suite", suite, one_of(list(SUITES)), nearest(suite, SUITES))
    return SUITES[suite]()
