"""The words in which a verdict is given."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """What may be concluded. The value is the word printed and written to ``claims.json``."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    INCONCLUSIVE = "inconclusive"
    """The interval neither confirms nor excludes: more replications could decide."""
    UNINFORMATIVE = "uninformative"
    """One run as published says too little for the published number to test anything."""
    DEPENDS_ON = "depends on"
    """True for some values of a parameter the source does not give, false for others."""
    EXPLAINED_AT = "explained at"
    """Some value of the parameters the source does not give yields all printed levels at once."""
    NOT_EXPLAINED = "not explained anywhere"
    """No point of the grid yields all printed levels at once."""
    NOT_TESTABLE = "not testable"
    """Nothing that was run can speak to it."""
    PREVIEW = "preview"
    """The run was shorter, coarser or smaller than the published one: shown, never counted."""
    CALIBRATION = "calibration"
    """The number chose a parameter, so it cannot be reproduced by it: shown, never counted."""
    CHECK_HOLDS = "check holds"
    """Holds by construction, and does: shown below the claims, never counted."""
    CHECK_FAILS = "check fails"
    """Should hold by construction, and does not: a fault of ours."""
