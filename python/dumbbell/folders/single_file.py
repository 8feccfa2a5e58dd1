"""Replace a single file atomically."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from dumbbell.folders.full_disk import naming
from dumbbell.folders.staging import (
    NEW,
    Staging,
    left_beside,
    left_by_earlier_versions,
    remove_tree,
    staged,
)
from dumbbell.printable import utf8


@contextlib.contextmanager
def replaced_file(target: str | Path) -> Iterator[Path]:
    """Yield a path to write to; on a clean exit the file replaces the target atomically.

    Args:
        target: Its folder is created if missing. A symbolic link is followed; a device or FIFO is
            written directly.

    Raises:
        OSError: It cannot be written; a full disk names the target.
    """
    place = Path(os.path.realpath(target))
    if place.exists() and not place.is_file():
        with naming(Path(target)):
            yield place
        return
    remove_left_beside(place)
    with naming(Path(target)), staged(place, Staging.remove) as staging:
        new = staging.path / NEW
        yield new
        if place.exists():
            shutil.copymode(place, new)
        new.replace(place)


@contextlib.contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """Yield a path to write to; on a clean exit the file gets its name, unless that exists.

    Args:
        target: Its folder is created if missing. A file that another process created meanwhile is
            kept.

    Raises:
        OSError: It cannot be written; a full disk names the target.
    """
    with naming(target), staged(target, Staging.remove) as staging:
        new = staging.path / NEW
        yield new
        try:
            os.link(new, target)
        except FileExistsError:
            return
        except OSError:  # a file system without links
            if not target.exists():
                new.rename(target)


def remove_left_beside(target: Path) -> None:
    """Remove partial files of killed processes."""
    for left in left_beside(target):
        left.remove()
    for earlier in left_by_earlier_versions(target):
        if earlier.is_dir():
            remove_tree(earlier)
        else:
            earlier.unlink(missing_ok=True)


def replace_file(target: str | Path, content: str | bytes) -> None:
    """Write a file beside the target, then rename it into place.

    Args:
        target: Its folder is created if missing.
        content: Text (written as UTF-8) or bytes.

    Raises:
        OSError: It cannot be written; a full disk names the target.
    """
    with replaced_file(target) as path:
        path.write_bytes(utf8(content) if isinstance(content, str) else content)
