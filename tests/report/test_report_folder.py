"""The folder: whole or not at all, complete, and nobody else's files replaced."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import polars as pl
import pytest
from report_samples import realistic_report

from dumbbell.claims import read_claims, views_of
from dumbbell.errors import SpecError
from dumbbell.folders import replace_file
from dumbbell.report import FigureDrawer, IndexEntry, report_folder, write_index, write_report
from dumbbell.report.folder import REPORT
from dumbbell.report.model import Report
from dumbbell.report.write import INDEX_MARKER
from waiting import PATIENCE_S

MARKER = REPORT.marker


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_report_folder_is_complete(report: Report, tmp_path: Path, drawer: FigureDrawer) -> None:
    page = write_report(report, tmp_path / "out", drawer=drawer)
    figures = {
        f"figures/{figure.name}.{suffix}"
        for figure in report.figures
        for suffix in ("svg", "csv", "vl.json")
    }
    assert page == tmp_path / "out" / "index.html"
    assert names(tmp_path / "out") == figures | {
        "index.html", "claims.json", "meta.json", "provenance.json", "pingtimes-1-sm.csv",
        "tables/queues.parquet", "tables/probes.parquet", MARKER,
    }  # fmt: skip
    assert read_claims(tmp_path / "out" / "claims.json") == views_of(report.judged)
    meta = json.loads((tmp_path / "out" / "meta.json").read_text(encoding="utf-8"))
    assert meta["spec"]["links"] == report.meta["spec"]["links"]
    queues = pl.read_parquet(tmp_path / "out" / "tables" / "queues.parquet")
    assert queues.columns == ["queue", "busy_s"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_a_second_report_replaces_the_first_wholly(
    report: Report, tmp_path: Path, drawer: FigureDrawer
) -> None:
    write_report(report, tmp_path / "out", drawer=drawer)
    write_report(realistic_report(figures=(), tables={}, files={}), tmp_path / "out")
    assert names(tmp_path / "out") == {
        "index.html", "claims.json", "meta.json", "provenance.json", MARKER,
    }  # fmt: skip


def test_somebody_elses_folder_is_left_alone(report: Report, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(SpecError, match="not empty and was not written by dumbbell"):
        write_report(report, tmp_path)
    assert names(tmp_path) == {"thesis.tex"}
    with pytest.raises(SpecError, match="a folder"):
        write_report(report, tmp_path / "thesis.tex")


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failure_in_the_middle_leaves_the_old_folder(
    tmp_path: Path, error: type[BaseException]
) -> None:
    with report_folder(tmp_path / "out", "x").replaced() as folder:
        (folder / "a").write_text("old")
    with pytest.raises(error), report_folder(tmp_path / "out", "x").replaced() as folder:
        (folder / "a").write_text("half")
        raise error
    assert (tmp_path / "out" / "a").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_ctrl_c_while_writing_again_and_again_never_shows_half_a_folder(tmp_path: Path) -> None:
    """A child writes the folder over and over and is interrupted at odd moments."""
    program = textwrap.dedent(
        """
        import sys
        from dumbbell.report import report_folder
        number = 0
        while True:
            with report_folder(sys.argv[1], "x").replaced() as folder:
                for name in "abcdefgh":
                    (folder / name).write_text(str(number))
            number += 1
            print(number, flush=True)
        """
    )
    for wait_s in (0.003, 0.007, 0.013, 0.019):
        child = subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path / "out")],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert child.stdout is not None
        assert child.stdout.readline()  # it has written at least once
        time.sleep(wait_s)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=PATIENCE_S)
        texts = {(tmp_path / "out" / name).read_text() for name in "abcdefgh"}
        assert len(texts) == 1
        assert (tmp_path / "out" / MARKER).is_file()
        assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_killed_runs_of_earlier_versions_left_is_cleared(tmp_path: Path) -> None:
    """They had the number of their process in their names, and no lock."""
    with report_folder(tmp_path / "out", "x").replaced():
        pass
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    stale, fresh = (
        tmp_path / f".out.partial-{dead.pid}-{tail}" for tail in ("aaaaaaaa", "bbbbbbbb")
    )
    mine = tmp_path / f".out.partial-{os.getpid()}-cccccccc"
    for folder in (stale, fresh, mine):
        folder.mkdir()
        (folder / "index.html").write_text("half")
    for folder in (stale, mine):
        os.utime(folder, (0, 0))
    with report_folder(tmp_path / "out", "x").replaced():
        pass
    assert {path.name for path in tmp_path.iterdir()} == {"out", fresh.name, mine.name}


def test_a_link_to_a_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with report_folder(tmp_path / "link", "x").replaced() as folder:
        (folder / "a").write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "a").read_text() == "new"


def test_replace_file_leaves_nothing_beside(tmp_path: Path) -> None:
    replace_file(tmp_path / "new" / "a.txt", "ä")
    replace_file(tmp_path / "new" / "a.txt", b"b")
    assert names(tmp_path) == {"new/a.txt"}
    assert (tmp_path / "new" / "a.txt").read_bytes() == b"b"


def test_the_index_lists_every_study(report: Report, tmp_path: Path, drawer: FigureDrawer) -> None:
    write_report(report, tmp_path / report.study, drawer=drawer)
    page = write_index([IndexEntry.of(report)], tmp_path)
    text = page.read_text(encoding="utf-8")
    assert f'href="{report.study}/index.html"' in text
    assert text.count('<svg class="chart"') == 1
    (study,) = json.loads((tmp_path / "index.json").read_text(encoding="utf-8"))
    assert len(study["claims"]) == len(report.judged)


def test_an_index_of_somebody_else_is_left_alone(report: Report, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("my home page")
    with pytest.raises(SpecError, match=r"index\.html.*not written by dumbbell"):
        write_index([IndexEntry.of(report)], tmp_path)
    assert names(tmp_path) == {"index.html"}


def test_an_index_of_an_earlier_version_is_ours(report: Report, tmp_path: Path) -> None:
    write_index([IndexEntry.of(report)], tmp_path)
    (tmp_path / INDEX_MARKER).unlink()
    write_index([IndexEntry.of(report)], tmp_path)
    assert names(tmp_path) == {"index.html", "index.json", INDEX_MARKER}
