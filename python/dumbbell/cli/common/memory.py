"""The option ``--memory``: memory that all runs may use together."""

from __future__ import annotations

from dumbbell.errors import SpecError
from dumbbell.units import UnitError, parse_size_bytes

MEMORY_HELP = "Memory that all runs may use together, such as 2gb; default: the free memory."


def memory_bytes(asked: str | None) -> int | None:
    """The size in bytes; None for the free memory.

    Raises:
        SpecError: It is not a size.
    """
    if asked is None:
        return None
    try:
        return parse_size_bytes(asked)
    except UnitError as error:
        allowed = "a size with its unit, such as 500mb or 2gb (of 1024 megabytes)"
        raise SpecError("--memory", asked, allowed, error.hint) from None
