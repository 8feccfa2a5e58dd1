"""The folder of a dossier: what another machine needs to run it again, and to see it was changed.

``sections/ID`` is what ``dumbbell check FILE`` writes of one file: description, verdicts, numbers
and digests. ``dossier.json`` names them with the SHA-256 of each of their files.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dumbbell import __version__
from dumbbell.claims import to_json_text
from dumbbell.compare.checking.bundle import CLAIMS, LARGEST_BYTES, bundle_files
from dumbbell.errors import SpecError
from dumbbell.folders import Content
from dumbbell.inputs import open_input
from dumbbell.judge.dossier import Dossier, Found
from dumbbell.judge.tables import csv_text, latex_text, verdict_frame
from dumbbell.printable import utf8
from dumbbell.spec.refusal import shown, to_spec_error

LISTED = "dossier.json"
SECTIONS_FOLDER = "sections"
_SECTION = r"^[a-z0-9-]{1,64}$"
_FILE = r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,254}$"


class _File(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _Listed(_File):
    format: Literal[1]
    dumbbell: str
    controller: str
    against: list[str]
    depth: str
    sections: dict[str, dict[str, str]] = Field(min_length=1, max_length=100)


@dataclass(frozen=True, slots=True)
class KeptDossier:
    """What a folder says.

    Attributes:
        sections: Folders of the sections, each to be run again.
        changed: Sentences on files that are not what the list says.
    """

    sections: tuple[Path, ...]
    changed: tuple[str, ...]


def section_files(found: Found, replications: int) -> dict[str, Content]:
    """What goes into a section's folder."""
    kept = bundle_files(found.checked, replications=replications, precision=None)
    return {
        **kept,
        CLAIMS: to_json_text(found.judged),
        **{file.name: file.read_bytes() for file in own_controllers(found.written.file.parent)},
    }


def dossier_files(
    dossier: Dossier, sections: Mapping[str, Mapping[str, Content]]
) -> dict[str, Content]:
    """What lies beside the page.

    Args:
        dossier: What was found.
        sections: Id of a section to its `section_files`.
    """
    asked, frame = dossier.asked, verdict_frame(dossier)
    listed = {
        "format": 1,
        "dumbbell": __version__,
        "controller": asked.controller,
        "against": list(asked.against),
        "depth": asked.depth.name.lower(),
        "sections": {
            name: {file: _sha256(content) for file, content in files.items()}
            for name, files in sections.items()
        },
    }
    folder = dossier.found[0].written.file.parent
    return {
        **{f"{found.section.id}.toml": found.written.file.read_bytes() for found in dossier.found},
        **{file.name: file.read_bytes() for file in own_controllers(folder)},
        "verdicts.csv": csv_text(frame),
        "verdicts.tex": latex_text(frame),
        LISTED: json.dumps(listed, indent=1) + "\n",
    }


def own_controllers(folder: Path) -> Sequence[Path]:
    """Files of a controller of one's own, beside the descriptions."""
    return sorted(each for each in folder.iterdir() if each.suffix in (".c", ".py"))


def is_dossier(path: Path) -> bool:
    """Whether a folder has the list of a dossier."""
    return (path / LISTED).is_file()


def read_dossier(folder: Path) -> KeptDossier:
    """Which sections a folder has, and which of their files were changed.

    Raises:
        SpecError: Its list is damaged, or of a later version.
    """
    path = folder / LISTED
    try:
        with open_input(path) as file:
            content = _Listed.model_validate_json(file.read(LARGEST_BYTES))
    except ValidationError as error:
        found = to_spec_error(error, None)
        raise SpecError(f"{path}: {found.path}", found.value, found.allowed) from None
    changed = []
    for section, files in content.sections.items():
        _check_name(section, _SECTION, path)
        for name, digest in files.items():
            _check_name(name, _FILE, path)
            place = folder / SECTIONS_FOLDER / section / name
            if not place.is_file():
                changed.append(f"{section}/{name} is not there")
            elif hashlib.sha256(place.read_bytes()).hexdigest() != digest:
                changed.append(f"{section}/{name} was changed since it was written")
    places = tuple(folder / SECTIONS_FOLDER / each for each in content.sections)
    return KeptDossier(places, tuple(changed))


def _check_name(name: str, pattern: str, path: Path) -> None:
    if re.match(pattern, name) is None:
        raise SpecError(str(path), shown(name), "the name of a section or of a file in it")


def _sha256(content: Content) -> str:
    if isinstance(content, Path):
        return hashlib.sha256(content.read_bytes()).hexdigest()
    raw = utf8(content) if isinstance(content, str) else content
    return hashlib.sha256(raw).hexdigest()
