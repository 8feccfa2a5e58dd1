"""Temporary folders are removed by the next process, unless they are in use."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import BinaryIO

import pytest

from dumbbell.folders import locks
from dumbbell.folders.locks import LOCK
from dumbbell.folders.temporary import TemporaryFolder, remove_left

PREFIX = "dumbbell-test-"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_one_in_use_stays_and_one_that_was_left_goes(here: Path) -> None:
    left = here / f"{PREFIX}left"
    left.mkdir()
    (left / LOCK).touch()
    (left / "capture").write_bytes(b"half")
    with TemporaryFolder(PREFIX) as folder:
        remove_left(PREFIX)
        assert folder.is_dir()
        assert not left.exists()
    assert not list(here.iterdir())


@pytest.mark.parametrize("moment", ["before it is locked", "once it is locked"])
def test_another_process_that_clears_up_takes_no_folder_away(
    monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Between its making and its lock a folder looks as if it had been left."""
    true_lock = locks.lock
    met: list[Path] = []

    def lock(file: BinaryIO, *, wait: bool = False) -> None:
        is_first = not met
        if is_first:
            met.append(Path(file.name))
        if is_first and moment == "before it is locked":
            remove_left(PREFIX)
        true_lock(file, wait=wait)
        if is_first and moment == "once it is locked":
            remove_left(PREFIX)

    monkeypatch.setattr(locks, "lock", lock)
    with TemporaryFolder(PREFIX) as folder:
        assert (folder / LOCK).exists()
        (folder / "capture").write_bytes(b"whole")
        assert met[0].exists() is (moment == "once it is locked")


def test_a_link_is_not_followed(here: Path) -> None:
    (here / "mine").mkdir()
    (here / f"{PREFIX}link").symlink_to(here / "mine")
    remove_left(PREFIX)
    assert [path.name for path in (here / "mine").iterdir()] == []
