"""Formatting of numbers: as many digits as their uncertainty supports."""

from __future__ import annotations

import math
from typing import Any

_MINUS = "−"
_NONE = "–"


def plain(value: float | None, digits: int = 5) -> str:
    """Format with the given significant digits, without trailing zeros; a dash for None or NaN.

    Args:
        value: The number.
        digits: Significant digits; published numbers keep theirs (the default suffices).
    """
    if value is None or math.isnan(value):
        return _NONE
    if math.isinf(value):
        return "∞" if value > 0 else f"{_MINUS}∞"
    if value != 0 and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.{digits}g}".replace("-", _MINUS)
    decimals = 0 if value == 0 else max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{decimals}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.replace("-", _MINUS)


def with_uncertainty(value: float | None, low: float | None, high: float | None) -> tuple[str, str]:
    """Format a measured number and its interval, rounded to two digits of the half-width.

    The number keeps at least three digits, for comparison with a published one.

    Returns:
        The number and ``[low, high]``; the second is empty when there is no interval.
    """
    if value is None or not math.isfinite(value):
        return _NONE, ""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return plain(value, 4), ""
    half_width = (high - low) / 2
    if half_width <= 0:
        exact = plain(value, 7)
        return exact, f"[{plain(low, 7)}, {plain(high, 7)}]"
    decimals = max(0, 1 - math.floor(math.log10(half_width)))
    if decimals > 6 or abs(value) >= 1e7:
        return plain(value, 4), f"[{plain(low, 4)}, {plain(high, 4)}]"
    clear_of_zero = abs(value) > half_width
    extra = 1 if clear_of_zero and decimals and abs(value) * 10**decimals < 100 else 0
    number, left, right = (
        f"{x:.{places}f}".replace("-", _MINUS)
        for x, places in ((value, decimals + extra), (low, decimals), (high, decimals))
    )
    return number, f"[{left}, {right}]"


def unit_suffix(unit: str) -> str:
    """Return the unit with a thin space before it; empty for a pure number (``1``)."""
    return "" if unit in ("", "1") else f"\u202f{unit}"


def signed_percent(ratio: float) -> str:
    """Format a relative difference as a signed per cent, such as ``+8.7 %``."""
    if not math.isfinite(ratio):
        return _NONE
    percent = 100 * ratio
    text = f"{percent:+.1f}" if abs(percent) < 100 else f"{percent:+.0f}"
    return f"{text} %".replace("-", _MINUS)


def json_safe(value: Any) -> Any:
    """Convert to JSON types: NumPy values unpacked, non-finite floats null.

    Raises:
        TypeError: A value has no JSON form.
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, dict) or hasattr(value, "items"):
        return {str(key): json_safe(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [json_safe(entry) for entry in value]
    if hasattr(value, "isoformat") or hasattr(value, "__fspath__"):
        return str(value)
    raise TypeError(f"no JSON form for {type(value).__name__}: {value!r}")
