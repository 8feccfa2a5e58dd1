"""``dumbbell judge``: tables, errors, folders that are checked again."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from dumbbell.backends import registry
from dumbbell.backends.kernel import KernelMissingError
from dumbbell.cli.judge.league import _expanded
from dumbbell.errors import SpecError
from dumbbell.judge.dossier import Dossier, judge_controller
from dumbbell.judge.kept_dossier import sections_digest
from dumbbell.judge.nsperf.random_loss import RANDOM_LOSS
from dumbbell.judge.request import JudgeRequest
from dumbbell.replication.progress import Progress
from small_dossiers import SHORT, shortened

pytestmark = pytest.mark.programs

Dumbbell = Callable[..., tuple[int, str, str]]
OWN = Path(__file__).parents[2] / "examples" / "controllers" / "my_cc.c"


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sections of two seconds."""
    monkeypatch.setattr("dumbbell.judge.sections.SECTIONS", SHORT)


def test_the_terminal_has_a_line_a_section_and_what_does_not_hold(
    dumbbell: Dumbbell, tmp_path: Path
) -> None:
    code, out, _ = dumbbell("judge", "bbr", "--against", "cubic", "--no-page")
    assert code == 0
    assert out.startswith("May I deploy bbr, and where not?")
    assert "no exhaustive check-list" in " ".join(out.split())
    assert "Drop-tail queues" in out
    assert "✗ 6.1 One flow of bbr loses" in out
    assert not list((tmp_path / "results").glob("*judged*"))


def test_another_suite_has_its_own_words_and_sections(
    dumbbell: Dumbbell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dumbbell.judge.nsperf.SECTIONS", (shortened(RANDOM_LOSS),))
    code, out, _ = dumbbell("judge", "bbr", "--suite", "nsperf", "--no-page")
    assert code == 0
    assert out.startswith("How does bbr do in Google's BBR suite?")
    assert "RFC 9743" not in out
    assert "random_loss" in out
    assert "bbr gets half of 1 Gbit/s or more where 1 % of packets" in " ".join(out.split())


def test_what_is_not_decided_or_does_not_hold_is_no_failure(dumbbell: Dumbbell) -> None:
    code, out, _ = dumbbell("judge", "reno", "--against", "bbr", "--json")
    assert code == 0
    told = json.loads(out)
    assert any(section["does_not_hold"] for section in told["sections"])
    for section in told["sections"]:
        counted = sum(len(section[key]) for key in ("holds", "does_not_hold", "not_decided"))
        assert counted == len(section["claims"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("bbbr",), "did you mean 'bbr'"),
        (("bbr", "--against", "cubik"), "did you mean 'cubic'"),
        (("nothing.c",), "nothing.c is not"),
        (("--course", "lab.toml"), "one folder of submissions"),
        (("bbr", "--with-kernel", "--all"), "--all"),
        (("bbr", "--with-kernel", "--backend", "kernel"), "--backend kernel"),
        (("manual",), "a controller that sets its window"),
        (("linux:*",), "--all, and any number, or linux:*"),
        (("mine.py",), "file:mine.py:Mine"),
        (("bbr", "--backend", "ns3"), "ns3"),
        (("bbr", "--suite", "nsprf"), "did you mean 'nsperf'"),
        (("--all", "--suite", "nsprf"), "did you mean 'nsperf'"),
        (("mine", "--course", "lab.toml", "--suite", "nsperf"), "it without --course"),
    ],
)
def test_an_unknown_controller_is_refused(
    words: tuple[str, ...], told: str, dumbbell: Dumbbell, tmp_path: Path
) -> None:
    code, out, err = dumbbell("judge", *words)
    assert (code, out) == (2, "")
    assert told in " ".join(err.split())
    assert not list(tmp_path.iterdir())


def test_a_file_with_a_name_like_the_typed_one_is_named(dumbbell: Dumbbell, tmp_path: Path) -> None:
    (tmp_path / "gentle.py").write_text("")
    code, _, err = dumbbell("judge", "gentel.py:Gentle")
    assert code == 2
    assert "did you mean 'gentle.py:Gentle'" in err


@pytest.mark.slow
def test_a_folder_gives_the_same_again_and_is_found_out_when_changed(
    dumbbell: Dumbbell, tmp_path: Path
) -> None:
    assert dumbbell("judge", "bbr", "--against", "cubic", "--out", "bbr")[0] == 0
    code, out, _ = dumbbell("check", "bbr", "--json")
    assert code == 0, out
    told = json.loads(out)
    assert told["changed"] == []
    assert all(each["same"] for each in told["sections"].values())
    # Its page can be written again in place.
    assert dumbbell("judge", "bbr", "--against", "cubic", "--out", "bbr")[0] == 0
    assert not list((tmp_path / "bbr").rglob("*.kept"))
    file = tmp_path / "bbr" / "sections" / "tail-drop" / "experiment.toml"
    file.write_text(file.read_text().replace("bfifo limit 25000", "bfifo limit 25001"))
    code, out, _ = dumbbell("check", "bbr")
    assert code == 1
    assert "tail-drop/experiment.toml was changed" in out


@pytest.mark.slow
def test_another_machine_gives_the_same_bytes(dumbbell: Dumbbell, tmp_path: Path) -> None:
    words = ("judge", "bbr", "--against", "cubic", "--no-store")
    assert dumbbell(*words, "--jobs", "1", "--out", "here")[0] == 0
    assert dumbbell(*words, "--jobs", "2", "--out", "there/on another machine")[0] == 0
    # A PDF's objects have other numbers each time; the other two are of the machine and the time.
    apart = {"summary.pdf", "provenance.json", ".dumbbell-report"}

    def files(folder: Path) -> dict[str, bytes]:
        found = {str(each.relative_to(folder)): each for each in folder.rglob("*")}
        return {
            name: each.read_bytes()
            for name, each in found.items()
            if each.is_file() and each.name not in apart
        }

    here, there = files(tmp_path / "here"), files(tmp_path / "there" / "on another machine")
    assert here.keys() == there.keys()
    assert [name for name in here if here[name] != there[name]] == []
    assert {"badge.svg", "summary.svg", "verdicts.csv", "verdicts.tex", "dossier.json"} <= set(here)
    assert (tmp_path / "here" / "summary.pdf").read_bytes().startswith(b"%PDF-")
    moved = (tmp_path / "here").rename(tmp_path / "of a stranger")
    code, out, _ = dumbbell("check", str(moved), "--jobs", "2")
    assert code == 0
    listed = json.loads((moved / "dossier.json").read_text())["sections"]
    assert sections_digest(listed) in out.replace("\n", "")


@pytest.mark.slow
def test_the_kernel_says_what_it_decides_and_a_folder_without_it_is_checked(
    dumbbell: Dumbbell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        # The simulator plays the kernel: it is here what takes minutes.
        patch.setitem(registry._MODULES, "kernel", "dumbbell.backends.sim")
        words = ("judge", "bbr", "--against", "cubic", "--with-kernel", "--no-store")
        code, out, err = dumbbell(*words, "--out", "bbr")
        assert code == 0, err
        assert "The Linux kernel contradicts the simulator in none of" in " ".join(out.split())
        told = json.loads(dumbbell(*words, "--json")[1])
        assert {each["section"] for each in told["on_kernel"]["compared"]} == {
            "existing",
            "tail-drop",
        }
        for each in told["on_kernel"]["compared"]:
            sim, kernel = each["claims"]
            assert (sim["backend"], kernel["backend"]) == ("sim", "kernel")
            assert sim["measured"] == kernel["measured"]
    assert "What the Linux kernel says" in (tmp_path / "bbr" / "index.html").read_text()

    def missing(*_: object) -> None:
        raise KernelMissingError("no kernel; `dumbbell kernel build` builds it")

    monkeypatch.setattr("dumbbell.backends.kernel.backend.require_kernel", missing)
    code, out, _ = dumbbell("check", "bbr")
    assert code == 0
    assert out.count("not repeated: no kernel") == 2


def test_what_the_kernel_cannot_run_is_refused_before_the_simulator_runs(
    dumbbell: Dumbbell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = dumbbell("judge", "bbr3", "--with-kernel")
    assert (code, out) == (2, "")
    assert "bbr3" in err

    def missing(*_: object) -> None:
        raise KernelMissingError("no kernel; `dumbbell kernel build` builds it")

    monkeypatch.setattr("dumbbell.backends.kernel.backend.require_kernel", missing)
    code, out, err = dumbbell("judge", "bbr", "--with-kernel")
    assert (code, out) != (0, "")
    assert "dumbbell kernel build" in err
    assert not list(tmp_path.iterdir())


def test_a_file_of_the_folder_runs_alone(dumbbell: Dumbbell) -> None:
    assert dumbbell("judge", "reno", "--against", "cubic", "--out", "reno")[0] == 0
    assert dumbbell("run", "reno/tail-drop.toml", "--no-page")[0] == 0
    assert dumbbell("check", "reno/tail-drop.toml", "--no-page")[0] in (0, 1)


@pytest.mark.parametrize("option", [("--out", "again"), ("--dry-run",)])
def test_what_is_not_said_of_a_whole_dossier(option: tuple[str, ...], dumbbell: Dumbbell) -> None:
    assert dumbbell("judge", "reno", "--against", "cubic", "--out", "reno")[0] == 0
    code, _, err = dumbbell("check", "reno", *option)
    assert code == 2
    assert "one section alone" in " ".join(err.split())


@pytest.mark.slow
def test_a_controller_of_ones_own_is_judged_and_lies_in_the_folder(
    dumbbell: Dumbbell, tmp_path: Path
) -> None:
    (tmp_path / "my_cc.c").write_bytes(OWN.read_bytes())
    words = ("judge", "my_cc.c", "--against", "cubic", "--allow-native", "--out", "mine")
    code, out, err = dumbbell(*words)
    assert code == 0, err
    assert "May I deploy my_cc.c" in out
    for place in ("my_cc.c", "sections/tail-drop/my_cc.c"):
        assert (tmp_path / "mine" / place).read_bytes() == OWN.read_bytes()
    assert dumbbell("check", "mine")[0] == 0


@pytest.fixture
def two_natives(monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulator that has cubic and vegas."""
    monkeypatch.setattr("dumbbell.cli.judge.league.native_controllers", lambda: ("cubic", "vegas"))


@pytest.mark.usefixtures("two_natives")
def test_a_league_has_all_and_those_that_are_named(dumbbell: Dumbbell, tmp_path: Path) -> None:
    words = ("judge", "--all", "bbr", "cubic", "--against", "reno", "--page", "--store", "kept")
    code, out, err = dumbbell(*words)
    assert code == 0, err
    assert out.startswith("How do 3 congestion controllers compare?")
    folder = tmp_path / "results" / "league-judged"
    page = (folder / "index.html").read_text()
    assert 'class="sortable"' in page
    assert "6.1 Drop-tail: 1 BDP" in page
    for name in ("league.csv", "league.tex", "points.csv", "outcomes.csv"):
        assert (folder / name).read_text().count("vegas") >= 1
    # The store has the runs of each dossier.
    code, _, err = dumbbell("judge", "vegas", "--against", "reno", "--no-page", "--store", "kept")
    assert code == 0
    assert re.search(r"^vegas: (\d+) of \1 runs are in kept: not repeated$", err, re.MULTILINE)
    assert err.count("not repeated") == 1
    again = dumbbell(*words, "--no-page", "--json")
    assert again[0] == 0
    told = json.loads(again[1])
    assert {each["controller"] for each in told["standings"]} == {"bbr", "cubic", "vegas"}
    assert all(1 <= low <= high <= 3 for low, high in (e["rank"] for e in told["standings"]))
    assert all(set(each["points"]) == {"bbr", "cubic", "vegas"} for each in told["scenarios"])


@pytest.mark.slow
@pytest.mark.usefixtures("two_natives")
def test_a_league_stopped_by_ctrl_c_goes_on_to_the_same_bytes(
    dumbbell: Dumbbell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Progress] = []

    def stopped(about: JudgeRequest, *args: object, **keys: object) -> Dossier:
        """Ctrl-C in the middle of the first section of the second controller."""

        def shown(progress: Progress) -> None:
            # A second one would end the process at once.
            if 0 < progress.done < progress.total and not sent:
                sent.append(progress)
                os.kill(os.getpid(), signal.SIGINT)

        if about.controller == "vegas":
            keys["on_progress"] = shown
        return judge_controller(about, *args, **keys)  # type: ignore[arg-type]

    words = ("judge", "--all", "--against", "reno", "--jobs", "1")
    resumed = (*words, "--store", "kept", "--out", "resumed")
    with monkeypatch.context() as patch:
        patch.setattr("dumbbell.cli.judge.running.judge_controller", stopped)
        code, out, err = dumbbell(*resumed)
    assert code == 130
    assert "the same command goes on from here" in out + err
    assert not (tmp_path / "resumed").exists()
    code, out, err = dumbbell(*resumed)
    assert code == 0
    # What was done before it was stopped is not repeated: the first controller, and not all runs
    # of the second.
    assert re.search(r"^cubic: (\d+) of \1 runs are in kept", err, re.MULTILINE)
    found = re.search(r"^vegas: (\d+) of (\d+) runs are in kept", err, re.MULTILINE)
    assert found is None or int(found[1]) < int(found[2])
    code, whole, _ = dumbbell(*words, "--no-store", "--out", "whole")
    assert code == 0
    assert whole.replace("whole/", "resumed/") == out
    apart = {"provenance.json", ".dumbbell-report"}

    def files(folder: Path) -> dict[str, bytes]:
        return {
            str(each.relative_to(folder)): each.read_bytes()
            for each in sorted(folder.rglob("*"))
            if each.is_file() and each.name not in apart
        }

    one, other = files(tmp_path / "resumed"), files(tmp_path / "whole")
    assert {"index.html", "league.csv", "league.tex", "points.csv", "numbers.csv"} <= set(one)
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []
    as_json = [dumbbell(*words, *each, "--json") for each in (("--store", "kept"), ("--no-store",))]
    assert as_json[0][0] == 0
    assert as_json[0][:2] == as_json[1][:2]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "one controller; or --all"),
        (("bbr", "cubic"), "one controller; or --all"),
        (("--all", "cubik"), "did you mean 'cubic'"),
        (("--all", "--course", "lab.toml"), "without --course"),
        (("--all", "--with-kernel"), "one controller in the simulator"),
        (("bbr", "--with-kernel", "--backend", "sim,kernel"), "one controller in the simulator"),
    ],
)
def test_what_is_no_league_is_refused(
    words: tuple[str, ...], told: str, dumbbell: Dumbbell
) -> None:
    code, out, err = dumbbell("judge", *words)
    assert (code, out) == (2, "")
    assert told in " ".join(err.split())


def test_all_that_were_built_of_linux_can_be_named_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built: dict[str, object] = {"bbr": None, "vegas": None}
    monkeypatch.setattr("dumbbell.cli.judge.league.linux_controllers", lambda: built)
    named = ["linux:*", "my_cc.c", "linux:bbr"]
    assert list(_expanded(named)) == ["linux:bbr", "linux:vegas", "my_cc.c", "linux:bbr"]
    built.clear()
    with pytest.raises(SpecError, match="controller build linux"):
        list(_expanded(named))


@pytest.mark.usefixtures("two_natives")
def test_two_files_of_one_name_are_refused(dumbbell: Dumbbell, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "my_cc.c").write_bytes(OWN.read_bytes())
    code, _, err = dumbbell("judge", "--all", "a/my_cc.c", "b/my_cc.c", "--allow-native")
    assert code == 2
    assert "another name" in " ".join(err.split())
