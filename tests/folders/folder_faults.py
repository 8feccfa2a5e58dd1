"""A program that writes a folder or a file of results while the disk fails."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from folder_samples import lay_own_files, result_of, write  # noqa: E402

from dumbbell.errors import SpecError  # noqa: E402
from dumbbell.folders import replace_file, result  # noqa: E402
from faults import each_fault  # noqa: E402


def folders(folder: Path, *, is_first: bool, exchanges: bool) -> int:
    if not exchanges:
        result.exchange = lambda one, other: False

    def begin(place: Path) -> None:
        if not is_first:
            write(place / "out", "old")
            lay_own_files(place / "out")

    def check(place: Path, succeeded: bool) -> None:
        out = place / "out"
        if is_first:
            assert out.exists() or not succeeded
            if out.exists():
                lay_own_files(out)
        # Without an exchange there is a moment without a folder, which the next run ends.
        elif exchanges or out.exists():
            assert result_of(out) in (("new",) if succeeded else ("old", "new"))
        write(out, "next")
        if is_first:
            lay_own_files(out)
        assert result_of(out) == "next"
        assert [path.name for path in place.iterdir()] == ["out"]

    def work(place: Path) -> None:
        write(place / "out", "new")

    return each_fault(folder, begin, work, check, (OSError, SpecError))


def files(folder: Path, *, is_first: bool) -> int:
    text = "of more than one word\n" * 1000

    def begin(place: Path) -> None:
        if not is_first:
            (place / "file").write_text("old")

    def check(place: Path, succeeded: bool) -> None:
        file = place / "file"
        if succeeded:
            assert file.read_text() == text
        else:
            found = file.read_text() if file.exists() else None
            assert found in (None if is_first else "old", text)
        replace_file(file, "next")
        assert file.read_text() == "next"
        assert [path.name for path in place.iterdir()] == ["file"]

    def work(place: Path) -> None:
        replace_file(place / "file", text)

    return each_fault(folder, begin, work, check, (OSError,))


KINDS = {
    "first folder": lambda folder: folders(folder, is_first=True, exchanges=True),
    "folder": lambda folder: folders(folder, is_first=False, exchanges=True),
    "folder without exchange": lambda folder: folders(folder, is_first=False, exchanges=False),
    "first file": lambda folder: files(folder, is_first=True),
    "file": lambda folder: files(folder, is_first=False),
}

if __name__ == "__main__":
    faults = KINDS[sys.argv[2]](Path(sys.argv[1]))
    print(faults, "faults")
    assert faults > 20
