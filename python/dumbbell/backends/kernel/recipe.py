"""The recipe of a kernel: the configuration fragment and our patches.

Both are written for the default version. For a later version, ``patches/6.12`` holds the patches
that differ from that version on, under the same names (empty if a patch is not needed), and
``6.12.config`` the options that have other names. ``patches/5.15`` and ``5.15.config`` are the same
for versions before 6.1. ``optional.config`` has the options that only some sources have.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

FOLDER = Path(__file__).with_name("recipe")
"""Linked as ``kernel/`` in the repository's root; it is in the package so that wheels include it.
"""

VERSIONS = ("6.1", "6.12")
"""Versions of Linux that are built and tested; the first is the default."""

OLDER = "5.15"
"""An older version with patches of its own, for trees that were not brought to a later one."""

HZ_CHOICES = (1000, 250, 100)
"""Timer frequencies; the first is the default."""

_STEPS = "1"  # increased when build.py makes a different kernel from the same recipe


@dataclass(frozen=True, slots=True)
class Recipe:
    """Fragment and patches.

    Attributes:
        fragment: File with the wanted options.
        patches: Patches in order of application.
        later: Option files of other versions, which override earlier ones.
        optional: Options of ``optional.config`` that the source has.
    """

    fragment: Path
    patches: tuple[Path, ...]
    later: tuple[Path, ...] = ()
    optional: tuple[str, ...] = ()

    def taking(self, optional: Iterable[str]) -> Recipe:
        """The recipe for a source that has these optional options."""
        return replace(self, optional=tuple(sorted(optional)))

    @property
    def digest(self) -> str:
        """Hash of all files, and of the optional options if there are any."""
        digest = hashlib.sha256(_STEPS.encode())
        for file in (self.fragment, *self.later, *self.patches):
            content = file.read_bytes()
            digest.update(f"{file.name} {len(content)}\n".encode() + content)
        for option in self.optional:
            digest.update(f"{option}=y\n".encode())
        return digest.hexdigest()

    def options(self) -> str:
        """All fragments merged; later lines override earlier ones for the same option."""
        texts = [file.read_text(encoding="utf-8") for file in (self.fragment, *self.later)]
        return "".join([*texts, *(f"{option}=y\n" for option in self.optional)])

    def wanted(self) -> dict[str, str | None]:
        """Required value of each option; None for options that must be off."""
        wanted: dict[str, str | None] = {}
        for line in self.options().splitlines():
            if found := re.fullmatch(r"(CONFIG_\w+)=(.+)", line):
                wanted[found[1]] = found[2]
            elif found := re.fullmatch(r"# (CONFIG_\w+) is not set", line):
                wanted[found[1]] = None
        return wanted


def recipe_for(version: str = VERSIONS[0], folder: Path = FOLDER) -> Recipe:
    """The recipe for a version of Linux.

    A version that is not in `VERSIONS` gets the recipe of the newest one before it, and one before
    all of them that of `OLDER`; its patches may apply.

    Args:
        version: Such as ``6.12``.
        folder: Folder of the recipes.
    """
    patches = {file.name: file for file in (folder / "patches").glob("*.patch")}
    later = []
    is_older = version_numbers(version) < version_numbers(VERSIONS[0])
    for each in (OLDER,) if is_older else VERSIONS[1:]:
        if is_older or version_numbers(each) <= version_numbers(version):
            patches |= {file.name: file for file in (folder / "patches" / each).glob("*.patch")}
            later += [file for file in (folder / f"{each}.config",) if file.is_file()]
    chosen = tuple(patches[name] for name in sorted(patches) if patches[name].stat().st_size)
    return Recipe(folder / "dumbbell.config", chosen, tuple(later))


def optional_options(kconfigs: Iterable[str], folder: Path = FOLDER) -> list[str]:
    """The options of ``optional.config`` that the texts of Kconfig files define.

    Args:
        kconfigs: Their texts.
        folder: Folder of the recipes.
    """
    text = (folder / "optional.config").read_text(encoding="utf-8")
    defined = {name for each in kconfigs for name in re.findall(r"(?m)^config (\w+)$", each)}
    return [name for name in re.findall(r"(?m)^(CONFIG_\w+)=y$", text) if name[7:] in defined]


def version_numbers(version: str) -> tuple[int, ...]:
    """``6.12`` as numbers, for comparison."""
    return tuple(map(int, re.findall(r"\d+", version)))


def options_not_taken(wanted: dict[str, str | None], config: str) -> list[str]:
    """Wanted options that a ``.config`` lacks, one line each with its actual value."""
    found: dict[str, str] = dict(re.findall(r"^(CONFIG_\w+)=(.+)$", config, re.MULTILINE))
    problems = []
    for option, value in wanted.items():
        have = found.get(option)
        if have != value:
            problems.append(f"{option}: wanted {value or 'off'}, is {have or 'off'}")
    return problems
