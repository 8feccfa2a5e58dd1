"""Read the folder of a dossier: its sections, and which files were changed.

The folder may come from a stranger: names are checked, and nothing outside it is read.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dumbbell.compare.checking.bundle import LARGEST_BYTES
from dumbbell.errors import SpecError
from dumbbell.inputs import open_input
from dumbbell.judge.sections.rfc9743 import RFC_9743
from dumbbell.spec.refusal import shown, to_spec_error

LISTED = "dossier.json"
SECTIONS_FOLDER = "sections"
_SECTION = r"[a-z0-9-]{1,64}"
_FILE = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,254}"


class _File(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _Listed(_File):
    format: Literal[1]
    dumbbell: str
    controller: str
    against: list[str]
    depth: str
    suite: str = RFC_9743.id
    sections: dict[str, dict[str, str]] = Field(min_length=1, max_length=100)
    files: dict[str, str] = Field(default={}, max_length=1000)


@dataclass(frozen=True, slots=True)
class KeptDossier:
    """The content of a dossier's folder.

    Attributes:
        sections: Folders of the sections, each of which can be repeated.
        digest: The `sections_digest` of the list, which badge and summary show.
        changed: Sentences about files that differ from the list.
    """

    sections: tuple[Path, ...]
    digest: str
    changed: tuple[str, ...]


def is_dossier(path: Path) -> bool:
    """Whether a folder contains the list of a dossier."""
    return (path / LISTED).is_file()


def read_dossier(folder: Path) -> KeptDossier:
    """Read the sections of a folder, and check its files against the list.

    Raises:
        SpecError: The list is damaged, or a later version wrote it.
    """
    path = folder / LISTED
    try:
        with open_input(path) as file:
            content = _Listed.model_validate_json(file.read(LARGEST_BYTES))
    except ValidationError as error:
        found = to_spec_error(error, None)
        raise SpecError(f"{path}: {found.path}", found.value, found.allowed) from None
    changed: list[str] = []
    for section, files in content.sections.items():
        _check_name(section, _SECTION, path)
        for name, digest in files.items():
            _check_name(name, _FILE, path)
            place = folder / SECTIONS_FOLDER / section / name
            changed += _difference(place, f"{section}/{name}", digest)
    for name, digest in content.files.items():
        _check_name(name, _FILE, path)
        changed += _difference(folder / name, name, digest)
    places = tuple(folder / SECTIONS_FOLDER / each for each in content.sections)
    return KeptDossier(places, sections_digest(content.sections), tuple(changed))


def sections_digest(listed: Mapping[str, Mapping[str, str]]) -> str:
    """SHA-256 of all files of all sections: one number for the evidence of a dossier.

    Two dossiers with the same digest have the same descriptions, numbers and verdicts, to the last
    bit.

    Args:
        listed: SHA-256 of each file, by its section and name.
    """
    text = json.dumps(listed, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _difference(file: Path, name: str, digest: str) -> Iterator[str]:
    if not file.is_file():
        yield f"{name} is missing"
    elif hashlib.sha256(file.read_bytes()).hexdigest() != digest:
        yield f"{name} was changed since it was written"


def _check_name(name: str, pattern: str, path: Path) -> None:
    if re.fullmatch(pattern, name) is None:
        raise SpecError(str(path), shown(name), "the name of a section or of a file in it")
