"""A suite: the document that a dossier's sections follow, with its texts."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field


class ReferenceKind(enum.Enum):
    """What the references of a suite's sections are."""

    NUMBER = "number of a section, such as 5.1.4"
    NAME = "name of a test, such as single_flow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A set of sections.

    Attributes:
        id: Name on the command line.
        name: Name in tables.
        references: What the references of its sections are.
        cited: Citation of one of its sections, with ``{}`` for the section's reference.
        question: Title of the page, with ``{}`` for the controller.
        league_question: Title of a league's page, with ``{}`` for the number of controllers.
        no_verdict: End of the answer: what it does not state.
        caution: Limits of the numbers, in sentences.
        source: Authors.
        source_url: Address of the source.
        network: Description of the network and its flows, with ``{controller}`` and ``{rivals}``.
        drawn: Caption of the network's drawing.
        not_judged: Parts without a section, and the reason.
    """

    id: str
    name: str
    references: ReferenceKind
    cited: str
    question: str
    league_question: str
    no_verdict: str
    caution: str
    source: str
    source_url: str
    network: str
    drawn: str
    not_judged: Mapping[str, str] = field(default_factory=dict)

    @property
    def column(self) -> str:
        """Name of the column of references in a CSV file: ``rfc_9743``."""
        return self.name.lower().replace(" ", "_")
