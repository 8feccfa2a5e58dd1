"""``dumbbell run`` with a store, and ``dumbbell results``."""

from __future__ import annotations

import csv
import json
import resource
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from test_cli_compare import LINE, QDISC
from test_cli_full_disk import can_mount

from dumbbell.compare.words import with_reach
from dumbbell.errors import EXIT_BAD_INPUT, EXIT_NO_ROOM
from dumbbell.store import CellName, Content, Numbers, Store

pytestmark = pytest.mark.programs

Dumbbell = Callable[..., tuple[int, str, str]]
COMMAND = [sys.executable, "-m", "dumbbell.cli"]
TWO = ("--set", f"{QDISC}=pfifo", "--set", f"{QDISC}=pie", "--set", "duration=2s")
MEAN = "probe[call].mean_rtt_ms"


@pytest.fixture
def line(tmp_path: Path) -> str:
    (tmp_path / "line.toml").write_text(LINE)
    return "line.toml"


@pytest.fixture
def stored(dumbbell: Dumbbell, line: str) -> Dumbbell:
    """The command line, with three replications of two cells in the folder ``kept``."""
    assert dumbbell("run", line, *TWO, "--replications", "3", "--store", "kept")[0] == 0
    return dumbbell


def test_the_same_again_is_not_run_again(stored: Dumbbell) -> None:
    asked = ("run", "line.toml", *TWO, "--replications", "3", "--json")
    _, plain, _ = stored(*asked, "--no-store")
    status, again, told = stored(*asked, "--store", "kept", "--resume")
    assert (status, again) == (0, plain)
    assert "6 of 6 runs are in kept: resumed" in told
    _, more, told = stored(
        "run", "line.toml", *TWO, "--replications", "4", "--store", "kept", "--json"
    )
    assert "6 of 8 runs are in kept: not repeated" in told
    assert more == stored("run", "line.toml", *TWO, "--replications", "4", "--json")[1]


def flipped(file: Path, value: float) -> None:
    """One bit of one stored number, so that a goodput or a delay is a plausible other one."""
    content, number = file.read_bytes(), struct.pack("<d", value)
    assert content.count(number) == 1
    file.write_bytes(content.replace(number, bytes([*number[:6], number[6] ^ 8, number[7]])))


def test_a_damaged_number_is_not_shown(stored: Dumbbell, tmp_path: Path) -> None:
    """It is named and made again by who can, and refused by who cannot."""
    asked = ("run", "line.toml", *TWO, "--replications", "3", "--store", "kept", "--json")
    listing = ("results", "--store", "kept")
    _, plain, _ = stored(*asked)
    assert stored("results", "export", "whole.csv", "--store", "kept")[0] == 0
    rows = list(csv.DictReader((tmp_path / "whole.csv").read_text().splitlines()))
    one = rows[2]
    flipped(tmp_path / "kept" / "runs.sqlite", float(one[MEAN]))
    name = f"a damaged run {one['run_id'][:16]}"
    for refused in (
        listing,
        ("results", "pivot", MEAN, "--by", QDISC, "--store", "kept"),
        ("results", "export", "other.csv", "--store", "kept"),
    ):
        status, out, told = stored(*refused)
        assert (status, out) == (EXIT_BAD_INPUT, "") and name in told
    assert not (tmp_path / "other.csv").exists()
    status, again, told = stored(*asked)
    assert (status, again) == (0, plain)
    assert f"{name} (" in told and f"sim, replication {one['replication']}" in told
    assert "it is made again" in told and "5 of 6 runs are in kept: not repeated" in told
    status, again, told = stored(*asked)
    assert (status, again) == (0, plain)
    assert "damaged" not in told and "6 of 6 runs" in told
    assert stored(*listing)[0] == 0


def test_a_date_that_is_none_is_unknown(
    dumbbell: Dumbbell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock may be wrong."""
    for number, unix_s in enumerate((2**62, -(2**62))):
        with monkeypatch.context() as clock, Store(tmp_path / "kept").writer() as writer:
            clock.setattr(time, "time", lambda unix_s=unix_s: unix_s)
            layout = '{"quantities": ["flow[a].goodput_bps"], "groups": {}}'
            numbers = Numbers(layout, np.array([1.0]))
            content = Content(bytes([number] * 32), "sim", number, "{}", numbers)
            writer.add(content, CellName("line"))
    status, out, told = dumbbell("results", "--store", "kept")
    assert (status, told) == (0, "") and "unknown" in out
    (group,) = json.loads(dumbbell("results", "--store", "kept", "--json")[1])
    assert group["first"] is None and group["last"] is None
    for name in ("all.csv", "all.json", "all.parquet"):
        assert dumbbell("results", "export", name, "--store", "kept")[0] == 0


def test_nothing_to_resume(dumbbell: Dumbbell, line: str, tmp_path: Path) -> None:
    status, _, told = dumbbell(
        "run", line, *TWO, "--replications", "3", "--store", "kept", "--resume"
    )
    assert status == EXIT_BAD_INPUT
    assert "--resume: 'kept'" in told and "no runs of this name are stored" in told
    assert [path.name for path in tmp_path.iterdir()] == ["line.toml"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--resume", "--replications", "2", "--no-store"), "without --no-store"),
        (("--shard", "1/2", "--replications", "2", "--no-store"), "without --no-store"),
        (("--resume", "--store", "kept"), "only of several runs"),
        (("--shard", "1/2", "--store", "kept"), "only of several runs"),
        (("--shard", "3/2", "--replications", "2", "--store", "kept"), "such as 2/8"),
    ],
)
def test_what_does_not_go_together(
    dumbbell: Dumbbell, line: str, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    status, _, told = dumbbell("run", line, *options)
    assert status == EXIT_BAD_INPUT and said in told
    assert [path.name for path in tmp_path.iterdir()] == ["line.toml"]


def test_results_are_listed_and_filtered(stored: Dumbbell, line: str) -> None:
    assert stored("run", line, "--set", "name=single", "--store", "kept")[0] == 0
    status, out, _ = stored("results", "--store", "kept")
    assert status == 0
    assert out.splitlines()[-1] == "7 runs in kept"
    (single,) = [each for each in out.splitlines() if each.strip().startswith("single")]
    assert single.split()[:4] == ["single", "name=single", "sim", "1"]
    where = ("--where", f"{QDISC}=pie")
    ((group),) = json.loads(stored("results", "--store", "kept", *where, "--json")[1])
    assert group["settings"] == {QDISC: "pie", "duration": "2s"}
    assert (group["experiment"], group["replications"]) == ("line", 3)
    status, _, told = stored("results", "--store", "kept", "--where", f"{QDISC}=pi")
    assert status == EXIT_BAD_INPUT and "did you mean 'pie'?" in told
    assert stored("results", "--store", "kept", "--name", "lin")[0] == EXIT_BAD_INPUT


def test_a_quantity_is_set_against_a_setting(stored: Dumbbell, line: str) -> None:
    asked = ("results", "pivot", MEAN, "--by", QDISC, "--store", "kept")
    pfifo, pie = json.loads(stored(*asked, "--json")[1])
    compared = json.loads(
        stored("run", line, *TWO, "--replications", "3", "--store", "kept", "--json")[1]
    )
    (row,) = [each for each in compared["rows"] if each["quantity"] == MEAN]
    for number, found in zip(row["numbers"], (pfifo, pie), strict=True):
        assert {key: found[key] for key in ("value", "low", "high", "n")} == {
            key: number[key] for key in ("value", "low", "high", "n")
        }
    shown = stored(*asked)[1]
    assert "call: round trip, mean ms" in shown and "±: 95 % interval of the mean" in shown
    # As a comparison has it: enough digits to read the interval.
    (text,) = [each for each in shown.splitlines() if each.split()[:1] == ["pie"]]
    assert with_reach(pie["value"], pie["high"] - pie["value"]) in text
    for wrong, said in (
        (("results", "pivot", "probe[cal].mean_rtt_ms", "--by", QDISC), f"did you mean '{MEAN}'?"),
        (("results", "pivot", MEAN, "--by", "links"), "one of duration"),
        (("results", "pivot", MEAN, "--by", "duration"), f"the runs differ in {QDISC} too"),
    ):
        status, _, told = stored(*wrong, "--store", "kept")
        assert status == EXIT_BAD_INPUT and said in told


def test_results_are_exported(stored: Dumbbell, tmp_path: Path) -> None:
    import polars as pl

    for name in ("all.csv", "all.json", "all.parquet"):
        assert stored("results", "export", name, "--store", "kept")[0] == 0
    frame = pl.read_parquet(tmp_path / "all.parquet")
    assert frame.height == 6
    assert frame["replication"].to_list() == [0, 1, 2, 0, 1, 2]
    assert frame[QDISC].to_list() == ["pfifo"] * 3 + ["pie"] * 3
    with (tmp_path / "all.csv").open() as file:
        rows = [*csv.DictReader(file)]
    assert [float(row[MEAN]) for row in rows] == frame[MEAN].to_list()
    said = json.loads((tmp_path / "all.json").read_text())
    assert [row[MEAN] for row in said] == frame[MEAN].to_list()
    assert [row["run_id"] for row in said] == frame["run_id"].to_list()
    assert stored("results", "export", "all.xls", "--store", "kept")[0] == EXIT_BAD_INPUT


def test_results_are_forgotten_by_name_only(stored: Dumbbell) -> None:
    status, _, told = stored("results", "forget", "line", "lin", "--store", "kept")
    assert status == EXIT_BAD_INPUT and "did you mean 'line'?" in told
    assert "6 runs in kept" in stored("results", "--store", "kept")[1]
    assert stored("results", "forget", "--store", "kept")[0] == EXIT_BAD_INPUT
    status, out, _ = stored("results", "forget", "line", "--store", "kept")
    assert (status, out) == (0, "line: 6 runs forgotten\n")
    assert "nothing is stored in kept" in stored("results", "--store", "kept")[2]


def test_shards_together_print_what_one_command_does(dumbbell: Dumbbell, line: str) -> None:
    asked = ("run", line, *TWO, "--replications", "3", "--store", "shared")
    for number in (1, 2):
        status, out, _ = dumbbell(*asked, "--shard", f"{number}/3")
        assert status == 0
        assert f"shard {number}/3: 2 runs done; {2 * number} of all 6 are in the store" in out
    assert dumbbell(*asked, "--shard", "3/3")[0] == 0
    _, merged, told = dumbbell(*asked, "--json")
    assert "6 of 6 runs are in shared" in told
    assert merged == dumbbell("run", line, *TWO, "--replications", "3", "--json")[1]


def test_a_single_run_comes_from_the_store_where_its_tables_are(
    dumbbell: Dumbbell, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dumbbell.cli.run import single
    from dumbbell.tables import read_parquet

    first = dumbbell("run", line, "--store", "kept", "--json")[1]
    assert not (tmp_path / "kept" / "tables").exists()
    assert dumbbell("run", line, "--store", "kept", "--keep-tables", "--json")[1] == first
    monkeypatch.setattr(single, "run_one", None)  # it would be called
    assert dumbbell("run", line, "--store", "kept", "--json")[1] == first
    assert dumbbell("run", line, "--store", "kept", "--out", "out")[0] == 0
    assert read_parquet(tmp_path / "out").flow_names == ["bulk-1", "bulk-2"]


@pytest.mark.parametrize("content", [b"my notes\n" * 1000, b""])
def test_what_is_no_store_is_left_alone(
    dumbbell: Dumbbell, line: str, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "runs.sqlite").write_bytes(content)
    for arguments in (("run", line, "--replications", "2"), ("run", line), ("results",)):
        status, _, told = dumbbell(*arguments, "--store", "kept")
        assert status == EXIT_BAD_INPUT
        assert told.startswith("error: kept/runs.sqlite: ") and "--store DIR" in told
    assert (tmp_path / "kept" / "runs.sqlite").read_bytes() == content


IN_SMALL_DISKS = """
set -e
mkdir disk read-only
mount -t tmpfs -o size=300k tmpfs disk
try() { status=0; "$@" >out 2>err || status=$?; echo "$status $(tail -3 err)"; }
run() {
  more=$1; shift
  try "$@" run line.toml --set duration=2s --replications 120 --store $where $more
}
where=disk/kept
"$@" run line.toml --set duration=2s --replications 5 --store $where >out 2>err
dd if=/dev/zero of=disk/rest bs=1k 2>dd || true
echo '---'; run '' "$@"
rm disk/rest
mount -o remount,size=50m disk
echo '---'; run --resume "$@"
cp -r disk/kept read-only
mount --bind read-only read-only
mount -o remount,bind,ro read-only
where=read-only/kept; echo '---'; run --resume "$@"
where=read-only/kept; echo '---'; try "$@" run line.toml --replications 2 --store read-only/kept
echo '---'; try "$@" results --store read-only/kept; tail -1 out
cd read-only; echo '---'; env -u DUMBBELL_STORE "$@" run ../line.toml --no-page 2>&1 >../out
"""


@pytest.mark.slow
@pytest.mark.skipif(not can_mount(), reason="needs a mount namespace")
def test_full_and_read_only_disks(line: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["unshare", "-r", "-m", "sh", "-c", IN_SMALL_DISKS, "sh", *COMMAND],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    full, after, again, more, listed, default = done.stdout.split("---\n")[1:]
    assert full.startswith(f"{EXIT_NO_ROOM} ")
    assert "error: disk/kept/runs.sqlite: No space left on device" in full
    assert after.startswith("0 ") and "5 of 120 runs are in disk/kept: resumed" in after
    assert again.startswith("0 ") and "120 of 120 runs are in read-only/kept" in again
    assert more.startswith(f"{EXIT_BAD_INPUT} ") and "--no-store" in more
    assert listed.startswith("0 ") and listed.endswith("120 runs in read-only/kept\n")
    assert "results/.store: no folder can be made there" in default


@pytest.mark.slow
def test_a_limit_on_the_size_of_files_is_named(line: str, tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    done = subprocess.run(
        [*COMMAND, "run", line, "--set", "duration=2s", "--replications", "150", "--store", "kept"],
        cwd=tmp_path, capture_output=True, text=True, check=False, preexec_fn=limit,
    )  # fmt: skip
    assert done.returncode == EXIT_NO_ROOM
    assert "error: kept/runs.sqlite: File too large" in done.stderr
