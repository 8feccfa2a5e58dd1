"""What is judged, against what, and how thoroughly."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from dumbbell.spec.native import Reference

_T = TypeVar("_T")


class Depth(enum.Enum):
    """How many cells and runs; each value has its replications of a cell."""

    QUICK = 6
    FULL = 20

    @property
    def replications(self) -> int:
        """Of each cell. Those of `QUICK` are the first of those of `FULL`."""
        return self.value


def short_name(controller: str) -> str:
    """What sentences call a controller: of a file the name, without prefix and folder."""
    reference = Reference.typed(controller)
    return controller if reference is None else reference.beside.short


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """What a dossier is about.

    Attributes:
        controller: As a description names it: ``bbr``, ``linux:bbr``, ``file:my_cc.c``.
        against: Controllers that it shares links with.
        depth: How thoroughly.
        is_its_own_rival: Whether it also shares links with its own kind where `against` has it, as
            in a league, where the same is asked of all.
    """

    controller: str
    against: tuple[str, ...] = ("reno", "cubic", "bbr")
    depth: Depth = Depth.QUICK
    is_its_own_rival: bool = False

    @property
    def name(self) -> str:
        """What sentences call it: without the prefix and folder of a file."""
        return short_name(self.controller)

    @property
    def rivals(self) -> tuple[str, ...]:
        """Those of `against` that are another controller, or all where it is its own rival."""
        if self.is_its_own_rival:
            return self.against
        return tuple(each for each in self.against if each != self.controller)

    def cells(self, quick: Sequence[_T], more: Sequence[_T]) -> list[_T]:
        """Values that are run: the quick ones, and at full depth more of them."""
        return [*quick, *(more if self.depth is Depth.FULL else ())]
