"""Files crossed with settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from dumbbell.compare import cells_of
from dumbbell.spec import Setting, SpecError

LINE = 'duration = "1s"\nlinks = [{ a = "a", b = "b", rate = "1mbit" }]\n'


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text(LINE)
    return [tmp_path / "one.toml", tmp_path / "two.toml"]


def settings(*texts: str) -> list[Setting]:
    return [Setting.parse(each) for each in texts]


def test_values_of_a_path_are_cells(files: list[Path]) -> None:
    cells, failed = cells_of(
        files[:1], settings("links[a->b].qdisc=pie", "duration=2s", "links[a->b].qdisc=codel")
    )
    assert [cell.label for cell in cells] == ["pie", "codel"]
    assert [cell.experiment.duration for cell in cells] == ["2s", "2s"]
    assert [cell.experiment.links[0].qdisc for cell in cells] == ["pie", "codel"]
    assert not failed
    assert cells[1].command.endswith("--set 'links[a->b].qdisc=codel' --set duration=2s")


def test_paths_and_files_are_crossed(files: list[Path]) -> None:
    several = settings("seed=1", "links[0].rate=1mbit", "links[0].rate=2mbit", "seed=2")
    cells, _ = cells_of(files, several)
    assert [cell.label for cell in cells] == [
        f"{name}: {seed}, {rate}"
        for name in ("one", "two")
        for seed in (1, 2)
        for rate in ("1mbit", "2mbit")
    ]
    assert [cell.label for cell in cells_of(files, ())[0]] == ["one", "two"]
    assert [cell.label for cell in cells_of(files[:1], ())[0]] == ["one"]


def test_a_wrong_value_is_one_failed_cell(files: list[Path]) -> None:
    cells, (failed,) = cells_of(files[:1], settings("seed=1", "seed=x", "seed=3"))
    assert [cell.label for cell in cells] == ["1", "3"]
    assert (failed.label, failed.replication) == ("x", None)
    assert "a whole number" in str(failed.error)
    assert failed.command.endswith("one.toml --set seed=x")


def test_where_every_value_is_wrong_nothing_is_left(files: list[Path]) -> None:
    with pytest.raises(SpecError, match=r"did you mean 'seed'"):
        cells_of(files, settings("sed=1", "sed=2"))


def test_cells_differ(files: list[Path]) -> None:
    with pytest.raises(SpecError, match="differ from each other"):
        cells_of(files[:1], settings("seed=1", "seed=1"))


def test_files_of_one_name_are_told_by_their_paths(files: list[Path], tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    other = tmp_path / "sub" / "one.toml"
    other.write_text(LINE)
    cells, _ = cells_of([files[0], other], ())
    assert [cell.label for cell in cells] == [str(files[0]), str(other)]
