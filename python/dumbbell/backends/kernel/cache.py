"""The cache of built kernels: one folder each, named by a hash of the build's inputs."""

from __future__ import annotations

import json
import os
import platform
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from dumbbell.backends.kernel.recipe import HZ_CHOICES, VERSIONS, recipe_for
from dumbbell.errors import EXIT_BAD_INPUT, DumbbellError
from dumbbell.folders import cache_folder
from dumbbell.printable import printable
from dumbbell.spec.refusal import nearest

KERNEL = "linux"
INFO = "info.json"
MACHINE = "Linux x86_64"
"""The only platform that User-Mode Linux 6.1 runs on."""
KEY_DIGITS = 16
TEST_VARIABLE = "DUMBBELL_TEST_KERNEL"
"""Environment variable for tests: the kernel that replaces the usual one (set by `make
test-kernel`).
"""


class KernelMissingError(DumbbellError):
    """A kernel is missing; the message is one line that says how to build it, or why it cannot be
    built.
    """

    exit_code = EXIT_BAD_INPUT


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """A kernel in the cache.

    All fields except the path and the time and length of the build follow from its sources.

    Attributes:
        path: Path of the program.
        key: Hash of source, fragment, patches, compiler and HZ; its folder's name.
        release: ``uname -r`` inside the guest.
        hz: Timer frequency.
        sha256: Hash of the program.
        size_bytes: Size of the program.
        source: Name of the source.
        source_sha256: Hash of the source.
        recipe: Hash of configuration fragment and patches.
        compiler: First line of the compiler's version.
        built_at: Time of the build (UTC).
        build_s: Wall time of the build.
        own_name: The user's name for it; empty if it is called by its version.
        optional: Options that its source has and others have not.
    """

    path: Path
    key: str
    release: str
    hz: int
    sha256: str
    size_bytes: int
    source: str
    source_sha256: str
    recipe: str
    compiler: str
    built_at: str
    build_s: float
    own_name: str = ""
    optional: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """Version of Linux, such as ``6.12``."""
        found = re.match(r"\d+\.\d+", self.release)
        return found[0] if found else self.release

    @property
    def name(self) -> str:
        """Name in experiments and commands."""
        return self.own_name or self.version

    @property
    def is_current(self) -> bool:
        """Whether it was built by the current recipe."""
        return self.recipe == recipe_for(self.version).taking(self.optional).digest

    def to_json(self) -> str:
        """All fields except the path, which is where this is written."""
        fields = asdict(self)
        del fields["path"]
        return json.dumps(fields, indent=2, sort_keys=True) + "\n"


def kernels_folder() -> Path:
    """Folder of kernels in the cache. Does not create it."""
    return cache_folder() / "kernel"


def read_kernel(folder: Path) -> KernelInfo | None:
    """Read the kernel in a folder of the cache; None if it is incomplete."""
    try:
        fields = json.loads((folder / INFO).read_text(encoding="utf-8"))
        fields["optional"] = tuple(fields.get("optional", ()))
        info = KernelInfo(path=folder / KERNEL, **fields)
        whole = info.path.stat().st_size == info.size_bytes and os.access(info.path, os.X_OK)
    except (OSError, ValueError, TypeError):
        return None
    return info if whole else None


def cached_kernels() -> list[KernelInfo]:
    """All kernels in the cache, newest first."""
    try:
        folders = [path for path in kernels_folder().iterdir() if len(path.name) == KEY_DIGITS]
    except OSError:
        return []
    found = [info for info in map(read_kernel, folders) if info is not None]
    return sorted(found, key=lambda info: (info.built_at, info.key), reverse=True)


def find_kernel(hz: int = HZ_CHOICES[0], name: str = VERSIONS[0]) -> KernelInfo | None:
    """The newest kernel of that name and timer frequency built by the current recipe, if any.

    Args:
        hz: Timer frequency.
        name: A version of Linux, or a user's name.
    """
    if name == VERSIONS[0]:
        name = os.environ.get(TEST_VARIABLE) or name
    for info in cached_kernels():
        if (info.hz, info.name) == (hz, name) and info.is_current:
            return info
    return None


def require_kernel(hz: int = HZ_CHOICES[0], name: str = VERSIONS[0]) -> KernelInfo:
    """Like `find_kernel`, but raises an error if there is none.

    Raises:
        KernelMissingError: There is no such kernel.
    """
    require_linux()
    info = find_kernel(hz, name)
    if info is None:
        raise KernelMissingError(how_to_build(hz, name))
    return info


def this_machine() -> str:
    """System and processor, as ``Linux x86_64``."""
    return f"{platform.system()} {platform.machine()}"


def require_linux() -> None:
    """Check that the kernel can be built and run here.

    Raises:
        KernelMissingError: This is another operating system or processor.
    """
    if this_machine() != MACHINE:
        raise KernelMissingError(
            f"the virtual-time kernel is a program for {MACHINE}, and this is {this_machine()}: "
            "use the simulator here (--backend sim)"
        )


def how_to_build(hz: int = HZ_CHOICES[0], name: str = VERSIONS[0]) -> str:
    """One line with the command that builds a missing kernel."""
    known = cached_kernels()
    older = any((info.hz, info.name) == (hz, name) for info in known)
    what = "was built by an older recipe" if older else "has not been built"
    asked = "" if name == VERSIONS[0] else f" {name}"
    called = {*VERSIONS, *(info.name for info in known)}
    if name not in called:
        near = nearest(name, sorted(called))
        meant = f" (did you mean {near}?)" if near else ""
        return (
            f"there is no kernel called {printable(name)}{meant}: `dumbbell kernel info` lists "
            "those in the cache; `dumbbell kernel build --version` makes "
            f"{' and '.join(VERSIONS)}, "
            "`--source DIR --name NAME` one of your own"
        )
    command = "dumbbell kernel build"
    if name != VERSIONS[0]:
        command += f" --version {name}" if name in VERSIONS else f" --source DIR --name {name}"
    if hz != HZ_CHOICES[0]:
        command += f" --hz {hz}"
    return f"the virtual-time kernel{asked} (HZ={hz}) {what}: run `{command}` once"
