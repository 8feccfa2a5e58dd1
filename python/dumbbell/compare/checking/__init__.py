"""A user's own claims: ``[[claim]]`` tables of a file, judged by the same rules as studies.

`asserted` reads the claims and fixes their rules; `check` runs the cells they need and judges them
(`dumbbell.claims.judge`); `bundle` reads and writes a folder from which others can repeat the
check.
"""

from dumbbell.compare.checking.asserted import Asserted, Checked, asserted, check
from dumbbell.spec.claim_tables import CLAIM, Claims

__all__ = ["CLAIM", "Asserted", "Checked", "Claims", "asserted", "check"]
