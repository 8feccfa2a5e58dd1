"""A class's submissions: one file each in Python or C, or a folder with one such file."""

from __future__ import annotations

import hashlib
import os
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dumbbell.errors import SpecError
from dumbbell.printable import printable
from dumbbell.spec.native import C_ENDING, LARGEST_SOURCE_BYTES, PYTHON_ENDING

ENDINGS: Final = (C_ENDING, PYTHON_ENDING)
MOST_SUBMISSIONS: Final = 2000
_MOST_FILES: Final = 1000
"""Most files that are examined in a student's folder."""
_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class Submission:
    """A student's submission.

    Attributes:
        student: Name of the file without its extension, or of the folder; printable.
        file: Path below the folder of all submissions; printable.
        source: Content of the file; empty if there is a fault.
        fault: Why it cannot be run, in a sentence; empty if it can.
    """

    student: str
    file: str
    source: bytes = b""
    fault: str = ""

    @property
    def is_python(self) -> bool:
        """Whether it is in Python, by its extension."""
        return self.file.endswith(PYTHON_ENDING)

    @property
    def language(self) -> str:
        """``Python``, ``C`` or nothing."""
        if self.fault and not self.source:
            return ""
        return "Python" if self.is_python else "C"

    @property
    def sha256(self) -> str:
        """Hash of the source; empty without one."""
        return hashlib.sha256(self.source).hexdigest() if self.source else ""


def submissions_in(place: Path) -> list[Submission]:
    """The submissions in a folder, sorted by name; or that of a single file.

    Links are not followed, because they could lead to the teacher's files. Names that begin with a
    dot or an underscore, and files with other extensions, are ignored.

    Args:
        place: The folder, or one student's file.

    Raises:
        SpecError: It does not exist, or has no submissions or more than 2000.
    """
    shown = printable(str(place))
    if place.is_file():
        if place.suffix not in ENDINGS:
            raise SpecError(shown, "a file", "a folder, or a file that ends in .py or .c")
        return [_of_file(place, place.stem, place.name)]
    try:
        entries = sorted(os.scandir(place), key=lambda each: os.fsencode(each.name))
    except OSError as error:
        allowed = "a folder with a file (.py, .c) or a folder for each student"
        raise SpecError(shown, error.strerror or str(error), allowed) from None
    found = [each for entry in entries for each in _of_entry(entry)]
    if not found:
        allowed = "a folder with a file (.py, .c) or a folder for each student"
        raise SpecError(shown, "no submission", allowed)
    if len(found) > MOST_SUBMISSIONS:
        raise SpecError(shown, f"{len(found)} submissions", f"at most {MOST_SUBMISSIONS}")
    return _with_unique_names(found)


def _of_entry(entry: os.DirEntry[str]) -> Iterator[Submission]:
    if entry.name.startswith((".", "_")):
        return
    if entry.is_dir(follow_symlinks=False):
        yield _of_folder(Path(entry.path), entry.name)
    elif Path(entry.name).suffix in ENDINGS:
        yield _of_file(Path(entry.path), Path(entry.name).stem, entry.name)


def _of_folder(folder: Path, name: str) -> Submission:
    student = _shown(name)
    try:
        with os.scandir(folder) as entries:
            listed = [each.name for _, each in zip(range(_MOST_FILES), entries, strict=False)]
    except OSError as error:
        return Submission(student, student, fault=f"the folder cannot be read: {error.strerror}")
    files = sorted(
        each for each in listed if Path(each).suffix in ENDINGS and not each.startswith((".", "_"))
    )
    if len(files) == 1:
        return _of_file(folder / files[0], name, f"{name}/{files[0]}")
    found = ", ".join(map(_shown, files[:5])) or "none"
    return Submission(student, student, fault=f"one file (.py, .c) is expected; found: {found}")


def _of_file(path: Path, student: str, file: str) -> Submission:
    told = _shown(student), printable(file)
    try:
        # A named pipe would block, and a link may lead anywhere.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return Submission(*told, fault=f"the file cannot be read: {error.strerror}")
    with os.fdopen(handle, "rb") as opened:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return Submission(*told, fault="it is no file")
        content = opened.read(LARGEST_SOURCE_BYTES + 1)
    if len(content) > LARGEST_SOURCE_BYTES:
        return Submission(*told, fault="the file has more than 1 MiB")
    if not content.strip():
        return Submission(*told, fault="the file is empty")
    return Submission(*told, source=content)


def _shown(name: str) -> str:
    return printable(name)[:_LONGEST_NAME]


def _with_unique_names(found: list[Submission]) -> list[Submission]:
    """Give submissions with equal names, such as ``kim.py`` and ``kim.c``, the names of their
    files.
    """
    names = Counter(each.student for each in found)
    return [
        each
        if names[each.student] == 1
        else Submission(each.file[:_LONGEST_NAME], each.file, each.source, each.fault)
        for each in found
    ]
