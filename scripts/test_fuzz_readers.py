"""Every seed file of a reader is checked by the function that the search calls."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import reader_targets
from reader_targets import TARGETS

from dumbbell.formats.flent import read_flent
from dumbbell.formats.logs import read_log

FILES = [(name, path) for name, target in TARGETS.items() for path in target.files()]


@pytest.mark.parametrize(("name", "path"), FILES, ids=[path.name for _, path in FILES])
def test_what_must_hold_holds_of_every_file_that_is_kept(name: str, path: Path) -> None:
    TARGETS[name].check(path.read_bytes())


def test_a_search_begins_with_files_that_are_right() -> None:
    assert read_flent(TARGETS["flent"].folder / "small.flent").results
    assert any(read_log(path).tables for path in TARGETS["logs"].files())


def test_a_fault_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(reader_targets, "log_of_text", fault)
    with pytest.raises(ZeroDivisionError):
        TARGETS["logs"].check(b"")
