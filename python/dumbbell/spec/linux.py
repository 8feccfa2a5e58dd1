"""Linux's own congestion controllers, ``linux:NAME``: those built, and their sources.

``dumbbell controller build linux`` stores the unmodified C files of each from a kernel's source in
the cache folder, under the SHA-256 of all files (`native.keep`). As for a user's C file, this is
also the permission to run them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

from dumbbell.folders import replaced_file
from dumbbell.spec import native
from dumbbell.spec.refusal import Refused, nearest, one_of

PREFIX: Final = "linux:"
LICENCE: Final = "GPL-2.0"
"""Licence of the kernel's files, and so of controllers compiled from them."""
_NAME = re.compile("[a-z0-9_]{1,15}")
_INDEX = "linux.json"


@dataclass(frozen=True, slots=True)
class LinuxFiles:
    """The files of a controller.

    Attributes:
        name: As its module is called, without ``tcp_``.
        main: The file that registers it.
        needed: Other C files that it calls.
        files: Text by path in the kernel's source, with the headers beside them.
    """

    name: str
    main: str
    needed: tuple[str, ...]
    files: Mapping[str, str]

    def content(self) -> bytes:
        """The bytes that its SHA-256 is of."""
        fields = {
            "name": self.name,
            "main": self.main,
            "needed": list(self.needed),
            "files": dict(self.files),
        }
        return json.dumps(fields, sort_keys=True, ensure_ascii=False).encode()

    @classmethod
    def of(cls, content: bytes) -> LinuxFiles:
        """What `content` has written."""
        fields = json.loads(content)
        return cls(fields["name"], fields["main"], tuple(fields["needed"]), fields["files"])


@dataclass(frozen=True, slots=True)
class LinuxController:
    """A controller that was built.

    Attributes:
        name: Its name.
        sha256: SHA-256 of its files.
        version: Kernel version of the source; empty if unknown.
        source: Path of the source.
    """

    name: str
    sha256: str
    version: str
    source: str


def check_reference(value: str) -> str:
    """Refuse a reference that is not ``linux:NAME``."""
    if _NAME.fullmatch(value.removeprefix(PREFIX)) is None:
        raise Refused(value, "linux: and the name of a controller of Linux, such as linux:vegas")
    return value


def name_of(reference: str) -> str | None:
    """The kernel's name of the controller in a checked reference; None if it is not Linux's."""
    return reference.removeprefix(PREFIX) if reference.startswith(PREFIX) else None


def found(reference: str, wanted: str | None = None) -> LinuxController:
    """The controller ``linux:NAME`` of the source built last.

    Args:
        reference: As the description has it.
        wanted: SHA-256 that it has to have; None for any.

    Raises:
        Refused: The controller was not built, or has another SHA-256.
    """
    # Its own files alone are read: a description is resolved for each cell of a sweep.
    each = _listed().get(reference.removeprefix(PREFIX))
    if each is None or native.source_of(each.sha256) is None:
        how = "dumbbell controller build linux"
        names = [f"{PREFIX}{name}" for name in linux_controllers()]
        built = f"{one_of(names)}, or another after {how}" if names else f"one after {how}"
        raise Refused(reference, built, nearest(reference, names))
    if wanted not in (None, each.sha256):
        raise Refused(
            reference, f"files of SHA-256 {wanted}, as controller_sha256 says: not {each.sha256}"
        )
    return each


def linux_controllers() -> dict[str, LinuxController]:
    """Controllers that were built and whose files exist, by name."""
    listed = _listed().items()
    return {name: each for name, each in listed if native.source_of(each.sha256) is not None}


def _listed() -> dict[str, LinuxController]:
    """Controllers that were built, even if their files are missing."""
    try:
        listed = json.loads((native.controllers_folder() / _INDEX).read_text(encoding="utf-8"))
        read = [LinuxController(**each) for each in listed]
    except (OSError, ValueError, TypeError):
        return {}
    return {each.name: each for each in read}


def keep(files: LinuxFiles, version: str, source: str) -> LinuxController:
    """Keeps the files of a controller, which is the permission to compile and run them.

    Args:
        files: The files.
        version: Of their kernel.
        source: Where they lay.
    """
    sha256 = native.keep(files.content(), native.LINUX_NAME)
    return LinuxController(files.name, sha256, version, source)


def name_built(controllers: list[LinuxController]) -> None:
    """Make these the controllers of their names ``linux:NAME``; other names are unchanged."""
    listed = linux_controllers() | {each.name: each for each in controllers}
    folder = native.controllers_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with replaced_file(folder / _INDEX) as new:
        text = json.dumps([asdict(listed[name]) for name in sorted(listed)], indent=1)
        new.write_text(text, encoding="utf-8")
