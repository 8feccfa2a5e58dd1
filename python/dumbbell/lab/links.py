"""The link that opens the laboratory's page with an experiment."""

from __future__ import annotations

import base64
import json

from dumbbell.lab.experiments import LabExperiment

_VERSION = 1
"""Of what the page reads, `state.js`."""


def state_hash(experiment: LabExperiment) -> str:
    """What follows the address of any laboratory so that it begins with this experiment.

    It has the resolved description inside: the page needs no file besides.

    Raises:
        SpecError: The experiment cannot be looked at.
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
