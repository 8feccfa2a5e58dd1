"""A part of the long tests a day: `--part 3/14` runs those tests alone whose turn it is.

There is no time for all of them at each commit. By the day another part has its turn, so that none
of them waits for longer than a cycle of days, and the same day always runs the same tests.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Part:
    """One of `count` parts, `index` from 0."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Part:
        """`INDEX/COUNT` with any INDEX: it counts days, and comes round.

        Raises ValueError for anything else.
        """
        index, slash, count = text.partition("/")
        if not (slash and index.isdecimal() and count.isdecimal() and int(count) > 0):
            raise ValueError(f"{text!r}: allowed are two numbers, such as 3/14")
        return cls(int(index) % int(count), int(count))

    def has(self, name: str) -> bool:
        """By a checksum of the name: a test that is added moves no other to another day."""
        return zlib.crc32(name.encode()) % self.count == self.index


def split(
    items: Iterable[_Item], part: Part, name: Callable[[_Item], str]
) -> tuple[list[_Item], list[_Item]]:
    """Those whose turn it is, and the others, each in their order."""
    taken: list[_Item] = []
    left: list[_Item] = []
    for item in items:
        (taken if part.has(name(item)) else left).append(item)
    return taken, left
