"""A user's own files are kept; replacing another experiment's result needs confirmation."""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from folder_samples import LAB, NAMES, OWN, RUN, lay_own_files, result_of, texts, write

from dumbbell.errors import SpecError
from dumbbell.folders import ResultFolder, Subject, own_files, result


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A result with somebody's files in it."""
    write(tmp_path / "out", "old")
    lay_own_files(tmp_path / "out")
    return tmp_path / "out"


def test_own_files_stay_also_in_our_folders(out: Path) -> None:
    write(out, "new")
    assert result_of(out) == "new"
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_they_are_the_same_files_and_not_copies(out: Path) -> None:
    before = (out / "notes.md").stat()
    write(out, "new")
    assert os.path.samestat(before, (out / "notes.md").stat())
    assert (out / "notes.md").stat().st_nlink == 1


def test_files_of_ours_that_the_new_result_does_not_have_go(out: Path) -> None:
    write(out, "new", names=("a",))
    assert texts(out) == {**OWN, "a": "new"}
    write(out, "newer", names=("a", "c/d"))
    write(out, "newest", names=("a",))
    assert texts(out) == {**OWN, "a": "newest"}
    assert not (out / "c").exists()


def test_links_empty_folders_and_modes_stay(out: Path) -> None:
    (out / "link").symlink_to("nowhere")
    (out / "empty").mkdir()
    (out / "plots").chmod(0o555)
    out.chmod(0o700)
    write(out, "new")
    assert (out / "link").readlink() == Path("nowhere")
    assert (out / "empty").is_dir()
    assert stat.S_IMODE((out / "plots").stat().st_mode) == 0o555
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_a_file_of_ours_that_was_edited_is_kept_beside(out: Path) -> None:
    told: list[str] = []
    (out / "a").write_text("edited")
    os.utime(out / "b")  # touched, not changed
    write(out, "new", tell=told.append)
    assert (out / "a.kept").read_text() == "edited"
    assert told == [f"{out}: your a is now a.kept"]
    (out / "a").write_text("again")
    write(out, "newer")
    kept = {name: text for name, text in texts(out).items() if name not in {*NAMES, *OWN}}
    assert kept == {"a.kept": "edited", "a.kept-2": "again"}
    assert (out / "a").read_text() == "newer"


def test_a_new_name_of_ours_does_not_cover_what_is_there(out: Path) -> None:
    write(out, "new", names=("notes.md", "plots", "figures/mine.svg"))
    found = texts(out)
    assert {
        name: found[name] for name in ("notes.md", "plots", "figures/mine.svg")
    } == dict.fromkeys(("notes.md", "plots", "figures/mine.svg"), "new")
    assert found["notes.md.kept"] == OWN["notes.md"]
    assert found["plots.kept/deep/p.png"] == OWN["plots/deep/p.png"]
    assert found["figures/mine.svg.kept"] == OWN["figures/mine.svg"]


def test_without_hard_links_the_files_themselves_move(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(1, "not permitted")

    monkeypatch.setattr(own_files.os, "link", refused)
    (out / "link").symlink_to("nowhere")
    os.mkfifo(out / "pipe")
    write(out, "new")
    assert (out / "link").is_symlink()
    assert stat.S_ISFIFO((out / "pipe").lstat().st_mode)
    (out / "link").unlink()
    (out / "pipe").unlink()
    assert result_of(out) == "new"
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_what_comes_while_folders_change_places_is_not_lost(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange = result.exchange

    def late(one: Path, other: Path) -> bool:
        (other / "plots" / "late.png").write_text("late")
        (other / "a").write_text("late edit")
        return exchange(one, other)

    monkeypatch.setattr(result, "exchange", late)
    write(out, "new")
    assert (out / "plots" / "late.png").read_text() == "late"
    assert (out / "a.kept").read_text() == "late edit"
    assert (out / "a").read_text() == "new"


def test_what_comes_into_an_empty_folder_meanwhile_stays(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with ResultFolder(tmp_path / "out", RUN, LAB).replaced() as folder:
        (folder / "a").write_text("new")
        (tmp_path / "out" / "notes.md").write_text("mine")
    assert texts(tmp_path / "out") == {"a": "new", "notes.md": "mine"}


@pytest.mark.parametrize("fails_at", [1, 2])
def test_without_an_atomic_exchange_a_failed_rename_is_undone(
    out: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int
) -> None:
    monkeypatch.setattr(result, "exchange", lambda one, other: False)
    rename, calls = Path.rename, 0

    def failing(self: Path, target: Path) -> Path:
        nonlocal calls
        # Those that are tried, and cannot be, before the two: into "ready", onto the target.
        calls += 1
        if calls == 2 + fails_at:
            raise KeyboardInterrupt
        return rename(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", failing)
        with pytest.raises(KeyboardInterrupt):
            write(out, "new")
    assert result_of(out) == "old"
    assert [path.name for path in out.parent.iterdir()] == ["out"]
    write(out, "new")
    assert result_of(out) == "new"
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_a_folder_of_an_earlier_version_keeps_what_is_not_known(tmp_path: Path) -> None:
    """Its marker is empty. Known are names it always had, and those of the new result."""
    out = tmp_path / "out"
    (out / "figures").mkdir(parents=True)
    for name in ("meta.json", "a", "figures/one.svg", "figures/gone.svg", "notes.md"):
        (out / name).write_text("old")
    (out / RUN.marker).touch()
    told: list[str] = []
    ResultFolder(out, RUN, LAB, tell=told.append).check()
    assert "earlier version" in told[0]
    write(out, "new")
    assert texts(out) == {
        **dict.fromkeys(NAMES, "new"),
        "figures/gone.svg": "old",
        "notes.md": "old",
    }


def test_another_experiment_is_not_replaced_unless_that_is_said(out: Path) -> None:
    office = Subject("office")
    for refuse in (ResultFolder(out, RUN, office).check, lambda: write(out, "new", subject=office)):
        with pytest.raises(SpecError, match="holds the run of 'lab'; or --replace"):
            refuse()
    assert result_of(out) == "old"
    told: list[str] = []
    ResultFolder(out, RUN, office, replace=True, tell=told.append).check()
    assert told == [f"{out}: the run of 'lab' will be replaced"]
    write(out, "new", subject=office, replace=True)
    assert result_of(out) == "new"


def test_the_same_experiment_is_known_by_its_file_or_its_description(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = Subject("lab", tmp_path / "one" / "lab.toml", "digest", {"seed": "1"})
    write(out, "old", subject=first)

    def check(subject: Subject) -> list[str]:
        told: list[str] = []
        ResultFolder(out, RUN, subject, tell=told.append).check()
        return told

    assert check(first) == []
    assert check(replace(first, source=tmp_path / "moved.toml")) == []
    assert (
        "another description, seed 1 (now 2)"
        in check(replace(first, digest="edited", settings={"seed": "2"}))[0]
    )
    assert (
        "the run of 'lab' (../one/lab.toml) will be"
        in check(replace(first, name="renamed", digest="edited"))[0]
    )
    with pytest.raises(SpecError, match=r"'lab' \(\.\./one/lab\.toml\)"):
        check(replace(first, source=tmp_path / "two" / "lab.toml", digest="other"))


@pytest.mark.parametrize(
    ("content", "message"),
    [('{"format": 2}', "later version"), ('{"format": 1}', "damaged"), ("{", "another folder")],
)
def test_a_manifest_that_cannot_be_read_is_no_reason_to_replace(
    out: Path, content: str, message: str
) -> None:
    (out / RUN.marker).write_text(content)
    with pytest.raises(SpecError, match=message):
        write(out, "new")
    assert result_of(out) == "old"


def test_a_manifest_from_a_stranger_names_nothing_outside(out: Path) -> None:
    victim = out.parent / "thesis.tex"
    victim.write_text("years")
    listed = json.loads((out / RUN.marker).read_text())
    listed["files"]["../thesis.tex"] = listed["files"]["a"]
    listed["files"][str(victim)] = listed["files"]["a"]
    (out / RUN.marker).write_text(json.dumps(listed))
    write(out, "new")
    assert victim.read_text() == "years"


def test_names_that_are_patterns_or_long(tmp_path: Path) -> None:
    for name in ("[ab]*?", "x" * 255, "with space"):
        write(tmp_path / name, "old")
        lay_own_files(tmp_path / name)
        write(tmp_path / name, "new")
        assert result_of(tmp_path / name) == "new"
    assert len(list(tmp_path.iterdir())) == 3


def test_a_place_where_nothing_can_be_made_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file" / "out", tmp_path / "file" / "deep" / "out"):
        with pytest.raises(SpecError, match="file is no folder"):
            ResultFolder(out, RUN, LAB).check()
    ResultFolder(tmp_path / "new" / "deep" / "out", RUN, LAB).check()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(sys.platform == "win32", reason="rights are others there")
def test_a_folder_that_may_not_be_written_is_refused_before_the_work() -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o500)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                if os.getuid() == 0:  # who may write anything
                    os.setuid(65534)
                for out in (Path(name, "out"), Path(name, "new", "out")):
                    with pytest.raises(SpecError, match="may not be written"):
                        ResultFolder(out, RUN, LAB).check()
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        Path(name).chmod(0o700)
