"""Carry a user's own and modified files over to the folder that replaces a result.

First they are linked into the new folder, so that they exist in both; then the folders are
exchanged; then the old one is removed. A kill at any moment loses no file.
"""

from __future__ import annotations

import contextlib
import errno
import filecmp
import itertools
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dumbbell.folders.locks import is_own
from dumbbell.folders.manifest import Manifest, ResultKind, read_manifest

_NO_LINKS = (errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)
_LINKS_TO_LINKS = os.link in os.supports_follow_symlinks


def carry(old: Path, new: Path, kind: ResultKind, written: Manifest) -> list[tuple[str, str]]:
    """Link files that are not ours from one folder into another, under the same names if free.

    Args:
        old: The old folder, with or without a manifest.
        new: The folder that will replace it, complete except for these files.
        kind: Kind of the result.
        written: Manifest of ``new``.

    Returns:
        Files that had to be renamed because the new result has a file of that name: name and new
        name.

    Raises:
        OSError: A folder cannot be read, or a file can be neither linked nor copied.
    """
    ours = _ours(old, kind, written)
    renamed = []
    made: list[tuple[Path, Path]] = []
    places = {"": new}
    for name, entry in _entries(old, kind):
        place, source = places[_above(name)], Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            places[name] = _folder_at(place / entry.name, source)
            if name not in ours.folders:
                _make(places[name], source, made)
        elif not ours.is_ours(old, name):
            _make(place, source.parent, made)
            free = _free_or_same(place / entry.name, source)
            if not os.path.lexists(free):
                _link_or_copy(source, free)
            if free.name != entry.name:
                renamed.append((name, free.relative_to(new).as_posix()))
    for folder, like in reversed(made):
        shutil.copystat(like, folder, follow_symlinks=False)
    shutil.copymode(old, new)
    return renamed


def retire(old: Path, target: Path, kind: ResultKind) -> None:
    """Remove our files from a folder that ``target`` has replaced.

    Other files are already at the target, or are moved there (they were created after `carry`, or
    could not be linked). Files that cannot be moved stay in the old folder. Can be repeated after a
    kill.

    Raises:
        ValueError: A manifest cannot be read.
    """
    written = read_manifest(target, kind)
    ours = _ours(old, kind, written)
    places = {"": target}
    folders = [old]
    for name, entry in _entries(old, kind):
        place, source = places[_above(name)], Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            places[name] = _folder_at(place / entry.name, source)
            folders.append(source)
            with contextlib.suppress(OSError):
                if name not in ours.folders:
                    _make(places[name], source, [])
                # A read-only folder would keep its contents.
                source.chmod(stat.S_IMODE(source.stat().st_mode) | stat.S_IRWXU)
            continue
        with contextlib.suppress(OSError):
            if not ours.is_ours(old, name):
                _make(place, source.parent, [])
                free = _free_or_same(place / entry.name, source)
                if not os.path.lexists(free):
                    source.rename(free)
                    continue
            source.unlink()
    with contextlib.suppress(OSError):
        for folder in reversed(folders[1:]):
            folder.rmdir()
        # The manifest is removed last, so that this can be repeated.
        if {path.name for path in old.iterdir()} <= {kind.marker}:
            (old / kind.marker).unlink(missing_ok=True)
            old.rmdir()


def unreadable(folder: Path, kind: ResultKind) -> Path | None:
    """A subfolder that cannot be carried over; None if there is none."""
    try:
        for _, entry in _entries(folder, kind):
            inside = entry.is_dir(follow_symlinks=False)
            if inside and not (os.access(entry.path, os.R_OK | os.X_OK) and _is_movable(entry)):
                return Path(entry.path)
    except PermissionError as error:
        return Path(error.filename)
    return None


def _is_movable(folder: os.DirEntry[str]) -> bool:
    return os.access(folder.path, os.W_OK) or is_own(Path(folder.path))


def _ours(old: Path, kind: ResultKind, written: Manifest | None) -> Manifest:
    found = read_manifest(old, kind)
    if found is None:
        return Manifest("", "", "", {}, "", {})
    if found.is_of_earlier_version and written is not None:
        return replace(found, files={**dict.fromkeys(written.files), **found.files})
    return found


def _entries(folder: Path, kind: ResultKind) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """All entries of a folder except the manifest, folders before their contents."""
    waiting = [""]
    while waiting:
        above = waiting.pop()
        with os.scandir(folder / above) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        for entry in entries:
            name = f"{above}/{entry.name}" if above else entry.name
            if name != kind.marker:
                yield name, entry
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(name)


def _above(name: str) -> str:
    return name.rpartition("/")[0]


def _make(folder: Path, like: Path, made: list[tuple[Path, Path]]) -> None:
    if not folder.is_dir():
        _make(folder.parent, like.parent, made)
        folder.mkdir()
        made.append((folder, like))


def _names(path: Path, source: Path) -> Iterator[Path]:
    """The path itself, then alternative names that are not used in the source folder."""
    yield path
    for number in itertools.count(1):
        other = f"{path.name}.kept{f'-{number}' if number > 1 else ''}"
        if not os.path.lexists(source.with_name(other)):
            yield path.with_name(other)


def _folder_at(path: Path, source: Path) -> Path:
    """The first of the names that is free or a folder."""
    return next(
        each
        for each in _names(path, source)
        if not os.path.lexists(each) or (each.is_dir() and not each.is_symlink())
    )


def _free_or_same(path: Path, source: Path) -> Path:
    """The first of the names that is free or already the same file as the source."""
    return next(
        each
        for each in _names(path, source)
        if not os.path.lexists(each) or _are_same(source, each)
    )


def _are_same(one: Path, other: Path) -> bool:
    first, second = one.lstat(), other.lstat()
    if os.path.samestat(first, second):
        return True
    if stat.S_ISLNK(first.st_mode) and stat.S_ISLNK(second.st_mode):
        return one.readlink() == other.readlink()
    if not (stat.S_ISREG(first.st_mode) and stat.S_ISREG(second.st_mode)):
        return False
    return first.st_size == second.st_size and filecmp.cmp(one, other, shallow=False)


def _link_or_copy(source: Path, target: Path) -> None:
    """Hard link a file; copy it where links are not supported.

    If neither works, nothing is done here: `retire` moves the file.
    """
    try:
        if _LINKS_TO_LINKS:
            os.link(source, target, follow_symlinks=False)
            return
        if not source.is_symlink():
            os.link(source, target)
            return
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
    if source.is_symlink():
        target.symlink_to(source.readlink())
    elif source.is_file():
        shutil.copy2(source, target)
