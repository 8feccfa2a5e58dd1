"""Experiments for homes' access lines."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dumbbell import SpecError, metrics, simulate
from dumbbell.cli.app import app
from dumbbell.spec import Experiment
from dumbbell.spec.home import Technology

WORDS = [each.word for each in Technology]


def printed(*words: str) -> str:
    done = CliRunner().invoke(app, ["home", "--down", "20mbit", "--up", "2mbit", *words])
    assert done.exit_code == 0, done.output
    return done.output


def experiment(folder: Path, *words: str) -> Experiment:
    file = folder / "home.toml"
    file.write_text(printed(*words).replace('"60s"', '"20s"'), encoding="utf-8")
    return Experiment.from_toml(file)


def end(resolved: dict[str, Any], place: int, direction: str) -> Any:
    return resolved["links"][place][direction]


def test_the_line_has_both_queues_and_its_overhead(tmp_path: Path) -> None:
    resolved = experiment(tmp_path, "--technology", "cable", "--up-buffer", "64kb").resolved()
    down, up = end(resolved, 1, "forward"), end(resolved, 1, "reverse")
    assert (down["rate_bps"], up["rate_bps"]) == (20_000_000, 2_000_000)
    assert down["overhead_bytes"] == up["overhead_bytes"] == 18
    assert down["qdisc"] == {"kind": "bfifo", "limit_bytes": 262_144}
    assert up["qdisc"] == {"kind": "bfifo", "limit_bytes": 65_536}
    assert end(resolved, 0, "forward")["delay_ns"] == 10_000_000
    assert [each["name"] for each in resolved["flows"]] == [
        *(f"download-{n}" for n in range(1, 5)),
        "backup-1",
    ]


def test_a_policer_holds_a_round_trip(tmp_path: Path) -> None:
    line = end(experiment(tmp_path, "--provider", "policer").resolved(), 1, "forward")
    assert (line["police"]["rate_bps"], line["police"]["burst_bytes"]) == (20_000_000, 50_000)


@pytest.mark.parametrize(
    ("technology", "bytes_on_the_line"),
    [
        ("ethernet", 1538),
        ("cable", 1518),
        ("vdsl-bridged", 1522 * 65 / 64),
        ("vdsl-pppoe", 1530 * 65 / 64),
        ("adsl-pppoa", 53 * 32),  # 1510 bytes
        ("adsl-bridged", 53 * 32),  # 1532 bytes
        ("adsl-pppoe", 53 * 33),  # 1540 bytes
    ],
)
def test_a_backup_gets_what_the_line_leaves(
    technology: str, bytes_on_the_line: float, tmp_path: Path
) -> None:
    run = simulate(experiment(tmp_path, "--technology", technology, "--use", "backup"))
    carried = metrics.goodput_bps(run, "backup-1") / 2e6
    assert carried == pytest.approx(1448 / bytes_on_the_line, rel=0.003)


@pytest.mark.parametrize("technology", WORDS)
def test_cake_counts_as_the_line_does(technology: str, tmp_path: Path) -> None:
    """Shaped to nearly the whole rate, packets wait at the router and not at the modem."""
    words = ("--technology", technology, "--cake", "0.98", "--use", "backup,call")
    run = simulate(experiment(tmp_path, *words))
    assert metrics.utilization(run, "router->modem") > 0.9
    full_packet_s = 53 * 33 * 8 / 2e6
    assert metrics.sojourn_quantile_s(run, "modem->isp", 0.99) < 2 * full_packet_s
    assert metrics.ping_rtt_quantiles_ms(run, [0.5], ["call"])[0] < 20 + 3e3 * full_packet_s


def test_the_commands_that_the_file_names_run_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = printed("--technology", "vdsl-pppoe")
    Path("home.toml").write_text(text, encoding="utf-8")
    commands = [
        line.removeprefix("#").strip() for line in text.splitlines() if "dumbbell run" in line
    ]
    assert len(commands) == 2
    cells = []
    for command in commands:
        words = shlex.split(command)[1:]
        done = CliRunner().invoke(app, [*words, "--dry-run"])
        assert done.exit_code == 0, done.output
        cells.append(done.output)
    assert "2 cells" in cells[1]


def test_a_comparison_with_cake_is_named() -> None:
    text = printed("--technology", "vdsl-pppoe")
    assert "--set='home.router_up={fq_codel,cake bandwidth 1800kbit pppoe-ptm}'" in text


@pytest.mark.parametrize(
    ("words", "path", "hint"),
    [
        (["--down", "20"], "--down", "20bit"),
        (["--down", "7kbit"], "--down", None),
        (["--rtt", "20"], "--rtt", "20ms"),
        (["--rtt", "11s"], "--rtt", None),
        (["--up-buffer", "1500b"], "--up-buffer", None),
        (["--technology", "vdsl-ppoe"], "--technology", "vdsl-pppoe"),
        (["--technology", "vdsl"], "--technology", "vdsl-pppoe"),
        (["--provider", "shaping"], "--provider", "shaper"),
        (["--use", "call,backups"], "--use", "backup"),
        (["--cake", "1.2"], "--cake", None),
    ],
)
def test_what_is_refused(words: list[str], path: str, hint: str | None) -> None:
    done = CliRunner().invoke(app, ["home", "--down", "20mbit", "--up", "2mbit", *words])
    assert isinstance(done.exception, SpecError)
    assert (done.exception.path, done.exception.hint) == (path, hint)
