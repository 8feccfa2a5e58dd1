"""The folder of a dossier: everything to repeat it, and hashes to detect changes.

``sections/ID`` has what ``dumbbell check FILE`` writes for one file: description, verdicts, numbers
and digests. ``dossier.json`` names them with the SHA-256 of each of their files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from dumbbell import __version__
from dumbbell.claims import to_json_text
from dumbbell.compare.checking.bundle import CLAIMS, bundle_files
from dumbbell.folders import Content
from dumbbell.judge.ccperf.rows import ccperf_frame
from dumbbell.judge.dossier import Dossier, SectionResult
from dumbbell.judge.kept_dossier import LISTED
from dumbbell.judge.tables import csv_text, latex_text, verdict_frame
from dumbbell.printable import utf8


def section_files(found: SectionResult, replications: int) -> dict[str, Content]:
    """The files of a section's folder."""
    kept = bundle_files(found.checked, replications=replications, precision=None)
    return {
        **kept,
        CLAIMS: to_json_text(found.judged),
        **{file.name: file.read_bytes() for file in own_controllers(found.written.file.parent)},
    }


def dossier_files(
    dossier: Dossier, sections: Mapping[str, Mapping[str, Content]]
) -> dict[str, Content]:
    """The files beside the page.

    Args:
        dossier: The dossier.
        sections: The `section_files` of each section, by its id.
    """
    request, frame = dossier.request, verdict_frame(dossier)
    metrics = ccperf_frame([dossier])
    listed = {
        "format": 1,
        "dumbbell": __version__,
        "controller": request.controller,
        "against": list(request.against),
        "depth": request.depth.name.lower(),
        "suite": dossier.suite.id,
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
        "verdicts.tex": latex_text(frame, dossier.suite),
        **({} if metrics is None else {"metrics.csv": csv_text(metrics)}),
        LISTED: json.dumps(listed, indent=1) + "\n",
    }


def own_controllers(folder: Path) -> Sequence[Path]:
    """Files of user-supplied controllers, beside the descriptions."""
    return sorted(each for each in folder.iterdir() if each.suffix in (".c", ".py"))


def _sha256(content: Content) -> str:
    if isinstance(content, Path):
        return hashlib.sha256(content.read_bytes()).hexdigest()
    raw = utf8(content) if isinstance(content, str) else content
    return hashlib.sha256(raw).hexdigest()
