"""The share of flows that perform better: the quantile at which two CDFs cross."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dumbbell.claims.glyphs import Side
from dumbbell.claims.rules.base import RuleName
from dumbbell.claims.rules.one_number import OneNumber


@dataclass(frozen=True, slots=True, kw_only=True)
class Share(OneNumber):
    """A share in [0, 1], such as the share of flows that perform better under A than under B.

    Flows are not paired across settings: use `share_better` per replication.
    "Most" is at least one half.
    """

    name: ClassVar[RuleName] = RuleName.SHARE
    possible: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __post_init__(self) -> None:
        """Validate the fields."""
        OneNumber.__post_init__(self)
        if not 0.0 <= self.value <= 1.0:
            raise ValueError(f"value is {self.value}; a share from 0 to 1")

    @classmethod
    def most(cls, of: str) -> Share:
        """Rule for "most": at least one half."""
        return cls(value=0.5, of=of, side=Side.AT_LEAST)

    @property
    def words(self) -> str:
        """The rule in words: what is shared, and the interval."""
        return f"Share of {self.of}, one a replication: {self.end_of_words}"
