"""The manifest of a result folder: the files that we wrote, and the subject of the result."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dumbbell.printable import whole_json

FORMAT = 1


@dataclass(frozen=True, slots=True)
class ResultKind:
    """A kind of result.

    Attributes:
        noun: Name in messages: ``run``.
        marker: Name of the manifest file.
        known: Names of files of this kind. In a folder of an earlier version, whose marker is
            empty, these files count as ours, together with those that the new result contains.
    """

    noun: str
    marker: str
    known: frozenset[str]


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a result, to protect results of another experiment from being replaced.

    Attributes:
        name: Name of the experiment or study.
        source: File of the description; None if it was made in Python or built in.
        digest: Hash of the description without the values in ``settings``; empty if unknown.
        settings: Run settings as text: ``{"seed": "1"}``.
    """

    name: str
    source: Path | None = None
    digest: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file with its hash at the time of writing."""

    size_bytes: int
    mtime_ns: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> WrittenFile:
        """Read and hash a file."""
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        found = path.stat()
        return cls(found.st_size, found.st_mtime_ns, sha256)

    def is_still(self, path: Path) -> bool:
        """Whether the file is unchanged; it is read only if its modification time differs."""
        if path.is_symlink() or not path.is_file():
            return False
        found = path.stat()
        if found.st_size != self.size_bytes:
            return False
        return found.st_mtime_ns == self.mtime_ns or WrittenFile.of(path).sha256 == self.sha256


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of a folder's manifest file.

    Attributes:
        name: Name of the experiment or study; empty in a folder of an earlier version.
        source: File of the description, relative to the folder; empty without one.
        digest: See `Subject`.
        settings: See `Subject`.
        staged_in: Name of the staging folder in which it was written (see `staging`).
        files: For each path in the folder, with ``/``, the file as written; None if an earlier
            version wrote it.
    """

    name: str
    source: str
    digest: str
    settings: Mapping[str, str]
    staged_in: str
    files: Mapping[str, WrittenFile | None]

    @classmethod
    def of(cls, folder: Path, subject: Subject, target: Path, staged_in: str) -> Manifest:
        """The manifest of all files in ``folder``, which will be moved to ``target``."""
        files = {
            path.relative_to(folder).as_posix(): WrittenFile.of(path)
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        source = source_from(target, subject)
        return cls(subject.name, source, subject.digest, dict(subject.settings), staged_in, files)

    @property
    def is_of_earlier_version(self) -> bool:
        """Whether only the names of known files are available."""
        return not self.name

    @property
    def folders(self) -> frozenset[str]:
        """Subfolders that we created."""
        return frozenset(
            parent.as_posix() for name in self.files for parent in Path(name).parents[:-1]
        )

    def is_ours(self, folder: Path, name: str) -> bool:
        """Whether we wrote a file of the folder, and it is unchanged."""
        if name not in self.files:
            return False
        written = self.files[name]
        return written is None or written.is_still(folder / name)

    def is_about(self, subject: Subject, target: Path) -> bool:
        """Whether the result has the same subject, even if its description has changed.

        Subjects are equal if their description or their file is equal; without a file, if their
        names are equal.
        """
        if self.is_of_earlier_version or (self.digest and self.digest == subject.digest):
            return True
        if self.source and subject.source is not None:
            return self.source == source_from(target, subject)
        return self.name == subject.name

    def to_json(self) -> str:
        """As JSON for `read_manifest`."""
        files = {
            name: [one.size_bytes, one.mtime_ns, one.sha256]
            for name, one in self.files.items()
            if one is not None
        }
        content = {
            "format": FORMAT,
            "name": self.name,
            "source": self.source,
            "digest": self.digest,
            "settings": dict(self.settings),
            "staged_in": self.staged_in,
            "files": files,
        }
        return whole_json(json.dumps(content, indent=1, ensure_ascii=False)) + "\n"


def source_from(target: Path, subject: Subject) -> str:
    """The subject's file relative to a folder: it stays valid if both are moved together."""
    if subject.source is None:
        return ""
    return os.path.relpath(os.path.realpath(subject.source), target)


def read_manifest(folder: Path, kind: ResultKind) -> Manifest | None:
    """The manifest of a folder; None if it has none.

    Raises:
        ValueError: A later version wrote it, or it is damaged.
        OSError: It cannot be read.
    """
    path = folder / kind.marker
    if path.is_symlink() or not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    if not text:
        return Manifest("", "", "", {}, "", dict.fromkeys(kind.known))
    content: Any = json.loads(text)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError("written by a later version of dumbbell")
    try:
        files = {str(name): WrittenFile(*each) for name, each in content["files"].items()}
        return Manifest(
            content["name"],
            content["source"],
            content["digest"],
            content["settings"],
            content["staged_in"],
            files,
        )
    except (KeyError, TypeError, AttributeError):
        raise ValueError("the list of its files is damaged") from None
