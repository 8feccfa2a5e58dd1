"""What a kernel is made of besides its source: the configuration fragment and our patches.

Both are written for the oldest version. A folder of a later one, ``patches/6.12``, has those
patches that look otherwise from it on, under the same names (empty where it needs none), and
``6.12.config`` what its configuration calls otherwise.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).with_name("recipe")
"""Reached from the repository's root as ``kernel/``; here, so that a wheel has it too."""

VERSIONS = ("6.1", "6.12")
"""Versions of Linux that are built and tested; the first is the default, and the oldest."""

HZ_CHOICES = (1000, 250, 100)
"""Timer ticks a second; the first is the default."""

_STEPS = "1"  # changed when build.py makes another kernel of the same recipe


@dataclass(frozen=True, slots=True)
class Recipe:
    """Fragment and patches.

    Attributes:
        fragment: File with the wanted options.
        patches: Files in the order in which they are applied.
        later: Files with options of later versions, which override those before them.
    """

    fragment: Path
    patches: tuple[Path, ...]
    later: tuple[Path, ...] = ()

    @property
    def digest(self) -> str:
        """Hash of all of it."""
        digest = hashlib.sha256(_STEPS.encode())
        for file in (self.fragment, *self.later, *self.patches):
            content = file.read_bytes()
            digest.update(f"{file.name} {len(content)}\n".encode() + content)
        return digest.hexdigest()

    def options(self) -> str:
        """All fragments as one, a later line for the same option in place of an earlier one."""
        return "".join(file.read_text(encoding="utf-8") for file in (self.fragment, *self.later))

    def wanted(self) -> dict[str, str | None]:
        """Option to the value it must have; None for one that must be off."""
        wanted: dict[str, str | None] = {}
        for line in self.options().splitlines():
            if found := re.fullmatch(r"(CONFIG_\w+)=(.+)", line):
                wanted[found[1]] = found[2]
            elif found := re.fullmatch(r"# (CONFIG_\w+) is not set", line):
                wanted[found[1]] = None
        return wanted


def the_recipe(version: str = VERSIONS[0], folder: Path = FOLDER) -> Recipe:
    """The one that comes with dumbbell, for a version of Linux.

    Of a version that is none of `VERSIONS` it is that of the newest that is not later: its patches
    may fit.

    Args:
        version: Such as ``6.12``.
        folder: Where the recipes lie.
    """
    patches = {file.name: file for file in (folder / "patches").glob("*.patch")}
    later = []
    for each in VERSIONS[1:]:
        if version_numbers(each) <= version_numbers(version):
            patches |= {file.name: file for file in (folder / "patches" / each).glob("*.patch")}
            later += [file for file in (folder / f"{each}.config",) if file.is_file()]
    chosen = tuple(patches[name] for name in sorted(patches) if patches[name].stat().st_size)
    return Recipe(folder / "dumbbell.config", chosen, tuple(later))


def version_numbers(version: str) -> tuple[int, ...]:
    """``6.12`` as numbers that can be compared."""
    return tuple(map(int, re.findall(r"\d+", version)))


def options_not_taken(wanted: dict[str, str | None], config: str) -> list[str]:
    """Which wanted options a ``.config`` does not have, as lines that say what it has instead."""
    found: dict[str, str] = dict(re.findall(r"^(CONFIG_\w+)=(.+)$", config, re.MULTILINE))
    problems = []
    for option, value in wanted.items():
        have = found.get(option)
        if have != value:
            problems.append(f"{option}: wanted {value or 'off'}, is {have or 'off'}")
    return problems
