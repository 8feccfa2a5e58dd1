"""``dumbbell twin`` and ``dumbbell advise``: what is printed, written and refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dumbbell.spec import Experiment

Dumbbell = Callable[..., tuple[int, str, str]]
LOGS = Path(__file__).parents[1] / "formats" / "logs"
NUMBERS = ("--up", "2mbit", "--down", "8mbit", "--rtt", "20ms", "--loaded-up", "500ms")


def test_numbers_become_a_twin_that_says_that_nothing_tests_it(dumbbell: Dumbbell) -> None:
    code, out, err = dumbbell("twin", *NUMBERS, "--no-page")
    assert code == 0, err
    assert "rate up" in out and "2.09" in out and "This twin is not validated" in out


def test_a_ping_of_the_idle_line_replaces_a_typed_round_trip(dumbbell: Dumbbell) -> None:
    typed = ("--up", "2mbit", "--down", "8mbit")
    code, out, err = dumbbell("twin", *typed, "--idle", str(LOGS / "ping.txt"), "--json")
    assert code == 0, err
    document = json.loads(out)
    assert document["sources"] == ["typed numbers", "ping.txt"]
    least = min(
        float(line.split("time=")[1].split()[0])
        for line in (LOGS / "ping.txt").read_text().splitlines()
        if "time=" in line
    )
    assert document["line"]["rtt_ns"] == pytest.approx(1e6 * least, rel=1e-3)


def test_the_folder_has_an_experiment_and_what_advice_reads(
    dumbbell: Dumbbell, tmp_path: Path
) -> None:
    code, _, err = dumbbell("twin", *NUMBERS, "--out", "line")
    assert code == 0, err
    experiment = Experiment.from_toml(tmp_path / "line" / "twin.toml")
    assert "modem->isp" in experiment.queue_names
    document = json.loads((tmp_path / "line" / "twin.json").read_text())
    document["trust"] = "predicts badly"
    (tmp_path / "bad.json").write_text(json.dumps(document, indent=2))
    code, out, err = dumbbell("advise", "bad.json")
    assert code == 0, err
    assert "No advice" in out and "tc qdisc" not in out
    code, out, err = dumbbell("advise", "bad.json", "--json")
    assert json.loads(out)["advice"] is None


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (("twin",), "--up"),
        (("twin", "--up", "2mbit"), "--down"),
        (("twin", "nothere.gz"), "nothere.gz"),
        (("twin", str(LOGS / "ping.txt")), "--idle"),
        (("twin", str(LOGS / "iperf3-tcp.json"), "--up", "2mbit"), "--up"),
        (("twin", *NUMBERS, "--congestion-control", "qubic"), "--congestion-control"),
        (("twin", *NUMBERS, "--idle", str(LOGS / "ping.txt")), "--rtt"),
        (("twin", *NUMBERS, "--during-both", str(LOGS / "ping.txt")), "--during-up"),
        (("twin", *NUMBERS, "--tc-up", str(LOGS / "ping.txt")), "--tc-up"),
        (("twin", str(LOGS / "iperf3-tcp.json"), "--tc-up", str(LOGS / "ping.txt")), "tc -s"),
        (("advise", *NUMBERS, "--for", "call-and-backups"), "call-and-backup"),
    ],
)
def test_what_is_lacking_or_wrong_is_named(
    dumbbell: Dumbbell, line: tuple[str, ...], named: str
) -> None:
    code, _, err = dumbbell(*line)
    assert code == 2 and named in err
