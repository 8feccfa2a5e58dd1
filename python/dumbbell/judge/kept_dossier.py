"""Read the folder of a dossier: its request, its sections, and which files were changed.

Two lists name the files: ``dossier.json`` those that can be made again to the same bytes, and the
page's manifest all files beside ``dossier.json``, with the page and its pictures. The folder may
come from a stranger: names are checked, no link is followed, and nothing outside it is read.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dumbbell.compare.checking.bundle import LARGEST_BYTES
from dumbbell.errors import SpecError
from dumbbell.folders.manifest import read_manifest
from dumbbell.inputs import open_input
from dumbbell.judge.request import Depth, JudgeRequest
from dumbbell.judge.sections.rfc9743 import RFC_9743
from dumbbell.report.folder import REPORT
from dumbbell.spec.refusal import shown, to_spec_error

LISTED = "dossier.json"
SECTIONS_FOLDER = "sections"
_SECTION = r"[a-z0-9-]{1,64}"
_FILE = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,254}"
_DEPTHS = {each.name.lower(): each for each in Depth}
_MOST_FILES = 10_000
"""Most files of a folder that are looked at."""


class _File(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _Listed(_File):
    format: Literal[1]
    dumbbell: str
    controller: str
    against: list[str] = Field(max_length=100)
    depth: Literal["quick", "full"]
    suite: str = RFC_9743.id
    sections: dict[str, dict[str, str]] = Field(min_length=1, max_length=100)
    files: dict[str, str] = Field(default={}, max_length=1000)


@dataclass(frozen=True, slots=True)
class KeptDossier:
    """The content of a dossier's folder.

    Attributes:
        folder: The folder.
        version: Version of dumbbell that wrote it.
        request: What was asked for.
        suite: Name of the suite.
        sections: Folders of the sections, each of which can be repeated.
        digest: The `sections_digest` of the list, which badge and summary show.
        changed: Sentences about files that differ from the lists, that are missing, or that no list
            has, by the file's path in the folder.
    """

    folder: Path
    version: str
    request: JudgeRequest
    suite: str
    sections: tuple[Path, ...]
    digest: str
    changed: Mapping[str, str]

    def is_changed(self, section: Path) -> bool:
        """Whether any file of a section differs from the list."""
        above = f"{SECTIONS_FOLDER}/{section.name}/"
        return any(name.startswith(above) for name in self.changed)


def is_dossier(path: Path) -> bool:
    """Whether a folder contains the list of a dossier."""
    return (path / LISTED).is_file()


def read_dossier(folder: Path) -> KeptDossier:
    """Read the sections of a folder, and check its files against the lists.

    Raises:
        SpecError: A list is damaged, or a later version wrote it.
    """
    path = folder / LISTED
    try:
        with open_input(path) as file:
            content = _Listed.model_validate_json(file.read(LARGEST_BYTES))
    except ValidationError as error:
        found = to_spec_error(error, None)
        raise SpecError(f"{path}: {found.path}", found.value, found.allowed) from None
    digests: dict[str, str] = {}
    for section, files in content.sections.items():
        _check_name(section, _SECTION, path)
        for name, digest in files.items():
            _check_name(name, _FILE, path)
            digests[f"{SECTIONS_FOLDER}/{section}/{name}"] = digest
    for name, digest in content.files.items():
        _check_name(name, _FILE, path)
        digests[name] = digest
    of_page = _files_of_page(folder)
    changed = {
        name: sentence
        # What both name is told by the list that the digest of all sections is of.
        for name, digest in {**of_page, **digests}.items()
        if (sentence := _difference(folder / name, name, digest))
    }
    known = {*digests, *of_page, LISTED, REPORT.marker}
    known |= {f"{SECTIONS_FOLDER}/{each}/{REPORT.marker}" for each in content.sections}
    added = [name for name in _files_in(folder) if name not in known]
    if not of_page:
        changed[REPORT.marker] = f"{REPORT.marker} is missing: it lists the page and its figures"
        # Without it, nothing tells the page's files from others.
        added = [name for name in added if name.startswith(f"{SECTIONS_FOLDER}/")]
    changed |= {name: f"{name} was added: no list has it" for name in added}
    return KeptDossier(
        folder,
        content.dumbbell,
        JudgeRequest(content.controller, tuple(content.against), _DEPTHS[content.depth]),
        content.suite,
        tuple(folder / SECTIONS_FOLDER / each for each in content.sections),
        sections_digest(content.sections),
        changed,
    )


def sections_digest(listed: Mapping[str, Mapping[str, str]]) -> str:
    """SHA-256 of all files of all sections: one number for the evidence of a dossier.

    Two dossiers with the same digest have the same descriptions, numbers and verdicts, to the last
    bit.

    Args:
        listed: SHA-256 of each file, by its section and name.
    """
    text = json.dumps(listed, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _files_of_page(folder: Path) -> dict[str, str]:
    """SHA-256 of the page's files, by their path; empty without a list of them."""
    path = folder / REPORT.marker
    try:
        if path.is_file() and path.stat().st_size > LARGEST_BYTES:
            raise ValueError("a larger file")
        manifest = read_manifest(folder, REPORT)
    except (ValueError, RecursionError, OSError) as error:
        raise SpecError(str(path), shown(str(error)), "the list as it was written") from None
    if manifest is None:
        return {}
    for name in manifest.files:
        for part in name.split("/"):
            _check_name(part, _FILE, path)
    return {name: str(each.sha256) for name, each in manifest.files.items() if each is not None}


def _files_in(folder: Path) -> Iterator[str]:
    """Paths of all files in the folder, and of links and devices, which are not followed."""
    return islice(
        (
            (Path(above) / each).relative_to(folder).as_posix()
            for above, folders, files in os.walk(folder)
            for each in sorted(
                (*files, *(each for each in folders if (Path(above) / each).is_symlink()))
            )
        ),
        _MOST_FILES,
    )


def _difference(file: Path, name: str, digest: str) -> str:
    """A sentence about a file that is not the listed one; else empty."""
    if any(each.is_symlink() for each in (file, *file.parents[: name.count("/")])):
        return f"{name} is a link, which is not followed"
    if not os.path.lexists(file):
        return f"{name} is missing"
    if not file.is_file():
        return f"{name} is no file"
    try:
        if file.stat().st_size <= LARGEST_BYTES:
            with file.open("rb") as opened:
                if hashlib.file_digest(opened, "sha256").hexdigest() == digest:
                    return ""
    except OSError as error:
        return f"{name} cannot be read: {error.strerror}"
    return f"{name} was changed since it was written"


def _check_name(name: str, pattern: str, path: Path) -> None:
    if re.fullmatch(pattern, name) is None:
        raise SpecError(str(path), shown(name), "the name of a section or of a file in it")
