"""Folders and files that appear whole or not at all.

What is written goes to a hidden folder beside the target and takes its place in one step, so a
reader never sees half a report, and Ctrl-C (or a crash) in the middle leaves the old one.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from dumbbell.errors import SpecError

MARKER = ".dumbbell-report"
"""A file of this name says that the folder is ours to replace."""

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_STALE_AFTER_S = 3600.0


@contextlib.contextmanager
def replaced_folder(target: Path) -> Iterator[Path]:
    """Give a fresh folder to write into; on a clean exit it becomes ``target``.

    Args:
        target: May exist when it is empty or was written by this function; its whole content
            is then replaced. Parents are made. A symbolic link is followed.

    Raises:
        SpecError: ``target`` is a file, or a folder with somebody else's files in it.
    """
    target = Path(os.path.realpath(target))
    check_replaceable(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_stale(target)
    staging = target.parent / f".{target.name}.partial-{os.getpid()}-{secrets.token_hex(4)}"
    staging.mkdir()
    try:
        yield staging
        (staging / MARKER).touch()
        _put_in_place(staging, target)
    finally:
        # After an exchange the old folder lies here; after a failure the unfinished new one.
        shutil.rmtree(staging, ignore_errors=True)


def check_replaceable(target: Path) -> None:
    """Refuse to replace what we did not write.

    Called before hours of simulation as well as before writing.

    Raises:
        SpecError: ``target`` is a file, or a folder with somebody else's files in it.
    """
    if not target.exists():
        return
    if not target.is_dir():
        raise SpecError("--out", target, "a folder, existing or new, is expected")
    if not (target / MARKER).is_file() and any(target.iterdir()):
        raise SpecError(
            "--out",
            target,
            f"the folder is not empty and was not written by dumbbell (no {MARKER} in it): "
            "choose another or empty it",
        )


def replace_file(target: Path, content: str | bytes) -> None:
    """Write a file beside ``target``, then rename it into place.

    Args:
        target: Its folder is made when missing.
        content: Text (written as UTF-8) or bytes.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = target.with_name(f".{target.name}.partial-{os.getpid()}-{secrets.token_hex(4)}")
    try:
        staging.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        staging.replace(target)
    finally:
        staging.unlink(missing_ok=True)


def _put_in_place(staging: Path, target: Path) -> None:
    if not target.exists():
        staging.rename(target)
        return
    if _exchange(staging, target):
        return
    # No atomic exchange here (another system, or a file system without it): two renames, and
    # the first is undone when the second does not happen.
    aside = staging.with_name(f"{staging.name}-old")
    try:
        target.rename(aside)
        staging.rename(target)
    except BaseException:
        if aside.exists() and not target.exists():
            aside.rename(target)
        raise
    finally:
        if target.exists():
            shutil.rmtree(aside, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one step by renameat2(2); False when the system cannot."""
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    status = renameat2(
        _AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), ctypes.c_uint(_RENAME_EXCHANGE)
    )
    if status == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM):
        return False
    raise OSError(code, os.strerror(code), str(other))


def _remove_stale(target: Path) -> None:
    """Clear what a killed process left behind: its process is gone and an hour has passed.

    Without a target nothing is removed: one of them could be the only copy of it.
    """
    if not target.exists():
        return
    for left in target.parent.glob(f".{target.name}.partial-*"):
        process = left.name.removeprefix(f".{target.name}.partial-").split("-")[0]
        if not process.isdigit() or Path(f"/proc/{process}").exists():
            continue
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > _STALE_AFTER_S:
                shutil.rmtree(left, ignore_errors=True)
