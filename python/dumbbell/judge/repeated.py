"""Make the files of a dossier's folder again, and compare them with those that are there.

The lists of a folder say whether a file was changed since it was written, but whoever changes a
file can change the lists too. This module does not need them: it writes the experiments of the
dossier's request anew, which reveals another threshold, seed or number of runs, and makes the
tables, the badge and the summary from repeated runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from dumbbell import __version__
from dumbbell.backends.kernel.cache import KernelMissingError
from dumbbell.claims import to_json_text
from dumbbell.compare.checking import Checked
from dumbbell.compare.checking.bundle import CLAIMS, DESCRIPTION, KEPT, LARGEST_BYTES
from dumbbell.errors import SpecError
from dumbbell.folders import Content
from dumbbell.judge.dossier import (
    Dossier,
    KernelCheck,
    SectionResult,
    WrittenSection,
    write_experiments,
)
from dumbbell.judge.folder import dossier_files, own_controllers, section_files
from dumbbell.judge.kept_dossier import LISTED, SECTIONS_FOLDER, KeptDossier
from dumbbell.judge.kernel_check import (
    compared_with_kernel,
    id_on_kernel,
    written_for_kernel,
)
from dumbbell.judge.request import Depth
from dumbbell.judge.suites import sections_of
from dumbbell.printable import utf8
from dumbbell.spec.refusal import shown


@dataclass(frozen=True, slots=True)
class MadeAgain:
    """Comparison of a folder with what its request and its repeated runs give.

    Attributes:
        descriptions: Sentences about experiments that are not those of the request.
        files: Paths of files that are not those of the repeated runs, to the last byte; compared
            if the experiments are those of the request.
        not_compared: Why something was not compared; else empty.
    """

    descriptions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    not_compared: str = ""

    @property
    def is_same(self) -> bool:
        """Whether nothing that was compared differs."""
        return not self.descriptions and not self.files


def made_again(kept: KeptDossier, repeated: Mapping[str, Checked], folder: Path) -> MadeAgain:
    """Make a dossier's files again, and compare them.

    Args:
        kept: The dossier.
        repeated: Its repeated checks, by section; some may be missing.
        folder: An empty folder for experiments.
    """
    if kept.version != __version__:
        return MadeAgain(
            not_compared=f"dumbbell {kept.version} made the folder, and this is {__version__}, "
            "which may write other descriptions and tables"
        )
    try:
        written = _written(kept, folder)
    except SpecError as error:
        return MadeAgain((f"{LISTED}: {error}",))
    other = (*_other_descriptions(kept, written), *_settings(repeated))
    lacking = [each.name for each in kept.sections if each.name not in repeated]
    if other or lacking:
        why = f"{', '.join(lacking)} could not be repeated" if lacking else ""
        return MadeAgain(other, not_compared=why)
    found = tuple(SectionResult(each, repeated[each.section.id]) for each in written)
    try:
        on_kernel = _kernel_check(kept, found, repeated, folder)
    except KernelMissingError as error:
        return MadeAgain(not_compared=str(error))
    except SpecError as error:
        return MadeAgain((str(error),))
    backends = found[0].checked.comparison.backends
    dossier = Dossier(kept.request, tuple(backends), found, on_kernel=on_kernel)
    return MadeAgain(files=tuple(_other_files(kept, dossier)))


def _written(kept: KeptDossier, folder: Path) -> list[WrittenSection]:
    """The experiments of the request, with copies of the controllers' files.

    Raises:
        SpecError: There is no such suite or controller, or its file may not be used.
    """
    for each in own_controllers(kept.folder):
        if each.is_file() and not each.is_symlink() and each.stat().st_size <= LARGEST_BYTES:
            (folder / each.name).write_bytes(each.read_bytes())
    return write_experiments(kept.request, folder, sections_of(kept.suite))


def _other_descriptions(kept: KeptDossier, written: Sequence[WrittenSection]) -> Iterator[str]:
    listed = {each.name: each for each in kept.sections}
    known = {name for each in written for name in (each.section.id, id_on_kernel(each.section))}
    for each in written:
        if each.section.id not in listed:
            yield f"{each.section.id}: the folder lacks this section"
        else:
            yield from _other_line(each, listed[each.section.id])
    for name in listed:
        if name not in known:
            yield f"{name}: dumbbell {__version__} has no such section for {kept.request.name}"


def _settings(repeated: Mapping[str, Checked]) -> Iterator[str]:
    for name, checked in repeated.items():
        for each in checked.asserted.settings:
            yield f"{name}/{KEPT}: {each} in place of the description's value"


def _kernel_check(
    kept: KeptDossier,
    found: Sequence[SectionResult],
    repeated: Mapping[str, Checked],
    folder: Path,
) -> KernelCheck | None:
    """The cells on the kernel; None if the folder has none.

    Raises:
        KernelMissingError: The kernel was not built.
        SpecError: A cell is not the one that decides its section.
    """
    places = {each.name: each for each in kept.sections}
    if not any(id_on_kernel(here.section) in places for here in found):
        return None
    done, not_run = [], {}
    for here in found:
        name = id_on_kernel(here.section)
        if name not in places:
            not_run[here.section.title] = "the folder has no cell of it"
            continue
        written = written_for_kernel(here, kept.request, folder)
        other = [] if written is None else list(_other_line(written, places[name]))
        if written is None or other:
            there = other[0] if other else "a cell"
            raise SpecError(name, there, "the cell that decides the section, with its claims")
        done.append((here, SectionResult(written, repeated[name])))
    return compared_with_kernel(done, not_run)


def _other_files(kept: KeptDossier, dossier: Dossier) -> Iterator[str]:
    n = dossier.request.depth.replications
    sections = {each.section.id: section_files(each, n) for each in dossier.found}
    if dossier.on_kernel is not None:
        n = Depth.QUICK.replications
        sections |= {each.section.id: section_files(each, n) for each in dossier.on_kernel.found}
    made: dict[str, Content] = {
        f"{SECTIONS_FOLDER}/{section}/{name}": content
        for section, files in sections.items()
        for name, content in files.items()
    }
    made |= dossier_files(dossier, sections, lambda svg: b"")
    made[CLAIMS] = to_json_text(dossier.judged)
    for name, content in made.items():
        if not _has(kept.folder / name, content):
            yield name


def _has(file: Path, content: Content) -> bool:
    raw = content if isinstance(content, bytes) else utf8(str(content))
    return (
        file.is_file()
        and not file.is_symlink()
        and file.stat().st_size == len(raw)
        and file.read_bytes() == raw
    )


def _other_line(written: WrittenSection, place: Path) -> Iterator[str]:
    """A sentence about the first line of a description that differs, if one does."""
    file = place / DESCRIPTION
    if not file.is_file() or file.is_symlink() or file.stat().st_size > LARGEST_BYTES:
        return  # the list of files says so
    there = file.read_bytes().decode(errors="replace").splitlines()
    here = written.file.read_text(encoding="utf-8").splitlines()
    for number, (found, expected) in enumerate(zip_longest(there, here), start=1):
        if found != expected:
            found_words = "nothing" if found is None else shown(found)
            words = "nothing" if expected is None else shown(expected)
            yield (
                f"{place.name}/{DESCRIPTION}, line {number}: {found_words}; dumbbell "
                f"{__version__} writes {words}"
            )
            return
