"""Congestion controllers in C: which file a description means, and whether it may be used.

A controller runs with all that its user may do, so nothing is compiled or loaded because a
description says so. Whoever sits at the keyboard allows a file's content once (``--allow-native``,
`Experiment.from_toml`, `allow`); its source is then kept below the cache folder, by its SHA-256,
and that it lies there is the permission. A description, a bundle and a result only have the hash.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Final

from dumbbell.errors import SpecError
from dumbbell.folders import replaced_file
from dumbbell.folders.cache import cache_folder
from dumbbell.spec.refusal import Refused

PREFIX: Final = "file:"
SOURCE_NAME: Final = "source.c"
LINUX_NAME: Final = "linux.json"
"""What sources are kept as: one C file, or those of one of Linux's (`dumbbell.spec.linux`)."""
LARGEST_SOURCE_BYTES: Final = 1 << 20
LONGEST_REFERENCE: Final = 255
_ALLOWING: ContextVar[bool] = ContextVar("allowing native controllers", default=False)


@contextlib.contextmanager
def allowing_native(allowed: bool = True) -> Iterator[None]:
    """Controllers of descriptions that are read in the block are allowed, where ``allowed``."""
    token = _ALLOWING.set(_ALLOWING.get() or allowed)
    try:
        yield
    finally:
        _ALLOWING.reset(token)


def allow(source: str | Path) -> str:
    """Allow a controller's C file to be compiled and loaded, now and later, as it is now.

    Args:
        source: The file.

    Returns:
        Its SHA-256, by which it is known.

    Raises:
        SpecError: It cannot be read, or is larger than 1 MiB.
    """
    try:
        content = _content(Path(source), str(source))
    except Refused as error:
        raise SpecError("FILE", error.value, error.allowed) from None
    return keep(content)


def source_of(sha256: str) -> Path | None:
    """Where the source of a controller that is allowed lies; None for one that is not."""
    for name in (SOURCE_NAME, LINUX_NAME):
        place = controllers_folder() / sha256 / name
        try:
            content = place.read_bytes()
        except OSError:
            continue
        return place if hashlib.sha256(content).hexdigest() == sha256 else None
    return None


def controllers_folder() -> Path:
    """Where sources and what is compiled of them lie; not made here."""
    return cache_folder() / "controllers"


def found_source(
    reference: str, folder: Path, *, is_of_a_file: bool, wanted: str | None = None
) -> str:
    """SHA-256 of the file that ``file:NAME.c`` means; kept where controllers are being allowed.

    Args:
        reference: As the description has it.
        folder: Where the description lies.
        is_of_a_file: Whether somebody else may have written it: the file must then lie in its
            folder or below.
        wanted: SHA-256 that it has to have; None for any.

    Raises:
        Refused: It is not there, lies elsewhere, or is no C file of at most 1 MiB.
    """
    name = reference.removeprefix(PREFIX)
    if is_of_a_file:
        allowed = "file: and a relative path to a C file in the experiment's folder or below it"
        home = folder.resolve()
        path = (home / name).resolve()
        if Path(name).is_absolute() or not path.is_relative_to(home):
            raise Refused(reference, allowed)
    else:
        path = Path(name)
    content = _content(path, reference)
    found = hashlib.sha256(content).hexdigest()
    if wanted not in (None, found):
        raise Refused(
            reference, f"a file of SHA-256 {wanted}, as controller_sha256 says: not {found}"
        )
    return keep(content) if _ALLOWING.get() else found


def check_reference(value: str) -> str:
    """Refuses what is no ``file:NAME.c``."""
    name = value.removeprefix(PREFIX)
    is_plain = value.isprintable() and len(value.encode()) <= LONGEST_REFERENCE
    if not is_plain or not name.endswith(".c") or len(name) <= len(".c"):
        raise Refused(value, "file: and the name of a C file, such as file:my_cc.c")
    return value


def _content(path: Path, shown: str) -> bytes:
    try:
        if not path.is_file():
            raise Refused(shown, "a C file that is there")
        with path.open("rb") as file:
            content = file.read(LARGEST_SOURCE_BYTES + 1)
    except OSError as error:
        raise Refused(shown, f"a C file that can be read ({error.strerror})") from None
    if len(content) > LARGEST_SOURCE_BYTES:
        raise Refused(shown, "a C file of at most 1 MiB")
    return content


def keep(content: bytes, name: str = SOURCE_NAME) -> str:
    """Allows a source of this content. Returns its SHA-256.

    Args:
        content: Of a C file, or of several as `dumbbell.spec.linux` writes them.
        name: What it is kept as: `SOURCE_NAME` or `LINUX_NAME`.
    """
    sha256 = hashlib.sha256(content).hexdigest()
    if source_of(sha256) is None:
        place = controllers_folder() / sha256 / name
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with replaced_file(place) as new:
            new.write_bytes(content)
    return sha256
