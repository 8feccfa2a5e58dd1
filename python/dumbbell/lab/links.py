"""A link that opens the laboratory's page with an experiment."""

from __future__ import annotations

import base64
import json

from dumbbell.lab.experiments import LabExperiment

_VERSION = 1
"""Version of the format read by `state.js`."""


def state_hash(experiment: LabExperiment) -> str:
    """Return the URL fragment that opens any laboratory with this experiment.

    It contains the resolved description, so the page needs no further file.

    Raises:
        SpecError: The experiment cannot be shown.
    """
    shown = experiment.as_json()
    own = {key: shown[key] for key in ("resolved", "queue", "task") if key in shown}
    state = {
        "v": _VERSION,
        "preset": None,
        "own": own,
        "changes": list(shown["changes"].items()),
    }
    text = json.dumps(state, separators=(",", ":"), allow_nan=False)
    return "#s=" + base64.urlsafe_b64encode(text.encode("utf-8")).decode("ascii").rstrip("=")
