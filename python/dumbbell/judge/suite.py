"""What the sections of a dossier follow, and the words that go with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A set of sections.

    Attributes:
        id: As it is typed.
        name: What tables call it.
        cited: How one of its sections is cited, with ``{}`` for the section's reference.
        question: Title of the page, with ``{}`` for the controller.
        no_verdict: Ends the answer: what it is not.
        caution: What the numbers are not, in sentences.
        source: Who wrote it.
        source_url: Where.
        network: What its network is and who is in it, with ``{controller}`` and ``{rivals}``.
        drawn: Title of the page's drawing of the network.
        not_judged: What of it no section is about, to the reason.
    """

    id: str
    name: str
    cited: str
    question: str
    no_verdict: str
    caution: str
    source: str
    source_url: str
    network: str
    drawn: str
    not_judged: Mapping[str, str] = field(default_factory=dict)

    @property
    def column(self) -> str:
        """Of its sections' references in a CSV file: ``rfc_9743``."""
        return self.name.lower().replace(" ", "_")
