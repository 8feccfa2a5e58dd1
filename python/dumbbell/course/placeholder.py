"""The placeholder for the submitted controller in an experiment."""

from __future__ import annotations

import hashlib
from typing import Final

from dumbbell.spec.native import CLASS_PREFIX

SUBMITTED_CLASS: Final = "submission"
SUBMISSION: Final = f"{CLASS_PREFIX}{SUBMITTED_CLASS}"
"""Also used for submissions in C, so that one plan serves all submissions."""
PLACEHOLDER_SHA256: Final = hashlib.sha256(SUBMISSION.encode()).hexdigest()
"""Placeholder for the hash of the submission's file."""
