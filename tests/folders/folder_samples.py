"""Results to write into folders, together with a user's own files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dumbbell.folders import ResultFolder, ResultKind, Subject

RUN = ResultKind("run", ".marker", frozenset({"meta.json", "a"}))
LAB = Subject("lab")
NAMES = ("a", "b", "meta.json", "figures/one.svg", "figures/two.svg")

OWN = {
    "notes.md": "what I saw",
    "plots/deep/p.png": "drawn by hand",
    "plots/q.png": "another",
    "figures/mine.svg": "beside theirs",
}


def write(
    out: Path,
    text: str,
    *,
    subject: Subject = LAB,
    names: tuple[str, ...] = NAMES,
    replace: bool = False,
    tell: Callable[[str], None] | None = None,
) -> None:
    """A result whose files all have the same content."""
    with ResultFolder(out, RUN, subject, replace=replace, tell=tell).replaced() as folder:
        for name in names:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)


def lay_own_files(out: Path) -> None:
    for name, text in OWN.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text)


def texts(out: Path) -> dict[str, str]:
    """Every file's content but the manifest's."""
    return {
        path.relative_to(out).as_posix(): path.read_text()
        for path in out.rglob("*")
        if path.is_file() and path.name != RUN.marker
    }


def result_of(out: Path) -> str:
    """The one content of a whole result, when all of somebody's own files are there as well."""
    found = texts(out)
    own = {name: found.pop(name) for name in OWN}
    assert own == OWN
    assert sorted(found) == sorted(NAMES)
    (text,) = set(found.values())
    return text
