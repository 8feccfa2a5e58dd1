"""Convert summaries to and from the form that a store keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache

from dumbbell.compare.quantity import Quantity
from dumbbell.compare.summary import Summary
from dumbbell.errors import SpecError
from dumbbell.store import Numbers, StoreError

_Known = tuple[tuple[Quantity, ...], Mapping[str, tuple[str, ...]]]


class Layouts:
    """Descriptions of summaries' layouts, made once for runs of one shape."""

    def __init__(self) -> None:
        """Start with an empty cache."""
        # By identity; the object is kept so that its id is not reused.
        self._known: dict[int, tuple[_Known, str]] = {}

    def numbers(self, summary: Summary) -> Numbers:
        """Convert a summary to the form that a store keeps."""
        known = self._known.get(id(summary.quantities))
        if known is None or known[0][1] != summary.groups:
            known = (summary.quantities, summary.groups), _text(summary)
            self._known[id(summary.quantities)] = known
        return Numbers(known[1], summary.numbers)


def summary_from(numbers: Numbers) -> Summary:
    """Restore a summary.

    Raises:
        StoreError: The stored value is not a summary.
    """
    quantities, groups = _read(numbers.layout)
    if len(quantities) != len(numbers.values):
        found = f"{len(numbers.values)} numbers of {len(quantities)} quantities"
        raise StoreError("store", found, "a number a quantity")
    return Summary(quantities, numbers.values, groups)


def _text(summary: Summary) -> str:
    described = {
        "quantities": [each.path for each in summary.quantities],
        "groups": {name: list(flows) for name, flows in summary.groups.items()},
    }
    return json.dumps(described, ensure_ascii=False)


@lru_cache(maxsize=1024)
def _read(layout: str) -> _Known:
    try:
        described = json.loads(layout)
        quantities = tuple(Quantity.parse(path) for path in described["quantities"])
        groups = {
            str(name): tuple(str(each) for each in flows)
            for name, flows in described["groups"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, SpecError) as error:
        raise StoreError("store", layout[:80], "paths of quantities", reason=str(error)) from error
    return quantities, groups
