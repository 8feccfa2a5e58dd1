"""JSON for other programs, without NaN and infinity."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from dumbbell.printable import printable


def json_text(value: object) -> str:
    """Indented JSON; numbers that are not finite become null.

    Control characters, invisible characters, and lone surrogates (bytes of file names that are not
    UTF-8) are escaped, as in ``\\u009b``; other characters are not.
    """
    text = json.dumps(_safe(value), indent=2, ensure_ascii=False, allow_nan=False)
    # Such characters occur only in strings.
    return "\n".join(each if each.isprintable() else _escaped(each) for each in text.split("\n"))


def _escaped(text: str) -> str:
    return "".join(each if printable(each) == each else json.dumps(each)[1:-1] for each in text)


def _safe(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _safe(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_safe(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
