"""What a kernel is made of besides its source: the configuration fragment and our patches."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).with_name("recipe")
"""Reached from the repository's root as ``kernel/``; here, so that a wheel has it too."""

HZ_CHOICES = (1000, 250, 100)
"""Timer ticks a second; the first is the default."""

_STEPS = "1"  # changed when build.py makes another kernel of the same recipe


@dataclass(frozen=True, slots=True)
class Recipe:
    """Fragment and patches.

    Attributes:
        fragment: File with the wanted options.
        patches: Files in the order in which they are applied.
    """

    fragment: Path
    patches: tuple[Path, ...]

    @property
    def digest(self) -> str:
        """Hash of all of it."""
        digest = hashlib.sha256(_STEPS.encode())
        for file in (self.fragment, *self.patches):
            content = file.read_bytes()
            digest.update(f"{file.name} {len(content)}\n".encode() + content)
        return digest.hexdigest()

    def wanted(self) -> dict[str, str | None]:
        """Option to the value it must have; None for one that must be off."""
        wanted: dict[str, str | None] = {}
        for line in self.fragment.read_text(encoding="utf-8").splitlines():
            if found := re.fullmatch(r"(CONFIG_\w+)=(.+)", line):
                wanted[found[1]] = found[2]
            elif found := re.fullmatch(r"# (CONFIG_\w+) is not set", line):
                wanted[found[1]] = None
        return wanted


def the_recipe(folder: Path = FOLDER) -> Recipe:
    """The one that comes with dumbbell."""
    return Recipe(folder / "dumbbell.config", tuple(sorted((folder / "patches").glob("*.patch"))))


def options_not_taken(wanted: dict[str, str | None], config: str) -> list[str]:
    """Which wanted options a ``.config`` does not have, as lines that say what it has instead."""
    found: dict[str, str] = dict(re.findall(r"^(CONFIG_\w+)=(.+)$", config, re.MULTILINE))
    problems = []
    for option, value in wanted.items():
        have = found.get(option)
        if have != value:
            problems.append(f"{option}: wanted {value or 'off'}, is {have or 'off'}")
    return problems
