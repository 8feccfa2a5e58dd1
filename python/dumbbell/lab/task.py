"""Exercise for a class with an experiment: a handout in Markdown, for the laboratory."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Any

from dumbbell.errors import SpecError

MOST_LETTERS = 20_000
"""Maximum characters of a handout; a link contains it, and the page's `state.js` reads no more."""
MOST_PARTS = 20
MOST_ITEMS = 100
"""Maximum paragraphs of a part, and maximum steps."""

_FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
_ONLY_A_LINK = re.compile(r"\s*\(\[[^\]]*\]\([^)\s]*\)\)")
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]*)\)")
_IN_BRACKETS = re.compile(r"\(.*\)")
"""A paragraph for readers of the handout alone, such as how to open the laboratory."""
_STEP = re.compile(r"\d+[.)]\s+")


@dataclass(frozen=True)
class TaskPart:
    """A part under a heading: paragraphs, then numbered steps.

    Texts support only Markdown's ```code``` and ``*emphasis*``.
    """

    heading: str
    paragraphs: tuple[str, ...]
    steps: tuple[str, ...]


@dataclass(frozen=True)
class Task:
    """A handout as shown beside the sliders.

    Attributes:
        title: Its first heading.
        parts: Content of its second-level headings, without code blocks and paragraphs in brackets.
        files: Names of the experiments' files that it links to.
    """

    title: str
    parts: tuple[TaskPart, ...]
    files: frozenset[str]

    @classmethod
    def read(cls, markdown: str, place: str) -> Task:
        """Parse a handout.

        Args:
            markdown: Its text: ``# title``, then parts under ``## headings``.
            place: File name, for error messages.

        Raises:
            SpecError: It has no title or no part, or exceeds the limits.
        """
        if len(markdown) > MOST_LETTERS:
            raise SpecError(place, f"{len(markdown)} letters", f"at most {MOST_LETTERS}")
        files = {PurePosixPath(to).name for _, to in _LINK.findall(markdown)}
        head, *parts = re.split(r"^## ", _FENCE.sub("", markdown), flags=re.MULTILINE)
        title = re.search(r"^# (.+)$", head, re.MULTILINE)
        if title is None:
            raise SpecError(place, "no title", "a line such as # Lab 1: how long is the queue?")
        read = [part for each in parts if (part := _part(each)).paragraphs or part.steps]
        if not read:
            raise SpecError(place, "no part", "steps under a heading such as ## In the laboratory")
        if len(read) > MOST_PARTS or any(
            len(each.paragraphs) + len(each.steps) > MOST_ITEMS for each in read
        ):
            allowed = f"at most {MOST_PARTS} parts of {MOST_ITEMS} paragraphs and steps"
            raise SpecError(place, "a longer text", allowed)
        return cls(
            _plain(title[1]),
            tuple(read),
            frozenset(name for name in files if name.endswith(".toml")),
        )

    def is_of(self, file: str) -> bool:
        """Return whether it belongs to an experiment: it links to its file, or to no file."""
        return not self.files or file in self.files

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form for the page."""
        return {"title": self.title, "parts": [asdict(each) for each in self.parts]}


def _part(text: str) -> TaskPart:
    heading, _, rest = text.partition("\n")
    paragraphs, steps = list[str](), list[str]()
    for block in re.split(r"\n\s*\n|\n(?=\d+[.)]\s)", rest):
        if number := _STEP.match(block.strip()):
            steps.append(_plain(block.strip()[number.end() :]))
        elif (told := _plain(block)) and not _IN_BRACKETS.fullmatch(told):
            paragraphs.append(told)
    return TaskPart(_plain(heading), tuple(paragraphs), tuple(steps))


def _plain(text: str) -> str:
    """Return it on one line, with links as their text; without a link that stands alone in
    brackets.
    """
    without = _LINK.sub(r"\1", _ONLY_A_LINK.sub("", text))
    return " ".join(without.replace("**", "*").split())
