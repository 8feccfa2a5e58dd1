"""A result folder, which is replaced atomically and keeps a user's own files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from dumbbell.errors import SpecError
from dumbbell.folders.deferred_signals import deferred_signals
from dumbbell.folders.exchange import exchange
from dumbbell.folders.full_disk import naming
from dumbbell.folders.manifest import Manifest, ResultKind, Subject, read_manifest
from dumbbell.folders.own_files import carry, retire, unreadable
from dumbbell.folders.staging import (
    NEW,
    OLD,
    READY,
    Staging,
    left_beside,
    left_by_earlier_versions,
    remove_tree,
    staged,
)


class ResultFolder:
    """The folder for a result, and the result's subject."""

    def __init__(
        self,
        folder: str | Path,
        kind: ResultKind,
        subject: Subject,
        *,
        replace: bool = False,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Store the arguments; touches nothing yet.

        Args:
            folder: It may exist if it is empty or contains an earlier result. Parents are created.
                A symbolic link is followed.
            kind: Kind of the result.
            subject: Subject of the result.
            replace: Whether the result of another experiment may be replaced.
            tell: Receives sentences about unexpected effects.
        """
        self.folder = Path(folder)
        self._target = Path(os.path.realpath(folder))
        self._kind = kind
        self._subject = subject
        self._replace = replace
        self._tell = tell or (lambda sentence: None)

    def check(self) -> None:
        """Refuse an unusable folder before hours of simulation; report what will be replaced.

        Raises:
            SpecError: It is a file, a folder that we did not write, or (without ``replace``) the
                result of another experiment; or its parent is not writable.
        """
        before = self._refuse()
        reason = why_not_writable(self._target.parent)
        if reason is not None:
            raise SpecError("--out", self.folder, f"another folder: {reason}")
        if before is not None:
            sentence = _what_is_replaced(before, self._kind, self._subject)
            if sentence:
                self._tell(f"{self.folder}: {sentence}")

    @contextlib.contextmanager
    def replaced(self) -> Iterator[Path]:
        """Yield a fresh folder to write into; on a clean exit it replaces the target.

        Files of the earlier result are removed. Files that are not part of it, or were changed
        since, are kept under their names, or as ``NAME.kept`` if the new result has a file of that
        name.

        Raises:
            SpecError: As `check`.
            OSError: It cannot be written; a full disk names the folder.
        """
        self._refuse()
        self._clear_left()
        with naming(self.folder), staged(self._target, self._leave) as staging:
            new = staging.path / NEW
            new.mkdir()
            yield new
            with deferred_signals():
                self._put_in_place(staging)
        self._clear_left()

    def _refuse(self) -> Manifest | None:
        target = self._target
        if not os.path.lexists(target):
            return None
        if not target.is_dir():
            raise SpecError("--out", self.folder, "a folder, existing or new, is expected")
        try:
            before = read_manifest(target, self._kind)
        except ValueError as error:
            raise SpecError("--out", self.folder, f"another folder: {error}") from None
        if before is None:
            if any(target.iterdir()):
                raise SpecError(
                    "--out",
                    self.folder,
                    f"the folder is not empty and was not written by dumbbell (no "
                    f"{self._kind.marker} in it): choose another or empty it",
                )
            return None
        if not (self._replace or before.is_about(self._subject, target)):
            raise SpecError(
                "--out",
                self.folder,
                f"another folder, as this one holds the {self._kind.noun} of "
                f"{_named(before.name, before.source)}; or --replace, which keeps your own files",
            )
        closed = unreadable(target, self._kind)
        if closed is not None:
            raise SpecError("--out", closed, "a folder that may be read and moved")
        return before

    def _put_in_place(self, staging: Staging) -> None:
        target = self._target
        new, ready = staging.path / NEW, staging.path / READY
        written = Manifest.of(new, self._subject, target, staging.path.name)
        (new / self._kind.marker).write_text(written.to_json(), encoding="utf-8")
        if target.exists():
            for name, kept in carry(target, new, self._kind, written):
                self._tell(f"{self.folder}: your {name} is now {kept}")
        new.rename(ready)
        try:
            # rename(2) also replaces an empty folder.
            ready.rename(target)
        except OSError:
            if not target.is_dir():
                raise
        else:
            return
        if not exchange(ready, target):
            _rename_both(target, staging.path / OLD, ready)

    def _clear_left(self) -> None:
        """Finish or remove folders left by killed processes."""
        target = self._target
        for staging in left_beside(target):
            self._leave(staging)
        for left in left_by_earlier_versions(target):
            # Without the manifest it was never complete. With it, it may be the previous folder,
            # and the only copy of something.
            if not (left / self._kind.marker).is_file():
                remove_tree(left)
            elif target.exists():
                with contextlib.suppress(OSError, ValueError):
                    retire(left, target, self._kind)

    def _leave(self, staging: Staging) -> None:
        """Remove the new content if it was not put in place, and the old content if it was."""
        with contextlib.suppress(OSError, ValueError):
            self._finish(staging)
        staging.remove()
        if staging.path.exists() and self._target.exists():
            self._tell(f"{staging.path}: what is in it could not be moved to {self.folder}")

    def _finish(self, staging: Staging) -> None:
        target = self._target
        old, ready = staging.path / OLD, staging.path / READY
        if old.exists() and not target.exists():
            (ready if ready.exists() else old).rename(target)
        for folder in (old, ready):
            if not folder.exists():
                continue
            manifest = read_manifest(folder, self._kind)
            if manifest is not None and manifest.staged_in == staging.path.name:
                remove_tree(folder)  # it was never put in place
            elif target.exists():
                retire(folder, target, self._kind)


def why_not_writable(folder: Path) -> str | None:
    """Why a new folder cannot be created at a path; None if it can.

    The disk may still fill up and permissions may change later; this only reports early what is
    already known.
    """
    there = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    if not there.is_dir():
        return f"{there} is no folder"
    if not os.access(there, os.W_OK | os.X_OK):
        return f"{there} may not be written"
    return None


def _rename_both(target: Path, aside: Path, ready: Path) -> None:
    """Without an atomic exchange: two renames; the first is undone if the second fails."""
    target.rename(aside)
    try:
        ready.rename(target)
    except BaseException:
        aside.rename(target)
        raise


def _named(name: str, source: str) -> str:
    return f"{name!r} ({source})" if source else repr(name)


def _what_is_replaced(before: Manifest, kind: ResultKind, now: Subject) -> str:
    if before.is_of_earlier_version:
        return f"the {kind.noun} that an earlier version of dumbbell wrote there will be replaced"
    if before.name != now.name:
        return f"the {kind.noun} of {_named(before.name, before.source)} will be replaced"
    differences = [
        f"{name} {before.settings.get(name, 'none')} (now {now.settings.get(name, 'none')})"
        for name in {**before.settings, **now.settings}
        if before.settings.get(name) != now.settings.get(name)
    ]
    if before.digest != now.digest:
        differences.insert(0, "another description")
    if not differences:
        return ""
    return f"the {kind.noun} there will be replaced; it had {', '.join(differences)}"
