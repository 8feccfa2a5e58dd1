from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dumbbell.errors import SpecError
from dumbbell.tables import Run, read_parquet, run_folder, write_parquet


def test_a_run_comes_back_exactly(full_run: Run, tmp_path: Path) -> None:
    folder = write_parquet(full_run, tmp_path / "run", {"ping.txt": "PING\n"})
    back = read_parquet(folder)
    assert (back.origin, back.replication, back.spec) == ("simulated", 0, full_run.spec)
    assert back.meta == full_run.meta
    assert back.provenance == full_run.provenance
    assert back.tables.keys() == full_run.tables.keys()
    for name, columns in full_run.tables.items():
        assert list(back.tables[name]) == list(columns)
        for key, values in columns.items():
            assert back.tables[name][key].dtype == values.dtype
            np.testing.assert_array_equal(back.tables[name][key], values)
    assert (folder / "ping.txt").read_text() == "PING\n"


def test_an_earlier_run_is_replaced_and_nothing_is_left_beside(
    full_run: Run, tmp_path: Path
) -> None:
    write_parquet(full_run, tmp_path / "run", {"old.txt": ""})
    write_parquet(full_run, tmp_path / "run")
    assert not (tmp_path / "run" / "old.txt").exists()
    assert [each.name for each in tmp_path.iterdir()] == ["run"]


def test_the_folder_of_somebody_else_is_refused(full_run: Run, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("important")
    assert full_run.spec is not None
    place = run_folder(tmp_path, full_run.spec, replication=0, origin="simulated")
    for refuse in (lambda: write_parquet(full_run, tmp_path), place.check):
        with pytest.raises(SpecError, match="not written by dumbbell") as caught:
            refuse()
        assert caught.value.path == "--out"
    with pytest.raises(SpecError, match="a folder"):
        write_parquet(full_run, tmp_path / "thesis.tex")
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_failure_leaves_the_old_run_and_no_half_of_the_new(full_run: Run, tmp_path: Path) -> None:
    write_parquet(full_run, tmp_path / "run")
    before = sorted(each.name for each in (tmp_path / "run").iterdir())
    broken = replace(full_run, meta={"cannot": object()})
    with pytest.raises(TypeError):
        write_parquet(broken, tmp_path / "run")
    assert sorted(each.name for each in (tmp_path / "run").iterdir()) == before
    assert [each.name for each in tmp_path.iterdir()] == ["run"]


def test_json_beside_the_tables_has_no_nan(full_run: Run, tmp_path: Path) -> None:
    folder = write_parquet(replace(full_run, provenance={"wall_s": math.nan}), tmp_path / "run")
    assert json.loads((folder / "provenance.json").read_text()) == {"wall_s": None}


def test_reading_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="a folder written by dumbbell"):
        read_parquet(tmp_path)
