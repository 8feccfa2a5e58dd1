"""What stands in an experiment in place of the controller that was handed in."""

from __future__ import annotations

import hashlib
from typing import Final

from dumbbell.spec.native import CLASS_PREFIX

SUBMITTED_CLASS: Final = "submission"
SUBMISSION: Final = f"{CLASS_PREFIX}{SUBMITTED_CLASS}"
"""For one in C too: one plan serves all submissions."""
PLACEHOLDER_SHA256: Final = hashlib.sha256(SUBMISSION.encode()).hexdigest()
"""In place of the hash of its file."""
