"""Convert Mahimahi's command lines to experiments."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dumbbell import SpecError, simulate
from dumbbell.cli.app import app
from dumbbell.spec import Experiment
from dumbbell.spec.mahimahi import read_command


def test_shells_are_links_the_innermost_at_the_client(tmp_path: Path) -> None:
    for name in ("up", "down"):
        (tmp_path / name).write_text("".join(f"{ms}\n" for ms in range(1, 11)), encoding="utf-8")
    command = (
        "mm-delay 20 mm-loss uplink 0.01 mm-link up down --uplink-queue=droptail "
        '--uplink-queue-args="packets=30" --meter-all --downlink-queue codel '
        '--downlink-queue-args="packets=99, target=20,interval=200" -- iperf3 -c 100.64.0.1'
    )
    done = CliRunner().invoke(app, ["mahimahi", command])
    assert done.exit_code == 0, done.output
    assert "# The command that ran inside is left out: iperf3 -c 100.64.0.1" in done.output
    file = tmp_path / "experiment.toml"
    file.write_text(done.output.replace("60s", "6s"), encoding="utf-8")
    experiment = Experiment.from_toml(file)
    link, loss, delay = experiment.resolved()["links"]
    assert (link["a"], link["b"], delay["b"]) == ("client", "shell-1", "server")
    assert link["forward"]["qdisc"] == {"kind": "pfifo", "limit_packets": 30}
    assert link["reverse"]["qdisc"]["target_ns"] == 20_000_000
    assert link["forward"]["trace"] == {
        "kind": "opportunities",
        "gaps_ms": "1*10",
        "size_bytes": 1504,
    }
    assert (loss["forward"]["loss"], loss["reverse"]["loss"]) == (0.01, 0.0)
    assert delay["forward"]["delay_ns"] == delay["reverse"]["delay_ns"] == 20_000_000
    # An opportunity a millisecond is 12 Mbit/s of packets of 1500 bytes.
    received = simulate(experiment).column("flows", "received_payload_bytes")[0]
    assert 0.8 < received * 8 / 1 / 12e6 < 1  # counted in the last of six seconds


def test_a_link_that_is_on_and_off_loses_all_packets_while_it_is_off() -> None:
    """Pings of 40 ms; 10 % of the time off, in periods of a mean of 0.1 s."""
    text = read_command(["mm-delay", "20", "mm-onoff", "uplink", "0.9", "0.1"])
    experiment = Experiment.from_toml(text.replace('"200ms"', '"10ms"').replace("60s", "300s"))
    run = simulate(experiment.model_copy(update={"flows": []}))
    lost = run.column("probes", "rtt_ns") < 0
    assert 0.07 < lost.mean() < 0.13
    # Of a request that is lost, the next one is mostly lost, too: a period has ten on average.
    assert lost[1:][lost[:-1]].mean() > 0.85
    always, never = (
        Experiment.from_toml(read_command(["mm-onoff", "downlink", *words])).resolved()["links"][0]
        for words in (["1", "0"], ["0", "1"])
    )
    assert (always["reverse"]["loss"], never["reverse"]["loss"]) == (0.0, 1.0)


def test_a_trace_elsewhere_is_to_be_copied() -> None:
    text = read_command(["mm-link", "/usr/share/mahimahi/traces/a.up", "down"])
    assert "# Copy /usr/share/mahimahi/traces/a.up beside this file" in text
    assert 'trace = "a.up"' in text


@pytest.mark.parametrize(
    ("command", "path", "hint"),
    [
        ("mm-webrecord x", "command line", None),
        ("ping x", "command line", None),
        ("mm-delay x", "mm-delay", None),
        ("mm-link up", "mm-link", None),
        ("mm-link up down --once", "mm-link", None),
        ("mm-link up down --uplink-queues=x", "mm-link", "--uplink-queue"),
        ("mm-link up down --uplink-queue=drophead", "mm-link --uplink-queue", "droptail"),
        ("mm-link up down --uplink-queue=droptail", "mm-link --uplink-queue-args", None),
        (
            "mm-link up down --uplink-queue=pie --uplink-queue-args=packets=x",
            "mm-link --uplink-queue-args",
            None,
        ),
        ("mm-loss upling 1", "mm-loss", "uplink"),
        ("mm-loss uplink 2", "mm-loss uplink", None),
        ("mm-onoff downlnk 1 2", "mm-onoff", "downlink"),
        ("mm-onoff downlink 1", "mm-onoff downlink", None),
        ("mm-onoff downlink 1 -2", "mm-onoff downlink", None),
        ("mm-onoff downlink 0 0", "mm-onoff downlink", None),
    ],
)
def test_what_is_not_there_is_refused(command: str, path: str, hint: str | None) -> None:
    with pytest.raises(SpecError) as refused:
        read_command(command.split())
    assert refused.value.path == path
    if hint:
        assert refused.value.hint == hint
