from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cli_studies
import pytest

from waiting import PATIENCE_S

Dumbbell = Callable[..., tuple[int, str, str]]
Start = Callable[..., "subprocess.Popen[str]"]


def test_a_study_is_judged_and_written(
    dumbbell: Dumbbell, only: Callable[..., None], tmp_path: Path
) -> None:
    only("md1")
    code, out, err = dumbbell("reproduce", "md1")
    assert code == 0
    assert "Is it 4.5 ms?" in out
    assert "reproduced" in out
    assert "Over 10 replications." in out
    assert "page: results/md1/index.html" in out
    assert "md1: " in err  # plain lines of progress when piped
    page = tmp_path / "results" / "md1"
    claims = json.loads((page / "claims.json").read_text())["claims"]
    assert [claim["verdict"] for claim in claims] == ["reproduced"]
    provenance = json.loads((page / "provenance.json").read_text())
    assert provenance["host"] == "here"
    assert provenance["wall_s"] > 0
    assert provenance["cpu_s"] > 0


def test_a_contradiction_of_theory_is_status_one(
    dumbbell: Dumbbell, only: Callable[..., None], tmp_path: Path
) -> None:
    only("md1-wrong")
    code, out, _ = dumbbell("reproduce", "md1-wrong", "--out", "here")
    assert code == 1
    assert "contradicts theory: mean-sojourn" in out
    assert (tmp_path / "here" / "index.html").is_file()


def test_a_check_that_fails_is_status_one(dumbbell: Dumbbell, only: Callable[..., None]) -> None:
    """What holds by construction does not: a fault of the laboratory's."""
    only("fails-a-check")
    code, out, _ = dumbbell("reproduce", "fails-a-check")
    assert code == 1
    assert "fails a check of ours: one-queue" in out
    assert "contradicts theory" not in out


def test_what_runs_may_use_can_be_said(dumbbell: Dumbbell, only: Callable[..., None]) -> None:
    only("md1")
    code, _, error = dumbbell("reproduce", "md1", "--memory", "100kb")
    assert code == 2
    assert "102 kB of free memory" in error
    assert dumbbell("reproduce", "md1", "--memory", "1gb")[0] == 0
    assert cli_studies.SEEN[-1].memory_bytes == 2**30
    code, _, error = dumbbell("reproduce", "md1", "--memory", "lots")
    assert code == 2
    assert "--memory: 'lots'" in error


@pytest.mark.slow
def test_all_writes_an_index_and_outlives_a_failure(
    dumbbell: Dumbbell, only: Callable[..., None], tmp_path: Path
) -> None:
    only("md1", "broken", "md1-wrong")
    code, out, err = dumbbell("reproduce", "all", "--json")
    assert code == 1
    assert "error: replication 3 failed: the wheel fell off" in err
    written: list[dict[str, Any]] = json.loads(out)
    assert [each["study"] for each in written] == ["md1", "md1-wrong"]
    assert [each["claims"][0]["verdict"] for each in written] == ["reproduced", "not reproduced"]
    for each in written:
        assert Path(each["page"]).is_file()
    index = (tmp_path / "results" / "index.html").read_text()
    assert "Is it 4.5 ms?" in index
    assert "Is it 9 ms?" in index
    assert not (tmp_path / "results" / "broken").exists()


def test_what_a_study_lacks_is_said_before_any_begins_and_takes_no_other_along(
    dumbbell: Dumbbell, only: Callable[..., None], tmp_path: Path
) -> None:
    only("md1", "lacking")
    code, out, err = dumbbell("reproduce", "all")
    assert code == 2
    said = "error: lacking is not run: the kernel has not been built: build it once"
    assert err.splitlines()[0] == said  # before the progress of the first one
    assert "Is it 1 ms? Not run: the kernel has not been built" in " ".join(out.split())
    index = (tmp_path / "results" / "index.html").read_text()
    assert "2 studies, 1 of them not run" in index
    assert "</strong> the kernel has not been built: build it once" in index
    assert 'href="lacking/' not in index
    (ran, lacking) = json.loads((tmp_path / "results" / "index.json").read_text())
    assert "not_run" not in ran
    assert (lacking["study"], lacking["claims"]) == ("lacking", [])
    assert lacking["not_run"] == "the kernel has not been built: build it once"


@pytest.mark.parametrize("name", ["lacking", "all"])
def test_where_no_study_can_be_run_nothing_is_written(
    dumbbell: Dumbbell, only: Callable[..., None], tmp_path: Path, name: str
) -> None:
    only("lacking")
    code, out, err = dumbbell("reproduce", name)
    assert (code, out) == (2, "")
    assert err == "error: the kernel has not been built: build it once\n"
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
def test_all_again_replaces_the_pages(dumbbell: Dumbbell, only: Callable[..., None]) -> None:
    only("md1")
    assert dumbbell("reproduce", "all")[0] == 0
    assert dumbbell("reproduce", "all")[0] == 0
    assert dumbbell("reproduce", "md1")[0] == 0


def test_another_study_is_not_replaced_in_silence(
    dumbbell: Dumbbell, only: Callable[..., None], tmp_path: Path
) -> None:
    only("md1", "md1-wrong")
    assert dumbbell("reproduce", "md1", "--full", "--out", "out")[0] == 0
    (tmp_path / "out" / "plots").mkdir()
    (tmp_path / "out" / "plots" / "mine.png").write_text("mine")
    code, _, err = dumbbell("reproduce", "md1-wrong", "--out", "out")
    assert code == 2
    assert "holds the report of 'md1'; or --replace" in err
    code, _, err = dumbbell("reproduce", "md1", "--out", "out")
    assert code == 0
    assert "out: the report there will be replaced; it had preset full (now quick)" in err
    assert dumbbell("reproduce", "md1-wrong", "--out", "out", "--replace")[0] == 1
    assert (tmp_path / "out" / "plots" / "mine.png").read_text() == "mine"


def test_an_index_of_somebody_else_is_left_alone(
    dumbbell: Dumbbell, only: Callable[..., None], tmp_path: Path
) -> None:
    only("md1")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("my home page")
    code, out, err = dumbbell("reproduce", "all", "--out", "site")
    assert (code, out) == (2, "")
    assert "site/index.html" in err
    assert [path.name for path in (tmp_path / "site").iterdir()] == ["index.html"]


def test_options_reach_the_study(dumbbell: Dumbbell, only: Callable[..., None]) -> None:
    only("md1")
    arguments = [
        "--replications",
        "12",
        "--precision",
        "0.02",
        "--seed",
        "7",
        "--jobs",
        "2",
        "--full",
        "--backend",
        "sim",
    ]
    assert dumbbell("reproduce", "md1", *arguments)[0] == 0
    seen = cli_studies.SEEN[-1]
    assert (seen.replications, seen.precision, seen.seed, seen.jobs) == (12, 0.02, 7, 2)
    assert (seen.backends, seen.quick) == (("sim",), False)
    assert dumbbell("reproduce", "md1")[0] == 0
    seen = cli_studies.SEEN[-1]
    assert (seen.replications, seen.precision, seen.seed, seen.quick) == (None, None, 1, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["md2"], ("study", "did you mean 'md1'?")),
        (["md1", "--backend", "simm"], ("backend", "did you mean 'sim'?")),
        (["md1", "--replications", "1"], ("replications", "2 or more")),
        (["md1", "--replications", "1" + 20 * "0"], ("replications", "to 100000")),
        (["md1", "--precision", "0"], ("precision", "between 0 and 1")),
        (["md1", "--precision", "nan"], ("precision", "between 0 and 1")),
        (["md1", "--seed", "-1"], ("seed", "whole number from 0")),
        (["md1", "--jobs", "-2"], ("jobs", "a number of threads")),
        (["md1", "--out", "notes.txt"], ("--out", "a folder")),
        (["md1", "--out", "mine"], ("--out", "not written by dumbbell")),
    ],
)
def test_bad_input_is_one_message_and_nothing_is_written(
    dumbbell: Dumbbell,
    only: Callable[..., None],
    tmp_path: Path,
    arguments: list[str],
    message: tuple[str, str],
) -> None:
    where, words = message
    only("md1")
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("")
    code, out, err = dumbbell("reproduce", *arguments)
    assert code == 2
    assert err.startswith(f"error: {where}: ")
    assert words in err
    assert "Traceback" not in err
    assert out == ""
    assert sorted(each.name for each in tmp_path.iterdir()) == ["mine", "notes.txt"]


def test_unknown_options_and_missing_arguments_are_bad_input(dumbbell: Dumbbell) -> None:
    for arguments in (["reproduce"], ["reproduce", "--nonsense"], ["reprduce", "all"]):
        code, _, err = dumbbell(*arguments)
        assert code == 2
        assert "Traceback" not in err


def read_until(process: subprocess.Popen[str], text: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if text in line:
            return
    raise AssertionError("it ended before")


def read_until_finished(process: subprocess.Popen[str], replications: int) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        told = re.match(r"md1-long: (\S+) of ", line)
        # What is under way counts by its part.
        if told and float(told[1]) >= replications + 1:
            return
    raise AssertionError("it ended before")


def test_ctrl_c_with_nothing_finished_writes_nothing(started: Start, tmp_path: Path) -> None:
    process = started("ENDLESS", "reproduce", "md1-endless", cwd=tmp_path)
    read_until(process, "md1-endless: ")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=PATIENCE_S) == 130
    assert process.stderr is not None
    rest = process.stderr.read()
    assert "error: interrupted after 0 replications" in rest
    assert "Traceback" not in rest
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_ctrl_c_reports_on_what_finished_and_says_so(started: Start, tmp_path: Path) -> None:
    arguments = ["reproduce", "md1-long", "--replications", "1000", "--jobs", "1"]
    process = started("LONG", *arguments, cwd=tmp_path)
    read_until_finished(process, 6)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=PATIENCE_S) == 130
    page = tmp_path / "results" / "md1-long" / "index.html"
    assert "stopped by hand" in page.read_text()
    claims = json.loads((page.parent / "claims.json").read_text())["claims"]
    assert 2 <= claims[0]["n_replications"] < 1000


@pytest.mark.slow
def test_an_interrupted_page_never_replaces_a_whole_one(started: Start, tmp_path: Path) -> None:
    whole = tmp_path / "results" / "md1-long"
    whole.mkdir(parents=True)
    (whole / ".dumbbell-report").touch()
    (whole / "index.html").write_text("whole")
    arguments = ["reproduce", "md1-long", "--replications", "1000", "--jobs", "1"]
    process = started("LONG", *arguments, cwd=tmp_path)
    read_until_finished(process, 6)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=PATIENCE_S) == 130
    assert (whole / "index.html").read_text() == "whole"
    assert (tmp_path / "results" / "md1-long.interrupted" / "index.html").is_file()


KEPT = ("--store", "kept")


def judged(folder: Path) -> str:
    return (folder / "claims.json").read_text()


def test_typed_again_it_finds_its_runs_in_the_store(
    dumbbell: Dumbbell, only: Callable[..., None], tmp_path: Path
) -> None:
    only("md1")
    code, _, err = dumbbell("reproduce", "md1", "--replications", "4", "--out", "first", *KEPT)
    assert code == 0
    assert "not repeated" not in err
    code, _, err = dumbbell("reproduce", "md1", "--out", "more", "--resume", *KEPT)
    assert code == 0
    assert "4 of 10 runs were in kept: resumed" in err
    code, _, err = dumbbell("reproduce", "md1", "--out", "again", *KEPT)
    assert code == 0
    assert "10 of 10 runs were in kept: not repeated" in err
    code, _, err = dumbbell("reproduce", "md1", "--out", "without", "--no-store")
    assert code == 0
    assert "not repeated" not in err
    assert judged(tmp_path / "more") == judged(tmp_path / "again") == judged(tmp_path / "without")
    code, out, _ = dumbbell("results", *KEPT)
    assert code == 0
    assert "md1" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--resume", *KEPT], "no runs of this name are stored"),
        (["--resume", "--no-store"], "only with a store"),
        (["--cluster", "local", "--backend", "kernel"], "no kernel"),
        (["--cluster", "nowhere"], "tcp://host:8786"),
    ],
)
def test_what_cannot_be_done_leaves_no_page(
    dumbbell: Dumbbell, only: Callable[..., None], tmp_path: Path, words: list[str], said: str
) -> None:
    only("md1")
    code, out, err = dumbbell("reproduce", "md1", *words)
    assert (code, out) == (2, "")
    assert said in err and "Traceback" not in err
    assert not (tmp_path / "results" / "md1").exists()


@pytest.mark.slow
def test_a_cluster_gives_the_same(
    dumbbell: Dumbbell, only: Callable[..., None], tmp_path: Path
) -> None:
    only("md1")
    here = ["reproduce", "md1", "--no-store", "--replications", "4"]
    assert dumbbell(*here, "--out", "here")[0] == 0
    code, _, err = dumbbell(*here, "--out", "there", "--cluster", "local", "--jobs", "2")
    assert code == 0, err
    assert judged(tmp_path / "there") == judged(tmp_path / "here")
