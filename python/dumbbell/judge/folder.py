"""The folder of a dossier: everything to repeat it, and hashes to detect changes.

``sections/ID`` has what ``dumbbell check FILE`` writes for one file: description, verdicts, numbers
and digests. ``dossier.json`` names them, and the tables and pictures beside the page, with the
SHA-256 of each file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dumbbell import __version__
from dumbbell.claims import to_json_text
from dumbbell.compare.checking.bundle import CLAIMS, bundle_files
from dumbbell.folders import Content
from dumbbell.judge.badge import BADGE, badge_svg
from dumbbell.judge.ccperf.rows import ccperf_frame
from dumbbell.judge.dossier import Dossier, SectionResult
from dumbbell.judge.kept_dossier import LISTED, sections_digest
from dumbbell.judge.summary import SUMMARY, summary_svg
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
    dossier: Dossier,
    sections: Mapping[str, Mapping[str, Content]],
    pdf_of: Callable[[str], bytes],
) -> dict[str, Content]:
    """The files beside the page.

    Args:
        dossier: The dossier.
        sections: The `section_files` of each section, by its id.
        pdf_of: Converts the summary from SVG to PDF; empty bytes if it cannot.
    """
    request, frame = dossier.request, verdict_frame(dossier)
    metrics = ccperf_frame([dossier])
    listed = {
        name: {file: _sha256(content) for file, content in files.items()}
        for name, files in sections.items()
    }
    digest = sections_digest(listed)
    svg = summary_svg(dossier, digest)
    pdf = pdf_of(svg)
    folder = dossier.found[0].written.file.parent
    files: dict[str, Content] = {
        **{
            f"{each.section.id}.toml": each.written.file.read_bytes() for each in all_found(dossier)
        },
        **{file.name: file.read_bytes() for file in own_controllers(folder)},
        "verdicts.csv": csv_text(frame),
        "verdicts.tex": latex_text(frame, dossier.suite),
        **({} if metrics is None else {"metrics.csv": csv_text(metrics)}),
        BADGE: badge_svg(dossier, digest),
        f"{SUMMARY}.svg": svg,
    }
    content = {
        "format": 1,
        "dumbbell": __version__,
        "controller": request.controller,
        "against": list(request.against),
        "depth": request.depth.name.lower(),
        "suite": dossier.suite.id,
        "sections": listed,
        "files": {name: _sha256(content) for name, content in files.items()},
    }
    # The converter numbers a PDF's objects differently each time, so the list is without it.
    made = {f"{SUMMARY}.pdf": pdf} if pdf else {}
    return {**files, **made, LISTED: json.dumps(content, indent=1) + "\n"}


def all_found(dossier: Dossier) -> tuple[SectionResult, ...]:
    """The sections, and the cells of them that were run on the kernel."""
    on_kernel = dossier.on_kernel
    return dossier.found + (() if on_kernel is None else on_kernel.found)


def own_controllers(folder: Path) -> Sequence[Path]:
    """Files of user-supplied controllers, beside the descriptions."""
    return sorted(each for each in folder.iterdir() if each.suffix in (".c", ".py"))


def _sha256(content: Content) -> str:
    if isinstance(content, Path):
        return hashlib.sha256(content.read_bytes()).hexdigest()
    raw = utf8(content) if isinstance(content, str) else content
    return hashlib.sha256(raw).hexdigest()
