"""What is to be judged: the controller, its rivals, and the depth."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from dumbbell.spec.linux import PREFIX
from dumbbell.spec.native import Reference

_T = TypeVar("_T")
ALL_OF_LINUX = f"{PREFIX}*"
"""Stands for every controller of Linux that was built on this machine."""
MANUAL = "manual"
"""This controller's window is a list in the description, so there is nothing to judge."""


class Depth(enum.Enum):
    """Number of cells and replications; the value is the number of replications per cell."""

    QUICK = 6
    FULL = 20

    @property
    def replications(self) -> int:
        """Replications per cell. Those of `QUICK` are the first ones of `FULL`."""
        return self.value


def short_name(controller: str) -> str:
    """The controller's name in sentences: for a file its name, without prefix and folder."""
    reference = Reference.typed(controller)
    return controller if reference is None else reference.beside.short


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """The subject of a dossier.

    Attributes:
        controller: Name in descriptions: ``bbr``, ``linux:bbr``, ``file:my_cc.c``.
        against: Controllers with which it shares links.
        depth: Depth of the test.
        is_its_own_rival: Whether it also shares links with itself if `against` contains it. A
            league needs this, so that all entries have the same expectations.
    """

    controller: str
    against: tuple[str, ...] = ("reno", "cubic", "bbr")
    depth: Depth = Depth.QUICK
    is_its_own_rival: bool = False

    @property
    def name(self) -> str:
        """The controller's name in sentences, without a file's prefix and folder."""
        return short_name(self.controller)

    @property
    def rivals(self) -> tuple[str, ...]:
        """The controllers in `against`, without the judged one unless it is its own rival."""
        if self.is_its_own_rival:
            return self.against
        return tuple(each for each in self.against if each != self.controller)

    def cells(self, quick: Sequence[_T], more: Sequence[_T]) -> list[_T]:
        """The values to run: the quick ones, and at full depth further ones."""
        return [*quick, *(more if self.depth is Depth.FULL else ())]
