"""The verdicts."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """The conclusion about a claim. The value is printed and written to ``claims.json``."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    INCONCLUSIVE = "inconclusive"
    """The interval neither confirms nor excludes the claim: more replications could decide."""
    UNINFORMATIVE = "uninformative"
    """A single run as published varies too much for the published number to test anything."""
    DEPENDS_ON = "depends on"
    """True for some values of an unpublished parameter, false for others."""
    EXPLAINED_AT = "explained at"
    """One setting of the unpublished parameters reproduces all printed levels at once."""
    NOT_EXPLAINED = "not explained anywhere"
    """No grid point reproduces all printed levels at once."""
    NOT_TESTABLE = "not testable"
    """No run can test the claim."""
    PREVIEW = "preview"
    """The run was shorter, coarser or smaller than the published one: shown, never counted."""
    CALIBRATION = "calibration"
    """The number was used to choose a parameter and cannot test it: shown, never counted."""
    CHECK_HOLDS = "check holds"
    """An identity holds by construction, and the runs satisfy it: shown, never counted."""
    CHECK_FAILS = "check fails"
    """An identity should hold by construction, and a run violates it: a bug in dumbbell."""
