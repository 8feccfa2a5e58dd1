"""JSON for other programs: no NaN, no infinity."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping


def json_text(value: object) -> str:
    """Indented JSON; numbers that are not finite become null."""
    return json.dumps(_safe(value), indent=2, ensure_ascii=False, allow_nan=False)


def _safe(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _safe(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_safe(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
