"""The congestion controllers in a kernel source: a tree, or Debian's archive."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from dumbbell.errors import DumbbellError
from dumbbell.printable import printable
from dumbbell.spec.linux import LinuxFiles

DEBIANS: Final = Path("/usr/src/linux-source-6.1.tar.xz")
"""Archive of Debian's package linux-source-6.1."""
_FOLDER = "net/ipv4"
_WANTED = re.compile(r"Makefile|lib/win_minmax\.c|net/ipv4/tcp_[a-z0-9_]+\.[ch]")
_REGISTERS = "tcp_register_congestion_control("
_NO_MODULES = {"tcp_cong.c"}
"""Files that call the registration function without being a controller."""
_QUOTED = re.compile(r'^\s*#\s*include\s+"([A-Za-z0-9_.]+)"', re.M)
_WINDOWED = re.compile(r"^\s*#\s*include\s+<linux/win_minmax\.h>", re.M)
_VERSION = re.compile(r"^(VERSION|PATCHLEVEL|SUBLEVEL)\s*=\s*(\d{1,4})\s*$", re.M)
_LARGEST_FILE_BYTES = 1 << 20
_MOST_FILES = 200


class SourceError(DumbbellError):
    """There is no readable kernel source."""


@dataclass(frozen=True, slots=True)
class KernelSource:
    """The files of a kernel source that controllers consist of.

    Attributes:
        place: Path of the source.
        version: Version from its Makefile: ``6.1.0``; empty if unknown.
        files: Text by path.
    """

    place: Path
    version: str
    files: dict[str, str]

    def controllers(self) -> Iterator[LinuxFiles]:
        """Files of the controllers, by name."""
        for path in sorted(self.files):
            name = PurePosixPath(path).name
            if path.endswith(".c") and name not in _NO_MODULES and _REGISTERS in self.files[path]:
                yield self._files_of(path)

    def _files_of(self, main: str) -> LinuxFiles:
        needed = []
        text = self.files[main]
        headers = {f"{_FOLDER}/{name}" for name in _QUOTED.findall(text)} & self.files.keys()
        # Its functions are in the C file of that name.
        for header in sorted(headers):
            beside = header.removesuffix(".h") + ".c"
            if beside != main and beside in self.files:
                needed.append(beside)
        if _WINDOWED.search(text) and "lib/win_minmax.c" in self.files:
            needed.append("lib/win_minmax.c")
        paths = sorted({main, *needed, *headers})
        name = PurePosixPath(main).stem.removeprefix("tcp_")
        return LinuxFiles(name, main, tuple(needed), {path: self.files[path] for path in paths})


def kernel_source(place: Path | None) -> KernelSource:
    """Read a kernel source.

    Args:
        place: A source tree, or an archive of one; None for Debian's archive.

    Raises:
        SourceError: It does not exist, or is not a kernel source.
    """
    if place is None:
        place = DEBIANS
        if not place.is_file():
            raise SourceError(
                f"no {place}: install the package linux-source-6.1, or say where the source of a "
                "kernel is by --source"
            )
    try:
        files = dict(_of_tree(place) if place.is_dir() else _of_archive(place))
    except (OSError, EOFError, tarfile.TarError) as error:
        raise SourceError(
            f"{printable(str(place))} cannot be read: {printable(str(error))}"
        ) from None
    if not any(_REGISTERS in text for text in files.values()):
        raise SourceError(
            f"{printable(str(place))} is no source of a kernel: it has no {_FOLDER}/tcp_*.c that "
            "registers a congestion controller"
        )
    said = dict(_VERSION.findall(files.pop("Makefile", "")))
    numbers = [said.get(key) for key in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    return KernelSource(place, ".".join(number for number in numbers if number), files)


def _of_tree(place: Path) -> Iterator[tuple[str, str]]:
    found = [place / "Makefile", place / "lib" / "win_minmax.c"]
    found += sorted((place / _FOLDER).glob("tcp_*.[ch]"))[:_MOST_FILES]
    for path in found:
        name = path.relative_to(place).as_posix()
        if _WANTED.fullmatch(name) and path.is_file():
            with path.open("rb") as file:
                yield name, _text(name, file.read(_LARGEST_FILE_BYTES + 1))


def _of_archive(place: Path) -> Iterator[tuple[str, str]]:
    """Read the archive without unpacking it; entries after the folder are not read."""
    seen = 0
    with tarfile.open(place, "r:*") as archive:
        for member in archive:
            # Inside a folder named after the version.
            name = member.name.removeprefix("./").partition("/")[2]
            if seen and name > f"{_FOLDER}0":
                return
            if not member.isfile() or _WANTED.fullmatch(name) is None:
                continue
            file = archive.extractfile(member)
            assert file is not None
            yield name, _text(name, file.read(_LARGEST_FILE_BYTES + 1))
            seen += name.startswith(_FOLDER)
            if seen > _MOST_FILES:
                return


def _text(name: str, content: bytes) -> str:
    if len(content) > _LARGEST_FILE_BYTES:
        raise SourceError(f"{name} is larger than 1 MiB: no file of a kernel's is")
    return content.decode("utf-8", errors="replace")
