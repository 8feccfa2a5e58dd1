"""Claims of one's own: ``[[claim]]`` tables of a file, run and judged by the rules of studies.

`asserted` reads them and fixes every rule; `check` runs what they need and judges it
(`dumbbell.claims.judge`); `bundle` is what a folder keeps, so that somebody else runs it again.
"""

from dumbbell.compare.checking.asserted import Asserted, Checked, asserted, check
from dumbbell.spec.claim_tables import CLAIM, Claims

__all__ = ["CLAIM", "Asserted", "Checked", "Claims", "asserted", "check"]
