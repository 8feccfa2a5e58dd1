"""A class's controllers are marked by claims, whatever any of them does."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from pathlib import Path

import pytest
from class_of_thirty import FORKER, HOSTILE, LAB, LINE, fixed, in_c, reno, written

from dumbbell.cli.judge.course import judge_course
from dumbbell.course import confined_run
from dumbbell.course.confined_run import NotConfinedError, confinement_here
from dumbbell.course.sealing import REFUSED, has_filter
from dumbbell.course.submissions import submissions_in
from dumbbell.errors import DumbbellError, SpecError

EXAMPLE = Path(__file__).parents[2] / "examples/judge-course"


@pytest.fixture(scope="module")
def held() -> None:
    """A machine that can hold a submission, as those of the checks must."""
    try:
        confinement_here(is_unconfined_allowed=False)
    except DumbbellError as error:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(str(error))


def rows_of(marks: Path) -> dict[str, dict[str, str]]:
    with (marks / "marks.csv").open(newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def files_of(marks: Path) -> dict[str, bytes]:
    """Everything but the manifest, which has the times of files."""
    found = sorted(each for each in marks.rglob("*") if each.is_file())
    return {
        str(each.relative_to(marks)): each.read_bytes()
        for each in found
        if each.name != ".dumbbell-marks"
    }


@pytest.mark.slow
@pytest.mark.usefixtures("held")
def test_example_marks_one_good_one_fair_and_one_broken(tmp_path: Path) -> None:
    status = judge_course(EXAMPLE / "submissions", EXAMPLE / "lab.toml", tmp_path / "m", json=False)
    assert status == 0
    rows = rows_of(tmp_path / "m")
    assert {name: row["points"] for name, row in rows.items()} == {
        "ada": "10",
        "ben": "6",
        "clara": "0",
    }
    assert rows["clara"]["outcome"] == "failed"
    page = (tmp_path / "m/students/clara.html").read_text()
    assert "clara.py&#34;, line 13, in on_ack" in page
    assert "ZeroDivisionError" in page
    assert "ada" not in page


@pytest.mark.slow
@pytest.mark.usefixtures("held")
def test_one_that_means_harm_costs_itself_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    system = in_c('if (system("id") == 0) __builtin_trap();', "#include <stdlib.h>")
    handed_in, course = written(
        tmp_path,
        {
            "ada.py": reno(),
            "ben/anything.c": in_c(),
            "printer.py": HOSTILE["printer.py"],
            "reader.py": HOSTILE["reader.py"],
            "importer.py": "import os\n" + reno(),
            "sneaker.py": reno() + "\n__import__('time')\n",
            "hog.py": HOSTILE["hog.py"],
            "forker.c": FORKER,
            "system.c": system,
            "includes.c": '#include "/etc/passwd"\n' + in_c(),
            "crash.c": in_c("*(volatile int *)0 = 1;"),
            "nothing.py": "",
            "two/a.py": reno(),
            "two/b.py": reno(),
        },
    )
    assert judge_course(handed_in, course, tmp_path / "marks", json=False) == 0
    rows = rows_of(tmp_path / "marks")
    points = {name: row["points"] for name, row in rows.items()}
    # Neither of the two that try to start a process gets one; else they would have crashed.
    whole = {"ada", "ben", "printer", "forker", "system"}
    assert {name for name, each in points.items() if each == "7"} == whole
    assert {name for name, each in points.items() if each == "0"} == set(points) - whole
    assert rows["two"]["outcome"] == rows["nothing"]["outcome"] == "not run"

    def why(student: str) -> str:
        return (tmp_path / f"marks/students/{student}.html").read_text()

    assert "Permission denied: &#39;/etc/passwd&#39;" in why("reader")
    assert "import of os is not allowed" in why("importer")
    assert "import of time is not allowed" in why("sneaker")
    assert "MemoryError" in why("hog")
    assert "SIGSEGV" in why("crash")
    assert "/etc/passwd: Permission denied" in why("includes")
    said = capsys.readouterr()
    shown = said.out + said.err + "".join(f.decode() for f in files_of(tmp_path / "marks").values())
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "<script>alert" not in shown
    assert "&lt;script&gt;alert" in why("printer")
    assert "<i>of</i>" not in (tmp_path / "marks/index.html").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("held")
def test_what_never_returns_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confined_run, "IDLE_S", 5.0)
    sources = {
        "loop.py": HOSTILE["loop.py"],
        "bomb.c": HOSTILE["bomb.c"],
        "sleeper.c": in_c("pause();", "#include <unistd.h>"),
        "ada.py": reno(),
    }
    handed_in, course = written(tmp_path, sources)
    course.write_text(LAB.replace("time_s = 5", "time_s = 2"))
    assert judge_course(handed_in, course, tmp_path / "marks", json=False) == 0
    assert {name: row["points"] for name, row in rows_of(tmp_path / "marks").items()} == {
        "loop": "0",
        "bomb": "0",
        "sleeper": "0",
        "ada": "7",
    }
    for student, reason in (("loop", "more CPU time"), ("bomb", "CPU time"), ("sleeper", "waited")):
        assert reason in (tmp_path / f"marks/students/{student}.html").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("held")
def test_the_same_bytes_on_any_number_of_processors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = {"ada.py": reno(), "ben.c": in_c(), "eve.py": "print(object())\n" + reno(10)}
    handed_in, course = written(tmp_path, sources)
    judge_course(handed_in, course, tmp_path / "first", json=False)
    monkeypatch.setattr("dumbbell.course.marking.usable_threads", lambda jobs: 1)
    judge_course(handed_in, course, tmp_path / "second", json=False)
    assert files_of(tmp_path / "first") == files_of(tmp_path / "second")
    assert len(files_of(tmp_path / "first")) == 5


@pytest.mark.usefixtures("held")
def test_partial_points_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    handed_in, course = written(tmp_path, {"small.py": fixed(4)})
    assert judge_course(handed_in, course, None, json=True) == 0
    told = json.loads(capsys.readouterr().out)
    (student,) = told["students"]
    assert (student["student"], student["rank"]) == ("small", 1)
    goodput, delay, reno_too = student["claims"]
    assert goodput["verdict"] == reno_too["verdict"] == "not reproduced"
    assert delay["verdict"] == "inconclusive"
    assert 0 < delay["points"] < delay["of"]
    inside = delay["high"] / (delay["high"] - delay["low"])
    assert student["points"] == delay["points"] == round(3 * inside, 2)
    assert not (tmp_path / "results").exists()


@pytest.mark.usefixtures("held")
@pytest.mark.slow
def test_thirty_of_whom_five_mean_harm(tmp_path: Path) -> None:
    good = {f"student-{n:02}.py": reno(30 + 2 * n) for n in range(15)}
    good |= {f"student-{n:02}.c": in_c(name=f"own{n}") for n in range(15, 25)}
    handed_in, course = written(tmp_path, good | HOSTILE)
    assert judge_course(handed_in, course, tmp_path / "marks", json=False) == 0
    rows = rows_of(tmp_path / "marks")
    assert len(rows) == 30
    for name in good:
        row = rows[Path(name).stem]
        assert row["outcome"] == "marked"
        assert row["goodput verdict"] == "reproduced"
    # The one that only prints is a controller like the others.
    assert {name: rows[Path(name).stem]["outcome"] for name in HOSTILE} == {
        "bomb.c": "failed",
        "reader.py": "failed",
        "loop.py": "failed",
        "hog.py": "failed",
        "printer.py": "marked",
    }
    league = (tmp_path / "marks/index.html").read_text()
    for name, why in (
        ("bomb", "CPU time"),
        ("reader", "/etc/passwd"),
        ("loop", "CPU time"),
        ("hog", "MemoryError"),
        ("printer", "&lt;script&gt;alert"),
    ):
        assert f"students/{name}.html" in league
        assert why in (tmp_path / f"marks/students/{name}.html").read_text()
    # The same bytes a second time: pages, ranking and marks, those of the hostile ones too.
    assert judge_course(handed_in, course, tmp_path / "again", json=False) == 0
    first = files_of(tmp_path / "marks")
    assert len(first) == 30 + 2
    assert first == files_of(tmp_path / "again")
    alone, apart = tmp_path / "alone", tmp_path / "apart"
    alone.mkdir()
    some = ["student-00.py", "student-14.py", "student-24.c"]
    handed_in, course = written(alone, {name: good[name] for name in some})
    assert judge_course(handed_in, course, apart, json=False) == 0
    for name in some:
        page = Path("students") / f"{Path(name).stem}.html"
        assert (apart / page).read_bytes() == (tmp_path / "marks" / page).read_bytes()


def test_nothing_runs_where_nothing_holds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confined_run, "has_filter", lambda: False)
    handed_in, course = written(tmp_path, {"ada.py": reno()})
    with pytest.raises(NotConfinedError, match="--allow-native"):
        judge_course(handed_in, course, tmp_path / "marks", json=False)
    assert not (tmp_path / "marks").exists()


@pytest.mark.parametrize(
    ("old", "new", "where", "word"),
    [
        ("time_s", "times_s", "limits.times_s", "time_s"),
        ("time_s = 5", "time_s = 0", "limits.time_s", "at least 1"),
        ('"download"]', '"downlod"]', "experiment[0].flows[0]", "download"),
        ("goodput = 4, ", "goodput = -4, ", "experiment[0].points.goodput", "0 to 1000"),
        ("goodput = 4, ", "goodputt = 4, ", "experiment[0].points.goodputt", "goodput"),
        ("goodput = 4, ", "", "experiment[0].points.goodput", "points for each claim"),
        ('file = "line.toml"', 'file = "../line.toml"', "experiment[0].file", "folder"),
        ('file = "line.toml"', 'file = "other.toml"', "other.toml", "can be read"),
        ("[limits]", 'imports = ["matth"]\n[limits]', "imports[0]", "math"),
    ],
)
def test_a_course_file_is_refused_with_its_place(
    tmp_path: Path, old: str, new: str, where: str, word: str
) -> None:
    handed_in, course = written(tmp_path, {"ada.py": reno()})
    course.write_text(LAB.replace(old, new))
    with pytest.raises(SpecError) as refused:
        judge_course(handed_in, course, tmp_path / "marks", json=False)
    assert where in str(refused.value)
    assert word in str(refused.value)


def test_another_controller_of_ones_own_in_the_experiment_is_refused(tmp_path: Path) -> None:
    handed_in, course = written(tmp_path, {"ada.py": reno()})
    (tmp_path / "other.c").write_text(in_c())
    rival = LINE.split("[[flows]]")[1].split("[[claim]]")[0].replace("download", "rival")
    own = 'tcp = { congestion_control = "file:other.c" }\n'
    (tmp_path / "line.toml").write_text(f"{LINE}\n[[flows]]{rival}{own}")
    with pytest.raises(SpecError, match="controllers of the simulator"):
        judge_course(handed_in, course, tmp_path / "marks", json=False)


def test_links_and_pipes_are_no_submissions(tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("x = 1")
    folder = tmp_path / "all"
    folder.mkdir()
    (folder / "link.py").symlink_to(secret)
    os.mkfifo(folder / "pipe.py")
    (folder / "=1+1.py").write_text(reno())
    (folder / "notes.txt").write_text("none")
    (folder / ".hidden.py").write_text("none")
    (folder / "kim.py").write_text(reno())
    (folder / "kim.c").write_text(in_c())
    found = {each.student: each for each in submissions_in(folder)}
    assert sorted(found) == ["=1+1", "kim.c", "kim.py", "link", "pipe"]
    assert found["link"].fault
    assert not found["link"].source
    assert found["pipe"].fault == "it is no file"
    assert found["kim.c"].language == "C"


@pytest.mark.skipif(not has_filter(), reason="numbers of x86-64")
def test_numbers_of_system_calls_are_those_of_the_header() -> None:
    header = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
    if not header.is_file():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{header} is not there")
    known = dict(re.findall(r"#define __NR_(\w+) (\d+)", header.read_text()))
    assert {name: int(known[name]) for name in REFUSED} == REFUSED
    assert len(known) > 300
    assert sys.platform == "linux"
