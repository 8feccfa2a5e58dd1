"""File names that are not UTF-8 are read, shown, and used for results."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import dumbbell as dumbbell_package
from dumbbell import Experiment, simulate
from dumbbell.folders import ResultFolder, ResultKind, Subject
from dumbbell.folders.manifest import read_manifest
from dumbbell.formats.flent import flent_file, write_flent
from dumbbell.printable import printable, utf8, whole_json
from dumbbell.spec.flent import Network, flent_test

pytestmark = pytest.mark.programs

Dumbbell = Callable[..., tuple[int, str, str]]
STEM = os.fsdecode(b"n\xff\xfe")
LOGS = Path(__file__).parents[1] / "formats" / "logs"
HAS_LABORATORY = (Path(dumbbell_package.__file__).parent / "lab" / "engine.wasm").exists()
LINE = """
name = "line"
duration = "1s"
sample_interval = "100ms"
links = [{ a = "a", b = "b", delay = "10ms", rate = "1mbit", capture = true }]
probes = [{ name = "call", from = "b", to = "a", interval = "50ms" }]
[[flows]]
name = "bulk"
from = "a"
to = "b"
start_jitter = "100ms"
source = { kind = "greedy" }
"""
CLAIM = """
[[claim]]
kind = "ordering"
statement = "It is fast"
quantity = "flow[bulk].goodput_bps"
above = "0.5mbit"
"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of many formats, of that name."""
    folder = tmp_path_factory.mktemp("inputs")
    try:
        (folder / STEM).mkdir()
    except OSError:
        pytest.skip("this file system has no such names")
    (folder / f"{STEM}.toml").write_text(LINE)
    (folder / f"{STEM}-claim.toml").write_text(LINE + CLAIM)
    (folder / "plain.toml").write_text(LINE)
    run = simulate(Experiment.from_toml(folder / "plain.toml"))
    shutil.copyfile(run.files["capture.pcapng"].path, folder / f"{STEM}.pcapng")
    test = flent_test("ping", length_s=3, delay_s=1)
    network = Network(rate="20mbit", rate_down="40mbit", qdisc="pie", rtts=("8ms",))
    measured = flent_file(simulate(test.experiment(network)), test, title="at home")
    write_flent(measured, folder / f"{STEM}.flent.gz")
    for name in ("ping.txt", "iperf3-tcp.json", "ss-loop.txt", "tc-loop.txt", "irtt-lost.json"):
        shutil.copyfile(LOGS / name, folder / f"{STEM}-{name}")
    return folder


COMMANDS = """
run NAME.toml --no-store
run NAME.toml --no-store --out run-NAME
run NAME.toml --no-store --json
run NAME.toml --no-store --to json,csv,sqlite,parquet --out exported-NAME
run NAME.toml plain.toml --replications 2 --store store-NAME
run NAME.toml plain.toml --no-store --to json,csv,sqlite,parquet --out compared-NAME
run NAME.toml --replications 2 --dry-run
results --store store-NAME
results export NAME.csv --store store-NAME
check NAME-claim.toml --replications 3 --out checked-NAME
check checked-NAME
lab NAME.toml --output NAME.html
analyze NAME.pcapng --out capture-NAME
analyze NAME.pcapng --json
analyze NAME.flent.gz
analyze NAME.flent.gz --json
analyze NAME-ping.txt
analyze NAME-ping.txt --json
analyze NAME-ping.txt --beside NAME.toml
analyze NAME-iperf3-tcp.json NAME-ss-loop.txt NAME-tc-loop.txt NAME-irtt-lost.json
flent -i NAME.flent.gz
flent -i NAME.flent.gz -p ping -o NAME.svg
figures checked-NAME
"""
"""As typed, one after the other: later ones read what earlier ones wrote."""


@pytest.mark.slow
def test_every_command_takes_a_file_of_such_a_name(dumbbell: Dumbbell, inputs: Path) -> None:
    for file in inputs.iterdir():
        Path(file.name).symlink_to(file)
    for line in COMMANDS.strip().splitlines():
        if line.startswith("lab") and not HAS_LABORATORY:
            continue
        code, out, err = dumbbell(*line.replace("NAME", STEM).split())
        assert code == 0, f"{line}: {out}{err}"
        assert printable(out + err, lines=True) == out + err, line
        if "--json" in line:
            json.loads(out)


def test_what_is_kept_names_the_file_as_it_is(dumbbell: Dumbbell, inputs: Path) -> None:
    shutil.copyfile(inputs / f"{STEM}.toml", f"{STEM}.toml")
    dumbbell("run", f"{STEM}.toml", "--no-store", "--out", STEM)
    (marker,) = Path(STEM).glob(".dumbbell-*")
    assert json.loads(marker.read_text(encoding="utf-8"))["source"] == f"../{STEM}.toml"
    # The same file: its result may be replaced without being asked for.
    code, _, err = dumbbell("run", f"{STEM}.toml", "--no-store", "--out", STEM)
    assert code == 0, err


def test_a_folder_of_results_may_have_such_files(tmp_path: Path) -> None:
    """As the homes of a session of shells have, when a program makes them there."""
    kind = ResultKind("session", ".dumbbell-shell", frozenset({"transcript.txt"}))
    for _ in range(2):
        place = ResultFolder(tmp_path / STEM, kind, Subject("line"), replace=True)
        with place.replaced() as folder:
            (folder / "homes" / STEM).mkdir(parents=True)
            (folder / "homes" / STEM / f"{STEM}.txt").write_text("hours of work")
    kept = read_manifest(tmp_path / STEM, kind)
    assert kept is not None
    assert list(kept.files) == [f"homes/{STEM}/{STEM}.txt"]
    assert (tmp_path / STEM / "homes" / STEM / f"{STEM}.txt").read_text() == "hours of work"


@pytest.mark.parametrize("text", ["plain \u00e4", f"a {STEM}.txt", "\ud800 alone"])
def test_text_and_json_can_always_be_written(text: str) -> None:
    assert utf8(text).decode() == "".join(
        printable(each) if "\ud800" <= each <= "\udfff" else each for each in text
    )
    written = whole_json(json.dumps({text: text}, ensure_ascii=False)).encode()
    assert json.loads(written) == {text: text}
